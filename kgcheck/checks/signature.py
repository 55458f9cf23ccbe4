"""Evidence signatures: what a verdict depends on, and nothing else.

Millions of tasks share a few hundred signatures, so a whole graph is judged by judging each distinct
signature once. Single checks go through the same signatures, so both ways agree by construction.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from kgcheck.model import CheckType, Evidence, Reason, Stance, Tier, World

MAX_RECORDS = 3
"""Independent records beyond this number no longer raise the confidence."""


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


class Gap(NamedTuple):
    """A deciding source that could not be looked at, and why."""

    source: str
    cause: Reason

    def __str__(self) -> str:
        return f"{self.source} ({self.cause.value.replace('_', ' ')})"


class Signature(NamedTuple):
    """Everything a verdict is a function of."""

    type: CheckType
    observations: tuple[Observation, ...]
    gaps: tuple[Gap, ...]

    @property
    def sources(self) -> str:
        """The sources that spoke, then those that could not be asked, in one line."""
        spoke = sorted({o.source for o in self.observations})
        return ", ".join(spoke + [f"no {gap}" for gap in self.gaps])


def rounded(score: float | None) -> float | None:
    """A score as signatures carry it: one decimal, rounded half away from zero as DuckDB does."""
    return None if score is None else int(score * 10 + 0.5) / 10


def signature_of(kind: CheckType, evidence: Iterable[Evidence], gaps: Sequence[Gap] = ()) -> Signature:
    """The signature of the evidence of one task.

    Args:
        kind: The type of the task.
        evidence: All observations; two of one record count once.
        gaps: Deciding sources that could not be looked at.

    Returns:
        The signature, in an order that does not depend on the order of the evidence.
    """
    records = Counter[tuple[object, ...]]()
    seen: set[tuple[object, ...]] = set()
    for e in evidence:
        said = (e.source, e.about, e.stance, e.world, e.tier, e.reason, rounded(e.score))
        if (said, e.record) not in seen:
            seen.add((said, e.record))
            records[said] += 1
    observations = [Observation(*said, min(n, MAX_RECORDS)) for said, n in records.items()]  # type: ignore[arg-type]
    return Signature(kind, tuple(sorted(observations, key=repr)), tuple(sorted(gaps)))
