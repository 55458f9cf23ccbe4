"""The record of one run of a program: what went in, what came out, and what ended it."""

from datetime import datetime
from typing import Literal

from pydantic import Field

from kgcheck.model import Value

Language = Literal["python", "r"]
Guard = Literal["bubblewrap", "landlock"]
ReachedLimit = Literal["seconds", "processor", "memory", "disk", "files", "output", "threads", "open_files"]


class ProgramLimits(Value):
    """What a program may take."""

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
    """What became of a program; ``exit`` is none where a signal ended it."""

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
        """Whether it came to its end by itself, and well."""
        return self.exit == 0 and self.limit is None
