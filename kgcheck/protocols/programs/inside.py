"""Launcher inside the sandbox: start a program under limits, report how it ended; files of its folder, within limits.

It forks. The child gives up its rights and becomes the program; the parent waits for it and reports how it ended and
what it took, on a pipe that the program does not have. Where the program's folder is a file system of its own, the
parent sees to its limits, and copies out what the program left.
"""

import ctypes
import ctypes.util
import errno
import json
import os
import resource
import select
import shutil
import signal
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

from kgcheck.errors import StoreUnguarded
from kgcheck.graph.sandbox import KernelCall, confine

DEEPEST_FOLDER = 32


class Space(NamedTuple):
    """Limits of a folder: bytes, and number of files."""

    size: int
    files: int


class Filled(NamedTuple):
    """Contents of a folder: paths of the files, and the limit that it is over."""

    files: list[str]
    over: Literal["disk", "files"] | None


def filled(folder: str, space: Space) -> Filled:
    """Look through a folder in which somebody may be writing; it ends where a limit is passed."""
    files: list[str] = []
    count = size = 0
    device = os.lstat(folder).st_dev
    left = [(folder, 0)]
    while left:
        place, depth = left.pop()
        try:
            with os.scandir(place) as entries:
                for entry in entries:
                    found = entry.stat(follow_symlinks=False)
                    # What is mounted in it, as inputs are, is not the program's; nor is a link: it can make none.
                    if found.st_dev != device or stat.S_ISLNK(found.st_mode):
                        continue
                    count += 1
                    if stat.S_ISDIR(found.st_mode):
                        left.append((entry.path, depth + 1))
                    else:
                        size += found.st_size
                        files.append(entry.path)
                    if count > space.files or depth > DEEPEST_FOLDER:
                        return Filled(files, "files")
                    if size > space.size:
                        return Filled(files, "disk")
        except FileNotFoundError:
            continue
        except OSError as error:
            # What cannot be looked into might hold anything.
            if error.errno in (errno.EACCES, errno.ENAMETOOLONG, errno.ELOOP):
                return Filled(files, "files")
            raise
    return Filled(files, None)


def opened(path: str) -> int | None:
    """A file as it lies there, opened for reading; none if it is anything else, or not there."""
    try:
        found = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    if stat.S_ISREG(os.fstat(found).st_mode):
        return found
    os.close(found)
    return None


def copy_files(files: list[str], folder: str) -> None:
    """Copy the files of a folder to the one that is worked in."""
    for path in files:
        data = opened(path)
        if data is not None:
            name = os.path.relpath(path, folder)
            os.makedirs(os.path.dirname(name) or ".", mode=0o700, exist_ok=True)
            with os.fdopen(data, "rb") as source, open(name, "xb") as target:
                shutil.copyfileobj(source, target)


NOT_STARTED = 125  # exit code of a child that could not be guarded
_EVERY_S = 0.02  # seconds between two looks at how full the folder is
_FILE_COMMANDS = (0, 1, 2, 3, 4, 5, 6, 7, 36, 37, 38, 1030)
"""Commands of fcntl: copies of a descriptor, its flags, locks. Not whom the kernel sends which signal."""

_PR_SET_PDEATHSIG, _PR_SET_NAME, _PR_GET_NAME = 1, 15, 16
_TERMINAL_QUESTIONS = (0x5401, 0x5413, 0x541B, 0x5450, 0x5451)
"""Calls of ioctl that change nothing outside: is it a terminal, how large, how much is there, close on exec."""

# What Python and R need to compute, to start threads, and to read and write the files that they are given.
_CALLS = """
    access alarm arch_prctl brk chdir clock_getres clock_gettime clock_nanosleep close close_range dup dup2 dup3
    epoll_create1 epoll_ctl epoll_pwait epoll_wait eventfd2 execve exit exit_group faccessat faccessat2 fadvise64 fchdir
    fdatasync flock fstat fstatfs fsync ftruncate futex get_robust_list getcpu getcwd getdents64 getegid geteuid
    getgid getgroups getitimer getpgid getpgrp getpid getppid getrandom getresgid getresuid getrlimit getrusage getsid
    gettid gettimeofday getuid lseek lstat madvise membarrier mincore mkdir mkdirat mmap mprotect mremap msync munmap
    nanosleep newfstatat open openat pause pipe pipe2 poll ppoll pread64 preadv preadv2 pselect6 pwrite64 pwritev
    pwritev2 read readlink readlinkat readv rename renameat renameat2 restart_syscall rmdir rseq rt_sigaction
    rt_sigpending rt_sigprocmask rt_sigreturn rt_sigsuspend rt_sigtimedwait sched_get_priority_max
    sched_get_priority_min sched_getaffinity sched_getparam sched_getscheduler sched_yield select set_robust_list
    set_tid_address setitimer sigaltstack stat statfs statx sysinfo time times truncate umask uname unlink unlinkat
    wait4 waitid write writev
""".split()

# Copying a file sets its rights and times: pretended, since as owner or root they could be set outside, too.
_PRETENDED = "chmod chown fchmod fchmodat fchmodat2 fchown fchownat futimesat lchown utime utimensat utimes".split()

_UNSUPPORTED = {
    errno.EOPNOTSUPP: "fallocate fgetxattr flistxattr fsetxattr getxattr lgetxattr listxattr llistxattr setxattr",
    errno.ENOSYS: "copy_file_range io_uring_setup memfd_create openat2 sendfile",
}
"""System calls with a fallback in libraries, by the error of a kernel or file system without them."""


def main(order: dict[str, Any]) -> None:
    """Start the program and report how it ended."""
    # Else libraries look for these two by way of programs that are not in the sandbox.
    setattr(ctypes.util, "find_library", {"c": "libc.so.6", "seccomp": "libseccomp.so.2"}.get)  # noqa: B010 for mypy
    _die_with_parent()
    report: int = order["report"]
    os.set_inheritable(report, False)
    room = _Room(order) if "left" in order else None
    child = os.fork()
    if child == 0:
        try:
            _become(order)
        except BaseException as error:
            os.write(report, json.dumps({"failed": f"{type(error).__name__}: {error}"}).encode() + b"\n")
        os._exit(NOT_STARTED)
    # Whatever the program wrote, nobody reads on from here.
    for descriptor in (0, 1, 2):
        os.close(descriptor)
    over = room.watch(child) if room else None
    _, status, used = os.wait4(child, 0)
    ended = {
        "exit": os.WEXITSTATUS(status) if os.WIFEXITED(status) else None,
        "signal": signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else "",
        "processor_seconds": used.ru_utime + used.ru_stime,
        "memory_bytes": used.ru_maxrss * 1024,
    }
    os.write(report, json.dumps(ended).encode() + b"\n")
    if room:
        os.write(report, json.dumps(room.hand_over(over)).encode() + b"\n")
    os._exit(0)


class _Room:
    """A file system that holds the program's folder alone."""

    def __init__(self, order: dict[str, Any]) -> None:
        self._folder: str = order["folder"]
        self._left: int = order["left"]
        os.set_inheritable(self._left, False)
        self._space = Space(*order["space"])
        found = os.statvfs(self._folder)
        self._before = found.f_files - found.f_ffree

    def watch(self, child: int) -> str | None:
        """Wait for the end of the program, and bring it about where the folder is too full."""
        ended = os.pidfd_open(child)
        over = None
        while not select.select([ended], [], [], _EVERY_S)[0]:
            over = over or self._over()
            if over:
                os.kill(child, signal.SIGKILL)
        return over

    def hand_over(self, over: str | None) -> dict[str, str]:
        try:
            found = filled(self._folder, self._space)
            over = over or found.over
            if over:
                return {"over": over}
            os.fchdir(self._left)
            copy_files(found.files, self._folder)
        except OSError as error:
            return {"lost": error.strerror or str(error)}
        return {}

    def _over(self) -> str | None:
        # Counts what has no name any more, too, and what was written through memory.
        found = os.statvfs(self._folder)
        if (found.f_blocks - found.f_bfree) * found.f_frsize > self._space.size:
            return "disk"
        return "files" if found.f_files - found.f_ffree - self._before > self._space.files else None


def _become(order: dict[str, Any]) -> None:
    _die_with_parent()
    os.chdir(order["folder"])
    # Nothing of what started it may be in the program's hands but its own three; the report closes when it starts.
    os.closerange(3, order["report"])
    os.closerange(order["report"] + 1, 1024)
    limits = {int(number): most for number, most in order["limits"].items()}
    processor = limits.pop(int(resource.RLIMIT_CPU))
    # The first is SIGXCPU, which a program may ignore; the second is not.
    resource.setrlimit(resource.RLIMIT_CPU, (processor, processor + 1))
    try:
        confine({Path(path): flags for path, flags in order["rights"].items()}, _calls(), limits)
    except StoreUnguarded as error:
        raise OSError(error.message) from None
    os.execve(order["argv"][0], order["argv"], order["env"])  # noqa: S606 the interpreter, with no shell between


def _calls() -> Iterator[KernelCall]:
    yield from map(KernelCall, _CALLS)
    for name in _PRETENDED:
        yield KernelCall(name, answer=0)
    for number, names in _UNSUPPORTED.items():
        for name in names.split():
            yield KernelCall(name, answer=number)
    for question in _TERMINAL_QUESTIONS:
        yield KernelCall("ioctl", {1: question})
    for command in _FILE_COMMANDS:
        yield KernelCall("fcntl", {1: command})
    for option in (_PR_SET_NAME, _PR_GET_NAME):
        yield KernelCall("prctl", {0: option})
    # Signals to itself.
    for name in ("kill", "tgkill"):
        yield KernelCall(name, {0: os.getpid()})


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
