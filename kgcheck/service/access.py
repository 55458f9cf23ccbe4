"""Access to routes: each names the least role that it needs, or that it is open to everybody.

`kgcheck.service.gate` finds out who asks before anything of a body is read; what stands here is what a route names, and
what it learns of who asks.
"""

import hmac
from http import HTTPStatus
from typing import Annotated, Any, ClassVar, NamedTuple

from fastapi import Depends, Request

from kgcheck.errors import UsageError
from kgcheck.service.roles import Principal, Role

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
    is_wrong = False
    """Something was sent that does not count, and not nothing."""

    @classmethod
    def wrong(cls, message: str, hint: str = "") -> "NotSignedIn":
        error = cls(message, hint)
        error.is_wrong = True
        return error


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
    """CSRF token of the session; empty where there is none."""
    why: NotSignedIn | None = None
    """Reason why nobody is known."""
    counted: str = ""
    """Token whose requests are counted; empty where nobody's are."""


def caller_of(request: Request) -> Caller:
    """Return the caller of a request."""
    found = getattr(request.state, "caller", None)
    return found if isinstance(found, Caller) else Caller(None)


def csrf_of(request: Request) -> str:
    """Return the CSRF token: forms of a page send it as ``csrf``, scripts as header ``X-CSRF-Token``."""
    return caller_of(request).csrf


async def somebody(request: Request) -> Principal | None:
    """Return the principal of a request, where it is known."""
    return caller_of(request).principal


class Needs:
    """Lets those in who have a role."""

    def __init__(self, role: Role) -> None:
        self.role = role

    async def __call__(self, request: Request) -> Principal:
        caller = caller_of(request)
        principal = self.admit(caller)
        if caller.csrf and request.method not in SAFE and CSRF_HEADER not in request.headers:
            check_csrf(caller, str((await request.form()).get(CSRF_FIELD, "")))
        return principal

    def admit(self, caller: Caller) -> Principal:
        """Let somebody in by their role alone."""
        if caller.principal is None:
            raise caller.why or NotSignedIn("nobody is signed in", "send a token: Authorization: Bearer kgc_...")
        if not caller.principal.role.may(self.role):
            name, role = caller.principal.name, caller.principal.role.value
            raise NotAllowed(f"{name} is a {role}", f"this needs the role {self.role.value}")
        return caller.principal


def check_csrf(caller: Caller, given: str) -> None:
    """Refuse what no page of the service sent."""
    if not hmac.compare_digest(given.encode(errors="surrogatepass"), caller.csrf.encode()):
        raise NotOfThisSite(
            "the request does not come from a page of this service, or from one of an older session",
            "load the page again; a script sends the header X-CSRF-Token",
        )


def needs(role: Role) -> Any:
    """Return the annotation of a route that needs a role."""
    return Depends(Needs(role))


Viewer = Annotated[Principal, needs(Role.VIEWER)]
Curator = Annotated[Principal, needs(Role.CURATOR)]
Admin = Annotated[Principal, needs(Role.ADMIN)]
Open = Annotated[Principal | None, Depends(somebody)]
"""A route for everybody: health, signing in, files of the page."""
