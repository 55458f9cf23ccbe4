"""KeptReplies: replies of language models on disk, so that a repeated or killed work pays nothing twice."""

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import timedelta
from typing import Any

from kgcheck import clock
from kgcheck.closing import Closing
from kgcheck.outputs import make_folder, make_private_file
from kgcheck.settings import Settings

_FRESH: ContextVar[bool] = ContextVar("fresh_replies", default=False)


@contextmanager
def fresh_replies() -> Iterator[None]:
    """Let the clients that are opened in the block, or in a function so decorated, use no kept replies: runs differ."""
    token = _FRESH.set(True)
    try:
        yield
    finally:
        _FRESH.reset(token)


class KeptReplies(Closing):
    """Replies by the digest of endpoint, model, settings and conversation; of what was asked, the digest alone.

    They are never needed: where they cannot be read or written, a note says so once, and the model is asked.
    """

    def __init__(self, settings: Settings, notes: list[str]) -> None:
        self._folder, self._life, self._notes = settings.cache_dir, timedelta(days=settings.llm_keep_days), notes
        self._db: sqlite3.Connection | None = None
        if settings.llm_keep_days and not _FRESH.get():
            with self._noting():
                make_folder(self._folder, secret=True)
                file = self._folder / "model_replies.sqlite"
                make_private_file(file)
                self._db = sqlite3.connect(file, timeout=30, isolation_level=None, check_same_thread=False)
                self._db.execute("CREATE TABLE IF NOT EXISTS kept (digest TEXT PRIMARY KEY, at REAL, reply TEXT)")
                self._db.execute("DELETE FROM kept WHERE at < ?", [self._oldest])

    @property
    def _oldest(self) -> float:
        return (clock.exact_now() - self._life).timestamp()

    def find(self, address: str, request: Mapping[str, Any]) -> str | None:
        """The reply to a request as it was kept, or None where there is none, or too old a one."""
        with self._noting():
            if self._db:
                wanted = "SELECT reply FROM kept WHERE digest = ? AND at >= ?"
                rows = self._db.execute(wanted, [_digest(address, request), self._oldest]).fetchall()
                return str(rows[0][0]) if rows else None
        return None

    def keep(self, address: str, request: Mapping[str, Any], reply: str) -> None:
        with self._noting():
            if self._db:
                row = [_digest(address, request), clock.exact_now().timestamp(), reply]
                self._db.execute("INSERT OR REPLACE INTO kept VALUES (?, ?, ?)", row)

    def close(self) -> None:
        db, self._db = self._db, None
        if db:
            db.close()

    @contextmanager
    def _noting(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            self.close()
            self._notes.append(f"replies of models are not kept in {self._folder}, and are paid for again: {error}")


def _digest(address: str, request: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps([address, request], sort_keys=True).encode()).hexdigest()
