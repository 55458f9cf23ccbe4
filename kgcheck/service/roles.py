"""Principals and their roles."""

from kgcheck.ledger.accounts import Role
from kgcheck.model import Value

__all__ = ["Principal", "Role"]


class Principal(Value):
    """Somebody whose token or session was checked."""

    name: str
    role: Role
    session: str | None = None
