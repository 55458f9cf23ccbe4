"""Whether the paper that a sentence cites says so: the sentence verified against that paper alone."""

from collections.abc import Iterator

from kgcheck.grounding.manuscript import Manuscript, Marker, Sentence
from kgcheck.grounding.remarks import Check, Remark, Remarked, SentenceState
from kgcheck.literature.edge_reader import paper_evidence
from kgcheck.literature.papers import CitedWork
from kgcheck.literature.reading import to_read
from kgcheck.literature.search import LiteratureIndex
from kgcheck.literature.verify import Verifier, verify
from kgcheck.literature.works import ids_of_reference
from kgcheck.model import Stance

_FEWEST_WORDS = 4
"""Words of a sentence that states something."""

_STANCES = {
    Stance.SUPPORTS: (Remark.CITED_SUPPORTS, SentenceState.SUPPORTED, "says so"),
    Stance.CONTRADICTS: (Remark.CITED_CONTRADICTS, SentenceState.CONTRADICTED, "says otherwise"),
    # A reader of abstracts misses much, and a paper may be cited for a part of the sentence alone.
    Stance.SILENT: (Remark.CITED_SILENT, SentenceState.NOT_CHECKABLE, "was read, and does not say so in plain words"),
}


class CitedPapers:
    """Verifies sentences against the papers that they cite, as far as an index has them.

    Args:
        index: The papers.
        verifier: Who reads them.
    """

    def __init__(self, index: LiteratureIndex, verifier: Verifier) -> None:
        self._index = index
        self._verifier = verifier

    def remarks(self, manuscript: Manuscript) -> list[Remarked]:
        """What the cited papers say of the sentences that cite them.

        Args:
            manuscript: The text. Where the index has it, it is not read for itself; neither is a retracted paper.

        Returns:
            A remark for each citation of a paper that the index has.
        """
        known = self._papers(manuscript)
        return [
            remark
            for sentence in manuscript.sentences
            if sentence.markers and len((words := statement_of(sentence)).split()) >= _FEWEST_WORDS
            for marker in sentence.markers
            for key in dict.fromkeys(marker.keys)
            if key in known
            for remark in self._one(sentence, words, marker, known[key])
        ]

    def _papers(self, manuscript: Manuscript) -> dict[str, CitedWork]:
        """References that the index has, by key."""
        own = set(manuscript.ids)
        return {r.key: r for r in manuscript.references if not own & set(ids_of_reference(r)) and self._ids(r)}

    def _ids(self, reference: CitedWork) -> tuple[str, ...]:
        return tuple(i for i in ids_of_reference(reference) if self._index.store.number_of(i) is not None)[:1]

    def _one(self, sentence: Sentence, words: str, marker: Marker, reference: CitedWork) -> Iterator[Remarked]:
        read = [d for d in to_read(words, self._index, top=1, ids=self._ids(reference)) if not d.retracted]
        if not read:
            return
        verdict = verify(words, read, self._verifier)
        remark, state, what = _STANCES[verdict.stance]
        yield Remarked(
            remark=remark,
            check=Check.CITATION,
            state=state,
            sentence=sentence.number,
            start=marker.start,
            end=marker.end,
            note=f"the cited paper {read[0].paper_id} {what}",
            stated=words[:500],
            found=next((q.text for o in verdict.opinions for q in o.quotes), ""),
            evidence=tuple(paper_evidence(self._index, o, d) for o, d in zip(verdict.opinions, read, strict=True)),
        )


def statement_of(sentence: Sentence) -> str:
    """The words of a sentence without its citations."""
    text, at = "", 0
    for marker in sorted(sentence.markers, key=lambda m: m.start):
        text += sentence.text[at : max(marker.start, at)]
        at = max(marker.end, at)
    return _tidied(text + sentence.text[at:])


def _tidied(text: str) -> str:
    """Words without the brackets and spaces that a citation leaves."""
    for left, right in (("[ ]", ""), ("[]", ""), ("()", ""), ("( )", ""), ("[, ]", ""), (" .", "."), (" ,", ",")):
        text = text.replace(left, right)
    return " ".join(text.split())
