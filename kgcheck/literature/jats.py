"""Parse papers from JATS XML: ids, sections, citations, references, retraction notices.

A file may hold one article or a set of them. Entities, declarations of other files and deep nesting are refused: what
is read are the elements alone.
"""

import io
import re
import zlib
from collections.abc import Collection, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from kgcheck.choices import SectionKind
from kgcheck.errors import InputFormat
from kgcheck.inputs import DEEPEST, LARGEST_DOCUMENT, MIB, Bounded
from kgcheck.literature.documents import Rejected, clean, titled_retracted
from kgcheck.literature.papers import (
    CitationMarker,
    CitedWork,
    Notice,
    NoticeKind,
    Paragraph,
    Section,
    WholePaper,
    kind_of,
)
from kgcheck.providers.paper_service import first_page, last_page


def xml_records(path: Path, kind: str, tags: Collection[str], roots: Collection[str] = ()) -> Iterator[Any]:
    """The elements with one of some tags that stand within no other such one, without namespaces in their tags.

    Each is emptied when the next is asked for. A file that begins with another element than ``roots`` is refused.
    """
    from defusedxml.common import DefusedXmlException
    from defusedxml.ElementTree import ParseError, iterparse

    around: list[Any] = []
    inside: Any = None
    try:
        raw = Bounded(path, lines=False, most=LARGEST_DOCUMENT)
        with io.BufferedReader(raw, MIB) as stream:
            for event, element in iterparse(stream, events=("start", "end")):
                if event == "start":
                    element.tag = element.tag.rpartition("}")[2]
                    if roots and not around and element.tag not in roots:
                        wrong = f"{path} is no {kind}: it begins with <{element.tag}>"
                        raise InputFormat(wrong, "name a file whose root is an article or a set of articles")
                    if inside is None and element.tag in tags:
                        inside = element
                    around.append(element)
                    if len(around) > DEEPEST:
                        deep = f"{path} nests elements deeper than {DEEPEST}"
                        raise InputFormat(deep, "no paper does: get the file again")
                    continue
                around.pop()
                if element is inside:
                    yield element
                    element.clear()
                    raw.mark()
                    inside = None
                if inside is None and len(around) == 1:
                    # Also its place in the set goes: millions of empty ones would stay.
                    around[0].clear()
                    raw.mark()
    except (ParseError, DefusedXmlException, OSError, EOFError, LookupError, ValueError, zlib.error) as error:
        raise InputFormat(f"{path} is not {kind}: {error!r}"[:300], "it may be cut off") from error


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
"""Meaning of a link to another article, and whether the article that has it is the notice."""


def text_of(element: Any) -> str:
    """All words of an element but its notes; none where there is no element."""

    def parts(node: Any) -> Iterator[str]:
        yield node.text or ""
        for child in node:
            noted = child.tag == "xref" and child.get("ref-type") in ("fn", "aff", "corresp")
            if isinstance(child.tag, str) and not noted and child.tag not in ("fn", "tex-math", "graphic"):
                yield from parts(child)
            yield child.tail or ""

    return "" if element is None else clean("".join(parts(element)))


def article_meta(article: Any) -> Any | Rejected:
    """Metadata of an article, or why that is not enough."""
    meta = article.find("front/article-meta")
    if meta is None:
        return Rejected(reason="malformed", detail="the article has no front/article-meta")
    if not ids_of(meta):
        title = text_of(meta.find("title-group/article-title"))
        return Rejected(reason="no_id", detail="the article has no DOI, PMID or PMCID", record=title[:200])
    return meta


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


def person_of(name: Any) -> str:
    """The name of a person, surname first."""
    return " ".join(filter(None, (text_of(name.find("surname")), text_of(name.find("given-names")))))


def years_of(meta: Any) -> tuple[int, ...]:
    """The years in which it came out, online and in print."""
    years = [y for date in meta.findall("pub-date") if (y := text_of(date.find("year"))).isascii() and y.isdigit()]
    return tuple(sorted({int(y[:4]) for y in years}))


def journal_of(article: Any) -> str:
    """The title of its journal."""
    groups = ("journal-title-group/journal-title", "journal-title")
    return next(filter(None, (text_of(article.find(f"front/journal-meta/{name}")) for name in groups)), "")


def licence_of(meta: Any) -> str:
    """The address of the licence where there is one, else its first words."""
    element = next(meta.iter("license"), None)
    if element is None:
        return text_of(next(meta.iter("copyright-statement"), None))[:200]
    links = (element.get(_LINK), *(link.get(_LINK) for link in element.iter("ext-link")))
    found = next((clean(str(link)) for link in links if link and "creativecommons.org" in link), None)
    return text_of(element)[:200] if found is None else found


def reference_of(key: str, element: Any) -> CitedWork:
    """An entry of the list of references."""
    citation = next((c for c in element.iter() if c.tag in _CITATIONS), element)
    year = re.search(r"(?:1[5-9]|20)\d\d", text_of(citation.find("year")))
    named = [n for n in citation.iter() if n.tag in ("name", "string-name") and n.find("surname") is not None]
    ids = {str(i.get("pub-id-type")): text_of(i) for i in citation.iter() if i.tag in ("object-id", "pub-id")}
    # A DOI that is not marked up may stand in a link, a comment, or after the word.
    stated = [ids.get("doi", ""), *(str(link.get(_LINK) or "") for link in citation.iter("ext-link"))]
    stated += map(text_of, citation.iter("comment"))
    stated += re.findall(r"(?i)\bdoi:?\s*(10\.\S+)", text_of(citation))[:1]
    dois = [m[0] for text in stated if (m := _DOI.search(text))]
    pmid = ids.get("pmid", "")
    title, source = text_of(citation.find("article-title")), text_of(citation.find(".//source"))
    volume, issue, first, last, number = (
        text_of(citation.find(f".//{tag}")) for tag in ("volume", "issue", "fpage", "lpage", "elocation-id")
    )
    work = CitedWork(
        key=key,
        label=text_of(element.find("label")).strip("[]. "),
        doi=dois[0].rstrip(".,;)").lower() if dois else "",
        pmid=pmid if pmid.isascii() and pmid.isdigit() else "",
        year=int(year[0]) if year else None,
        title=title or source,
        authors=tuple(map(person_of, named)),
        journal=source if title else "",
        volume=volume,
        issue=issue,
        page=first_page(first or number),
        last_page=last_page(f"{first}-{last}"),
    )
    return work.model_copy(update={"text": _entry_text(citation, work)[:2000]})


_OTHER_PARTS = ("publisher-name", "publisher-loc", "comment")  # parts of an entry that are no field of a work


def _entry_text(citation: Any, work: CitedWork) -> str:
    """The text of an entry; where its parts are only marked up, they are put together as one writes them."""
    if citation.tag == "mixed-citation":
        for surname in citation.iter("surname"):
            surname.tail = surname.tail or " "
        return text_of(citation)
    groups = [text_of(group) for group in citation.iter("collab")]
    pages = "-".join(filter(None, (work.page, work.last_page)))
    place = f"{work.volume}{f'({work.issue})' if work.issue else ''}{f': {pages}' if pages else ''}"
    others = [text_of(part) for part in citation.iter() if part.tag in _OTHER_PARTS]
    parts = [
        ", ".join([*work.authors, *groups]) + (f" ({work.year})" if work.year else ""),
        work.title,
        f"{work.journal} {place}".strip(),
        *others,
        f"doi:{work.doi}" if work.doi else "",
        f"PMID: {work.pmid}" if work.pmid else "",
    ]
    text = " ".join(part if part.endswith((".", "?", "!")) else f"{part}." for part in map(clean, parts) if part)
    # What is marked up in no way that is known stands as it is.
    return text if work.title or work.journal else text_of(citation)


Mark = tuple[int, int, tuple[str, ...]]  # start and end of a citation in a text, and the keys of what it cites
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


def notices_of(article: Any, ids: tuple[str, ...]) -> tuple[Notice, ...]:
    """Return the notices of an article: what it retracts or corrects, and what retracts or corrects it."""
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
    href = str(link.get(_LINK) or text_of(link))
    kind = str(link.get("ext-link-type") or "")
    if match := _DOI.search(href):
        return f"doi:{match[0].lower()}"
    if kind == "pmid" or kind == "pubmed":
        return f"pmid:{href}" if href.isascii() and href.isdigit() else ""
    digits = href.upper().removeprefix("PMC")
    return f"pmc:PMC{digits}" if kind in ("pmc", "pmcid") and digits.isascii() and digits.isdigit() else ""


_ROOTS = frozenset({"article", "pmc-articleset", "articles", "collection", "OAI-PMH"})
_BLOCKS = frozenset(
    (
        "list list-item def-list def-item def disp-quote boxed-text statement verse-group speech fig-group"
        " table-wrap-group app app-group fn-group fn notes ack glossary bio sec-meta"
    ).split()
)
"""Elements that hold paragraphs and are none."""

_LEGENDS = {"fig": "Figure", "table-wrap": "Table", "supplementary-material": "Supplement", "media": "Supplement"}
_SKIPPED = frozenset(
    (
        "tex-math disp-formula disp-formula-group table graphic inline-graphic object-id ref-list preformat"
        " alternatives attrib permissions xref-group title label"
    ).split()
)
"""Elements without running text: formulas set apart, cells, pictures."""

_NAMED = {
    "ack": "Acknowledgments",
    "glossary": "Glossary",
    "app-group": "Appendix",
    "app": "Appendix",
    "notes": "Notes",
}
"""Elements that are sections under another name."""


def read_jats(path: Path) -> Iterator[tuple[str, WholePaper | Rejected]]:
    """The papers of a JATS file."""
    for number, article in enumerate(articles(path), 1):
        yield f"{path}, article {number}", paper_of(article)


def articles(path: Path) -> Iterator[Any]:
    """The elements ``article`` of a JATS file, one at a time."""
    return xml_records(path, "JATS XML", {"article"}, _ROOTS)


def paper_of(article: Any) -> WholePaper | Rejected:
    """A paper from the element ``article``, whose tags have no namespace."""
    meta = article_meta(article)
    if isinstance(meta, Rejected):
        return meta
    ids, title = ids_of(meta), text_of(meta.find("title-group/article-title"))
    references = references_of(article)
    sections = sections_of(article, tuple(r.key for r in references))
    if not any(any(map(str.isalpha, p.text)) for s in sections for p in s.paragraphs):
        return Rejected(reason="no_text", detail="the article has no text, only what is known of it", record=ids[0])
    notices = notices_of(article, ids)
    return WholePaper(
        ids=ids,
        title=title,
        type=clean(str(article.get("article-type") or "")),
        year=min(years_of(meta), default=None),
        journal=journal_of(article),
        licence=licence_of(meta),
        retracted=titled_retracted(title) or any(n.kind == "retraction" and n.of in ids for n in notices),
        sections=sections,
        references=references,
        notices=notices,
    )


def references_of(article: Any) -> tuple[CitedWork, ...]:
    """The list of references of an article."""
    keys = {str(r.get("id")): r for r in article.iter("ref") if r.get("id")}
    return tuple(reference_of(key, element) for key, element in keys.items())


def sections_of(article: Any, references: tuple[str, ...], *, as_written: bool = False) -> tuple[Section, ...]:
    """The sections of an article, the abstract first; summaries for other readers are of the kind ``other``."""
    reader = _SectionReader(references, as_written)
    for abstract in article.findall("front/article-meta/abstract"):
        plain = abstract.get("abstract-type") in (None, "", "abstract", "structured", "section")
        reader.section(abstract, "abstract" if plain else "other", (), "" if plain else "Summary")
    for part in ("body", "back"):
        element = article.find(part)
        if element is not None:
            reader.walk(element)
    return tuple(reader.sections)


class _SectionReader:
    """Collects sections in order."""

    def __init__(self, references: tuple[str, ...], as_written: bool) -> None:
        self._references = references
        self._as_written = as_written
        self.sections: list[Section] = []

    def walk(self, element: Any) -> None:
        """The sections of the body or of what follows it; what stands between them is a section without a heading."""
        for loose, children in groupby(element, lambda child: child.tag != "sec" and child.tag not in _NAMED):
            if not loose:
                for child in children:
                    name = _NAMED.get(child.tag)
                    self.section(child, None if name is None else "other", (), name or "")
            elif paragraphs := [p for child in children for p in self._paragraphs(child)]:
                self.sections.append(Section(kind="other", paragraphs=tuple(paragraphs)))

    def section(self, element: Any, outer: SectionKind | None, around: tuple[str, ...], name: str = "") -> None:
        """A section and those within it, with the kind and the headings of what it stands in; without one, a name."""
        heading = text_of(element.find("title")) or name
        own = kind_of(heading, str(element.get("sec-type") or ""))
        # What stands within methods is methods, whatever its heading; the same for the abstract.
        kind = outer if outer and (outer != "other" or own == "abstract") else own
        path = (*around, heading)
        at = len(self.sections)
        section = Section(kind=kind, heading=heading, level=len(path), path=path)
        self.sections.append(section)
        paragraphs: list[Paragraph] = []
        for child in element:
            if child.tag == "sec":
                self.section(child, kind if kind != "other" or outer else None, path)
            else:
                paragraphs += self._paragraphs(child)
        self.sections[at] = section.model_copy(update={"paragraphs": tuple(paragraphs)})

    def _paragraphs(self, element: Any) -> list[Paragraph]:
        if element.tag in _SKIPPED or not isinstance(element.tag, str):
            return []
        words = RunningText(self._references, self._as_written)
        if element.tag == "p":
            # A paragraph, then what is set apart within it.
            words.take(element)
            return [*words.paragraphs(), *(p for block in words.blocks for p in self._paragraphs(block))]
        if element.tag in _LEGENDS:
            for child in element.findall("caption[1]/*"):
                words.add(" ")
                words.take(child)
            return words.paragraphs(text_of(element.find("label")).rstrip(".") or _LEGENDS[element.tag])
        if element.tag not in _BLOCKS and element.tag != "sec":
            return []
        term = text_of(element.find("term")) if element.tag == "def-item" else ""
        own = [Paragraph(text=term)] if term else []
        return own + [p for child in element for p in self._paragraphs(child)]


_NUMBERS_SET_HIGH = re.compile(r"[-\u2010-\u2015\u2212 ]?\d[\d,;. \u2010-\u2015\u2212-]*")
_HIGH = str.maketrans("0123456789", "\u2070\xb9\xb2\xb3\u2074\u2075\u2076\u2077\u2078\u2079")


def set_high(text: str) -> str:
    """Numbers that are set high, with the digits that are: 10 to the power of 6 is not 106. Other text stays as it is.

    >>> set_high("3,4"), set_high("-6"), set_high("2+")
    ('³,⁴', '⁻⁶', '2+')
    """
    if not _NUMBERS_SET_HIGH.fullmatch(text):
        return text
    return ("\u207b" + text[1:] if text[0] in "-\u2010\u2011\u2012\u2013\u2212" else text).translate(_HIGH)


class RunningText:
    """The running text of an element as it will be kept, with the places of citations in it."""

    def __init__(self, references: tuple[str, ...], as_written: bool = False) -> None:
        self._references = references
        self._as_written = as_written
        self._high: list[tuple[int, int]] = []
        self._text = ""
        self._marks: list[Mark] = []
        self.blocks: list[Any] = []

    def add(self, text: str | None) -> None:
        """Text with single spaces; what is kept is clean, so that the places of citations stay right."""
        if not text:
            return
        cleaned = clean(text)
        before = " " if text[:1].isspace() or not cleaned else ""
        for part in (before, cleaned, " " if text[-1:].isspace() else ""):
            if part != " " or (self._text and not self._text.endswith(" ")):
                self._text += part

    def take(self, element: Any) -> None:
        """All that stands in an element."""
        self.add(element.text)
        for child in element:
            self._child(child)
            self.add(child.tail)

    def _child(self, child: Any) -> None:
        if not isinstance(child.tag, str) or child.tag in _SKIPPED - {"label", "title", "alternatives", "preformat"}:
            self.add(" ")
        elif (child.tag in _LEGENDS and child.tag != "media") or child.tag in _BLOCKS:
            self.add(" ")
            self.blocks.append(child)

        elif child.tag == "xref" and child.get("ref-type") == "bibr":
            start = len(self._text)
            self.take(child)
            keys = str(child.get("rid") or "").split()
            named = tuple(k for k in keys if self._as_written or k in self._references)
            mark = self._text[start:].strip()
            start += self._text[start:].index(mark)
            if named and mark:
                self._marks.append((start, start + len(mark), named))
        elif self._as_written and child.tag == "sup":
            start = len(self._text)
            self.take(child)
            self._high.append((start, len(self._text)))
        else:
            apart = child.tag in ("p", "break", "title")
            self.add(" " if apart else "")
            self.take(child)
            self.add(" " if apart else "")

    def paragraphs(self, legend: str = "") -> list[Paragraph]:
        """The paragraph that was taken; none where that is nothing but signs."""
        text = self._text.rstrip()
        if not any(c.isalnum() for c in text):
            return []
        marks = with_ranges(text, self._marks, self._references)
        for start, end in self._high:
            text = text[:start] + set_high(text[start:end]) + text[end:]
        markers = tuple(CitationMarker(start=a, end=b, references=keys) for a, b, keys in marks)
        return [Paragraph(text=text, legend=legend, markers=markers)]
