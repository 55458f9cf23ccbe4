"""Whether what a workspace works on can be read now."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from kgcheck.errors import KgcheckError
from kgcheck.model import Value

if TYPE_CHECKING:
    from kgcheck.workspace.workspace import Workspace


PartName = Literal["ledger", "store", "reference", "literature"]


class Part(Value):
    """A part of a workspace, and why it cannot be read, where it cannot."""

    name: PartName
    is_ready: bool
    kind_of_error: str = ""
    why: str = ""
    hint: str = ""


def readiness(workspace: "Workspace") -> list[Part]:
    """Look at each part that a workspace names; nothing is made or written.

    Args:
        workspace: The workspace.

    Returns:
        The ledger and the store always, the references and the papers where they are named.
    """
    return [part_of(workspace, name) for name in part_names(workspace)]


def part_names(workspace: "Workspace") -> list[PartName]:
    """The parts of a workspace that can be looked at."""
    named: list[tuple[PartName, object]] = [("reference", workspace.reference), ("literature", workspace.literature)]
    return ["ledger", "store", *(name for name, place in named if place)]


def part_of(workspace: "Workspace", name: PartName) -> Part:
    """Look at one part.

    Args:
        workspace: The workspace.
        name: One of `part_names`.

    Returns:
        The part.
    """
    looks: dict[PartName, Callable[[], object]] = {
        "ledger": lambda: _ledger(workspace),
        "store": lambda: workspace.graph.meta(),
        "reference": lambda: _reference(workspace),
        "literature": lambda: workspace.index([]),
    }
    try:
        looks[name]()
    except KgcheckError as error:
        return Part(name=name, is_ready=False, kind_of_error=type(error).__name__, why=error.message, hint=error.hint)
    return Part(name=name, is_ready=True)


def _ledger(workspace: "Workspace") -> None:
    from kgcheck.ledger.ledger import Ledger

    with Ledger(workspace.ledger, create=False):
        pass


def _reference(workspace: "Workspace") -> None:
    from kgcheck.reference.snapshot import Snapshot

    if workspace.reference:
        Snapshot(workspace.reference, workspace.schema).close()
