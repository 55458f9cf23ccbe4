"""Sign-in and sign-out routes: exchange a token for a browser session."""

import re
from http import HTTPStatus
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from kgcheck.report.documents import html_environment
from kgcheck.service.access import (
    Caller,
    Open,
    Principal,
    TooManyRequests,
    Viewer,
    comes_by_proxy,
    cookie_of,
    may_have_cookie,
    set_cookie,
)
from kgcheck.service.guards import address_of
from kgcheck.service.state import Served, Service

router = APIRouter(include_in_schema=False)

_LOCAL = re.compile(r"/(?![/\\])[^\s\\\x00-\x1f\x7f]*")
_LONGEST = 2_000


def sign_in_page(
    request: Request,
    *,
    status: int = HTTPStatus.OK,
    wrong: str = "",
    after: str | None = None,
    headers: dict[str, str] | None = None,
) -> HTMLResponse:
    """The form into which a token is typed."""
    way = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    template = html_environment("kgcheck.service").get_template("sign_in.html")
    text = template.render(
        action=request.scope.get("root_path", "") + "/sign-in",
        after=local_path(way if after is None else after),
        wrong=wrong,
        is_safe=may_have_cookie(request),
        has_users=request.app.state.service.users.there_are_any(),
    )
    return HTMLResponse(text, status, headers)


@router.get("/sign-in")
def form(
    request: Request,
    service: Served,
    asking: Open,
    after: Annotated[str, Query(alias="next", max_length=_LONGEST)] = "/",
    token: Annotated[str, Query(max_length=_LONGEST)] = "",
) -> Response:
    """The form into which a token is typed; the token of the start may stand in the address that was printed."""
    if token and not service.users.there_are_any():
        return _begin_start(request, service, token, after)
    if asking:
        return RedirectResponse(_within(request, after), HTTPStatus.SEE_OTHER)
    return sign_in_page(request, after=after)


@router.post("/sign-in")
def sign_in(
    request: Request,
    service: Served,
    asking: Open,
    token: Annotated[str, Form(max_length=_LONGEST)] = "",
    after: Annotated[str, Form(alias="next", max_length=_LONGEST)] = "/",
) -> Response:
    """Begin a session, if the token counts."""
    if not service.users.there_are_any():
        return _begin_start(request, service, token, after)
    address = address_of(request)
    if not service.rates.may_try(address):
        raise TooManyRequests("too many failed sign-ins from this address", "wait a minute")
    if not may_have_cookie(request):
        wrong = "Signing in needs an address that begins with https: others could read along otherwise."
        return sign_in_page(request, status=HTTPStatus.FORBIDDEN, wrong=wrong, after=after)
    begun = service.users.sign_in(token)
    if begun is None:
        service.rates.failed(address)
        wrong = "This token is none, has expired or was revoked."
        return sign_in_page(request, status=HTTPStatus.UNAUTHORIZED, wrong=wrong, after=after)
    # Whatever session the browser had ends: nobody can give it one that goes on after this.
    if former := service.users.by_session(cookie_of(request)):
        service.users.sign_out(former.session.digest)
    secret, (session, entry) = begun
    return _signed_in(request, Principal(name=entry.name, role=entry.role, session=session.digest), secret, after)


def _begin_start(request: Request, service: Service, token: str, after: str) -> Response:
    """Give a browser the cookie of whoever started the service, who then goes on without the token in the address."""
    found = service.start_token.by_token(token) if service.options.is_local else None
    if found is None or comes_by_proxy(request.headers):
        if not service.rates.failed(address_of(request)):
            raise TooManyRequests("too many failed sign-ins from this address", "wait a minute")
        wrong = "This is not the token that the service was started with."
        return sign_in_page(request, status=HTTPStatus.UNAUTHORIZED, wrong=wrong, after=after)
    return _signed_in(request, found, service.start_token.cookie, after)


def _signed_in(request: Request, principal: Principal, secret: str, after: str) -> Response:
    request.state.caller = Caller(principal)
    answer = RedirectResponse(_within(request, after), HTTPStatus.SEE_OTHER)
    set_cookie(request, answer, secret)
    return answer


@router.post("/sign-out")
def sign_out(request: Request, service: Served, asking: Viewer) -> Response:
    """End the session."""
    if asking.session:
        service.users.sign_out(asking.session)
    answer = RedirectResponse(_within(request, "/sign-in"), HTTPStatus.SEE_OTHER)
    set_cookie(request, answer, "")
    return answer


def local_path(path: str) -> str:
    """A path of this service, for who goes on there; its beginning where it is none.

    >>> local_path("/findings?page=2"), local_path("//example.org"), local_path("https://example.org")
    ('/findings?page=2', '/', '/')
    """
    return path if _LOCAL.fullmatch(path) and len(path) <= _LONGEST else "/"


def _within(request: Request, path: str) -> str:
    prefix = str(request.scope.get("root_path", "")).rstrip("/")
    known = local_path(path)
    known = known if prefix and known.startswith(f"{prefix}/") else prefix + known
    return quote(known, safe="/?&=%#:@+,;!$'()*~-._[]")
