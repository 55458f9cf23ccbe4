"""Source files as numbered lines, whatever their line ends, compression or encoding faults."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from kgcheck.errors import InputFormat, InputMissing

COMPRESSIONS = ("", ".gz", ".zst")
_BLOCK_BYTES = 16 << 20
_LONGEST_LINE = 64 << 20
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def find(folder: Path, name: str) -> Path | None:
    """The file `name` in a folder, plain or compressed; None if it is in neither form."""
    return next((p for suffix in COMPRESSIONS if (p := folder / (name + suffix)).is_file()), None)


def read_lines(path: Path) -> Iterator[tuple[int, list[bytes]]]:
    """Every line of a file, in blocks, each with the number of its first line, from 1.

    LF, CRLF and CR end a line; a byte order mark is dropped; nothing else is touched, so a line need not be UTF-8.

    Args:
        path: A plain, gzip or zstandard file.

    Yields:
        The number of a line, and that line with those that follow it.

    Raises:
        InputMissing: The file cannot be opened.
        InputFormat: It is empty, truncated, or one line is longer than 64 MiB.
    """
    first = 1
    try:
        with pa.input_stream(path, compression="detect") as stream:
            for lines in _split(path, _blocks(stream)):
                yield first, lines
                first += len(lines)
    except FileNotFoundError as error:
        raise InputMissing(f"cannot read {path}: there is no such file") from error
    except (pa.ArrowInvalid, OSError) as error:
        after = f" after line {first - 1}" if first > 1 else ""
        raise InputFormat(
            f"{path} cannot be read{after}: {error}",
            "it may be truncated, not readable by you, or not what its suffix says",
        ) from error
    if first == 1:
        raise InputFormat(f"{path} is empty", "it needs at least a header line")


def _blocks(stream: pa.NativeFile) -> Iterator[bytes]:
    """The content of a stream without its byte order mark."""
    start = b""
    while len(start) < len(_BYTE_ORDER_MARK) and (more := stream.read(_BLOCK_BYTES)):
        start += more
    yield start.removeprefix(_BYTE_ORDER_MARK)
    while block := stream.read(_BLOCK_BYTES):
        yield block


def _split(path: Path, blocks: Iterator[bytes]) -> Iterator[list[bytes]]:
    """Lines of consecutive blocks, the last of each block kept until its end is known."""
    rest = b""
    for block in blocks:
        data = rest + block
        lines = data.splitlines()
        rest = b""
        if not data.endswith(b"\n") and lines:
            # A CR that ends a block may be the first half of a CRLF.
            rest = lines.pop() + (b"\r" if data.endswith(b"\r") else b"")
        if len(rest) > _LONGEST_LINE:
            raise InputFormat(
                f"{path} has a line of more than {_LONGEST_LINE >> 20} MiB", "it is binary, or its line ends are lost"
            )
        if lines:
            yield lines
    if rest:
        yield rest.splitlines()
