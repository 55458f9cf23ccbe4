"""One engine for everybody in this process who has the same database open: it is dear to make, and keeps connections.

The last one who lets it go closes it, as if each had one alone: a file that nobody has open has no log beside it.
"""

import os
from collections.abc import Callable, Hashable
from threading import Lock

from sqlalchemy import Engine

_open: dict[Hashable, list[Engine]] = {}
"""The engine of a database, once for each who has it."""
_lock = Lock()


def shared_engine(database: Hashable, make: Callable[[], Engine]) -> Engine:
    """The engine of a database, to be let go with `let_go`."""
    with _lock:
        # A process that was forked must not touch connections of the one before.
        users = _open.setdefault((os.getpid(), database), [])
        users.append(users[0] if users else make())
        return users[0]


def let_go(engine: Engine) -> None:
    """Close the connections of an engine when nobody else has it."""
    with _lock:
        for database, users in list(_open.items()):
            if engine in users:
                users.remove(engine)
                if users:
                    return
                del _open[database]
    engine.dispose()


def _begin_anew() -> None:
    global _lock
    _lock = Lock()


os.register_at_fork(after_in_child=_begin_anew)
