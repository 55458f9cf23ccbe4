"""Format 3: the basis of findings, and decisions."""

from collections.abc import Iterator
from typing import Any

from alembic import op
from sqlalchemy import (
    Column,
    Connection,
    Date,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    bindparam,
    select,
    tuple_,
    update,
)

from kgcheck.ledger.basis import basis_of
from kgcheck.ledger.migrations.format_2 import FINDING
from kgcheck.ledger.rows import finding_of
from kgcheck.ledger.tables import UtcTime

revision = "3"
down_revision = "2"

_TOGETHER = 5_000

_ADDED = MetaData()

Table(
    "decision",
    _ADDED,
    Column("number", Integer, primary_key=True),
    Column("fingerprint", String, nullable=False),
    Column("basis", String, nullable=False),
    Column("action", String, nullable=False),
    Column("chosen", Text),
    Column("note", Text, nullable=False),
    Column("until", Date),
    Column("by", String, nullable=False),
    Column("at", UtcTime, nullable=False),
    Column("run", String, nullable=False),
    Column("about", Text, nullable=False),
    Column("reason", String, nullable=False),
    Column("proposed", Text, nullable=False),
    Index("decision_by_finding", "fingerprint", "basis", "at", "number"),
    Index("decision_by_action", "action"),
)


def upgrade() -> None:
    """Add what is new, and compute it for findings that are there."""
    connection = op.get_bind()
    op.add_column("finding", Column("basis", String))
    _add_basis(connection)
    _ADDED.create_all(connection, checkfirst=False)


def _add_basis(connection: Connection) -> None:
    found = FINDING.alias()
    key = (found.c.fingerprint, found.c.run)
    add = update(Table("finding", MetaData(), Column("basis", String), *(Column(c.name, String) for c in key)))
    add = add.where(*(add.table.c[c.name] == bindparam(f"of_{c.name}") for c in key)).values(basis=bindparam("made"))
    for rows in _batches(connection):
        made = [{"of_fingerprint": r.fingerprint, "of_run": r.run, "made": basis_of(finding_of(r))} for r in rows]
        connection.execute(add, made)


def _batches(connection: Connection) -> Iterator[list[Any]]:
    """Findings, some thousands at a time, in the order of their key."""
    key = tuple_(FINDING.c.fingerprint, FINDING.c.run)
    every = select(FINDING).order_by(FINDING.c.fingerprint, FINDING.c.run).limit(_TOGETHER)
    rows = list(connection.execute(every))
    while rows:
        yield rows
        rows = list(connection.execute(every.where(key > tuple_(rows[-1].fingerprint, rows[-1].run))))
