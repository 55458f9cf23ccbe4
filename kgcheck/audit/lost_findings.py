"""Work out what became of findings that a run no longer has: fixed, gone, or not looked at.

That a finding is absent says nothing by itself. So it is asked, while graph and references are at hand: is what it is
about still in the graph, was its task part of this run, and how does that task end now?
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

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
from kgcheck.profile.schema import Pattern
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
_NOT_PART = _UNCHECKED, "not part of this run"
_OF_ONE_TARGET = ("type", "subject_label", "relation", "object_label")
_FORMER = {"fingerprint": "fingerprint", "head": "subject_id", "tail": "object_id", "attribute": "attribute"}
"""Columns of the table ``former``, and of the ledger's rows."""

_Key = tuple[CheckType, Target]
"""Names a unit."""


@dataclass(eq=False)
class FormerFindings:
    """Finds out what became of the findings of the run before."""

    db: duckdb.DuckDBPyConnection
    store: GraphStore
    copy: GraphCopy
    tasks: TaskSelection
    ledger: Ledger
    run: Run
    judge: Judge

    def __post_init__(self) -> None:
        self._schema = self.store.schema
        self._options = AuditOptions.model_validate(self.run.options)
        self._table = ComparisonTable(self.ledger.database)
        self._could_not_look = {
            (tally.type, tally.target)
            for tally in self.ledger.tallies(self.run)
            if tally.outcome is Outcome.UNAVAILABLE
        }

    def since(self, before: Run, units: Iterable[Unit]) -> Iterator[FormerFinding]:
        """Yield the findings of an earlier run whose fate cannot be seen from the findings of both."""
        pair = Pair(before.id, self.run.id)
        plan = {(unit.type, unit.target): unit for unit in units}
        yield from self._weakened(pair)
        yield from self._folded(pair)
        for _, rows in groupby(self._table.unfound(pair), key=lambda row: [getattr(row, n) for n in _OF_ONE_TARGET]):
            by_unit: dict[_Key, list[Any]] = defaultdict(list)
            for row in rows:
                by_unit[_key(row)].append(row)
            for key, some in by_unit.items():
                yield from self._of_unit(key, plan.get(key), some)

    def _of_unit(self, key: _Key, unit: Unit | None, rows: Sequence[Any]) -> Iterator[FormerFinding]:
        ended: dict[str, Ended] = {}
        left = []
        for row in rows:
            if row.severity_now == TallyMark.SUPPORTED.severity:
                ended[row.fingerprint] = _FIXED, ""
            elif row.severity_now == TallyMark.UNAVAILABLE.severity:
                ended[row.fingerprint] = _UNCHECKED, "could not be looked at"
            else:
                left.append(row)
        if left and unit:
            ended |= self._ended(unit, left)
        elif left:
            ended |= dict.fromkeys((row.fingerprint for row in left), self._outside(*key))
        yield from (_former(row, *ended[row.fingerprint]) for row in rows)

    def _pattern(self, head: str, relation: str | None, tail: str | None) -> Pattern | None:
        try:
            return self._schema.pattern(head, relation, tail) if relation and tail else None
        except UnknownName:
            return None

    def _outside(self, kind: CheckType, target: Target) -> Ended:
        """The state of tasks outside every unit: gone where the graph has no such nodes or edges at all."""
        pattern = self._pattern(target.label or "", target.relation, target.object_label)
        is_gone = False
        if kind in self._options.types and pattern:
            wanted = self._options.wants_edges(pattern.head, pattern.type, pattern.tail)
            nodes = self.run.nodes.get(pattern.head) and self.run.nodes.get(pattern.tail)
            is_gone = wanted and not (nodes if kind is CheckType.POTENTIAL else self.run.edges.get(str(pattern)))
        elif kind in self._options.types and target.label in self._schema.label_names and not target.relation:
            is_gone = self._options.wants_label(target.label) and not self.run.nodes.get(target.label)
        return (_GONE, "") if is_gone else _NOT_PART

    def _ended(self, unit: Unit, rows: Sequence[Any]) -> dict[str, Ended]:
        self._register(rows)
        try:
            if unit.type is CheckType.STRUCTURE:
                return self._structure_ended(rows)
            return self._potential_ended(unit) if unit.type is CheckType.POTENTIAL else self._looked_up_ended(unit)
        finally:
            self.db.execute("DROP TABLE IF EXISTS former").fetchall()

    def _register(self, rows: Sequence[Any]) -> None:
        """Table ``former``: the tasks, a row each."""
        columns = {name: [getattr(row, of_row) for row in rows] for name, of_row in _FORMER.items()}
        put_arrow(self.db, "former", pa.table(columns, schema=pa.schema([(name, pa.string()) for name in columns])))

    def _looked_up_ended(self, unit: Unit) -> dict[str, Ended]:
        """The states of tasks about what the graph has, or cites: in the graph, in the run, and their end."""
        if unit.pattern:
            there = self.copy.pairs(unit.pattern)
        else:
            nodes = self.copy.nodes(self._schema.label(unit.label or ""))
            there = f"(SELECT id AS head, NULL::VARCHAR AS tail FROM {nodes})"
        every, part = self.tasks.select_of(unit, whole=True), self.tasks.select_of(unit)
        same, paper, nothing_left = "", "NULL::VARCHAR", "there is nothing to check any more"
        if unit.type is CheckType.EVIDENCE:
            same, paper, nothing_left = (
                "AND x.value = f.attribute",
                "former.attribute",
                "the edge does not cite it any more",
            )
        marks = (
            self._mark("there", there),
            self._mark("every", f"({every})", same),
            self._mark("part", f"({part})", same),
        )
        again: Judged = {}
        if (unit.type, unit.target) in self._could_not_look:
            # Where every task of the unit could be looked at, one that makes no finding is supported.
            again = self.judge(
                unit, f"SELECT head, tail, value, items FROM ({part}) x SEMI JOIN former f ON {_same(same)}"
            )
        ended: dict[str, Ended] = {}
        for fingerprint, head, tail, of_paper, is_there, is_task, is_part in self._marked(paper, marks):
            if not is_there:
                ended[fingerprint] = _GONE, ""
            elif not is_task and (unit.attribute or same):
                ended[fingerprint] = _GONE, nothing_left
            elif not is_part:
                ended[fingerprint] = _NOT_PART
            else:
                outcome, reason = again.get((head, tail, of_paper), (Outcome.SUPPORTED, Reason.CONFIRMED))
                ended[fingerprint] = _by_mark(TallyMark.of(unit.type, outcome), reason)
        return ended

    def _potential_ended(self, unit: Unit) -> dict[str, Ended]:
        """The states of edges that the graph lacked: it may have them now, or the sources no more."""
        pattern = unit.pattern
        assert pattern  # noqa: S101  (every unit of this type has one)
        heads, tails = (self.copy.nodes(self._schema.label(name)) for name in (pattern.head, pattern.tail))
        pairs = self.copy.pairs(pattern)
        turned = f"UNION SELECT tail AS head, head AS tail FROM {pairs}" if pattern.symmetric else ""
        marks = (
            self._mark(
                "nodes",
                f"(SELECT f.head, f.tail FROM former f SEMI JOIN {heads} h ON h.id = f.head "
                f"SEMI JOIN {tails} t ON t.id = f.tail)",
            ),
            self._mark("stated", f"(SELECT head, tail FROM {pairs} {turned})"),
            self._mark("missing", f"({self.tasks.select_of(unit, whole=True)})"),
            self._mark("part", f"({self.tasks.select_of(unit)})"),
        )
        rows = self._marked("NULL::VARCHAR", marks)
        again = self.judge(
            unit, "SELECT DISTINCT head, tail, NULL::VARCHAR AS value, NULL::VARCHAR[] AS items FROM former"
        )
        ended: dict[str, Ended] = {}
        for fingerprint, head, tail, _, has_nodes, is_stated, is_missing, is_part in rows:
            outcome, reason = again.get((head, tail, None), (Outcome.UNAVAILABLE, Reason.REFERENCE_MISSING))
            if not has_nodes:
                ended[fingerprint] = _GONE, ""
            elif not self.tasks.concerns({head, tail}) or (is_missing and not is_part):
                ended[fingerprint] = _NOT_PART
            elif is_stated:
                ended[fingerprint] = _FIXED, "the graph has the edge now"
            elif outcome is Outcome.INSUFFICIENT and reason is Reason.NOTHING_FOUND and not is_missing:
                ended[fingerprint] = _FIXED, "no source states the edge any more"
            else:
                ended[fingerprint] = _by_mark(TallyMark.of(unit.type, outcome), reason)
        return ended

    def _structure_ended(self, rows: Sequence[Any]) -> dict[str, Ended]:
        """The states of structure tasks: no hit any more, or nothing left that the rule could hit."""
        there = self._there(rows)
        # Of a draft, the hits of every rule are folded.
        folded = self._table.structure_of(self.run.id, list(structure_rules()), folded=ALL)
        folds = {_alike(row): row.fingerprint for row in folded}
        without = rules_named([*self._options.without_rules, *([] if self._options.pins else ["pins"])])
        ended: dict[str, Ended] = {}
        for row in rows:
            is_part = row.rule in structure_rules() and row.rule not in without
            if not is_part or not self.tasks.concerns({row.subject_id, row.object_id or row.subject_id}):
                ended[row.fingerprint] = _NOT_PART
            elif row.rule == "wrong_end_label" and row.fingerprint not in there:
                # An edge that fits no pattern is in no table: it is gone from the list of such edges, if that is whole.
                is_whole = len(self.store.stray_edges(MAX_STRAY_EDGES)) < MAX_STRAY_EDGES
                too_many = _UNCHECKED, "there are too many edges of this kind to list them all"
                ended[row.fingerprint] = (_GONE, "") if is_whole else too_many
            elif row.subject_id != ALL and row.fingerprint not in there:
                ended[row.fingerprint] = _GONE, ""
            elif row.subject_id != ALL and (one := folds.get(_alike(row))):
                ended[row.fingerprint] = _CHANGED, f"among those of {one}, or fixed"
            else:
                ended[row.fingerprint] = _FIXED, ""
        return ended

    def _there(self, rows: Sequence[Any]) -> set[str]:
        """Fingerprints of the tasks whose edge or nodes the graph has."""
        found: set[str] = set()
        by_place: dict[tuple[Any, ...], list[Any]] = defaultdict(list)
        for row in rows:
            by_place[row.subject_label, row.relation, row.object_label].append(row)
        for (label, relation, object_label), some in by_place.items():
            ends = {"head": label} | ({"tail": object_label} if object_label else {})
            if relation:
                pattern = self._pattern(label, relation, object_label)
                joins = f"SEMI JOIN {self.copy.pairs(pattern)} p USING (head, tail)" if pattern else ""
            elif set(ends.values()) <= set(self._schema.label_names):
                tables = {end: self.copy.nodes(self._schema.label(name)) for end, name in ends.items()}
                joins = " ".join(f"SEMI JOIN {table} {end}s ON {end}s.id = f.{end}" for end, table in tables.items())
            else:
                joins = ""
            if joins:
                self._register(some)
                found |= {row[0] for row in self.db.execute(f"SELECT fingerprint FROM former f {joins}").fetchall()}
        return found

    def _folded(self, pair: Pair) -> Iterator[FormerFinding]:
        """Findings of this run that stand for many which each had one before, or that were among many before."""
        rules = list(structure_rules())
        ways = (
            (pair.after, pair.before, "stands for some that were found one by one"),
            (pair.before, pair.after, "was among many that one finding stood for"),
        )
        for folded_in, alone_in, why in ways:
            folds = {_alike(row): row for row in self._table.structure_of(folded_in, rules, folded=ALL)}
            alone = self._table.structure_of(alone_in, rules, unless=ALL) if folds else ()
            pairs = [(row, folds[_alike(row)]) for row in alone if _alike(row) in folds]
            known = set(self._table.known(pair.before, [row.fingerprint for both in pairs for row in both]))
            for alone_, fold in pairs:
                now, former = (fold, alone_) if folded_in == pair.after else (alone_, fold)
                if now.fingerprint not in known:
                    known.add(now.fingerprint)
                    yield _former(now, _CHANGED, why, found_in=former.run)

    def _weakened(self, pair: Pair) -> Iterator[FormerFinding]:
        """Findings that differ because a source that had decided could not be looked at: they stay as they were."""
        for now, former in self._table.changed_with_gaps(pair):
            decided = {e.source for e in former.verdict.evidence if is_deciding(e)}
            away = sorted(decided.intersection(gap.source for gap in now.verdict.missing))
            if away and now.mark.severity >= former.mark.severity:
                stated = {"fingerprint": former.fingerprint, "found_in": former.run, "basis": basis_of(former)}
                yield FormerFinding(state=_UNCHECKED, why=f"could not look at {', '.join(away)}", **stated)

    def _mark(self, name: str, rows: str, same: str = "") -> tuple[str, str]:
        """A mark for former tasks that a table or a select has."""
        of_former = f"SELECT DISTINCT f.fingerprint FROM {rows} x JOIN former f ON {_same(same)}"
        return f"{name}.fingerprint IS NOT NULL", f"LEFT JOIN ({of_former}) {name} USING (fingerprint)"

    def _marked(self, paper: str, marks: Iterable[tuple[str, str]]) -> list[Any]:
        """The former tasks: fingerprint, head, tail, paper, and for each mark whether they have it."""
        columns, joins = zip(*marks, strict=True)
        select = f"SELECT former.fingerprint, former.head, former.tail, {paper}, {', '.join(columns)} FROM former"
        return self.db.execute(f"{select} {' '.join(joins)}").fetchall()


def _same(more: str = "") -> str:
    """SQL for a row x that is about the same as a former task f."""
    return f"x.head = f.head AND x.tail IS NOT DISTINCT FROM f.tail {more}"


def _key(row: Any) -> _Key:
    kind = CheckType(row.type)
    if kind is not CheckType.STRUCTURE:
        return kind, Target.of(task_of(row))
    rule = structure_rules().get(row.rule)
    if rule and rule.of_graph:
        return kind, Target()
    tail = row.object_label if row.relation else None
    return kind, Target(label=row.subject_label, relation=row.relation, object_label=tail)


def _alike(row: Any) -> tuple[str | None, ...]:
    return row.rule, row.subject_label, row.relation, row.object_label


def _by_mark(mark: TallyMark, reason: Reason) -> Ended:
    if mark.severity == TallyMark.SUPPORTED.severity:
        return _FIXED, ""
    return _UNCHECKED, reason.value.replace("_", " ")


def _former(row: Any, state: ComparisonState, why: str, *, found_in: str | None = None) -> FormerFinding:
    found_in = found_in or row.run
    return FormerFinding(fingerprint=row.fingerprint, state=state, why=why, found_in=found_in, basis=row.basis)
