"""How a ledger of an earlier format becomes one of the present format, with Alembic."""
