"""PaperService: interface and records of paper services, and parsing of ids, names and dates."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from kgcheck.errors import SourceAnswer, SourceUnanswerable
from kgcheck.inputs import wrong_parts

if TYPE_CHECKING:
    from kgcheck.providers.http import ServiceAnswer

LATER = "try again later: the same command goes on where this one stopped"

T = TypeVar("T")

Number = Annotated[int, Field(ge=0, strict=True)]
"""A number of things: one as text is none."""


class WireRecord(BaseModel):
    """A part of an answer: what is not needed is not looked at."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)


class PaperRecord(NamedTuple):
    """Record of a paper at a service.

    ``key`` is the service's own id, ``ids`` are all that are known, with their prefixes. ``full_text`` names the whole
    paper where its licence is open; it is empty where there is none, or no open licence is named.
    """

    key: str
    ids: tuple[str, ...]
    title: str = ""
    abstract: str | Sequence[str] = ""
    year: str = ""
    journal: str = ""
    types: tuple[str, ...] = ()
    retracted: bool = False
    licence: str = ""
    full_text: str = ""
    references: tuple[str, ...] = ()
    cited_by: int | None = None
    """Number of papers that cite it, where the service counts them."""


class WorkFields(NamedTuple):
    """Fields of a work at a service: all that a reference to it may say.

    ``ids`` are all that are known, with their prefixes; ``listed`` is true for what a reference list of another work
    states. ``notices`` retract it, ``retracts`` are works that it retracts, ``cites`` what it cites, all by id.
    ``author`` is the first one, surname first, as far as the service tells them apart.
    """

    key: str
    ids: tuple[str, ...] = ()
    titles: tuple[str, ...] = ()
    years: tuple[int, ...] = ()
    journal: str = ""
    author: str = ""
    volume: str = ""
    issue: str = ""
    page: str = ""
    last_page: str = ""
    retracted: bool = False
    notices: tuple[str, ...] = ()
    retracts: tuple[str, ...] = ()
    cites: tuple[str, ...] = ()
    listed: bool = False
    url: str = ""
    retrieved_at: datetime | None = None


class RecordPage(NamedTuple):
    """A page of what was found: ``after`` asks for the next one, and is empty on the last."""

    records: tuple[PaperRecord, ...]
    after: str
    total: int
    unknown: tuple[str, ...] = ()
    """Parts of the query that the service does not know and searched without, where it says so."""


class WholeTextService(Protocol):
    """A service that has whole papers."""

    name: str

    def whole(self, record: PaperRecord, read: Callable[[bytes], T]) -> T | None:
        """The paper of a record whose ``full_text`` is named, read from JATS XML; None where the service has none.

        What `read` refuses with a SourceAnswer is not kept.
        """


class PaperService:
    """A service where papers are searched. All methods raise SourceError where it could not be looked."""

    name: str
    kinds: frozenset[str]
    """Prefixes of the ids under which `records` finds papers."""

    def page(self, query: str, after: str, size: int) -> RecordPage:
        """A page of a search."""
        raise NotImplementedError

    def best(self, words: Sequence[str], size: int) -> RecordPage:
        """The papers that fit any of some words, the best first; one page."""
        raise NotImplementedError

    def records(self, ids: Sequence[str]) -> dict[str, PaperRecord]:
        """The records of papers by their ids; those that the service does not have are left out."""
        raise NotImplementedError

    def whole(self, record: PaperRecord, read: Callable[[bytes], T]) -> T | None:
        """See WholeTextService; most have none."""
        return None

    def references(self, record: PaperRecord) -> tuple[str, ...]:
        """Ids of the papers that it cites, as far as the service knows them; with most, they come in its record."""
        return record.references

    def citations(self, record: PaperRecord, most: int | None = None) -> tuple[str, ...]:
        """Ids of the papers that cite it, the same."""
        raise NotImplementedError


def parsed(service: str, answer: "ServiceAnswer", kind: type[T], refusals: Sequence[int] = ()) -> T:
    """The body of an answer of the status 200, of the form that the service promises."""
    if answer.status in refusals:
        raise SourceUnanswerable(
            f"{service} does not take the question: {answer.body[:200]!r}", "see its search syntax"
        )
    if answer.status != 200:
        raise SourceAnswer(f"{service} answered {answer.status}: {answer.url[:160]}", LATER)
    return formed(service, answer.json(), kind)


def formed(service: str, body: Any, kind: type[T]) -> T:
    """A value of the form that a service promises."""
    try:
        return TypeAdapter(kind).validate_python(body)
    except ValidationError as wrong:
        reason = wrong_parts(wrong, 1)
        raise SourceAnswer(f"{service} sent something else than it promises: {reason}"[:300], LATER) from wrong


def check_page(service: str, keys: Sequence[str], most: int, total: int) -> None:
    """Refuse a page that has a record twice, or more records than were asked for or than there are."""
    if len(keys) > min(most, total) or len(set(keys)) < len(keys):
        raise SourceAnswer(
            f"{service} sent {len(keys):,} of {total:,} records where {most:,} fit, or some twice", LATER
        )


def check_promised(service: str, came: int, total: int, *, empty: bool) -> None:
    """Refuse an empty page where more was promised."""
    if empty and came < total:
        raise SourceAnswer(f"{service} promised {total:,} and sent {came:,}", LATER)


def lots(ids: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    """Ids in parts of one call each."""
    return (ids[at : at + size] for at in range(0, len(ids), size))


def by_wanted_id(service: str, wanted: Sequence[str], records: Iterable[PaperRecord]) -> dict[str, PaperRecord]:
    """Records by the ids that they were asked for under."""
    found: dict[str, PaperRecord] = {}
    chosen = frozenset(wanted)
    for record in records:
        own = chosen.intersection(record.ids)
        if not own:
            raise stray_answer(service, f"the record {record.key}")
        for name in own:
            found.setdefault(name, record)
    return found


def stray_answer(service: str, sent: str) -> SourceAnswer:
    """The error for an answer that is about something else than the question."""
    return SourceAnswer(f"{service} sent {sent}, which was not asked for", LATER)


NAME_PARTICLES = frozenset("van von der den de da di del della dos la le du el al bin ibn ter ten".split())
"""Words before a surname that are of it."""


def family_first(name: str) -> str:
    """A name as lists of references have it, the surname first, from one that begins with the given names.

    >>> family_first("Jan van der Berg")
    'van der Berg Jan'
    """
    words = name.split()
    at = next((n for n, w in enumerate(words) if n and w in NAME_PARTICLES), len(words) - 1)
    return " ".join(words[at:] + words[:at])


def year_in(text: str | int | None) -> tuple[int, ...]:
    """The year at the beginning of a date, as ``2012``, ``2012 Mar-Apr`` or 2012; nothing where there is none."""
    first = str(text or "").strip()[:4]
    return (int(first),) if len(first) == 4 and first.isascii() and first.isdigit() and "1500" < first < "2200" else ()


def first_page(pages: str | None) -> str:
    """The first of some pages, as in ``799-845`` or ``e33693``."""
    return _PAGE_END.split((pages or "").strip(), maxsplit=1)[0][:40].casefold()


def last_page(pages: str | None) -> str:
    """The last of some pages in full; empty where only one is stated.

    >>> last_page("345-50"), last_page("S12\u2013S19"), last_page("e33693")
    ('350', 's19', '')
    """
    parts = [part for part in _PAGE_END.split((pages or "").strip().casefold()) if part]
    if len(parts) < _ENDS or not all(part[-1].isdigit() for part in parts[:_ENDS]):
        return ""
    first, last = parts[:_ENDS]
    return last[:40] if len(last) >= len(first) or not last.isdigit() else first[: len(first) - len(last)] + last


_ENDS = 2
_PAGE_END = re.compile(r"[-\u2010-\u2015\u2212,;\s]+")


def open_licence(licence: str) -> bool:
    """Return whether a licence lets a paper be kept and searched: Creative Commons, or public domain.

    >>> open_licence("cc by-nc"), open_licence("https://creativecommons.org/licenses/by/4.0/"), open_licence("")
    (True, True, False)
    """
    plain = licence.casefold().replace("_", "-").replace(" ", "-")
    return plain.startswith(("cc-", "cc0", "public-domain", "pd")) or "creativecommons.org/" in plain


def doi_id(value: str | None) -> tuple[str, ...]:
    """A DOI as an id, without the address that may stand before it; nothing where there is none."""
    bare = (value or "").strip().casefold().removeprefix("https://doi.org/").removeprefix("http://dx.doi.org/")
    return (f"doi:{bare}",) if bare.startswith("10.") and "/" in bare and not any(map(str.isspace, bare)) else ()


def pmid_id(value: str | int | None) -> tuple[str, ...]:
    """A PMID as an id, without the address that may stand before it; nothing where there is none."""
    bare = str(value or "").strip().rstrip("/").rpartition("/")[2]
    return (f"pmid:{bare}",) if bare.isascii() and bare.isdigit() else ()


def pmc_id(value: str | None) -> tuple[str, ...]:
    """A PMCID as an id; nothing where there is none."""
    bare = (value or "").strip().rstrip("/").rpartition("/")[2].upper().removeprefix("PMC")
    return (f"pmc:PMC{bare}",) if bare.isascii() and bare.isdigit() else ()
