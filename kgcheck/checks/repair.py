"""What to change when a check fails. A proposal only: nothing is applied, and nothing ever goes without a mark."""

from kgcheck.checks.lists import items_of, joined, separator_of
from kgcheck.checks.verdicts import verdict as judge
from kgcheck.model import Change, ChangeKind, CheckTask, CheckType, Evidence, Outcome, Reason, Stance, Verdict, World

_RETIRED = (
    Reason.EDGE_UNSUPPORTED,
    Reason.EDGE_NEGATED,
    Reason.BELOW_THRESHOLD,
    Reason.PARALLEL_DUPLICATE,
    Reason.SELF_LOOP,
    Reason.SPECIES_MISMATCH,
)

_REPAIRED_WITH_THE_NODE = (Reason.ENDPOINT_MERGED, Reason.ENDPOINT_MALFORMED, Reason.ENDPOINT_UNKNOWN)


def propose(task: CheckTask, verdict: Verdict) -> Change | None:
    """The change that would make a refuted task right.

    Args:
        task: What was checked.
        verdict: How it ended.

    Returns:
        The change, or None where nothing is refuted.
    """
    if verdict.outcome is not Outcome.REFUTED:
        return None
    because = verdict.reason.value.replace("_", " ")
    against = [e for e in verdict.evidence if _speaks_against(e)]
    replacements = tuple(dict.fromkeys(r for e in against for r in e.replacements))
    candidates = tuple(dict.fromkeys(c for e in against for c in e.candidates))
    match task.type:
        case CheckType.EXISTENCE:
            return _for_node(replacements, candidates, because, verdict.reason)
        case CheckType.ATTRIBUTE:
            return _for_value(task, against, candidates, because, verdict.reason)
        case CheckType.POTENTIAL:
            return Change(kind=ChangeKind.ADD_EDGE, because=because)
        case CheckType.TRIPLE if verdict.reason in _REPAIRED_WITH_THE_NODE:
            why = "; ".join(filter(None, (because, verdict.note)))
            if len(replacements) == 1 and _holds_with_replacement(verdict):
                return Change(kind=ChangeKind.REPOINT, to=replacements[0], because=why)
            return Change(kind=ChangeKind.REVIEW, candidates=replacements + candidates, because=why)
        case CheckType.TRIPLE if verdict.reason is Reason.ENDPOINT_DELETED and candidates:
            return Change(kind=ChangeKind.REVIEW, candidates=candidates, because=because)
        case CheckType.TRIPLE:
            return Change(kind=ChangeKind.RETIRE, because=because)
        case CheckType.STRUCTURE if task.attribute and len(replacements) == 1:
            return Change(kind=ChangeKind.SET_VALUE, to=replacements[0], because=because)
        case _:
            kind = ChangeKind.RETIRE if verdict.reason in _RETIRED else ChangeKind.REVIEW
            return Change(kind=kind, because=because)


def _speaks_against(e: Evidence) -> bool:
    return e.stance is Stance.CONTRADICTS or (e.stance is Stance.SILENT and e.world is World.CLOSED)


def _holds_with_replacement(merged: Verdict) -> bool:
    facts = [e for e in merged.evidence if e.about == "fact"]
    return judge(CheckType.TRIPLE, facts).outcome is Outcome.SUPPORTED


def _for_value(
    task: CheckTask, against: list[Evidence], candidates: tuple[str, ...], because: str, reason: Reason
) -> Change:
    current = next((e.value for e in against if e.value), None)
    if len(candidates) > 1:
        return Change(kind=ChangeKind.REVIEW, candidates=candidates, because=because)
    if reason is Reason.VALUE_MISSING and task.value and task.value.strip():
        # A list that lacks names keeps those that it has; one that stands as a text stays one.
        present, lacking = items_of(task.value), items_of(current)
        separator = separator_of(present)
        whole = separator.join([*present, *lacking]) if separator else joined([*present, *lacking])
        return Change(kind=ChangeKind.SET_VALUE, to=whole, because=because)
    return Change(kind=ChangeKind.SET_VALUE, to=current, because=because)


def _for_node(replacements: tuple[str, ...], candidates: tuple[str, ...], because: str, reason: Reason) -> Change:
    if len(replacements) == 1:
        return Change(kind=ChangeKind.REPOINT, to=replacements[0], because=because)
    if replacements or candidates:
        return Change(kind=ChangeKind.REVIEW, candidates=replacements + candidates, because=because)
    if reason in (Reason.MALFORMED_ID, Reason.UNKNOWN_ID, Reason.WRONG_NAMESPACE):
        return Change(kind=ChangeKind.REVIEW, because=because)
    return Change(kind=ChangeKind.RETIRE, because=because)
