"""Answers of services that are kept on disk, each under the release that gave it."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import requests
from requests_cache.backends.sqlite import SQLiteCache

from kgcheck import clock
from kgcheck.closing import Closing
from kgcheck.errors import ConfigurationError
from kgcheck.outputs import make_folder, make_private_file
from kgcheck.providers.answers import ProviderService, ServiceAnswer, answer_of
from kgcheck.providers.transport import without_body
from kgcheck.settings import Settings


class KeptAnswers(Closing):
    """Answers by release and question. What is kept was read whole before, and is read as strictly again."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        with self._keeping():
            make_folder(settings.cache_dir, secret=True)
            file = settings.cache_dir / "answers.sqlite"
            make_private_file(file)
            self._cache = SQLiteCache(file, serializer="json", busy_timeout=30_000)

    def find(self, service: ProviderService, request: requests.PreparedRequest) -> ServiceAnswer | None:
        """The answer to a question, or None where none of the newest known release is kept."""
        release = self._release(service)
        with self._keeping():
            found = self._cache.get_response(self._key(release, request)) if release else None
        if found is None or (found.is_expired and not self._settings.offline):
            return None
        return answer_of(found, release, found.created_at, cached=True)

    def keep(
        self, service: ProviderService, release: str, request: requests.PreparedRequest, response: requests.Response
    ) -> None:
        """Keep an answer, and that its release is the newest."""
        ends = clock.now() + timedelta(days=self._settings.cache_days)
        # The question is kept with the answer, and a key may be among the headers of the service.
        response.request = response.request.copy()
        for name in service.headers:
            response.request.headers.pop(name, None)
        with self._keeping():
            self._cache.save_response(response, self._key(release, request), ends)
        if service.release_header and release != self._release(service):
            ends = clock.now() + timedelta(hours=self._settings.release_hours)
            with self._keeping():
                self._cache.save_response(without_body(response), f"release {service.url}", ends)

    def close(self) -> None:
        """Close the files."""
        self._cache.close()  # type: ignore[no-untyped-call]

    def _release(self, service: ProviderService) -> str:
        """The service's release as far as it is known."""
        if not service.release_header:
            return service.release
        with self._keeping():
            found = self._cache.get_response(f"release {service.url}")
        if found is None or (found.is_expired and not self._settings.offline):
            return ""
        return str(found.headers.get(service.release_header, ""))

    @contextmanager
    def _keeping(self) -> Iterator[None]:
        """Say where answers are kept if they cannot be."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise ConfigurationError(
                f"cannot keep answers in {self._settings.cache_dir}: {error}",
                "free space, remove answers.sqlite there, or set KGCHECK_CACHE_DIR to another folder",
            ) from error

    def _key(self, release: str, request: requests.PreparedRequest) -> str:
        return f"{release} {self._cache.create_key(request)}"
