"""Run pandoc on untrusted files with bounded time, memory and output, and no other file."""

import os
import resource
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

from kgcheck.deadline import at_most
from kgcheck.errors import InputFormat, MissingExtra
from kgcheck.inputs import MIB, parse_json

EXTRA = "grounding"
SECONDS = 15  # most processor time, and three times as many by the clock. A paper takes less than one.
HEAP = 1024 * MIB
LARGEST_OUTPUT = 64 * MIB

_HEAP_EXHAUSTED = 251


def pandoc_json(data: bytes, form: str, path: Path, to: str = "json") -> Any:
    """Read a file with pandoc, as the value of its JSON."""
    written = pandoc_bytes(data, ("-f", form, "-t", to), path)
    try:
        return parse_json(written)
    except ValueError as error:
        raise InputFormat(f"{path} cannot be read: {error}", "it may be made to do harm") from error


def pandoc_bytes(data: bytes, arguments: Sequence[str], path: Path) -> bytes:
    """Convert a file with pandoc."""
    with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as problems:
        source.write(data)
        source.seek(0)
        code = _run(arguments, source, out, problems)
        out.seek(0)
        written = out.read(LARGEST_OUTPUT + 1)
        problems.seek(0)
        message = " ".join(problems.read(4 * 1024).decode(errors="replace").split())[:300]
    harm = "it may be made to do harm"
    if code is None or code in (-9, -24):
        raise InputFormat(f"{path} takes pandoc too long: more than {SECONDS} seconds of work", harm)
    if code == _HEAP_EXHAUSTED:
        raise InputFormat(f"{path} takes pandoc more than {HEAP // MIB} MiB of memory", harm)
    if code == -25 or len(written) >= LARGEST_OUTPUT:
        raise InputFormat(f"{path} becomes more than {LARGEST_OUTPUT // MIB} MiB of text", harm)
    if code:
        raise InputFormat(f"pandoc cannot read {path}: {message or f'it ended with {code}'}", "it may be cut off")
    return written


def _run(arguments: Sequence[str], source: BinaryIO, out: BinaryIO, problems: BinaryIO) -> int | None:
    """The exit code; None where the time ran out."""
    process = subprocess.Popen(  # noqa: S603 - the program of a package that we depend on, with arguments of our own
        [pandoc_path(), "--sandbox", "--quiet", *arguments, "+RTS", f"-M{HEAP // MIB}m", "-RTS"],
        stdin=source,
        stdout=out,
        stderr=problems,
        cwd="/",
        env={"LANG": "C.UTF-8", "HOME": "/nonexistent"},
    )
    try:
        for limit, most in ((resource.RLIMIT_CPU, SECONDS), (resource.RLIMIT_FSIZE, LARGEST_OUTPUT)):
            resource.prlimit(process.pid, limit, (most, most))
        return process.wait(at_most(3 * SECONDS))
    except subprocess.TimeoutExpired:
        return None
    except ProcessLookupError:
        return process.wait()
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def pandoc_path() -> str:
    """The program of the extra."""
    try:
        import pypandoc

        path = str(pypandoc.get_pandoc_path())
        if not os.access(path, os.X_OK):
            raise PermissionError(path)
    except (ImportError, OSError) as error:
        raise MissingExtra("reading Markdown, LaTeX and Word", EXTRA) from error
    return path
