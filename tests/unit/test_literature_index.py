"""The store of documents, the index over it, and search."""

import json
import multiprocessing
import os
import signal
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from kgcheck.errors import IndexFault, MissingExtra, UnknownName
from kgcheck.literature import search as opening
from kgcheck.literature.corpus import Corpus
from kgcheck.literature.documents import Document
from kgcheck.literature.papers import Paragraph, Section, WholePaper
from kgcheck.literature.search import LiteratureIndex, fused, rank_passages
from kgcheck.literature.store import MANIFEST, Added, DocumentStore
from kgcheck.literature.weights import EXTRA
from kgcheck.profile.corpus_files import corpus_recipe
from tests.support.literature import WordsModel, build_index, paper, papers

WHOLE = WholePaper(
    ids=("whole",),
    sections=(
        Section(kind="abstract", paragraphs=(Paragraph(text="An abstract."),)),
        Section(kind="results", paragraphs=(Paragraph(text="A finding."),)),
    ),
)


def document(name: str, text: str = "Some text.", **more: object) -> Document:
    return Document.model_validate({"ids": (name,), "abstract": text, **more})


@pytest.fixture
def store(tmp_path: Path) -> Iterator[DocumentStore]:
    with DocumentStore(tmp_path / "documents.sqlite", create=True) as store:
        yield store


def test_documents_come_back_as_they_were(store: DocumentStore) -> None:
    given = document("a", "One. Two.", title="T", year=2001, journal="J", types=("Letter",))
    given.with_spans(((0, 3), (4, 8)))
    store.add(given)
    held = store.documents(store.numbers())[1]

    assert held.model_dump(exclude={"number"}) == given.model_dump(exclude={"number"})
    assert held.spans == ((0, 3), (4, 8))


def test_copies_are_one_document_with_two_names(store: DocumentStore) -> None:
    assert store.add(document("a"))[0] is Added.NEW
    assert store.add(document("b", "some TEXT"))[0] is Added.MERGED
    assert store.add(document("a"))[0] is Added.UNCHANGED
    assert store.documents(store.numbers())[1].ids == ("a", "b")

    assert store.remove(["a", "never there"]) == ["a"]
    assert store.documents(store.numbers())[1].ids == ("b",)
    store.remove(["b"])
    assert len(store) == 0


def test_what_is_removed_meanwhile_is_left_out(store: DocumentStore) -> None:
    store.add_paper(WHOLE)
    store.add(document("kept"))
    # As it is for a reader between whose statements another process takes the paper out.
    with closing(sqlite3.connect(store.path)) as db, db:
        db.execute("DELETE FROM name WHERE id = 'whole'")

    assert [(d.id, d.paper) for d in store.documents(store.numbers()).values()] == [("kept", "")]
    assert [row[0] for row in store.ids()] == ["kept"]


def test_any_number_of_documents_is_asked_for_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgcheck.literature.store.LONGEST_LINE", 200_000)
    with DocumentStore(tmp_path / "documents.sqlite", create=True) as store:
        store.add_paper(WHOLE)
        store.retract(["whole"])
        numbers = range(40_000)

        assert [d.retracted for d in store.documents(numbers).values()] == [True, True]
        assert store.retracted([f"paper {n}" for n in numbers] + ["whole"]) == {"whole"}
        assert store.sentences(numbers) == {}


def test_one_id_with_two_texts_is_a_conflict(store: DocumentStore) -> None:
    store.add(document("a", "The first text."))

    assert store.add(document("a", "Another text.")) == (Added.CONFLICT, "a")
    assert store.add(document("a", "Another text."), replace=True) == (Added.REPLACED, "a")
    assert [d.abstract for d in store.documents(store.numbers()).values()] == ["Another text."]


def test_retracted_papers_are_known_before_and_after_they_come(store: DocumentStore) -> None:
    store.add(document("pmid:1", "Text one."))
    assert store.retract(["pmid:1", "pmid:2"]) == 1
    store.add(document("pmid:2", "Text two."))

    assert all(d.retracted for d in store.documents(store.numbers()).values())


def test_a_transaction_is_whole_or_not(store: DocumentStore) -> None:
    def fails() -> None:
        with store.writing():
            store.add(document("a"))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails()

    assert len(store) == 0
    assert store.version == 0


def test_other_files_are_no_store(tmp_path: Path) -> None:
    (tmp_path / "bytes").write_bytes(b"not a database" * 100)
    with pytest.raises(IndexFault, match="no document store"):
        DocumentStore(tmp_path / "bytes")
    with pytest.raises(IndexFault, match="no index"):
        DocumentStore(tmp_path / "none")
    with sqlite3.connect(tmp_path / "old") as db:
        db.execute("CREATE TABLE meta (key TEXT, value TEXT)")
        db.execute("INSERT INTO meta VALUES ('format', '0')")
    db.close()
    with pytest.raises(IndexFault, match="format 0"):
        DocumentStore(tmp_path / "old")


def test_search_by_words(tmp_path: Path) -> None:
    with LiteratureIndex(build_index(tmp_path / "index", papers())) as index:
        hits = index.search("vitamin D bone")
        assert hits[0].document.id == "p4"
        assert hits[0].cosine is None
        assert index.search("zebrafish") == []
        assert index.search("") == []
        # Without whole papers all that there is are abstracts.
        found = {s: [h.document.id for h in index.search("vitamin", sections=[s])] for s in ("abstract", "methods")}
        assert found == {"abstract": ["p4"], "methods": []}
        assert [h.document.id for h in index.search("zebrafish", also=["vitamin"])] == ["p4"]
        assert len(index.search("kinase " * 10_000, limit=1)) == 1


def test_search_in_given_documents_and_passages(tmp_path: Path) -> None:
    with LiteratureIndex(build_index(tmp_path / "index", papers())) as index:
        assert [h.document.id for h in index.search("kinase", within=["p2", "p3"])] == ["p2"]
        assert [d.id for d in index.documents(["p3", "p1", "p3"])] == ["p3", "p1"]
        with pytest.raises(UnknownName, match="p9"):
            index.search("kinase", within=["p9"])
    with LiteratureIndex(build_index(tmp_path / "empty", [])) as index:
        assert index.search("anything") == []
    ranked = rank_passages("sleep of mice", ["Bones grow.", "Mice sleep.", ""])
    assert [i for i, _ in ranked] == [1, 0, 2]
    assert rank_passages("sleep", []) == []
    assert [score for _, score in rank_passages("sleep", ["", ""])] == [0.0, 0.0]


def test_fusion_is_between_its_parts() -> None:
    words, cosines = np.array([2.0, 1.0, 0.0], dtype=np.float32), np.array([0.1, 0.9, 0.5], dtype=np.float32)

    assert fused(words, None).tolist() == [1.0, 0.5, 0.0]
    assert int(fused(words, cosines).argmax()) == int(fused(words * 0, cosines).argmax()) == 1


def test_changes_are_found_only_after_a_build(tmp_path: Path) -> None:
    folder = build_index(tmp_path / "index", papers()[:3])
    with Corpus(folder) as corpus:
        with corpus.store.writing():
            corpus.store.add(paper("p4"))
        with pytest.raises(IndexFault, match="have changed since it was built"):
            LiteratureIndex(folder)
        corpus.build(None)
    with LiteratureIndex(folder) as index:
        assert [h.document.id for h in index.search("vitamin")] == ["p4"]
    with Corpus(folder) as corpus:
        corpus.store.remove(["p4"])
        corpus.build(None)
    with LiteratureIndex(folder) as index:
        assert index.search("vitamin") == []
    assert len(list(folder.glob("built-*"))) == 1


def test_a_build_of_nothing_new_changes_nothing(tmp_path: Path) -> None:
    folder = build_index(tmp_path / "index", papers())
    before = (folder / MANIFEST).read_bytes()
    with Corpus(folder) as corpus:
        corpus.build(None)

    assert (folder / MANIFEST).read_bytes() == before


@pytest.mark.parametrize("change", [{"format": 99}, {"lexical": {"k1": 2}}])
def test_an_index_of_another_version_is_refused(tmp_path: Path, change: dict[str, object]) -> None:
    folder = build_index(tmp_path / "index", papers())
    manifest = folder / MANIFEST
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), **change}))

    with pytest.raises(IndexFault, match="indexes otherwise") as refused:
        LiteratureIndex(folder)
    assert "--anew" in refused.value.hint
    with Corpus(folder) as corpus:
        corpus.build(None, anew=True)
    LiteratureIndex(folder).close()


def test_broken_and_unfinished_indexes_are_told(tmp_path: Path) -> None:
    with pytest.raises(IndexFault, match="there is no index"):
        LiteratureIndex(tmp_path)
    folder = build_index(tmp_path / "index", papers())
    (folder / MANIFEST).write_text("{")
    with pytest.raises(IndexFault, match="broken"):
        LiteratureIndex(folder)
    (folder / MANIFEST).unlink()
    with pytest.raises(IndexFault, match="not finished"):
        LiteratureIndex(folder)
    with Corpus(folder) as corpus:
        built = folder / corpus.build(None).folder
    (built / "numbers.npy").write_bytes(b"")
    with pytest.raises(IndexFault, match="broken"):
        LiteratureIndex(folder)


def test_one_process_changes_an_index_at_a_time(tmp_path: Path) -> None:
    with Corpus(tmp_path / "index", create=True), pytest.raises(IndexFault, match="in use"):
        Corpus(tmp_path / "index")


def test_files_are_added_with_a_quarantine(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"id": "1", "abstract": "Text."}\n{"id": "1", "abstract": "Other."}\n{"id": "2"}\n{"id')
    with Corpus(tmp_path / "index", create=True) as corpus:
        added = corpus.add([path], corpus_recipe("jsonl"))

    assert added.counts == {"new": 1, "conflict": 1, "no_abstract": 1, "malformed": 1}
    assert added.quarantined == 3
    kept = [json.loads(line) for line in added.quarantine.read_text().splitlines()]
    assert sorted(k["reason"] for k in kept) == ["conflict", "malformed", "no_abstract"]


# With vectors: a small model of words stands for the real one.


def test_search_by_meaning_and_words(tmp_path: Path) -> None:
    model = WordsModel()
    folder = build_index(tmp_path / "index", papers(), model)

    with LiteratureIndex(folder, model) as index:
        hit = index.search("older adults vitamin")[0]
        assert hit.document.id == "p4"
        assert hit.cosine == pytest.approx(
            float(model.encode([paper("p4").text])[0] @ model.encode(["older adults vitamin"])[0]), abs=2e-3
        )
    with LiteratureIndex(folder) as index:
        assert index.search("older adults vitamin")[0].cosine is None


def test_only_new_documents_are_embedded(tmp_path: Path) -> None:
    model = WordsModel()
    folder = build_index(tmp_path / "index", papers()[:3], model)
    # Whole, and by sentence.
    first = sum(1 + len(d.passages) for d in papers()[:3])
    assert model.embedded == first
    with Corpus(folder) as corpus:
        with corpus.store.writing():
            corpus.store.add(paper("p4"))
        corpus.store.remove(["p1"])
        corpus.build(model)
    assert model.embedded == first + 1 + len(paper("p4").passages)
    with LiteratureIndex(folder, model) as index:
        assert index.search("vitamin bone")[0].document.id == "p4"
        assert "p1" not in {h.document.id for h in index.search("kinase")}


def test_another_model_is_refused(tmp_path: Path) -> None:
    folder = build_index(tmp_path / "index", papers(), WordsModel())
    other = WordsModel(digest="f" * 16)

    with pytest.raises(IndexFault, match="is of the model words"):
        LiteratureIndex(folder, other)
    with Corpus(folder) as corpus:
        with pytest.raises(IndexFault, match="are of the model words"):
            corpus.build(other)
        corpus.build(other, anew=True)
    LiteratureIndex(folder, other).close()


def test_a_killed_build_goes_on(tmp_path: Path) -> None:
    folder = tmp_path / "index"
    child = multiprocessing.get_context("spawn").Process(target=_build_slowly, args=(folder,))
    child.start()
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not (folder / "embedding").exists():
        time.sleep(0.02)
    assert child.pid
    os.kill(child.pid, signal.SIGKILL)
    child.join()

    with pytest.raises(IndexFault, match="not finished"):
        LiteratureIndex(folder)
    model = WordsModel()
    with Corpus(folder) as corpus:
        corpus.build(model)
    # The documents that were left, and one sentence of each.
    assert model.embedded == 1500 - 512 + 1500
    with LiteratureIndex(folder, model) as index:
        assert index.search("number 1234", limit=1)[0].document.id == "n1234"


class _Waits(WordsModel):
    """Stops for ever after the first part."""

    folder: Path

    def encode(self, texts: Sequence[str]) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
        if self.embedded:
            (self.folder / "embedding").touch()
            time.sleep(60)
        return super().encode(texts)


def _build_slowly(folder: Path) -> None:
    model = _Waits()
    model.folder = folder
    build_index(folder, [document(f"n{i}", f"This is number {i}.") for i in range(1500)], model)


def test_broken_vectors_are_told(tmp_path: Path) -> None:
    model = WordsModel()
    folder = build_index(tmp_path / "index", papers(), model)
    next(folder.glob("built-*/vectors.faiss")).write_bytes(b"nothing")

    with pytest.raises(IndexFault, match="vector index"):
        LiteratureIndex(folder, model)


def test_without_the_extra_words_are_searched_and_one_line_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = build_index(tmp_path / "index", papers(), WordsModel())
    monkeypatch.setattr(opening, "lacking", lambda model: MissingExtra("searching by meaning", EXTRA))

    index, note = opening.open_index(folder)
    with index:
        assert index.search("vitamin")[0].cosine is None
    said = "searching by meaning needs the extra 'papers'; pip install 'kgcheck[papers]'"
    assert note == f"searching words alone: {said}"
    assert opening.choose_model(None, None)[0] is None
    assert opening.choose_model(None, "none") == (None, "")
    with pytest.raises(MissingExtra, match="papers"):
        opening.choose_model(None, "minilm")
