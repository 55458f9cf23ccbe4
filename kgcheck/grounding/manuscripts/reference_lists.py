"""Parse lists of references, plain text or CSL JSON, into cited works.

Of free text only what is sure is taken: a field that could be read in two ways stays empty.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from kgcheck.literature.documents import clean
from kgcheck.literature.papers import CitedWork
from kgcheck.providers.paper_service import first_page, last_page

_CUT = re.compile(r"[^\W\d_][-\u00ad]$")
_BROKEN = re.compile(r"(?:https?://|doi:|\b10\.\d{4,9}/)\S*[/.]$")
LONGEST_ENTRY = 3_000
_NUMBERED = re.compile(r"^\s*(?:\[(\d{1,4})\]|\((\d{1,4})\)|(\d{1,4})[.)]|(\d{1,4})(?=\s+[^\W\d_]))\s*(?=\S|$)")
_DOI = re.compile(r"\b10\.\d{4,9}/[^\s\"<>]+")
_PMID = re.compile(r"\b(?:PMID:? ?|pubmed(?:\.ncbi\.nlm\.nih\.gov)?/)(\d{1,8})\b", re.IGNORECASE)
_YEAR = re.compile(r"(?<![\w./:-])((?:1[6-9]|20)\d\d)(?:[a-z])?(?![\w/-])")
_YEAR_IN = re.compile(r"\(((?:1[6-9]|20)\d\d)[a-z]?(?:, [A-Z][^()]{2,30})?\)")
_YEAR_VOLUME = re.compile(r"(?<=[ .])((?:1[6-9]|20)\d\d)(?: [A-Z][a-z]{2}(?:[ -]\d{1,2})?)?;")
_ADDRESS = re.compile(
    r"\b(?:https?://\S+|(?:doi:? ?)?10\.\d{4,9}/\S+|doi:\S+|PMID:? ?\d{1,8}\b|PMC\d{1,9}\b)", re.IGNORECASE
)

_UP = "A-Z\u00c0-\u00de\u0100-\u017f"
_LOWER = r"(?:[a-z]{1,4}['\u2019 \u2010-])"
_PART = rf"(?:[DOLdol]['\u2019])?[{_UP}][^\W\d_]*(?:['\u2019\u2010-\u2013-][^\W\d_]+){{0,3}}"
_SURNAME = rf"{_LOWER}{{0,3}}{_PART}(?: {_LOWER}{{0,3}}{_PART}){{0,2}}"
_VANCOUVER = re.compile(
    rf"({_SURNAME}) ([{_UP}](?:[ -]?[{_UP}]){{0,3}})(?:\.(?=,))?(?: (?:Jr|Sr|II|III|2nd|3rd)\b\.?)?"
    r"(?: (?:von|van|de|der|den|del|du|da)\b){0,2}(?=[,.;: (]|$)"
)
_DOTTED = re.compile(rf"({_SURNAME}), ((?:[{_UP}]\.[ \u2010-]?){{1,5}})(?:,? (?:Jr|Sr|II|III)\b\.?)?")
_JOIN = re.compile(r"(?:, ?|; ?)?(?:(?:and|&|\.\.\.|\u2026) ?)?")
_ET_AL = re.compile(r",? ?(?:et ?al\.?|and others)(?=[ .,:;(]|$)")


class Entry(NamedTuple):
    """The text of an entry, with the label before it and the key that it is given elsewhere."""

    text: str
    label: str = ""
    key: str = ""


def split_entries(lines: Sequence[str]) -> list[Entry]:
    """The entries of a plain-text list, split by numbers, by empty lines or by how an entry begins."""
    if numbered := _by_number(lines):
        return numbered
    text = [line.strip() for line in lines]
    while text and not text[-1]:
        text.pop()
    parts: list[list[str]] = []
    if "" in text:
        parts = [list(part) for there, part in groupby(text, key=bool) if there]
        text = []
    for line in text:
        begins = _VANCOUVER.match(line) or _DOTTED.match(line)
        if not parts or (begins and re.search(r"(?:[.)\]]|\d|/\S+)$", parts[-1][-1][-200:])):
            parts.append([])
        parts[-1].append(line)
    return [Entry(joined(part)) for part in parts if any(any(map(str.isalpha, line)) for line in part)]


def joined(lines: Iterable[str]) -> str:
    """Lines as one, words that were cut and addresses that were broken put together."""
    parts: list[str] = []
    for line in lines:
        before = parts[-1] if parts else ""
        if _CUT.search(before[-2:]) and line[:1].islower() and not re.match(r"(?:and|or)\b", line):
            parts[-1] = before[:-1]
        elif parts and not _BROKEN.search(before[-300:]):
            parts.append(" ")
        parts.append(line)
    return clean("".join(parts))


def _by_number(lines: Sequence[str]) -> list[Entry]:
    """Entries that begin with their number, counting up from 1; none where the lines do not count."""
    parts: list[list[str]] = []
    for line in lines:
        match = _NUMBERED.match(line)
        number = int(next(filter(None, match.groups()))) if match else 0
        if match and number == len(parts) + 1:
            parts.append([line[match.end() :].strip()])
        elif parts and line.strip():
            parts[-1].append(line.strip())
        elif line.strip():
            return []
    return [Entry(joined(part), str(n)) for n, part in enumerate(parts, 1)]


def labelled(text: str) -> Entry:
    """An entry of its own with the number before it, where it has one."""
    match = _NUMBERED.match(text)
    if not match or match[4]:
        return Entry(text)
    return Entry(text[match.end() :].strip(), next(filter(None, match.groups())))


def cited_works(entries: Sequence[Entry]) -> tuple[CitedWork, ...]:
    """Works of free text."""
    return tuple(_work(entry, number) for number, entry in enumerate(entries, 1))


def _work(entry: Entry, number: int) -> CitedWork:
    text = entry.text[:LONGEST_ENTRY]
    doi = _DOI.search(text)
    pmid = _PMID.search(text)
    plain = _ADDRESS.sub(" ", text)
    authors, rest = _authors(plain)
    title = _title(rest) if authors else ""
    return CitedWork(
        key=entry.key or entry.label or str(number),
        label=entry.label,
        doi=_trimmed(doi[0]) if doi else "",
        pmid=pmid[1] if pmid else "",
        year=_year(plain),
        title=title,
        authors=authors,
        **(_printed(plain.partition(title)[2]) if title and not _BOOK.search(plain) else {}),
        text=text[:2000],
    )


_PRINTED = re.compile(
    r"""[\s.,?!"'\u201d]*(?:In:\s)?(?P<journal>[^\W\d_][^\d;]{1,120}?)[\s.,;]*
    (?:\(?(?:1[6-9]|20)\d\d(?:\s[A-Z][a-z]{2}(?:\s\d{1,2})?)?\)?[\s.,;:]+)?          # year
    (?:vol(?:ume)?\.?\s?)?(?P<volume>[A-Za-z]?\d{1,4})
    (?:\s?\((?P<issue>[\w\s./\u2013-]{1,20})\)|,?\s(?:no|issue)\.?\s?(?P<number>\d{1,4}))?
    \s?[:,]\s?(?:(?:pp?\.?|pages)\s?)?
    (?P<pages>[A-Za-z]{0,5}\d{1,8}[A-Za-z]?(?:\s?[-\u2010-\u2015\u2212]{1,2}\s?[A-Za-z]{0,5}\d{1,8}[A-Za-z]?)?)(?![\w/])""",
    re.VERBOSE,
)

_NO_JOURNAL = re.compile(r"[?!][^\w?!]*\s\w|\bvolume\b")
_BOOK = re.compile(r"\bIn:|\b[Ee]d(?:itor)?s?\b\.?(?=[,\s)])")


def _printed(text: str) -> dict[str, str]:
    """Journal, volume, issue and pages, from what stands behind a title; nothing where that is of no usual form.

    >>> _printed(". J Cell Sci. 2001;12(3):345-50.")
    {'journal': 'J Cell Sci', 'volume': '12', 'issue': '3', 'page': '345', 'last_page': '350'}
    """
    found = _PRINTED.match(text)
    # Where the title went on, what stands before the numbers is no journal.
    if not found or not found["journal"][:1].isupper() or _NO_JOURNAL.search(text[: found.end("journal")]):
        return {}
    return {
        "journal": found["journal"].strip(" .,"),
        "volume": found["volume"],
        "issue": (found["issue"] or found["number"] or "").strip(),
        "page": first_page(found["pages"]),
        "last_page": last_page(found["pages"]),
    }


def _trimmed(doi: str) -> str:
    doi = doi.rstrip(".,;:'\u2019\u201d")
    while doi.endswith((")", "]")) and doi.count(doi[-1]) > doi.count("(" if doi[-1] == ")" else "["):
        doi = doi[:-1].rstrip(".,;")
    return re.split(r"\.?(?:doi:|https?:)", doi.lower())[0]


def _year(text: str) -> int | None:
    """The year of a work: where one is set apart as such, or the only one that is named."""
    for pattern in (_YEAR_IN, _YEAR_VOLUME, _YEAR):
        years = {int(y) for y in pattern.findall(text)}
        if len(years) == 1:
            return years.pop()
        if years:
            return None
    return None


def _authors(text: str) -> tuple[tuple[str, ...], str]:
    """The authors at the beginning, each as surname and initials, and what follows them."""
    for pattern in (_DOTTED, _VANCOUVER):
        at, found = 0, list[str]()
        while match := pattern.match(text, at):
            initials = "".join(c for c in match[2] if c.isalpha())
            found.append(f"{match[1]} {initials}")
            at = match.end()
            if ended := _ET_AL.match(text, at):
                at = ended.end()
                break
            joint = _JOIN.match(text, at)
            if not joint or not joint[0] or not pattern.match(text, joint.end()):
                if joint and (ended := _ET_AL.match(text, joint.end())):
                    at = ended.end()
                break
            at = joint.end()
        if found:
            return tuple(found), text[at:]
    return (), text


_TITLE_LEAD = re.compile(
    r"^ [^\W\d_][^.,:;()\d]{1,80} \((?:1[6-9]|20)\d\d[a-z]?\)[\s.,:;]*"  # the name of a group went on
    r"|^[\s.,:;]*(?:\((?:1[6-9]|20)\d\d[a-z]?(?:, [^()]{2,30})?\)[\s.,:;]*)?(?:(?:1[6-9]|20)\d\d[a-z]?[.:]\s)?"
)
_END = re.compile(
    r"(?!(?<=\b[A-Z])\. [A-Z]\. )(?<!\b[A-Z]\. [A-Z])"  # a name with two initials goes on: W. M. Gabb
    r"(?<!\bvs)(?<!\bsp)(?<!\bspp)(?<!\bcf)(?<!\bSt)([.?!])[\"'\u201d]? (?=[^\W\d_]|\[|\d)"
)
_SMALL = frozenset("of the and in for & de et la le der und des di e y on to a an".split())
_JOURNAL_IN_WORDS = re.compile(r"[^\W\d_][^\d.]{2,60}[.,]? \(?\d")


def _title(rest: str) -> str:
    """The title: up to the one place after which only the name of a journal and numbers follow."""
    # The list of authors goes on with a name that could not be read.
    if re.match(r"\s*(?:[,&;]|and\b)", rest):
        return ""
    lead = _TITLE_LEAD.match(rest)
    text = rest[lead.end() :] if lead else rest
    ends = [*_END.finditer(text[:1500])]
    end = next((e for e in ends if _is_source(text[e.end() :])), None)
    if end is None:
        end = next((e for e in reversed(ends) if text[e.end()].isalpha()), None)
        if end is None or not _JOURNAL_IN_WORDS.match(text, end.end()):
            return ""
    title = text[: end.start() + (end[1] != ".")].strip(" \"'\u201c\u201d")
    return title if len(title.split()) > 1 else ""


def _is_source(text: str) -> bool:
    """Tell whether a text begins with the name of a journal and goes on with its year, volume or pages."""
    words = text.split()
    for place, word in enumerate(words[:14]):
        bare = word.strip(".,;:()[]&")
        if place and (re.match(r"^[(\[]?\d", word) or (bare.isdigit())):
            return True
        if not bare:
            continue
        if not (bare[0].isupper() or bare in _SMALL or (place == 0 and re.match(r"^[a-z]{1,3}[A-Z]", bare))):
            return False
        if place and word.endswith((",", ";", ":")) and place + 1 < len(words) and words[place + 1][:1].isdigit():
            return True
    return False


def works_of_csl(items: Iterable[Mapping[str, Any]]) -> Iterator[CitedWork]:
    """Works of CSL JSON; what is of another form is left out."""
    for item in items:
        key = clean(str(item.get("id") or ""))
        if not key:
            continue
        given, issued = item.get("author"), item.get("issued") or ""
        people = [p for p in given if isinstance(p, Mapping)] if isinstance(given, list) else []
        authors = tuple(filter(None, map(_person, people)))
        if isinstance(issued, Mapping):
            issued = issued.get("date-parts") or issued.get("raw") or ""
        found = re.search(r"(?<!\d)(?:1[5-9]|20)\d\d(?!\d)", str(issued))
        year, title = int(found[0]) if found else None, _field(item, "title")
        journal, volume = _field(item, "container-title"), _field(item, "volume")
        doi, pmid = _DOI.search(_field(item, "DOI")), _field(item, "PMID")
        pages = _field(item, "page") or _field(item, "number")
        shown = (", ".join(authors), f"({year})" if year else "", title, journal, volume, doi[0] if doi else "")
        yield CitedWork(
            key=key,
            doi=_trimmed(doi[0]) if doi else "",
            pmid=pmid if pmid.isascii() and pmid.isdigit() else "",
            year=year,
            title=title,
            authors=authors,
            journal=journal,
            volume=volume,
            issue=_field(item, "issue"),
            page=first_page(pages),
            last_page=last_page(pages),
            text=". ".join(filter(None, shown))[:2000],
        )


def _field(item: Mapping[str, Any], name: str) -> str:
    value = item.get(name)
    return clean(str(value)).replace("---", "\u2014").replace("--", "\u2013") if isinstance(value, str | int) else ""


def _person(person: Mapping[str, Any]) -> str:
    family = " ".join(filter(None, (_field(person, "non-dropping-particle"), _field(person, "family"))))
    return " ".join(filter(None, (family or _field(person, "literal"), _field(person, "given"))))
