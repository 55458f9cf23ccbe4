"""Web page to ask the graph a question, papers about a claim, or the team about a fact."""

from typing import Annotated, Any

from fastapi import APIRouter, Form, Query, Response

from kgcheck.errors import KgcheckError
from kgcheck.literature.documents import Document
from kgcheck.literature.search import PaperHit
from kgcheck.model import Stance
from kgcheck.service.page.rendering import Curated, Viewed
from kgcheck.workspace.workspace import Workspace

router = APIRouter(include_in_schema=False)

_SHOWN, _HITS, _SECONDS = 50, 20, 30.0
_NOTHING: dict[str, Any] = {
    "answer": None, "verdict": None, "hits": None, "papers": {}, "notes": (), "problem": "", "hint": "",
}  # fmt: skip
"""Variables of the template where nothing was asked."""

Words = Annotated[str, Query(max_length=1_000)]
End = Annotated[str, Query(max_length=300)]
Claim = Annotated[str, Query(max_length=2_000)]


@router.get("/ask")
def ask(
    page: Viewed,
    q: Words = "",
    claim: Claim = "",
    head: End = "",
    relation: End = "",
    tail: End = "",
    search: Words = "",
) -> Response:
    """The boxes, and what one of them came to."""
    boxes = {"question": q, "claim": claim, "head": head, "relation": relation, "tail": tail, "query": search}
    wanted = {name: text.strip() for name, text in boxes.items()}
    with page.service.reading() as workspace:
        try:
            found = _answered(workspace, wanted)
        except KgcheckError as error:
            found = {"problem": error.message, "hint": error.hint}
        has_papers, relations = workspace.literature is not None, workspace.schema.relation_types
    shown = {"wanted": wanted, "has_papers": has_papers, "relations": relations, "shown": _SHOWN}
    return page.render("ask", **_NOTHING | found | shown)


@router.post("/check")
def check(page: Curated, what: Annotated[str, Form(max_length=500)]) -> Response:
    """Check one fact with the team, and show the finding."""
    with page.service.reading() as workspace:
        checked = workspace.check(what.strip(), seconds=_SECONDS)
    return page.redirect(f"/findings/{checked.finding.fingerprint}")


def _answered(workspace: Workspace, wanted: dict[str, str]) -> dict[str, Any]:
    edge = " ".join(filter(None, (wanted["head"], wanted["relation"], wanted["tail"])))
    if wanted["question"]:
        result = workspace.ask(wanted["question"], papers=workspace.brain != "rules")
        return {"answer": result.answer, "notes": result.notes}
    if wanted["claim"] or wanted["head"] or wanted["tail"]:
        verified = workspace.verify(wanted["claim"], triple=None if wanted["claim"] else edge)
        verdict = verified.verdict
        papers = _papers(workspace, [opinion.document for opinion in verdict.opinions])
        sides = [sum(o.stance is s for o in verdict.opinions) for s in (Stance.SUPPORTS, Stance.CONTRADICTS)]
        return {
            "verdict": verdict, "sides": sides, "papers": papers, "notes": (*map(str, verified.taken), *verified.notes),
        }  # fmt: skip
    if wanted["query"]:
        searched = workspace.search(wanted["query"], limit=_HITS)
        hits = [hit for hit in searched.hits if isinstance(hit, PaperHit)]
        return {"hits": hits, "papers": _papers(workspace, [hit.document.id for hit in hits]), "notes": searched.notes}
    return {}


def _papers(workspace: Workspace, names: list[str]) -> dict[str, Document]:
    return {document.id: document for document in workspace.index([]).documents(names)} if names else {}
