"""Propose the repair of a failed check (Change) from its task and verdict; nothing is applied.

What a proposal is made of hangs on the signature and on how many ids the evidence offers: `plan_repair` decides it,
once for all findings that are alike in these. `propose` fills a plan in for one finding, and kgcheck.audit.finding_rows
for many.
"""

from enum import StrEnum
from typing import NamedTuple

from kgcheck.checks.lists import items_of, joined, separator_of
from kgcheck.checks.signature import Signature, signature_of
from kgcheck.checks.verdicts import Judgement, judge
from kgcheck.model import Change, ChangeKind, CheckTask, CheckType, Outcome, Reason, Stance, TallyMark, Verdict, World
from kgcheck.rules import RuleRepair

_REPAIRED_WITH_THE_NODE = (Reason.ENDPOINT_MERGED, Reason.ENDPOINT_MALFORMED, Reason.ENDPOINT_UNKNOWN)

SEVERAL = 2
"""More ids than one: how many makes no difference."""


class Filling(StrEnum):
    """Origin of the value or the candidates of a change."""

    NOTHING = "nothing"
    REPLACEMENTS = "replacements"
    CANDIDATES = "candidates"
    BOTH = "both"
    STATED = "stated"
    COMPLETED = "completed"


class RepairPlan(NamedTuple):
    """A change whose values are not filled in.

    ``to``: the only replacement, what the source states, or the graph's list completed with that. ``candidates``: those
    of the evidence, or its replacements and then those.
    """

    kind: ChangeKind
    because: str
    to: Filling = Filling.NOTHING
    candidates: Filling = Filling.NOTHING


class Offered(NamedTuple):
    """Number of different replacements and candidates in the evidence against a task: 0, 1 or SEVERAL."""

    replacements: int
    candidates: int


def propose(task: CheckTask, verdict: Verdict) -> Change | None:
    """The change that would make the graph right where it is wrong; of a node that it lacks none."""
    if task.judged_as is not task.type:
        return None
    silent = (Stance.SILENT, World.CLOSED)
    against = [e for e in verdict.evidence if e.stance is Stance.CONTRADICTS or (e.stance, e.world) == silent]
    replacements = tuple(dict.fromkeys(r for e in against for r in e.replacements))
    candidates = tuple(dict.fromkeys(c for e in against for c in e.candidates))
    offered = Offered(min(len(replacements), SEVERAL), min(len(candidates), SEVERAL))
    signature = signature_of(task.type, verdict.evidence, verdict.missing)
    plan = plan_repair(signature, verdict, offered, of_attribute=task.attribute is not None)
    if plan is None:
        return None
    stated = next((e.value for e in against if e.value), None)
    to: str | None = None
    match plan.to:
        case Filling.REPLACEMENTS:
            to = replacements[0]
        case Filling.STATED:
            to = stated
        case Filling.COMPLETED:
            to = completed(task.value, stated)
    shown = {Filling.CANDIDATES: candidates, Filling.BOTH: replacements + candidates}.get(plan.candidates, ())
    return Change(kind=plan.kind, to=to, candidates=shown, because=plan.because)


def plan_repair(
    signature: Signature, ended: Verdict | Judgement, offered: Offered, *, of_attribute: bool
) -> RepairPlan | None:
    """Plan the change for a task by its verdict; None where there is nothing to change."""
    if TallyMark.of(signature.type, ended.outcome).severity:
        return None
    reason = ended.reason
    because = reason.value.replace("_", " ")
    match signature.type:
        case CheckType.EXISTENCE:
            return _for_node(offered, because, reason)
        case CheckType.ATTRIBUTE:
            if offered.candidates == SEVERAL:
                return RepairPlan(ChangeKind.REVIEW, because, candidates=Filling.CANDIDATES)
            to = Filling.COMPLETED if reason is Reason.VALUE_MISSING else Filling.STATED
            return RepairPlan(ChangeKind.SET_VALUE, because, to)
        case CheckType.POTENTIAL:
            return RepairPlan(ChangeKind.ADD_EDGE, because)
        case CheckType.TRIPLE:
            return _for_edge(signature, ended, offered, because)
        case CheckType.STRUCTURE if of_attribute and offered.replacements == 1:
            return RepairPlan(ChangeKind.SET_VALUE, because, Filling.REPLACEMENTS)
        case _:
            repair = reason.rule.repair if reason.rule else RuleRepair.REVIEW
            retires = repair in (RuleRepair.RETIRE, RuleRepair.RETIRE_DUPLICATES)
            return RepairPlan(ChangeKind.RETIRE if retires else ChangeKind.REVIEW, because)


def completed(value: str | None, lacking: str | None) -> str | None:
    """Complete the graph's value by the names that it lacks.

    A list keeps those that it has; one that stands as a text stays one.
    """
    if not value or not value.strip():
        return lacking
    whole = [*(present := items_of(value)), *items_of(lacking)]
    separator = separator_of(present)
    return separator.join(whole) if separator else joined(whole)


AGAINST_SQL = (
    f"(stance = '{Stance.CONTRADICTS.value}' OR stance = '{Stance.SILENT.value}' AND world = '{World.CLOSED.value}')"
)
"""DuckDB's way to say that an observation speaks against a task, over the columns of the working table evidence."""


def _for_edge(signature: Signature, ended: Verdict | Judgement, offered: Offered, because: str) -> RepairPlan:
    why = "; ".join(filter(None, (because, ended.note)))
    if ended.reason in _REPAIRED_WITH_THE_NODE:
        if any(o.reason is Reason.SELF_LOOP for o in signature.observations):
            return RepairPlan(ChangeKind.RETIRE, f"{because}; with the replacement it would lead from a node to itself")
        facts = tuple(o for o in signature.observations if o.about == "fact")
        of_replacement = judge(Signature(CheckType.TRIPLE, facts, ()))
        if offered.replacements == 1 and of_replacement.outcome is Outcome.SUPPORTED:
            return RepairPlan(ChangeKind.REPOINT, why, Filling.REPLACEMENTS)
        return RepairPlan(ChangeKind.REVIEW, why, candidates=Filling.BOTH)
    if ended.reason is Reason.ENDPOINT_DELETED and offered.candidates:
        return RepairPlan(ChangeKind.REVIEW, because, candidates=Filling.CANDIDATES)
    return RepairPlan(ChangeKind.RETIRE, because)


def _for_node(offered: Offered, because: str, reason: Reason) -> RepairPlan:
    if offered.replacements == 1:
        return RepairPlan(ChangeKind.REPOINT, because, Filling.REPLACEMENTS)
    if offered.replacements or offered.candidates:
        return RepairPlan(ChangeKind.REVIEW, because, candidates=Filling.BOTH)
    if reason in (Reason.MALFORMED_ID, Reason.UNKNOWN_ID, Reason.WRONG_NAMESPACE):
        return RepairPlan(ChangeKind.REVIEW, because)
    return RepairPlan(ChangeKind.RETIRE, because)
