"""Parquet files of all verdicts beside the ledger, on right facts too: write and look up.

A piece of a run has a file for the tasks that were looked at one by one, and one for those that one of them tells of.
A file takes its place before the piece is written to the ledger, and is read only once the piece is there: a killed run
leaves no piece without its file, and no file that is read half. Rows are sorted by their first id and stand in small
groups, so that the answer about one task is read from one or two of these, whatever the size of the file.
"""

import json
import re
import shutil
from bisect import bisect_left
from collections.abc import Callable, Mapping
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, Self

from sqlalchemy import func, select

from kgcheck.errors import LedgerError
from kgcheck.ledger.bulk_insert import number_of
from kgcheck.ledger.ledger import Ledger
from kgcheck.ledger.place import folder_beside
from kgcheck.ledger.run import Run
from kgcheck.ledger.tables import FINDING, PIECE, RUN
from kgcheck.model import CheckTask, CheckType, Outcome, Reason, Target, Value
from kgcheck.outputs import close_to_others, make_folder, replacing

if TYPE_CHECKING:
    import pyarrow as pa

COLUMNS = ("head", "tail", "outcome", "reason", "confidence", "source", "release", "record")
"""The columns of a file; one that is the same in all of its rows may stand in its metadata instead."""

KEPT_TYPES = (CheckType.EXISTENCE, CheckType.ATTRIBUTE, CheckType.TRIPLE)
"""Types of tasks that are kept: those about what the graph says."""

METADATA = "kgcheck"
"""Key of what the metadata of a file holds."""

_GROUP = 1024
"""Rows that are read together. Of 4,096 an answer takes a quarter longer, and the files are a seventh smaller."""

_SLICE = 256 * _GROUP
"""Rows that are made at a time, where they are made as they are written."""

_PIECES = select(func.count(), func.max(PIECE.c.run)).select_from(PIECE)
"""Made once: each question asks it, and to make it takes as long as to answer it."""

_FREE_SPACE = "free disk space; kgcheck audit --resume goes on with a run that kgcheck runs lists"
_RUN_ID = re.compile(r"[\w.-]+")


class Verified(Value):
    """Verdict of the newest run that looked at a task, and what decided it.

    ``source``, ``release`` and ``record`` are those of the best evidence for the outcome: none where there was none.
    ``confidence`` is none of an edge that is plainly supported by more than one link: nobody worked it out.
    """

    outcome: Outcome
    reason: Reason
    confidence: float | None = None
    source: str | None = None
    release: str | None = None
    record: str | None = None
    run: str
    at: datetime


class VerifiedFiles:
    """The folder of the files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()

    @classmethod
    def of(cls, ledger: Ledger, home: Path) -> Self:
        return cls(folder_beside(ledger.place, "verified", home))

    def paths(self, run: str, piece: str) -> tuple[Path, Path]:
        """Return the files of a piece: of tasks that were looked at one by one, and of those that are alike."""
        name = sha256(piece.encode()).hexdigest()[:16]
        return self.of_run(run) / f"{name}.parquet", self.of_run(run) / f"{name}-alike.parquet"

    def write(
        self,
        path: Path,
        rows: Callable[[int, int], "pa.Table"],
        count: int,
        same: Mapping[str, str | float | None],
    ) -> None:
        """Write a file of rows that are in the order of their heads, whole or not at all."""
        import pyarrow.parquet as pq

        about = {METADATA: json.dumps({name: value for name, value in same.items() if value is not None})}
        schema = rows(0, 0).schema.with_metadata(about)
        # Heads come again and again; other texts are as many as rows, and a dictionary of them serves nobody.
        options = {"use_dictionary": ["head", "outcome", "reason", "source", "release"], "write_statistics": ["head"]}
        try:
            make_folder(path.parent, secret=True)
            # It is kgcheck's own, whatever the ledger is called.
            close_to_others(self.folder)
            with replacing(path, secret=True) as partial, pq.ParquetWriter(partial, schema, **options) as writer:
                for first in range(0, count, _SLICE):
                    writer.write_table(rows(first, _SLICE).cast(schema), row_group_size=_GROUP)
        except OSError as error:
            raise LedgerError(f"cannot write what was verified to {path.parent}: {error}", _FREE_SPACE) from error

    def remove(self, run: str) -> None:
        shutil.rmtree(self.of_run(run), ignore_errors=True)

    def of_run(self, run: str) -> Path:
        if not _RUN_ID.fullmatch(run) or run in (".", ".."):
            raise LedgerError(f"{run!r} is no id of a run", "the ledger was not written by kgcheck")
        return self.folder / run


class VerifiedReader:
    """Answers from the files of a ledger, for any number of threads. Files stay open; what comes meanwhile is seen."""

    def __init__(self, ledger: Ledger, files: VerifiedFiles, store: str | None = None) -> None:
        self._ledger = ledger
        self._files = files
        self._store = store
        self._seen: tuple[object, ...] = ()
        self._pieces: dict[str, list[tuple[Run, list[Path]]]] = {}
        self._turn = RLock()
        self._open: dict[Path, _File | None] = {}

    def of(self, task: CheckTask) -> Verified | None:
        tail = task.object.id if task.object else None
        with self._turn:
            self._refresh()
            for run, paths in self._pieces.get(_unit(task), ()):
                for path in paths:
                    if row := self._file(path, task.subject.id, tail):
                        return self._answer(run, task, row)
        return None

    def _answer(self, run: Run, task: CheckTask, row: Mapping[str, Any]) -> Verified:
        found = Verified(run=run.id, at=run.started, **{name: row.get(name) for name in COLUMNS[2:]})
        if run.team and found.outcome is not Outcome.SUPPORTED:
            # The team may have decided it afterwards: the finding says so.
            number = number_of(run.id, task.fingerprint).scalar_subquery()
            query = select(FINDING.c.outcome, FINDING.c.reason, FINDING.c.confidence).where(FINDING.c.number == number)
            with self._ledger.database.reading() as connection:
                if decided := connection.execute(query).one_or_none():
                    if decided.outcome != found.outcome.value:
                        return Verified(run=run.id, at=run.started, **decided._mapping)
        return found

    def _file(self, path: Path, head: str, tail: str | None) -> Mapping[str, Any] | None:
        if path not in self._open:
            self._open[path] = _File(path) if path.exists() else None
        file = self._open[path]
        return file.row(head, tail) if file else None

    def _refresh(self) -> None:
        """Read anew which pieces there are, where there are others than before."""
        with self._ledger.database.reading_once() as connection:
            if tuple(connection.execute(_PIECES).one()) == self._seen:
                return
        with self._ledger.database.reading() as connection:
            seen = tuple(connection.execute(_PIECES).one())
            wanted = (RUN.c.store_id == self._store) if self._store is not None else RUN.c.id.is_not(None)
            listed = select(PIECE.c.run, PIECE.c.piece).join(RUN, RUN.c.id == PIECE.c.run).where(wanted)
            pieces: dict[tuple[str, str], list[str]] = {}
            for run, piece in connection.execute(listed.order_by(RUN.c.number.desc(), PIECE.c.piece)):
                pieces.setdefault((run, piece.rpartition(" #")[0]), []).append(piece)
        runs = {run.id: run for run in self._ledger.runs()}
        self._pieces = {}
        for (run, unit), names in pieces.items():
            paths = [path for name in names for path in self._files.paths(run, name)]
            self._pieces.setdefault(unit, []).append((runs[run], paths))
        self._open = {path: file for path, file in self._open.items() if file}
        self._seen = seen


def _unit(task: CheckTask) -> str:
    """The beginning of the names of the pieces that tasks like this one are in; see kgcheck.audit.plan.Unit.piece."""
    return f"{task.type.value} {Target.of(task)}"


class _File:
    """An open file: which of its groups of rows may have an id is known without reading any."""

    def __init__(self, path: Path) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            # It is in memory as soon as it is looked at: to fetch it ahead takes half as long again.
            self._parquet: pq.ParquetFile = pq.ParquetFile(path, memory_map=True, pre_buffer=False)
            metadata = self._parquet.metadata
            self._same: dict[str, Any] = json.loads(metadata.metadata[METADATA.encode()])
            names = self._parquet.schema_arrow.names
            groups = [
                metadata.row_group(n).column(names.index("head")).statistics for n in range(metadata.num_row_groups)
            ]
            self._first = [group.min for group in groups]
            self._last = [group.max for group in groups]
        except (OSError, pa.ArrowException, KeyError, ValueError, AttributeError) as error:
            raise LedgerError(
                f"{path} cannot be read: {error}", "it was not written by kgcheck, or is damaged: remove it"
            ) from error

    def row(self, head: str, tail: str | None) -> dict[str, Any] | None:
        """The row of a task; of several records that decide it, the first."""
        import pyarrow.compute as pc

        group = bisect_left(self._last, head)
        while group < len(self._first) and self._first[group] <= head:
            ends = ["head"] if tail is None else ["head", "tail"]
            rows = self._parquet.read_row_group(group, columns=ends, use_threads=False)
            place = pc.index(rows["head"], head).as_py()
            if place >= 0 and tail is not None:
                same = pc.and_(pc.equal(rows["head"], head), pc.equal(rows["tail"], tail))
                place = pc.index(same, True).as_py()
            if place >= 0:
                rest = [name for name in self._parquet.schema_arrow.names if name not in ends]
                found = self._parquet.read_row_group(group, columns=rest, use_threads=False)
                row: dict[str, Any] = self._same | found.slice(place, 1).to_pylist()[0]
                if row.get("record") is None and self._same.get("record_of_ends"):
                    row["record"] = f"{head} {tail}"
                return row
            group += 1
        return None
