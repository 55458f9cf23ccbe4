"""The token of one start, while there are no users: whoever started the service has it, and nobody else of the machine.

As in Jupyter: the address that is printed carries it, a browser has a cookie after that, and a program sends it as a
bearer's.
"""

import hmac
import secrets
from hashlib import sha256

from kgcheck.ledger.accounts import Role, whoami
from kgcheck.model import Value
from kgcheck.settings import Settings

_BYTES = 32


class StartUser(Value):
    """Whoever started the service."""

    id: str
    name: str
    role: Role


class StartToken:
    """A token that counts for as long as the process lives, unless the environment has one for longer."""

    def __init__(self, settings: Settings, role: Role = Role.ADMIN) -> None:
        known = settings.start_token.get_secret_value() if settings.start_token else ""
        self.is_known = bool(known)
        """Whoever started the service chose it: it need not be shown."""
        self.value = known or secrets.token_urlsafe(_BYTES)
        self._user = StartUser(id="start", name=whoami(), role=role)

    @property
    def cookie(self) -> str:
        """The value of a browser's cookie, from which the token cannot be computed."""
        return self._derived("cookie")

    @property
    def csrf(self) -> str:
        """The value that forms of the page send back."""
        return self._derived("csrf")

    def by_token(self, token: str) -> StartUser | None:
        """Whoever started the service, if that is the token."""
        return self._user if _equal(token.strip(), self.value) else None

    def by_cookie(self, cookie: str) -> StartUser | None:
        """Whoever started the service, if a browser was given that cookie."""
        return self._user if _equal(cookie, self.cookie) else None

    def _derived(self, use: str) -> str:
        return hmac.new(self.value.encode(), use.encode(), sha256).hexdigest()


def _equal(given: str, known: str) -> bool:
    return hmac.compare_digest(given.encode(errors="surrogatepass"), known.encode())
