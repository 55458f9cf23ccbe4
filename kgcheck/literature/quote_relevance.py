"""Relevance of quoted sentences to a claim: objections by names, relations, roles and direction.

Each objection makes a paper silent, and is shown beside it: a wrong answer is worse than none. "A binds B" does not
license "A cleaves B", and "A is phosphorylated" not "A phosphorylates B": what a claim says of things must be said of
them, by its own word or by one of its class (``corpus/verifier/relations.toml``).
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, lru_cache, partial
from itertools import islice
from typing import Any, NamedTuple

from kgcheck.literature.arguments import (
    Argument,
    SentenceContent,
    arguments,
    content_of,
    head,
    is_named,
    is_written,
    missing,
)
from kgcheck.literature.documents import sentences
from kgcheck.literature.features import words_of
from kgcheck.literature.roles import Act, acts, asks_only, same_scale
from kgcheck.text.words import BREAKS, compounds, verifier_rules, word_pattern, words_of_list

_MOST_WORDS = 400  # words of a text that are read
_BE, _PLACES, _OPENS_NOUN, _OPENS_VERB, _PARTICLES, _DENIALS, _COMPARATIVES, _REFERS = (
    words_of_list("relations", name)
    for name in ("be", "places", "opens_noun", "opens_verb", "particles", "denials", "comparatives", "refers")
)
_CLAUSES = BREAKS - {","} | words_of_list("relations", "opens_clause")
_JOINS = frozenset([",", "and", "or"])
_GAP = 3
_SHORT = 2  # letters up to which the first word of a phrase stands as it is: do without
_NEAR = 4  # words before a relation in which a denial reaches it

_PAST = re.compile(r"(?:ed|bound|driven|drawn|made|found|held|lost|built)$")
_VERB = re.compile(r"(?:ed|[^siu]s|en)$")
_BASE = re.compile(r"(?:[ai]te|i[zs]e|uce|ause|ote|ibit|ind|event|ire|ove|press|act|ower|ulate|ish|ance|(?<!def)ect)$")
"""Endings of verbs that are seldom nouns as they stand."""
_NO_PLURALS = frozenset("was has does as".split())
_NOUN = re.compile(
    r"(?:ions?|ments?|age|al|(?<!enh)ances?|ences?|responses?|effects?|roles?|risks?|loss|losses|deaths?|growth|activity|activities)$"
)
_DOER = re.compile(r"(?:ors?|ers?|ants?)$")
_LABEL = re.compile(r"(?<=\w)\((\w+(?:/\w+)*)\)")  # A part of a name in brackets, as of EGFR(L858R)
_BRACKETS = str.maketrans("()", "  ")
_PREFIX = re.compile(r"\b(up|down|co|over|under|re|auto|trans|hyper|hypo|cross|non|knock)-(?=[a-z])", re.IGNORECASE)
_WHERE = re.compile(r"\b(?:in|on|at|during|after|before|within|among|from|with|under|by)\b", re.IGNORECASE)

Named = Callable[[Sequence[Argument], str], bool]  # test whether a text names any of some things
_STOPS = _PLACES | _CLAUSES
_NOT_NAMED = _STOPS | _BE | _JOINS


class Relation(NamedTuple):
    """A word that says something of things."""

    word: str
    classes: frozenset[str]
    bears: frozenset[str]  # the classes that it bears out, its own and others
    loose: bool  # its sides may stand in any order: to bind, to depend on, to move into
    theme: str = ""  # side that it is done to, or that it is of
    cause: str = ""
    denied: bool = False


@lru_cache(maxsize=512)
def relations(text: str) -> tuple[Relation, ...]:
    """The relations of a text, in order.

    >>> [(r.word, r.theme, r.cause) for r in relations("Phosphorylation of B2 by A1 was lost.")]
    [('phosphorylation', 'B2', 'A1'), ('lost', 'Phosphorylation of B2 by A1 was', '')]
    """
    words, places = _words_and_places(text)
    # An A within a sentence is a name, as of kinase A.
    lower = [w if w == "A" and i else w.lower() for i, w in enumerate(words)]
    verbs = {i for i, found in places.items() if not found.bears <= _manner() and _is_verb(lower, i)}
    return tuple(found._replace(**_sides(words, lower, i, found, verbs)) for i, found in places.items())


def unlicensed(claim: str, sentences: Sequence[str]) -> tuple[str, ...]:
    """The words of a claim that say something of things, and for which sentences have none that says the same."""
    named = {w for a in arguments(claim) if a.kind != "noun" for w in a.words.lower().split()}
    content, stated = content_of(" ; ".join(sentences)), [r for s in sentences for r in relations(s)]
    free = named | words_of_list("relations", "free")
    wanted = [r for r in relations(claim) if r.classes and r.word not in free]
    return tuple(
        r.word
        for r in wanted
        if not is_written(r.word, content)
        and not any(_implied(r.classes, t.bears) and not is_of_other(claim, r, t) for t in stated)
    )


def is_of_other(claim: str, claimed: Relation, stated: Relation) -> bool:
    """Tell whether a stated word is that of another word of a claim, which it bears out and no further one."""
    own, others = _own_and_others(claim, claimed.word)
    return is_written(stated.word, others) and not is_written(stated.word, own)


@lru_cache(maxsize=256)
def _own_and_others(claim: str, word: str) -> tuple[SentenceContent, SentenceContent]:
    return content_of(word), content_of(" ; ".join(w for w in compounds(claim.lower()) if w != word))


def bearing(claimed: Relation, stated: Relation, named: Named, *, against: bool = False) -> int:
    """Grade a relation by how far it says what is claimed: 2 of both sides, 1 of one, 0 not, -1 the other way round.

    Where it is ``against`` the claim it may say anything of the same things but for the denial of something else, or of
    what has no opposite.
    """
    theme, cause = _core(claimed.theme), _core(claimed.cause)
    about, by = _named_there(stated.theme), _named_there(stated.cause)
    # Degradation by the proteasome, inhibition by an inhibitor: who does it is not stated.
    by = tuple(a for a in by if _classes(a.words.lower())[1].isdisjoint(stated.bears))
    loose = claimed.loose or stated.loose
    if about and by and not loose and named(theme, stated.cause) and named(cause, stated.theme):
        return -1
    same = _implied(claimed.classes, stated.bears)
    if against and not same:
        same = (
            _implied(stated.classes, claimed.bears)
            if stated.denied
            else claimed.classes.isdisjoint(words_of_list("relations", "alone"))
        )
    # A word without sides is a mere part of a name, as in: transport factor.
    if not ((stated.theme or stated.cause) and same):
        return 0
    if loose:
        both = f"{stated.theme} ; {stated.cause}"
        if about and by:
            return 2 if named(theme, both) and named(cause, both) else 0
        return int(not (about or by) or named((*theme, *cause), both))
    # A common word that the claim has, too, is enough.
    common = bool(about) and about[0].kind == "head" and is_named(about[0], content_of(claimed.theme))
    of_theme = not about or named(theme, stated.theme) or common
    return 0 if not of_theme or (by and not named(cause, stated.cause)) else 2 if about and by else 1


def _named_there(text: str) -> tuple[Argument, ...]:
    """Things that a side names; none where it stands for what was named before."""
    return () if not _REFERS.isdisjoint(text.lower().split()) else things(text)


def _core(text: str) -> tuple[Argument, ...]:
    return things(_WHERE.split(text, maxsplit=1)[0]) or things(text)


def things(text: str) -> tuple[Argument, ...]:
    """List what a side names: symbols where there are some, else nouns, else its last word."""
    found = [a for a in arguments(f"the {text}") if a.kind in ("name", "label", "noun", "population")]
    general = words_of_list("arguments", "general")
    found = [a for a in found if a.words.lower() not in general and not (a.words.isalpha() and a.words.endswith("ly"))]
    symbols = [a for a in found if a.kind in ("name", "label") and not _classes(a.words.lower())[1]]
    last = head(text)
    return tuple(symbols or found or ([last] if last else []))


def _sides(words: list[str], lower: list[str], at: int, found: Relation, verbs: set[int]) -> dict[str, Any]:
    """Changes of a relation by the sides of the word at a place."""
    following = lower[at + 1] if at + 1 < len(lower) else ""
    if found.bears <= _manner():
        return {}
    first_part, hyphen, _ = words[at].rpartition("-")
    form = "" if hyphen else _form(lower, at)
    if not form:
        return {"theme": _up_to_place(words[at + 1 :]), "cause": first_part}
    begin, end = _clause(lower, at, verbs)
    before, after = words[begin:at], words[at + 1 : end]
    denied = not _DENIALS.isdisjoint(lower[max(begin, at - _NEAR) : at])
    by = _up_to_place(after[after.index("by") + 1 :], _STOPS - {"with"}) if "by" in after else ""
    if form == "passive":
        cause = by or (_up_to_place(after[1:]) if following in ("to", "with") else "")
        return {"theme": " ".join(before), "cause": cause, "denied": denied}
    if form == "doer":
        return {"theme": " ".join(after[1:]), "cause": " ".join(before), "denied": denied}
    if form == "noun":
        if following in ("of", "in", "between", "with"):
            return {"theme": _up_to_place(after[1:]), "cause": by, "denied": denied}
        if following and following not in _NOT_NAMED and not _VERB.search(following) and not following.endswith("ly"):
            return {"denied": denied}
        theme = " ".join(w for w in before[-2:] if w.lower() not in _OPENS_NOUN)
        return {"theme": theme, "cause": by, "denied": denied}
    if lower[at - 1] in _JOINS and (first := [v for v in verbs if begin < v < at]):
        before = words[begin : min(first)]
        if lower[at + 1 : at + 2] in (["it"], ["them"]):
            after = words[min(first) + 1 : at - 1]
    if found.word.endswith("ing"):
        before = words[_clause(lower, at, set())[0] : at]
    if not before and verbs and min(verbs) < at:
        before = words[: min(verbs)]
    subject = " ".join(before)
    if following in _PLACES and not found.classes.isdisjoint(words_of_list("relations", "directed")):
        return {"theme": _up_to_place(after[1:]), "cause": subject, "denied": denied}
    if not after or following in _PLACES:
        return {"theme": subject, "cause": " ".join(after[1:]), "loose": True, "denied": denied}
    return {"theme": _up_to_place(after), "cause": subject, "denied": denied}


def _form(lower: Sequence[str], at: int) -> str:
    """Form in which a word stands: active, passive, noun or doer; empty where it only describes."""
    word, before = lower[at], lower[at - 1] if at else ""
    following = lower[at + 1] if at + 1 < len(lower) else ""
    if word in _COMPARATIVES:
        return ""
    if _PAST.search(word):
        if not _BE.isdisjoint([w for w in lower[max(0, at - 3) : at] if not w.endswith("ly")][-2:]):
            return "passive"
        return "passive" if following in ("by", "with") else "" if before in _OPENS_NOUN - _JOINS else "active"
    if _NOUN.search(word):
        return "noun"
    if _DOER.search(word) and not (word.endswith("ers") and before not in _OPENS_NOUN):
        return "doer" if following in ("of", "for") else ""
    if word.endswith("ing"):
        opens = before in ("", "by", "is", "are", "was", "were", ",") and following != "of"
        return "active" if opens or following in ("the", "a", "an", "its", "their") else "noun"
    return "active" if _is_verb(lower, at) and following not in ("of", "in") else "noun"


def _is_verb(lower: Sequence[str], at: int) -> bool:
    word, before = lower[at], lower[at - 1] if at else ""
    if _NOUN.search(word) or word in _COMPARATIVES:
        return False
    if word.endswith("ed") and lower[at + 1 : at + 2] == ["by"] and _BE.isdisjoint(lower[max(0, at - 3) : at]):
        # The kinase activated by it: a participle belongs to the noun before it.
        return False
    plural = before.endswith("s") and not before.endswith(("ss", "us", "is")) and before not in _NO_PLURALS
    if plural and (not _classes(before)[1] or _NOUN.search(before)):
        return True
    if _BASE.search(word) and before not in _OPENS_NOUN - _JOINS:
        return True
    return before in _OPENS_VERB or bool(_VERB.search(word) and before not in _OPENS_NOUN - _JOINS)


def _clause(lower: Sequence[str], at: int, verbs: set[int]) -> tuple[int, int]:
    """Return begin and end of the clause of a relation: at words that open another, and at the verbs beside it."""
    begin = next((i + 1 for i in range(at - 1, -1, -1) if lower[i] in _CLAUSES), 0)
    end = next((i for i in range(at + 1, len(lower)) if lower[i] in _CLAUSES), len(lower))
    following = min((v for v in verbs if at < v < end), default=end)
    if following < end:
        end = next((i for i in range(following - 1, at, -1) if lower[i] in (*_JOINS, "to")), following)
    earlier = max((v for v in verbs if begin <= v < at), default=None)
    if earlier is not None and lower[at - 1] not in _JOINS:
        begin = next((i + 1 for i in range(at - 1, earlier, -1) if lower[i] in _JOINS), earlier + 1)
    return begin, end


def _up_to_place(words: Sequence[str], stops: frozenset[str] = _STOPS) -> str:
    end = next((i for i, w in enumerate(words) if w.lower() in (stops | _BE if i else _BE | _JOINS)), len(words))
    return " ".join(words[:end])


def _words_and_places(text: str) -> tuple[list[str], dict[int, Relation]]:
    plain = _PREFIX.sub(r"\1", _LABEL.sub(r"-\1", text.replace("n't", " not")).translate(_BRACKETS))
    written = compounds(plain, "-'/.")[:_MOST_WORDS]
    lower = [w.lower() for w in written]
    inner: set[int] = set()
    found: dict[int, Relation] = {}
    for at, word in enumerate(lower):
        if at in inner or word in BREAKS:
            continue
        phrases = [(name, own, places) for name, own, rest in _phrases(word) if (places := _places(lower, at, rest))]
        if phrases:
            longest = max((places for _, _, places in phrases), key=len)
            own = frozenset(name for name, is_own, _ in phrases if is_own)
            whole = " ".join(lower[i] for i in (at, *longest))
            found[at] = _without_sides(whole, own, frozenset(name for name, _, _ in phrases))
            # What stands within a phrase is one of its sides: "keeps it from".
            inner.update(i for i in longest if i - at <= len(longest) or lower[i] not in _PLACES)
        elif (classes := _classes(word))[1]:
            found[at] = _without_sides(word, *classes)
    left = [i for i in range(len(written)) if i not in inner]
    return [written[i] for i in left], {n: found[i] for n, i in enumerate(left) if i in found}


def _without_sides(word: str, classes: frozenset[str], bears: frozenset[str]) -> Relation:
    return Relation(word, classes, bears, not (classes or bears).isdisjoint(words_of_list("relations", "loose")))


def _places(lower: Sequence[str], at: int, rest: Sequence[str]) -> list[int]:
    places: list[int] = []
    for word in rest:
        gap = _GAP if word in _PARTICLES and word == rest[-1] else 0
        begin = (places or [at])[-1] + 1
        if word not in (near := lower[begin : begin + gap + 1]):
            return []
        places.append(begin + near.index(word))
    return places


@lru_cache(maxsize=50_000)
def _classes(word: str) -> tuple[frozenset[str], frozenset[str]]:
    """Classes of a word and those that it bears out; of one that is hyphened, as STAT3-dependent, of its last part."""
    joined = word.replace("-", "")
    own = frozenset(name for name, line in _lines().items() if line.words.match(joined))
    bears = own | {name for name, line in _lines().items() if line.others.match(joined)}
    first, hyphen, last = word.rpartition("-")
    return _classes(last) if hyphen and not bears and not first.isdigit() else (own, bears)


def _implied(claimed: frozenset[str], stated: frozenset[str]) -> bool:
    return any(not _lines()[name].implied_by.isdisjoint(stated) for name in claimed)


class _WordClass(NamedTuple):
    """A class of words."""

    words: re.Pattern[str]
    others: re.Pattern[str]
    implied_by: frozenset[str]
    phrases: tuple[tuple[tuple[str, ...], bool], ...]


@cache
def _lines() -> dict[str, _WordClass]:
    found = {}
    for line in (*verifier_rules("relations")["classes"], *verifier_rules("relations")["manner"]):
        name, _, rest = line.partition(":")
        words, _, classes = rest.partition("<")
        own, others = (part.split() for part in words.partition("|")[::2])
        found[name] = _WordClass(
            word_pattern([w for w in own if "_" not in w]),
            word_pattern([w for w in others if "_" not in w]),
            frozenset((name, *classes.split())),
            tuple((tuple(w.split("_")), part is own) for part in (own, others) for w in part if "_" in w),
        )
    return found


@lru_cache(maxsize=50_000)
def _phrases(word: str) -> tuple[tuple[str, bool, tuple[str, ...]], ...]:
    """Phrases that begin with a word: their class, whether they are of it, and their further words."""
    return tuple(
        (name, own, tuple(rest))
        for name, line in _lines().items()
        for (first, *rest), own in line.phrases
        if word == first or (len(first) > _SHORT and word.startswith(first))
    )


@cache
def _manner() -> frozenset[str]:
    return frozenset(line.partition(":")[0] for line in verifier_rules("relations")["manner"])


_ASIDE = re.compile(r"\([^()]*\)")
_MOST_CUTS = 40  # places at which a sentence is cut


class SentencePiece(NamedTuple):
    """A piece of a sentence, and what stands before it, where it refers to that."""

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
    refers = _words_of_pieces("refers")
    found: list[SentencePiece] = []
    for sentence in quoted:
        before = ""
        whole = _ASIDE.sub(lambda found: found[0].replace(";", ","), sentence)
        for text in _cut(whole, compares=compares):
            found.append(SentencePiece(text, (before or _before(sentence, abstract)) if refers.search(text) else ""))
            before = text
    return tuple(found)


def _cut(sentence: str, *, compares: bool) -> Iterator[str]:
    """Pieces of a sentence; one without a subject of its own goes on with the one before it."""
    start = 0
    for found in islice(_cuts().finditer(sentence), _MOST_CUTS):
        if compares and found.lastgroup == "compares":
            continue
        words = [w for w in compounds(sentence[found.end() : found.end() + 40].lower()) if w not in BREAKS]
        goes_on = not words or words[0] in words_of_list("pieces", "goes_on") or words[0].endswith(("ed", "ing"))
        if found.lastgroup == "turns" and goes_on:
            continue
        if text := sentence[start : found.start()].strip():
            yield text
        start = found.end()
    if text := sentence[start:].strip():
        yield text


def _before(sentence: str, abstract: str) -> str:
    """The sentence before one, and the one before that where it has a pronoun, too."""
    at = abstract.find(sentence)
    spans = _spans(abstract) if at >= 0 else ()
    earlier = [abstract[start:end] for start, end in spans if end <= at][-2:]
    return " ".join(earlier if earlier and _words_of_pieces("refers").search(earlier[-1]) else earlier[-1:])


_spans = lru_cache(maxsize=64)(sentences)


@cache
def _cuts() -> re.Pattern[str]:
    turns, compares = ("|".join(verifier_rules("pieces")[kind]) for kind in ("turns", "compares"))
    return re.compile(rf"(?P<ends>;)|\b(?P<turns>{turns})\b|(?P<compares>{compares})\b", re.IGNORECASE)


@cache
def _words_of_pieces(kind: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(verifier_rules('pieces')[kind])})\b", re.IGNORECASE)


_THAN = re.compile(
    r"\b(?P<way>more|less|fewer|better|worse|higher|lower|greater|smaller|longer|shorter|faster|slower|stronger|weaker|larger"
    r"|earlier|later|safer)\b(?P<between>[^.;]{0,80}?)\bthan\b",
    re.IGNORECASE,
)
_PARTS = re.compile(r"[,;]|\b(?:and|against|versus|vs|compared (?:with|to)|but|whereas|while)\b", re.IGNORECASE)
_AFTER_SIDE = re.compile(r"\b(?:was|were|is|are|had|has|have|did|does|do|in|on|with)\b|[,;]")
_LESS = frozenset("less fewer worse lower smaller shorter slower weaker later".split())
_LONGEST_SENTENCE = 2_000


def comparison_objection(claim: str, sentences: Sequence[str]) -> str:
    """Return the reason why sentences that compare do not bear out what a claim compares or counts.

    >>> comparison_objection("Tea helped more than coffee.", ["Coffee helped more than tea did."])
    'its sentences compare them the other way round'
    """
    if _compares_otherwise(claim, sentences):
        return "its sentences compare them the other way round"
    # A number beside something that the claim does not name, where what it does name has another number.
    named = arguments(claim)
    numbers, things = [a for a in named if a.kind == "number"], [a for a in named if a.kind != "number"]
    for number in numbers:
        holding = [s[:_LONGEST_SENTENCE] for s in sentences if is_named(number, content_of(s))]
        if holding and all(_is_of_another(number, things, s) for s in holding):
            return f"its sentences have this number of something else: {number.words}"
    return ""


def _compares_otherwise(claim: str, sentences: Sequence[str]) -> bool:
    wanted = _compared(claim)
    if not wanted:
        return False
    # Of the second side, what stands before something is told of it.
    second = head(_AFTER_SIDE.split(wanted[1].strip(), maxsplit=1)[0])
    first = [a for a in arguments(f"the {wanted[0]}") if a.kind != "number"]
    if not second:
        return False
    ways = set()
    for before, after, less in filter(None, map(_compared, sentences)):
        left, right = content_of(before), content_of(after)
        straight = is_named(second, right) and not is_named(second, left)
        moved = any(is_named(a, right) and not is_named(a, left) for a in first)
        if straight or (moved and is_named(second, left) and not is_named(second, right)):
            ways.add(straight == (less == wanted[2]))
    return ways == {False}


def _compared(sentence: str) -> tuple[str, str, bool] | None:
    found = _THAN.search(sentence[:_LONGEST_SENTENCE])
    return found and (sentence[: found.start()], sentence[found.end() :], found["way"].lower() in _LESS)


def _is_of_another(number: Argument, things: Sequence[Argument], sentence: str) -> bool:
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
    wanted = words_of(claim).content
    shared = wanted & frozenset[str]().union(*(words_of(s).content for s in sentences))
    complete = strict or not findings or len(shared) / max(len(wanted), 1) >= REPEATS
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
        theme, cause = _core(relation.theme), _core(relation.cause)
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


class ClaimedAct(NamedTuple):
    """An act with what is named on both of its sides."""

    act: Act
    agent: tuple[Argument, ...]
    patient: tuple[Argument, ...]

    def is_stated_in(self, other: Act, test: Callable[[Iterable[bool]], bool], patient: tuple[Argument, ...]) -> bool:
        """Tell whether an act is of the same things on the same sides, or on either where one of the acts is mutual."""
        agent, theirs = content_of(other.agent), content_of(other.patient)

        def names(wanted: tuple[Argument, ...], there: SentenceContent) -> bool:
            return test(is_named(a, there) for a in wanted)

        straight = names(self.agent, agent) and names(patient, theirs)
        mutual = self.act.mutual or other.mutual
        return straight or (mutual and names(self.agent, theirs) and names(patient, agent))


def claimed(claim: str) -> list[ClaimedAct]:
    """The acts of a claim of which both sides name something."""
    sides = (ClaimedAct(act, _named_on_side(act.agent), _named_on_side(act.patient)) for act in acts(claim))
    return [one for one in sides if one.agent and one.patient]


def opposes(claim: str, sentences: Sequence[str]) -> int:
    """Return -1 if sentences say that more comes of what a claim says less comes of, or the reverse.

    1 if they say the same as the claim, 0 if neither or both.
    """
    findings = [s for s in sentences if not asks_only(s)]
    signs = set()
    for wanted in claimed(claim):
        for other in (act for s in findings for act in _acts(s)):
            sign = wanted.act.sign * other.sign
            if sign and not (wanted.act.denied or other.denied) and wanted.is_stated_in(other, any, wanted.patient):
                signs.add(sign)
        if wanted.act.denied:
            continue
        # "Neither A nor B had any influence on it": every piece that names both sides begins with a denial.
        near = _naming((wanted.agent, _patient(wanted.act)), pieces(findings, " ".join(sentences)), _named)
        if near and all(_NONE_OF.match(piece.text) for piece in near):
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
    if len(wanted) != 1 or wanted[0].act.denied:
        return False
    (one,) = wanted
    patient = _patient(one.act)
    return any(
        one.act.sign * other.sign < 0
        and not other.denied
        and same_scale(one.act.name, other.name)
        and one.is_stated_in(other, all, patient)
        for sentence in sentences
        if not (asks_only(sentence) or _COMPARES.search(sentence) or missing(claim, [sentence], abstract))
        for other in _acts(sentence)
    )


def _naming(wanted: Sequence[Sequence[Argument]], read: Sequence[SentencePiece], named: Named) -> list[SentencePiece]:
    return [piece for piece in read if all(named(side, piece.whole) for side in wanted)]


def _named(wanted: Sequence[Argument], text: str, abstract: str = "", groups: Sequence[Sequence[str]] = ()) -> bool:
    lacking, there = missing(" ; ".join(f"the {a.words}" for a in wanted), [text], abstract, groups), content_of(text)
    return any(a.words not in lacking and (a.kind != "head" or is_named(a, there)) for a in wanted)


def _patient(act: Act) -> tuple[Argument, ...]:
    return _named_on_side(_WHERE.split(act.patient, maxsplit=1)[0]) or _named_on_side(act.patient)


_acts = lru_cache(maxsize=256)(acts)


def _named_on_side(text: str) -> tuple[Argument, ...]:
    """List what a side of an act names: symbols where there are some, else nouns, else its last word."""
    found = [a for a in arguments(f"the {text}") if a.kind in ("name", "label", "noun")]
    symbols = [a for a in found if a.kind != "noun"]
    last = head(text)
    return tuple(symbols or found or ([last] if last else []))
