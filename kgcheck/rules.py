"""Rule: a structure rule with SQL selects and a repair; registry of all, plug-ins included.

A package brings rules of its own by an entry point of the group ``kgcheck.rules`` that names a `Rule`, or several:
see docs/rules.md.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any, NamedTuple

from kgcheck.errors import ConfigurationError
from kgcheck.plurals import how_many

if TYPE_CHECKING:
    from kgcheck.audit.curies import Curies
    from kgcheck.model import Ref
    from kgcheck.profile.schema import Label as Label
    from kgcheck.profile.schema import Pattern as Pattern
    from kgcheck.profile.schema import Schema

ENTRY_POINTS = "kgcheck.rules"
"""The group of entry points by which packages bring rules."""

_OWN = EntryPoint("kgcheck", "kgcheck.audit.rules:RULES", ENTRY_POINTS)
"""Named here, so that no way of installing kgcheck leaves it without rules."""

ALL = "(all)"
"""The id of a hit that is a whole label, relation or prefix."""

_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")


class RuleRepair(StrEnum):
    """Kinds of repair of a fault."""

    REVIEW = "review"
    RETIRE = "retire"
    RETIRE_DUPLICATES = "retire all but one"
    SET_VALUE = "set the value that is given, where one property alone is wrong; else review"


class CauseKind(StrEnum):
    """A finding that others follow from, where a run has both."""

    NODE = "node"
    """The refuted id of the node, or of an end: what is stated is stated of what replaced it."""
    SAME_OF_NODE = "same_of_node"
    """The same reason of the node: a reference that is too old to know its id."""
    NAMESPACE = "namespace"
    """An id that belongs under another label."""
    EDGE = "edge"
    """The refuted edge, of a property of it."""
    VALUE = "value"
    """Another value of the same property in a source."""
    GROUP = "group"
    """The first of the pairs with the same node."""


class RuleHit(NamedTuple):
    """A node or an edge that breaks a rule, and what is wrong with it.

    ``record`` is the entry of the rule's source that says so. ``part`` tells hits of one label or pattern apart, such
    as a prefix of ids.
    """

    head: "Ref"
    relation: str | None
    tail: "Ref | None"
    detail: str
    record: str = ""
    part: str | None = None


def all_of(label: str) -> "Ref":
    """All nodes of a label, as what a hit is about."""
    from kgcheck.model import Ref

    return Ref(label=label, id=ALL)


class GraphCounts(NamedTuple):
    """Nodes by label and edges by pattern."""

    nodes: Mapping[str, int]
    edges: Mapping[str, int]


class RuleGraph:
    """The graph that a rule looks at, as tables of DuckDB.

    Attributes:
        schema: Labels and patterns that the profile knows.
        labels: Labels that have nodes.
        patterns: Patterns that have edges.
        now: Counts of the run under way.
        before: Counts of the audit before; those of now where there was none.
        nodes: Gives the quoted name of the table of a label: id, and its properties.
        edges: Gives the quoted name of the table of a pattern: head, tail, and its properties.
        select: Gives the rows of a SELECT over these tables.
        stray_edges: Gives the edges whose ends fit no pattern of the schema.
        broken_pins: Gives the pins, ``must`` or ``must_not``, that the graph does not keep; see kgcheck.pins.
    """

    schema: "Schema"
    labels: "Sequence[Label]"
    patterns: "Sequence[Pattern]"
    now: GraphCounts
    before: GraphCounts
    nodes: "Callable[[Label], str]"
    edges: "Callable[[Pattern], str]"
    select: Callable[[str], list[tuple[Any, ...]]]
    stray_edges: Callable[[], Iterable[RuleHit]]
    broken_pins: Callable[[str], Iterable[RuleHit]]

    @property
    def curies(self) -> "Curies":
        """The ids of the graph by prefix, and its names in Biolink."""
        raise NotImplementedError

    def count(self, patterns: "Iterable[Pattern]") -> int:
        """The number of edges of some patterns."""
        return sum(self.now.edges.get(str(pattern), 0) for pattern in patterns)

    def patterns_by_relation(self) -> "dict[str, list[Pattern]]":
        found: dict[str, list[Pattern]] = {}
        for pattern in self.patterns:
            found.setdefault(pattern.type, []).append(pattern)
        return found

    def ends_of_edges(self, label: "Label") -> str:
        """Select the ids at which edges end that may lead to a label; empty where there are no such edges.

        Of a draft those are all edges: it files the edges of an id that has several labels under one of them.
        """
        ends = [(end, p) for end in ("head", "tail") for p in self.patterns]
        is_draft = self.schema.profile.draft
        wanted = ((end, p) for end, p in ends if is_draft or getattr(p, end) == label.name)
        return " UNION ALL ".join(f"SELECT {end} AS id FROM {self.edges(p)}" for end, p in wanted)

    def hit_of_label(self, label: "Label", detail: str, record: str = "", count: int | None = None) -> RuleHit:
        """A hit of all nodes of a label, or of some, with their number."""
        nodes = self.now.nodes.get(label.name, 0) if count is None else count
        return RuleHit(all_of(label.name), None, None, f"{detail}; {how_many(nodes, 'node')}", record)

    def hit_of_relation(
        self, patterns: "Sequence[Pattern]", detail: str, record: str = "", among: int | None = None
    ) -> RuleHit:
        """A hit of all edges of some patterns, with their number, if need be among others; it stands at the first."""
        edges, first = self.count(patterns), patterns[0]
        count = f"{edges:,} of {among:,} edges" if among else how_many(edges, "edge")
        return RuleHit(all_of(first.head), first.type, all_of(first.tail), f"{detail}; {count}", record)


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A check of the graph by itself, without a source.

    A select gives a row for each hit: head (an id), tail (an id or NULL), tail_label (of a node of another label, else
    NULL) and detail (what is wrong, in words). One with ``names_properties`` gives two columns more: a list of the
    names of the properties that are wrong, and what would be right, or NULL.

    Attributes:
        name: In words that are joined by ``_``; a finding has it as its rule and its reason.
        words: In plain words, as reports have it.
        meaning: What breaks it, in half a sentence.
        groups: Names by which rules are switched together.
        is_fault: A hit is refuted; else it is only suspicious, and insufficient.
        bad: A node or an edge that breaks it.
        good: The same as it should be.
        repair: How a fault is repaired.
        is_folded: Many hits about the same are one finding, with their number and examples.
        is_of_one_row: It looks at each row by itself, so that a glance tells whether any row breaks it.
        names_properties: Its selects name the properties that are wrong.
        source: The standard that its hits break and that evidence cites; empty where the graph is its own witness.
        is_remark: Its hits are worth a note and change no exit code; they are insufficient, so that it is no fault.
        follows: What its hits follow from, where a run has that, too.
        of_label: The select over the nodes of a label; None where nothing can break it there.
        of_pattern: The select over the edges of a pattern, or the hits themselves; None where nothing can break it.
        of_graph: The hits of the graph as a whole.
    """

    name: str
    words: str
    meaning: str
    groups: tuple[str, ...]
    is_fault: bool
    bad: str
    good: str
    repair: RuleRepair = RuleRepair.REVIEW
    is_folded: bool = False
    is_of_one_row: bool = False
    names_properties: bool = False
    source: str = ""
    is_remark: bool = False
    follows: tuple[CauseKind, ...] = ()
    of_label: "Callable[[RuleGraph, Label], str | None] | None" = None
    of_pattern: "Callable[[RuleGraph, Pattern], str | Iterable[RuleHit] | None] | None" = None
    of_graph: "Callable[[RuleGraph], Iterable[RuleHit]] | None" = None

    def __post_init__(self) -> None:
        """Refuse a name that could not be written in a file or on a command line, and a remark that refutes."""
        if len(self.name) > 40 or not _NAME.fullmatch(self.name):
            raise ValueError(f"{self.name!r} is no name of a rule: small letters, digits and _ within, at most 40")
        if self.is_remark and self.is_fault:
            raise ValueError(f"{self.name} is a remark, which refutes nothing, so that it is no fault")

    @property
    def outcome(self) -> str:
        return "refuted" if self.is_fault else "insufficient"

    @property
    def outcome_words(self) -> str:
        return f"{self.outcome}, a remark" if self.is_remark else self.outcome


@cache
def structure_rules() -> Mapping[str, Rule]:
    """All rules by name: kgcheck's own, then those of other packages that are installed."""
    found: dict[str, Rule] = {}
    origin: dict[str, str] = {}
    for point in (_OWN, *sorted(entry_points(group=ENTRY_POINTS), key=lambda p: (_package(p), p.name))):
        for rule in _rules_of(point):
            if rule.name in found:
                raise _refused(point, f"{rule.name} is a rule of {origin[rule.name]} already")
            found[rule.name], origin[rule.name] = rule, _package(point)
    return found


def remarks() -> list[str]:
    """The names of the rules whose hits never change an exit code."""
    return [name for name, rule in structure_rules().items() if rule.is_remark]


def rules_named(names: Collection[str]) -> frozenset[str]:
    """The names of the rules that are named, by name or by group."""
    rules = structure_rules()
    grouped = {group for rule in rules.values() for group in rule.groups}
    if unknown := sorted(set(names) - set(rules) - grouped):
        raise ConfigurationError(
            f"no rule or group of rules is called {unknown[0]!r}",
            f"kgcheck rules lists them; groups: {', '.join(sorted(grouped))}",
        )
    return frozenset(name for name, rule in rules.items() if name in names or not set(names).isdisjoint(rule.groups))


def _rules_of(point: EntryPoint) -> list[Rule]:
    try:
        loaded = point.load()
        rules = [loaded] if isinstance(loaded, Rule) else list(loaded)
    except Exception as error:  # of any package that is installed
        raise _refused(point, f"{type(error).__name__}: {error}") from error
    if wrong := [rule for rule in rules if not isinstance(rule, Rule)]:
        raise _refused(point, f"{wrong[0]!r} is no kgcheck.rules.Rule")
    return rules


def _refused(point: EntryPoint, why: str) -> ConfigurationError:
    return ConfigurationError(
        f"the rules of {_package(point)} cannot be used: {why}",
        f"mend {point.value}, or take the package away: pip uninstall {_package(point)}",
    )


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist else point.name
