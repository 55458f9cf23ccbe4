"""Files that are written: whole or not at all, so that a full disk or a kill leaves what was there before."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from stat import S_IMODE
from uuid import uuid4

from kgcheck.errors import InputError

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
    partial = path.with_name(f".{os.getpid()}-{uuid4().hex[:8]}.partial")
    try:
        if secret:
            make_private_file(partial)
        yield partial
        _to_disk(partial)
        os.replace(partial, path)
        _to_disk(path.parent)
    finally:
        for left in (partial, partial.with_name(partial.name + ".wal")):
            with suppress(OSError):
                left.unlink(missing_ok=True)


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
        raise InputError(
            f"cannot write {path}: {error.strerror or error}", "free disk space, or name another file"
        ) from error


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
