"""The numbers of a manuscript against its canonical results; without a file of them, against its own results.

A number is compared with the result that the words about it name, not with whatever is equal to it: a wrong percentage
that happens to be that of another group is wrong.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from decimal import Decimal

from kgcheck.grounding.manuscript import Manuscript, Sentence
from kgcheck.grounding.number_matches import NumberMatches, near_enough, same_digits
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

_SURE_DIGITS = 3
"""A number of so many digits is hardly equal to a result by accident."""

_COMPANIONS = 2
"""Other numbers of a sentence that another one has, too, from which on both are of the same things."""

_IMPOSSIBLE = re.compile(r"(?<!\w)(?:[pP](?:[- ]value)?|r)\s?[=<>\u2264\u2265]{0,2}\s?$")
"""Before a number over 1: no probability and no correlation is."""

_MOST_NUMBERS = 40
"""Numbers of a sentence; one with more is a list, in which words do not tell which number is what."""

_MOST_STATED = 300
"""Numbers of an abstract; the sentences after them are part of a list, too."""

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
    read = list(_read(manuscript, sections))
    matches = NumberMatches(against)
    found = [remarked for sentence in read for remarked in _of_sentence(sentence, against, matches)]
    if against.canonical:
        return _with_left_over(read, found, against, matches)
    return _with_companions(manuscript, read, found, against, matches)


def _read(manuscript: Manuscript, sections: Collection[str]) -> Iterator[Sentence]:
    """The sentences that are read, without lists of numbers."""
    stated = 0
    for sentence in manuscript.sentences:
        if sentence.section in sections and (count := len(quantities_of(sentence))) <= _MOST_NUMBERS:
            stated += count if sentence.section == "abstract" else 0
            if stated <= _MOST_STATED or sentence.section != "abstract":
                yield sentence


def _with_left_over(
    read: Sequence[Sentence], found: list[Remarked], against: Results, matches: NumberMatches
) -> list[Remarked]:
    # A number of the abstract that no result is, and a result that it lacks, differ where the words fit. Where one
    # digit is another, whatever the size of both: 7.003 may be a slip of 0.003.
    stated = {(s.number, q.start): (s, q) for s in read if s.section == "abstract" for q in quantities_of(s)}
    exact = [q for _, q in stated.values() if q.comparator == "="]
    there = {place for q in exact for place in matches.equal(q).intersection(matches.comparable(q))}
    left = [(place, result) for place, result in enumerate(against.all) if place not in there]
    named = []
    for at, remarked in enumerate(found):
        if remarked.remark is Remark.NUMBER_UNKNOWN and left:
            sentence, quantity = stated[remarked.sentence or 0, remarked.start]
            span = (quantity.start, quantity.end)
            likeness = against.likeness(words_about(sentence.text, span))
            near = against.likeness(words_about(sentence.text, span, fading=True))
            comparable = set(matches.comparable(quantity))
            named += [
                (near[place], at, place, result)
                for place, result in left
                if likeness[place] >= _NAMED
                and place in comparable
                and (near_enough(quantity, result) or same_digits(quantity, result))
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


def _with_companions(
    manuscript: Manuscript,
    read: Sequence[Sentence],
    found: list[Remarked],
    against: Results,
    matches: NumberMatches,
) -> list[Remarked]:
    # A number that the rest of the text has is no slip. One that it lacks is, where a sentence or a row of it has the
    # other numbers of the abstract's sentence, and another one in its place.
    rest = [s for s in manuscript.sentences if s.section != "abstract"]
    values = {(abs(number.value), number.step) for s in rest for number in quantities_of(s)}
    values |= {(abs(number.value), number.step) for number in against.all}
    together: dict[str, list[int]] = {}
    for place, result in enumerate(against.all):
        together.setdefault(result.quote, []).append(place)
    remarked = {(r.sentence, r.start): r for r in found}
    for sentence in read:
        stated = quantities_of(sentence)
        taken = {place for quantity in stated for place in matches.equal(quantity)}
        shared = _company(stated, against, matches)
        company = {quote: shared[quote] for quote in sorted(shared, key=lambda quote: together[quote][0])}
        for quantity in stated:
            key = (sentence.number, quantity.start)
            if (abs(quantity.value), quantity.step) in values:
                if key in remarked and remarked[key].remark is Remark.NUMBER_DIFFERS:
                    del remarked[key]
                continue
            least = (
                1 if _IMPOSSIBLE.search(sentence.text[: quantity.start]) and abs(quantity.value) > 1 else _COMPANIONS
            )
            if other := _in_its_place(quantity, company, taken, together, against, least):
                remarked[key] = _differs(sentence, quantity, other, against)
    return sorted(remarked.values(), key=lambda r: (r.sentence or 0, r.start))


def _company(
    stated: Sequence[WrittenNumber], against: Results, matches: NumberMatches
) -> Mapping[str, Mapping[Decimal, set[int]]]:
    """By sentence or row of the results, the values of a sentence that it has, and where that sentence states them."""
    found: dict[str, dict[Decimal, set[int]]] = {}
    for quantity in stated:
        for place in matches.equal(quantity) if quantity.digits > 1 else ():
            if against.all[place].unit == quantity.unit:
                values = found.setdefault(against.all[place].quote, {})
                values.setdefault(quantity.value, set()).add(quantity.start)
    return found


def _in_its_place(
    quantity: WrittenNumber,
    company: Mapping[str, Mapping[Decimal, set[int]]],
    taken: Collection[int],
    together: Mapping[str, Sequence[int]],
    against: Results,
    least: int,
) -> Result | None:
    """The number that stands, in what has most of the other numbers of a sentence, where one is not."""
    best: tuple[int, Result | None] = (least - 1, None)
    for quote, values in company.items():
        shared = sum(bool(places - {quantity.start}) for places in values.values())
        if shared <= best[0]:
            continue
        others = [
            against.all[place]
            for place in together[quote]
            if against.all[place].unit == quantity.unit and place not in taken
        ]
        # Any other number may be of something else that the text tells at the same place.
        alike = [r for r in others if same_digits(quantity, r)]
        best = (shared, min(alike, key=lambda r: abs(r.value - quantity.value))) if alike else best
    return best[1]


def numbers_of_results(text: str, results: Results) -> list[Span]:
    """Where numbers of a text are results, by the words about them.

    Args:
        text: A sentence, or a row of a table.
        results: Canonical ones.

    Returns:
        The places of the numbers, without units.
    """
    numbers = quantities(text)
    if not numbers:
        return []
    sentence = Sentence(number=1, block=0, start=0, end=len(text), text=text, section="results")
    remarks = _of_sentence(sentence, results, NumberMatches(results))
    verified = {r.start for r in remarks if r.remark is Remark.NUMBER_VERIFIED}
    return [(q.start, q.bare) for q in numbers if q.start in verified]


def _of_sentence(sentence: Sentence, against: Results, matches: NumberMatches) -> Iterator[Remarked]:
    stated = quantities_of(sentence)
    # What a text has of its results is named by whole sentences: there, nearness tells little.
    others = _others_results(sentence, stated, against) if against.canonical else [frozenset[int]()] * len(stated)
    times = Counter(place for quantity in stated for place in matches.equal(quantity))
    for quantity, of_others in zip(stated, others, strict=True):
        own = matches.equal(quantity)
        taken = {place for place, count in times.items() if count > (place in own)}
        yield from _of_number(sentence, quantity, taken, of_others, against, matches)


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
    matches: NumberMatches,
) -> Iterator[Remarked]:
    about = words_about(sentence.text, (quantity.start, quantity.end))
    scores, equals = against.likeness(about), matches.equal(quantity)
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
        if named or by_itself or (not against.canonical and score >= _KEEPS * best):
            yield _verified(sentence, quantity, nearest, against)
            return
    if not whole:
        return
    # What another number of the sentence is equal to (`taken`) is not what this one should have been.
    left = [
        (score, r)
        for place, score, r in compared
        if place not in others and place not in taken and score >= least and near_enough(quantity, r)
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


def _shown(sentence: Sentence, quantity: WrittenNumber) -> str:
    sign = "" if quantity.comparator == "=" else f"{quantity.comparator} "
    return sign + sentence.text[quantity.start : quantity.end]


def _place_of(result: Result, against: Results) -> str:
    return f"{result.name} of {against.source}" if against.canonical else f"a number of {result.name}"


def _valued(result: Result | None) -> str:
    return f"{result.value:f} {result.unit}".strip() if result else ""
