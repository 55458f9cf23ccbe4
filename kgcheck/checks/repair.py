"""What to change when a check fails. A proposal only: nothing is applied, and nothing is ever deleted without a mark."""

from kgcheck.model import Change, ChangeKind, CheckTask, CheckType, Outcome, Reason, Stance, Verdict

_RETIRED = (
    Reason.EDGE_UNSUPPORTED,
    Reason.EDGE_NEGATED,
    Reason.BELOW_THRESHOLD,
    Reason.PARALLEL_DUPLICATE,
    Reason.SELF_LOOP,
)


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
    against = [e for e in verdict.evidence if e.stance is Stance.CONTRADICTS]
    replacements = tuple(dict.fromkeys(r for e in against for r in e.replacements))
    candidates = tuple(dict.fromkeys(c for e in against for c in e.candidates))
    match task.type:
        case CheckType.EXISTENCE:
            return _for_node(replacements, candidates, because, verdict.reason)
        case CheckType.ATTRIBUTE:
            current = next((e.value for e in against if e.value), None)
            return Change(kind=ChangeKind.SET_VALUE, to=current, because=because)
        case CheckType.POTENTIAL:
            return Change(kind=ChangeKind.ADD_EDGE, because=because)
        case CheckType.TRIPLE if verdict.reason is Reason.ENDPOINT_MERGED:
            confirmed = any(e.stance is Stance.SUPPORTS and e.about == "fact" for e in verdict.evidence)
            if confirmed and len(replacements) == 1:
                return Change(kind=ChangeKind.REPOINT, to=replacements[0], because=f"{because}; {verdict.note}")
            return Change(kind=ChangeKind.REVIEW, candidates=replacements, because=f"{because}; {verdict.note}")
        case CheckType.TRIPLE if verdict.reason is Reason.ENDPOINT_DELETED and candidates:
            return Change(kind=ChangeKind.REVIEW, candidates=candidates, because=because)
        case CheckType.TRIPLE:
            return Change(kind=ChangeKind.RETIRE, because=because)
        case _:
            kind = ChangeKind.RETIRE if verdict.reason in _RETIRED else ChangeKind.REVIEW
            return Change(kind=kind, because=because)


def _for_node(
    replacements: tuple[str, ...], candidates: tuple[str, ...], because: str, reason: Reason
) -> Change:
    if len(replacements) == 1:
        return Change(kind=ChangeKind.REPOINT, to=replacements[0], because=because)
    if replacements or candidates:
        return Change(kind=ChangeKind.REVIEW, candidates=replacements + candidates, because=because)
    if reason in (Reason.MALFORMED_ID, Reason.UNKNOWN_ID, Reason.WRONG_NAMESPACE):
        return Change(kind=ChangeKind.REVIEW, because=because)
    return Change(kind=ChangeKind.RETIRE, because=because)
