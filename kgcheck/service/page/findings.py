"""Web pages of findings: the list with its facets, saved filters and decisions at once, and one finding whole."""

from collections.abc import Iterator
from datetime import date, datetime, timedelta
from typing import Annotated, Any, Literal, NamedTuple
from urllib.parse import urlencode

from fastapi import APIRouter, Form, Response
from pydantic import BaseModel, Field, ValidationError
from starlette.datastructures import QueryParams

from kgcheck import clock
from kgcheck.choices import chosen
from kgcheck.curation.compare import ComparedFinding
from kgcheck.curation.findings import FACETS, LINE, NOT_REJECTED, FindingFilter, FindingPage, Occurrence, wanted
from kgcheck.errors import KgcheckError, LedgerError, UnknownName, UsageError
from kgcheck.ledger.accounts import SavedFilter, SavedFilterTable
from kgcheck.ledger.comparisons import ComparisonState
from kgcheck.ledger.decisions import Action, Decision, DecisionState
from kgcheck.ledger.ledger import Run
from kgcheck.literature.documents import SOURCE, Document
from kgcheck.model import Change, ChangeKind, CheckType, Finding, Reason, Triple, all_reasons
from kgcheck.report.tables import transcript_line
from kgcheck.report.wording import graph_value, proposed, task_words
from kgcheck.service.api.shapes import Fingerprint
from kgcheck.service.page.drawing import Drawing, draw
from kgcheck.service.page.rendering import Curated, Page, Viewed
from kgcheck.workspace.workspace import Workspace

FACET_OF = {name.removesuffix("s"): name for name in FACETS}
"""Names in an address, and the facets that they are of."""

_SINGLE = {"run": "run", "before": "before", "q": "text", "node": "node", "cause": "cause"}
"""Names in an address with one value each, and the fields that they are of."""

_MOST_CHOICES, _LONGEST = 50, 512
_MOST = 10**9
Back = Annotated[str, Field(max_length=8_000)]
"""The address of the list that a form was on."""


class TriageQuery(NamedTuple):
    """A run, filters and a place in the list."""

    run: str = ""
    before: str = ""
    chosen: tuple[tuple[str, str], ...] = ()
    """Names of FACET_OF with a choice each."""
    text: str = ""
    node: str = ""
    cause: str = ""
    after: str = ""

    @classmethod
    def of(cls, params: QueryParams) -> "TriageQuery":
        chosen = tuple(dict.fromkeys((name, value) for name, value in params.multi_items() if name in FACET_OF))
        single = {field: params.get(name, "").strip() for name, field in (_SINGLE | {"after": "after"}).items()}
        values = [*single.values(), *(value for _, value in chosen)]
        if len(chosen) > _MOST_CHOICES or any(len(value) > _LONGEST for value in values):
            raise UsageError("that is more than a filter takes", "leave some of it out")
        return cls(chosen=chosen, **single)

    @classmethod
    def of_filter(cls, wanted: FindingFilter) -> "TriageQuery":
        chosen = ((name, str(value)) for name, facet in FACET_OF.items() for value in getattr(wanted, facet))
        return cls(chosen=tuple(chosen), text=wanted.text or "", node=wanted.node or "", cause=wanted.cause or "")

    @property
    def filters(self) -> dict[str, Any]:
        """As Workspace.list_findings takes them; what was rejected is left out unless it is chosen."""
        chosen = self.named_filters
        return {**chosen, "decisions": chosen["decisions"] or list(NOT_REJECTED)}

    @property
    def named_filters(self) -> dict[str, Any]:
        """The same, of what the address names alone."""
        facets = {facet: [value for one, value in self.chosen if one == name] for name, facet in FACET_OF.items()}
        return (
            facets | {field: getattr(self, field) or None for field in _SINGLE.values()} | {"run": self.run or "latest"}
        )

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Names and values of an address, without the place in the list."""
        single = ((name, getattr(self, field)) for name, field in _SINGLE.items())
        return [*self.chosen, *((name, value) for name, value in single if value)]

    @property
    def address(self) -> str:
        """Query string of the list, without the place in it."""
        return urlencode(self.pairs)

    @property
    def whole_address(self) -> str:
        return urlencode([*self.pairs, *([("after", self.after)] if self.after else [])])

    @property
    def is_narrowed(self) -> bool:
        return bool(self.chosen or self.text or self.node or self.cause)

    def is_chosen(self, name: str, choice: str) -> bool:
        return (name, choice) in self.chosen

    def toggled(self, name: str, choice: str) -> str:
        one = (name, choice)
        chosen = tuple(c for c in self.chosen if c != one) if one in self.chosen else (*self.chosen, one)
        return self._replace(chosen=chosen).address

    def cleared(self) -> str:
        return TriageQuery(run=self.run, before=self.before).address

    def beginning_after(self, fingerprint: str) -> str:
        return self._replace(after=fingerprint).whole_address


router = APIRouter(prefix="/findings", include_in_schema=False)

_PAGE = 50
"""Findings of one page."""

_FEW, _SHOWN, _SIMILAR, _CONSEQUENCES, _EACH, _RUNS, _NAMED, _ABSTRACTS = 8, 10, 6, 20, 3, 20, 12, 6
_TITLES = {
    "decision": "Decision",
    "state": "Since the run before",
    "outcome": "Outcome",
    "graph": "The graph",
    "type": "Type",
    "reason": "Reason",
    "label": "Label",
    "relation": "Relation",
}


class Done(NamedTuple):
    """Action on the page before, as it stands in an address."""

    action: Action
    findings: int
    first: int = 0
    """Number of the first decision, where they can be taken back."""

    @classmethod
    def of(cls, params: QueryParams) -> "Done | None":
        """Read from an address; None where nothing was done."""
        action, *numbers = params.get("done", ""), params.get("count", ""), params.get("first", "0")
        if action not in set(Action) or not all(n.isascii() and n.isdecimal() and len(n) <= 9 for n in numbers):
            return None
        return cls(Action(action), *map(int, numbers))

    @property
    def address(self) -> str:
        first = {"first": self.first} if self.first else {}
        return urlencode({"done": self.action.value, "count": self.findings} | first)

    @property
    def words(self) -> str:
        """The same as people read it."""
        return f"{self.findings:,} finding{'' if self.findings == 1 else 's'} {self.action.done}."


class TriageForm(BaseModel):
    """Fields that every form of a decision sends."""

    action: Annotated[str, Field(max_length=20)]
    back: Back = ""
    note: Annotated[str, Field(max_length=2_000)] = ""
    until: Annotated[str, Field(max_length=10)] = ""

    @property
    def query(self) -> TriageQuery:
        return TriageQuery.of(QueryParams(self.back))

    @property
    def options(self) -> dict[str, Any]:
        """As Workspace.decide takes them."""
        return {"note": self.note, "until": (self.until or None) if self.action == "defer" else None}


class FindingForm(TriageForm):
    """Decision about one finding."""

    choose: Annotated[str, Field(max_length=512)] = ""
    choose_other: Annotated[str, Field(max_length=512)] = ""
    version: Annotated[str, Field(max_length=200)] = ""


class ManyForm(TriageForm):
    """Decision about many findings, of which it says how many."""

    scope: Annotated[str, Field(max_length=10)]
    count: Annotated[int, Field(ge=1)]
    finding: list[str] = []


class UndoForm(TriageForm):
    """Decisions that were made at once, by the number of the first of them."""

    action: Action
    count: Annotated[int, Field(ge=1, le=_MOST)]
    first: Annotated[int, Field(ge=1, le=_MOST)]


@router.get("")
def triage(page: Viewed) -> Response:
    """A page of findings."""
    params = page.request.query_params
    query = TriageQuery.of(params)
    with page.service.reading() as workspace:
        content = _list(workspace, query)
    shown = {"words": _words, "done": Done.of(params), "saved": list(_saved(page))}
    return page.render("findings", query=query, few=_FEW, **shown, **content)


@router.get("/decide")
def confirm(page: Curated) -> Response:
    """Show a decision about many findings before it is made."""
    params = page.request.query_params
    query = TriageQuery.of(params)
    scope = chosen("scope", params.get("scope", "selected"), ("selected", "all"))
    names = list(dict.fromkeys(params.getlist("finding")))[:_PAGE]
    with page.service.reading() as workspace:
        if scope == "all":
            listed = workspace.list_findings(**query.filters)
            count, names = workspace.facets(listed).total, []
            shown: list[Finding] = [one.finding for one in listed.page(limit=_SHOWN)]
        else:
            if not names:
                raise UsageError("no finding is selected", "tick some, or decide about all of a filter")
            found = [workspace.finding(name) for name in names]
            count, shown = len(found), found[:_SHOWN]
    words = [f"{_TITLES[name].lower()}: {_words(name, choice)}" for name, choice in query.chosen]
    words += [f"“{query.text}”"] if query.text else []
    words += [f"about {query.node}"] if query.node else []
    content = {"query": query, "scope": scope, "count": count, "shown": shown, "fingerprints": names, "words": words}
    return page.render("decide", **content, **_days())


@router.post("/decide")
def decide_many(page: Curated, form: Annotated[ManyForm, Form()]) -> Response:
    """Decide about many findings, all or none; another number of them than was confirmed is refused."""
    query, action = form.query, form.action
    with page.service.reading() as workspace:
        is_all = chosen("scope", form.scope, ("selected", "all")) == "all"
        about = workspace.list_findings(**query.filters) if is_all else form.finding[:_PAGE]
        made = workspace.decide(about, action, by=page.asking.name, expected=form.count, **form.options)
    return _back(page, query, Done(Action(action), len(made), made[0].decision.number if made else 0))


@router.post("/undo")
def undo_many(page: Curated, form: Annotated[UndoForm, Form()]) -> Response:
    """Take back what was decided at once: what somebody has decided about since, or what has changed, is left."""
    with page.service.reading() as workspace:
        made = workspace.take_back(form.first, form.count, form.action, by=page.asking.name)
    return _back(page, form.query, Done(Action.REOPEN, len(made)))


@router.post("/filters")
def save_filter(
    page: Viewed,
    name: Annotated[str, Form(min_length=1, max_length=80, pattern=LINE)],
    action: Annotated[Literal["save", "remove"], Form()],
    back: Annotated[Back, Form()] = "",
) -> Response:
    """Save a filter under a name of one's own, or remove the one of that name."""
    query, table = TriageQuery.of(QueryParams(back)), SavedFilterTable(page.service.ledger.database)
    if action == "remove":
        table.remove(page.asking.name, name)
    else:
        filters = {key: value for key, value in query.named_filters.items() if key in FindingFilter.model_fields}
        kept = wanted(**filters).model_dump(mode="json", exclude_defaults=True)
        table.save(SavedFilter(by=page.asking.name, name=name.strip(), filter=kept, at=clock.now()))
    return page.redirect(f"/findings?{query.address}")


@router.get("/{fingerprint}")
def finding_page(page: Viewed, fingerprint: Fingerprint) -> Response:
    """A finding with its evidence and history; for our own script as a part of a page."""
    query = TriageQuery.of(page.request.query_params)
    with page.service.reading() as workspace:
        content = _finding(workspace, fingerprint, query)
        if page.is_fragment:
            return page.render("_panel", **content)
        later = _listed(workspace, query, fingerprint, 1)
    return page.render("finding", **content, next=later[0].fingerprint if later else None)


@router.post("/{fingerprint}/decide")
def decide(page: Curated, fingerprint: Fingerprint, form: Annotated[FindingForm, Form()]) -> Response:
    """Decide about a finding; our own script gets its row of the list anew."""
    address = form.query.whole_address
    taken = (form.choose_other or form.choose) if form.action == "accept" else ""
    seen = {fingerprint: form.version} if form.version else None
    with page.service.reading() as workspace:
        options = {"by": page.asking.name, "choose": taken or None, "seen": seen, **form.options}
        workspace.decide([fingerprint], form.action, **options)
        if page.is_fragment:
            known = workspace.known_finding(fingerprint)
            state = known.state or ComparisonState.STILL
            one = ComparedFinding(fingerprint=fingerprint, state=state, finding=known.finding, decided=known.decided)
            return page.render("_row", one=one, address=address)
    return page.redirect(f"/findings/{fingerprint}{f'?{address}' if address else ''}")


def _days() -> dict[str, date]:
    today = clock.today()
    return {"tomorrow": today + timedelta(days=1), "in_a_month": today + timedelta(days=30)}


def _saved(page: Page) -> Iterator[tuple[str, str | None]]:
    """The filters of a person by name, with their addresses: None of one that this kgcheck does not know any more."""
    for saved in SavedFilterTable(page.service.ledger.database).of(page.asking.name):
        try:
            yield saved.name, TriageQuery.of_filter(FindingFilter(**saved.filter)).address
        except ValidationError:
            yield saved.name, None


def _back(page: Page, query: TriageQuery, done: Done) -> Response:
    return page.redirect(f"/findings?{'&'.join(filter(None, [query.whole_address, done.address]))}")


def _list(workspace: Workspace, query: TriageQuery) -> dict[str, Any]:
    if not query.run and latest_audit(workspace) is None:
        nothing = dict.fromkeys(("total", "followed", "rejected"), 0)
        return {"run": None, "is_first": True, "rows": [], "next": None, "facets": [], **nothing}
    listed = workspace.list_findings(**query.filters)
    page = FindingPage(listed, query.after or None, _PAGE)
    rows, facets = list(page), workspace.facets(listed)
    is_by_decision = any(name == "decision" for name, _ in query.chosen)
    return {
        "run": listed.run,
        "is_first": listed.diff.before is None,
        "rows": rows,
        "next": page.next,
        "total": facets.total,
        "followed": facets.followed,
        "rejected": 0 if is_by_decision else facets.of("decisions").get(DecisionState.REJECTED.value, 0),
        "facets": [(name, _TITLES[name], list(facets.of(facet).items())) for name, facet in FACET_OF.items()],
    }


def latest_audit(workspace: Workspace) -> Run | None:
    """The newest audit; None where there is no ledger or no audit in it yet."""
    try:
        run = workspace.run("latest")
    except (LedgerError, UnknownName):
        return None
    return None if run.is_check else run


def _words(name: str, choice: str) -> str:
    return Reason(choice).words if name == "reason" and choice in set(all_reasons()) else choice


class PastEvent(NamedTuple):
    """Something in the history of a finding: a decision about it, or a run that has it."""

    at: datetime
    decision: Decision | None = None
    run: Occurrence | None = None
    is_other: bool = False
    """Mark of a run whose finding differs from that of the run before that has it, or is the first."""


def _finding(workspace: Workspace, fingerprint: str, query: TriageQuery) -> dict[str, Any]:
    known = workspace.known_finding(fingerprint)
    finding, task = known.finding, known.finding.task
    kind = [("type", task.type.value), ("reason", finding.verdict.reason.value), ("label", task.subject.label)]
    alike = TriageQuery(chosen=(*kind, *([("relation", task.relation)] if task.relation else [])))
    similar = _listed(workspace, alike, None, _SIMILAR + 1) if known.state else []
    consequences = workspace.list_findings(finding.run, cause=fingerprint) if known.consequences else None
    return {
        "f": finding,
        "current": known.decided,
        "version_seen": known.version,
        "state": known.state.value if known.state else None,
        "cause": workspace.finding(finding.cause) if finding.cause else None,
        "consequences": list(consequences.page(limit=_CONSEQUENCES)) if consequences else [],
        "follow": known.consequences,
        "consequences_address": TriageQuery(run=finding.run, cause=fingerprint).address,
        "history": _history(workspace, fingerprint),
        "before": _before(finding),
        "after": _after(finding),
        "choices": _choices(finding.change),
        "names": _names(workspace, finding),
        "abstracts": _abstracts(workspace, finding),
        "drawing": _drawing(workspace, finding),
        "transcript": _transcript(workspace, finding),
        "similar": [one for one in similar if one.fingerprint != fingerprint][:_SIMILAR],
        "similar_address": alike.address,
        "back": query.whole_address,
        **_days(),
    }


def _before(finding: Finding) -> str:
    task, change = finding.task, finding.change
    if task.type in (CheckType.ATTRIBUTE, CheckType.POTENTIAL):
        return graph_value(task)
    return "there is no such edge" if change and change.kind is ChangeKind.ADD_EDGE else task_words(task)


def _after(finding: Finding) -> str:
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


def _choices(change: Change | None) -> list[str]:
    """The values that a curator may choose from; empty where there is no choice."""
    if change is None or not change.candidates:
        return []
    return list(dict.fromkeys([*([change.to] if change.to else []), *change.candidates]))


def _history(workspace: Workspace, fingerprint: str) -> list[PastEvent]:
    runs = workspace.occurrences(fingerprint, _RUNS)
    same = [(one.outcome, one.reason, one.value, one.change) for one in runs]
    events = [
        PastEvent(one.started, run=one, is_other=[same[at]] != same[at + 1 : at + 2]) for at, one in enumerate(runs)
    ]
    events += [PastEvent(one.at, decision=one) for one in workspace.history(fingerprint)]
    return sorted(events, key=lambda event: event.at, reverse=True)


# What is away (a graph, a snapshot, an index, a transcript) is no reason not to show the evidence.


def _names(workspace: Workspace, finding: Finding) -> dict[str, str]:
    """The names of ids from which a curator may choose, or that would take the place of another."""
    task, change = finding.task, finding.change
    if task.attribute or task.type is CheckType.ATTRIBUTE:
        return {}
    ids = _choices(change) or ([change.to] if change and change.to else [])
    found: dict[str, str] = {}
    try:
        for label in dict.fromkeys(ref.label for ref in (task.subject, task.object) if ref):
            found = workspace.names_of(label, [one for one in ids[:_NAMED] if one not in found]) | found
    except KgcheckError:
        return found
    return found


def _listed(workspace: Workspace, query: TriageQuery, after: str | None, limit: int) -> list[ComparedFinding]:
    """Findings of a filter; none where the newest graph has a label or a relation of it no more."""
    try:
        return list(workspace.list_findings(**query.filters).page(after, limit))
    except KgcheckError:
        return []


def _abstracts(workspace: Workspace, finding: Finding) -> dict[str, Document]:
    """The papers that the evidence quotes, where the index has them: it may be another one than that of the run."""
    quoted = dict.fromkeys(e.record for e in finding.verdict.evidence if e.source == SOURCE and e.quote)
    found: dict[str, Document] = {}
    for record in list(quoted)[:_ABSTRACTS] if workspace.literature else ():
        try:
            found.update((record, document) for document in workspace.index([]).documents([record]))
        except KgcheckError:
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
        return None
