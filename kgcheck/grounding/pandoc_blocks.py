"""Blocks, tables and the list of references out of pandoc's document."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kgcheck.grounding.inlines import Inlines
from kgcheck.grounding.latex import ENTRY
from kgcheck.grounding.manuscript import Block, BlockKind, Marker, Table
from kgcheck.grounding.markers import Draft
from kgcheck.grounding.reference_lists import Entry, cited_works, labelled, split_entries, works_of_csl
from kgcheck.grounding.source_lines import SourceLines
from kgcheck.grounding.text_layout import HeadingPath, legend_label
from kgcheck.grounding.written import Written
from kgcheck.literature.documents import Span, clean
from kgcheck.literature.papers import REFERENCES_HEADING, CitedWork, kind_of

_LINKED = ("doi:", "pmid:")
_TO = re.compile(r" ?[-\u2010-\u2015]{1,3} ?")
_LONGEST_RANGE = 50
_ENTRY = re.compile(rf"^{ENTRY}(\d+)x\s*")


def written_of(
    document: Mapping[str, Any],
    lines: SourceLines,
    works: Sequence[CitedWork] = (),
    keys: Sequence[str] = (),
) -> Written:
    r"""The parts of a document.

    Args:
        document: As pandoc gives it.
        lines: Where its texts stand.
        works: The list of references, where it is kept in a file of its own.
        keys: Keys of the ``\\bibitem`` entries, in order.

    Returns:
        What it holds. A list within the document counts before that of a file.
    """
    meta, blocks = document.get("meta") or {}, document.get("blocks") or []
    listing = _List(keys)
    listing.read(blocks)
    own = listing.works()
    given = [w for w in works_of_csl(_plain(meta.get("references")) or []) if w.key]
    references = _joined(own, (*given, *works))
    reader = _BlockReader(lines, references)
    title = _words(meta.get("title"))
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


def _linked(drafts: Sequence[Draft]) -> tuple[CitedWork, ...]:
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


def _only_title(drafts: Sequence[Draft]) -> str:
    """The first heading, where it stands before everything and above all others."""
    headings = [d.block for d in drafts if d.block.kind == "heading"]
    if not headings or drafts[0].block is not headings[0] or kind_of(headings[0].text) != "other":
        return ""
    return headings[0].text if sum(1 for h in headings if len(h.path) == 1) == 1 else ""


def _words(value: Any) -> str:
    """Text of a value of the metadata."""
    if not isinstance(value, Mapping):
        return ""
    kind, content = value.get("t"), value.get("c")
    if kind == "MetaString":
        return clean(str(content))
    if kind in ("MetaInlines", "MetaBlocks"):
        text = Inlines({})
        for inlines in [content] if kind == "MetaInlines" else [b["c"] for b in content if b["t"] in ("Para", "Plain")]:
            text.take(inlines)
            text.add(" ")
        return text.text
    return ""


def _plain(value: Any) -> Any:
    """A value of the metadata as lists, mappings and texts."""
    if not isinstance(value, Mapping):
        return None
    kind, content = value.get("t"), value.get("c")
    if kind == "MetaList":
        return [_plain(v) for v in content]
    if kind == "MetaMap":
        return {k: _plain(v) for k, v in content.items()}
    return _words(value)


def bibliographies(document: Mapping[str, Any]) -> tuple[str, ...]:
    """Files that the document names as its lists of references."""
    value = _plain((document.get("meta") or {}).get("bibliography"))
    names = value if isinstance(value, list) else [value]
    return tuple(str(n) for n in names if n)


def _as_heading(block: Mapping[str, Any]) -> tuple[int, Sequence[Any]] | None:
    """A heading, also one that is only a paragraph in bold, or by its words; with its level."""
    if block["t"] == "Header":
        return int(block["c"][0]), block["c"][2]
    if block["t"] not in ("Para", "Plain"):
        return None
    inlines = [i for i in block["c"] if i["t"] not in ("Space", "SoftBreak", "LineBreak")]
    if len(inlines) == 1 and inlines[0]["t"] in ("Strong", "Underline"):
        text = _flat(inlines)
        if 0 < len(text) <= 120 and not text.endswith((".", ",", ";")):
            known = kind_of(text) != "other" or REFERENCES_HEADING.match(text)
            return (2 if known else 6), inlines
        return None
    text = _flat(block["c"]) if len(block["c"]) <= 5 else ""
    known = text and not text.endswith((".", ",", ":")) and kind_of(text) != "other" and len(text.split()) <= 3
    return (2, block["c"]) if known or (text and REFERENCES_HEADING.match(text)) else None


def _flat(inlines: Sequence[Any]) -> str:
    text = Inlines({})
    text.take(inlines)
    return text.text


class _List:
    """Collects the entries of the list of references."""

    def __init__(self, keys: Sequence[str]) -> None:
        self._keys = keys
        self._level: int | None = None
        self._entries: list[Entry] = []
        self._lines: list[str] = []

    def read(self, blocks: Iterable[Any]) -> None:
        """The entries of all sections that are such a list."""
        for block in blocks:
            heading = _as_heading(block)
            if heading:
                level, inlines = heading
                if REFERENCES_HEADING.match(_flat(inlines)):
                    self._level = level
                elif self._level is not None and level <= self._level:
                    self._level = None
                continue
            if block["t"] == "Div":
                identifier, classes = block["c"][0][0], block["c"][0][1]
                if identifier.startswith("ref-") and "csl-entry" in classes:
                    self._entries.append(Entry(_text(block["c"][1]), key=identifier[4:]))
                else:
                    self.read(block["c"][1])
            elif self._level is not None:
                self._block(block)

    def _block(self, block: Mapping[str, Any]) -> None:
        match block["t"]:
            case "OrderedList":
                first = int(block["c"][0][0])
                self._entries += [Entry(_text(item), str(n)) for n, item in enumerate(block["c"][1], first)]
            case "BulletList":
                self._entries += [labelled(_text(item)) for item in block["c"]]
            case "DefinitionList":
                self._entries += [Entry(_text(d[0]), _flat(term).strip("[]")) for term, d in block["c"] if d]
            case "BlockQuote":
                for inner in block["c"]:
                    self._block(inner)
            case "Para" | "Plain" | "LineBlock":
                self._lines += [*_text([block], breaks=True).split("\n"), ""]

    def works(self) -> tuple[CitedWork, ...]:
        """The entries as works."""
        keyed: list[Entry] = []
        rest: list[str] = []
        for line in self._lines:
            match = _ENTRY.match(line)
            if match:
                number = int(match[1])
                keyed.append(Entry(line[match.end() :], key=self._keys[number] if number < len(self._keys) else ""))
            elif keyed and line:
                keyed[-1] = keyed[-1]._replace(text=f"{keyed[-1].text} {line}")
            elif line or rest:
                rest.append(line)
        entries = [*self._entries, *keyed, *(split_entries(rest) if rest else ())]
        return cited_works([e for e in entries if any(map(str.isalpha, e.text))])


def _text(blocks: Iterable[Any], *, breaks: bool = False) -> str:
    """The text of blocks, with the addresses of links that are not shown."""
    text = Inlines({}, breaks=breaks)
    _take_blocks(text, blocks)
    return text.text


def _take_blocks(text: Inlines, blocks: Iterable[Any]) -> None:
    for block in blocks:
        match block["t"]:
            case "Para" | "Plain":
                text.take(block["c"])
                for inline in block["c"]:
                    if (
                        inline["t"] == "Link"
                        and "10." in (target := str(inline["c"][2][0]))
                        and target not in text.text
                    ):
                        text.add(f" {target}")
            case "LineBlock":
                for line in block["c"]:
                    text.take(line)
                    text.take([{"t": "LineBreak"}])
            case "BlockQuote":
                _take_blocks(text, block["c"])
            case "Div":
                _take_blocks(text, block["c"][1])
            case "OrderedList":
                for item in block["c"][1]:
                    _take_blocks(text, item)
            case "BulletList":
                for item in block["c"]:
                    _take_blocks(text, item)
        text.add(" ")


class _BlockReader:
    """Collects blocks and tables in order.

    Args:
        lines: Where texts stand in the file.
        references: The list.
    """

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
        self.drafts: list[Draft] = []
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
            if heading := _as_heading(block):
                self._heading(*heading)
            elif block["t"] == "Div":
                if "csl-entry" not in block["c"][0][1]:
                    self.read(block["c"][1])
            elif self._listing is None:
                self._block(block)

    def _heading(self, level: int, inlines: Sequence[Any]) -> None:
        text = _flat(inlines)
        if self._listing is not None and level > self._listing:
            return
        self._listing = level if REFERENCES_HEADING.match(text) else None
        self._headings.begin(level, text)
        if text:
            self._add("heading", inlines)

    def _block(self, block: Mapping[str, Any]) -> None:
        match block["t"]:
            case "Para" | "Plain":
                self._add("paragraph", block["c"])
            case "LineBlock":
                for line in block["c"]:
                    self._add("paragraph", line)
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
        cells = tuple(tuple(_text(cell[4]) for cell in row[1]) for row in rows)
        words = _text(caption[1] or ())
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
        notes: list[Draft] = []
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
        self.drafts += [Draft(block, barred, tuple(counts)), *notes]

    def _work(self, note: Sequence[Draft]) -> CitedWork | None:
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

    def _note(self, blocks: Iterable[Any], label: str) -> list[Draft]:
        """The paragraphs of a note."""
        made: list[Draft] = []
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
                made.append(Draft(note, tuple(text.barred)))
        return made
