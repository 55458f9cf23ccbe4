"""A log of steps in JSON lines that work done again does not write twice."""

import json
from pathlib import Path
from types import TracebackType
from typing import Self

from kgcheck.errors import IndexFault


class StepLog:
    """Lines of one work.

    Done again, it makes the same lines, which are left as they are; from the first that is another one on, they are
    written anew: what was there is of an end that did not come.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.kept = 0
        """Lines that were there before."""
        self.lines = 0
        self._again = True
        try:
            self._file = path.open("r+b" if path.exists() else "w+b")
        except OSError as error:
            raise self._fault(error) from error

    def put(self, step: str, **values: object) -> None:
        """A line."""
        line = (json.dumps({"step": step, **values}) + "\n").encode()
        self.lines += 1
        try:
            if self._again:
                place = self._file.tell()
                if self._file.read(len(line)) == line:
                    self.kept += 1
                    return
                self._cut(place)
            self._file.write(line)
            # Killed after this, the line is in the file.
            self._file.flush()
        except OSError as error:
            raise self._fault(error) from error

    def end(self) -> None:
        """Take away what stands behind the last line."""
        try:
            if self._again:
                self._cut(self._file.tell())
        except OSError as error:
            raise self._fault(error) from error

    def _cut(self, place: int) -> None:
        self._again = False
        self._file.seek(place)
        self._file.truncate()

    def _fault(self, error: OSError) -> IndexFault:
        return IndexFault(f"cannot write {self.path}: {error.strerror}", "free disk space")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
