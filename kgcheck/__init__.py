"""Tests for biomedical knowledge graphs, where every verdict carries evidence.

What a program or a notebook uses is imported from here, when it is first used:

    from kgcheck import Workspace

    with Workspace(store="graph.lbdb", reference="reference.duckdb") as workspace:
        findings = workspace.audit(types=["triple"]).to_arrow()
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kgcheck.checks.verdicts import verdict
    from kgcheck.errors import KgcheckError
    from kgcheck.model import (
        CheckTask,
        CheckType,
        Evidence,
        Finding,
        Outcome,
        Reason,
        Ref,
        Stance,
        Triple,
        Verdict,
    )
    from kgcheck.settings import Settings
    from kgcheck.workspace import Workspace

__version__ = "0.2.0"

__all__ = [
    "CheckTask",
    "CheckType",
    "Evidence",
    "Finding",
    "KgcheckError",
    "Outcome",
    "Reason",
    "Ref",
    "Settings",
    "Stance",
    "Triple",
    "Verdict",
    "Workspace",
    "verdict",
]

_MODULES = {
    "KgcheckError": "kgcheck.errors",
    "Settings": "kgcheck.settings",
    "Workspace": "kgcheck.workspace",
    "verdict": "kgcheck.checks.verdicts",
}


def __getattr__(name: str) -> Any:
    # The command line imports this package, and must not wait for pydantic.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_MODULES.get(name, "kgcheck.model")), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
