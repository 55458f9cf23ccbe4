"""Which of several reasons a verdict gives: one order over all of them, so that none hangs on how a reason is spelt."""

from collections.abc import Iterable

from kgcheck.model import Reason

PRECEDENCE: tuple[Reason, ...] = (
    # What supports: the plainest first.
    Reason.CONFIRMED,
    Reason.CONFIRMED_BY_DESCENDANT,
    Reason.FORMATTING,
    Reason.NOT_FOUND_ELSEWHERE,
    # What became of an id: the form, then that it is gone, then what a curator must choose from, then what replaced it.
    Reason.MALFORMED_ID,
    Reason.UNKNOWN_ID,
    Reason.WRONG_NAMESPACE,
    Reason.ID_DELETED,
    Reason.ID_DEMERGED,
    Reason.ID_MERGED,
    Reason.ID_WITHDRAWN,
    Reason.ID_PREVIOUS,
    Reason.ID_ALIAS,
    Reason.ID_OBSOLETE,
    Reason.ID_SECONDARY,
    Reason.ID_RETIRED,
    Reason.ID_SUPERSEDED,
    Reason.POSITION_OUT_OF_RANGE,
    Reason.RESIDUE_MISMATCH,
    # What is wrong with a value: who knows it as a former one knows more than who does not know it.
    Reason.VALUE_MISSING,
    Reason.VALUE_OUTDATED,
    Reason.VALUE_MISMATCH,
    # What is wrong with an edge: its ends, then what is said outright, then silence.
    Reason.ENDPOINT_DELETED,
    Reason.ENDPOINT_MALFORMED,
    Reason.ENDPOINT_UNKNOWN,
    Reason.ENDPOINT_MERGED,
    Reason.EDGE_MISSING,
    Reason.EDGE_NEGATED,
    Reason.PARENT_INDIRECT,
    Reason.EDGE_UNSUPPORTED,
    Reason.BELOW_THRESHOLD,
    # Why nobody can tell.
    Reason.CONFLICTING_EVIDENCE,
    Reason.RETRACTED_EVIDENCE,
    Reason.UNMAPPED_IDENTIFIER,
    Reason.REFERENCE_OLDER,
    Reason.NOTHING_FOUND,
    # Why nobody could look: what may be over when it is asked again comes first.
    Reason.SOURCE_UNAVAILABLE,
    Reason.BUDGET_SPENT,
    Reason.REFERENCE_MISSING,
    Reason.NOT_COVERED,
    Reason.SOURCE_REFUSED,
    # Structure: each rule by itself.
    Reason.WRONG_END_LABEL,
    Reason.SELF_LOOP,
    Reason.PARENT_CYCLE,
    Reason.SPECIES_MISMATCH,
    Reason.LENGTH_MISMATCH,
    Reason.PARALLEL_DUPLICATE,
    Reason.PARALLEL_SCORES,
    Reason.REVERSED_DUPLICATE,
    Reason.SHARED_ID,
    Reason.ID_ON_TWO_LABELS,
    Reason.SHARED_NAME,
    Reason.ORPHAN_NODE,
    Reason.MISSING_PROVENANCE,
    Reason.MISSING_SCORE,
    Reason.SCORE_OUT_OF_RANGE,
    Reason.NUMBER_AS_TEXT,
    Reason.PLACEHOLDER_VALUE,
    Reason.COUNT_MOVED,
)

_PLACE = {reason: place for place, reason in enumerate(PRECEDENCE)}

_OF_AN_EDGE = frozenset({Reason.EDGE_NEGATED, Reason.PARENT_INDIRECT, Reason.EDGE_UNSUPPORTED, Reason.BELOW_THRESHOLD})


def first(reasons: Iterable[Reason]) -> Reason | None:
    """The reason that is given, of several; None of none."""
    return min(reasons, key=place, default=None)


def place(reason: Reason) -> int:
    """Where a reason stands in the order."""
    return _PLACE[reason]


def agrees(one: Reason | None, other: Reason | None) -> bool:
    """Whether two contradictions can both be right.

    An edge may be denied by one source and lacking in another. Of a value, or of what became of an id, two different
    reasons exclude each other.
    """
    return one is None or other is None or one is other or {one, other} <= _OF_AN_EDGE
