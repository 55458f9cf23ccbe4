"""Choose the claims of a paper by rules: at most five sentences that assert a refutable finding.

What a sentence is worth is counted: whether it reports or sums up, what it says of what, and whether the paper comes
back to it in its title and elsewhere. What a paper was for, what was done, what others found, what is not known and
what ought to be are no claims. The words stand in ``corpus/grounding/claims.toml``.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from hashlib import sha256
from typing import Any, NamedTuple

from kgcheck.choices import SectionKind
from kgcheck.inputs import read_toml
from kgcheck.ledger.paper_claims import PaperClaim
from kgcheck.literature.arguments import arguments
from kgcheck.literature.documents import Document
from kgcheck.literature.features import words_of
from kgcheck.literature.papers import WholePaper
from kgcheck.literature.roles import asks_only
from kgcheck.literature.verify import instructs
from kgcheck.resources import resource_dir
from kgcheck.text.words import either

MOST = 5  # claims of a paper
_READ: tuple[SectionKind, ...] = ("abstract", "results", "discussion", "conclusion")
_SHORTEST, _LONGEST = 7, 90
_LONG = 55
_MOST_CHARACTERS = 1_000
_SAME = 0.55  # two sentences with so many of the words of the shorter one say the same
_LEAST = 2.2
_NOTHING = -9.0
_FEWEST_SENTENCES = 3  # of a paper that comes back to anything, and of an abstract that has a beginning
_THINGS = 5
_MOST_SENTENCES = 3_000  # most sentences of one paper; a book is no paper
_CITES = re.compile(r"\[\d{1,3}(?:[\u2013\u2014,;\- ]{1,3}\d{1,3}){0,20}\]|\((?:[^()]{0,60}\b)?(?:19|20)\d\d[a-z]?\)")
_FIGURE = re.compile(r"\b(?:Fig(?:ure|s)?|Table|Eq(?:uation|s)?|Panel|Movie|Video|Dataset)\b\.?\s?S?\d", re.IGNORECASE)
_LEGEND = re.compile(
    r"(?:^|> )(?:fig(?:ure)?|table|video|movie|dataset|text|box|protocol|audio)\.? ?s?\d[^>]*$", re.IGNORECASE
)
# Pattern of gaps left by formulas that are no text.
_BROKEN = re.compile(
    r"\b(?:of|at|for|with|by|when|where|from|in|to|and) (?:(?:we|is|are|was|were|has|have|then)\b|[,.;)])|\( ?[,;)]"
)
_ADDRESS = re.compile(r"https?:|www\.", re.IGNORECASE)
# A heading that runs into the first sentence under it: ``CONCLUSIONS Mice ...``, ``Methods and findings: ...``.
_LABEL = re.compile(
    r"^(?:([A-Z][A-Z/&-]{3,}(?: (?:AND |OF |FOR )?[A-Z/&-]{4,}){0,4}):? (?=[A-Z0-9])"
    r"|([A-Z][A-Za-z/-]{3,}(?: [A-Za-z/-]{3,}){0,2}): )"
)


class PaperText(NamedTuple):
    """Text of a paper: its abstract, its paragraphs, and the parts of the abstract that have headings."""

    head: Document
    paragraphs: tuple[Document, ...] = ()
    # Start and name of each part: ``conclusion``, ``results``, or ``none`` where it states no finding.
    parts: tuple[tuple[int, str], ...] = ()

    @property
    def documents(self) -> tuple[Document, ...]:
        """The abstract and the paragraphs."""
        return (self.head, *self.paragraphs)

    @property
    def digest(self) -> str:
        """Digest of all that the claims depend on: the text, and the rules."""
        seen = sha256(f"{rules_digest()} {self.head.retracted} {self.parts}".encode())
        for document in self.documents:
            seen.update(f"\0{document.id}\0{document.section}\0{document.heading}\0{document.title}\0".encode())
            seen.update(document.abstract.encode())
        return seen.hexdigest()


def parts_of_abstract(head: Document, whole: WholePaper | None) -> tuple[tuple[int, str], ...]:
    """The parts of an abstract that its authors gave headings."""
    found = []
    for section in whole.sections if whole else ():
        if section.kind == "abstract" and section.heading and section.paragraphs:
            place = head.abstract.find(section.paragraphs[0].text)
            found += [(place, part)] if place >= 0 and (part := _part(section.heading)) else []
    if not found:
        found = [(start, part) for start, end in head.spans if (part := _label(head.abstract[start:end])[1])]
    return tuple(sorted(found))


def _label(text: str) -> tuple[int, str]:
    """Measure the heading that runs into a sentence, and name its part; nothing where none does."""
    label = _LABEL.match(text)
    if label is None or label.end() >= len(text):
        return 0, ""
    # In small letters, "Mice without patients: ..." is no heading.
    part = _part(label[1]) if label[1] else _part(label[2], begins=True)
    return (label.end(), part) if part else (0, "")


def _part(heading: str, *, begins: bool = False) -> str:
    words = heading.lower()
    found = ((part, pattern.search(words)) for part, pattern in _rules()["parts"].items())
    return next((part for part, match in found if match and not (begins and match.start())), "")


def choose_claims(paper: PaperText) -> tuple[PaperClaim, ...]:
    """The claims of a paper, the strongest first."""
    if paper.head.retracted or any(instructs(d.abstract) for d in paper.documents):
        return ()
    chosen: list[_Candidate] = []
    for candidate in sorted(_weighed(paper), key=lambda c: (-c.score, c.place)):
        if candidate.score < _LEAST or len(chosen) == MOST:
            break
        words = candidate.words
        alike = (len(words & c.words) >= _SAME * max(min(len(words), len(c.words)), 1) for c in chosen)
        if not any(alike):
            chosen.append(candidate)
    return tuple(
        PaperClaim(
            paper=paper.head.id,
            document=c.document.id,
            section=c.document.section,
            heading=c.document.heading,
            start=c.start,
            stop=c.end,
            quote=c.text,
            score=round(c.score, 3),
        )
        for c in chosen
    )


class _Candidate(NamedTuple):
    document: Document
    start: int
    end: int
    text: str
    words: frozenset[str]
    score: float
    place: int


def _weighed(paper: PaperText) -> list[_Candidate]:
    sentences = [*_sentences(paper)][:_MOST_SENTENCES]
    common, count = Counter(word for s in sentences for word in s.words), len(sentences)
    title, weights = words_of(paper.head.title).content, _rules()["weights"]
    found = []
    for sentence in sentences:
        words, worth = sentence.words, sentence.score + _worth(sentence.text)
        if title:
            worth += weights["title"] * len(words & title) / len(title)
        if words and count >= _FEWEST_SENTENCES:
            # What the paper comes back to.
            shared = 4 * sum(common[w] - 1 for w in words) / (len(words) * count)
            worth += weights["shared"] * min(1.0, shared)
        found.append(sentence._replace(score=worth))
    return found


def _sentences(paper: PaperText) -> Iterator[_Candidate]:
    """The sentences that may be claims, each worth what its place is."""
    rules = _rules()
    read = [d for d in paper.documents if d.section in _READ and not _LEGEND.search(d.heading)]
    discussed = [d.id for d in read if d.section == "discussion"]
    ends = {discussed[-1]: "last_of_discussion", discussed[0]: "first_of_discussion"} if discussed else {}
    place = 0
    for document in read:
        base = float(rules["sections"][document.section]) + rules["places"].get(ends.get(document.id), 0.0)
        for number, (start, end) in enumerate(document.spans):
            start += _label(document.abstract[start:end])[0]
            text = document.abstract[start:end]
            place += 1
            if _may_claim(text):
                worth = base + (_in_abstract(paper, start, number) if document is paper.head else 0.0)
                yield _Candidate(document, start, end, text, words_of(text).content, worth, place)


def _in_abstract(paper: PaperText, start: int, number: int) -> float:
    places, count = _rules()["places"], len(paper.head.spans)
    if paper.head.section != "abstract":
        return 0.0
    if paper.parts:
        part = next((part for begins, part in reversed(paper.parts) if begins <= start), "")
        return float({"conclusion": places["conclusion_of_abstract"], "none": _NOTHING}.get(part, 0.0))
    if number >= max(count - 2, 2 * count // 3):
        return float(places["end_of_abstract"])
    return float(places["start_of_abstract"]) if 3 * number < count and count > _FEWEST_SENTENCES else 0.0


def _may_claim(text: str) -> bool:
    words = text[:_MOST_CHARACTERS].split(maxsplit=_LONGEST + 1)
    long = len(text) > _MOST_CHARACTERS or not _SHORTEST <= len(words) <= _LONGEST
    if long or not text[0].isalnum() or text[0].islower():
        return False
    if not text.endswith((".", "!", ")", '"', "\u201d", "]")) or asks_only(text) or _ADDRESS.search(text):
        return False
    return sum(c.isalpha() or c.isspace() for c in text) >= 0.75 * len(text)


def _worth(text: str) -> float:
    rules, lower = _rules(), text.lower()
    cues, weights = rules["cues"], rules["weights"]
    things = sum(a.kind != "number" for a in arguments(text))
    if things < 2 or cues["not_its_own"].search(lower):
        return _NOTHING
    worth = weights["things"] * min(things, _THINGS)
    for name in (name for name, pattern in cues.items() if pattern.search(lower)):
        worth += weights[name]
    worth -= 0.0 if cues["finding"].search(lower) else 2.0
    for name in (name for name, pattern in rules["shapes"].items() if pattern.search(text)):
        worth += weights[name]
    worth += weights["long"] if len(text.split()) > _LONG else 0.0
    if rules["points_back"].match(lower) and not cues["reports"].search(lower[:80]):
        worth += weights["points_back"]
    return float(worth)


def _phrases(listed: Sequence[str]) -> str:
    """A pattern for phrases: words, of which one that ends with * is only begun."""
    return either(listed).replace(r"\*", r"\w*").replace(r"\ ", r"\s")


@cache
def rules_digest() -> str:
    """Digest of all that claims are chosen by."""
    folder = resource_dir("corpus")
    seen = sha256(b"1")
    for path in (folder / "grounding" / "claims.toml", *sorted((folder / "verifier").glob("*.toml"))):
        seen.update(path.read_bytes())
    return seen.hexdigest()[:16]


@cache
def _rules() -> dict[str, Any]:
    raw: dict[str, Any] = read_toml(resource_dir("corpus") / "grounding" / "claims.toml")

    def pattern(name: str) -> re.Pattern[str]:
        return re.compile(rf"(?<!\w)(?:{_phrases(raw[name])})(?!\w)")

    reports = rf"(?<!\w)(?:{_phrases(raw['reporters'])})\s(?:[\w,'-]+\s){{0,4}}(?:{_phrases(raw['verbs'])})(?!\w)"
    names = ("sums_up", "compares", "aims", "does", "unknown", "ought", "others", "hedges", "not_its_own")
    statistics = re.compile("".join(raw["statistics"].split("\n")))
    return {
        "cues": {name: pattern(name) for name in names}
        | {"finding": pattern("findings"), "reports": re.compile(reports)},
        "parts": {part: re.compile(rf"\b(?:{_phrases(words)})") for part, words in raw["parts"].items()},
        "points_back": pattern("points_back"),
        "shapes": {"statistics": statistics, "cites": _CITES, "figure": _FIGURE, "broken": _BROKEN},
        **{name: raw[name] for name in ("weights", "sections", "places")},
    }
