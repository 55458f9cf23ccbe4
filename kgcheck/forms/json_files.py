"""Read JSON documents and JSON lines of graphs within limits, and sketch how such a file begins."""

import codecs
import io
import re
from collections.abc import Iterator
from contextlib import closing
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple

import jiter

from kgcheck.errors import LET_READ, InputFormat
from kgcheck.forms.rows import RowBuffer
from kgcheck.forms.source import Source
from kgcheck.inputs import LARGEST_GRAPH, LONGEST_LINE, MIB, Bounded

_FEW = 50
"""Items of a list, and lines, that are looked at to recognise a form."""

_SKETCHED_DEPTH = 4
_SPACE = b" \t\r\n"


class Sketch(NamedTuple):
    """A JSON file's beginning.

    Attributes:
        document: The value that it begins with, lists shortened; None where it begins with none.
        lines: The objects of the first lines that are one each.
        ends: Nothing follows that was not looked at.
    """

    document: Any
    lines: tuple[dict[str, Any], ...]
    ends: bool


def sketch(source: Source) -> Sketch:
    """Sketch the beginning of a JSON file; of other files, nothing."""
    return _sketch(source.head)


@lru_cache(maxsize=4)
def _sketch(head: bytes) -> Sketch:
    head = head.removeprefix(codecs.BOM_UTF8).lstrip(_SPACE)
    if not head.startswith((b"{", b"[")):
        return Sketch(None, (), True)
    lines = tuple(_objects(head))
    try:
        return Sketch(jiter.from_json(head), lines, True)
    except ValueError:
        pass
    try:
        return Sketch(jiter.from_json(head, partial_mode=True), lines, False)
    except ValueError as error:
        sound = head[: _offset(head, error)]
    try:
        # What stands before a mistake tells the form, whose reader will tell of the mistake.
        return Sketch(jiter.from_json(sound, partial_mode=True), lines, False)
    except ValueError:
        return Sketch(None, lines, False)


def _offset(text: bytes, error: ValueError) -> int:
    found = re.search(r"at line (\d+) column (\d+)", str(error))
    if not found:
        return 0
    before = text.split(b"\n", int(found[1]) - 1)[:-1]
    return max(0, sum(len(line) + 1 for line in before) + int(found[2]) - 2)


def whole_sketch(source: Source) -> Any:
    """Sketch a whole document, for one whose beginning does not say what it is; None if it cannot be read."""
    return _whole_sketch(source, source.path.stat().st_mtime_ns)


@lru_cache(maxsize=4)
def _whole_sketch(source: Source, _changed: int) -> Any:
    try:
        return _shortened(document(source), _SKETCHED_DEPTH)
    except InputFormat:
        return None


def document(source: Source) -> Any:
    """The value of a file that is one JSON document.

    Raises:
        InputFormat: It is too large, none, nests too deep, or has a key twice in one object.
    """
    try:
        size = source.path.stat().st_size
        if size > LARGEST_GRAPH:
            raise InputFormat(
                f"{source.name} is one JSON document of {size // MIB} MiB, and more than {LARGEST_GRAPH // MIB} MiB"
                " are not held in memory",
                "convert it to JSON lines or to KGX TSV (kgx transform), which are read line by line",
            )
        data = source.path.read_bytes().removeprefix(codecs.BOM_UTF8)
    except OSError as error:
        raise InputFormat(f"cannot read {source.name}: {error.strerror or error}", LET_READ) from error
    try:
        return jiter.from_json(data, catch_duplicate_keys=True)
    except ValueError as error:
        raise InputFormat(
            f"{source.name} cannot be read as JSON: {error}", "it may be cut off: fetch it again, or correct it"
        ) from error


def json_lines(buffer: RowBuffer) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a file of JSON lines with their line numbers; other lines are rejected."""
    source = buffer.source
    try:
        with closing(Bounded(source.path, most=LONGEST_LINE)) as raw:
            for number, line in enumerate(io.BufferedReader(raw, MIB), 1):
                line = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
                if not line.strip(_SPACE):
                    continue
                try:
                    item = jiter.from_json(line, catch_duplicate_keys=True)
                except ValueError as error:
                    buffer.reject("malformed", f"no JSON: {error}", line[:500].decode(errors="replace"), number)
                    continue
                if isinstance(item, dict):
                    yield number, item
                else:
                    buffer.reject("malformed", "a line that is no JSON object", item, number)
    except (OSError, EOFError) as error:
        raise InputFormat(f"cannot read {source.name}: {error}", LET_READ) from error


def items(buffer: RowBuffer, value: Any, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of a list with their places; what is no object is rejected, a list that is none too."""
    if value is None:
        return
    if not isinstance(value, list):
        buffer.reject("malformed", "no list", value, name)
        return
    for number, item in enumerate(value):
        if isinstance(item, dict):
            yield f"{name}[{number}]", item
        else:
            buffer.reject("malformed", "no JSON object", item, f"{name}[{number}]")


def _objects(head: bytes) -> Iterator[dict[str, Any]]:
    for line in islice(head.split(b"\n"), _FEW):
        if not line.lstrip(_SPACE).startswith(b"{"):
            continue
        try:
            item = jiter.from_json(line)
        except ValueError:
            continue
        yield item


def _shortened(value: Any, depth: int) -> Any:
    if not isinstance(value, dict | list):
        return value
    if not depth:
        return type(value)()
    if isinstance(value, list):
        return [_shortened(v, depth - 1) for v in value[:_FEW]]
    return {k: _shortened(v, depth - 1) for k, v in islice(value.items(), _FEW)}
