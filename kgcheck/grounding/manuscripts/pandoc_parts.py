"""What pandoc's document says besides its running text: metadata, which paragraphs are headings, and its references."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kgcheck.grounding.manuscripts.inlines import Inlines
from kgcheck.grounding.manuscripts.latex import ENTRY
from kgcheck.grounding.manuscripts.reference_lists import Entry, cited_works, labelled, split_entries
from kgcheck.literature.documents import clean
from kgcheck.literature.papers import REFERENCES_HEADING, CitedWork, kind_of

_ENTRY = re.compile(rf"^{ENTRY}(\d+)x\s*")


def words_of(value: Any) -> str:
    """Text of a value of the metadata."""
    if not isinstance(value, Mapping):
        return ""
    kind, content = value.get("t"), value.get("c") or []
    if kind == "MetaString":
        return clean(str(content))
    if kind in ("MetaInlines", "MetaBlocks"):
        text = Inlines({})
        for inlines in [content] if kind == "MetaInlines" else [b["c"] for b in content if b["t"] in ("Para", "Plain")]:
            text.take(inlines)
            text.add(" ")
        return text.text
    return ""


def plain_value(value: Any) -> Any:
    """A value of the metadata as lists, mappings and texts."""
    if not isinstance(value, Mapping):
        return None
    kind, content = value.get("t"), value.get("c") or []
    if kind == "MetaList":
        return [plain_value(v) for v in content]
    if kind == "MetaMap":
        return {k: plain_value(v) for k, v in dict(content).items()}
    return words_of(value)


def bibliographies(document: Mapping[str, Any]) -> tuple[str, ...]:
    """Files that the document names as its lists of references."""
    value = plain_value((document.get("meta") or {}).get("bibliography"))
    names = value if isinstance(value, list) else [value]
    return tuple(str(n) for n in names if n)


def as_heading(block: Mapping[str, Any]) -> tuple[int, Sequence[Any]] | None:
    """A heading, also one that is only a paragraph in bold, or by its words; with its level."""
    if block["t"] == "Header":
        return int(block["c"][0]), block["c"][2]
    if block["t"] not in ("Para", "Plain"):
        return None
    inlines = [i for i in block["c"] if i["t"] not in ("Space", "SoftBreak", "LineBreak")]
    if len(inlines) == 1 and inlines[0]["t"] in ("Strong", "Underline"):
        text = flat_text(inlines)
        if 0 < len(text) <= 120 and not text.endswith((".", ",", ";")):
            known = kind_of(text) != "other" or REFERENCES_HEADING.match(text) is not None
            return (2 if known else 6), inlines
        return None
    text = flat_text(block["c"]) if len(block["c"]) <= 5 else ""
    known = bool(text) and not text.endswith((".", ",", ":")) and kind_of(text) != "other" and len(text.split()) <= 3
    return (2, block["c"]) if known or (text and REFERENCES_HEADING.match(text)) else None


def flat_text(inlines: Sequence[Any]) -> str:
    """The text of inline elements, without what is cited in it."""
    text = Inlines({})
    text.take(inlines)
    return text.text


class ReferenceSections:
    """Collects the entries of the list of references."""

    def __init__(self, keys: Sequence[str]) -> None:
        self._keys = keys
        self._level: int | None = None
        self._entries: list[Entry] = []
        self._lines: list[str] = []

    def read(self, blocks: Iterable[Any]) -> None:
        """The entries of all sections that are such a list."""
        for block in blocks:
            heading = as_heading(block)
            if heading:
                level, inlines = heading
                if REFERENCES_HEADING.match(flat_text(inlines)):
                    self._level = level
                elif self._level is not None and level <= self._level:
                    self._level = None
                continue
            if block["t"] == "Div":
                identifier, classes = block["c"][0][0], block["c"][0][1]
                if identifier.startswith("ref-") and "csl-entry" in classes:
                    self._entries.append(Entry(text_of_blocks(block["c"][1]), key=identifier[4:]))
                else:
                    self.read(block["c"][1])
            elif self._level is not None:
                self._block(block)

    def _block(self, block: Mapping[str, Any]) -> None:
        match block["t"]:
            case "OrderedList":
                first = int(block["c"][0][0])
                self._entries += [Entry(text_of_blocks(item), str(n)) for n, item in enumerate(block["c"][1], first)]
            case "BulletList":
                self._entries += [labelled(text_of_blocks(item)) for item in block["c"]]
            case "DefinitionList":
                self._entries += [
                    Entry(text_of_blocks(d[0]), flat_text(term).strip("[]")) for term, d in block["c"] if d
                ]
            case "BlockQuote":
                for inner in block["c"]:
                    self._block(inner)
            case "Para" | "Plain" | "LineBlock":
                self._lines += [*text_of_blocks([block], breaks=True).split("\n"), ""]

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


def text_of_blocks(blocks: Iterable[Any], *, breaks: bool = False) -> str:
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
