"""Files that are written: whole or not at all, so that a full disk or a kill leaves what was there before."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

from kgcheck.errors import InputError


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Write a file under another name beside it; it takes its place when the block ends well.

    The block closes and checks what it wrote. What was there before stays until then, and for good if anything fails;
    what was written is removed then.
    """
    if path.exists() and not path.is_file():
        raise OSError(f"{path} is not a file")
    path.parent.mkdir(parents=True, exist_ok=True)
    # Short, so that a long name has room for it.
    partial = path.with_name(f".{os.getpid()}-{uuid4().hex[:8]}.partial")
    try:
        yield partial
        _to_disk(partial)
        os.replace(partial, path)
        _to_disk(path.parent)
    finally:
        for left in (partial, partial.with_name(partial.name + ".wal")):
            with suppress(OSError):
                left.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a text file in UTF-8, whole or not at all; see `write_bytes`."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file, whole or not at all."""
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            path.write_bytes(data)
            return
        with replacing(path) as partial:
            partial.write_bytes(data)
    except OSError as error:
        raise InputError(
            f"cannot write {path}: {error.strerror or error}", "free disk space, or name another file"
        ) from error


def _to_disk(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
