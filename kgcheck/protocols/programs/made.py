"""What a program left in its folder: looked at without following where it leads, and within limits."""

import hashlib
import os
import subprocess
from pathlib import Path
from typing import Any

from kgcheck.errors import InputFormat
from kgcheck.inputs import MIB, parse_json
from kgcheck.protocols.programs.folder import Space, filled, opened
from kgcheck.protocols.programs.record import MadeFile, ProgramLimits, ReachedLimit

LARGEST_RESULTS = 4 * MIB
"""Bytes of a results.json."""


def space_of(limits: ProgramLimits) -> Space:
    """Limits of the folder of a program."""
    return Space(limits.disk_mib * MIB, limits.files)


def made_files(folder: Path, limits: ProgramLimits) -> tuple[tuple[MadeFile, ...], ReachedLimit | None]:
    """The files of a folder, with what they are."""
    found = filled(str(folder), space_of(limits))
    if found.over:
        return (), found.over
    made = []
    for path in sorted(found.files):
        data = opened(path)
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
    data = opened(str(path))
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
