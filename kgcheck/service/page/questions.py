"""Boxes to ask the graph a question, papers about a claim, and the team about one fact."""

from typing import Annotated

from fastapi import APIRouter, Form, Query, Request, Response

from kgcheck.errors import KgcheckError
from kgcheck.literature.documents import Document
from kgcheck.literature.verify import ClaimVerdict
from kgcheck.service.access import Curator, Viewer
from kgcheck.service.page.rendering import PageRoute, redirect, render
from kgcheck.service.state import Served
from kgcheck.workspace.workspace import Workspace

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_SHOWN = 50
_SECONDS = 30.0


@router.get("/ask")
def ask(
    request: Request,
    service: Served,
    asking: Viewer,
    q: Annotated[str, Query(max_length=1_000)] = "",
    claim: Annotated[str, Query(max_length=2_000)] = "",
) -> Response:
    """The boxes, and what one of them came to."""
    answer, verdict, notes, problem, abstracts = None, None, tuple[str, ...](), "", dict[str, Document]()
    with service.reading() as workspace:
        try:
            if q.strip():
                result = workspace.ask(q.strip(), papers=workspace.brain != "rules")
                answer, notes = result.answer, result.notes
            elif claim.strip():
                verified = workspace.verify(claim.strip())
                verdict, notes = verified.verdict, verified.notes
                abstracts = _abstracts(workspace, verdict)
        except KgcheckError as error:
            problem = f"{error.message}. {error.hint}" if error.hint else error.message
        has_papers = workspace.literature is not None
    return render(
        request, "ask", asking, q=q, claim=claim, answer=answer, verdict=verdict, notes=notes, problem=problem,
        abstracts=abstracts, has_papers=has_papers, shown=_SHOWN,
    )  # fmt: skip


@router.post("/check")
def check(request: Request, service: Served, asking: Curator, what: Annotated[str, Form(max_length=500)]) -> Response:
    """Check one fact with the team, and show the finding."""
    with service.reading() as workspace:
        checked = workspace.check(what.strip(), seconds=_SECONDS)
    return redirect(request, f"/findings/{checked.finding.fingerprint}")


def _abstracts(workspace: Workspace, verdict: ClaimVerdict) -> dict[str, Document]:
    names = [opinion.document for opinion in verdict.opinions]
    return {d.id: d for d in workspace.index([]).documents(names)} if names else {}
