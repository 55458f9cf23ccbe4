"""Errors on the way to a service, as those of the tree: every one of requests and urllib3 has one."""

import requests
import urllib3.exceptions as urllib3_errors
from requests import exceptions as requests_errors
from urllib3.util import Retry

from kgcheck.errors import (
    ConfigurationError,
    KgcheckError,
    SourceAnswer,
    SourceBusy,
    SourceRefused,
    SourceTimeout,
    SourceUnreachable,
)

_ADDRESS = "correct the address of the service, or the proxy, in the environment"
_BUSY = frozenset({408, 425, 429, 500, 502, 503, 504})
_LATER = "try again later: kgcheck audit --resume goes on where it stopped"

FAULTS: dict[type[KgcheckError], tuple[type[Exception], ...]] = {
    ConfigurationError: (
        requests_errors.InvalidURL,
        requests_errors.InvalidSchema,
        requests_errors.MissingSchema,
        requests_errors.URLRequired,
        requests_errors.InvalidHeader,
        requests_errors.InvalidProxyURL,
        requests_errors.UnrewindableBodyError,
        urllib3_errors.LocationValueError,
        urllib3_errors.LocationParseError,
        urllib3_errors.URLSchemeUnknown,
        urllib3_errors.ProxySchemeUnknown,
        urllib3_errors.ProxySchemeUnsupported,
        urllib3_errors.UnrewindableBodyError,
    ),
    SourceTimeout: (
        requests_errors.Timeout,
        requests_errors.ConnectTimeout,
        requests_errors.ReadTimeout,
        urllib3_errors.TimeoutError,
        urllib3_errors.TimeoutStateError,
        urllib3_errors.ConnectTimeoutError,
        urllib3_errors.ReadTimeoutError,
    ),
    SourceAnswer: (
        requests_errors.InvalidJSONError,
        requests_errors.JSONDecodeError,
        requests_errors.HTTPError,
        requests_errors.TooManyRedirects,
        requests_errors.ContentDecodingError,
        requests_errors.StreamConsumedError,
        urllib3_errors.DecodeError,
        urllib3_errors.HeaderParsingError,
        urllib3_errors.InvalidHeader,
        urllib3_errors.ResponseError,
        urllib3_errors.ResponseNotChunked,
        urllib3_errors.BodyNotHttplibCompatible,
    ),
    SourceUnreachable: (
        requests_errors.RequestException,
        requests_errors.ConnectionError,
        requests_errors.ProxyError,
        requests_errors.SSLError,
        requests_errors.ChunkedEncodingError,
        requests_errors.RetryError,
        urllib3_errors.HTTPError,
        urllib3_errors.PoolError,
        urllib3_errors.RequestError,
        urllib3_errors.SSLError,
        urllib3_errors.ProxyError,
        urllib3_errors.ProtocolError,
        urllib3_errors.ConnectionError,
        urllib3_errors.MaxRetryError,
        urllib3_errors.HostChangedError,
        urllib3_errors.NewConnectionError,
        urllib3_errors.NameResolutionError,
        urllib3_errors.EmptyPoolError,
        urllib3_errors.FullPoolError,
        urllib3_errors.ClosedPoolError,
        urllib3_errors.IncompleteRead,
        urllib3_errors.InvalidChunkLength,
    ),
}
"""Meaning of each exception of the two libraries; a test fails when a new version brings another one."""

_ERROR_OF = {wrong: error for error, listed in FAULTS.items() for wrong in listed}

WIRE_ERRORS = (requests.RequestException, urllib3_errors.HTTPError, OSError)
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


def refuse_status(service: str, response: requests.Response) -> None:
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


def shown(request: requests.PreparedRequest) -> str:
    """Return the address of a request, short enough for a message."""
    url = request.url or ""
    return url if len(url) <= 160 else f"{url[:160]}…"


def _seconds(retry_after: str) -> float | None:
    """Seconds of a Retry-After header, a number or a date; None where it is neither."""
    try:
        return Retry().parse_retry_after(retry_after)
    except Exception:
        return None
