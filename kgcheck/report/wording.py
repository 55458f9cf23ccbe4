"""Put reasons, check types and outcomes, and what a finding is about, into plain words."""

import re
from functools import cache

from kgcheck.model import ChangeKind, CheckTask, CheckType, Finding, Outcome, Reason
from kgcheck.report.tables import proposal
from kgcheck.resources import resource_dir

REASONS: dict[Reason, str] = {
    Reason.CONFIRMED: "Confirmed by a source",
    Reason.CONFIRMED_BY_DESCENDANT: "Confirmed by an annotation to a more specific term",
    Reason.FORMATTING: "The same value, written differently",
    Reason.NOT_FOUND_ELSEWHERE: "Missing from the graph and from the sources alike",
    Reason.ID_MERGED: "Accession merged into another",
    Reason.ID_DEMERGED: "Accession split into several",
    Reason.ID_DELETED: "Accession deleted by its database",
    Reason.ID_PREVIOUS: "Symbol replaced by a newer one",
    Reason.ID_WITHDRAWN: "Symbol withdrawn",
    Reason.ID_ALIAS: "Symbol is only an alias",
    Reason.ID_OBSOLETE: "Term is obsolete",
    Reason.ID_SECONDARY: "Secondary identifier of another term",
    Reason.WRONG_NAMESPACE: "Identifier belongs under another label",
    Reason.ID_RETIRED: "Retired by its database",
    Reason.ID_SUPERSEDED: "Structure superseded by another entry",
    Reason.UNKNOWN_ID: "Identifier unknown to the database that issues it",
    Reason.MALFORMED_ID: "Identifier not written as its database writes them",
    Reason.RESIDUE_MISMATCH: "Another residue stands at this position",
    Reason.POSITION_OUT_OF_RANGE: "Position lies outside the sequence",
    Reason.VALUE_OUTDATED: "A former value: the source has a newer one",
    Reason.VALUE_MISMATCH: "The source has another value",
    Reason.VALUE_MISSING: "Empty in the graph, known to the source",
    Reason.ENDPOINT_MERGED: "An end of the edge was merged into another node",
    Reason.ENDPOINT_DELETED: "An end of the edge no longer exists",
    Reason.ENDPOINT_MALFORMED: "An end of the edge is not written as its database writes ids",
    Reason.ENDPOINT_UNKNOWN: "An end of the edge is unknown to the database that issues its ids",
    Reason.PARENT_INDIRECT: "Parent that is an ancestor by another term now",
    Reason.EDGE_UNSUPPORTED: "Edge missing from a source that lists them all",
    Reason.EDGE_NEGATED: "A source says that the edge does not hold",
    Reason.BELOW_THRESHOLD: "Score below the threshold for this edge",
    Reason.EDGE_MISSING: "Edge known to a source, missing from the graph",
    Reason.NOTHING_FOUND: "Looked, and found nothing either way",
    Reason.UNMAPPED_IDENTIFIER: "Identifier that the deciding source does not map",
    Reason.CONFLICTING_EVIDENCE: "Equally trusted sources disagree",
    Reason.RETRACTED_EVIDENCE: "Only retracted publications say so",
    Reason.REFERENCE_OLDER: "Newer than the reference, which cannot tell",
    Reason.REFERENCE_MISSING: "No reference to look in",
    Reason.NOT_COVERED: "Outside what the reference covers",
    Reason.SOURCE_UNAVAILABLE: "The service could not be asked",
    Reason.SOURCE_REFUSED: "The service does not take the question, now or later",
    Reason.BUDGET_SPENT: "The check ran out of turns, seconds, tokens or money before it had looked",
    Reason.ID_ON_TWO_LABELS: "One identifier under two labels",
    Reason.SHARED_NAME: "Two nodes of one name",
    Reason.ORPHAN_NODE: "Node without an edge that the profile knows",
    Reason.SHARED_ID: "Several nodes of one label share an identifier",
    Reason.PARALLEL_DUPLICATE: "The same edge more than once",
    Reason.PARALLEL_SCORES: "The same edge with several scores",
    Reason.REVERSED_DUPLICATE: "Symmetric edge stated in both directions",
    Reason.SELF_LOOP: "Edge from a node to itself",
    Reason.WRONG_END_LABEL: "Edge between labels that it cannot join",
    Reason.PARENT_CYCLE: "Term that is its own ancestor",
    Reason.SPECIES_MISMATCH: "Ends of two species",
    Reason.LENGTH_MISMATCH: "Length that is not that of the sequence",
    Reason.MISSING_PROVENANCE: "Edge that does not say where it comes from",
    Reason.MISSING_SCORE: "Edge without its score",
    Reason.SCORE_OUT_OF_RANGE: "Score outside its range",
    Reason.NUMBER_AS_TEXT: "Number stored as text",
    Reason.PLACEHOLDER_VALUE: "Placeholder in place of a value",
    Reason.COUNT_MOVED: "Count that moved far since the last run",
}
"""Every reason in plain words."""

TYPES: dict[CheckType, str] = {
    CheckType.EXISTENCE: "Nodes: does the identifier exist?",
    CheckType.ATTRIBUTE: "Attributes: is the value right?",
    CheckType.TRIPLE: "Edges: is the edge supported?",
    CheckType.POTENTIAL: "Missing edges: what do sources know that the graph lacks?",
    CheckType.STRUCTURE: "Structure: what the graph shows by itself",
}
"""Every check type in plain words."""

OUTCOMES: dict[Outcome, str] = {
    Outcome.REFUTED: "Something speaks against the graph: a source, a complete list, or the graph itself.",
    Outcome.INSUFFICIENT: "Looked, cannot tell: what was seen does not decide it.",
    Outcome.UNAVAILABLE: "Could not look: no source that decides could be asked.",
    Outcome.SUPPORTED: "What decides agrees with the graph.",
}
"""Every outcome in plain words, in the order of reports."""


def task_words(task: CheckTask) -> str:
    """Name the subject of a task in a few words."""
    if task.object is None:
        return f"{task.subject}, {task.attribute}" if task.attribute else str(task.subject)
    if task.relation is None:
        return f"{task.subject} and {task.object}"
    return f"{task.subject.id} {task.relation} {task.object.id}"


def graph_value(task: CheckTask) -> str:
    """Say what the graph states about a task."""
    match task.type:
        case CheckType.EXISTENCE:
            return "there is such a node"
        case CheckType.TRIPLE:
            return "there is such an edge"
        case CheckType.POTENTIAL:
            return "there is no such edge"
        case CheckType.ATTRIBUTE:
            return task.value or "nothing: it is empty"
        case _:
            return task.value or ""


def proposed(finding: Finding) -> str:
    """The proposed change in a few words."""
    change = finding.change
    if change and change.kind is ChangeKind.SET_VALUE and change.to is None:
        return "find the right value"
    return proposal(change)


_PAGE = "reasons.md"
_SECTION = re.compile(r"^## (.*?)\n(.*?)(?=^## |\Z)", re.M | re.S)
_LINK = re.compile(r"\[([^\[\]]*)\]\([^()]*\)")


def reason_help(reason: Reason, kind: CheckType) -> str:
    """Explain a reason and its repair in a few sentences."""
    pages = _pages()
    found = pages[1 if kind is CheckType.STRUCTURE else 0].get(reason) or pages[0].get(reason) or pages[1].get(reason)
    return f"{REASONS[reason]}: {found}" if found else f"{REASONS[reason]}."


@cache
def _pages() -> tuple[dict[Reason, str], dict[Reason, str]]:
    """Help by reason, of what sources decide and of structure."""
    path = resource_dir("docs") / _PAGE
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    looked, structure = dict[Reason, str](), dict[Reason, str]()
    for title, body in _SECTION.findall(text):
        header: list[str] = []
        for line in body.splitlines():
            cells = [c.strip() for c in line.strip().strip("|").split("|")] if line.startswith("|") else []
            if not cells:
                header = []
            elif not header:
                header = cells
            elif cells[0].strip("`") in set(Reason):
                row = dict(zip(header, cells, strict=False))
                into = structure if title == "Structure" else looked
                into[Reason(cells[0].strip("`"))] = _sentences(row.get("meaning", ""), row.get("repair", ""))
    return looked, structure


def _sentences(meaning: str, repair: str) -> str:
    return _LINK.sub(r"\1", f"{meaning}. Repair: {repair}." if repair else f"{meaning}. No repair is proposed.")
