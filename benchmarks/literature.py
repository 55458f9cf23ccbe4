"""Measures the literature index and prints a Markdown table: ``python -m benchmarks.literature``.

Needs the extra `papers` and the SciFact files; what the train claims cite is what is searched for.
"""

import argparse
import multiprocessing
import re
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from kgcheck.bench.metrics import ndcg
from kgcheck.bench.scv import read_items
from kgcheck.literature.corpus import Corpus
from kgcheck.literature.documents import Document
from kgcheck.literature.embed import SentenceModel, Vectors
from kgcheck.literature.formats import read_documents
from kgcheck.literature.search import LiteratureIndex
from kgcheck.profile.corpus_files import corpus_recipe

_EMBEDDED = 512
_PADDED = 100_000
_QUERIES = 200


def main() -> None:
    """Run all measurements and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--documents", type=int, default=_PADDED, help="of the padded index")
    asked = parser.parse_args()
    corpus = asked.data / "scifact" / "corpus.csv"
    papers = [d for d in read_documents(corpus, corpus_recipe("scifact")) if isinstance(d, Document)]
    claims = [(i.claim, i.documents) for i in read_items(asked.data / "scifact" / "claims_train.csv", "scifact")]
    rows: list[tuple[str, str]] = []
    model = _embedding(papers, rows)
    with tempfile.TemporaryDirectory(prefix="kgcheck-bench-") as name:
        folder = Path(name) / "scifact"
        with Corpus(folder, create=True) as made:
            made.add([corpus])
            started = time.perf_counter()
            made.build(model)
            rows.append(
                (f"index of {len(papers):,} abstracts, embedding included", f"{time.perf_counter() - started:.0f} s")
            )
        _retrieval(folder, model, claims, rows)
        _padded(Path(name), folder, model, claims, rows, asked.documents)
    for what, value in rows:
        sys.stdout.write(f"| {what} | {value} |\n")


def _embedding(papers: Sequence[Document], rows: list[tuple[str, str]]) -> SentenceModel:
    """Speed of the packaged model on whole abstracts, and how far bfloat16 is from float32."""
    texts = [d.text for d in papers[:_EMBEDDED]]
    low, full = SentenceModel(), SentenceModel(precision="float32")
    for model in (low, full):
        model.encode(texts[:32])
    slow, fast = _timed(lambda: full.encode(texts[:128])), _timed(lambda: low.encode(texts))
    cosines = (full.encode(texts[:128]) * low.encode(texts)[:128]).sum(axis=1)
    rows.append(("embedding, float32", f"{128 / slow:.0f} abstracts/s"))
    rows.append((f"embedding, {low.precision}", f"{len(texts) / fast:.0f} abstracts/s"))
    rows.append((f"cosine of {low.precision} to float32, least of 128", f"{cosines.min():.4f}"))
    return low


def _timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _retrieval(
    folder: Path, model: SentenceModel, claims: Sequence[tuple[str, tuple[str, ...]]], rows: list[tuple[str, str]]
) -> None:
    for name, embedder in (("words alone", None), ("words and meaning", model)):
        with LiteratureIndex(folder, embedder) as index:
            scores, seconds = [], []
            for claim, wanted in claims:
                started = time.perf_counter()
                found = [hit.document.id for hit in index.search(claim)]
                seconds.append(time.perf_counter() - started)
                scores.append(ndcg(found, wanted))
            rows.append((f"nDCG@10, {len(claims)} claims, {name}", f"{statistics.mean(scores):.4f}"))
            rows.append((f"search, {name}, p50", f"{statistics.median(seconds) * 1000:.1f} ms"))


class _Padding:
    """Vectors of documents made from those of real ones with noise; queries are embedded as ever.

    Args:
        vectors: Of real documents.
        model: For queries; None in the process that builds.
    """

    name, digest, runtime, dimension = "padding", "0" * 16, "noise", 384

    def __init__(self, vectors: Vectors, model: SentenceModel | None) -> None:
        self._vectors = vectors
        self._model = model
        self._random = np.random.default_rng(0)

    def encode(self, texts: Sequence[str]) -> Vectors:
        """See Embedder."""
        if self._model:
            return self._model.encode(texts)
        chosen = self._vectors[self._random.integers(len(self._vectors), size=len(texts))]
        noisy = chosen + self._random.normal(scale=0.03, size=chosen.shape)
        return np.asarray(noisy / np.linalg.norm(noisy, axis=1, keepdims=True), dtype=np.float32)


def _padded(
    folder: Path,
    real: Path,
    model: SentenceModel,
    claims: Sequence[tuple[str, tuple[str, ...]]],
    rows: list[tuple[str, str]],
    documents: int,
) -> None:
    """An index of abstracts shuffled from real sentences, built in a process of its own, whose memory is measured."""
    padded = folder / "padded"
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    child = context.Process(target=_build_padded, args=(real, padded, documents, queue))
    child.start()
    seconds, peak, told = queue.get()
    child.join()
    rows.append((f"index of {documents:,} shuffled abstracts, without embedding", f"{seconds:.0f} s, {peak:.1f} GiB"))
    rows.append(("its vectors", told))
    vectors = np.zeros((1, 384), dtype=np.float32)
    with LiteratureIndex(padded, _Padding(vectors, model)) as index:
        index.search("warm up")
        taken = [_timed(lambda c=claim: index.search(c)) for claim, _ in claims[:_QUERIES]]  # type: ignore[misc]
    rows.append((f"search in {documents:,}, end to end, p50", f"{statistics.median(taken) * 1000:.1f} ms"))
    rows.append((f"search in {documents:,}, end to end, p95", f"{np.quantile(taken, 0.95) * 1000:.1f} ms"))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    rows.append(("peak memory of the process that searches, model included", f"{memory:.1f} GiB"))


def _build_padded(
    real: Path, padded: Path, documents: int, queue: "multiprocessing.Queue[tuple[float, float, str]]"
) -> None:
    from kgcheck.literature.store import read_manifest

    built = real / read_manifest(real).folder
    vectors = np.load(built / "vectors.npy").astype(np.float32)
    random = np.random.default_rng(0)
    with LiteratureIndex(real) as index:
        sentences = [p for d in index.store.documents(index.store.numbers()).values() for p in d.passages]
    started = time.perf_counter()
    with Corpus(padded, create=True) as corpus:
        for at in range(0, documents, 5_000):
            with corpus.store.writing():
                for n in range(at, min(at + 5_000, documents)):
                    chosen = [sentences[i] for i in random.integers(len(sentences), size=9)]
                    spans = [(m.start(), m.end()) for m in re.finditer(r"\S.*", "\n".join(chosen))]
                    text = " ".join(chosen)
                    document = Document(ids=(f"n{n}",), abstract=text, recipe="padding").with_spans(tuple(spans))
                    corpus.store.add(document)
        structure = corpus.build(_Padding(vectors, None)).dense
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    queue.put((time.perf_counter() - started, peak, str(structure.structure) if structure else ""))


if __name__ == "__main__":
    main()
