"""Read a paper from PDF: its text in sections by their headings, its title and its DOI.

A PDF knows neither paragraphs nor references: the text of a section is cut into passages of a few sentences, and the
list of references is left out.
"""

import logging
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from kgcheck.choices import SectionKind
from kgcheck.errors import LET_READ, InputFormat, InputMissing, MissingExtra
from kgcheck.inputs import LARGEST_WHOLE, MIB, sha256_of
from kgcheck.literature.documents import Rejected, clean, sentences
from kgcheck.literature.papers import REFERENCES_HEADING, Paragraph, Section, WholePaper, kind_of

EXTRA = "pdf"

MOST_PAGES = 2_000

_PASSAGE = 1_200  # characters after which a passage ends with its sentence
_LONGEST_HEADING = 60
_DOI = re.compile(r"\b10\.\d{4,9}/[-._;()/:A-Za-z0-9]+")
_BREAK = re.compile(r"(\w)[-\u00ad]\n(?=[a-z])")  # A word that was cut at the end of a line


class PdfText(NamedTuple):
    """The text of a PDF by pages, with the title that it gives itself, and where it may give its DOI."""

    pages: tuple[str, ...]
    title: str = ""
    named: tuple[str, ...] = ()


def read_pdf(path: Path) -> Iterator[tuple[str, WholePaper | Rejected]]:
    """The paper of a PDF file."""
    found = pdf_text(path)
    if isinstance(found, Rejected):
        yield str(path), found
    elif sections := sections_of_pages(found.pages):
        name = doi_of(found) or f"pdf:{sha256_of(path)[:16]}"
        yield str(path), WholePaper(ids=(name,), title=found.title or path.stem, sections=sections)
    else:
        yield str(path), Rejected(reason="no_text", detail="no text: scanned?", record=path.name)


def pdf_text(path: Path) -> PdfText | Rejected:
    """The text of a PDF file."""
    try:
        import pypdf
        from pypdf.errors import PyPdfError
    except ImportError as error:
        raise MissingExtra("reading PDF", EXTRA) from error
    logging.getLogger("pypdf").setLevel(logging.ERROR)
    try:
        size = path.stat().st_size
        if size > LARGEST_WHOLE:
            raise InputFormat(f"{path} is larger than {LARGEST_WHOLE // MIB} MiB", "split it")
        data = path.read_bytes()
    except OSError as error:
        raise InputMissing(f"cannot read {path}: {error.strerror or error}", LET_READ) from error
    if b"%PDF-" not in data[:1024]:
        raise InputFormat(f"{path} is no PDF", "name a PDF, or another form by its own suffix")
    try:
        reader = pypdf.PdfReader(path)
        if reader.is_encrypted:
            return Rejected(reason="encrypted", detail="the PDF asks for a password", record=path.name)
        if len(reader.pages) > MOST_PAGES:
            detail = f"{len(reader.pages):,} pages; at most {MOST_PAGES:,} are read"
            return Rejected(reason="too_long", detail=detail, record=path.name)
        pages = tuple(page.extract_text() for page in reader.pages)
        about = dict(reader.metadata or {})
        title = clean(str(about.get("/Title") or ""))
        named = tuple(str(value) for key, value in about.items() if key.lower() in ("/doi", "/prism:doi", "/subject"))
    except (PyPdfError, ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError, OSError) as error:
        raise InputFormat(f"{path} cannot be read as PDF: {error!r}"[:300], "it may be cut off") from error
    except (OverflowError, ZeroDivisionError, AssertionError, NotImplementedError, MemoryError) as error:
        raise InputFormat(f"{path} cannot be read as PDF: {error!r}"[:300], "it may be made to do harm") from error
    return PdfText(pages, title, named)


def doi_of(text: PdfText) -> str:
    """The DOI that a file gives itself, or the only one of its first page; nothing else: a wrong id is worse."""
    for part in (*text.named, *text.pages[:1]):
        dois = {m.rstrip(".,;)").lower() for m in _DOI.findall(part)}
        if len(dois) == 1:
            return f"doi:{dois.pop()}"
    return ""


def sections_of_pages(pages: Sequence[str]) -> tuple[Section, ...]:
    """The text of pages by headings; what follows the heading of the references is left out."""
    sections: list[tuple[SectionKind, str, list[str]]] = [("other", "", [])]
    for line in _text_and_references(pages)[0]:
        short = len(line) <= _LONGEST_HEADING and len(line.split()) <= 6 and not line.endswith((".", ",", ";"))
        capital = re.sub(r"^[\d.\s]+", "", line)[:1].isupper()
        kind = kind_of(line) if short and capital else "other"
        if kind != "other":
            sections.append((kind, line, []))
        else:
            sections[-1][2].append(line)
    made: list[Section] = []
    for kind, heading, lines in sections:
        paragraphs = tuple(Paragraph(text=text) for text in _passages(_BREAK.sub(r"\1", "\n".join(lines))))
        if paragraphs:
            made.append(Section(kind=kind, heading=heading, path=(heading,), paragraphs=paragraphs))
    return tuple(made)


def reference_lines(pages: Sequence[str]) -> list[str]:
    """The lines after the heading of the references."""
    return _text_and_references(pages)[1]


def _text_and_references(pages: Sequence[str]) -> tuple[list[str], list[str]]:
    lines = [line.strip() for page in pages for line in page.splitlines()]
    at = next((n for n, line in enumerate(lines) if REFERENCES_HEADING.match(line)), len(lines))
    return lines[:at], lines[at + 1 :]


def _passages(text: str) -> Iterator[str]:
    cleaned, start = clean(text), 0
    for _, end in sentences(cleaned):
        if end - start >= _PASSAGE or end == len(cleaned):
            passage = cleaned[start:end].strip()
            if any(c.isalpha() for c in passage):
                yield passage
            start = end
