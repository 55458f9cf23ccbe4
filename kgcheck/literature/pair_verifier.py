"""What papers say of an edge, read from the sentences that name both of its ends: the verifier without a key.

The trained model of `kgcheck.literature.pairs` says how likely a sentence has the two to do with each other. Only an
outright denial that has both in its scope contradicts; where an edge has a direction, a sentence counts only if it has
the same one.
"""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from kgcheck.literature.documents import Document, Span, sentences
from kgcheck.literature.names import naming
from kgcheck.literature.pairs import (
    ONE,
    OTHER,
    TOKEN,
    TWO,
    Around,
    directed,
    load_pair_weights,
    masked,
    pair_features,
    probability,
)
from kgcheck.literature.roles import acts
from kgcheck.literature.verify import Opinion, Probabilities, quote_at
from kgcheck.model import Stance

_DENIES = re.compile(r"(?:not|n't|no|never|cannot|fail(?:s|ed)?|unable|lack(?:s|ed)?)$")
_BREAKS = frozenset((";", ":", "whereas", "while", "although", "though", "which", "because", "however", "since", "but"))
_BESIDE = frozenset(("but", ",", "and", "or", "although", "though"))
_SMALL = frozenset(
    ("with", "to", "for", "by", "of", "the", "in", "from", "that", "on", "against", "towards", "a", "an", "either")
)
_LIST = frozenset((",", "and", "or", "/", "-", "nor", "with", "both", "either"))
_NOT_AS_SUCH = re.compile(
    r"(?:mutant|mutat|mutein|delet|truncat|lack|absen|without|variant|chimer|fragment|peptide|inhibitor|whether|if|unless|rule|ruled"
    r"|unclear|unknown|may|might|could|possib|independent|unlike|substitut|disrupt|defect|defici|unphosph|dephos"
    r"|alanine|dominant|antibod|neither|depend|require|recombinant|compet|free|inactive|isoform|simultan|preincub|starv|synerg|would|except|all$|some$|major|common|primary|main$|sole$|every|always|fully|complet|nor$|certain|most$|many$|usual|often|typical|proof|contrast|their$"
    r"|dose|acute|rapid|strongly|analys|deplet|knock|silenc|loss$|declin|ablat|effectively)"
)
_OF_SOMETHING_ELSE = re.compile(
    r"(?:affect|alter|chang|influenc|modulat|prevent|inhibit|abolish|disrupt|block|impair|reduc|increas|enhanc|requir|necess|suffic"
    r"|moderat|modif|confound|used$|support|potentiat|exclusiv|explain|essential|respons|due|sensitive|differ|interfer|evidenc|provid|consist|result|compens|mediat|involv|lead)"
)
"""What follows a denial that is about something else than whether the two meet."""

_SEEN = re.compile(r"(?:detect|observ|seen|found|evident|apparent|occur|demonstrat|shown|identif|visible|measur)")
_JOINED = re.compile(
    r"(?:induced|associated|mediated|related|dependent|stimulated|evoked|treated|driven|positive|negative)$"
)

_ONLY = frozenset(
    (
        "shown",
        "known",
        "significant",
        "significantly",
        "considered",
        "only",
        "just",
        "merely",
        "longer",
        "yet",
        "solely",
        "simply",
        "necessarily",
    )
)
_NEW = frozenset((",", "in", "on", "by", "with", "from", "for", "to", "at", "into", "under", "that", "who"))
"""Words after which what is denied is of something else than the name before them."""

_GOVERNS = frozenset(
    ("in", "by", "with", "from", "for", "to", "at", "into", "on", "excluding", "including", "than", "or")
)
"""Words that make a name part of something else."""

_OWN_WORDS = 4
_OBJECT = 9
_BESIDE_EACH_OTHER = 6
_CONDITIONS = 8
"""Words after both in which a condition is looked for."""

_REACH = 14
_AFTER = 5


_MUTUAL = re.compile(r"(?:interact|bind|bound|associat|correlat|complex|contact|relat|link|coloca|coprecip)")
"""What two do to each other: nothing else is denied of "A and B"."""

_PLACES = frozenset(("in", "under", "at", "during"))
_ITS_OWN = re.compile(
    r"(?:activ|express|level|concentrat|product|metaboli|signal|gene|protein|polymorph|risk|develop|format|acquisit|swell|control"
    r"|transport|pathway|arrest|cell|phosphory|transcri|mrna|promot|variant|allele|interact|bind|complex|associat|receptor|kinase"
    r"|mutat|susceptib|progress|incidence|patient|severity|status|synth|secret|releas|function|stabil|degrad|uptake|subunit|domain|motif|site|region|molecule|famil|member)"
)
"""What may follow a name that is meant itself: any other word makes it part of another name, as in "blood pressure"."""

_GOES_ON = re.compile(
    r"(?:[,;:()/\u2014-]|and|or|nor|but|as|is|are|was|were|has|have|had|do|does|did|in|on|at|to|by|for|with|from|within|after|before"
    r"|among|during|when|while|than|either|through|via|into|under|upon|there|since|because|that|which"
    r"|who|if|unless|whereas|though|although|itself|alone|together|\w+ed|\w+ly)$"
)

_NEW_SENTENCE = re.compile(r"[.!?]['\"]?\s+['\"]?[A-Z0-9]")


def denies(sentence: str, one: Span, two: Span, cues: re.Pattern[str]) -> bool:
    """Whether a sentence denies that two names have to do with each other."""
    tokens = [_plain(t) for t in TOKEN.findall(masked(sentence, one, two))]
    if ONE not in tokens or TWO not in tokens:
        return False
    a, b = sorted((tokens.index(ONE), tokens.index(TWO)))
    if _part_of_a_word(tokens, a, b) or tokens[a + 1 : b] == ["("] or _part_of_a_name(tokens[b + 1 : b + 2]):
        return False
    if _parted(sentence, one, two):
        return False
    for at, word in enumerate(tokens):
        if not _DENIES.match(word) or (at + 1 < len(tokens) and tokens[at + 1] in _ONLY):
            continue
        if any(_OF_SOMETHING_ELSE.match(t) for t in tokens[at + 1 : at + 5]):
            continue
        if at > 1 and tokens[at - 2] in ("that", "which", "who"):
            # "the A that are not bound to B": some of them.
            continue
        if _has_both(tokens, a, b, at, cues) and not _qualified(tokens, a, b, at):
            return True
    return False


def _part_of_a_name(following: Sequence[str]) -> bool:
    return any(not (_ITS_OWN.match(t) or _GOES_ON.match(t)) for t in following)


def _parted(sentence: str, one: Span, two: Span) -> bool:
    """Whether another sentence begins between two names, or one of them stands there again."""
    first, second = sorted((one, two))
    between = sentence[first[1] : second[0]]
    again = any(sentence[slice(*name)].lower() in between.lower() for name in (one, two))
    return again or bool(_NEW_SENTENCE.search(between))


def _elsewhere(tokens: Sequence[str], cues: re.Pattern[str]) -> bool:
    """Whether a name is the place of something else that is denied: "does not activate pathways in B"."""
    return any(
        t in _PLACES
        and i
        and not (_cue(tokens[i - 1 : i], cues) or _observed(tokens[i - 1 : i]) or _role(tokens[i - 1]))
        for i, t in enumerate(tokens)
    )


def _has_both(tokens: Sequence[str], a: int, b: int, at: int, cues: re.Pattern[str]) -> bool:  # noqa: C901, PLR0911, PLR0912
    beside = tokens[at - 1] in _BESIDE and tokens[at] in ("not", "n't") if at else False
    if tokens[a + 1 : b] in ([], ["/"]) or (a and tokens[a - 1] == "/"):
        return False
    if "between" in tokens[at:b] and "between" not in tokens[at:a]:
        # "A did not show a link between B and C"
        return False
    if a < at < b:
        if beside and _small(tokens[at + 1 : b]) and tokens[b + 1 : b + 2] != ["-"]:
            # "A binds C but not B"
            near = tokens[max(a, at - 9) : at - 1]
            return (
                _cue(near, cues)
                and "(" not in tokens[a:b]
                and not _broken(tokens[a : at - 1])
                and "," not in tokens[a : at - 1]
            )
        if beside and not _cue(tokens[at : at + 2], cues) and tokens[at - 1] != "and":
            # "A, but not C, binds B"
            return False
        started = tokens[max(0, at - 2) : at]
        if "that" in tokens[a:at] or ("and" in started and _cue(tokens[:a], cues)):
            # "C activates A and does not bind B": it is C that does not.
            return False
        if not _subject(tokens, a, at) or b - at > _OBJECT:
            # "while C activated A, D did not activate B": it is D that does not.
            return False
        if _elsewhere(tokens[at:b], cues):
            return False
        if tokens[at].startswith("lack") or tokens[b + 1 : b + 2] == ["-"] or _of_another(tokens[a:b]):
            return False
        return not _broken(tokens[a:b]) and "," not in tokens[at:b] and _cue(tokens[at:b], cues)
    if at > b:
        if (
            at - b <= _AFTER
            and _observed(tokens[at + 1 : at + 4])
            and not _broken(tokens[a:at])
            and "," not in tokens[a:at]
            and "in" not in tokens[a:b]
        ):
            # "binding of A to B was not seen"
            return _cue(tokens[max(0, a - 4) : at], cues)
        # "A and B do not interact"
        together = all(t in _LIST for t in tokens[a + 1 : b]) and not _with_another(tokens[at:])
        together = together and any(t in ("and", "or", "nor", "with") for t in tokens[a + 1 : b])
        mutual = [t for t in tokens[at : at + _AFTER] if _MUTUAL.match(t)]
        return together and at - b <= _AFTER and not _broken(tokens[b:at]) and _cue(mutual, cues)
    if a - at > _REACH or _broken(tokens[at:b]) or "," in tokens[at:b]:
        return False
    if beside and _small(tokens[at + 1 : a]):
        # "C but not A binds B"
        return _cue(tokens[a + 1 : a + 3], cues) and b - a <= _OBJECT and "(" not in tokens[a:b]
    reach = tokens[at:a]
    if "between" in reach and "and" not in tokens[a:b]:
        # "no link between A of B and C", "between A or B and C"
        return False
    if "from" in reach or tokens[a + 1] == "of" or "(" in tokens[a:b] or _elsewhere([*reach, *tokens[a:b]], cues):
        return False
    listed = all(t in _LIST for t in tokens[a + 1 : b]) and tokens[a + 1 : b] not in (["-"], ["with"])
    if "on" in reach or "in" in tokens[a:b] or (listed and "between" not in reach):
        # "no effect on A and B", "no role of A and B"
        return False
    if OTHER in reach or tokens[a + 1 : a + 2] == ["-"] != tokens[a + 1 : b]:
        # What is denied is of another: "C does not bind D through A and B".
        return False
    follows = tokens[at : at + _AFTER]
    if b - a > _BESIDE_EACH_OTHER or OTHER in tokens[a:b]:
        return False
    if tokens[a + 1 : b] == ["-"]:
        # "no A-B interaction"
        return tokens[at] == "no" and a - at <= 2 and _cue(tokens[b : b + 3], cues)
    return _cue(follows[: a - at], cues)


def _subject(tokens: Sequence[str], a: int, at: int) -> bool:
    """Whether a name is what a denial is said of: at most a few words of its own between, and none that begins anew."""
    between = tokens[a + 1 : at]
    if any(t in _NEW or t == OTHER for t in between) or len(between) > _OWN_WORDS:
        return False
    before = next((t for t in reversed(tokens[:a]) if t not in ("the", "a", "an")), "")
    return (before == "in" and tokens[a - 1] != "in") or before not in _GOVERNS


def _part_of_a_word(tokens: Sequence[str], a: int, b: int) -> bool:
    """Whether a name is only part of what is named: "A-induced fever", "fever after A-induced B"."""
    joined = [i for i in range(1, len(tokens) - 1) if tokens[i] == "-" and _JOINED.match(tokens[i + 1])]
    return any(i - 1 in (a, b) or a < i < b for i in joined)


def _qualified(tokens: Sequence[str], a: int, b: int, at: int) -> bool:
    """Whether it is denied of a part or a kind of the two, under a condition or with doubt."""
    near = tokens[max(0, min(a, at) - 5) : max(b, at) + _CONDITIONS]
    return any(_NOT_AS_SUCH.match(t) for t in near if t not in (tokens[at],))


def _cue(tokens: Sequence[str], cues: re.Pattern[str]) -> bool:
    return any(cues.match(t) for t in tokens)


def _broken(tokens: Sequence[str]) -> bool:
    return any(t in _BREAKS for t in tokens)


def _observed(tokens: Sequence[str]) -> bool:
    return any(_SEEN.match(t) for t in tokens)


def _role(token: str) -> bool:
    return token in ("role", "part", "involved", "participate", "function", "act")


def _small(tokens: Sequence[str]) -> bool:
    return len(tokens) <= 3 and all(t in _SMALL for t in tokens)


def _with_another(tokens: Sequence[str]) -> bool:
    """Whether the two are denied to do something with a third: "A and B do not interact with C"."""
    at = next((i for i, t in enumerate(tokens[: _AFTER + 2]) if t in ("with", "to")), 0)
    return bool(at) and tokens[at + 1 : at + 2] not in (["each"], ["one"])


def _of_another(tokens: Sequence[str]) -> bool:
    """Whether a name stands there that is no part of a list: "does not block the effect of C on B"."""
    padded = ("", *tokens, "")
    return any(
        t == OTHER and padded[i - 1] not in _LIST and padded[i + 1] not in _LIST for i, t in enumerate(padded) if 0 < i
    )


def _plain(token: str) -> str:
    if ONE in token or TWO in token:
        return ONE if ONE in token else TWO
    if len(token) > 1 and any(c.isdigit() or c.isupper() for c in token[1:]):
        return OTHER
    return token.lower()


DENIED = 0.8
"""How sure an outright denial is: of those of BioRelEx that were read, so many are denials (the model card)."""

_MOST = 12
"""Places in a sentence where the two are named that are looked at."""

_ABSTRACT = 4
"""Sentences from which on a text is an abstract: in a shorter note it means nothing how often the two are named."""

_QUOTED = 2
"""Sentences of a paper that are quoted."""


class EdgeClaim(NamedTuple):
    """An edge in words, and the names of its ends."""

    claim: str
    head: tuple[str, ...]
    tail: tuple[str, ...]
    words: str
    cues: tuple[str, ...]

    @property
    def matches(self) -> Callable[[str], bool]:
        """Whether a sentence names both ends and holds one of the cues."""
        head, tail = naming(self.head), naming(self.tail)
        verb = re.compile(rf"(?i)\b(?:{'|'.join(map(re.escape, self.cues))})" if self.cues else "")
        return lambda text: bool(head and tail and head.search(text) and tail.search(text) and verb.search(text))

    @property
    def has_direction(self) -> bool:
        """Whether the claim has one end do something to the other."""
        return any(not act.mutual for act in acts(self.claim))


class _Reading(NamedTuple):
    """What one sentence says of an edge."""

    span: Span
    chance: float
    denied: bool


class PairVerifier:
    """Reads the sentences of papers that name both ends of one edge."""

    name = "trained"

    def __init__(self, claim: EdgeClaim, *, unlike: bool) -> None:
        self._claim = claim
        self._unlike = unlike
        self._head, self._tail = naming(claim.head), naming(claim.tail)
        self._cues = re.compile(f"(?:{'|'.join(map(re.escape, claim.cues)) or '[a-z]'})".lower())
        self._directed = claim.has_direction
        self._weights = load_pair_weights()

    def judge(self, claim: str, documents: Sequence[Document]) -> list[Opinion]:
        """See `kgcheck.literature.verify.Verifier`."""
        return [self._opinion(document) for document in documents]

    def _opinion(self, document: Document) -> Opinion:
        around = self._around(document)
        readings = [r for span in document.spans if (r := self._reading(document.abstract, span, around))]
        readings.sort(key=lambda r: -r.chance)
        denials = [r for r in readings if r.denied]
        speaks = [r for r in readings if not r.denied and r.chance >= 1 / 2]
        best = max((r.chance for r in readings if not r.denied), default=0.0)
        chances = Probabilities(supports=best, contradicts=0.0, silent=1 - best)
        if denials and not speaks:
            chances = Probabilities(supports=0.0, contradicts=DENIED, silent=1 - DENIED)
        elif denials:
            # One sentence has it, another denies it: of other conditions, or in doubt.
            chances = Probabilities(supports=0.0, contradicts=0.0, silent=1.0)
        shown = {Stance.SUPPORTS: speaks, Stance.CONTRADICTS: denials}.get(chances.stance, [])
        note = "one sentence of it says so, another denies it" if denials and speaks else ""
        quotes = [quote_at(document, span) for span in sorted(r.span for r in shown[:_QUOTED])]
        return Opinion.on(document, chances, quotes=quotes, note=note)

    def _around(self, document: Document) -> tuple[Around, tuple[Span, ...]] | None:
        """How an abstract names the two, with where its sentences are; nothing for a paragraph of a whole paper."""
        if document.paper or not self._head or not self._tail:
            return None
        # Those of the document may be the ones alone that are to be read.
        spans = sentences(document.abstract)
        if len(spans) < _ABSTRACT:
            return None
        texts = [document.title, *(document.abstract[a:b] for a, b in spans)]
        ones, twos = (
            tuple(i for i, text in enumerate(texts) for _ in names.finditer(text)) for names in (self._head, self._tail)
        )
        return Around(len(texts), ones, twos, 0), spans

    def _reading(
        self, text: str, span: Span, abstract: tuple[Around, tuple[Span, ...]] | None = None
    ) -> _Reading | None:
        sentence = text[slice(*span)]
        around = abstract[0]._replace(at=sum(a <= span[0] for a, _ in abstract[1])) if abstract else None
        places = self._places(sentence)
        if not places:
            return None
        denied = any(denies(sentence, one, two, self._cues) for one, two in places)
        best = max(self._chance(sentence, one, two, around) for one, two in places)
        return _Reading(span, best, denied)

    def _chance(self, sentence: str, one: Span, two: Span, around: Around | None) -> float:
        if self._directed and not directed(masked(sentence, one, two)).straight:
            return 0.0
        seen = pair_features(sentence, one, two, unlike=self._unlike, around=around)
        return probability(seen, self._weights)

    def _places(self, sentence: str) -> list[tuple[Span, Span]]:
        """Where the two are named, the nearest first."""
        if not self._head or not self._tail:
            return []
        ones = [m.span() for m in self._head.finditer(sentence)]
        twos = [m.span() for m in self._tail.finditer(sentence)]
        apart = [(a, b) for a in ones for b in twos if a[1] <= b[0] or b[1] <= a[0]]
        return sorted(apart, key=lambda p: max(p[0][0] - p[1][1], p[1][0] - p[0][1]))[:_MOST]
