"""Judge one reference against known works: match it, and remark on wrong or invented fields.

Pure. A work is the one that is meant where its id and its title agree, or its id with author and year, or its place in
print (author, volume, page), or a title that names one work with the author or the year. A title that is merely like
another is not enough: series and replies differ in one word, and are works of one author and year.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher
from enum import StrEnum
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

from kgcheck.errors import MissingExtra
from kgcheck.grounding.remarks import Remark, Remarked, Repair, SentenceState
from kgcheck.literature.bibliography import places_in
from kgcheck.literature.papers import CitedWork
from kgcheck.literature.titles import (
    LONGEST_TITLE,
    content_words,
    is_small,
    names_a_work,
    same_journal,
    surnames,
    title_words,
)
from kgcheck.literature.works import Work, WorksFound, ids_of_reference
from kgcheck.model import Evidence, Stance

try:
    from rapidfuzz import fuzz
    from rapidfuzz.distance import OSA
except ImportError as error:
    raise MissingExtra("comparing titles", "grounding") from error


class Likeness(StrEnum):
    """Likeness of two titles."""

    SAME = "same"
    NEAR = "near"
    OTHER = "other"


NEAR_FROM = 70.0
"""Likeness of the letters, of 100, from which on titles that differ in words are one title, wrongly written.

The measurement is in docs/bibliography.md: 99.9 % of the titles of different works are less alike."""

# Letters of a word from which on one wrong letter is a slip of the pen; shorter ones are other words: gene, gone.
_SLIP_FROM = 6
_CUT_FROM = 5  # content words from which on the beginning of a title stands for all of it
_SUBTITLE = re.compile(r"[:.?!;\u2013\u2014\u2212]|\s-\s")
_DENYING = frozenset(
    "not no non without nor never neither lack lacks lacking absence absent fails failed cannot un".split()
)


@lru_cache(maxsize=20_000)
def compare_titles(stated: str, found: str) -> Likeness:
    """Likeness of two titles.

    Case, punctuation, dashes, diacritics, entities, Greek letters, British and American spelling, small words, plurals
    and slips of one letter make no difference, neither does a subtitle that one lacks, nor that one is cut off.

    >>> compare_titles("Tumour growth & TGF-β: a review", "Tumor growth and TGF-beta").value
    'same'
    >>> compare_titles("Kinase A activates cell growth in yeast", "Kinase A inhibits cell growth in yeast").value
    'near'
    """
    stated, found = stated[:LONGEST_TITLE], found[:LONGEST_TITLE]
    mine, theirs = title_words(stated), title_words(found)
    if not mine or not theirs:
        return Likeness.SAME if mine == theirs else Likeness.OTHER
    if "".join(mine) == "".join(theirs) or not _changes(mine, theirs):
        return Likeness.SAME
    if _is_part(stated, found) or _is_part(found, stated):
        return Likeness.SAME
    return Likeness.NEAR if fuzz.ratio(" ".join(mine), " ".join(theirs)) >= NEAR_FROM else Likeness.OTHER


def _is_part(short: str, long: str) -> bool:
    """Tell whether a title is the beginning of another, or all of it but a part that its author set off."""
    words, others = content_words(short), content_words(long)
    joined = "".join(words)
    # By letters: CO2 is one word or two.
    at = next((n for n, end in enumerate(accumulate(map(len, others)), 1) if end == len(joined)), 0)
    if not 0 < len(joined) < sum(map(len, others)):
        return False
    if "".join(others[:at]) == joined and len(words) >= _CUT_FROM and not _DENYING & set(others[at:][:2]):
        return True
    parts = ["".join(content_words(part)) for part in _SUBTITLE.split(long)]
    return names_a_work(short) and joined in (parts[0], parts[-1])


def changed_words(stated: str, found: str) -> int:
    """Count the words in which two titles differ, small ones and slips left out."""
    return _changes(title_words(stated), title_words(found))


def _changes(mine: tuple[str, ...], theirs: tuple[str, ...]) -> int:
    count = 0
    for kind, a, b, c, d in SequenceMatcher(None, mine, theirs, autojunk=False).get_opcodes():
        if kind == "equal" or "".join(mine[a:b]) == "".join(theirs[c:d]):
            continue
        ours, others = ([w for w in part if not is_small(w)] for part in (mine[a:b], theirs[c:d]))
        if len(ours) == len(others):
            count += sum(not _is_slip(x, y) for x, y in zip(ours, others, strict=True))
        elif not ("".join(ours) and _is_slip("".join(ours), "".join(others))):
            count += max(len(ours), len(others))
    return count


def _is_slip(one: str, other: str) -> bool:
    """Tell whether two words are one, but for an ending or a letter within."""
    if one == other or one.rstrip("s") == other.rstrip("s"):
        return True
    short, long = sorted((one, other), key=len)
    if len(short) == 1 and short.isalpha() and len(long) > _SLIP_FROM and long.startswith(short):
        # A genus: M. tuberculosis.
        return True
    if min(len(one), len(other)) < _SLIP_FROM or any(c.isdigit() for c in one + other) or one[:2] != other[:2]:
        return False
    return OSA.distance(one, other, score_cutoff=2) <= 1


def same_author(stated: str, found: str) -> bool:
    """Tell whether two names may be one author's: a surname of both, whatever the order and the initials.

    >>> same_author("Müller-Lüdenscheid H", "H. Muller"), same_author("Doe J", "Roe J")
    (True, False)
    """
    mine, theirs = surnames(stated), surnames(found)
    if not mine or not theirs or max(len(mine), len(theirs)) > 4:
        return True
    if set(mine) & set(theirs):
        return True
    joined, others = "".join(sorted(mine)), "".join(sorted(theirs))
    long = min(len(joined), len(others)) > 4
    return joined == others or (long and OSA.distance(joined, others, score_cutoff=2) <= 1)


_SHOWN = 3  # statements that a remark shows
_LONG = 6  # content words of a title that no two works of a year have
# Volume and pages, as ``12: 345`` or ``12, 345-350``: books, reports and web pages have none.
_IN_A_JOURNAL = re.compile(
    r"\b\d{1,4}(?: ?\([^()]{1,20}\))? ?(?::\s?[A-Za-z]{0,3}\d|,\s?(?:pp?\. ?)?[A-Za-z]{0,3}\d{1,7} ?[-\u2010-\u2014])"
)
_ORDER = (Likeness.OTHER, None, Likeness.NEAR, Likeness.SAME)
_COUNTED = re.compile(r"(?<![a-z])([a-z]*)(\d{1,12})")


def _same_number(stated: str, found: str) -> bool | None:
    """Compare volumes, issues or pages; None where they are of two kinds, as a page and the number of an article."""
    mine, theirs = (_COUNTED.findall(text.casefold()) for text in (stated, found))
    if not mine or not theirs or bool(mine[0][0]) != bool(theirs[0][0]) or len(mine) != len(theirs):
        return True if stated.casefold() == found.casefold() else None
    return [(a, int(n)) for a, n in mine] == [(a, int(n)) for a, n in theirs]


class _Printed(NamedTuple):
    """A field that tells where a work is printed, how two values of it compare, and its remark."""

    name: str
    words: str
    remark: Remark
    agree: Callable[[str, str], bool | None] = _same_number


_PRINTED = (
    _Printed("journal", "journal", Remark.JOURNAL_DIFFERS, same_journal),
    _Printed("volume", "volume", Remark.VOLUME_DIFFERS),
    _Printed("issue", "issue", Remark.ISSUE_DIFFERS),
    _Printed("page", "first page", Remark.PAGES_DIFFER),
    _Printed("last_page", "last page", Remark.PAGES_DIFFER),
)


class JudgedReference(NamedTuple):
    """Verdict on a reference: the work that is meant, where it was found, and remarks."""

    work: Work | None
    remarks: tuple[Remarked, ...]

    @property
    def confirmed(self) -> bool:
        return any(r.remark is Remark.REFERENCE_CONFIRMED for r in self.remarks)


class _Match(NamedTuple):
    """Fit of a work to a reference; None where one of them states nothing."""

    work: Work
    by_id: bool
    title: Likeness | None
    author: bool | None
    year: bool | None
    place: bool | None

    @property
    def sure(self) -> bool:
        is_same = self.title is Likeness.SAME
        if self.place and self.author and (self.year or self.title is not Likeness.OTHER):
            return True
        if is_same and (self.place or (self.year and self.has_long_title and self.place is not False)):
            return True
        if self.by_id:
            if self.title in (None, Likeness.OTHER):
                return bool(self.author and self.year and self.place is not False)
            return True
        if not is_same or (self.place is False and not (self.author and self.year)):
            return False
        if any(map(names_a_work, self.work.titles)):
            return bool(self.author or self.year) and self.author is not False
        return bool(self.author and self.year)

    @property
    def has_long_title(self) -> bool:
        return any(len(content_words(t)) >= _LONG for t in self.work.titles)

    @property
    def rank(self) -> tuple[int, ...]:
        return (
            self.sure, bool(self.place), _ORDER.index(self.title), self.author is not False, self.year is not False,
            bool(self.year), self.work.recorded, self.by_id,
        )  # fmt: skip


def judge_reference(reference: CitedWork, found: WorksFound) -> JudgedReference:
    """Judge a reference by what a world of works knows of it."""
    judge = _Judge(reference)
    work, remarks = judge.judged(found)
    gone = next((work for work in found.by_id if work.retracted), None)
    if gone and not any(r.remark is Remark.REFERENCE_RETRACTED for r in remarks):
        remarks.append(judge.retracted(gone, "its id is of a work that"))
    return JudgedReference(work, tuple(remarks))


_Verdict = tuple[Work | None, list[Remarked]]


class _Judge:
    """Judge of one reference."""

    def __init__(self, reference: CitedWork) -> None:
        self._reference = reference
        self._places = set(places_in(reference))
        self._ids = ids_of_reference(reference)

    def judged(self, found: WorksFound) -> _Verdict:
        """The work that is meant, where it was found, and remarks."""
        # Of a work that only a list of retracted papers has, nothing can be compared.
        compared = [work for work in found.by_id if work.titles or work.authors or work.years]
        named = [self._match(work, by_id=True) for work in compared]
        others = [self._match(work) for work in found.similar if work not in found.by_id]
        best = max(named, key=lambda m: m.rank, default=None)
        like = max(others, key=lambda m: m.rank, default=None)
        if best and best.sure:
            remarks = self._differences(best)
            strangers = [m.work for m in named if not m.sure and m.title is Likeness.OTHER and not m.place]
            remarks += [self._id_of_another(work, best.work) for work in strangers]
            return self._agreed(best.work, remarks)
        if best:
            return self._of_wrong_id(best, like)
        if like and like.sure:
            remarks = self._differences(like)
            has_kinds = self._ids and all(like.work.named(name.partition(":")[0]) for name in self._ids)
            if (has_kinds and not set(self._ids) & set(like.work.ids)) or found.absent:
                remarks.append(self._wrong_id(like.work, found.absent))
            return self._agreed(like.work, remarks)
        if found.by_id:
            return None, [self._id_exists(found.by_id[0])]
        if found.absent:
            owner = found.absent[0]
            note = f"there is no {owner.record}: {owner.source} says so, and no work of this title is known"
            return None, [self._remark(Remark.REFERENCE_NOT_FOUND, note, evidence=found.absent)]
        return None, [self._unknown(found, like)]

    def _match(self, work: Work, *, by_id: bool = False) -> _Match:
        reference = self._reference
        author = reference.authors[0] if reference.authors else ""
        # Years of records, and those of lists beside one of them: online, print.
        listed = {y for s in work.statements if s.stated_by == "reference_list" for y in s.years}
        years = {*work.years, *(y for y in listed if {y - 1, y + 1} & set(work.years))}
        return _Match(
            work=work,
            by_id=by_id,
            title=self._title(work),
            author=any(same_author(author, a) for a in work.authors) if author and work.authors else None,
            year=reference.year in years if reference.year and work.years else None,
            place=self._place([s.place for s in work.speaking if s.place]),
        )

    def _place(self, stated: Sequence[tuple[str, str]]) -> bool | None:
        """Compare places in print; None where the reference names no page, as where its volume is the last."""
        year = str(self._reference.year or "")
        if not stated or not any(b and a != year for a, b in self._places):
            return None
        if self._places & set(stated):
            return True
        pages = [{b for a, b in self._places if a == volume} for volume, _ in stated]
        return None if {""} in pages else False

    def _title(self, work: Work) -> Likeness | None:
        """The best likeness to any title of the work; in the text where no title is marked up."""
        if not work.titles:
            return None
        if self._reference.title:
            return max((compare_titles(self._reference.title, t) for t in work.titles), key=_ORDER.index)
        text = "".join(title_words(self._reference.text))
        within = any(names_a_work(t) and "".join(title_words(t)) in text for t in work.titles)
        return Likeness.SAME if within else None

    def _agreed(self, work: Work, remarks: list[Remarked]) -> _Verdict:
        """The work that is meant, confirmed where nothing of it differs."""
        confirmed = not remarks
        if work.retracted:
            remarks.append(self.retracted(work, "the work"))
        if confirmed:
            match = self._match(work)
            known = (("title", match.title), ("first author", match.author), ("year", match.year))
            names = [name for name, compared in known if compared is not None]
            names += [field.words for field, _, _ in self._printed(work)]
            whom = "its sources" if work.recorded else "other lists"
            note = f"{', '.join(names) or 'the id'} agree with {whom}"
            note += "" if work.recorded else "; no record was found"
            evidence = _evidence(work, Stance.SUPPORTS)
            remarks.insert(0, self._remark(Remark.REFERENCE_CONFIRMED, note, evidence=evidence))
        return work, remarks

    def _of_wrong_id(self, best: _Match, like: _Match | None) -> _Verdict:
        """An id that leads to a work which is not the one that is described."""
        if like and like.sure:
            return self._agreed(like.work, [*self._differences(like), self._wrong_id(like.work, (), best.work)])
        if best.title is Likeness.OTHER and best.author and best.year and best.place is None:
            # Another title of one author and year: the id or the title is wrong, or the title is a translation.
            return self._agreed(best.work, [self._title_differs(best.work, weak=True)])
        if best.title is None and best.author is not False and best.year is not False:
            return self._agreed(best.work, []) if best.author or best.year else (None, [self._id_exists(best.work)])
        return None, [self._id_of_another(best.work)]

    # Remarks

    def retracted(self, work: Work, subject: str) -> Remarked:
        """Remark that a work was retracted."""
        notices = ", ".join(work.notices)
        note = f"{subject} was retracted{f' by {notices}' if notices else ''}"
        return self._remark(Remark.REFERENCE_RETRACTED, note, found=notices, evidence=_evidence(work))

    def _id_exists(self, work: Work) -> Remarked:
        note, evidence = "its id exists; nothing else of it could be compared", _evidence(work, Stance.SILENT)
        return self._remark(Remark.REFERENCE_UNKNOWN, note, state=SentenceState.NOT_CHECKABLE, evidence=evidence)

    def _differences(self, match: _Match) -> list[Remarked]:
        reference, work = self._reference, match.work
        found = [self._title_differs(work)] if match.title in (Likeness.NEAR, Likeness.OTHER) else []
        if match.author is False:
            stated, others = reference.authors[0], "; ".join(work.authors)
            note = f"the first author is {stated!r} here and {others!r} there"
            found.append(self._differs(Remark.AUTHOR_DIFFERS, work, note, stated, others))
        if match.year is False and reference.year:
            # One year off may be online against print, unless sources state both.
            near = len(work.years) == 1 and abs(reference.year - work.years[0]) == 1
            years = ", ".join(map(str, work.years))
            note = f"the year is {reference.year} here and {years} there"
            note += "; one may be online, the other in print" if near else ""
            to = years if len(work.years) == 1 and not near else ""
            found.append(self._differs(Remark.YEAR_DIFFERS, work, note, str(reference.year), years, weak=near, to=to))
        wrong: dict[Remark, Remarked] = {}
        for field, agrees, printed in self._printed(work):
            if not agrees and field.remark not in wrong:
                stated = getattr(reference, field.name)
                note = f"the {field.words} is {stated!r} here and {printed!r} there"
                wrong[field.remark] = self._differs(field.remark, work, note, stated, printed)
        return [*found, *wrong.values()]

    def _printed(self, work: Work) -> Iterator[tuple[_Printed, bool, str]]:
        """The fields of print that both sides state and that can be compared: if they agree, and what the work has."""
        for field in _PRINTED:
            stated = getattr(self._reference, field.name)
            found = tuple(dict.fromkeys(v for s in work.speaking if (v := getattr(s, field.name))))
            agree = [field.agree(stated, value) for value in found] if stated else []
            if any(agree) or (agree and None not in agree):
                yield field, any(agree), ", ".join(found)

    def _title_differs(self, work: Work, *, weak: bool = False) -> Remarked:
        stated = self._reference.title
        title = max(work.titles, key=lambda t: _ORDER.index(compare_titles(stated, t)))
        note = "its title is another there" + ("; or its id is of another work" if weak else "")
        return self._differs(Remark.TITLE_DIFFERS, work, note, stated, title, weak=weak)

    def _differs(
        self, remark: Remark, work: Work, note: str, stated: str, found: str, *, weak: bool = False, to: str = ""
    ) -> Remarked:
        """Remark on a difference: other reference lists may be as wrong, one alone decides nothing."""
        lists = {s.record.partition("#")[0] for s in work.statements if s.titles or s.years}
        firm = not weak and (work.recorded or len(lists) > 1)
        state = SentenceState.CONTRADICTED if firm else SentenceState.UNSUPPORTED
        return self._remark(remark, note, stated=stated, found=found, state=state, evidence=_evidence(work), to=to)

    def _wrong_id(self, work: Work, absent: Sequence[Evidence], stated_work: Work | None = None) -> Remarked:
        """The work is known by another id than the reference states."""
        stated, right = self._own_id(work)
        if stated_work and stated_work.titles:
            why = f"it is of {stated_work.titles[0]!r}"
        elif absent:
            why = f"there is no such id: {absent[0].source} says so"
        else:
            why = "no source has it"
        note = f"{stated} is not the work's: {why}" + (f"; it has {right}" if right else "")
        evidence = (*absent, *(_evidence(stated_work) if stated_work else ()), *_evidence(work, Stance.SUPPORTS))
        weak = not absent and not work.recorded and not (stated_work and stated_work.recorded)
        state = SentenceState.UNSUPPORTED if weak else None
        return self._remark(
            Remark.DOI_DIFFERS, note, stated=stated, found=right, evidence=evidence, to=right, state=state
        )

    def _id_of_another(self, work: Work, right: Work | None = None) -> Remarked:
        """An id that is of another work, whose own is not known."""
        stated = next((i.partition(":")[2] for i in self._ids if i in work.ids), "")
        title = work.titles[0] if work.titles else work.statements[0].record
        own = self._own_id(right)[1] if right else ""
        return self._differs(
            Remark.DOI_DIFFERS, work, f"{stated} is of another work: {title!r}", stated, own or title, to=own
        )

    def _own_id(self, work: Work) -> tuple[str, str]:
        """The id that the reference states and is not the work's, and the work's own of the same kind."""
        for name in self._ids:
            kind, _, value = name.partition(":")
            if name not in work.ids:
                return value, next(iter(work.named(kind)), "")
        return "", ""

    def _unknown(self, found: WorksFound, like: _Match | None) -> Remarked:
        reference, state = self._reference, SentenceState.NOT_CHECKABLE
        if found.unavailable:
            note = f"it could not be looked: {found.unavailable[0]}"
            return self._remark(Remark.REFERENCE_UNKNOWN, note, state=state, evidence=found.looked, unavailable=True)
        if not (self._ids or reference.title):
            note = "it names neither an id nor a title by which it could be looked up"
            return self._remark(Remark.REFERENCE_UNKNOWN, note, state=state)
        near = like if like and like.title is Likeness.NEAR and like.author and like.year else None
        title = near.work.titles[0] if near else ""
        if near and near.place is None and changed_words(reference.title, title) == 1:
            return self._title_differs(near.work, weak=True)
        note = "no work of this id, title, author and year is in what was looked at, which may not have all"
        telling = listed_by_sources(reference)
        note += (
            "" if telling else ": it seems to be a book, a report or a web page, which sources of papers seldom list"
        )
        note += f"; a like one is {title!r}" if title else ""
        stated = reference.title or reference.text[:200]
        return self._remark(
            Remark.REFERENCE_UNKNOWN, note, state=None if telling else state, stated=stated, evidence=found.looked
        )

    def _remark(
        self,
        remark: Remark,
        note: str,
        *,
        stated: str = "",
        found: str = "",
        state: SentenceState | None = None,
        evidence: Sequence[Evidence] = (),
        to: str = "",
        unavailable: bool = False,
    ) -> Remarked:
        """A remark at what the reference states there; with a repair where ``to`` is set and the place is one."""
        text = self._reference.text
        start = text.casefold().find(stated.casefold()) if stated else -1
        once = start >= 0 and text.casefold().count(stated.casefold()) == 1 and len(text) == len(text.casefold())
        place = {"start": start, "end": start + len(stated)} if once else {"start": 0, "end": 0}
        return Remarked(
            remark=remark, state=state or remark.state, reference=self._reference.key, note=note, stated=stated,
            found=found, evidence=tuple(evidence), repair=Repair(**place, to=to) if once and to else None,
            unavailable=unavailable, **place,
        )  # fmt: skip


def listed_by_sources(reference: CitedWork) -> bool:
    """Tell whether sources of papers would list a work: it has an id, or a volume and page of a journal."""
    printed = reference.volume and reference.page
    return bool(ids_of_reference(reference) or printed or _IN_A_JOURNAL.search(reference.text))


def _evidence(work: Work, stance: Stance = Stance.CONTRADICTS) -> tuple[Evidence, ...]:
    return tuple(
        s.evidence(stance, ". ".join(filter(None, (s.author, *s.titles[:1], ", ".join(map(str, s.years))))))
        for s in work.speaking[:_SHOWN]
    )
