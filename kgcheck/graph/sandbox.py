"""What a process may do that runs statements from outside: compute, and read one store.

Landlock takes the file system away, but for the store; seccomp takes away the network, new processes and every other
call of the kernel that reading a store does not need. Both hold for the calling thread and for those that it starts
later, and cannot be undone: enter while there is one thread.
"""

import errno
import os
import resource
from contextlib import suppress
from pathlib import Path

from kgcheck.errors import StoreUnguarded

_CLONE_THREAD = 0x00010000

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
    """Whether this machine can guard a process.

    Raises:
        StoreUnguarded: It cannot; the message says what is missing.
    """
    missing = _missing()
    if missing:
        raise StoreUnguarded(
            f"statements of a model cannot be run here: {missing}",
            "use Linux 5.13 or newer with Landlock enabled and libseccomp installed, or a graph on a Neo4j server",
        )


def _missing() -> str:
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
    """Give up every right but to compute and to read one file.

    Args:
        readable: The file.
        memory: Bytes of address space that it may take beyond what it has.

    Raises:
        StoreUnguarded: The kernel does not do it, or this process has threads already, whom it would not bind.
    """
    check()
    threads = len(os.listdir("/proc/self/task"))
    if threads != 1:
        raise StoreUnguarded(f"a process with {threads} threads cannot be guarded")
    import pyseccomp as seccomp
    from landlock import FSAccess, LandlockError, Ruleset

    mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    limits = {
        resource.RLIMIT_AS: mapped + memory,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_NOFILE: 64,
    }
    for limit, most in limits.items():
        resource.setrlimit(limit, (most, most))
    try:
        rules = Ruleset()
        rules.allow(readable, rules=FSAccess.READ_FILE)
        calls = seccomp.SyscallFilter(seccomp.ERRNO(errno.EPERM))
        for name in _CALLS:
            with suppress(OSError, ValueError):
                # Those that this kind of processor lacks, or that the library is too old for, stay refused.
                calls.add_rule(seccomp.ALLOW, name)
        # Threads, but no processes. The flags of clone3 cannot be looked at: without it, libraries use clone.
        thread = seccomp.Arg(0, seccomp.MASKED_EQ, _CLONE_THREAD, _CLONE_THREAD)
        calls.add_rule(seccomp.ALLOW, "clone", thread)
        # To look at its own limits, not to change any.
        own, nothing = seccomp.Arg(0, seccomp.EQ, 0), seccomp.Arg(2, seccomp.EQ, 0)
        calls.add_rule(seccomp.ALLOW, "prlimit64", own, nothing)
        calls.add_rule(seccomp.ERRNO(errno.ENOSYS), "clone3")
        rules.apply()
        calls.load()
    except (LandlockError, OSError, ValueError) as error:
        raise StoreUnguarded(f"this process cannot be guarded: {error}") from error
