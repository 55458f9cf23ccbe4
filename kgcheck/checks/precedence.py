"""Precedence of reasons: of several, a verdict gives the first in the order of their table."""

from collections.abc import Iterable

from kgcheck.model import Reason

_PLACE = {reason: place for place, reason in enumerate(Reason)}

_OF_AN_EDGE = frozenset({Reason.EDGE_NEGATED, Reason.PARENT_INDIRECT, Reason.EDGE_UNSUPPORTED, Reason.BELOW_THRESHOLD})


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
