"""Functions at work in processes of their own, for tests that kill them or take their disk away.

Each is forked from one process that has imported what they need: a new Python would spend a second on that each time.
"""

import multiprocessing
import os
import resource
import subprocess
import sys
import textwrap
from collections.abc import Callable
from multiprocessing.connection import Connection

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(
    [
        "pytest",
        "kgcheck.graph.embedded",
        "kgcheck.graph.neo4j",
        "kgcheck.ledger.ledger",
        "kgcheck.ledger.database",
        "tests.integration.load_child",
        "tests.unit.test_ledger",
    ]
)


class Forked:
    """A function at work in a process of its own, with the environment of this one."""

    def __init__(self, work: Callable[..., int], *arguments: object, limit: int | None = None) -> None:
        out, its_out = _CONTEXT.Pipe(duplex=False)
        err, its_err = _CONTEXT.Pipe(duplex=False)
        self.out, self.err = (os.fdopen(os.dup(end.fileno()), encoding="utf-8") for end in (out, err))
        texts = tuple(map(str, arguments))
        self._process = _CONTEXT.Process(
            target=_run, args=(work, texts, dict(os.environ), its_out, its_err, limit), daemon=True
        )
        self._process.start()
        for end in (out, err, its_out, its_err):
            end.close()

    def kill(self) -> None:
        """Kill it at once."""
        self._process.kill()

    def ended(self) -> subprocess.CompletedProcess[str]:
        """Wait for its end; its exit code, and the rest of what it wrote."""
        with self.out, self.err:
            out, err = self.out.read(), self.err.read()
        self._process.join()
        code = self._process.exitcode
        self._process.close()
        assert code is not None
        return subprocess.CompletedProcess([], code, out, err)


def program(text: str, *arguments: object) -> Forked:
    """A program at work, as with ``python -c``; its arguments begin with `sys.argv[1]`."""
    return Forked(_execute, text, *arguments)


def _execute(text: str, *arguments: str) -> int:
    sys.argv = ["-c", *arguments]
    exec(compile(textwrap.dedent(text), "-c", "exec"), {"__name__": "__main__"})  # noqa: S102 - of a test
    return 0


def _run(
    work: Callable[..., int],
    arguments: tuple[str, ...],
    environment: dict[str, str],
    out: Connection,
    err: Connection,
    limit: int | None,
) -> None:
    os.environ.clear()
    os.environ.update(environment)
    for end, number in ((out, 1), (err, 2)):
        os.dup2(end.fileno(), number)
        end.close()
    if limit is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    sys.exit(work(*arguments))
