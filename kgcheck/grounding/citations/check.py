"""Check a manuscript's citations: markers, order, references, and the papers that it cites."""

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from kgcheck.grounding.citations.references import JudgedReference, judge_reference, listed_by_sources
from kgcheck.grounding.manuscript import Manuscript, Marker, Sentence
from kgcheck.grounding.remarks import Remark, Remarked, SentenceState
from kgcheck.literature.edge_reader import paper_evidence
from kgcheck.literature.papers import CitedWork
from kgcheck.literature.search import LiteratureIndex, to_read
from kgcheck.literature.titles import content_words, names_a_work, surnames
from kgcheck.literature.verify import Verifier, verify
from kgcheck.literature.works import Works, ids_of_reference
from kgcheck.model import Stance, Value

ORDERED_FROM = 0.9  # share of first citations that are in the order of the list, from which on the list is ordered so
FEWEST = 10  # first citations from which on an order can be seen
BETTER = 0.25  # margin, as a weighted share of a title, by which its place must fit better than the one due
_STEM = 6  # letters by which words of titles and of the text are compared: binding, binds


class _FirstCitation(NamedTuple):
    """First citation of a work in the running text."""

    rank: int
    key: str
    sentence: Sentence
    marker: Marker


def misplaced_citations(manuscript: Manuscript) -> list[Remarked]:
    """Find citations that stand out of the order of their list, and fit not much better where they stand.

    Many journals number references in the order in which the text cites them first. Where a list is so ordered, a work
    that is first cited out of order was moved, unless its title fits the place much better than where it was due.
    """
    references = manuscript.references
    first = _first_citations(manuscript)
    kept = _longest_rise([f.rank for f in first])
    if len(first) < FEWEST or len(kept) < ORDERED_FROM * len(first):
        return []
    share = _fit(manuscript)
    ordered = [first[place] for place in sorted(kept)]
    found: list[Remarked] = []
    for one in (one for place, one in enumerate(first) if place not in kept):
        at = bisect_left(ordered, one.rank, key=lambda cited: cited.rank)
        # The citations in order between which the work was due.
        neighbours = ordered[max(at - 1, 0) : at + 1]
        blocks = [cited.sentence.block for cited in neighbours]
        best = max(share(one.rank, block) for block in range(min(blocks), max(blocks) + 1))
        if share(one.rank, one.sentence.block) > BETTER + best:
            continue
        label, *labels = (references[f.rank].label or f.key for f in (one, *neighbours))
        note = f"the list is in the order of citation, and {label} is first cited here, not by {' and '.join(labels)}:"
        found.append(
            Remarked(
                remark=Remark.CITED_UNRELATED,
                sentence=one.sentence.number,
                start=one.marker.start,
                end=one.marker.end,
                note=f"{note} it may have been meant there",
                stated=one.key,
                found=", ".join(labels),
            )
        )
    return found


def _first_citations(manuscript: Manuscript) -> list[_FirstCitation]:
    """The first citation of each work in the running text; abstracts, legends and notes are written for themselves."""
    ranks = {r.key: rank for rank, r in enumerate(manuscript.references)}
    first: dict[str, _FirstCitation] = {}
    for sentence in manuscript.sentences:
        if manuscript.blocks[sentence.block].kind == "paragraph" and sentence.section != "abstract":
            for marker in sentence.markers:
                for key in (key for key in marker.keys if key in ranks):
                    first.setdefault(key, _FirstCitation(ranks[key], key, sentence, marker))
    return list(first.values())


def _longest_rise(ranks: Sequence[int]) -> set[int]:
    """Places of the longest run of ranks that rises."""
    ends: list[int] = []
    places: list[int] = []
    before: list[int] = []
    for place, rank in enumerate(ranks):
        at = bisect_left(ends, rank)
        ends[at : at + 1], places[at : at + 1] = [rank], [place]
        before.append(places[at - 1] if at else -1)
    found: set[int] = set()
    place = places[-1] if places else -1
    while place >= 0:
        found.add(place)
        place = before[place]
    return found


def _fit(manuscript: Manuscript) -> Callable[[int, int], float]:
    """The share of a reference's title that a block and those beside it speak of, rarer words weighing more."""
    spoken = [_stems(block.text) for block in manuscript.blocks]
    titles = [_stems(reference.title) for reference in manuscript.references]
    counts = Counter(word for text in (*spoken, *titles) for word in text)
    texts = len(spoken) + len(titles)
    weights = {word: math.log((texts + 1) / (count + 0.5)) for word, count in counts.items()}

    def share(rank: int, block: int) -> float:
        near = set().union(*spoken[max(block - 1, 0) : block + 2])
        whole = sum(weights[word] for word in titles[rank])
        return sum(weights[word] for word in titles[rank] & near) / whole if whole else 0.0

    return share


def _stems(text: str) -> set[str]:
    return {word[:_STEM] for word in content_words(text) if len(word) > 2}


class CitationMeasures(Value):
    """Measures of how a manuscript cites. One is None where it cannot be had, never a neutral value.

    ``out_of_range``: share of the keys of its markers that its list does not have (b_cite). ``coverage``: share of the
    works of its list that its text cites (kappa).
    """

    keys: int
    out_of_range: float | None
    coverage: float | None


def citation_measures(manuscript: Manuscript) -> CitationMeasures:
    """Measure the citations of a manuscript."""
    keys = [key for block in manuscript.blocks for marker in block.markers for key in marker.keys]
    known = {r.key for r in manuscript.references}
    return CitationMeasures(
        keys=len(keys),
        out_of_range=sum(key not in known for key in keys) / len(keys) if keys and known else None,
        coverage=len(set(keys) & known) / len(known) if known else None,
    )


def hallucination_penalty(out_of_range: float, mismatches: int, coverage: float) -> float:
    """The hallucination penalty P_h.

    >>> hallucination_penalty(0.0, 3, 0.30), hallucination_penalty(1.0, 100, 0.0)
    (0.045, 0.86)
    """
    penalty = 0.5 * out_of_range + 0.3 * min(1.0, 0.05 * mismatches) + 0.2 * max(0.0, 0.30 - coverage)
    return round(min(1.0, penalty), 12)


# Remarks about a reference that concern every sentence which rests on it.
_WORTH_A_SENTENCE = frozenset({Remark.REFERENCE_NOT_FOUND, Remark.REFERENCE_RETRACTED})
_LISTS_OF_PAPERS = "jats"  # the source that knows what the papers that were read cite, and no other work
_KNOWN_FROM = 0.8  # share of a list that such a world knows, from which on it tells something that it lacks the others
_MOST_KEYS = 10  # keys of one citation that are named one by one, where the list does not have them


def check_citations(manuscript: Manuscript, works: Works | None) -> list[Remarked]:
    """Check the citations of a manuscript."""
    judged: dict[str, JudgedReference] = {}
    if works is not None and manuscript.references:
        for reference, found in zip(manuscript.references, works.find(manuscript.references), strict=True):
            judged[reference.key] = judge_reference(reference, found)
    cited = {key for block in manuscript.blocks for marker in block.markers for key in marker.keys}
    return [
        *_markers(manuscript),
        *_of_references(manuscript.references, judged),
        *_of_sentences(manuscript, judged),
        *misplaced_citations(manuscript),
        *_repeated(manuscript.references, judged),
        *(
            Remarked(
                remark=Remark.REFERENCE_NOT_CITED, reference=r.key, note="no place of the text cites it", stated=r.title
            )
            for r in manuscript.references
            # Without any citation, they are of a form that is not read: nothing is known of any entry.
            if cited and r.key not in cited
        ),
    ]


def _markers(manuscript: Manuscript) -> Iterator[Remarked]:
    """Keys that the list does not have. Without a list, nothing is known of them."""
    keys = {r.key for r in manuscript.references}
    for sentence in manuscript.sentences:
        for marker in sentence.markers:
            missing = list(dict.fromkeys(k for k in marker.keys if k not in keys))
            if len(missing) > _MOST_KEYS:
                missing = [f"each of {len(missing)} from {missing[0]} to {missing[-1]}"]
            for key in missing:
                bound = f"{len(keys)}: 1 to {len(keys)}" if marker.form == "numeric" else f"{len(keys)} entries"
                note = f"{key} is not in the list of references, which has {bound}"
                yield Remarked(
                    remark=Remark.MARKER_OUT_OF_RANGE,
                    state=SentenceState.CONTRADICTED if keys else SentenceState.NOT_CHECKABLE,
                    sentence=sentence.number,
                    start=marker.start,
                    end=marker.end,
                    note=note if keys else "no list of references was found",
                    stated=key,
                    unavailable=not keys,
                )


def _of_references(references: Sequence[CitedWork], judged: Mapping[str, JudgedReference]) -> Iterator[Remarked]:
    """Remarks on references; silence about one means little where a world of lists knows few of its kind."""
    papers = [judged[r.key] for r in references if listed_by_sources(r)] if judged else []
    known = sum(one.work is not None for one in papers)
    why = f"of the {len(papers)} papers of this list only {known} are known there"
    for remark in (remark for one in judged.values() for remark in one.remarks):
        narrow = bool(remark.evidence) and all(e.source == _LISTS_OF_PAPERS for e in remark.evidence)
        is_silent = remark.remark is Remark.REFERENCE_UNKNOWN and remark.state is SentenceState.UNSUPPORTED
        if narrow and is_silent and known < _KNOWN_FROM * len(papers):
            weaker = {"state": SentenceState.NOT_CHECKABLE, "note": f"{remark.note}; {why}"}
            remark = remark.model_copy(update=weaker)
        yield remark


def _of_sentences(manuscript: Manuscript, judged: Mapping[str, JudgedReference]) -> Iterator[Remarked]:
    """Repeat what is found of a reference at every place that rests on it."""
    for sentence in manuscript.sentences:
        for marker in sentence.markers:
            for key in (key for key in dict.fromkeys(marker.keys) if key in judged):
                for remark in (r for r in judged[key].remarks if r.remark in _WORTH_A_SENTENCE):
                    places = {"sentence": sentence.number, "start": marker.start, "end": marker.end}
                    words = {"note": f"it cites {key}: {remark.note}", "stated": key}
                    yield remark.model_copy(update={"reference": None, "repair": None, **places, **words})


def _repeated(references: Sequence[CitedWork], judged: Mapping[str, JudgedReference]) -> Iterator[Remarked]:
    """Entries that are one work: of one id, of one work that was found, or alike in title, author and year."""
    first: dict[object, str] = {}
    for reference in references:
        names = set(_names_of(reference, judged.get(reference.key)))
        before = next((first[name] for name in sorted(names, key=str) if name in first), None)
        if before is not None:
            yield Remarked(
                remark=Remark.REFERENCE_REPEATED,
                reference=reference.key,
                note=f"it is the same work as {before}",
                stated=reference.title,
                found=before,
            )
        for name in names:
            first.setdefault(name, reference.key)


def _names_of(reference: CitedWork, judged: JudgedReference | None) -> Iterator[object]:
    # A wrong id is no sign that two entries are one.
    if judged is None or not any(r.remark is Remark.DOI_DIFFERS for r in judged.remarks):
        yield from ids_of_reference(reference)
    if judged and judged.work and judged.confirmed:
        yield from judged.work.ids
    if reference.authors and reference.year and names_a_work(reference.title):
        yield content_words(reference.title), surnames(reference.authors[0]), reference.year


_FEWEST_WORDS = 4  # words of a sentence that states something
# Papers of a list, beside those that a sentence cites, from which on it can be seen that another one is meant.
FEWEST_OTHERS = 5
FARTHER = 0.2
"""Margin in cosine by which another paper of the list must be nearer than the one that is cited.

Measured with claims about abstracts that their authors cited (benchmarks/README.md, "Moved citations").
"""

_STANCES = {
    Stance.SUPPORTS: (Remark.CITED_SUPPORTS, "says so"),
    Stance.CONTRADICTS: (Remark.CITED_CONTRADICTS, "says otherwise"),
    # A reader of abstracts misses much, and a paper may be cited for a part of the sentence alone.
    Stance.SILENT: (Remark.CITED_SILENT, "was read, and does not say so in plain words"),
}


class CitedPapers:
    """Verifier of sentences against the papers that they cite, as far as an index has them."""

    def __init__(self, index: LiteratureIndex, verifier: Verifier) -> None:
        self._index = index
        self._verifier = verifier

    def remarks(self, manuscript: Manuscript) -> list[Remarked]:
        """Verify the sentences of a manuscript against the papers that they cite."""
        own = set(manuscript.ids)
        known = {r.key: r for r in manuscript.references if not own & set(ids_of_reference(r)) and self._ids(r)}
        papers = {key: d.id for key, reference in known.items() for d in self._index.documents(self._ids(reference))}
        remarks: list[Remarked] = []
        for sentence in manuscript.sentences:
            words = statement_of(sentence) if sentence.markers else ""
            if len(words.split()) < _FEWEST_WORDS:
                continue
            near: dict[str, float] | None = None
            for marker in sentence.markers:
                for key in (key for key in dict.fromkeys(marker.keys) if key in known):
                    read = to_read(words, self._index, top=1, ids=self._ids(known[key]))
                    if not (read := [d for d in read if not d.retracted]):
                        continue
                    verdict = verify(words, read, self._verifier)
                    remark, saying = _STANCES[verdict.stance]
                    if verdict.stance is Stance.SILENT:
                        near = self._nearness(words, papers) if near is None else near
                        if nearer := _far_nearer(key, sentence, near):
                            label = known[nearer].label or nearer
                            remark = Remark.CITED_UNRELATED
                            saying = f"says nothing of this, and another one of the list is far nearer to it: {label}"
                    evidence = (paper_evidence(self._index, *one) for one in zip(verdict.opinions, read, strict=True))
                    remarks.append(
                        Remarked(
                            remark=remark,
                            sentence=sentence.number,
                            start=marker.start,
                            end=marker.end,
                            note=f"the cited paper {read[0].paper_id} {saying}",
                            stated=words[:500],
                            found=next((q.text for o in verdict.opinions for q in o.quotes), ""),
                            evidence=tuple(evidence),
                        )
                    )
        return remarks

    def _ids(self, reference: CitedWork) -> tuple[str, ...]:
        return tuple(i for i in ids_of_reference(reference) if self._index.store.number_of(i) is not None)[:1]

    def _nearness(self, words: str, papers: Mapping[str, str]) -> dict[str, float]:
        """The cosine of each reference's text, its best paragraph where it is a whole paper; empty without vectors."""
        if not self._index.embedder:
            return {}
        within = sorted(set(papers.values()))
        hits = self._index.search(words, limit=len(within), within=within)
        found = {hit.document.paper_id: hit.cosine or 0.0 for hit in hits}
        # What has neither a word nor a direction in common is no hit.
        return {key: found.get(paper, 0.0) for key, paper in papers.items()}


def _far_nearer(key: str, sentence: Sentence, nearness: Mapping[str, float]) -> str:
    """The reference that is far nearer to a sentence than one that it cites; empty if none is."""
    cited = {key for marker in sentence.markers for key in marker.keys}
    near = {k: cosine for k, cosine in nearness.items() if k not in cited}
    if key not in nearness or len(near) < FEWEST_OTHERS:
        return ""
    nearest = max(near, key=lambda k: (near[k], k))
    return nearest if near[nearest] - nearness[key] >= FARTHER else ""


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
