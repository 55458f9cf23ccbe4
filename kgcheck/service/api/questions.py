"""Questions to the graph, and to papers."""

from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import Field, StrictBool, model_validator

from kgcheck.curation.findings import LINE, Word
from kgcheck.literature.hits import PaperHit
from kgcheck.literature.verify import Opinion
from kgcheck.model import Stance, Value
from kgcheck.options import Whole
from kgcheck.questions.answer import Found, Status
from kgcheck.service.access import Viewer
from kgcheck.service.api.shapes import TakenName
from kgcheck.service.bodies import JsonRoute, Shown
from kgcheck.service.problems import NotServed
from kgcheck.service.state import Served
from kgcheck.workspace import Workspace

router = APIRouter(tags=["questions"], route_class=JsonRoute)

MOST_ANSWERS = 1_000

Few = Annotated[list[Word], Field(max_length=50)]
Words = Annotated[str, Field(min_length=1, max_length=2_000, pattern=LINE)]


class QuestionWanted(Value):
    """A question in words."""

    question: Words = Field(
        examples=["What diseases are associated with the protein encoded by the gene APOE?"],
    )


class PathEdge(Shown):
    """An edge of a path to an answer."""

    head: str
    relation: str
    tail: str
    properties: dict[str, Any]


class FoundNode(Shown):
    """One answer, with the path that leads to it."""

    label: str
    id: str
    name: str | None
    properties: dict[str, Any]
    path: list[PathEdge]


class AnswerRow(Shown):
    """Answer to a question."""

    question: str
    status: Status
    understood: str = Field(description="in words of the schema")
    read_as: str = Field(description="the question as it was read, as a sentence")
    count: int | None = Field(description="where a number was wanted")
    holds: bool | None = Field(description="of a yes or no question: whether the graph says so")
    total: int = Field(description="how many answers there are")
    found: list[FoundNode] = Field(description=f"at most {MOST_ANSWERS:,}")
    because: str = Field(description="why there is no answer, and what to do")
    notes: list[str]


class Searching(Value):
    """Request for a search of papers."""

    query: Words = Field(examples=["APOE and amyloid"])
    limit: Whole = Field(default=10, ge=1, le=100, description="most papers")
    documents: Few = Field(default=[], description="only these papers, by id")
    expand: StrictBool = Field(default=False, description="also look for synonyms that the graph and the snapshot know")


class PaperRow(Shown):
    """A paper that a search found, with its best passage."""

    id: str
    title: str
    year: int | None
    retracted: bool
    score: float
    section: str = "abstract"
    heading: str = ""
    passage: str


class SearchAnswer(Value):
    """Papers, the best first."""

    papers: list[PaperRow]
    also: list[str] = Field(description="further names that were looked for")
    notes: list[str]


class Claim(Value):
    """Claim, or edge, that papers are asked about."""

    claim: Words | None = Field(default=None, examples=["APOE binds amyloid beta."])
    triple: Words | None = Field(default=None, description="HEAD RELATION TAIL, by ids or names")
    documents: Few = Field(default=[], description="read only these papers, by id")
    top: Whole = Field(default=3, ge=1, le=50, description="papers to read where none is named")

    @model_validator(mode="after")
    def _is_one(self) -> "Claim":
        if (self.claim is None) is (self.triple is None):
            raise ValueError("name a claim or an edge, and not both")
        return self


class ClaimAnswer(Shown):
    """Verdict of the papers on a claim, with every opinion and its exact quotes."""

    claim: str
    verifier: str
    stance: Stance
    probability: float
    conflict: bool
    opinions: list[Opinion]
    retracted: list[str] = Field(description="papers that were found and do not count")
    note: str
    taken: list[TakenName] = Field(description="names of the edge, each with the node that it was taken for")
    notes: list[str]


@router.post("/ask", operation_id="ask")
def ask(service: Served, asking: Viewer, wanted: QuestionWanted) -> AnswerRow:
    """Answer a question from the graph, with the path of every answer. Nothing is guessed: see status and because."""
    with service.reading() as workspace:
        result = workspace.ask(wanted.question, papers=workspace.brain != "rules")
    answer = result.answer
    found = [_found_node(one) for one in answer.found[:MOST_ANSWERS]]
    return AnswerRow.of(answer, total=len(answer.found), found=found, notes=[*answer.notes, *result.notes])


def _found_node(one: Found) -> FoundNode:
    path = [
        PathEdge.of(edge.triple, head=str(edge.triple.head), tail=str(edge.triple.tail), properties=edge.properties)
        for edge in one.path
    ]
    return FoundNode.of(one, **one.ref.model_dump(), path=path)


@router.post("/search", operation_id="search")
def search(service: Served, asking: Viewer, wanted: Searching) -> SearchAnswer:
    """Search the papers of the service."""
    with service.reading() as workspace:
        _check_papers(workspace)
        found = workspace.search(wanted.query, limit=wanted.limit, documents=wanted.documents, expand=wanted.expand)
    papers = [
        PaperRow.of(
            hit.document, retracted=bool(hit.document.retracted), score=round(hit.score, 4), passage=hit.passage
        )
        for hit in found.hits
        if isinstance(hit, PaperHit)
    ]
    return SearchAnswer(papers=papers, also=list(found.also), notes=list(found.notes))


@router.post("/verify", operation_id="verify")
def verify(service: Served, asking: Viewer, wanted: Claim) -> ClaimAnswer:
    """Say what papers have to say of a claim or of an edge, with exact quotes."""
    with service.reading() as workspace:
        _check_papers(workspace)
        result = workspace.verify(
            wanted.claim or "",
            triple=wanted.triple,
            documents=wanted.documents,
            top=wanted.top,
        )
    verdict = result.verdict
    return ClaimAnswer.of(
        verdict,
        opinions=list(verdict.opinions),
        retracted=list(verdict.retracted),
        taken=[TakenName(**taken.as_row()) for taken in result.taken],
        notes=list(result.notes),
    )


def _check_papers(workspace: Workspace) -> None:
    if workspace.literature is None:
        raise NotServed("this service has no papers", "start it with --literature DIR")
