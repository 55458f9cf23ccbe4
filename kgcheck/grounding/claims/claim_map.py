"""Map the claims of an index's papers: agreement, contradiction, and citations by PageRank.

What the ledger has of a text that has not changed is taken from there. What is new is written down as it comes, so that
a call that was cut off goes on where it was.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from kgcheck.errors import MissingExtra
from kgcheck.grounding.claims.choosing import PaperText, choose_claims, parts_of_abstract
from kgcheck.ledger.paper_claims import ClaimGroup, ClaimPair, ClaimRelation, ClaimTable, PaperClaim, RankedPaper
from kgcheck.literature.arguments import missing
from kgcheck.literature.dense import Dense
from kgcheck.literature.documents import Document, fingerprint_text
from kgcheck.literature.embed import Vectors
from kgcheck.literature.features import words_of
from kgcheck.literature.lexical import Lexical
from kgcheck.literature.papers import CitedWork, WholePaper
from kgcheck.literature.quote_relevance import refutes
from kgcheck.literature.search import LiteratureIndex
from kgcheck.literature.trained_verifier import WEIGHTS, TrainedVerifier
from kgcheck.literature.verify import Opinion, verify
from kgcheck.model import Stance, Value
from kgcheck.progress import Progress
from kgcheck.resources import resource_dir

NEIGHBOURS = 10  # claims of other papers that are compared with one
# Least cosine of two claims that are compared. Nine in ten of SciFact's claims and their evidence are nearer.
NEAR = 0.35
SHARED = 0.2  # the same for words: the least share of the BM25 that a claim has with itself
SUPPORTED = 0.65
CONTRADICTED = 0.5  # least probabilities of the verifier for support and for contradiction (benchmarks.claims)
REFUTED = 0.8  # probability of a contradiction if one sentence says the opposite of all that the other names
_ALIKE = 0.5  # sentences with so many of the words of the longer one in common may differ by one exchanged word
Place = tuple[int, int]


class ClaimReader:
    """Judge of pairs of sentences."""

    def __init__(self, vectors: Mapping[str, Vectors] | None = None, model: str = "") -> None:
        self._vectors = vectors
        self._verifier = TrainedVerifier(_KnownVectors(vectors, model) if vectors is not None else None)
        self.digest = _reader_digest(model if vectors is not None else "")

    def relate(self, one: PaperClaim, other: PaperClaim) -> ClaimPair:
        """Relate two claims."""
        first, second = sorted((one, other), key=lambda c: c.key)
        relation, probability, note = self.relation(first.quote, second.quote)
        return ClaimPair(
            first=first.key, second=second.key, relation=relation, probability=round(probability, 4), note=note
        )

    def relation(self, one: str, other: str) -> tuple[ClaimRelation, float, str]:
        """Relate two sentences: how, how surely, and why nothing is made of them."""
        unnamed = missing(one, [other], other)
        if unnamed and missing(other, [one], one):
            # Most pairs: the gate would stop both directions, whatever the verifier made of them.
            return ClaimRelation.ORTHOGONAL, 1.0, f"the one does not name what the other does: {', '.join(unnamed)}"
        there, back = self._opinion(one, other), self._opinion(other, one)
        against = min(there.probabilities.contradicts, back.probabilities.contradicts)
        surest = max(there.probabilities.contradicts, back.probabilities.contradicts)
        if there.stance is back.stance is Stance.CONTRADICTS and surest >= CONTRADICTED:
            return ClaimRelation.CONTRADICTS, surest, ""
        if refutes(one, [other], other) or refutes(other, [one], one):
            return ClaimRelation.CONTRADICTS, max(REFUTED, against), ""
        speaks = [o for o in (there, back) if o.stance is Stance.SUPPORTS]
        if not speaks or Stance.CONTRADICTS in (there.stance, back.stance):
            notes = (o.note for o in (there, back) if o.note)
            return ClaimRelation.ORTHOGONAL, min(o.probabilities.silent for o in (there, back)), next(notes, "")
        probability = max(o.probabilities.supports for o in speaks)
        if exchanged(one, other):
            return ClaimRelation.ORTHOGONAL, 1 - probability, "they are alike but for a word that is another"
        if probability < SUPPORTED:
            return ClaimRelation.ORTHOGONAL, 1 - probability, "one may support the other, but that is not sure"
        return ClaimRelation.SUPPORTS, probability, ""

    def _opinion(self, claim: str, sentence: str) -> Opinion:
        document = Document(ids=("claim",), abstract=sentence).with_spans(((0, len(sentence)),))
        if self._vectors is not None:
            document = document.with_vectors(self._vectors[sentence][None])
        return verify(claim, [document], self._verifier).opinions[0]


def exchanged(one: str, other: str) -> bool:
    """Tell whether two sentences are alike but for words that each has in place of others.

    >>> exchanged("Zincol lowers the blood pressure of rats.", "Zincol lowers the heart rate of rats.")
    True
    >>> exchanged("Zincol lowers blood pressure.", "In a trial, Zincol clearly lowers the high blood pressure of rats.")
    False
    """
    a, b = (frozenset(t.stem for clause in words_of(text).clauses for t in clause) for text in (one, other))
    return len(a & b) >= _ALIKE * max(len(a), len(b)) and bool(a - b) and bool(b - a)


def candidates(claims: Sequence[PaperClaim], vectors: Vectors | None = None) -> list[Place]:
    """The pairs of claims of different papers that are worth reading."""
    if len(claims) < 2:
        return []
    near = _by_vectors(claims, vectors) if vectors is not None else _by_words(claims)
    return sorted({(min(a, b), max(a, b)) for a, b in near})


def _by_vectors(claims: Sequence[PaperClaim], vectors: Vectors) -> Iterable[Place]:
    numbers: NDArray[np.int64] = np.arange(len(claims), dtype=np.int64)
    index = Dense.of(numbers, vectors.astype(np.float16))
    # The others of its own paper may be the nearest.
    most = max(np.unique([c.paper for c in claims], return_counts=True)[1])
    for place, claim in enumerate(claims):
        found = index.nearest(vectors[place], min(len(claims), NEIGHBOURS + int(most)))
        others = [int(n) for n in found if claims[int(n)].paper != claim.paper]
        yield from ((place, n) for n in others[:NEIGHBOURS] if float(vectors[n] @ vectors[place]) >= NEAR)


def _by_words(claims: Sequence[PaperClaim]) -> Iterable[Place]:
    words = Lexical.of(c.quote for c in claims)
    papers = np.array([c.paper for c in claims])
    for place, claim in enumerate(claims):
        scores = words.scores(claim.quote)
        least = SHARED * float(scores[place])
        scores = np.where(papers == claim.paper, np.float32(0), scores)
        best = np.argsort(-scores, kind="stable")[:NEIGHBOURS]
        yield from ((place, int(n)) for n in best if scores[n] > 0 and scores[n] >= least)


class _KnownVectors:
    """Stands for the model: the vectors of all sentences are known already."""

    name = runtime = "known"
    dimension = 0

    def __init__(self, vectors: Mapping[str, Vectors], digest: str) -> None:
        self.digest = digest
        self._vectors = vectors

    def encode(self, texts: Sequence[str]) -> Vectors:
        return np.stack([self._vectors[text] for text in texts])


def _reader_digest(model: str) -> str:
    """Digest of all that a judgement depends on: weights, words, thresholds, and the model of the vectors."""
    weights = resource_dir("corpus") / WEIGHTS
    seen = sha256(f"1 {SUPPORTED} {CONTRADICTED} {model}".encode())
    for path in (weights, *sorted(weights.parent.glob("*.toml"))):
        seen.update(path.read_bytes())
    return seen.hexdigest()[:16]


try:
    import rustworkx as rx
except ImportError as error:
    raise MissingExtra("ranking papers", "grounding") from error


DAMPING = 0.85
_STEPS = 1_000
_EXACT = 1e-9
_LEAST_TITLE = 5  # words of a title by which a reference without an id may be known: "Editorial" is no title


Citation = tuple[str, str]  # the ids of a paper of an index, and of another one that it cites


class KnownWorks:
    """Papers by what a reference may call them."""

    def __init__(self, papers: Sequence[tuple[tuple[str, ...], str, int | None]]) -> None:
        self._ids = {name.casefold(): ids[0] for ids, _, _ in papers for name in ids}
        self._titles: dict[str, list[tuple[str, int | None]]] = {}
        for ids, title, year in papers:
            words = fingerprint_text(title)
            if words.count(" ") + 1 >= _LEAST_TITLE:
                self._titles.setdefault(words, []).append((ids[0], year))

    def by_id(self, name: str) -> str | None:
        """Find the paper with an id, whatever its case."""
        return self._ids.get(name.casefold())

    def cited(self, work: CitedWork) -> str | None:
        """The paper that a reference is, by its DOI, its PMID, or its title with its year."""
        if found := (work.doi and self.by_id(f"doi:{work.doi}")) or (work.pmid and self.by_id(f"pmid:{work.pmid}")):
            return found
        titled = self._titles.get(fingerprint_text(work.title), ())
        named = [i for i, year in titled if year is None or work.year is None or abs(year - work.year) <= 1]
        return named[0] if len(named) == 1 else None


def citations_of(paper: WholePaper, known: KnownWorks) -> Iterator[Citation]:
    """The citations between a paper and others that are known, each as often as it is listed."""
    if own := known.by_id(paper.id):
        pairs = [*((own, known.cited(w)) for w in paper.references), *((known.by_id(n), own) for n in paper.citations)]
        yield from ((citing, cited) for citing, cited in pairs if citing and cited and citing != cited)


def ranked_papers(digests: Mapping[str, str], citations: Sequence[Citation]) -> dict[str, RankedPaper]:
    """PageRank, hubs and authorities of papers, which are named with the digests of their texts."""
    if not digests:
        return {}
    graph: rx.PyDiGraph[str, float] = rx.PyDiGraph(multigraph=False)
    place = dict(zip(digests, graph.add_nodes_from(list(digests)), strict=True))
    links = sorted(set(citations))
    graph.add_edges_from([(place[citing], place[cited], 1.0) for citing, cited in links])
    pagerank = rx.pagerank(graph, alpha=DAMPING, tol=_EXACT, max_iter=_STEPS)
    hubs: dict[int, float] = {}
    authorities: dict[int, float] = {}
    if graph.num_edges():
        # Nobody is one where nobody cites, or where the steps do not settle.
        with suppress(rx.FailedToConverge):
            hubs, authorities = map(dict, rx.hits(graph, tol=_EXACT, max_iter=_STEPS))
    cites, cited = Counter(citing for citing, _ in links), Counter(cited for _, cited in links)
    return {
        name: RankedPaper(
            paper=name,
            digest=digests[name],
            pagerank=round(pagerank[n], 6),
            # A tiny negative number is zero.
            hub=round(max(hubs.get(n, 0.0), 0.0), 6),
            authority=round(max(authorities.get(n, 0.0), 0.0), 6),
            cites=cites[name],
            cited=cited[name],
        )
        for name, n in place.items()
    }


def agreements(claims: Mapping[str, PaperClaim], pairs: Sequence[ClaimPair]) -> tuple[ClaimGroup, ...]:
    """Group claims by consensus, and list disagreements between papers."""
    there = [p for p in pairs if p.first in claims and p.second in claims]
    graph: rx.PyGraph[str, None] = rx.PyGraph(multigraph=False)
    supports = [p for p in there if p.relation is ClaimRelation.SUPPORTS]
    keys = sorted({key for p in supports for key in (p.first, p.second)})
    place = dict(zip(keys, graph.add_nodes_from(keys), strict=True))
    graph.add_edges_from_no_data([(place[p.first], place[p.second]) for p in supports])
    groups = [tuple(sorted(keys[n] for n in part)) for part in rx.connected_components(graph)]
    groups = [g for g in groups if _papers(claims, g) > 1]
    groups.sort(key=lambda g: (-_papers(claims, g), -len(g), g))
    against = [p for p in there if p.relation is ClaimRelation.CONTRADICTS]
    against.sort(key=lambda p: (-p.probability, p.first, p.second))
    return (
        *(ClaimGroup(kind="consensus", claims=group) for group in groups),
        *(ClaimGroup(kind="disagreement", claims=(p.first, p.second)) for p in against),
    )


def _papers(claims: Mapping[str, PaperClaim], keys: Sequence[str]) -> int:
    return len({claims[key].paper for key in keys})


_PAPERS_TOGETHER = 25
_PAIRS_TOGETHER = 200


class MappedPaper(Value):
    """A paper with its claims and what the citations among the papers make of it."""

    id: str
    title: str = ""
    year: int | None = None
    retracted: bool = Field(default=False, description="it has no claims then")
    rank: RankedPaper
    claims: tuple[PaperClaim, ...] = ()


class ClaimMap(Value):
    """Claims of the papers of an index, and how they stand together."""

    papers: tuple[MappedPaper, ...] = Field(default=(), description="by PageRank")
    pairs: tuple[ClaimPair, ...] = Field(default=(), description="those that support or contradict each other")
    citations: tuple[Citation, ...] = Field(default=(), description="who cites whom, by ids")
    groups: tuple[ClaimGroup, ...] = Field(default=(), description="consensus and disagreement")
    compared: int = Field(default=0, description="pairs of claims that were read")
    by_meaning: bool = Field(default=False, description="whether the pairs to read were found by vectors, or by words")

    @cached_property
    def claims(self) -> dict[str, PaperClaim]:
        """All claims, by their keys."""
        return {claim.key: claim for paper in self.papers for claim in paper.claims}

    def as_row(self) -> dict[str, Any]:
        """All of it in the form that `--format json` prints: a claim of a pair or a group by its paper and words."""
        row = self.model_dump(mode="json")
        stated = {key: {"paper": claim.paper, "quote": claim.quote} for key, claim in self.claims.items()}
        for pair in row["pairs"]:
            pair |= {side: stated[pair[side]] for side in ("first", "second")}
        for group in row["groups"]:
            group["claims"] = [stated[key] for key in group["claims"]]
        return row

    def for_papers(self, ids: Collection[str]) -> "ClaimMap":
        """Narrow it to some papers, those in citation with them, and the claims that support or contradict theirs."""
        if not ids:
            return self
        own = {key for key, claim in self.claims.items() if claim.paper in ids}
        pairs = tuple(p for p in self.pairs if p.first in own or p.second in own)
        groups = tuple(g for g in self.groups if own.intersection(g.claims))
        citations = tuple(c for c in self.citations if c[0] in ids or c[1] in ids)
        kept = {self.claims[key].paper for p in pairs for key in (p.first, p.second)}
        kept |= {self.claims[key].paper for g in groups for key in g.claims}
        kept |= {name for c in citations for name in c} | set(ids)
        papers = tuple(p for p in self.papers if p.id in kept)
        return self.model_copy(update={"papers": papers, "pairs": pairs, "groups": groups, "citations": citations})


def map_claims(index: LiteratureIndex, table: ClaimTable, progress: Progress) -> ClaimMap:
    """Work out what the papers of an index claim, as far as the ledger does not have it."""
    read = _read(index, table, progress)
    claims = [claim for paper in read for claim in paper.claims]
    vectors = _vectors(index, claims)
    places = candidates(claims, vectors)
    by_text = None if vectors is None else {c.quote: row for c, row in zip(claims, vectors, strict=True)}
    model = index.embedder.digest if index.embedder else ""
    pairs = _judged([(claims[a], claims[b]) for a, b in places], ClaimReader(by_text, model), table, progress)
    speaking = tuple(p for p in pairs if p.relation is not ClaimRelation.ORTHOGONAL)
    known = KnownWorks([(p.head.ids, p.head.title, p.head.year) for p in read])
    citations = sorted({c for p in read if p.links for c in citations_of(p.links, known)})
    ranked = ranked_papers({p.head.id: p.digest for p in read}, citations)
    papers = [
        MappedPaper(
            **{name: getattr(p.head, name) for name in ("id", "title", "year", "retracted")},
            rank=ranked[p.head.id],
            claims=p.claims,
        )
        for p in read
    ]
    return ClaimMap(
        papers=tuple(sorted(papers, key=lambda p: (-p.rank.pagerank, -len(p.claims), p.id))),
        pairs=speaking,
        citations=tuple(citations),
        groups=agreements({claim.key: claim for claim in claims}, speaking),
        compared=len(pairs),
        by_meaning=vectors is not None,
    )


class _ReadPaper(NamedTuple):
    head: Document
    digest: str
    claims: tuple[PaperClaim, ...]
    links: WholePaper | None  # its references and who cites it, without its text


def _read(index: LiteratureIndex, table: ClaimTable, progress: Progress) -> list[_ReadPaper]:
    """The papers of an index with their claims; those of a text that is new are chosen and written down."""
    names = [name for name, *_ in index.store.ids()]
    found: list[_ReadPaper] = []
    with progress.step("reading the claims of papers", len(names)) as step:
        for at in range(0, len(names), _PAPERS_TOGETHER):
            together = names[at : at + _PAPERS_TOGETHER]
            read = [text for name in together if (text := _text_of(index, name))]
            kept = table.claims([text.digest for text, _ in read])
            new = {text.digest: (text.head.id, choose_claims(text)) for text, _ in read if text.digest not in kept}
            if new:
                table.keep_claims(new)
            kept |= {digest: claims for digest, (_, claims) in new.items()}
            found += [_ReadPaper(text.head, text.digest, kept[text.digest], links) for text, links in read]
            step.advance(len(together))
    return found


def _text_of(index: LiteratureIndex, name: str) -> tuple[PaperText, WholePaper | None] | None:
    """The text of a paper, and its references; none where it was removed meanwhile."""
    numbers = index.store.parts(name)
    documents = index.store.documents(numbers)
    if not numbers or numbers[0] not in documents:
        return None
    head, *paragraphs = (documents[n] for n in numbers if n in documents)
    whole = index.store.paper(name)
    links = whole.model_copy(update={"sections": ()}) if whole else None
    return PaperText(head, tuple(paragraphs), parts_of_abstract(head, whole)), links


def _vectors(index: LiteratureIndex, claims: Sequence[PaperClaim]) -> Vectors | None:
    """The vectors of the sentences that claims are, as the index keeps them; None where it has none.

    Zeros stand for claims of a paper that was removed or replaced meanwhile.
    """
    if index.embedder is None:
        return None
    store = index.store
    numbers = {name: number for name in {c.document for c in claims} if (number := store.number_of(name)) is not None}
    rows = index.sentence_vectors(list(numbers.values()))
    documents = store.documents(list(numbers.values()))
    found = np.zeros((len(claims), index.embedder.dimension), dtype=np.float32)
    for row, claim in enumerate(claims):
        number = numbers.get(claim.document)
        if number not in documents or number not in rows:
            continue
        document = documents[number]
        place = next((i for i, (start, end) in enumerate(document.spans) if start <= claim.start < end), None)
        if place is not None and document.abstract[claim.start : claim.stop] == claim.quote:
            found[row] = rows[number][place]
    return found


def _judged(
    wanted: Sequence[tuple[PaperClaim, PaperClaim]], reader: ClaimReader, table: ClaimTable, progress: Progress
) -> list[ClaimPair]:
    """Pairs as they stand to each other; those that are new are read and written down."""
    known = table.pairs(reader.digest, {claim.key for pair in wanted for claim in pair})
    found: list[ClaimPair] = []
    new: list[ClaimPair] = []
    with progress.step("comparing claims", len(wanted)) as step:
        for one, other in wanted:
            key = min(one.key, other.key), max(one.key, other.key)
            if key not in known:
                known[key] = reader.relate(one, other)
                new.append(known[key])
            found.append(known[key])
            step.advance()
            if len(new) == _PAIRS_TOGETHER:
                table.keep_pairs(reader.digest, new)
                new = []
    if new:
        table.keep_pairs(reader.digest, new)
    return found
