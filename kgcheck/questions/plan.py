"""Plan: typed query plan of a question (variables, steps, filters), and its wording in English."""

from collections.abc import Callable, Iterable, Mapping
from operator import eq, ge, gt, le, lt
from typing import Any, Literal

from pydantic import Field

from kgcheck.model import Ref, Value
from kgcheck.plurals import plural, words_in
from kgcheck.profile.lexicon import Comparison
from kgcheck.profile.schema import Pattern

MOST_HOPS = 4

_COMPARE: dict[Comparison, Callable[[float, float], bool]] = {">=": ge, "<=": le, ">": gt, "<": lt, "=": eq}

Direction = Literal["out", "in", "either"]


class Filter(Value):
    """A condition on a property of an edge or a node."""

    property: str
    comparison: Comparison
    value: float | str

    def holds(self, found: object) -> bool:
        """Compare a value of the graph with the condition; a missing one fulfils nothing."""
        if isinstance(self.value, str):
            return isinstance(found, str) and found.casefold() == self.value.casefold()
        if isinstance(found, bool) or not isinstance(found, int | float):
            return False
        return _COMPARE[self.comparison](found, self.value)


class Anchor(Value):
    """Nodes that the question names; several where several carry the name."""

    refs: tuple[Ref, ...] = Field(min_length=1)
    text: str = Field(description="what the question calls them")

    @property
    def label(self) -> str:
        return self.refs[0].label

    @property
    def hops(self) -> int:
        return 0


class PlanStep(Value):
    """One relation from a variable to what it is linked with.

    ``direction`` is that of the edge seen from the variable: out, in, or either, as for every symmetric relation; an
    edge that fulfils ``one_way`` states a direction, and counts only where that is ``wanted_direction``. ``times``
    says how many nodes it has to reach; at least one, where it is left out.
    """

    pattern: Pattern
    direction: Direction
    wanted_direction: Direction = "either"
    one_way: Filter | None = None
    filters: tuple[Filter, ...] = ()
    to: "Anchor | Variable"
    times: Filter | None = None

    def takes(self, properties: Mapping[str, Any], *, out: bool) -> bool:
        """Tell whether an edge counts."""
        if (
            self.one_way
            and self.wanted_direction != "either"
            and self.one_way.holds(properties.get(self.one_way.property))
        ):
            if out != (self.wanted_direction == "out"):
                return False
        return all(f.holds(properties.get(f.property)) for f in self.filters)


class Variable(Value):
    """Nodes that are looked for: those that have a step of every group. A group is fulfilled by any of its steps."""

    label: str
    groups: tuple[tuple[PlanStep, ...], ...] = ()
    without: tuple[PlanStep, ...] = Field(default=(), description="steps that none of the nodes has")
    filters: tuple[Filter, ...] = ()
    ends: tuple[str, str] | None = Field(default=None, description="a property, and how its value ends")
    among: tuple[Anchor, ...] = Field(default=(), description="only these, where the question names them")
    excluded: tuple[Anchor, ...] = Field(default=(), description="none of these")

    @property
    def steps(self) -> tuple[PlanStep, ...]:
        """All steps, wanted or not."""
        return (*(step for group in self.groups for step in group), *self.without)

    @property
    def is_any(self) -> bool:
        """True where any node of the label will do."""
        return not (self.groups or self.without or self.filters or self.ends or self.among or self.excluded)

    @property
    def hops(self) -> int:
        """Steps of the longest way from here to a node that the question names."""
        return max((1 + step.to.hops for step in self.steps), default=0)


class Rank(Value):
    """An order: by how many nodes a step reaches, or by a property of the step, of what it reaches, or of the node."""

    step: PlanStep | None = None
    property: str | None = None
    descending: bool = True
    limit: int = Field(default=1, ge=1)


class Plan(Value):
    """Plan of a question: the nodes of a variable, how many there are, or if there is one."""

    target: Variable
    count: bool = False
    whether: bool = False
    every: bool = Field(default=False, description="whether all named nodes are asked about, not any")
    rank: Rank | None = None
    notes: tuple[str, ...] = ()


Names = Mapping[Ref, str]
"""Names in the graph of the nodes that a plan names."""

_COMPARED = {">=": "at least", "<=": "at most", ">": "more than", "<": "fewer than", "=": "exactly"}
_MOST_SHOWN = 3


def sentence(plan: Plan, names: Names) -> str:
    """Say what a plan asks."""
    target = plan.target
    if plan.whether and target.among:
        joint = " and " if plan.every else " or "
        subjects = joint.join(anchor(a, names) for a in target.among)
        has = "have" if len(target.among) > 1 and plan.every else "has"
        return f"whether {subjects} {has} {_and(_conditions(target, names), strip='with ')}"
    text = variable(target, names)
    if plan.rank:
        text = f"{_rank(plan.rank, names)}, of {text}"
    if plan.whether:
        return f"whether there are {text}"
    return f"the number of {text}" if plan.count else text


def variable(wanted: Variable, names: Names) -> str:
    """The nodes of a variable."""
    if wanted.among:
        return _and([" and ".join(anchor(a, names) for a in wanted.among), *_conditions(wanted, names)], sign=" ")
    conditions = _conditions(wanted, names)
    return f"{many_of(wanted.label)} {_and(conditions)}".rstrip()


def many_of(label: str) -> str:
    """A label as people write more of one.

    >>> many_of("Biological_process"), many_of("biolink:Gene")
    ('biological processes', 'genes')
    """
    return plural(" ".join(words_in(label)))


def anchor(named: Anchor, names: Names) -> str:
    """The nodes that a question names."""
    shown = ", ".join(
        f"{names[ref]!r} ({ref.id})" if names.get(ref) and names[ref] != ref.id else ref.id
        for ref in named.refs[:_MOST_SHOWN]
    )
    if len(named.refs) == 1:
        return f"the {named.label} {shown}"
    more = f" and {len(named.refs) - _MOST_SHOWN} more" if len(named.refs) > _MOST_SHOWN else ""
    return f"any of the {len(named.refs)} {many_of(named.label)} called {named.text!r} ({shown}{more})"


def _conditions(wanted: Variable, names: Names) -> list[str]:
    found = [" or ".join(_step(s, names) for s in group) for group in wanted.groups]
    found += [_step(s, names, lead="without") for s in wanted.without]
    found += [f"with {_filter(f)}" for f in wanted.filters]
    if wanted.ends:
        found.append(f"whose {wanted.ends[0]} ends in {wanted.ends[1]!r}")
    return found + [f"other than {anchor(a, names)}" for a in wanted.excluded]


def _step(step: PlanStep, names: Names, lead: str = "with") -> str:
    way = {"out": "to", "in": "from", "either": "to or from"}[step.direction]
    where = f" ({_and(map(_filter, step.filters))})" if step.filters else ""
    edge = f"{step.pattern.type} edge{where}"
    if step.times:
        many = f"{_COMPARED[step.times.comparison]} {step.times.value:g}"
        return f"{lead} {edge}s {way} {many} {_end(step, names)}"
    article = "any" if lead == "without" else "an" if edge[0].upper() in "AEIO" else "a"
    some = "" if isinstance(step.to, Anchor) else "any of the "
    return f"{lead} {article} {edge} {way} {some}{_end(step, names)}"


def _end(step: PlanStep, names: Names) -> str:
    return anchor(step.to, names) if isinstance(step.to, Anchor) else variable(step.to, names)


def _filter(condition: Filter) -> str:
    value = repr(condition.value) if isinstance(condition.value, str) else f"{condition.value:g}"
    return f"{condition.property} {condition.comparison} {value}"


def _rank(rank: Rank, names: Names) -> str:
    side = "highest" if rank.descending else "lowest"
    many = "the one" if rank.limit == 1 else f"the {rank.limit}"
    if rank.property is None and rank.step:
        most = "most" if rank.descending else "fewest"
        return f"{many} {_step(rank.step, names).replace(' any of the ', f' the {most} ', 1)}"
    of = f" of {_step(rank.step, names).removeprefix('with ')}" if rank.step else ""
    return f"{many} with the {side} {rank.property}{of}"


def _and(parts: Iterable[str], sign: str = ", and ", strip: str = "") -> str:
    return sign.join(part.removeprefix(strip) for part in parts)
