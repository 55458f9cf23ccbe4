"""HTTP API to ask the graph, search papers, verify claims, and check single facts."""

from typing import Annotated, Any, Self

from fastapi import APIRouter, Query
from pydantic import Field, model_validator

from kgcheck.curation.findings import LINE, Word
from kgcheck.ledger.accounts import Role
from kgcheck.ledger.verified import Verified
from kgcheck.literature.verify import ClaimVerdict
from kgcheck.model import Evidence, GraphState, Outcome, Reason, Triple, Value
from kgcheck.options import OutsideCheckLimits, Whole
from kgcheck.questions.answer import Answer
from kgcheck.service.access import NotAllowed, Viewer
from kgcheck.service.api import shapes
from kgcheck.service.api.shapes import TakenName
from kgcheck.service.bodies import JsonRoute
from kgcheck.service.problems import NotServed
from kgcheck.service.state import Served
from kgcheck.workspace import Workspace
from kgcheck.workspace.tasks import FactWords

router = APIRouter(tags=["questions"], route_class=JsonRoute)

MOST_ANSWERS = 1_000

Few = Annotated[list[Word], Field(max_length=50)]
Words = Annotated[str, Field(min_length=1, max_length=2_000, pattern=LINE)]


class QuestionWanted(Value):
    """A question in words."""

    question: Words = Field(examples=["What diseases are associated with the protein encoded by the gene APOE?"])


class CountedAnswer(Answer):
    """Answer to a question, with at most so many nodes."""

    total: int = Field(description=f"how many answers there are; at most {MOST_ANSWERS:,} are given")


class Searching(Value):
    """Request for a search of papers."""

    query: Words = Field(examples=["APOE and amyloid"])
    limit: Whole = Field(default=10, ge=1, le=100, description="most papers")
    documents: Few = Field(default=[], description="only these papers, by id")


class PaperRow(shapes.ResponseBody):
    """A paper that a search found, with its best passage."""

    id: str
    title: str
    year: int | None
    retracted: bool
    score: float
    section: str = "abstract"
    heading: str = ""
    passage: str


class SearchAnswer(shapes.ResponseBody):
    """Papers, the best first."""

    papers: list[PaperRow]
    notes: list[str]


class Claim(Value):
    """Claim, or edge, that papers are asked about."""

    claim: Words | None = Field(default=None, examples=["APOE binds amyloid beta."])
    triple: Words | None = Field(default=None, description="HEAD RELATION TAIL, by ids or names")
    documents: Few = Field(default=[], description="read only these papers, by id")
    top: Whole = Field(default=3, ge=1, le=50, description="papers to read where none is named")

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if (self.claim is None) is (self.triple is None):
            raise ValueError("name a claim or an edge, and not both")
        return self


class ClaimAnswer(ClaimVerdict):
    """Verdict of the papers on a claim, with every opinion and its exact quotes."""

    taken: list[TakenName] = Field(description="names of the edge, each with the node that it was taken for")
    notes: list[str]


@router.post("/ask", operation_id="ask", response_model=CountedAnswer)
def ask(service: Served, asking: Viewer, wanted: QuestionWanted) -> Any:
    """Answer a question from the graph, with the path of every answer. Nothing is guessed: see status and because."""
    with service.reading() as workspace:
        result = workspace.ask(wanted.question, papers=workspace.brain != "rules")
    answer = result.answer
    shown = {"found": answer.found[:MOST_ANSWERS], "notes": (*answer.notes, *result.notes)}
    return {**dict(answer), **shown, "total": len(answer.found)}


@router.post("/search", operation_id="search", response_model=SearchAnswer)
def search(service: Served, asking: Viewer, wanted: Searching) -> Any:
    """Search the papers of the service."""
    with service.reading() as workspace:
        _check_papers(workspace)
        found = workspace.search(**dict(wanted))
    papers = [
        {name: getattr(hit.document, name) for name in ("id", "title", "year", "section", "heading")}
        | {"retracted": bool(hit.document.retracted), "score": round(hit.score, 4), "passage": hit.passage}
        for hit in found.hits
    ]
    return {"papers": papers, "notes": found.notes}


@router.post("/verify", operation_id="verify", response_model=ClaimAnswer)
def verify(service: Served, asking: Viewer, wanted: Claim) -> Any:
    """Say what papers have to say of a claim or of an edge, with exact quotes."""
    with service.reading() as workspace:
        _check_papers(workspace)
        result = workspace.verify(**dict(wanted) | {"claim": wanted.claim or ""})
    return {**dict(result.verdict), "taken": [taken.as_row() for taken in result.taken], "notes": result.notes}


def _check_papers(workspace: Workspace) -> None:
    if workspace.literature is None:
        raise NotServed("this service has no papers", "start it with --literature DIR")


checks_router = APIRouter(tags=["check"], route_class=JsonRoute)


class CheckWanted(OutsideCheckLimits):
    """Request for a check, in words or as an edge."""

    what: FactWords | Triple = Field(
        description="HEAD RELATION TAIL; existence LABEL ID; attribute LABEL ID NAME; by ids or names; or an edge"
    )


class Checked(shapes.ResponseBody):
    """Result of a check by the team."""

    run: str
    fingerprint: str
    about: str
    outcome: Outcome
    graph: GraphState | None = Field(description="what that means for the graph; null where nothing is decided")
    reason: Reason
    confidence: float
    value: str | None = Field(description="what the graph says")
    proposed_change: dict[str, Any] | None
    note: str
    missing: list[str] = Field(description="deciding sources that could not be looked at, and why")
    evidence: list[Evidence]
    taken: list[TakenName] = Field(description="names, each with the node that it was taken for")
    notes: list[str] = Field(description="of how it came about")


class EdgeInWords(Value):
    """An edge in words."""

    edge: FactWords = Field(description="HEAD RELATION TAIL, by ids or names")


class VerifiedAnswer(shapes.ResponseBody):
    """Verification status of an edge: whether somebody has looked, and what they found."""

    edge: str
    verified: Verified | None = Field(description="null where nobody has looked, which says nothing about the edge")


@checks_router.post("/check", operation_id="check", response_model=Checked)
def check(service: Served, asking: Viewer, wanted: CheckWanted) -> Any:
    """Check one node, attribute or edge against the references, and keep the finding in the ledger.

    A language model as a judge of papers (``llm``) costs whoever runs the service, and needs the role curator.
    """
    if "llm" in wanted.verifiers and not asking.role.may(Role.CURATOR):
        raise NotAllowed(f"{asking.name} is a {asking.role.value}", "a language model needs the role curator")
    with service.reading() as workspace:
        checked = workspace.check(wanted.what, **wanted.limits)
    finding = checked.finding
    shown = {"about": f"{finding.task.type.value} {finding.task}", "taken": [one.as_row() for one in checked.taken]}
    return {**finding.as_row(), **shown, "notes": checked.notes}


@checks_router.get("/verified", operation_id="get_verified")
def get_verified(service: Served, asking: Viewer, wanted: Annotated[EdgeInWords, Query()]) -> VerifiedAnswer:
    """Say what the newest audit that looked at an edge found. Neither the graph nor a source is asked."""
    with service.reading() as workspace:
        return VerifiedAnswer(edge=wanted.edge, verified=workspace.verified(wanted.edge))
