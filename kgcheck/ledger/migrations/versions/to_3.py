"""Base revision of the ledger's migrations: format 3, which kgcheck 0.2 writes."""

revision = "3"
down_revision = None


def upgrade() -> None:
    """Its tables are there: no earlier format is brought forward."""
