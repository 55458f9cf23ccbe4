"""Structure checks: faults that a graph shows by itself, found by joins over its copy (docs/reasons.md, "Structure").

Each rule is one select of kgcheck.audit.rules; terms that are their own ancestors are found by a walk.
"""

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from functools import cache
from hashlib import sha256
from typing import NamedTuple

import duckdb

from kgcheck import clock
from kgcheck.audit import rules
from kgcheck.audit.graph_copy import GraphCopy, printable
from kgcheck.audit.plan import Unit
from kgcheck.checks.repair import propose
from kgcheck.checks.verdicts import verdict as judge_evidence
from kgcheck.duck import literal
from kgcheck.graph.store import GraphStore
from kgcheck.ledger.ledger import Run
from kgcheck.model import CheckTask, CheckType, Evidence, Finding, Reason, Ref, Stance, Tally, Tier, Verdict, World
from kgcheck.options import AuditOptions
from kgcheck.profile.schema import Label, Pattern, Schema


class Cycle(NamedTuple):
    """Terms that are all ancestors of each other: how many, and a shortest way from the first of them back to it."""

    terms: int
    way: tuple[str, ...]


def cycles(edges: Iterable[tuple[str, str]]) -> Iterator[Cycle]:
    """Find every group of terms that are ancestors of each other."""
    parents: dict[str, list[str]] = {}
    for child, parent in edges:
        if child != parent:
            parents.setdefault(child, []).append(parent)
    groups = [group for group in _components(parents) if len(group) > 1]
    for group in sorted(groups, key=min):
        yield Cycle(len(group), _way_back(min(group), parents, group))


def _components(parents: dict[str, list[str]]) -> Iterator[set[str]]:
    """Strongly connected components (Tarjan, without recursion: a hierarchy may be deep)."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    open_terms: list[str] = []
    is_open: set[str] = set()
    for root in parents:
        path = [] if root in order else [(root, iter(parents[root]))]
        while path:
            term, rest = path[-1]
            if term not in order:
                order[term] = low[term] = len(order)
                open_terms.append(term)
                is_open.add(term)
            for parent in rest:
                if parent not in order:
                    path.append((parent, iter(parents.get(parent, ()))))
                    break
                if parent in is_open:
                    low[term] = min(low[term], low[parent])
            else:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[term])
                if low[term] == order[term]:
                    group = set(_taken(open_terms, term))
                    is_open -= group
                    yield group


def _taken(stack: list[str], last: str) -> Iterator[str]:
    while True:
        term = stack.pop()
        yield term
        if term == last:
            return


def _way_back(start: str, parents: dict[str, list[str]], group: set[str]) -> tuple[str, ...]:
    """A shortest way from a term to itself within its group."""
    came: dict[str, str] = {}
    queue = deque([start])
    while start not in came:
        term = queue.popleft()
        for parent in sorted(parents.get(term, ())):
            if parent in group and parent not in came:
                came[parent] = term
                queue.append(parent)
    way = [start]
    while len(way) == 1 or way[-1] != start:
        way.append(came[way[-1]])
    return tuple(reversed(way))


GRAPH_SOURCE = "graph"
MOVED_SHARE = 0.1
"""A count that moved by more than this share since the last run is worth a look."""

ALL = "(all)"
"""Stands for the id where a whole label or relation is meant."""

_MAX_STRAY_EDGES = 100_000
_SHOWN_TERMS = 8
_ROWS = 10_000
_ENDS = ("head", "tail", "tail_label")
_ROW = ", ".join((*_ENDS, "detail", "properties", "correct"))


FOLDED = tuple(reason for reason in Reason if reason.rule and reason.rule.is_folded)

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

    @property
    def ids(self) -> set[str]:
        """Ids that the fault is about."""
        return {self.head.id, self.tail.id} if self.tail else {self.head.id}


class _FaultRow(NamedTuple):
    head: str
    tail: str | None
    tail_label: str | None
    detail: str | None
    properties: tuple[str, ...]
    right: str | None
    alike: int | None


class StructureRules:
    """The rules over one copy of a graph."""

    def __init__(
        self,
        db: duckdb.DuckDBPyConnection,
        copy: GraphCopy,
        schema: Schema,
        run: Run,
        before: Run | None,
        options: AuditOptions,
    ) -> None:
        self._db = db
        self._copy = copy
        self._labels = [s for s in schema.labels if run.nodes.get(s.name)]
        self._patterns = [p for p in schema.relations if run.edges.get(str(p))]
        self._schema = schema
        self._run = run
        self._before = before
        self._options = options
        # Then every malformed id is found where it is looked up, and is not to be told twice.
        self._ids_are_looked_up = CheckType.EXISTENCE in options.types and options.sample is None

    def of_label(self, label: Label) -> Iterator[Fault]:
        """Every fault of the nodes of a label."""
        table = self._copy.nodes(label)
        selects = {
            Reason.SHARED_ID: rules.shared_ids(table),
            Reason.LENGTH_MISMATCH: rules.lengths(label, table),
            Reason.ORPHAN_NODE: self._orphans(label, table),
            Reason.ID_ON_TWO_LABELS: self._elsewhere(label, table),
            Reason.NUMBER_AS_TEXT: rules.as_text(table, "id", "NULL"),
            Reason.PLACEHOLDER_VALUE: rules.placeholders(label, table, "id", "NULL"),
        }
        if not self._ids_are_looked_up:
            selects[Reason.MALFORMED_ID] = rules.malformed(label, table)
        if "name" in label.properties:
            selects[Reason.SHARED_NAME] = rules.shared_names(table)
        for rule, select in self._broken(selects).items():
            for row in self._rows(rule, select):
                other = Ref(label=row.tail_label or label.name, id=row.tail) if row.tail else None
                wrong = row.properties[0] if rule is Reason.LENGTH_MISMATCH else None
                yield Fault(
                    rule,
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
        """Every fault of the edges of a pattern."""
        table = self._copy.edges(pattern)
        ends = self._schema.label(pattern.head), self._schema.label(pattern.tail)
        nodes = self._copy.nodes(ends[0]), self._copy.nodes(ends[1])
        selects = {
            Reason.PARALLEL_DUPLICATE: rules.parallel(pattern, table),
            Reason.PARALLEL_SCORES: rules.parallel_scores(pattern, table),
            Reason.MISSING_SCORE: rules.missing_scores(pattern, table),
            Reason.SPECIES_MISMATCH: rules.two_species(pattern, table, ends, nodes),
            Reason.NUMBER_AS_TEXT: rules.as_text(table, "head", "tail"),
            Reason.PLACEHOLDER_VALUE: rules.placeholders(pattern, table, "head", "tail"),
            Reason.SCORE_OUT_OF_RANGE: rules.out_of_range(pattern, table),
        }
        # A sequence carries the accession of its protein, so only edges within one label can loop.
        if pattern.head == pattern.tail and not pattern.loops:
            selects[Reason.SELF_LOOP] = f"SELECT head, tail, NULL, NULL FROM {table} WHERE head = tail"
        if pattern.symmetric:
            selects[Reason.REVERSED_DUPLICATE] = rules.reversed(pattern, table)
        if "source" in pattern.properties:
            selects[Reason.MISSING_PROVENANCE] = (
                f"SELECT head, tail, NULL, 'no source' FROM {table} WHERE coalesce(trim(\"source\"), '') = ''"
            )
        for rule, select in self._broken(selects).items():
            for row in self._rows(rule, select):
                yield Fault(
                    rule,
                    Ref(label=pattern.head, id=row.head),
                    pattern.type,
                    Ref(label=pattern.tail, id=row.tail or ""),
                    row.detail or "",
                    properties=row.properties,
                    alike=row.alike,
                )
        if pattern.hierarchy:
            yield from self._cycles(pattern, table)

    def of_graph(self, store: GraphStore, options: AuditOptions) -> Iterator[Fault]:
        """Every fault of the graph as a whole: edges whose ends fit no pattern, counts that moved."""
        for edge in dict.fromkeys(store.stray_edges(_MAX_STRAY_EDGES)):
            if options.wants_edges(edge.head_label, edge.relation, edge.tail_label):
                ends = _end(edge.head_label, edge.head_id), _end(edge.tail_label, edge.tail_id)
                detail = f"{edge.head_label} {edge.relation} {edge.tail_label} is no pattern of the schema"
                yield Fault(Reason.WRONG_END_LABEL, ends[0], edge.relation, ends[1], detail)
        yield from self.moved(options)

    def moved(self, options: AuditOptions) -> Iterator[Fault]:
        """Every count that moved since the run before."""
        before = self._before or self._run
        for name, change in moved_counts(before.nodes, self._run.nodes):
            if options.wants_label(name):
                yield Fault(Reason.COUNT_MOVED, Ref(label=name, id=ALL), None, None, change)
        patterns = {str(p): p for p in self._schema.relations}
        for name, change in moved_counts(before.edges, self._run.edges):
            p = patterns.get(name)
            if p and options.wants_edges(p.head, p.type, p.tail):
                ends = Ref(label=p.head, id=ALL), Ref(label=p.tail, id=ALL)
                yield Fault(Reason.COUNT_MOVED, ends[0], p.type, ends[1], change)

    def _cycles(self, pattern: Pattern, table: str) -> Iterator[Fault]:
        edges = self._db.execute(f"SELECT DISTINCT head, tail FROM {table} ORDER BY ALL").fetchall()
        for cycle in cycles(edges):
            shown = [*cycle.way[:_SHOWN_TERMS], "..."] if len(cycle.way) > _SHOWN_TERMS + 1 else cycle.way
            detail = f"{' > '.join(shown)}; {cycle.terms} terms are ancestors of each other"
            ends = Ref(label=pattern.head, id=cycle.way[0]), Ref(label=pattern.tail, id=cycle.way[1])
            yield Fault(Reason.PARENT_CYCLE, ends[0], pattern.type, ends[1], detail)

    def _broken(self, selects: Mapping[Reason, str]) -> dict[Reason, str]:
        """Without the rules that nothing can break here, and those of single rows that none breaks."""
        possible = {r: s for r, s in selects.items() if s not in (rules.NOTHING, rules.NOTHING_NAMED)}
        if quick := [rule for rule in possible if rule.rule and rule.rule.is_of_one_row]:
            (found,) = self._db.execute(f"SELECT {', '.join(f'EXISTS ({possible[r]})' for r in quick)}").fetchall()
            unbroken = {rule for rule, is_broken in zip(quick, found, strict=True) if not is_broken}
            return {rule: select for rule, select in possible.items() if rule not in unbroken}
        return possible

    def _rows(self, rule: Reason, select: str) -> Iterator["_FaultRow"]:
        """The hits of a rule, one for each pair of ends, in an order that does not change."""
        more, named = "", "NULL::VARCHAR[], NULL::VARCHAR"
        if rule.rule and rule.rule.names_properties:
            more, named = ", properties, correct", "flatten(list(properties ORDER BY detail)), min_by(correct, detail)"
        hits = f"({select}) AS hit(head, tail, tail_label, detail{more})"
        together = f"""
            SELECT head, tail, tail_label, string_agg(DISTINCT detail, '; ' ORDER BY detail), {named}
            FROM {{}} GROUP BY ALL"""
        if rule in FOLDED and not self._options.unfold:
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

    def _orphans(self, label: Label, table: str) -> str:
        ends = [f"SELECT head FROM {self._copy.edges(p)}" for p in self._patterns if p.head == label.name]
        ends += [f"SELECT tail FROM {self._copy.edges(p)}" for p in self._patterns if p.tail == label.name]
        joined = " UNION ALL ".join(ends) or "SELECT NULL::VARCHAR WHERE false"
        none = literal("no edge that the profile knows")
        return f"SELECT id, NULL, NULL, {none} FROM {table} ANTI JOIN ({joined}) AS seen(id) USING (id)"

    def _elsewhere(self, label: Label, table: str) -> str:
        others = [
            f"SELECT id, {literal(s.name)} AS label FROM {self._copy.nodes(s)}"
            for s in self._labels
            if s.name > label.name and s.name not in label.shares_ids_with and label.name not in s.shares_ids_with
        ]
        joined = " UNION ALL ".join(others) or "SELECT NULL::VARCHAR AS id, NULL::VARCHAR AS label WHERE false"
        return f"SELECT n.id, n.id, o.label, 'also a ' || o.label FROM {table} n JOIN ({joined}) o USING (id)"


def folded(hits: Iterable[Fault]) -> Iterator[Fault]:
    """Hits of rules that many break alike as one, with their number and some examples."""
    alike: dict[tuple[Reason, tuple[str, ...]], list[Fault]] = {}
    counts: Counter[tuple[Reason, tuple[str, ...]]] = Counter()
    for hit in hits:
        if hit.rule not in FOLDED:
            yield hit
            continue
        key = hit.rule, hit.properties
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
        yield Fault(first.rule, ends[0], first.relation, ends[1], detail, ", ".join(first.properties) or None, count)


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
            sources=(GRAPH_SOURCE,),
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
    """What every hit of a rule comes to: they differ in nothing that a verdict depends on."""
    hit = Fault(rule, Ref(label=ALL, id=ALL), None, None, "")
    return judge_evidence(CheckType.STRUCTURE, [judged(hit, clock.now())[1]])


def moved_counts(before: dict[str, int], after: dict[str, int]) -> Iterator[tuple[str, str]]:
    """What moved by more than MOVED_SHARE between two runs: the label or pattern, and by how much."""
    for name in sorted({*before, *after}):
        old, new = before.get(name, 0), after.get(name, 0)
        if abs(new - old) > MOVED_SHARE * max(old, 1):
            yield name, f"{old:,} before, {new:,} now"


def judged(hit: Fault, seen_at: datetime) -> tuple[CheckTask, Evidence]:
    """The task and the evidence of a hit: the graph is its own witness."""
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
    evidence = Evidence(
        source=GRAPH_SOURCE,
        release="as audited",
        record=f"{hit.head.id} {hit.relation} {hit.tail.id}" if hit.relation and hit.tail else hit.head.id,
        retrieved_at=seen_at,
        stance=Stance.CONTRADICTS if fault else Stance.SILENT,
        world=World.CLOSED if fault else World.OPEN,
        tier=Tier.OWNER,
        reason=hit.rule,
        value=hit.detail or None,
        replacements=(hit.right,) if hit.right else (),
    )
    return task, evidence


def _end(label: str, identifier: str) -> Ref:
    return Ref(label=label, id=printable(identifier))
