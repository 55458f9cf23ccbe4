"""Results to check numbers against: canonical ones from a file, or those of the text itself."""

import hashlib
import math
import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from functools import cached_property, lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from kgcheck import clock
from kgcheck.errors import InputFormat
from kgcheck.grounding.manuscript import Manuscript, Sentence
from kgcheck.grounding.quantities import WrittenNumber, kind_words, quantities
from kgcheck.inputs import parse_json, read_whole
from kgcheck.literature.documents import Span
from kgcheck.literature.polarity import empty_words
from kgcheck.text.words import stemmer

MOST_RESULTS = 10_000
_MOST_PLACES = 100  # digits on each side of the point that count; a number may be written with millions
_WINDOW = 10  # words to each side of a number that tell what it is of
_NEAR = 2_000  # characters to each side in which they are: a sentence without end must not be read once a number
_MOST_WORDS = 300  # words of a table's caption and head, or of a row's beginning, that tell what its numbers are of


class Result(NamedTuple):
    """A number that stands: its name, its value, and the words that tell what it is of."""

    name: str
    value: Decimal
    step: Decimal
    unit: str
    words: Mapping[str, float]
    quote: str = ""


class Results:
    """Results that numbers are held against."""

    def __init__(self, source: str, release: str, at: datetime, *, canonical: bool, found: Sequence[Result]) -> None:
        self.source, self.release, self.at, self.canonical = source, release, at, canonical
        self.all = tuple(found)
        self._with_word: dict[str, list[int]] = defaultdict(list)
        for place, result in enumerate(self.all):
            for word in result.words:
                self._with_word[word].append(place)
        # A word tells the more, the fewer results have it.
        self._rarity = {w: math.log(1 + len(self.all) / len(places)) for w, places in self._with_word.items()}
        self._whole = [sum(self._rarity[w] for w in result.words) for result in self.all]

    def is_named(self, result: Result, unit: str, text: str) -> bool:
        """Tell whether a text names a canonical result: all words of its name, as row and column, and its unit."""
        if unit != result.unit and not (not result.unit and unit == "%"):
            return False
        return set(name_stems(result.name)) - self._in_all_names <= set(name_stems(text))

    @cached_property
    def _in_all_names(self) -> frozenset[str]:
        """Stems that all names have, as the name of what holds them: they tell no result from another."""
        if len(self.all) == 1:
            return frozenset()
        return frozenset.intersection(*(frozenset(name_stems(result.name)) for result in self.all))

    def likeness(self, words: Mapping[str, float]) -> list[float]:
        """From 0 to 1 for each result, how much of what names it stands about a number."""
        both = [0.0] * len(self.all)
        for word, weight in words.items():
            for place in self._with_word.get(word, ()):
                both[place] += self._rarity[word] * weight
        own = sum(self._rarity.get(word, 1.0) for word in words)
        wholes = self._whole if self.canonical else [min(whole, own) for whole in self._whole]
        return [min(1.0, b / whole) if whole else 0.0 for b, whole in zip(both, wholes, strict=True)]


def read_results(path: Path) -> Results:
    """The canonical results of a manuscript."""
    text, advice = read_whole(path), "give the results as JSON, see docs/howto_ground.md"
    try:
        found = list(islice(_leaves(parse_json(text, decimals=True), ()), MOST_RESULTS + 1))
    except ValueError as error:
        raise InputFormat(f"{path} is no JSON: {error}", advice) from error
    if not found:
        raise InputFormat(f"{path} holds no number", advice)
    if len(found) > MOST_RESULTS:
        raise InputFormat(f"{path} holds more than {MOST_RESULTS:,} numbers", "name fewer results")
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    return Results(path.name, digest, datetime.fromtimestamp(path.stat().st_mtime, UTC), canonical=True, found=found)


def _leaves(value: Any, path: tuple[str, ...], unit: str = "", description: str = "") -> Iterator[Result]:
    """The numbers of a JSON value with their names."""
    inner: list[tuple[str, Any]] = []
    if isinstance(value, dict):
        inner = list(value.items())
        if _is_number(own := value.get("value")):
            yield from _leaves(own, path, str(value.get("unit") or ""), str(value.get("description") or ""))
            inner = [(key, each) for key, each in inner if key not in ("value", "unit", "description")]
    elif isinstance(value, list):
        inner = [(str(place), each) for place, each in enumerate(value, 1)]
    elif _is_number(value):
        number = Decimal(value)
        if number.is_finite() and abs(number.adjusted()) < _MOST_PLACES:
            words = dict.fromkeys(_placed_stems(" ".join((*path, description))).stems, 1.0)
            step = Decimal(1).scaleb(max(int(number.as_tuple().exponent), -_MOST_PLACES))
            yield Result(".".join(path) or "the result", number, step, unit.strip(), words)
    for key, each in inner:
        yield from _leaves(each, (*path, str(key)))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | Decimal) and not isinstance(value, bool)


def own_results(manuscript: Manuscript) -> Results:
    """The numbers of a manuscript's own results: its sections of results, legends and tables."""
    found = [
        Result(f"sentence {s.number}", q.value, q.step, q.unit, words_about(s.text, (q.start, q.end)), s.text)
        for s in manuscript.sentences
        if s.section in ("results", "other") or manuscript.blocks[s.block].kind == "legend"
        for q in quantities_of(s)
    ]
    for table in manuscript.tables:
        head = " ".join(table.rows[0]) if table.rows else ""
        about = _placed_stems(f"{table.caption} {head}").stems[:_MOST_WORDS]
        for row in table.rows:
            words = dict.fromkeys((*about, *_placed_stems(row[0]).stems[:_MOST_WORDS]), 1.0) if row else {}
            name, quote = table.label or "a table", " | ".join(row)
            found += [Result(name, q.value, q.step, q.unit, words, quote) for cell in row for q in quantities(cell)]
    return Results(manuscript.name, manuscript.sha256[:12], clock.now(), canonical=False, found=found)


def quantities_of(sentence: Sentence) -> tuple[WrittenNumber, ...]:
    """The numbers of a sentence, without those of its citations."""
    return quantities(sentence.text, [(m.start, m.end) for m in sentence.markers])


def words_about(text: str, number: Span, *, fading: bool = False) -> dict[str, float]:
    """The words to both sides of a number, as stems, with weights."""
    found: dict[str, float] = {}
    stems = _placed_stems(text)
    first, after = bisect_right(stems.ends, number[0]), bisect_left(stems.starts, number[1])
    last = min(after + 2 * _WINDOW, bisect_right(stems.ends, number[1] + _NEAR))
    nearest = max(first - 2 * _WINDOW, bisect_left(stems.starts, number[0] - _NEAR))
    for side in (stems.stems[nearest:first][::-1], stems.stems[after:last]):
        for distance, stem in enumerate(side):
            weight = 1 / (1 + distance) if fading else 1.0 if distance < _WINDOW else 0.5
            found[stem] = max(found.get(stem, 0.0), weight)
    return found


def counted_thing(text: str, end: int) -> str:
    """The stem of the first word behind a number that names something: what is counted; empty if none is near."""
    stems = _placed_stems(text)
    after = bisect_left(stems.starts, end)
    near = after < len(stems.starts) and not set(text[end : stems.starts[after]]) & set(",;:.()")
    return stems.stems[after] if near else ""


_WORD = re.compile(r"[A-Z]?[^\W\d_A-Z]+|[A-Z]+(?![^\W\d_A-Z])\d*|\d+")


class _PlacedStems(NamedTuple):
    stems: tuple[str, ...]
    starts: tuple[int, ...]
    ends: tuple[int, ...]


@lru_cache(maxsize=16)
def _placed_stems(text: str, least: int = 2) -> _PlacedStems:
    """Stems of the words that name something, of camelCase and of keys with underscores, too, and where they stand."""
    words = [(match[0].casefold(), match.start(), match.end()) for match in _WORD.finditer(text)]
    named = [w for w in words if w[0] not in empty_words() and w[0] not in kind_words() and len(w[0]) >= least]
    stems = map(str, stemmer().stemWords([word for word, _, _ in named]))
    return _PlacedStems(tuple(stems), tuple(start for _, start, _ in named), tuple(end for _, _, end in named))


@lru_cache(maxsize=256)
def name_stems(text: str) -> tuple[str, ...]:
    """Stems of all words, single letters and numbers, too, without those that tell a kind alone."""
    return _placed_stems(text, 1).stems
