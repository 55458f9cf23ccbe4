"""QueryProcess: run untrusted statements on an embedded store in a sandboxed child process.

The process is started with the first statement, serves the next ones, and is ended when one takes too long or too much
memory. It is given the path of the store and an empty environment: what it answers is read as data.
"""

import json
import os
import selectors
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from kgcheck.errors import StoreError, StoreUnavailable
from kgcheck.graph import sandbox
from kgcheck.graph.result_limits import LONGEST_ANSWER
from kgcheck.graph.store import Reading

_START_S = 30.0
_GRACE_S = 1.0
_KEPT = ("PATH", "LD_LIBRARY_PATH")
_WORKER = "kgcheck.graph.query_worker"


class _Answer(BaseModel):
    """A line of the process: that it is ready or why not, rows, or why there are none."""

    model_config = ConfigDict(extra="forbid")

    ready: bool = False
    failed: str | None = None
    refused: str | None = None
    too_much: str | None = None
    rows: list[list[Any]] | None = None


class QueryProcess:
    """One process for one store; several threads may ask, one after the other."""

    def __init__(self, store: Path) -> None:
        sandbox.check()
        self._store = store
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = Lock()

    def rows(self, reading: Reading, limit: int, timeout_s: float) -> list[list[Any]]:
        stated = {"text": reading.text, "parameters": reading.parameters, "limited": reading.limited}
        request = {**stated, "limit": limit, "timeout_s": timeout_s}
        with self._lock:
            process = self._running()
            with suppress(BrokenPipeError):
                if process.stdin:
                    process.stdin.write(json.dumps(request).encode() + b"\n")
                    process.stdin.flush()
            answer = self._answer(process, timeout_s + _GRACE_S)
        if answer.refused is not None:
            raise RuntimeError(answer.refused)
        if answer.rows is None:
            raise StoreError(f"a statement over {self._store} took or gave too much", "ask for less")
        if len(answer.rows) > limit or len({len(row) for row in answer.rows}) > 1:
            raise self._odd()
        return answer.rows

    def close(self) -> None:
        process, self._process = self._process, None
        if process:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe:
                    pipe.close()

    def _running(self) -> "subprocess.Popen[bytes]":
        if self._process and self._process.poll() is None:
            return self._process
        self.close()
        self._process = subprocess.Popen(  # noqa: S603 this very Python, and a path that is no option
            [sys.executable, "-I", "-m", _WORKER, str(self._store.resolve())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={name: os.environ[name] for name in _KEPT if name in os.environ},
            # Ctrl-C is for the one who asked.
            start_new_session=True,
        )
        answer = self._answer(self._process, _START_S)
        if not answer.ready:
            self.close()
            raise StoreUnavailable(
                f"the guarded process for {self._store} did not start: {answer.failed or 'it said nothing'}",
                "run the same command again",
            )
        return self._process

    def _answer(self, process: "subprocess.Popen[bytes]", timeout_s: float) -> _Answer:
        """The next line of the process; it is ended where there is none in time."""
        try:
            line = _line(process, timeout_s)
            answer = _Answer.model_validate_json(line) if line else _Answer()
        except TimeoutError:
            self.close()
            raise StoreUnavailable(f"a query on {self._store} took too long", "ask for less") from None
        except ValidationError:
            # Statements of others run there: what it says is data of theirs.
            raise self._odd() from None
        except BaseException:
            # What it would still say is an answer to another question.
            self.close()
            raise
        if not line:
            self.close()
        return answer

    def _odd(self) -> StoreError:
        """The error of an answer that is none; whoever gave it is not asked again."""
        self.close()
        return StoreError(f"the guarded process for {self._store} gave what is no answer", "ask in another way")


def _line(process: "subprocess.Popen[bytes]", timeout_s: float) -> bytes:
    """A line of a process, or nothing if it ended or said too much."""
    if process.stdout is None:
        return b""
    buffered = b""
    until = time.monotonic() + timeout_s
    with selectors.DefaultSelector() as ready:
        ready.register(process.stdout, selectors.EVENT_READ)
        while not buffered.endswith(b"\n"):
            if not ready.select(max(0.0, until - time.monotonic())):
                raise TimeoutError
            some = os.read(process.stdout.fileno(), 1 << 16)
            buffered += some
            if not some or len(buffered) > LONGEST_ANSWER + 1:
                return b""
    return buffered
