"""Manifest of an index, ``manifest.json``: the documents and the method that it was built with.

An index that does not fit is refused, never searched.
"""

from pathlib import Path
from typing import Any

from pydantic import Field

from kgcheck import __version__
from kgcheck.errors import IndexFault, InputError
from kgcheck.inputs import parse_json, read_whole
from kgcheck.literature.dense import Structure
from kgcheck.literature.lexical import SETTINGS
from kgcheck.model import Value
from kgcheck.outputs import write_text

FORMAT = 2
MANIFEST = "manifest.json"
DOCUMENTS = "documents.sqlite"
METRIC = "cosine"
PAPERS = "papers.npy"
"""File with the number of each row's paper; there where the index holds whole papers."""
SECTIONS_OF = "sections.npy"
"""File with the place of each row's section in SECTIONS."""


class DenseManifest(Value):
    """The vectors of an index."""

    model: str
    digest: str = Field(description="SHA-256 of the weights of the model, 16 digits")
    runtime: str = Field(
        description="what computed the vectors, and how exactly; several, where it was not always the same"
    )
    dimension: int
    metric: str = METRIC
    structure: Structure


class Manifest(Value):
    """Manifest of an index."""

    format: int = FORMAT
    kgcheck: str = __version__
    built_at: str
    version: int = Field(description="of the document store when the index was built")
    documents: int
    paragraphs: int = Field(default=0, description="of the documents, those that are paragraphs of whole papers")
    folder: str = Field(description="where the built parts are", pattern=r"^built-[0-9]+-[0-9]+$")
    lexical: dict[str, Any] = SETTINGS
    dense: DenseManifest | None = None

    @property
    def papers(self) -> int:
        """Papers, each counted once, whole or by its abstract alone."""
        return self.documents - self.paragraphs


def read_manifest(index: Path) -> Manifest:
    """The manifest of an index."""
    path = index / MANIFEST
    if not path.is_file():
        if (index / DOCUMENTS).is_file():
            raise IndexFault(f"the index in {index} is not finished", f"kgcheck corpus build --index {index}")
        raise IndexFault(f"there is no index in {index}", "kgcheck corpus add FILE --index DIR makes one")
    anew = f"kgcheck corpus build --index {index} --anew"
    try:
        raw = parse_json(read_whole(path))
        if raw.get("format") != FORMAT or raw.get("lexical") != SETTINGS:
            raise IndexFault(
                f"the index in {index} was built by kgcheck {raw.get('kgcheck')}, which indexes otherwise",
                f"{anew} makes it again from its documents",
            )
        return Manifest.model_validate(raw)
    except (InputError, ValueError, AttributeError) as error:
        raise IndexFault(f"{path} is broken: {str(error)[:200]}", f"{anew} makes it again") from error


def write_manifest(index: Path, manifest: Manifest) -> None:
    """Put a manifest in place at once: an index has the old one or the new one."""
    write_text(index / MANIFEST, manifest.model_dump_json(indent=2) + "\n")
