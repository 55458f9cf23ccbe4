"""Statements of SQLite ledgers, compiled once for all of a process; a plugin that `tests/conftest.py` loads.

SQLAlchemy keeps them with the engine, and nearly every test has a ledger of its own: a fifth of an audit went into it.
"""

from typing import Any

from sqlalchemy import Connection, Engine, event
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.util import LRUCache

_compiled: LRUCache[Any, Any] = LRUCache(2_000)


@event.listens_for(Engine, "engine_connect")
def _share(connection: Connection) -> None:
    if isinstance(connection.dialect, SQLiteDialect_pysqlite):
        connection.engine._compiled_cache = _compiled


# The dialect is a part of the key under which a statement is kept, and that of one file is as that of any other.
SQLiteDialect_pysqlite.__hash__ = lambda self: hash(type(self))  # type: ignore[method-assign]
SQLiteDialect_pysqlite.__eq__ = lambda self, other: type(self) is type(other)  # type: ignore[method-assign]
