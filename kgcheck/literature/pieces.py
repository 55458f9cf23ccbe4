"""Pieces of sentences of which each tells one thing, and what a pronoun in one may stand for.

A claim about two things is not borne out by one piece about the first and another about the second: "walking lowered
the risk of gout; cycling made no difference" is nothing about cycling and a lower risk.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from itertools import islice
from typing import NamedTuple

from kgcheck.inputs import read_toml
from kgcheck.literature.documents import Span, sentences
from kgcheck.resources import resource_dir

_MOST = 40
"""Places at which a sentence is cut."""

_WORD = re.compile(r"[^\W_]+(?:[-'][^\W_]+)*")


class SentencePiece(NamedTuple):
    """A piece of a sentence."""

    text: str
    before: str

    @property
    def whole(self) -> str:
        """All that it may be about."""
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
            found.append(SentencePiece(text, earlier if _refers(text) else ""))
            before = text
    return tuple(found)


def _cut(sentence: str, *, compares: bool) -> Iterator[str]:
    """Pieces of a sentence; one without a subject of its own goes on with the one before it."""
    rules = _rules()
    start = 0
    for found in islice(rules.cuts.finditer(sentence), _MOST):
        if compares and found.lastgroup == "compares":
            continue
        words = _WORD.findall(sentence[found.end() : found.end() + 40].lower())
        if found.lastgroup == "turns" and (not words or _goes_on(words)):
            continue
        if text := sentence[start : found.start()].strip():
            yield text
        start = found.end()
    if text := sentence[start:].strip():
        yield text


def _goes_on(words: Sequence[str]) -> bool:
    return words[0] in _rules().goes_on or words[0].endswith(("ed", "ing"))


def _refers(text: str) -> bool:
    return bool(_rules().refers.search(text))


def _before(sentence: str, abstract: str) -> str:
    """The sentence before one, and the one before that where it has a pronoun, too."""
    spans, at = _spans(abstract), abstract.find(sentence)
    earlier = [abstract[start:end] for start, end in spans if at >= 0 and end <= at][-2:]
    if not earlier:
        return ""
    return " ".join(earlier) if _refers(earlier[-1]) else earlier[-1]


@lru_cache(maxsize=64)
def _spans(abstract: str) -> tuple[Span, ...]:
    return sentences(abstract) if abstract else ()


class _PieceRules(NamedTuple):
    cuts: re.Pattern[str]
    refers: re.Pattern[str]
    goes_on: frozenset[str]


@cache
def _rules() -> _PieceRules:
    raw = read_toml(resource_dir("corpus") / "verifier" / "pieces.toml")
    turns, compares, refers = ("|".join(raw[k]) for k in ("turns", "compares", "refers"))
    return _PieceRules(
        cuts=re.compile(rf"(?P<ends>;)|\b(?P<turns>{turns})\b|(?P<compares>{compares})\b", re.IGNORECASE),
        refers=re.compile(rf"\b(?:{refers})\b", re.IGNORECASE),
        goes_on=frozenset(raw["goes_on"]),
    )
