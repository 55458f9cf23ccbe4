"""Relations that a text states, by classes of words that say the same, with the things that they are of.

"A binds B" does not license "A cleaves B", and "A is phosphorylated" not "A phosphorylates B": what a claim says of
things must be said of them, by its own word or by one of its class (``corpus/verifier/relations.toml``).
"""

import re
from collections.abc import Callable, Sequence
from functools import cache, lru_cache, partial
from typing import NamedTuple

from kgcheck.literature.arguments import Argument, SentenceContent, arguments, content_of, head, is_named, is_written
from kgcheck.text.tokens import BREAKS, compounds
from kgcheck.text.words import verifier_rules, word_pattern, words_of_list

_MOST_WORDS = 400
"""Words of a text that are read."""

_BE = frozenset("is are was were be been being".split())
_PLACES = frozenset(
    "in on at during after before within among from with to for as under into onto through via by upon without between "
    "against across over throughout toward towards about off".split()
)
"""Words with which a side of a relation ends."""
_OPENS_NOUN = frozenset(
    "the a an this that these those its their his our no any some each every of in for by with and or".split()
)
_OPENS_VERB = frozenset("can may could will must not should might would that which who we they".split())
_CLAUSES = BREAKS - {","} | frozenset(
    "whereas while but although though because which that who if whether when than".split()
)
_JOINS = frozenset([",", "and", "or"])
_PARTICLES = frozenset("from back off about on into".split())
"""Last words of phrases, before which some words may stand: keeps it from, brings it about."""
_GAP = 3
_SHORT = 2
"""Letters up to which the first word of a phrase stands as it is: do without."""
_NEAR = 4
"""Words before a relation in which a denial reaches it."""
_DENIALS = frozenset("not no never neither nor cannot n't fail failed fails unable without hardly".split())

_PAST = re.compile(r"(?:ed|bound|driven|drawn|made|found|held|lost|built)$")
_VERB = re.compile(r"(?:ed|[^siu]s|en)$")
_BASE = re.compile(r"(?:[ai]te|i[zs]e|uce|ause|ote|ibit|ind|event|ire|ove|press|act|ower|ulate|ish|ance|(?<!def)ect)$")
"""Endings of verbs that are seldom nouns as they stand."""
_NO_PLURALS = frozenset("was has does as".split())
_COMPARES = frozenset(
    "more less fewer higher greater better worse smaller larger longer shorter stronger weaker faster slower".split()
)
_NOUN = re.compile(
    r"(?:ions?|ments?|age|al|(?<!enh)ances?|ences?|responses?|effects?|roles?|risks?|loss|losses|deaths?|growth|activity|activities)$"
)
_DOER = re.compile(r"(?:ors?|ers?|ants?)$")
_LABEL = re.compile(r"(?<=\w)\((\w+(?:/\w+)*)\)")
"""A part of a name in brackets, as of EGFR(L858R)."""

_BRACKETS = str.maketrans("()", "  ")
_PREFIX = re.compile(r"\b(up|down|co|over|under|re|auto|trans|hyper|hypo|cross|non|knock)-(?=[a-z])", re.IGNORECASE)
_WHERE = re.compile(r"\b(?:in|on|at|during|after|before|within|among|from|with|under|by)\b", re.IGNORECASE)

Named = Callable[[Sequence[Argument], str], bool]
"""Test whether a text names any of some things."""


_STOPS = _PLACES | _CLAUSES


_REFERS = frozenset("it its they their them this these such".split())
_NOT_NAMED = _STOPS | _BE | _JOINS


class Relation(NamedTuple):
    """A word that says something of things."""

    word: str
    classes: frozenset[str]
    bears: frozenset[str]
    """The classes that it bears out, its own and others."""
    theme: str = ""
    """Side that it is done to, or that it is of."""
    cause: str = ""
    loose: bool = False
    """Its sides may stand in any order: to bind, to depend on, to move into."""
    denied: bool = False

    @property
    def states(self) -> bool:
        """It says something of things, and is no mere part of a name, as in: transport factor."""
        return bool(self.theme or self.cause)


class _RelationWord(NamedTuple):
    """A word or phrase with its classes, and those that it bears out."""

    word: str
    classes: frozenset[str]
    bears: frozenset[str]


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
    return tuple(_relation(words, lower, i, found, verbs) for i, found in places.items())


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
    theme, cause = sides(claimed)
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
    if not (stated.states and same):
        return 0
    if loose:
        both = f"{stated.theme} ; {stated.cause}"
        if about and by:
            return 2 if named(theme, both) and named(cause, both) else 0
        return int(not (about or by) or named((*theme, *cause), both))
    of_theme = not about or named(theme, stated.theme) or _is_head(about, claimed.theme)
    return 0 if not of_theme or (by and not named(cause, stated.cause)) else 2 if about and by else 1


def _named_there(text: str) -> tuple[Argument, ...]:
    """Things that a side names; none where it stands for what was named before."""
    return () if not _REFERS.isdisjoint(text.lower().split()) else things(text)


def _is_head(found: Sequence[Argument], text: str) -> bool:
    """Tell whether all that is found is a common word that a text has, too."""
    return found[0].kind == "head" and is_named(found[0], content_of(text))


def sides(relation: Relation) -> tuple[tuple[Argument, ...], tuple[Argument, ...]]:
    """Return what a relation names on either side, without where and when."""
    return _core(relation.theme), _core(relation.cause)


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


def _relation(words: list[str], lower: list[str], at: int, found: _RelationWord, verbs: set[int]) -> Relation:
    """The relation of the word at a place, with its sides."""
    following = lower[at + 1] if at + 1 < len(lower) else ""
    loose = not (found.classes or found.bears).isdisjoint(words_of_list("relations", "loose"))
    state = partial(Relation, *found, loose=loose)
    if found.bears <= _manner():
        return state()
    first_part, hyphen, _ = words[at].rpartition("-")
    form = "" if hyphen else _form(lower, at)
    if not form:
        return state(_up_to_place(words[at + 1 :]), first_part)
    begin, end = _clause(lower, at, verbs)
    before, after = words[begin:at], words[at + 1 : end]
    state = partial(state, denied=not _DENIALS.isdisjoint(lower[max(begin, at - _NEAR) : at]))
    if form == "active" and lower[at - 1] in _JOINS and (first := [v for v in verbs if begin < v < at]):
        before = words[begin : min(first)]
        if lower[at + 1 : at + 2] in (["it"], ["them"]):
            after = words[min(first) + 1 : at - 1]
    if form == "active" and found.word.endswith("ing"):
        before = words[_clause(lower, at, set())[0] : at]
    if form == "active" and not before and verbs and min(verbs) < at:
        before = words[: min(verbs)]
    by = _up_to_place(after[after.index("by") + 1 :], _STOPS - {"with"}) if "by" in after else ""
    if form == "active":
        if following in _PLACES and not found.classes.isdisjoint(words_of_list("relations", "directed")):
            return state(_up_to_place(after[1:]), " ".join(before))
        if not after or following in _PLACES:
            return state(" ".join(before), " ".join(after[1:]), loose=True)
        return state(_up_to_place(after), " ".join(before))
    if form == "passive":
        return state(" ".join(before), by or (_up_to_place(after[1:]) if following in ("to", "with") else ""))
    if form == "doer":
        return state(" ".join(after[1:]), " ".join(before))
    if following in ("of", "in", "between", "with"):
        return state(_up_to_place(after[1:]), by)
    if following and following not in _NOT_NAMED and not _VERB.search(following) and not following.endswith("ly"):
        return state()
    theme = " ".join(w for w in before[-2:] if w.lower() not in _OPENS_NOUN)
    return state(theme, by)


def _form(lower: Sequence[str], at: int) -> str:
    """Form in which a word stands: active, passive, noun or doer; empty where it only describes."""
    word, before = lower[at], lower[at - 1] if at else ""
    following = lower[at + 1] if at + 1 < len(lower) else ""
    if word in _COMPARES:
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
    """Tell whether a word stands where a verb does."""
    word, before = lower[at], lower[at - 1] if at else ""
    if _NOUN.search(word) or word in _COMPARES or _describes(lower, at):
        return False
    plural = before.endswith("s") and not before.endswith(("ss", "us", "is")) and before not in _NO_PLURALS
    if plural and (not _classes(before)[1] or _NOUN.search(before)):
        return True
    if _BASE.search(word) and before not in _OPENS_NOUN - _JOINS:
        return True
    return before in _OPENS_VERB or bool(_VERB.search(word) and before not in _OPENS_NOUN - _JOINS)


def _describes(lower: Sequence[str], at: int) -> bool:
    """Tell whether a participle belongs to the noun before it: the kinase activated by it."""
    return lower[at].endswith("ed") and lower[at + 1 : at + 2] == ["by"] and _BE.isdisjoint(lower[max(0, at - 3) : at])


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


def _words_and_places(text: str) -> tuple[list[str], dict[int, _RelationWord]]:
    """The words of a text, of phrases the first one, and those that say something."""
    plain = _PREFIX.sub(r"\1", _LABEL.sub(r"-\1", text.replace("n't", " not")).translate(_BRACKETS))
    written = compounds(plain, "-'/.")[:_MOST_WORDS]
    lower = [w.lower() for w in written]
    inner: set[int] = set()
    found: dict[int, _RelationWord] = {}
    for at, word in enumerate(lower):
        if at in inner or word in BREAKS:
            continue
        phrases = [(name, own, places) for name, own, rest in _phrases(word) if (places := _places(lower, at, rest))]
        if phrases:
            longest = max((places for _, _, places in phrases), key=len)
            own = frozenset(name for name, is_own, _ in phrases if is_own)
            whole = " ".join(lower[i] for i in (at, *longest))
            found[at] = _RelationWord(whole, own, frozenset(name for name, _, _ in phrases))
            # What stands within a phrase is one of its sides: "keeps it from".
            inner.update(i for i in longest if i - at <= len(longest) or lower[i] not in _PLACES)
        elif (classes := _classes(word))[1]:
            found[at] = _RelationWord(word, *classes)
    left = [i for i in range(len(written)) if i not in inner]
    return [written[i] for i in left], {n: found[i] for n, i in enumerate(left) if i in found}


def _places(lower: Sequence[str], at: int, rest: Sequence[str]) -> list[int]:
    """Places of the further words of a phrase; none where it does not stand there."""
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
    """The classes by their names."""
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
