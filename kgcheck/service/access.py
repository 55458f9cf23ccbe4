"""Who may call a route: every route names the least role that it needs, or that it is open to everybody."""

from typing import Annotated, Any

from fastapi import Depends, Request

from kgcheck.errors import UsageError
from kgcheck.service.roles import Principal, Role
from kgcheck.workspace.patching import whoami


class NotAllowed(UsageError):
    """Somebody is known, and their role is not enough."""


def principal_of(request: Request) -> Principal:
    """Who asks: while there are no users, whoever reaches the loopback address of this machine.

    Args:
        request: Any.

    Returns:
        Who it is.
    """
    return Principal(name=whoami(), role=Role.ADMIN)


class Needs:
    """Lets those in who have a role.

    Args:
        role: The least one that is enough.
    """

    def __init__(self, role: Role) -> None:
        self.role = role

    def __call__(self, asking: Annotated[Principal, Depends(principal_of)]) -> Principal:
        """Let somebody in.

        Args:
            asking: Who asks.

        Returns:
            The same.

        Raises:
            NotAllowed: Their role is not enough.
        """
        if not asking.role.may(self.role):
            raise NotAllowed(f"{asking.name} is a {asking.role.value}", f"this needs the role {self.role.value}")
        return asking


def needs(role: Role) -> Any:
    """The dependency of a route on a role: ``Annotated[Principal, needs(Role.CURATOR)]``."""
    return Depends(Needs(role))


Viewer = Annotated[Principal, needs(Role.VIEWER)]
Curator = Annotated[Principal, needs(Role.CURATOR)]
Admin = Annotated[Principal, needs(Role.ADMIN)]
