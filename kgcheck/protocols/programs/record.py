"""The record of one run of a program: what went in, what came out, and what ended it."""

import hashlib
import os
import subprocess
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from kgcheck.errors import InputFormat
from kgcheck.inputs import MIB, parse_json
from kgcheck.model import Value
from kgcheck.protocols.programs.folder import Space, filled, opened

Language = Literal["python", "r"]
Guard = Literal["bubblewrap", "landlock"]
ReachedLimit = Literal["seconds", "processor", "memory", "disk", "files", "output", "threads", "open_files"]


class ProgramLimits(Value):
    """Resource limits of a program."""

    seconds: float = Field(default=600.0, gt=0, le=86_400)
    processor_seconds: int = Field(default=600, gt=0, le=86_400)
    memory_mib: int = Field(default=4096, ge=256, description="address space, and what is in memory")
    disk_mib: int = Field(default=1024, ge=1, description="files that it leaves, and all that it writes")
    files: int = Field(default=2_000, ge=1, description="files and folders that it makes")
    output_kib: int = Field(default=1024, ge=1, description="of each of stdout and stderr")
    threads: int = Field(default=32, ge=1)
    open_files: int = Field(default=256, ge=16)


class MadeFile(Value):
    """A file that a program left."""

    name: str
    bytes: int
    sha256: str


class ProgramRun(Value):
    """Record of a run of a program; ``exit`` is none if a signal ended it."""

    language: Language = "python"
    sha256: str = Field(description="of the program")
    inputs: dict[str, str] = Field(default_factory=dict, description="SHA-256 of each input, by name")
    guard: Guard
    limits: ProgramLimits
    started_at: datetime
    seconds: float
    processor_seconds: float
    memory_bytes: int = Field(description="the most that was in memory")
    exit: int | None = None
    signal: str = ""
    limit: ReachedLimit | None = Field(default=None, description="the limit that ended it")
    stdout: str = ""
    stderr: str = ""
    files: tuple[MadeFile, ...] = Field(default=(), description="none where a limit of disk or files ended it")

    @property
    def clean(self) -> bool:
        """Tell whether the program ended by itself, and well."""
        return self.exit == 0 and self.limit is None


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
