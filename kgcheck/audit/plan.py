"""What an audit looks at: units of one check type on one label, attribute or pattern."""

from collections.abc import Iterable

from pydantic import Field

from kgcheck.errors import UnknownName, UsageError
from kgcheck.graph.schema import Pattern, Schema
from kgcheck.graph.store import Counts
from kgcheck.model import CheckType, Value


class AuditOptions(Value):
    """What was asked for. Empty filters mean everything."""

    types: tuple[CheckType, ...] = tuple(CheckType)
    labels: tuple[str, ...] = ()
    relations: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    sample: int | None = Field(default=None, gt=0)
    seed: int = 0
    keep_all: bool = Field(default=False, description="a finding also for what is supported or unavailable")


class Unit(Value):
    """One kind of task on one part of the schema."""

    type: CheckType
    label: str | None = None
    attribute: str | None = None
    pattern: Pattern | None = None

    @property
    def target(self) -> str:
        """The part of the schema, as reports show it."""
        if self.pattern:
            return str(self.pattern)
        return f"{self.label}.{self.attribute}" if self.attribute else str(self.label)

    @property
    def key(self) -> str:
        """Names the unit in the ledger."""
        return f"{self.type.value} {self.target}"


def make_plan(options: AuditOptions, schema: Schema, counts: Counts) -> list[Unit]:
    """The units that the options ask for and that have anything to check.

    Args:
        options: What was asked for.
        schema: Profile.
        counts: What the store holds.

    Raises:
        UnknownName: A label or relation does not exist.
        UsageError: The filters exclude each other.
    """
    for name in options.labels:
        schema.label(name)
    for name in options.relations:
        schema.patterns(name)
    units = [unit for kind in options.types for unit in _units(kind, options, schema, counts)]
    if not units:
        asked = ", ".join(t.value for t in options.types)
        raise UsageError(
            f"nothing to check: {asked} with these filters",
            "--relation applies to edges, --label to nodes and to edges that end at it",
        )
    return units


def _units(kind: CheckType, options: AuditOptions, schema: Schema, counts: Counts) -> Iterable[Unit]:
    labels = [s for s in schema.labels if not options.labels or s.name in options.labels]
    if options.relations:
        labels = []
    present = [s for s in labels if counts.nodes.get(s.name)]
    patterns = [p for p in schema.relations if _wanted(p, options)]
    match kind:
        case CheckType.EXISTENCE:
            return [Unit(type=kind, label=s.name) for s in present]
        case CheckType.ATTRIBUTE:
            return [Unit(type=kind, label=s.name, attribute=a) for s in present for a in s.attributes]
        case CheckType.TRIPLE:
            return [Unit(type=kind, pattern=p) for p in patterns if counts.edges.get(str(p))]
        case CheckType.POTENTIAL:
            ends = counts.nodes
            return [Unit(type=kind, pattern=p) for p in patterns if ends.get(p.head) and ends.get(p.tail)]
        case _:
            edges = [Unit(type=kind, pattern=p) for p in patterns if counts.edges.get(str(p))]
            return [Unit(type=kind, label=s.name) for s in present] + edges


def _wanted(pattern: Pattern, options: AuditOptions) -> bool:
    if options.relations and pattern.type not in options.relations:
        return False
    return not options.labels or pattern.head in options.labels or pattern.tail in options.labels


def unknown_id(identifier: str, known: Iterable[str]) -> UnknownName:
    """The error for an id that no node has."""
    return UnknownName("node", identifier, known)
