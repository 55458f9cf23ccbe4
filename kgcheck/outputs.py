"""Write files whole or not at all (atomic replace), temporary folders, and private files.

While something is being made under a name of its own, a lock beside it says so. What a process left that was killed is
removed by the next one that writes there; the lock tells it from what another still writes, on this host or elsewhere.
"""

import errno
import logging
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from stat import S_IMODE
from tempfile import gettempdir
from uuid import uuid4

from kgcheck.errors import InputError
from kgcheck.locks import is_abandoned, lock_open_file

_TEMPORARY = "kgcheck-"
_LOCK = ".lock"
_MADE = ("", ".partial", ".partial.wal", ".partial.tmp")
"""Endings of what is made under a name; the last two are DuckDB's own beside a database."""

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_OURS = re.compile(rf"(?:\.|{_TEMPORARY})[0-9]+-[0-9a-f]{{8}}{re.escape(_LOCK)}")

OWN_FOLDER = ".kgcheck"
"""The home of kgcheck in a project, unless another one is named."""

_log = logging.getLogger(__name__)


@contextmanager
def replacing(path: Path, *, secret: bool = False) -> Iterator[Path]:
    """Write a file under another name beside it; it takes its place when the block ends well.

    The block closes and checks what it wrote. What was there before stays until then, and for good if anything fails;
    what was written is removed then. A secret file, and a folder that is made for it, are for nobody else to read.
    """
    if path.exists() and not path.is_file():
        raise OSError(f"{path} is not a file")
    make_folder(path.parent, secret=secret)
    # Short, so that a long name has room for it.
    with _in_use(path.parent, ".") as name:
        partial = path.with_name(f"{name}.partial")
        if secret:
            make_private_file(partial)
        yield partial
        _to_disk(partial)
        os.replace(partial, path)
        _to_disk(path.parent)


@contextmanager
def temporary_folder(within: Path | None = None) -> Iterator[Path]:
    """Make a folder that is removed when the block ends; by default where the system keeps what is temporary."""
    parent = within or Path(gettempdir())
    with _in_use(parent, "." if within else _TEMPORARY) as name:
        folder = parent / name
        folder.mkdir(mode=0o700)
        yield folder


def write_text(path: Path, text: str, *, secret: bool = False) -> None:
    """Write a text file in UTF-8, whole or not at all; see `replacing`."""
    write_bytes(path, text.encode(), secret=secret)


def write_bytes(path: Path, data: bytes, *, secret: bool = False) -> None:
    """Write a file, whole or not at all; see `replacing`."""
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            path.write_bytes(data)
            return
        with replacing(path, secret=secret) as partial:
            partial.write_bytes(data)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}", write_hint(error)) from error


def write_hint(error: Exception, other: str = "another file") -> str:
    """Advice about a place that cannot be written."""
    may_not = isinstance(error, OSError) and error.errno not in _FULL
    return f"{'see whether you may write there' if may_not else 'free disk space'}, or name {other}"


@contextmanager
def _in_use(folder: Path, prefix: str) -> Iterator[str]:
    """A name of its own in a folder, locked; what is made under it and still there is removed in the end."""
    _remove_abandoned(folder)
    name = f"{prefix}{os.getpid()}-{uuid4().hex[:8]}"
    lock = folder / f"{name}{_LOCK}"
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        lock_open_file(descriptor, exclusive=True)
        yield name
    finally:
        _remove(folder, name)
        os.close(descriptor)


@cache
def _remove_abandoned(folder: Path) -> None:
    """Remove what dead processes left in a folder, once a process: a folder may hold very many files."""
    with suppress(OSError):
        for lock in [entry for entry in os.scandir(folder) if _OURS.fullmatch(entry.name)]:
            with is_abandoned(Path(lock.path)) as abandoned:
                if abandoned:
                    _remove(folder, lock.name.removesuffix(_LOCK))


def _remove(folder: Path, name: str) -> None:
    for path in [folder / f"{name}{ending}" for ending in (*_MADE, _LOCK)]:
        with suppress(OSError):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)


def make_folder(path: Path, *, secret: bool = False) -> None:
    """Make a folder, and those above it that are not there: a secret one for its owner alone, whatever the umask.

    So is kgcheck's own folder, also where it is there already; any other that is there may be shared by intent.
    """
    for folder in reversed((path, *path.parents)):
        if not folder.is_dir():
            folder.mkdir(exist_ok=True)
            if secret or OWN_FOLDER in folder.parts:
                folder.chmod(0o700)
        elif folder.name == OWN_FOLDER:
            close_to_others(folder)


def make_private_file(path: Path) -> None:
    """Make an empty file for its owner alone, whatever the umask; one that is there is closed to others."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        close_to_others(path)
        return
    try:
        os.fchmod(descriptor, 0o600)
    finally:
        os.close(descriptor)


def close_to_others(path: Path) -> None:
    """Take the rights of everybody but the owner away; say so where that is not allowed.

    A link is left alone: where it leads may be somebody else's choice.
    """
    with suppress(FileNotFoundError):
        if path.is_symlink():
            return
        mode = S_IMODE(path.stat().st_mode)
        if mode & 0o077:
            try:
                path.chmod(mode & 0o700)
            except OSError as error:
                _log.warning("others may read %s, and that cannot be changed: %s", path, error.strerror)


def _to_disk(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
