"""The sections of a Markdown file as its author wrote them, so that one of them can be replaced and nothing else."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from kgcheck.grounding.manuscripts.pandoc import pandoc_json
from kgcheck.literature.papers import REFERENCES_HEADING, SectionKind, kind_of
from kgcheck.model import Value

_FORM = "commonmark_x+sourcepos"
"""Pandoc's only reader that says where a block stands."""

_ENTRY = re.compile(r" {0,3}(\[?)\d{1,4}(\]|[.)])\s")


class SourceSection(Value):
    """From below a heading to before the next one: lines ``first`` to ``last``, from 1, none where it is empty."""

    heading: str
    level: int
    kind: SectionKind
    listing: bool
    first: int
    last: int
    body: str


def source_sections(text: str, path: Path) -> tuple[SourceSection, ...]:
    """The sections of a Markdown text."""
    lines = text.split("\n")
    places: list[tuple[int, int, int]] = []
    for block in pandoc_json(text.encode(), _FORM, path)["blocks"]:
        if block["t"] != "Header":
            continue
        level, (_, _, attributes), _ = block["c"]
        numbers = [int(n) for n in re.findall(r"(?<!\d)(\d{1,9}):\d", dict(attributes).get("data-pos", ""))]
        if numbers:
            places.append((level, min(numbers), max(numbers)))
    found: list[SourceSection] = []
    above: list[SourceSection] = []
    for place, (level, start, end) in enumerate(places):
        last = places[place + 1][1] - 1 if place + 1 < len(places) else len(lines)
        above = [s for s in above if s.level < level]
        heading = " ".join(lines[start - 1].strip().strip("#").split())
        kind = kind_of(heading)
        if kind == "other":
            kind = next((s.kind for s in reversed(above) if s.kind != "other"), "other")
        listing = bool(REFERENCES_HEADING.match(heading)) or any(s.listing for s in above)
        body = "\n".join(lines[end - 1 : last])
        section = SourceSection(
            heading=heading, level=level, kind=kind, listing=listing, first=end, last=last, body=body
        )
        above.append(section)
        found.append(section)
    return tuple(found)


def with_body(text: str, section: SourceSection, body: str) -> str:
    """A text with another body of a section."""
    lines = text.split("\n")
    return "\n".join([*lines[: section.first - 1], "", *body.strip("\n").split("\n"), "", *lines[section.last :]])


def with_references(text: str, sections: Sequence[SourceSection], entries: Mapping[int, str]) -> str:
    """A text with more entries at the end of its numbered list of references."""
    lines = text.split("\n")
    for section in reversed(sections):
        if not section.listing:
            continue
        numbered = [n for n in range(section.first - 1, section.last) if _ENTRY.match(lines[n])]
        if not numbered:
            continue
        mark = _ENTRY.match(lines[numbered[-1]])
        opening, closing = (mark[1], mark[2]) if mark else ("", ".")
        end = max(n for n in range(numbered[-1], section.last) if lines[n].strip()) + 1
        apart = [""] if any(not line.strip() for line in lines[numbered[0] : end]) or opening == "[" else []
        added = [line for number, entry in entries.items() for line in (*apart, f"{opening}{number}{closing} {entry}")]
        return "\n".join([*lines[:end], *added, *lines[end:]])
    return text


def text_digest(text: str) -> str:
    """By which a text is known again: SHA-256 of it as UTF-8."""
    return hashlib.sha256(text.encode()).hexdigest()
