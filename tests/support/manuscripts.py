"""Manuscripts for tests, made by hand or of a paper that was read."""

from collections.abc import Iterable
from typing import Any

from kgcheck.grounding.manuscript import Block, Manuscript, Marker
from kgcheck.literature.papers import CitedWork, WholePaper


def manuscript(blocks: Iterable[Block], references: Iterable[CitedWork] = (), **more: Any) -> Manuscript:
    return Manuscript(
        name="m.md", format="markdown", sha256="0" * 64, blocks=tuple(blocks), references=tuple(references), **more
    )


def cited(text: str, *keys: str, **more: Any) -> Block:
    """A block of a text in which each ``[]`` becomes a marker of the next key."""
    markers, at = [], 0
    for key in keys:
        at = text.index("[]", at)
        text = f"{text[:at]}[{key}]{text[at + 2 :]}"
        markers.append(Marker(start=at, end=at + len(key) + 2, keys=tuple(key.split(","))))
        at += len(key) + 2
    return Block(**{"section": "results", "text": text, "markers": tuple(markers)} | more)


def manuscript_of(paper: WholePaper) -> Manuscript:
    blocks = [
        Block(
            kind="legend" if paragraph.legend else "paragraph",
            section=section.kind,
            path=section.path,
            text=paragraph.text,
            label=paragraph.legend,
            markers=tuple(Marker(start=m.start, end=m.end, keys=m.references) for m in paragraph.markers),
        )
        for section in paper.sections
        for paragraph in section.paragraphs
    ]
    return manuscript(blocks, paper.references, title=paper.title, ids=paper.ids)
