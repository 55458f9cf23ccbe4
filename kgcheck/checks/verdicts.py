"""Turn evidence into a verdict: outcome, reason and confidence (docs/verdicts.md).

The order of the decision:

1. an end of the edge is gone or merged: that is the verdict; the rest of the evidence, gathered with the
   replacement, says whether to re-point the edge;
2. the highest tier that speaks wins; within one tier, disagreement is ``conflicting_evidence``, and so is one paper
   against the silence of a closed source that people curate;
3. silence of a closed source contradicts;
4. only open silence is ``insufficient``;
5. nobody could be asked: ``unavailable``.
"""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from kgcheck.checks.signature import MAX_RECORDS, Observation, Signature, agrees, first, place, signature_of
from kgcheck.model import INFORMS, CheckType, Evidence, Gap, Outcome, Reason, Stance, Tier, Verdict, World

PRIOR: dict[Tier, float] = {Tier.OWNER: 0.99, Tier.CURATED: 0.95, Tier.COMPUTED: 0.80, Tier.TEXT: 0.70}
"""Confidence in one record that speaks, by tier: a convention, not a measurement. A score replaces it for
computed sources, because there the score is the source's own probability; it counts up to that of a curated record."""

SILENCE_PRIOR: dict[Tier, float] = {Tier.OWNER: 0.95, Tier.CURATED: 0.85, Tier.COMPUTED: 0.70, Tier.TEXT: 0.0}
"""Confidence in the silence of a closed source, by tier: a convention, not a measurement."""

ENOUGH_PAPERS = 2
"""Independent papers that outrank the silence of a closed source that people curate."""

_CURATED_BY_PEOPLE = (Tier.OWNER, Tier.CURATED)

_ENDPOINT_REASONS = (
    Reason.ENDPOINT_DELETED,
    Reason.ENDPOINT_MALFORMED,
    Reason.ENDPOINT_UNKNOWN,
    Reason.ENDPOINT_MERGED,
)
"""Faults of an end of an edge."""

_SILENT_REASON: dict[CheckType, Reason] = {
    CheckType.EXISTENCE: Reason.UNKNOWN_ID,
    CheckType.ATTRIBUTE: Reason.VALUE_MISMATCH,
    CheckType.TRIPLE: Reason.EDGE_UNSUPPORTED,
    CheckType.POTENTIAL: Reason.NOT_FOUND_ELSEWHERE,
    CheckType.STRUCTURE: Reason.NOTHING_FOUND,
    CheckType.EVIDENCE: Reason.CITATION_SILENT,
}
"""Reason for silence of a closed source, and for a contradiction that gives no reason of its own."""


_OF_AN_ABSENT_EDGE = {Outcome.SUPPORTED: Reason.EDGE_MISSING, Outcome.REFUTED: Reason.NOT_FOUND_ELSEWHERE}
"""Reason of the verdict on an edge that the graph lacks."""


class Judgement(NamedTuple):
    """A verdict without its evidence."""

    outcome: Outcome
    reason: Reason
    confidence: float
    note: str = ""


def verdict(kind: CheckType, evidence: Iterable[Evidence], gaps: Sequence[Gap] = ()) -> Verdict:
    """Judge one task.

    Args:
        kind: The type of the task.
        evidence: Every observation made for it.
        gaps: Deciding sources that could not be looked at.

    Returns:
        The verdict, with all evidence attached.

    >>> verdict(CheckType.TRIPLE, []).outcome.value
    'unavailable'
    """
    observed = tuple(evidence)
    judged = judge(signature_of(kind, observed, gaps))
    return Verdict(
        outcome=judged.outcome,
        reason=judged.reason,
        confidence=judged.confidence,
        evidence=observed,
        missing=tuple(sorted(set(gaps))),
        note=judged.note,
    )


def judge(signature: Signature) -> Judgement:
    """Judge every task that has this signature.

    Args:
        signature: What was observed and what could not be.

    Returns:
        The judgement; see the module docstring for the order of the decision.
    """
    facts = [o for o in signature.observations if o.about == "fact"]
    if signature.type is CheckType.POTENTIAL:
        decided = _decide(CheckType.POTENTIAL, facts, signature.gaps)
        reason = _OF_AN_ABSENT_EDGE.get(decided.outcome, decided.reason)
        return decided._replace(reason=reason)
    if signature.type is CheckType.EVIDENCE:
        # One paper is asked about: what it says by a judge that only informs was looked at, and decides nothing.
        facts += [o._replace(stance=Stance.SILENT) for o in signature.observations if o.about == INFORMS]
    ends = [o for o in signature.observations if o.reason in _ENDPOINT_REASONS]
    decided = _decide(signature.type, facts, signature.gaps)
    if decided.outcome is Outcome.SUPPORTED:
        # A source that states the edge knows an end that a list lacks.
        ends = [o for o in ends if o.stance is Stance.CONTRADICTS]
    return _endpoint(ends, decided) if ends else decided


def _endpoint(ends: list[Observation], with_replacement: Judgement) -> Judgement:
    worst = min((o.reason for o in ends if o.reason), key=place)
    about = [o for o in ends if o.reason is worst]
    if worst is Reason.ENDPOINT_DELETED or any(o.stance is Stance.SILENT for o in ends):
        return Judgement(Outcome.REFUTED, worst, _confidence(about))
    note = f"with the replacement the edge is {with_replacement.outcome.value}"
    return Judgement(Outcome.REFUTED, worst, _confidence(ends), note)


def _decide(kind: CheckType, facts: list[Observation], gaps: tuple[Gap, ...]) -> Judgement:
    spoken = [o for o in facts if o.stance is not Stance.SILENT]
    closed = [o for o in facts if o.stance is Stance.SILENT and o.world is World.CLOSED]
    if spoken and _is_one_paper_against(spoken, closed):
        return Judgement(Outcome.INSUFFICIENT, Reason.CONFLICTING_EVIDENCE, 0.0)
    if spoken:
        return _loudest(kind, spoken)
    if closed:
        tier = min((o.tier for o in closed), key=lambda t: t.rank)
        stated = first(o.reason for o in closed if o.tier is tier and o.reason)
        return Judgement(Outcome.REFUTED, stated or _SILENT_REASON[kind], SILENCE_PRIOR[tier])
    if facts:
        stated = first(o.reason for o in facts if o.reason)
        return Judgement(Outcome.INSUFFICIENT, stated or Reason.NOTHING_FOUND, 0.0)
    cause = first(gap.cause for gap in gaps)
    return Judgement(Outcome.UNAVAILABLE, cause or Reason.REFERENCE_MISSING, 0.0)


def _is_one_paper_against(spoken: list[Observation], closed: list[Observation]) -> bool:
    """Tell whether a single paper is all that supports what a complete, curated list does not have."""
    if not any(o.tier in _CURATED_BY_PEOPLE for o in closed):
        return False
    if any(o.tier is not Tier.TEXT or o.stance is not Stance.SUPPORTS for o in spoken):
        return False
    return sum(o.records for o in spoken) < ENOUGH_PAPERS


def _loudest(kind: CheckType, spoken: list[Observation]) -> Judgement:
    rank = min(o.tier.rank for o in spoken)
    top = [o for o in spoken if o.tier.rank == rank]
    stances = {o.stance for o in top}
    if len(stances) > 1:
        return Judgement(Outcome.INSUFFICIENT, Reason.CONFLICTING_EVIDENCE, 0.0)
    agreeing = [o for o in spoken if o.stance in stances]
    stated = first(o.reason for o in top if o.reason)
    if stances == {Stance.SUPPORTS}:
        plain = any(o.reason is None for o in top)
        return Judgement(Outcome.SUPPORTED, Reason.CONFIRMED if plain or not stated else stated, _confidence(agreeing))
    # Whoever says that something else is wrong does not make what is told any surer.
    confidence = _confidence([o for o in agreeing if agrees(o.reason, stated)])
    return Judgement(Outcome.REFUTED, stated or _SILENT_REASON[kind], confidence)


def _confidence(agreeing: list[Observation]) -> float:
    """1 - the product of the doubts about the MAX_RECORDS records most trusted, to three decimals, at most 0.999."""
    trusts = sorted((_trust(o) for o in agreeing for _ in range(o.records)), reverse=True)
    doubt = math.prod(1.0 - trust for trust in trusts[:MAX_RECORDS])
    return min(round(1.0 - doubt, 3), 0.999)


def _trust(o: Observation) -> float:
    if o.tier is Tier.COMPUTED and o.score is not None:
        return min(max(o.score, 0.0), PRIOR[Tier.CURATED])
    return PRIOR[o.tier]
