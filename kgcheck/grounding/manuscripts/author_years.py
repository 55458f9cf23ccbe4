"""Citations by author and year: ``(Lee et al., 2020; Chan, 2019a)``, ``Lee and Chan (2020)``."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kgcheck.grounding.manuscripts.marker_words import marker_words
from kgcheck.grounding.manuscripts.reference_lists import Entry, cited_works
from kgcheck.literature.papers import CitedWork

_NAME = (
    r"(?:(?:van|von|de|der|den|del|della|di|da|dos|du|la|le|el|al|ter|ten|bin|ibn|zu|zur)[ -]){0,3}"
    r"(?:[dDOL]['\u2019])?[A-Z\u00c0-\u00de\u0100-\u017f][\w'\u2019\u2010-]{0,40}"
)
_INITIALS = r"(?:(?:[A-Z]\.[ -]?){1,3} ?)?"
_ET_AL = r",? (?:et ?al\.?|and (?:colleagues|co-?workers)|and others)"
_NAMES = (
    rf"{_INITIALS}(?P<first>{_NAME})(?P<words>(?: {_NAME}){{0,4}})"
    rf"(?:(?P<more>(?:, {_INITIALS}{_NAME}){{0,6}},? (?:and|&) {_INITIALS}{_NAME}(?: {_NAME}){{0,2}})"
    rf"|(?P<etal>{_ET_AL}))?"
)
_YEAR = r"(?:1[6-9]|20)\d\d[a-z]?"
_YEARS = rf"(?P<years>{_YEAR}(?:(?:, ?| ?& ?| and |/|[-\u2013])(?:{_YEAR}|[a-z]\b)){{0,8}})"
_LEAD = (
    r"(?:(?:see(?: also)?|e\.g\.?,?|i\.e\.?,?|cf\.?|reviewed (?:in|by)|for (?:a )?reviews?,? see|also|but see|and|as in"
    r"|after|in|by|from|modified from|adapted from|data from|according to|following),? ){0,3}"
)
_REST = (
    r"(?:[,:;]? ?(?:pp?\.|chapters?|ch\.|figs?\.|figures?|tables?|and references therein|\d{1,4}(?:[-\u2013]\d{1,4})?"
    r"|in press|unpublished)[^()\[\];]{0,40})?"
)
_PIECE = re.compile(rf"\s*{_LEAD}(?P<mark>{_NAMES},? \(?{_YEARS}\)?){_REST}\s*")
_GROUP = re.compile(r"[(\[]([^()\[\]]{4,20000})[)\]]")
_ONLY_YEARS = re.compile(rf"\s*{_YEARS}{_REST}\s*")
_SPAN = re.compile(r"\s*(?:1[6-9]|20)\d\d ?[-\u2013\u2014] ?(?:1[6-9]|20)\d\d\s*")
_NAMES_BEFORE = re.compile(rf"(?<![\w-]){_NAMES}(?:['\u2019]s?)? ?$")
_ONE_YEAR = re.compile(r"((?:1[6-9]|20)\d\d)([a-z]?)|\b([a-z])\b")
_LONGEST_NAMES = 120


class YearMark(NamedTuple):
    """A citation by author and year, with what it points to; ``sure`` also where nothing is found."""

    start: int
    end: int
    keys: tuple[str, ...]
    found: bool
    sure: bool


class AuthorYears:
    """Finds works of a list by author and year."""

    def __init__(self, references: Sequence[CitedWork]) -> None:
        self._by_name: dict[str, list[tuple[CitedWork, str]]] = defaultdict(list)
        for listed in references:
            # An entry that is not marked up names its authors in its text.
            work = listed if listed.authors else cited_works([Entry(listed.text, key=listed.key)])[0]
            if work.authors:
                letter = re.search(rf"\b{work.year}([a-z])\b", work.text) if work.year else None
                self._by_name[surname_of(work.authors[0])].append((work, letter[1] if letter else ""))

    def marks(self, text: str) -> Iterator[YearMark]:
        """The citations of a text."""
        for group in _GROUP.finditer(text):
            inner, at = group[1], group.start(1)
            if only := _ONLY_YEARS.fullmatch(inner):
                before = text[max(0, group.start() - _LONGEST_NAMES) : group.start()]
                names = self._names(before)
                if names and not (_SPAN.fullmatch(inner) and not self._has_all(names, inner)):
                    yield from self._mark(
                        names, only["years"], group.start() - len(before) + names.start(), group.end()
                    )
                continue
            for piece in re.finditer(r"[^;]+", inner):
                if match := _PIECE.fullmatch(piece[0]):
                    start = at + piece.start()
                    yield from self._mark(match, match["years"], start + match.start("mark"), start + match.end("mark"))

    def _names(self, text: str) -> re.Match[str] | None:
        """The names right before an end, without words before them that are none, as at the beginning of a sentence."""
        found = _NAMES_BEFORE.search(text)
        while found and found["words"] and not self._works(found):
            found = _NAMES_BEFORE.search(text, found.start("words") + 1)
        return found

    def _has_all(self, names: re.Match[str], years: str) -> bool:
        """Whether the list has works of all years: those of a life, as in "Maury (1806-1873)", are of none."""
        listed = {work.year for work, _ in self._works(names)}
        return all(int(year) in listed for year in re.findall(r"\d{4}", years))

    def _works(self, names: re.Match[str]) -> list[tuple[CitedWork, str]]:
        """The works of a first author."""
        first = names["first"] + names["words"]
        works = self._by_name.get(surname_of(first), [])
        if names["words"]:
            # Several words are one surname, the name of an organisation, or of nothing: only the list can tell.
            whole = _fold(first)
            works = [(w, s) for w, s in works if _fold(w.authors[0]).startswith(whole)]
        return works

    def _mark(
        self, names: re.Match[str], years: str, start: int, end: int, *, before: bool = False
    ) -> Iterator[YearMark]:
        first = names["first"] + names["words"]
        if marker_words().no_names.intersection(_fold(names["first"]).split("-")):
            return
        works = self._works(names)
        second = surname_of(re.split(r",? (?:and|&) ", names["more"])[-1]) if names["more"] else ""
        keys: list[str] = []
        year = ""
        for match in _ONE_YEAR.finditer(years):
            year, letter = (match[1], match[2]) if match[1] else (year, match[3])
            hits = [(w, s) for w, s in works if w.year == int(year)]
            hits = [h for h in hits if not letter or not h[1] or h[1] == letter]
            narrow = [h for h in hits if second and any(surname_of(a) == second for a in h[0].authors[1:])]
            narrow = narrow or [h for h in hits if names["etal"] and len(h[0].authors) > 2]
            keys += [w.key for w, _ in narrow or hits] or [f"{first} {year}{letter}"]
        sure = bool(names["etal"] or (names["more"] and not before))
        yield YearMark(start, end, tuple(dict.fromkeys(keys)), bool(works), sure)


def surname_of(author: str) -> str:
    """The first word of a surname, without particles, folded.

    >>> surname_of("van der Berg JK"), surname_of("O'Neill A")
    ('berg', "o'neill")
    """
    words = _fold(author).replace(",", " ").split()
    return next((w for w in words if w not in marker_words().particles), words[0] if words else "")


def _fold(text: str) -> str:
    flat = unicodedata.normalize("NFKD", text.replace("\u2019", "'").replace("\u2010", "-"))
    return "".join(c for c in flat if not unicodedata.combining(c)).casefold().strip(" ,.'")
