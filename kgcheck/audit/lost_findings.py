"""Work out what became of findings that a run no longer has: fixed, gone, or not looked at.

That a finding is absent says nothing by itself. So it is asked, while graph and references are at hand: is what it is
about still in the graph, was its task part of this run, and how does that task end now?
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa

from kgcheck.audit.graph_copy import GraphCopy
from kgcheck.audit.plan import Unit
from kgcheck.audit.structure import MAX_STRAY_EDGES
from kgcheck.audit.tasks import TaskSelection
from kgcheck.duck import put_arrow
from kgcheck.errors import UnknownName
from kgcheck.graph.store import GraphStore
from kgcheck.ledger.basis import basis_of, is_deciding
from kgcheck.ledger.comparisons import ComparisonState, ComparisonTable, FormerFinding, Pair
from kgcheck.ledger.ledger import Ledger, Run
from kgcheck.ledger.rows import task_of
from kgcheck.model import CheckType, Outcome, Reason, TallyMark, Target
from kgcheck.options import AuditOptions
from kgcheck.profile.schema import Pattern, Schema
from kgcheck.rules import ALL, rules_named, structure_rules

Judged = dict[tuple[str, str | None, str | None], tuple[Outcome, Reason]]
Judge = Callable[[Unit, str], Judged]
"""Judges the tasks of a select (head, tail, value, items): how each ended, by its ends, and the paper of a citation."""

Ended = tuple[ComparisonState, str]
"""Present state of a former finding, and why, where there is more to say."""

_FIXED, _GONE, _UNCHECKED, _CHANGED = (
    ComparisonState.FIXED,
    ComparisonState.GONE,
    ComparisonState.UNCHECKED,
    ComparisonState.CHANGED,
)
_NOT_PART = "not part of this run"
_SAME = "x.head = f.head AND x.tail IS NOT DISTINCT FROM f.tail"
_OF_ONE_TARGET = ("type", "subject_label", "relation", "object_label")


_Key = tuple[CheckType, Target]
"""Names a unit."""


class FormerTask(NamedTuple):
    """A former finding's task, with what decides where it is looked for."""

    fingerprint: str
    type: CheckType
    label: str
    head: str
    relation: str | None
    object_label: str | None
    tail: str | None
    attribute: str | None
    rule: str | None


class FormerFindings:
    """Finds out what became of the findings of the run before."""

    def __init__(
        self,
        db: duckdb.DuckDBPyConnection,
        store: GraphStore,
        copy: GraphCopy,
        tasks: TaskSelection,
        ledger: Ledger,
        run: Run,
        judge: Judge,
    ) -> None:
        self._db = db
        self._store = store
        self._schema: Schema = store.schema
        self._copy = copy
        self._tasks = tasks
        self._ledger = ledger
        self._run = run
        self._judge = judge
        self._options = AuditOptions.model_validate(run.options)
        self._table = ComparisonTable(ledger.database)
        self._could_not_look = {
            (tally.type, tally.target) for tally in ledger.tallies(run) if tally.outcome is Outcome.UNAVAILABLE
        }

    def since(self, before: Run, units: Iterable[Unit]) -> Iterator[FormerFinding]:
        """Yield the findings of an earlier run whose fate cannot be seen from the findings of both."""
        pair = Pair(before.id, self._run.id)
        plan = {(unit.type, unit.target): unit for unit in units}
        yield from self._weakened(pair)
        yield from self._folded(pair)
        for _, rows in groupby(self._table.unfound(pair), key=lambda row: [getattr(row, n) for n in _OF_ONE_TARGET]):
            yield from self._of_target(list(rows), plan)

    def _of_target(self, rows: Sequence[Any], plan: Mapping[_Key, Unit]) -> Iterator[FormerFinding]:
        by_unit: dict[_Key, list[Any]] = defaultdict(list)
        for row in rows:
            by_unit[_key(row)].append(row)
        for key, some in by_unit.items():
            ended: dict[str, Ended] = {}
            left = []
            for row in some:
                if row.severity_now == TallyMark.SUPPORTED.severity:
                    ended[row.fingerprint] = _FIXED, ""
                elif row.severity_now == TallyMark.UNAVAILABLE.severity:
                    ended[row.fingerprint] = _UNCHECKED, "could not be looked at"
                else:
                    left.append(_task(row))
            unit = plan.get(key)
            if left:
                ended |= self._ended(unit, left) if unit else self._outside(key, left)
            yield from (_former(row, *ended[row.fingerprint]) for row in some)

    def _pattern(self, head: str, relation: str | None, tail: str | None) -> Pattern | None:
        try:
            return self._schema.pattern(head, relation, tail) if relation and tail else None
        except UnknownName:
            return None

    def _outside(self, key: _Key, tasks: list[FormerTask]) -> dict[str, Ended]:
        """Return the states of tasks outside every unit: gone where the graph has no such nodes or edges at all."""
        kind, of = key
        pattern = self._pattern(of.label or "", of.relation, of.object_label)
        is_gone = False
        if kind in self._options.types and pattern:
            wanted = self._options.wants_edges(pattern.head, pattern.type, pattern.tail)
            nodes = self._run.nodes.get(pattern.head) and self._run.nodes.get(pattern.tail)
            is_gone = wanted and not (nodes if kind is CheckType.POTENTIAL else self._run.edges.get(str(pattern)))
        elif kind in self._options.types and of.label in self._schema.label_names and not of.relation:
            is_gone = self._options.wants_label(of.label) and not self._run.nodes.get(of.label)
        ended = (_GONE, "") if is_gone else (_UNCHECKED, _NOT_PART)
        return {task.fingerprint: ended for task in tasks}

    def _ended(self, unit: Unit, tasks: list[FormerTask]) -> dict[str, Ended]:
        self._register(tasks)
        try:
            match unit.type:
                case CheckType.STRUCTURE:
                    return self._structure_ended(unit, tasks)
                case CheckType.POTENTIAL:
                    return self._potential_ended(unit)
                case CheckType.EVIDENCE:
                    return self._cited_ended(unit, tasks)
                case _:
                    return self._looked_up_ended(unit)
        finally:
            self._db.execute("DROP TABLE IF EXISTS former").fetchall()

    def _register(self, tasks: Sequence[FormerTask]) -> None:
        """Table ``former``: the tasks, a row each."""
        columns = {
            name: [getattr(task, name) for task in tasks] for name in ("fingerprint", "head", "tail", "attribute")
        }
        rows = pa.table(columns, schema=pa.schema([(name, pa.string()) for name in columns]))
        put_arrow(self._db, "former", rows)

    def _looked_up_ended(self, unit: Unit) -> dict[str, Ended]:
        """Return the states of existence, attribute and edge tasks: in the graph, in the run, and their end."""
        if unit.pattern:
            there = self._copy.pairs(unit.pattern)
        else:
            nodes = self._copy.nodes(self._schema.label(unit.label or ""))
            there = f"(SELECT id AS head, NULL::VARCHAR AS tail FROM {nodes})"
        every, part = self._tasks.select_of(unit, whole=True), self._tasks.select_of(unit)
        rows = self._marked({"there": there, "is_task": f"({every})", "part": f"({part})"})
        again = self._judge_again(
            unit, f"SELECT head, tail, value, items FROM ({part}) x SEMI JOIN former f ON {_SAME}"
        )
        ended: dict[str, Ended] = {}
        for fingerprint, head, tail, is_there, is_task, is_part in rows:
            if not is_there or (not is_task and unit.attribute):
                ended[fingerprint] = _GONE, "" if not is_there else "there is nothing to check any more"
            elif not is_part:
                ended[fingerprint] = _UNCHECKED, _NOT_PART
            else:
                outcome, reason = again.get((head, tail, None), (Outcome.SUPPORTED, Reason.CONFIRMED))
                ended[fingerprint] = _by_mark(TallyMark.of(unit.type, outcome), reason)
        return ended

    def _judge_again(self, unit: Unit, select: str) -> Judged:
        # Where every task of the unit could be looked at, one that makes no finding is supported.
        return self._judge(unit, select) if (unit.type, unit.target) in self._could_not_look else {}

    def _cited_ended(self, unit: Unit, tasks: list[FormerTask]) -> dict[str, Ended]:
        """Return the states of papers that edges cited: the edge, the citation and the task, and its end."""
        assert unit.pattern  # noqa: S101  (every unit of this type has one)
        same = "SEMI JOIN former f ON f.head = x.head AND f.tail = x.tail AND f.attribute = x.value"
        every, part = (
            f"SELECT head, tail, value, items FROM ({select}) x {same}"
            for select in (self._tasks.select_of(unit, whole=True), self._tasks.select_of(unit))
        )
        cited, wanted, there = (
            set(self._db.execute(f"SELECT {columns} FROM ({select})").fetchall())
            for columns, select in (
                ("head, tail, value", every),
                ("head, tail, value", part),
                ("head, tail", f"FROM {self._copy.pairs(unit.pattern)} SEMI JOIN former USING (head, tail)"),
            )
        )
        again = self._judge_again(unit, part)
        ended: dict[str, Ended] = {}
        for task in tasks:
            citation = (task.head, task.tail, task.attribute)
            if (task.head, task.tail) not in there:
                ended[task.fingerprint] = _GONE, ""
            elif citation not in cited:
                ended[task.fingerprint] = _GONE, "the edge does not cite it any more"
            elif citation not in wanted:
                ended[task.fingerprint] = _UNCHECKED, _NOT_PART
            else:
                outcome, reason = again.get(citation, (Outcome.SUPPORTED, Reason.CONFIRMED))
                ended[task.fingerprint] = _by_mark(TallyMark.of(unit.type, outcome), reason)
        return ended

    def _potential_ended(self, unit: Unit) -> dict[str, Ended]:
        """Return the states of edges that the graph lacked: it may have them now, or the sources no more."""
        pattern = unit.pattern
        assert pattern  # noqa: S101  (every unit of this type has one)
        heads, tails = (self._copy.nodes(self._schema.label(name)) for name in (pattern.head, pattern.tail))
        pairs = self._copy.pairs(pattern)
        turned = f"UNION SELECT tail AS head, head AS tail FROM {pairs}" if pattern.symmetric else ""
        nodes = f"""(SELECT f.head, f.tail FROM former f
                     SEMI JOIN {heads} h ON h.id = f.head SEMI JOIN {tails} t ON t.id = f.tail)"""
        every, part = self._tasks.select_of(unit, whole=True), self._tasks.select_of(unit)
        rows = self._marked(
            {
                "nodes": nodes,
                "stated": f"(SELECT head, tail FROM {pairs} {turned})",
                "missing": f"({every})",
                "part": f"({part})",
            }
        )
        again = self._judge(
            unit, "SELECT DISTINCT head, tail, NULL::VARCHAR AS value, NULL::VARCHAR[] AS items FROM former"
        )
        ended: dict[str, Ended] = {}
        for fingerprint, head, tail, has_nodes, is_stated, is_missing, is_part in rows:
            outcome, reason = again.get((head, tail, None), (Outcome.UNAVAILABLE, Reason.REFERENCE_MISSING))
            if not has_nodes:
                ended[fingerprint] = _GONE, ""
            elif not self._tasks.concerns({head, tail}) or (is_missing and not is_part):
                ended[fingerprint] = _UNCHECKED, _NOT_PART
            elif is_stated:
                ended[fingerprint] = _FIXED, "the graph has the edge now"
            elif outcome is Outcome.INSUFFICIENT and reason is Reason.NOTHING_FOUND and not is_missing:
                ended[fingerprint] = _FIXED, "no source states the edge any more"
            else:
                ended[fingerprint] = _by_mark(TallyMark.of(unit.type, outcome), reason)
        return ended

    def _structure_ended(self, unit: Unit, tasks: list[FormerTask]) -> dict[str, Ended]:
        """Return the states of structure tasks: no hit any more, or nothing left that the rule could hit."""
        there = self._there(tasks)
        folds = self._folds_now()
        ended: dict[str, Ended] = {}
        without = rules_named([*self._options.without_rules, *([] if self._options.pins else ["pins"])])
        for task in tasks:
            if task.rule in without or task.rule not in structure_rules():
                ended[task.fingerprint] = _UNCHECKED, _NOT_PART
            elif not self._tasks.concerns({task.head, task.tail or task.head}):
                ended[task.fingerprint] = _UNCHECKED, _NOT_PART
            elif task.rule == "wrong_end_label" and task.fingerprint not in there:
                ended[task.fingerprint] = self._stray()
            elif task.head != ALL and task.fingerprint not in there:
                ended[task.fingerprint] = _GONE, ""
            elif task.head != ALL and (one := folds.get(_alike(task))):
                ended[task.fingerprint] = _CHANGED, f"among those of {one}, or fixed"
            else:
                ended[task.fingerprint] = _FIXED, ""
        return ended

    def _stray(self) -> Ended:
        # An edge that fits no pattern is in no table: it is gone from the list of such edges, if that is whole.
        is_whole = len(self._store.stray_edges(MAX_STRAY_EDGES)) < MAX_STRAY_EDGES
        return (_GONE, "") if is_whole else (_UNCHECKED, "there are too many edges of this kind to list them all")

    def _there(self, tasks: Sequence[FormerTask]) -> set[str]:
        found: set[str] = set()
        by_place: dict[tuple[Any, ...], list[FormerTask]] = defaultdict(list)
        for task in tasks:
            by_place[task.label, task.relation, task.object_label].append(task)
        for (label, relation, object_label), some in by_place.items():
            self._register(some)
            if relation:
                pattern = self._pattern(label, relation, object_label)
                joins = (
                    [f"SEMI JOIN {self._copy.pairs(pattern)} p ON p.head = f.head AND p.tail = f.tail"]
                    if pattern
                    else []
                )
            else:
                ends = [("head", label), ("tail", object_label)] if object_label else [("head", label)]
                joins = [
                    f"SEMI JOIN {self._copy.nodes(self._schema.label(name))} {end}s ON {end}s.id = f.{end}"
                    for end, name in ends
                    if name in self._schema.label_names
                ]
                joins = joins if len(joins) == len(ends) else []
            if joins:
                rows = self._db.execute(f"SELECT fingerprint FROM former f {' '.join(joins)}").fetchall()
                found |= {row[0] for row in rows}
        return found

    def _folds_now(self) -> dict[tuple[Any, ...], str]:
        rows = self._table.structure_of(self._run.id, _folded_rules(), folded=ALL)
        return {_alike(_task(row)): row.fingerprint for row in rows}

    def _folded(self, pair: Pair) -> Iterator[FormerFinding]:
        """Findings of this run that stand for many which each had one before, or that were among many before."""
        rules = _folded_rules()
        ways = (
            (pair.after, pair.before, "stands for some that were found one by one"),
            (pair.before, pair.after, "was among many that one finding stood for"),
        )
        for folded_in, alone_in, why in ways:
            folds = {_alike(_task(row)): row for row in self._table.structure_of(folded_in, rules, folded=ALL)}
            alone = self._table.structure_of(alone_in, rules, unless=ALL) if folds else ()
            pairs = [(row, folds[_alike(_task(row))]) for row in alone if _alike(_task(row)) in folds]
            known = {f for f in self._table.known(pair.before, [r.fingerprint for both in pairs for r in both])}
            for alone_, fold in pairs:
                now, former = (fold, alone_) if folded_in == pair.after else (alone_, fold)
                if now.fingerprint not in known:
                    known.add(now.fingerprint)
                    yield _former(now, _CHANGED, why, found_in=former.run)

    def _weakened(self, pair: Pair) -> Iterator[FormerFinding]:
        """Findings that differ because a source that had decided could not be looked at: they stay as they were."""
        for now, former in self._table.changed_with_gaps(pair):
            missing = {gap.source for gap in now.verdict.missing}
            decided = {e.source for e in former.verdict.evidence if is_deciding(e)}
            is_weaker = now.mark.severity >= former.mark.severity
            if away := sorted(missing & decided):
                if is_weaker:
                    stated = {"fingerprint": former.fingerprint, "found_in": former.run, "basis": basis_of(former)}
                    yield FormerFinding(state=_UNCHECKED, why=f"could not look at {', '.join(away)}", **stated)

    def _marked(self, tables: Mapping[str, str]) -> list[Any]:
        """The former tasks: fingerprint, head, tail, and for each table whether it has them."""
        marks = ", ".join(f"{name}.head IS NOT NULL" for name in tables)
        joins = " ".join(
            f"""LEFT JOIN (SELECT DISTINCT f.head, f.tail FROM {select} x JOIN former f ON {_SAME}) {name}
                ON {name}.head = former.head AND {name}.tail IS NOT DISTINCT FROM former.tail"""
            for name, select in tables.items()
        )
        return self._db.execute(f"SELECT fingerprint, former.head, former.tail, {marks} FROM former {joins}").fetchall()


def _key(row: Any) -> _Key:
    kind = CheckType(row.type)
    if kind is CheckType.STRUCTURE:
        rule = structure_rules().get(row.rule)
        if rule and rule.of_graph:
            return kind, Target()
        tail = row.object_label if row.relation else None
        return kind, Target(label=row.subject_label, relation=row.relation, object_label=tail)
    return kind, Target.of(task_of(row))


def _folded_rules() -> list[str]:
    # Of a draft, the hits of every rule are folded.
    return list(structure_rules())


def _task(row: Any) -> FormerTask:
    ends = row.subject_label, row.subject_id, row.relation, row.object_label, row.object_id
    return FormerTask(row.fingerprint, CheckType(row.type), *ends, row.attribute, row.rule)


def _alike(task: FormerTask) -> tuple[str | None, ...]:
    return task.rule, task.label, task.relation, task.object_label


def _by_mark(mark: TallyMark, reason: Reason) -> Ended:
    if mark.severity == TallyMark.SUPPORTED.severity:
        return _FIXED, ""
    return _UNCHECKED, reason.value.replace("_", " ")


def _former(row: Any, state: ComparisonState, why: str, *, found_in: str | None = None) -> FormerFinding:
    found_in = found_in or row.run
    return FormerFinding(fingerprint=row.fingerprint, state=state, why=why, found_in=found_in, basis=row.basis)
