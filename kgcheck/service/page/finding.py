"""Web page of one finding: evidence, history, neighbours, and the form to decide about it."""

from datetime import datetime, timedelta
from typing import Annotated, Any, NamedTuple

from fastapi import APIRouter, Form, Request, Response
from starlette.datastructures import QueryParams

from kgcheck import clock
from kgcheck.curation.compare import ComparedFinding
from kgcheck.curation.findings import Occurrence
from kgcheck.errors import KgcheckError
from kgcheck.ledger.comparisons import ComparisonState
from kgcheck.ledger.decisions import Decision
from kgcheck.literature.documents import SOURCE, Document
from kgcheck.model import Change, ChangeKind, CheckType, Finding, Triple
from kgcheck.report.tables import transcript_line
from kgcheck.report.wording import graph_value, proposed, task_words
from kgcheck.service.access import Curator, Viewer
from kgcheck.service.api.shapes import Fingerprint
from kgcheck.service.page.drawing import Drawing, draw
from kgcheck.service.page.rendering import is_fragment, redirect, render
from kgcheck.service.page.triage import TriageQuery
from kgcheck.service.state import Served
from kgcheck.workspace.workspace import Workspace

router = APIRouter(prefix="/findings", include_in_schema=False)


_SIMILAR = 6
_CONSEQUENCES = 20
_EACH = 3
_RUNS = 20
_NAMED = 12


class PastEvent(NamedTuple):
    """Something in the history of a finding: a decision about it, or a run that has it."""

    at: datetime
    decision: Decision | None = None
    run: Occurrence | None = None
    is_other: bool = False
    """Mark of a run whose finding differs from that of the run before that has it, or is the first."""


@router.get("/{fingerprint}")
def finding_page(request: Request, fingerprint: Fingerprint, service: Served, asking: Viewer) -> Response:
    """A finding with its evidence and history; for our own script as a part of a page."""
    query = TriageQuery.of(request.query_params)
    with service.reading() as workspace:
        content = finding_content(workspace, fingerprint, query)
        if is_fragment(request):
            return render(request, "_panel", asking, **content)
        later = _next(workspace, fingerprint, query)
    return render(request, "finding", asking, **content, next=later)


@router.post("/{fingerprint}/decide")
def decide(
    request: Request,
    fingerprint: Fingerprint,
    service: Served,
    asking: Curator,
    action: Annotated[str, Form(max_length=20)],
    note: Annotated[str, Form(max_length=2_000)] = "",
    until: Annotated[str, Form(max_length=10)] = "",
    choose: Annotated[str, Form(max_length=512)] = "",
    choose_other: Annotated[str, Form(max_length=512)] = "",
    back: Annotated[str, Form(max_length=8_000)] = "",
    version: Annotated[str, Form(max_length=200)] = "",
) -> Response:
    """Decide about a finding; our own script gets its row of the list anew."""
    query = TriageQuery.of(QueryParams(back))
    taken = (choose_other or choose) if action == "accept" else ""
    with service.reading() as workspace:
        workspace.decide(
            [fingerprint],
            action,
            by=asking.name,
            choose=taken or None,
            note=note,
            until=(until or None) if action == "defer" else None,
            seen={fingerprint: version} if version else None,
        )
        if is_fragment(request):
            known = workspace.known_finding(fingerprint)
            state = known.state or ComparisonState.STILL
            one = ComparedFinding(fingerprint=fingerprint, state=state, finding=known.finding, decided=known.decided)
            return render(request, "_row", asking, one=one, address=query.whole_address)
    address = f"?{query.whole_address}" if query.whole_address else ""
    return redirect(request, f"/findings/{fingerprint}{address}")


def finding_content(workspace: Workspace, fingerprint: str, query: TriageQuery) -> dict[str, Any]:
    """Return the variables of the templates of a finding."""
    known = workspace.known_finding(fingerprint)
    finding = known.finding
    alike = _alike(finding)
    today = clock.today()
    return {
        "f": finding,
        "current": known.decided,
        "version_seen": known.version,
        "state": known.state.value if known.state else None,
        "cause": workspace.finding(finding.cause) if finding.cause else None,
        "consequences": list(workspace.list_findings(finding.run, cause=fingerprint).page(limit=_CONSEQUENCES))
        if known.consequences
        else [],
        "follow": known.consequences,
        "consequences_address": TriageQuery(run=finding.run, cause=fingerprint).address,
        "history": _history(workspace, fingerprint),
        "before": before(finding),
        "after": after(finding),
        "choices": choices_of(finding.change),
        "names": _names(workspace, finding),
        "abstracts": _abstracts(workspace, finding),
        "drawing": _drawing(workspace, finding),
        "transcript": _transcript(workspace, finding),
        "similar": _similar(workspace, finding, alike) if known.state else [],
        "similar_address": alike.address,
        "back": query.whole_address,
        "tomorrow": today + timedelta(days=1),
        "in_a_month": today + timedelta(days=30),
    }


def before(finding: Finding) -> str:
    """Describe what the graph has now, as it stands beside what is proposed."""
    task, change = finding.task, finding.change
    if task.type in (CheckType.ATTRIBUTE, CheckType.POTENTIAL):
        return graph_value(task)
    if change and change.kind is ChangeKind.ADD_EDGE:
        return "there is no such edge"
    return task_words(task)


def after(finding: Finding) -> str:
    """Describe what would be there instead."""
    task, change = finding.task, finding.change
    if change is None:
        return ""
    match change.kind:
        case ChangeKind.SET_VALUE if change.to is not None:
            return change.to
        case ChangeKind.ADD_EDGE:
            return task_words(task)
        case ChangeKind.REPOINT | ChangeKind.RENAME if change.to and task.object is None:
            return f"{task.subject.label} {change.to}"
        case ChangeKind.RETIRE:
            return "retired: marked as out of use, and not deleted"
        case _:
            return proposed(finding)


def choices_of(change: Change | None) -> list[str]:
    """Return the values that a curator may choose from; empty where there is no choice."""
    if change is None or not change.candidates:
        return []
    return list(dict.fromkeys([*([change.to] if change.to else []), *change.candidates]))


def _history(workspace: Workspace, fingerprint: str) -> list[PastEvent]:
    """Return the events of a finding, newest first."""
    runs = workspace.occurrences(fingerprint, _RUNS)
    same = [(one.outcome, one.reason, one.value, one.change) for one in runs]
    events = [
        PastEvent(one.started, run=one, is_other=[same[at]] != same[at + 1 : at + 2]) for at, one in enumerate(runs)
    ]
    events += [PastEvent(one.at, decision=one) for one in workspace.history(fingerprint)]
    return sorted(events, key=lambda event: event.at, reverse=True)


def _names(workspace: Workspace, finding: Finding) -> dict[str, str]:
    """Look up the names of ids from which a curator may choose, or that would take the place of another."""
    task, change = finding.task, finding.change
    ids = choices_of(change) or ([change.to] if change and change.to else [])
    if task.attribute or task.type is CheckType.ATTRIBUTE:
        return {}
    found: dict[str, str] = {}
    try:
        for label in dict.fromkeys(ref.label for ref in (task.subject, task.object) if ref):
            found = workspace.names_of(label, [one for one in ids[:_NAMED] if one not in found]) | found
    except KgcheckError:
        # A graph or a snapshot that is away is no reason not to show the ids.
        return found
    return found


def _alike(finding: Finding) -> TriageQuery:
    task = finding.task
    chosen = [("type", task.type.value), ("reason", finding.verdict.reason.value), ("label", task.subject.label)]
    return TriageQuery(chosen=(*chosen, *([("relation", task.relation)] if task.relation else [])))


def _similar(workspace: Workspace, finding: Finding, alike: TriageQuery) -> list[ComparedFinding]:
    try:
        page = workspace.list_findings(**alike.filters).page(limit=_SIMILAR + 1)
        return [one for one in page if one.fingerprint != finding.fingerprint][:_SIMILAR]
    except KgcheckError:
        # A label or a relation that the newest graph has no more: nothing is like it.
        return []


def _next(workspace: Workspace, fingerprint: str, query: TriageQuery) -> str | None:
    try:
        page = workspace.list_findings(**query.filters).page(fingerprint, 1)
        return next((one.fingerprint for one in page), None)
    except KgcheckError:
        return None


def _abstracts(workspace: Workspace, finding: Finding) -> dict[str, Document]:
    """The papers that the evidence quotes, where the index has them."""
    wanted = dict.fromkeys(e.record for e in finding.verdict.evidence if e.source == SOURCE and e.quote)
    if not workspace.literature or not wanted:
        return {}
    found: dict[str, Document] = {}
    for record in list(wanted)[:6]:
        try:
            if document := next(iter(workspace.index([]).documents([record])), None):
                found[record] = document
        except KgcheckError:
            # The index may be another one than that of the run: the quote stands by itself then.
            continue
    return found


def _transcript(workspace: Workspace, finding: Finding) -> list[str]:
    """The lines of what the team did about a finding; empty where it did nothing, or its transcript is not here."""
    try:
        return [transcript_line(event) for event in workspace.transcript(finding) or ()]
    except KgcheckError as error:
        return [error.in_one_line]


def _drawing(workspace: Workspace, finding: Finding) -> Drawing | None:
    task = finding.task
    try:
        found = workspace.neighbourhood(finding, _EACH)
        if task.object is None or task.object == task.subject:
            return draw([task.subject], found)
        is_lacking = task.type is CheckType.POTENTIAL
        if task.relation:
            edge = Triple(head=task.subject, relation=task.relation, tail=task.object)
            is_lacking = not workspace.graph.edges(edge)
        return draw([task.subject, task.object], found, is_lacking=is_lacking)
    except KgcheckError:
        # A graph that is away or locked is no reason not to show the evidence.
        return None
