"""The cookie of a session: what it is called, and who gets to see it."""

from fastapi import Request, Response

from kgcheck.ledger.accounts import LONGEST
from kgcheck.service.origin import host_of, is_loopback


def cookie_name(request: Request) -> str:
    """Return the name of the session cookie.

    With TLS the name is one that browsers let nobody else set: no other host of the domain, and no page without TLS.
    Without, on this machine, it has the port in it: cookies of two services would be the same otherwise.
    """
    return "__Host-kgcheck" if request.url.scheme == "https" else f"kgcheck-{request.url.port or 80}"


def cookie_of(request: Request) -> str:
    """Return the value of the session cookie; empty where there is none."""
    return request.cookies.get(cookie_name(request), "")


def may_have_cookie(request: Request) -> bool:
    """Return whether nobody on the way can read a cookie: by TLS, or on this machine."""
    return request.url.scheme == "https" or is_loopback(host_of(request.headers.get("host", "")))


def set_cookie(request: Request, response: Response, secret: str) -> None:
    """Give a browser the cookie of a session."""
    response.set_cookie(
        cookie_name(request),
        secret,
        max_age=int(LONGEST.total_seconds()),
        path="/",
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="strict",
    )


def drop_cookie(request: Request, response: Response) -> None:
    """Take the cookie of a session from a browser."""
    response.delete_cookie(
        cookie_name(request), path="/", secure=request.url.scheme == "https", httponly=True, samesite="strict"
    )
