"""Check the numbers of a manuscript against canonical results, or against its own text.

A number is compared with the result that the words about it name, not with whatever is equal to it: a wrong percentage
that happens to be that of another group is wrong.
"""

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from kgcheck import clock
from kgcheck.grounding.manuscript import Manuscript, Sentence
from kgcheck.grounding.quantities import WrittenNumber, quantities, with_points
from kgcheck.grounding.remarks import Remark, Remarked, Repair, SentenceState
from kgcheck.grounding.results import (
    Result,
    Results,
    counted_thing,
    own_results,
    quantities_of,
    words_about,
)
from kgcheck.literature.documents import Span
from kgcheck.model import Evidence, Stance, Tier, World

_WORDS = dict(zip("one two three four five six seven eight nine ten eleven twelve".split(), range(1, 13), strict=True))
_IN_WORDS = rf"(?i:{'|'.join(_WORDS)})"
_COUNT = r"\d{1,3}(?:,\d{3}){1,9}|\d{1,7}"
_WHOLE = rf"(?P<whole>{_COUNT})(?![\d.,]*\d|\s?%)"
_OF = rf"(?P<part>{_COUNT})\s?(?:/|(?:out\s)?of(?:\sthe|\sall)?)\s?{_WHOLE}"
_OF_WORDS = rf"(?P<part>{_IN_WORDS})\s(?:out\s)?of\s(?:the\s|all\s)?{_WHOLE}"
_SOME_WORDS = r"(?:\s[^\W\d_][\w-]*){0,4}"
_PERCENT = r"(?P<percent>\d{1,3}(?:\.\d{1,4})?)\s?%"
_FORMS = (
    re.compile(rf"(?<![\w.,/-]){_OF}{_SOME_WORDS}(?:\s?[(\[]|\s?=|,|;)\s?{_PERCENT}(?!\s?(?:CI|conf))"),
    re.compile(rf"(?<![\w.,/<>\u2264\u2265~-]){_PERCENT}\s?[(\[]\s?{_OF}"),
    # One of 15 mice, 40% of rats: only alone in brackets is it theirs.
    re.compile(rf"(?<!\w){_OF_WORDS}{_SOME_WORDS}\s?[(\[]{_PERCENT}\s?[)\],;]"),
)
_WORD = re.compile(rf"(?<!\w){_IN_WORDS}(?!\w)")
_HUNDRED = Decimal(100)

_FAR = 5
"""Greatest ratio of two numbers of which one may have been meant to be the other."""

_BOUNDED = 10
"""A bound says something of what is at most so many times it: p < 0.001 of 0.0003, and not of 0.9 or 40."""

_BOUNDED_COUNT = Decimal("1.5")
"""And a bound from 1 on, of what is about as much, so less than twice: more than 1,300 of 1,367."""

_DIGITS_OF_A_LEVEL = 2
"""Digits that a bound below 1 has, as 0.001 and 0.05."""

_MORE_DIGITS = 100
"""Times that the last digit of a result is more than that of a number which is not it."""

_ROUNDING = Decimal("0.06")
"""More than the greatest share by which equal numbers differ where it is not half a step of the written one."""

_PLACES = 2
"""Number of digits that changed places."""

_KEPT = 128
"""Numbers whose results are kept, and pairs of numbers: those of some sentences."""

_COMPANIONS = 2
"""Other numbers of a sentence that another one has, too, from which on both are of the same things."""

_ALIKE_BESIDE = 0.3
"""Share of the words about a number that stand about another one, too, from which on one companion is enough."""

_ALIKE_ALONE = 0.5
"""And none is needed."""

_IMPOSSIBLE = re.compile(r"(?<!\w)(?:[pP](?:[- ]value)?|r)\s?[=<>\u2264\u2265]{0,2}\s?$")
"""Before a number over 1: no probability and no correlation is."""

_DIGITS = re.compile(r"\d(?:[\d.,]*\d)?")

_TABLE = re.compile(r"\bTables?\s(\d{1,3})\b")

_NAMED = 0.5
"""Least share of the words of a canonical result that stand about a number of its."""

_ALIKE = 0.3
"""Least share of the words about a number that stand about the same one in the results, too."""

_TELLING = 2
"""Significant digits from which on a number is hardly another one's by accident."""

_SURE_DIGITS = 3
"""A number of so many digits is hardly equal to a result by accident."""

_MOST_NUMBERS = 40
"""Numbers of a sentence; one with more is a list, in which words do not tell which number is what."""

_MOST_STATED = 300
"""Numbers of an abstract; the sentences after them are part of a list, too."""

_READ = ("abstract", "results", "discussion", "conclusion")


class _Share(NamedTuple):
    """A percentage with the counts that it is of; ``start`` and ``end`` are of the percentage."""

    start: int
    end: int
    percent: Decimal
    part: int
    whole: int

    @property
    def right(self) -> bool:
        # Rounded or cut off.
        step = Decimal(1).scaleb(int(self.percent.as_tuple().exponent))
        return abs(_HUNDRED * self.part / self.whole - self.percent) < step


def _shares(text: str) -> Iterator[_Share]:
    """The percentages of a text that stand beside the counts that they are of.

    >>> [(s.part, s.whole, str(s.percent), s.right) for s in _shares("In 12 of 48 mice (25%), and 7/9 (66%) of others")]
    [(12, 48, '25', True), (7, 9, '66', False)]
    """
    text = with_points(text)
    for form in _FORMS:
        for match in form.finditer(text):
            part, whole = (_count(match[name]) for name in ("part", "whole"))
            if 0 <= part <= whole and whole:
                yield _Share(*match.span("percent"), Decimal(match["percent"]), part, whole)


def _is_share_of_others(quantity: WrittenNumber, text: str, stated: Sequence[WrittenNumber]) -> bool:
    """Tell whether a percentage is that of two counts of its sentence, wherever they stand."""
    if quantity.unit != "%":
        return False
    counts = {int(q.value) for q in stated if not q.unit and q.value > 0 and q.value == q.value.to_integral_value()}
    counts |= {_WORDS[found[0].casefold()] for found in _WORD.finditer(text)}
    half = quantity.step / 2
    return any(abs(_HUNDRED * a / b - quantity.value) <= half for a in counts for b in counts if a < b)


def _count(written: str) -> int:
    return _WORDS.get(written.casefold()) or int(written.replace(",", ""))


class _NumberMatches:
    """The results that numbers are equal to, or may have been meant to be."""

    def __init__(self, against: Results) -> None:
        self.against = against
        # Those that are alike are looked at once: a text has its 10 and its 0.05 a hundred times.
        alike: dict[tuple[Decimal, Decimal, str], list[int]] = defaultdict(list)
        for place, result in enumerate(against.all):
            alike[result.value, result.step, result.unit].append(place)
        self._order = sorted(alike.values(), key=lambda places: abs(against.all[places[0]].value))
        self._sizes = [abs(against.all[places[0]].value) for places in self._order]
        self._equal = lru_cache(_KEPT)(self._found_equal)
        self._comparable = lru_cache(_KEPT)(self._found_comparable)

    def equal(self, quantity: WrittenNumber) -> frozenset[int]:
        """The places of the results that a number is, as it is rounded, or that it is truly above or below."""
        return self._equal(_value_alone(quantity))

    def comparable(self, quantity: WrittenNumber) -> Sequence[int]:
        """The places of the results that a number may be by its unit, in order; of a text's own, by its size, too."""
        return self._comparable(_value_alone(quantity))

    def _found_equal(self, quantity: WrittenNumber) -> frozenset[int]:
        size, results = abs(quantity.value), self.against.all
        if quantity.comparator == "=":
            rounding = max(size * _ROUNDING, quantity.step / 2)
            bounds = [(size - rounding, size + rounding)]
        elif size < 1:
            bounds = [(Decimal(0), _BOUNDED * size if size else Decimal("Infinity"))]
        else:
            bounds = [(size / 2, size * 2)]
        if quantity.unit == "%":
            bounds.append((bounds[0][0] / 100, bounds[0][1] / 100))
        found = {places[0]: places for low, high in bounds for places in self._between(low, high)}
        equal = (places for n, places in found.items() if _is_equal(quantity, results[n], self.against.canonical))
        return frozenset(chain.from_iterable(equal))

    def _found_comparable(self, quantity: WrittenNumber) -> tuple[int, ...]:
        results = self.against.all
        if self.against.canonical:
            # A result need not name its unit; a share may be written in per cent.
            return tuple(n for n, result in enumerate(results) if not result.unit or quantity.unit == result.unit)
        size = abs(quantity.value)
        near = {*chain.from_iterable(self._between(size / _FAR, size * _FAR)), *self.equal(quantity)}
        return tuple(sorted(place for place in near if results[place].unit == quantity.unit))

    def _between(self, low: Decimal, high: Decimal) -> Iterator[Sequence[int]]:
        yield from self._order[bisect_left(self._sizes, low) : bisect_right(self._sizes, high)]


def _near_enough(quantity: WrittenNumber, result: Result) -> bool:
    """Tell whether one of two numbers may have been meant to be the other."""
    values = [abs(result.value), *([abs(result.value) * 100] if quantity.unit == "%" and result.unit != "%" else [])]
    return any(max(v, abs(quantity.value)) <= _FAR * min(v, abs(quantity.value)) for v in values)


def _same_digits(quantity: WrittenNumber, result: Result) -> bool:
    """Tell whether two numbers are written alike but for one digit, or two that changed places."""
    return _digits_alike(quantity.value, quantity.step, result.value)


@lru_cache(_KEPT)
def _digits_alike(stated: Decimal, step: Decimal, found: Decimal) -> bool:
    places = max(0, *(-int(size.normalize().as_tuple().exponent) for size in (step, found)))
    one, other = (f"{abs(value):.{places}f}" for value in (stated, found))
    if len(one) != len(other):
        return False
    changed = [(a, b) for a, b in zip(one, other, strict=True) if a != b]
    return len(changed) == 1 or (len(changed) == _PLACES and changed[0] == changed[1][::-1])


def _value_alone(quantity: WrittenNumber) -> WrittenNumber:
    """The number without its place: the same one is looked up once."""
    return quantity._replace(start=0, number_end=0, end=0)


def _is_equal(quantity: WrittenNumber, result: Result, canonical: bool) -> bool:
    # A text that writes 3.000 has not 3 in mind; a file of results drops such zeros.
    if quantity.comparator == "=" and not canonical and result.step >= _MORE_DIGITS * quantity.step:
        return False
    # A file says -5.3, and the text that something fell by 5.3; a text that has both means two things.
    values = [result.value, -result.value] if canonical and result.value < 0 else [result.value]
    if quantity.unit == "%" and result.unit != "%" and canonical and abs(result.value) <= 1:
        values += [value * 100 for value in values]
    match quantity.comparator:
        # A level is a round number: 0.0601 is none, and must be the result itself.
        case "<" | "≤" if quantity.value >= 1 or quantity.digits <= _DIGITS_OF_A_LEVEL:
            return any(v <= quantity.value for v in values) and _near(values, quantity)
        case ">" | "≥":
            return any(v >= quantity.value for v in values) and _near(values, quantity)
    # A number that is written with fewer digits is another's rounding; 0 is no rounding of 0.007.
    coarse = not canonical and result.value != 0 and abs(result.value) >= 10 * result.step
    step = max(quantity.step, result.step) if coarse else quantity.step
    return any(abs(v - quantity.value) <= max(step, abs(v) / 10 if quantity.approximate else 0) / 2 for v in values)


def _near(values: Collection[Decimal], quantity: WrittenNumber) -> bool:
    size = abs(quantity.value)
    times = _BOUNDED if size < 1 else _BOUNDED_COUNT
    return any(abs(v) <= times * size and (size < 1 or size <= times * abs(v)) for v in values) or not size


def _supports(sentence: Sentence, quantity: WrittenNumber, result: Result, score: float) -> bool:
    """Tell whether a text's own number supports another: by sign, value as it is stated, unit, and what it is of.

    A lone digit, as of 5 or 0.05, is equal to many, and supports nothing.
    """
    if quantity.digits < _TELLING or quantity.comparator != "=" or result.unit != quantity.unit or score < _ALIKE:
        return False
    if abs(result.value - quantity.value) > quantity.step / 2:
        return False
    counted = "" if quantity.unit or quantity.step < 1 else counted_thing(sentence.text, quantity.end)
    return not counted or counted in result.words


def _verified(sentence: Sentence, quantity: WrittenNumber, result: Result, against: Results) -> Remarked:
    state = None if against.canonical else SentenceState.SUPPORTED
    note = f"{_shown(sentence, quantity)} is {_place_of(result, against)}: {_valued(result)}"
    return _remarked(sentence, quantity, Remark.NUMBER_VERIFIED, state, result, against, note)


def _differs(sentence: Sentence, quantity: WrittenNumber, result: Result, against: Results) -> Remarked:
    note = f"the text has {_shown(sentence, quantity)} here, and {_valued(result)} as {_place_of(result, against)}"
    # Two numbers of one text may be of two things that are called alike: only canonical results contradict.
    state = None if against.canonical else SentenceState.UNSUPPORTED
    made = _remarked(sentence, quantity, Remark.NUMBER_DIFFERS, state, result, against, note)
    if not against.canonical or quantity.comparator != "=":
        return made
    right = result.value * 100 if quantity.unit == "%" and result.unit != "%" else result.value
    places = max(0, -int(quantity.step.as_tuple().exponent))
    repair = Repair(start=quantity.start, end=quantity.number_end, to=f"{right:,.{places}f}")
    plain = sentence.text[quantity.start : quantity.number_end].replace(",", "").lstrip("-")
    # A number with a power of ten or a scale is left to its author.
    return made.model_copy(update={"repair": repair}) if re.fullmatch(r"\d++(?:\.\d++)?|\.\d++", plain) else made


def _unknown(sentence: Sentence, quantity: WrittenNumber, against: Results, where: str = "") -> Remarked:
    shown = _shown(sentence, quantity)
    note = f"no result in {against.source} is {shown}" if against.canonical else f"the rest of the text has no {shown}"
    state = SentenceState.NOT_CHECKABLE if where else None
    note += f"; {where}" if where else ""
    return _remarked(sentence, quantity, Remark.NUMBER_UNKNOWN, state, None, against, note)


def _share_differs(sentence: Sentence, share: _Share, manuscript: Manuscript) -> Remarked:
    """Remark that a percentage is not that of the counts beside it."""
    right = f"{100 * share.part / share.whole:.{max(1, -int(share.percent.as_tuple().exponent))}f}%"
    counts = f"{share.part} of {share.whole}"
    evidence = Evidence(
        source=manuscript.name,
        release=manuscript.sha256[:12],
        record=f"sentence {sentence.number}",
        retrieved_at=clock.now(),
        stance=Stance.CONTRADICTS,
        world=World.CLOSED,
        tier=Tier.OWNER,
        value=f"{counts} is {right}",
        quote=sentence.text,
    )
    return Remarked(
        remark=Remark.NUMBER_DIFFERS,
        sentence=sentence.number,
        start=share.start,
        end=share.end,
        note=f"{counts} is {right}, and the sentence has {share.percent}%",
        stated=f"{share.percent}%",
        found=right,
        evidence=(evidence,),
    )


def _remarked(
    sentence: Sentence,
    quantity: WrittenNumber,
    remark: Remark,
    state: SentenceState | None,
    result: Result | None,
    against: Results,
    note: str,
) -> Remarked:
    stances = {Remark.NUMBER_VERIFIED: Stance.SUPPORTS, Remark.NUMBER_DIFFERS: Stance.CONTRADICTS}
    evidence = Evidence(
        source=against.source,
        release=against.release,
        record=result.name if result else "all",
        retrieved_at=against.at,
        stance=stances.get(remark, Stance.SILENT),
        world=World.CLOSED,
        tier=Tier.OWNER,
        value=_valued(result) or None,
        quote=result.quote or None if result else None,
    )
    return Remarked(
        remark=remark,
        state=state or remark.state,
        sentence=sentence.number,
        start=quantity.start,
        end=quantity.end,
        note=note,
        stated=_shown(sentence, quantity),
        found=_valued(result),
        evidence=(evidence,),
    )


def _shown(sentence: Sentence, quantity: WrittenNumber) -> str:
    sign = "" if quantity.comparator == "=" else f"{quantity.comparator} "
    return sign + sentence.text[quantity.start : quantity.end]


def _place_of(result: Result, against: Results) -> str:
    return f"{result.name} of {against.source}" if against.canonical else f"a number of {result.name}"


def _valued(result: Result | None) -> str:
    return f"{result.value:f} {result.unit}".strip() if result else ""


class _StatedElsewhere:
    """The numbers of a manuscript outside of its abstract."""

    def __init__(self, manuscript: Manuscript) -> None:
        texts = [block.text for block in manuscript.blocks if block.section != "abstract"]
        for table in manuscript.tables:
            texts += [table.caption, *(cell for row in table.rows for cell in row)]
        written = {found[0].replace(",", "") for text in texts for found in _DIGITS.finditer(with_points(text))}
        # As it is written: 0.50 is no 0.5, and the digits of a name may be a number of the abstract.
        self._written = frozenset(written)
        named = {number for text in texts for number in _TABLE.findall(text)}
        read = sum(bool(table.rows) for table in manuscript.tables)
        self.lacks = "not all of its tables could be read" if len(named) > read else ""
        """Reasons why a number that was not found may stand there all the same, as in a table that is an image."""

    def __contains__(self, number: str) -> bool:
        found = _DIGITS.search(with_points(number))
        return found is not None and found[0].replace(",", "") in self._written


def _without_slips(
    read: Sequence[Sentence],
    found: Sequence[Remarked],
    matches: _NumberMatches,
    elsewhere: _StatedElsewhere,
) -> list[Remarked]:
    """Remarks about an abstract's numbers by the rest of the text.

    A number that the rest of the text has is no slip. One that it lacks is: where a sentence or a row of it has the
    other numbers of the abstract's sentence, or its words, and another number in its place, that one is named.
    """
    remarked = {(r.sentence, r.start): r for r in found if r.remark is not Remark.NUMBER_DIFFERS}
    for sentence in read:
        stated = quantities_of(sentence)
        taken = {place for quantity in stated for place in matches.equal(quantity)}
        company = _company(stated, matches)
        for quantity in stated:
            written = sentence.text[quantity.start : quantity.number_end]
            impossible = (
                quantity.value > 1 and not quantity.unit and _IMPOSSIBLE.search(sentence.text[: quantity.start])
            )
            if not impossible and written in elsewhere:
                continue
            if matches.equal(quantity).intersection(matches.comparable(quantity)):
                continue
            other = _in_its_place(sentence, quantity, company, taken, matches.against, sure=not elsewhere.lacks)
            if other:
                remarked[sentence.number, quantity.start] = _differs(sentence, quantity, other, matches.against)
            elif not _is_share_of_others(quantity, sentence.text, stated):
                remarked[sentence.number, quantity.start] = _unknown(
                    sentence, quantity, matches.against, elsewhere.lacks
                )
    return sorted(remarked.values(), key=lambda r: (r.sentence or 0, r.start))


def _company(stated: Sequence[WrittenNumber], matches: _NumberMatches) -> Mapping[str, Mapping[Decimal, set[int]]]:
    """By sentence or row of the results, the values of a sentence that it has, and where that sentence states them."""
    found: dict[str, dict[Decimal, set[int]]] = {}
    for quantity in stated:
        for place in matches.equal(quantity) if quantity.digits > 1 else ():
            if matches.against.all[place].unit == quantity.unit:
                values = found.setdefault(matches.against.all[place].quote, {})
                values.setdefault(quantity.value, set()).add(quantity.start)
    return found


def _in_its_place(
    sentence: Sentence,
    quantity: WrittenNumber,
    company: Mapping[str, Mapping[Decimal, set[int]]],
    taken: Collection[int],
    against: Results,
    *,
    sure: bool,
) -> Result | None:
    """The number that stands where one does not, among the others of its sentence or among its words."""
    likeness = against.likeness(words_about(sentence.text, (quantity.start, quantity.end)))
    shared_by = {
        quote: sum(bool(places - {quantity.start}) for places in values.values()) for quote, values in company.items()
    }
    best: tuple[float, Result | None] = (0.0, None)
    for place, (alike, result) in enumerate(zip(likeness, against.all, strict=True)):
        shared = shared_by.get(result.quote, 0)
        # What may stand where it could not be read is no slip for the sake of one companion.
        beside = shared >= _COMPANIONS or (sure and shared and alike >= _ALIKE_BESIDE)
        if not (beside or alike >= _ALIKE_ALONE) or shared + alike <= best[0]:
            continue
        # Any other number may be of something else that the text tells at the same place.
        if result.unit == quantity.unit and place not in taken and _same_digits(quantity, result):
            best = (shared + alike, result)
    return best[1]


def check_numbers(manuscript: Manuscript, results: Results | None = None) -> list[Remarked]:
    """Numbers of the abstract; with canonical results also of results, discussion and conclusion, and percentages."""
    against = results or own_results(manuscript)
    found = _against_results(manuscript, against) if against.all else []
    # What the words of a percentage and of its counts tell is told by themselves.
    wrong = [
        _share_differs(sentence, share, manuscript)
        for sentence in manuscript.sentences
        if "%" in sentence.text
        for share in _shares(sentence.text)
        if not share.right
    ]
    places = {(remarked.sentence, remarked.start) for remarked in wrong}
    return [*(r for r in found if (r.sentence, r.start) not in places), *wrong]


def _against_results(manuscript: Manuscript, against: Results) -> list[Remarked]:
    matches, elsewhere = _NumberMatches(against), _StatedElsewhere(manuscript)
    read = list(_read(manuscript, _READ if against.canonical else ("abstract",)))
    found = [
        remarked
        for sentence in read
        for remarked in _by_the_weakest(list(_of_sentence(sentence, matches)), len(quantities_of(sentence)))
    ]
    if not against.canonical:
        return _without_slips(read, found, matches, elsewhere)
    return _with_left_over(read, found, matches, elsewhere)


def _by_the_weakest(found: list[Remarked], stated: int) -> list[Remarked]:
    """Let a number support its sentence only where every number of it has support."""
    verified = [remarked for remarked in found if remarked.remark is Remark.NUMBER_VERIFIED]
    if len(verified) == stated:
        return found
    more = f"; of {stated} numbers of the sentence only {len(verified)} {'is' if len(verified) == 1 else 'are'} so"
    weaker = {"state": SentenceState.NOT_CHECKABLE}
    return [r.model_copy(update={**weaker, "note": r.note + more}) if r in verified else r for r in found]


def _read(manuscript: Manuscript, sections: Collection[str]) -> Iterator[Sentence]:
    """The sentences that are read, without lists of numbers."""
    stated = 0
    for sentence in manuscript.sentences:
        if sentence.section in sections and (count := len(quantities_of(sentence))) <= _MOST_NUMBERS:
            stated += count if sentence.section == "abstract" else 0
            if stated <= _MOST_STATED or sentence.section != "abstract":
                yield sentence


def _with_left_over(
    read: Sequence[Sentence], found: list[Remarked], matches: _NumberMatches, elsewhere: _StatedElsewhere
) -> list[Remarked]:
    against = matches.against
    # A number of the abstract that no result is, and a result that it lacks, differ where the words fit. Where one
    # digit is another, whatever the size of both: 7.003 may be a slip of 0.003.
    stated = {(s.number, q.start): (s, q) for s in read if s.section == "abstract" for q in quantities_of(s)}
    abstract = {sentence.number for sentence, _ in stated.values()}
    there = {r.evidence[0].record for r in found if r.remark is Remark.NUMBER_VERIFIED and r.sentence in abstract}
    left = [(place, result) for place, result in enumerate(against.all) if result.name not in there]
    for at, remarked in enumerate(found):
        if remarked.remark is Remark.NUMBER_DIFFERS and remarked.evidence[0].record in there:
            found[at] = _unknown(*stated[remarked.sentence or 0, remarked.start], against)
    named = []
    for at, remarked in enumerate(found):
        if remarked.remark is Remark.NUMBER_UNKNOWN and left:
            sentence, quantity = stated[remarked.sentence or 0, remarked.start]
            span = (quantity.start, quantity.end)
            likeness = against.likeness(words_about(sentence.text, span))
            near = against.likeness(words_about(sentence.text, span, fading=True))
            comparable, equal = set(matches.comparable(quantity)), matches.equal(quantity)
            named += [
                (place in equal, near[place], at, place, result)
                for place, result in left
                if likeness[place] >= _NAMED
                and (place in equal or against.is_named(result, quantity.unit, sentence.text))
                and place in comparable
                and (_near_enough(quantity, result) or _same_digits(quantity, result))
            ]
    done: set[int] = set()
    used: set[int] = set()
    for same, _, at, place, result in sorted(named, key=lambda n: (not n[0], -n[1])):
        if at not in done and place not in used:
            done.add(at)
            used.add(place)
            sentence, quantity = stated[found[at].sentence or 0, found[at].start]
            found[at] = (_verified if same else _differs)(sentence, quantity, result, against)
    return [_of_others(remarked, stated, against, elsewhere) for remarked in found]


def _of_others(
    remarked: Remarked,
    stated: Mapping[tuple[int, int], tuple[Sentence, WrittenNumber]],
    against: Results,
    elsewhere: _StatedElsewhere,
) -> Remarked:
    # A file that has only some results tells nothing of a number that the text has elsewhere, too.
    if remarked.remark is not Remark.NUMBER_UNKNOWN:
        return remarked
    sentence, quantity = stated[remarked.sentence or 0, remarked.start]
    if sentence.text[quantity.start : quantity.number_end] in elsewhere:
        return _unknown(sentence, quantity, against, "the rest of the text has it, and the file may not have all")
    if _is_share_of_others(quantity, sentence.text, quantities_of(sentence)):
        return _unknown(sentence, quantity, against, "the counts of the sentence make it")
    return remarked


def numbers_of_results(text: str, results: Results) -> list[Span]:
    """Find the numbers of a text that are results, by the words around them."""
    numbers = quantities(text)
    if not numbers:
        return []
    sentence = Sentence(number=1, block=0, start=0, end=len(text), text=text, section="results")
    remarks = _of_sentence(sentence, _NumberMatches(results))
    verified = {r.start for r in remarks if r.remark is Remark.NUMBER_VERIFIED}
    return [(q.start, q.number_end) for q in numbers if q.start in verified]


def _of_sentence(sentence: Sentence, matches: _NumberMatches) -> Iterator[Remarked]:
    stated, against = quantities_of(sentence), matches.against
    # What a text has of its results is named by whole sentences: there, nearness tells little.
    others = _others_results(sentence, stated, against) if against.canonical else [frozenset[int]()] * len(stated)
    equals = _nearest_equals(stated, matches)
    times = Counter(place for own in equals for place in own)
    for quantity, of_others, own in zip(stated, others, equals, strict=True):
        taken = {place for place, count in times.items() if count > (place in own)}
        yield from _of_number(sentence, quantity, own, taken, of_others, matches)


def _nearest_equals(stated: Sequence[WrittenNumber], matches: _NumberMatches) -> list[frozenset[int]]:
    """For each number, the results that it is; one that says 90.5 is no 90, too, where the sentence has both."""
    if not matches.against.canonical:
        return [matches.equal(quantity) for quantity in stated]
    far = [
        {place: abs(abs(matches.against.all[place].value) - abs(quantity.value)) for place in matches.equal(quantity)}
        for quantity in stated
    ]
    nearest = {place: min(own[place] for own in far if place in own) for own in far for place in own}
    return [frozenset(place for place, distance in own.items() if distance <= nearest[place]) for own in far]


def _others_results(sentence: Sentence, stated: Sequence[WrittenNumber], against: Results) -> list[frozenset[int]]:
    """For each number of a sentence, the places of the results whose words stand nearer to another one."""
    near = [against.likeness(words_about(sentence.text, (q.start, q.end), fading=True)) for q in stated]
    nearest = [max(column) for column in zip(*near, strict=True)]
    return [frozenset(i for i, score in enumerate(row) if score < nearest[i]) for row in near]


def _of_number(
    sentence: Sentence,
    quantity: WrittenNumber,
    equals: Collection[int],
    taken: Collection[int],
    others: frozenset[int],
    matches: _NumberMatches,
) -> Iterator[Remarked]:
    against = matches.against
    scores = against.likeness(words_about(sentence.text, (quantity.start, quantity.end)))
    compared = [(place, scores[place], against.all[place]) for place in matches.comparable(quantity)]
    equal = [(score, r) for place, score, r in compared if place in equals]
    likeness = [(score, r) for place, score, r in compared if place not in others]
    best = max((score for score, _ in likeness), default=0.0)
    least = _NAMED if against.canonical else _ALIKE
    # A file of results has the numbers of the abstract, and seldom every other one.
    whole = sentence.section == "abstract"
    if equal:
        score, nearest = max(equal, key=lambda pair: pair[0])
        named = score >= least and score >= 0.8 * best
        # What stands in the results may be about something else; so may what is like it.
        by_itself = quantity.digits >= _SURE_DIGITS and best < least and whole
        if against.canonical and (named or by_itself):
            yield _verified(sentence, quantity, nearest, against)
            return
        supporting = [(score, r) for score, r in equal if _supports(sentence, quantity, r, score)]
        if not against.canonical and supporting:
            yield _verified(sentence, quantity, max(supporting, key=lambda pair: pair[0])[1], against)
            return
    if not whole:
        return
    # What another number of the abstract is equal to (`taken`) is not what this one should have been.
    left = [
        (score, r)
        for place, score, r in compared
        if place not in others
        and place not in taken
        and _near_enough(quantity, r)
        and against.canonical
        and against.is_named(r, quantity.unit, sentence.text)
    ]
    if left:
        score, nearest = max(left, key=lambda pair: pair[0])
        if score >= 0.8 * best:
            yield _differs(sentence, quantity, nearest, against)
            return
    # What is equal when it is rounded, and is called otherwise, is another result.
    same = [(score, r) for score, r in equal if score >= least or _is_exact(quantity, r)]
    if same and against.canonical:
        yield _verified(sentence, quantity, max(same, key=lambda pair: pair[0])[1], against)
    elif against.canonical:
        yield _unknown(sentence, quantity, against)


def _is_exact(quantity: WrittenNumber, result: Result) -> bool:
    return abs(quantity.value) in (abs(result.value), abs(result.value) * (100 if quantity.unit == "%" else 1))
