"""Parse a question into mentions: nouns, names of nodes, relation phrases, filters and marks."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from kgcheck.errors import NotUnderstood
from kgcheck.graph.names import Candidate, NameIndex, NameLink, Token, tokens
from kgcheck.profile.lexicon import (
    Comparison,
    Lexicon,
    PropertyWords,
    Role,
    changes_meaning,
    compiled,
    phrase,
)
from kgcheck.questions.plan import Filter

ScopedKind = Literal["or", "either", "both", "shared", "every", "distinct"]
Kind = Literal["not", "except", "amount", "most", "top", "few", "best"] | ScopedKind

_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_NUMBER = rf"(?P<number>\d+|{'|'.join(_WORDS)})(?![\w.%-])"


@dataclass(frozen=True)
class Mark:
    """A word or phrase that changes what is asked.

    ``not`` takes away what the next relation reaches, ``except`` the nodes named next; ``amount`` says how many of the
    next noun there have to be, ``most`` that the number of the next noun ranks; ``best`` that a property ranks, and
    ``top`` how many are wanted, as does ``few``, a number that may say nothing. The meaning of the scoped kinds hangs
    on what they stand beside: `kgcheck.questions.compiler` settles it.
    """

    kind: Kind
    start: int
    end: int
    text: str
    comparison: Comparison = "="
    number: int = 1
    property: str = ""
    descending: bool = True


_Shape = tuple[re.Pattern[str], Mark]


def _longest(shapes: Sequence[_Shape], low: str, taken: Sequence[tuple[int, int]]) -> list[Mark]:
    """Find the longest marks of some shapes, none over another or what is taken, in order."""
    found = [
        replace(shape, start=m.start(), end=m.end(), text=m[0], number=_number_in(m, shape.number))
        for pattern, shape in shapes
        for m in pattern.finditer(low)
    ]
    kept: list[Mark] = []
    for word in sorted(found, key=lambda w: w.start - w.end):
        if not _overlaps(word.start, word.end, [*taken, *((k.start, k.end) for k in kept)]):
            kept.append(word)
    return sorted(kept, key=lambda w: w.start)


def _overlaps(start: int, end: int, spans: Iterable[tuple[int, int]]) -> bool:
    return any(a < end and start < b for a, b in spans)


def _number_in(match: re.Match[str], otherwise: int) -> int:
    text = match.groupdict().get("number")
    if text is None:
        return otherwise
    return _WORDS.index(text) if text in _WORDS else int(text[:9])


def _shape(kind: Kind, text: str, **rest: object) -> _Shape:
    return compiled(text), Mark(kind, 0, 0, "", **rest)  # type: ignore[arg-type]


def any_of(phrases: Sequence[str]) -> str:
    r"""A pattern for any of some phrases, with any white space in them.

    >>> any_of(["more than", "over"])
    'more\\s+than|over'
    """
    return "|".join(map(spaced, phrases))


def spaced(text: str) -> str:
    """A phrase with any white space between its words, as a pattern."""
    return text.replace(" ", r"\s+")


def _amounts(lexicon: Lexicon) -> list[_Shape]:
    found = []
    for comparison, phrases in lexicon.comparisons.items():
        for words in phrases:
            sign = re.escape(words) if is_sign(words) else spaced(words)
            text = sign.replace("#", _NUMBER) if "#" in words else rf"(?:{sign})\s*{_NUMBER}"
            lead = "" if is_sign(words) else r"(?<![\w-])"
            found.append(_shape("amount", lead + text, comparison=comparison))
    found.append(_shape("amount", rf"(?<![\w-])(?:{any_of(lexicon.ranks.exactly)})\s+{_NUMBER}", comparison="="))
    found.append(_shape("amount", phrase("|".join(lexicon.ranks.several)), comparison=">", number=1))
    found.append(_shape("amount", phrase("|".join(lexicon.ranks.single)), comparison="=", number=1))
    return found


def is_sign(words: str) -> bool:
    """Tell whether a comparison is a sign, such as `>=`, and no word."""
    return not any(c.isalpha() for c in words)


def _ranks(lexicon: Lexicon) -> list[_Shape]:
    ranks = lexicon.ranks
    found = []
    for name, descending in (("most", True), ("fewest", False)):
        found.append(_shape("most", phrase(f"(?:the )?(?:{'|'.join(getattr(ranks, name))})"), descending=descending))
    found += [_shape("top", rf"(?<![\w-])(?:the\s+)?{spaced(text).replace('#', _NUMBER)}(?!\w)") for text in ranks.top]
    found += [_shape("few", rf"(?<![\w-])(?:{spaced(text).replace('#', _NUMBER)})") for text in ranks.few]
    for prop in lexicon.properties:
        if prop.text:
            continue
        words = "|".join(prop.words)
        for sides, descending in ((ranks.high, True), (ranks.low, False)):
            text = f"(?:(?:with|at|has|have|having) )?(?:(?:the|an?) )?(?:{'|'.join(sides)})[- ](?:{words})"
            found.append(_shape("best", phrase(text), property=prop.name, descending=descending))
        by = f"(?:{'|'.join(ranks.by)}) (?:the |their |its |association )*(?:{words})"
        found.append(_shape("best", phrase(by), property=prop.name))
        for sides, descending in ((prop.high, True), (prop.low, False)):
            if sides:
                found.append(_shape("best", phrase("|".join(sides)), property=prop.name, descending=descending))
    return found


LONGEST_QUESTION = 2_000
"""Characters. Readers look from every word to the end of the question, so that work grows with its square."""

_LINK = r"[\s,]*+(?:also\s++)?(?:in|with|to|by|of|on|at|from)?\s*+(?:the|also|are|is)?\s*+$"
_AND = re.compile(rf"^[\s,;&]*(?:and|as well as|,|&|together with){_LINK}")
_STRANDED = re.compile(r"\s+of\s*[?.!]*\s*$")
_SUFFIX = re.compile(r"(?<=\w)-(associated|related|linked|interacting|encoding|encoded)(?!\w)", re.IGNORECASE)
_PREPOSITION = "(?:to|in|into|from|of|with|on|by|under|at|as|for|within)"
_ENDS_SO = re.compile(rf"(.*[a-z)?]) (?:{_PREPOSITION}|\((?:{_PREPOSITION}(?:\||(?=\))))+\))")
_FRONTED = re.compile(rf"\W*{_PREPOSITION}\s+(?:which|what|whom|how many)\b")
_ALSO_ASKS = re.compile(r"[?.,;]\s*(?:and\s+|if so,?\s*)?(?:which|what|who|where)\b")
_SYMBOL = re.compile(r"(?=[^\s]*[A-Z0-9])(?=[^\s]*[A-Z])[A-Z0-9][\w./:-]*[A-Z0-9]\w*|[A-Za-z][\w./:-]*\d\w*")
"""Pattern of symbols and ids: TP53, BRCA1, HLA-B; no word has a digit or two capitals."""

_PLURAL = re.compile(r"(?<=\w)\(s\)")
_OR = re.compile(rf"^[\s,;]*or{_LINK}")


@dataclass
class Noun:
    """Nodes that are looked for. No labels: any that fits."""

    start: int
    end: int
    text: str
    labels: tuple[str, ...] = ()
    ends: tuple[str, str] | None = None
    relation: str | None = None
    role: Role = "tail"
    steps: int = 1
    soft: bool = False


@dataclass
class Name:
    """Nodes that the question names."""

    start: int
    end: int
    text: str
    candidates: tuple[Candidate, ...]


@dataclass
class Phrase:
    """Words that stand for a relation."""

    start: int
    end: int
    text: str
    relation: str
    backward: bool = False
    others: tuple[tuple[str, bool], ...] = ()

    @property
    def readings(self) -> tuple[tuple[str, bool], ...]:
        """Relations that the words may stand for, each with whether they are said backwards."""
        return ((self.relation, self.backward), *self.others)


Mention = Noun | Name | Phrase


@dataclass
class QuestionReading:
    """Mentions of a question, and how it asks."""

    text: str
    mentions: list[Mention] = field(default_factory=list)
    filters: list[tuple[int, Filter]] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    count: bool = False
    whether: bool = False
    scoped: list[Mark] = field(default_factory=list)
    common: bool = False
    describes: bool = False

    def between(self, one: Mention, other: Mention) -> str:
        """The text between two mentions, in lower case."""
        return self.text[one.end : other.start].lower()

    def joined(self, one: Mention, other: Mention) -> str:
        """Find how two mentions are joined: "and", "or", or not at all."""
        gap = self.between(one, other)
        return "and" if _AND.match(gap) else "or" if _OR.match(gap) else ""


class Reader:
    """Reader of what the lexicon and the names of a graph know in a question."""

    def __init__(self, lexicon: Lexicon, index: NameIndex) -> None:
        self._lexicon = lexicon
        self._index = index
        words = lexicon.words
        self._count = _any(words.count)
        scoped: tuple[ScopedKind, ...] = ("either", "both", "shared", "every", "distinct")
        self._scoped = [_shape(kind, phrase("|".join(getattr(words.scoped, kind)))) for kind in scoped]
        self._scoped.insert(0, _shape("or", phrase("|".join(words.scoped.or_))))
        self._idle = _any((*words.idle, *(words.species.words if words.species and index.one_species else ())))
        self._aside = _any(words.aside)
        self._each = _any(words.each)
        self._refuse = _any(words.refuse)
        self._common = _any(words.common)
        self._describe = re.compile(rf"^\W*(?:{any_of(words.describe)})\s+$")
        self._whether = re.compile(rf"^\W*(?:{any_of(words.whether)})(?![\w-])")
        denials = [_shape("not", phrase("|".join(words.negation))), _shape("except", phrase("|".join(words.exclusion)))]
        self._marks = [*_ranks(lexicon), *_amounts(lexicon), *denials]
        self._nouns_of = [(compiled(phrase(text)), noun) for text, noun in _noun_shapes(lexicon)]
        self._phrases_of = phrase_shapes(lexicon)
        self._fronted = phrase_shapes(lexicon, without_preposition=True)
        self._properties = {p.name: compiled("|".join(map(spaced, p.words))) for p in lexicon.properties}

    def read(self, question: str) -> QuestionReading:
        """Find the mentions of a question."""
        # "TP53-associated" is two words.
        text = _SUFFIX.sub(r" \1", _PLURAL.sub("s", question))
        reading = QuestionReading(text)
        low = text.lower()
        words = tokens(text)
        links = [link for link in self._index.links(words) if not link.text.isdigit()]
        names = [(link.start, link.end) for link in links if " " in link.text]
        taken = self._take_filters(text, low, reading, names)
        idle = [m.span() for m in self._idle.finditer(low)]
        reading.marks = _longest(self._marks, low, [*taken, *names, *idle])
        taken += [(m.start, m.end) for m in reading.marks]
        reading.mentions = self._chosen(low, links, taken)
        nouns = [(m.start, m.end) for m in reading.mentions if isinstance(m, Noun)]
        reading.count = any(_is_free(m, [*taken, *nouns]) for m in self._count.finditer(low))
        if reading.count and self._each.search(low):
            raise NotUnderstood("a number for each of several nodes cannot be asked", "ask for one, or for the most")
        reading.whether = bool(self._whether.search(low)) and not _ALSO_ASKS.search(low) and not reading.count
        mentions = [(m.start, m.end) for m in reading.mentions]
        reading.scoped = _longest(self._scoped, low, [*taken, *mentions, *idle])
        if re.match(r"\W*where\b", low) and not any(isinstance(m, Noun) and m.start < 3 for m in reading.mentions):
            raise NotUnderstood("I did not understand: 'where'", "say which kind of place is asked for")
        refused = next((m for m in self._refuse.finditer(low) if _is_free(m, [*taken, *names])), None)
        if refused:
            raise NotUnderstood(*changes_meaning(refused[0]))
        reading.common = bool(self._common.search(low))
        if len(reading.mentions) == 1:
            alone = reading.mentions[0]
            reading.describes = isinstance(alone, Name) and bool(self._describe.match(low[: alone.start]))
        self._check_rest(words, reading, taken, low)
        return reading

    def forms(self, question: str) -> list[str]:
        """The question without what only says it again, then the whole question."""
        if len(question) > LONGEST_QUESTION:
            raise NotUnderstood(
                f"the question has more than {LONGEST_QUESTION:,} characters", "ask one question at a time"
            )
        question = " ".join(question.split())
        found = re.search(rf"[,;]\s*{self._aside.pattern}\s", question.lower())
        if not found:
            return [question]
        before, again = question[: found.start()], question[found.end() :]
        shorter = [before] if self._adds_nothing(before, again) else []
        return [*shorter, self._aside.sub(" ", question)]

    def _adds_nothing(self, before: str, again: str) -> bool:
        """Tell whether words add nothing to a question: no name, condition or quantity."""
        try:
            more = self.read(again)
        except NotUnderstood:
            return False
        names = {m.text.casefold() for m in more.mentions if isinstance(m, Name)}
        return not (more.marks or more.filters or more.scoped) and all(name in before.casefold() for name in names)

    def _take_filters(
        self, text: str, low: str, reading: QuestionReading, names: list[tuple[int, int]]
    ) -> list[tuple[int, int]]:
        taken: list[tuple[int, int]] = []
        named = [p for p in self._lexicon.properties if self._properties[p.name].search(low)]
        shapes = ((prop.name, *shape) for prop in named for shape in filter_shapes(prop, self._lexicon.comparisons))
        for name, pattern, comparison in shapes:
            for match in pattern.finditer(low):
                if not _is_free(match, taken) or not _is_free(match, names, "value"):
                    continue
                most = match.groupdict().get("most")
                if most:
                    reading.filters.append((match.start(), Filter(property=name, comparison="<=", value=float(most))))
                raw = text[match.start("value") : match.end("value")].strip(" '\"")
                if comparison is None and raw.lower() in self._lexicon.words.ignored:
                    continue
                value: float | str = raw if comparison is None else float(raw)
                reading.filters.append(
                    (match.start(), Filter(property=name, comparison=comparison or "=", value=value))
                )
                taken.append(match.span())
        return taken

    def _chosen(self, low: str, links: list[NameLink], taken: list[tuple[int, int]]) -> list[Mention]:
        """The longest mentions, none over another; of equals, a word of the lexicon."""
        mutual = frozenset(r.type for r in self._lexicon.relations if r.mutual)
        nouns = (
            replace(noun, start=m.start(), end=m.end(), text=m[0])
            for pattern, noun in self._nouns_of
            for m in pattern.finditer(low)
        )
        found: list[Mention] = [_predicate(noun, low, mutual) for noun in nouns]
        found += self._phrases(low)
        found += [Name(link.start, link.end, link.text, link.candidates) for link in links]
        kept: list[Mention] = []
        for mention in sorted(found, key=lambda m: (m.start - m.end, isinstance(m, Name), isinstance(m, Phrase))):
            spans = [*taken, *((k.start, k.end) for k in kept)]
            if not _overlaps(mention.start, mention.end, spans):
                kept.append(mention)
            elif isinstance(mention, Phrase):
                same = next((k for k in kept if (k.start, k.end) == (mention.start, mention.end)), None)
                if isinstance(same, Noun) and same.relation and _is_verb(low, same, links):
                    kept[kept.index(same)] = mention
                    continue
                # A shorter phrase inside a longer one says what it may also mean: "are affected by".
                for longer in kept:
                    if isinstance(longer, Phrase) and longer.start <= mention.start and mention.end <= longer.end:
                        left = low[longer.start : mention.start] + low[mention.end : longer.end]
                        if not set(left.split()) <= self._lexicon.words.ignored:
                            continue
                        more = tuple(r for r in mention.readings if r not in longer.readings)
                        longer.others = (*longer.others, *more)
        return sorted(kept, key=lambda m: m.start)

    def _phrases(self, low: str) -> list[Phrase]:
        by_span: dict[tuple[int, int], list[tuple[str, bool]]] = {}
        known = [*self._phrases_of, *(self._fronted if _FRONTED.match(low) else ())]
        for pattern, relation, backward in known:
            for match in pattern.finditer(low):
                readings = by_span.setdefault(match.span(), [])
                if (relation, backward) not in readings:
                    readings.append((relation, backward))
        return [Phrase(a, b, low[a:b], *r[0], others=tuple(r[1:])) for (a, b), r in by_span.items()]

    def _check_rest(self, words: list[Token], reading: QuestionReading, taken: list[tuple[int, int]], low: str) -> None:
        spans = [*taken, *((m.start, m.end) for m in reading.mentions)]
        if reading.describes:
            spans.append((0, reading.mentions[0].start))
        spans += [(s.start, s.end) for s in reading.scoped]
        patterns = (self._count, self._idle, *((self._whether,) if reading.whether else ()))
        spans += [m.span() for p in patterns for m in p.finditer(low)]
        rest = [w for w in words if not any(a <= w.start and w.end <= b for a, b in spans)]
        ignored = self._lexicon.words.ignored
        strange = [w for w in rest if any(c.isalnum() for c in w.text) and w.folded not in ignored]
        for word in strange:
            label = self._index.malformed(word)
            if label:
                raise NotUnderstood(f"there is no {label} {word.text} in the graph", "check the id")
        for word in strange:
            if word.folded in self._lexicon.words.changing:
                raise NotUnderstood(*changes_meaning(word.text))
        if strange:
            near = [n for w in strange for n in self._index.nearest(w.text)]
            hint = f"did you mean {' or '.join(near[:3])}?" if near else "check the spelling, or name ids"
            symbols = [w.text for w in strange if _SYMBOL.fullmatch(w.text)]
            if symbols:
                are = "is" if len(symbols) == 1 else "are"
                raise NotUnderstood(f"{' and '.join(symbols)} {are} not in this graph", hint)
            raise NotUnderstood(f"I did not understand: {', '.join(repr(w.text) for w in strange)}", hint)


def _is_verb(low: str, noun: Noun, links: list[NameLink]) -> bool:
    """Recognise a word as a verb that may be a noun: "that target TP53", "what does TP53 target?"."""
    if re.search(r"\bto\s+$", low[: noun.start]):
        return True
    before = [link for link in links if link.end <= noun.start]
    after = [link for link in links if link.start >= noun.end]
    if after and re.fullmatch(r"\s+(?:the\s+|gene\s+|protein\s+)*", low[noun.end : after[0].start]):
        return True
    named = before and not low[before[-1].end : noun.start].strip()
    return bool(named) and bool(re.search(r"\b(?:does|do|did|that|which|whom)\s", low[: before[-1].start]))


def _is_free(match: re.Match[str], spans: list[tuple[int, int]], group: int | str = 0) -> bool:
    return not _overlaps(match.start(group), match.end(group), spans)


def _predicate(noun: Noun, low: str, mutual: frozenset[str]) -> Noun | Phrase:
    """A noun with nothing after it says what comes before: "What is asthma a subtype of?", "Are A and B partners?"."""
    ends = not any(c.isalnum() for c in low[noun.end :])
    if noun.relation in mutual and ends and re.match(r"\W*(?:are|were|is it true that)\s", low):
        return Phrase(noun.start, noun.end, noun.text, noun.relation or "")
    if noun.relation and _STRANDED.match(low[noun.end :]):
        return Phrase(noun.start, noun.end, noun.text, noun.relation, noun.role == "tail")
    return noun


def _any(phrases: tuple[str, ...]) -> re.Pattern[str]:
    return compiled(phrase("|".join(phrases)))


def _noun_shapes(lexicon: Lexicon) -> list[tuple[str, Noun]]:
    """Each noun of the lexicon with what it stands for."""
    shapes = [(k.nouns, Noun(0, 0, "", (k.label,), (k.property, k.ends))) for k in lexicon.kinds]
    for role in lexicon.role_nouns:
        labels = (role.label,) if role.label else ()
        shapes.append((role.nouns, Noun(0, 0, "", labels, None, role.relation, role.role, role.steps, role.soft)))
    shapes += [(label.nouns, Noun(0, 0, "", (label.name,))) for label in lexicon.labels]
    shapes.append((lexicon.words.anything, Noun(0, 0, "")))
    return [(text, noun) for nouns, noun in shapes for text in nouns]


def phrase_shapes(lexicon: Lexicon, *, without_preposition: bool = False) -> list[tuple[re.Pattern[str], str, bool]]:
    """Each phrase of a relation, and whether it is said backwards; those that end in a preposition also without it."""
    shapes = [
        (text, relation.type, backward)
        for relation in lexicon.relations
        for phrases, backward in ((relation.forward, False), (relation.backward, True))
        for text in phrases
    ]
    if lexicon.draft:
        related = (*lexicon.words.related, *lexicon.words.involved)
        shapes += [
            (text, r.type, backward) for r in lexicon.relations for backward in (False, True) for text in related
        ]
    # A question may part the two: "into which kinds is A divided".
    shapes = [(re.sub(r"^\(is\|are\) ", "((is|are) )?", text), relation, way) for text, relation, way in shapes]
    if without_preposition:
        shapes = [(match[1], relation, way) for text, relation, way in shapes if (match := _ENDS_SO.fullmatch(text))]
    return [(compiled(phrase(text)), relation, backward) for text, relation, backward in shapes]


def filter_shapes(
    prop: PropertyWords, comparisons: Mapping[Comparison, Sequence[str]]
) -> Iterator[tuple[re.Pattern[str], Comparison | None]]:
    """Yield the conditions that can be said of a property: with its value, or a comparison and a number."""
    lead = (
        r"(?<!\w)(?:,?\s*(?:with|at|having|has|have|whose|by|from|in|according\s+to|and|on|of)?\s*(?:an?|the|its)?\s*)"
    )
    words = "|".join(w.replace(" ", r"\s+") for w in prop.words)
    if prop.text:
        written = r"(?P<value>'[^']+'|\"[^\"]+\"|[^\s,?]+(?:\s\([^)]*\))?)"
        yield compiled(rf"{lead}\b(?:{words})\s+(?:is\s+|of\s+|called\s+)?{written}"), None
        return
    number = r"(?P<value>-?\d+(?:\.\d+)?)(?!\w)(?![.]\d)"
    between = rf"(?:between|from|of|in|is)\s+{number}\s*(?:and|to|-|\u2013)\s*{number.replace('value', 'most')}"
    yield compiled(rf"{lead}\b(?:{words})\s+(?:ranging\s+|range\s+|is\s+)?{between}"), ">="
    yield compiled(rf"{lead}\b(?:{words})\s+(?:of|is)\s+{number}(?!\s+or\b)"), "="
    for comparison, phrases in comparisons.items():
        for sign_text in phrases:
            sign = re.escape(sign_text) if is_sign(sign_text) else spaced(sign_text)
            compared = sign.replace("#", number) if "#" in sign else rf"(?:{sign})\s*{number}"
            yield compiled(rf"{lead}\b(?:{words})\s*(?:is|are|of|that\s+is|being)?\s*{compared}"), comparison
            yield compiled(rf"{lead}(?<![\w-]){compared}\s*(?:in\s+)?\b(?:{words})(?!\w)"), comparison
