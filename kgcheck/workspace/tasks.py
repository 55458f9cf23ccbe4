"""Kinds of service tasks (audit, patch, job), each resumable over a workspace.

Whatever makes a run gets its id written down before it begins: after a kill it is known which run was the task's, and
whether it is to be begun, gone on with, or is whole. So nothing is lost and nothing is done twice.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, Field, StrictBool, ValidationError

from kgcheck.curation.findings import LINE
from kgcheck.curation.project import AnyJob, LoadJob, Project, read_project
from kgcheck.errors import KgcheckError, LedgerError, UnknownName, UsageError
from kgcheck.inputs import wrong_parts
from kgcheck.ledger.ledger import Ledger, Run, new_run_id
from kgcheck.ledger.place import is_same_place
from kgcheck.ledger.work import Lease, WorkItem
from kgcheck.model import Value
from kgcheck.options import AuditScope, Whole, Word
from kgcheck.report.tables import outcomes
from kgcheck.workspace.workspace import Workspace

_UNDO = "patch_undo"

RUN_ID = r"[0-9]{8}-[0-9]{6}-[0-9a-f]{4,12}"
PATCH_ID = r"[0-9a-f]{4,64}"

FactWords = Annotated[str, Field(min_length=1, max_length=1_000, pattern=LINE)]
"""A fact to check, in words."""


class TaskWork(NamedTuple):
    """A task for who works on it."""

    lease: Lease
    ledger: Ledger
    config: Path | None = None
    """kgcheck.toml, where there is one."""

    @property
    def task(self) -> WorkItem:
        return self.lease.work


class AuditWanted(AuditScope):
    """Request for an audit. A client names runs, never files."""

    ids: Annotated[tuple[Word, ...], Field(max_length=10_000)] = ()
    team_budget: Whole = Field(default=0, ge=0, le=10_000)
    changed_since: Annotated[str, Field(pattern=rf"^{RUN_ID}$")] | None = None


class PatchWanted(Value):
    """Request to apply or undo a patch."""

    patch: Annotated[str, Field(pattern=rf"^{PATCH_ID}$")]
    delete: StrictBool = False


class JobWanted(Value):
    """Request to run a job of kgcheck.toml."""

    job: Annotated[str, Field(min_length=1, max_length=200)]


class TaskKind(NamedTuple):
    """One kind of task."""

    name: str
    wanted: type[BaseModel]
    work: Callable[[Workspace, TaskWork], dict[str, Any]]
    writes: Callable[[WorkItem, Path | None], bool] = lambda task, config: False
    """Tells whether it writes to the store, which is then open for nobody else; by the task and kgcheck.toml."""
    retries: Callable[[WorkItem, Path | None], int] = lambda task, config: 0
    """Attempts that it may make by itself."""
    following: Callable[[WorkItem, Path | None], list[dict[str, Any]]] = lambda task, config: []
    """Parameters of tasks of the same kind that begin when it is done."""

    def checked(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        try:
            return self.wanted.model_validate(dict(parameters), extra="forbid").model_dump(mode="json")
        except ValidationError as error:
            why = f"this is no task of the kind {self.name}: {wrong_parts(error, 5)}"
            raise UsageError(why, "see docs/http_api.md") from None


def _audit(workspace: Workspace, work: TaskWork) -> dict[str, Any]:
    wanted, begun, notes = AuditWanted.model_validate(work.task.parameters), None, []
    if work.task.run:
        with suppress(UnknownName):
            begun = workspace.run(work.task.run)
    if begun is not None and begun.finished:
        # Killed between the end of the audit and that of the task.
        return _audit_row(workspace, begun)
    if begun is not None:
        try:
            resumed = workspace.resume(begun)
            return _audit_row(workspace, resumed.run, resumed.notes)
        except LedgerError as error:
            notes.append(f"audit {begun.id} was begun anew: {error.message}")
    run = new_run_id() if notes else work.task.run or new_run_id()
    work.lease.note(run=run)
    done = workspace.audit(wanted.scope, changed_since=wanted.changed_since, run_id=run)
    return _audit_row(workspace, done.run, notes or done.notes)


def _audit_row(workspace: Workspace, run: Run, notes: Iterable[str] = ()) -> dict[str, Any]:
    counts = {outcome.value: count for outcome, count in sorted(outcomes(workspace.tallies(run)).items())}
    return {"run": run.id, "outcomes": counts, "unfinished": not run.finished, "notes": list(notes)}


def _patch(workspace: Workspace, work: TaskWork) -> dict[str, Any]:
    wanted = PatchWanted.model_validate(work.task.parameters)
    folder, by = workspace.patch(wanted.patch)[0].folder, work.task.by
    if work.task.kind == _UNDO:
        return workspace.undo_patch(folder, by=by).as_row()
    return workspace.apply_patch(folder, by=by, delete=wanted.delete).as_row()


def _job(workspace: Workspace, work: TaskWork) -> dict[str, Any]:
    # It works by a workspace of its own.
    from kgcheck.workspace.jobs import JobWorker, job_ledger

    project = _project(work.config)
    if not is_same_place(job_ledger(project), workspace.ledger):
        raise UsageError(
            f"{project.path} keeps its runs in {job_ledger(project)}, and this service in {workspace.ledger}",
            "start the service with --ledger and the ledger of kgcheck.toml",
        )
    return JobWorker(project, work.lease, work.ledger).work()


def _retries(task: WorkItem, config: Path | None) -> int:
    job = _known_job(task, config)
    return job.retry.times if job else 0


def _known_job(task: WorkItem, config: Path | None) -> AnyJob | None:
    """The job of a task; one that cannot be looked up now fails when it is begun."""
    try:
        return _project(config).job(task.job or "")
    except KgcheckError:
        return None


def _project(config: Path | None) -> Project:
    if config is None:
        raise UsageError("the service has no jobs", "kgcheck serve --config kgcheck.toml")
    return read_project(config)


KINDS: dict[str, TaskKind] = {
    kind.name: kind
    for kind in (
        TaskKind("audit", AuditWanted, _audit),
        TaskKind(
            "job",
            JobWanted,
            _job,
            writes=lambda task, config: isinstance(_known_job(task, config), LoadJob),
            retries=_retries,
            following=lambda task, config: [{"job": name} for name in _project(config).following(task.job or "")],
        ),
        TaskKind("patch_apply", PatchWanted, _patch, writes=lambda task, config: True),
        TaskKind(_UNDO, PatchWanted, _patch, writes=lambda task, config: True),
    )
}
