"""Alembic environment of the ledger's migrations, on the connection that was handed over."""

from alembic import context

from kgcheck.ledger.tables import METADATA, VERSION

context.configure(
    connection=context.config.attributes["connection"], target_metadata=METADATA, version_table=VERSION.name
)
context.run_migrations()
