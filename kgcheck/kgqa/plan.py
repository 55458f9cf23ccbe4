"""A typed plan: what a question asks of the graph. Every name in it is of the schema, every id of the graph."""

from typing import Literal

from pydantic import Field

from kgcheck.graph.schema import Pattern
from kgcheck.kgqa.lexicon import Comparison
from kgcheck.model import Ref, Value

MOST_HOPS = 4


class Filter(Value):
    """A condition on a property of an edge or a node."""

    property: str
    comparison: Comparison
    value: float | str

    def holds(self, found: object) -> bool:
        """Whether a value of the graph fulfils it; what is missing fulfils nothing."""
        if isinstance(self.value, str):
            return isinstance(found, str) and found.casefold() == self.value.casefold()
        if isinstance(found, bool) or not isinstance(found, int | float):
            return False
        match self.comparison:
            case ">=":
                return found >= self.value
            case "<=":
                return found <= self.value
            case ">":
                return found > self.value
            case "<":
                return found < self.value
            case _:
                return found == self.value

    def __str__(self) -> str:
        return f"{self.property} {self.comparison} {self.value}"


class Anchor(Value):
    """Nodes that the question names; several where several carry the name."""

    refs: tuple[Ref, ...] = Field(min_length=1)
    said: str

    @property
    def label(self) -> str:
        """Of all its nodes."""
        return self.refs[0].label

    @property
    def hops(self) -> int:
        """None."""
        return 0

    def __str__(self) -> str:
        ids = ", ".join(ref.id for ref in self.refs[:3]) + (", ..." if len(self.refs) > 3 else "")
        named = "" if ids == self.said else f" ({self.said})"
        return f"{self.label} {ids}{named}"


class Step(Value):
    """One relation from a variable to what it is linked with.

    ``direction`` is that of the edge seen from the variable: out, in, or either.
    """

    pattern: Pattern
    direction: Literal["out", "in", "either"]
    filters: tuple[Filter, ...] = ()
    to: "Anchor | Variable"

    def __str__(self) -> str:
        left, right = {"out": ("-", "->"), "in": ("<-", "-"), "either": ("-", "-")}[self.direction]
        only = f" where {' and '.join(map(str, self.filters))}" if self.filters else ""
        shown = f"({self.to})" if isinstance(self.to, Variable) and len(self.to.groups) > 1 else str(self.to)
        return f"{left}{self.pattern.type}{only}{right} {shown}"


class Variable(Value):
    """Nodes that are looked for: those that have a step of every group. A group is fulfilled by any of its steps."""

    label: str
    groups: tuple[tuple[Step, ...], ...] = ()
    filters: tuple[Filter, ...] = ()
    ends: tuple[str, str] | None = Field(default=None, description="a property, and how its value ends")

    @property
    def hops(self) -> int:
        """Steps of the longest way from here to a node that the question names."""
        return max((1 + step.to.hops for group in self.groups for step in group), default=0)

    def __str__(self) -> str:
        ways = [" or ".join(map(str, group)) for group in self.groups]
        only = [str(f) for f in self.filters] + ([f"{self.ends[0]} ends in {self.ends[1]}"] if self.ends else [])
        where = f" where {' and '.join(only)}" if only else ""
        return f"{self.label}{where} {' and '.join(ways)}".rstrip()


class Plan(Value):
    """What is asked: the nodes of a variable, or how many there are."""

    target: Variable
    count: bool = False
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{'how many ' if self.count else ''}{self.target}"
