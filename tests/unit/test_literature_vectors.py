"""Inverted lists that documents come to and go from, and builds of them that are killed. Vectors are made up."""

import multiprocessing
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from kgcheck.errors import IndexFault
from kgcheck.literature import dense
from kgcheck.literature.corpus import Corpus
from kgcheck.literature.dense import RECALL_WANTED, Dense
from kgcheck.literature.documents import Document
from kgcheck.literature.search import LiteratureIndex
from kgcheck.literature.store import read_manifest
from tests.support.literature import WordsModel

Half = NDArray[np.float16]
Numbers = NDArray[np.int64]

FLOOR = 0.95
DIMENSION = 32
LIMIT = 5_000
"""Stands for the 50,000 documents from which on lists are searched."""


def clouds(count: int, seed: int, *, at: float = 0.0) -> Half:
    """Vectors in forty clouds, elsewhere for another `at`."""
    centres = np.random.default_rng(99).normal(size=(40, DIMENSION)) + at
    random = np.random.default_rng(seed)
    found = centres[random.integers(40, size=count)] + 0.4 * random.normal(size=(count, DIMENSION))
    return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True), dtype=np.float16)


def recall(index: Dense, numbers: Numbers, vectors: Half, *, seed: int = 5) -> float:
    """The share of the ten nearest, by comparing all, that the index finds for queries that are no documents."""
    random = np.random.default_rng(seed)
    asked = vectors[random.integers(len(vectors), size=200)].astype(np.float32)
    asked += random.normal(scale=0.08, size=asked.shape).astype(np.float32)
    best = np.argsort(-(asked @ vectors.astype(np.float32).T), axis=1)[:, :10]
    return float(
        np.mean(
            [
                len({*index.nearest(q, 10).tolist()} & {*numbers[b].tolist()}) / 10
                for q, b in zip(asked, best, strict=True)
            ]
        )
    )


def test_documents_come_and_go_across_the_threshold() -> None:
    numbers, vectors = np.arange(LIMIT - 100), clouds(LIMIT - 100, 1)
    index = Dense.of(numbers, vectors, exact_below=LIMIT)
    assert index.structure.kind == "exact"
    assert recall(index, numbers, vectors) == 1.0

    # Over the threshold: the kind changes, so that it is made anew.
    more, all_vectors = np.arange(LIMIT + 400), np.concatenate([vectors, clouds(500, 2)])
    assert index.changed(more, all_vectors, numbers, exact_below=LIMIT) is None
    lists = Dense.of(more, all_vectors, exact_below=LIMIT)
    assert (lists.structure.kind, lists.structure.trained, lists.structure.moved) == ("ivf", LIMIT + 400, 0)
    assert recall(lists, more, all_vectors) >= FLOOR

    # Some go, some come: in place, and what went is never found again.
    stay = np.ones(len(more), dtype=bool)
    stay[np.random.default_rng(3).choice(len(more), size=300, replace=False)] = False
    after = np.concatenate([more[stay], np.arange(90_000, 90_400)])
    changed = np.concatenate([all_vectors[stay], clouds(400, 4)])
    moved = lists.changed(after, changed, more, exact_below=LIMIT)
    assert moved
    assert (moved.structure.documents, moved.structure.moved) == (len(after), 700)
    assert moved.structure.recall >= RECALL_WANTED
    assert recall(moved, after, changed) >= FLOOR
    gone = {*more[~stay].tolist()}
    for vector in all_vectors[~stay][:50].astype(np.float32):
        assert not gone & {*moved.nearest(vector, 10).tolist()}
    new = [int(moved.nearest(v.astype(np.float32), 1)[0]) for v in changed[-50:]]
    assert new == [*range(90_350, 90_400)]

    # Below it again.
    few = after[: LIMIT - 1]
    assert moved.changed(few, changed[: LIMIT - 1], after, exact_below=LIMIT) is None


def test_lists_that_find_too_little_are_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers, vectors = np.arange(LIMIT), clouds(LIMIT, 1)
    index = Dense.of(numbers, vectors, exact_below=LIMIT)
    monkeypatch.setattr(dense, "RECALL_WANTED", 1.01)

    assert index.changed(numbers[1:], vectors[1:], numbers, exact_below=LIMIT) is None


# Whole indexes, with few documents and a low threshold


class Clouds(WordsModel):
    """Vectors by the number in the text."""

    def encode(self, texts: object) -> NDArray[np.float32]:
        rows = [clouds(1, int(str(t).split()[-1].rstrip("."))) for t in texts]  # type: ignore[attr-defined]
        return np.concatenate(rows).astype(np.float32)


def note(number: int) -> Document:
    return Document.model_validate({"ids": (f"n{number}",), "abstract": f"This is number {number}."})


def change(folder: Path, add: range, remove: range, low: int = 300) -> None:
    with Corpus(folder, create=True, exact_below=low) as corpus:
        with corpus.store.writing():
            for number in add:
                corpus.store.add(note(number))
        if remove:
            corpus.store.remove([f"n{number}" for number in remove])
        corpus.build(Clouds())


def held(folder: Path) -> dense.Structure:
    made = read_manifest(folder).dense
    assert made
    return made.structure


def nearest(folder: Path, number: int) -> str:
    with LiteratureIndex(folder, Clouds()) as index:
        return index.search(f"{number}", limit=1)[0].document.id


def test_an_index_is_changed_in_place_and_made_anew_by_the_rule(tmp_path: Path) -> None:
    folder = tmp_path / "index"
    change(folder, range(250), range(0))
    assert held(folder).kind == "exact"
    change(folder, range(250, 400), range(0))
    assert (held(folder).kind, held(folder).trained, held(folder).moved) == ("ivf", 400, 0)
    change(folder, range(400, 430), range(10))
    assert (held(folder).trained, held(folder).moved, held(folder).documents) == (400, 40, 420)
    assert (nearest(folder, 415), nearest(folder, 200)) == ("n415", "n200")
    assert nearest(folder, 3) != "n3"
    change(folder, range(430, 480), range(0))
    assert (held(folder).trained, held(folder).moved) == (470, 0)
    assert held(folder).recall >= FLOOR


def _dying(when: str) -> None:
    """Be killed while vectors are written, or just after."""
    save = Dense.save

    def dying(self: Dense, path: Path) -> None:
        save(self, path)
        if when == "half":
            path.write_bytes(path.read_bytes()[:1000])
        os.kill(os.getpid(), signal.SIGKILL)

    Dense.save = dying  # type: ignore[method-assign]


def _dies(folder: Path, when: str) -> None:
    _dying(when)
    change(folder, range(400, 430), range(10))


def _dies_first(folder: Path, when: str) -> None:
    _dying(when)
    change(folder, range(320), range(0))


def _killed(work: Callable[[Path, str], None], folder: Path, when: str) -> int | None:
    child = multiprocessing.get_context("spawn").Process(target=work, args=(folder, when))
    child.start()
    child.join(60)
    return child.exitcode


@pytest.mark.parametrize("when", ["half", pytest.param("whole", marks=pytest.mark.slow)])
def test_a_build_that_was_killed_while_it_wrote_vectors_goes_on(tmp_path: Path, when: str) -> None:
    folder = tmp_path / "index"
    change(folder, range(400), range(0))
    before = read_manifest(folder)

    assert _killed(_dies, folder, when) == -signal.SIGKILL
    # The manifest is that of the old index, whose documents have changed since: it says what to do.
    assert read_manifest(folder) == before
    with pytest.raises(IndexFault, match="have changed since it was built"):
        LiteratureIndex(folder, Clouds())

    started = time.monotonic()
    change(folder, range(0), range(0))
    assert time.monotonic() - started < 30
    assert (held(folder).documents, held(folder).moved) == (420, 40)
    assert (nearest(folder, 415), nearest(folder, 200)) == ("n415", "n200")
    assert len([*folder.glob("built-*")]) == 1


def test_a_first_build_that_was_killed_while_it_wrote_vectors_goes_on(tmp_path: Path) -> None:
    folder = tmp_path / "index"
    assert _killed(_dies_first, folder, "half") == -signal.SIGKILL
    with pytest.raises(IndexFault, match="not finished"):
        LiteratureIndex(folder, Clouds())
    change(folder, range(0), range(0))

    assert (held(folder).kind, held(folder).documents) == ("ivf", 320)
    assert nearest(folder, 77) == "n77"
