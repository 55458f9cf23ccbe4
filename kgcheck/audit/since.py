"""An audit of what may end otherwise than in an earlier run, because its references are others; the rest is carried.

Of each unit the touched tasks (kgcheck.audit.touched) are taken out of what the earlier run found and counted, and are
judged as the newer snapshot has it. How they ended in the earlier run, it left behind (kgcheck.audit.recorded); where
that does not tell, they are judged as the older snapshot has it, too. What is left holds as it is.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import islice

import duckdb

from kgcheck import clock
from kgcheck.audit import judging, structure
from kgcheck.audit.ahead import Ahead
from kgcheck.audit.in_turn import InTurn
from kgcheck.audit.pieces import Worker
from kgcheck.audit.plan import Unit
from kgcheck.audit.recorded import Key, RecordedOutcomes, fingerprints, key_of
from kgcheck.audit.tasks import NO_TASKS, TaskSelection
from kgcheck.audit.touched import UNITS_AHEAD, SnapshotChanges, TouchedUnit
from kgcheck.audit.touched_copy import FormerCopy, TouchedCopy, TouchedTasks
from kgcheck.evidence.confirmed import PlainEdges
from kgcheck.evidence.nodes import EvidenceJoin
from kgcheck.graph.store import GraphStore
from kgcheck.ledger.carrying import CarriedFindings
from kgcheck.ledger.ledger import Ledger, Run
from kgcheck.ledger.run import CARRIED, LAST
from kgcheck.ledger.verified import KEPT_TYPES, VerifiedFiles
from kgcheck.model import CheckType, Reason, Tally, Target
from kgcheck.reference.difference import read

_FEW_TASKS = 30_000
"""So many are sooner judged one by one than those are found that need not be: these are looked for among all links."""

_MANY_TASKS, _SHARE = 20_000, 0.02
"""Where more edges of a pattern are touched than both: one of them takes as long as fifty that are counted together."""


class SinceWorker(Worker):
    """Does the units of a run of which an earlier run has most."""

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
        verified: VerifiedFiles | None,
        in_turn: InTurn,
        touching: Ahead[TouchedUnit | None],
    ) -> None:
        super().__init__(db, store, join, ledger, run, before, verified=verified, in_turn=in_turn)
        self._former = former
        self._carrying = CarriedFindings(ledger.database, run, former)
        self._touching = touching
        self._changes = SnapshotChanges(touching.db, store, dates)
        self._part = TouchedCopy(db, store, self._changes)
        self._part_tasks = TouchedTasks(db, self._part, self._schema, self._options)
        self._counted: dict[tuple[CheckType, Target], list[Tally]] = {}
        for tally in ledger.tallies(former):
            self._counted.setdefault((tally.type, tally.target), []).append(tally)
        self._recorded = RecordedOutcomes(db, ledger, verified, former)
        self._pieces: dict[str, dict[str, str]] = {}
        for piece, digest in ledger.done(former).items():
            self._pieces.setdefault(piece.rpartition(" #")[0], {})[piece] = digest

    def work(self, unit: Unit, done: Mapping[str, str]) -> None:
        """See Worker."""
        if unit.piece(0, last=True) in done:
            return
        if unit.type is CheckType.STRUCTURE:
            self._carry_structure(unit, done)
            return
        touched = self._touching.take(unit, self._changes.of, unit)
        for following in islice(self._left_after(unit, done), UNITS_AHEAD):
            self._touching.begin(following, self._changes.of, following)
        if touched is None:
            super().work(unit, done)
            return
        whole = self._copy, self._tasks
        counted = self._counted.get((unit.type, unit.target), ())
        self._part.begin(unit, touched, self._recorded.pairs(unit, self._pieces_of(unit), counted))
        self._copy, self._tasks = self._part, self._part_tasks
        try:
            left: tuple[list[str], list[Tally]] | None = [], []
            if _carried(unit) not in done:
                left = None if touched.any and self._is_dear(unit) else self._left(unit, touched)
            if left is not None:
                if _carried(unit) not in done:
                    self._carry(unit, *left)
                if touched.any:
                    super()._work_tasks(unit, done)
                else:
                    self._write(self._ledger.record, self._run, unit.piece(0, last=True), [], [], NO_TASKS)
                return
        finally:
            self._copy, self._tasks = whole
        super().work(unit, done)

    def _left_after(self, unit: Unit, done: Mapping[str, str]) -> Iterator[Unit]:
        """The units after one of which something is to be looked at."""
        for each in self._units[self._units.index(unit) + 1 :]:
            if each.type is not CheckType.STRUCTURE and each.piece(0, last=True) not in done:
                yield each

    def compare(self, units: Sequence[Unit], before: Run | None) -> None:
        """See Worker: of the graph, only what findings that were not found again are about is read."""
        whole = self._copy, self._tasks
        copy = FormerCopy(self._db, self._store, self._changes, self._copy, self._part)
        self._copy, self._tasks = copy, TaskSelection(self._db, copy, self._schema, self._options)
        try:
            super().compare(units, before)
        finally:
            self._copy, self._tasks = whole

    def _is_dear(self, unit: Unit) -> bool:
        """Whether to look at what is touched takes longer than to look at the whole unit."""
        if unit.type is not CheckType.TRIPLE or not unit.pattern or not self._verified:
            return False
        edges, touched = self._run.edges.get(str(unit.pattern), 0), self._tasks.count(unit)
        return touched > max(_MANY_TASKS, _SHARE * edges)

    def _left(self, unit: Unit, touched: TouchedUnit) -> tuple[list[str], list[Tally]] | None:
        """What the earlier run found of the touched tasks, and what it counted of all others."""
        counted = self._counted.get((unit.type, unit.target), ())
        counts = Counter({key_of(t): t.count for t in counted})
        found: list[str] = []
        if touched.any:
            tasks, pieces = self._tasks.select_of(unit), self._pieces_of(unit)
            if recorded := self._recorded.of(unit, tasks, pieces, counted):
                found, ended = recorded
                counts.subtract(ended)
            else:
                # Who looks ahead reads the newer one.
                self._touching.wait()
                read(self._db, "older")
                try:
                    found = self._take_out(unit, counts)
                finally:
                    read(self._db, "newer")
        if any(count < 0 for count in counts.values()):
            return None
        return found, [_tally(unit, key, count) for key, count in counts.items() if count]

    def _plain(self, unit: Unit) -> PlainEdges | None:
        """See Worker."""
        if self._copy is self._part and self._tasks.count(unit) <= _FEW_TASKS:
            return None
        return super()._plain(unit)

    def _pieces_of(self, unit: Unit) -> dict[str, str]:
        """The pieces of a unit that the earlier run did, each with the digest of its tasks."""
        return self._pieces.get(unit.piece(0, last=True).removesuffix(f" {LAST}"), {})

    def _take_out(self, unit: Unit, counts: Counter[Key]) -> list[str]:
        """Take the touched tasks out of the counts of the earlier run, as ``ref`` has it: fingerprints of findings."""
        selected, size = self._select(unit), self._options.piece_tasks
        found: list[str] = []
        for start in range(0, selected.chosen or bool(selected.plain), size):
            # Number 0 stands for those that are plainly supported, see Worker.
            self._judge(unit, start + (start > 0), start + size)
            counts.subtract({key_of(t): t.count for t in judging.tallies(self._db, unit, selected.plain)})
            tasks = "SELECT head, tail FROM judged JOIN task USING (task)"
            if not self._options.keep_all:
                tasks += " WHERE outcome IN ('refuted', 'insufficient')"
            found += fingerprints(self._db, unit, tasks)
        return found

    def _carry(self, unit: Unit, found: list[str], left: list[Tally]) -> None:
        if self._verified and unit.type in KEPT_TYPES:
            self._write(self._verified.inherit, self._run.id, _carried(unit), self._former, self._pieces_of(unit))
        carry = partial(self._carrying.carry, without=found)
        self._write(carry, _carried(unit), unit.type, unit.target, left)

    def _carry_structure(self, unit: Unit, done: Mapping[str, str]) -> None:
        """A graph that is the same has the same faults; only the counts of the run before may be others."""
        left = [t for t in self._counted.get((unit.type, unit.target), ()) if t.reason is not Reason.COUNT_MOVED]
        last = unit.piece(0, last=True)
        if unit.label or unit.pattern:
            self._write(self._ledger.record, self._run, last, [], left)
            return
        # The unit of the whole graph, which every plan of structure has, brings the findings of all.
        if _carried(unit) not in done:
            carry = partial(self._carrying.carry, without_reasons=[Reason.COUNT_MOVED])
            self._write(carry, _carried(unit), unit.type, None, left)
        hits = [hit for hit in self._structure.moved(self._options) if self._tasks.about(hit.ids)]
        found = list(self._names.beside(structure.findings(hits, self._run.id, clock.now())))
        tallies, digest = structure.tallies(hits, unit), structure.digest(hits)
        self._write(self._ledger.record, self._run, last, found, tallies, digest)


def _carried(unit: Unit) -> str:
    return f"{unit.type.value} {unit.target} {CARRIED}"


def _tally(unit: Unit, key: Key, count: int) -> Tally:
    outcome, reason, sources, gaps = key
    return Tally(
        type=unit.type, target=unit.target, outcome=outcome, reason=reason, sources=sources, gaps=gaps, count=count
    )
