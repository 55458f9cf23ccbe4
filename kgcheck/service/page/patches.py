"""Web pages of patches: make one from accepted findings, look at it, check, apply, undo."""

from typing import NamedTuple

from fastapi import APIRouter, Response

from kgcheck.curation.operations import AddEdge, Merge, Operation, Repoint, Retire, SetValue, read_patch
from kgcheck.curation.patches import PatchOutcome
from kgcheck.errors import InputError
from kgcheck.ledger.patches import OperationEntry
from kgcheck.service.api.patches import begin_patch
from kgcheck.service.api.shapes import PatchId
from kgcheck.service.page.rendering import Curated, Page, Viewed
from kgcheck.workspace.workspace import Workspace

router = APIRouter(prefix="/patches", include_in_schema=False)

_MOST = 500


class _Sides(NamedTuple):
    """An operation as a line of a table: what it is of, and that before and after it."""

    entry: OperationEntry
    what: str
    before: str
    after: str


@router.get("")
def patches(page: Viewed) -> Response:
    """The patches, and how many findings wait for one."""
    with page.service.reading() as workspace:
        return page.render("patches", patches=workspace.patches(), left_out=(), made=None)


@router.post("")
def make(page: Curated) -> Response:
    """Make a patch from what was accepted in the newest audit."""
    # In a workspace of its own, which opens and closes the graph for itself; and while nobody writes to the graph.
    with page.service.reading(), page.service.open() as workspace:
        made = workspace.make_patch(page.service.new_patch_folder(), accepted=True, by=page.asking.name)
        found = workspace.patches()
    if made.patch and not made.left_out:
        return page.redirect(f"/patches/{made.patch.id}")
    return page.render("patches", patches=found, left_out=made.left_out, made=made)


@router.get("/{name}")
def patch(page: Viewed, name: PatchId) -> Response:
    """A patch, operation by operation."""
    with page.service.reading() as workspace:
        return _shown(page, workspace, name)


@router.post("/{name}/check")
def check(page: Curated, name: PatchId) -> Response:
    """Say what of a patch would conflict now."""
    with page.service.reading(), page.service.open() as workspace:
        return _shown(page, workspace, name, workspace.check_patch(workspace.patch_folder(name)))


@router.post("/{name}/apply")
def apply(page: Curated, name: PatchId) -> Response:
    """Do what of a patch fits the graph, as a task."""
    return page.redirect(f"/tasks/{begin_patch(page.service, 'patch_apply', {'patch': name}, page.asking).id}")


@router.post("/{name}/undo")
def undo(page: Curated, name: PatchId) -> Response:
    """Give the graph back as it was before a patch, as a task."""
    return page.redirect(f"/tasks/{begin_patch(page.service, 'patch_undo', {'patch': name}, page.asking).id}")


def _shown(page: Page, workspace: Workspace, name: str, outcome: PatchOutcome | None = None) -> Response:
    entry, operations = workspace.patch(name)
    try:
        read = read_patch(workspace.patch_folder(name))
    except InputError:
        read = None
    sides = [_sides_of(one) for one in read.operations] if read else [(one.about, "", "") for one in operations]
    rows = [_Sides(operation, *texts) for operation, texts in zip(operations, sides, strict=True)]
    shown = {"rows": rows[:_MOST], "hidden": max(len(rows) - _MOST, 0), "is_there": read is not None}
    return page.render("patch", patch=entry, outcome=outcome, **shown)


def _sides_of(operation: Operation) -> tuple[str, str, str]:
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
