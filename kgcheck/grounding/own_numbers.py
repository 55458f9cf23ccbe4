"""Numbers of an abstract against the rest of its text: which of them stand nowhere else, and what stands instead."""

import re
from collections.abc import Collection, Mapping, Sequence
from decimal import Decimal

from kgcheck.grounding.manuscript import Manuscript, Sentence
from kgcheck.grounding.number_matches import NumberMatches, same_digits
from kgcheck.grounding.number_remarks import differs, unknown
from kgcheck.grounding.quantities import WrittenNumber, with_points
from kgcheck.grounding.remarks import Remark, Remarked
from kgcheck.grounding.results import Result, Results, quantities_of, words_about
from kgcheck.grounding.shares import is_share_of_others

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


class StatedElsewhere:
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
        """Why a number that was not found may stand there all the same, as in a table that is an image."""

    def __contains__(self, number: str) -> bool:
        """Whether a number stands there, as it is written."""
        found = _DIGITS.search(with_points(number))
        return found is not None and found[0].replace(",", "") in self._written


def without_slips(
    read: Sequence[Sentence],
    found: Sequence[Remarked],
    against: Results,
    matches: NumberMatches,
    elsewhere: StatedElsewhere,
) -> list[Remarked]:
    """Remarks about an abstract's numbers by the rest of the text.

    A number that the rest of the text has is no slip. One that it lacks is: where a sentence or a row of it has the
    other numbers of the abstract's sentence, or its words, and another number in its place, that one is named.
    """
    remarked = {(r.sentence, r.start): r for r in found if r.remark is not Remark.NUMBER_DIFFERS}
    for sentence in read:
        stated = quantities_of(sentence)
        taken = {place for quantity in stated for place in matches.equal(quantity)}
        company = _company(stated, against, matches)
        for quantity in stated:
            written = sentence.text[quantity.start : quantity.bare]
            impossible = (
                quantity.value > 1 and not quantity.unit and _IMPOSSIBLE.search(sentence.text[: quantity.start])
            )
            if not impossible and written in elsewhere:
                continue
            if matches.equal(quantity).intersection(matches.comparable(quantity)):
                continue
            other = _in_its_place(sentence, quantity, company, taken, against, sure=not elsewhere.lacks)
            if other:
                remarked[sentence.number, quantity.start] = differs(sentence, quantity, other, against)
            elif not is_share_of_others(quantity, sentence.text, stated):
                remarked[sentence.number, quantity.start] = unknown(sentence, quantity, against, elsewhere.lacks)
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
        if result.unit == quantity.unit and place not in taken and same_digits(quantity, result):
            best = (shared + alike, result)
    return best[1]
