"""Web pages of patches: make one from accepted findings, look at it, check, apply, undo."""

from typing import NamedTuple

from fastapi import APIRouter, Request, Response

from kgcheck.curation.operations import AddEdge, Merge, Operation, Repoint, Retire, SetValue, read_patch
from kgcheck.curation.patches import PatchOutcome
from kgcheck.errors import InputError
from kgcheck.ledger.patches import OperationEntry
from kgcheck.service.access import Curator, Viewer
from kgcheck.service.api.patches import begin_patch
from kgcheck.service.api.shapes import PatchId
from kgcheck.service.page.rendering import redirect, render
from kgcheck.service.state import Served
from kgcheck.workspace.workspace import Workspace

router = APIRouter(prefix="/patches", include_in_schema=False)

_MOST = 500


class Sides(NamedTuple):
    """An operation as a line of a table: what it is of, and that before and after it."""

    entry: OperationEntry
    what: str
    before: str
    after: str


@router.get("")
def patches(request: Request, service: Served, asking: Viewer) -> Response:
    """The patches, and how many findings wait for one."""
    with service.reading() as workspace:
        found = workspace.patches()
    return render(request, "patches", asking, patches=found, left_out=(), made=None)


@router.post("")
def make(request: Request, service: Served, asking: Curator) -> Response:
    """Make a patch from what was accepted in the newest audit."""
    # In a workspace of its own, which opens and closes the graph for itself; and while nobody writes to the graph.
    with service.reading(), service.open() as workspace:
        made = workspace.make_patch(service.new_patch_folder(), accepted=True, by=asking.name)
        found = workspace.patches()
    if made.patch and not made.left_out:
        return redirect(request, f"/patches/{made.patch.id}")
    return render(request, "patches", asking, patches=found, left_out=made.left_out, made=made)


@router.get("/{name}")
def patch(request: Request, name: PatchId, service: Served, asking: Viewer) -> Response:
    """A patch, operation by operation."""
    with service.reading() as workspace:
        return _shown(request, workspace, name, asking)


@router.post("/{name}/check")
def check(request: Request, name: PatchId, service: Served, asking: Curator) -> Response:
    """Say what of a patch would conflict now."""
    with service.reading(), service.open() as workspace:
        outcome = workspace.check_patch(workspace.patch_folder(name))
        return _shown(request, workspace, name, asking, outcome)


@router.post("/{name}/apply")
def apply(request: Request, name: PatchId, service: Served, asking: Curator) -> Response:
    """Do what of a patch fits the graph, as a task."""
    return redirect(request, f"/tasks/{begin_patch(service, 'patch_apply', name, {}, asking).id}")


@router.post("/{name}/undo")
def undo(request: Request, name: PatchId, service: Served, asking: Curator) -> Response:
    """Give the graph back as it was before a patch, as a task."""
    return redirect(request, f"/tasks/{begin_patch(service, 'patch_undo', name, {}, asking).id}")


def _shown(
    request: Request,
    workspace: Workspace,
    name: str,
    asking: Viewer,
    outcome: PatchOutcome | None = None,
) -> Response:
    entry, operations = workspace.patch(name)
    try:
        read = read_patch(workspace.patch_folder(name))
    except InputError:
        read = None
    sides = [sides_of(one) for one in read.operations] if read else [(one.about, "", "") for one in operations]
    rows = [Sides(operation, *texts) for operation, texts in zip(operations, sides, strict=True)]
    return render(
        request, "patch", asking, patch=entry, rows=rows[:_MOST], hidden=max(len(rows) - _MOST, 0), outcome=outcome,
        is_there=read is not None,
    )  # fmt: skip


def sides_of(operation: Operation) -> tuple[str, str, str]:
    """Return the target of an operation, and its state before and after it."""
    what = str(operation.what)
    match operation:
        case SetValue(attribute=name, was=was, to=to):
            return f"{what}.{name}", _value(was), _value(to)
        case Repoint(moved=moved, into=into):
            return what, what, str(moved or into)
        case Merge(into=into):
            return what, what, f"merged into {into}"
        case AddEdge():
            return what, "no such edge", what
        case Retire(but_one=True):
            return what, "several that are alike", "one of them"
        case _:
            return what, what, "retired: marked, not deleted"


def _value(value: object) -> str:
    if value in (None, "", []):
        return "nothing"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
