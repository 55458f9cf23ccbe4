"""What change a refuted finding proposes."""

from typing import Any

import pytest

from kgcheck.checks.repair import propose
from kgcheck.checks.verdicts import verdict
from kgcheck.model import Change, ChangeKind, CheckTask, CheckType, Evidence, Outcome, Reason, Stance, Tier, World
from tests.support.facts import attribute, existence, potential, ref, triple
from tests.unit.test_verdicts import told

NODE = existence("Protein P00001")
EDGE = triple("Protein P00001", "ACTS_ON", "Protein P00002")


def against(reason: Reason, *, now: tuple[str, ...] = (), **said: Any) -> Evidence:
    return told(Stance.CONTRADICTS, Tier.OWNER, World.CLOSED, reason=reason, replacements=now, **said)


def proposed(task: CheckTask, *evidence: Evidence) -> Change | None:
    return propose(task, verdict(task.type, evidence))


@pytest.mark.parametrize(
    ("stance", "outcome"), [(Stance.SUPPORTS, Outcome.SUPPORTED), (Stance.SILENT, Outcome.INSUFFICIENT)]
)
def test_only_what_is_refuted_is_changed(stance: Stance, outcome: Outcome) -> None:
    judged = verdict(NODE.type, [told(stance)])

    assert judged.outcome is outcome
    assert propose(NODE, judged) is None
    assert propose(NODE, verdict(NODE.type, [])) is None


MERGED = against(Reason.ENDPOINT_MERGED, about="head", now=("P9",))


def named(value: str | None) -> CheckTask:
    return attribute("Protein P00001", "name", value)


@pytest.mark.parametrize(
    ("task", "evidence", "kind", "to", "candidates"),
    [
        (NODE, [against(Reason.ID_MERGED, now=("P1",))], ChangeKind.REPOINT, "P1", ()),
        (NODE, [against(Reason.ID_PREVIOUS, now=("OGA",))], ChangeKind.REPOINT, "OGA", ()),
        (NODE, [against(Reason.ID_OBSOLETE, now=("A", "B"))], ChangeKind.REVIEW, None, ("A", "B")),
        (NODE, [against(Reason.ID_DEMERGED, candidates=("P1", "P2"))], ChangeKind.REVIEW, None, ("P1", "P2")),
        (NODE, [against(Reason.ID_DELETED)], ChangeKind.RETIRE, None, ()),
        (NODE, [against(Reason.ID_OBSOLETE)], ChangeKind.RETIRE, None, ()),
        (NODE, [against(Reason.RESIDUE_MISMATCH)], ChangeKind.RETIRE, None, ()),
        (NODE, [against(Reason.WRONG_NAMESPACE)], ChangeKind.REVIEW, None, ()),
        (NODE, [against(Reason.MALFORMED_ID)], ChangeKind.REVIEW, None, ()),
        (NODE, [told(Stance.SILENT, Tier.OWNER, World.CLOSED)], ChangeKind.REVIEW, None, ()),
        (named("old"), [against(Reason.VALUE_OUTDATED, value="new")], ChangeKind.SET_VALUE, "new", ()),
        (named(None), [against(Reason.VALUE_MISSING, value="new")], ChangeKind.SET_VALUE, "new", ()),
        (named(""), [against(Reason.VALUE_MISSING, value="a; b")], ChangeKind.SET_VALUE, "a; b", ()),
        # A list keeps what it has.
        (named(r"x; y\;"), [against(Reason.VALUE_MISSING, value="a; b")], ChangeKind.SET_VALUE, r"x; y\;; a; b", ()),
        # Several values are current: which one was meant, nobody can tell.
        (
            named("old"),
            [against(Reason.VALUE_MISMATCH, value="H4C1; H4C2", candidates=("H4C1", "H4C2"))],
            ChangeKind.REVIEW,
            None,
            ("H4C1", "H4C2"),
        ),
        (EDGE, [told(Stance.SILENT, world=World.CLOSED)], ChangeKind.RETIRE, None, ()),
        (EDGE, [against(Reason.EDGE_NEGATED)], ChangeKind.RETIRE, None, ()),
        (EDGE, [MERGED, told(Stance.SUPPORTS)], ChangeKind.REPOINT, "P9", ()),
        # With the replacement the edge is refuted, undecided, or denied by one as good as the one that supports it.
        (EDGE, [MERGED, told(Stance.SILENT, world=World.CLOSED)], ChangeKind.REVIEW, None, ("P9",)),
        (EDGE, [MERGED], ChangeKind.REVIEW, None, ("P9",)),
        (
            EDGE,
            [MERGED, told(Stance.SUPPORTS), told(Stance.CONTRADICTS, reason=Reason.EDGE_NEGATED)],
            ChangeKind.REVIEW,
            None,
            ("P9",),
        ),
        (
            EDGE,
            [MERGED, against(Reason.ENDPOINT_MERGED, about="tail", now=("P8",)), told(Stance.SUPPORTS)],
            ChangeKind.REVIEW,
            None,
            ("P9", "P8"),
        ),
        (
            EDGE,
            [against(Reason.ENDPOINT_DELETED, about="head", candidates=("P7", "P6"))],
            ChangeKind.REVIEW,
            None,
            ("P7", "P6"),
        ),
        (EDGE, [against(Reason.ENDPOINT_DELETED, about="tail")], ChangeKind.RETIRE, None, ()),
        (EDGE, [MERGED, against(Reason.SELF_LOOP)], ChangeKind.RETIRE, None, ()),
        (EDGE, [against(Reason.SELF_LOOP)], ChangeKind.RETIRE, None, ()),
    ],
)
def test_what_is_wrong_is_changed(
    task: CheckTask, evidence: list[Evidence], kind: ChangeKind, to: str | None, candidates: tuple[str, ...]
) -> None:
    change = proposed(task, *evidence)

    assert change
    assert (change.kind, change.to, change.candidates) == (kind, to, candidates)


def test_missing_edge_is_added() -> None:
    task = potential("Protein P00001", "ACTS_ON", "Protein P00002")
    change = proposed(task, told(Stance.SUPPORTS))

    assert change == Change(kind=ChangeKind.ADD_EDGE, because="edge missing")


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        (Reason("parallel_duplicate"), ChangeKind.RETIRE),
        (Reason.SELF_LOOP, ChangeKind.RETIRE),
        (Reason("parent_cycle"), ChangeKind.REVIEW),
        (Reason("score_out_of_range"), ChangeKind.REVIEW),
    ],
)
def test_structure(reason: Reason, kind: ChangeKind) -> None:
    task = CheckTask(type=CheckType.STRUCTURE, subject=ref("Protein P00001"), rule=reason.value)
    change = proposed(task, against(reason))

    assert change
    assert (change.kind, change.because) == (kind, reason.value.replace("_", " "))


@pytest.mark.parametrize(
    ("evidence", "words"),
    [
        (told(Stance.SUPPORTS), "the edge is supported"),
        (against(Reason.SELF_LOOP), "it would lead from a node to itself"),
    ],
)
def test_change_says_what_the_edge_is_with_the_replacement(evidence: Evidence, words: str) -> None:
    change = proposed(EDGE, MERGED, evidence)

    assert change
    assert change.because == f"endpoint merged; with the replacement {words}"
