"""PatchTable: patches in the ledger, with their operations and the state of each.

The store is the record of what was done in it (`kgcheck.curation.patches`); this is the list that people look at.
"""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from pathlib import Path

from pydantic import Field
from sqlalchemy import Column, ForeignKey, Index, Integer, String, delete, insert, select, update

from kgcheck.errors import AmbiguousName, InputMissing, UnknownName
from kgcheck.ledger.rows import batches
from kgcheck.ledger.tables import LedgerTable, read_row, table_of
from kgcheck.model import Value


class PatchState(StrEnum):
    """State of a patch in its store."""

    MADE = "made"
    APPLYING = "applying"
    APPLIED = "applied"
    UNDOING = "undoing"
    UNDONE = "undone"


class OperationState(StrEnum):
    """State of one operation."""

    OPEN = "open"
    DONE = "done"
    CONFLICT = "conflict"


class PatchEntry(Value):
    """A patch as the ledger knows it."""

    id: str
    store: str
    profile: str
    run: str
    folder: str
    made: datetime
    by: str
    operations: int
    state: PatchState = PatchState.MADE
    state_at: datetime
    state_by: str
    digest: str | None = Field(
        default=None, description="of the patch as it was made here; null: it came from elsewhere"
    )


PATCH = table_of(
    "patch",
    PatchEntry,
    Column("number", Integer, primary_key=True, comment="in the order in which they came into this ledger"),
    Column("id", String, unique=True, nullable=False, comment="the beginning of its digest"),
)


class OperationEntry(Value):
    """One change of a patch."""

    number: int
    kind: str
    finding: str
    about: str = Field(description="the change in words")
    state: OperationState = OperationState.OPEN
    why: str = Field(default="", description="of a conflict")


OPERATION = table_of(
    "operation",
    OperationEntry,
    Column("patch", ForeignKey("patch.id"), primary_key=True),
    Index("operation_by_finding", "finding"),
    text=("about", "why"),
)


class PatchTable(LedgerTable):
    """Reads and writes patches."""

    def keep(self, patch: PatchEntry, operations: Sequence[OperationEntry]) -> None:
        """Write down a patch with its operations, all or nothing; of one that is known, how far it has come."""
        row = patch.model_dump() | {"state": patch.state.value}
        with self._database.writing() as connection:
            known = connection.scalar(select(PATCH.c.id).where(PATCH.c.id == patch.id))
            if known:
                # Who made it does not change by what becomes of it.
                del row["digest"]
                connection.execute(update(PATCH).where(PATCH.c.id == patch.id).values(**row))
                connection.execute(delete(OPERATION).where(OPERATION.c.patch == patch.id))
            else:
                connection.execute(insert(PATCH).values(**row))
            rows = [{"patch": patch.id, **o.model_dump(), "state": o.state.value} for o in operations]
            for some in batches(rows):
                connection.execute(insert(OPERATION), some)

    def made(self, digest: str) -> bool:
        """Tell whether a patch was made with this ledger, and is as it was made."""
        with self._database.reading_once() as connection:
            return connection.scalar(select(PATCH.c.id).where(PATCH.c.digest == digest)) is not None

    def all(self) -> list[PatchEntry]:
        with self._database.reading() as connection:
            return [
                read_row(PatchEntry, row) for row in connection.execute(select(PATCH).order_by(PATCH.c.number.desc()))
            ]

    def one(self, name: str) -> tuple[PatchEntry, list[OperationEntry]]:
        patches = self.all()
        found = [p for p in patches if p.id.startswith(name)]
        if not name or not found:
            raise UnknownName("patch", name, [p.id for p in patches], "" if patches else "no patch yet")
        if len(found) > 1:
            raise AmbiguousName(f"several patches begin with {name!r}", ", ".join(p.id for p in found))
        ordered = select(OPERATION).where(OPERATION.c.patch == found[0].id).order_by(OPERATION.c.number)
        with self._database.reading() as connection:
            return found[0], [read_row(OperationEntry, row) for row in connection.execute(ordered)]

    def folder(self, name: str) -> Path:
        patch, _ = self.one(name)
        if not (folder := Path(patch.folder)).is_dir():
            raise InputMissing(f"the files of the patch {patch.id} are not there any more", "make it again")
        return folder
