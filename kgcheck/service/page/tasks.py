"""Long work: begun from a page, followed on its own, and cancelled."""

from typing import Annotated

from fastapi import APIRouter, Path, Request, Response

from kgcheck.ledger.work import WorkItem
from kgcheck.service.access import Curator, Viewer
from kgcheck.service.page.rendering import PageRoute, redirect, render
from kgcheck.service.state import Served

router = APIRouter(prefix="/tasks", route_class=PageRoute, include_in_schema=False)

TaskName = Annotated[str, Path(pattern="^[0-9a-f]{16}$")]
_PAGE = 50
_WORDS = {
    "audit": "Audit of the graph",
    "checks": "Checks of single facts",
    "patch_apply": "Patch applied to the graph",
    "patch_undo": "Patch undone",
    "job": "Job",
    "load_job": "Job",
}


@router.get("")
def tasks(request: Request, service: Served, asking: Viewer) -> Response:
    """What was begun here, newest first."""
    return render(request, "tasks", asking, tasks=service.tasks.list(_PAGE), words=_words)


@router.get("/{name}")
def task(request: Request, name: TaskName, service: Served, asking: Viewer) -> Response:
    """One task as it stands."""
    return render(request, "task", asking, task=service.tasks.get(name), words=_words)


@router.get("/{name}/state")
def state(request: Request, name: TaskName, service: Served, asking: Viewer) -> Response:
    """The same as a part of a page."""
    return render(request, "_task", asking, task=service.tasks.get(name), words=_words)


@router.post("/{name}/cancel")
def cancel(request: Request, name: TaskName, service: Served, asking: Curator) -> Response:
    """Let a task end; what it did is kept."""
    service.tasks.cancel(name, asking)
    return redirect(request, f"/tasks/{name}")


def _words(task: WorkItem) -> str:
    """What a task is, as people read it."""
    about = task.parameters.get("patch") or task.parameters.get("job") or ""
    return " ".join(filter(None, (_WORDS.get(task.kind, task.kind), str(about))))
