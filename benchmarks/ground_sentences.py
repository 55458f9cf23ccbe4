"""Faults of sentences: marks out of range or moved, numbers of the abstract changed, earlier symbols."""

import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

from lxml import etree

from benchmarks import ground_entries as entries
from benchmarks.ground_facts import Facts
from benchmarks.ground_faults import Edited, Fault, Target
from benchmarks.ground_jats import Paper, Passage, Slot

MARK = re.compile(r"\[?\d+\]?")
"""A citation of one entry by its number, as it stands in its link."""

_NUMBER = re.compile(r"(?<![\w.,/-])\d[\d,]*(?:\.\d+)?(?![\w/-]|[.,]\d)")
_MINUS = re.compile(r"(?<![\w.)%])\u2212\s?$")
_STOP = frozenset(
    "the a an of in to and or with for by on at from were was is are be been that this those these who we our".split()
)


def places_of(kind: str, paper: Paper, facts: Facts | None = None) -> Iterator[Target]:
    """Where a fault of a kind can be made in a paper.

    Args:
        kind: One of QUOTAS, but of those about facts, which are inserted.
        paper: The undamaged paper.
        facts: With the earlier symbols.

    Yields:
        Places.
    """
    marks = list(paper.tree.iterfind(".//body//xref[@ref-type='bibr']"))
    cited: dict[str, int] = defaultdict(int)
    for mark in marks:
        cited[str(mark.get("rid"))] += 1
    if kind in ("marker_out_of_range", "moved_citation"):
        yield from _mark_places(kind, paper, marks, cited)
    elif kind in ("number_results", "number_text"):
        results = " ".join(p.text for p in paper.passages if p.section == "results")
        for passage in paper.abstract:
            for start, end, text in numbers(passage):
                if _telling(text) and (kind == "number_results" or _stands_in(text, results)):
                    yield Target(passage.number, start=start, end=end, value=text)
    elif kind == "old_symbol":
        known = facts.previous if facts else {}
        for passage in paper.passages:
            for found in re.finditer(r"(?<![\w-])[A-Z][A-Z0-9]{2,7}(?![\w-])", passage.text):
                if found[0] in known and passage.slot_at(*found.span()):
                    yield Target(passage.number, start=found.start(), end=found.end(), value=known[found[0]])
    else:
        for number, entry in enumerate(paper.references):
            if cited[str(entry.get("id"))] and (variants := entries.variants(kind, entry)):
                yield Target(entry=number, variant=variants[number % len(variants)])


def _mark_places(kind: str, paper: Paper, marks: list[Any], cited: dict[str, int]) -> Iterator[Target]:
    known = [str(r.get("id")) for r in paper.references]
    place_of = {mark: number for number, mark in enumerate(marks)}
    for passage in paper.passages:
        for slot in passage.slots:
            mark = slot.element
            if slot.tail or mark not in place_of or mark.get("rid") not in known or not MARK.fullmatch(slot.text):
                continue
            text, start, end = passage.text, slot.start, slot.start + len(slot.text)
            before, after = (
                (text[:start], text[end:])
                if "[" in slot.text
                else (text[:start].removesuffix("["), text[end:].removeprefix("]"))
            )
            if re.search(r"[\u2013-]\s*$", before) or re.match(r"\s*[\u2013-]", after):
                continue  # The end of a range stands for those between, too.
            brackets = "[" in slot.text or (text[:start].endswith("[") and text[end:].startswith("]"))
            alone = brackets and re.search(r"[\w)] $", before) and not re.match(r"\s*[,;]?\s*\[", after)
            entry = known.index(str(mark.get("rid")))
            if kind == "marker_out_of_range" and cited[str(mark.get("rid"))] > 1:
                variant = ("number", "typed", "link")[place_of[mark] % 3]
                yield Target(passage.number, None, place_of[mark], start, end, variant)
            elif kind == "moved_citation" and alone and passage.sentence_at(start)[0] < start - 20:
                yield Target(passage.number, entry, place_of[mark], start, end)


def numbers(passage: Passage) -> Iterator[tuple[int, int, str]]:
    """Numbers that a paper found: no years, no 95 of an interval, no powers.

    Args:
        passage: A paragraph.

    Yields:
        Start, end and the number as it is written.
    """
    text = passage.text
    for found in _NUMBER.finditer(text):
        slot, value = passage.slot_at(*found.span()), float(found[0].replace(",", ""))
        year = re.fullmatch(r"(?:19|20)\d\d", found[0])
        level = found[0] in ("95", "99", "90") and re.match(r"\s*%\s*(?:CI|confid|credib|uncert)", text[found.end() :])
        if slot and (slot.tail or slot.element.tag not in ("sup", "sub", "xref")) and not year and not level and value:
            yield (*found.span(), found[0])


def _telling(number: str) -> bool:
    """Whether it is no count that may stand for anything, as in type 1."""
    return "." in number or float(number.replace(",", "")) > 12


def _stands_in(number: str, text: str) -> bool:
    return re.search(rf"(?<![\d.,]){re.escape(number)}(?!\d|[.,]\d)", text) is not None


def results_of(paper: Paper) -> dict[str, float]:
    """What a file of canonical results has: the numbers of the abstract, called by the words around them.

    Args:
        paper: The undamaged paper.

    Returns:
        Numbers by name.
    """
    found: dict[str, float] = {}
    for passage in paper.abstract:
        text = passage.text
        for start, end, number in filter(lambda n: _telling(n[2]), numbers(passage)):
            first, last = passage.sentence_at(start)
            before = [w for w in re.findall(r"[a-z]{2,}", text[first:start].lower()) if w not in _STOP][-3:]
            after = [w for w in re.findall(r"[a-z]{2,}", text[end:last].lower()) if w not in _STOP][:1]
            name = "_".join([*before, *after, *(["percent"] if text[end : end + 2].strip().startswith("%") else [])])
            while name in found:
                name += "_next"
            sign = "-" if _MINUS.search(text, 0, start) else ""
            found[name] = float(sign + number.replace(",", ""))
    return found


def damage(edited: Edited, kind: str, target: Target) -> Fault | None:
    """Make a fault.

    Args:
        edited: The copy.
        kind: Which.
        target: Where.

    Returns:
        What was done; None where it cannot be done there.
    """
    if target.passage is None:
        return entries.DAMAGES[kind](edited, target)
    return _SENTENCES[kind](edited, target)


def _out_of_range(edited: Edited, target: Target) -> Fault | None:
    """Another number, in a link to no entry; the same number in such a link; or a number typed without a link."""
    mark, passage = edited.marks[target.mark or 0], edited.passages[target.passage or 0]
    before, beyond = mark.text, str(len(edited.references) + edited.of.randint(7, 60))
    if target.variant == "typed":
        slot = next(s for s in passage.slots if s.element is mark and s.tail)
        at = slot.start if "[" in before else slot.start + slot.text.find("]") + 1
        slot.replace(at, at, f" [{beyond}]")
        return edited.fault_in(target, "marker_out_of_range", at, "", f" [{beyond}]")
    mark.set("rid", "no-such-entry")
    if target.variant == "number":
        mark.text = re.sub(r"\d+", beyond, before)
    return edited.fault_in(target, "marker_out_of_range", target.start, before, mark.text)


def _moved(edited: Edited, target: Target) -> Fault | None:
    """From its sentence to the last of a paragraph in another section that cites nothing."""
    mark, passage = edited.marks[target.mark or 0], edited.passages[target.passage or 0]
    rid, sentence = mark.get("rid"), passage.text[slice(*passage.sentence_at(target.start))]
    goals = [
        p
        for p in edited.passages.values()
        if p.top not in (passage.top, -1) and p.section != passage.section and ends(p) and "[" not in _last(p)
    ]
    if not goals:
        return None
    goal = edited.of.choice(goals)
    within = "[" in mark.text
    earlier = next(s for s in passage.slots if (s.element, s.tail) == _before(mark))
    earlier.replace(
        earlier.start, earlier.start + len(earlier.text), earlier.text.removesuffix(" " if within else " [")
    )
    _drop(mark, mark.tail or "" if within else (mark.tail or "").removeprefix("]"))
    slot = [s for s in goal.slots if s.text.strip()][-1]
    stop = slot.start + slot.text.rindex(".")
    made = etree.Element("xref", {"ref-type": "bibr", "rid": rid})
    made.text = mark.text
    tail = slot.text[stop - slot.start :]
    slot.replace(stop, slot.start + len(slot.text), " " if within else " [")
    insert_after(slot, made, tail if within else f"]{tail}")
    fault = edited.fault_in(Target(goal.number), "moved_citation", stop, sentence, "")
    fault.after, fault.number, fault.reference = fault.sentence, (target.entry or 0) + 1, rid
    return fault


def insert_after(slot: Slot, element: Any, tail: str) -> None:
    """Put an element after a text.

    Args:
        slot: The text.
        element: What is put in.
        tail: What follows it.
    """
    element.tail = tail
    if slot.tail:
        # Not addnext: what follows an element would go along behind the other.
        parent = slot.element.getparent()
        parent.insert(parent.index(slot.element) + 1, element)
    else:
        slot.element.insert(0, element)


def _before(mark: Any) -> tuple[Any, bool]:
    earlier = mark.getprevious()
    return (earlier, True) if earlier is not None else (mark.getparent(), False)


def _drop(mark: Any, tail: str) -> None:
    """Take a mark out, and leave what follows it."""
    element, is_tail = _before(mark)
    parent = mark.getparent()
    mark.tail = None
    parent.remove(mark)
    if is_tail:
        element.tail = (element.tail or "") + tail
    else:
        element.text = (element.text or "") + tail


def ends(passage: Passage) -> bool:
    """Whether its last text ends in a full stop, after enough words of the same sentence."""
    last = [s for s in passage.slots if s.text.strip()][-1:]
    return bool(last) and last[0].text.rstrip().endswith(".") and len(_last(passage).split()) > 8


def _last(passage: Passage) -> str:
    return passage.text[slice(*passage.sentence_at(len(passage.text.rstrip()) - 1))]


def _number(kind: str) -> Callable[[Edited, Target], Fault | None]:
    def made(edited: Edited, target: Target) -> Fault | None:
        passage = edited.passages[target.passage or 0]
        slot = passage.slot_at(target.start, target.end)
        value = changed(target.value, edited.of, edited.in_paper)
        if slot is None or not value:
            return None
        slot.replace(target.start, target.end, value)
        return edited.fault_in(target, kind, target.start, target.value, value)

    return made


def changed(number: str, of: random.Random, text: str) -> str:
    """Another number that is written alike, differs by 5 % or more, and does not stand in the text.

    Args:
        number: As it is written.
        of: What chooses.
        text: Of the paper.

    Returns:
        The number; an empty text where none was found.
    """
    for _ in range(60):
        digits = [n for n, c in enumerate(number) if c.isdigit()]
        made = list(number)
        if len(digits) > 1 and of.random() < 0.3:
            one, other = of.sample(digits, 2)
            made[one], made[other] = made[other], made[one]
        else:
            made[of.choice(digits)] = of.choice("123456789")
        new = "".join(made)
        old_value, value = (float(n.replace(",", "")) for n in (number, new))
        zero = len(new) > 1 and new[0] == "0" and new[1] != "."
        if not zero and abs(value - old_value) >= 0.05 * old_value and not _stands_in(new, text):
            return new
    return ""


def _symbol(edited: Edited, target: Target) -> Fault | None:
    passage = edited.passages[target.passage or 0]
    slot = passage.slot_at(target.start, target.end)
    if slot is None:
        return None
    before = slot.text[target.start - slot.start : target.end - slot.start]
    slot.replace(target.start, target.end, target.value)
    return edited.fault_in(target, "old_symbol", target.start, before, target.value)


_SENTENCES: dict[str, Callable[[Edited, Target], Fault | None]] = {
    "marker_out_of_range": _out_of_range,
    "moved_citation": _moved,
    "number_results": _number("number_results"),
    "number_text": _number("number_text"),
    "old_symbol": _symbol,
}
