"""KeptReplies: replies of language models on disk, so that a repeated or killed work pays nothing twice."""

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from datetime import timedelta
from typing import Any

from pydantic import AwareDatetime

from kgcheck import clock
from kgcheck.closing import Closing
from kgcheck.errors import ConfigurationError
from kgcheck.model import Value
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


class _Kept(Value):
    at: AwareDatetime
    reply: dict[str, Any]


class KeptReplies(Closing):
    """Replies by the digest of endpoint, model, settings and conversation; of what was asked, the digest alone."""

    def __init__(self, settings: Settings) -> None:
        # It takes a while to be imported.
        from requests_cache.backends.sqlite import SQLiteDict

        self._folder, self._life = settings.cache_dir, timedelta(days=settings.llm_keep_days)
        self.found = 0
        with self._keeping():
            make_folder(self._folder, secret=True)
            file = self._folder / "model_replies.sqlite"
            make_private_file(file)
            self._replies = SQLiteDict(file, "reply", busy_timeout=30_000, serializer=None)

    @classmethod
    def of(cls, settings: Settings) -> "KeptReplies | None":
        """The kept replies; None where each question is to be asked anew."""
        return None if _FRESH.get() or not settings.llm_keep_days else cls(settings)

    def find(self, address: str, request: Mapping[str, Any]) -> Any:
        """The reply to a request as it was kept, or None where there is none, or too old a one."""
        with self._keeping(), suppress(KeyError, ValueError):
            kept = _Kept.model_validate_json(self._replies[_digest(address, request)])
            if clock.exact_now() - kept.at <= self._life:
                self.found += 1
                return kept.reply
        return None

    def keep(self, address: str, request: Mapping[str, Any], reply: Mapping[str, Any]) -> None:
        with self._keeping():
            kept = _Kept(at=clock.exact_now(), reply=dict(reply))
            self._replies[_digest(address, request)] = kept.model_dump_json()

    def close(self) -> None:
        self._replies.close()  # type: ignore[no-untyped-call]

    @contextmanager
    def _keeping(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise ConfigurationError(
                f"cannot keep replies of models in {self._folder}: {error}",
                "free space, remove model_replies.sqlite there, or set KGCHECK_LLM_KEEP_DAYS to 0",
            ) from error


def _digest(address: str, request: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps([address, request], sort_keys=True).encode()).hexdigest()
