"""Plan of an audit: units (one check type on a label, attribute or pattern), split into pieces."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from kgcheck.errors import UsageError
from kgcheck.graph.citations import citations_sql
from kgcheck.graph.store import Counts
from kgcheck.ledger.run import LAST
from kgcheck.model import CheckType, Target, Value
from kgcheck.options import AuditOptions
from kgcheck.profile.schema import Pattern, Schema

SUPPORTED_EDGE = "supported_edge"
"""Table of the edges of a unit of cited papers that references support."""


class Unit(Value):
    """One kind of task on one part of the schema; on the whole graph where no part is named."""

    type: CheckType
    label: str | None = None
    attribute: str | None = None
    pattern: Pattern | None = None

    @property
    def target(self) -> Target:
        if self.pattern:
            ends = {"label": self.pattern.head, "relation": self.pattern.type, "object_label": self.pattern.tail}
            return Target(**ends, attribute=self.attribute)
        return Target(label=self.label, attribute=self.attribute)

    @property
    def labels(self) -> tuple[str, ...]:
        if self.pattern:
            return self.pattern.head, self.pattern.tail
        return (self.label,) if self.label else ()

    def piece(self, number: int, *, last: bool) -> str:
        """Names a piece of the unit in the ledger; once the last one is there, the unit is whole."""
        return f"{self.type.value} {self.target} {LAST if last else f'#{number}'}"


class Piece(NamedTuple):
    """Tasks of a unit that are written as one, and the numbers that they have in the working tables."""

    unit: Unit
    name: str
    digest: str
    first: int
    last: int
    plain: int = 0
    """Number of plainly supported tasks that the first number stands for."""


def place_sql(pieces: Sequence[Piece], task: str) -> str:
    """SQL for the place, from 0, of the piece that has a task of this number; pieces are in the order of numbers."""
    return f"CASE {' '.join(f'WHEN {task} <= {piece.last} THEN {place}' for place, piece in enumerate(pieces))} END"


def sources_of(units: Iterable[Unit], schema: Schema) -> set[str]:
    """The reference sources that may decide the tasks of some units, or the ends of their edges."""
    looked_up = [unit for unit in units if unit.type.asks_sources]
    labels = [schema.label(name) for unit in looked_up for name in unit.labels]
    found = {source for label in labels for source in label.sources}
    checks = [schema.attribute(u.label, u.attribute) for u in looked_up if u.label and u.attribute]
    found |= {check.source for check in checks if check.source}
    return found | {check.source for unit in looked_up if unit.pattern for check in unit.pattern.checks}


def make_plan(options: AuditOptions, schema: Schema, counts: Counts) -> list[Unit]:
    """The units that the options ask for and that have anything to check."""
    for name in options.labels:
        schema.label(name)
    for name in options.relations:
        schema.patterns(name)
    units = [unit for kind in options.types for unit in _units(kind, options, schema, counts)]
    if not units and not counts.total_nodes:
        raise UsageError("nothing to check: the store is empty", "load a graph first: kgcheck load DIR --store STORE")
    if not units:
        types = ", ".join(t.value for t in options.types)
        raise UsageError(
            f"nothing to check: {types} with these filters",
            "--relation applies to edges, --label to nodes and to edges that end at it",
        )
    return units


def in_working_order(units: Sequence[Unit], edges: Mapping[str, int]) -> list[Unit]:
    """The units of a plan in the order in which most of the work is done beside other work.

    Many edges are looked at ahead while others, of which there are fewer, are judged.
    """
    triples = sorted((u for u in units if u.type is CheckType.TRIPLE), key=lambda unit: edges.get(str(unit.pattern), 0))
    ordered = iter(triples)
    return [next(ordered) if unit.type is CheckType.TRIPLE else unit for unit in units]


def _units(kind: CheckType, options: AuditOptions, schema: Schema, counts: Counts) -> Iterable[Unit]:
    labels = [s for s in schema.labels if options.wants_label(s.name) and counts.nodes.get(s.name)]
    patterns = [p for p in schema.relations if options.wants_edges(p.head, p.type, p.tail)]
    present = [p for p in patterns if counts.edges.get(str(p))]
    match kind:
        case CheckType.EXISTENCE:
            # Where nobody issues the ids, nobody can be asked: that is not looked at, and nothing is said of it.
            return [Unit(type=kind, label=s.name) for s in labels if s.sources]
        case CheckType.ATTRIBUTE:
            nodes = [Unit(type=kind, label=s.name, attribute=a) for s in labels for a in s.attributes]
            return nodes + [Unit(type=kind, pattern=p, attribute=a) for p in present for a in p.scored]
        case CheckType.TRIPLE:
            return [Unit(type=kind, pattern=p) for p in present]
        case CheckType.EVIDENCE:
            return [Unit(type=kind, pattern=p) for p in present if citations_sql(p, "")]
        case CheckType.POTENTIAL:
            ends = counts.nodes
            return [Unit(type=kind, pattern=p) for p in patterns if ends.get(p.head) and ends.get(p.tail)]
        case _:
            parts = [Unit(type=kind, label=s.name) for s in labels] + [Unit(type=kind, pattern=p) for p in present]
            return [*parts, Unit(type=kind)] if parts else []
