"""Reads whole papers from JATS XML, as PMC, Europe PMC and publishers give them.

A file may hold one article or a set of them. Entities, declarations of other files and deep nesting are refused: what
is read are the elements alone.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from kgcheck.errors import InputFormat
from kgcheck.literature.documents import Rejected, clean, titled_retracted
from kgcheck.literature.jats_links import (
    Mark,
    ids_of,
    licence_of,
    notices_of,
    reference_of,
    text_of,
    with_ranges,
    year_of,
)
from kgcheck.literature.papers import (
    CitationMarker,
    CitedWork,
    Paragraph,
    Section,
    SectionKind,
    WholePaper,
    kind_of,
)
from kgcheck.literature.xml_elements import xml_elements

_ROOTS = frozenset({"article", "pmc-articleset", "articles", "collection", "OAI-PMH"})
_BLOCKS = frozenset(
    {
        "list",
        "list-item",
        "def-list",
        "def-item",
        "def",
        "disp-quote",
        "boxed-text",
        "statement",
        "verse-group",
        "speech",
    }
    | {
        "fig-group",
        "table-wrap-group",
        "app",
        "app-group",
        "fn-group",
        "fn",
        "notes",
        "ack",
        "glossary",
        "bio",
        "sec-meta",
    }
)
"""Elements that hold paragraphs and are none."""

_LEGENDS = {"fig": "Figure", "table-wrap": "Table", "supplementary-material": "Supplement", "media": "Supplement"}
_SKIPPED = frozenset(
    {"tex-math", "disp-formula", "disp-formula-group", "table", "graphic", "inline-graphic", "object-id", "ref-list"}
    | {"preformat", "alternatives", "attrib", "permissions", "xref-group", "title", "label"}
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
    with xml_elements(path, "JATS XML") as elements:

        def start(element: Any) -> None:
            if isinstance(element.tag, str):
                element.tag = element.tag.rpartition("}")[2]
            if not elements.around and element.tag not in _ROOTS:
                raise InputFormat(
                    f"{path} is no JATS XML: it begins with <{element.tag}>",
                    "name a file whose root is an article or a set of articles",
                )

        for element in elements.ends(start):
            if element.tag == "article" and not any(e.tag == "article" for e in elements.around):
                yield element
                element.clear()
                elements.end_record()


def paper_of(article: Any) -> WholePaper | Rejected:
    """A paper from the element ``article``, whose tags have no namespace."""
    meta = article.find("front/article-meta")
    if meta is None:
        return Rejected(reason="malformed", detail="the article has no front/article-meta")
    ids = ids_of(meta)
    title = text_of(meta.find("title-group/article-title"))
    if not ids:
        return Rejected(reason="no_id", detail="the article has no DOI, PMID or PMCID", record=title[:200])
    references = references_of(article)
    sections = sections_of(article, tuple(r.key for r in references))
    if not any(any(map(str.isalpha, p.text)) for s in sections for p in s.paragraphs):
        return Rejected(reason="no_text", detail="the article has no text, only what is known of it", record=ids[0])
    notices = notices_of(article, ids)
    return WholePaper(
        ids=ids,
        title=title,
        type=clean(str(article.get("article-type") or "")),
        year=year_of(meta),
        journal=text_of(article.find("front/journal-meta/journal-title-group/journal-title"))
        or text_of(article.find("front/journal-meta/journal-title")),
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
    """The sections of an article, the abstract first."""
    reader = _SectionReader(references, as_written)
    meta = article.find("front/article-meta")
    if meta is not None:
        reader.abstracts(meta)
    for part in ("body", "back"):
        element = article.find(part)
        if element is not None:
            reader.walk(element)
    return tuple(reader.sections)


class _Within(NamedTuple):
    """Where in the paper the reader is."""

    kind: SectionKind | None
    path: tuple[str, ...]
    level: int


class _SectionReader:
    """Collects sections in order."""

    def __init__(self, references: tuple[str, ...], as_written: bool) -> None:
        self._references = references
        self._as_written = as_written
        self.sections: list[Section] = []

    def abstracts(self, meta: Any) -> None:
        """The abstract; summaries for other readers are sections of the kind ``other``."""
        for abstract in meta.findall("abstract"):
            plain = abstract.get("abstract-type") in (None, "", "abstract", "structured", "section")
            heading = text_of(abstract.find("title")) or ("" if plain else "Summary")
            self._section(abstract, _Within("abstract" if plain else "other", (), 0), heading)

    def walk(self, element: Any) -> None:
        """The sections of the body or of what follows it; what stands between them is a section without a heading."""
        loose: list[Paragraph] = []
        for child in element:
            name = _NAMED.get(child.tag)
            if child.tag != "sec" and name is None:
                loose += self._paragraphs(child)
                continue
            self._unnamed(loose)
            loose = []
            self._section(
                child, _Within(None if name is None else "other", (), 0), text_of(child.find("title")) or name or ""
            )
        self._unnamed(loose)

    def _unnamed(self, paragraphs: list[Paragraph]) -> None:
        if paragraphs:
            self.sections.append(Section(kind="other", paragraphs=tuple(paragraphs)))

    def _section(self, element: Any, place: _Within, heading: str) -> None:
        """A section and those within it."""
        own = kind_of(heading, str(element.get("sec-type") or ""))
        # What stands within methods is methods, whatever its heading; the same for the abstract.
        kind = place.kind if place.kind and (place.kind != "other" or own == "abstract") else own
        path = (*place.path, heading)
        at = len(self.sections)
        section = Section(kind=kind, heading=heading, level=place.level + 1, path=path)
        self.sections.append(section)
        paragraphs: list[Paragraph] = []
        for child in element:
            if child.tag == "sec":
                inner = _Within(kind if kind != "other" or place.kind else None, path, place.level + 1)
                self._section(child, inner, text_of(child.find("title")))
            else:
                paragraphs += self._paragraphs(child)
        self.sections[at] = section.model_copy(update={"paragraphs": tuple(paragraphs)})

    def _paragraphs(self, element: Any) -> list[Paragraph]:
        """The paragraphs within an element that is no section."""
        if element.tag in _SKIPPED or not isinstance(element.tag, str):
            return []
        if element.tag == "p":
            return self._paragraph(element)
        if element.tag in _LEGENDS:
            return self._legend(element)
        if element.tag in _BLOCKS or element.tag == "sec":
            found = [p for child in element for p in self._paragraphs(child)]
            if element.tag == "def-item" and (term := text_of(element.find("term"))):
                found = [Paragraph(text=term), *found]
            return found
        return []

    def _paragraph(self, element: Any) -> list[Paragraph]:
        """A paragraph, then what is set apart within it."""
        words = RunningText(self._references, self._as_written)
        words.take(element)
        own = words.paragraph("")
        return [*([own] if own else []), *(p for block in words.blocks for p in self._paragraphs(block))]

    def _legend(self, element: Any) -> list[Paragraph]:
        words = RunningText(self._references, self._as_written)
        caption = element.find("caption")
        for child in caption if caption is not None else ():
            words.add(" ")
            words.take(child)
        name = text_of(element.find("label")).rstrip(".") or _LEGENDS[element.tag]
        own = words.paragraph(name)
        return [own] if own else []


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
        if text[:1].isspace() or not cleaned:
            self._space()
        self._text += cleaned
        if text[-1:].isspace():
            self._space()

    def _space(self) -> None:
        if self._text and not self._text.endswith(" "):
            self._text += " "

    def take(self, element: Any) -> None:
        """All that stands in an element."""
        self.add(element.text)
        for child in element:
            self._child(child)
            self.add(child.tail)

    def _child(self, child: Any) -> None:
        if not isinstance(child.tag, str) or child.tag in _SKIPPED - {"label", "title", "alternatives", "preformat"}:
            self._space()
        elif (child.tag in _LEGENDS and child.tag != "media") or child.tag in _BLOCKS:
            self._space()
            self.blocks.append(child)
        elif child.tag == "xref" and child.get("ref-type") == "bibr":
            start = len(self._text)
            self.take(child)
            keys = str(child.get("rid") or "").split()
            named = tuple(k for k in keys if self._as_written or k in self._references)
            end = len(self._text.rstrip())
            start += len(self._text[start:end]) - len(self._text[start:end].lstrip())
            if named and end > start:
                self._marks.append((start, end, named))
        elif self._as_written and child.tag == "sup":
            start = len(self._text)
            self.take(child)
            self._high.append((start, len(self._text)))
        else:
            if child.tag in ("p", "break", "title"):
                self._space()
            self.take(child)
            if child.tag in ("p", "break", "title"):
                self._space()

    def paragraph(self, legend: str) -> Paragraph | None:
        """What was taken; None where that is nothing but signs."""
        text = self._text.rstrip()
        if not any(c.isalnum() for c in text):
            return None
        marks = with_ranges(text, self._marks, self._references)
        for start, end in self._high:
            text = text[:start] + set_high(text[start:end]) + text[end:]
        markers = tuple(CitationMarker(start=a, end=b, references=keys) for a, b, keys in marks)
        return Paragraph(text=text, legend=legend, markers=markers)
