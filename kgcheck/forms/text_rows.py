"""Read delimited text as rows of fields with line numbers: any separator and quote, header or none."""

import csv
import re
from collections import deque
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from kgcheck.errors import KgcheckError
from kgcheck.forms.columns import admin_fields
from kgcheck.forms.source import Source
from kgcheck.forms.tables import RejectedRow
from kgcheck.loading.lines import read_lines

SEPARATORS = ("\t", ",", ";", "|")
_LOOKED = 200
"""Lines that are looked at."""

MOST_COLUMNS = 2_000
_LONGEST_RECORD = 1_000
"""Lines of one record whose quotes hold line ends."""

_NUMBER = re.compile(r"[-+]?\d+(\.\d+)?([eE][-+]?\d+)?")
_WORDS = {"subject", "object", "predicate", "source", "target", "id", "category", "head", "tail", "relation", "name"}


class Dialect(NamedTuple):
    """Dialect of a text: the separator, the sign of quotes, and lines before the header or the first row."""

    separator: str
    quote: str
    comments: int
    header: tuple[str, ...]
    """Empty where there is none."""
    first: int
    """Number of the line of the first row."""


def dialect_of(source: Source) -> Dialect | None:
    """Tell the dialect of a file; None where it is no table of two and more columns."""
    lines = source.lines[: _LOOKED + 100]
    comments = 0
    while comments < len(lines) and (lines[comments].startswith(("#", "!")) or not lines[comments].strip()):
        comments += 1
    rows = lines[comments : comments + _LOOKED]
    if not rows:
        return None
    separator = _separator(rows)
    if separator is None:
        return None
    quote = _quote(rows, separator)
    first = fields_of(rows[0], separator, quote) or []
    # A header may stand in the last comment: #DatabaseID, #ID(s) interactor A.
    last = lines[comments - 1].lstrip("#! ") if comments else ""
    named = fields_of(last, separator, quote) or []
    is_header = _is_header(first, rows, separator, quote)
    if len(named) == len(first) > 1 and not is_header:
        return Dialect(separator, quote, comments, tuple(named), comments + 1)
    if is_header:
        return Dialect(separator, quote, comments, tuple(f.strip().lstrip("#") for f in first), comments + 2)
    return Dialect(separator, quote, comments, (), comments + 1)


def _separator(rows: Sequence[str]) -> str | None:
    """The sign that parts nearly all rows into as many fields as the first; of several, the first of SEPARATORS."""
    for least in (0.95, 0.5):
        for sign in SEPARATORS:
            width = rows[0].count(sign)
            if not 0 < width <= MOST_COLUMNS:
                continue
            # Rows may be cut off where their last fields are empty, and quotes may hold the sign.
            counts = [row.count(sign) for row in rows if row]
            alike = sum(count == width or (sign == "\t" and 0 < count < width) for count in counts)
            if alike >= least * len(counts):
                return sign
    parted = {len(row.split()) for row in rows if row}
    return " " if len(rows) > 1 and parted in ({2}, {3}) else None


def _quote(rows: Sequence[str], separator: str) -> str:
    """The sign of quotes: that with which fields begin and end."""
    for sign in ('"', "'"):
        begins = re.compile(rf"(^|{re.escape(separator)}){sign}[^{sign}]*{sign}({re.escape(separator)}|$)")
        if any(begins.search(row) for row in rows):
            return sign
    return '"'


def _is_header(first: Sequence[str], rows: Sequence[str], separator: str, quote: str) -> bool:
    names = [field.strip() for field in first]
    if admin_fields(names):
        return True
    if len(set(names)) < len(names) or not any(names) or any(_NUMBER.fullmatch(name) for name in names):
        return False
    if {name.lower() for name in names} & _WORDS:
        return True
    if any(":" in name or "/" in name for name in names):
        return False
    # A row of data has values that stand in other rows of the same column, too.
    others = [fields_of(row, separator, quote) or [] for row in rows[1:]]
    again = sum(
        any(place < len(row) and row[place].strip() == name for row in others) for place, name in enumerate(names)
    )
    return again == 0 and len(others) > 0


def fields_of(row: str, separator: str, quote: str) -> list[str] | None:
    """The fields of a row; None where its quotes do not close.

    >>> fields_of('a,"b, c",d', ",", '"')
    ['a', 'b, c', 'd']
    """
    if separator == " ":
        return row.split()
    if quote not in row:
        return row.split(separator)
    try:
        return next(csv.reader([row], delimiter=separator, quotechar=quote, strict=True), [])
    except csv.Error:
        return None


class _Line(NamedTuple):
    """A line and its number."""

    number: int
    data: bytes


class TextRows:
    """The rows of a file as batches of line number and fields, each row of as many fields as the header or the first.

    Rows that are short get empty fields: their owners cut these off. Rows that are too long, or that cannot be read,
    are in `rejected`.
    """

    SCHEMA = pa.schema([("line", pa.int64()), ("fields", pa.list_(pa.string()))])

    def __init__(self, source: Source, dialect: Dialect, width: int) -> None:
        self._source = source
        self._dialect = dialect
        self.width = width
        self.rejected: list[RejectedRow] = []
        self.short = 0
        self._first_width = 0
        self.failure: KgcheckError | None = None
        """Error that broke `batches` off, for a reader that cannot pass an exception on."""

    def batches(self) -> Iterator[pa.Table]:
        """The rows, in order."""
        open_: list[_Line] = []
        try:
            for first, raw in read_lines(self._source.path):
                skipped = max(0, min(len(raw), self._dialect.first - first))
                yield self._batch(first + skipped, raw[skipped:], open_)
        except KgcheckError as error:
            self.failure = error
            raise
        while open_:
            again = self._not_closed(open_)
            yield self._read(again, open_)

    def _batch(self, first: int, raw: pa.BinaryArray, open_: list["_Line"]) -> pa.Table:
        lines = pa.arange(first, first + len(raw))
        filled = pc.greater(pc.binary_length(raw), 0)
        # A blank line inside of quotes is part of a value.
        if filled.false_count and not open_ and self._is_plain(raw):
            raw, lines = raw.filter(filled), lines.filter(filled)
        try:
            text = raw.cast(pa.string())
        except pa.ArrowInvalid:
            return self._slowly(lines, raw, open_)
        if open_ or not self._is_plain(raw):
            return self._slowly(lines, raw, open_)
        if self._dialect.separator == " ":
            fields = pc.utf8_split_whitespace(text)
        else:
            fields = pc.split_pattern(text, self._dialect.separator)
        is_first = first <= self._dialect.first and not self._dialect.header
        header = self._dialect.separator.join(self._dialect.header)
        if pc.any(pc.equal(text, header), min_count=0).as_py():
            return self._slowly(lines, raw, open_)
        if not is_first and pc.all(pc.equal(pc.list_value_length(fields), self.width), min_count=0).as_py():
            self._first_width = self._first_width or self.width
            return pa.table([lines, fields], self.SCHEMA)
        return self._slowly(lines, raw, open_)

    def _is_plain(self, raw: pa.BinaryArray) -> bool:
        return not pc.any(pc.match_substring(raw, self._dialect.quote), min_count=0).as_py()

    def _slowly(self, lines: pa.Array, raw: pa.BinaryArray, open_: list["_Line"]) -> pa.Table:
        return self._read(list(map(_Line, lines.to_pylist(), raw.to_pylist())), open_)

    def _read(self, stated: Sequence["_Line"], open_: list["_Line"]) -> pa.Table:
        """The rows of some lines, after those of a record whose quote is open; what is still open is left there."""
        kept: list[tuple[int, list[str]]] = []
        waiting = deque(stated)
        while waiting:
            line, data = waiting.popleft()
            try:
                row = data.decode()
            except UnicodeDecodeError:
                self._reject(line, "not_utf8", "it is not UTF-8", data.decode(errors="backslashreplace"))
                continue
            if "\x00" in row:
                self._reject(line, "nul_byte", "it holds a NUL byte", row)
                continue
            if not row and not open_:
                continue
            whole = b"\n".join((*(data for _, data in open_), data)).decode() if open_ else row
            fields = self._fields(whole)
            if fields is None:
                open_.append(_Line(line, data))
                if len(open_) > _LONGEST_RECORD:
                    waiting.extendleft(reversed(self._not_closed(open_)))
                continue
            if len(fields) > self.width and open_:
                # The next quote that is not closed seems to close it.
                open_.append(_Line(line, data))
                waiting.extendleft(reversed(self._not_closed(open_)))
                continue
            open_.clear()
            if [field.strip() for field in fields] == list(self._dialect.header):
                self._reject(line, "header_as_data", "the header again, and no row", whole)
                continue
            if (
                line == self._dialect.first
                and not self._dialect.header
                and fields == list(map(str, range(len(fields))))
            ):
                self._reject(line, "header_as_data", "the numbers of columns, and no row", whole)
                continue
            self._first_width = self._first_width or len(fields)
            if len(fields) > self.width:
                # Rows may be cut off or filled up; where the first is neither, the fields of a longer one are shifted.
                if self._first_width == self.width or any(field.strip() for field in fields[self.width :]):
                    self._reject(line, "field_count", f"{len(fields)} fields, not {self.width}", whole)
                    continue
                fields = fields[: self.width]
            elif len(fields) < self.width:
                self.short += 1
                fields += [""] * (self.width - len(fields))
            kept.append((line, fields))
        numbers, rows = zip(*kept, strict=True) if kept else ((), ())
        return pa.table([pa.array(numbers, pa.int64()), pa.array(rows, pa.list_(pa.string()))], self.SCHEMA)

    def _not_closed(self, open_: list["_Line"]) -> list["_Line"]:
        """Reject the line whose quote is not closed; the lines after it are rows again."""
        first, *rest = open_
        open_.clear()
        self._reject(first.number, "quoting", "a quote is not closed", first.data.decode())
        return rest

    def _fields(self, row: str) -> list[str] | None:
        separator, quote = self._dialect.separator, self._dialect.quote
        fields = fields_of(row, separator, quote)
        # Tab separated text has no rows of several lines: a quote that is not closed is a sign like any other.
        if fields is None and separator == "\t":
            return [_unquoted(field, quote) for field in row.split("\t")]
        return fields

    def _reject(self, line: int | None, reason: str, detail: str, row: str) -> None:
        self.rejected.append(RejectedRow(line, reason, detail, row))


def _unquoted(field: str, quote: str) -> str:
    if len(field) > 1 and field.startswith(quote) and field.endswith(quote):
        return field[1:-1].replace(quote * 2, quote)
    return field
