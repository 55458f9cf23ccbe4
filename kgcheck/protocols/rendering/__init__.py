"""A protocol as files: JSON, and forms to read."""

from pathlib import Path

from kgcheck.outputs import write_text
from kgcheck.protocols.protocol import StudyProtocol


def write(protocol: StudyProtocol, folder: Path) -> None:
    """Write a protocol.

    Args:
        protocol: The protocol.
        folder: Where to; it is made.
    """
    write_text(folder / "protocol.json", protocol.model_dump_json(indent=2) + "\n")
