"""Structure checks: run the structure rules over a graph's copy, and turn hits into findings.

The rules stand in kgcheck.audit.rules, and in other packages: see kgcheck.rules.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache
from hashlib import sha256
from typing import Any, NamedTuple

import duckdb

from kgcheck import clock
from kgcheck.audit.graph_copy import GraphCopy, printable
from kgcheck.audit.pins import broken_pins
from kgcheck.audit.plan import Unit
from kgcheck.checks.repair import propose
from kgcheck.checks.verdicts import verdict as judge_evidence
from kgcheck.graph.store import GraphStore
from kgcheck.ledger.ledger import Run
from kgcheck.model import CheckTask, CheckType, Evidence, Finding, Reason, Ref, Stance, Tally, Tier, Verdict, World
from kgcheck.options import AuditOptions
from kgcheck.pins import SOURCE as PINS
from kgcheck.pins import Pin
from kgcheck.profile.schema import Label, Pattern, Schema
from kgcheck.quoting import literal
from kgcheck.rules import ALL, GraphCounts, Rule, RuleHit, rules_named, structure_rules
from kgcheck.standards.tables import NAMES as STANDARDS
from kgcheck.standards.tables import standard

GRAPH_SOURCE = "graph"

MAX_STRAY_EDGES = 100_000
_ROWS = 10_000
_ENDS = ("head", "tail", "tail_label")
_ROW = ", ".join((*_ENDS, "detail", "properties", "correct"))

FOLD_ABOVE = 20
"""So many hits of a rule, about the same property of the same label or pattern, are shown one by one."""

_EXAMPLES = 5


class Fault(NamedTuple):
    """One structural fault; of a rule that many break alike, ``times`` of them.

    ``right`` is the value of the attribute that would be none; ``properties`` are those that are wrong. ``alike`` is
    how many are alike, where some of them stand for the others, too.
    """

    rule: Reason
    head: Ref
    relation: str | None
    tail: Ref | None
    detail: str
    attribute: str | None = None
    times: int = 1
    right: str | None = None
    properties: tuple[str, ...] = ()
    alike: int | None = None
    record: str = ""

    @classmethod
    def of_hit(cls, rule: Reason, hit: RuleHit) -> "Fault":
        return cls(rule, hit.head, hit.relation, hit.tail, hit.detail, attribute=hit.part, record=hit.record)

    @property
    def ids(self) -> set[str]:
        return {self.head.id, self.tail.id} if self.tail else {self.head.id}


class _FaultRow(NamedTuple):
    head: str
    tail: str | None
    tail_label: str | None
    detail: str | None
    properties: tuple[str, ...]
    right: str | None
    alike: int | None


class AuditedGraph:
    """The copy of a graph as rules see it."""

    def __init__(
        self,
        db: duckdb.DuckDBPyConnection,
        copy: GraphCopy,
        store: GraphStore,
        run: Run,
        before: Run | None,
        pins: Sequence[Pin] = (),
    ) -> None:
        self._db = db
        self._store = store
        self._pins = pins
        self.nodes: Callable[[Label], str] = copy.nodes
        self.edges: Callable[[Pattern], str] = copy.edges
        self.schema: Schema = store.schema
        self.labels: Sequence[Label] = [label for label in self.schema.labels if run.nodes.get(label.name)]
        self.patterns: Sequence[Pattern] = [p for p in self.schema.relations if run.edges.get(str(p))]
        self.now = GraphCounts(run.nodes, run.edges)
        self.before = GraphCounts(before.nodes, before.edges) if before else self.now

    def pairs(self, pattern: Pattern) -> Iterable[tuple[str, str]]:
        return self._db.execute(f"SELECT DISTINCT head, tail FROM {self.edges(pattern)} ORDER BY ALL").fetchall()

    def stray_edges(self) -> Iterator[RuleHit]:
        for edge in dict.fromkeys(self._store.stray_edges(MAX_STRAY_EDGES)):
            detail = f"{edge.head_label} {edge.relation} {edge.tail_label} is no pattern of the schema"
            ends = _end(edge.head_label, edge.head_id), _end(edge.tail_label, edge.tail_id)
            yield RuleHit(ends[0], edge.relation, ends[1], detail)

    def broken_pins(self, pin: str) -> Iterator[RuleHit]:
        return broken_pins([one for one in self._pins if one.pin == pin], self._store)

    def select(self, statement: str) -> list[tuple[Any, ...]]:
        return self._db.execute(statement).fetchall()


class StructureRules:
    """The rules over one copy of a graph."""

    def __init__(self, db: duckdb.DuckDBPyConnection, graph: AuditedGraph, options: AuditOptions) -> None:
        self._db = db
        self._graph = graph
        self._options = options
        off = rules_named(options.without_rules)
        # Every malformed id is found where it is looked up, then, and is not to be told twice.
        if CheckType.EXISTENCE in options.types and options.sample is None:
            off |= {Reason.MALFORMED_ID.value}
        self._rules = [rule for name, rule in structure_rules().items() if name not in off]

    def of_label(self, label: Label) -> Iterator[Fault]:
        selects = {rule.name: rule.of_label(self._graph, label) for rule in self._rules if rule.of_label}
        for rule, select in self._broken({name: select for name, select in selects.items() if select}):
            for row in self._rows(rule, select):
                other = Ref(label=row.tail_label or label.name, id=row.tail) if row.tail else None
                # A fault of a node has one value at most that could be put right.
                wrong = row.properties[0] if rule.names_properties and row.right else None
                yield Fault(
                    Reason(rule.name),
                    Ref(label=label.name, id=row.head),
                    None,
                    other,
                    row.detail or "",
                    attribute=wrong,
                    right=row.right,
                    properties=row.properties,
                    alike=row.alike,
                )

    def of_pattern(self, pattern: Pattern) -> Iterator[Fault]:
        selects: dict[str, str] = {}
        listed: dict[Reason, Iterable[RuleHit]] = {}
        for rule in self._rules:
            found = rule.of_pattern(self._graph, pattern) if rule.of_pattern else None
            if isinstance(found, str):
                selects[rule.name] = found
            elif found is not None:
                listed[Reason(rule.name)] = found
        for rule, select in self._broken(selects):
            for row in self._rows(rule, select):
                yield Fault(
                    Reason(rule.name),
                    Ref(label=pattern.head, id=row.head),
                    pattern.type,
                    Ref(label=pattern.tail, id=row.tail or ""),
                    row.detail or "",
                    properties=row.properties,
                    alike=row.alike,
                )
        for reason, hits in listed.items():
            yield from (Fault.of_hit(reason, hit) for hit in hits)

    def of_graph(self) -> Iterator[Fault]:
        for rule in self._rules:
            for hit in rule.of_graph(self._graph) if rule.of_graph else ():
                if self._is_wanted(hit):
                    yield Fault.of_hit(Reason(rule.name), hit)

    def _is_wanted(self, hit: RuleHit) -> bool:
        if hit.relation is None or hit.tail is None:
            return self._options.wants_label(hit.head.label)
        return self._options.wants_edges(hit.head.label, hit.relation, hit.tail.label)

    def _broken(self, selects: Mapping[str, str]) -> Iterator[tuple[Rule, str]]:
        """Without the rules of single rows that no row breaks."""
        rules = structure_rules()
        unbroken: set[str] = set()
        if quick := [name for name in selects if rules[name].is_of_one_row]:
            (found,) = self._db.execute(f"SELECT {', '.join(f'EXISTS ({selects[r]})' for r in quick)}").fetchall()
            unbroken = {rule for rule, is_broken in zip(quick, found, strict=True) if not is_broken}
        return ((rules[name], select) for name, select in selects.items() if name not in unbroken)

    def folds(self, rule: Rule) -> bool:
        """Tell whether many hits of a rule are one finding; of a draft, which may be of any graph, those of nearly all.

        Each pin was decided by itself.
        """
        is_folded = rule.is_folded or (self._graph.schema.profile.draft and rule.source != PINS)
        return is_folded and not self._options.unfold

    def _rows(self, rule: Rule, select: str) -> Iterator["_FaultRow"]:
        """The hits of a rule, one for each pair of ends, in an order that does not change."""
        more, named = "", "NULL::VARCHAR[], NULL::VARCHAR"
        if rule.names_properties:
            more, named = ", properties, correct", "flatten(list(properties ORDER BY detail)), min_by(correct, detail)"
        hits = f"({select}) AS hit(head, tail, tail_label, detail{more})"
        together = f"""
            SELECT head, tail, tail_label, string_agg(DISTINCT detail, '; ' ORDER BY detail), {named}
            FROM {{}} GROUP BY ALL"""
        if self.folds(rule):
            rows = self._some(hits, together, more or f", {named}")
        else:
            rows = f"SELECT *, NULL AS alike FROM ({together.format(hits)}) AS row({_ROW})"
        found = self._db.execute(f"SELECT * FROM ({rows}) ORDER BY head, tail, tail_label")
        while some := found.fetchmany(_ROWS):
            for head, tail, tail_label, detail, properties, right, alike in some:
                once = tuple(dict.fromkeys(properties or ()))
                yield _FaultRow(head, tail, tail_label, detail, once, right, alike)

    def _some(self, hits: str, together: str, more: str) -> str:
        """A select of the first hits of those that `folded` makes one of, and how many are alike."""
        same = " AND ".join(f"a.{end} IS NOT DISTINCT FROM h.{end}" for end in _ENDS)
        listed = ", ".join(map(literal, self._options.ids))
        wanted = f"WHERE head IN ({listed}) OR tail IN ({listed})" if listed else ""
        packed = ", ".join(f"{column} := {column}" for column in _ROW.split(", "))
        once = "list_filter(properties, lambda x, i: list_position(properties, x) = i)"
        return f"""
            WITH h AS MATERIALIZED (FROM {hits}),
            again AS MATERIALIZED (SELECT {", ".join(_ENDS)} FROM h GROUP BY ALL HAVING count(*) > 1),
            row({_ROW}) AS (
                SELECT {", ".join(_ENDS)}, detail{more} FROM h ANTI JOIN again a ON {same}
                UNION ALL {together.format(f"h SEMI JOIN again a ON {same}")})
            SELECT unnest(one), alike FROM (
                SELECT unnest(min(struct_pack({packed}), {FOLD_ABOVE})) AS one, count(*) AS alike
                FROM row {wanted} GROUP BY {once})"""


def folded(hits: Iterable[Fault], folds: Callable[[Rule], bool]) -> Iterator[Fault]:
    """Hits of rules that are folded as one, with their number and some examples."""
    alike: dict[tuple[Any, ...], list[Fault]] = {}
    counts: Counter[tuple[Any, ...]] = Counter()
    for hit in hits:
        # What is of all of a label, a relation or a prefix stands for many already.
        if hit.head.id == ALL or not (hit.rule.rule and folds(hit.rule.rule)):
            yield hit
            continue
        # A rule of the whole graph lists hits of many labels, and of many records of its source.
        labels = hit.head.label, hit.relation, hit.tail and hit.tail.label
        key = hit.rule, hit.properties, labels, hit.record
        # Of many, the copy of the graph gave the first ones alone.
        counts[key] = hit.alike or counts[key] + 1
        if len(some := alike.setdefault(key, [])) < FOLD_ABOVE:
            some.append(hit)
    for key, some in alike.items():
        if counts[key] <= FOLD_ABOVE:
            yield from some
            continue
        first, count = some[0], counts[key]
        shown = "; ".join(" ".join(filter(None, (_place(h), h.detail))) for h in some[:_EXAMPLES])
        ends = Ref(label=first.head.label, id=ALL), first.tail and Ref(label=first.tail.label, id=ALL)
        detail = f"{count:,} {'edges' if first.relation else 'nodes'}, among them {shown}"
        part = ", ".join(first.properties) or first.record or None
        yield Fault(first.rule, ends[0], first.relation, ends[1], detail, part, count, record=first.record)


def _place(hit: Fault) -> str:
    return f"{hit.head.id} {hit.tail.id}" if hit.tail else hit.head.id


def findings(hits: Iterable[Fault], run: str, seen_at: datetime) -> Iterator[Finding]:
    """A finding for every hit."""
    for hit in hits:
        task, evidence = judged(hit, seen_at)
        verdict = _verdict(hit.rule).model_copy(update={"evidence": (evidence,)})
        change = propose(task, verdict)
        yield Finding(run=run, fingerprint=task.fingerprint, task=task, verdict=verdict, change=change)


def tallies(hits: Iterable[Fault], unit: Unit) -> list[Tally]:
    """Counts of hits by rule."""
    counts: Counter[Reason] = Counter()
    for hit in hits:
        counts[hit.rule] += hit.times
    return [
        Tally(
            type=unit.type,
            target=unit.target,
            outcome=_verdict(rule).outcome,
            reason=_verdict(rule).reason,
            sources=(_source(rule),),
            count=count,
        )
        for rule, count in sorted(counts.items())
    ]


def digest(hits: Iterable[Fault]) -> str:
    """Digest of hits: which rules, and of what."""
    parts = "\x1e".join(f"{hit.rule} {hit.head} {hit.relation} {hit.tail} {hit.attribute} {hit.times}" for hit in hits)
    return sha256(parts.encode()).hexdigest()[:16]


@cache
def _verdict(rule: Reason) -> Verdict:
    """Return the verdict of every hit of a rule: they differ in nothing that a verdict depends on."""
    hit = Fault(rule, Ref(label=ALL, id=ALL), None, None, "")
    return judge_evidence(CheckType.STRUCTURE, [judged(hit, clock.now())[1]])


def judged(hit: Fault, seen_at: datetime) -> tuple[CheckTask, Evidence]:
    """The task and the evidence of a hit: the graph is its own witness, or a standard is."""
    fault = hit.rule.rule is not None and hit.rule.rule.is_fault
    task = CheckTask(
        type=CheckType.STRUCTURE,
        subject=hit.head,
        relation=hit.relation,
        object=hit.tail,
        attribute=hit.attribute,
        rule=hit.rule.value,
        value=hit.detail or None,
    )
    record = f"{hit.head.id} {hit.relation} {hit.tail.id}" if hit.relation and hit.tail else hit.head.id
    evidence = Evidence(
        **_cited(hit, record, seen_at),
        stance=Stance.CONTRADICTS if fault else Stance.SILENT,
        world=World.CLOSED if fault else World.OPEN,
        tier=Tier.OWNER,
        reason=hit.rule,
        value=hit.detail or None,
        replacements=(hit.right,) if hit.right else (),
    )
    return task, evidence


def _source(rule: Reason) -> str:
    return (rule.rule and rule.rule.source) or GRAPH_SOURCE


def _cited(hit: Fault, place: str, seen_at: datetime) -> dict[str, Any]:
    """The fields by which evidence cites its source: of a standard, the release that is shipped and a record of it."""
    source, record = _source(hit.rule), hit.record or place
    if source not in STANDARDS:
        return {"source": source, "release": "as audited", "record": record, "retrieved_at": seen_at}
    found = standard(source)
    return {
        "source": source,
        "release": found.release,
        "record": record,
        "url": found.url(hit.record),
        "retrieved_at": found.fetched,
    }


def _end(label: str, identifier: str) -> Ref:
    return Ref(label=label, id=printable(identifier))
