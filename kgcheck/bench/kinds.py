"""Scores of a batch put together: over all items, and by their type."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

S = TypeVar("S")
M = TypeVar("M")


def by_type(
    results: Sequence[Mapping[str, Any]], read: Callable[[Mapping[str, Any]], S], mean: Callable[[Sequence[S]], M]
) -> dict[str, M]:
    """Metrics over all results (``all``) and by type.

    Args:
        results: What a batch kept.
        read: The score of a result, also of one that ended with an error.
        mean: Metrics of some scores.

    Returns:
        Metrics by type.
    """
    kinds: dict[str, list[S]] = {"all": []}
    for result in results:
        scored = read(result)
        kinds["all"].append(scored)
        kinds.setdefault(str(result.get("type") or "without a type"), []).append(scored)
    return {kind: mean(scores) for kind, scores in kinds.items() if scores}
