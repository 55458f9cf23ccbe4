"""Map errors of requests and urllib3, and HTTP statuses, to kgcheck's exceptions."""

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

_ERROR_OF: dict[type[Exception], type[KgcheckError]] = {
    requests_errors.InvalidURL: ConfigurationError,
    requests_errors.InvalidSchema: ConfigurationError,
    requests_errors.MissingSchema: ConfigurationError,
    requests_errors.URLRequired: ConfigurationError,
    requests_errors.InvalidHeader: ConfigurationError,
    requests_errors.UnrewindableBodyError: ConfigurationError,
    urllib3_errors.LocationValueError: ConfigurationError,
    urllib3_errors.ProxySchemeUnsupported: ConfigurationError,
    urllib3_errors.UnrewindableBodyError: ConfigurationError,
    requests_errors.Timeout: SourceTimeout,
    urllib3_errors.TimeoutError: SourceTimeout,
    urllib3_errors.TimeoutStateError: SourceTimeout,
    urllib3_errors.NewConnectionError: SourceUnreachable,
    requests_errors.InvalidJSONError: SourceAnswer,
    requests_errors.HTTPError: SourceAnswer,
    requests_errors.TooManyRedirects: SourceAnswer,
    requests_errors.ContentDecodingError: SourceAnswer,
    requests_errors.StreamConsumedError: SourceAnswer,
    urllib3_errors.DecodeError: SourceAnswer,
    urllib3_errors.HeaderParsingError: SourceAnswer,
    urllib3_errors.InvalidHeader: SourceAnswer,
    urllib3_errors.ResponseError: SourceAnswer,
    urllib3_errors.ResponseNotChunked: SourceAnswer,
    urllib3_errors.BodyNotHttplibCompatible: SourceAnswer,
}
"""Meaning of exceptions of the two libraries and of those that are such; any other means that nobody was reached."""

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
    try:
        return Retry().parse_retry_after(retry_after)
    except Exception:
        return None
