"""Evidence signature: the part of a task's evidence that its verdict depends on.

Millions of tasks share a few hundred signatures, so a whole graph is judged by judging each distinct
signature once. Single checks go through the same signatures, so both ways agree by construction.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from kgcheck.model import CheckType, Evidence, Gap, Reason, Stance, Tier, World

# Of several reasons, a verdict gives the first in the order of their table.
_PLACE = {reason: place for place, reason in enumerate(Reason)}

_OF_AN_EDGE = frozenset({Reason.EDGE_NEGATED, Reason.PARENT_INDIRECT, Reason.EDGE_UNSUPPORTED, Reason.BELOW_THRESHOLD})

MAX_RECORDS = 3
"""Independent records beyond this number no longer raise the confidence."""


ROUNDED_SQL = "floor({} * 10 + 0.5) / 10"
"""A score as signatures carry it, `rounded`, in SQL."""


class Observation(NamedTuple):
    """One source's say, without the record it stands in.

    ``score`` is rounded to one decimal and ``records`` capped at MAX_RECORDS, to keep signatures few.
    """

    source: str
    about: str
    stance: Stance
    world: World
    tier: Tier
    reason: Reason | None
    score: float | None
    records: int


class Signature(NamedTuple):
    """Everything a verdict is a function of."""

    type: CheckType
    observations: tuple[Observation, ...]
    gaps: tuple[Gap, ...]

    @property
    def sources(self) -> tuple[str, ...]:
        return tuple(sorted({o.source for o in self.observations}))


def rounded(score: float | None) -> float | None:
    """A score as signatures carry it: one decimal, halves upwards."""
    return None if score is None else math.floor(score * 10 + 0.5) / 10


def signature_of(kind: CheckType, evidence: Iterable[Evidence], gaps: Sequence[Gap] = ()) -> Signature:
    """The signature of the evidence of one task.

    What one record of a source says twice counts once, with its best score; a plain statement beats a qualified one.
    """
    by_record: dict[tuple[str, str, Stance, World, Tier, str], list[Evidence]] = {}
    for e in evidence:
        by_record.setdefault((e.source, e.about, e.stance, e.world, e.tier, e.record), []).append(e)
    records = []
    for key, items in by_record.items():
        reasons = [e.reason for e in items if e.reason]
        stated = first(reasons) if len(reasons) == len(items) else None
        score = max((e.score for e in items if e.score is not None), default=None)
        records.append(Observation(*key[:5], stated, rounded(score), 1))
    return merge_observations(kind, records, gaps)


def merge_observations(kind: CheckType, observations: Iterable[Observation], gaps: Iterable[Gap]) -> Signature:
    """The signature of observations, those that differ in nothing but the number of records as one."""
    records: Counter[Observation] = Counter()
    for observation in observations:
        records[observation._replace(records=0)] += observation.records
    merged = [alike._replace(records=min(count, MAX_RECORDS)) for alike, count in records.items()]
    return Signature(kind, tuple(sorted(merged, key=repr)), tuple(sorted(set(gaps))))


def first(reasons: Iterable[Reason]) -> Reason | None:
    """The reason that is given, of several; None of none."""
    return min(reasons, key=place, default=None)


def place(reason: Reason) -> int:
    """Return the place of a reason in the order; those of structure rules share the last place."""
    return _PLACE.get(reason, len(_PLACE))


def agrees(one: Reason | None, other: Reason | None) -> bool:
    """Tell whether two contradictions can both be right.

    An edge may be denied by one source and lacking in another. Of a value, or of what became of an id, two different
    reasons exclude each other.
    """
    return one is None or other is None or one is other or {one, other} <= _OF_AN_EDGE
