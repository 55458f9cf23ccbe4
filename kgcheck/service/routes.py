"""Every route of the service with who may call it, as a table for the documentation."""

from collections.abc import Iterator
from typing import NamedTuple

from fastapi import FastAPI

from kgcheck.service.access import SAFE
from kgcheck.service.gate import doors_of
from kgcheck.service.roles import Role


class RouteRow(NamedTuple):
    """A method of a path, and the least role that it needs."""

    method: str
    path: str
    role: Role | None
    is_open: bool
    """For everybody. A route with neither a role nor this is for nobody."""

    @property
    def is_safe(self) -> bool:
        """Whether it changes nothing."""
        return self.method in SAFE

    def allows(self, role: Role | None) -> bool:
        """Whether somebody of that role may call it; None is somebody who is not signed in."""
        return self.is_open or (role is not None and self.role is not None and role.may(self.role))


def routes_of(app: FastAPI) -> Iterator[RouteRow]:
    """Every method of every route, by path."""
    doors = sorted(doors_of(app), key=lambda door: door.path)
    for door in doors:
        for method in sorted(door.methods - {"HEAD"}):
            yield RouteRow(method, door.path, door.needs.role if door.needs else None, door.is_open)


def routes_table(app: FastAPI) -> str:
    """The routes as a table in Markdown."""
    lines = ["| method | path | everybody | viewer | curator | admin |", "| --- | --- | :-: | :-: | :-: | :-: |"]
    for row in routes_of(app):
        cells = " | ".join("yes" if row.allows(role) else "" for role in (None, *Role))
        lines.append(f"| {row.method} | `{row.path}` | {cells} |")
    return "\n".join(lines) + "\n"
