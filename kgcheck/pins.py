"""Pins: what was decided once about a graph, kept as a TSV file in its builder's own repository.

A pin names an edge, a node, or a value of a node that must or must not be, and the record because of which. Every audit
holds them against the graph, without a ledger.
"""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, StringConstraints, ValidationError, model_validator

from kgcheck.choices import PINS_FILE
from kgcheck.errors import InputFormat, UsageError
from kgcheck.inputs import read_whole, wrong_parts
from kgcheck.model import Value
from kgcheck.outputs import write_text

SOURCE = "pins"
"""Source that evidence names: the pins file."""


def _plain(text: str) -> str:
    if any(ord(sign) < 32 for sign in text):
        raise ValueError("it holds a tab, a line end or another control character")
    return text


def _without_spaces(text: str) -> str:
    if len(text.split()) > 1:
        raise ValueError(f"{text!r} has a space, and no id has")
    return _plain(text)


Text = Annotated[str, StringConstraints(strip_whitespace=True, max_length=10_000), AfterValidator(_plain)]
Id = Annotated[str, StringConstraints(strip_whitespace=True, max_length=512), AfterValidator(_without_spaces)]


class Pin(Value):
    """An edge, a node, or a value of a node that must or must not be in a graph, and why.

    >>> str(Pin(pin="must_not", subject="HGNC:1", predicate="biolink:treats", object="MONDO:2", because="PMID:3"))
    'must_not HGNC:1 biolink:treats MONDO:2'
    """

    pin: Literal["must", "must_not"]
    subject: Id
    predicate: Text = ""
    object: Id = ""
    property: Text = ""
    value: Text = ""
    because: Text
    by: Text = ""
    date: Text = ""

    @model_validator(mode="after")
    def _fits(self) -> "Pin":
        if not self.subject or not self.because:
            raise ValueError("a pin names its subject, and because of which record")
        if bool(self.predicate) != bool(self.object):
            raise ValueError("an edge has a predicate and an object")
        if bool(self.property) != bool(self.value):
            raise ValueError("a property has a value")
        if self.predicate and self.property:
            raise ValueError("it is of an edge or of a value, and of one of them alone")
        if self.date:
            date.fromisoformat(self.date)
        return self

    def place(self) -> tuple[str, ...]:
        return self.subject, self.predicate, self.object, self.property, self.value

    def why(self) -> str:
        made = ", ".join(filter(None, (self.by, self.date)))
        return f"{self.because} ({made})" if made else self.because

    def __str__(self) -> str:
        return " ".join(filter(None, (self.pin, *self.place())))


COLUMNS = tuple(Pin.model_fields)


def make_pin(fields: Mapping[str, str]) -> Pin:
    """A pin of the values of its columns."""
    try:
        return Pin.model_validate(fields)
    except ValidationError as error:
        raise UsageError(wrong_parts(error).replace("Value error, ", ""), "kgcheck pin add --help") from None


def parse_pins(text: str, name: str = PINS_FILE) -> tuple[Pin, ...]:
    r"""Read pins; one that is wrong, that stands twice or that another contradicts is refused with its line.

    >>> str(*parse_pins("pin\tsubject\tbecause\nmust_not\tHGNC:1\tPMID:2\n"))
    'must_not HGNC:1'
    """
    rows = _rows(text, name)
    line, columns = next(rows, (1, COLUMNS))
    if unknown := [column for column in columns if column not in COLUMNS]:
        raise _wrong(name, line, f"there is no column {unknown[0]!r}")
    if columns[0] != COLUMNS[0] or len(set(columns)) < len(columns):
        raise _wrong(name, line, "the header begins with pin, and has each column once")
    found: list[tuple[int, Pin]] = []
    for line, fields in rows:
        if len(fields) > len(columns):
            raise _wrong(name, line, f"{len(fields)} fields, and {len(columns)} columns")
        try:
            found.append((line, make_pin(dict(zip(columns, fields, strict=False)))))
        except UsageError as error:
            raise _wrong(name, line, error.message) from None
    _refuse_contradictions(found, name)
    return tuple(pin for _, pin in found)


def _rows(text: str, name: str) -> Iterator[tuple[int, Sequence[str]]]:
    reader = csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""), "excel-tab", strict=True)
    try:
        for fields in reader:
            if any(fields) and not fields[0].startswith("#"):
                yield reader.line_num, [field.strip() for field in fields]
    except csv.Error as error:
        raise _wrong(name, reader.line_num, str(error)) from None


def _refuse_contradictions(pins: Sequence[tuple[int, Pin]], name: str) -> None:
    seen: dict[tuple[str, ...], tuple[int, Pin]] = {}
    for line, pin in pins:
        if before := seen.get(pin.place()):
            is_same = before[1].pin == pin.pin
            why = "stands there already" if is_same else f"is contradicted by {before[1].pin}"
            raise _wrong(name, line, f"{pin} {why}, in line {before[0]}")
        seen[pin.place()] = line, pin
    for line, pin in pins:
        for end in (pin.subject, pin.object) if pin.pin == "must" else ():
            node = seen.get((end, "", "", "", ""))
            if node and node[1].pin == "must_not":
                raise _wrong(name, line, f"{pin} is contradicted by {node[1]}, in line {node[0]}")


def _wrong(name: str, line: int, why: str) -> InputFormat:
    return InputFormat(f"{name}:{line}: {why}", f"one pin a line, with tabs between {', '.join(COLUMNS)}")


def format_pins(pins: Iterable[Pin], columns: Sequence[str] = ()) -> str:
    """Write pins as `parse_pins` reads them; without a header where its columns are named."""
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, columns or COLUMNS, dialect="excel-tab", lineterminator="\n", extrasaction="ignore")
    if not columns:
        writer.writeheader()
    writer.writerows(pin.model_dump() for pin in pins)
    return out.getvalue()


def read_pins(path: Path) -> tuple[Pin, ...]:
    """The pins of a file."""
    return parse_pins(read_whole(path), str(path))


def add_pin(path: Path, pin: Pin) -> None:
    """Add a pin to a file, which is made where it is missing; what stands there stays as it is."""
    text = read_whole(path) if path.exists() else ""
    header = next(_rows(text, str(path)), None)
    if header is None:
        whole = text + format_pins([pin])
    else:
        if lacking := [name for name, value in pin.model_dump().items() if value and name not in header[1]]:
            raise InputFormat(f"{path}:{header[0]}: the header has no column {lacking[0]}", "add it")
        whole = text.rstrip("\n") + "\n" + format_pins([pin], header[1])
    parse_pins(whole, str(path))
    write_text(path, whole)


def find_pins(graph: Sequence[Path] = ()) -> Path | None:
    """The pins file of the working directory, or else the one beside the files of a graph."""
    folders = [Path(), *(place if place.is_dir() else place.parent for place in graph)]
    return next((path for folder in folders if (path := folder / PINS_FILE).is_file()), None)
