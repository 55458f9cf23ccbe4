"""The only place of kgcheck that asks services over the network.

A call waits for its turn (one pace a host, across processes), is repeated when the service asks to wait or fails, never
follows a redirect, ends after a time and a size, and its answer is kept on disk under the release that gave it. What
goes wrong is an error of the tree under `SourceError`, or a `ConfigurationError` where the address is wrong.
"""

import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import TypeVar
from urllib.parse import quote, urlencode, urlsplit

import requests
from requests_cache.backends.sqlite import SQLiteCache
from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_attempt
from urllib3.util import Retry

from kgcheck import __version__
from kgcheck.closing import Closing
from kgcheck.errors import (
    ConfigurationError,
    SourceAnswer,
    SourceBusy,
    SourceError,
    SourceOffline,
    SourceRefused,
    SourceTimeout,
    SourceUnreachable,
)
from kgcheck.settings import Settings
from kgcheck.sources.answer import Answer, Service, answer_of
from kgcheck.sources.faults import WIRE_ERRORS, error_for
from kgcheck.sources.pace import Pace
from kgcheck.sources.wire import BoundedAdapter, TooLarge, WatchedAdapter, session_over, without_body

__all__ = ["Answer", "Http", "Service"]

T = TypeVar("T")

_AGAIN = (SourceUnreachable, SourceTimeout, SourceBusy, SourceAnswer)
"""Errors that may be gone at the next attempt: half an answer is as likely a broken connection as a broken service."""

_DOWN = (SourceUnreachable, SourceTimeout, SourceBusy)
"""Errors of a whole service, which is then left alone for a while."""

_WRONG_IN_A_ROW = 3
"""Answers in a row that are none, after which a service passes as down: one may be about one record only."""

_BUSY = frozenset({408, 425, 429, 500, 502, 503, 504})


class Http(Closing):
    """Asks services.

    Args:
        settings: Limits, addresses, where answers are kept.
        sleep: How to wait.

    Raises:
        ConfigurationError: Answers cannot be kept where the settings say.
    """

    def __init__(self, settings: Settings, sleep: Callable[[float], None] = time.sleep) -> None:
        self.settings = settings
        self.sleep = sleep
        self._session: requests.Session | None = None
        self._file_session: requests.Session | None = None
        self._paces: dict[str, Pace] = {}
        self._down: dict[str, tuple[float, SourceError]] = {}
        self._wrong: dict[str, int] = {}
        self.calls = 0
        with self._keeping():
            settings.cache_dir.mkdir(parents=True, exist_ok=True)
            self._cache = SQLiteCache(settings.cache_dir / "answers.sqlite", serializer="json", busy_timeout=30_000)

    def ask(
        self,
        service: Service,
        path: str,
        read: Callable[[Answer], T],
        *,
        params: Mapping[str, object] | None = None,
        form: Mapping[str, object] | None = None,
        fresh: bool = False,
        keep: Callable[[T], bool] | None = None,
    ) -> T:
        """Ask a service, unless its answer is kept.

        Args:
            service: Which.
            path: Of the address, after the service's own; or a whole address at the same service.
            read: Makes of an answer what is wanted; it must raise SourceAnswer for one that the API does not promise,
                which is then asked for again, and is not kept.
            params: Of the query.
            form: Posts these fields; without them it is a GET.
            fresh: Take no kept answer, and keep this one only if ``keep`` says so.
            keep: Whether to keep an answer, by what ``read`` made of it; without it, every one that is not fresh.

        Returns:
            What ``read`` makes.

        Raises:
            SourceError: The service could not be looked at.
            SourceAnswer: It says what it does not promise.
            SourceOffline: It was not asked.
            ConfigurationError: Its address is wrong.
        """
        request = self._prepare(service, path, params, form)
        kept = None if fresh else self._kept(service, request)
        if kept is not None:
            # What an older version took for an answer may be none to this one.
            with suppress(SourceAnswer):
                return read(kept)
        if self.settings.offline:
            raise SourceOffline(
                f"{service.name} was not asked, for kgcheck is offline and this answer is not kept: {_shown(request)}",
                "leave --offline out, or unset KGCHECK_OFFLINE",
            )
        until, error = self._down.get(service.url, (0.0, None))
        if error and time.monotonic() < until:
            raise error
        try:
            made: T = self._attempts()(self._call, service, request, read, keep or (lambda made: not fresh))
        except (*_DOWN, SourceAnswer) as error:
            self._wrong[service.url] = self._wrong.get(service.url, 0) + 1
            if isinstance(error, _DOWN) or self._wrong[service.url] >= _WRONG_IN_A_ROW:
                self._down[service.url] = (time.monotonic() + self.settings.http_pause_s, error)
            raise
        self._wrong[service.url] = 0
        return made

    def repeat(self, work: Callable[[], T]) -> T:
        """Do a piece of work again while it fails for a cause that may be gone, waiting as for a call."""
        made: T = self._attempts()(work)
        return made

    @contextmanager
    def stream(self, service: Service, url: str, headers: Mapping[str, str]) -> Iterator[requests.Response]:
        """Open a file at a provider, to be read as it comes; nothing of it is kept here.

        Args:
            service: The provider.
            url: The file.
            headers: Of the call, besides the user agent.

        Yields:
            The answer, whatever its status but busy or refused.

        Raises:
            SourceOffline: kgcheck is to stay offline.
            wrong: The file cannot be reached, see kgcheck.sources.faults.
        """
        if self.settings.offline:
            raise SourceOffline(f"{url} was not fetched, for kgcheck is offline", "leave --offline out")
        self._pace(service).wait()
        self.calls += 1
        timeout = (self.settings.connect_timeout_s, self.settings.http_timeout_s)
        try:
            response = self._files().get(
                url,
                headers={"User-Agent": self._agent(), **headers},
                timeout=timeout,
                stream=True,
                allow_redirects=False,
            )
        except WIRE_ERRORS as error:
            wrong = error_for(error, service.name, url)
            raise wrong from error
        with response:
            answer = answer_of(response, "", datetime.now(UTC), cached=False, body=b"")
            _refuse_status(service, answer, response)
            yield response

    def close(self) -> None:
        """Close connections and files."""
        for session in (self._session, self._file_session):
            if session:
                session.close()
        self._cache.close()  # type: ignore[no-untyped-call]

    def _prepare(
        self, service: Service, path: str, params: Mapping[str, object] | None, form: Mapping[str, object] | None
    ) -> requests.PreparedRequest:
        if path.startswith(("http://", "https://")):
            url = path
            if urlsplit(url)[:2] != urlsplit(service.url)[:2]:
                raise SourceAnswer(
                    f"{service.name} pointed to another place than {service.url}: {url}", "only its own are followed"
                )
        else:
            url = service.url.rstrip("/") + path
        if params:
            # Commas stay as they are: a thousand ids must fit into a line.
            url += ("&" if "?" in url else "?") + urlencode(params, safe=",", quote_via=quote)
        try:
            return requests.Request(
                "POST" if form else "GET",
                url,
                data=form,
                headers={"User-Agent": self._agent(), "Accept": "application/json", "Accept-Encoding": "gzip"},
            ).prepare()
        except (*WIRE_ERRORS, ValueError) as error:
            raise ConfigurationError(
                f"the address of {service.name} cannot be used: {service.url}: {error}", f"correct {service.setting}"
            ) from error

    def _agent(self) -> str:
        contact = self.settings.contact or "no contact given"
        return f"kgcheck/{__version__} ({contact})"

    def _kept(self, service: Service, request: requests.PreparedRequest) -> Answer | None:
        release = self._release(service)
        with self._keeping():
            found = self._cache.get_response(self._key(release, request)) if release else None
        if found is None or (found.is_expired and not self.settings.offline):
            return None
        return answer_of(found, release, found.created_at, cached=True)

    def _release(self, service: Service) -> str:
        """The service's release as far as it is known."""
        if not service.release_header:
            return service.release
        with self._keeping():
            found = self._cache.get_response(f"release {service.url}")
        if found is None or (found.is_expired and not self.settings.offline):
            return ""
        return str(found.headers.get(service.release_header, ""))

    @contextmanager
    def _keeping(self) -> Iterator[None]:
        """Say where answers are kept if they cannot be."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise ConfigurationError(
                f"cannot keep answers in {self.settings.cache_dir}: {error}",
                "free space, remove answers.sqlite there, or set KGCHECK_CACHE_DIR to another folder",
            ) from error

    def _key(self, release: str, request: requests.PreparedRequest) -> str:
        return f"{release} {self._cache.create_key(request)}"

    def _attempts(self) -> Retrying:
        return Retrying(
            retry=retry_if_exception(_is_worth_another),
            stop=_Stop(self.settings),
            wait=self._wait,
            sleep=self.sleep,
            reraise=True,
        )

    def _wait(self, state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        asked = error.wait_s if isinstance(error, SourceBusy) else None
        longest = self.settings.http_longest_wait_s
        return asked if asked is not None else min(self.settings.http_wait_s * 2 ** (state.attempt_number - 1), longest)

    def _call(
        self,
        service: Service,
        request: requests.PreparedRequest,
        read: Callable[[Answer], T],
        keep: Callable[[T], bool],
    ) -> T:
        response = self._send(service, request)
        release = response.headers.get(service.release_header, "") if service.release_header else service.release
        answer = answer_of(response, release, datetime.now(UTC), cached=False)
        _refuse_status(service, answer, response)
        made = read(answer)
        if release and keep(made):
            ends = datetime.now(UTC) + timedelta(days=self.settings.cache_days)
            with self._keeping():
                self._cache.save_response(response, self._key(release, request), ends)
            if service.release_header and release != self._release(service):
                ends = datetime.now(UTC) + timedelta(hours=self.settings.release_hours)
                with self._keeping():
                    self._cache.save_response(without_body(response), f"release {service.url}", ends)
        return made

    def _pace(self, service: Service) -> Pace:
        host = urlsplit(service.url).netloc
        if host not in self._paces:
            self._paces[host] = Pace(self.settings.cache_dir / "pace", host, service.calls_per_s)
        return self._paces[host]

    def _files(self) -> requests.Session:
        if self._file_session is None:
            self._file_session = session_over(WatchedAdapter(self.settings.http_total_s))
        return self._file_session

    def _send(self, service: Service, request: requests.PreparedRequest) -> requests.Response:
        if self._session is None:
            limits = self.settings.http_total_s, int(self.settings.http_max_mb * 1_000_000)
            self._session = session_over(BoundedAdapter(*limits))
        self._pace(service).wait()
        self.calls += 1
        timeout = (self.settings.connect_timeout_s, self.settings.http_timeout_s)
        environment = self._session.merge_environment_settings(request.url or "", {}, None, None, None)
        try:
            return self._session.send(request, timeout=timeout, allow_redirects=False, **environment)
        except TooLarge as error:
            raise SourceAnswer(
                f"{service.name} sent too much: {_shown(request)}: {error}",
                "raise KGCHECK_HTTP_MAX_MB, or ask for less",
            ) from error
        except WIRE_ERRORS as error:
            raise error_for(error, service.name, _shown(request)) from error


class _Stop:
    """When to give up: after so many attempts, or when a service asks to wait for too long."""

    def __init__(self, settings: Settings) -> None:
        self._most = stop_after_attempt(settings.http_attempts)
        self._longest = settings.http_longest_wait_s

    def __call__(self, state: RetryCallState) -> bool:
        error = state.outcome.exception() if state.outcome else None
        asked = error.wait_s if isinstance(error, SourceBusy) else None
        return self._most(state) or (asked is not None and asked > self._longest)


def _is_worth_another(error: BaseException) -> bool:
    return isinstance(error, _AGAIN) and not isinstance(error.__cause__, TooLarge)


def _refuse_status(service: Service, answer: Answer, response: requests.Response) -> None:
    """Raise for what no reader can make anything of."""
    if answer.status in _BUSY or answer.status >= 500:
        asked = response.headers.get("Retry-After")
        raise SourceBusy(
            f"{service.name} answered {answer.status} {response.reason}: {_shown(response.request)}",
            "try again later: kgcheck audit --resume goes on where it stopped",
            wait_s=_seconds(asked) if asked else None,
        )
    if answer.status in (401, 403, 407, 451):
        raise SourceRefused(
            f"{service.name} refuses the call with {answer.status}: {_shown(response.request)}",
            "set KGCHECK_CONTACT to your mail address, or ask the provider",
        )


def _seconds(retry_after: str) -> float | None:
    """Seconds of a Retry-After header, a number or a date; None where it is neither."""
    try:
        return Retry().parse_retry_after(retry_after)
    except Exception:
        return None


def _shown(request: requests.PreparedRequest) -> str:
    """What was asked, short enough for a message."""
    url = request.url or ""
    return url if len(url) <= 160 else f"{url[:160]}…"
