"""Looks at a Word file before pandoc unpacks it: is it one, and does it stay of a bearable size?"""

import io
import zipfile
import zlib
from pathlib import Path

from kgcheck.errors import InputFormat
from kgcheck.inputs import MIB

LARGEST_XML = 64 * MIB
"""Bytes of all its XML parts, unpacked."""

MOST_PARTS = 10_000
_TEXT = "word/document.xml"


def check_docx(path: Path, data: bytes) -> None:
    """Refuse what is no Word file, or was made to fill the memory."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as file:
            parts = file.infolist()
            if len(parts) > MOST_PARTS:
                raise InputFormat(f"{path} has more than {MOST_PARTS:,} parts", "it may be made to do harm")
            if not any(p.filename == _TEXT for p in parts):
                raise InputFormat(f"{path} is no Word file: it has no {_TEXT}", "save it as .docx")
            left = LARGEST_XML
            # What a part says of its size may be wrong: it is unpacked, and counted.
            for part in parts:
                with file.open(part) as stream:
                    while left >= 0 and (size := len(stream.read(MIB))):
                        left -= size if part.filename.endswith((".xml", ".rels")) else 0
                if left < 0:
                    raise InputFormat(
                        f"{path} becomes more than {LARGEST_XML // MIB} MiB of XML when it is unpacked",
                        "it may be made to do harm",
                    )
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError, RuntimeError) as error:
        raise InputFormat(f"{path} is no Word file: {error}", "it may be cut off, or asks for a password") from error
