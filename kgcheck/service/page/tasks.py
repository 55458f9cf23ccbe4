"""Web pages of tasks and jobs: progress, cancelling, running a job, and past runs."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Request, Response

from kgcheck.ledger.work import WorkItem
from kgcheck.service.access import Curator, Viewer
from kgcheck.service.api.tasks import TaskId
from kgcheck.service.page.rendering import is_fragment, redirect, render
from kgcheck.service.state import Served, Service
from kgcheck.workspace.job_listing import history_rows, job_rows

router = APIRouter(include_in_schema=False)

_PAGE = 50
_WORDS = {
    "audit": "Audit of the graph",
    "checks": "Checks of single facts",
    "patch_apply": "Patch applied to the graph",
    "patch_undo": "Patch undone",
    "job": "Job",
    "load_job": "Job",
}


@router.get("/tasks")
def tasks(request: Request, service: Served, asking: Viewer) -> Response:
    """List the tasks that were begun here, newest first."""
    return render(request, "tasks", asking, tasks=service.tasks.list(_PAGE), words=_words)


@router.get("/tasks/{name}")
def task(request: Request, name: TaskId, service: Served, asking: Viewer) -> Response:
    """One task as it stands; for our own script as a part of a page."""
    template = "_task" if is_fragment(request) else "task"
    return render(request, template, asking, task=service.tasks.get(name), words=_words)


@router.post("/tasks/{name}/cancel")
def cancel(request: Request, name: TaskId, service: Served, asking: Curator) -> Response:
    """Let a task end; what it did is kept."""
    service.tasks.cancel(name, asking)
    return redirect(request, f"/tasks/{name}")


def _words(task: WorkItem) -> str:
    """Describe a task in words."""
    about = task.parameters.get("patch") or task.parameters.get("job") or ""
    return " ".join(filter(None, (_WORDS.get(task.kind, task.kind), str(about))))


def job_list(service: Service) -> list[dict[str, Any]]:
    """The jobs as rows; none where the service names no kgcheck.toml."""
    return job_rows(service.project()) if service.options.config else []


@router.post("/jobs/{name}/run")
def run_job(request: Request, name: Annotated[str, Path(max_length=200)], service: Served, asking: Curator) -> Response:
    """Run a job now, as a task."""
    service.project().job(name)
    return redirect(request, f"/tasks/{service.tasks.start('job', {'job': name}, asking).id}")


@router.get("/jobs")
def jobs(request: Request, service: Served, asking: Viewer) -> Response:
    """The jobs, and their runs."""
    is_named = service.options.config is not None
    history = history_rows(service.project(), None, _PAGE) if is_named else []
    return render(request, "jobs", asking, jobs=job_list(service), history=history, is_named=is_named)
