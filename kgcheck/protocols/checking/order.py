"""Remarks on a protocol's data flow, and how far its steps agree with the usual order, 0 to 1.

The likely order is told of two steps at a time: by the stage of what they do, by what goes before what, and by their
words. Rules and weights stand in corpus/protocols/order.toml.
"""

import math
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple

from pydantic import Field

from kgcheck.literature.lexical import item_words
from kgcheck.literature.polarity import empty_words
from kgcheck.protocols.checking.remarks import StudyRemark, StudyRemarked, remarked
from kgcheck.protocols.protocol import StudyProtocol
from kgcheck.protocols.rules import ProtocolRules
from kgcheck.text.words import stemmer

MOST_CIRCLES = 50
"""Steps that wait for later ones of which circles are looked for; all of them are remarked as out of order anyway."""


class StepFlow:
    """Data flow graph of the steps of a protocol.

    An input is what an output is called where all of its words stand in that name: "genes" may be "differentially
    expressed genes", not the other way round.
    """

    def __init__(self, protocol: StudyProtocol) -> None:
        self._protocol = protocol
        self._steps = list(protocol.steps)
        self._place = {step.id: place for place, step in enumerate(self._steps)}
        made = [(step.id, item_words(item.name)) for step in self._steps for item in step.outputs]
        self._made = [step for step, _ in made]
        self._with: dict[str, set[int]] = {}
        for number, (_, words) in enumerate(made):
            for word in words:
                self._with.setdefault(word, set()).add(number)
        self.makers: dict[str, dict[str, tuple[str, ...]]] = {
            step.id: {item.name: self._makers(item.name) for item in step.inputs} for step in self._steps
        }
        """By step and input, the steps that make it."""

    def _makers(self, name: str) -> tuple[str, ...]:
        wanted = [self._with.get(word, set()) for word in item_words(name)]
        found = set.intersection(*wanted) if wanted else set()
        return tuple(dict.fromkeys(self._made[number] for number in sorted(found)))

    def remarks(self) -> Iterator[StudyRemarked]:
        """Remark on steps in the wrong order and on inputs that no step makes."""
        given = self._given()
        quotes = {passage.id: item_words(passage.quote) for passage in self._protocol.passages}
        named = {step.id: {item_words(item.name) for item in step.outputs} for step in self._steps}
        for step in self._steps:
            in_paper = frozenset().union(*(quotes[i] for i in step.passages))
            for name, makers in self.makers[step.id].items():
                earlier = [m for m in makers if self._place[m] < self._place[step.id]]
                later = [m for m in makers if self._place[m] > self._place[step.id]]
                words = item_words(name)
                if earlier or not words or any(words <= known for known in given):
                    continue
                if words <= in_paper:
                    # What a sentence of a paper takes, its paper gives; unless a step makes just that.
                    later = [m for m in later if len(words) > 1 and words in named[m]]
                    if not later:
                        continue
                if later:
                    yield remarked(
                        StudyRemark.MADE_LATER,
                        f"{name!r}, by {', '.join(later)}",
                        step=step.id,
                        about=name,
                        steps=tuple(later),
                        repair=f"put {later[0]} before {step.id}",
                    )
                else:
                    yield remarked(StudyRemark.NOT_MADE, repr(name), step=step.id, about=name)
        for circle in self._circles():
            yield remarked(
                StudyRemark.IN_A_CIRCLE, " -> ".join((*circle, circle[0])), step=circle[0], steps=tuple(circle[1:])
            )

    def _given(self) -> list[frozenset[str]]:
        """List the items available before the first step: those of the objective, and the data sets."""
        objective = self._protocol.objective
        texts = (objective.objective, *objective.conditions, *objective.requirements, *objective.about)
        sets = [name for d in self._protocol.data_sets for name in (d.id, d.title) if name]
        taken = [item.name for step in self._steps for item in step.inputs if item.kind in ("data_set", "sample")]
        return [item_words(text) for text in (*texts, *sets, *taken)]

    def _circles(self) -> Iterator[list[str]]:
        """Circles of steps: one that waits for a later one, which uses what comes of it."""
        known: list[set[str]] = []
        looked = 0
        for step in self._steps:
            later = {
                m for makers in self._needed[step.id].values() for m in makers if self._place[m] > self._place[step.id]
            }
            if not later:
                continue
            looked += 1
            if looked > MOST_CIRCLES:
                return
            reached = self.after([step.id])
            maker = next((name for name in reached if name in later), None)
            if maker is None:
                continue
            circle = [maker]
            while circle[0] != step.id:
                circle.insert(0, reached[circle[0]])
            if set(circle) not in known:
                known.append(set(circle))
                yield circle

    @cached_property
    def _needed(self) -> dict[str, dict[str, tuple[str, ...]]]:
        """Makers that a step must wait for: where an earlier one makes the same, it need not wait for a later one."""
        needed: dict[str, dict[str, tuple[str, ...]]] = {}
        for step, inputs in self.makers.items():
            here = self._place[step]
            needed[step] = {
                name: tuple(m for m in makers if self._place[m] < here) or tuple(m for m in makers if m != step)
                for name, makers in inputs.items()
            }
        return needed

    @cached_property
    def _users(self) -> dict[str, list[str]]:
        users: dict[str, list[str]] = {}
        for step, inputs in self._needed.items():
            for maker in {m for makers in inputs.values() for m in makers}:
                users.setdefault(maker, []).append(step)
        return users

    def after(self, steps: Iterable[str]) -> dict[str, str]:
        """Steps that use, directly or not, what some steps make."""
        start = set(steps)
        reached: dict[str, str] = {}
        waiting = deque(sorted(start, key=self._place.__getitem__))
        while waiting:
            step = waiting.popleft()
            for user in self._users.get(step, ()):
                if user not in start and user not in reached:
                    reached[user] = step
                    waiting.append(user)
        return {step.id: reached[step.id] for step in self._steps if step.id in reached}


MOST_STEPS = 200
"""Most steps that are sorted; of more, the given order is kept."""

_WORD = re.compile(r"[A-Za-z]+(?:-[a-z]+)*")
_LONGEST = 120
_NEAR = 25
_POINTING = frozenset(("the", "these", "this", "each", "both", "those"))
_COUNTED = re.compile(
    r"\b(day|week|step|column|stage|phase|cycle|tube|section|part|lane|sheet|round)\s+(\d{1,3}|[A-Z])\b", re.IGNORECASE
)
_MOST_COUNTED = 20


class OrderRules(ProtocolRules):
    """The stages, pairs, words and weights of the order of steps."""

    file = "order"
    stages: dict[float, str]
    pairs: dict[str, tuple[tuple[str, str], ...]]
    words: dict[str, tuple[str, ...]]
    weights: dict[str, float] = Field(min_length=1)

    @cached_property
    def stage_of(self) -> dict[str, float]:
        found: dict[str, float] = {}
        for stage, words in self.stages.items():
            for stem in stemmer().stemWords(words.split()):
                found.setdefault(stem, stage)
        return found

    @cached_property
    def sides(self) -> tuple[dict[str, set[int]], dict[str, set[int]]]:
        """Numbers of the pairs by the stems of what goes before, and of what goes after."""
        sides: tuple[dict[str, set[int]], dict[str, set[int]]] = ({}, {})
        for number, pair in enumerate(self.pairs["list"]):
            for side, words in zip(sides, pair, strict=True):
                for stem in stemmer().stemWords(words.split()):
                    side.setdefault(stem, set()).add(number)
        return sides

    @cached_property
    def cues(self) -> dict[str, re.Pattern[str]]:
        """Patterns of words that say by themselves where a step stands."""
        return {
            cue: re.compile(rf"\b(?:{'|'.join(map(re.escape, words))})\b", re.IGNORECASE)
            for cue, words in self.words.items()
        }


class _ReadStep(NamedTuple):
    """Features of a step that tell its place in the order."""

    stems: frozenset[str]
    pointed: frozenset[str]
    stage: float | None
    before: frozenset[int]
    after: frozenset[int]
    cues: frozenset[str]
    counted: tuple[tuple[str, int], ...]


def likely_order(steps: Sequence[str]) -> list[int]:
    """The order in which steps probably come.

    >>> likely_order(["Image the stained sections.", "Stain the sections.", "Cut the tissue into sections."])
    [2, 1, 0]
    """
    order = list(range(len(steps)))
    if len(steps) > MOST_STEPS:
        return order
    read = [_read(step) for step in steps]
    ahead = [sum(math.tanh(_ahead(one, other)) for other in read if other is not one) for one in read]
    return sorted(order, key=lambda step: -ahead[step])


def order_agreement(steps: Sequence[str]) -> float:
    """Measure the agreement of some steps with the usual order, from 0 to 1.

    >>> order_agreement(["Stain the sections.", "Image the stained sections.", "Cut the tissue into sections."])
    0.3333333333333333
    """
    order = likely_order(steps)
    place = {step: at for at, step in enumerate(order)}
    pairs = [place[one] < place[other] for one in range(len(order)) for other in range(one + 1, len(order))]
    return sum(pairs) / len(pairs) if pairs else 1.0


def _ahead(one: _ReadStep, other: _ReadStep) -> float:
    weights, score = OrderRules.shipped().weights, 0.0
    if one.stage is not None and other.stage is not None:
        score += weights["stage"] * (other.stage - one.stage)
    score += weights["pair"] * (len(one.before & other.after) - len(other.before & one.after))
    score += weights["reference"] * (len(other.pointed & one.stems) - len(one.pointed & other.stems))
    for cue, sign in (("late", 1), ("early", -1)):
        score += weights[cue] * sign * ((cue in other.cues) - (cue in one.cues))
    theirs = dict(other.counted)
    for kind, number in one.counted:
        if kind in theirs and theirs[kind] != number:
            score += weights["ordinal"] * (1 if number < theirs[kind] else -1)
    return score


@lru_cache(maxsize=4096)
def _read(step: str) -> _ReadStep:
    rules = OrderRules.shipped()
    before, after = rules.sides
    words = [word.casefold() for word in _WORD.findall(step[:4_000])][:_LONGEST]
    stems = stemmer().stemWords(words)
    pointed: set[str] = set()
    for at, word in enumerate(words[:-1]):
        if word in _POINTING:
            pointed |= set(stems[at + 1 : at + 3])
    staged = [rules.stage_of[stem] for stem in stems if stem in rules.stage_of]
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
        stage=stage,
        before=frozenset(n for stem in set(stems) for n in before.get(stem, ())),
        after=frozenset(n for stem in set(stems) for n in after.get(stem, ())),
        cues=frozenset(cue for cue, pattern in rules.cues.items() if pattern.search(near)),
        counted=tuple(counted.items()),
    )
