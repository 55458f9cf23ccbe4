"""The basis of a finding: what a decision about it is a decision about."""

import hashlib

from kgcheck.model import Evidence, Finding, Stance, World

PART = "\x1f"
"""Between the parts of a basis."""

WITHIN = "\x1e"
"""Between what one part is made of."""


def basis_of(finding: Finding) -> str:
    """16 hexadecimal digits of what a finding rests on, the same until a reviewer would have to look again.

    It is made of, in this order: outcome, reason, what the graph says, kind and value of the proposed change, its
    candidates as proposed, and one part for each distinct piece of deciding evidence (source, record, stance, value),
    sorted. No release and no date is in it: a new release that says the same changes nothing.

    Args:
        finding: The finding.

    Returns:
        The beginning of the SHA-256 of these parts; absent ones are empty.
    """
    verdict, change = finding.verdict, finding.change
    parts = [verdict.outcome.value, verdict.reason.value, finding.task.value or ""]
    parts += [change.kind.value, change.to or "", WITHIN.join(change.candidates)] if change else ["", "", ""]
    parts += sorted({_observed(e) for e in verdict.evidence if is_deciding(e)})
    return hashlib.sha256(PART.join(parts).encode()).hexdigest()[:16]


def is_deciding(evidence: Evidence) -> bool:
    """Whether an observation may decide: it speaks, or is the silence of a source that claims to list everything."""
    speaks = evidence.stance is not Stance.SILENT or evidence.world is World.CLOSED
    return speaks and evidence.about != "search"


def _observed(evidence: Evidence) -> str:
    return WITHIN.join((evidence.source, evidence.record, evidence.stance.value, evidence.value or ""))
