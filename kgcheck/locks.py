"""A lock on the file of an embedded store: many may read it, or one may write to it.

LadybugDB keeps a second writer out by itself, but lets a reader in while pages are being written under its eyes.
"""

import fcntl
import os
from pathlib import Path

from kgcheck.errors import StoreError, StoreLocked


class FileLock:
    """Held until `release`, or until the process ends.

    LadybugDB's own lock on the file ends when any descriptor of it is closed: close the database before the lock.

    Args:
        path: An existing file.
        exclusive: To write; otherwise to read.

    Raises:
        StoreLocked: Another process, or another store of this one, is in the way.
        StoreError: The file cannot be opened.
    """

    def __init__(self, path: Path, *, exclusive: bool) -> None:
        try:
            self._descriptor = os.open(path, os.O_RDWR if exclusive else os.O_RDONLY)
        except OSError as error:
            raise StoreError(
                f"cannot open the store {path}: {error.strerror}", "check who may read and write it"
            ) from error
        try:
            fcntl.flock(self._descriptor, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self.release()
            raise in_use(path) from error
        except OSError:
            # A file system without locks, as some network ones: better unguarded than unusable.
            pass

    def release(self) -> None:
        """Let others in."""
        os.close(self._descriptor)


def in_use(path: Path) -> StoreLocked:
    """The error for a store that another process has."""
    return StoreLocked(f"the store {path} is in use by another process", "wait until it ends, or stop it")
