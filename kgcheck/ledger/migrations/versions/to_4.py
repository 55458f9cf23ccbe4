"""Format 4: who may use a service, their sessions, what they did, and its tasks."""

from alembic import op
from sqlalchemy import Boolean, Column, ForeignKey, Index, Integer, MetaData, String, Table, Text

from kgcheck.ledger.tables import UtcTime

revision = "4"
down_revision = "3"

_ADDED = MetaData()

Table(
    "service_token",
    _ADDED,
    Column("number", Integer, primary_key=True),
    Column("id", String, unique=True, nullable=False),
    Column("name", String, nullable=False),
    Column("role", String, nullable=False),
    Column("digest", String, nullable=False),
    Column("created", UtcTime, nullable=False),
    Column("created_by", String, nullable=False),
    Column("expires", UtcTime),
    Column("revoked", UtcTime),
    Column("last_used", UtcTime),
    Index("service_token_by_name", "name"),
)
Table(
    "service_session",
    _ADDED,
    Column("digest", String, primary_key=True),
    Column("token", ForeignKey("service_token.id"), nullable=False),
    Column("csrf", String, nullable=False),
    Column("created", UtcTime, nullable=False),
    Column("expires", UtcTime, nullable=False),
    Column("ended", UtcTime),
)
Table(
    "service_action",
    _ADDED,
    Column("number", Integer, primary_key=True),
    Column("at", UtcTime, nullable=False),
    Column("name", String, nullable=False),
    Column("role", String, nullable=False),
    Column("address", String, nullable=False),
    Column("method", String, nullable=False),
    Column("route", String, nullable=False),
    Column("object", Text, nullable=False),
    Column("status", Integer, nullable=False),
    Index("service_action_by_name", "name", "number"),
)
Table(
    "service_task",
    _ADDED,
    Column("number", Integer, primary_key=True),
    Column("id", String, unique=True, nullable=False),
    Column("kind", String, nullable=False),
    Column("parameters", Text, nullable=False),
    Column("state", String, nullable=False),
    Column("step", String, nullable=False),
    Column("done", Integer, nullable=False),
    Column("total", Integer),
    Column("by", String, nullable=False),
    Column("created", UtcTime, nullable=False),
    Column("started", UtcTime),
    Column("ended", UtcTime),
    Column("run", String),
    Column("noted", Text, nullable=False),
    Column("result", Text, nullable=False),
    Column("error", Text, nullable=False),
    Column("stop", Boolean, nullable=False),
    Column("worker", String, nullable=False),
    Column("lease_until", UtcTime),
    Column("attempt", Integer, nullable=False),
    Column("version", Integer, nullable=False),
    Index("service_task_by_state", "state", "number"),
)


def upgrade() -> None:
    """Add what is new."""
    _ADDED.create_all(op.get_bind(), checkfirst=False)
