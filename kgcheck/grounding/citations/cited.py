"""Verify sentences against the very papers that they cite.

Where it says nothing of it, and another paper of the list is far nearer to the sentence, the citation may have been
moved here from somewhere else.
"""

from collections.abc import Iterator, Mapping
from functools import cached_property

from kgcheck.grounding.manuscript import Manuscript, Marker, Sentence
from kgcheck.grounding.remarks import Check, Remark, Remarked, SentenceState
from kgcheck.literature.edge_reader import paper_evidence
from kgcheck.literature.papers import CitedWork
from kgcheck.literature.search import LiteratureIndex, to_read
from kgcheck.literature.verify import Verifier, verify
from kgcheck.literature.works import ids_of_reference
from kgcheck.model import Stance

_FEWEST_WORDS = 4
"""Words of a sentence that states something."""

FEWEST_OTHERS = 5
"""Papers of a list, beside those that a sentence cites, from which on it can be seen that another one is meant."""

FARTHER = 0.2
"""How much nearer (cosine) another paper of the list must be than the one that is cited.

Measured with claims about abstracts that their authors cited (benchmarks/README.md, "Moved citations").
"""

_STANCES = {
    Stance.SUPPORTS: (Remark.CITED_SUPPORTS, SentenceState.SUPPORTED, "says so"),
    Stance.CONTRADICTS: (Remark.CITED_CONTRADICTS, SentenceState.CONTRADICTED, "says otherwise"),
    # A reader of abstracts misses much, and a paper may be cited for a part of the sentence alone.
    Stance.SILENT: (Remark.CITED_SILENT, SentenceState.NOT_CHECKABLE, "was read, and does not say so in plain words"),
}

_UNRELATED = (
    Remark.CITED_UNRELATED,
    SentenceState.UNSUPPORTED,
    "says nothing of this, and another one of the list is far nearer to it",
)


class CitedPapers:
    """Verifier of sentences against the papers that they cite, as far as an index has them."""

    def __init__(self, index: LiteratureIndex, verifier: Verifier) -> None:
        self._index = index
        self._verifier = verifier

    def remarks(self, manuscript: Manuscript) -> list[Remarked]:
        """Verify the sentences of a manuscript against the papers that they cite."""
        own = set(manuscript.ids)
        known = {r.key: r for r in manuscript.references if not own & set(ids_of_reference(r)) and self._ids(r)}
        papers = {key: self._index.documents(self._ids(reference))[0].id for key, reference in known.items()}
        remarks: list[Remarked] = []
        for sentence in manuscript.sentences:
            words = statement_of(sentence) if sentence.markers else ""
            if len(words.split()) < _FEWEST_WORDS:
                continue
            others = _Others(self._index, known, papers, sentence, words)
            for marker in sentence.markers:
                for key in dict.fromkeys(marker.keys):
                    if key in known:
                        remarks += self._one(sentence, words, marker, known[key], others)
        return remarks

    def _ids(self, reference: CitedWork) -> tuple[str, ...]:
        return tuple(i for i in ids_of_reference(reference) if self._index.store.number_of(i) is not None)[:1]

    def _one(
        self, sentence: Sentence, words: str, marker: Marker, reference: CitedWork, others: "_Others"
    ) -> Iterator[Remarked]:
        read = [d for d in to_read(words, self._index, top=1, ids=self._ids(reference)) if not d.retracted]
        if not read:
            return
        verdict = verify(words, read, self._verifier)
        remark, state, saying = _STANCES[verdict.stance]
        if verdict.stance is Stance.SILENT and (nearer := others.far_nearer_than(reference.key)):
            remark, state, saying = _UNRELATED
            saying = f"{saying}: {nearer}"
        yield Remarked(
            remark=remark,
            check=Check.CITATION,
            state=state,
            sentence=sentence.number,
            start=marker.start,
            end=marker.end,
            note=f"the cited paper {read[0].paper_id} {saying}",
            stated=words[:500],
            found=next((q.text for o in verdict.opinions for q in o.quotes), ""),
            evidence=tuple(paper_evidence(self._index, o, d) for o, d in zip(verdict.opinions, read, strict=True)),
        )


class _Others:
    """The papers of a list beside those that a sentence cites, by how near their texts are to it."""

    def __init__(
        self,
        index: LiteratureIndex,
        references: Mapping[str, CitedWork],
        papers: Mapping[str, str],
        sentence: Sentence,
        words: str,
    ) -> None:
        self._index = index
        self._references = references
        self._papers = papers
        self._words = words
        self._cited = {key for marker in sentence.markers for key in marker.keys}

    def far_nearer_than(self, key: str) -> str:
        """The label of the reference that is far nearer to the sentence than one that it cites; empty if none is."""
        near = {k: cosine for k, cosine in self._nearness.items() if k not in self._cited}
        if key not in self._nearness or len(near) < FEWEST_OTHERS:
            return ""
        nearest = max(near, key=lambda k: (near[k], k))
        label = self._references[nearest].label or nearest
        return label if near[nearest] - self._nearness[key] >= FARTHER else ""

    @cached_property
    def _nearness(self) -> dict[str, float]:
        """The cosine of each reference's text, its best paragraph where it is a whole paper; empty without vectors."""
        if not self._index.embedder:
            return {}
        within = sorted(set(self._papers.values()))
        hits = self._index.search(self._words, limit=len(within), within=within)
        found = {hit.document.paper_id: hit.cosine or 0.0 for hit in hits}
        # What has neither a word nor a direction in common is no hit.
        return {key: found.get(paper, 0.0) for key, paper in self._papers.items()}


def statement_of(sentence: Sentence) -> str:
    """Take the citations out of a sentence."""
    text, at = "", 0
    for marker in sorted(sentence.markers, key=lambda m: m.start):
        text += sentence.text[at : max(marker.start, at)]
        at = max(marker.end, at)
    text += sentence.text[at:]
    # Brackets and spaces that a citation leaves.
    for left, right in (("[ ]", ""), ("[]", ""), ("()", ""), ("( )", ""), ("[, ]", ""), (" .", "."), (" ,", ",")):
        text = text.replace(left, right)
    return " ".join(text.split())
