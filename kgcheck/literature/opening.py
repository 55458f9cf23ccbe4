"""Opens an index with the model that it was made with, or with words alone where that is not installed."""

from pathlib import Path

from kgcheck.errors import MissingExtra
from kgcheck.literature.embed import EXTRA, PACKAGED, WORDS_ALONE, Embedder, SentenceModel, available
from kgcheck.literature.manifest import read_manifest
from kgcheck.literature.search import LiteratureIndex


def open_index(folder: Path) -> tuple[LiteratureIndex, str]:
    """An index, and what is to be told of how it is searched.

    Args:
        folder: Of the index.

    Returns:
        The index, and one line where vectors cannot be used, or nothing.

    Raises:
        IndexFault: See LiteratureIndex.
    """
    manifest = read_manifest(folder)
    if manifest.dense is None:
        return LiteratureIndex(folder), ""
    if not available():
        return LiteratureIndex(folder), f"searching words alone: {missing().message}; {missing().hint}"
    return LiteratureIndex(folder, SentenceModel(manifest.dense.model)), ""


def choose_model(named: str | None, held: str | None) -> tuple[Embedder | None, str]:
    """The model to build an index with, and what is to be told of it.

    Args:
        named: What was asked for: a name, ``none``, or nothing.
        held: The model of the index, or ``none``, or nothing for a new one.

    Returns:
        The model, or None for words alone, and one line or nothing.

    Raises:
        MissingExtra: The model that was asked for, or that the index has, cannot be used.
    """
    if (named or held) == WORDS_ALONE:
        return None, ""
    if not available():
        lacking = missing()
        if named or held:
            raise lacking
        return None, f"indexing words alone: {lacking.message}; {lacking.hint}"
    return SentenceModel(named or held or PACKAGED), ""


def missing() -> MissingExtra:
    """What to say where the extra is not installed."""
    return MissingExtra("searching by meaning", EXTRA)
