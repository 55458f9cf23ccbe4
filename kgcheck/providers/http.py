"""Http: kgcheck's only HTTP client, with rate limits, retries, size limits and a disk cache.

A call waits for its turn (one pace a host, across processes), is repeated when the service asks to wait or fails, never
follows a redirect, ends after a time and a size, and its answer is kept on disk under the release that gave it, once it
was read whole. What goes wrong is an error of the tree under `SourceError`, or a `ConfigurationError` where the address
is wrong.
"""

import contextlib
import socket
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from io import BytesIO
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote, urlencode, urlsplit

import requests
from filelock import FileLock, Timeout
from requests import PreparedRequest, Response, Session
from requests.adapters import HTTPAdapter
from requests.exceptions import ReadTimeout
from requests_cache.backends.sqlite import SQLiteCache
from requests_cache.models.response import CachedResponse
from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_attempt
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import HTTPError, ProtocolError
from urllib3.response import HTTPResponse

from kgcheck import __version__, clock, deadline
from kgcheck.cleartext import refuse_cleartext
from kgcheck.closing import Closing
from kgcheck.errors import (
    ConfigurationError,
    SourceAnswer,
    SourceBusy,
    SourceDeadline,
    SourceError,
    SourceOffline,
    SourceTimeout,
    SourceUnreachable,
)
from kgcheck.outputs import make_folder, make_private_file
from kgcheck.providers.http_errors import WIRE_ERRORS, error_for, refuse_status, shown
from kgcheck.providers.services import ProviderService, ServiceAnswer, answer_of
from kgcheck.settings import Settings


class Pace:
    """At most so many calls a second to a host, with a file that says when the last one went out.

    The lock on the file is held while waiting, so that processes go one after the other.
    """

    def __init__(self, folder: Path, host: str, calls_per_s: float) -> None:
        name = "".join(c if c.isalnum() or c in ".-" else "_" for c in host)
        self._last = folder / f"{name}.last"
        self._gap_s = 1 / calls_per_s
        self._lock = FileLock(folder / f"{name}.lock")
        try:
            make_folder(folder, secret=True)
            with self._lock:
                self._last.touch()
        except OSError as error:
            raise ConfigurationError(
                f"cannot keep the pace of calls in {folder}: {error}", "set KGCHECK_CACHE_DIR to a writable folder"
            ) from error

    def wait(self, most_s: float | None = None) -> bool:
        ends = None if most_s is None else time.monotonic() + most_s
        try:
            with self._lock.acquire(timeout=-1 if most_s is None else most_s):
                # The clock on the wall, for processes share it; where it was turned back, one gap is waited, no more.
                rest = min(self._gap_s - (clock.exact_now().timestamp() - self._went_out()), self._gap_s)
                if ends is not None and time.monotonic() + rest > ends:
                    return False
                if rest > 0:
                    time.sleep(rest)
                self._last.write_text(repr(clock.exact_now().timestamp()))
                return True
        except Timeout:
            return False

    def _went_out(self) -> float:
        with suppress(ValueError):
            return float(self._last.read_text())
        return 0.0


_CHUNK = 1 << 16


class TooLarge(Exception):
    """An answer that is larger than the limit."""


class WatchedAdapter(HTTPAdapter):
    """Waits for headers no longer than a limit that the sockets of urllib3 do not know; the body is for the caller.

    A timeout of a socket is one of silence: a server that sends a byte now and then would keep a client for ever.
    Those of requests and urllib3 are such, the total of urllib3 too ("only between read operations on the socket"), and
    neither has a hook between the connection and the headers. So the connections of its pools, classes which urllib3
    lets a pool manager choose, are subclassed for the one method that reads them. Redirects, retries, silence, size and
    the time of the body are guarded by what the libraries offer to all: `allow_redirects`, `max_retries`, `timeout`,
    `read1`, `shutdown`.
    """

    def __init__(self, total_s: Callable[[], float]) -> None:
        self._total_s = total_s
        super().__init__(max_retries=0)

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, **kwargs)
        self.poolmanager.pool_classes_by_scheme = _watched_pools(self._total_s)

    def send(self, request: PreparedRequest, *args: Any, **kwargs: Any) -> Response:
        ends = time.monotonic() + self._total_s()
        try:
            response = super().send(request, *args, **{**kwargs, "stream": True})
        except Exception as error:
            if time.monotonic() >= ends:
                raise ReadTimeout("the headers took too long", request=request) from error
            raise
        if time.monotonic() >= ends:
            response.raw.close()
            raise ReadTimeout("the headers took too long", request=request)
        return response


class BoundedAdapter(WatchedAdapter):
    """Reads every answer whole, within limits."""

    def __init__(self, total_s: Callable[[], float], max_bytes: int) -> None:
        self._max_bytes = max_bytes
        super().__init__(total_s)

    def send(self, request: PreparedRequest, *args: Any, **kwargs: Any) -> Response:
        raw = super().send(request, *args, **kwargs).raw
        try:
            body = self._read(raw, request)
        except Exception:
            raw.close()
            raise
        raw.release_conn()
        return self.build_response(request, _whole(raw, body))

    def _read(self, raw: HTTPResponse, request: PreparedRequest) -> bytes:
        body, longest = bytearray(), self._total_s()
        ends = time.monotonic() + longest
        try:
            with _cut_after(longest, raw.shutdown):
                while (chunk := raw.read1(_CHUNK, decode_content=True)) and time.monotonic() < ends:
                    body += chunk
                    if len(body) > self._max_bytes:
                        raise TooLarge(f"over {self._max_bytes:,} bytes")
        except HTTPError as error:
            if time.monotonic() >= ends:
                raise ReadTimeout("the body took too long", request=request) from error
            raise
        if time.monotonic() >= ends:
            raise ReadTimeout("the body took too long", request=request)
        if raw.length_remaining:
            # Some reads of urllib3 end quietly where the connection did.
            raise ProtocolError(f"{raw.length_remaining} bytes are missing")
        return bytes(body)


def session_over(adapter: WatchedAdapter) -> Session:
    """A session that asks through an adapter, whatever the scheme."""
    session = Session()
    for scheme in ("http://", "https://"):
        session.mount(scheme, adapter)
    return session


def _whole(raw: HTTPResponse, body: bytes) -> HTTPResponse:
    headers = raw.headers.copy()
    for name in ("Content-Encoding", "Content-Length", "Transfer-Encoding"):
        headers.discard(name)
    return HTTPResponse(
        body=BytesIO(body),
        headers=headers,
        status=raw.status,
        version=raw.version,
        reason=raw.reason,
        preload_content=False,
        request_url=raw.url,
    )


def without_body(response: Response) -> Response:
    """An answer's status and headers alone."""
    return HTTPAdapter().build_response(response.request, _whole(response.raw, b""))


@contextlib.contextmanager
def _cut_after(seconds: float, cut: Callable[[], object]) -> Iterator[None]:
    def quietly() -> None:
        # It may have been closed, or given back, in the meantime.
        with contextlib.suppress(OSError, AttributeError, ValueError, RuntimeError):
            cut()

    timer = threading.Timer(seconds, quietly)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _watched_pools(total_s: Callable[[], float]) -> dict[str, type[HTTPConnectionPool]]:
    class Watched(HTTPConnection):
        def getresponse(self) -> Any:
            with _cut_after(total_s(), lambda: self.sock.shutdown(socket.SHUT_RDWR)):
                return super().getresponse()

    class Secure(Watched, HTTPSConnection):
        pass

    class PlainPool(HTTPConnectionPool):
        ConnectionCls = Watched

    class SecurePool(HTTPSConnectionPool):
        ConnectionCls = Secure

    return {"http": PlainPool, "https": SecurePool}


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
        if found is None or self._is_over(found):
            return None
        return answer_of(found, release, found.created_at, cached=True)

    def keep(
        self,
        service: ProviderService,
        release: str,
        request: requests.PreparedRequest,
        response: requests.Response,
        retrieved_at: datetime,
    ) -> None:
        """Keep an answer with the time of its retrieval, and that its release is the newest."""
        # The question is kept with the answer, and a key may be among the headers of the service.
        response.request = response.request.copy()
        for name in service.headers:
            response.request.headers.pop(name, None)
        self._save(response, self._key(release, request), retrieved_at, timedelta(days=self._settings.cache_days))
        if service.release_header and release != self._release(service):
            hours = timedelta(hours=self._settings.release_hours)
            self._save(without_body(response), f"release {service.url}", retrieved_at, hours)

    def close(self) -> None:
        self._cache.close()  # type: ignore[no-untyped-call]

    def _save(self, response: requests.Response, key: str, retrieved_at: datetime, life: timedelta) -> None:
        with self._keeping():
            kept = CachedResponse.from_response(response, created_at=retrieved_at)
            self._cache.save_response(kept, key, retrieved_at + life)

    def _is_over(self, found: CachedResponse) -> bool:
        return found.expires is not None and clock.exact_now() >= found.expires and not self._settings.offline

    def _release(self, service: ProviderService) -> str:
        if not service.release_header:
            return service.release
        with self._keeping():
            found = self._cache.get_response(f"release {service.url}")
        if found is None or self._is_over(found):
            return ""
        return str(found.headers.get(service.release_header, ""))

    @contextmanager
    def _keeping(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise ConfigurationError(
                f"cannot keep answers in {self._settings.cache_dir}: {error}",
                "free space, remove answers.sqlite there, or set KGCHECK_CACHE_DIR to another folder",
            ) from error

    def _key(self, release: str, request: requests.PreparedRequest) -> str:
        return f"{release} {self._cache.create_key(request)}"


__all__ = ["Http", "ProviderService"]

T = TypeVar("T")

_Fields = Mapping[str, object]
_Saved = tuple[ProviderService, str, requests.PreparedRequest, requests.Response, datetime]
"""Service that was asked, its release, the request, the answer, and the time of its retrieval."""

_AGAIN = (SourceUnreachable, SourceTimeout, SourceBusy, SourceAnswer)
"""Errors that may be gone at the next attempt: half an answer is as likely a broken connection as a broken service."""

_DOWN = (SourceUnreachable, SourceTimeout, SourceBusy)
"""Errors of a whole service, which is then left alone for a while."""

_WRONG_IN_A_ROW = 3
"""Answers in a row that are none, after which a service passes as down: one may be about one record only."""


class Http(Closing):
    """Asks services."""

    def __init__(self, settings: Settings, sleep: Callable[[float], None] = time.sleep) -> None:
        self.settings = settings
        self.sleep = sleep
        self._session: requests.Session | None = None
        self._file_session: requests.Session | None = None
        self._paces: dict[str, Pace] = {}
        self._down: dict[str, tuple[float, SourceError]] = {}
        self._wrong: dict[str, int] = {}
        self._together: _Together | None = None
        self.calls = 0
        self.releases: dict[str, list[str]] = {}
        """The releases that answers named, by service, in the order that they came; empty where one named none."""
        self._answers = KeptAnswers(settings)

    def ask(
        self,
        service: ProviderService,
        path: str,
        read: Callable[[ServiceAnswer], T],
        *,
        params: Mapping[str, object] | None = None,
        form: Mapping[str, object] | None = None,
        body: object = None,
    ) -> T:
        request = self._prepare(service, path, params, form, body)
        anew = self._together is not None and self._together.anew
        kept = None if anew else self._answers.find(service, request)
        if kept is not None:
            # What an older version took for an answer may be none to this one.
            with suppress(SourceAnswer):
                value = read(kept)
                self._saw(service, kept.release)
                if self._together:
                    self._together.kept = True
                return value
        if self.settings.offline:
            raise SourceOffline(
                f"{service.name} was not asked, for kgcheck is offline and this answer is not kept: {shown(request)}",
                "leave --offline out, or unset KGCHECK_OFFLINE",
            )
        until, error = self._down.get(service.url, (0.0, None))
        if error and time.monotonic() < until:
            raise error
        try:
            made: T = self._attempts()(self._call, service, request, read)
        except SourceDeadline:
            raise
        except (*_DOWN, SourceAnswer) as error:
            self._wrong[service.url] = self._wrong.get(service.url, 0) + 1
            if isinstance(error, _DOWN) or self._wrong[service.url] >= _WRONG_IN_A_ROW:
                self._down[service.url] = (time.monotonic() + self.settings.http_pause_s, error)
            raise
        self._wrong[service.url] = 0
        return made

    def whole(self, work: Callable[[], T]) -> T:
        """Make several calls whose answers only make sense together; they are kept all, or none.

        Where they do not fit and some were kept, or are of another release, all are asked for once more.
        """
        together = _Together()
        try:
            return self._gathered(work, together)
        except SourceAnswer:
            if self.settings.offline or not (together.kept or len(together.releases) > 1):
                raise
        return self._gathered(work, _Together(anew=True))

    def _gathered(self, work: Callable[[], T], together: "_Together") -> T:
        self._together = together
        try:
            made = work()
        finally:
            self._together = None
        for saved in together.saved:
            self._answers.keep(*saved)
        return made

    def repeat(self, work: Callable[[], T]) -> T:
        """Do a piece of work again while it fails for a cause that may be gone, waiting as for a call."""
        made: T = self._attempts()(work)
        return made

    @contextmanager
    def stream(self, service: ProviderService, url: str, headers: Mapping[str, str]) -> Iterator[requests.Response]:
        """Open a file at a provider, to be read as it comes; nothing of it is kept here."""
        if self.settings.offline:
            raise SourceOffline(f"{url} was not fetched, for kgcheck is offline", "leave --offline out")
        self._wait_for_turn(service)
        try:
            response = self._files().get(
                url,
                headers={"User-Agent": self._agent(), **headers},
                # A recipe names the address: what ~/.netrc has for its host stays at home.
                auth=lambda request: request,
                timeout=self._timeout(),
                stream=True,
                allow_redirects=False,
            )
        except WIRE_ERRORS as error:
            wrong = error_for(error, service.name, url)
            raise wrong from error
        except ValueError as error:
            # The library reads where an answer leads, though nothing follows it.
            raise SourceAnswer(f"{url} leads to an address that is none: {error}", "fetch again later") from error
        with response:
            refuse_status(service.name, response)
            yield response

    def close(self) -> None:
        for session in (self._session, self._file_session):
            if session:
                session.close()
        self._answers.close()

    def _prepare(
        self, service: ProviderService, path: str, params: _Fields | None, form: _Fields | None, body: object
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
        method = "POST" if form or body is not None else "GET"
        headers = service.sent_headers(self._agent())
        try:
            request = requests.Request(method, url, data=form, json=body, headers=headers).prepare()
        except (*WIRE_ERRORS, ValueError) as error:
            raise ConfigurationError(
                f"the address of {service.name} cannot be used: {service.url}: {error}", f"correct {service.setting}"
            ) from error
        address = urlsplit(request.url or "")
        if service.has_key and address.scheme != "https":
            refuse_cleartext(
                address.hostname or "", self.settings.cleartext_hosts, f"set {service.setting} to https://"
            )
        return request

    def _agent(self) -> str:
        contact = self.settings.contact or "no contact given"
        return f"kgcheck/{__version__} ({contact})"

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
        wanted_wait = error.wait_s if isinstance(error, SourceBusy) else None
        longest = self.settings.http_longest_wait_s
        return (
            wanted_wait
            if wanted_wait is not None
            else min(self.settings.http_wait_s * 2 ** (state.attempt_number - 1), longest)
        )

    def _call(
        self,
        service: ProviderService,
        request: requests.PreparedRequest,
        read: Callable[[ServiceAnswer], T],
    ) -> T:
        response = self._send(service, request)
        release = response.headers.get(service.release_header, "") if service.release_header else service.release
        retrieved_at = clock.exact_now()
        answer = answer_of(response, release, retrieved_at, cached=False)
        refuse_status(service.name, response)
        if self._together:
            self._together.releases.add(release)
        made = read(answer)
        self._saw(service, release)
        if release:
            if self._together:
                self._together.saved.append((service, release, request, response, retrieved_at))
            else:
                self._answers.keep(service, release, request, response, retrieved_at)
        return made

    def _saw(self, service: ProviderService, release: str) -> None:
        if service.release_header:
            self.saw(service.name, release)

    def saw(self, name: str, release: str) -> None:
        """Remember a release that a service named, or that it named none."""
        seen = self.releases.setdefault(name, [])
        if release not in seen:
            seen.append(release)

    def _pace(self, service: ProviderService) -> Pace:
        host = urlsplit(service.url).netloc
        if host not in self._paces:
            self._paces[host] = Pace(self.settings.cache_dir / "pace", host, service.calls_per_s)
        return self._paces[host]

    def _files(self) -> requests.Session:
        if self._file_session is None:
            self._file_session = session_over(WatchedAdapter(self._total_s))
        return self._file_session

    def _send(self, service: ProviderService, request: requests.PreparedRequest) -> requests.Response:
        if self._session is None:
            self._session = session_over(BoundedAdapter(self._total_s, int(self.settings.http_max_mb * 1_000_000)))
        self._wait_for_turn(service)
        environment = self._session.merge_environment_settings(request.url or "", {}, None, None, None)
        try:
            return self._session.send(request, timeout=self._timeout(), allow_redirects=False, **environment)
        except TooLarge as error:
            raise SourceAnswer(
                f"{service.name} sent too much: {shown(request)}: {error}",
                "raise KGCHECK_HTTP_MAX_MB, or ask for less",
            ) from error
        except WIRE_ERRORS as error:
            if deadline.left() == 0:
                raise SourceDeadline(*_late(service)) from error
            raise error_for(error, service.name, shown(request)) from error

    def _wait_for_turn(self, service: ProviderService) -> None:
        if deadline.left() == 0 or not self._pace(service).wait(deadline.left()):
            raise SourceDeadline(*_late(service))
        self.calls += 1

    def _timeout(self) -> tuple[float, float]:
        """Longest time to connect, and of silence; the libraries take none that is 0."""
        limits = self.settings.connect_timeout_s, self.settings.http_timeout_s
        connect, silence = (max(deadline.at_most(limit), 0.001) for limit in limits)
        return connect, silence

    def _total_s(self) -> float:
        return deadline.at_most(self.settings.http_total_s)


class _Together:
    def __init__(self, *, anew: bool = False) -> None:
        self.anew = anew
        self.kept = False
        self.saved: list[_Saved] = []
        self.releases: set[str] = set()


def _late(service: ProviderService) -> tuple[str, str]:
    return f"the time ran out before {service.name} answered", "give it more: --seconds"


class _Stop:
    """Stop condition of retries: so many attempts, or a longer wait than is allowed or there is time for."""

    def __init__(self, settings: Settings) -> None:
        self._most = stop_after_attempt(settings.http_attempts)
        self._longest = settings.http_longest_wait_s

    def __call__(self, state: RetryCallState) -> bool:
        error = state.outcome.exception() if state.outcome else None
        wanted_wait = error.wait_s if isinstance(error, SourceBusy) else None
        late = deadline.at_most(state.upcoming_sleep) < state.upcoming_sleep
        return self._most(state) or late or (wanted_wait is not None and wanted_wait > self._longest)


def _is_worth_another(error: BaseException) -> bool:
    return isinstance(error, _AGAIN) and not isinstance(error, SourceDeadline) and not _is_too_large(error)


def _is_too_large(error: BaseException) -> bool:
    return isinstance(error.__cause__, TooLarge)
