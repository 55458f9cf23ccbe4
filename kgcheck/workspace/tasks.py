"""Kinds of service tasks (audit, patch), each resumable over a workspace.

Whatever makes a run gets its id written down before it begins: after a kill it is known which run was the task's, and
whether it is to be begun, gone on with, or is whole. So nothing is lost and nothing is done twice.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, Field, StrictBool, ValidationError

from kgcheck.curation.findings import LINE
from kgcheck.errors import LedgerError, UnknownName, UsageError
from kgcheck.inputs import wrong_parts
from kgcheck.ledger.ledger import Run, new_run_id
from kgcheck.ledger.work import Lease
from kgcheck.model import Value
from kgcheck.options import AuditScope, Whole, Word
from kgcheck.report.tables import outcomes
from kgcheck.workspace.workspace import Workspace

_UNDO = "patch_undo"

RUN_ID = r"[0-9]{8}-[0-9]{6}-[0-9a-f]{4,12}"
PATCH_ID = r"[0-9a-f]{4,64}"

FactWords = Annotated[str, Field(min_length=1, max_length=1_000, pattern=LINE)]
"""A fact to check, in words."""


class AuditWanted(AuditScope):
    """Request for an audit. A client names runs, never files."""

    ids: Annotated[tuple[Word, ...], Field(max_length=10_000)] = ()
    team_budget: Whole = Field(default=0, ge=0, le=10_000)
    changed_since: Annotated[str, Field(pattern=rf"^{RUN_ID}$")] | None = None


class PatchWanted(Value):
    """Request to apply or undo a patch."""

    patch: Annotated[str, Field(pattern=rf"^{PATCH_ID}$")]
    delete: StrictBool = False


class TaskKind(NamedTuple):
    """One kind of task."""

    name: str
    wanted: type[BaseModel]
    work: Callable[[Workspace, Lease], dict[str, Any]]
    writes: bool = False
    """It writes to the store, which is then open for nobody else."""

    def checked(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        try:
            return self.wanted.model_validate(dict(parameters), extra="forbid").model_dump(mode="json")
        except ValidationError as error:
            raise UsageError(
                f"this is no task of the kind {self.name}: {wrong_parts(error, 5)}",
                "see docs/http_api.md",
            ) from None


def _audit(workspace: Workspace, lease: Lease) -> dict[str, Any]:
    wanted, begun, notes = AuditWanted.model_validate(lease.work.parameters), _run_of(workspace, lease.work.run), []
    if begun is not None and begun.finished:
        # Killed between the end of the audit and that of the task.
        return _audit_row(workspace, begun)
    if begun is not None:
        try:
            resumed = workspace.resume(begun)
            return _audit_row(workspace, resumed.run, resumed.notes)
        except LedgerError as error:
            notes.append(f"audit {begun.id} was begun anew: {error.message}")
    run = new_run_id() if notes else lease.work.run or new_run_id()
    lease.note(run=run)
    done = workspace.audit(wanted.scope, changed_since=wanted.changed_since, run_id=run)
    return _audit_row(workspace, done.run, notes or done.notes)


def _audit_row(workspace: Workspace, run: Run, notes: Iterable[str] = ()) -> dict[str, Any]:
    counts = {outcome.value: count for outcome, count in sorted(outcomes(workspace.tallies(run)).items())}
    return {"run": run.id, "outcomes": counts, "unfinished": not run.finished, "notes": list(notes)}


def _run_of(workspace: Workspace, name: str | None) -> Run | None:
    """The run of that id, where it was begun."""
    if name is None:
        return None
    try:
        return workspace.run(name)
    except UnknownName:
        return None


def _patch(workspace: Workspace, lease: Lease) -> dict[str, Any]:
    wanted = PatchWanted.model_validate(lease.work.parameters)
    folder, by = workspace.patch(wanted.patch)[0].folder, lease.work.by
    if lease.work.kind == _UNDO:
        return workspace.undo_patch(folder, by=by).as_row()
    return workspace.apply_patch(folder, by=by, delete=wanted.delete).as_row()


KINDS: dict[str, TaskKind] = {
    kind.name: kind
    for kind in (
        TaskKind("audit", AuditWanted, _audit),
        TaskKind("patch_apply", PatchWanted, _patch, writes=True),
        TaskKind(_UNDO, PatchWanted, _patch, writes=True),
    )
}
