"""Relevance of quoted sentences to a claim: objections by names, roles and direction.

Each objection makes a paper silent, and is shown beside it: a wrong answer is worse than none.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache, partial
from itertools import islice
from typing import NamedTuple

from kgcheck.literature.arguments import Argument, SentenceContent, arguments, content_of, head, is_named, missing
from kgcheck.literature.documents import Span, sentences
from kgcheck.literature.features import words_of
from kgcheck.literature.relations import Named, bearing, is_of_other, relations, sides, unlicensed
from kgcheck.literature.roles import Act, acts, asks_only, same_scale
from kgcheck.text.tokens import BREAKS, compounds
from kgcheck.text.words import verifier_rules, words_of_list

_ASIDE = re.compile(r"\([^()]*\)")
_MOST_CUTS = 40
"""Places at which a sentence is cut."""


class SentencePiece(NamedTuple):
    """A piece of a sentence."""

    text: str
    before: str

    @property
    def whole(self) -> str:
        return f"{self.before} ; {self.text}" if self.before else self.text


def pieces(quoted: Sequence[str], abstract: str = "", *, compares: bool = False) -> tuple[SentencePiece, ...]:
    """The pieces of sentences.

    >>> [p.text for p in pieces(["Tea lowered the risk of gout, whereas coffee made no difference."])]
    ['Tea lowered the risk of gout,', 'coffee made no difference.']
    """
    found: list[SentencePiece] = []
    for sentence in quoted:
        before = ""
        whole = _ASIDE.sub(lambda found: found[0].replace(";", ","), sentence)
        for text in _cut(whole, compares=compares):
            earlier = before or _before(sentence, abstract)
            found.append(SentencePiece(text, earlier if _references().search(text) else ""))
            before = text
    return tuple(found)


def _cut(sentence: str, *, compares: bool) -> Iterator[str]:
    """Pieces of a sentence; one without a subject of its own goes on with the one before it."""
    start = 0
    for found in islice(_cuts().finditer(sentence), _MOST_CUTS):
        if compares and found.lastgroup == "compares":
            continue
        words = [w for w in compounds(sentence[found.end() : found.end() + 40].lower()) if w not in BREAKS]
        if found.lastgroup == "turns" and (not words or _goes_on(words)):
            continue
        if text := sentence[start : found.start()].strip():
            yield text
        start = found.end()
    if text := sentence[start:].strip():
        yield text


def _goes_on(words: Sequence[str]) -> bool:
    return words[0] in words_of_list("pieces", "goes_on") or words[0].endswith(("ed", "ing"))


def _before(sentence: str, abstract: str) -> str:
    """The sentence before one, and the one before that where it has a pronoun, too."""
    spans, at = _spans(abstract), abstract.find(sentence)
    earlier = [abstract[start:end] for start, end in spans if at >= 0 and end <= at][-2:]
    if not earlier:
        return ""
    return " ".join(earlier) if _references().search(earlier[-1]) else earlier[-1]


@lru_cache(maxsize=64)
def _spans(abstract: str) -> tuple[Span, ...]:
    return sentences(abstract) if abstract else ()


@cache
def _cuts() -> re.Pattern[str]:
    turns, compares = ("|".join(verifier_rules("pieces")[kind]) for kind in ("turns", "compares"))
    return re.compile(rf"(?P<ends>;)|\b(?P<turns>{turns})\b|(?P<compares>{compares})\b", re.IGNORECASE)


@cache
def _references() -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(verifier_rules('pieces')['refers'])})\b", re.IGNORECASE)


_THAN = re.compile(
    r"\b(?P<way>more|less|fewer|better|worse|higher|lower|greater|smaller|longer|shorter|faster|slower|stronger|weaker|larger"
    r"|earlier|later|safer)\b(?P<between>[^.;]{0,80}?)\bthan\b",
    re.IGNORECASE,
)
_PARTS = re.compile(r"[,;]|\b(?:and|against|versus|vs|compared (?:with|to)|but|whereas|while)\b", re.IGNORECASE)
_AFTER_SIDE = re.compile(r"\b(?:was|were|is|are|had|has|have|did|does|do|in|on|with)\b|[,;]")
_LESS = frozenset("less fewer worse lower smaller shorter slower weaker later".split())
_LONGEST_SENTENCE = 2_000


class _Comparison(NamedTuple):
    first: str
    second: str
    less: bool


def comparison_objection(claim: str, sentences: Sequence[str]) -> str:
    """Return the reason why sentences that compare do not bear out what a claim compares or counts.

    >>> comparison_objection("Tea helped more than coffee.", ["Coffee helped more than tea did."])
    'its sentences compare them the other way round'
    """
    return _turned(claim, sentences) or _number_of_other(claim, sentences)


def _turned(claim: str, sentences: Sequence[str]) -> str:
    wanted = _compared(claim)
    if not wanted:
        return ""
    # Of the second side, what stands before something is told of it.
    second = head(_AFTER_SIDE.split(wanted.second.strip(), maxsplit=1)[0])
    first = [a for a in arguments(f"the {wanted.first}") if a.kind != "number"]
    if not second:
        return ""
    ways = set()
    for compared in (c for s in sentences if (c := _compared(s))):
        left, right = content_of(compared.first), content_of(compared.second)
        straight = is_named(second, right) and not is_named(second, left)
        moved = any(is_named(a, right) and not is_named(a, left) for a in first)
        crossed = moved and is_named(second, left) and not is_named(second, right)
        if straight or crossed:
            ways.add(straight == (compared.less == wanted.less))
    return "its sentences compare them the other way round" if ways == {False} else ""


def _compared(sentence: str) -> _Comparison | None:
    found = _THAN.search(sentence[:_LONGEST_SENTENCE])
    if not found:
        return None
    return _Comparison(sentence[: found.start()], sentence[found.end() :], found["way"].lower() in _LESS)


def _shared(claim: str, sentences: Sequence[str]) -> float:
    """The share of the words of a claim that sentences hold."""
    wanted = words_of(claim).content
    found = frozenset[str]().union(*(words_of(s).content for s in sentences))
    return len(wanted & found) / max(len(wanted), 1)


def _number_of_other(claim: str, sentences: Sequence[str]) -> str:
    """A number beside something that the claim does not name, where what it does name has another number."""
    named = arguments(claim)
    numbers, things = [a for a in named if a.kind == "number"], [a for a in named if a.kind != "number"]
    for number in numbers:
        holding = [s[:_LONGEST_SENTENCE] for s in sentences if is_named(number, content_of(s))]
        if holding and all(_is_of_other(number, things, s) for s in holding):
            return f"its sentences have this number of something else: {number.words}"
    return ""


def _is_of_other(number: Argument, things: Sequence[Argument], sentence: str) -> bool:
    parts = [(text, content_of(text)) for text in _PARTS.split(sentence) if text.strip()]
    own = [(text, there) for text, there in parts if is_named(number, there)]
    units = {form.partition("|")[2] for form in number.forms}
    rest = [there for _, there in parts if not is_named(number, there) and units & {unit for _, unit in there.numbers}]
    wanted = content_of(" ; ".join(a.words for a in things))
    for text, there in own:
        lacking = [a for a in arguments(f"the {text}") if a.kind not in ("number", "human") and not is_named(a, wanted)]
        if not lacking or not any(is_named(a, other) and not is_named(a, there) for a in things for other in rest):
            return False
    return bool(own)


_COMPARES = re.compile(r"\b(?:than|versus|vs|compared)\b", re.IGNORECASE)
_NONE_OF = re.compile(r"(?:neither|none of|no)\b", re.IGNORECASE)
_ENDS = re.compile(r"\b(?:in|on|at|during|after|before|within|among|from|with|under|by)\b", re.IGNORECASE)
"""Words with which what is done to something goes on to where and when."""


class ClaimedAct(NamedTuple):
    """An act with what is named on both of its sides."""

    act: Act
    agent: tuple[Argument, ...]
    patient: tuple[Argument, ...]


class _Read(NamedTuple):
    act: Act
    agent: SentenceContent
    patient: SentenceContent


REPEATS = 0.66
"""From two thirds of the words of a claim on, sentences repeat it; with fewer they may say it in other words."""


def objection(
    claim: str,
    sentences: Sequence[str],
    abstract: str = "",
    synonyms: Iterable[Sequence[str]] = (),
    *,
    strict: bool = True,
    supports: bool = True,
) -> str:
    """Return the reason why sentences speak neither for nor against a claim.

    What is not named, or not together, counts always if ``strict``, else where the sentences repeat the claim but for
    it. What supports a claim says the same of the same things; what contradicts it says something of them.

    >>> objection("STK5 phosphorylates ABL9.", ["ABL9 phosphorylates STK5."])
    'its sentences say it the other way round: STK5, phosphorylates, ABL9'
    """
    groups, asks = [tuple(g) for g in synonyms], claim.rstrip().endswith("?")
    findings = [s for s in sentences if not asks_only(s)]
    read = sentences if asks else findings
    unsaid = unlicensed(claim, read)
    licensed = {w for r in relations(claim) if r.word not in unsaid for w in r.word.split()} if supports else set()
    complete = strict or not findings or _shared(claim, sentences) >= REPEATS
    lacking = [w for w in missing(claim, read, abstract, groups) if w.lower() not in licensed]
    if complete and lacking:
        only = "do not name" if len(read) == len(sentences) else "only ask, and find nothing, about"
        return f"its sentences {only}: {', '.join(lacking)}"
    if why := comparison_objection(claim, findings):
        return why
    if supports and unsaid and not asks:
        return f"its sentences do not say: {', '.join(unsaid)}"
    cut = pieces(read, abstract, compares=bool(_COMPARES.search(claim)))
    named = partial(_named, abstract=abstract, groups=groups)
    for relation in relations(claim):
        theme, cause = sides(relation)
        if not (relation.classes and theme and cause and "-" not in relation.word):
            continue
        every = f"the {relation.cause} ; the {relation.theme}"
        free = licensed | {a.words.lower() for a in arguments(every) if a.kind == "number"}
        near = [
            piece
            for piece in _naming((theme, cause), cut, named)
            if free.issuperset(w.lower() for w in missing(every, [piece.whole], abstract, groups))
        ]
        if not near and (asks or not complete):
            continue
        found = [r for p in near for r in relations(p.text) if not is_of_other(claim, relation, r)]
        bears = {bearing(relation, r, named, against=not supports) for r in found}
        both = f"{cause[0].words}, {relation.word}, {theme[0].words}"
        if -1 in bears and 2 not in bears:
            return f"its sentences say it the other way round: {both}"
        if not (asks or bears & {1, 2}):
            return f"none of its sentences says this of both: {both}"
    return ""


def claimed(claim: str) -> list[ClaimedAct]:
    """The acts of a claim of which both sides name something."""
    found = []
    for act in acts(claim):
        agent, patient = _things(act.agent), _things(act.patient)
        if agent and patient:
            found.append(ClaimedAct(act, agent, patient))
    return found


def opposes(claim: str, sentences: Sequence[str]) -> int:
    """Return -1 if sentences say that more comes of what a claim says less comes of, or the reverse.

    1 if they say the same as the claim, 0 if neither or both.
    """
    found = [r for s in sentences if not asks_only(s) for r in _read(s)]
    signs = set()
    for wanted in claimed(claim):
        for r in found:
            if not wanted.act.sign or not r.act.sign or wanted.act.denied or r.act.denied:
                continue
            if _straight(wanted, r) or ((wanted.act.mutual or r.act.mutual) and _crossed(wanted, r)):
                signs.add(wanted.act.sign * r.act.sign)
        if not wanted.act.denied and _all_deny(wanted, sentences):
            signs.add(-1)
    return signs.pop() if len(signs) == 1 else 0


def refutes(claim: str, sentences: Sequence[str], abstract: str = "") -> bool:
    """Tell whether one sentence says the opposite of a claim of all that it names, and so contradicts it.

    `opposes` is content with one thing on each side, which makes a paper silent; this is not.

    >>> refutes("Caffeine shortens sleep.", ["Caffeine slowed sleep."])
    False
    >>> refutes("Zincol raises the risk of gout.", ["Zincol protected against gout."])
    True
    """
    if claim.rstrip().endswith("?") or _COMPARES.search(claim) or opposes(claim, sentences) != -1:
        return False
    wanted = claimed(claim)
    if len(wanted) != 1:
        return False
    (one,) = wanted
    core = _things(_core(one.act))
    for sentence in sentences:
        if asks_only(sentence) or _COMPARES.search(sentence) or missing(claim, [sentence], abstract):
            continue
        for read in _read(sentence):
            opposite = one.act.sign * read.act.sign < 0 and not one.act.denied and not read.act.denied
            opposite = opposite and same_scale(one.act.name, read.act.name)
            straight = _all(one.agent, read.agent) and _all(core, read.patient)
            crossed = (one.act.mutual or read.act.mutual) and _all(one.agent, read.patient) and _all(core, read.agent)
            if opposite and (straight or crossed):
                return True
    return False


def _all_deny(wanted: ClaimedAct, sentences: Sequence[str]) -> bool:
    """Tell whether every piece that names both sides begins with a denial.

    As "neither A nor B had any influence on it".
    """
    findings = [s for s in sentences if not asks_only(s)]
    both = (wanted.agent, _things(_core(wanted.act)))
    near = _naming(both, pieces(findings, " ".join(sentences)), _named)
    return bool(near) and all(_NONE_OF.match(piece.text) for piece in near)


def _naming(wanted: Sequence[Sequence[Argument]], read: Sequence[SentencePiece], named: Named) -> list[SentencePiece]:
    """The pieces that name something of each side."""
    return [piece for piece in read if all(named(side, piece.whole) for side in wanted)]


def _named(wanted: Sequence[Argument], text: str, abstract: str = "", groups: Sequence[Sequence[str]] = ()) -> bool:
    """Tell whether a text names any of some things, by any of their names."""
    lacking, there = missing(" ; ".join(f"the {a.words}" for a in wanted), [text], abstract, groups), content_of(text)
    return any(a.words not in lacking and (a.kind != "head" or is_named(a, there)) for a in wanted)


def _core(act: Act) -> str:
    """Return the patient of an act, without where and when."""
    core = _ENDS.split(act.patient, maxsplit=1)[0]
    return core if _things(core) else act.patient


@lru_cache(maxsize=256)
def _read(sentence: str) -> tuple[_Read, ...]:
    return tuple(_Read(a, content_of(a.agent), content_of(a.patient)) for a in acts(sentence))


def _straight(wanted: ClaimedAct, read: _Read) -> bool:
    return _any(wanted.agent, read.agent) and _any(wanted.patient, read.patient)


def _crossed(wanted: ClaimedAct, read: _Read) -> bool:
    return _any(wanted.agent, read.patient) and _any(wanted.patient, read.agent)


def _all(wanted: Iterable[Argument], there: SentenceContent) -> bool:
    return all(is_named(a, there) for a in wanted)


def _any(wanted: Iterable[Argument], there: SentenceContent) -> bool:
    return any(is_named(a, there) for a in wanted)


def _things(text: str) -> tuple[Argument, ...]:
    """List what a side of an act names: symbols where there are some, else nouns, else its last word."""
    found = [a for a in arguments(f"the {text}") if a.kind in ("name", "label", "noun")]
    symbols = [a for a in found if a.kind != "noun"]
    last = head(text)
    return tuple(symbols or found or ([last] if last else []))
