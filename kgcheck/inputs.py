"""Read files within limits of size, depth and unpacking: text, JSON and TOML from anybody.

A file may be packed a thousand times smaller than what comes out of it, hold one line without end, or nest deeper than
a program can follow. All limits stand here.
"""

import gzip
import hashlib
import io
import json
import math
import os
import re
import tomllib
import zlib
from collections import Counter
from decimal import Decimal, InvalidOperation
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, cast
from urllib.parse import quote

from pydantic import ValidationError

from kgcheck.errors import AS_UTF8, LET_READ, NAME_THERE, InputError, InputFormat, InputMissing

MIB = 1 << 20

LONGEST_LINE = 64 * MIB
"""Bytes of one line."""

LARGEST_DOCUMENT = 8 * MIB
"""Bytes of one document of a corpus: parsed, it may be 30 times larger."""

LARGEST_WHOLE = 64 * MIB
"""Bytes of a file that is held in memory as a whole, unpacked."""

LARGEST_GRAPH = 512 * MIB
"""Bytes of a graph that is one JSON document: parsed, it may be 10 times larger."""

LARGEST_RECIPE = 4 * MIB
"""Bytes of a TOML file."""

DEEPEST = 200
"""Lists and objects within each other."""

MOST_UNPACKED = 100
"""Largest ratio of unpacked to packed size.

Text becomes 3 to 20 times larger; gzip can do 1,032 times.
"""

UNPACKED_FREELY = 64 * MIB
"""Bytes below which that does not count."""

_GZIP = b"\x1f\x8b"
"""First bytes of what gzip has packed."""

_ENDS = re.compile(rb"[\n\r][^\n\r]*\Z")


class Bounded(io.RawIOBase):
    """The bytes of a file, unpacked, within the limits."""

    def __init__(self, path: Path, *, lines: bool = True, most: int = LONGEST_LINE) -> None:
        self._most = most
        self._path = path
        self._lines = lines
        self._packed = path.suffix == ".gz"
        self._stream = _opened(path)
        self._guard = Unpacking(path) if self._packed else None
        self._since = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read(len(buffer))
        buffer[: len(data)] = data
        if self._guard:
            self._guard.came(len(data))
        end = _ENDS.search(data) if self._lines else None
        self._since = len(data) - end.start() if end else self._since + len(data)
        if self._since > self._most:
            raise InputFormat(
                f"{self._path} has a {'line' if self._lines else 'record'} of more than {self._most // MIB} MiB",
                "it is binary, its line ends are lost, or it was made to fill the memory",
            )
        return len(data)

    def mark(self) -> None:
        self._since = 0

    def close(self) -> None:
        self._stream.close()
        super().close()


def _opened(path: Path) -> BinaryIO:
    return cast(BinaryIO, gzip.open(path, "rb")) if path.suffix == ".gz" else path.open("rb")


class Unpacking:
    """Counts what comes out of a packed file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._most = max(UNPACKED_FREELY, MOST_UNPACKED * path.stat().st_size)
        self._out = 0

    def came(self, size: int) -> None:
        self._out += size
        if self._out > self._most:
            raise InputFormat(
                f"{self._path} becomes more than {MOST_UNPACKED} times larger when it is unpacked",
                "it was made to fill the memory or the disk; if you trust it, unpack it yourself",
            )


def check_packed(path: Path) -> None:
    """Refuse a packed file that becomes far larger than it is, for readers that unpack it on their own."""
    if path.suffix != ".gz":
        return
    try:
        with gzip.open(path, "rb") as stream:
            guard = Unpacking(path)
            if stream.peek(2)[:2] == _GZIP:
                raise InputFormat(f"{path} is packed twice", "unpack it once")
            while size := len(stream.read(MIB)):
                guard.came(size)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputFormat(f"{path} cannot be unpacked: {error}", "it may be truncated: get it again") from error
    except OSError as error:
        raise InputMissing(f"cannot read {path}: {error.strerror or error}", LET_READ) from error


def read_whole(path: Path, *, encoding: str = "utf-8") -> str:
    """The text of a file that is held in memory as a whole."""
    data = read_bytes(path, LARGEST_WHOLE)
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise InputFormat(f"{path} is not UTF-8 text: {error.reason} at byte {error.start}", AS_UTF8) from error


def read_bytes(path: Path, most: int) -> bytes:
    """The bytes of a file that is held in memory as a whole."""
    try:
        with _opened(path) as stream:
            data = stream.read(most + 1)
    except FileNotFoundError:
        raise InputMissing(f"there is no file {path}", NAME_THERE) from None
    except IsADirectoryError:
        raise InputFormat(f"{path} is a folder, not a file", "name a file in it") from None
    except (OSError, EOFError, zlib.error) as error:
        why = (error.strerror if isinstance(error, OSError) else "") or error
        raise InputFormat(f"cannot read {path}: {why}", LET_READ) from error
    if len(data) > most:
        raise InputFormat(
            f"{path} is larger than {most // MIB} MiB",
            "split it; JSON lines are read line by line where documents are",
        )
    return data


def parse_json(text: str | bytes, *, decimals: bool = False, finite: bool = False) -> Any:
    """A JSON value; with `finite`, one of numbers that a float can hold and of distinct keys."""
    try:
        value = json.loads(
            text,
            parse_float=_decimal if decimals else _finite if finite else None,
            parse_int=_finite_whole if finite else None,
            parse_constant=_finite if finite else None,
            object_pairs_hook=_distinct if finite else None,
        )
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    shown = text if isinstance(text, str) else text.decode(errors="replace")
    # Few values have so many lists and objects at all; the others are not walked through.
    if shown.count("[") + shown.count("{") > DEEPEST and _depth(value) > DEEPEST:
        raise ValueError(_TOO_DEEP)
    return value


def wrong_parts(error: ValueError, most: int = 3) -> str:
    """Describe the faults of a value that was not of its form, part by part, without what stood there."""
    if not isinstance(error, ValidationError):
        return str(error)
    parts = error.errors(include_url=False, include_context=False, include_input=False)[:most]
    return "; ".join(": ".join(filter(None, (".".join(map(str, e["loc"])), e["msg"]))) for e in parts)


def _decimal(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:
        raise ValueError(f"{text[:40]} is out of the range of numbers") from None


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:40]} is out of the range of numbers")
    return number


def _finite_whole(text: str) -> int:
    _finite(text)
    return int(text)


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = Counter(name for name, _ in pairs)
        raise ValueError(f"the key {names.most_common(1)[0][0][:40]!r} stands twice in one object")
    return found


_TOO_DEEP = f"it nests lists and objects deeper than {DEEPEST}"


def _depth(value: Any) -> int:
    level, depth = [value], 0
    while level := [v for v in level if isinstance(v, list | dict)]:
        depth += 1
        if depth > DEEPEST:
            break
        level = [inner for v in level for inner in (v.values() if isinstance(v, dict) else v)]
    return depth


def read_toml(path: Path) -> dict[str, Any]:
    """A TOML file."""
    with path.open("rb") as stream:
        data = stream.read(LARGEST_RECIPE + 1)
    if len(data) > LARGEST_RECIPE:
        raise ValueError(f"it is larger than {LARGEST_RECIPE // MIB} MiB")
    try:
        return tomllib.loads(data.decode())
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None


def plain_pattern(pattern: str) -> str:
    """A name or a pattern of names that cannot lead out of a folder.

    >>> plain_pattern("databases/*.tsv")
    'databases/*.tsv'
    >>> plain_pattern("../secret")
    Traceback (most recent call last):
    ValueError: '../secret' must name files inside the folder
    """
    parts = PurePosixPath(pattern).parts
    if not parts or pattern.startswith(("/", "~")) or ".." in parts or "\\" in pattern or "\0" in pattern:
        raise ValueError(f"{pattern!r} must name files inside the folder")
    return pattern


def refuse_outside(folder: Path, path: Path) -> None:
    """Refuse a file that a link leads out of its folder, or whose name cannot be written down."""
    refuse_odd_name(path)
    if not path.resolve().is_relative_to(folder.resolve()):
        raise InputError(f"{path} leads out of {folder}", "put the file itself there, not a link to it")


def read_only_address(path: Path) -> str | None:
    """Return the address by which SQLite can read a database in a folder without write permission.

    None where it is not needed.
    """
    if not path.is_file() or os.access(path.parent, os.W_OK):
        return None
    log, shared = (path.with_name(path.name + end) for end in ("-wal", "-shm"))
    if log.exists() and log.stat().st_size:
        if not shared.exists():
            raise InputError(
                f"the newest changes of {path} are not in it yet, and nothing can be written beside it",
                f"copy it to another folder, together with {log.name}",
            )
        return f"file:{quote(str(path.absolute()))}?mode=ro"
    # Nobody is writing to it: SQLite need not look out for changes, for which it would write.
    return f"file:{quote(str(path.absolute()))}?mode=ro&immutable=1"


def sha256_of(path: Path) -> str:
    """SHA-256 of a file, 64 digits."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def refuse_odd_name(path: Path) -> None:
    """Refuse a name that is not UTF-8: neither databases nor reports can hold it."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        shown = str(path).encode(errors="surrogateescape").decode(errors="backslashreplace")
        raise InputError(f"the name {shown} is not UTF-8", "rename it") from None
