"""Brings a ledger of the release before to the present format: runs the revision of kgcheck.ledger.migrations."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection

from kgcheck.ledger.tables import FORMAT


def configuration(connection: Connection) -> Config:
    """Options of Alembic for a connection."""
    made = Config()
    # Alembic reads its options as Python's configparser does.
    made.set_main_option("script_location", str(Path(__file__).with_name("migrations")).replace("%", "%%"))
    made.attributes["connection"] = connection
    return made


def migrate(connection: Connection) -> None:
    """Bring the tables to the present format, within the transaction that is under way."""
    command.upgrade(configuration(connection), str(FORMAT))
