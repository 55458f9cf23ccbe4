"""Runs an audit: one piece of work after the other, each written to the ledger as it ends, so that a killed run resumes."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import duckdb

from kgcheck.audit import bulk
from kgcheck.audit.graphcopy import GraphCopy
from kgcheck.audit.ledger import Ledger, Run, new_run_id, now
from kgcheck.audit.plan import AuditOptions, Unit, make_plan, unknown_id
from kgcheck.audit.structure import Hit, StructureRules, judged, moved_counts
from kgcheck.checks.repair import propose
from kgcheck.checks.verdicts import verdict
from kgcheck.errors import LedgerError, UsageError
from kgcheck.graph.schema import Label, Pattern
from kgcheck.graph.store import Counts, GraphStore
from kgcheck.model import CheckType, Finding, Outcome, Reason, Ref, Tally
from kgcheck.progress import NoProgress, Progress
from kgcheck.settings import Settings
from kgcheck.sources.evidence import EvidenceJoin
from kgcheck.sources.snapshot import Snapshot
from kgcheck.tables import identifier, literal, working_database

PIECE_TASKS = 1_000_000
"""Tasks of one unit that are judged and written together."""

OLD_YEARS = 3
"""A reference of this age or older is warned about."""

_ALL = "(all)"
_MAX_STRAY_EDGES = 100_000


class Audit:
    """One audit of one graph.

    Args:
        store: The graph.
        snapshot: Path of the reference snapshot, or None.
        ledger: Where the run is kept.
        settings: Limits.
        progress: Where to show progress.
    """

    def __init__(
        self,
        store: GraphStore,
        snapshot: Path | None,
        ledger: Ledger,
        settings: Settings,
        progress: Progress | None = None,
    ) -> None:
        self._store = store
        self._snapshot = snapshot
        self._ledger = ledger
        self._settings = settings
        self._progress = progress or NoProgress()

    def start(self, options: AuditOptions) -> Run:
        """Audit the graph from the beginning.

        Args:
            options: What to look at.

        Returns:
            The finished run.

        Raises:
            UnknownName: A label, relation or id does not exist.
            SnapshotError: The snapshot cannot be used.
            StoreError: The store cannot be read.
            LedgerError: The ledger cannot be written.
        """
        counts = self._store.counts()
        make_plan(options, self._store.schema, counts)
        run = Run(
            id=new_run_id(),
            started=now(),
            store=self._store.name,
            profile=self._store.schema.profile.name,
            reference=str(self._snapshot) if self._snapshot else None,
            releases=self._releases(),
            warnings=self._warnings(),
            options=options.model_dump(mode="json"),
            nodes=counts.nodes,
            edges=counts.edges,
        )
        self._ledger.start(run)
        return self._work(run, counts)

    def resume(self, run: Run) -> Run:
        """Go on with a run that was cut off, from the first piece of work that is not in the ledger.

        Args:
            run: The run.

        Returns:
            The finished run.

        Raises:
            UsageError: It is finished.
            LedgerError: The graph or the snapshot is not what it was when the run began.
        """
        if run.finished:
            raise UsageError(f"run {run.id} is finished", "start a new one without --resume")
        counts = self._store.counts()
        if (counts.nodes, counts.edges, self._releases()) != (run.nodes, run.edges, run.releases):
            raise LedgerError(
                f"the graph or the snapshot has changed since run {run.id} began", "start a new run without --resume"
            )
        return self._work(run, counts)

    def _releases(self) -> tuple[str, ...]:
        if not self._snapshot:
            return ()
        with Snapshot(self._snapshot, self._store.schema) as snapshot:
            return tuple(f"{r.source} {r.release} ({r.file} {r.sha256[:12]})" for r in snapshot.releases())

    def _warnings(self) -> tuple[str, ...]:
        """What makes the references of this run less trustworthy: age, or no date."""
        if not self._snapshot:
            return ("no reference snapshot: only the structure of the graph can be checked",)
        with Snapshot(self._snapshot, self._store.schema) as snapshot:
            newest: dict[str, str] = {}
            for r in snapshot.releases():
                newest[r.source] = max(newest.get(r.source, ""), r.released)
        return tuple(text for source, day in sorted(newest.items()) if (text := _age_warning(source, day)))

    def _work(self, run: Run, counts: Counts) -> Run:
        options = AuditOptions.model_validate(run.options)
        units = make_plan(options, self._store.schema, counts)
        done = self._ledger.done(run)
        with working_database(self._settings) as db, self._progress.step("auditing", len(units)) as step:
            worker = _Worker(db, self._store, self._snapshot, self._ledger, run, options, counts)
            worker.check_ids()
            worker.choose_sample(units)
            for unit in units:
                worker.work(unit, done)
                step.advance()
        return self._ledger.finish(run)


class _Worker:
    """The pieces of one run over one copy of the graph."""

    def __init__(
        self,
        db: duckdb.DuckDBPyConnection,
        store: GraphStore,
        snapshot: Path | None,
        ledger: Ledger,
        run: Run,
        options: AuditOptions,
        counts: Counts,
    ) -> None:
        self._db = db
        self._store = store
        self._schema = store.schema
        self._ledger = ledger
        self._run = run
        self._options = options
        self._copy = GraphCopy(db, store)
        self._join = EvidenceJoin(db, snapshot)
        held = {**counts.nodes, **counts.edges}
        self._structure = StructureRules(db, self._copy, self._schema, {n for n, c in held.items() if c})
        self._threshold: int | None = None

    def check_ids(self) -> None:
        """Refuse ids that no node has."""
        for wanted in self._options.ids:
            labels = [self._schema.label(n) for n in self._options.labels] or list(self._schema.labels)
            if any(self._store.nodes(label, [wanted]) for label in labels):
                continue
            likely = set(self._schema.labels_for(wanted)) or {s.name for s in labels}
            ids = [
                row[0]
                for label in labels
                if label.name in likely
                for row in self._db.execute(f"SELECT id FROM {self._copy.nodes(label)}").fetchall()
            ]
            raise unknown_id(wanted, ids)

    def choose_sample(self, units: Sequence[Unit]) -> None:
        """Find the hash below which a task is in the sample: the N smallest of all tasks of all units."""
        size = self._options.sample
        if size is None:
            return
        self._db.execute("CREATE OR REPLACE TEMP TABLE smallest (hash UBIGINT)").fetchall()
        for unit in units:
            if unit.type is not CheckType.STRUCTURE:
                self._select(unit)
                self._db.execute(f"INSERT INTO smallest SELECT hash FROM chosen ORDER BY hash LIMIT {size}").fetchall()
        rows = self._db.execute(f"SELECT max(hash) FROM (SELECT hash FROM smallest ORDER BY hash LIMIT {size})").fetchall()
        self._threshold = rows[0][0] if rows[0][0] is not None else 0

    def work(self, unit: Unit, done: set[str]) -> None:
        """Do a unit, as far as it is not done."""
        if unit.type is CheckType.STRUCTURE:
            if unit.key not in done:
                self._record_structure(unit)
            return
        if f"{unit.key} #last" in done:
            return
        self._select(unit)
        total = int(self._db.execute("SELECT count(*) FROM chosen").fetchall()[0][0])
        pieces = range(0, max(total, 1), PIECE_TASKS)
        for start in pieces:
            last = start == pieces[-1]
            piece = f"{unit.key} #{'last' if last else start // PIECE_TASKS}"
            if piece not in done:
                self._judge(unit, start)
                found = bulk.findings(self._db, self._run.id, unit.type, **self._ends(unit), keep_all=self._options.keep_all)
                self._ledger.record(self._run, piece, found, bulk.tallies(self._db, unit.type, unit.target))

    def _ends(self, unit: Unit) -> dict[str, str | None]:
        if unit.pattern:
            return {"head": unit.pattern.head, "relation": unit.pattern.type, "tail": unit.pattern.tail}  # type: ignore[dict-item]
        return {"head": unit.label, "attribute": unit.attribute}

    def _judge(self, unit: Unit, start: int) -> None:
        self._join.reset()
        self._db.execute(
            f"""
            INSERT INTO task SELECT number, head, tail, value, items FROM chosen
            WHERE number > {start} AND number <= {start + PIECE_TASKS}
            """
        ).fetchall()
        if unit.pattern:
            pattern = unit.pattern
            self._join.edges(pattern, self._schema.label(pattern.head), self._schema.label(pattern.tail))
        elif unit.attribute:
            label = self._schema.label(str(unit.label))
            self._join.attribute(label, label.attributes[unit.attribute])
        else:
            self._join.existence(self._schema.label(str(unit.label)))
        bulk.judge_tasks(self._db, unit.type)

    def _select(self, unit: Unit) -> None:
        """Table ``chosen``: the tasks of a unit, numbered from 1 in an order that does not change."""
        source = self._tasks(unit)
        kept = f"WHERE hash <= {self._threshold}" if self._threshold is not None else ""
        key = f"concat_ws(chr(31), {self._options.seed}, {literal(unit.key)}, head, tail)"
        self._db.execute(
            f"""
            CREATE OR REPLACE TEMP TABLE chosen AS
            SELECT row_number() OVER (ORDER BY head, tail) AS number, *
            FROM (SELECT *, md5_number_lower({key}) AS hash FROM ({source}) {self._only_ids()}) {kept}
            """
        ).fetchall()

    def _only_ids(self) -> str:
        if not self._options.ids:
            return ""
        listed = ", ".join(literal(i) for i in self._options.ids)
        return f"WHERE head IN ({listed}) OR tail IN ({listed})"

    def _tasks(self, unit: Unit) -> str:
        nothing = "NULL::VARCHAR AS value, NULL::VARCHAR[] AS items"
        match unit.type:
            case CheckType.EXISTENCE:
                table = self._copy.nodes(self._schema.label(str(unit.label)))
                return f"SELECT DISTINCT id AS head, NULL::VARCHAR AS tail, {nothing} FROM {table}"
            case CheckType.ATTRIBUTE:
                return self._attribute_tasks(self._schema.label(str(unit.label)), str(unit.attribute))
            case CheckType.TRIPLE:
                assert unit.pattern
                return f"SELECT DISTINCT head, tail, {nothing} FROM {self._copy.edges(unit.pattern)}"
            case _:
                assert unit.pattern
                return f"SELECT DISTINCT head, tail, {nothing} FROM ({self._missing_edges(unit.pattern)})"

    def _attribute_tasks(self, label: Label, attribute: str) -> str:
        column = identifier(attribute)
        listed = label.properties[attribute].type == "strings"
        value = "NULL::VARCHAR" if listed else f"{column}::VARCHAR"
        items = column if listed else "NULL::VARCHAR[]"
        return f"""
        SELECT id AS head, NULL::VARCHAR AS tail, {value} AS value, {items} AS items FROM {self._copy.nodes(label)}
        QUALIFY row_number() OVER (PARTITION BY id) = 1"""

    def _missing_edges(self, pattern: Pattern) -> str:
        """Pairs of nodes that a deciding source links and the graph does not, in either order where order means nothing."""
        heads = self._copy.nodes(self._schema.label(pattern.head))
        tails = self._copy.nodes(self._schema.label(pattern.tail))
        edges = self._copy.edges(pattern)
        stated = []
        for check in pattern.checks:
            enough = f"AND (score IS NULL OR score >= {check.threshold})" if check.threshold is not None else ""
            held = f"SELECT head, tail FROM {edges}"
            if pattern.symmetric:
                held += f" UNION ALL SELECT tail, head FROM {edges}"
            if check.match == "descendant":
                # An edge to a term says the same of its ancestors, so that nothing is missing there.
                held += f""" UNION ALL SELECT e.head, a.ancestor FROM {edges} e
                JOIN ref.ancestor a ON a.ontology = {literal(check.ontology or "")} AND a.id = e.tail"""
            order = "least(head, tail) AS head, greatest(head, tail) AS tail" if pattern.symmetric else "head, tail"
            stated.append(
                f"""
                SELECT {order} FROM (
                    SELECT DISTINCT l.head, l.tail FROM ref.link l
                    SEMI JOIN {heads} h ON h.id = l.head SEMI JOIN {tails} t ON t.id = l.tail
                    WHERE l.source = {literal(check.source)} AND l.relation = {literal(pattern.type)} AND NOT l.negated {enough}
                ) ANTI JOIN ({held}) AS held(head, tail) USING (head, tail)"""
            )
        return " UNION ".join(stated) or "SELECT NULL::VARCHAR AS head, NULL::VARCHAR AS tail WHERE false"

    def _record_structure(self, unit: Unit) -> None:
        seen: dict[str, Finding] = {}
        counted: dict[tuple[Outcome, Reason], int] = {}
        seen_at = now()
        for hit in self._hits(unit):
            task, evidence = judged(hit, seen_at)
            if self._options.ids and not {task.subject.id, task.object.id if task.object else ""} & set(self._options.ids):
                continue
            decided = verdict(CheckType.STRUCTURE, [evidence])
            if task.fingerprint not in seen:
                counted[decided.outcome, decided.reason] = counted.get((decided.outcome, decided.reason), 0) + 1
                seen[task.fingerprint] = Finding(
                    run=self._run.id,
                    fingerprint=task.fingerprint,
                    task=task,
                    verdict=decided,
                    change=propose(task, decided),
                )
        tallies = [
            Tally(type=unit.type, target=unit.target, outcome=o, reason=r, sources="graph", count=n)
            for (o, r), n in sorted(counted.items())
        ]
        self._ledger.record(self._run, unit.key, seen.values(), tallies)

    def _hits(self, unit: Unit) -> Iterator[Hit]:
        if unit.pattern:
            yield from self._structure.of_pattern(unit.pattern)
            yield from self._moved(str(unit.pattern), unit.pattern.head)
            yield from self._stray(unit.pattern)
        else:
            label = self._schema.label(str(unit.label))
            yield from self._structure.of_label(label)
            yield from self._moved(label.name, label.name)

    def _moved(self, name: str, label: str) -> Iterator[Hit]:
        before = self._previous()
        if before:
            after = {**self._run.nodes, **self._run.edges}
            old = {**before.nodes, **before.edges}
            for moved, told in moved_counts({name: old.get(name, 0)}, {name: after.get(name, 0)}):
                yield Hit(Reason.COUNT_MOVED, Ref(label=label, id=_ALL), None, Ref(label=moved, id=_ALL), told)

    def _previous(self) -> Run | None:
        """The newest finished run of the same store before this one."""
        runs = [r for r in self._ledger.runs() if r.finished and r.store == self._run.store and r.id != self._run.id]
        earlier = [r for r in runs if r.started <= self._run.started]
        return earlier[0] if earlier else None

    def _stray(self, pattern: Pattern) -> Iterator[Hit]:
        """Edges of this relation whose ends fit no pattern; told once, with the first pattern of the relation."""
        if self._schema.patterns(pattern.type)[0] != pattern:
            return
        for edge in self._store.stray_edges(_MAX_STRAY_EDGES):
            if edge.relation == pattern.type:
                ends = Ref(label=edge.head_label, id=edge.head), Ref(label=edge.tail_label, id=edge.tail)
                told = f"{edge.head_label} {edge.relation} {edge.tail_label} is no pattern of the schema"
                yield Hit(Reason.WRONG_END_LABEL, ends[0], edge.relation, ends[1], told)


def _age_warning(source: str, released: str) -> str:
    """A graph that is newer than its reference is told to be wrong where only the reference is old."""
    if not released[:4].isdigit():
        return f"the release of {source} has no date: what it does not know may be newer than it"
    years = now().year - int(released[:4])
    if years < OLD_YEARS:
        return ""
    return f"{source} is of {released}, {years} years old: what the graph has from later releases looks wrong to it"
