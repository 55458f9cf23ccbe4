"""Papers, indexes and a small model for tests of the literature."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from kgcheck.literature.corpus import Corpus
from kgcheck.literature.documents import Document
from kgcheck.literature.embed import Embedder, SentenceModel, Vectors
from kgcheck.literature.judges import Judges, shipped_calibration, trained_judge
from kgcheck.literature.store import DocumentStore

PAPERS: Mapping[str, tuple[str, str]] = {
    "p1": (
        "Kinase A in yeast",
        "Kinase A binds kinase B in yeast. Loss of kinase A increases growth. Kinase A is required for mating.",
    ),
    "p2": (
        "Kinase A does not bind kinase C",
        "We asked whether kinase A binds kinase C. No interaction of kinase A with kinase C was found.",
    ),
    "p3": ("Sleep in mice", "Mice that sleep less eat more. Light had no effect on sleep."),
    "p4": ("Vitamin D and bone", "Vitamin D increases bone density in older adults. Fractures were fewer."),
}


def papers() -> list[Document]:
    return [paper(name) for name in PAPERS]


def paper(name: str) -> Document:
    title, abstract = PAPERS[name]
    return Document(ids=(name,), title=title, abstract=abstract, year=2001, recipe="jsonl")


class WordsModel:
    """A model for tests: a text's vector is the sum of random vectors of its words."""

    name = "words"
    runtime = "words 1"
    dimension = 32

    def __init__(self, digest: str = "0123456789abcdef") -> None:
        self.digest = digest
        self.embedded = 0

    def encode(self, texts: Sequence[str]) -> Vectors:
        self.embedded += len(texts)
        rows = [sum((self._word(w) for w in re.findall(r"\w+", t.lower())), np.zeros(32)) for t in texts]
        vectors = np.array(rows).reshape(len(texts), 32)
        lengths = np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
        return np.asarray(vectors / lengths, dtype=np.float32)

    def _word(self, word: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:4], "big")
        return np.random.default_rng(seed).normal(size=32)


@cache
def packaged_model() -> SentenceModel:
    """The real model, opened once a process."""
    return SentenceModel()


def judges(trust: float | None = None) -> Judges:
    """The trained judge by the calibration that comes with kgcheck, as where nothing else is asked for."""
    return Judges([trained_judge()], [shipped_calibration()], trust)


def build_index(folder: Path, documents: Sequence[Document], embedder: Embedder | None = None) -> Path:
    with Corpus(folder, create=True) as corpus:
        with corpus.store.writing():
            for document in documents:
                corpus.store.add(document)
        corpus.build(embedder)
    return folder


def remove_papers(patch: pytest.MonkeyPatch, *ids: str) -> None:
    """Let papers be gone that were there a moment ago, as if another process had removed them."""
    documents = DocumentStore.documents

    def left(store: DocumentStore, numbers: Sequence[int]) -> dict[int, Document]:
        return {n: document for n, document in documents(store, numbers).items() if document.paper_id not in ids}

    patch.setattr(DocumentStore, "documents", left)
