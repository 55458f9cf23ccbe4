"""Structure checks: run the structure rules over a graph's copy, and turn hits into findings.

The rules stand in kgcheck.audit.rules, and in other packages: see kgcheck.rules.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache, cached_property
from hashlib import sha256
from typing import Any, NamedTuple

import duckdb

from kgcheck import clock
from kgcheck.audit.curies import Curies
from kgcheck.audit.graph_copy import GraphCopy, printable
from kgcheck.audit.pins import broken_pins
from kgcheck.audit.plan import Unit
from kgcheck.checks.repair import propose
from kgcheck.checks.verdicts import verdict as judge_evidence
from kgcheck.graph.store import GraphStore, StrayEdge
from kgcheck.ledger.ledger import Run
from kgcheck.model import CheckTask, CheckType, Evidence, Finding, Reason, Ref, Stance, Tally, Tier, Verdict, World
from kgcheck.options import AuditOptions
from kgcheck.pins import SOURCE as PINS
from kgcheck.pins import Pin
from kgcheck.profile.schema import Label, Pattern
from kgcheck.quoting import literal
from kgcheck.rules import ALL, GraphCounts, Rule, RuleGraph, RuleHit, all_of, rules_named, structure_rules
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
    record: str = ""
    attribute: str | None = None
    times: int = 1
    right: str | None = None
    properties: tuple[str, ...] = ()
    alike: int | None = None

    @property
    def ids(self) -> set[str]:
        return {self.head.id, self.tail.id} if self.tail else {self.head.id}


class AuditedGraph(RuleGraph):
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
        self.nodes, self.edges, self.schema = copy.nodes, copy.edges, store.schema
        self.labels = [label for label in self.schema.labels if run.nodes.get(label.name)]
        self.patterns = [p for p in self.schema.relations if run.edges.get(str(p))]
        self.now = GraphCounts(run.nodes, run.edges)
        self.before = GraphCounts(before.nodes, before.edges) if before else self.now
        self.select = lambda statement: db.execute(statement).fetchall()
        self.stray_edges = lambda: map(_stray, dict.fromkeys(store.stray_edges(MAX_STRAY_EDGES)))
        self.broken_pins = lambda pin: broken_pins([one for one in pins if one.pin == pin], store)

    @cached_property
    def curies(self) -> Curies:
        return Curies(self)


def _stray(edge: StrayEdge) -> RuleHit:
    head, tail = (
        Ref(label=edge.head_label, id=printable(edge.head_id)),
        Ref(label=edge.tail_label, id=printable(edge.tail_id)),
    )
    words = f"{edge.head_label} {edge.relation} {edge.tail_label} is no pattern of the schema"
    return RuleHit(head, edge.relation, tail, words)


class StructureRules:
    """The rules over one copy of a graph."""

    def __init__(self, db: duckdb.DuckDBPyConnection, graph: RuleGraph, options: AuditOptions) -> None:
        self._db = db
        self._graph = graph
        self._options = options
        off = rules_named(options.without_rules)
        # Every malformed id is found where it is looked up, then, and is not to be told twice.
        if CheckType.EXISTENCE in options.types and options.sample is None:
            off |= {Reason.MALFORMED_ID.value}
        self._rules = [rule for name, rule in structure_rules().items() if name not in off]

    def faults(self, part: Label | Pattern | None = None) -> Iterator[Fault]:
        """Find the faults of the nodes of a label, of the edges of a pattern, or of the graph as a whole."""
        selects: dict[str, str] = {}
        listed: list[tuple[Reason, Iterable[RuleHit]]] = []
        for rule in self._rules:
            found = self._hits(rule, part)
            if isinstance(found, str):
                selects |= {rule.name: found} if found else {}
            elif found is not None:
                listed.append((Reason(rule.name), found))
        if part:
            for rule, select in self._broken(selects):
                yield from self._rows(rule, select, part)
        for reason, hits in listed:
            yield from (Fault(reason, *hit) for hit in hits if part or self._is_wanted(hit))

    def _hits(self, rule: Rule, part: Label | Pattern | None) -> str | Iterable[RuleHit] | None:
        match part:
            case Label():
                return rule.of_label(self._graph, part) if rule.of_label else None
            case Pattern():
                return rule.of_pattern(self._graph, part) if rule.of_pattern else None
            case _:
                return rule.of_graph(self._graph) if rule.of_graph else None

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

    def _rows(self, rule: Rule, select: str, part: Label | Pattern) -> Iterator[Fault]:
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
        head, relation, tail = (part.head, part.type, part.tail) if isinstance(part, Pattern) else (part.name, None, "")
        found = self._db.execute(f"SELECT * FROM ({rows}) ORDER BY head, tail, tail_label")
        while some := found.fetchmany(_ROWS):
            for head_id, tail_id, tail_label, detail, properties, right, alike in some:
                wrong = tuple(dict.fromkeys(properties or ()))
                yield Fault(
                    Reason(rule.name),
                    Ref(label=head, id=head_id),
                    relation,
                    Ref(label=tail or tail_label or head, id=tail_id) if tail_id else None,
                    detail or "",
                    # A fault of a node has one value at most that could be put right.
                    attribute=wrong[0] if right else None,
                    right=right,
                    properties=wrong,
                    alike=alike,
                )

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
        places = (f"{h.head.id} {h.tail.id}" if h.tail else h.head.id for h in some[:_EXAMPLES])
        shown = "; ".join(" ".join(filter(None, both)) for both in zip(places, (h.detail for h in some), strict=False))
        tail = all_of(first.tail.label) if first.tail else None
        detail = f"{count:,} {'edges' if first.relation else 'nodes'}, among them {shown}"
        part = ", ".join(first.properties) or first.record or None
        yield Fault(first.rule, all_of(first.head.label), first.relation, tail, detail, first.record, part, count)


def findings(hits: Iterable[Fault], run: str, seen_at: datetime) -> Iterator[Finding]:
    """A finding for every hit: the graph is its own witness, or a standard is."""
    for hit in hits:
        task = CheckTask(
            type=CheckType.STRUCTURE,
            subject=hit.head,
            relation=hit.relation,
            object=hit.tail,
            attribute=hit.attribute,
            rule=hit.rule.value,
            value=hit.detail or None,
        )
        verdict = _verdict(hit.rule).model_copy(update={"evidence": (_evidence(hit, seen_at),)})
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
            sources=(_verdict(rule).evidence[0].source,),
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
    hit = Fault(rule, all_of(ALL), None, None, "")
    return judge_evidence(CheckType.STRUCTURE, [_evidence(hit, clock.now())])


def _evidence(hit: Fault, seen_at: datetime) -> Evidence:
    """Evidence of a hit, which cites the graph, or the release of a standard that is shipped and a record of it."""
    rule = hit.rule.rule
    source = (rule and rule.source) or GRAPH_SOURCE
    place = f"{hit.head.id} {hit.relation} {hit.tail.id}" if hit.relation and hit.tail else hit.head.id
    cited: dict[str, Any] = {"release": "as audited", "retrieved_at": seen_at}
    if source in STANDARDS:
        shipped = standard(source)
        cited = {"release": shipped.release, "retrieved_at": shipped.fetched, "url": shipped.url(hit.record)}
    is_fault = rule is not None and rule.is_fault
    return Evidence(
        **cited,
        source=source,
        record=hit.record or place,
        stance=Stance.CONTRADICTS if is_fault else Stance.SILENT,
        world=World.CLOSED if is_fault else World.OPEN,
        tier=Tier.OWNER,
        reason=hit.rule,
        value=hit.detail or None,
        replacements=(hit.right,) if hit.right else (),
    )
