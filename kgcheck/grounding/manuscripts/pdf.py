"""Reads a manuscript in PDF: its text by headings, and the list of references at its end."""

from pathlib import Path

from kgcheck.errors import InputFormat
from kgcheck.grounding.manuscript import Block
from kgcheck.grounding.manuscripts.markers import BlockDraft
from kgcheck.grounding.manuscripts.reference_lists import cited_works, split_entries
from kgcheck.grounding.manuscripts.written import Written
from kgcheck.literature.documents import Rejected
from kgcheck.literature.pdf import doi_of, pdf_text, reference_lines, sections_of_pages


def read_pdf_manuscript(path: Path) -> Written:
    """The text of a PDF."""
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
