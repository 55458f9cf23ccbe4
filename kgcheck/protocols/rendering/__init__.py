"""A protocol as files: JSON, pages to read, and a research object (RO-Crate) that describes them."""

from pathlib import Path

from kgcheck.outputs import write_text
from kgcheck.protocols.protocol import StudyProtocol
from kgcheck.protocols.rendering.crate import crate
from kgcheck.protocols.rendering.pages import protocol_page


def write(protocol: StudyProtocol, folder: Path) -> None:
    """Write a protocol: ``protocol.json``, ``protocol.md``, ``protocol.html`` and ``ro-crate-metadata.json``."""
    write_text(folder / "protocol.json", protocol.model_dump_json(indent=2) + "\n")
    write_text(folder / "protocol.md", protocol_page(protocol, "markdown"))
    write_text(folder / "protocol.html", protocol_page(protocol, "html"))
    write_text(folder / "ro-crate-metadata.json", crate(protocol))
