"""Plain words for reasons, check types, marks, tasks and proposed changes."""

import re
from functools import cache

from kgcheck.model import ChangeKind, CheckTask, CheckType, Finding, Reason, TallyMark
from kgcheck.report.tables import proposal
from kgcheck.resources import resource_dir

TYPES: dict[CheckType, str] = {
    CheckType.EXISTENCE: "Nodes: does the identifier exist?",
    CheckType.ATTRIBUTE: "Attributes: is the value right?",
    CheckType.TRIPLE: "Edges: is the edge supported?",
    CheckType.POTENTIAL: "Missing edges: what do sources know that the graph lacks?",
    CheckType.STRUCTURE: "Structure: what the graph shows by itself",
    CheckType.EVIDENCE: "Cited papers: does the paper bear the edge?",
}
"""Every check type in plain words."""

MARKS: dict[TallyMark, str] = {
    TallyMark.REFUTED: "Something speaks against the graph: a source, a complete list, or the graph itself.",
    TallyMark.LACKS_IT: "Sources support an edge, or know a node, that the graph lacks.",
    TallyMark.INSUFFICIENT: "Looked, cannot tell: what was seen does not decide it.",
    TallyMark.UNAVAILABLE: "Could not look: no source that decides could be asked.",
    TallyMark.SUPPORTED: "What decides agrees with the graph.",
    TallyMark.RIGHTLY_ABSENT: "Sources refute an edge or a node that the graph does not have.",
}
"""Every mark in plain words, in the order of reports."""


def task_words(task: CheckTask) -> str:
    """Name the subject of a task in a few words."""
    if task.object is None:
        return f"{task.subject}, {task.attribute}" if task.attribute else str(task.subject)
    if task.relation is None:
        return f"{task.subject} and {task.object}"
    edge = f"{task.subject.id} {task.relation} {task.object.id}"
    return f"{edge}, {task.attribute}" if task.type is CheckType.EVIDENCE else edge


def graph_value(task: CheckTask) -> str:
    """Say what the graph states about a task."""
    match task.type:
        case CheckType.EXISTENCE:
            return "there is such a node"
        case CheckType.TRIPLE:
            return "there is such an edge"
        case CheckType.POTENTIAL:
            return f"there is no such {'edge' if task.object else 'node'}"
        case CheckType.ATTRIBUTE:
            return task.value or "nothing: it is empty"
        case CheckType.EVIDENCE:
            return f"the edge cites {task.attribute}"
        case _:
            return task.value or ""


def proposed(finding: Finding) -> str:
    """The proposed change in a few words."""
    change = finding.change
    if change and change.kind is ChangeKind.SET_VALUE and change.to is None:
        return "find the right value"
    return proposal(change)


_PAGE = "reasons.md"
_LINK = re.compile(r"\[([^\[\]]*)\]\([^()]*\)")


def reason_help(reason: Reason, kind: CheckType) -> str:
    """Explain a reason and its repair in a few sentences."""
    if reason.rule and kind is CheckType.STRUCTURE:
        repair = reason.rule.repair.value if reason.rule.is_fault else ""
        return f"{reason.words}: {_sentences(reason.rule.meaning, repair)}"
    found = _pages().get(reason)
    return f"{reason.words}: {found}" if found else f"{reason.words}."


@cache
def _pages() -> dict[str, str]:
    """Help by reason, of what sources decide."""
    path = resource_dir("docs") / _PAGE
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    pages: dict[str, str] = {}
    header: list[str] = []
    for line in text.splitlines():
        cells = [c.strip() for c in line.strip().strip("|").split("|")] if line.startswith("|") else []
        if not cells:
            header = []
        elif not header:
            header = cells
        elif cells[0].strip("`") in set(Reason):
            row = dict(zip(header, cells, strict=False))
            pages[cells[0].strip("`")] = _sentences(row.get("meaning", ""), row.get("repair", ""))
    return pages


def _sentences(meaning: str, repair: str) -> str:
    return _LINK.sub(r"\1", f"{meaning}. Repair: {repair}." if repair else f"{meaning}. No repair is proposed.")
