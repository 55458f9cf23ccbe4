"""Reads a manuscript in plain text, and the text of a PDF."""

import re
from collections.abc import Sequence
from itertools import takewhile

from kgcheck.grounding.manuscript import Block, Table
from kgcheck.grounding.manuscripts.markers import BlockDraft
from kgcheck.grounding.manuscripts.reference_lists import cited_works, joined, split_entries
from kgcheck.grounding.manuscripts.text_layout import HeadingPath, drawn_table, legend_label, parts_of_text
from kgcheck.grounding.manuscripts.written import Written, check_length
from kgcheck.literature.papers import REFERENCES_HEADING, kind_of


def read_text_manuscript(text: str) -> Written:
    """Blocks by empty lines, headings by their form, the list of references by its heading."""
    lines = text.split("\n")
    begin, end = _list_of(lines)
    references = cited_works(split_entries(lines[begin:end]))
    headings = HeadingPath()
    drafts: list[BlockDraft] = []
    tables: list[Table] = []
    title = ""
    first = next((number for number, line in enumerate(lines, 1) if line.strip()), 0)
    for part in parts_of_text([*lines[:begin], *([""] * (end - begin)), *lines[end:]]):
        if rows := drawn_table(part.lines):
            tables.append(Table(rows=rows))
            continue
        shown = joined([line.strip() for line in part.lines])
        check_length(len(shown))
        if not any(c.isalnum() for c in shown):
            continue
        if part.line == first and _is_title(shown):
            # What follows it in the same paragraph are the authors.
            title = joined(line.strip() for line in takewhile(_no_author, part.lines)) or shown
            drafts.append(BlockDraft(Block(kind="heading", text=title, path=(title,), line=part.line)))
            continue
        if part.level:
            headings.begin(part.level, shown)
        label = legend_label(shown)
        drafts.append(
            BlockDraft(
                Block(
                    kind="heading" if part.level else "legend" if label else "paragraph",
                    section=headings.kind,
                    path=headings.path,
                    text=shown,
                    label=label,
                    line=part.line,
                )
            )
        )
    return Written(title, tuple(drafts), references, tuple(tables))


def _is_title(text: str) -> bool:
    return len(text) <= 300 and kind_of(text) == "other" and not text.endswith(".")


def _no_author(line: str) -> bool:
    return not re.search(r"[@;]|\bet al\b|^\d{4}\b", line)


def _list_of(lines: Sequence[str]) -> tuple[int, int]:
    """Where the list of references is, without its heading: up to the next heading that is known."""
    begin = next((n for n in range(len(lines), 0, -1) if REFERENCES_HEADING.match(lines[n - 1].strip())), len(lines))
    for number in range(begin, len(lines)):
        line = lines[number].strip()
        if number > begin and _ends_list(line):
            return begin, number
    return begin, len(lines)


def _ends_list(line: str) -> bool:
    words = line.casefold().rstrip(":")
    return (
        words.startswith(("figure legends", "supporting information", "supplementary", "appendix", "acknowledg"))
        and len(words.split()) <= 4
    )
