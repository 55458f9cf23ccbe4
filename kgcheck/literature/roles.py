"""Semantic roles, who does what to whom: the acts of a sentence with what stands on either side.

"A phosphorylates B", "B is phosphorylated by A" and "phosphorylation of B by A" are one act; "B phosphorylates A" is
another. A sentence that says only the other one speaks neither for nor against the first.
"""

import re
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from typing import Literal, NamedTuple

from kgcheck.text.words import compounds, verifier_rules, words_of_list

_JOINTS = "-'/."  # marks within a word: JAK2/STAT3 is one agent
_BE = frozenset("is are was were be been being get gets got".split())
_OBJECT = frozenset("it them its their".split())
_ENDS = frozenset("in on at during after before within among from with to for as under".split())
"""Words with which what is done to something goes on to where and when."""

_RESULTS = frozenset("results conclusion conclusions findings interpretation background methods".split())
"""Headings of abstracts, which run into their sentences."""

_NOUN = re.compile(r"(?:ions?|ment|age|al|ance|ence)$")
_DOER = re.compile(r"(?:ors?|ers?|ants?)$")
_MADE_BY = re.compile(
    r"^(.+)-(?:mediated|induced|dependent|driven|catalyzed|catalysed|stimulated|directed)$", re.IGNORECASE
)
_DESCRIBES = ("ive", "ory", "able", "ible")  # endings of words that tell what something is like: protective, inhibitory
_MORE_THAN = frozenset("more less better worse faster slower fewer".split())
"""Words that compare how much one thing does with how much another does."""

_NEAR = 4  # words before an act in which a denial reaches it


_Form = Literal["active", "passive", "noun", "doer"]


class Act(NamedTuple):
    """One act of a sentence."""

    name: str
    sign: int
    agent: str
    patient: str
    denied: bool
    mutual: bool


class _Known(NamedTuple):
    name: str
    sign: int
    mutual: bool
    begins: str


def acts(sentence: str) -> tuple[Act, ...]:
    """The acts of a sentence.

    >>> [(a.name, a.agent, a.patient) for a in acts("Phosphorylation of B2 by A1 was seen.")]
    [('phosphorylate', 'A1', 'B2')]
    """
    tokens = compounds(sentence, _JOINTS)
    # "More than" and "less than" turn nothing, nor does "then" before an act.
    tokens = [
        t
        for t, after in zip(tokens, [w.lower() for w in tokens[1:]] + [""], strict=False)
        if not (after == "than" and t.lower() in _MORE_THAN) and not (t.lower() == "then" and _known(after))
    ]
    lower = [t.lower() for t in tokens]
    found: list[Act] = []
    places = [(i, known) for i, t in enumerate(lower) if (known := _known(t))]
    verbs = {i for i, _ in places if _form(lower, i) in ("active", "passive")}
    for at, known in places:
        form = _form(lower, at)
        if form is None:
            continue
        begin, end = _clause(lower, at, verbs if form in ("active", "passive") else frozenset())
        sides = _sides(tokens, at, form, begin, end, mutual=known.mutual)
        if sides is None:
            continue
        agent, patient = sides
        before = lower[max(begin, at - _NEAR) : at]
        joins = ("and", "or", "then", "also")
        names = any(len(w) > 1 and w.lower() not in joins and w[0].isalnum() for w in agent)
        if form == "active" and found and lower[at - 1] in joins and not names:
            agent = found[-1].agent.split()
        if known.name == "have" and not {w.lower() for w in patient[:3]} & _words("compares"):
            continue
        if patient and patient[0].lower() in _OBJECT and found:
            patient = [*patient, *found[-1].patient.split()]
        if not agent or not patient:
            continue
        sign = known.sign
        if sign or known.mutual or known.name == "target":
            sign = _turned(known, before, [w.lower() for w in agent], [w.lower() for w in patient])
        beside = {w.lower() for w in (*agent[:2], *patient[:1])}
        denied = not _words("denies").isdisjoint(before) or not beside.isdisjoint(("no", "neither", "not"))
        found.append(Act(known.name, sign, " ".join(agent), " ".join(patient), denied, known.mutual))
    return tuple(found)


def asks_only(sentence: str) -> bool:
    """Tell whether a sentence tells what was not known or looked for, and no finding."""
    return bool(_asking().search(sentence))


def same_scale(one: str, other: str) -> bool:
    """Tell whether the signs of two acts are of one scale: what is shorter is not worse."""
    scales = [line.split() for line in verifier_rules("acts")["scales"]]
    return [one in scale for scale in scales] == [other in scale for scale in scales]


@lru_cache(10_000)
def _known(word: str) -> _Known | None:
    if word.endswith(_DESCRIBES) or word.startswith(tuple(_words("not_acts"))):
        return None
    for known in _acts():
        # What ends with a stop is a whole word.
        if f"{word}." == known.begins or (word.startswith(known.begins) and known.begins[-1] != "."):
            return known
    return None


def _form(lower: Sequence[str], at: int) -> _Form | None:
    word = lower[at]
    following = lower[at + 1] if at + 1 < len(lower) else ""
    before = [w for w in lower[max(0, at - 3) : at] if not w.endswith("ly")]
    if "-" in word and _known(word.rsplit("-", 1)[-1]):
        return None
    if _NOUN.search(word) or (following in ("of", "in") and not word.endswith(("ed", "ing", "s")) and at):
        return "noun"
    if _DOER.search(word) and word.rstrip("s") not in ("lower", "trigger"):
        return "doer" if following in ("of", "for") else None
    if word.endswith("ed") or word in ("bound", "driven", "led"):
        if any(w in _BE for w in before[-2:]) or following in ("by", "with"):
            return "passive"
        # "the activated receptor": what something is, not what it does.
        return None if before and before[-1] in ("the", "a", "an", "of", "by", "with", "in", "and,") else "active"
    if word == "lower" and (not following or before[-1:] in (["a"], ["the"], ["of"], ["with"], ["significantly"])):
        return None
    return "active"


def _clause(lower: Sequence[str], at: int, verbs: Iterable[int]) -> tuple[int, int]:
    """Return begin and end of the clause of an act: at words that open another, and at the next verb."""
    cut = _words("clauses")
    begin = next((i + 1 for i in range(at - 1, -1, -1) if lower[i] in cut), 0)
    end = next((i for i in range(at + 1, len(lower)) if lower[i] in cut), len(lower))
    for other in verbs:
        if at < other < end:
            # What is before the next verb may be its own subject: "A binds B and C inhibits D".
            end = next((i for i in range(other - 1, at, -1) if lower[i] in (",", "and", "or")), other)
        elif begin <= other < at:
            first = other == begin or lower[other - 1] in (",", "and", "or", "by") or lower[other - 1] in _RESULTS
            if first and lower[other].endswith(("ing", "ed")):
                # Part of the next doer: "inhibiting A improves B", "reduced A raises B".
                continue
            joined = next((i for i in range(at - 1, other, -1) if lower[i] in (",", "and", "or")), other)
            begin = max(begin, joined + 1)
    return begin, end


def _sides(
    tokens: Sequence[str], at: int, form: _Form, begin: int, end: int, *, mutual: bool
) -> tuple[list[str], list[str]] | None:
    before, after = list(tokens[begin:at]), list(tokens[at + 1 : end])
    small = [w.lower() for w in after]
    if form == "active":
        return before, after
    if form == "passive":
        if "by" in small:
            place = small.index("by")
            return _doer(after[place + 1 :]), before + after[:place]
        return (before, after) if mutual else None
    if form == "doer":
        return before, after[1:]
    made = _MADE_BY.match(tokens[at - 1]) if at else None
    of = small.index("of") if "of" in small[:1] else small.index("in") if "in" in small[:1] else -1
    by = next((i for i, w in enumerate(small) if w in ("by", "through", "via", "with", "to") and i > of), -1)
    if mutual:
        both = small.index("and") if "and" in small else by
        if small[:1] == ["between"] and both > 0:
            return after[1:both], after[both + 1 :]
        if of == 0 and by > 0:
            return after[1:by], after[by + 1 :]
        return (before, after[1:]) if small[:1] in (["with"], ["to"]) else None
    if made:
        return [made[1]], after[1:] if of == 0 else before[:-1]
    if by >= 0 and small[by] in ("by", "through", "via"):
        return _doer(after[by + 1 :]), after[1:by] if of == 0 else before[-2:]
    return (before, after[1:]) if of == 0 and before else None


def _doer(words: list[str]) -> list[str]:
    end = next((i for i, w in enumerate(words) if i and (w.lower() in _BE or w.lower() in _ENDS)), len(words))
    return words[:end]


def _turned(known: _Known, before: Sequence[str], agent: Sequence[str], patient: Sequence[str]) -> int:
    turns, away = _words("turns_sign"), _words("taken_away")
    sign = known.sign or 1
    if known.name == "target":
        return -1 if "degradation" in patient else 0
    beside = {w for w in before[-2:] if w in turns}
    sign *= -1 if beside else 1
    # "Reduced A" and "A loss" stand beside the act and are who does it: they turn it once.
    sign *= -1 if any(w in away for w in agent if w not in beside) else 1
    rest = set(range(3))
    if known.name == "protect" and "from" in patient:
        rest |= set(range(patient.index("from"), patient.index("from") + 3))
    sign *= -1 if sum(w in turns for i, w in enumerate(patient) if i in rest) % 2 else 1
    return sign if known.sign else 0


def _words(name: str) -> frozenset[str]:
    return words_of_list("acts", name)


@cache
def _acts() -> list[_Known]:
    """Acts by beginnings of words, the longest first: "inactivat" is no "activat", and "reduc" no "re"."""
    known = [
        _Known(name, {"+": 1, "-": -1, "0": 0}[sign], key == "mutual", begins)
        for key in ("directed", "mutual")
        for name, sign, *beginnings in map(str.split, verifier_rules("acts")[key])
        for begins in beginnings
    ]
    return sorted(known, key=lambda act: -len(act.begins))


@cache
def _asking() -> re.Pattern[str]:
    return re.compile("".join(verifier_rules("acts")["asks"].split("\n")), re.IGNORECASE)
