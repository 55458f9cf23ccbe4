"""Relevance of quoted sentences to a claim: objections by names, roles and direction.

Each objection makes a paper silent, and is shown beside it: a wrong answer is worse than none.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import islice
from typing import NamedTuple

from kgcheck.literature.arguments import Argument, SentenceContent, arguments, content_of, head, is_named, missing
from kgcheck.literature.documents import Span, sentences
from kgcheck.literature.features import words_of
from kgcheck.literature.roles import Act, acts, asks_only, opposite_words, same_scale, specific
from kgcheck.text.tokens import BREAKS, compounds
from kgcheck.text.words import verifier_rules, words_of_list

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
        for text in _cut(sentence, compares=compares):
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
) -> str:
    """Return the reason why sentences speak neither for nor against a claim.

    What is not named, or not together, counts always if ``strict``, else where the sentences repeat the claim but for
    it.

    >>> objection("STK5 phosphorylates ABL9.", ["ABL9 phosphorylates STK5."])
    'its sentences say it the other way round: ABL9 phosphorylate STK5'
    """
    groups = [tuple(g) for g in synonyms]
    complete = strict or _shared(claim, sentences) >= REPEATS
    if complete and (lacking := missing(claim, sentences, abstract, groups)):
        return f"its sentences do not name: {', '.join(lacking)}"
    findings = [s for s in sentences if not asks_only(s)]
    asks = claim.rstrip().endswith("?")
    if not asks and (lacking := missing(claim, findings, abstract, groups)) and (complete or not findings):
        return f"its sentences only ask, and find nothing, about: {', '.join(lacking)}"
    if why := comparison_objection(claim, findings):
        return why
    wanted = claimed(claim)
    found = [r for s in findings for r in _read(s)]
    read = pieces(findings, abstract, compares=bool(_COMPARES.search(claim))) if wanted else ()
    for sides in wanted:
        near = _together(sides, read, abstract, groups)
        if complete and not near and not asks:
            return f"none of its sentences speaks of both: {sides.agent[0].words}, {sides.patient[0].words}"
        if why := _act_missing(sides.act, near or read) or _denies_other(sides, near) or _opposite_word(claim, near):
            return why
        if not sides.act.mutual and (other := turned_round(sides, found)):
            return f"its sentences say it the other way round: {other.agent} {other.name} {other.patient}"
    return ""


def claimed(claim: str) -> list[ClaimedAct]:
    """The acts of a claim of which both sides name something."""
    found = []
    for act in acts(claim):
        agent, patient = _things(act.agent), _things(act.patient)
        if agent and patient:
            found.append(ClaimedAct(act, agent, patient))
    return found


def turned_round(wanted: ClaimedAct, found: Sequence[_Read]) -> Act | None:
    """The act of sentences that exchanges who does it and to what, where none has them as they are wanted."""
    name = wanted.act.name
    comparable = [
        r for r in found if not r.act.mutual and (r.act.name == name or not (specific(name) or specific(r.act.name)))
    ]
    if any(_straight(wanted, r) for r in comparable):
        return None
    return next((r.act for r in comparable if _crossed(wanted, r)), None)


def opposes(claim: str, sentences: Sequence[str]) -> int:
    """Return -1 if sentences say that more comes of what a claim says less comes of, or the reverse.

    1 if they say the same as the claim, 0 if neither or both.
    """
    found = [r for s in sentences if not asks_only(s) for r in _read(s)]
    signs = set()
    for sides in claimed(claim):
        for r in found:
            if not sides.act.sign or not r.act.sign or sides.act.denied or r.act.denied:
                continue
            if _straight(sides, r) or ((sides.act.mutual or r.act.mutual) and _crossed(sides, r)):
                signs.add(sides.act.sign * r.act.sign)
        if not sides.act.denied and _all_deny(sides, sentences):
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
    (sides,) = wanted
    core = _things(_core(sides.act))
    for sentence in sentences:
        if asks_only(sentence) or _COMPARES.search(sentence) or missing(claim, [sentence], abstract):
            continue
        for read in _read(sentence):
            opposite = sides.act.sign * read.act.sign < 0 and not sides.act.denied and not read.act.denied
            opposite = opposite and same_scale(sides.act.name, read.act.name)
            straight = _all(sides.agent, read.agent) and _all(core, read.patient)
            crossed = (
                (sides.act.mutual or read.act.mutual) and _all(sides.agent, read.patient) and _all(core, read.agent)
            )
            if opposite and (straight or crossed):
                return True
    return False


def _together(
    sides: ClaimedAct, read: Sequence[SentencePiece], abstract: str, groups: Sequence[Sequence[str]]
) -> list[SentencePiece]:
    """The pieces that name both sides of an act: two about one each say nothing of both."""
    core = _core(sides.act)
    both = f"the {sides.act.agent} ; {core}"
    wanted = (sides.agent, _things(core))
    near = []
    for piece in read:
        lacking = set(missing(both, [piece.whole], abstract, groups))
        there = content_of(piece.whole)
        left = [
            [a for a in side if a.words in lacking or (a.kind == "head" and not is_named(a, there))] for side in wanted
        ]
        if all(len(gone) < len(side) for gone, side in zip(left, wanted, strict=True)):
            # What the piece does not name may act in another: one act each, of another doer.
            others = [r.agent for other in read if other is not piece for r in _read(other.text)]
            if not any(is_named(a, agent) for a in left[0] for agent in others):
                near.append(piece)
    return near


def _all_deny(sides: ClaimedAct, sentences: Sequence[str]) -> bool:
    """Tell whether every piece that names both sides begins with a denial.

    As "neither A nor B had any influence on it".
    """
    findings = [s for s in sentences if not asks_only(s)]
    near = _together(sides, pieces(findings, " ".join(sentences)), "", ())
    return bool(near) and all(_NONE_OF.match(piece.text) for piece in near)


def _core(act: Act) -> str:
    """Return the patient of an act, without where and when."""
    core = _ENDS.split(act.patient, maxsplit=1)[0]
    return core if _things(core) else act.patient


def _act_missing(act: Act, near: Sequence[SentencePiece]) -> str:
    """An act that nothing else stands for must be there: who binds a thing does not yet cleave it."""
    if not specific(act.name):
        return ""
    stem = act.name[:5]
    if any(stem in piece.whole.lower() for piece in near):
        return ""
    return f"its sentences do not say of anything that it does this: {act.name}"


def _denies_other(sides: ClaimedAct, near: Sequence[SentencePiece]) -> str:
    """Object where all that is told of both sides is that something else is not so."""
    found = [r for piece in near for r in _read(piece.text)]
    about = [r for r in found if _straight(sides, r) or _crossed(sides, r)]
    if about and len({p.text for p in near}) == 1 and all(r.act.denied and _other(sides.act, r.act) for r in about):
        return f"its sentences deny something else of both: {about[0].act.name}"
    return ""


def _other(wanted: Act, denied: Act) -> bool:
    """Tell whether the denial of one act leaves another open."""
    if specific(wanted.name) or specific(denied.name) or not wanted.sign or not denied.sign:
        return wanted.name != denied.name
    return wanted.sign != denied.sign


def _opposite_word(claim: str, near: Sequence[SentencePiece]) -> str:
    """A word of a claim of which all pieces have the opposite: reversibly, irreversibly."""
    for word, other in opposite_words(claim):
        written = [set(re.findall(r"[a-z]+", piece.text.lower())) for piece in near]
        if written and all(other in words and word not in words for words in written):
            return f"its sentences have another word for it: {other}, not {word}"
    return ""


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
