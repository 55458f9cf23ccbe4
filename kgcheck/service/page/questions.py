"""Web page to ask the graph a question, papers about a claim, or the team about a fact."""

from typing import Annotated, Any

from fastapi import APIRouter, Form, Query, Request, Response

from kgcheck.errors import KgcheckError
from kgcheck.literature.documents import Document
from kgcheck.literature.paper_search import PaperHit
from kgcheck.model import Stance
from kgcheck.service.access import Curator, Viewer
from kgcheck.service.page.rendering import redirect, render
from kgcheck.service.state import Served
from kgcheck.workspace.workspace import Workspace

router = APIRouter(include_in_schema=False)

_SHOWN = 50
_HITS = 20
_SECONDS = 30.0
_NOTHING: dict[str, Any] = {
    "answer": None, "verdict": None, "hits": None, "papers": {}, "notes": (), "problem": "", "hint": "",
}  # fmt: skip
"""Variables of the template where nothing was asked."""

Words = Annotated[str, Query(max_length=1_000)]
End = Annotated[str, Query(max_length=300)]


@router.get("/ask")
def ask(
    request: Request,
    service: Served,
    asking: Viewer,
    q: Words = "",
    claim: Annotated[str, Query(max_length=2_000)] = "",
    head: End = "",
    relation: End = "",
    tail: End = "",
    search: Words = "",
) -> Response:
    """The boxes, and what one of them came to."""
    boxes = {"question": q, "claim": claim, "head": head, "relation": relation, "tail": tail, "query": search}
    wanted = {name: text.strip() for name, text in boxes.items()}
    found: dict[str, Any] = {}
    with service.reading() as workspace:
        try:
            found = _answered(workspace, wanted)
        except KgcheckError as error:
            found = {"problem": error.message, "hint": error.hint}
        has_papers, relations = workspace.literature is not None, workspace.schema.relation_types
    shown = {"wanted": wanted, "has_papers": has_papers, "relations": relations, "shown": _SHOWN}
    return render(request, "ask", asking, **_NOTHING | found | shown)


@router.post("/check")
def check(request: Request, service: Served, asking: Curator, what: Annotated[str, Form(max_length=500)]) -> Response:
    """Check one fact with the team, and show the finding."""
    with service.reading() as workspace:
        checked = workspace.check(what.strip(), seconds=_SECONDS)
    return redirect(request, f"/findings/{checked.finding.fingerprint}")


def _answered(workspace: Workspace, wanted: dict[str, str]) -> dict[str, Any]:
    """Answer the box that was filled in, in the variables of the template."""
    edge = " ".join(filter(None, (wanted["head"], wanted["relation"], wanted["tail"])))
    if wanted["question"]:
        result = workspace.ask(wanted["question"], papers=workspace.brain != "rules")
        return {"answer": result.answer, "notes": result.notes}
    if wanted["claim"] or wanted["head"] or wanted["tail"]:
        verified = workspace.verify(wanted["claim"], triple=None if wanted["claim"] else edge)
        verdict = verified.verdict
        papers = _papers(workspace, [opinion.document for opinion in verdict.opinions])
        for_, against = (sum(o.stance is s for o in verdict.opinions) for s in (Stance.SUPPORTS, Stance.CONTRADICTS))
        notes = (*map(str, verified.taken), *verified.notes)
        return {"verdict": verdict, "sides": (for_, against), "papers": papers, "notes": notes}
    if wanted["query"]:
        searched = workspace.search(wanted["query"], limit=_HITS)
        hits = [hit for hit in searched.hits if isinstance(hit, PaperHit)]
        papers = _papers(workspace, [hit.document.id for hit in hits])
        return {"hits": hits, "papers": papers, "notes": searched.notes}
    return {}


def _papers(workspace: Workspace, names: list[str]) -> dict[str, Document]:
    found = workspace.index([]).documents(names) if names else []
    return {document.id: document for document in found}
