"""Citations of a manuscript: its markers against its list, and each entry of the list against a world of works."""

from collections import defaultdict
from collections.abc import Iterator

from kgcheck.grounding.citations.order import misplaced_citations
from kgcheck.grounding.citations.references import JudgedReference, judge_reference, listed_by_sources
from kgcheck.grounding.manuscript import Manuscript
from kgcheck.grounding.remarks import Check, Remark, Remarked, SentenceState
from kgcheck.literature.papers import CitedWork
from kgcheck.literature.titles import content_words, names_a_work, surnames
from kgcheck.literature.works import Works, ids_of_reference

_WORTH_A_SENTENCE = frozenset({Remark.REFERENCE_NOT_FOUND, Remark.REFERENCE_RETRACTED})
"""Remarks about a reference that concern every sentence which rests on it."""

_LISTS_OF_PAPERS = "jats"
"""The source that knows what the papers that were read cite, and no other work."""

_KNOWN_FROM = 0.8
"""Share of a list that such a world knows, from which on it tells something that it lacks the others."""

_MOST_KEYS = 10
"""Keys of one citation that are named one by one, where the list does not have them."""


def check_citations(manuscript: Manuscript, works: Works | None) -> list[Remarked]:
    """Check the citations of a manuscript."""
    remarks = list(_markers(manuscript))
    judged: dict[str, JudgedReference] = {}
    if works is not None and manuscript.references:
        for reference, found in zip(manuscript.references, works.find(manuscript.references), strict=True):
            judged[reference.key] = judge_reference(reference, found)
        unheard = _little_known(manuscript.references, judged)
        remarks += [
            _doubted(remark, unheard) if unheard else remark for one in judged.values() for remark in one.remarks
        ]
    remarks += _of_sentences(manuscript, judged)
    remarks += misplaced_citations(manuscript)
    remarks += _repeated(manuscript.references, judged)
    remarks += _not_cited(manuscript)
    return remarks


def _markers(manuscript: Manuscript) -> Iterator[Remarked]:
    """Keys that the list does not have. Without a list, nothing is known of them."""
    keys = {r.key for r in manuscript.references}
    count = len(keys)
    for sentence in manuscript.sentences:
        for marker in sentence.markers:
            missing = list(dict.fromkeys(k for k in marker.keys if k not in keys))
            if len(missing) > _MOST_KEYS:
                missing = [f"each of {len(missing)} from {missing[0]} to {missing[-1]}"]
            for key in missing:
                bound = f"which has {count}: 1 to {count}" if marker.form == "numeric" else f"which has {count} entries"
                yield Remarked(
                    remark=Remark.MARKER_OUT_OF_RANGE,
                    check=Check.CITATION,
                    state=SentenceState.CONTRADICTED if keys else SentenceState.NOT_CHECKABLE,
                    sentence=sentence.number,
                    start=marker.start,
                    end=marker.end,
                    note=f"{key} is not in the list of references, {bound}"
                    if keys
                    else "no list of references was found",
                    stated=key,
                    unavailable=not keys,
                )


def _little_known(references: tuple[CitedWork, ...], judged: dict[str, JudgedReference]) -> str:
    """Why silence about a reference means little, where a world of lists knows few of its kind; else nothing."""
    papers = [judged[r.key] for r in references if listed_by_sources(r)]
    known = sum(one.work is not None for one in papers)
    if not papers or known >= _KNOWN_FROM * len(papers):
        return ""
    return f"of the {len(papers)} papers of this list only {known} are known there"


def _doubted(remark: Remarked, why: str) -> Remarked:
    """A reference that only lists of papers were looked through for, where they know little of its kind."""
    narrow = bool(remark.evidence) and all(e.source == _LISTS_OF_PAPERS for e in remark.evidence)
    if remark.remark is not Remark.REFERENCE_UNKNOWN or remark.state is not SentenceState.UNSUPPORTED or not narrow:
        return remark
    return remark.model_copy(update={"state": SentenceState.NOT_CHECKABLE, "note": f"{remark.note}; {why}"})


def _of_sentences(manuscript: Manuscript, judged: dict[str, JudgedReference]) -> Iterator[Remarked]:
    """What is found of a reference, once more at every place that rests on it."""
    grave = {
        key: [r for r in one.remarks if r.remark in _WORTH_A_SENTENCE] for key, one in judged.items()
    }  # fmt: skip
    for sentence in manuscript.sentences:
        for marker in sentence.markers:
            for key in dict.fromkeys(marker.keys):
                for remark in grave.get(key, ()):
                    places = {"sentence": sentence.number, "start": marker.start, "end": marker.end}
                    words = {"note": f"it cites {key}: {remark.note}", "stated": key}
                    yield remark.model_copy(update={"reference": None, "repair": None, **places, **words})


def _repeated(references: tuple[CitedWork, ...], judged: dict[str, JudgedReference]) -> Iterator[Remarked]:
    """Entries that are one work: of one id, of one work that was found, or alike in title, author and year."""
    first: dict[object, str] = {}
    for reference in references:
        names = set(_names_of(reference, judged.get(reference.key)))
        before = next((first[name] for name in sorted(names, key=str) if name in first), None)
        if before is not None:
            yield Remarked(
                remark=Remark.REFERENCE_REPEATED,
                check=Check.CITATION,
                state=SentenceState.NOT_CHECKABLE,
                reference=reference.key,
                note=f"it is the same work as {before}",
                stated=reference.title,
                found=before,
            )
        for name in names:
            first.setdefault(name, reference.key)


def _names_of(reference: CitedWork, judged: JudgedReference | None) -> Iterator[object]:
    differs = judged is not None and any(r.remark is Remark.DOI_DIFFERS for r in judged.remarks)
    if not differs:
        # A wrong id is no sign that two entries are one.
        yield from ids_of_reference(reference)
    if judged and judged.work and judged.confirmed:
        yield from judged.work.ids
    if reference.authors and reference.year and names_a_work(reference.title):
        yield content_words(reference.title), surnames(reference.authors[0]), reference.year


def _not_cited(manuscript: Manuscript) -> Iterator[Remarked]:
    cited: dict[str, int] = defaultdict(int)
    for block in manuscript.blocks:
        for marker in block.markers:
            for key in marker.keys:
                cited[key] += 1
    if not cited:
        # Citations of a form that is not read: nothing is known of any entry.
        return
    for reference in manuscript.references:
        if not cited[reference.key]:
            yield Remarked(
                remark=Remark.REFERENCE_NOT_CITED,
                check=Check.CITATION,
                state=SentenceState.NOT_CHECKABLE,
                reference=reference.key,
                note="no place of the text cites it",
                stated=reference.title,
            )
