"""HTTP API of patches: make, list, show and check them; apply or undo one as a task."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Self

from fastapi import APIRouter, Query
from pydantic import Field, StrictBool, model_validator

from kgcheck.curation.findings import ChosenValue
from kgcheck.ledger.patches import OperationEntry, PatchState
from kgcheck.ledger.work import WorkItem
from kgcheck.model import Value
from kgcheck.service.access import Curator, Principal, Viewer
from kgcheck.service.api.shapes import FINGERPRINT, RUN_ID, Limited, PatchId, Place, ResponseBody
from kgcheck.service.api.tasks import TaskShown
from kgcheck.service.bodies import JsonRoute
from kgcheck.service.state import Served, Service

router = APIRouter(prefix="/patches", tags=["patches"], route_class=JsonRoute)


class WantedFinding(Value):
    """A finding that is to be repaired."""

    fingerprint: str = Field(pattern=FINGERPRINT)
    choose: ChosenValue | None = Field(default=None, description="where a person has to choose: the id or the value")


class MakingPatch(Value):
    """Request for a patch that repairs named findings, or all of a run that were accepted."""

    findings: list[WantedFinding] = Field(default=[], max_length=1_000)
    accepted: StrictBool = Field(default=False, description="every finding of the run that was accepted as it is now")
    run: str = Field(default="latest", pattern=RUN_ID, description="with accepted")

    @model_validator(mode="after")
    def _is_clear(self) -> Self:
        if self.accepted == bool(self.findings):
            raise ValueError("name findings, or all that are accepted, and not both")
        return self


class LeftOutRow(ResponseBody):
    """A finding for which a patch does nothing, and why."""

    finding: str
    why: str


class PatchMadeRow(ResponseBody):
    """Result of making a patch."""

    id: str | None = Field(description="null where there is nothing to repair: no patch was made")
    operations: list[str] = Field(description="in words, in their order")
    left_out: list[LeftOutRow]


class PatchRow(ResponseBody):
    """A patch in the ledger."""

    id: str
    store: Place
    profile: str
    run: str = Field(description="of whose findings it is")
    made: datetime
    by: str
    operations: int
    state: PatchState
    state_at: datetime
    state_by: str


class PatchDetail(PatchRow):
    """A patch with its changes."""

    changes: list[OperationEntry]


class PatchList(ResponseBody):
    """The patches in the ledger, the newest first."""

    patches: list[PatchRow]


class ConflictRow(ResponseBody):
    """An operation that does not fit the graph, and why."""

    number: int
    operation: str
    why: str


class PatchCheck(ResponseBody):
    """Dry run of a patch: what would become of it if it were applied now."""

    patch: str
    state: PatchState
    done: int = Field(description="operations that would fit")
    before: int = Field(description="operations that were done before")
    conflicts: list[ConflictRow]


class Applying(Value):
    """Options for applying a patch."""

    delete: StrictBool = Field(default=False, description="take away what is retired, and do not only mark it")


@router.get("", operation_id="list_patches", response_model=PatchList)
def list_patches(service: Served, asking: Viewer, page: Annotated[Limited, Query()]) -> Any:
    """List patches and how far each has come."""
    with service.reading() as workspace:
        return {"patches": workspace.patches()[: page.limit]}


@router.post("", operation_id="make_patch", status_code=201, response_model=PatchMadeRow)
def make_patch(service: Served, asking: Curator, wanted: MakingPatch) -> Any:
    """Make a patch of findings. Nothing is written to the graph."""
    findings = {one.fingerprint: one.choose for one in wanted.findings}
    # In a workspace of its own, which opens and closes the graph for itself; and while nobody writes to the graph.
    with service.reading(), service.open() as workspace:
        folder = service.new_patch_folder()
        made = workspace.make_patch(folder, findings=findings, accepted=wanted.accepted, run=wanted.run, by=asking.name)
    left_out = [{"finding": item.finding.fingerprint, "why": item.why} for item in made.left_out]
    operations = [words for _, words in made.words()]
    return {"id": made.patch.id if made.patch else None, "operations": operations, "left_out": left_out}


@router.get("/{patch}", operation_id="get_patch", response_model=PatchDetail)
def get_patch(service: Served, asking: Viewer, patch: PatchId) -> Any:
    """Show one patch with its changes in words."""
    with service.reading() as workspace:
        entry, operations = workspace.patch(patch)
    return {**dict(entry), "changes": operations}


@router.post("/{patch}/check", operation_id="check_patch", response_model=PatchCheck)
def check_patch(service: Served, asking: Viewer, patch: PatchId) -> Any:
    """Say what of a patch would conflict now. Nothing is written."""
    with service.reading() as shared, service.open() as workspace:
        return workspace.check_patch(shared.patch_folder(patch)).as_row()


@router.post("/{patch}/apply", operation_id="apply_patch", status_code=202, response_model=TaskShown)
def apply_patch(service: Served, asking: Curator, patch: PatchId, how: Applying | None = None) -> Any:
    """Do every operation of a patch that the graph still fits, as a task; one that was cut short goes on."""
    wanted = {"patch": patch, "delete": bool(how and how.delete)}
    return begin_patch(service, "patch_apply", wanted, asking).as_row()


@router.post("/{patch}/undo", operation_id="undo_patch", status_code=202, response_model=TaskShown)
def undo_patch(service: Served, asking: Curator, patch: PatchId) -> Any:
    """Give the graph back as it was before a patch, as a task."""
    return begin_patch(service, "patch_undo", {"patch": patch}, asking).as_row()


def begin_patch(service: Service, kind: str, wanted: Mapping[str, Any], asking: Principal) -> WorkItem:
    """Begin to apply or undo a patch, as a task."""
    with service.reading() as workspace:
        # Refused here and now where there is none, and not in a task.
        workspace.patch_folder(wanted["patch"])
    return service.tasks.start(kind, wanted, asking)
