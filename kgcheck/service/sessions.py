"""Session cookies, and StartToken, the token of one start of the service."""

import hmac
import secrets
from hashlib import sha256

from fastapi import Request, Response

from kgcheck.ledger.accounts import LONGEST, Role, whoami
from kgcheck.service.access import Principal, host_of, is_loopback
from kgcheck.settings import Settings

_BYTES = 32


class StartToken:
    """A token that counts for as long as the process lives, unless the environment has one for longer."""

    def __init__(self, settings: Settings, role: Role = Role.ADMIN) -> None:
        known = settings.start_token.get_secret_value() if settings.start_token else ""
        self.is_known = bool(known)
        """Whoever started the service chose it: it need not be shown."""
        self.value = known or secrets.token_urlsafe(_BYTES)
        self._user = Principal(id="start", name=whoami(), role=role)

    @property
    def cookie(self) -> str:
        """The value of a browser's cookie, from which the token cannot be computed."""
        return self._derived("cookie")

    @property
    def csrf(self) -> str:
        return self._derived("csrf")

    def by_token(self, token: str) -> Principal | None:
        return self._user if _equal(token.strip(), self.value) else None

    def by_cookie(self, cookie: str) -> Principal | None:
        return self._user if _equal(cookie, self.cookie) else None

    def _derived(self, use: str) -> str:
        return hmac.new(self.value.encode(), use.encode(), sha256).hexdigest()


def _equal(given: str, known: str) -> bool:
    return hmac.compare_digest(given.encode(errors="surrogatepass"), known.encode())


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
