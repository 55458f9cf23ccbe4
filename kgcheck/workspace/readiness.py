"""Whether what a workspace works on can be read now."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from kgcheck.errors import KgcheckError
from kgcheck.model import Value

if TYPE_CHECKING:
    from kgcheck.workspace.workspace import Workspace


class Part(Value):
    """A part of a workspace, and why it cannot be read, where it cannot."""

    name: Literal["ledger", "store", "reference", "literature"]
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
    parts = [_part("ledger", lambda: _ledger(workspace)), _part("store", lambda: workspace.graph.meta())]
    if workspace.reference:
        parts.append(_part("reference", lambda: _reference(workspace)))
    if workspace.literature:
        parts.append(_part("literature", lambda: workspace.index([])))
    return parts


def _part(name: Literal["ledger", "store", "reference", "literature"], look: Callable[[], object]) -> Part:
    try:
        look()
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
