"""Alembic runs this: the revisions, on the connection that was handed over and within its transaction."""

from alembic import context

from kgcheck.ledger.tables import METADATA, VERSION

context.configure(
    connection=context.config.attributes["connection"], target_metadata=METADATA, version_table=VERSION.name
)
context.run_migrations()
