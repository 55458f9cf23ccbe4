"""List jobs of kgcheck.toml as rows: settings, next firings, and history of runs."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from kgcheck import clock
from kgcheck.curation.project import Project
from kgcheck.ledger.ledger import Ledger
from kgcheck.ledger.work import WorkItem, WorkState, WorkTable
from kgcheck.workspace.jobs import job_ledger


def job_rows(project: Project) -> list[dict[str, Any]]:
    """The jobs of a project: kind, schedule, when it runs next, and how its last run ended."""
    rows = []
    with _runs(project) as runs:
        for name, job in project.values.jobs.items():
            schedule = project.schedule_of(name)
            last = next(iter(runs.history(name, 1)), None) if runs else None
            store = project.store_of(job)
            rows.append(
                {
                    "job": name,
                    "kind": job.kind,
                    "store": store.place if store else None,
                    "schedule": schedule.text if schedule else None,
                    "next": _shown(schedule.after(clock.now())) if schedule else None,
                    "last": _shown(last.created) if last else None,
                    "state": last.state.value if last else None,
                    "severity": last.severity if last else None,
                }
            )
    return rows


def job_row(project: Project, name: str) -> dict[str, Any]:
    """A job whole: what stands in the file, with what it takes by default and paths that hold from any folder."""
    job = project.job(name)
    store, schedule = project.store_of(job), project.schedule_of(name)
    return {
        "job": name,
        "file": str(project.path.absolute()),
        "ledger": str(job_ledger(project)),
        **job.model_dump(mode="json"),
        "store": store.model_dump(mode="json") if store else None,
        "time_zone": str(schedule.zone) if schedule else None,
        "next": _shown(schedule.after(clock.now())) if schedule else None,
        **project.places_of(job),
    }


def history_rows(project: Project, name: str | None, limit: int) -> list[dict[str, Any]]:
    """Runs of jobs, the newest first, of those too that stand in the file no more."""
    with _runs(project) as runs:
        found = runs.history(name, limit) if runs else []
    if name is not None and not found:
        project.job(name)
    return [_history_row(run) for run in found]


def _history_row(run: WorkItem) -> dict[str, Any]:
    row = run.as_job_run()
    lost = run.state is WorkState.RUNNING and (run.lease_until or run.created) < clock.now()
    times = {"planned": run.planned, "started": run.started, "finished": run.ended}
    shown = {name: _shown(at) if at else None for name, at in times.items()}
    return row | shown | ({"message": "no sign of life: the next run takes it over"} if lost else {})


@contextmanager
def _runs(project: Project) -> Iterator[WorkTable | None]:
    """The runs in the ledger; None where there is none yet."""
    place = job_ledger(project)
    if isinstance(place, Path) and not place.exists():
        yield None
        return
    with Ledger(place, create=False) as ledger:
        yield WorkTable(ledger.database)


def _shown(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds")
