"""Who asks, and what they may do."""

from enum import StrEnum

from kgcheck.model import Value


class Role(StrEnum):
    """What somebody may do; each role may do what those before it may."""

    VIEWER = "viewer"
    CURATOR = "curator"
    ADMIN = "admin"

    def may(self, needed: "Role") -> bool:
        """Whether this role is enough.

        Args:
            needed: The least role that is.

        Returns:
            True where it is.

        >>> Role.CURATOR.may(Role.VIEWER), Role.CURATOR.may(Role.ADMIN)
        (True, False)
        """
        order = list(Role)
        return order.index(self) >= order.index(needed)


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
