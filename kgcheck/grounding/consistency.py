"""Hold the statements of a manuscript against its own: numbers, units, directions and denials.

Two kinds of evidence: the numbers of the same sentence (a change "from 12 to 8" is no rise, p = 0.4 is not
significant), and another place that says the same of the same things (the abstract and the results, a sentence and the
row of the table that it names). Neither tells which of two places is wrong, so that nothing here is a contradiction.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import cache
from typing import Any, NamedTuple

from kgcheck import clock
from kgcheck.grounding.manuscript import Manuscript, Sentence
from kgcheck.grounding.quantities import WrittenNumber, quantities, with_points
from kgcheck.grounding.remarks import Remark, Remarked
from kgcheck.grounding.results import quantities_of, stems_of, words_about
from kgcheck.inputs import read_toml
from kgcheck.model import Evidence, Stance, Tier, World
from kgcheck.resources import resource_dir
from kgcheck.text.words import word_pattern

_SECTIONS = ("abstract", "introduction", "results", "discussion", "conclusion", "other")
_MOST_NUMBERS = 40
"""Numbers of a sentence; one with more is a list."""

_TELLING = 2
"""Significant digits from which on a number is hardly another one's by accident."""

_SLIP = 0.3
"""Share of the words about two numbers from which on one is a slip of the other: one digit, or two that changed places.
Each of two numbers that stand beside both counts a quarter, too."""

_OTHER = 0.6
"""And from which on it is another one of any digits, where only one is left that could be meant."""

_COMPANIONS = 2

_NEAR = 0.15
"""Share of its rarer words from which on a line may be of the same, where it has no number in common."""

_OFTEN = 2
"""Lines that have a number, at most, where it is one that is said in two places."""


_UNIT = 0.4
"""Share of the words about two numbers from which on they are of the same, and have two units."""

_TABLE = re.compile(r"\bTables?\s(\d{1,3})\b")
_WORD = re.compile(r"[^\W\d_]+(?:[-'\u2019][^\W\d_]+)*")


class _Statement(NamedTuple):
    """A sentence or the row of a table, its numbers, and the words about each of them."""

    name: str
    block: int
    section: str
    text: str
    numbers: tuple[WrittenNumber, ...]
    about: tuple[Mapping[str, float], ...]
    stems: frozenset[str]


def check_consistency(manuscript: Manuscript) -> list[Remarked]:
    """Remark on what a manuscript says against its own numbers, or otherwise in another place."""
    sentences = [s for s in manuscript.sentences if _is_read(manuscript, s)]
    text = _OwnText(manuscript, sentences)
    found = [r for s in sentences for r in (*_against_its_numbers(s), *text.elsewhere(s))]
    found += _misspelt_symbols(manuscript, sentences)
    return [_evidenced(manuscript, remarked) for remarked in found]


def _is_read(manuscript: Manuscript, sentence: Sentence) -> bool:
    kind = manuscript.blocks[sentence.block].kind
    return sentence.section in _SECTIONS and kind in ("paragraph", "legend")


class _OwnText:
    """The sentences of a manuscript and the rows of its tables, as they can be compared."""

    def __init__(self, manuscript: Manuscript, sentences: Sequence[Sentence]) -> None:
        self._lines = {s.number: _line(s) for s in sentences}
        self._all = list(
            {(line.section, line.text): line for line in (*self._lines.values(), *_rows(manuscript))}.values()
        )
        counts = Counter(stem for line in self._all for stem in line.stems)
        self._rarity = {stem: math.log(1 + len(self._all) / count) for stem, count in counts.items()}
        self._wholes = [sum(self._rarity[stem] for stem in line.stems) for line in self._all]
        self._keys = [frozenset(key for _, key in _keys(line.numbers)) for line in self._all]
        self._times = Counter(key for keys in self._keys for key in keys)
        self._equal: dict[tuple[Decimal, Decimal], list[tuple[_Statement, WrittenNumber, Mapping[str, float]]]]
        self._equal = defaultdict(list)
        for line in self._all:
            for number, words in zip(line.numbers, line.about, strict=True):
                self._equal[number.value, number.step].append((line, number, words))
        self._with: dict[str, list[int]] = defaultdict(list)
        for place, line in enumerate(self._all):
            for stem in line.stems if line.numbers else ():
                self._with[stem].append(place)

    def elsewhere(self, sentence: Sentence) -> Iterator[Remarked]:
        """Find another place that says the same with another number or unit."""
        line = self._lines[sentence.number]
        if not line.numbers:
            return
        near = self._near(line)
        found = [
            _number_differs(sentence, number, *other)
            for place, number in enumerate(line.numbers)
            if number.digits >= _TELLING and (other := self._other_number(line, place, near))
        ]
        # Where several numbers are others, the two places tell of two results.
        yield from found if len(found) == 1 else ()
        yield from self._other_units(sentence, line)

    def _near(self, line: _Statement) -> list[tuple[float, int]]:
        """The lines of other sections and tables, each with the share of rarer words that it has in common."""
        both: dict[int, float] = defaultdict(float)
        for stem in line.stems:
            for place in self._with[stem]:
                both[place] += self._rarity[stem]
        own = sum(self._rarity[stem] for stem in line.stems)
        found = []
        numbers = {key for n, key in _keys(line.numbers) if n.digits >= _TELLING}
        for place, shared in both.items():
            other = self._all[place]
            if other.block == line.block or other.section == line.section or other.text == line.text:
                continue
            alike = shared / max(min(own, self._wholes[place]), 1e-9)
            if alike >= _NEAR or not numbers.isdisjoint(self._keys[place]):
                found.append((alike, place))
        return found

    def _other_number(
        self, line: _Statement, at: int, near: Sequence[tuple[float, int]]
    ) -> tuple[_Statement, WrittenNumber] | None:
        """The number that stands in the place of one, in a line that has the others of its sentence or its words."""
        number, about = line.numbers[at], line.about[at]
        # What a text has in two places, and in one of them otherwise, it has as often as the other number: once.
        if self._times[number.value, number.unit] > _OFTEN or _is_made_of(number, line.numbers):
            return None
        taken = {key for _, key in _keys(line.numbers)}
        others = {key for n, key in _keys(line.numbers) if n is not number and n.digits >= _TELLING}
        tables = set(_TABLE.findall(line.text))
        best: tuple[float, tuple[_Statement, WrittenNumber] | None] = (0.0, None)
        for alike, place in near:
            other = self._all[place]
            shared = len(others & self._keys[place])
            named = other.block < 0 and other.name.rpartition(" ")[2] in tables
            if any(_is_rounded(n, number) for n in other.numbers) and (alike >= 0.3 or named or shared):
                return None
            if other.block < 0 and not named and shared < 2:
                continue
            left = [
                (n, words)
                for (n, key), words in zip(_keys(other.numbers), other.about, strict=True)
                if key not in taken
                and self._times[key] <= _OFTEN
                and n.unit == number.unit
                and n.step == number.step
                and _of_a_size(n, number)
            ]
            for one, words in left:
                score = min(shared, _COMPANIONS) / 4 + self._alike(about, words)
                bound = _SLIP if _is_slip(one, number) else _OTHER if len(left) == 1 else None
                if bound is not None and score >= bound and score > best[0]:
                    best = (score, (other, one))
        return best[1]

    def _alike(self, one: Mapping[str, float], other: Mapping[str, float]) -> float:
        """The share of rarer words that stand about both of two numbers."""
        own = sum(self._rarity.get(w, 0.0) for side in (one, other) for w in side) / 2
        return sum(self._rarity.get(w, 0.0) for w in one.keys() & other.keys()) / own if own else 0.0

    def _other_units(self, sentence: Sentence, line: _Statement) -> Iterator[Remarked]:
        """Numbers that another place has of the same things in another unit."""
        for number, about in zip(line.numbers, line.about, strict=True):
            kind = _kind(number.unit)
            equal = (
                [place for place in self._equal[number.value, number.step] if place[0].text != line.text]
                if kind
                else []
            )
            if any(n.unit == number.unit for _, n, _ in equal):
                continue
            for other, n, words in equal:
                if n.unit and _kind(n.unit) == kind and self._alike(about, words) >= _UNIT:
                    yield _unit_differs(sentence, number, other, n)
                    return


def _keys(numbers: Iterable[WrittenNumber]) -> list[tuple[WrittenNumber, tuple[Decimal, str]]]:
    return [(number, (number.value, number.unit)) for number in numbers]


def _is_rounded(one: WrittenNumber, other: WrittenNumber) -> bool:
    """Tell whether two numbers are one, each as it is rounded."""
    return one.unit == other.unit and abs(one.value - other.value) <= max(one.step, other.step) / 2


def _is_made_of(number: WrittenNumber, others: Sequence[WrittenNumber]) -> bool:
    """Tell whether a number is a multiple, a sum or a difference of others of its sentence."""
    values = [n.value for n in others if n is not number]
    made = [k * v for v in values for k in (2, 3, 4, 10, 100)]
    made += [abs(a + sign * b) for i, a in enumerate(values) for b in values[i + 1 :] for sign in (1, -1)]
    shares = [100 * a / b for a in values for b in values if b] if number.unit == "%" else []
    return any(abs(value - number.value) <= number.step / 2 for value in (*made, *shares))


def _of_a_size(one: WrittenNumber, other: WrittenNumber) -> bool:
    small, large = sorted((abs(one.value), abs(other.value)))
    return one.digits >= _TELLING and large <= 5 * small


def _is_slip(one: WrittenNumber, other: WrittenNumber) -> bool:
    """Tell whether two numbers are written alike but for one digit, or two that changed places."""
    places = max(0, -int(min(one.step, other.step).normalize().as_tuple().exponent))
    a, b = (f"{abs(n.value):.{places}f}" for n in (one, other))
    if len(a) != len(b) or one.step != other.step:
        return False
    changed = [(x, y) for x, y in zip(a, b, strict=True) if x != y]
    return len(changed) == 1 or (len(changed) == 2 and changed[0] == changed[1][::-1])


def _line(sentence: Sentence) -> _Statement:
    numbers = quantities_of(sentence)
    numbers = numbers if len(numbers) <= _MOST_NUMBERS else ()
    about = tuple(words_about(sentence.text, (n.start, n.end)) for n in numbers)
    stems = frozenset(stems_of(sentence.text))
    return _Statement(
        f"sentence {sentence.number}", sentence.block, sentence.section, sentence.text, numbers, about, stems
    )


def _rows(manuscript: Manuscript) -> Iterator[_Statement]:
    for place, table in enumerate(manuscript.tables, 1):
        head = table.rows[0] if table.rows else ()
        caption = stems_of(table.caption)[:100]
        for row in table.rows[1:]:
            numbers: list[WrittenNumber] = []
            about: list[Mapping[str, float]] = []
            for column, cell in enumerate(row):
                named = stems_of(head[column]) if column < len(head) else []
                for number in quantities(cell):
                    numbers.append(number)
                    about.append(dict.fromkeys((*caption, *stems_of(row[0]), *named), 1.0))
            stems = frozenset((*caption, *stems_of(row[0]), *(s for h in head for s in stems_of(h))))
            yield _Statement(
                table.label or "a table", -place, f"table {place}", " | ".join(row), tuple(numbers), tuple(about), stems
            )


_P = re.compile(
    r"(?<![\w-])[pP](?:[- ]?values?)?(?:\s?\(?\w{0,12}\)?)?\s?(?P<sign>[=<>\u2264\u2265])\s?"
    r"(?P<value>0?\.\d{1,12}|1\.0{1,4}|[\d.]{1,6}\s?[\u00d7x]\s?10)"
)
_LEVEL = Decimal("0.05")
_CLAUSES = re.compile(
    r";|:\s|,\s(?:whereas|while|but|although|though|however|and)\s|\b(?:whereas|but|although|while)\s"
)


def _against_its_numbers(sentence: Sentence) -> Iterator[Remarked]:
    """Compare the words of a sentence with its own numbers."""
    text = with_points(sentence.text)
    yield from _significance(sentence, text)
    yield from _directions(sentence, text)
    yield from _quantity_units(sentence, text)


_QUANTITY = re.compile(r"([^\W\d_]+(?:-[^\W\d_]+)?)\s(?:(?:of|was|were|is|=|at|about|approximately|~)\s?){0,2}$")


def _quantity_units(sentence: Sentence, text: str) -> Iterator[Remarked]:
    """Numbers in a unit that what they are of is not measured in: an age in mg."""
    for number in quantities_of(sentence):
        word = _QUANTITY.search(text[max(0, number.start - 60) : number.start])
        kinds = _rules()["quantities"].get(word[1].casefold(), "").split() if word else []
        if kinds and (kind := _kind(number.unit)) and kind not in kinds and word:
            span = (number.start, number.end)
            note = f"{word[1]} is no {kind}: {text[slice(*span)]}"
            yield _remarked(Remark.UNIT_DIFFERS, sentence, span, note, word[1])


_SYMBOL = re.compile(r"(?<![\w/-])(?=[A-Za-z]*\d)[A-Z][A-Za-z0-9]{3,8}(?![\w/-])")
_OFTEN_NAMED = 3
"""Times that a symbol stands in a text of which another one is a misspelling."""


def _misspelt_symbols(manuscript: Manuscript, sentences: Sequence[Sentence]) -> list[Remarked]:
    """Symbols that stand once, and are one that stands often but for two signs, one a letter, that changed places."""
    texts = [*(b.text for b in manuscript.blocks), *(cell for t in manuscript.tables for row in t.rows for cell in row)]
    counts = Counter(symbol for text in texts for symbol in _SYMBOL.findall(text))
    found = []
    for sentence in sentences:
        for match in _SYMBOL.finditer(sentence.text):
            symbol = match[0]
            swaps = [
                symbol[:at] + symbol[at + 1] + symbol[at] + symbol[at + 2 :]
                for at in range(len(symbol) - 1)
                if symbol[at].isalpha() or symbol[at + 1].isalpha()
            ]
            right = next((s for s in swaps if s != symbol and counts[s] >= _OFTEN_NAMED), "")
            if counts[symbol] == 1 and right:
                note = f"{symbol} stands here alone, and {right} in {counts[right]} places: it may be misspelt"
                found.append(_remarked(Remark.SYMBOL_MISSPELT, sentence, match.span(), note, right))
    return found


def _significance(sentence: Sentence, text: str) -> Iterator[Remarked]:
    """Results that are called significant or not, against the probability beside them."""
    found = list(_P.finditer(text))
    ends = [0, *(m.end() for m in found)]
    for at, match in enumerate(found):
        words = _WORD.findall(_clause(text[ends[at] : match.start()]))
        if any(_is("unsure", w) for w in words):
            continue
        claims = [i for i, w in enumerate(words) if _is("significant", w)]
        denied = any(_is("deny", w) and any(_is("found", x) for x in words[i + 1 : i + 7]) for i, w in enumerate(words))
        value = Decimal(0) if "10" in match["value"][3:] else Decimal(match["value"])
        small = (match["sign"] in "=<\u2264" and value < _LEVEL) or (match["sign"] == "<" and value == _LEVEL)
        large = (match["sign"] in "=>\u2265" and value > _LEVEL) or (match["sign"] == ">" and value == _LEVEL)
        if denied and small:
            yield _remarked(
                Remark.SIGNIFICANCE_DIFFERS, sentence, match.span(), f"it is denied, and {match[0]}", match[0]
            )
        elif (
            claims
            and not denied
            and large
            and not any(_is("deny", w) or w.lower().startswith(("non", "insig")) for w in words)
        ):
            yield _remarked(
                Remark.SIGNIFICANCE_DIFFERS,
                sentence,
                match.span(),
                f"it is called significant, and {match[0]}",
                match[0],
            )


def _clause(text: str) -> str:
    """The last clause of a text that has words beside those in brackets."""
    parts = _CLAUSES.split(text)
    return next((p for p in reversed(parts) if len(_WORD.findall(str(p).partition("(")[0])) > _TELLING), text)


_NUMBER = r"[-\u2212]?\d[\d,]*(?:\.\d+)?"
_FROM_TO = re.compile(
    rf"\bfrom\s(?:an?\s)?(?:[^\W\d_]+\s){{0,4}}?\(?(?P<one>{_NUMBER})\)?(?P<unit>[^\d.;,()]{{0,30}}?)\s?"
    rf"(?:\([^()]{{0,60}}\)\s)?to\s(?:an?\s)?(?:[^\W\d_]+\s){{0,4}}?\(?(?P<other>{_NUMBER})"
)
_THAN = re.compile(
    rf"(?P<between>[^.;()]{{0,80}})\((?:[^()\d]{{0,25}})(?P<one>{_NUMBER})[^()]{{0,40}}\)\s?(?:[^.;()]{{0,40}}\s)?"
    rf"(?:than|compared\s(?:with|to)|versus|vs\.?)\s[^.;()]{{0,80}}\((?:[^()\d]{{0,25}})(?P<other>{_NUMBER})"
)
_VERSUS = re.compile(
    rf"(?:than|compared\s(?:with|to))\s[^.;()]{{1,80}}\((?:[^()\d]{{0,25}})(?P<one>{_NUMBER})[^().;]{{0,30}}?"
    rf"\s(?:vs\.?|versus|compared\s(?:with|to))\s(?P<other>{_NUMBER})"
)
_WHICH = re.compile(
    rf"(?<![\d,])(?P<one>{_NUMBER})[^.;()\d]{{0,40}},\s(?:which|that)\s(?:is|was|are|were)\s(?P<between>[^.;()\d]{{0,40}}?)than\s"
    rf"[^.;()]{{0,80}}\((?:[^()\d]{{0,25}})(?P<other>{_NUMBER})"
)
_RATIO = re.compile(
    rf"\b(?:[aA]?OR|[aA]?HR|RR|IRR|(?:odds|hazard|risk|rate)\sratio)[^\d.;]{{0,20}}(?P<value>{_NUMBER})"
)
_CORRELATION = re.compile(r"(?<![\w-])(?:r|rs|rho|\u03c1)\s?=\s?(?P<value>[-\u2212]?0?\.\d{1,6})")


def _directions(sentence: Sentence, text: str) -> Iterator[Remarked]:
    """Words of more and less against the two numbers that they compare."""
    for form in (_FROM_TO, _THAN, _VERSUS, _WHICH):
        turned = form is _FROM_TO
        for match in form.finditer(text):
            before = match.groupdict().get("between") or _clause(text[: match.start()])[-200:]
            words = _WORD.findall(before)
            # "(range from 7 to 5)" goes nowhere.
            way = 0 if words and words[-1].lower().startswith("rang") else _way(words)
            one, other = _value(match["one"]), _value(match["other"])
            grows = (other > one) if turned else (one > other)
            if way and one != other and (way > 0) is not grows:
                span = (match.start("one"), match.end("other"))
                yield _direction_differs(sentence, span, text[slice(*span)])
    for match in _RATIO.finditer(text):
        before = _WORD.findall(_clause(text[: match.start()]))
        at = next((i for i in range(len(before) - 1, -1, -1) if _is("up", before[i]) or _is("down", before[i])), -1)
        value, nouns = _value(match["value"]), before[at + 1 : at + 4]
        way = _way(before)
        if at >= 0 and way and value > 0 and any(_is("risk", w) for w in nouns) and (way > 0) is not (value > 1):
            yield _direction_differs(sentence, match.span("value"), match[0])
    for match in _CORRELATION.finditer(text):
        near = [w.lower() for w in _WORD.findall(_clause(text[: match.start()]))]
        signs = {w[:3] for w in near if w.startswith(("positive", "negative", "inverse"))}
        if len(signs) == 1 and any(w.startswith("correlat") for w in near):
            if ("pos" in signs) is not (_value(match["value"]) > 0):
                yield _direction_differs(sentence, match.span("value"), match[0])


def _way(words: Sequence[str]) -> int:
    """1 where words say more, -1 where they say less, 0 where they say neither, both, or deny it."""
    ups, downs = (sum(_is(kind, w) for w in words) for kind in ("up", "down"))
    if any(_is("deny", w) for w in words) or (ups and downs):
        return 0
    return 1 if ups == 1 else -1 if downs == 1 else 0


def _value(written: str) -> Decimal:
    return Decimal(written.replace(",", "").replace("\u2212", "-"))


def _remarked(
    remark: Remark, sentence: Sentence, span: tuple[int, int], note: str, found: str, quote: str = "", place: str = ""
) -> Remarked:
    evidence = Evidence(
        source="",
        release="",
        record=place or f"sentence {sentence.number}",
        retrieved_at=clock.now(),
        stance=Stance.CONTRADICTS,
        world=World.CLOSED,
        tier=Tier.OWNER,
        value=found,
        quote=quote or sentence.text,
    )
    stated = sentence.text[slice(*span)]
    return Remarked(
        remark=remark, sentence=sentence.number, start=span[0], end=span[1], note=note, stated=stated, found=found,
        evidence=(evidence,),
    )  # fmt: skip


def _evidenced(manuscript: Manuscript, remarked: Remarked) -> Remarked:
    own = {"source": manuscript.name, "release": manuscript.sha256[:12]}
    return remarked.model_copy(update={"evidence": tuple(e.model_copy(update=own) for e in remarked.evidence)})


def _direction_differs(sentence: Sentence, span: tuple[int, int], found: str) -> Remarked:
    note = f"the numbers beside it say the opposite: {found}"
    return _remarked(Remark.DIRECTION_DIFFERS, sentence, span, note, found)


def _number_differs(sentence: Sentence, number: WrittenNumber, other: _Statement, one: WrittenNumber) -> Remarked:
    found = f"{one.value:f} {one.unit}".strip()
    stated = sentence.text[number.start : number.end]
    note = f"the text has {stated} here, and {found} in {other.name} of the same things"
    return _remarked(Remark.STATED_OTHERWISE, sentence, (number.start, number.end), note, found, other.text, other.name)


def _unit_differs(sentence: Sentence, number: WrittenNumber, other: _Statement, one: WrittenNumber) -> Remarked:
    found = f"{one.value:f} {one.unit}"
    stated = sentence.text[number.start : number.end]
    note = f"the text has {stated} here, and {found} in {other.name} of the same things"
    return _remarked(Remark.UNIT_DIFFERS, sentence, (number.start, number.end), note, found, other.text, other.name)


@cache
def _rules() -> Mapping[str, Any]:
    return read_toml(resource_dir("corpus") / "grounding" / "consistency.toml")


@cache
def _pattern(name: str) -> re.Pattern[str]:
    return word_pattern(_rules()[name])


def _is(name: str, word: str) -> bool:
    return bool(_pattern(name).match(word.casefold()))


def _kind(unit: str) -> str:
    first = unit.partition("/")[0]
    return next((kind for kind, units in _rules()["units"].items() if first in units), "")
