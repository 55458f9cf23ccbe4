"""LiteratureIndex: hybrid search (BM25 and cosine) over an index, given documents or passages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kgcheck.caching import BatchCache
from kgcheck.choices import SECTIONS
from kgcheck.choices import chosen as chosen_of
from kgcheck.closing import Closing
from kgcheck.errors import IndexFault, UnknownName
from kgcheck.literature import store
from kgcheck.literature.arguments import missing
from kgcheck.literature.dense import Dense
from kgcheck.literature.documents import Document
from kgcheck.literature.embed import Embedder, Vectors, open_model
from kgcheck.literature.lexical import Lexical
from kgcheck.literature.store import DocumentStore, Manifest, read_manifest, unpacked
from kgcheck.literature.weights import PACKAGED, WORDS_ALONE, lacking, model_path

COSINE_WEIGHT = 0.65
"""The rest is that of BM25, scaled by the best of the query. Chosen on the train claims of SciFact: benchmarks/."""

SENTENCE_SHARE = 0.5  # share of the nearest sentence in the cosine; the rest is the whole document's. Chosen there, too
_RANKED_AGAIN = 50  # the best so many, and as many as are asked for, are ranked by their nearest sentence
_POOL = 200  # candidates that words and meaning each put up
_POOL_OF_PARAGRAPHS = 2_000  # the same, where there are whole papers
_KEPT = 2_000  # documents that are kept while many queries are searched for
MAX_QUERY = 2_000  # characters of a query that are read; a model reads far fewer
Floats = NDArray[np.float32]


class SearchHit(NamedTuple):
    """A document that was found.

    ``nearest`` is the place of the sentence that is nearest to the query. Without vectors, it and ``cosine`` are None
    and the score is that of the words alone.
    """

    document: Document
    score: float
    words: float
    cosine: float | None
    nearest: int | None = None


class SearchCache:
    """Documents and sentence vectors that many searches share."""

    def __init__(self) -> None:
        self.documents = BatchCache[int, Document](_KEPT)
        self.vectors = BatchCache[int, Vectors](_KEPT)


class LiteratureIndex(Closing):
    """An index that is searched. May be used by several threads."""

    def __init__(self, folder: Path, embedder: Embedder | None = None) -> None:
        self.folder = folder
        self.manifest: Manifest = read_manifest(folder)
        self.store = DocumentStore(folder / store.DOCUMENTS)
        try:
            self._open(embedder)
        except BaseException:
            self.store.close()
            raise

    def _open(self, embedder: Embedder | None) -> None:
        manifest, built = self.manifest, self.folder / self.manifest.folder
        if self.store.version != manifest.version:
            changed = f"the documents in {self.folder} have changed since it was built"
            raise IndexFault(changed, f"kgcheck corpus build --index {self.folder}")
        if embedder and manifest.dense and embedder.digest != manifest.dense.digest:
            raise IndexFault(
                f"the index in {self.folder} is of the model {manifest.dense.model} ({manifest.dense.digest}),"
                f" not of {embedder.name} ({embedder.digest})",
                "search it with its own model, or build it anew with this one",
            )
        dense = manifest.dense if embedder else None
        whole = (built / store.PAPERS).exists()
        load = partial(np.load, mmap_mode="r")
        try:
            self._numbers: NDArray[np.int64] = load(built / "numbers.npy")
            self._vectors = load(built / "vectors.npy") if dense else None
            # Of each row, its paper and its section, where there are whole papers.
            self._papers: NDArray[np.int64] | None = load(built / store.PAPERS) if whole else None
            self._sections = load(built / store.SECTIONS_OF) if whole else None
        except (OSError, ValueError, EOFError) as error:
            anew = f"kgcheck corpus build --index {self.folder} --anew"
            raise IndexFault(f"the index in {self.folder} is broken: {error}", anew) from error
        self._words = Lexical.load(built / "words", len(self._numbers))
        self._dense = Dense.load(built / "vectors.faiss", dense.structure) if dense else None
        self.embedder = embedder if dense else None

    def search(
        self,
        query: str,
        *,
        limit: int = 10,
        within: Sequence[str] | None = None,
        also: Sequence[str] = (),
        sections: Sequence[str] = (),
        every: bool = False,
        vector: Vectors | None = None,
        cache: SearchCache | None = None,
    ) -> list[SearchHit]:
        """The documents that fit a query best, best first; of a whole paper, its best paragraph.

        Of many queries, each may be given its vector, see `embed`, and a cache that all share.
        """
        query, cache = query[:MAX_QUERY], cache or SearchCache()
        words = self._words.scores(" ".join([query, *also])[: 2 * MAX_QUERY])
        if vector is None and query.strip():
            (vector,) = self.embed([query])
        chosen = None
        if sections and self._sections is not None:
            chosen = np.isin(self._sections, [SECTIONS.index(chosen_of("section", s, SECTIONS)) for s in sections])
        elif sections:
            chosen = np.full(len(self._numbers), "abstract" in sections)
        if chosen is not None:
            words = np.where(chosen, words, np.float32(0))
        rows = self._candidates(words, vector) if within is None else self._rows(within)
        if chosen is not None:
            rows = rows[chosen[rows]]
        numbers: list[int] = self._numbers[rows].tolist()
        cosines = None
        if vector is not None and self._vectors is not None:
            cosines = np.asarray(self._vectors[rows].astype(np.float32) @ vector, dtype=np.float32)
        scores, nearest, kept = fused(words[rows], cosines), dict[int, int](), dict[int, Vectors]()
        best = np.argsort(-scores, kind="stable")
        if vector is not None and cosines is not None:
            again, rest = np.split(best, [max(limit, _RANKED_AGAIN)])
            kept = cache.vectors.get_many((numbers[i] for i in again), self.sentence_vectors)
            for i in again:
                if len(own := kept.get(numbers[i], ())):
                    near = own @ vector
                    nearest[int(i)] = int(near.argmax())
                    scores[i] += COSINE_WEIGHT * SENTENCE_SHARE * (float(near.max()) - cosines[i])
            best = np.concatenate([again[np.argsort(-scores[again], kind="stable")], rest])
        best = (best if every else self._once_a_paper(rows, best))[:limit]
        documents = cache.documents.get_many((numbers[i] for i in best), partial(self._read, known=kept))
        hits = []
        for i in best:
            if scores[i] > 0 and (document := documents.get(numbers[i])):
                cosine = None if cosines is None else float(cosines[i])
                hits.append(SearchHit(document, float(scores[i]), float(words[rows[i]]), cosine, nearest.get(int(i))))
        return hits

    def embed(self, queries: Sequence[str]) -> list[Vectors] | list[None]:
        """Embed many queries for `search`, which takes a third of the time of one at a time."""
        if not self.embedder:
            return [None] * len(queries)
        return list(self.embedder.encode([query[:MAX_QUERY] for query in queries]))

    @property
    def holds_whole_papers(self) -> bool:
        """Tell whether it holds paragraphs, and not abstracts alone."""
        return self._papers is not None

    def sentence_vectors(self, numbers: Sequence[int]) -> dict[int, Vectors]:
        """The vectors of the sentences of documents, as the index keeps them: computed when it was built."""
        if not self.embedder:
            return {}
        dimension = self.embedder.dimension
        return {number: unpacked(raw, dimension) for number, raw in self.store.sentences(numbers).items()}

    def _read(self, numbers: Sequence[int], known: Mapping[int, Vectors] = {}) -> dict[int, Document]:
        """Documents by number, each with the vectors of its sentences, of which some may be known."""
        vectors = {**known, **self.sentence_vectors([n for n in numbers if n not in known])}
        return {n: d.with_vectors(vectors.get(n)) for n, d in self.store.documents(numbers).items()}

    def best_of(self, query: str, ids: Sequence[str]) -> list[Document]:
        """Return the best fit to a query of each named paper: a paragraph of a whole paper, or the abstract."""
        if self._papers is None:
            return self.documents(ids)
        hits = self.search(query, limit=len(ids), within=ids)
        found = {hit.document.paper_id: hit.document for hit in hits}
        return list({d.paper_id: found.get(d.paper_id, d) for d in self.documents(ids)}.values())

    def documents(self, ids: Sequence[str]) -> list[Document]:
        """Documents by id, in that order, each once."""
        numbers = list(dict.fromkeys(int(self._numbers[row]) for row in self._rows(ids, whole=False)))
        documents = self._read(numbers)
        return [documents[n] for n in numbers if n in documents]

    def parts(self, paper: str) -> list[Document]:
        """The abstract of a paper and its paragraphs, in order; none where it is not in the index."""
        numbers = self.store.parts(paper)
        documents = self.store.documents(numbers)
        return [documents[n] for n in numbers if n in documents]

    def _candidates(self, words: Floats, vector: Vectors | None) -> NDArray[np.int64]:
        # A paper is there with many paragraphs, of which one is shown.
        count = min(_POOL if self._papers is None else _POOL_OF_PARAGRAPHS, len(words))
        if not count:
            return np.zeros(0, dtype=np.int64)
        rows = np.argpartition(-words, count - 1)[:count]
        rows = rows[words[rows] > 0]
        if vector is not None and self._dense:
            near = np.searchsorted(self._numbers, self._dense.nearest(vector, count))
            rows = np.union1d(rows, near)
        return np.sort(rows).astype(np.int64)

    def _rows(self, ids: Sequence[str], *, whole: bool = True) -> NDArray[np.int64]:
        rows: list[int] = []
        for name in dict.fromkeys(ids):
            number = self.store.number_of(name)
            if number is None:
                raise UnknownName("document", name, [], "kgcheck corpus list --index DIR --ids tells all")
            rows.append(int(np.searchsorted(self._numbers, number)))
            if whole and self._papers is not None:
                rows += np.flatnonzero(self._papers == number).tolist()
        return np.array(list(dict.fromkeys(rows)), dtype=np.int64)

    def _once_a_paper(self, rows: NDArray[np.int64], best: NDArray[np.int64]) -> NDArray[np.int64]:
        if self._papers is None:
            return best
        _, first = np.unique(self._papers[rows[best]], return_index=True)
        return best[np.sort(first)]

    def close(self) -> None:
        self.store.close()


def fused(words: Floats, cosines: Floats | None) -> Floats:
    """One score of two: the weighted sum of the cosine and of BM25, scaled by its best."""
    best = float(words.max(initial=0.0))
    scaled = words / best if best > 0 else np.zeros_like(words)
    if cosines is None:
        return scaled
    mixed: Floats = (COSINE_WEIGHT * cosines + (1 - COSINE_WEIGHT) * scaled).astype(np.float32)
    return mixed


def rank_passages(query: str, passages: Sequence[str], embedder: Embedder | None = None) -> list[tuple[int, float]]:
    """Given passages by how well they fit a query."""
    if not passages:
        return []
    words = Lexical.of(passages).scores(query[:MAX_QUERY])
    cosines = None
    if embedder:
        vectors = embedder.encode([query[:MAX_QUERY], *passages])
        cosines = vectors[1:] @ vectors[0]
    scores = fused(words, cosines)
    return [(int(i), float(scores[i])) for i in np.argsort(-scores, kind="stable")]


@dataclass(frozen=True)
class PaperHit:
    """A paper that a search found, with its best passage: ``document.abstract[start:end]``."""

    document: Document
    score: float
    start: int
    end: int

    @property
    def passage(self) -> str:
        return self.document.abstract[self.start : self.end]

    def as_row(self) -> dict[str, Any]:
        """The hit in the flat form that `kgcheck search --format json` prints."""
        document = self.document
        return {
            "id": document.id,
            "also": list(document.ids[1:]),
            "score": round(self.score, 4),
            "year": document.year,
            "retracted": document.retracted,
            "title": document.title,
            "paper": document.paper_id,
            "section": document.section,
            "heading": document.heading,
            "passage": {"start": self.start, "end": self.end, "text": self.passage},
        }


def find_papers(
    index: LiteratureIndex, query: str, *, limit: int = 10, documents: Sequence[str] = (), sections: Sequence[str] = ()
) -> tuple[PaperHit, ...]:
    """Papers of an index, or of some of its documents, that fit words or a sentence, the best first."""
    hits = []
    for hit in index.search(query, limit=limit, within=documents or None, sections=sections):
        best = rank_passages(query, hit.document.passages)[0][0] if hit.nearest is None else hit.nearest
        hits.append(PaperHit(hit.document, hit.score, *hit.document.spans[best]))
    return tuple(hits)


def open_index(folder: Path) -> tuple[LiteratureIndex, str]:
    """An index, and what is to be told of how it is searched."""
    dense = read_manifest(folder).dense
    if dense is None:
        return LiteratureIndex(folder), ""
    if why := lacking(dense.model):
        return LiteratureIndex(folder), f"searching words alone: {why.message}; {why.hint}"
    model = open_model(dense.model)
    index = LiteratureIndex(folder, model)
    if not dense.runtime or model.runtime in dense.runtime.split(", "):
        return index, ""
    return index, f"the vectors of the index were computed by {dense.runtime}, the query's by {model.runtime}"


def choose_model(named: str | None, current: str | None) -> tuple[Embedder | None, str]:
    """The model to build an index with, and what is to be told of it."""
    if (named or current) == WORDS_ALONE:
        return None, ""
    model = named or current or PACKAGED
    if model != PACKAGED:
        model_path(model)
    if why := lacking(model):
        if named or current:
            raise why
        return None, f"indexing words alone: {why.message}; {why.hint}"
    return open_model(model, many=True), ""


_LOOKED = 20  # paragraphs of a paper that are looked at for one that names all that the claim does


def to_read(claim: str, index: LiteratureIndex, *, top: int, ids: Sequence[str] = ()) -> list[Document]:
    """Return the text of each paper that fits a claim best, of those that name all it is about, if any."""
    found = index.best_of(claim, ids) if ids else [hit.document for hit in index.search(claim, limit=top)]
    if not index.holds_whole_papers:
        return found
    texts = []
    for document in found:
        if not (document.id in ids and document.paper) and missing(claim, [document.abstract], document.abstract):
            # The best paragraph of the same paper that names all, if any does.
            hits = index.search(claim, limit=_LOOKED, within=[document.paper_id], every=True)
            others = (hit.document for hit in hits)
            document = next((d for d in others if not missing(claim, [d.abstract], d.abstract)), document)
        texts.append(document)
    return texts
