"""Programs that nobody should run, and what must become of each."""

from __future__ import annotations

import platform
import tomllib
from typing import NamedTuple

from tests.support import ROOT

ESCAPED = "ESCAPED"
"""What a program prints that got what it wanted."""

# Numbers of x86-64, so that no library stands between. The arguments do no harm where nothing stands against it: that a
# call is refused as such, and not for its arguments, is seen by the error.
_CALLS = {
    "ptrace": "(101, 16, PARENT, 0, 0)",
    "process_vm_readv": "(310, PARENT, 0, 0, 0, 0, 0)",
    "mount": "(165, b'none', b'nothing', b'tmpfs', 0, 0)",
    "umount2": "(166, b'nothing', 2)",
    "pivot_root": "(155, b'.', b'.')",
    "chroot": "(161, b'.')",
    "setns": "(308, 0, 0)",
    "unshare a user namespace": "(272, 0x10000000)",
    "unshare a mount namespace": "(272, 0x00020000)",
    "clone a process": "(56, 17, 0, 0, 0, 0)",
    "clone3": "(435, b'\\0' * 88, 88)",
    "fork": "(57,)",
    "vfork": "(58,)",
    "keyctl": "(250, 0, -3, 1)",
    "add_key": "(248, b'user', b'x', b'y', 1, -3)",
    "bpf": "(321, 0, b'\\0' * 64, 64)",
    "userfaultfd": "(323, 0)",
    "perf_event_open": "(298, b'\\0' * 112, 0, -1, -1, 0)",
    "io_uring_setup": "(425, 4, b'\\0' * 120)",
    "memfd_create": "(319, b'x', 0)",
    "pidfd_open": "(434, PARENT, 0)",
    "kill by number": "(62, PARENT, 0)",
    "tgkill": "(234, PARENT, PARENT, 0)",
    "tkill": "(200, PARENT, 0)",
    "socket by number": "(41, 2, 1, 0)",
    "socketpair by number": "(53, 1, 1, 0, b'\\0' * 8)",
    "init_module": "(175, b'x', 1, b'')",
    "finit_module": "(313, 0, b'', 0)",
    "kexec_load": "(246, 0, 0, 0, 0)",
    "reboot": "(169, 0xFEE1DEAD, 672274793, 0, 0)",
    "swapon": "(167, b'x', 0)",
    "sethostname": "(170, 0, -1)",
    "settimeofday": "(164, 0, 0)",
    "iopl": "(172, 3)",
    "modify_ldt": "(154, 1, b'\\0' * 16, 16)",
    "personality": "(135, 0x0040000)",
    "open_by_handle_at": "(304, -100, b'\\0' * 16, 0)",
    "name_to_handle_at": "(303, -100, b'.', b'\\0' * 128, b'\\0' * 8, 0)",
    "move_mount": "(429, -100, b'.', -100, b'.', 0)",
    "open_tree": "(428, -100, b'.', 0)",
    "fsopen": "(430, b'tmpfs', 0)",
    "symlink by number": "(88, b'/etc/passwd', b'mine')",
    "link by number": "(86, b'/etc/passwd', b'mine')",
    "mknod by number": "(133, b'mine', 0o10600, 0)",
    "shmget": "(29, 0, 4096, 0o1600)",
    "semget": "(64, 0, 1, 0o1600)",
    "msgget": "(68, 0, 0o1600)",
    "mq_open": "(240, b'x', 0o102, 0o600, 0)",
    "setrlimit": "(160, 7, b'\\xff' * 16)",
    "prlimit of another": "(302, PARENT, 7, b'\\xff' * 16, 0)",
    "prctl: may be traced": "(157, 4, 1, 0, 0, 0)",
    "prctl: seccomp off": "(157, 22, 0, 0, 0, 0)",
    "seccomp": "(317, 1, 0, b'\\0' * 16)",
    "setuid": "(105, 1)",
    "capset": "(126, b'\\0' * 8, b'\\xff' * 24)",
    "ioctl: types into a terminal": "(16, 0, 0x5412, b'x')",
    "fanotify_init": "(300, 0, 0)",
    "inotify_init": "(253,)",
    "quotactl": "(179, 0, 0, 0, 0)",
    "acct": "(163, b'x')",
    "syslog": "(103, 3, b'\\0' * 1000, 1000)",
    "sched_setscheduler": "(144, 0, 1, b'\\1\\0\\0\\0')",
    "x32 open": "(0x40000002, b'/etc/passwd', 0, 0)",
}

TOGETHER = tuple(name for name in _CALLS if name != "x32 open")
"""The calls that are refused with an error, and for which no program is killed."""

_FAMILIES = {
    "IPv4": "AF_INET, SOCK_STREAM", "IPv4 datagrams": "AF_INET, SOCK_DGRAM", "IPv6": "AF_INET6, SOCK_STREAM",
    "unix": "AF_UNIX, SOCK_STREAM", "netlink": "AF_NETLINK, SOCK_RAW", "packet": "AF_PACKET, SOCK_RAW",
    "raw": "AF_INET, SOCK_RAW", "kernel cryptography": "AF_ALG, SOCK_SEQPACKET", "vsock": "AF_VSOCK, SOCK_STREAM",
    "CAN": "AF_CAN, SOCK_RAW",
}  # fmt: skip


CALLS = "calls the kernel: "
"""How the name of a program begins that makes one call."""

REFUSED = ("errno EPERM\n", "errno ENOSYS\n")
"""What a call prints that is refused whatever its arguments are."""


class HostileProgram(NamedTuple):
    """A program, and the limit that must end it; none where it must end by itself."""

    name: str
    text: str
    limit: str | None = None


_START = "import ctypes, errno, os\nPARENT = os.getppid()\nlibc = ctypes.CDLL(None, use_errno=True)\n"


def _calls() -> list[HostileProgram]:
    end = f"\nprint('{ESCAPED}', done) if done >= 0 else print('errno', errno.errorcode[ctypes.get_errno()])\n"
    return [
        HostileProgram(f"{CALLS}{name}", f"{_START}done = libc.syscall{arguments}{end}")
        for name, arguments in _CALLS.items()
    ]


def calls_together() -> HostileProgram:
    """A program that makes one call after the other, but for those for which a program is killed: a line for each."""
    text = f"""{_START}
def call(*arguments):
    ctypes.set_errno(0)
    done = libc.syscall(*arguments)
    print(f'{ESCAPED} {{done}}' if done >= 0 else f'errno {{errno.errorcode[ctypes.get_errno()]}}')
"""
    return HostileProgram("calls the kernel", text + "".join(f"call{_CALLS[name]}\n" for name in TOGETHER))


def _other_door() -> HostileProgram:
    """A call by the numbers of 32 bits, which filters of 64 bits do not know: getpid is 20 there."""
    code = "mov eax, 20; int 0x80; ret", b"\xb8\x14\0\0\0\xcd\x80\xc3"
    text = f"""
import ctypes, mmap
page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write({code[1]!r})  # {code[0]}
start = ctypes.addressof(ctypes.c_char.from_buffer(page))
print('{ESCAPED}', ctypes.CFUNCTYPE(ctypes.c_long)(start)())
"""
    return HostileProgram("calls the kernel by its numbers of 32 bits", text)


def _sockets() -> list[HostileProgram]:
    text = "from socket import *\nsocket({})\nprint('{}')\n"
    return [HostileProgram(f"opens a socket of {name}", text.format(kind, ESCAPED)) for name, kind in _FAMILIES.items()]


def hostile_programs() -> list[HostileProgram]:
    """All of them: those that are written down, and one for each call of the kernel and each family of sockets."""
    written = tomllib.loads((ROOT / "tests/support/hostile_programs.toml").read_text(encoding="utf-8"))["program"]
    made = [HostileProgram(**program) for program in written] + _sockets()
    return [*made, _other_door(), *_calls()] if platform.machine() == "x86_64" else made
