"""Read a manuscript: Markdown, LaTeX, Word, JATS, PDF or plain text."""

import hashlib
import io
import re
import unicodedata
import zipfile
import zlib
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple
from urllib.parse import unquote

from kgcheck.choices import SectionKind
from kgcheck.errors import AS_UTF8, InputFormat, InputMissing
from kgcheck.grounding.manuscript import Block, BlockKind, Format, Manuscript, Marker, Table, Written, check_length
from kgcheck.grounding.manuscripts.markers import NumberKeys, plain_number, with_markers
from kgcheck.grounding.manuscripts.pandoc import pandoc_json
from kgcheck.grounding.manuscripts.reference_lists import Entry, cited_works, labelled, split_entries, works_of_csl
from kgcheck.grounding.manuscripts.text import HeadingPath, legend_label, read_text_manuscript
from kgcheck.inputs import MIB, read_bytes, refuse_outside
from kgcheck.literature.documents import Rejected, Span, clean
from kgcheck.literature.jats import RunningText, articles, ids_of, references_of, sections_of, set_high, text_of
from kgcheck.literature.papers import REFERENCES_HEADING, CitationMarker, CitedWork, Section, kind_of
from kgcheck.literature.pdf import doi_of, pdf_text, reference_lines, sections_of_pages

_NO_LETTERS = re.compile(r"[\W_]+")
_TAG = re.compile(r"<[^<>\n]{0,400}>")
_AHEAD = 400_000  # letters after the last place that are looked through
_PROBES = ((0, 48), (0, 24), (24, 48), (60, 90))  # parts of a text that are looked for: markup may stand in the first
_SHORT = 24
# A heading is a word that stands in the text, too: it is looked for nearby, and nothing is looked for after it.
_AHEAD_OF_SHORT = 3_000


class SourceLines:
    """Letters of a file, in which texts are found one after the other, by their letters and digits."""

    def __init__(self, source: str, *, markup: bool = False) -> None:
        letters: list[str] = []
        self._begins: list[int] = []
        at = 0
        for line in source.split("\n"):
            self._begins.append(at)
            kept = _letters(_TAG.sub("", line) if markup else line)
            letters.append(kept)
            at += len(kept)
        self._letters = "".join(letters)
        self._at = 0

    def find(self, text: str, *, aside: bool = False) -> int | None:
        """The line on which a text begins."""
        wanted = _letters(text)
        short = len(wanted) < _SHORT
        last = self._at + (_AHEAD_OF_SHORT if short else _AHEAD)
        for start, end in _PROBES:
            probe = wanted[start:end]
            place = self._letters.find(probe, self._at, last) if probe and (short or len(probe) >= _SHORT) else -1
            if place >= 0:
                begin = max(place - start, self._at)
                if not (aside or short):
                    # Not quite to its end: marks of citations may be longer in the text than in the file.
                    self._at = begin + len(wanted) * 4 // 5
                return bisect_right(self._begins, begin)
        return None


def _letters(text: str) -> str:
    # Numbers that are set high are plain ones in the file.
    return _NO_LETTERS.sub("", unicodedata.normalize("NFKC", text)).casefold()


def _read_jats(path: Path, lines: SourceLines) -> Written:
    """Read the one article of a file."""
    found: Written | None = None
    for article in articles(path):
        if found:
            raise InputFormat(f"{path} holds more than one article", "give one file an article")
        found = _written_article(article, lines)
    if not found:
        raise InputFormat(f"{path} holds no article", "name a file whose root is an article")
    return found


def _written_article(article: Any, lines: SourceLines) -> Written:
    references, meta = references_of(article), article.find("front/article-meta")
    keys, numbers = tuple(r.key for r in references), NumberKeys(references)
    sections = sections_of(article, keys, as_written=True)
    blocks = [block for section in sections for block in _blocks(section, numbers, lines)]
    tables: list[Table] = []
    for wrap in article.iter("table-wrap"):
        label = text_of(wrap.find("label")).rstrip(".")
        rows = [row for table in wrap.iter("table") for row in table.iter("tr")]
        cells = tuple(tuple(text_of(cell) for cell in row if cell.tag in ("td", "th")) for row in rows)
        tables.append(Table(label=label, caption=text_of(wrap.find("caption")), rows=cells))
        for note in (note for foot in wrap.iter("table-wrap-foot") for note in foot.iter("p")):
            text = RunningText(keys, as_written=True)
            text.take(note)
            for paragraph in text.paragraphs(label):
                markers = _markers(paragraph.text, paragraph.markers, numbers)
                blocks.append(Block(kind="footnote", text=paragraph.text, label=label, markers=markers))
    title = text_of(article.find("front/article-meta/title-group/article-title"))
    return Written(title, tuple(blocks), references, tuple(tables), ids_of(meta) if meta is not None else ())


def _blocks(section: Section, numbers: NumberKeys, lines: SourceLines) -> Iterator[Block]:
    place = {"section": section.kind, "path": tuple(filter(None, section.path))}
    if section.heading:
        yield Block(kind="heading", text=section.heading, line=lines.find(section.heading), **place)
    for paragraph in section.paragraphs:
        yield Block(
            kind="legend" if paragraph.legend else "paragraph",
            text=paragraph.text,
            label=paragraph.legend,
            line=lines.find(paragraph.text),
            markers=_markers(paragraph.text, paragraph.markers, numbers),
            **place,
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


_ENTRY = "kgcheckentry"  # begins the paragraph of an entry of LaTeX, with its number
_ENTRY_MARK = re.compile(rf"^{_ENTRY}(\d+)x\s*")
_ESCAPED = re.compile(r"\\([\[\]()<>_*#!~^`{}.+|\\-])")
_DOI_LINK = re.compile(r"^(?:https?://(?:dx\.)?doi\.org/|doi:)(10\.\d{4,9}/\S+)$", re.IGNORECASE)
_PUBMED_LINK = re.compile(
    r"^https?://(?:www\.)?(?:pubmed\.ncbi\.nlm\.nih\.gov|ncbi\.nlm\.nih\.gov/pubmed)/(\d{1,9})/?$"
)
_NUMBERS = re.compile(r"[\d,;\s\u2010-\u2015-]{1,200}")
_ANCHOR = re.compile(r"^#(?:ref|cite|cit|bib)[-_.:]?(.+)$", re.IGNORECASE)
_CITE = re.compile(r"\\[a-zA-Z]*cite[a-zA-Z]*\*?(?:\[[^\]]{0,200}\]){0,2}\{([^{}]{1,1000})\}")
_QUOTES = {"SingleQuote": ("\u2018", "\u2019"), "DoubleQuote": ("\u201c", "\u201d")}


class _Inlines:
    """Text that is taken in, cleaned, so that the places of citations stay right."""

    def __init__(self, works: Mapping[str, str], *, breaks: bool = False) -> None:
        self._works, self._breaks = works, breaks
        self._text = ""
        self._raised: int | None = None
        self.markers: list[Marker] = []
        self.barred: list[Span] = []
        self.notes: list[tuple[Span, Any]] = []

    @property
    def text(self) -> str:
        return self._text.rstrip()

    def add(self, text: str) -> None:
        """Text of a document; white space becomes one space."""
        cleaned = clean(text)
        if cleaned:
            if text[:1].isspace():
                self._space()
            self._text += cleaned
            check_length(len(self._text))
        if text[-1:].isspace():
            self._space()

    def _space(self) -> None:
        if self._text and not self._text[-1].isspace():
            self._text += " "

    def _break(self) -> None:
        if self._breaks:
            self._text = self._text.rstrip() + "\n"
        else:
            self._space()

    def take(self, elements: Sequence[Any]) -> None:
        """The elements of a list."""
        for element in elements:
            self._take_one(element.get("t"), element.get("c"))

    def _take_one(self, kind: str, content: Any) -> None:
        start = len(self._text)
        match kind:
            case "Str":
                self.add(content)
            case "Space":
                self._space()
            case "SoftBreak" | "LineBreak":
                self._break()
            case "Emph" | "Strong" | "Underline" | "SmallCaps" | "Subscript":
                self.take(content)
            case "Superscript":
                self.take(content)
                self._raise(start)
            case "Quoted":
                opening, closing = _QUOTES.get(content[0]["t"], ('"', '"'))
                self._text += opening
                self.take(content[1])
                self._text = self._text.rstrip(" ") + closing
            case "Cite":
                self._cite(content)
            case "Code":
                self.add(content[1])
                self.barred.append((start, len(self._text)))
            case "Math":
                self._formula(content[1], inline=content[0]["t"] == "InlineMath")
            case "Link":
                self._link(content)
            case "Span":
                self.take(content[1])
            case "Note":
                start = len(self.text)
                self._text = self.text + set_high(str(len(self.notes) + 1))
                self.notes.append(((start, len(self._text)), content))
            case "RawInline":
                self._raw(content[1])

    def _formula(self, source: str, *, inline: bool) -> None:
        start = len(self._text)
        self.add(_plain_math(source) if inline else " ")
        # What is cited by a formula is a number that is set high and nothing else.
        if inline and not re.fullmatch(r"\s*\{?\}?\^\{?[\d,\s-]++\}?\s*", source):
            self.barred.append((start, len(self._text)))

    def _raise(self, start: int) -> None:
        self._text = self._text[:start] + set_high(self._text[start:])

    def _mark(self, start: int, keys: Sequence[str]) -> None:
        keys = tuple(dict.fromkeys(filter(None, keys)))
        if len(self.text) > start and keys:
            self.markers.append(Marker(start=start, end=len(self.text), keys=keys, form="key"))

    def _cite(self, content: Any) -> None:
        start = len(self._text)
        self.take([{"t": "Str", "c": e["c"][1]} if e.get("t") == "RawInline" else e for e in content[1]])
        keys = [clean(str(c["citationId"])) for c in content[0]]
        if len(self.text) <= start:
            self.add("[" + "; ".join(keys) + "]")
        # Pandoc takes every @word for a citation: one that no list has is a name, as of a service or a person.
        self._mark(len(self._text) - len(self._text[start:].lstrip()), keys)

    def _link(self, content: Any) -> None:
        start = len(self._text)
        inlines, target = content[1], str(content[2][0])
        if "uri" in content[0][1]:
            # Within an address that stands by itself pandoc leaves the escapes of Markdown as they are.
            target = _ESCAPED.sub(r"\1", target)
            inlines = [{**e, "c": _ESCAPED.sub(r"\1", str(e["c"]))} for e in inlines]
        self.take(inlines)
        shown = self._text[start:]
        if "%20" in target and _NUMBERS.fullmatch(shown):
            # [3](see there): pandoc takes words in brackets after a mark for an address.
            self._text = self._text[:start]
            self.add(f"[{shown}]({unquote(target)})")
            return
        name = ""
        if doi := _DOI_LINK.match(target):
            name = f"doi:{doi[1].rstrip('.,;').lower()}"
        elif pubmed := _PUBMED_LINK.match(target):
            name = f"pmid:{pubmed[1]}"
        if name:
            self._mark(start, [self._works.get(name, name)])
        elif (anchor := _ANCHOR.match(target)) and (key := self._works.get(target[1:]) or self._works.get(anchor[1])):
            self._mark(start, [key])

    def _raw(self, raw: str) -> None:
        tag = raw.strip().lower()
        if cite := _CITE.fullmatch(raw.strip()):
            start = len(self._text)
            self.add(raw)
            self._mark(start, [k.strip() for k in cite[1].split(",")])
        elif tag == "<sup>":
            self._raised = len(self._text)
        elif tag == "</sup>" and self._raised is not None:
            self._raise(self._raised)
            self._raised = None
        elif tag in ("<br>", "<br/>", "<br />"):
            self._break()

    def take_blocks(self, blocks: Iterable[Any]) -> None:
        """The blocks of a list, with the addresses of links that are not shown."""
        for block in blocks:
            match block["t"]:
                case "Para" | "Plain":
                    self.take(block["c"])
                    for target in (str(i["c"][2][0]) for i in block["c"] if i["t"] == "Link"):
                        if "10." in target and target not in self.text:
                            self.add(f" {target}")
                case "LineBlock":
                    for line in block["c"]:
                        self.take([*line, {"t": "LineBreak"}])
                case _:
                    for inner in _inner_blocks(block):
                        self.take_blocks(inner)
            self.add(" ")


def _flat_text(inlines: Sequence[Any]) -> str:
    text = _Inlines({})
    text.take(inlines)
    return text.text


def _text_of_blocks(blocks: Iterable[Any], *, breaks: bool = False) -> str:
    text = _Inlines({}, breaks=breaks)
    text.take_blocks(blocks)
    return text.text


def _inner_blocks(block: Mapping[str, Any]) -> Iterator[list[Any]]:
    """List the blocks within a quote, a part or a list, by its items."""
    match block["t"]:
        case "BlockQuote":
            yield block["c"]
        case "Div":
            yield block["c"][1]
        case "OrderedList":
            yield from block["c"][1]
        case "BulletList":
            yield from block["c"]


_SIGNS = {
    "times": "\u00d7", "pm": "\u00b1", "le": "\u2264", "leq": "\u2264", "ge": "\u2265", "geq": "\u2265",
    "approx": "\u2248", "sim": "~", "cdot": "\u00b7", "neq": "\u2260", "ne": "\u2260", "to": "\u2192",
    "rightarrow": "\u2192",
    "infty": "\u221e", "%": "%", "mu": "\u03bc", "epsilon": "\u03b5", "ll": "\u226a", "gg": "\u226b", "circ": "\u00b0",
}  # fmt: skip
_COMMAND = re.compile(r"\\([a-zA-Z]+|%|[,;: !])\s?")
_POWER = re.compile(r"\^\{([^{}]{1,40})\}|\^(\w)")


def _plain_math(source: str) -> str:
    """A short formula as text: signs and Greek letters as such, powers set high, braces gone."""

    def sign(match: re.Match[str]) -> str:
        name = match[1]
        if name in _SIGNS:
            return _SIGNS[name]
        size = "CAPITAL" if name[0].isupper() else "SMALL"
        try:
            return unicodedata.lookup(f"GREEK {size} LETTER {name.upper()}")
        except KeyError:
            return " " if name in (",", ";", ":", " ", "quad") else ""

    text = _COMMAND.sub(sign, source[:2000])
    text = _POWER.sub(lambda m: set_high((m[1] or m[2]).strip()), text)
    return re.sub(r"[{}$]", "", text).replace("~", " " if "sim" not in source else "~")


def _plain_value(value: Any) -> Any:
    """Read a value of the metadata as lists, mappings and texts."""
    if not isinstance(value, Mapping):
        return ""
    content = value.get("c") or []
    match value.get("t"):
        case "MetaString":
            return clean(str(content))
        case "MetaInlines":
            return _flat_text(content)
        case "MetaBlocks":
            return " ".join(_flat_text(b["c"]) for b in content if b["t"] in ("Para", "Plain"))
        case "MetaList":
            return [_plain_value(v) for v in content]
        case "MetaMap":
            return {k: _plain_value(v) for k, v in dict(content).items()}
    return ""


def _files_of_references(document: Mapping[str, Any]) -> list[str]:
    """Files that the document names as its lists of references."""
    value = _plain_value((document.get("meta") or {}).get("bibliography"))
    return [str(n) for n in (value if isinstance(value, list) else [value]) if n]


def _as_heading(block: Mapping[str, Any]) -> tuple[int, Sequence[Any]] | None:
    """A heading, also one that is only a paragraph in bold, or by its words; with its level."""
    if block["t"] == "Header":
        return int(block["c"][0]), block["c"][2]
    if block["t"] not in ("Para", "Plain"):
        return None
    inlines = [i for i in block["c"] if i["t"] not in ("Space", "SoftBreak", "LineBreak")]
    if len(inlines) == 1 and inlines[0]["t"] in ("Strong", "Underline"):
        text = _flat_text(inlines)
        if 0 < len(text) <= 120 and not text.endswith((".", ",", ";")):
            known = kind_of(text) != "other" or REFERENCES_HEADING.match(text) is not None
            return (2 if known else 6), inlines
        return None
    text = _flat_text(block["c"]) if len(block["c"]) <= 5 else ""
    known = bool(text) and not text.endswith((".", ",", ":")) and kind_of(text) != "other" and len(text.split()) <= 3
    return (2, block["c"]) if known or (text and REFERENCES_HEADING.match(text)) else None


_LINKED = ("doi:", "pmid:")
# Classes of a part of a document in which legends stand.
_LEGENDS = frozenset({"caption", "figure", "fig", "figcaption", "table-wrap"})
_TO = re.compile(r" ?[-\u2010-\u2015]{1,3} ?")
_LONGEST_RANGE = 50


def _read_pandoc(
    document: Mapping[str, Any], lines: SourceLines, works: Sequence[CitedWork] = (), keys: Sequence[str] = ()
) -> Written:
    """Read the parts of a document of pandoc; ``keys`` are those of the entries that LaTeX numbers."""
    meta = document.get("meta") or {}
    parts = _Parts()
    parts.read_abstract(meta.get("abstract"))
    parts.read(document.get("blocks") or [])
    stated = _plain_value(meta.get("references"))
    items = [item for item in stated if isinstance(item, Mapping)] if isinstance(stated, list) else []
    references = _joined(parts.works(keys), (*(w for w in works_of_csl(items) if w.key), *works))
    maker = _BlockMaker(lines, references)
    blocks = [block for part in parts.running for block in maker.blocks(part)]
    if not references:
        # Works that are only linked to: of a text without a list they are its references.
        names = dict.fromkeys(k for b in blocks for m in b.markers for k in m.keys if k.startswith(_LINKED))
        linked = (CitedWork(key=k, text=k, **{k.partition(":")[0]: k.partition(":")[2]}) for k in names)
        references = (*maker.noted, *linked)
    known = {r.key for r in references}
    for place, block in enumerate(blocks):
        # A link to what the list does not have is a link, as to data, and no citation.
        kept = tuple(m for m in block.markers if not (m.keys[0].startswith(_LINKED) and m.keys[0] not in known))
        if len(kept) < len(block.markers):
            blocks[place] = block.model_copy(update={"markers": kept})
    title = _plain_value(meta.get("title"))
    title = title if isinstance(title, str) else ""
    headings = [b for b in blocks if b.kind == "heading"]
    if not title and headings and blocks[0] is headings[0] and kind_of(headings[0].text) == "other":
        # The first heading, where it stands before everything and above all others.
        title = headings[0].text if sum(len(h.path) == 1 for h in headings) == 1 else ""
    return Written(title, tuple(blocks), references, tuple(parts.tables))


def _joined(own: Sequence[CitedWork], filed: Sequence[CitedWork]) -> tuple[CitedWork, ...]:
    """The list of the document; what a file says of the same keys is fuller."""
    known = {w.key: w for w in filed}
    if own and any(w.key in known for w in own):
        return (*(known.get(w.key, w) for w in own), *(w for w in filed if w.key not in {o.key for o in own}))
    return (*own, *filed) if own else tuple(known.values())


class _Part(NamedTuple):
    """A heading, a paragraph or a legend, before the references are known that it may cite."""

    kind: BlockKind
    section: SectionKind
    path: tuple[str, ...]
    inlines: Sequence[Any]
    label: str


class _Parts:
    """The parts of a document and the entries of its lists of references, as they are collected in order."""

    def __init__(self) -> None:
        self._headings = HeadingPath()
        self._listing: int | None = None  # the level of the list of references in which it is
        self._kind: BlockKind = "paragraph"
        self._entries: list[Entry] = []
        self._lines: list[str] = []
        self.running: list[_Part] = []
        self.tables: list[Table] = []

    def read_abstract(self, value: Mapping[str, Any] | None) -> None:
        """The abstract of the metadata."""
        if not value:
            return
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
                identifier, classes = block["c"][0][0], block["c"][0][1]
                if "csl-entry" in classes:
                    if identifier.startswith("ref-"):
                        self._entries.append(Entry(_text_of_blocks(block["c"][1]), key=identifier[4:]))
                    continue
                around, self._kind = self._kind, "legend" if _LEGENDS & set(classes) else self._kind
                self.read(block["c"][1])
                self._kind = around
            elif self._listing is None:
                self._block(block)
            else:
                self._entry(block)

    def _heading(self, level: int, inlines: Sequence[Any]) -> None:
        text = _flat_text(inlines)
        if self._listing is not None and level > self._listing:
            return
        self._listing = level if REFERENCES_HEADING.match(text) else None
        self._headings.begin(level, text)
        if text:
            self._add("heading", inlines)

    def _block(self, block: Mapping[str, Any]) -> None:
        match block["t"]:
            case "Para" | "Plain":
                self._add(self._kind, block["c"])
            case "LineBlock":
                for line in block["c"]:
                    self._add(self._kind, line)
            case "DefinitionList":
                for term, definitions in block["c"]:
                    self._add("paragraph", term)
                    for definition in definitions:
                        self.read(definition)
            case "Figure":
                self._legend(block["c"][1], "")
            case "Table":
                _, caption, _, head, bodies, foot = block["c"]
                rows = [*head[1], *(r for body in bodies for part in (body[2], body[3]) for r in part), *foot[1]]
                cells = tuple(tuple(_text_of_blocks(cell[4]) for cell in row[1]) for row in rows)
                words = _text_of_blocks(caption[1] or ())
                label = legend_label(words) or f"Table {len(self.tables) + 1}"
                self.tables.append(Table(label=label, caption=words, rows=cells))
                self._legend(caption, label)
            case _:
                for blocks in _inner_blocks(block):
                    self.read(blocks)

    def _legend(self, caption: Any, label: str) -> None:
        long = caption[1] if isinstance(caption, list) else caption.get("c", [None, []])[1]
        paragraphs = [block["c"] for block in long or () if block["t"] in ("Para", "Plain")]
        if inlines := [inline for paragraph in paragraphs for inline in (*paragraph, {"t": "Space"})]:
            self._add("legend", inlines, label)

    def _add(self, kind: BlockKind, inlines: Sequence[Any], label: str = "") -> None:
        self.running.append(_Part(kind, self._headings.kind, self._headings.path, inlines, label))

    def _entry(self, block: Mapping[str, Any]) -> None:
        """An entry of the list of references, or a list of them."""
        match block["t"]:
            case "OrderedList":
                first = int(block["c"][0][0])
                self._entries += [Entry(_text_of_blocks(item), str(n)) for n, item in enumerate(block["c"][1], first)]
            case "BulletList":
                self._entries += [labelled(_text_of_blocks(item)) for item in block["c"]]
            case "DefinitionList":
                defined = [(_flat_text(term).strip("[]"), meant[0]) for term, meant in block["c"] if meant]
                self._entries += [Entry(_text_of_blocks(blocks), label) for label, blocks in defined]
            case "BlockQuote":
                for inner in block["c"]:
                    self._entry(inner)
            case "Para" | "Plain" | "LineBlock":
                self._lines += [*_text_of_blocks([block], breaks=True).split("\n"), ""]

    def works(self, keys: Sequence[str]) -> tuple[CitedWork, ...]:
        """The entries as works."""
        keyed: list[Entry] = []
        rest: list[str] = []
        for line in self._lines:
            if match := _ENTRY_MARK.match(line):
                number = int(match[1])
                keyed.append(Entry(line[match.end() :], key=keys[number] if number < len(keys) else ""))
            elif keyed and line:
                keyed[-1] = keyed[-1]._replace(text=f"{keyed[-1].text} {line}")
            elif line or rest:
                rest.append(line)
        entries = [*self._entries, *keyed, *(split_entries(rest) if rest else ())]
        return cited_works([e for e in entries if any(map(str.isalpha, e.text))])


class _BlockMaker:
    """Maker of blocks, with their citations of some references."""

    def __init__(self, lines: SourceLines, references: Sequence[CitedWork]) -> None:
        self._lines = lines
        self._works = {w.key: w.key for w in references}
        self._works |= {f"ref-{w.key}": w.key for w in references}
        self._works |= {f"doi:{w.doi}": w.key for w in references if w.doi}
        self._works |= {f"pmid:{w.pmid}": w.key for w in references if w.pmid}
        self._places = {w.key: place for place, w in enumerate(references)}
        self._keys = tuple(self._places)
        self.noted: list[CitedWork] = []

    def blocks(self, part: _Part) -> list[Block]:
        """The block of a part and those of its notes; none where the part has neither letters nor numbers."""
        text = self._taken(part.inlines)
        if found := legend_label(text.text):
            part = part._replace(kind="legend" if part.kind == "paragraph" else part.kind, label=found)
        notes: list[tuple[Span, list[Block]]] = []
        linked: list[Marker] = []
        for span, content in text.notes:
            inner = [self._taken(block["c"]) for block in content if block["t"] in ("Para", "Plain")]
            made = [b for note in inner if (b := self._block(part._replace(kind="footnote"), note, aside=True))]
            notes.append((span, made))
            if not self._keys and (work := self._work(made)):
                linked.append(Marker(start=span[0], end=span[1], keys=(work.key,), form="footnote"))
        block = self._block(part, text, linked)
        if block is None:
            return []
        counts = tuple((span, len(made)) for span, made in notes)
        return [block.model_copy(update={"notes": counts}), *(b for _, made in notes for b in made)]

    def _taken(self, inlines: Sequence[Any]) -> _Inlines:
        text = _Inlines(self._works)
        text.take(inlines)
        return text

    def _block(self, part: _Part, text: _Inlines, more: Sequence[Marker] = (), *, aside: bool = False) -> Block | None:
        shown = text.text
        if not any(c.isalnum() for c in shown):
            return None
        markers = [*self._with_ranges(shown, [m for m in text.markers if m.end <= len(shown)]), *more]
        return Block(
            kind=part.kind,
            section=part.section,
            path=part.path,
            text=shown,
            label=part.label,
            line=self._lines.find(shown, aside=aside),
            markers=tuple(sorted(markers, key=lambda m: m.start)) if part.kind != "heading" else (),
            barred=(*text.barred, *(span for span, _ in text.notes)),
        )

    def _work(self, note: Sequence[Block]) -> CitedWork | None:
        """The work that a note names, in a text that has no list of references."""
        (work,) = cited_works([Entry(" ".join(b.text for b in note), key=f"note {len(self.noted) + 1}")])
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


LARGEST_TEXT = 16 * MIB
LARGEST_PACKED = 64 * MIB
LARGEST_XML = 64 * MIB  # bytes of all XML parts of a Word file, unpacked
MOST_PARTS = 10_000
# Of a text that stands in no file: each key of a citation may get a remark, and 20 characters can cite 100 works.
MOST_CITATIONS = 2_000
MOST_NUMBERS = 300  # and each number is compared with what others have in its place
DEEPEST_INPUT = 8
_HARM = "it may be made to do harm"

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

_DOCX_TEXT = "word/document.xml"
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
    return _manuscript(str(path), format_, data, _written(path, data, format_))


def read_given(text: str, form: Literal["markdown", "text"]) -> Manuscript:
    """Read a text that stands in no file: nothing beside it is read, whatever it names."""
    given = Path("what was given")
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        why = f"{given} holds half of a character: {error.reason} at character {error.start}"
        raise InputFormat(why, "write the whole character") from error
    text = _decoded(given, data)
    if form == "text":
        written = read_text_manuscript(text)
    else:
        document = pandoc_json(text.encode(), _MARKDOWN, given)
        if _files_of_references(document):
            raise InputFormat(f"{given} names a file with its references", "put the list of references into the text")
        written = _read_pandoc(document, SourceLines(text))
    manuscript = _manuscript(str(given), form, data, written)
    citations = sum(len(m.keys) for b in manuscript.blocks for m in b.markers)
    numbers = sum(len(re.findall(r"\d+", s.text)) for s in manuscript.sentences)
    for count, most, what in ((citations, MOST_CITATIONS, "citations"), (numbers, MOST_NUMBERS, "numbers")):
        if count > most:
            raise InputFormat(f"{given} has more than {most:,} {what}", "give less of it at a time")
    return manuscript


def _manuscript(name: str, format_: Format, data: bytes, written: Written) -> Manuscript:
    blocks = with_markers(written.blocks, written.references)
    if not any(b.kind != "heading" for b in blocks):
        raise InputFormat(f"{name} has no text", "give a manuscript with sentences")
    parts = written._replace(blocks=blocks)._asdict()
    return Manuscript(name=name, format=format_, sha256=hashlib.sha256(data).hexdigest(), **parts)


def _written(path: Path, data: bytes, format_: Format) -> Written:
    if format_ == "pdf":
        return _read_pdf(path)
    if format_ == "docx":
        _check_docx(path, data)
        return _read_pandoc(pandoc_json(data, "docx+citations", path), SourceLines(""))
    if len(data) > LARGEST_TEXT:
        raise InputFormat(f"{path} is larger than {LARGEST_TEXT // MIB} MiB", "give a manuscript, not a collection")
    text = _decoded(path, data)
    if format_ == "text":
        return read_text_manuscript(text)
    if format_ == "jats":
        return _read_jats(path, SourceLines(text, markup=True))
    whole, keys = _one_text(path, text) if format_ == "latex" else (text, ())
    document = pandoc_json(whole.encode(), _MARKDOWN if format_ == "markdown" else _LATEX, path)
    works = [w for name in _files_of_references(document) for w in _bibliography(path, name, listed=bool(keys))]
    written = _read_pandoc(document, SourceLines(text), works, keys)
    if written.references or not any(m.form == "key" for b in written.blocks for m in b.markers):
        return written
    # The list of references beside a manuscript that names none: of its name, or the only one.
    own = path.with_suffix(".bib")
    beside = [own] if own.is_file() else sorted(path.parent.glob("*.bib"))
    if len(beside) != 1:
        return written
    return _read_pandoc(document, SourceLines(text), _bibliography(path, beside[0].name))


def _bibliography(path: Path, name: str, *, listed: bool = False) -> list[CitedWork]:
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
        raise InputFormat(f"{path} is binary, not text", f"name a manuscript, as one of {', '.join(_SUFFIXES)}")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _check_docx(path: Path, data: bytes) -> None:
    """Refuse what is no Word file, or was made to fill the memory."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as file:
            parts = file.infolist()
            if len(parts) > MOST_PARTS:
                raise InputFormat(f"{path} has more than {MOST_PARTS:,} parts", _HARM)
            if not any(p.filename == _DOCX_TEXT for p in parts):
                raise InputFormat(f"{path} is no Word file: it has no {_DOCX_TEXT}", "save it as .docx")
            left = LARGEST_XML
            # What a part says of its size may be wrong: it is unpacked, and counted.
            for part in parts:
                with file.open(part) as stream:
                    while left >= 0 and (size := len(stream.read(MIB))):
                        left -= size if part.filename.endswith((".xml", ".rels")) else 0
                if left < 0:
                    raise InputFormat(f"{path} becomes more than {LARGEST_XML // MIB} MiB of XML, unpacked", _HARM)
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError, RuntimeError) as error:
        raise InputFormat(f"{path} is no Word file: {error}", "it may be cut off, or asks for a password") from error


def _one_text(path: Path, source: str) -> tuple[str, tuple[str, ...]]:
    """Make a LaTeX manuscript one text for pandoc, which reads no other file and drops the keys of its references.

    The keys are those of its list of references, which becomes a section, in order.
    """
    text = _COMMENT.sub("%", source)
    for _ in range(DEEPEST_INPUT):
        text = _with_files(path, text)
    if _INPUT.search(text):
        raise InputFormat(f"{path} puts files into each other deeper than {DEEPEST_INPUT}", "put them into one file")
    made = path.with_suffix(".bbl")
    if not _LIST_BEGINS.search(text) and _FILE.search(text) and made.is_file():
        refuse_outside(path.parent, made)
        text = text.replace("\\end{document}", "") + "\n" + _text_of_file(made)
    keys: list[str] = []

    def entry(match: re.Match[str]) -> str:
        keys.append(" ".join(match[1].split()))
        return f"\n\n{_ENTRY}{len(keys) - 1}x "

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
            why = f"there is no file {file}, which {path.name} puts in"
            raise InputMissing(why, "put the file there, or take the line out")
        inner = _COMMENT.sub("%", _text_of_file(file))
        left -= len(inner)
        if left < 0:
            why = f"{path} with what it puts in is larger than {LARGEST_TEXT // MIB} MiB"
            raise InputFormat(why, "give it in parts")
        return inner

    return _INPUT.sub(content, text)


def _text_of_file(file: Path) -> str:
    return read_bytes(file, LARGEST_TEXT).decode("utf-8", "replace")


def _read_pdf(path: Path) -> Written:
    text = pdf_text(path)
    if isinstance(text, Rejected):
        raise InputFormat(f"{path}: {text.detail}", "give its text in another form, as .docx or .txt")
    numbers, lines = NumberKeys(()), SourceLines("")
    blocks = [block for section in sections_of_pages(text.pages) for block in _blocks(section, numbers, lines)]
    if not blocks:
        raise InputFormat(f"{path} has no text", "it may be scanned: let a program read its pages, and save the text")
    references = cited_works(split_entries(reference_lines(text.pages)))
    doi = doi_of(text)
    return Written(text.title, tuple(blocks), references, ids=(doi,) if doi else ())
