"""Who works on something that the ledger has under way, and whether they are known to be gone."""

import os
import socket
from functools import cache
from hashlib import sha256
from pathlib import Path
from uuid import uuid4

_MARK = uuid4().hex[:8]
_OF_MACHINE = ("/proc/sys/kernel/random/boot_id", "/proc/self/ns/pid")


def this_worker() -> str:
    """This process: host and number, for people; where that number counts; and what no other process has."""
    return f"{socket.gethostname()} {os.getpid()} {_place()}-{_MARK}"


def is_gone(worker: str) -> bool:
    """Whether a worker is known to be gone before its lease runs out: its process was on this machine, and is not."""
    host, number, mark = (*worker.split(" "), "", "")[:3]
    if host != socket.gethostname() or not number.isdecimal():
        return False
    if int(number) == os.getpid():
        # A container gives each of its processes the same number, one after the other.
        return bool(mark) and worker != this_worker()
    place, dash, _ = mark.partition("-")
    if dash and place != _place():
        # A container that has the name of its host, and numbers of its own.
        return False
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False


@cache
def _place() -> str:
    """Names where numbers of processes mean the same: this machine since it was started, or a container."""
    found = ""
    for name in _OF_MACHINE:
        try:
            found += os.readlink(name) if "/ns/" in name else Path(name).read_text()
        except OSError:
            continue
    return sha256(found.encode()).hexdigest()[:8]
