"""One exchange with a service: no redirect is followed, and both time and size of the answer have an end."""

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from io import BytesIO
from typing import Any

from requests import PreparedRequest, Response, Session
from requests.adapters import HTTPAdapter
from requests.exceptions import ReadTimeout
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import HTTPError, ProtocolError
from urllib3.response import HTTPResponse

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
        """See HTTPAdapter: the pools' connections watch the time that headers take."""
        super().init_poolmanager(*args, **kwargs)
        self.poolmanager.pool_classes_by_scheme = _watched_pools(self._total_s)

    def send(self, request: PreparedRequest, *args: Any, **kwargs: Any) -> Response:
        """Send a request and read the headers of the answer."""
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
        """Send a request and read the answer."""
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
    """The answer with an unpacked body in memory."""
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
    """Cut a connection that is still being read from after so many seconds."""

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
