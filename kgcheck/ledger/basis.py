"""Basis of a finding: digest of what it rests on; a change of it reopens earlier decisions."""

import hashlib
from collections.abc import Iterable

from kgcheck.model import INFORMS, SEARCH, Evidence, Finding, Stance, World

PART = "\x1f"
"""Between the parts of a basis."""

WITHIN = "\x1e"
"""Between what one part is made of."""


BY_SEVERITY = ("refuted", "insufficient", "unavailable", "supported")
"""Words for the severities, those of the first bases: decisions of then hold."""


def basis_of(finding: Finding) -> str:
    """16 hexadecimal digits of what a finding rests on, the same until a reviewer would have to look again.

    It is made of, in this order: how bad it is for the graph, reason, what the graph says, kind and value of the
    proposed change, its candidates as proposed, and one part for each distinct piece of deciding evidence (source,
    record, stance, value), sorted. No release and no date is in it: a new release that says the same changes nothing.
    """
    verdict, change = finding.verdict, finding.change
    parts = [BY_SEVERITY[finding.mark.severity], verdict.reason.value, finding.task.value or ""]
    parts += [change.kind.value, change.to or "", WITHIN.join(change.candidates)] if change else ["", "", ""]
    parts += sorted({_observed(e) for e in verdict.evidence if is_deciding(e)})
    return hashlib.sha256(PART.join(parts).encode()).hexdigest()[:16]


def is_deciding(evidence: Evidence) -> bool:
    """Return whether an observation may decide: it speaks, or a source claiming completeness is silent."""
    speaks = evidence.stance is not Stance.SILENT or evidence.world is World.CLOSED
    return speaks and evidence.about not in (SEARCH, INFORMS)


def _observed(evidence: Evidence) -> str:
    return WITHIN.join((evidence.source, evidence.record, evidence.stance.value, evidence.value or ""))


DECIDING_SQL = (
    f"((stance <> '{Stance.SILENT.value}' OR world = '{World.CLOSED.value}')"
    f" AND about NOT IN ('{SEARCH}', '{INFORMS}'))"
)
"""DuckDB's way to say `is_deciding`, over the columns of the working table evidence."""

OBSERVED_SQL = f"concat_ws(chr({ord(WITHIN)}), source, record, stance, coalesce(value, ''))"
"""DuckDB's way to say which piece of evidence it is, over the same columns."""


def basis_sql(severity: str, reason: str, value: str, kind: str, to: str, candidates: str, observed: str) -> str:
    """DuckDB's way to say `basis_of`."""
    chosen = f"coalesce(array_to_string({candidates}, chr({ord(WITHIN)})), '')"
    parts = [f"coalesce({part}, '')" for part in (severity, reason, value, kind, to)]
    return digest_sql([*parts, chosen], observed)


def digest_sql(parts: Iterable[str], more: str = "NULL") -> str:
    """DuckDB's way to say 16 hexadecimal digits of parts, as fingerprints and bases have them."""
    sign = f"chr({ord(PART)})"
    # No part is NULL, and none of the further ones is empty.
    further = "" if more == "NULL" else f", nullif(array_to_string({more}, {sign}), '')"
    return f"left(sha256(concat_ws({sign}, {', '.join(parts)}{further})), 16)"
