"""Read a manuscript: Markdown, LaTeX, Word, JATS, PDF or plain text."""

import hashlib
import io
import re
import zipfile
import zlib
from pathlib import Path
from typing import Literal

from kgcheck.errors import AS_UTF8, InputFormat, InputMissing
from kgcheck.grounding.manuscript import Block, Manuscript
from kgcheck.grounding.manuscripts.drafts import BlockDraft, SourceLines, Written
from kgcheck.grounding.manuscripts.jats import read_jats_manuscript
from kgcheck.grounding.manuscripts.markers import with_markers
from kgcheck.grounding.manuscripts.pandoc import pandoc_json
from kgcheck.grounding.manuscripts.pandoc_reader import ENTRY, bibliographies, read_pandoc_document
from kgcheck.grounding.manuscripts.reference_lists import cited_works, split_entries, works_of_csl
from kgcheck.grounding.manuscripts.text import read_text_manuscript
from kgcheck.inputs import MIB, read_bytes, refuse_outside
from kgcheck.literature.documents import Rejected
from kgcheck.literature.papers import CitedWork
from kgcheck.literature.pdf import doi_of, pdf_text, reference_lines, sections_of_pages

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

LARGEST_XML = 64 * MIB
"""Bytes of all its XML parts, unpacked."""

MOST_PARTS = 10_000
_DOCX_TEXT = "word/document.xml"

DEEPEST_INPUT = 8

_INPUT = re.compile(r"(?<!\\)\\(?:input|include|subfile)\s*+\{\s*+([^{}\n]{1,200}+)\s*+\}")
_COMMENT = re.compile(r"(?m)(?<!\\)%[^\n]*")
_LIST_BEGINS = re.compile(r"\\begin\s*\{thebibliography\}(?:\s*\{[^{}\n]{0,100}\})?")
_LIST_ENDS = re.compile(r"\\end\s*\{thebibliography\}")
_ITEM = re.compile(r"\\bibitem\s*(?:\[[^\]]{0,600}\]\s*)?\{([^{}\n]{1,200})\}")
_FILE = re.compile(r"\\(?:bibliography|addbibresource)\s*(?:\[[^\]\n]{0,100}\])?\{")


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
        written = read_pandoc_document(document, SourceLines(text))
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
        return _read_pdf(path)
    if format_ == "docx":
        _check_docx(path, data)
        return read_pandoc_document(pandoc_json(data, "docx+citations", path), SourceLines(""))
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
        whole, keys = _one_text(path, text)
    document = pandoc_json(whole.encode(), _MARKDOWN if format_ == "markdown" else _LATEX, path)
    works = [w for name in bibliographies(document) for w in _bibliography(path, name, bool(keys))]
    written = read_pandoc_document(document, SourceLines(text), works, keys)
    if written.references or not any(m.form == "key" for d in written.drafts for m in d.block.markers):
        return written
    beside = _beside(path)
    return (
        read_pandoc_document(document, SourceLines(text), _bibliography(path, beside.name, False))
        if beside
        else written
    )


def _beside(path: Path) -> Path | None:
    """The list of references beside a manuscript that names none: of its name, or the only one."""
    own = path.with_suffix(".bib")
    found = [own] if own.is_file() else sorted(path.parent.glob("*.bib"))
    return found[0] if len(found) == 1 else None


def _bibliography(path: Path, name: str, listed: bool) -> list[CitedWork]:
    """Read a file of references that the manuscript names; it may be missing where the list is in the text."""
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


def _check_docx(path: Path, data: bytes) -> None:
    """Refuse what is no Word file, or was made to fill the memory."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as file:
            parts = file.infolist()
            if len(parts) > MOST_PARTS:
                raise InputFormat(f"{path} has more than {MOST_PARTS:,} parts", "it may be made to do harm")
            if not any(p.filename == _DOCX_TEXT for p in parts):
                raise InputFormat(f"{path} is no Word file: it has no {_DOCX_TEXT}", "save it as .docx")
            left = LARGEST_XML
            # What a part says of its size may be wrong: it is unpacked, and counted.
            for part in parts:
                with file.open(part) as stream:
                    while left >= 0 and (size := len(stream.read(MIB))):
                        left -= size if part.filename.endswith((".xml", ".rels")) else 0
                if left < 0:
                    raise InputFormat(
                        f"{path} becomes more than {LARGEST_XML // MIB} MiB of XML when it is unpacked",
                        "it may be made to do harm",
                    )
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError, RuntimeError) as error:
        raise InputFormat(f"{path} is no Word file: {error}", "it may be cut off, or asks for a password") from error


def _one_text(path: Path, source: str) -> tuple[str, tuple[str, ...]]:
    """Make a LaTeX manuscript one text for pandoc, which reads no other file and drops the keys of its references.

    The keys are those of its list of references, which becomes a section, in order.
    """
    text = _COMMENT.sub("%", source)
    for _ in range(DEEPEST_INPUT):
        if not _INPUT.search(text):
            break
        text = _with_files(path, text)
    else:
        if _INPUT.search(text):
            raise InputFormat(
                f"{path} puts files into each other deeper than {DEEPEST_INPUT}", "put them into one file"
            )
    made = path.with_suffix(".bbl")
    if not _LIST_BEGINS.search(text) and _FILE.search(text) and made.is_file():
        refuse_outside(path.parent, made)
        text = text.replace("\\end{document}", "") + "\n" + _text_of_file(made)
    keys: list[str] = []

    def entry(match: re.Match[str]) -> str:
        keys.append(" ".join(match[1].split()))
        return f"\n\n{ENTRY}{len(keys) - 1}x "

    text = _LIST_BEGINS.sub(lambda _: "\n\n\\section*{References}\n\n", text)
    text = _ITEM.sub(entry, _LIST_ENDS.sub("\n\n", text).replace("\\newblock", " "))
    return text, tuple(keys)


def _with_files(path: Path, text: str) -> str:
    begin = max(text.find("\\begin{document}"), 0)
    left = LARGEST_TEXT - len(text)

    def content(match: re.Match[str]) -> str:
        nonlocal left
        file = path.parent / match[1].rstrip()
        file = file if file.suffix in (".tex", ".ltx", ".bbl", ".txt") else file.with_name(file.name + ".tex")
        refuse_outside(path.parent, file)
        if not file.is_file():
            if match.start() < begin:
                return ""  # a file of the TeX system, such as a table of characters
            raise InputMissing(
                f"there is no file {file}, which {path.name} puts in", "put the file there, or take the line out"
            )
        inner = _COMMENT.sub("%", _text_of_file(file))
        left -= len(inner)
        if left < 0:
            raise InputFormat(
                f"{path} with what it puts in is larger than {LARGEST_TEXT // MIB} MiB", "give it in parts"
            )
        return inner

    return _INPUT.sub(content, text)


def _text_of_file(file: Path) -> str:
    return read_bytes(file, LARGEST_TEXT).decode("utf-8", "replace")


def _read_pdf(path: Path) -> Written:
    text = pdf_text(path)
    if isinstance(text, Rejected):
        raise InputFormat(f"{path}: {text.detail}", "give its text in another form, as .docx or .txt")
    drafts: list[BlockDraft] = []
    for section in sections_of_pages(text.pages):
        path_ = tuple(filter(None, section.path))
        if section.heading:
            drafts.append(BlockDraft(Block(kind="heading", section=section.kind, path=path_, text=section.heading)))
        drafts += [BlockDraft(Block(section=section.kind, path=path_, text=p.text)) for p in section.paragraphs]
    if not drafts:
        raise InputFormat(f"{path} has no text", "it may be scanned: let a program read its pages, and save the text")
    references = cited_works(split_entries(reference_lines(text.pages)))
    doi = doi_of(text)
    return Written(text.title, tuple(drafts), references, ids=(doi,) if doi else ())
