"""The references that are looked into, with their releases and how old these are."""

from datetime import UTC, datetime

from fastapi import APIRouter
from pydantic import Field

from kgcheck import clock
from kgcheck.choices import first_day
from kgcheck.model import Value
from kgcheck.reference.snapshot import SourceRelease
from kgcheck.service.access import Viewer
from kgcheck.service.state import Served

router = APIRouter(prefix="/references", tags=["references"])


class ReleaseRow(Value):
    """One pinned file of one source."""

    source: str
    name: str
    release: str
    released: str = Field(description="the date of the release, as exact as it is known; empty if it is not")
    age_days: int | None = Field(description="since the release came out; null where its date is not known")
    licence: str
    file: str
    sha256: str
    retrieved_at: datetime
    built_at: datetime
    rows: dict[str, int]

    @classmethod
    def of(cls, release: SourceRelease, now: datetime) -> "ReleaseRow":
        day = first_day(release.released)
        age = max((now - day).days, 0) if day else None
        # A snapshot keeps times in UTC, without saying so.
        times = {name: getattr(release, name).replace(tzinfo=UTC) for name in ("retrieved_at", "built_at")}
        return cls(**release.model_dump() | times, age_days=age)


class References(Value):
    """The releases in the snapshot of the service."""

    snapshot: str | None = Field(description="the name of its file; null where the service has none")
    releases: list[ReleaseRow]


@router.get("", operation_id="list_references")
def list_references(service: Served, asking: Viewer) -> References:
    """List the releases in the snapshot, each with its age, its licence and what it holds."""
    now = clock.now()
    with service.reading() as workspace:
        releases = [ReleaseRow.of(release, now) for release in workspace.releases()]
        return References(snapshot=workspace.reference.name if workspace.reference else None, releases=releases)
