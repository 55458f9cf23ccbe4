"""Web page of a run's findings: filters, facets, saved filters, and bulk decisions with undo."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Annotated, Any, Literal, NamedTuple
from urllib.parse import urlencode

from fastapi import APIRouter, Form, Request, Response
from pydantic import ValidationError
from starlette.datastructures import QueryParams

from kgcheck import clock
from kgcheck.choices import chosen
from kgcheck.curation.findings import FACETS, LINE, NOT_REJECTED, FindingFilter, FindingPage, wanted
from kgcheck.errors import LedgerError, UnknownName, UsageError
from kgcheck.ledger.decisions import Action, DecisionState
from kgcheck.ledger.ledger import Run
from kgcheck.ledger.saved_filters import SavedFilter, SavedFilterTable
from kgcheck.model import Finding, Reason, all_reasons
from kgcheck.service.access import Curator, Viewer
from kgcheck.service.page.rendering import redirect, render
from kgcheck.service.state import Served, Service
from kgcheck.workspace.workspace import Workspace

FACET_OF = {name.removesuffix("s"): name for name in FACETS}
"""Names in an address, and the facets that they are of."""

_SINGLE = {"run": "run", "before": "before", "q": "text", "node": "node", "cause": "cause"}
"""Names in an address with one value each, and the fields that they are of."""

_MOST_CHOICES, _LONGEST = 50, 512


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
        single = {name: str(getattr(wanted, name) or "") for name in ("text", "node", "cause")}
        return cls(chosen=tuple(chosen), **single)

    @property
    def filters(self) -> dict[str, Any]:
        """As Workspace.list_findings takes them; what was rejected is left out unless it is chosen."""
        chosen = self.named_filters
        return {**chosen, "decisions": chosen["decisions"] or list(NOT_REJECTED)}

    @property
    def named_filters(self) -> dict[str, Any]:
        """The same, of what the address names alone."""
        facets = {facet: [v for name, v in self.chosen if FACET_OF[name] == facet] for facet in FACET_OF.values()}
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

    def has(self, name: str) -> bool:
        return any(chosen == name for chosen, _ in self.chosen)

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

PAGE = 50
"""Findings of one page."""

_FEW = 8
_SHOWN = 10
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
_MOST = 10**9


class Done(NamedTuple):
    """Action on the page before, as it stands in an address."""

    action: Action
    findings: int
    first: int = 0
    """Number of the first decision, where they can be taken back."""

    @classmethod
    def of(cls, params: QueryParams) -> "Done | None":
        """Read from an address; None where nothing was done."""
        given = params.get("done", ""), params.get("count", ""), params.get("first", "0")
        if given[0] not in set(Action) or not all(n.isascii() and n.isdecimal() and len(n) <= 9 for n in given[1:]):
            return None
        return cls(Action(given[0]), int(given[1]), int(given[2]))

    @property
    def address(self) -> str:
        """The same as a part of an address."""
        return urlencode(
            {"done": self.action.value, "count": self.findings} | ({"first": self.first} if self.first else {})
        )

    @property
    def words(self) -> str:
        """The same as people read it."""
        return f"{self.findings:,} finding{'' if self.findings == 1 else 's'} {self.action.done}."


@router.get("")
def triage(request: Request, service: Served, asking: Viewer) -> Response:
    """A page of findings."""
    query = TriageQuery.of(request.query_params)
    with service.reading() as workspace:
        content = _content(workspace, query)
    saved = list(_saved(service, asking.name))
    done = Done.of(request.query_params)
    return render(request, "findings", asking, query=query, few=_FEW, words=_words, done=done, saved=saved, **content)


@router.get("/decide")
def confirm(request: Request, service: Served, asking: Curator) -> Response:
    """Show a decision about many findings before it is made."""
    query = TriageQuery.of(request.query_params)
    scope = chosen("scope", request.query_params.get("scope", "selected"), ("selected", "all"))
    names = list(dict.fromkeys(request.query_params.getlist("finding")))[:PAGE]
    with service.reading() as workspace:
        if scope == "all":
            listed = workspace.list_findings(**query.filters)
            count, names = workspace.facets(listed).total, []
            shown: list[Finding] = [one.finding for one in listed.page(limit=_SHOWN)]
        else:
            if not names:
                raise UsageError("no finding is selected", "tick some, or decide about all of a filter")
            found = [workspace.finding(name) for name in names]
            count, shown = len(found), found[:_SHOWN]
    today = clock.today()
    return render(
        request, "decide", asking, query=query, scope=scope, count=count, shown=shown, fingerprints=names,
        words=_in_words(query), tomorrow=today + timedelta(days=1), in_a_month=today + timedelta(days=30),
    )  # fmt: skip


@router.post("/decide")
def decide_many(
    request: Request,
    service: Served,
    asking: Curator,
    action: Annotated[str, Form(max_length=20)],
    scope: Annotated[str, Form(max_length=10)],
    count: Annotated[int, Form(ge=1)],
    finding: Annotated[list[str] | None, Form()] = None,
    note: Annotated[str, Form(max_length=2_000)] = "",
    until: Annotated[str, Form(max_length=10)] = "",
    back: Annotated[str, Form(max_length=8_000)] = "",
) -> Response:
    """Decide about many findings, all or none; another number of them than was confirmed is refused."""
    query = TriageQuery.of(QueryParams(back))
    with service.reading() as workspace:
        is_all = chosen("scope", scope, ("selected", "all")) == "all"
        about = workspace.list_findings(**query.filters) if is_all else (finding or [])[:PAGE]
        made = workspace.decide(
            about,
            action,
            by=asking.name,
            note=note,
            until=(until or None) if action == "defer" else None,
            expected=count,
        )
    return _back(request, query, Done(Action(action), len(made), made[0].decision.number if made else 0))


@router.post("/undo")
def undo_many(
    request: Request,
    service: Served,
    asking: Curator,
    action: Annotated[Action, Form()],
    count: Annotated[int, Form(ge=1, le=_MOST)],
    first: Annotated[int, Form(ge=1, le=_MOST)],
    back: Annotated[str, Form(max_length=8_000)] = "",
) -> Response:
    """Take back what was decided at once: what somebody has decided about since, or what has changed, is left."""
    with service.reading() as workspace:
        made = workspace.take_back(first, count, action, by=asking.name)
    return _back(request, TriageQuery.of(QueryParams(back)), Done(Action.REOPEN, len(made)))


@router.post("/filters")
def save_filter(
    request: Request,
    service: Served,
    asking: Viewer,
    name: Annotated[str, Form(min_length=1, max_length=80, pattern=LINE)],
    action: Annotated[Literal["save", "remove"], Form()],
    back: Annotated[str, Form(max_length=8_000)] = "",
) -> Response:
    """Save a filter under a name of one's own, or remove the one of that name."""
    query, table = TriageQuery.of(QueryParams(back)), SavedFilterTable(service.ledger.database)
    if action == "remove":
        table.remove(asking.name, name)
    else:
        filters = {key: value for key, value in query.named_filters.items() if key in FindingFilter.model_fields}
        kept = wanted(**filters).model_dump(mode="json", exclude_defaults=True)
        table.save(SavedFilter(by=asking.name, name=name.strip(), filter=kept, at=clock.now()))
    return redirect(request, f"/findings?{query.address}")


def _saved(service: Service, by: str) -> Iterator[tuple[str, str | None]]:
    """The filters of a person by name, with their addresses: None of one that this kgcheck does not know any more."""
    for saved in SavedFilterTable(service.ledger.database).of(by):
        try:
            yield saved.name, TriageQuery.of_filter(FindingFilter(**saved.filter)).address
        except ValidationError:
            yield saved.name, None


def _back(request: Request, query: TriageQuery, done: "Done") -> Response:
    return redirect(request, f"/findings?{'&'.join(filter(None, [query.whole_address, done.address]))}")


def _content(workspace: Workspace, query: TriageQuery) -> dict[str, Any]:
    if not query.run and latest_audit(workspace) is None:
        nothing = dict.fromkeys(("total", "followed", "rejected"), 0)
        return {"run": None, "is_first": True, "rows": [], "next": None, "facets": [], **nothing}
    listed = workspace.list_findings(**query.filters)
    page = FindingPage(listed, query.after or None, PAGE)
    rows = list(page)
    facets = workspace.facets(listed)
    return {
        "run": listed.run,
        "is_first": listed.diff.before is None,
        "rows": rows,
        "next": page.next,
        "total": facets.total,
        "followed": facets.followed,
        "rejected": 0 if query.has("decision") else facets.of("decisions").get(DecisionState.REJECTED.value, 0),
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
    """A choice as people read it."""
    if name == "reason" and choice in set(all_reasons()):
        return Reason(choice).words
    return choice


def _in_words(query: TriageQuery) -> list[str]:
    words = [f"{_TITLES[name].lower()}: {_words(name, choice)}" for name, choice in query.chosen]
    words += [f"“{query.text}”"] if query.text else []
    return words + ([f"about {query.node}"] if query.node else [])
