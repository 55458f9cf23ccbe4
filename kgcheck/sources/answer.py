"""A service, and what it said."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

import requests

from kgcheck.errors import SourceAnswer


class Service(NamedTuple):
    """A service and what is to be known before it is asked.

    ``release_header`` is where each answer names the release; of a service that has none, ``release`` says it.
    """

    name: str
    url: str
    calls_per_s: float
    setting: str
    release_header: str = ""
    release: str = ""


class Answer(NamedTuple):
    """What a service said."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    url: str
    release: str
    retrieved_at: datetime
    cached: bool

    def json(self) -> Any:
        """The body as JSON.

        Returns:
            The value.

        Raises:
            SourceAnswer: It is none: a page, or half of it.
        """
        try:
            return json.loads(self.body)
        except ValueError as error:
            begins = self.body[:60].decode(errors="replace").split("\n")[0]
            raise SourceAnswer(
                f"{self.url} answered {self.status} with no JSON: {begins!r} ({error})",
                "an outage, or a page in between: try again later",
            ) from error


def answer_of(
    response: requests.Response, release: str, at: datetime, *, cached: bool, body: bytes | None = None
) -> Answer:
    """An answer as it came, or as it was kept; of a body that is not to be read, nothing."""
    return Answer(
        status=response.status_code,
        headers=response.headers,
        body=response.content if body is None else body,
        url=str(response.url),
        release=release,
        retrieved_at=at.replace(microsecond=0),
        cached=cached,
    )
