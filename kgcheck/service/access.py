"""Access to the service: roles that routes need, CSRF, and checks of host and origin.

A page elsewhere can make a browser send requests to a service on this machine, which Origin shows; and a name that its
owner points at this machine lets that page read the answers, too, which Host shows.
"""

import hmac
import secrets
from collections.abc import Collection, Mapping
from hashlib import sha256
from http import HTTPStatus
from ipaddress import ip_address
from typing import Annotated, ClassVar, NamedTuple
from urllib.parse import urlsplit

from fastapi import Depends, Request, Response
from starlette.datastructures import Headers

from kgcheck import clock
from kgcheck.errors import UsageError
from kgcheck.ledger.accounts import LONGEST, ActionEntry, Role, whoami
from kgcheck.model import Value
from kgcheck.settings import Settings
from kgcheck.visible import visible


class Principal(Value):
    """Somebody whose token or session was checked."""

    name: str
    role: Role
    id: str = ""
    """Id of the token of a start; empty where a token of the ledger, a session or no token was checked."""
    session: str | None = None


SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
"""Methods that change nothing."""

CSRF_FIELD = "csrf"
CSRF_HEADER = "x-csrf-token"


class Refused(UsageError):
    """A request that is not let in."""

    status: ClassVar[int] = HTTPStatus.FORBIDDEN
    headers: ClassVar[dict[str, str]] = {}


class NotSignedIn(Refused):
    """Nobody is known, and the route is not open to everybody."""

    status = HTTPStatus.UNAUTHORIZED
    headers = {"www-authenticate": 'Bearer realm="kgcheck"'}

    def __init__(self, message: str, hint: str = "", *, is_wrong: bool = False) -> None:
        super().__init__(message, hint)
        self.is_wrong = is_wrong
        """Something was sent that does not count, and not nothing."""


class NotAllowed(Refused):
    """Somebody is known, and their role is not enough."""


class NotOfThisSite(Refused):
    """A browser sends this for another page than one of the service."""


class WrongHost(Refused):
    """The request is for another host than the service."""

    status = HTTPStatus.MISDIRECTED_REQUEST


class TooManyRequests(Refused):
    """More than one principal or address may send in a minute."""

    status = HTTPStatus.TOO_MANY_REQUESTS
    headers = {"retry-after": "60"}


class BodyTooLarge(Refused):
    """The body of a request is larger than it may be."""

    status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE


class TookTooLong(Refused):
    """There was no answer in time. What was begun may still go on."""

    status = HTTPStatus.SERVICE_UNAVAILABLE


class Caller(NamedTuple):
    """Caller of a request, as the gate found it out."""

    principal: Principal | None
    csrf: str = ""
    """CSRF token of the session, which forms send as ``csrf`` and scripts as ``X-CSRF-Token``; empty without one."""
    why: NotSignedIn | None = None
    """Reason why nobody is known."""
    counted: str = ""
    """Token whose requests are counted; empty where nobody's are."""


def caller_of(request: Request) -> Caller:
    """Return the caller of a request."""
    found = getattr(request.state, "caller", None)
    return found if isinstance(found, Caller) else Caller(None)


async def somebody(request: Request) -> Principal | None:
    """Return the principal of a request, where it is known."""
    return caller_of(request).principal


def action_of(
    principal: Principal | None, address: str, method: str, route: str, objects: str, status: int
) -> ActionEntry:
    """Make an entry of the record of actions: of what was sent it has ``objects`` alone, names in a path or a call."""
    return ActionEntry(
        at=clock.now(),
        name=principal.name if principal else "",
        role=principal.role.value if principal else "",
        address=address,
        method=visible(method)[:20],
        route=route,
        object=visible(objects)[:500],
        status=status,
    )


class Needs(NamedTuple):
    """Lets those in who have a role."""

    role: Role

    async def __call__(self, request: Request) -> Principal:
        caller = caller_of(request)
        principal = self.admit(caller)
        if caller.csrf and request.method not in SAFE and CSRF_HEADER not in request.headers:
            check_csrf(caller, str((await request.form()).get(CSRF_FIELD, "")))
        return principal

    def admit(self, caller: Caller) -> Principal:
        if caller.principal is None:
            raise caller.why or NotSignedIn("nobody is signed in", "send a token: Authorization: Bearer kgc_...")
        if not caller.principal.role.may(self.role):
            name, role = caller.principal.name, caller.principal.role.value
            raise NotAllowed(f"{name} is a {role}", f"this needs the role {self.role.value}")
        return caller.principal


def check_csrf(caller: Caller, given: str) -> None:
    """Refuse what no page of the service sent."""
    if not _is_same(given, caller.csrf):
        raise NotOfThisSite(
            "the request does not come from a page of this service, or from one of an older session",
            "load the page again; a script sends the header X-CSRF-Token",
        )


Viewer = Annotated[Principal, Depends(Needs(Role.VIEWER))]
Curator = Annotated[Principal, Depends(Needs(Role.CURATOR))]
Admin = Annotated[Principal, Depends(Needs(Role.ADMIN))]
Open = Annotated[Principal | None, Depends(somebody)]
"""A route for everybody: health, signing in, files of the page."""


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


class StartToken:
    """A token that counts for as long as the process lives, unless the environment has one for longer."""

    def __init__(self, settings: Settings, role: Role = Role.ADMIN) -> None:
        known = settings.start_token.get_secret_value() if settings.start_token else ""
        self.is_known = bool(known)
        """Whoever started the service chose it: it need not be shown."""
        self.value = known or secrets.token_urlsafe(32)
        # Neither a browser's cookie nor a form tells the token itself.
        self.cookie, self.csrf = (
            hmac.new(self.value.encode(), use, sha256).hexdigest() for use in (b"cookie", b"csrf")
        )
        self._user = Principal(id="start", name=whoami(), role=role)

    def by_token(self, token: str) -> Principal | None:
        return self._user if _is_same(token.strip(), self.value) else None

    def by_cookie(self, cookie: str) -> Principal | None:
        return self._user if _is_same(cookie, self.cookie) else None


def _is_same(given: str, known: str) -> bool:
    return hmac.compare_digest(given.encode(errors="surrogatepass"), known.encode())


def _cookie_name(request: Request) -> str:
    """Return the name of the session cookie.

    With TLS the name is one that browsers let nobody else set: no other host of the domain, and no page without TLS.
    Without, on this machine, it has the port in it: cookies of two services would be the same otherwise.
    """
    return "__Host-kgcheck" if request.url.scheme == "https" else f"kgcheck-{request.url.port or 80}"


def cookie_of(request: Request) -> str:
    """Return the value of the session cookie; empty where there is none."""
    return request.cookies.get(_cookie_name(request), "")


def may_have_cookie(request: Request) -> bool:
    """Return whether nobody on the way can read a cookie: by TLS, or on this machine."""
    return request.url.scheme == "https" or is_loopback(host_of(request.headers.get("host", "")))


def set_cookie(request: Request, response: Response, secret: str) -> None:
    """Give a browser the cookie of a session, or take it away: an empty one."""
    response.set_cookie(
        _cookie_name(request),
        secret,
        max_age=int(LONGEST.total_seconds()) if secret else 0,
        expires=None if secret else 0,
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="strict",
    )
