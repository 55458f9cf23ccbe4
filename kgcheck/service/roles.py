"""Who asks, and what they may do."""

from kgcheck.ledger.users import Role
from kgcheck.model import Value

__all__ = ["Principal", "Role"]


class Principal(Value):
    """Somebody whose token or session was checked.

    Attributes:
        name: What decisions and the record of actions call them.
        role: What they may do.
        session: Digest of their session, where they came by one; None for a token.
    """

    name: str
    role: Role
    session: str | None = None
