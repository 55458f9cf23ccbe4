"""WholePaper: model of a paper in full, with sections, citations, references and notices."""

import re
from collections.abc import Iterable, Iterator
from typing import Any, Literal, NamedTuple

from pydantic import Field, model_validator

from kgcheck.choices import SectionKind
from kgcheck.literature.documents import (
    MAX_CHARACTERS,
    RETRACTED_TYPE,
    Document,
    Rejected,
    clean,
    make_document,
    titled_retracted,
)
from kgcheck.model import Value
from kgcheck.providers.paper_service import PaperRecord

NoticeKind = Literal["retraction", "correction", "concern"]


class CitationMarker(Value):
    """A citation in the text: ``text[start:end]`` of its paragraph is the mark."""

    start: int = Field(ge=0)
    end: int
    references: tuple[str, ...] = Field(min_length=1, description="keys of the references it points to")


class Paragraph(Value):
    """A paragraph, or the legend of a figure, a table or a supplement."""

    text: str = Field(min_length=1)
    legend: str = Field(default="", description="what it is the legend of, e.g. Figure 1; empty for running text")
    markers: tuple[CitationMarker, ...] = ()


class Section(Value):
    """A section without those within it, which follow it.

    ``level`` is 1 for a section of the paper, 2 for one within it, and so on.
    """

    kind: SectionKind
    heading: str = ""
    level: int = Field(default=1, ge=1)
    path: tuple[str, ...] = Field(default=(), description="headings from the outermost section down to this one")
    paragraphs: tuple[Paragraph, ...] = ()


class CitedWork(Value):
    """An entry of the list of references, as far as it is marked up."""

    key: str = Field(description="what citation markers call it")
    label: str = ""
    doi: str = ""
    pmid: str = ""
    year: int | None = None
    title: str = ""
    authors: tuple[str, ...] = ()
    journal: str = ""
    volume: str = ""
    issue: str = ""
    page: str = Field(default="", description="the first one, or the number of the article")
    last_page: str = Field(default="", description="in full: 350 of 345-50")
    text: str = ""


class Notice(Value):
    """Notice that one paper retracts, corrects or warns of another."""

    kind: NoticeKind
    notice: str = Field(default="", description="id of the notice")
    of: str = Field(description="id of the paper that it is about")


class WholePaper(Value):
    """A paper as a whole."""

    ids: tuple[str, ...] = Field(min_length=1)
    title: str = ""
    type: str = Field(default="", description="as the publisher calls it, e.g. research-article")
    year: int | None = None
    journal: str = ""
    licence: str = ""
    retracted: bool = False
    sections: tuple[Section, ...] = ()
    references: tuple[CitedWork, ...] = ()
    citations: tuple[str, ...] = Field(default=(), description="ids of papers that cite it, where they were asked for")
    notices: tuple[Notice, ...] = ()
    recipe: str = ""

    @property
    def id(self) -> str:
        """The id that is shown."""
        return self.ids[0]

    @model_validator(mode="after")
    def _has_text(self) -> "WholePaper":
        if not any(True for _ in _pieces(self)):
            raise ValueError("it has no text")
        return self

    @property
    def retracts(self) -> tuple[str, ...]:
        """Ids of the papers that it retracts, itself among them where a notice of another says so."""
        return tuple(n.of for n in self.notices if n.kind == "retraction")


class Parts(NamedTuple):
    """Parts of a paper in an index: its abstract, and each paragraph for itself."""

    head: Document
    paragraphs: tuple[Document, ...]


def parts_of(paper: WholePaper) -> Parts:
    """A paper as documents that are searched; without an abstract, its first paragraph stands for it."""
    pieces = [*_pieces(paper)]
    abstract = [p for p in pieces if p.section == "abstract"]
    first = _Piece("abstract", "", " ".join(p.text for p in abstract)[:MAX_CHARACTERS]) if abstract else pieces[0]
    head = Document(
        ids=paper.ids,
        title=paper.title,
        abstract=first.text,
        year=paper.year,
        journal=paper.journal,
        types=tuple(filter(None, (paper.type, RETRACTED_TYPE if paper.retracted else ""))),
        # A notice that retracts tells what is withdrawn: it speaks for that no more than the paper does.
        retracted=paper.retracted or bool(set(paper.retracts) - set(paper.ids)),
        recipe=paper.recipe,
        section=first.section,
        heading=first.heading,
    )
    paragraphs = []
    for n, p in enumerate([p for p in pieces if p.section != "abstract"] if abstract else pieces[1:], 1):
        own = {"ids": (f"{paper.id}#{n}",), "abstract": p.text, "section": p.section, "heading": p.heading}
        paragraphs.append(head.model_copy(update={**own, "paragraph": n, "paper": paper.id}))
    return Parts(head, tuple(paragraphs))


class _Piece(NamedTuple):
    section: SectionKind
    heading: str
    text: str


def _pieces(paper: WholePaper) -> Iterator[_Piece]:
    for section in paper.sections:
        for paragraph in section.paragraphs:
            heading = " > ".join((*filter(None, section.path), *filter(None, (paragraph.legend,))))
            for at in range(0, len(paragraph.text), MAX_CHARACTERS):
                text = paragraph.text[at : at + MAX_CHARACTERS].strip()
                if any(c.isalpha() for c in text):
                    yield _Piece(section.kind, heading[:500], text)


REFERENCES_HEADING = re.compile(
    r"^(?:(?:\d+|[IVX]+)\.?\s+)?(?:references?(?: list| cited| and notes)?|bibliography|literature cited|works cited"
    r"|cited (?:literature|works|references))\s*[:.]?$",
    re.IGNORECASE,
)
"""The heading of a list of references."""

_NUMBER = re.compile(r"^\s*(?:\(?\d+(?:\.\d+)*\)?\.?|[IVX]+\.)\s+")
_HEADINGS: tuple[tuple[SectionKind, re.Pattern[str]], ...] = (
    ("abstract", re.compile(r"^abstract\b")),
    ("introduction", re.compile(r"^(?:introduction|intro|background)\b")),
    (
        "methods",
        re.compile(
            r"^(?:(?:materials?|methods?|patients?|subjects?|participants?|animals?|samples?|experimental|design|data|study"
            r"|and|&|,|/|\s)+)?(?:methods?|methodology|experimental (?:procedures?|section|design))\b"
            r"|^(?:materials? and methods?|statistical analys[ei]s|statistical methods?|study design)\b"
        ),
    ),
    ("results", re.compile(r"^(?:main |primary )?(?:results?|findings)\b")),
    ("discussion", re.compile(r"^(?:general )?discussion\b")),
    ("conclusion", re.compile(r"^conclu(?:sions?|ding)\b")),
)
_TYPES: dict[SectionKind, str] = {
    "introduction": "intro introduction background",
    "methods": "materials materials-methods methods subjects",
    "results": "cases results findings",
    "discussion": "discussion",
    "conclusion": "conclusions conclusion",
}
"""Types of sections as JATS names them, by kind."""

_KIND_OF_TYPE = {name: kind for kind, names in _TYPES.items() for name in names.split()}


def kind_of(heading: str, given: str = "") -> SectionKind:
    """Return the kind of section that a heading begins.

    >>> kind_of("2. Patients, Materials and Methods"), kind_of("Results and Discussion"), kind_of("Model", "methods")
    ('methods', 'results', 'methods')
    """
    words = _NUMBER.sub("", clean(heading)).casefold()
    for kind, pattern in _HEADINGS:
        if pattern.search(words):
            return kind
    types = map(str.strip, given.casefold().split("|"))
    return next((_KIND_OF_TYPE[part] for part in types if part in _KIND_OF_TYPE), "other")


def paper_of_record(
    record: PaperRecord, recipe: str, references: Iterable[str] = (), citations: Iterable[str] = ()
) -> WholePaper | Rejected:
    """A paper with its abstract alone."""
    abstract = record.abstract if isinstance(record.abstract, str) else list(record.abstract)
    document = make_document(record._asdict() | {"id": "".join(record.ids[:1]), "abstract": abstract}, recipe)
    if isinstance(document, Rejected):
        return document
    works = []
    for n, name in enumerate(references, 1):
        kind, _, value = name.partition(":")
        own = {kind: value} if kind in ("doi", "pmid") else {}
        works.append(CitedWork(key=str(n), label=str(n), text=name, **own))
    return paper_of_abstract(
        document,
        ids=record.ids,
        licence=record.licence,
        # Not every service has a mark for it.
        retracted=document.retracted or titled_retracted(document.title),
        references=tuple(works),
        citations=tuple(citations),
        recipe=recipe,
    )


def paper_of_abstract(document: Document, **known: Any) -> WholePaper:
    """A document as a paper with its abstract alone, and what else is known of it."""
    fields = {
        "ids": document.ids,
        "title": document.title,
        "type": ", ".join(document.types)[:500],
        "year": document.year,
        "journal": document.journal,
        "retracted": document.retracted,
        "sections": (Section(kind="abstract", path=("",), paragraphs=(Paragraph(text=document.abstract),)),),
        "recipe": document.recipe,
    }
    return WholePaper(**fields | known)
