"""Source: one file of a graph, unpacked where it was packed, with a look at its beginning."""

import gzip
import lzma
import tarfile
import zipfile
import zlib
from bz2 import BZ2File
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeVar, cast
from uuid import uuid4

import pyarrow as pa

from kgcheck.errors import LET_READ, NAME_THERE, InputFormat, InputMissing
from kgcheck.inputs import Unpacking, refuse_odd_name

_HEAD = 1 << 18
"""Bytes of a file that are looked at to recognise it."""

_BLOCK = 1 << 20
_PACKED = (".gz", ".tgz", ".zst", ".bz2", ".xz")
_OPENERS: tuple[tuple[bytes, Callable[[Path], Any]], ...] = (
    (b"\x1f\x8b", gzip.open),
    (b"\x28\xb5\x2f\xfd", partial(pa.input_stream, compression="zstd")),
    (b"BZh", BZ2File),
    (b"\xfd7zXZ\x00", lzma.open),
)
_UNREADABLE = (
    zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, OSError, NotImplementedError,
    RuntimeError,
)  # fmt: skip
MOST_FILES = 10_000
"""Files of one folder or archive."""

_NOT_OF_A_GRAPH = {
    "license", "licence", "readme", "changelog", "citation", "sha256sums", "md5sums", "manifest", "kgcheck",
}  # fmt: skip
"""Names, before their endings, of what is said of a graph, as of kgcheck's own files."""

T = TypeVar("T")


@dataclass(frozen=True)
class Source:
    """A file of a graph. ``name`` is how its owner knows it; ``path`` is where it can be read, unpacked."""

    name: str
    path: Path
    number: int = 0
    _known: dict[Callable[..., object], Any] = field(default_factory=dict, compare=False, repr=False)

    def known(self, look: Callable[["Source"], T]) -> T:
        """Keep the result of a look at the file, which is taken once."""
        if look not in self._known:
            self._known[look] = look(self)
        return cast("T", self._known[look])

    @cached_property
    def head(self) -> bytes:
        """The first bytes."""
        with self.path.open("rb") as stream:
            return stream.read(_HEAD)

    @cached_property
    def text(self) -> str:
        """The first bytes as text, without a byte order mark."""
        return self.head.decode("utf-8-sig", errors="replace")

    @cached_property
    def lines(self) -> list[str]:
        """The first lines that are whole."""
        # As rows are parted: other signs that end lines for Python may stand in a value.
        lines = self.text.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n").split("\n")
        return lines[:-1] if len(self.head) == _HEAD and len(lines) > 1 else lines

    @property
    def stem(self) -> str:
        """The name without folder and endings, in small letters."""
        return Path(self.name).name.partition(".")[0].lower()


def sources(paths: list[Path], scratch: Path) -> Iterator[Source]:
    """The files that are named, those in named folders, and those in archives; `scratch` takes what is unpacked.

    What is told of files is told by their names: a second file of a name has its folder or its archive before it.
    """
    names: set[str] = set()
    for path in paths:
        for file in _files(path):
            for name, at in _unpacked(file, file.name, scratch, Unpacking(file)):
                above = file.name if at != file else file.absolute().parent.name
                others = (f"{above}/{name}", *(f"{above}/{name} ({n})" for n in range(2, len(names) + 3)))
                unique = next(one for one in (name, *others) if one not in names)
                yield Source(unique, at, len(names))
                names.add(unique)


def _files(path: Path) -> list[Path]:
    refuse_odd_name(path)
    if path.is_dir():
        found = sorted(p for p in path.iterdir() if p.is_file() and _is_of_graph(p.name))
        for file in found:
            refuse_odd_name(file)
        if not found:
            raise InputMissing(f"there are no files in {path}", "name the files of a graph, or their folder")
        if len(found) > MOST_FILES:
            raise InputFormat(f"{path} holds more than {MOST_FILES:,} files", "name those of one graph")
        return found
    if not path.exists():
        raise InputMissing(f"cannot read {path}: there is no such file", NAME_THERE)
    if not path.is_file():
        raise InputFormat(f"{path} is no file", "name the files of a graph, or their folder")
    return [path]


def _is_of_graph(name: str) -> bool:
    last = Path(name).name
    is_remark = last.partition(".")[0].lower() in _NOT_OF_A_GRAPH
    return not is_remark and not last.startswith(".") and "__MACOSX" not in name


def _unpacked(path: Path, name: str, scratch: Path, guard: Unpacking, depth: int = 0) -> Iterator[tuple[str, Path]]:
    """The plain files in a file, each with its name."""
    try:
        with path.open("rb") as stream:
            start = stream.read(512)
    except OSError as error:
        raise InputMissing(f"cannot read {path}: {error.strerror}", LET_READ) from error
    if depth > 2:
        raise InputFormat(f"{name} is an archive in an archive in an archive", "unpack it")
    try:
        members = _members(path, name, start)
        if members is not None:
            for count, (inner, opening) in enumerate(members, 1):
                if count > MOST_FILES:
                    raise InputFormat(f"{name} holds more than {MOST_FILES:,} files", "name those of one graph")
                if _is_of_graph(inner):
                    yield from _unpacked(*_copied(opening, inner, scratch, guard), scratch, guard, depth + 1)
        elif opener := next((opener for sign, opener in _OPENERS if start.startswith(sign)), None):
            yield from _unpacked(*_copied(partial(opener, path), name, scratch, guard), scratch, guard, depth + 1)
        elif path.suffix in _PACKED:
            # Others would go by its name, and unpack it.
            yield name, _copied(partial(path.open, "rb"), name, scratch, guard)[0]
        else:
            yield name, path
    except _UNREADABLE as error:
        raise InputFormat(f"{name} cannot be unpacked: {error}", "it may be cut off: fetch it again") from error


def _members(path: Path, name: str, start: bytes) -> Iterator[tuple[str, Callable[[], Any]]] | None:
    """The files of an archive, and how each is opened; None of what is no archive."""
    if start.startswith(b"PK\x03\x04"):
        archive = zipfile.ZipFile(path)
        # A spreadsheet or a text of an office is recognised, and refused by its name.
        is_office = "[Content_Types].xml" in archive.namelist()
        return None if is_office else _of_zip(archive, name)
    return _of_tar(path) if start[257:262] == b"ustar" else None


def _of_zip(archive: zipfile.ZipFile, name: str) -> Iterator[tuple[str, Callable[[], Any]]]:
    with archive:
        for member in archive.infolist():
            if member.flag_bits & 1:
                raise InputFormat(f"{name} holds {member.filename[:80]!r} under a password", "unpack it")
            if not member.is_dir():
                yield member.filename, partial(archive.open, member)


def _of_tar(path: Path) -> Iterator[tuple[str, Callable[[], Any]]]:
    with tarfile.open(path) as archive:
        for member in archive:
            if member.isfile():
                yield member.name, partial(archive.extractfile, member)


def _copied(opening: Callable[[], Any], name: str, scratch: Path, guard: Unpacking) -> tuple[Path, str]:
    """A plain copy under a name of our own, within the limits of what a packed file may become in all."""
    at = scratch / f"unpacked-{uuid4().hex}"
    with opening() as stream, at.open("wb") as out:
        while block := stream.read(_BLOCK):
            guard.came(len(block))
            out.write(block)
    shown = Path(name).name
    for ending in _PACKED:
        shown = shown.removesuffix(ending)
    return at, shown
