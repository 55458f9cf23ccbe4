"""The one place where stores, references, the ledger, papers and brains are put together."""

from kgcheck.workspace.workspace import Workspace

__all__ = ["Workspace"]
