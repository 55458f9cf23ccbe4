"""From format 3 to the tables of the code."""

from alembic import op
from sqlalchemy import Boolean, Column, String, column, insert, select, table, update

from kgcheck.ledger.settling import settle_run
from kgcheck.ledger.tables import FINDING, FINDING_COLUMNS, METADATA, RUN

revision = "7"
down_revision = "3"

_OLD = "finding_3"


def upgrade() -> None:
    """Write findings anew, with keys and places in tables of their own, add the new tables, and name the stores."""
    connection = op.get_bind()
    for name in ("in_order", "by_reason", "by_subject", "by_object", "by_relation"):
        op.drop_index(f"finding_{name}", "finding")
    op.rename_table("finding", _OLD)
    if connection.dialect.name == "postgresql":
        op.execute(f"ALTER INDEX finding_pkey RENAME TO {_OLD}_pkey")
    METADATA.create_all(connection)
    op.add_column("comparison", Column("is_listed", Boolean))
    op.add_column("run", Column("store_id", String))
    # By their places, as they were known till now.
    connection.execute(update(RUN).values(store_id=RUN.c.store))
    # Of the patches that are there nobody knows whether they were made here.
    op.add_column("patch", Column("digest", String))
    old = table(_OLD, *map(column, FINDING_COLUMNS))
    connection.execute(insert(FINDING).from_select(FINDING_COLUMNS, select(old)))
    for run in connection.scalars(select(RUN.c.id)).all():
        settle_run(connection, run, 0)
    op.drop_table(_OLD)
