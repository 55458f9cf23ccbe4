"""The jobs of kgcheck.toml: when each runs next, and how its runs ended."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Request, Response

from kgcheck.curation.project import read_project
from kgcheck.errors import UsageError
from kgcheck.service.access import Curator, Viewer
from kgcheck.service.page.rendering import PageRoute, redirect, render
from kgcheck.service.state import Served, Service
from kgcheck.workspace.job_listing import history_rows, job_rows

router = APIRouter(prefix="/jobs", route_class=PageRoute, include_in_schema=False)

_HISTORY = 50


def job_list(service: Service) -> list[dict[str, Any]]:
    """The jobs as rows; none where the service names no kgcheck.toml."""
    return job_rows(read_project(service.options.config)) if service.options.config else []


@router.post("/{name}/run")
def run_job(request: Request, name: Annotated[str, Path(max_length=200)], service: Served, asking: Curator) -> Response:
    """Run a job now, as a task."""
    if service.options.config is None:
        raise UsageError("this service has no jobs", "start it with --config kgcheck.toml")
    read_project(service.options.config).job(name)
    return redirect(request, f"/tasks/{service.tasks.start('job', {'job': name}, asking).id}")


@router.get("")
def jobs(request: Request, service: Served, asking: Viewer) -> Response:
    """The jobs, and their runs."""
    config = service.options.config
    history = history_rows(read_project(config), None, _HISTORY) if config else []
    return render(request, "jobs", asking, jobs=job_list(service), history=history, is_named=config is not None)
