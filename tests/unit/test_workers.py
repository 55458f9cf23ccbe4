"""Who is known to be gone before their lease runs out: only a process of this machine that is there no more."""

import os
import socket
import subprocess
import sys
from collections.abc import Callable

import pytest

from kgcheck.ledger import work
from kgcheck.ledger.work import is_gone, this_worker

HOST = socket.gethostname()
NAMED = "import sys; from kgcheck.ledger.work import this_worker; print(this_worker(), flush=True); sys.stdin.read()"


def test_a_process_is_alive_until_it_has_ended() -> None:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", NAMED], **pipes, text=True) as process:  # type: ignore[call-overload]
        other = process.stdout.readline().strip()
        alive = is_gone(other)
        process.kill()
    assert other.split(" ")[:2] == [HOST, str(process.pid)]
    assert (alive, is_gone(other), is_gone(this_worker())) == (False, True, False)


@pytest.mark.parametrize(
    ("worker", "expected"),
    [
        (lambda: f"{HOST} 999999999", True),
        (lambda: f"{HOST} 999999999 aaaa", True),
        (lambda: f"{HOST} {os.getppid()} aaaa", False),
        (lambda: "elsewhere 999999999 aaaa", False),
        # A process of an earlier kgcheck with our number says nothing; one with a mark is not this one.
        (lambda: f"{HOST} {os.getpid()}", False),
        (lambda: f"{HOST} {os.getpid()} aaaa", True),
        (lambda: f"{HOST} {os.getpid()} {work._place()}-aaaa", True),
        # A container that has the name of this machine counts its processes by itself.
        (lambda: f"{HOST} 999999999 00000000-aaaa", False),
        (lambda: f"{HOST} 999999999 {work._place()}-aaaa", True),
        (lambda: f"{HOST} no number", False),
        (lambda: "", False),
    ],
)
def test_only_what_is_surely_gone_is_gone(worker: Callable[[], str], expected: bool) -> None:
    assert is_gone(worker()) is expected
