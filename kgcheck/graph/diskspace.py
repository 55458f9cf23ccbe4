"""Error messages for a full disk under an embedded store, with the free space."""

import shutil
from pathlib import Path

from kgcheck.errors import StoreError

AGAIN = "run the same kgcheck load again, which finishes it; until then a store that is not finished refuses readers"
"""Advice for later: a load that broke off leaves the store as it was, or unfinished and marked so."""

MEND = f"free disk space, then {AGAIN}"

_SIGNS = ("No space left", "Cannot write to file", "Cannot read from file", "checkpoint failed", "Checkpoint failed")


def free_space(store: str) -> str:
    """Describe the free disk space where a store is, in words."""
    # The load may not have come so far as to make its folder.
    folder = next(parent for parent in Path(store).absolute().parents if parent.is_dir())
    try:
        return f"{shutil.disk_usage(folder).free / 1e6:,.1f} MB are free in {folder}"
    except OSError:
        return f"{folder} cannot be looked at"


def unwritable(store: str, message: str) -> StoreError | None:
    """The error for a store that could not be written, if that is what LadybugDB said."""
    if not any(sign in message for sign in _SIGNS):
        return None
    _, found, why = message.rpartition("Error: ")
    reason = why.strip().splitlines()[0] if found and why.strip() else "a checkpoint could not be finished"
    return StoreError(f"the store {store} cannot be written: {reason}; {free_space(store)}", MEND)
