"""The numbers of a manuscript against its canonical results; without a file of them, against its own results.

A number is compared with the result that the words about it name, not with whatever is equal to it: a wrong percentage
that happens to be that of another group is wrong.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from decimal import Decimal

from kgcheck.grounding.manuscript import Manuscript, Sentence
from kgcheck.grounding.quantities import WrittenNumber, quantities
from kgcheck.grounding.remarks import Check, Remark, Remarked, Repair, SentenceState
from kgcheck.grounding.results import Result, Results, own_results, quantities_of, words_about
from kgcheck.literature.documents import Span
from kgcheck.model import Evidence, Stance, Tier, World

_NAMED = 0.5
"""Least share of the words of a canonical result that stand about a number of its."""

_ALIKE = 0.3
"""Least share of the words about a number that stand about the same one in the results, too."""

_KEEPS = 0.4
"""An equal number counts if what it is named by is at least so much as like as what is most alike."""

_FAR = 5
"""What is so many times another number was not meant to be it."""

_SURE_DIGITS = 3
"""A number of so many digits is hardly equal to a result by accident."""

_COMPANIONS = 2
"""Other numbers of a sentence that another one has, too, from which on both are of the same things."""

_IMPOSSIBLE = re.compile(r"(?<!\w)(?:[pP](?:[- ]value)?|r)\s?[=<>\u2264\u2265]{0,2}\s?$")
"""Before a number over 1: no probability and no correlation is."""

_SLIPS = 2
"""Digits that differ where one is another, or two changed places."""

_MOST_NUMBERS = 40
"""Numbers of a sentence; one with more is a list, in which words do not tell which number is what."""

_READ = ("abstract", "results", "discussion", "conclusion")


def check_numbers(manuscript: Manuscript, results: Results | None = None) -> list[Remarked]:
    """Every number of the abstract, and with canonical results also of results, discussion and conclusion.

    Args:
        manuscript: The text.
        results: Canonical ones; without them, those in the manuscript's own sections of results.

    Returns:
        Remarks: verified within rounding, differing with both values, or unknown, which only a number of the abstract
        is that no canonical result is like.
    """
    against = results or own_results(manuscript)
    if not against.all:
        return []
    sections = _READ if against.canonical else ("abstract",)
    read = [s for s in manuscript.sentences if s.section in sections and len(quantities_of(s)) <= _MOST_NUMBERS]
    found = [remarked for sentence in read for remarked in _of_sentence(sentence, against)]
    return _with_left_over(read, found, against) if against.canonical else _with_companions(manuscript, found, against)


def _with_left_over(read: Sequence[Sentence], found: list[Remarked], against: Results) -> list[Remarked]:
    # A number of the abstract that no result is, and a result that it lacks, differ where the words fit. Where one
    # digit is another, whatever the size of both: 7.003 may be a slip of 0.003.
    stated = {(s.number, q.start): (s, q) for s in read if s.section == "abstract" for q in quantities_of(s)}
    left = [
        (place, result)
        for place, result in enumerate(against.all)
        if not any(
            q.comparator == "=" and _comparable(q, result, against) and _equal(q, result, against)
            for _, q in stated.values()
        )
    ]
    named = []
    for at, remarked in enumerate(found):
        if remarked.remark is Remark.NUMBER_UNKNOWN and left:
            sentence, quantity = stated[remarked.sentence or 0, remarked.start]
            span = (quantity.start, quantity.end)
            likeness = against.likeness(words_about(sentence.text, span))
            near = against.likeness(words_about(sentence.text, span, fading=True))
            named += [
                (near[place], at, place, result)
                for place, result in left
                if likeness[place] >= _NAMED
                and _comparable(quantity, result, against)
                and (_near_enough(quantity, result) or _same_digits(quantity, result))
            ]
    done: set[int] = set()
    used: set[int] = set()
    for _, at, place, result in sorted(named, key=lambda n: -n[0]):
        if at not in done and place not in used:
            done.add(at)
            used.add(place)
            sentence, quantity = stated[found[at].sentence or 0, found[at].start]
            found[at] = _differs(sentence, quantity, result, against)
    return found


def _with_companions(manuscript: Manuscript, found: list[Remarked], against: Results) -> list[Remarked]:
    # A number that the rest of the text has is no slip. One that it lacks is, where a sentence or a row of it has the
    # other numbers of the abstract's sentence, and another one in its place.
    rest = [s for s in manuscript.sentences if s.section != "abstract"]
    values = {(abs(number.value), number.step) for s in rest for number in quantities_of(s)}
    values |= {(abs(number.value), number.step) for number in against.all}
    together: dict[str, list[int]] = {}
    for place, result in enumerate(against.all):
        together.setdefault(result.quote, []).append(place)
    remarked = {(r.sentence, r.start): r for r in found}
    for sentence in manuscript.sentences:
        if sentence.section != "abstract":
            continue
        stated = quantities_of(sentence)
        if len(stated) > _MOST_NUMBERS:
            continue
        equals = _equals(stated, against)
        for quantity in stated:
            key = (sentence.number, quantity.start)
            if (abs(quantity.value), quantity.step) in values:
                if key in remarked and remarked[key].remark is Remark.NUMBER_DIFFERS:
                    del remarked[key]
                continue
            least = (
                1 if _IMPOSSIBLE.search(sentence.text[: quantity.start]) and abs(quantity.value) > 1 else _COMPANIONS
            )
            if other := _in_its_place(quantity, stated, equals, together, against, least):
                remarked[key] = _differs(sentence, quantity, other, against)
    return sorted(remarked.values(), key=lambda r: (r.sentence or 0, r.start))


def _in_its_place(
    quantity: WrittenNumber,
    stated: Sequence[WrittenNumber],
    equals: Sequence[Sequence[int]],
    together: Mapping[str, list[int]],
    against: Results,
    least: int,
) -> Result | None:
    """The number that stands, in what has most of the other numbers of a sentence, where one is not."""
    best: tuple[int, Result | None] = (least - 1, None)
    for places in together.values():
        others = [
            against.all[place] for place in places if against.all[place].unit == quantity.unit and not equals[place]
        ]
        shared = {
            stated[n].value
            for place in places
            for n in equals[place]
            if stated[n] != quantity and stated[n].digits > 1 and stated[n].unit == against.all[place].unit
        }
        if others and len(shared) > best[0]:
            # Any other number may be of something else that the text tells at the same place.
            alike = [r for r in others if _same_digits(quantity, r)]
            best = (len(shared), min(alike, key=lambda r: abs(r.value - quantity.value))) if alike else best
    return best[1]


def _equals(stated: Sequence[WrittenNumber], against: Results) -> list[list[int]]:
    """For each result, the places of the numbers of a sentence that are equal to it: looked at once for all of them."""
    return [[n for n, q in enumerate(stated) if _equal(q, result, against)] for result in against.all]


def _same_digits(quantity: WrittenNumber, result: Result) -> bool:
    """Whether two numbers are written alike but for one digit, or two that changed places."""
    places = max(0, *(-int(step.normalize().as_tuple().exponent) for step in (quantity.step, result.value)))
    one, other = (f"{abs(value):.{places}f}" for value in (quantity.value, result.value))
    return len(one) == len(other) and sum(a != b for a, b in zip(one, other, strict=True)) <= _SLIPS


def numbers_of_results(text: str, results: Results) -> list[Span]:
    """Where numbers of a text are results, by the words about them.

    Args:
        text: A sentence, or a row of a table.
        results: Canonical ones.

    Returns:
        The places of the numbers, without units.
    """
    sentence = Sentence(number=1, block=0, start=0, end=len(text), text=text, section="results")
    verified = {r.start for r in _of_sentence(sentence, results) if r.remark is Remark.NUMBER_VERIFIED}
    return [(q.start, q.bare) for q in quantities(text) if q.start in verified]


def _of_sentence(sentence: Sentence, against: Results) -> Iterator[Remarked]:
    stated = quantities_of(sentence)
    # What a text has of its results is named by whole sentences: there, nearness tells little.
    others = _others_results(sentence, stated, against) if against.canonical else [frozenset[int]()] * len(stated)
    equals = _equals(stated, against) if stated else []
    for quantity, of_others in zip(stated, others, strict=True):
        taken = {place for place, numbers in enumerate(equals) if any(stated[n] != quantity for n in numbers)}
        yield from _of_number(sentence, quantity, taken, of_others, against)


def _others_results(sentence: Sentence, stated: Sequence[WrittenNumber], against: Results) -> list[frozenset[int]]:
    """For each number of a sentence, the places of the results whose words stand nearer to another one."""
    near = [against.likeness(words_about(sentence.text, (q.start, q.end), fading=True)) for q in stated]
    nearest = [max(column) for column in zip(*near, strict=True)]
    return [frozenset(i for i, score in enumerate(row) if score < nearest[i]) for row in near]


def _of_number(
    sentence: Sentence,
    quantity: WrittenNumber,
    taken: Collection[int],
    others: frozenset[int],
    against: Results,
) -> Iterator[Remarked]:
    about = words_about(sentence.text, (quantity.start, quantity.end))
    alike = enumerate(zip(against.likeness(about), against.all, strict=True))
    compared = [(place, score, r) for place, (score, r) in alike if _comparable(quantity, r, against)]
    equal = [(score, r) for _, score, r in compared if _equal(quantity, r, against)]
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
        if named or by_itself or (not against.canonical and score >= _KEEPS * best):
            yield _verified(sentence, quantity, nearest, against)
            return
    if not whole:
        return
    # What another number of the sentence is equal to (`taken`) is not what this one should have been.
    left = [
        (score, r)
        for place, score, r in compared
        if place not in others and place not in taken and score >= least and _near_enough(quantity, r)
    ]
    if left:
        score, nearest = max(left, key=lambda pair: pair[0])
        if score >= 0.8 * best:
            yield _differs(sentence, quantity, nearest, against)
            return
    if equal:
        yield _verified(sentence, quantity, max(equal, key=lambda pair: pair[0])[1], against)
    elif against.canonical:
        yield _remarked(
            sentence, quantity, Remark.NUMBER_UNKNOWN, SentenceState.UNSUPPORTED, None, against,
            f"no result in {against.source} is {_shown(sentence, quantity)}",
        )  # fmt: skip


def _verified(sentence: Sentence, quantity: WrittenNumber, result: Result, against: Results) -> Remarked:
    state = SentenceState.VERIFIED if against.canonical else SentenceState.SUPPORTED
    note = f"{_shown(sentence, quantity)} is {_place_of(result, against)}: {_valued(result)}"
    return _remarked(sentence, quantity, Remark.NUMBER_VERIFIED, state, result, against, note)


def _differs(sentence: Sentence, quantity: WrittenNumber, result: Result, against: Results) -> Remarked:
    note = f"the text has {_shown(sentence, quantity)} here, and {_valued(result)} as {_place_of(result, against)}"
    # Two numbers of one text may be of two things that are called alike: only canonical results contradict.
    state = SentenceState.CONTRADICTED if against.canonical else SentenceState.UNSUPPORTED
    made = _remarked(sentence, quantity, Remark.NUMBER_DIFFERS, state, result, against, note)
    if not against.canonical or quantity.comparator != "=":
        return made
    right = result.value * 100 if quantity.unit == "%" and result.unit != "%" else result.value
    places = max(0, -int(quantity.step.as_tuple().exponent))
    repair = Repair(start=quantity.start, end=quantity.bare, to=f"{right:,.{places}f}")
    plain = sentence.text[quantity.start : quantity.bare].replace(",", "").lstrip("-")
    # A number with a power of ten or a scale is left to its author.
    return made.model_copy(update={"repair": repair}) if re.fullmatch(r"\d*\.?\d+", plain) else made


def _remarked(
    sentence: Sentence,
    quantity: WrittenNumber,
    remark: Remark,
    state: SentenceState,
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
        value=_valued(result) if result else None,
        quote=result.quote or None if result else None,
    )
    return Remarked(
        remark=remark,
        check=Check.NUMBER,
        state=state,
        sentence=sentence.number,
        start=quantity.start,
        end=quantity.end,
        note=note,
        stated=_shown(sentence, quantity),
        found=_valued(result) if result else "",
        evidence=(evidence,),
    )


def _comparable(quantity: WrittenNumber, result: Result, against: Results) -> bool:
    """Whether both may be of one thing, by their units."""
    if against.canonical:
        # A result need not name its unit; a share may be written in per cent.
        return not result.unit or quantity.unit == result.unit
    if quantity.unit != result.unit:
        return False
    return _near_enough(quantity, result) or _equal(quantity, result, against)


def _near_enough(quantity: WrittenNumber, result: Result) -> bool:
    """Whether one of both may have been meant to be the other."""
    values = [abs(result.value), *([abs(result.value) * 100] if quantity.unit == "%" and result.unit != "%" else [])]
    return any(max(v, abs(quantity.value)) <= _FAR * min(v, abs(quantity.value)) for v in values)


def _equal(quantity: WrittenNumber, result: Result, against: Results) -> bool:
    """Whether a number is a result, as it is rounded, or is truly above or below it."""
    values = [result.value, abs(result.value)]
    if quantity.unit == "%" and result.unit != "%" and against.canonical and abs(result.value) <= 1:
        values += [value * 100 for value in values]
    match quantity.comparator:
        case "<" | "≤":
            return any(v <= quantity.value for v in values) and _near(values, quantity)
        case ">" | "≥":
            return any(v >= quantity.value for v in values) and _near(values, quantity)
    # A number that is written with fewer digits is another's rounding; 0 is no rounding of 0.007.
    coarse = not against.canonical and result.value != 0 and abs(result.value) >= 10 * result.step
    step = max(quantity.step, result.step) if coarse else quantity.step
    return any(abs(v - quantity.value) <= max(step, abs(v) / 10 if quantity.about else 0) / 2 for v in values)


def _near(values: Collection[Decimal], quantity: WrittenNumber) -> bool:
    """Whether a bound says something of a value: p < 0.001 of 0.0003, and not of 0.9 or 40."""
    return any(abs(v) <= 10 * abs(quantity.value) for v in values) or quantity.value == 0


def _shown(sentence: Sentence, quantity: WrittenNumber) -> str:
    sign = "" if quantity.comparator == "=" else f"{quantity.comparator} "
    return sign + sentence.text[quantity.start : quantity.end]


def _place_of(result: Result, against: Results) -> str:
    return f"{result.name} of {against.source}" if against.canonical else f"a number of {result.name}"


def _valued(result: Result | None) -> str:
    return f"{result.value:f} {result.unit}".strip() if result else ""
