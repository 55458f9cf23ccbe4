"""Running text of pandoc's inline elements, with the citations in it."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import unquote

from kgcheck.grounding.manuscript import Marker, MarkerForm
from kgcheck.grounding.manuscripts.written import check_length
from kgcheck.literature.documents import Span, clean
from kgcheck.literature.jats import set_high

_PLAIN = frozenset({"Emph", "Strong", "Underline", "SmallCaps", "Subscript"})
_SPACES = frozenset({"Space", "SoftBreak", "LineBreak"})
_ESCAPED = re.compile(r"\\([\[\]()<>_*#!~^`{}.+|\\-])")
_DOI_LINK = re.compile(r"^(?:https?://(?:dx\.)?doi\.org/|doi:)(10\.\d{4,9}/\S+)$", re.IGNORECASE)
_PUBMED_LINK = re.compile(
    r"^https?://(?:www\.)?(?:pubmed\.ncbi\.nlm\.nih\.gov|ncbi\.nlm\.nih\.gov/pubmed)/(\d{1,9})/?$"
)
_NUMBERS = re.compile(r"[\d,;\s\u2010-\u2015-]{1,200}")
_ANCHOR = re.compile(r"^#(?:ref|cite|cit|bib)[-_.:]?(.+)$", re.IGNORECASE)
_CITE = re.compile(r"\\[a-zA-Z]*cite[a-zA-Z]*\*?(?:\[[^\]]{0,200}\]){0,2}\{([^{}]{1,1000})\}")
_QUOTES = {"SingleQuote": ("\u2018", "\u2019"), "DoubleQuote": ("\u201c", "\u201d")}


class Inlines:
    """Text that is taken in, cleaned, so that the places of citations stay right."""

    def __init__(self, works: Mapping[str, str], *, breaks: bool = False) -> None:
        self._works = works
        self._breaks = breaks
        self._text = ""
        self._raised: int | None = None
        self.markers: list[Marker] = []
        self.barred: list[Span] = []
        self.notes: list[tuple[Span, Any]] = []

    @property
    def text(self) -> str:
        """What was taken."""
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

    def take(self, elements: Sequence[Any]) -> None:
        """The elements of a list."""
        for element in elements:
            kind, content = element.get("t"), element.get("c")
            if kind == "Str":
                self.add(content)
            elif kind in _SPACES:
                self._break() if kind != "Space" and self._breaks else self._space()
            elif kind in _PLAIN:
                self.take(content)
            else:
                self._take_other(kind, content)

    def _break(self) -> None:
        self._text = self._text.rstrip() + "\n"

    def _take_other(self, kind: str, content: Any) -> None:
        match kind:
            case "Superscript":
                start = len(self._text)
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
                start = len(self._text)
                self.add(content[1])
                self.barred.append((start, len(self._text)))
            case "Math":
                self._math(content)
            case "Link":
                self._link(content)
            case "Span":
                self.take(content[1])
            case "Note":
                self._note(content)
            case "RawInline":
                self._raw(content[1])

    def _raise(self, start: int) -> None:
        self._text = self._text[:start] + set_high(self._text[start:])

    def _mark(self, start: int, keys: Sequence[str], form: MarkerForm) -> None:
        end = len(self._text.rstrip())
        keys = tuple(dict.fromkeys(filter(None, keys)))
        if end > start and keys:
            self.markers.append(Marker(start=start, end=end, keys=keys, form=form))

    def _cite(self, content: Any) -> None:
        start = len(self._text)
        inner = content[1]
        self.take([{"t": "Str", "c": e["c"][1]} if e.get("t") == "RawInline" else e for e in inner])
        keys = [clean(str(c["citationId"])) for c in content[0]]
        if len(self._text.rstrip()) <= start:
            self.add("[" + "; ".join(keys) + "]")
        # Pandoc takes every @word for a citation: one that no list has is a name, as of a service or a person.
        shown = self._text[start:].lstrip()
        start = len(self._text) - len(shown)
        self._mark(start, keys, "key")

    def _math(self, content: Any) -> None:
        start = len(self._text)
        if content[0]["t"] == "InlineMath":
            self.add(_plain_math(content[1]))
            # What is cited by a formula is a number that is set high and nothing else.
            if not re.fullmatch(r"\s*\{?\}?\^\{?[\d,\s-]++\}?\s*", content[1]):
                self.barred.append((start, len(self._text)))
        else:
            self._space()

    def _link(self, content: Any) -> None:
        start = len(self._text)
        target = str(content[2][0])
        if "uri" in content[0][1]:
            # Within an address that stands by itself pandoc leaves the escapes of Markdown as they are.
            target = _ESCAPED.sub(r"\1", target)
            content = [content[0], [{**e, "c": _ESCAPED.sub(r"\1", str(e["c"]))} for e in content[1]], content[2]]
        self.take(content[1])
        shown = self._text[start:]
        if "%20" in target and _NUMBERS.fullmatch(shown):
            # [3](see there): pandoc takes words in brackets after a mark for an address.
            self._text = self._text[:start]
            self.add(f"[{shown}]({unquote(target)})")
            return
        if doi := _DOI_LINK.match(target):
            name = f"doi:{doi[1].rstrip('.,;').lower()}"
            self._mark(start, [self._works.get(name, name)], "key")
        elif pubmed := _PUBMED_LINK.match(target):
            name = f"pmid:{pubmed[1]}"
            self._mark(start, [self._works.get(name, name)], "key")
        elif (anchor := _ANCHOR.match(target)) and (key := self._works.get(target[1:]) or self._works.get(anchor[1])):
            self._mark(start, [key], "key")

    def _note(self, content: Any) -> None:
        start = len(self._text.rstrip())
        self._text = self._text.rstrip() + set_high(str(len(self.notes) + 1))
        self.notes.append(((start, len(self._text)), content))

    def _raw(self, raw: str) -> None:
        if cite := _CITE.fullmatch(raw.strip()):
            start = len(self._text)
            self.add(raw)
            self._mark(start, [k.strip() for k in cite[1].split(",")], "key")
        elif raw.strip().lower() == "<sup>":
            self._raised = len(self._text)
        elif raw.strip().lower() == "</sup>" and self._raised is not None:
            self._raise(self._raised)
            self._raised = None
        elif raw.strip().lower() in ("<br>", "<br/>", "<br />"):
            self._break() if self._breaks else self._space()


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
