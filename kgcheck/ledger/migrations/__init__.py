"""Migrations of a ledger from an earlier format to the present one, with Alembic."""
