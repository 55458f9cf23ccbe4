"""Calibration of a judge of papers, measured on labelled evidence, and the rule by which the judge decides.

A judge decides where Wilson's lower bound of its precision is at least the trust that is wanted; else it informs. The
bound is that of the edge's own relation where that was measured well enough to tell, and else that of all opinions of
the same stance.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import cache
from math import sqrt
from typing import NamedTuple, Self

from pydantic import Field, model_validator

from kgcheck.model import Stance, Value

TRUST = {"trained": 0.8, "inference": 0.8, "llm": 0.9}
"""Least lower bound of the precision at which a judge decides, by its name, unless another one is wanted."""

AND = " and "
"""Between the names, models and prompts of judges that must agree."""


MOST_ITEMS = 1_000_000_000
"""Labelled items of one set, more than anybody has: a count that no number can hold is none."""


class ShareBounds(NamedTuple):
    """Wilson's bounds of a share, 95 %."""

    lower: float
    upper: float


class Cell(Value):
    """Opinions of one stance on statements of one relation, counted against their labels."""

    stance: Stance
    relation: str = Field(default="", description="pattern of an edge, or kind of statement; empty where none is named")
    cases: int = Field(ge=1)
    right: int = Field(ge=0)

    @model_validator(mode="after")
    def _is_share(self) -> Self:
        if self.right > self.cases:
            raise ValueError(f"{self.right} of {self.cases} cannot be right")
        return self

    @property
    def bounds(self) -> ShareBounds:
        return bounds_of(self.right, self.cases)


class Calibration(Value):
    """Measurement of a judge with one model and prompt on one set of labelled evidence."""

    judge: str = Field(description="trained, inference or llm; several that must agree are joined by and")
    model: str = Field(description="digest of its weights, or the model that the endpoint named")
    prompt: str = Field(default="", description="digest of what a model is asked beside claim and papers")
    evidence: str = Field(description="name and digest of the set of labelled evidence")
    measured: datetime
    items: int = Field(ge=0, le=MOST_ITEMS)
    cells: tuple[Cell, ...] = ()
    found: int = Field(default=0, description="statements and denials of the set that were read as such")
    labelled: int = Field(default=0, description="statements and denials of the set")
    error: float | None = Field(default=None, description="expected calibration error of its probabilities, ten bins")
    seconds: float | None = None
    tokens: int | None = None
    money: float | None = None

    @model_validator(mode="after")
    def _counts_each_item_once(self) -> Self:
        if (cases := sum(cell.cases for cell in self.cells)) > self.items:
            raise ValueError(f"{cases} cases cannot be of {self.items} items")
        return self


class Standing(NamedTuple):
    """Weight of an opinion on an edge: decisive, or information alone, with the measurement that says so."""

    decides: bool
    why: str

    def __str__(self) -> str:
        return f"{'decides' if self.decides else 'informs'}: {self.why}"


def bounds_of(right: float, cases: int) -> ShareBounds:
    """Compute Wilson's bounds of 95 % of a share.

    >>> bounds_of(132, 139).lower > 0.89
    True
    """
    p, z = right / cases, 1.96
    middle, half = p + z * z / (2 * cases), z * sqrt(p * (1 - p) / cases + z * z / (4 * cases * cases))
    lower, upper = ((middle + sign * half) / (1 + z * z / cases) for sign in (-1, 1))
    # Rounding may leave the share itself outside.
    return ShareBounds(max(min(lower, p), 0.0), min(max(upper, p), 1.0))


@cache
def enough_cases(trust: float) -> int:
    """Compute how many cases show a trust at a precision half way between it and 1.

    >>> enough_cases(0.9), enough_cases(0.8)
    (139, 62)
    """
    precision, cases = (1 + trust) / 2, 1
    while bounds_of(precision * cases, cases).lower < trust:
        cases += 1
    return cases


def standing(cells: Iterable[Cell], stance: Stance, relations: Sequence[str], trust: float) -> Standing:
    """Decide how much an opinion weighs of a judge with counts of all sets; names of the relation, narrowest first."""
    of_stance = [cell for cell in cells if cell.stance is stance]
    for relation in relations:
        if of_relation := [cell for cell in of_stance if cell.relation == relation]:
            cell = pooled(of_relation, relation)
            low, high = cell.bounds
            if low >= trust or high < trust or cell.cases >= enough_cases(trust):
                return _standing(cell, trust)
    if not of_stance:
        return Standing(decides=False, why=f"nothing was measured where it {stance.value}")
    return _standing(pooled(of_stance), trust)


def pooled(cells: Sequence[Cell], relation: str = "") -> Cell:
    """Add up counts of one stance, of several sets or relations."""
    cases, right = sum(c.cases for c in cells), sum(c.right for c in cells)
    return Cell(stance=cells[0].stance, relation=relation, cases=cases, right=right)


def _standing(cell: Cell, trust: float) -> Standing:
    low = cell.bounds.lower
    what = f"{cell.stance.value} {cell.relation or 'edges of any relation'}"
    figures = f"where it {what}, {cell.right:,} of {cell.cases:,} are right, at least {low:.3f}"
    return Standing(low >= trust, f"{figures}; {trust:g} is wanted")
