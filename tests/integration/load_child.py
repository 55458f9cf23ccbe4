"""A load for a process of its own (tests.support.forked), for tests that kill it or take its disk away.

Each write is told with a line on stdout, before it begins. With a limit, no file may grow past so many bytes from
the first write on. The message of an error goes to stderr; a traceback would be a fault.
"""

import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kgcheck.errors import KgcheckError
from kgcheck.graph.open import open_store
from kgcheck.loading.load import load_directory
from kgcheck.profile.schema import load_schema
from kgcheck.progress import ProgressStep
from kgcheck.settings import Settings


class Told:
    """Tells of every step of the writing."""

    def __init__(self, limit: int | None) -> None:
        self._limit = limit

    @contextmanager
    def step(self, description: str, total: int | None = None) -> Iterator[ProgressStep]:
        if description.startswith("writing"):
            if self._limit is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (self._limit, resource.RLIM_INFINITY))
            self.advance()
            yield self
        else:
            yield _Silent()

    def advance(self, amount: int = 1) -> None:
        sys.stdout.write(f"{amount}\n")
        sys.stdout.flush()


class _Silent:
    def advance(self, amount: int = 1) -> None:
        pass


def main(store: str, folder: str, quarantine: str, limit: str | None = None) -> int:
    """Load; the exit code of the error, if any."""
    try:
        with open_store(store, load_schema(), Settings(), create=True) as opened:
            progress = Told(int(limit) if limit else None)
            load_directory(Path(folder), opened, Settings(), quarantine=Path(quarantine), progress=progress)
    except KgcheckError as error:
        sys.stderr.write(f"{type(error).__name__}: {error.message} ({error.hint})\n")
        return error.exit_code
    return 0
