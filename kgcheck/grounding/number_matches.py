"""Which results a number may be, by value and unit: found by bisection, not by comparing it with each."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from decimal import Decimal
from functools import lru_cache
from itertools import chain

from kgcheck.grounding.quantities import WrittenNumber
from kgcheck.grounding.results import Result, Results

_FAR = 5
"""What is so many times another number was not meant to be it."""

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
"""Of digits that changed places."""

_KEPT = 128
"""Numbers whose results are kept, and pairs of numbers: those of some sentences."""


class NumberMatches:
    """The results that numbers are equal to, or may have been meant to be."""

    def __init__(self, against: Results) -> None:
        self._against = against
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
        size, results = abs(quantity.value), self._against.all
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
        equal = (places for n, places in found.items() if _is_equal(quantity, results[n], self._against.canonical))
        return frozenset(chain.from_iterable(equal))

    def _found_comparable(self, quantity: WrittenNumber) -> tuple[int, ...]:
        results = self._against.all
        if self._against.canonical:
            # A result need not name its unit; a share may be written in per cent.
            return tuple(n for n, result in enumerate(results) if not result.unit or quantity.unit == result.unit)
        size = abs(quantity.value)
        near = {*chain.from_iterable(self._between(size / _FAR, size * _FAR)), *self.equal(quantity)}
        return tuple(sorted(place for place in near if results[place].unit == quantity.unit))

    def _between(self, low: Decimal, high: Decimal) -> Iterator[Sequence[int]]:
        yield from self._order[bisect_left(self._sizes, low) : bisect_right(self._sizes, high)]


def near_enough(quantity: WrittenNumber, result: Result) -> bool:
    """Whether one of both may have been meant to be the other."""
    values = [abs(result.value), *([abs(result.value) * 100] if quantity.unit == "%" and result.unit != "%" else [])]
    return any(max(v, abs(quantity.value)) <= _FAR * min(v, abs(quantity.value)) for v in values)


def same_digits(quantity: WrittenNumber, result: Result) -> bool:
    """Whether two numbers are written alike but for one digit, or two that changed places."""
    return _same_digits(quantity.value, quantity.step, result.value)


@lru_cache(_KEPT)
def _same_digits(stated: Decimal, step: Decimal, found: Decimal) -> bool:
    places = max(0, *(-int(size.normalize().as_tuple().exponent) for size in (step, found)))
    one, other = (f"{abs(value):.{places}f}" for value in (stated, found))
    if len(one) != len(other):
        return False
    changed = [(a, b) for a, b in zip(one, other, strict=True) if a != b]
    return len(changed) == 1 or (len(changed) == _PLACES and changed[0] == changed[1][::-1])


def _value_alone(quantity: WrittenNumber) -> WrittenNumber:
    """The number without its place: the same one is looked up once."""
    return quantity._replace(start=0, bare=0, end=0)


def _is_equal(quantity: WrittenNumber, result: Result, canonical: bool) -> bool:
    # A text that writes 3.000 has not 3 in mind; a file of results drops such zeros.
    if quantity.comparator == "=" and not canonical and result.step >= _MORE_DIGITS * quantity.step:
        return False
    values = [result.value] if result.value >= 0 else [result.value, -result.value]
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
    return any(abs(v - quantity.value) <= max(step, abs(v) / 10 if quantity.about else 0) / 2 for v in values)


def _near(values: Collection[Decimal], quantity: WrittenNumber) -> bool:
    size = abs(quantity.value)
    times = _BOUNDED if size < 1 else _BOUNDED_COUNT
    return any(abs(v) <= times * size and (size < 1 or size <= times * abs(v)) for v in values) or not size
