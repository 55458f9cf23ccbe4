"""The numbers of a manuscript against its canonical results; without a file of them, against its own results.

A number is compared with the result that the words about it name, not with whatever is equal to it: a wrong percentage
that happens to be that of another group is wrong.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from decimal import Decimal

from kgcheck.grounding.manuscript import Manuscript, Sentence
from kgcheck.grounding.number_matches import NumberMatches, near_enough, same_digits
from kgcheck.grounding.number_remarks import differs, share_differs, unknown, verified
from kgcheck.grounding.own_numbers import StatedElsewhere, without_slips
from kgcheck.grounding.quantities import WrittenNumber, quantities
from kgcheck.grounding.remarks import Remark, Remarked
from kgcheck.grounding.results import Result, Results, own_results, quantities_of, words_about
from kgcheck.grounding.shares import is_share_of_others, shares
from kgcheck.literature.documents import Span

_NAMED = 0.5
"""Least share of the words of a canonical result that stand about a number of its."""

_ALIKE = 0.3
"""Least share of the words about a number that stand about the same one in the results, too."""

_KEEPS = 0.4
"""An equal number counts if what it is named by is at least so much as like as what is most alike."""

_SURE_DIGITS = 3
"""A number of so many digits is hardly equal to a result by accident."""

_MOST_NUMBERS = 40
"""Numbers of a sentence; one with more is a list, in which words do not tell which number is what."""

_MOST_STATED = 300
"""Numbers of an abstract; the sentences after them are part of a list, too."""

_READ = ("abstract", "results", "discussion", "conclusion")


def check_numbers(manuscript: Manuscript, results: Results | None = None) -> list[Remarked]:
    """Numbers of the abstract; with canonical results also of results, discussion and conclusion, and percentages."""
    against = results or own_results(manuscript)
    found = _against_results(manuscript, against) if against.all else []
    # What the words of a percentage and of its counts tell is told by themselves.
    wrong = [remarked for sentence in manuscript.sentences for remarked in _of_shares(sentence, manuscript)]
    places = {(remarked.sentence, remarked.start) for remarked in wrong}
    return [*(r for r in found if (r.sentence, r.start) not in places), *wrong]


def _against_results(manuscript: Manuscript, against: Results) -> list[Remarked]:
    matches, elsewhere = NumberMatches(against), StatedElsewhere(manuscript)
    read = list(_read(manuscript, _READ if against.canonical else ("abstract",)))
    found = [remarked for sentence in read for remarked in _of_sentence(sentence, against, matches)]
    if not against.canonical:
        return without_slips(read, found, against, matches, elsewhere)
    return _with_left_over(read, found, against, matches, elsewhere)


def _of_shares(sentence: Sentence, manuscript: Manuscript) -> Iterator[Remarked]:
    for share in shares(sentence.text) if "%" in sentence.text else ():
        if not share.right:
            yield share_differs(sentence, share, manuscript)


def _read(manuscript: Manuscript, sections: Collection[str]) -> Iterator[Sentence]:
    """The sentences that are read, without lists of numbers."""
    stated = 0
    for sentence in manuscript.sentences:
        if sentence.section in sections and (count := len(quantities_of(sentence))) <= _MOST_NUMBERS:
            stated += count if sentence.section == "abstract" else 0
            if stated <= _MOST_STATED or sentence.section != "abstract":
                yield sentence


def _with_left_over(
    read: Sequence[Sentence],
    found: list[Remarked],
    against: Results,
    matches: NumberMatches,
    elsewhere: StatedElsewhere,
) -> list[Remarked]:
    # A number of the abstract that no result is, and a result that it lacks, differ where the words fit. Where one
    # digit is another, whatever the size of both: 7.003 may be a slip of 0.003.
    stated = {(s.number, q.start): (s, q) for s in read if s.section == "abstract" for q in quantities_of(s)}
    abstract = {sentence.number for sentence, _ in stated.values()}
    there = {r.evidence[0].record for r in found if r.remark is Remark.NUMBER_VERIFIED and r.sentence in abstract}
    left = [(place, result) for place, result in enumerate(against.all) if result.name not in there]
    for at, remarked in enumerate(found):
        if remarked.remark is Remark.NUMBER_DIFFERS and remarked.evidence[0].record in there:
            found[at] = unknown(*stated[remarked.sentence or 0, remarked.start], against)
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
                and place in comparable
                and (near_enough(quantity, result) or same_digits(quantity, result))
            ]
    done: set[int] = set()
    used: set[int] = set()
    for same, _, at, place, result in sorted(named, key=lambda n: (not n[0], -n[1])):
        if at not in done and place not in used:
            done.add(at)
            used.add(place)
            sentence, quantity = stated[found[at].sentence or 0, found[at].start]
            found[at] = (verified if same else differs)(sentence, quantity, result, against)
    return [_of_others(remarked, stated, against, elsewhere) for remarked in found]


def _of_others(
    remarked: Remarked,
    stated: Mapping[tuple[int, int], tuple[Sentence, WrittenNumber]],
    against: Results,
    elsewhere: StatedElsewhere,
) -> Remarked:
    # A file that has only some results tells nothing of a number that the text has elsewhere, too.
    if remarked.remark is not Remark.NUMBER_UNKNOWN:
        return remarked
    sentence, quantity = stated[remarked.sentence or 0, remarked.start]
    if sentence.text[quantity.start : quantity.bare] in elsewhere:
        return unknown(sentence, quantity, against, "the rest of the text has it, and the file may not have all")
    if is_share_of_others(quantity, sentence.text, quantities_of(sentence)):
        return unknown(sentence, quantity, against, "the counts of the sentence make it")
    return remarked


def numbers_of_results(text: str, results: Results) -> list[Span]:
    """Where numbers of a text are results, by the words about them."""
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
    equals = _nearest_equals(stated, against, matches)
    times = Counter(place for own in equals for place in own)
    for quantity, of_others, own in zip(stated, others, equals, strict=True):
        taken = {place for place, count in times.items() if count > (place in own)}
        yield from _of_number(sentence, quantity, own, taken, of_others, against, matches)


def _nearest_equals(stated: Sequence[WrittenNumber], against: Results, matches: NumberMatches) -> list[frozenset[int]]:
    """For each number, the results that it is; one that says 90.5 is no 90, too, where the sentence has both."""
    if not against.canonical:
        return [matches.equal(quantity) for quantity in stated]
    nearest: dict[int, Decimal] = {}
    for quantity in stated:
        for place in matches.equal(quantity):
            distance = abs(abs(against.all[place].value) - abs(quantity.value))
            nearest[place] = min(distance, nearest.get(place, distance))
    return [
        frozenset(
            place
            for place in matches.equal(quantity)
            if abs(abs(against.all[place].value) - abs(quantity.value)) <= nearest[place]
        )
        for quantity in stated
    ]


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
    against: Results,
    matches: NumberMatches,
) -> Iterator[Remarked]:
    about = words_about(sentence.text, (quantity.start, quantity.end))
    scores = against.likeness(about)
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
            yield verified(sentence, quantity, nearest, against)
            return
    if not whole:
        return
    # What another number of the abstract is equal to (`taken`) is not what this one should have been.
    left = [
        (score, r)
        for place, score, r in compared
        if place not in others and place not in taken and score >= least and near_enough(quantity, r)
    ]
    if left:
        score, nearest = max(left, key=lambda pair: pair[0])
        if score >= 0.8 * best:
            yield differs(sentence, quantity, nearest, against)
            return
    # What is equal when it is rounded, and is called otherwise, is another result.
    same = [(score, r) for score, r in equal if not against.canonical or score >= least or _is_exact(quantity, r)]
    if same:
        yield verified(sentence, quantity, max(same, key=lambda pair: pair[0])[1], against)
    elif against.canonical:
        yield unknown(sentence, quantity, against)


def _is_exact(quantity: WrittenNumber, result: Result) -> bool:
    return abs(quantity.value) in (abs(result.value), abs(result.value) * (100 if quantity.unit == "%" else 1))
