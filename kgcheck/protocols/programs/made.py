"""What a program left in its folder: looked at without following where it leads, and within limits."""

import errno
import hashlib
import os
import stat
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

from kgcheck.errors import InputFormat
from kgcheck.inputs import MIB, parse_json
from kgcheck.protocols.programs.record import MadeFile, ProgramLimits, ReachedLimit

DEEPEST_FOLDER = 32
LARGEST_RESULTS = 4 * MIB
"""Bytes of a results.json."""


class Filled(NamedTuple):
    """What is in a folder: paths of the files, and the limit that it is over."""

    files: list[str]
    over: ReachedLimit | None


def filled(folder: Path, limits: ProgramLimits, leaving_out: str = "") -> Filled:
    """Look through a folder in which somebody may be writing; it ends where a limit is passed."""
    files: list[str] = []
    count = size = 0
    left = [(str(folder), 0)]
    while left:
        place, depth = left.pop()
        try:
            with os.scandir(place) as entries:
                for entry in entries:
                    if depth == 0 and entry.name == leaving_out:
                        continue
                    count += 1
                    is_folder = entry.is_dir(follow_symlinks=False)
                    if is_folder:
                        left.append((entry.path, depth + 1))
                    else:
                        size += entry.stat(follow_symlinks=False).st_size
                        files.append(entry.path)
                    if count > limits.files or depth > DEEPEST_FOLDER:
                        return Filled(files, "files")
                    if size > limits.disk_mib * MIB:
                        return Filled(files, "disk")
        except FileNotFoundError:
            continue
        except OSError as error:
            # What cannot be looked into might hold anything.
            if error.errno in (errno.EACCES, errno.ENAMETOOLONG, errno.ELOOP):
                return Filled(files, "files")
            raise
    return Filled(files, None)


def made_files(
    folder: Path, limits: ProgramLimits, leaving_out: str
) -> tuple[tuple[MadeFile, ...], ReachedLimit | None]:
    """The files of a folder, with what they are."""
    found = filled(folder, limits, leaving_out)
    if found.over:
        return (), found.over
    made = []
    for path in sorted(found.files):
        data = _opened(path)
        if data is not None:
            with os.fdopen(data, "rb") as stream:
                digest = hashlib.file_digest(stream, "sha256").hexdigest()
                size = os.fstat(stream.fileno()).st_size
            name = os.path.relpath(path, folder).encode(errors="surrogateescape").decode(errors="backslashreplace")
            made.append(MadeFile(name=name, bytes=size, sha256=digest))
    return tuple(made), None


def read_program_results(folder: Path) -> dict[str, Any]:
    """The results that a program left."""
    path = folder / "results.json"
    data = _opened(str(path))
    if data is None:
        raise InputFormat(f"{path} is no file", "a program leaves its results there, as a JSON object")
    with os.fdopen(data, "rb") as stream:
        text = stream.read(LARGEST_RESULTS + 1)
    if len(text) > LARGEST_RESULTS:
        raise InputFormat(f"{path} is larger than {LARGEST_RESULTS // MIB} MiB", "results are numbers, not data")
    try:
        made = parse_json(text.decode(), finite=True)
    except ValueError as error:
        raise InputFormat(f"{path} is no JSON: {error}", "a program leaves its results there, as an object") from None
    if not isinstance(made, dict):
        raise InputFormat(f"{path} is no JSON object", "name each result by its key")
    return made


def _opened(path: str) -> int | None:
    """A file as it lies there, opened for reading; none if it is anything else, or not there."""
    try:
        opened = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    if stat.S_ISREG(os.fstat(opened).st_mode):
        return opened
    os.close(opened)
    return None


def remove(folder: Path) -> None:
    """Remove a folder with all that is in it, however deep, and whatever the rights are that a program set."""
    if not folder.exists():
        return
    # Python's own removal ends at a thousand folders in each other.
    command = ["rm", "--recursive", "--force", "--one-file-system", "--", str(folder.absolute())]
    if subprocess.run(command, capture_output=True, check=False).returncode:  # noqa: S603
        subprocess.run(["chmod", "-R", "u+rwX", "--", str(folder.absolute())], capture_output=True, check=False)  # noqa: S603, S607
        subprocess.run(command, capture_output=True, check=False)  # noqa: S603
    if folder.exists():
        raise OSError(f"{folder} cannot be removed")
