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
from typing import NamedTuple

from kgcheck.grounding.manuscript import Manuscript, Sentence
from kgcheck.grounding.quantities import WrittenNumber, with_points
from kgcheck.grounding.remarks import Remark, Remarked, Repair, SentenceState
from kgcheck.grounding.results import Result, Results, counted_thing, own_results, quantities_of, words_about
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
_DIGITS = re.compile(r"\d(?:[\d.,]*\d)?")
_TABLE = re.compile(r"\bTables?\s(\d{1,3})\b")
_PLAIN = re.compile(r"\d++(?:\.\d++)?|\.\d++")
# Before a number over 1: no probability and no correlation is.
_IMPOSSIBLE = re.compile(r"(?<!\w)(?:[pP](?:[- ]value)?|r)\s?[=<>\u2264\u2265]{0,2}\s?$")

_FAR = 5  # greatest ratio of two numbers of which one may have been meant to be the other
_BOUNDED = 10  # a bound says something of what is at most so many times it: p < 0.001 of 0.0003, and not of 0.9 or 40
_BOUNDED_COUNT = Decimal("1.5")  # and a bound from 1 on, of what is about as much: more than 1,300 of 1,367
_DIGITS_OF_A_LEVEL = 2  # digits that a bound below 1 has, as 0.001 and 0.05
_MORE_DIGITS = 100  # times that the last digit of a result is more than that of a number which is not it
_ROUNDING = Decimal("0.06")  # over the greatest share by which equal numbers differ that is not half a step
_PLACES = 2  # number of digits that changed places
_KEPT = 128  # numbers whose results are kept, and pairs of numbers: those of some sentences
_COMPANIONS = 2  # other numbers of a sentence that another one has, too, from which on both are of the same things
_ALIKE_BESIDE = 0.3  # share of the words of two numbers that are the same, from which on one companion is enough
_ALIKE_ALONE = 0.5  # and none is needed
_NAMED = 0.5  # least share of the words of a canonical result that stand about a number of its
_ALIKE = 0.3  # least share of the words about a number that stand about the same one in the results, too
_TELLING = 2  # significant digits from which on a number is hardly another one's by accident
_SURE_DIGITS = 3  # a number of so many digits is hardly equal to a result by accident
_MOST_NUMBERS = 40  # numbers of a sentence; one with more is a list, in which words do not tell which is what
_MOST_STATED = 300  # numbers of an abstract; the sentences after them are part of a list, too

_READ = ("abstract", "results", "discussion", "conclusion")
_STANCES = {Remark.NUMBER_VERIFIED: Stance.SUPPORTS, Remark.NUMBER_DIFFERS: Stance.CONTRADICTS}
# Two numbers of one text may be of two things that are called alike: only canonical results contradict.
_STATES_OF_OWN = {
    Remark.NUMBER_VERIFIED: SentenceState.SUPPORTED,
    Remark.NUMBER_DIFFERS: SentenceState.UNSUPPORTED,
    Remark.NUMBER_UNKNOWN: SentenceState.UNSUPPORTED,
}


def check_numbers(manuscript: Manuscript, results: Results | None = None) -> list[Remarked]:
    """Numbers of the abstract; with canonical results also of results, discussion and conclusion, and percentages."""
    against = results or own_results(manuscript)
    found = _NumberCheck(against).remarks(manuscript) if against.all else []
    # What the words of a percentage and of its counts tell is told by themselves.
    wrong = [
        Remarked(
            remark=Remark.NUMBER_DIFFERS, sentence=sentence.number, start=start, end=end, stated=f"{percent}%",
            note=f"{counts} is {right}, and the sentence has {percent}%", found=right,
            evidence=(manuscript.own_evidence(sentence, f"{counts} is {right}"),),
        )
        for sentence in manuscript.sentences
        if "%" in sentence.text
        for start, end, percent, counts, right in _wrong_shares(sentence.text)
    ]  # fmt: skip
    places = {(remarked.sentence, remarked.start) for remarked in wrong}
    return [*(r for r in found if (r.sentence, r.start) not in places), *wrong]


def _wrong_shares(text: str) -> Iterator[tuple[int, int, Decimal, str, str]]:
    """Percentages that are not those of the counts beside them: place, percentage, the counts, and what is right.

    >>> [(str(percent), *more) for _, _, percent, *more in _wrong_shares("In 12 of 48 (25%), and 7/9 (66%) of others")]
    [('66', '7 of 9', '77.8%')]
    """
    text = with_points(text)
    for form in _FORMS:
        for match in form.finditer(text):
            part, whole = (_count(match[name]) for name in ("part", "whole"))
            percent = Decimal(match["percent"])
            digits = -int(percent.as_tuple().exponent)
            # Rounded or cut off, it is right.
            if whole and part <= whole and abs(_HUNDRED * part / whole - percent) >= Decimal(1).scaleb(-digits):
                right = f"{100 * part / whole:.{max(1, digits)}f}%"
                yield *match.span("percent"), percent, f"{part} of {whole}", right


def _count(written: str) -> int:
    return _WORDS.get(written.casefold()) or int(written.replace(",", ""))


def numbers_of_results(text: str, results: Results) -> list[Span]:
    """Find the numbers of a text that are results, by the words around them."""
    sentence = Sentence(number=1, block=0, start=0, end=len(text), text=text, section="results")
    found = _NumberCheck(results).of_sentence(sentence)
    return [(j.number.start, j.number.number_end) for j in found if j.remark is Remark.NUMBER_VERIFIED]


class _Judged(NamedTuple):
    """A number with what is found of it; ``doubt`` says why that tells nothing."""

    sentence: Sentence
    number: WrittenNumber
    remark: Remark
    result: Result | None = None
    doubt: str = ""


class _NumberCheck:
    """Check against some results."""

    def __init__(self, against: Results) -> None:
        self._against = against
        # Those that are alike are looked at once: a text has its 10 and its 0.05 a hundred times.
        alike: dict[tuple[Decimal, Decimal, str], list[int]] = defaultdict(list)
        for place, result in enumerate(against.all):
            alike[result.value, result.step, result.unit].append(place)
        self._order = sorted(alike.values(), key=lambda places: abs(against.all[places[0]].value))
        self._sizes = [abs(against.all[places[0]].value) for places in self._order]
        self._equal_to = lru_cache(_KEPT)(self._found_equal)

    def remarks(self, manuscript: Manuscript) -> list[Remarked]:
        """Remarks about the numbers of a manuscript."""
        against = self._against
        elsewhere = _StatedElsewhere(manuscript)
        sentences = list(_read(manuscript, _READ if against.canonical else ("abstract",)))
        found = [judged for sentence in sentences for judged in self._by_the_weakest(sentence)]
        if against.canonical:
            found = [_of_others(judged, elsewhere) for judged in self._with_left_over(found)]
        else:
            slips = {(j.sentence.number, j.number.start): j for j in found}
            slips |= {(j.sentence.number, j.number.start): j for s in sentences for j in self._slips(s, elsewhere)}
            found = [slips[place] for place in sorted(slips)]
        return [self._remarked(judged) for judged in found]

    def _remarked(self, judged: _Judged) -> Remarked:
        sentence, number, remark, result, doubt = judged
        against = self._against
        shown = sentence.text[number.start : number.end]
        shown = shown if number.comparator == "=" else f"{number.comparator} {shown}"
        found = f"{result.value:f} {result.unit}".strip() if result else ""
        name = result.name if result else ""
        place = f"{name} of {against.source}" if against.canonical else f"a number of {name}"
        note = f"the rest of the text has no {shown}"
        if remark is Remark.NUMBER_VERIFIED:
            note = f"{shown} is {place}: {found}"
        elif remark is Remark.NUMBER_DIFFERS:
            note = f"the text has {shown} here, and {found} as {place}"
        elif against.canonical:
            note = f"no result in {against.source} is {shown}"
        state = remark.state if against.canonical else _STATES_OF_OWN[remark]
        evidence = Evidence(
            source=against.source, release=against.release, record=name or "all", retrieved_at=against.at,
            stance=_STANCES.get(remark, Stance.SILENT), world=World.CLOSED, tier=Tier.OWNER, value=found or None,
            quote=(result and result.quote) or None,
        )  # fmt: skip
        return Remarked(
            remark=remark, state=SentenceState.NOT_CHECKABLE if doubt else state, sentence=sentence.number,
            start=number.start, end=number.end, note=f"{note}; {doubt}" if doubt else note, stated=shown, found=found,
            evidence=(evidence,), repair=self._repair(judged),
        )  # fmt: skip

    def _repair(self, judged: _Judged) -> Repair | None:
        """The number of a canonical result; one with a power of ten or a scale is left to its author."""
        sentence, number, remark, result, _ = judged
        plain = sentence.text[number.start : number.number_end].replace(",", "").lstrip("-")
        is_known = result and self._against.canonical and remark is Remark.NUMBER_DIFFERS
        if not (result and is_known and number.comparator == "=" and _PLAIN.fullmatch(plain)):
            return None
        right = result.value * 100 if number.unit == "%" and result.unit != "%" else result.value
        places = max(0, -int(number.step.as_tuple().exponent))
        return Repair(start=number.start, end=number.number_end, to=f"{right:,.{places}f}")

    def _by_the_weakest(self, sentence: Sentence) -> list[_Judged]:
        """Let a number support its sentence only where every number of it has support."""
        found = list(self.of_sentence(sentence))
        stated, right = len(quantities_of(sentence)), sum(j.remark is Remark.NUMBER_VERIFIED for j in found)
        if right == stated:
            return found
        doubt = f"of {stated} numbers of the sentence only {right} {'is' if right == 1 else 'are'} so"
        return [j._replace(doubt=doubt) if j.remark is Remark.NUMBER_VERIFIED else j for j in found]

    # What a number is equal to

    def _equal(self, number: WrittenNumber) -> frozenset[int]:
        """The places of the results that a number is, as it is rounded, or that it is truly above or below."""
        # Without its place: the same number is looked up once.
        return self._equal_to(number._replace(start=0, number_end=0, end=0))

    def _found_equal(self, number: WrittenNumber) -> frozenset[int]:
        size, results = abs(number.value), self._against.all
        if number.comparator == "=":
            rounding = max(size * _ROUNDING, number.step / 2)
            bounds = [(size - rounding, size + rounding)]
        elif size < 1:
            bounds = [(Decimal(0), _BOUNDED * size if size else Decimal("Infinity"))]
        else:
            bounds = [(size / 2, size * 2)]
        if number.unit == "%":
            bounds.append((bounds[0][0] / 100, bounds[0][1] / 100))
        within = (slice(bisect_left(self._sizes, low), bisect_right(self._sizes, high)) for low, high in bounds)
        found = {places[0]: places for part in within for places in self._order[part]}
        return frozenset(n for first, places in found.items() if self._is_equal(number, results[first]) for n in places)

    def _is_equal(self, number: WrittenNumber, result: Result) -> bool:
        canonical = self._against.canonical
        # A text that writes 3.000 has not 3 in mind; a file of results drops such zeros.
        if number.comparator == "=" and not canonical and result.step >= _MORE_DIGITS * number.step:
            return False
        # A file says -5.3, and the text that something fell by 5.3; a text that has both means two things.
        values = [result.value, -result.value] if canonical and result.value < 0 else [result.value]
        if number.unit == "%" and result.unit != "%" and canonical and abs(result.value) <= 1:
            values += [value * 100 for value in values]
        match number.comparator:
            # A level is a round number: 0.0601 is none, and must be the result itself.
            case "<" | "≤" if number.value >= 1 or number.digits <= _DIGITS_OF_A_LEVEL:
                return any(v <= number.value for v in values) and _is_bound(values, number)
            case ">" | "≥":
                return any(v >= number.value for v in values) and _is_bound(values, number)
        # A number that is written with fewer digits is another's rounding; 0 is no rounding of 0.007.
        coarse = not canonical and result.value != 0 and abs(result.value) >= 10 * result.step
        step = max(number.step, result.step) if coarse else number.step
        return any(abs(v - number.value) <= max(step, abs(v) / 10 if number.approximate else 0) / 2 for v in values)

    def of_sentence(self, sentence: Sentence) -> Iterator[_Judged]:
        """Judge each number of a sentence by itself."""
        if not self._against.canonical:
            yield from self._supported(sentence)
            return
        stated = quantities_of(sentence)
        results = self._against.all
        # What nearer words name, and what is nearer in size, is another one's: 90.5 is no 90 where both are there.
        near = [self._likeness(sentence, number, fading=True) for number in stated]
        nearest = [max(column) for column in zip(*near, strict=True)]
        far = [{n: abs(abs(results[n].value) - abs(q.value)) for n in self._equal(q)} for q in stated]
        least: dict[int, Decimal] = {}
        for own in far:
            for place, distance in own.items():
                least[place] = min(distance, least.get(place, distance))
        equals = [{place for place, distance in own.items() if distance <= least[place]} for own in far]
        times = Counter(place for own in equals for place in own)
        for number, row, own_places in zip(stated, near, equals, strict=True):
            taken = {place for place, count in times.items() if count > (place in own_places)}
            others = {place for place, score in enumerate(row) if score < nearest[place]}
            if judged := self._judge(sentence, number, own_places, taken, others):
                yield judged

    def _likeness(self, sentence: Sentence, number: WrittenNumber, *, fading: bool = False) -> list[float]:
        return self._against.likeness(words_about(sentence.text, (number.start, number.end), fading=fading))

    def _supported(self, sentence: Sentence) -> Iterator[_Judged]:
        """The numbers that a text's own ones support: by sign, value as it is stated, unit, and what they are of."""
        for number in quantities_of(sentence):
            # A lone digit, as of 5 or 0.05, is equal to many, and nothing supports it.
            if number.digits < _TELLING or number.comparator != "=" or not (equal := self._same(number)):
                continue
            counted = "" if number.unit or number.step < 1 else counted_thing(sentence.text, number.end)
            scores, results = self._likeness(sentence, number), self._against.all
            fit = [
                place
                for place in sorted(equal)
                if scores[place] >= _ALIKE
                and abs(results[place].value - number.value) <= number.step / 2
                and (not counted or counted in results[place].words)
            ]
            if fit:
                best = max(fit, key=scores.__getitem__)
                yield _Judged(sentence, number, Remark.NUMBER_VERIFIED, results[best])

    def _same(self, number: WrittenNumber) -> list[int]:
        """The places of what a number is equal to and has the unit of."""
        return [place for place in self._equal(number) if self._against.all[place].unit == number.unit]

    # Against canonical results

    def _judge(
        self,
        sentence: Sentence,
        number: WrittenNumber,
        equals: Collection[int],
        taken: Collection[int],
        others: Collection[int],
    ) -> _Judged | None:
        against, scores = self._against, self._likeness(sentence, number)
        # A result need not name its unit; a share may be written in per cent.
        compared = [(scores[n], n, r) for n, r in enumerate(against.all) if r.unit in ("", number.unit)]
        equal = [(score, r) for score, place, r in compared if place in equals]
        best = max((score for score, place, _ in compared if place not in others), default=0.0)
        # A file of results has the numbers of the abstract, and seldom every other one.
        whole = sentence.section == "abstract"
        if equal:
            score, nearest = max(equal, key=lambda pair: pair[0])
            # What stands in the results may be about something else; so may what is like it.
            by_itself = number.digits >= _SURE_DIGITS and best < _NAMED and whole
            if (score >= _NAMED and score >= 0.8 * best) or by_itself:
                return _Judged(sentence, number, Remark.NUMBER_VERIFIED, nearest)
        if not whole:
            return None
        # What another number of the abstract is equal to (`taken`) is not what this one should have been.
        left = [
            (score, r)
            for score, place, r in compared
            if place not in others
            and place not in taken
            and _is_near(number, r)
            and against.is_named(r, number.unit, sentence.text)
        ]
        if left:
            score, nearest = max(left, key=lambda pair: pair[0])
            if score >= 0.8 * best:
                return _Judged(sentence, number, Remark.NUMBER_DIFFERS, nearest)
        # What is equal when it is rounded, and is called otherwise, is another result.
        size, times = abs(number.value), 100 if number.unit == "%" else 1
        same = [(s, r) for s, r in equal if s >= _NAMED or size in (abs(r.value), abs(r.value) * times)]
        if not same:
            return _Judged(sentence, number, Remark.NUMBER_UNKNOWN)
        return _Judged(sentence, number, Remark.NUMBER_VERIFIED, max(same, key=lambda pair: pair[0])[1])

    def _with_left_over(self, found: list[_Judged]) -> list[_Judged]:
        """A number of the abstract that no result is, and a result that it lacks, differ where the words fit.

        Where one digit is another, whatever the size of both: 7.003 may be a slip of 0.003.
        """
        against = self._against
        right = (j for j in found if j.remark is Remark.NUMBER_VERIFIED and j.sentence.section == "abstract")
        there = {j.result.name for j in right if j.result}
        left = [(place, result) for place, result in enumerate(against.all) if result.name not in there]
        named = []
        for at, judged in enumerate(found):
            if judged.remark is Remark.NUMBER_DIFFERS and judged.result and judged.result.name in there:
                judged = found[at] = judged._replace(remark=Remark.NUMBER_UNKNOWN, result=None)
            if judged.remark is Remark.NUMBER_UNKNOWN and left:
                sentence, number = judged.sentence, judged.number
                likeness, near = (self._likeness(sentence, number, fading=fading) for fading in (False, True))
                equal = self._equal(number)
                named += [
                    (place not in equal, -near[place], at, place, result)
                    for place, result in left
                    if likeness[place] >= _NAMED
                    and (place in equal or against.is_named(result, number.unit, sentence.text))
                    and result.unit in ("", number.unit)
                    and (_is_near(number, result) or _same_digits(number.value, number.step, result.value))
                ]
        done: set[int] = set()
        used: set[int] = set()
        for differs, _, at, place, result in sorted(named, key=lambda n: n[:2]):
            if at not in done and place not in used:
                done.add(at)
                used.add(place)
                remark = Remark.NUMBER_DIFFERS if differs else Remark.NUMBER_VERIFIED
                found[at] = found[at]._replace(remark=remark, result=result)
        return found

    # Against the text's own

    def _slips(self, sentence: Sentence, elsewhere: "_StatedElsewhere") -> Iterator[_Judged]:
        """Judge the numbers of an abstract's sentence that the rest of the text lacks.

        Where a sentence or a row of it has the other numbers of this sentence, or its words, and another number in its
        place, that one is named.
        """
        stated = quantities_of(sentence)
        taken = {place for number in stated for place in self._equal(number)}
        # By sentence or row of the results, the values of this sentence that it has, and where they are stated here.
        company: dict[str, dict[Decimal, set[int]]] = {}
        for number in stated:
            for place in self._same(number) if number.digits > 1 else ():
                values = company.setdefault(self._against.all[place].quote, {})
                values.setdefault(number.value, set()).add(number.start)
        for number in stated:
            before = sentence.text[: number.start]
            impossible = number.value > 1 and not number.unit and _IMPOSSIBLE.search(before)
            if (not impossible and elsewhere.has(sentence, number)) or self._same(number):
                continue
            shared = {quote: sum(bool(at - {number.start}) for at in v.values()) for quote, v in company.items()}
            if other := self._in_its_place(sentence, number, shared, taken, sure=not elsewhere.lacks):
                yield _Judged(sentence, number, Remark.NUMBER_DIFFERS, other)
            elif not _is_share_of_others(number, sentence.text, stated):
                yield _Judged(sentence, number, Remark.NUMBER_UNKNOWN, doubt=elsewhere.lacks)

    def _in_its_place(
        self,
        sentence: Sentence,
        number: WrittenNumber,
        shared_by: Mapping[str, int],
        taken: Collection[int],
        *,
        sure: bool,
    ) -> Result | None:
        """The number that stands where one does not, among the others of its sentence or among its words."""
        most, best = 0.0, None
        for place, (alike, result) in enumerate(zip(self._likeness(sentence, number), self._against.all, strict=True)):
            shared = shared_by.get(result.quote, 0)
            # What may stand where it could not be read is no slip for the sake of one companion.
            beside = shared >= _COMPANIONS or (sure and shared and alike >= _ALIKE_BESIDE)
            if not (beside or alike >= _ALIKE_ALONE) or shared + alike <= most:
                continue
            # Any other number may be of something else that the text tells at the same place.
            is_slip = _same_digits(number.value, number.step, result.value)
            if is_slip and result.unit == number.unit and place not in taken:
                most, best = shared + alike, result
        return best


def _is_bound(values: Collection[Decimal], number: WrittenNumber) -> bool:
    size = abs(number.value)
    times = _BOUNDED if size < 1 else _BOUNDED_COUNT
    return any(abs(v) <= times * size and (size < 1 or size <= times * abs(v)) for v in values) or not size


def _is_near(number: WrittenNumber, result: Result) -> bool:
    """Tell whether one of two numbers may have been meant to be the other."""
    values = [abs(result.value), *([abs(result.value) * 100] if number.unit == "%" and result.unit != "%" else [])]
    return any(max(v, abs(number.value)) <= _FAR * min(v, abs(number.value)) for v in values)


@lru_cache(_KEPT)
def _same_digits(stated: Decimal, step: Decimal, found: Decimal) -> bool:
    """Tell whether two numbers are written alike but for one digit, or two that changed places."""
    places = max(0, *(-int(size.normalize().as_tuple().exponent) for size in (step, found)))
    one, other = (f"{abs(value):.{places}f}" for value in (stated, found))
    if len(one) != len(other):
        return False
    changed = [(a, b) for a, b in zip(one, other, strict=True) if a != b]
    return len(changed) == 1 or (len(changed) == _PLACES and changed[0] == changed[1][::-1])


def _is_share_of_others(number: WrittenNumber, text: str, stated: Sequence[WrittenNumber]) -> bool:
    """Tell whether a percentage is that of two counts of its sentence, wherever they stand."""
    if number.unit != "%":
        return False
    counts = {int(q.value) for q in stated if not q.unit and q.value > 0 and q.value == q.value.to_integral_value()}
    counts |= {_WORDS[found[0].casefold()] for found in _WORD.finditer(text)}
    half = number.step / 2
    return any(abs(_HUNDRED * a / b - number.value) <= half for a in counts for b in counts if a < b)


class _StatedElsewhere:
    """The numbers of a manuscript outside of its abstract."""

    def __init__(self, manuscript: Manuscript) -> None:
        texts = [block.text for block in manuscript.blocks if block.section != "abstract"]
        for table in manuscript.tables:
            texts += [table.caption, *(cell for row in table.rows for cell in row)]
        # As it is written: 0.50 is no 0.5, and the digits of a name may be a number of the abstract.
        self._written = {found[0].replace(",", "") for text in texts for found in _DIGITS.finditer(with_points(text))}
        named = {number for text in texts for number in _TABLE.findall(text)}
        read = sum(bool(table.rows) for table in manuscript.tables)
        # Why a number that was not found may stand there all the same, as in a table that is an image.
        self.lacks = "not all of its tables could be read" if len(named) > read else ""

    def has(self, sentence: Sentence, number: WrittenNumber) -> bool:
        found = _DIGITS.search(with_points(sentence.text[number.start : number.number_end]))
        return found is not None and found[0].replace(",", "") in self._written


def _of_others(judged: _Judged, elsewhere: _StatedElsewhere) -> _Judged:
    """A file that has only some results tells nothing of a number that the text has elsewhere, too."""
    sentence, number = judged.sentence, judged.number
    if judged.remark is not Remark.NUMBER_UNKNOWN:
        return judged
    if elsewhere.has(sentence, number):
        return judged._replace(doubt="the rest of the text has it, and the file may not have all")
    if _is_share_of_others(number, sentence.text, quantities_of(sentence)):
        return judged._replace(doubt="the counts of the sentence make it")
    return judged


def _read(manuscript: Manuscript, sections: Collection[str]) -> Iterator[Sentence]:
    """The sentences that are read, without lists of numbers."""
    stated = 0
    for sentence in manuscript.sentences:
        if sentence.section in sections and (count := len(quantities_of(sentence))) <= _MOST_NUMBERS:
            stated += count if sentence.section == "abstract" else 0
            if stated <= _MOST_STATED or sentence.section != "abstract":
                yield sentence
