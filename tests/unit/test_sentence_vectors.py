"""Vectors of sentences, kept in the index: for the order of what is found, and for the verifier."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from kgcheck.literature.corpus import Corpus
from kgcheck.literature.documents import Document
from kgcheck.literature.search import COSINE_WEIGHT, SENTENCE_SHARE, LiteratureIndex, SearchCache
from kgcheck.literature.store import SENTENCES, packed, unpacked
from kgcheck.literature.trained_verifier import TrainedVerifier
from tests.support.literature import WordsModel, build_index, paper, papers

PADDING = "The weather was fair. Nothing else was seen on that day. The next day was much like it."


def note(name: str, *sentences: str) -> Document:
    return Document(ids=(name,), abstract=" ".join(sentences))


def test_packed_vectors_find_the_same_neighbours() -> None:
    random = np.random.default_rng(0)
    vectors = random.normal(size=(2_000, 384)).astype(np.float32)
    vectors[::2] += 2 * vectors[1::2]
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    read = unpacked(packed(vectors), 384)

    assert len(packed(vectors)) == 2_000 * (384 + 4)
    asked = vectors[:100]
    true, found = asked @ vectors.T, asked @ read.T
    assert np.abs(true - found).max() < 0.003
    ten = [{*np.argsort(-row)[:10].tolist()} for row in true]
    again = [{*np.argsort(-row)[:10].tolist()} for row in found]
    assert np.mean([len(a & b) / 10 for a, b in zip(ten, again, strict=True)]) > 0.95


def test_the_nearest_sentence_counts(tmp_path: Path) -> None:
    model = WordsModel()
    near = note("near", PADDING, "Kinase A binds kinase B.", PADDING)
    folder = build_index(tmp_path / "index", [*papers(), near], model)

    with LiteratureIndex(folder, model) as index:
        hits = {h.document.id: h for h in index.search("Kinase A binds kinase B.")}
        hit = hits["near"]
        vector = model.encode(["Kinase A binds kinase B."])[0]
        best = float((model.encode(near.passages) @ vector).max())
        assert near.passages[hit.nearest or 0] == "Kinase A binds kinase B."
        assert hit.cosine
        whole = hit.score - COSINE_WEIGHT * (SENTENCE_SHARE * best + (1 - SENTENCE_SHARE) * hit.cosine)
        # What is left is the share of the words: all of it for the paper that fits them best.
        assert -0.01 <= whole <= 1 - COSINE_WEIGHT + 0.01
        assert [h.score for h in index.search("kinase", limit=3)] == sorted(
            (h.score for h in index.search("kinase", limit=3)), reverse=True
        )
    with LiteratureIndex(folder) as index:
        assert index.search("kinase")[0].nearest is None


def test_one_search_after_the_other_reads_each_document_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, read = WordsModel(), list[int]()
    folder = build_index(tmp_path / "index", papers(), model)
    queries = ["Kinase A binds kinase B.", "kinase", "vitamin D"]

    with LiteratureIndex(folder, model) as index:
        alone = [index.search(query) for query in queries]
        documents = index.store.documents

        def noted(numbers: Sequence[int]) -> dict[int, Document]:
            read.extend(numbers)
            return documents(numbers)

        monkeypatch.setattr(index.store, "documents", noted)
        cache = SearchCache()
        vectors = index.embed(queries)
        hits = [index.search(q, vector=v, cache=cache) for q, v in zip(queries, vectors, strict=True)]

    assert [[(h.document.id, *h[1:]) for h in found] for found in hits] == [
        [(h.document.id, *h[1:]) for h in found] for found in alone
    ]
    assert read
    assert len(read) == len(set(read))


def test_the_verifier_embeds_no_sentence_of_the_index_again(tmp_path: Path) -> None:
    model = WordsModel()
    folder = build_index(tmp_path / "index", papers(), model)

    with LiteratureIndex(folder, model) as index:
        found = [hit.document for hit in index.search("Kinase A binds kinase B.", limit=3)]
        named = index.documents(["p1", "p2"])
        before = model.embedded
        kept = TrainedVerifier(model).judge("Kinase A binds kinase B.", found)
        TrainedVerifier(model).judge("Kinase A binds kinase B.", named)
        assert model.embedded == before + 2

    made = TrainedVerifier(model).judge("Kinase A binds kinase B.", [paper(d.id) for d in found])
    assert model.embedded > before + 2 + len(found)
    for one, other in zip(kept, made, strict=True):
        assert one.probabilities.supports == pytest.approx(other.probabilities.supports, abs=0.02)


def test_other_sentences_of_a_document_have_no_vectors() -> None:
    read = paper("p1").with_vectors(np.zeros((3, 8), dtype=np.float32))

    assert read.model_copy().with_spans(read.spans[:1]).vectors is None
    assert read.vectors is not None


def test_vectors_go_with_their_documents(tmp_path: Path) -> None:
    model = WordsModel()
    folder = build_index(tmp_path / "index", papers(), model)
    with Corpus(folder) as corpus:
        number = corpus.store.number_of("p3")
        assert number
        assert [*corpus.store.sentences([number])] == [number]
        corpus.store.remove(["p3"])
        assert corpus.store.sentences([number]) == {}
        # Another model: nothing of the former one is left.
        corpus.build(WordsModel("f" * 16), anew=True)
        assert corpus.store.without(SENTENCES) == []
