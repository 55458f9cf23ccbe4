"""Http: kgcheck's only HTTP client, with rate limits, retries, size limits and a disk cache.

A call waits for its turn (one pace a host, across processes), is repeated when the service asks to wait or fails, never
follows a redirect, ends after a time and a size, and its answer is kept on disk under the release that gave it, once it
was read whole. What goes wrong is an error of the tree under `SourceError`, or a `ConfigurationError` where the address
is wrong.
"""

import socket
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar
from urllib.parse import quote, urlencode, urlsplit

import jiter
import requests
import urllib3
from filelock import FileLock, Timeout
from requests import PreparedRequest, Response, Session
from requests.adapters import HTTPAdapter
from requests.exceptions import ReadTimeout, RequestException
from requests_cache.backends.sqlite import SQLiteCache
from requests_cache.models.response import CachedResponse
from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_attempt
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import HTTPError, ProtocolError
from urllib3.response import HTTPResponse
from urllib3.util import Retry

from kgcheck import __version__, clock, deadline
from kgcheck.cleartext import refuse_cleartext
from kgcheck.closing import Closing
from kgcheck.errors import (
    ConfigurationError,
    KgcheckError,
    SourceAnswer,
    SourceBusy,
    SourceDeadline,
    SourceError,
    SourceOffline,
    SourceRefused,
    SourceTimeout,
    SourceUnreachable,
)
from kgcheck.outputs import make_folder, make_private_file
from kgcheck.settings import Settings

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


def answer_of(response: Response, release: str, at: datetime, *, cached: bool) -> ServiceAnswer:
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


_ADDRESS = "correct the address of the service, or the proxy, in the environment"
_BUSY = frozenset({408, 425, 429, 500, 502, 503, 504})
_LATER = "try again later: kgcheck audit --resume goes on where it stopped"

_ERROR_OF: dict[type[Exception], type[KgcheckError]] = {
    requests.exceptions.InvalidURL: ConfigurationError,
    requests.exceptions.InvalidSchema: ConfigurationError,
    requests.exceptions.MissingSchema: ConfigurationError,
    requests.exceptions.URLRequired: ConfigurationError,
    requests.exceptions.InvalidHeader: ConfigurationError,
    requests.exceptions.UnrewindableBodyError: ConfigurationError,
    urllib3.exceptions.LocationValueError: ConfigurationError,
    urllib3.exceptions.ProxySchemeUnsupported: ConfigurationError,
    urllib3.exceptions.UnrewindableBodyError: ConfigurationError,
    requests.exceptions.Timeout: SourceTimeout,
    urllib3.exceptions.TimeoutError: SourceTimeout,
    urllib3.exceptions.TimeoutStateError: SourceTimeout,
    urllib3.exceptions.NewConnectionError: SourceUnreachable,
    requests.exceptions.InvalidJSONError: SourceAnswer,
    requests.exceptions.HTTPError: SourceAnswer,
    requests.exceptions.TooManyRedirects: SourceAnswer,
    requests.exceptions.ContentDecodingError: SourceAnswer,
    requests.exceptions.StreamConsumedError: SourceAnswer,
    urllib3.exceptions.DecodeError: SourceAnswer,
    urllib3.exceptions.HeaderParsingError: SourceAnswer,
    urllib3.exceptions.InvalidHeader: SourceAnswer,
    urllib3.exceptions.ResponseError: SourceAnswer,
    urllib3.exceptions.ResponseNotChunked: SourceAnswer,
    urllib3.exceptions.BodyNotHttplibCompatible: SourceAnswer,
}
"""Meaning of exceptions of the two libraries and of those that are such; any other means that nobody was reached."""

WIRE_ERRORS = (RequestException, HTTPError, OSError)
"""All that a call to a service can raise: an OSError where a socket fails under neither library's eyes."""


def error_for(error: Exception, service: str, url: str) -> KgcheckError:
    """The error of the tree for what went wrong on the way to a service."""
    kind = next((_ERROR_OF[cls] for cls in type(error).__mro__ if cls in _ERROR_OF), None)
    if kind is None:
        kind = SourceTimeout if isinstance(error, TimeoutError) else SourceUnreachable
    detail = " ".join(str(error).split())[:200] or type(error).__name__
    if kind is ConfigurationError:
        return kind(f"the address of {service} cannot be used: {url}: {detail}", _ADDRESS)
    if kind is SourceTimeout:
        return kind(f"{service} did not answer in time: {url}", _LATER)
    if kind is SourceAnswer:
        return kind(f"{service} sent what cannot be read: {url}: {detail}", _LATER)
    return kind(f"{service} cannot be reached: {url}: {detail}", _LATER)


def refuse_status(service: str, response: Response) -> None:
    """Raise for a status of which no reader can make anything."""
    status, url = response.status_code, shown(response.request)
    if status in _BUSY or status >= 500:
        retry_after = response.headers.get("Retry-After")
        raise SourceBusy(
            f"{service} answered {status} {response.reason}: {url}",
            _LATER,
            wait_s=_seconds(retry_after) if retry_after else None,
        )
    if status in (401, 403, 407, 451):
        raise SourceRefused(
            f"{service} refuses the call with {status}: {url}",
            "set KGCHECK_CONTACT to your mail address, or ask the provider",
        )


def shown(request: PreparedRequest) -> str:
    """Return the address of a request, short enough for a message."""
    url = request.url or ""
    return url if len(url) <= 160 else f"{url[:160]}…"


def _seconds(retry_after: str) -> float | None:
    try:
        return Retry().parse_retry_after(retry_after)
    except Exception:
        return None


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
                went_out = 0.0
                with suppress(ValueError):
                    went_out = float(self._last.read_text())
                rest = min(self._gap_s - (clock.exact_now().timestamp() - went_out), self._gap_s)
                if ends is not None and time.monotonic() + rest > ends:
                    return False
                if rest > 0:
                    time.sleep(rest)
                self._last.write_text(repr(clock.exact_now().timestamp()))
                return True
        except Timeout:
            return False


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


@contextmanager
def _cut_after(seconds: float, cut: Callable[[], object]) -> Iterator[None]:
    def quietly() -> None:
        # It may have been closed, or given back, in the meantime.
        with suppress(OSError, AttributeError, ValueError, RuntimeError):
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

    def find(self, service: ProviderService, request: PreparedRequest) -> ServiceAnswer | None:
        """The answer to a question, or None where none of the newest known release is kept."""
        release = self._release(service)
        with self._keeping():
            found = self._cache.get_response(self._key(release, request)) if release else None
        if found is None or self._is_over(found):
            return None
        return answer_of(found, release, found.created_at, cached=True)

    def keep(
        self, service: ProviderService, answer: ServiceAnswer, request: PreparedRequest, response: Response
    ) -> None:
        """Keep an answer with the time of its retrieval, and that its release is the newest."""
        # The question is kept with the answer, and a key may be among the headers of the service.
        response.request = response.request.copy()
        for name in service.headers:
            response.request.headers.pop(name, None)
        at, days = answer.retrieved_at, timedelta(days=self._settings.cache_days)
        self._save(response, self._key(answer.release, request), at, days)
        if service.release_header and answer.release != self._release(service):
            hours = timedelta(hours=self._settings.release_hours)
            self._save(without_body(response), f"release {service.url}", at, hours)

    def close(self) -> None:
        self._cache.close()  # type: ignore[no-untyped-call]

    def _save(self, response: Response, key: str, retrieved_at: datetime, life: timedelta) -> None:
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

    def _key(self, release: str, request: PreparedRequest) -> str:
        return f"{release} {self._cache.create_key(request)}"


T = TypeVar("T")

_Fields = Mapping[str, object]
_Saved = tuple[ProviderService, ServiceAnswer, PreparedRequest, Response]
"""Service that was asked, its answer, the request, and the answer as it came."""

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
        self._session: Session | None = None
        self._file_session: Session | None = None
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
    def stream(self, service: ProviderService, url: str, headers: Mapping[str, str]) -> Iterator[Response]:
        """Open a file at a provider, to be read as it comes; nothing of it is kept here."""
        if self.settings.offline:
            raise SourceOffline(f"{url} was not fetched, for kgcheck is offline", "leave --offline out")
        self._wait_for_turn(service)
        try:
            if self._file_session is None:
                self._file_session = session_over(WatchedAdapter(self._total_s))
            response = self._file_session.get(
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
    ) -> PreparedRequest:
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
        most, longest = stop_after_attempt(self.settings.http_attempts), self.settings.http_longest_wait_s

        def wait(state: RetryCallState) -> float:
            wanted = _wanted_wait(state)
            return (
                min(self.settings.http_wait_s * 2 ** (state.attempt_number - 1), longest) if wanted is None else wanted
            )

        def is_over(state: RetryCallState) -> bool:
            """So many attempts, or a longer wait than is allowed or there is time for."""
            late = deadline.at_most(state.upcoming_sleep) < state.upcoming_sleep
            return most(state) or late or (_wanted_wait(state) or 0.0) > longest

        worth = retry_if_exception(_is_worth_another)
        return Retrying(retry=worth, stop=is_over, wait=wait, sleep=self.sleep, reraise=True)

    def _call(self, service: ProviderService, request: PreparedRequest, read: Callable[[ServiceAnswer], T]) -> T:
        response = self._send(service, request)
        release = response.headers.get(service.release_header, "") if service.release_header else service.release
        answer = answer_of(response, release, clock.exact_now(), cached=False)
        refuse_status(service.name, response)
        if self._together:
            self._together.releases.add(release)
        made = read(answer)
        self._saw(service, release)
        if release and self._together:
            self._together.saved.append((service, answer, request, response))
        elif release:
            self._answers.keep(service, answer, request, response)
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

    def _send(self, service: ProviderService, request: PreparedRequest) -> Response:
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


def _wanted_wait(state: RetryCallState) -> float | None:
    error = state.outcome.exception() if state.outcome else None
    return error.wait_s if isinstance(error, SourceBusy) else None


def _is_worth_another(error: BaseException) -> bool:
    return (
        isinstance(error, _AGAIN)
        and not isinstance(error, SourceDeadline)
        and not isinstance(error.__cause__, TooLarge)
    )
