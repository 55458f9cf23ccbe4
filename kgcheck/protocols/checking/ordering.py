"""The order in which steps probably come: by the stage of what they do, by what goes before what, and by their words.

Everything is told of two steps: how much one speaks for coming before the other. The order that agrees best with all
pairs is taken. Rules and weights stand in corpus/protocols/order.toml.
"""

import math
import re
from collections.abc import Sequence, Set
from functools import cache, lru_cache
from typing import NamedTuple

from pydantic import Field

from kgcheck.literature.polarity import empty_words, stemmer
from kgcheck.model import Value
from kgcheck.profile.toml_files import read_value
from kgcheck.resources import resource_dir

MOST_STEPS = 200
"""Most steps that are sorted; of more, the given order is kept: the search is cubic in their number."""

MARKS_ALONE = frozenset(("late", "early", "last", "ordinal"))
"""The weights of words that say by themselves where a step stands."""

_WORD = re.compile(r"[A-Za-z]+(?:-[a-z]+)*")
_LONGEST = 120
_NEAR = 25
_POINTING = frozenset(("the", "these", "this", "each", "both", "those"))
_COUNTED = re.compile(
    r"\b(day|week|step|column|stage|phase|cycle|tube|section|part|lane|sheet|round)\s+(\d{1,3}|[A-Z])\b", re.IGNORECASE
)
_MOST_COUNTED = 20


class OrderRules(Value):
    """corpus/protocols/order.toml."""

    stages: dict[float, str]
    pairs: dict[str, tuple[tuple[str, str], ...]]
    words: dict[str, tuple[str, ...]]
    weights: dict[str, float] = Field(min_length=1)


class _ReadStep(NamedTuple):
    """Features of a step that tell its place in the order."""

    stems: frozenset[str]
    pointed: frozenset[str]
    made: frozenset[str]
    stage: float | None
    before: frozenset[int]
    after: frozenset[int]
    cues: frozenset[str]
    counted: tuple[tuple[str, int], ...]


class _ReadOrder(NamedTuple):
    stages: dict[str, float]
    before: dict[str, frozenset[int]]
    after: dict[str, frozenset[int]]
    cues: dict[str, re.Pattern[str]]
    weights: dict[str, float]


def likely_order(steps: Sequence[str], only: Set[str] = frozenset()) -> list[int]:
    """The order in which steps probably come.

    >>> likely_order(["Image the stained sections.", "Stain the sections.", "Cut the tissue into sections."])
    [2, 1, 0]
    """
    count = len(steps)
    order = list(range(count))
    if count > MOST_STEPS:
        return order
    read = [_read(step) for step in steps]
    ahead = [[0.0] * count for _ in order]
    for one in range(count):
        for other in range(one + 1, count):
            ahead[one][other] = math.tanh(_ahead(read[one], read[other], only))
            ahead[other][one] = -ahead[one][other]
    order.sort(key=lambda step: -sum(ahead[step]))
    return _improved(order, ahead)


def order_agreement(steps: Sequence[str]) -> float:
    """Measure the agreement of some steps with the usual order, from 0 to 1.

    >>> order_agreement(["Stain the sections.", "Image the stained sections.", "Cut the tissue into sections."])
    0.3333333333333333
    """
    order = likely_order(steps)
    place = {step: at for at, step in enumerate(order)}
    pairs = [place[one] < place[other] for one in range(len(order)) for other in range(one + 1, len(order))]
    return sum(pairs) / len(pairs) if pairs else 1.0


def _improved(order: list[int], ahead: list[list[float]]) -> list[int]:
    """The order with steps put elsewhere for as long as that agrees with more of the pairs."""
    for _ in range(len(order)):
        moved = False
        for step in list(order):
            here = order.index(step)
            rest = order[:here] + order[here + 1 :]
            # Before all others, and then behind one after the other.
            gains = [sum(ahead[step][other] for other in rest)]
            for other in rest:
                gains.append(gains[-1] - 2 * ahead[step][other])
            best = max(range(len(gains)), key=gains.__getitem__)
            if gains[best] > gains[here] + 1e-9:
                order = [*rest[:best], step, *rest[best:]]
                moved = True
        if not moved:
            break
    return order


def _ahead(one: _ReadStep, other: _ReadStep, only: Set[str]) -> float:
    weights = {name: weight if not only or name in only else 0.0 for name, weight in _rules().weights.items()}
    score = 0.0
    if one.stage is not None and other.stage is not None:
        score += weights["stage"] * (other.stage - one.stage)
    score += weights["pair"] * (len(one.before & other.after) - len(other.before & one.after))
    pointed = len(other.pointed & one.stems) - len(one.pointed & other.stems)
    score += weights["reference"] * pointed
    score += weights["made"] * (len(other.made & one.stems) - len(one.made & other.stems))
    for cue, sign in (("late", 1), ("early", -1), ("last", 1)):
        score += weights[cue] * sign * ((cue in other.cues) - (cue in one.cues))
    theirs = dict(other.counted)
    for kind, number in one.counted:
        if kind in theirs and theirs[kind] != number:
            score += weights["ordinal"] * (1 if number < theirs[kind] else -1)
    return score


@lru_cache(maxsize=4096)
def _read(step: str) -> _ReadStep:
    rules = _rules()
    words = [word.casefold() for word in _WORD.findall(step[:4_000])][:_LONGEST]
    stems = stemmer().stemWords(words)
    pointed, made = set(), set()
    for at, word in enumerate(words[:-1]):
        if word in _POINTING:
            pointed |= set(stems[at + 1 : at + 3])
            if words[at + 1].endswith("ed"):
                made.add(stems[at + 1])
    staged = [rules.stages[stem] for stem in stems if stem in rules.stages]
    # What a step begins with is what it does; the rest of its words are what it does it with.
    stage = (2 * staged[0] + sum(staged)) / (2 + len(staged)) if staged else None
    near = " ".join(words[:_NEAR])
    found = frozenset(stems) - {stemmer().stemWord(word) for word in empty_words()}
    counted: dict[str, int] = {}
    for kind, number in _COUNTED.findall(step)[:_MOST_COUNTED]:
        counted.setdefault(kind.casefold(), int(number) if number.isdigit() else ord(number.casefold()))
    return _ReadStep(
        stems=found,
        pointed=frozenset(pointed) & found,
        made=frozenset(made),
        stage=stage,
        before=frozenset(n for stem in set(stems) for n in rules.before.get(stem, ())),
        after=frozenset(n for stem in set(stems) for n in rules.after.get(stem, ())),
        cues=frozenset(cue for cue, pattern in rules.cues.items() if pattern.search(near)),
        counted=tuple(counted.items()),
    )


@cache
def _rules() -> _ReadOrder:
    raw = read_value(resource_dir("corpus") / "protocols" / "order.toml", OrderRules)
    stages: dict[str, float] = {}
    for stage, words in raw.stages.items():
        for stem in stemmer().stemWords(words.split()):
            stages.setdefault(stem, stage)
    sides: tuple[dict[str, set[int]], dict[str, set[int]]] = ({}, {})
    for number, pair in enumerate(raw.pairs["list"]):
        for side, words in zip(sides, pair, strict=True):
            for stem in stemmer().stemWords(words.split()):
                side.setdefault(stem, set()).add(number)
    before, after = ({stem: frozenset(numbers) for stem, numbers in side.items()} for side in sides)
    cues = {
        cue: re.compile(rf"\b(?:{'|'.join(map(re.escape, words))})\b", re.IGNORECASE)
        for cue, words in raw.words.items()
    }
    return _ReadOrder(stages, before, after, cues, raw.weights)
