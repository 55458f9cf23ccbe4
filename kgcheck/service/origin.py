"""Which requests a service takes at all: those for its own host, and of a browser only what its own pages send.

A page elsewhere can make a browser send requests to a service on this machine, and a name that its owner points at this
machine lets that page read the answers, too. The first shows in what browsers say of where a request comes from, the
second in the name of the host.
"""

from collections.abc import Collection, Mapping
from ipaddress import ip_address
from urllib.parse import urlsplit

from kgcheck.service.access import SAFE, NotOfThisSite, WrongHost

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
"""Names of this machine that no name server can point elsewhere."""

_PROXY = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip", "via")


def is_loopback(host: str) -> bool:
    """Whether an address or a name is of this machine alone.

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
        raise WrongHost(
            f"this service is not {host or authority!r}", "kgcheck serve --allowed-host NAME lets another name in"
        )


def check_site(method: str, headers: Mapping[str, str], hosts: frozenset[str]) -> None:
    """Refuse what a browser sends for a page of another site."""
    if method in SAFE:
        return
    site, origin = headers.get("sec-fetch-site"), headers.get("origin")
    if site is not None:
        # "none" is somebody who typed the address or opened a bookmark.
        is_own = site in ("same-origin", "none")
    elif origin is not None:
        own = headers.get("host", "").lower()
        is_own = origin.lower() in (f"http://{own}", f"https://{own}") or (_host_of(origin) in hosts - LOOPBACK)
    else:
        # No browser: those say one or the other with whatever changes something.
        return
    if not is_own:
        raise NotOfThisSite("the request comes from a page of another site", "open the page of this service itself")


def _host_of(origin: str) -> str:
    """The host of an ``Origin``; ``null`` and the like have none."""
    try:
        return urlsplit(origin).hostname or ""
    except ValueError:
        return ""


def comes_by_proxy(headers: Mapping[str, str]) -> bool:
    """Whether something stands between the service and who asks."""
    return any(name in headers for name in _PROXY)
