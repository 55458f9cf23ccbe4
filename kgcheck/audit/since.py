"""An audit of what may end otherwise than in an earlier run, because its references are others; the rest is carried.

Of each unit the touched tasks (kgcheck.audit.touched) are judged twice: as the older snapshot has it, to take them out
of the counts of the earlier run, and as the newer has it. What is left of the earlier run holds as it is.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import duckdb

from kgcheck.audit import judging, structure
from kgcheck.audit.pieces import Worker
from kgcheck.audit.plan import Unit
from kgcheck.audit.tasks import TaskSelection
from kgcheck.audit.touched import SnapshotChanges
from kgcheck.audit.touched_copy import FormerCopy, TouchedCopy, TouchedTasks
from kgcheck.evidence.confirmed import Plain
from kgcheck.evidence.nodes import EvidenceJoin
from kgcheck.graph.store import GraphStore
from kgcheck.ledger.carrying import carry
from kgcheck.ledger.ledger import Ledger, Run, now
from kgcheck.ledger.verified import VerifiedFiles
from kgcheck.model import CheckType, Reason, Tally, Target
from kgcheck.reference.both import read

_Key = tuple[Any, ...]


class SinceWorker(Worker):
    """Does the units of a run of which an earlier run has most.

    Args:
        db: A working database with both snapshots, see kgcheck.reference.both.
        store: The graph, the same as then.
        join: The reference sources.
        ledger: Where the pieces are kept.
        run: The run.
        before: The audit whose counts are compared, or None.
        former: The earlier run.
        dates: Of what the graph has of each label and pattern, as far as they are known.
        verified: Where what was judged is kept, or None.
    """

    def __init__(
        self,
        db: duckdb.DuckDBPyConnection,
        store: GraphStore,
        join: EvidenceJoin,
        ledger: Ledger,
        run: Run,
        before: Run | None,
        former: Run,
        dates: Mapping[str, str],
        verified: VerifiedFiles | None = None,
    ) -> None:
        super().__init__(db, store, join, ledger, run, before, verified=verified)
        self._former = former
        self._changes = SnapshotChanges(db, store, self._copy, dates)
        self._part = TouchedCopy(db, store, self._changes)
        self._part_tasks = TouchedTasks(db, self._part, self._schema, self._options)
        self._counted: dict[tuple[CheckType, Target], list[Tally]] = {}
        for tally in ledger.tallies(former):
            self._counted.setdefault((tally.type, tally.target), []).append(tally)

    def work(self, unit: Unit, done: Mapping[str, str]) -> None:
        """See Worker."""
        if unit.piece(0, last=True) in done:
            return
        if unit.type is CheckType.STRUCTURE:
            self._carry_structure(unit, done)
            return
        touched = self._changes.of(unit)
        if touched is None:
            super().work(unit, done)
            return
        whole = self._copy, self._tasks
        self._part.begin(unit)
        self._copy, self._tasks = self._part, self._part_tasks
        try:
            left = self._left(unit) if _carried(unit) not in done else ([], [])
            if left is not None:
                if _carried(unit) not in done:
                    self._carry(unit, *left)
                super()._work_tasks(unit, done)
                return
        finally:
            self._copy, self._tasks = whole
        super().work(unit, done)

    def compare(self, units: Sequence[Unit], before: Run | None) -> None:
        """See Worker: of the graph, only what findings that were not found again are about is read."""
        whole = self._copy, self._tasks
        copy = FormerCopy(self._db, self._store, self._changes, self._copy)
        self._copy, self._tasks = copy, TaskSelection(self._db, copy, self._schema, self._options)
        try:
            super().compare(units, before)
        finally:
            self._copy, self._tasks = whole

    def _left(self, unit: Unit) -> tuple[list[str], list[Tally]] | None:
        """What the earlier run found of the touched tasks, and what it counted of all others.

        Returns:
            Fingerprints and tallies; None where the older snapshot does not give what the earlier run counted.
        """
        counts = Counter({_key(t): t.count for t in self._counted.get((unit.type, unit.target), ())})
        found: list[str] = []
        read(self._db, "older")
        try:
            selected = self._tasks.select(unit)
            for first in range(1, selected.chosen + 1, self._options.piece_tasks):
                self._judge(unit, first, first + self._options.piece_tasks - 1)
                counts.subtract({_key(t): t.count for t in judging.tallies(self._db, unit)})
                tasks = "SELECT head, tail FROM judged JOIN task USING (task)"
                if not self._options.keep_all:
                    tasks += " WHERE outcome IN ('refuted', 'insufficient')"
                found += self._part_tasks.fingerprints(unit, tasks)
        finally:
            read(self._db, "newer")
        if any(count < 0 for count in counts.values()):
            return None
        return found, [_tally(unit, key, count) for key, count in counts.items() if count]

    def _carry(self, unit: Unit, found: list[str], left: list[Tally]) -> None:
        target = unit.target
        database = self._ledger.database
        carry(database, self._run, _carried(unit), self._former, unit.type, target, left, without=found)

    def _plain(self, unit: Unit) -> Plain | None:
        """Of touched tasks each is looked at."""
        return None if self._tasks is self._part_tasks else super()._plain(unit)

    def _carry_structure(self, unit: Unit, done: Mapping[str, str]) -> None:
        """A graph that is the same has the same faults; only the counts of the run before may be others."""
        left = [t for t in self._counted.get((unit.type, unit.target), ()) if t.reason is not Reason.COUNT_MOVED]
        last = unit.piece(0, last=True)
        if unit.label or unit.pattern:
            self._ledger.record(self._run, last, [], left)
            return
        # The unit of the whole graph, which every plan of structure has, brings the findings of all.
        if _carried(unit) not in done:
            moved = [Reason.COUNT_MOVED]
            database = self._ledger.database
            carry(database, self._run, _carried(unit), self._former, unit.type, None, left, without_reasons=moved)
        hits = [hit for hit in self._structure.moved(self._options) if self._tasks.about(hit.ids)]
        found = self._names.beside(structure.findings(hits, self._run.id, now()))
        self._ledger.record(self._run, last, found, structure.tallies(hits, unit), structure.digest(hits))


def _carried(unit: Unit) -> str:
    return f"{unit.type.value} {unit.target} #carried"


def _key(tally: Tally) -> _Key:
    return tally.outcome, tally.reason, tally.sources, tally.gaps


def _tally(unit: Unit, key: _Key, count: int) -> Tally:
    outcome, reason, sources, gaps = key
    return Tally(
        type=unit.type, target=unit.target, outcome=outcome, reason=reason, sources=sources, gaps=gaps, count=count
    )
