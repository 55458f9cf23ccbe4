"""HTTP services (address, rate limit, headers) and their responses."""

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import jiter

from kgcheck.errors import SourceAnswer
from kgcheck.settings import Settings

if TYPE_CHECKING:
    import requests

_UNTOLD = ("text/plain", "application/octet-stream")
"""Content types from servers that know no type of a body."""


class ProviderService(NamedTuple):
    """A service and what is to be known before it is asked.

    ``release_header`` is where each answer names the release; of a service that has none, ``release`` says it.
    """

    name: str
    url: str
    calls_per_s: float
    setting: str
    release_header: str = ""
    release: str = ""
    accept: str = "application/json"
    headers: Mapping[str, str] = {}
    """Headers of every call, say a key; they are neither kept nor shown."""
    has_key: bool = False
    """Mark that calls carry a key, in a header or among their fields."""

    @classmethod
    def from_settings(cls, name: str, key: str, settings: Settings, **more: Any) -> Self:
        """The service whose address and pace are the settings of a key."""
        url, calls_per_s = (getattr(settings, f"{key}_{part}") for part in ("url", "calls_per_s"))
        return cls(name, url, calls_per_s, f"KGCHECK_{key.upper()}_URL", **more)

    def sent_headers(self, agent: str) -> dict[str, str]:
        return {"User-Agent": agent, "Accept": self.accept, "Accept-Encoding": "gzip", **self.headers}


class ServiceAnswer(NamedTuple):
    """Answer of a service."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    url: str
    release: str
    retrieved_at: datetime
    cached: bool

    def json(self) -> Any:
        """The body as strict JSON: a key stands once, nesting ends at 200, numbers are finite, text is UTF-8."""
        kind = self.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        if kind and "json" not in kind and kind not in _UNTOLD:
            raise self._no_json(f"its type is {kind}")
        try:
            return jiter.from_json(self.body, allow_inf_nan=False, catch_duplicate_keys=True)
        except ValueError as error:
            raise self._no_json(str(error)) from error

    def _no_json(self, why: str) -> SourceAnswer:
        begins = self.body[:60].decode(errors="replace").split("\n")[0]
        return SourceAnswer(
            f"{self.url[:160]} answered {self.status} with no JSON: {begins!r} ({why})",
            "an outage, or a page in between: try again later",
        )


def answer_of(response: "requests.Response", release: str, at: datetime, *, cached: bool) -> ServiceAnswer:
    """An answer as it came, or as it was kept."""
    return ServiceAnswer(
        status=response.status_code,
        headers=response.headers,
        body=response.content,
        url=str(response.url),
        release=release,
        retrieved_at=at.replace(microsecond=0),
        cached=cached,
    )
