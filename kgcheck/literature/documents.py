"""Document: title and abstract of a paper, split into sentences; made from a file's record."""

import hashlib
import html
import re
import unicodedata
from datetime import datetime
from functools import cached_property
from itertools import accumulate
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from kgcheck.model import Value

SOURCE = "literature"


class Passage(Value):
    """A sentence of a paper, with where it stands in the abstract, or in a paragraph of a section.

    ``abstract[start:end] == quote``.
    """

    document: str
    title: str = ""
    year: int | None = None
    url: str = ""
    start: int
    end: int
    quote: str
    section: str = "abstract"
    heading: str = ""


class Passages(Value):
    """Passages found by a search for an edge."""

    claim: str
    release: str
    built_at: datetime
    passages: tuple[Passage, ...] = ()
    retracted: tuple[str, ...] = Field(default=(), description="papers that say such a thing and do not count")


_MARKUP = re.compile(
    r"</?(?:i|b|u|p|br|em|strong|sub|sup|span|div|h\d|ul|ol|li|sec|title|italic|bold|abstracttext|jats:[a-z-]+|mml:[a-z]+)"
    r"(?:\s[^<>]{0,300})?/?>",
    re.IGNORECASE,
)
"""Tags that publishers leave in abstracts. Only these: `p<0.05 and n>3` is no tag."""

# Lone surrogates and control characters can neither be stored nor shown.
_NO_TEXT = r"\s\x00-\x1f\x7f-\x9f\ud800-\udfff"
_SPACE = re.compile(f"(?! [^{_NO_TEXT}])[{_NO_TEXT}]+")
"""Whitespace that becomes a single space, but for one that is it already, as are nearly all."""

_WORD = re.compile(r"\w+")

Span = tuple[int, int]  # start and end in a text, so that ``text[start:end]`` is the passage


def clean(text: str) -> str:
    """Text without entities, markup and control characters, in Unicode NFC, with single spaces.

    >>> clean("Mice &amp;lt;i&amp;gt;sleep&amp;lt;/i&amp;gt;  long.")
    'Mice sleep long.'
    """
    text = html.unescape(html.unescape(text)) if "&" in text else text
    text = _MARKUP.sub(" ", text) if "<" in text else text
    text = unicodedata.normalize("NFC", text)
    return _SPACE.sub(" ", text).strip()


def sentences(text: str) -> tuple[Span, ...]:
    """Return the spans of the sentences of a text, in order, without the space around them.

    >>> text = "Mice sleep (Fig. 1). Rats do not."
    >>> [text[start:end] for start, end in sentences(text)]
    ['Mice sleep (Fig. 1).', 'Rats do not.']
    """
    import sentencex

    found: list[Span] = []
    for boundary in sentencex.get_sentence_boundaries("en", text):
        piece = text[boundary["start_index"] : boundary["end_index"]]
        start = boundary["start_index"] + len(piece) - len(piece.lstrip())
        if piece.strip():
            found.append((start, start + len(piece.strip())))
    return tuple(found)


def fingerprint_text(*parts: str) -> str:
    """The letters and digits of texts in lower case: equal for copies that differ in form only."""
    return " ".join(word for part in parts for word in _WORD.findall(part.casefold()))


MAX_CHARACTERS = 100_000  # an abstract that is longer is no abstract
RETRACTED_TYPE = "retracted publication"  # PubMed's publication type of a retracted paper, in lower case
_RETRACTED_TITLE = re.compile(r"^\W*retracted(?: article)?\s*[:\]]", re.IGNORECASE)


def titled_retracted(title: str) -> bool:
    """Tell whether a title says that its paper is retracted.

    >>> titled_retracted("[Retracted] A kinase"), titled_retracted("RETRACTED: X"), titled_retracted("Retracted papers")
    (True, True, False)
    """
    return bool(_RETRACTED_TITLE.match(title))


class Document(Value):
    """A title and an abstract with what is known of the paper.

    ``number`` is the store's own; ``ids`` are all names of the paper, the first one is shown.
    """

    ids: tuple[str, ...] = Field(min_length=1)
    title: str = ""
    abstract: str = Field(min_length=1)
    year: int | None = None
    journal: str = ""
    types: tuple[str, ...] = ()
    retracted: bool = False
    recipe: str = ""
    number: int = 0
    section: str = Field(default="abstract", description="kind of the section that the text is of")
    heading: str = Field(default="", description="headings of that section, the outermost first; the name of a legend")
    paragraph: int = Field(default=0, description="its place among the paragraphs of a whole paper; 0 for the abstract")
    paper: str = Field(default="", description="id of the paper that it is a paragraph of; empty for the paper itself")

    @property
    def paper_id(self) -> str:
        """The id of the paper, whether this is its abstract or one of its paragraphs."""
        return self.paper or self.id

    @property
    def place(self) -> str:
        """The section for people: its kind, and its headings where they say more."""
        return place_of(self.section, self.heading)

    @property
    def id(self) -> str:
        """The id that is shown."""
        return self.ids[0]

    @cached_property
    def spans(self) -> tuple[Span, ...]:
        """Spans of the sentences of the abstract."""
        return sentences(self.abstract)

    def with_spans(self, spans: tuple[Span, ...]) -> Self:
        """Itself with the sentences that are given, whatever the splitter would say."""
        self.__dict__["spans"] = spans
        # Those of other sentences, if there are any.
        self.__dict__.pop("vectors", None)
        return self

    @cached_property
    def vectors(self) -> NDArray[np.float32] | None:
        """The embeddings of the sentences, where an index keeps them."""
        return None

    def with_vectors(self, vectors: NDArray[np.float32] | None) -> Self:
        """Itself with the embeddings of its sentences, one row each."""
        self.__dict__["vectors"] = vectors
        return self

    @property
    def passages(self) -> tuple[str, ...]:
        return tuple(self.abstract[start:end] for start, end in self.spans)

    @property
    def text(self) -> str:
        """Title and abstract, as they are indexed."""
        return f"{self.title} {self.abstract}".strip()

    @property
    def content(self) -> str:
        """SHA-256 of the letters and digits: the same for copies of one abstract under several ids.

        Papers may share a paragraph, say on ethics: each keeps its own.
        """
        own = (self.id,) if self.paper else ()
        return hashlib.sha256(fingerprint_text(*own, self.title, self.abstract).encode()).hexdigest()


def place_of(section: str, heading: str) -> str:
    """A section for people.

    >>> place_of("methods", "Methods"), place_of("other", "Ethics"), place_of("results", "Results > Binding")
    ('methods', 'other: Ethics', 'results: Binding')
    """
    first, _, rest = heading.partition(" > ")
    shown = rest if first.casefold() == section else heading
    return f"{section}: {shown}" if shown else section


class Rejected(Value):
    """A record that is no document, and why."""

    reason: str
    detail: str
    record: str = ""
    place: str = Field(default="", description="file and line or number of the record")


def make_document(raw: dict[str, Any], recipe: str) -> Document | Rejected:
    """A document from the fields of a record."""
    identifier = clean(str(raw.get("id") or ""))
    if not identifier:
        return Rejected(reason="no_id", detail="the record has no id", record=clean(str(raw.get("title") or ""))[:200])
    given = raw.get("abstract") or ""
    # What is far too long is not even cleaned.
    parts = [str(part) for part in (given if isinstance(given, list) else [given])]
    whole = not isinstance(given, list) and len(parts[0]) > 10 * MAX_CHARACTERS
    pieces = parts if whole else [text for text in map(clean, parts) if text]
    abstract = " ".join(pieces)
    given_types = [str(t) for t in raw.get("types") or ()]
    others = sum(map(len, (identifier, str(raw.get("title")), str(raw.get("journal")), *given_types)))
    if not any(c.isalnum() for c in abstract):
        return Rejected(reason="no_abstract", detail="the abstract is empty", record=identifier)
    if len(abstract) > MAX_CHARACTERS:
        detail = f"the abstract has {len(abstract):,} characters; at most {MAX_CHARACTERS:,} are read"
        return Rejected(reason="too_long", detail=detail, record=identifier)
    if others > MAX_CHARACTERS:
        detail = f"id, title, journal and types have more than {MAX_CHARACTERS:,} characters"
        return Rejected(reason="too_long", detail=detail, record=identifier[:200])
    types = tuple(map(clean, given_types))
    year = str(raw.get("year") or "")[:4]
    document = Document(
        ids=(identifier,),
        title=clean(str(raw.get("title") or "")),
        abstract=abstract,
        year=int(year) if year.isascii() and year.isdigit() else None,
        journal=clean(str(raw.get("journal") or "")),
        types=types,
        retracted=bool(raw.get("retracted")) or RETRACTED_TYPE in (t.casefold() for t in types),
        recipe=recipe,
    )
    if not raw.get("sentences") or not isinstance(given, list):
        return document
    ends = accumulate(len(piece) + 1 for piece in pieces)
    return document.with_spans(tuple((end - 1 - len(piece), end - 1) for end, piece in zip(ends, pieces, strict=True)))
