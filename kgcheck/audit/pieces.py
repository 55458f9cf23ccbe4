"""The pieces of one run: each judged and written to the ledger by itself."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice, takewhile
from typing import Any, TypeVar

import duckdb

from kgcheck import clock
from kgcheck.audit import judging, structure
from kgcheck.audit.ahead import Ahead
from kgcheck.audit.columns import finding_rows
from kgcheck.audit.former import FormerFindings
from kgcheck.audit.graph_copy import GraphCopy
from kgcheck.audit.in_turn import InTurn
from kgcheck.audit.naming import NodeNames
from kgcheck.audit.papers import Papers
from kgcheck.audit.plain import Alike
from kgcheck.audit.plan import Unit
from kgcheck.audit.structure import AuditedGraph, Fault, StructureRules
from kgcheck.audit.tasks import Looked, Selected, TaskSelection
from kgcheck.audit.verified import alike_file, judged_file
from kgcheck.errors import LedgerError, UsageError
from kgcheck.evidence.confirmed import PlainEdges
from kgcheck.evidence.nodes import EvidenceJoin
from kgcheck.evidence.source import LiveSource
from kgcheck.evidence.tables import CHOSEN, fill
from kgcheck.graph.store import GraphStore
from kgcheck.ledger.comparison_table import ComparisonTable
from kgcheck.ledger.ledger import Ledger, Run
from kgcheck.ledger.rows import FindingRows
from kgcheck.ledger.verified import KEPT_TYPES, VerifiedFiles
from kgcheck.model import CheckType, Outcome, Reason, Tally, Target
from kgcheck.options import AuditOptions
from kgcheck.profile.schema import Label, Pattern

LIVE_TASKS = 20_000
"""Most checks of a run that asks services; more are for a snapshot."""

LIVE_PIECE_TASKS = 2_000
"""Tasks that services are asked for together."""

EDGES_AHEAD = 16_000_000
"""Edges of next units that are looked at ahead. Units differ in size: now the one thread waits, now the other."""

T = TypeVar("T")


class Worker:
    """Does the units of a run over one copy of the graph."""

    def __init__(
        self,
        db: duckdb.DuckDBPyConnection,
        store: GraphStore,
        copy: GraphCopy,
        join: EvidenceJoin,
        ledger: Ledger,
        run: Run,
        before: Run | None,
        live: LiveSource | None = None,
        papers: Papers | None = None,
        verified: VerifiedFiles | None = None,
        in_turn: InTurn | None = None,
        ahead: Ahead[Looked | None] | None = None,
    ) -> None:
        self._db = db
        self._in_turn = in_turn
        self._ahead = ahead
        self._units: Sequence[Unit] = ()
        self._verified = verified
        self._papers = papers
        self._store = store
        self._schema = store.schema
        self._ledger = ledger
        self._run = run
        self._join = join
        self._names = NodeNames(store, run.nodes)
        self._live = live
        self._not_listed: dict[tuple[CheckType, Target], list[Tally]] = {}
        self._options = AuditOptions.model_validate(run.options)
        self._copy = copy
        self._plain_db = ahead.db if ahead else db
        parts = (db, copy, self._schema, self._options)
        self._tasks = TaskSelection(*parts, records=verified is not None, plain=self._plain_db)
        self._structure = StructureRules(db, AuditedGraph(db, copy, store, run, before), self._options)

    def prepare(self, units: Sequence[Unit]) -> None:
        """Check the ids that were asked for and draw the sample, before anything is written."""
        self._units = units
        self._tasks.check_ids(self._store, units)
        if self._live:
            for unit in units:
                if unit.type is CheckType.POTENTIAL and unit.pattern:
                    self._live.suggest(self._db, unit.pattern, self._options.ids, self._options.threshold)
                    self._not_listed[unit.type, unit.target] = judging.not_listed(unit, self._live.causes)
        self._tasks.draw(units)
        if self._live:
            self._refuse_too_many(units)

    def work(self, unit: Unit, done: Mapping[str, str]) -> None:
        """Do a unit, as far as it is not done."""
        if unit.piece(0, last=True) in done:
            if self._papers and unit.type is not CheckType.STRUCTURE:
                self._papers.skip(unit, self._tasks.count(unit))
            return
        if unit.type is CheckType.STRUCTURE:
            self._work_structure(unit, done)
        else:
            self._work_tasks(unit, done)

    def compare(self, units: Sequence[Unit], before: Run | None) -> None:
        """Write down what became of the findings of the run before; every unit must be done."""
        parts = (self._db, self._store, self._copy, self._tasks, self._ledger, self._run, self._judge_again)
        former = FormerFindings(*parts).since(before, units) if before else ()
        table = ComparisonTable(self._ledger.database)
        table.record(self._run.id, before.id if before else None, former, clock.now())

    def _work_tasks(self, unit: Unit, done: Mapping[str, str]) -> None:
        selected = self._select(unit, done)
        size = min(self._options.piece_tasks, LIVE_PIECE_TASKS) if self._live else self._options.piece_tasks
        pieces = max(-(-selected.chosen // size), 1)
        for number in range(pieces):
            piece = unit.piece(number, last=number == pieces - 1)
            if self._is_done(piece, selected.digest, done):
                if self._papers:
                    self._papers.skip(unit, min(size, selected.chosen - number * size))
                continue
            found = FindingRows(())
            counted = self._not_listed.get((unit.type, unit.target), []) if number == 0 else []
            if selected.chosen or selected.plain:
                # Number 0 stands for those that are plainly supported: it is judged and counted with the first piece.
                self._judge(unit, number * size + (number > 0), (number + 1) * size)
                counted = counted + judging.tallies(self._db, unit, selected.plain)
                self._keep(unit, piece, selected.alike if number == 0 and selected.plain else None)
                keep_all = self._options.keep_all
                found = finding_rows(self._join.tables, self._names, self._run.id, unit, keep_all=keep_all)
            self._write(self._ledger.record, self._run, piece, found, counted, selected.digest)

    def _write(self, what: Callable[..., object], *about: Any) -> None:
        """Do it at once, or after what is still to be written."""
        if self._in_turn:
            self._in_turn.do(what, *about)
        else:
            what(*about)

    def _keep(self, unit: Unit, piece: str, alike: Alike | None) -> None:
        """Keep what was judged, before the ledger says that the piece is done."""
        if self._verified:
            if alike:
                self._write(*alike_file(self._verified, self._db, self._run.id, piece, unit, alike))
            if unit.type in KEPT_TYPES:
                self._write(*judged_file(self._verified, self._join.tables, self._run.id, piece, unit))

    def _judge_again(self, unit: Unit, tasks: str) -> dict[tuple[str, str | None], tuple[Outcome, Reason]]:
        """How the tasks of a select end, by their ends: judged as those of the run are."""
        numbered = f"SELECT row_number() OVER (ORDER BY head, tail) AS number, * FROM ({tasks})"
        fill(self._db, CHOSEN, numbered)
        count = int(self._db.execute("SELECT count(*) FROM chosen").fetchall()[0][0])
        size = min(self._options.piece_tasks, LIVE_PIECE_TASKS) if self._live else self._options.piece_tasks
        papers, self._papers = self._papers, Papers(self._papers.reader) if self._papers else None
        ended: dict[tuple[str, str | None], tuple[Outcome, Reason]] = {}
        try:
            for first in range(1, count + 1, size):
                self._judge(unit, first, first + size - 1)
                rows = self._db.execute(
                    "SELECT head, tail, outcome, reason FROM judged JOIN task USING (task)"
                ).fetchall()
                ended |= {(head, tail): (Outcome(outcome), Reason(reason)) for head, tail, outcome, reason in rows}
        finally:
            self._papers = papers
        return ended

    def _select(self, unit: Unit, done: Mapping[str, str]) -> Selected:
        """Select the tasks of a unit, and look for the plainly supported edges of the next ones that are not done."""
        if not self._ahead:
            return self._tasks.select(unit, self._look(unit))
        looked = self._ahead.take(unit, self._look, unit)
        if self._tasks.is_numbered:
            for following in self._following(unit, done):
                self._ahead.begin(following, self._look, following)
        return self._tasks.select(unit, looked)

    def _following(self, unit: Unit, done: Mapping[str, str]) -> Iterator[Unit]:
        """The units that are next, as far as some of their edges may be plainly supported: one, or few edges."""
        rest = self._units[self._units.index(unit) + 1 :]
        edges = 0
        for each in takewhile(self._may_be_plain, (u for u in rest if u.piece(0, last=True) not in done)):
            before, edges = edges, edges + self._edges(each)
            if before and edges > EDGES_AHEAD:
                return
            yield each

    def _edges(self, unit: Unit) -> int:
        return self._run.edges.get(str(unit.pattern), 0)

    def _look(self, unit: Unit) -> Looked | None:
        plain = self._plain(unit)
        return self._tasks.look(unit, plain) if plain else None

    def _plain(self, unit: Unit) -> PlainEdges | None:
        """Edges of which one tells all; None where each is to be looked at."""
        if not unit.pattern or not self._may_be_plain(unit):
            return None
        return self._join.plainly_supported(unit.pattern, *self._ends(unit.pattern), self._plain_db)

    def _may_be_plain(self, unit: Unit) -> bool:
        is_judged_alone = self._options.keep_all or self._live or self._papers
        return unit.type is CheckType.TRIPLE and not is_judged_alone

    def _refuse_too_many(self, units: Sequence[Unit]) -> None:
        wanted = sum(self._tasks.count(unit) for unit in units if unit.type is not CheckType.STRUCTURE)
        if wanted > LIVE_TASKS:
            raise UsageError(
                f"{wanted:,} checks are too many to ask services for: {LIVE_TASKS:,} at most",
                "narrow them with --sample, --id, --label or --relation, or audit against a snapshot",
            )

    def _judge(self, unit: Unit, first: int, last: int) -> None:
        tables = self._join.tables
        tables.reset()
        tables.add_tasks(
            """
            SELECT number AS task, head, tail, value, items FROM chosen WHERE number BETWEEN $first AND $last
            """,
            {"first": first, "last": last},
        )
        if self._live:
            self._live.fetch(self._db, tables.tasks(), unit.pattern or self._schema.label(unit.label or ""))
        if unit.pattern and unit.attribute:
            self._join.scores(unit.pattern, *self._ends(unit.pattern), unit.pattern.scored[unit.attribute])
        elif unit.pattern:
            cited = partial(self._cited, unit.pattern) if unit.type is CheckType.TRIPLE else None
            self._join.edges(unit.pattern, *self._ends(unit.pattern), cited)
        else:
            label = self._schema.label(unit.label or "")
            if unit.attribute:
                self._join.attribute(label, label.attributes[unit.attribute])
            else:
                self._join.existence(label)
        if self._live:
            tables.set_causes(self._live.causes)
        judging.judge_tasks(self._db, unit.type)
        if self._papers and self._papers.add(self._join.tables, unit):
            judging.judge_tasks(self._db, unit.type)

    def _cited(self, pattern: Pattern) -> str:
        """A select of the sources that the edges of a pattern name; only asked for where it may matter."""
        return f"SELECT head, tail, coalesce(source, '') AS source FROM {self._copy.edges(pattern)}"

    def _ends(self, pattern: Pattern) -> tuple[Label, Label]:
        return self._schema.label(pattern.head), self._schema.label(pattern.tail)

    def _work_structure(self, unit: Unit, done: Mapping[str, str]) -> None:
        if self._in_turn:
            self._in_turn.wait()
        for number, (hits, last) in enumerate(_chunks(self._hits(unit), self._options.piece_tasks)):
            piece = unit.piece(number, last=last)
            digest = structure.digest(hits)
            if not self._is_done(piece, digest, done):
                found = self._names.beside(structure.findings(hits, self._run.id, clock.now()))
                self._ledger.record(self._run, piece, found, structure.tallies(hits, unit), digest)

    def _is_done(self, piece: str, digest: str, done: Mapping[str, str]) -> bool:
        if done.get(piece, digest) != digest:
            raise LedgerError(
                f"the graph or the snapshot has changed since run {self._run.id} began",
                "start a new run without --resume",
            )
        return piece in done

    def _hits(self, unit: Unit) -> Iterator[Fault]:
        if unit.pattern:
            hits = self._structure.of_pattern(unit.pattern)
        elif unit.label:
            hits = self._structure.of_label(self._schema.label(unit.label))
        else:
            hits = self._structure.of_graph()
        wanted = (hit for hit in hits if self._tasks.about(hit.ids))
        return wanted if self._options.unfold else structure.folded(wanted)


def _chunks(items: Iterator[T], size: int) -> Iterator[tuple[list[T], bool]]:
    """Lists of `size` items, each with whether it is the last; one empty list for no items."""
    chunk = list(islice(items, size))
    while True:
        following = list(islice(items, size))
        yield chunk, not following
        if not following:
            return
        chunk = following
