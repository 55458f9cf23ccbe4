"""Blocks, tables and the list of references out of pandoc's document."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kgcheck.grounding.manuscript import Block, BlockKind, Marker, Table
from kgcheck.grounding.manuscripts.inlines import Inlines
from kgcheck.grounding.manuscripts.markers import BlockDraft
from kgcheck.grounding.manuscripts.pandoc_parts import (
    ReferenceSections,
    as_heading,
    flat_text,
    plain_value,
    text_of_blocks,
    words_of,
)
from kgcheck.grounding.manuscripts.reference_lists import Entry, cited_works, works_of_csl
from kgcheck.grounding.manuscripts.source_lines import SourceLines
from kgcheck.grounding.manuscripts.text_layout import HeadingPath, legend_label
from kgcheck.grounding.manuscripts.written import Written
from kgcheck.literature.documents import Span
from kgcheck.literature.papers import REFERENCES_HEADING, CitedWork, kind_of

_LINKED = ("doi:", "pmid:")
_LEGENDS = frozenset({"caption", "figure", "fig", "figcaption", "table-wrap"})
"""Classes of a part of a document in which legends stand."""

_TO = re.compile(r" ?[-\u2010-\u2015]{1,3} ?")
_LONGEST_RANGE = 50


def written_of(
    document: Mapping[str, Any],
    lines: SourceLines,
    works: Sequence[CitedWork] = (),
    keys: Sequence[str] = (),
) -> Written:
    r"""The parts of a document."""
    meta, blocks = document.get("meta") or {}, document.get("blocks") or []
    listing = ReferenceSections(keys)
    listing.read(blocks)
    own = listing.works()
    given = [w for w in works_of_csl(plain_value(meta.get("references")) or []) if w.key]
    references = _joined(own, (*given, *works))
    reader = _BlockReader(lines, references)
    title = words_of(meta.get("title"))
    if abstract := meta.get("abstract"):
        reader.abstract(abstract)
    reader.read(blocks)
    drafts = [*reader.drafts]
    if not references:
        references = (*reader.noted, *_linked(drafts))
    drafts = [d._replace(block=_without_links(d.block, {r.key for r in references})) for d in drafts]
    if not title:
        title = _only_title(drafts)
    return Written(title, tuple(drafts), references, tuple(reader.tables))


def _joined(own: Sequence[CitedWork], given: Sequence[CitedWork]) -> tuple[CitedWork, ...]:
    """The list of the document; what a file says of the same keys is fuller."""
    known = {w.key: w for w in given}
    if own and any(w.key in known for w in own):
        return (*(known.get(w.key, w) for w in own), *(w for w in given if w.key not in {o.key for o in own}))
    if own and given:
        return (*own, *given)
    return tuple(own or known.values())


def _linked(drafts: Sequence[BlockDraft]) -> tuple[CitedWork, ...]:
    """Works that are only linked to: of a text without a list they are its references."""
    names = dict.fromkeys(k for d in drafts for m in d.block.markers for k in m.keys if k.startswith(_LINKED))
    return tuple(
        CitedWork(key=k, doi=k[4:] if k.startswith("doi:") else "", pmid=k[5:] if k.startswith("pmid:") else "", text=k)
        for k in names
    )


def _without_links(block: Block, known: set[str]) -> Block:
    """A link to what the list does not have is a link, as to data, and no citation."""
    kept = tuple(m for m in block.markers if not (m.keys[0].startswith(_LINKED) and m.keys[0] not in known))
    return block if len(kept) == len(block.markers) else block.model_copy(update={"markers": kept})


def _only_title(drafts: Sequence[BlockDraft]) -> str:
    """The first heading, where it stands before everything and above all others."""
    headings = [d.block for d in drafts if d.block.kind == "heading"]
    if not headings or drafts[0].block is not headings[0] or kind_of(headings[0].text) != "other":
        return ""
    return headings[0].text if sum(1 for h in headings if len(h.path) == 1) == 1 else ""


class _BlockReader:
    """Collects blocks and tables in order."""

    def __init__(self, lines: SourceLines, references: Sequence[CitedWork]) -> None:
        self._lines = lines
        self._works = {w.key: w.key for w in references}
        self._works |= {f"ref-{w.key}": w.key for w in references}
        self._works |= {f"doi:{w.doi}": w.key for w in references if w.doi}
        self._works |= {f"pmid:{w.pmid}": w.key for w in references if w.pmid}
        self._places = {w.key: place for place, w in enumerate(references)}
        self._keys = tuple(self._places)
        self._headings = HeadingPath()
        self._listing: int | None = None
        self._running: BlockKind = "paragraph"
        self.drafts: list[BlockDraft] = []
        self.tables: list[Table] = []
        self.noted: list[CitedWork] = []

    def abstract(self, value: Mapping[str, Any]) -> None:
        """The abstract of the metadata."""
        content = value.get("c") or []
        self._headings.begin(1, "Abstract")
        if value.get("t") == "MetaInlines":
            content = [{"t": "Para", "c": content}]
        elif value.get("t") == "MetaString":
            content = [{"t": "Para", "c": [{"t": "Str", "c": content}]}]
        self.read([b for b in content if isinstance(b, Mapping)] if isinstance(content, list) else [])
        self._headings = HeadingPath()

    def read(self, blocks: Iterable[Any]) -> None:
        """Blocks in order, and those within them."""
        for block in blocks:
            if heading := as_heading(block):
                self._heading(*heading)
            elif block["t"] == "Div":
                classes = block["c"][0][1]
                if "csl-entry" not in classes:
                    around, self._running = self._running, "legend" if _LEGENDS & set(classes) else self._running
                    self.read(block["c"][1])
                    self._running = around
            elif self._listing is None:
                self._block(block)

    def _heading(self, level: int, inlines: Sequence[Any]) -> None:
        text = flat_text(inlines)
        if self._listing is not None and level > self._listing:
            return
        self._listing = level if REFERENCES_HEADING.match(text) else None
        self._headings.begin(level, text)
        if text:
            self._add("heading", inlines)

    def _block(self, block: Mapping[str, Any]) -> None:
        match block["t"]:
            case "Para" | "Plain":
                self._add(self._running, block["c"])
            case "LineBlock":
                for line in block["c"]:
                    self._add(self._running, line)
            case "BlockQuote":
                self.read(block["c"])
            case "OrderedList":
                for item in block["c"][1]:
                    self.read(item)
            case "BulletList":
                for item in block["c"]:
                    self.read(item)
            case "DefinitionList":
                for term, definitions in block["c"]:
                    self._add("paragraph", term)
                    for definition in definitions:
                        self.read(definition)
            case "Figure":
                self._legend(block["c"][1], "")
            case "Table":
                self._table(block["c"])

    def _legend(self, caption: Any, label: str) -> None:
        long = caption[1] if isinstance(caption, list) else caption.get("c", [None, []])[1]
        inlines: list[Any] = []
        for block in long or ():
            if block["t"] in ("Para", "Plain"):
                inlines += [*block["c"], {"t": "Space"}]
        if inlines:
            self._add("legend", inlines, label)

    def _table(self, content: Any) -> None:
        caption, head, bodies, foot = content[1], content[3], content[4], content[5]
        rows = [*head[1], *(r for body in bodies for part in (body[2], body[3]) for r in part), *foot[1]]
        cells = tuple(tuple(text_of_blocks(cell[4]) for cell in row[1]) for row in rows)
        words = text_of_blocks(caption[1] or ())
        label = legend_label(words) or f"Table {len(self.tables) + 1}"
        self.tables.append(Table(label=label, caption=words, rows=cells))
        self._legend(caption, label)

    def _add(self, kind: BlockKind, inlines: Sequence[Any], label: str = "") -> None:
        text = Inlines(self._works)
        text.take(inlines)
        shown = text.text
        if not any(c.isalnum() for c in shown):
            return
        if found := legend_label(shown):
            kind, label = ("legend" if kind == "paragraph" else kind), found
        markers = self._with_ranges(shown, [m for m in text.markers if m.end <= len(shown)])
        notes: list[BlockDraft] = []
        counts: list[tuple[Span, int]] = []
        for span, note in text.notes:
            made = self._note(note, label)
            notes += made
            counts.append((span, len(made)))
            if not self._keys and (work := self._work(made)):
                markers.append(Marker(start=span[0], end=span[1], keys=(work.key,), form="footnote"))
        block = Block(
            kind=kind,
            section=self._headings.kind,
            path=self._headings.path,
            text=shown,
            label=label,
            line=self._lines.find(shown),
            markers=tuple(sorted(markers, key=lambda m: m.start)) if kind != "heading" else (),
        )
        barred = (*text.barred, *(span for span, _ in text.notes))
        self.drafts += [BlockDraft(block, barred, tuple(counts)), *notes]

    def _work(self, note: Sequence[BlockDraft]) -> CitedWork | None:
        """The work that a note names, in a text that has no list of references."""
        (work,) = cited_works([Entry(" ".join(d.block.text for d in note), key=f"note {len(self.noted) + 1}")])
        if not (work.doi or work.pmid or (work.title and work.year)):
            return None
        self.noted.append(work)
        return work

    def _with_ranges(self, text: str, markers: Iterable[Marker]) -> list[Marker]:
        """Citations, two that a dash joins as one, which cites what the list has between them, too."""
        found: list[Marker] = []
        for marker in markers:
            before = found[-1] if found else None
            if before and _TO.fullmatch(text, before.end, marker.start):
                first, last = self._places.get(before.keys[-1]), self._places.get(marker.keys[0])
                if first is not None and last is not None and 0 < last - first <= _LONGEST_RANGE:
                    keys = (*before.keys, *self._keys[first + 1 : last], *marker.keys)
                    found[-1] = before.model_copy(update={"end": marker.end, "keys": keys})
                    continue
            found.append(marker)
        return found

    def _note(self, blocks: Iterable[Any], label: str) -> list[BlockDraft]:
        """The paragraphs of a note."""
        made: list[BlockDraft] = []
        for block in blocks:
            if block["t"] not in ("Para", "Plain"):
                continue
            text = Inlines(self._works)
            text.take(block["c"])
            if any(c.isalnum() for c in text.text):
                note = Block(
                    kind="footnote",
                    section=self._headings.kind,
                    path=self._headings.path,
                    text=text.text,
                    label=label,
                    line=self._lines.find(text.text, aside=True),
                    markers=tuple(self._with_ranges(text.text, text.markers)),
                )
                made.append(BlockDraft(note, tuple(text.barred)))
        return made
