"""Thresholds of a job: warn or fail by counts or shares of findings, as in dbt."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from operator import eq, ge, gt, le, lt, ne
from typing import Annotated, NamedTuple

from pydantic import AfterValidator, Field, model_validator

from kgcheck.errors import EXIT_CLEAN, EXIT_FINDINGS, EXIT_INCOMPLETE
from kgcheck.model import CheckType, GraphState, Outcome, Reason, TallyMark, Value

_COMPARISONS = {">": gt, ">=": ge, "<": lt, "<=": le, "=": eq, "==": eq, "!=": ne}

_BOUND = re.compile(r"\s*+(>=|<=|==|!=|>|<|=)\s*+(\d++(?:\.\d++)?)\s*+(%?)\s*+")


class Severity(StrEnum):
    """Severity for the job, the worst last. A finding has none: the job's thresholds give it."""

    OK = "ok"
    WARN = "warn"
    UNAVAILABLE = "unavailable"
    ERROR = "error"

    @property
    def exit_code(self) -> int:
        return _EXIT_CODES.get(self, EXIT_CLEAN)

    @classmethod
    def of(cls, exit_code: int) -> "Severity":
        """Return the severity for a job of the exit code of a check.

        >>> Severity.of(EXIT_INCOMPLETE).value
        'unavailable'
        """
        return next((severity for severity, code in _EXIT_CODES.items() if code == exit_code), cls.OK)


_EXIT_CODES = {Severity.ERROR: EXIT_FINDINGS, Severity.UNAVAILABLE: EXIT_INCOMPLETE}


def worst(severities: Iterable[Severity]) -> Severity:
    """The worst of them; ok where there are none.

    >>> worst([Severity.WARN, Severity.ERROR, Severity.OK]).value
    'error'
    """
    order = list(Severity)
    return max(severities, key=order.index, default=Severity.OK)


class Bound(NamedTuple):
    """A comparison with a number of tasks, or with a share of those that were looked at.

    >>> bound("> 10").holds(11, 1000), bound("> 1%").holds(11, 2000)
    (True, False)
    """

    sign: str
    number: float
    is_share: bool

    def holds(self, count: int, total: int) -> bool:
        if self.is_share and not total:
            return False
        # Multiplied, not divided: 1 of 100 is 1 %, and not a little less.
        left, right = (count * 100.0, self.number * total) if self.is_share else (float(count), self.number)
        return bool(_COMPARISONS[self.sign](left, right))


def bound(text: str) -> Bound:
    """A comparison, read whole.

    >>> bound(">= 0.5 %")
    Bound(sign='>=', number=0.5, is_share=True)
    """
    found = _BOUND.fullmatch(text)
    if not found:
        raise ValueError(f'{text!r} is no threshold: a sign and a number, such as "> 10" or "> 1%"')
    sign, number, share = found.groups()
    if share and float(number) > 100:
        raise ValueError(f"{text!r} is no threshold: no share is over 100%")
    if not share and "." in number:
        raise ValueError(f"{text!r} is no threshold: tasks are whole; a share ends with %")
    return Bound(sign, float(number), bool(share))


BoundText = Annotated[str, AfterValidator(lambda text: bound(text) and text), Field(examples=["> 10", "> 1%"])]


class Threshold(Value):
    """Filter of tasks, and the counts from which on it warns or fails. What is left out means any."""

    outcome: Outcome = Field(
        default=Outcome.REFUTED,
        description="refuted (or, of an edge that the graph lacks, supported), insufficient, unavailable or supported",
    )
    graph: GraphState | None = Field(
        default=None, description="what it means for the graph, in place of an outcome: lacks_it, has_it_wrongly"
    )
    type: CheckType | None = Field(default=None, description="only checks of this type")
    reason: Reason | None = Field(default=None, description="only with this reason")
    label: str | None = Field(default=None, description="only nodes of this label, and edges that end at them")
    relation: str | None = Field(default=None, description="only edges of this relation")
    only_new: bool | None = Field(
        default=None, description="count only what is new, or reopened after a decision; the job's only_new unless set"
    )
    warn_if: BoundText | None = Field(default=None, description='a warning: "> 10", or "> 1%" of what was looked at')
    error_if: BoundText | None = Field(default=None, description='an error: "> 10", or "> 1%" of what was looked at')

    @model_validator(mode="after")
    def _bounded(self) -> "Threshold":
        if self.warn_if is None and self.error_if is None:
            raise ValueError("a threshold needs warn_if or error_if")
        return self

    @property
    def what(self) -> str:
        parts = (self.type, self.label, self.relation, self.reason)
        counted = self.graph or self.outcome
        return " ".join([counted.value, *(str(part) for part in parts if part)])


@dataclass(frozen=True)
class Counted:
    """Tasks of one kind that ended alike."""

    type: CheckType
    labels: tuple[str, ...]
    relation: str | None
    outcome: Outcome
    reason: Reason
    count: int
    cause: "Counted | None" = None
    """Cause of the tasks, all of which ended alike, too."""


class Crossed(Value):
    """A threshold over a run: what it counted, of how many, and what that means."""

    what: str
    only_new: bool = False
    count: int
    of: int = Field(description="tasks that were looked at")
    bound: str | None = Field(default=None, description="the one that holds")
    severity: Severity

    def __str__(self) -> str:
        new = "new " if self.only_new else ""
        over = f", {self.bound}" if self.bound else ""
        return f"{self.severity.value}: {self.count:,} {new}{self.what} of {self.of:,} looked at{over}"


def judge(
    thresholds: Sequence[Threshold],
    all_: Sequence[Counted],
    new: Sequence[Counted],
    settled: Sequence[Counted] = (),
    *,
    only_new: bool = False,
) -> list[Crossed]:
    """Measure a run with thresholds; among what is settled is what follows from another finding that counts."""
    crossed = []
    for one in thresholds:
        is_new = only_new if one.only_new is None else one.only_new
        # What could not be looked at is no part of what was: a service that is down makes no share smaller.
        looked_at = (c for c in all_ if c.outcome is not Outcome.UNAVAILABLE or _ends_as(one, c))
        of = sum(c.count for c in looked_at if _is_of(one, c))
        every, beside = (sum(c.count for c in some if _is_counted(one, c)) for some in (all_, settled))
        count = sum(c.count for c in new if _is_counted(one, c)) if is_new else every - beside
        levels = ((one.error_if, Severity.ERROR), (one.warn_if, Severity.WARN))
        reached = ((text, level) for text, level in levels if text and bound(text).holds(count, of))
        passed, severity = next(reached, (None, Severity.OK))
        crossed.append(Crossed(what=one.what, only_new=is_new, count=count, of=of, bound=passed, severity=severity))
    return crossed


def _is_counted(threshold: Threshold, counted: Counted) -> bool:
    # A remark fails nothing, unless somebody asks for it by its name.
    if counted.reason.is_remark and threshold.reason is None:
        return False
    fits = _ends_as(threshold, counted) and threshold.reason in (None, counted.reason) and _is_of(threshold, counted)
    # What follows from something else stands for itself where a threshold leaves that out.
    return fits and (counted.cause is None or _is_counted(threshold, counted.cause))


def _ends_as(threshold: Threshold, counted: Counted) -> bool:
    mark = TallyMark.of(counted.type, counted.outcome)
    if threshold.graph:
        return mark.graph is threshold.graph
    # What is wrong with the graph was called refuted before there were states of it, and so are its thresholds.
    return mark.severity == TallyMark(threshold.outcome.value).severity


def _is_of(threshold: Threshold, counted: Counted) -> bool:
    return (
        threshold.type in (None, counted.type)
        and (threshold.label is None or threshold.label in counted.labels)
        and threshold.relation in (None, counted.relation)
    )
