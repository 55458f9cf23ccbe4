"""Brings a ledger of an earlier format to the present one: runs the revisions of kgcheck.ledger.migrations."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, insert, inspect

from kgcheck.ledger.tables import FORMAT, VERSION

_FIRST_OF_ALEMBIC = 3
"""The first format whose ledgers have the table of the version."""


def configuration(connection: Connection) -> Config:
    """What Alembic must know."""
    made = Config()
    # Alembic reads its options as Python's configparser does.
    made.set_main_option("script_location", str(Path(__file__).with_name("migrations")).replace("%", "%%"))
    made.attributes["connection"] = connection
    return made


def migrate(connection: Connection, earlier: int) -> None:
    """Bring the tables to the present format, within the transaction that is under way."""
    if earlier < _FIRST_OF_ALEMBIC and not inspect(connection).has_table(VERSION.name):
        VERSION.create(connection)
        if earlier > 1:
            connection.execute(insert(VERSION).values(version_num=str(earlier)))
    command.upgrade(configuration(connection), str(FORMAT))
