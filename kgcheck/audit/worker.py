"""Worker of an audit: looks up, judges and records each unit in resumable pieces."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import duckdb

from kgcheck import clock
from kgcheck.audit import judging, structure
from kgcheck.audit.executors import Prefetcher, SerialExecutor
from kgcheck.audit.finding_rows import UnlookedPool, finding_rows
from kgcheck.audit.graph_copy import GraphCopy
from kgcheck.audit.lost_findings import FormerFindings, Judged
from kgcheck.audit.naming import NodeNames
from kgcheck.audit.papers import EdgeCitations, Papers
from kgcheck.audit.plain_pairs import Alike
from kgcheck.audit.plan import Piece, Unit, sources_of
from kgcheck.audit.structure import AuditedGraph, StructureRules
from kgcheck.audit.tasks import NO_VALUE, Looked, Selected, TaskSelection
from kgcheck.audit.verified import alike_file, judged_files
from kgcheck.errors import LedgerError, UsageError
from kgcheck.evidence.nodes import EvidenceJoin
from kgcheck.evidence.plain_support import plainly_supported
from kgcheck.graph.store import GraphStore
from kgcheck.ledger.comparisons import ComparisonTable
from kgcheck.ledger.ledger import Ledger, Run
from kgcheck.ledger.rows import FindingRows
from kgcheck.ledger.verified import KEPT_TYPES, VerifiedFiles
from kgcheck.model import CheckTask, CheckType, Outcome, Reason, Target
from kgcheck.options import AuditOptions
from kgcheck.pins import read_pins
from kgcheck.profile.reference_files import NETWORKS, UNIPROT
from kgcheck.profile.schema import Label, Pattern

if TYPE_CHECKING:
    from kgcheck.reference.live import LiveReference

LIVE_TASKS = 20_000
"""Most checks of a run that asks services; more are for a snapshot."""

LIVE_PIECE_TASKS = 2_000
"""Tasks that services are asked for together."""

TASKS_TOGETHER = 20_000
READ_TOGETHER = 200
"""Tasks of small units, which are judged and written together: hardly anything of that takes longer for more tasks."""

EDGES_AHEAD = 16_000_000
"""Edges of next units that are looked at ahead. Units differ in size: now the one thread waits, now the other."""

T = TypeVar("T")


@dataclass(eq=False)
class Worker:
    """Does the units of a run over one copy of the graph."""

    db: duckdb.DuckDBPyConnection
    store: GraphStore
    copy: GraphCopy
    join: EvidenceJoin
    ledger: Ledger
    run: Run
    before: Run | None
    live: "LiveReference | None" = None
    papers: Papers | None = None
    verified: VerifiedFiles | None = None
    executor: SerialExecutor | None = None
    prefetcher: Prefetcher[Looked | None] | None = None

    def __post_init__(self) -> None:
        self._units: Sequence[Unit] = ()
        self._schema = self.store.schema
        self._names = NodeNames(self.store, self.run.nodes)
        self._citations = EdgeCitations(self.papers.reader if self.papers else None, self.copy)
        self._looked_up: list[tuple[Piece, Alike | None]] = []
        self._options = AuditOptions.model_validate(self.run.options)
        self._plain_db = self.prefetcher.db if self.prefetcher else self.db
        parts = (self.db, self.copy, self._schema, self._options)
        self._tasks = TaskSelection(*parts, records=self.verified is not None, plain=self._plain_db)
        pins = read_pins(Path(self._options.pins)) if self._options.pins else ()
        graph = AuditedGraph(self.db, self.copy, self.store, self.run, self.before, pins)
        self._structure = StructureRules(self.db, graph, self._options)

    def prepare(self, units: Sequence[Unit]) -> None:
        """Check the ids that were asked for and draw the sample, before anything is written."""
        self._units = units
        self._tasks.check_ids(self.store, units)
        self._tasks.draw(units)
        wanted = sum(self._tasks.count(unit) for unit in units if unit.type.asks_sources) if self.live else 0
        if wanted > LIVE_TASKS:
            raise UsageError(
                f"{wanted:,} checks are too many to ask services for: {LIVE_TASKS:,} at most",
                "narrow them with --sample, --id, --label or --relation, or audit against a snapshot",
            )

    def work(self, unit: Unit, done: Mapping[str, str]) -> None:
        """Do a unit, as far as it is not done; a small one is finished with others, see `finish`."""
        if unit.piece(0, last=True) in done:
            if self.papers:
                self.papers.skip(unit, self._tasks.count(unit))
            return
        if unit.type is CheckType.STRUCTURE:
            self._work_structure(unit, done)
        else:
            self._work_tasks(unit, done)

    def finish(self) -> None:
        """Judge and write what was looked up and has not been judged yet."""
        if not self._looked_up:
            return
        if len(self._looked_up) > 1:
            self.join.tables.recall()
        pieces = [piece for piece, _ in self._looked_up]
        self._judge(pieces, self.papers)
        self._keep(pieces, [alike for _, alike in self._looked_up])
        keep_all, pool = self._options.keep_all, self._pool(pieces)
        found = finding_rows(self.join.tables, self._names, self.run.id, pieces, keep_all=keep_all, pool=pool)
        judged = judging.tallies(self.db, pieces)
        for piece, rows, counted in zip(pieces, found, judged, strict=True):
            self._write(self.ledger.record, self.run, piece.name, rows, counted, piece.digest)
        self._looked_up = []

    def _pool(self, pieces: Sequence[Piece]) -> UnlookedPool | None:
        """Tasks for the team that nobody could look at: those that it decided in the run before, and some others."""
        most = self._options.team_budget
        services = {UNIPROT, *NETWORKS}
        places = [
            place
            for place, piece in enumerate(pieces if most else ())
            if sources_of([piece.unit], self._schema) & services or self._reads_papers(piece.unit)
        ]
        if not places:
            return None
        targets = {(pieces[place].unit.type, pieces[place].unit.target) for place in places}
        tasks = [task for task in self._decided_by_team if (task.type, Target.of(task)) in targets]
        first = [(task.subject.id, task.object.id if task.object else "") for task in tasks]
        return UnlookedPool(places, most, first, self.run.id)

    def _reads_papers(self, unit: Unit) -> bool:
        return self.papers is not None and self.papers.reads(unit)

    @cached_property
    def _decided_by_team(self) -> list[CheckTask]:
        """Tasks that the team decided in the run before."""
        before = self.ledger.run(self.run.compared_with) if self.run.compared_with else None
        handed = self.ledger.team_findings(before) if before and before.team else []
        return [finding.task for one, finding in handed if one.is_decided]

    def compare(self, units: Sequence[Unit], before: Run | None) -> None:
        """Write down what became of the findings of the run before; every unit must be done."""
        parts = (self.db, self.store, self.copy, self._tasks, self.ledger, self.run, self._judge_again)
        former = FormerFindings(*parts).since(before, units) if before else ()
        table = ComparisonTable(self.ledger.database)
        table.record(self.run.id, before.id if before else None, former, clock.now())

    def _work_tasks(self, unit: Unit, done: Mapping[str, str]) -> None:
        if unit.type is CheckType.EVIDENCE:
            self._note_supported(unit)
        selected = self._select(unit, done)
        size = min(self._options.piece_tasks, LIVE_PIECE_TASKS) if self.live else self._options.piece_tasks
        if unit.type is CheckType.EVIDENCE:
            size = min(size, READ_TOGETHER)
        pieces = max(-(-selected.chosen // size), 1)
        for number in range(pieces):
            name = unit.piece(number, last=number == pieces - 1)
            if self._is_done(name, selected.digest, done):
                if self.papers:
                    self.papers.skip(unit, min(size, selected.chosen - number * size))
                continue
            if not (selected.chosen or selected.plain):
                self._write(self.ledger.record, self.run, name, FindingRows(()), [], selected.digest)
                continue
            is_alone = pieces > 1 or self.live is not None
            before = self._begin(unit, selected.chosen, is_alone=is_alone)
            # Number 0 stands for those that are plainly supported: it is judged and counted with the first piece.
            first, last = number * size + (number > 0), min((number + 1) * size, selected.chosen)
            self._look_up(unit, first, last, before)
            plain, alike = (selected.plain, selected.alike) if number == 0 else (0, None)
            piece = Piece(unit, name, selected.digest, before + first, before + last, plain)
            self._looked_up.append((piece, alike if plain else None))
            if is_alone:
                self.finish()

    def _begin(self, unit: Unit, tasks: int, *, is_alone: bool) -> int:
        """Empty the working tables, or keep what units of the same kind have there: the next number of a task."""
        tables = self.join.tables
        if self._looked_up:
            (first, _), (last, _) = self._looked_up[0], self._looked_up[-1]
            together = last.last - first.first + tasks
            # What papers say is dear: it is written down before more is read.
            reads_papers = unit.type is CheckType.EVIDENCE or self._reads_papers(unit)
            most = min(self._options.piece_tasks, READ_TOGETHER if reads_papers else TASKS_TOGETHER)
            if is_alone or first.unit.type is not unit.type or together > most:
                self.finish()
        if self._looked_up:
            tables.begin_next()
            return last.last + 1
        tables.reset()
        return 0

    def _write(self, func: Callable[..., object], *args: Any) -> None:
        if self.executor:
            self.executor.submit(func, *args)
        else:
            func(*args)

    def _keep(self, pieces: Sequence[Piece], alike: Sequence[Alike | None]) -> None:
        """Keep what was judged, before the ledger says that the pieces are done."""
        if not self.verified:
            return
        for piece, of_piece in zip(pieces, alike, strict=True):
            if of_piece:
                self._write(*alike_file(self.verified, self.db, self.run.id, piece, of_piece))
        if pieces[0].unit.type in KEPT_TYPES:
            for writing in judged_files(self.verified, self.join.tables, self.run.id, pieces):
                self._write(*writing)

    def _judge_again(self, unit: Unit, tasks: str, *, with_papers: bool = True) -> Judged:
        """Judge the tasks of a select as those of the run are, and return outcome and reason of each."""
        self._tasks.choose(f"SELECT row_number() OVER (ORDER BY head, tail) AS number, * FROM ({tasks})")
        count = int(self.db.execute("SELECT count(*) FROM chosen").fetchall()[0][0])
        size = min(self._options.piece_tasks, LIVE_PIECE_TASKS) if self.live else self._options.piece_tasks
        papers = Papers(self.papers.reader) if self.papers and with_papers else None
        paper = "value" if unit.type is CheckType.EVIDENCE else "NULL"
        ended: Judged = {}
        for first in range(1, count + 1, size):
            self.join.tables.reset()
            last = first + size - 1
            self._look_up(unit, first, last)
            self._judge([Piece(unit, unit.piece(0, last=True), "", first, last)], papers)
            select = f"SELECT head, tail, {paper}, outcome, reason FROM judged JOIN task USING (task)"
            rows = self.db.execute(select).fetchall()
            ended |= {tuple(of): (Outcome(outcome), Reason(reason)) for *of, outcome, reason in rows}
        return ended

    def _note_supported(self, unit: Unit) -> None:
        """Look up the edges of a unit of cited papers in the references, to begin with those that nothing else has."""
        self.finish()
        edges = f"SELECT DISTINCT head, tail, {NO_VALUE} FROM ({self._tasks.select_of(unit)})"
        # Services are not asked for an order.
        can_look = bool(unit.pattern and unit.pattern.checks) and not self.live
        of_edges = Unit(type=CheckType.TRIPLE, pattern=unit.pattern)
        ended = self._judge_again(of_edges, edges, with_papers=False) if can_look else {}
        self._tasks.note_supported(
            (head, tail) for (head, tail, _), (outcome, _) in ended.items() if outcome is Outcome.SUPPORTED
        )

    def _select(self, unit: Unit, done: Mapping[str, str]) -> Selected:
        """Select the tasks of a unit, and look for the plainly supported edges of the next ones that are not done."""
        if not self.prefetcher:
            return self._tasks.select(unit, self._look(unit))
        looked = self.prefetcher.take(unit, self._look, unit)
        if self._tasks.is_numbered:
            for following in self._following(unit, done):
                self.prefetcher.submit(following, self._look, following)
        return self._tasks.select(unit, looked)

    def _following(self, unit: Unit, done: Mapping[str, str]) -> Iterator[Unit]:
        """The units that are next, as far as some of their edges may be plainly supported: one, or few edges."""
        rest = self._units[self._units.index(unit) + 1 :]
        edges = 0
        for each in takewhile(self._may_be_plain, (u for u in rest if u.piece(0, last=True) not in done)):
            before, edges = edges, edges + self.run.edges.get(str(each.pattern), 0)
            if before and edges > EDGES_AHEAD:
                return
            yield each

    def _look(self, unit: Unit) -> Looked | None:
        """Look for edges of which one tells all; None where each is to be looked at."""
        if not unit.pattern or not self._may_be_plain(unit):
            return None
        plain = plainly_supported(self._plain_db, unit.pattern, *self._ends(unit.pattern))
        return self._tasks.look(unit, plain) if plain else None

    def _may_be_plain(self, unit: Unit) -> bool:
        is_judged_alone = self._options.keep_all or self.live or self.papers
        return unit.type is CheckType.TRIPLE and not is_judged_alone

    def _look_up(self, unit: Unit, first: int, last: int, before: int = 0) -> None:
        """Add chosen tasks to the working tables, numbered after those that are there, and what is known of them."""
        tables = self.join.tables
        tables.add(
            "task",
            """
            SELECT number + $before AS task, head, tail, value, items FROM chosen
            WHERE number BETWEEN $first AND $last
            """,
            {"first": first, "last": last, "before": before},
        )
        if unit.type is CheckType.EVIDENCE:
            return
        if self.live:
            self.live.fetch(self.db, tables.tasks(), unit.pattern or self._schema.label(unit.label or ""))
        cited = partial(self._cited, unit.pattern) if unit.pattern and unit.type is not CheckType.POTENTIAL else None
        if unit.pattern and unit.attribute:
            check = unit.pattern.scored[unit.attribute]
            self.join.scores(unit.pattern, *self._ends(unit.pattern), check, cited)
        elif unit.pattern:
            self.join.edges(unit.pattern, *self._ends(unit.pattern), cited)
        else:
            label = self._schema.label(unit.label or "")
            if unit.attribute:
                self.join.attribute(label, label.attributes[unit.attribute])
            else:
                self.join.existence(label)
        if self.live:
            tables.set_causes(self.live.causes)

    def _judge(self, pieces: Sequence[Piece], papers: Papers | None) -> None:
        kind = pieces[0].unit.type
        if kind is CheckType.EVIDENCE:
            for piece in pieces:
                self._citations.add(self.join.tables, piece)
        judging.judge_tasks(self.db, kind)
        if papers and papers.add(self.join.tables, pieces):
            judging.judge_tasks(self.db, kind)

    def _cited(self, pattern: Pattern) -> str:
        """A select of the sources that the edges of a pattern name; only asked for where it may matter."""
        return f"SELECT head, tail, coalesce(source, '') AS source FROM {self.copy.edges(pattern)}"

    def _ends(self, pattern: Pattern) -> tuple[Label, Label]:
        return self._schema.label(pattern.head), self._schema.label(pattern.tail)

    def _work_structure(self, unit: Unit, done: Mapping[str, str]) -> None:
        self.finish()
        if self.executor:
            self.executor.wait()
        part = unit.pattern or (self._schema.label(unit.label) if unit.label else None)
        wanted = (hit for hit in self._structure.faults(part) if self._tasks.concerns(hit.ids))
        folded = structure.folded(wanted, self._structure.folds)
        for number, (hits, last) in enumerate(_chunks(folded, self._options.piece_tasks)):
            piece = unit.piece(number, last=last)
            digest = structure.digest(hits)
            if not self._is_done(piece, digest, done):
                found = self._names.beside(structure.findings(hits, self.run.id, clock.now()))
                self.ledger.record(self.run, piece, found, structure.tallies(hits, unit), digest)

    def _is_done(self, piece: str, digest: str, done: Mapping[str, str]) -> bool:
        if done.get(piece, digest) != digest:
            raise LedgerError(
                f"the graph or the snapshot has changed since run {self.run.id} began",
                "start a new run without --resume",
            )
        return piece in done


def _chunks(items: Iterator[T], size: int) -> Iterator[tuple[list[T], bool]]:
    """Lists of `size` items, each with whether it is the last; one empty list for no items."""
    chunk = list(islice(items, size))
    while True:
        following = list(islice(items, size))
        yield chunk, not following
        if not following:
            return
        chunk = following
