"""Format 3: the basis of findings, decisions, comparisons of runs, patches, jobs."""

from collections.abc import Iterator
from typing import Any

from alembic import op
from sqlalchemy import (
    Column,
    Connection,
    Date,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    bindparam,
    inspect,
    null,
    select,
    tuple_,
    update,
)

from kgcheck.ledger import tables
from kgcheck.ledger.basis import basis_of
from kgcheck.ledger.migrations.format_2 import FINDING
from kgcheck.ledger.rows import finding_of
from kgcheck.ledger.tables import UtcTime

revision = "3"
down_revision = "2"

_TOGETHER = 5_000

_COLUMNS = (
    ("finding", "basis", String),
    ("finding", "carried_from", String),
    ("run", "made_with", Text),
    ("run_release", "released", String),
)
"""New columns of tables that were there; all may be absent."""

_ADDED = MetaData()

Table("run", _ADDED, Column("id", String))

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
Table(
    "comparison",
    _ADDED,
    Column("run", ForeignKey("run.id"), primary_key=True),
    Column("before", String),
    Column("at", UtcTime, nullable=False),
    Column("counts", Text, nullable=False),
)
Table(
    "compared",
    _ADDED,
    Column("fingerprint", String, primary_key=True),
    Column("run", ForeignKey("run.id"), primary_key=True),
    Column("state", String, nullable=False),
    Column("why", Text, nullable=False),
    Column("found_in", String, nullable=False),
    Column("type", String, nullable=False),
    Column("subject_label", String, nullable=False),
    Column("relation", String),
    Column("object_label", String),
    Column("outcome", String, nullable=False),
    Column("reason", String, nullable=False),
    Column("basis", String),
    Column("about", Text, nullable=False),
    Index("compared_by_state", "run", "state", "fingerprint"),
)
Table(
    "patch",
    _ADDED,
    Column("number", Integer, primary_key=True),
    Column("id", String, unique=True, nullable=False),
    Column("store", String, nullable=False),
    Column("profile", String, nullable=False),
    Column("run", String, nullable=False),
    Column("folder", String, nullable=False),
    Column("made", UtcTime, nullable=False),
    Column("by", String, nullable=False),
    Column("operations", Integer, nullable=False),
    Column("state", String, nullable=False),
    Column("state_at", UtcTime, nullable=False),
    Column("state_by", String, nullable=False),
)
Table(
    "operation",
    _ADDED,
    Column("patch", ForeignKey("patch.id"), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("kind", String, nullable=False),
    Column("finding", String, nullable=False),
    Column("about", Text, nullable=False),
    Column("state", String, nullable=False),
    Column("why", Text, nullable=False),
    Index("operation_by_finding", "finding"),
)
_JOB_RUN = Table(
    "job_run",
    _ADDED,
    Column("number", Integer, primary_key=True),
    Column("job", String, nullable=False),
    Column("state", String, nullable=False),
    Column("planned", UtcTime),
    Column("started", UtcTime, nullable=False),
    Column("finished", UtcTime),
    Column("worker", String, nullable=False),
    Column("lease_until", UtcTime, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("run", String),
    Column("severity", String),
    Column("message", Text, nullable=False),
    Column("result", Text, nullable=False),
    Index("job_run_by_job", "job", "number"),
)
_ONE = _JOB_RUN.c.state == "running"
Index("job_run_under_way", _JOB_RUN.c.job, unique=True, sqlite_where=_ONE, postgresql_where=_ONE)
Table(
    "job_schedule",
    _ADDED,
    Column("job", String, primary_key=True),
    Column("schedule", String, nullable=False),
    Column("since", UtcTime, nullable=False),
)


def upgrade() -> None:
    """Add what is new, and compute it for findings that are there."""
    connection = op.get_bind()
    for table, name, kind in _COLUMNS:
        op.add_column(table, Column(name, kind))
    _add_basis(connection)
    there = inspect(connection).get_table_names()
    _ADDED.create_all(connection, [t for t in _ADDED.sorted_tables if t.name not in there], checkfirst=False)


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
    # What findings have now and had not then, so that a row can be read.
    later = [null().label(c.name) for c in tables.FINDING.c if c.name not in FINDING.c]
    every = select(FINDING, *later).order_by(FINDING.c.fingerprint, FINDING.c.run).limit(_TOGETHER)
    rows = list(connection.execute(every))
    while rows:
        yield rows
        rows = list(connection.execute(every.where(key > tuple_(rows[-1].fingerprint, rows[-1].run))))
