"""What JATS XML says of an article besides its text: ids, date, licence, references and notices."""

import re
from collections.abc import Sequence
from typing import Any

from kgcheck.literature.documents import clean
from kgcheck.literature.papers import CitedWork, Notice, NoticeKind

_LINK = "{http://www.w3.org/1999/xlink}href"

_DOI = re.compile(r"10\.\d{4,9}/[^\s\"<>]+")

_NOTICES: dict[str, tuple[NoticeKind, bool]] = {
    "retracted-article": ("retraction", True),
    "partial-retraction": ("concern", True),
    "corrected-article": ("correction", True),
    "object-of-concern": ("concern", True),
    "retraction-forward": ("retraction", False),
    "correction-forward": ("correction", False),
    "concern-forward": ("concern", False),
}
"""What a link to another article means, and whether the article that has it is the notice."""


def text_of(element: Any) -> str:
    """All words of an element but its notes."""
    if element is None:
        return ""
    parts: list[str] = []

    def take(node: Any) -> None:
        parts.append(node.text or "")
        for child in node:
            noted = child.tag == "xref" and child.get("ref-type") in ("fn", "aff", "corresp")
            if isinstance(child.tag, str) and not noted and child.tag not in ("fn", "tex-math", "graphic"):
                take(child)
            parts.append(child.tail or "")

    take(element)
    return clean("".join(parts))


def ids_of(meta: Any) -> tuple[str, ...]:
    """PMID, DOI and PMCID, as far as they are there, in this order."""
    found: dict[str, str] = {}
    for element in meta.findall("article-id"):
        kind, value = str(element.get("pub-id-type") or "").lower(), text_of(element)
        if kind == "pmid" and value.isascii() and value.isdigit():
            found.setdefault("pmid", f"pmid:{value}")
        elif kind == "doi" and (match := _DOI.search(value)):
            found.setdefault("doi", f"doi:{match[0].lower()}")
        elif kind in ("pmc", "pmcid", "pmcaid") and (digits := value.upper().removeprefix("PMC")).isdigit():
            if digits.isascii() and kind != "pmcaid":
                found.setdefault("pmc", f"pmc:PMC{digits}")
    return tuple(found[kind] for kind in ("pmid", "doi", "pmc") if kind in found)


def year_of(meta: Any) -> int | None:
    """The year in which it first came out."""
    return min(years_of(meta), default=None)


def years_of(meta: Any) -> tuple[int, ...]:
    """The years in which it came out, online and in print."""
    years = [y for date in meta.findall("pub-date") if (y := text_of(date.find("year"))).isascii() and y.isdigit()]
    return tuple(sorted({int(y[:4]) for y in years}))


def licence_of(meta: Any) -> str:
    """The address of the licence where there is one, else its first words."""
    for element in meta.iter("license"):
        links = (element.get(_LINK), *(link.get(_LINK) for link in element.iter("ext-link")))
        for link in links:
            if link and "creativecommons.org" in link:
                return clean(str(link))
        return text_of(element)[:200]
    for element in meta.iter("copyright-statement"):
        return text_of(element)[:200]
    return ""


def reference_of(key: str, element: Any) -> CitedWork:
    """An entry of the list of references."""
    citation = next((c for c in element.iter() if c.tag in _CITATIONS), element)
    year = re.search(r"(?:1[5-9]|20)\d\d", text_of(citation.find("year")))
    names = [
        " ".join(filter(None, (text_of(name.find("surname")), text_of(name.find("given-names")))))
        for name in citation.iter()
        if name.tag in ("name", "string-name") and name.find("surname") is not None
    ]
    ids = {str(i.get("pub-id-type")): text_of(i) for i in citation.iter("pub-id")}
    links = [str(link.get(_LINK) or "") for link in citation.iter("ext-link")]
    dois = [m[0] for text in (ids.get("doi", ""), *links, *_comments(citation)) if (m := _DOI.search(text))]
    pmid = ids.get("pmid", "")
    return CitedWork(
        key=key,
        label=text_of(element.find("label")).strip("[]. "),
        doi=dois[0].rstrip(".,;)").lower() if dois else "",
        pmid=pmid if pmid.isascii() and pmid.isdigit() else "",
        year=int(year[0]) if year else None,
        title=text_of(citation.find("article-title")) or text_of(citation.find("source")),
        authors=tuple(names),
        text=text_of(citation)[:2000],
    )


Mark = tuple[int, int, tuple[str, ...]]
"""Start and end of a citation in a text, and the keys of what it cites."""

_TO = re.compile(r"[\])]?\s*[-\u2010-\u2015]\s*[\[(]?")
_FROM_TO = re.compile(r"[\[(]?(\d{1,4})" + _TO.pattern + r"(\d{1,4})[\])]?")


def with_ranges(text: str, marks: Sequence[Mark], references: Sequence[str]) -> list[Mark]:
    """Citations, those of a range ("[2]-[5]", "2-5") in one that cites what is between its ends, too."""
    places = {key: place for place, key in enumerate(references)}
    found: list[Mark] = []
    for mark in marks:
        start, end, keys = mark
        if found and len(keys) == 1 and len(found[-1][2]) == 1 and _TO.fullmatch(text[found[-1][1] : start]):
            start, keys = found[-1][0], (*found[-1][2], *keys)
        ends = _FROM_TO.fullmatch(text[start:end])
        if ends and len(keys) == 2 and places.keys() >= set(keys):
            first, last = places[keys[0]], places[keys[1]]
            if 0 < last - first == int(ends[2]) - int(ends[1]):
                if start != mark[0]:
                    found.pop()
                found.append((start, end, tuple(references[first : last + 1])))
                continue
        found.append(mark)
    return found


_CITATIONS = frozenset({"element-citation", "mixed-citation", "nlm-citation", "citation"})


def _comments(citation: Any) -> list[str]:
    """Where a DOI may stand that is not marked up: in a comment, or after the word."""
    found = [text_of(c) for c in citation.iter("comment")]
    if match := re.search(r"\bdoi:?\s*(10\.\S+)", text_of(citation), re.IGNORECASE):
        found.append(match[1])
    return found


def notices_of(article: Any, ids: tuple[str, ...]) -> tuple[Notice, ...]:
    """What it retracts or corrects, and what retracts or corrects it."""
    found: list[Notice] = []
    for link in article.iter("related-article"):
        known = _NOTICES.get(str(link.get("related-article-type")))
        other = _linked(link)
        if not known or not other:
            continue
        kind, is_notice = known
        found.append(Notice(kind=kind, notice=ids[0] if is_notice else other, of=other if is_notice else ids[0]))
    return tuple(dict.fromkeys(found))


def _linked(link: Any) -> str:
    """The id of the article that a link names; nothing where it names none that is known."""
    href = str(link.get(_LINK) or text_of(link))
    kind = str(link.get("ext-link-type") or "")
    if match := _DOI.search(href):
        return f"doi:{match[0].lower()}"
    if kind == "pmid" or kind == "pubmed":
        return f"pmid:{href}" if href.isascii() and href.isdigit() else ""
    digits = href.upper().removeprefix("PMC")
    return f"pmc:PMC{digits}" if kind in ("pmc", "pmcid") and digits.isascii() and digits.isdigit() else ""
