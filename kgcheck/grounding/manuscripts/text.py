"""Parse a plain-text manuscript into headings, paragraphs, tables and the list of references."""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise, takewhile

from kgcheck.choices import SectionKind
from kgcheck.grounding.manuscript import Block, BlockKind, Table, Written, check_length
from kgcheck.grounding.manuscripts.reference_lists import cited_works, joined, split_entries
from kgcheck.literature.papers import REFERENCES_HEADING, kind_of

_LONGEST_HEADING = 100
_NUMBERED = re.compile(r"^(\d{1,2}(?:\.\d{1,2}){0,3})\.?\s+[^\W\d_]")
_LEGEND = re.compile(
    r"^((?:Supplementary |Extended Data )?(?:Fig(?:ure)?s?\.?|Tables?|Movie|Video|Scheme|Box) ?S?\d{1,3}[A-Za-z]?)"
    r"[.:|]\s"
)

_AUTHORS = re.compile(r"[@;]|\bet al\b|^\d{4}\b")
_RULE = re.compile(r"(?=[ +|:=-]*?(?:-{3}|={3}))[ +|:=-]+")
_COLUMN = re.compile(r"[-=:]+")


class HeadingPath:
    """The headings around a place, and the kind of section that they make."""

    def __init__(self) -> None:
        self._open: list[tuple[int, str, SectionKind]] = []

    def begin(self, level: int, heading: str) -> None:
        """A section begins; those of its level and deeper end."""
        while self._open and self._open[-1][0] >= level:
            self._open.pop()
        around = "other" if REFERENCES_HEADING.match(heading) else self.kind
        # What stands within methods is methods, whatever its heading.
        self._open.append((level, heading, around if around != "other" else kind_of(heading)))

    @property
    def kind(self) -> SectionKind:
        return self._open[-1][2] if self._open else "other"

    @property
    def path(self) -> tuple[str, ...]:
        """The headings from the outermost."""
        return tuple(heading for _, heading, _ in self._open)


def _parts_of_text(lines: Sequence[str]) -> Iterator[tuple[int, list[str], int]]:
    """The parts of a text between empty lines: the line of each, its lines, and the level of a heading, else 0."""
    for there, numbered in groupby(enumerate(lines, 1), key=lambda line: bool(line[1].strip())):
        if not there:
            continue
        numbers, part = zip(*numbered, strict=True)
        first = part[0].strip()
        level = _heading_level(first)
        # A heading is a line of its own, or one that is known at the top of its paragraph.
        if not level or (kind_of(first) == "other" and len(part) > 1):
            yield numbers[0], list(part), 0
            continue
        yield numbers[0], [first], level
        if len(part) > 1:
            yield numbers[1], list(part[1:]), 0


def _heading_level(line: str) -> int:
    """Level of a line as a heading; 0 where it is none."""
    if len(line) > _LONGEST_HEADING or line.endswith((",", ";", ".", ":", "?")) or not any(map(str.isalpha, line)):
        return 0
    if _LEGEND.match(line) or line.startswith(("[", "-", "*", "\u2022", "http")) or len(line.split()) > 14:
        return 0
    if numbered := _NUMBERED.match(line):
        return 1 + numbered[1].count(".")
    words = re.sub(r"^\W+", "", line)
    if not words[:1].isupper() or re.search(r"[.;] ", line):
        return 0
    return 1 if kind_of(line) != "other" or REFERENCES_HEADING.match(line) else 2


def legend_label(text: str) -> str:
    """Label of a legend, e.g. ``Figure 1``; nothing where a text is none."""
    match = _LEGEND.match(text)
    return match[1].rstrip(".") if match else ""


def _drawn_table(lines: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """The rows of a table that is drawn by lines of dashes; none where the lines are no table.

    >>> _drawn_table(["  Group   Mice", "  ------- -----", "  A       12", "  B b     14"])
    (('Group', 'Mice'), ('A', '12'), ('B b', '14'))
    """
    ruled = [line for line in lines if _RULE.fullmatch(line)]
    if not ruled or len(ruled) == len(lines):
        return ()
    columns = [match.start() for match in _COLUMN.finditer(max(ruled, key=len))]
    rows = []
    for line in lines:
        if _RULE.fullmatch(line):
            continue
        cells = line.split("|") if "|" in line else [line[a:b] for a, b in pairwise([*columns, len(line)]) if a < b]
        rows.append(tuple(cell.strip() for cell in cells if cell.strip()))
    return tuple(row for row in rows if row)


def read_text_manuscript(text: str) -> Written:
    """Blocks by empty lines, headings by their form, the list of references by its heading."""
    lines = text.split("\n")
    # The list of references, without its heading, goes up to the next heading that is known.
    begin = next((n for n in range(len(lines), 0, -1) if REFERENCES_HEADING.match(lines[n - 1].strip())), len(lines))
    end = next((n for n in range(begin + 1, len(lines)) if _ends_list(lines[n].strip())), len(lines))
    references = cited_works(split_entries(lines[begin:end]))
    headings = HeadingPath()
    blocks: list[Block] = []
    tables: list[Table] = []
    title = ""
    first = next((number for number, line in enumerate(lines, 1) if line.strip()), 0)
    for number, part, level in _parts_of_text([*lines[:begin], *([""] * (end - begin)), *lines[end:]]):
        if rows := _drawn_table(part):
            tables.append(Table(rows=rows))
            continue
        shown = joined([line.strip() for line in part])
        check_length(len(shown))
        if not any(c.isalnum() for c in shown):
            continue
        is_title = len(shown) <= 300 and kind_of(shown) == "other" and not shown.endswith(".")
        if number == first and is_title:
            # What follows it in the same paragraph are the authors.
            title = joined(line.strip() for line in takewhile(lambda line: not _AUTHORS.search(line), part)) or shown
            blocks.append(Block(kind="heading", text=title, path=(title,), line=number))
            continue
        if level:
            headings.begin(level, shown)
        label = legend_label(shown)
        kind: BlockKind = "heading" if level else "legend" if label else "paragraph"
        place = {"section": headings.kind, "path": headings.path, "line": number}
        blocks.append(Block(kind=kind, text=shown, label=label, **place))
    return Written(title, tuple(blocks), references, tuple(tables))


def _ends_list(line: str) -> bool:
    words = line.casefold().rstrip(":")
    begins = ("figure legends", "supporting information", "supplementary", "appendix", "acknowledg")
    return words.startswith(begins) and len(words.split()) <= 4
