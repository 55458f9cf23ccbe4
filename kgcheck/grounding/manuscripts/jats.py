"""Read a manuscript in JATS XML: sections as an index keeps them, with notes, cells and lost citations."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from kgcheck.errors import InputFormat
from kgcheck.grounding.manuscript import Block, Marker, Table
from kgcheck.grounding.manuscripts.drafts import BlockDraft, SourceLines, Written
from kgcheck.grounding.manuscripts.markers import NumberKeys, plain_number
from kgcheck.literature.jats import RunningText, articles, ids_of, references_of, sections_of, text_of
from kgcheck.literature.papers import CitationMarker, Section


def read_jats_manuscript(path: Path, lines: SourceLines) -> Written:
    """Read the one article of a file."""
    found: Written | None = None
    for article in articles(path):
        if found:
            raise InputFormat(f"{path} holds more than one article", "give one file an article")
        found = _written(article, lines)
    if not found:
        raise InputFormat(f"{path} holds no article", "name a file whose root is an article")
    return found


def _written(article: Any, lines: SourceLines) -> Written:
    references = references_of(article)
    keys = tuple(r.key for r in references)
    numbers = NumberKeys(references)
    title = text_of(article.find("front/article-meta/title-group/article-title"))
    meta = article.find("front/article-meta")
    blocks: list[Block] = []
    for section in sections_of(article, keys, as_written=True):
        blocks += _blocks(section, numbers, lines)
    tables: list[Table] = []
    for wrap in article.iter("table-wrap"):
        label = text_of(wrap.find("label")).rstrip(".")
        rows = tuple(
            tuple(text_of(cell) for cell in row if cell.tag in ("td", "th"))
            for table in wrap.iter("table")
            for row in table.iter("tr")
        )
        tables.append(Table(label=label, caption=text_of(wrap.find("caption")), rows=rows))
        for foot in wrap.iter("table-wrap-foot"):
            for note in foot.iter("p"):
                text = RunningText(keys, as_written=True)
                text.take(note)
                if paragraph := text.paragraph(label):
                    markers = _markers(paragraph.text, paragraph.markers, numbers)
                    blocks.append(Block(kind="footnote", text=paragraph.text, label=label, markers=markers))
    ids = ids_of(meta) if meta is not None else ()
    return Written(title, tuple(BlockDraft(b) for b in blocks), references, tuple(tables), ids)


def _blocks(section: Section, numbers: NumberKeys, lines: SourceLines) -> Iterator[Block]:
    path = tuple(filter(None, section.path))
    if section.heading:
        line = lines.find(section.heading)
        yield Block(kind="heading", section=section.kind, path=path, text=section.heading, line=line)
    for paragraph in section.paragraphs:
        yield Block(
            kind="legend" if paragraph.legend else "paragraph",
            section=section.kind,
            path=path,
            text=paragraph.text,
            label=paragraph.legend,
            line=lines.find(paragraph.text),
            markers=_markers(paragraph.text, paragraph.markers, numbers),
        )


def _markers(text: str, markers: Sequence[CitationMarker], numbers: NumberKeys) -> tuple[Marker, ...]:
    """Citations by what a reader sees: a number that the list does not have is none of it, whatever it is linked to."""
    made: list[Marker] = []
    for marker in markers:
        shown = text[marker.start : marker.end].strip("[]() ")
        keys = marker.references
        if len(keys) == 1 and shown.isascii() and shown.isdigit() and plain_number(shown) not in numbers:
            keys = (shown,)
        form = "numeric" if any(map(str.isdecimal, shown[:4])) or not any(map(str.isalpha, shown)) else "author_year"
        made.append(Marker(start=marker.start, end=marker.end, keys=keys, form=form))
    return tuple(made)
