"""Watches a program that is run, from outside: what it says, what it writes, and how long it takes."""

import json
import os
import selectors
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from kgcheck.errors import InputError, ProgramError
from kgcheck.protocols.programs.folder import filled
from kgcheck.protocols.programs.made import space_of
from kgcheck.protocols.programs.record import ProgramLimits, ReachedLimit

_EVERY_S = 0.03
_PAUSES = 10
"""How many times as long as a look takes the pause is before the next one, where many files are looked through."""

_GRACE_S = 5.0
_SIGNS: dict[ReachedLimit, tuple[str, ...]] = {
    "memory": ("MemoryError", "bad_alloc", "Cannot allocate memory", "cannot allocate vector", "Unable to allocate"),
    "disk": ("File too large", "No space left on device"),
    "open_files": ("Too many open files",),
}
"""What programs say at a limit that the kernel lets them know of."""
_REPORT = "report"


class EndedProgram(NamedTuple):
    """How a program ended, in the fields of a ProgramRun."""

    exit: int | None
    signal: str
    limit: ReachedLimit | None
    seconds: float
    processor_seconds: float
    memory_bytes: int
    stdout: str
    stderr: str


class ProgramWatch:
    """Reads what a program says and ends it at its limits."""

    def __init__(self, process: "subprocess.Popen[bytes]", report: int, folder: Path, limits: ProgramLimits) -> None:
        self._process = process
        self._report = report
        self._folder = folder
        self._limits = limits
        self._text = {"stdout": bytearray(), "stderr": bytearray(), _REPORT: bytearray()}
        self._began = time.monotonic()
        self._killed_at: float | None = None
        self._limit: ReachedLimit | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Whatever happened here, nothing of it goes on.
        if self._process.poll() is None:
            self._kill_all()
        for pipe in (self._process.stdout, self._process.stderr):
            if pipe:
                pipe.close()
        os.close(self._report)

    def until_end(self) -> EndedProgram:
        """Wait for its end, or bring it about."""
        with selectors.DefaultSelector() as ready:
            ready.register(self._process.stdout or 1, selectors.EVENT_READ, "stdout")
            ready.register(self._process.stderr or 2, selectors.EVENT_READ, "stderr")
            ready.register(self._report, selectors.EVENT_READ, _REPORT)
            next_look = 0.0
            while ready.get_map():
                for key, _ in ready.select(_EVERY_S):
                    some = os.read(key.fd, 1 << 16)
                    if not some:
                        ready.unregister(key.fd)
                    self._take(key.data, some)
                began = time.monotonic()
                if began >= next_look:
                    self._look()
                    next_look = began + max(_EVERY_S, _PAUSES * (time.monotonic() - began))
        self._process.wait()
        return self._ended()

    def _take(self, name: str, some: bytes) -> None:
        most = self._limits.output_kib << 10
        kept = self._text[name]
        kept += some[: most - len(kept)]
        if len(kept) >= most and some:
            self._end("output")

    def _look(self) -> None:
        """End it if it is over a limit that the kernel does not know."""
        now = time.monotonic()
        if self._text[_REPORT]:
            # It has ended, and what it left is copied.
            return
        if self._killed_at is not None:
            if now - self._killed_at > _GRACE_S:
                self._kill_all()
            return
        if now - self._began > self._limits.seconds:
            self._end("seconds")
            return
        facts = _facts(self._chain()[-1])
        if facts.get("Threads", 0) > self._limits.threads:
            self._end("threads")
        # Also what lies in files that have no name any more.
        elif max(facts.get("wchar", 0), facts.get("write_bytes", 0)) > 2 * (self._limits.disk_mib << 20):
            self._end("disk")
        elif over := filled(str(self._folder), space_of(self._limits)).over:
            self._end(over)

    def _end(self, limit: ReachedLimit) -> None:
        """Kill the program alone, so that what started it can report what it took."""
        if self._killed_at is None:
            self._limit, self._killed_at = limit, time.monotonic()
            with suppress(ProcessLookupError):
                os.kill(self._chain()[-1], signal.SIGKILL)

    def _kill_all(self) -> None:
        for each in reversed(self._chain()):
            with suppress(ProcessLookupError):
                os.kill(each, signal.SIGKILL)
        self._process.wait()

    def _chain(self) -> list[int]:
        """Processes from the one that was started to the program: each has one child, and the program can have none."""
        chain = [self._process.pid]
        with suppress(OSError):
            while under := Path(f"/proc/{chain[-1]}/task/{chain[-1]}/children").read_text().split():
                chain.append(int(under[0]))
        return chain

    def _ended(self) -> EndedProgram:
        seconds = time.monotonic() - self._began
        stdout, stderr = (self._text[name].decode(errors="backslashreplace") for name in ("stdout", "stderr"))
        # Where it could not be started, that comes first; else how it ended, and then what became of what it left.
        reported: list[dict[str, Any]] = [json.loads(line) for line in self._text[_REPORT].splitlines()]
        found, left = (*reported, {}, {})[:2]
        if "failed" in found or (not found and self._limit is None):
            why = found.get("failed") or (stderr.strip().splitlines() or ["it was ended from outside"])[-1]
            raise ProgramError(f"a program could not be started in the sandbox: {why[:300]}", "see docs/security.md")
        if "lost" in left:
            raise InputError(
                f"cannot keep what a program left: {left['lost']}", "free disk space, or name another folder"
            )
        limit = self._limit or left.get("over")
        used = found.get("processor_seconds", 0.0)
        ended_by = found.get("signal", signal.SIGKILL.name)
        if limit is None and (
            ended_by == "SIGXCPU" or (ended_by == "SIGKILL" and used >= self._limits.processor_seconds)
        ):
            limit = "processor"
        if limit is None and ended_by == "SIGBUS":
            # A page of a file that is written through memory had no room.
            limit = "disk"
        if limit is None and found.get("exit") != 0:
            last = stderr[-2000:]
            limit = next((kind for kind, signs in _SIGNS.items() if any(sign in last for sign in signs)), None)
        return EndedProgram(
            exit=found.get("exit"),
            signal=ended_by,
            limit=limit,
            seconds=round(seconds, 3),
            processor_seconds=round(used, 3),
            memory_bytes=found.get("memory_bytes", 0),
            stdout=stdout,
            stderr=stderr,
        )


def _facts(process: int) -> dict[str, int]:
    """Numbers that the kernel has of a process; fewer where it ends just now."""
    found = {}
    for name in ("status", "io"):
        with suppress(OSError, ValueError):
            for line in Path(f"/proc/{process}/{name}").read_text().splitlines():
                key, _, value = line.partition(":")
                if key in ("Threads", "wchar", "write_bytes"):
                    found[key] = int(value)
    return found
