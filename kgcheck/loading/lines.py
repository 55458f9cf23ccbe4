"""The files of a graph as numbered lines, whatever their line ends, compression or encoding faults.

Why providers' files are read by another reader stands in `kgcheck.providers.tsv`.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kgcheck.errors import NAME_THERE, InputFormat, InputMissing
from kgcheck.inputs import LONGEST_LINE, Unpacking

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
    """The content of a stream without its byte order mark."""
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
