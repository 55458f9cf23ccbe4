"""Whether a claim has the two that a sentence compares the other way round, or the number of the other one."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from kgcheck.literature.arguments import Argument, arguments, content_of, head, is_named

_THAN = re.compile(
    r"\b(?P<way>more|less|fewer|better|worse|higher|lower|greater|smaller|longer|shorter|faster|slower|stronger|weaker|larger"
    r"|earlier|later|safer)\b(?P<between>[^.;]{0,80}?)\bthan\b",
    re.IGNORECASE,
)
_PARTS = re.compile(r"[,;]|\b(?:and|against|versus|vs|compared (?:with|to)|but|whereas|while)\b", re.IGNORECASE)
_LESS = frozenset("less fewer worse lower smaller shorter slower weaker later".split())
_LONGEST = 2_000


class _Comparison(NamedTuple):
    first: str
    second: str
    less: bool


def comparison_objection(claim: str, sentences: Sequence[str]) -> str:
    """Why sentences that compare do not bear out what a claim compares or counts.

    >>> comparison_objection("Tea helped more than coffee.", ["Coffee helped more than tea did."])
    'its sentences compare them the other way round'
    """
    return _turned(claim, sentences) or _number_of_other(claim, sentences)


def _turned(claim: str, sentences: Sequence[str]) -> str:
    wanted = _comparison(claim)
    if not wanted:
        return ""
    second = head(_first_words(wanted.second))
    first = [a for a in arguments(f"the {wanted.first}") if a.kind != "number"]
    if not second:
        return ""
    ways = set()
    for compared in (c for s in sentences if (c := _comparison(s))):
        left, right = content_of(compared.first), content_of(compared.second)
        straight = is_named(second, right) and not is_named(second, left)
        moved = any(is_named(a, right) and not is_named(a, left) for a in first)
        crossed = moved and is_named(second, left) and not is_named(second, right)
        if straight or crossed:
            ways.add(straight == (compared.less == wanted.less))
    return "its sentences compare them the other way round" if ways == {False} else ""


def _comparison(sentence: str) -> _Comparison | None:
    found = _THAN.search(sentence[:_LONGEST])
    if not found:
        return None
    return _Comparison(sentence[: found.start()], sentence[found.end() :], found["way"].lower() in _LESS)


def _first_words(text: str) -> str:
    """Who or what is compared: the first words of a side, up to what is told of it."""
    words = re.split(r"\b(?:was|were|is|are|had|has|have|did|does|do|in|on|with)\b|[,;]", text.strip(), maxsplit=1)
    return words[0]


def _number_of_other(claim: str, sentences: Sequence[str]) -> str:
    """A number beside something that the claim does not name, where what it does name has another number."""
    named = arguments(claim)
    numbers, things = [a for a in named if a.kind == "number"], [a for a in named if a.kind != "number"]
    for number in numbers:
        holding = [s[:_LONGEST] for s in sentences if is_named(number, content_of(s))]
        if holding and all(_is_of_other(number, things, s) for s in holding):
            return f"its sentences have this number of something else: {number.words}"
    return ""


def _is_of_other(number: Argument, things: Sequence[Argument], sentence: str) -> bool:
    parts = [(text, content_of(text)) for text in _PARTS.split(sentence) if text.strip()]
    own = [(text, there) for text, there in parts if is_named(number, there)]
    units = {unit for _, unit in _numbers(number)}
    rest = [there for _, there in parts if not is_named(number, there) and units & {unit for _, unit in there.numbers}]
    wanted = content_of(" ; ".join(a.words for a in things))
    for text, there in own:
        lacking = [a for a in arguments(f"the {text}") if a.kind not in ("number", "human") and not is_named(a, wanted)]
        if not lacking or not any(is_named(a, other) and not is_named(a, there) for a in things for other in rest):
            return False
    return bool(own)


def _numbers(number: Argument) -> set[tuple[str, str]]:
    found = (form.partition("|") for form in number.forms)
    return {(value, unit) for value, _, unit in found}
