"""Resumable JSON Lines log of the steps of a paper search."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kgcheck.closing import Closing
from kgcheck.errors import IndexFault


class StepLog(Closing):
    """Lines of one work.

    Done again, it makes the same lines, which are left as they are; from the first that is another one on, they are
    written anew: what was there is of an end that did not come.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._again = True
        with self._failing():
            self._file = path.open("r+b" if path.exists() else "w+b")

    def put(self, step: str, **values: object) -> None:
        line = (json.dumps({"step": step, **values}) + "\n").encode()
        with self._failing():
            place = self._file.tell()
            if self._again and self._file.read(len(line)) == line:
                return
            self._cut(place)
            self._file.write(line)
            # Killed after this, the line is in the file.
            self._file.flush()

    def end(self) -> None:
        with self._failing():
            self._cut(self._file.tell())

    def close(self) -> None:
        self._file.close()

    def _cut(self, place: int) -> None:
        if self._again:
            self._again = False
            self._file.seek(place)
            self._file.truncate()

    @contextmanager
    def _failing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise IndexFault(f"cannot write {self.path}: {error.strerror}", "free disk space") from error
