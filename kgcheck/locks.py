"""File locks between processes: shared for readers, exclusive for one writer.

The pace of calls, for which processes wait in turn, is kept with the package filelock (kgcheck.providers.http): it has
waits with an end, and no shared locks.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kgcheck.errors import JobUnderWay, StoreError, StoreLocked


class FileLock:
    """Held until `release`, or until the process ends.

    LadybugDB keeps a second writer out by itself, but lets a reader in while pages are being written under its eyes.
    Its own lock on the file ends when any descriptor of it is closed: close the database before the lock.
    """

    def __init__(self, path: Path, *, exclusive: bool) -> None:
        try:
            self._descriptor = os.open(path, os.O_RDWR if exclusive else os.O_RDONLY)
        except OSError as error:
            raise StoreError(
                f"cannot open the store {path}: {error.strerror}", "check who may read and write it"
            ) from error
        if not lock_open_file(self._descriptor, exclusive=exclusive):
            self.release()
            raise in_use(path)

    def release(self) -> None:
        os.close(self._descriptor)


def lock_open_file(descriptor: int, *, exclusive: bool) -> bool:
    """Lock an open file until it is closed, without waiting."""
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        # A file system without locks, as some network ones: better unguarded than unusable.
        return True
    return True


@contextmanager
def is_abandoned(path: Path) -> Iterator[bool]:
    """Tell whether nobody holds a lock of this user any more, here or on another host; in doubt somebody does."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
    except OSError:
        yield False
        return
    try:
        free = os.fstat(descriptor).st_uid == os.geteuid()
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            free = False
        yield free
    finally:
        os.close(descriptor)


def in_use(path: Path) -> StoreLocked:
    """The error for a store that another process has."""
    return StoreLocked(f"the store {path} is in use by another process", "wait until it ends, or stop it")


@contextmanager
def only_one(folder: Path, activity: str) -> Iterator[None]:
    """Keep other processes out of a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if not lock_open_file(descriptor, exclusive=True):
            raise JobUnderWay(f"another process {activity} in {folder}", "wait until it ends, or stop it")
        yield
    finally:
        os.close(descriptor)
