"""Reads a manuscript: Markdown, LaTeX, Word, JATS, PDF or plain text."""

import hashlib
import re
from pathlib import Path
from typing import Literal

from kgcheck.errors import AS_UTF8, InputFormat
from kgcheck.grounding.manuscript import Manuscript
from kgcheck.grounding.manuscripts.docx import check_docx
from kgcheck.grounding.manuscripts.jats import read_jats_manuscript
from kgcheck.grounding.manuscripts.latex import one_text
from kgcheck.grounding.manuscripts.markers import with_markers
from kgcheck.grounding.manuscripts.pandoc import pandoc_json
from kgcheck.grounding.manuscripts.pandoc_blocks import written_of
from kgcheck.grounding.manuscripts.pandoc_parts import bibliographies
from kgcheck.grounding.manuscripts.pdf import read_pdf_manuscript
from kgcheck.grounding.manuscripts.reference_lists import works_of_csl
from kgcheck.grounding.manuscripts.source_lines import SourceLines
from kgcheck.grounding.manuscripts.text import read_text_manuscript
from kgcheck.grounding.manuscripts.written import Written
from kgcheck.inputs import MIB, read_bytes, refuse_outside
from kgcheck.literature.papers import CitedWork

Format = Literal["markdown", "latex", "docx", "jats", "pdf", "text"]

LARGEST_TEXT = 16 * MIB
LARGEST_PACKED = 64 * MIB

MOST_CITATIONS = 2_000
"""Keys of citations of a text that stands in no file: each may get a remark, and 20 characters can cite 100 works."""

MOST_NUMBERS = 300
"""Numbers in the sentences of such a text: each is compared with what others have in its place."""

_SUFFIXES: dict[str, Format] = {
    ".md": "markdown", ".markdown": "markdown", ".rmd": "markdown", ".qmd": "markdown", ".tex": "latex",
    ".ltx": "latex", ".latex": "latex", ".docx": "docx", ".xml": "jats", ".nxml": "jats", ".jats": "jats",
    ".pdf": "pdf", ".txt": "text", ".text": "text",
}  # fmt: skip
_LISTS = {
    ".bib": "biblatex",
    ".bibtex": "bibtex",
    ".json": "csljson",
    ".ris": "ris",
    ".yaml": "markdown",
    ".yml": "markdown",
}
_LATEX = "latex-smart"
_MARKDOWN = "markdown-smart+autolink_bare_uris"


def read_manuscript(path: Path, data: bytes | None = None) -> Manuscript:
    """Read a manuscript."""
    if data is None:
        data = read_bytes(path, LARGEST_PACKED)
    format_ = _format_of(path, data)
    written = _written(path, data, format_)
    return _manuscript(str(path), format_, data, written)


def read_given(text: str, form: Literal["markdown", "text"]) -> Manuscript:
    """Read a text that stands in no file: nothing beside it is read, whatever it names."""
    given = Path("what was given")
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        raise InputFormat(
            f"{given} holds half of a character: {error.reason} at character {error.start}", "write the whole character"
        ) from error
    text = _decoded(given, data)
    if form == "text":
        written = read_text_manuscript(text)
    else:
        document = pandoc_json(text.encode(), _MARKDOWN, given)
        if bibliographies(document):
            raise InputFormat(f"{given} names a file with its references", "put the list of references into the text")
        written = written_of(document, SourceLines(text))
    manuscript = _manuscript(str(given), form, data, written)
    if sum(len(m.keys) for b in manuscript.blocks for m in b.markers) > MOST_CITATIONS:
        raise InputFormat(f"{given} has more than {MOST_CITATIONS:,} citations", "give less of it at a time")
    if sum(len(re.findall(r"\d+", s.text)) for s in manuscript.sentences) > MOST_NUMBERS:
        raise InputFormat(f"{given} has more than {MOST_NUMBERS} numbers", "give less of it at a time")
    return manuscript


def _manuscript(name: str, format_: Format, data: bytes, written: Written) -> Manuscript:
    blocks = with_markers(written.drafts, written.references)
    if not any(b.kind != "heading" for b in blocks):
        raise InputFormat(f"{name} has no text", "give a manuscript with sentences")
    return Manuscript(
        name=name,
        format=format_,
        sha256=hashlib.sha256(data).hexdigest(),
        title=written.title,
        ids=written.ids,
        blocks=blocks,
        references=written.references,
        tables=written.tables,
    )


def _written(path: Path, data: bytes, format_: Format) -> Written:
    if format_ == "pdf":
        return read_pdf_manuscript(path)
    if format_ == "docx":
        check_docx(path, data)
        return written_of(pandoc_json(data, "docx+citations", path), SourceLines(""))
    if len(data) > LARGEST_TEXT:
        raise InputFormat(f"{path} is larger than {LARGEST_TEXT // MIB} MiB", "give a manuscript, not a collection")
    text = _decoded(path, data)
    if format_ == "text":
        return read_text_manuscript(text)
    if format_ == "jats":
        return read_jats_manuscript(path, SourceLines(text, markup=True))
    keys: tuple[str, ...] = ()
    whole = text
    if format_ == "latex":
        whole, keys = one_text(path, text, LARGEST_TEXT)
    document = pandoc_json(whole.encode(), _MARKDOWN if format_ == "markdown" else _LATEX, path)
    works = [w for name in bibliographies(document) for w in _bibliography(path, name, bool(keys))]
    written = written_of(document, SourceLines(text), works, keys)
    if written.references or not any(m.form == "key" for d in written.drafts for m in d.block.markers):
        return written
    beside = _beside(path)
    return written_of(document, SourceLines(text), _bibliography(path, beside.name, False)) if beside else written


def _beside(path: Path) -> Path | None:
    """The list of references beside a manuscript that names none: of its name, or the only one."""
    own = path.with_suffix(".bib")
    found = [own] if own.is_file() else sorted(path.parent.glob("*.bib"))
    return found[0] if len(found) == 1 else None


def _bibliography(path: Path, name: str, listed: bool) -> list[CitedWork]:
    """The works of a file that the manuscript names; it may be missing where the list is in the text."""
    file = path.parent / name
    if file.suffix not in _LISTS:
        file = file.with_name(file.name + ".bib")
    refuse_outside(path.parent, file)
    if listed and not file.is_file():
        return []
    return [*works_of_csl(pandoc_json(read_bytes(file, LARGEST_TEXT), _LISTS[file.suffix], file, "csljson"))]


def _format_of(path: Path, data: bytes) -> Format:
    if not data.strip():
        raise InputFormat(f"{path} is empty", "give a manuscript with sentences")
    known = _SUFFIXES.get(path.suffix.lower())
    seen = _seen(data)
    if known is None and seen is None:
        shown = f"the ending {path.suffix} is not known" if path.suffix else "it has no ending"
        raise InputFormat(f"{path}: its format cannot be seen: {shown}", f"known: {', '.join(_SUFFIXES)}")
    if known in (None, seen) or seen is None:
        return known or seen or "text"
    raise InputFormat(f"{path} is {seen} by its first bytes, and {known} by its name", "give it its own ending")


def _seen(data: bytes) -> Format | None:
    head = data[:4096].lstrip(b"\xef\xbb\xbf \r\n\t")
    if b"%PDF-" in head[:1024]:
        return "pdf"
    if head.startswith(b"PK\x03\x04"):
        return "docx"
    if re.match(rb"<\?xml|<!DOCTYPE article|<article[\s>]", head):
        return "jats"
    return "latex" if re.search(rb"\\documentclass\b", head) else None


def _decoded(path: Path, data: bytes) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputFormat(f"{path} is not UTF-8 text: {error.reason} at byte {error.start}", AS_UTF8) from error
    if "\0" in text:
        raise InputFormat(
            f"{path} is binary, not text", "name a manuscript as Markdown, LaTeX, docx, JATS, PDF or plain text"
        )
    return text.replace("\r\n", "\n").replace("\r", "\n")
