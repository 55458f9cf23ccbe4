"""Source files as numbered lines, whatever their line ends, compression or encoding faults."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv

from kgcheck.errors import InputFormat, InputMissing

COMPRESSIONS = ("", ".gz", ".zst")
_BLOCK_BYTES = 64 << 20
"""Also the longest line that can be read."""

_NO_SUCH_BYTE = "\x01"
_SCHEMA = pa.schema([("line", pa.int64()), ("raw", pa.binary())])


def find(folder: Path, name: str) -> Path | None:
    """The file `name` in a folder, plain or compressed; None if it is in neither form."""
    return next((p for suffix in COMPRESSIONS if (p := folder / (name + suffix)).is_file()), None)


def read_lines(path: Path) -> pa.RecordBatchReader:
    """Every line of a file with its number, from 1.

    LF, CRLF and CR end a line; a byte order mark is dropped; nothing else is touched, so ``raw`` need not be UTF-8.

    Args:
        path: A plain, gzip or zstandard file.

    Returns:
        A stream of batches with the columns line (int64) and raw (binary).

    Raises:
        InputMissing: The file cannot be opened.
        InputFormat: It is empty.
    """
    try:
        if path.stat().st_size == 0:
            raise InputFormat(f"{path} is empty", "it needs at least a header line")
        stream = pa.input_stream(path, compression="detect")
    except OSError as error:
        raise InputMissing(f"cannot read {path}: {error.strerror or error}") from error
    return pa.RecordBatchReader.from_batches(_SCHEMA, _numbered(path, stream))


def _numbered(path: Path, stream: pa.NativeFile) -> Iterator[pa.RecordBatch]:
    line = 1
    try:
        reader = arrow_csv.open_csv(
            stream,
            read_options=arrow_csv.ReadOptions(column_names=["raw"], block_size=_BLOCK_BYTES),
            parse_options=arrow_csv.ParseOptions(
                delimiter=_NO_SUCH_BYTE, quote_char=False, escape_char=False, ignore_empty_lines=False
            ),
            convert_options=arrow_csv.ConvertOptions(
                column_types={"raw": pa.binary()}, strings_can_be_null=False, check_utf8=False
            ),
        )
        for batch in reader:
            numbers = pa.array(np.arange(line, line + batch.num_rows))
            yield pa.record_batch([numbers, batch.column(0)], schema=_SCHEMA)
            line += batch.num_rows
    except (pa.ArrowInvalid, OSError) as error:
        raise InputFormat(
            f"{path} cannot be read after line {line}: {error}", "it may be truncated, binary or not what its suffix says"
        ) from error
