"""Polarity of a sentence against a claim: denials, removals and directions compared.

A sentence is cut into clauses. Of those that hold terms of the claim, the denials are counted whose reach covers a
term, and the words of more and less; what is left when both sides are compared is agreement or opposition.
"""

from collections.abc import Set
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kgcheck.text.words import BREAKS, compounds, pattern_of_list, stemmer, words_of_list

CUES = ("denial", "more", "less", "doubt", "affirmation")
POLARITY = ("matched", "denied_apart", "denied_both", "removed_apart", "way_agrees", "way_differs", "sign")
"""Features of one passage against a claim: each but the first between -1 and 1."""

_KINDS = ("gone", "deny", "deny_all", "more", "less")
_GONE_AFTER, _GONE_BEFORE = 5, 3
_DENIALS = frozenset("not no non never neither nor without cannot failed fails lack lacked lacking".split())
_DENIED_BEFORE = 4  # words before "significant" among which a denial is of it: "did not reach statistical significance"
_LIST_WORDS = 5  # A piece between commas with so few words and no verb goes on with what was before it: a list
Numbers = NDArray[np.float64]


class StemmedWord(NamedTuple):
    """A word with its stem and the kind of cue that it is, if any."""

    word: str
    stem: str
    kind: str


Clauses = tuple[tuple[StemmedWord, ...], ...]


def clauses_of(text: str) -> Clauses:
    """The clauses of a text."""
    turns, verbs = words_of_list("cues", "turns"), words_of_list("cues", "verbs")
    pieces: list[list[str]] = [[]]
    for word in compounds(text.lower()):
        if word in BREAKS:
            pieces.append([])
        elif word in turns:
            pieces.append([word])
        else:
            head, hyphen, tail = word.rpartition("-")
            # tlr4-deficient: a cue that ends a word is one of its own.
            pieces[-1] += [head, tail] if hyphen and cue_of(tail, _KINDS) in ("gone", "deny_all") else [word]
    found: list[list[str]] = []
    inserted = False
    for piece in filter(None, pieces):
        listed = len(piece) <= _LIST_WORDS and not any(w in verbs for w in piece)
        if piece[0] in turns:
            inserted = len(piece) <= _LIST_WORDS and bool(found)
            found.append(piece)
        elif found and listed and not inserted:
            found[-1] += piece
        elif inserted and len(found) > 1:
            # What was put between commas ends; the sentence goes on.
            found[-2] += piece
            inserted = False
        else:
            found.append(piece)
    return tuple(tuple(_token(w, piece, i) for i, w in enumerate(piece)) for piece in found)


def compare(claim: Clauses, terms: Set[str], passage: Clauses) -> Numbers:
    """Compare the polarity of a passage with that of a claim."""
    (_, claim_denied, claim_removed, claim_way), (matched, own_denied, own_removed, own_way) = (
        _read(clauses, terms) for clauses in (claim, passage)
    )
    if not matched:
        return np.zeros(len(POLARITY))
    denied, both, removed = claim_denied != own_denied, claim_denied and own_denied, claim_removed != own_removed
    way = claim_way * own_way or (own_way if removed else 0)
    way = -way if removed else way
    against = (removed and not way) or way < 0
    # Denied and of the other direction at once, or both denied with other directions: it may be either.
    sign = (0 if against else -1) if denied else (-1 if against else 1)
    if both and against:
        sign = 0
    return np.array([matched / max(len(terms), 1), denied, both, removed, way > 0, way < 0, sign], dtype=float)


def _read(clauses: Clauses, terms: Set[str]) -> tuple[int, bool, bool, int]:
    """Number of the terms that clauses hold, whether they are denied, whether removed, and the way that is said.

    The clause with most terms is read first, each for the terms that it adds.
    """
    left, denials, gone, way = set(terms), 0, 0, 0
    matching = [{t.stem for t in clause} & terms for clause in clauses]
    order = sorted(range(len(clauses)), key=lambda i: (-len(matching[i]), i))
    for i in order:
        new = matching[i] & left
        if not new:
            continue
        left -= new
        clause = clauses[i]
        denials += sum(_denies(clause, at, new) for at, t in enumerate(clause) if t.kind in ("deny", "deny_all"))
        gone += sum(_removes(clause, at, new) for at, t in enumerate(clause) if t.kind == "gone")
        way += sum((t.kind == "more") - (t.kind == "less") for t in clause)
    return len(set(terms) - left), bool(denials % 2), bool(gone % 2), int(np.sign(way))


def _denies(clause: tuple[StemmedWord, ...], at: int, terms: Set[str]) -> bool:
    """Tell if a denial reaches a term: what follows it, or where no term does, what is before it."""
    after = any(t.stem in terms for t in clause[at + 1 :])
    before = any(t.stem in terms for t in clause[:at])
    if clause[at].kind == "deny_all":
        return before or after
    return after or (before and clause[at].word not in ("no", "without"))


def _removes(clause: tuple[StemmedWord, ...], at: int, terms: Set[str]) -> bool:
    """Tell if a word of removal is about a term: "loss of it", "without it", "its loss"."""
    following = clause[at + 1 : at + 1 + _GONE_AFTER]
    if clause[at].word in ("without", "lacking", "lacks", "lack") or (following and following[0].word == "of"):
        return any(t.stem in terms for t in following)
    return any(t.stem in terms for t in clause[max(0, at - _GONE_BEFORE) : at])


def significance(text: str) -> bool | None:
    """Tell whether a text calls what it is of significant, or denies it; None where it does neither, or both.

    >>> significance("The loss was not statistically significant."), significance("It fell significantly.")
    (False, True)
    """
    words = compounds(text.lower())
    found = set()
    for at, word in enumerate(words):
        if "significan" in word:
            before = words[max(0, at - _DENIED_BEFORE) : at]
            denied = any(w in _DENIALS or w.endswith(("n't", "n\u2019t")) for w in before)
            found.add(not (denied or word.startswith(("non", "in"))))
    return found.pop() if len(found) == 1 else None


def empty_words() -> frozenset[str]:
    """Words that name nothing."""
    return words_of_list("cues", "empty")


@lru_cache(100_000)
def cue_of(word: str, kinds: tuple[str, ...]) -> str:
    """The first of some kinds of cues that a word is; empty where it is none."""
    return next((kind for kind in kinds if pattern_of_list("cues", kind).match(word)), "")


def _token(word: str, piece: list[str], at: int) -> StemmedWord:
    kind = cue_of(word, _KINDS)
    following = piece[at + 1] if at + 1 < len(piece) else ""
    if kind == "deny" and following in ("only", "just", "merely", "longer"):
        kind = ""
    return StemmedWord(word, stemmer().stemWord(word), kind)
