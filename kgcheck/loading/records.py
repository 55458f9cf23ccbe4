"""Source files as tab separated records: a header, then rows of fields, quoted after RFC 4180."""

import csv
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from kgcheck.errors import InputFormat, KgcheckError
from kgcheck.loading.lines import read_lines
from kgcheck.visible import HIDDEN_RE2

_SCHEMA = pa.schema(
    [
        ("line", pa.int64()),
        ("text", pa.string()),
        ("odd_bytes", pa.string()),
        ("quoted", pa.list_(pa.string())),
        ("suspect", pa.bool_()),
    ]
)
_C0, _C0_BUT_TAB = r"\x{0}-\x{1f}", r"\x{0}-\x{8}\x{b}-\x{1f}"
# A tab parts fields, and outside of quotes there is no other.
_SUSPECT = f'["{HIDDEN_RE2.replace(_C0, _C0_BUT_TAB)}]'
_WIDEST_FIELD = 2**31 - 1


class Records:
    """The records of one file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._blocks = read_lines(path)
        _, first = next(self._blocks)
        self.first_line, self.header = self._header(first[0].as_py())
        # Only where the first block is no more than the header, the next one tells whether there are rows.
        self._rest = first[1:] if len(first) > 1 else next(self._blocks, (2, first[1:]))[1]
        self.failure: KgcheckError | None = None
        """Error that broke `rows` off, for a reader that cannot pass an exception on."""

    @property
    def is_bare(self) -> bool:
        return not len(self._rest)

    def rows(self) -> pa.RecordBatchReader:
        r"""The rows after the header; blank lines are none."""
        return pa.RecordBatchReader.from_batches(_SCHEMA, self._batches())

    def _header(self, raw: bytes) -> tuple[str, list[str]]:
        text = _decoded(raw)
        if text is None or "\x00" in text:
            raise InputFormat(f"{self._path} is binary or not UTF-8", "save it as tab separated UTF-8 text")
        return text, (_fields(text) if '"' in text else None) or text.split("\t")

    def _batches(self) -> Iterator[pa.RecordBatch]:
        try:
            yield _batch(2, self._rest)
            for first, lines in self._blocks:
                yield _batch(first, lines)
        except KgcheckError as error:
            self.failure = error
            raise


def _batch(first: int, raw: pa.BinaryArray) -> pa.RecordBatch:
    numbers = pa.arange(first, first + len(raw))
    filled = pc.greater(pc.binary_length(raw), 0)
    if filled.false_count:
        raw, numbers = raw.filter(filled), numbers.filter(filled)
    odd = pa.nulls(len(raw), pa.string())
    try:
        text = raw.cast(pa.string())
        suspect = bool(pc.any(pc.match_substring_regex(text, _SUSPECT), min_count=0).as_py())
    except pa.ArrowInvalid:
        as_read = raw.to_pylist()
        decoded = [_decoded(line) for line in as_read]
        text = pa.array(decoded, pa.string())
        odd = pa.array([_escaped(b) if t is None else None for b, t in zip(as_read, decoded, strict=True)], pa.string())
        suspect = True
    quoted = _quoted(text) if suspect else pa.nulls(len(text), _SCHEMA.field("quoted").type)
    return pa.record_batch([numbers, text, odd, quoted, pa.repeat(pa.scalar(suspect), len(text))], schema=_SCHEMA)


def _quoted(text: pa.StringArray) -> pa.ListArray:
    """The fields of each line that holds a quote: few do, so only those pay for a full parser."""
    kind = _SCHEMA.field("quoted").type
    at = pc.indices_nonzero(pc.fill_null(pc.match_substring(text, '"'), False)).to_pylist()
    if not at:
        return pa.nulls(len(text), kind)
    parsed: list[list[str] | None] = [None] * len(text)
    # A limit of the csv module for the whole process: put back at once.
    limit = csv.field_size_limit(_WIDEST_FIELD)
    try:
        for i, line in zip(at, text.take(pa.array(at)).to_pylist(), strict=True):
            parsed[i] = _fields(line)
    finally:
        csv.field_size_limit(limit)
    return pa.array(parsed, kind)


def _fields(text: str) -> list[str] | None:
    """The fields of one record, or None where its quotes do not close."""
    try:
        return next(csv.reader([text], delimiter="\t", strict=True))
    except (csv.Error, StopIteration):
        return None


def _decoded(raw: bytes) -> str | None:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return None


def _escaped(raw: bytes) -> str:
    return raw.replace(b"\\", b"\\x5c").decode(errors="backslashreplace")
