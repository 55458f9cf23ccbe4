"""Format 5: findings are added at the end of a table without other indexes; keys and places are tables of their own."""

from alembic import op
from sqlalchemy import (
    Boolean,
    Column,
    Connection,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    insert,
    select,
)

revision = "5"
down_revision = "4"

_INDEXES = ("in_order", "by_reason", "by_subject", "by_object", "by_relation")
_BEFORE = "finding_4"
_COLUMNS = (
    *("fingerprint", "run", "type", "subject_label", "subject_id", "subject_name", "relation", "object_label"),
    *("object_id", "object_name", "attribute", "rule", "value", "outcome", "reason", "confidence", "note", "evidence"),
    *("gaps", "change_kind", "change_to", "change_because", "change_candidates", "basis", "carried_from", "severity"),
    *("by_confidence", "by_score"),
)
"""What stays as it is."""

_ADDED = MetaData()
_RUN = Table("run", _ADDED, Column("number", Integer), Column("id", String))
_FINDING = Table(
    "finding",
    _ADDED,
    Column("number", Integer, primary_key=True),
    Column("fingerprint", String, nullable=False),
    Column("run", ForeignKey("run.id"), nullable=False),
    Column("type", String, nullable=False),
    Column("subject_label", String, nullable=False),
    Column("subject_id", String, nullable=False),
    Column("subject_name", String),
    Column("relation", String),
    Column("object_label", String),
    Column("object_id", String),
    Column("object_name", String),
    Column("attribute", String),
    Column("rule", String),
    Column("value", Text),
    Column("outcome", String, nullable=False),
    Column("reason", String, nullable=False),
    Column("confidence", Float, nullable=False),
    Column("note", Text, nullable=False),
    Column("evidence", Text, nullable=False),
    Column("gaps", Text, nullable=False),
    Column("change_kind", String),
    Column("change_to", Text),
    Column("change_because", Text),
    Column("change_candidates", Text, nullable=False),
    Column("basis", String),
    Column("carried_from", String),
    Column("severity", Integer, nullable=False),
    Column("by_confidence", Float, nullable=False),
    Column("by_score", Float, nullable=False),
    Index("finding_by_run", "run", "number"),
)
_KEY = Table(
    "finding_key",
    _ADDED,
    Column("run", String, primary_key=True),
    Column("fingerprint", String, primary_key=True),
    Column("finding", Integer, nullable=False),
    Column("outcome", String, nullable=False),
    Column("basis", String),
    sqlite_with_rowid=False,
)
_PLACE = Table(
    "finding_place",
    _ADDED,
    Column("run", String, primary_key=True),
    Column("severity", Integer, primary_key=True, autoincrement=False),
    Column("type", String, primary_key=True),
    Column("by_confidence", Float, primary_key=True),
    Column("by_score", Float, primary_key=True),
    Column("reason", String, primary_key=True),
    Column("subject_label", String, primary_key=True),
    Column("subject_id", String, primary_key=True),
    Column("fingerprint", String, primary_key=True),
    Column("finding", Integer, nullable=False),
    Column("relation", String),
    Column("object_label", String),
    sqlite_with_rowid=False,
)
Table(
    "unsettled",
    _ADDED,
    Column("run", ForeignKey("run.id"), primary_key=True),
    Column("after", Integer, nullable=False),
)
Table(
    "compared_state",
    _ADDED,
    Column("run", ForeignKey("run.id"), primary_key=True),
    Column("state", String, primary_key=True),
    Column("fingerprint", String, primary_key=True),
    Column("found_in", String),
    Column("basis", String),
    Index("compared_state_of_finding", "run", "fingerprint"),
    sqlite_with_rowid=False,
)


def upgrade() -> None:
    """Write the findings anew, a run after the other."""
    connection = op.get_bind()
    for name in _INDEXES:
        op.drop_index(f"finding_{name}", "finding")
    op.rename_table("finding", _BEFORE)
    if connection.dialect.name == "postgresql":
        op.execute(f"ALTER INDEX finding_pkey RENAME TO {_BEFORE}_pkey")
    _ADDED.create_all(connection, [t for t in _ADDED.sorted_tables if t is not _RUN], checkfirst=False)
    _copy(connection)
    op.drop_table(_BEFORE)
    op.add_column("comparison", Column("is_listed", Boolean))


def _copy(connection: Connection) -> None:
    before = Table(_BEFORE, MetaData(), *(Column(name) for name in _COLUMNS))
    for run in connection.scalars(select(_RUN.c.id).order_by(_RUN.c.number)).all():
        of_run = select(*(before.c[name] for name in _COLUMNS)).where(before.c.run == run)
        connection.execute(insert(_FINDING).from_select(_COLUMNS, of_run.order_by(before.c.fingerprint)))
        for table in (_KEY, _PLACE):
            names = list(table.columns.keys())
            columns = [_FINDING.c["number" if name == "finding" else name] for name in names]
            order = [_FINDING.c[column.name] for column in table.primary_key.columns]
            rows = select(*columns).where(_FINDING.c.run == run).order_by(*order)
            connection.execute(insert(table).from_select(names, rows))
