"""List, open and copy files of a sandboxed program's folder, within limits, without links.

Known to the process inside the sandbox, too, so that no more is imported here than that needs.
"""

import errno
import mmap
import os
import shutil
import stat
import tempfile
from pathlib import Path
from typing import Literal, NamedTuple

DEEPEST_FOLDER = 32
_PROBED_BYTES = 1 << 20


class Space(NamedTuple):
    """Limits of a folder: bytes, and number of files."""

    size: int
    files: int


class Filled(NamedTuple):
    """Contents of a folder: paths of the files, and the limit that it is over."""

    files: list[str]
    over: Literal["disk", "files"] | None


def filled(folder: str, space: Space) -> Filled:
    """Look through a folder in which somebody may be writing; it ends where a limit is passed."""
    files: list[str] = []
    count = size = 0
    device = os.lstat(folder).st_dev
    left = [(folder, 0)]
    while left:
        place, depth = left.pop()
        try:
            with os.scandir(place) as entries:
                for entry in entries:
                    found = entry.stat(follow_symlinks=False)
                    # What is mounted in it, as inputs are, is not the program's; nor is a link: it can make none.
                    if found.st_dev != device or stat.S_ISLNK(found.st_mode):
                        continue
                    count += 1
                    if stat.S_ISDIR(found.st_mode):
                        left.append((entry.path, depth + 1))
                    else:
                        size += found.st_size
                        files.append(entry.path)
                    if count > space.files or depth > DEEPEST_FOLDER:
                        return Filled(files, "files")
                    if size > space.size:
                        return Filled(files, "disk")
        except FileNotFoundError:
            continue
        except OSError as error:
            # What cannot be looked into might hold anything.
            if error.errno in (errno.EACCES, errno.ENAMETOOLONG, errno.ELOOP):
                return Filled(files, "files")
            raise
    return Filled(files, None)


def opened(path: str) -> int | None:
    """A file as it lies there, opened for reading; none if it is anything else, or not there."""
    try:
        found = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    if stat.S_ISREG(os.fstat(found).st_mode):
        return found
    os.close(found)
    return None


def copy_files(files: list[str], folder: str) -> None:
    """Copy the files of a folder to the one that is worked in."""
    for path in files:
        data = opened(path)
        if data is not None:
            name = os.path.relpath(path, folder)
            os.makedirs(os.path.dirname(name) or ".", mode=0o700, exist_ok=True)
            with os.fdopen(data, "rb") as source, open(name, "xb") as target:
                shutil.copyfileobj(source, target)


def counts_mapped_writes(folder: Path) -> bool:
    """Tell whether the kernel counts for a process what it writes to files there through its memory.

    It does on disks. On a tmpfs files are memory that no limit of a process knows of.
    """
    try:
        before = _bytes_written()
        with tempfile.TemporaryFile(dir=folder) as file:
            file.truncate(_PROBED_BYTES)
            with mmap.mmap(file.fileno(), _PROBED_BYTES) as mapped:
                for place in range(0, _PROBED_BYTES, mmap.PAGESIZE):
                    mapped[place] = 1
            return _bytes_written() - before >= _PROBED_BYTES
    except (OSError, ValueError, StopIteration):
        return False


def _bytes_written() -> int:
    # Of this thread: others write meanwhile.
    lines = Path("/proc/thread-self/io").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("write_bytes:"))
