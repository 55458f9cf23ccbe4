"""Format 2: typed columns instead of JSON bodies."""

from alembic import op

from kgcheck.ledger.migrations.format_1 import copy_rows

revision = "2"
down_revision = None


def upgrade() -> None:
    """From format 1, which only SQLite had."""
    copy_rows(op.get_bind())
