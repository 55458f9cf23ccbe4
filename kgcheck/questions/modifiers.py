"""Words that change what is asked without naming anything: not, other than, at least three, the most, top five."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from kgcheck.profile.lexicon import Comparison, Lexicon, ScopedWords, compiled, phrase

Kind = Literal["not", "except", "amount", "most", "top", "few", "best"]
ScopedKind = Literal["or", "either", "both", "shared", "every", "distinct"]

_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_NUMBER = rf"(?P<number>\d+|{'|'.join(_WORDS)})(?![\w.%-])"


@dataclass(frozen=True)
class Mark:
    """One such word or phrase.

    ``not`` takes away what the next relation reaches, ``except`` the nodes named next; ``amount`` says how many of the
    next noun there have to be, ``most`` that the number of the next noun ranks; ``best`` that a property ranks, and
    ``top`` how many are wanted, as does ``few``, a number that may say nothing.
    """

    kind: Kind
    start: int
    end: int
    text: str
    comparison: Comparison = "="
    number: int = 1
    property: str = ""
    descending: bool = True


class Marks:
    """Finds them."""

    def __init__(self, lexicon: Lexicon) -> None:
        self._shapes = [*_ranks(lexicon), *_amounts(lexicon), *_negations(lexicon)]

    def of(self, low: str, taken: Sequence[tuple[int, int]]) -> list[Mark]:
        """The marks of a question; the longest first, none over another."""
        found = [(match, shape) for pattern, shape in self._shapes for match in pattern.finditer(low)]
        kept: list[Mark] = []
        for match, shape in sorted(found, key=lambda pair: pair[0].start() - pair[0].end()):
            spans = [*taken, *((k.start, k.end) for k in kept)]
            if any(a < match.end() and match.start() < b for a, b in spans):
                continue
            number = _as_number(match.groupdict().get("number"))
            kept.append(
                Mark(
                    shape.kind,
                    match.start(),
                    match.end(),
                    match[0],
                    shape.comparison,
                    shape.number if number is None else number,
                    shape.property,
                    shape.descending,
                )
            )
        return sorted(kept, key=lambda m: m.start)


@dataclass(frozen=True)
class Scoped:
    """A word whose meaning hangs on what it stands beside: `kgcheck.questions.scope` settles it."""

    kind: ScopedKind
    start: int
    end: int
    text: str


class ScopedFinder:
    """Finds such words."""

    def __init__(self, words: ScopedWords) -> None:
        kinds: dict[ScopedKind, tuple[str, ...]] = {
            "or": words.or_,
            "either": words.either,
            "both": words.both,
            "shared": words.shared,
            "every": words.every,
            "distinct": words.distinct,
        }
        self._shapes = [(kind, compiled(phrase("|".join(phrases)))) for kind, phrases in kinds.items()]

    def of(self, low: str, taken: Sequence[tuple[int, int]]) -> list[Scoped]:
        """The words of a question that nothing else explains; the longest first, none over another."""
        found = [Scoped(kind, m.start(), m.end(), m[0]) for kind, shape in self._shapes for m in shape.finditer(low)]
        kept: list[Scoped] = []
        for word in sorted(found, key=lambda s: s.start - s.end):
            spans = [*taken, *((k.start, k.end) for k in kept)]
            if not any(a < word.end and word.start < b for a, b in spans):
                kept.append(word)
        return sorted(kept, key=lambda s: s.start)


def _as_number(text: str | None) -> int | None:
    if text is None:
        return None
    return _WORDS.index(text) if text in _WORDS else int(text[:9])


def _shape(kind: Kind, text: str, **rest: object) -> tuple[re.Pattern[str], Mark]:
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


def _negations(lexicon: Lexicon) -> list[tuple[re.Pattern[str], Mark]]:
    words = lexicon.words
    return [
        _shape("not", phrase("|".join(words.negation))),
        _shape("except", phrase("|".join(words.exclusion))),
    ]


def _amounts(lexicon: Lexicon) -> list[tuple[re.Pattern[str], Mark]]:
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
    """Whether a comparison is a sign, such as `>=`, and no word."""
    return not any(c.isalpha() for c in words)


def _ranks(lexicon: Lexicon) -> list[tuple[re.Pattern[str], Mark]]:
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
