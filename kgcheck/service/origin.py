"""Checks of host and origin: only requests for our own host, and of browsers only from our own pages.

A page elsewhere can make a browser send requests to a service on this machine, and a name that its owner points at this
machine lets that page read the answers, too. The first shows in what browsers say of where a request comes from, the
second in the name of the host.
"""

from collections.abc import Collection, Mapping
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers

from kgcheck.service.access import SAFE, NotOfThisSite, WrongHost

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
"""Names of this machine that no name server can point elsewhere."""

_PROXY = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip", "via")


def is_loopback(host: str) -> bool:
    """Return whether an address or a name is of this machine alone.

    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def host_of(authority: str) -> str:
    """The host of a ``Host`` header, without its port; empty where it is none.

    >>> host_of("[::1]:8000"), host_of("Example.org:80"), host_of("a@b")
    ('::1', 'example.org', '')
    """
    try:
        parts = urlsplit(f"//{authority}")
        _ = parts.port
    except ValueError:
        return ""
    is_bare = parts.netloc == authority and "@" not in authority
    return (parts.hostname or "") if is_bare else ""


def check_host(authority: str, hosts: Collection[str]) -> None:
    """Refuse a request for another host."""
    host = host_of(authority)
    if not host or (hosts and host not in hosts):
        raise WrongHost(f"this service is not {host or authority!r}", "--allowed-host NAME lets another name in")


def check_site(method: str, headers: Headers, names: Collection[str] = ()) -> None:
    """Refuse a browser's request for a page of another site: its Origin must be this host, or an allowed name."""
    own = {headers.get("host", "").lower(), *names}
    allowed = {f"{scheme}://{name}" for name in own for scheme in ("http", "https")}
    is_own = all(origin.lower() in allowed for origin in headers.getlist("origin"))
    if method not in SAFE:
        # "none" is somebody who typed the address or opened a bookmark.
        is_own &= all(site in ("same-origin", "none") for site in headers.getlist("sec-fetch-site"))
    if not is_own:
        raise NotOfThisSite("the request comes from a page of another site", "open the page of this service itself")


def comes_by_proxy(headers: Mapping[str, str]) -> bool:
    """Return whether a proxy stands between the service and the client."""
    return any(name in headers for name in _PROXY)
