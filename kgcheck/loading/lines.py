"""Read a graph's source files as numbered lines or TSV records, compressed or not.

A record is tab separated: a header, then rows of fields, quoted after RFC 4180.

Why providers' files are read by another reader stands in `kgcheck.providers.tsv`.
"""

import csv
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kgcheck.errors import NAME_THERE, InputFormat, InputMissing, KgcheckError
from kgcheck.inputs import LONGEST_LINE, Unpacking
from kgcheck.visible import HIDDEN_RE2

COMPRESSIONS = ("", ".gz", ".zst")
_BLOCK_BYTES = 16 << 20
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def find(folder: Path, name: str) -> Path | None:
    """The file `name` in a folder, plain or compressed."""
    found = [p for suffix in COMPRESSIONS if (p := folder / (name + suffix)).is_file()]
    if len(found) > 1:
        shown = " and ".join(path.name for path in found)
        raise InputFormat(f"{found[0].parent} has one file under two names: {shown}", "leave one of them there")
    return found[0] if found else None


def read_lines(path: Path) -> Iterator[tuple[int, pa.BinaryArray]]:
    """Every line of a file, in blocks, each with the number of its first line, from 1.

    LF, CRLF and CR end a line; a byte order mark is dropped; nothing else is touched, so a line need not be UTF-8.
    """
    first = 1
    try:
        guard = Unpacking(path) if path.suffix in COMPRESSIONS[1:] else None
        with pa.input_stream(path, compression="detect") as stream:
            for block in _whole_lines(path, _blocks(stream, guard)):
                lines = _split(block)
                yield first, lines
                first += len(lines)
    except FileNotFoundError as error:
        raise InputMissing(f"cannot read {path}: there is no such file", NAME_THERE) from error
    except (pa.ArrowInvalid, OSError) as error:
        after = f" after line {first - 1}" if first > 1 else ""
        raise InputFormat(
            f"{path} cannot be read{after}: {error}",
            "it may be truncated, not readable by you, or not what its suffix says",
        ) from error
    if first == 1:
        raise InputFormat(f"{path} is empty", "it needs at least a header line")


def ends_whole(path: Path) -> bool:
    """Tell whether the last line of a file has a line end: without one its last field may be cut."""
    last = b"\n"
    with pa.input_stream(path, compression="detect") as stream:
        if path.suffix not in COMPRESSIONS[1:]:
            stream.seek(max(0, path.stat().st_size - 1))
        while block := stream.read(_BLOCK_BYTES):
            last = block[-1:]
    return last in (b"\n", b"\r")


def _blocks(stream: pa.NativeFile, guard: Unpacking | None) -> Iterator[bytes]:
    start = b""
    while len(start) < len(_BYTE_ORDER_MARK) and (more := stream.read(_BLOCK_BYTES)):
        start += more
    yield start.removeprefix(_BYTE_ORDER_MARK)
    while block := stream.read(_BLOCK_BYTES):
        if guard:
            guard.came(len(block))
        yield block


def _whole_lines(path: Path, blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Blocks of whole lines, each ended by LF, but for the very last line."""
    rest = b""
    for block in blocks:
        data = rest + block
        # A CR that ends a block may be the first half of a CRLF.
        carried = data.endswith(b"\r")
        if b"\r" in data:
            data = data[: len(data) - carried].replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        end = data.rfind(b"\n") + 1
        rest = data[end:] + (b"\r" if carried else b"")
        if len(rest) > LONGEST_LINE:
            raise InputFormat(
                f"{path} has a line of more than {LONGEST_LINE >> 20} MiB", "it is binary, or its line ends are lost"
            )
        if end:
            yield data[:end]
    if rest:
        yield rest.removesuffix(b"\r") + b"\n"


def _split(block: bytes) -> pa.BinaryArray:
    """The lines of a block whose every line is ended by LF."""
    ends = np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n"))
    offsets = np.zeros(len(ends) + 1, np.int32)
    offsets[1:] = ends + 1
    with_ends = pa.Array.from_buffers(pa.string(), len(ends), [None, pa.py_buffer(offsets), pa.py_buffer(block)])
    # Of ASCII, whatever else stands in a line: its bytes need not be text.
    return pc.ascii_rtrim(with_ends, "\n").cast(pa.binary())


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
