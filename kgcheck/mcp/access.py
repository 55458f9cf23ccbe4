"""Principal of a call: over HTTP whoever a token names, over stdio the user of this machine.

It may never do more than the server allows.
"""

from typing import Protocol

import anyio.to_thread
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import AccessToken

from kgcheck.errors import UsageError
from kgcheck.service.roles import Principal, Role

LONGEST_TOKEN = 256


class KnownToken(Protocol):
    """Token as the ledger knows it."""

    @property
    def id(self) -> str:
        """Names the token, and is no secret."""

    @property
    def name(self) -> str:
        """Name of its owner."""

    @property
    def role(self) -> Role:
        """Role of its owner."""


class TokenLookup(Protocol):
    """Lookup of tokens: `kgcheck.ledger.accounts.Users`."""

    def by_token(self, token: str) -> KnownToken | None:
        """Look up a token; None where it counts for nobody."""


class LedgerTokens:
    """Looks tokens up in the ledger, as the SDK asks for it."""

    def __init__(self, users: TokenLookup) -> None:
        self._users = users

    async def verify_token(self, token: str) -> AccessToken | None:
        """Check a token; None where it counts for nobody."""
        if len(token) > LONGEST_TOKEN:
            return None
        entry = await anyio.to_thread.run_sync(self._users.by_token, token)
        if entry is None:
            return None
        # Its id stands for the token: nothing that is kept in memory for as long as a session needs the secret.
        return AccessToken(token=entry.id, client_id=entry.name, subject=entry.id, scopes=[entry.role.value])


class Asking:
    """Tells of the call under way who asks."""

    def __init__(self, most: Role, local: str | None) -> None:
        self.most = most
        self._local = local

    def principal(self) -> Principal:
        """Return the principal of the call."""
        token = get_access_token()
        if token is None:
            if self._local is None:
                raise UsageError("nobody is signed in", "send a token: Authorization: Bearer kgc_...")
            return Principal(name=self._local, role=self.most)
        role = Role(token.scopes[0])
        return Principal(name=token.client_id, role=self.most if role.may(self.most) else role)

    def needs(self, role: Role) -> Principal:
        """Return the principal of the call, where their role is enough."""
        asking = self.principal()
        if not asking.role.may(role):
            raise UsageError(f"{asking.name} is a {asking.role.value} here", f"this needs the role {role.value}")
        return asking
