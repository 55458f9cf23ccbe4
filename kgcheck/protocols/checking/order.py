"""Remarks on a protocol's data flow, and how far its steps agree with the usual order, 0 to 1.

The likely order is told of two steps at a time: by the stage of what they do, by what goes before what, and by their
words. Rules and weights stand in corpus/protocols/order.toml.
"""

import math
import re
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple

from kgcheck.literature.lexical import item_words, stems
from kgcheck.literature.polarity import empty_words
from kgcheck.protocols.checking.remarks import StudyRemark, StudyRemarked, remarked
from kgcheck.protocols.protocol import StudyProtocol
from kgcheck.protocols.rules import ProtocolRules
from kgcheck.text.words import either, stemmer

MOST_CIRCLES = 50
"""Steps that wait for later ones of which circles are looked for; all of them are remarked as out of order anyway."""


class StepFlow:
    """Data flow graph of the steps of a protocol.

    An input is what an output is called where all of its words stand in that name: "genes" may be "differentially
    expressed genes", not the other way round.
    """

    def __init__(self, protocol: StudyProtocol) -> None:
        self._protocol, self._steps = protocol, list(protocol.steps)
        self._place = {step.id: place for place, step in enumerate(self._steps)}
        made = [(step.id, item_words(item.name)) for step in self._steps for item in step.outputs]
        named: defaultdict[str, set[int]] = defaultdict(set)
        for number, (_, words) in enumerate(made):
            for word in words:
                named[word].add(number)
        self._makers: dict[str, dict[str, list[str]]] = {step.id: {} for step in self._steps}
        self._awaited: defaultdict[str, set[str]] = defaultdict(set)
        for step in self._steps:
            for item in step.inputs:
                found = [named[word] for word in item_words(item.name)]
                numbers = sorted(set.intersection(*found)) if found else ()
                makers = self._makers[step.id][item.name] = list(dict.fromkeys(made[n][0] for n in numbers))
                # Where an earlier one makes the same, it need not wait for a later one.
                earlier = [m for m in makers if self._place[m] < self._place[step.id]]
                self._awaited[step.id].update(earlier or (m for m in makers if m != step.id))

    def remarks(self) -> Iterator[StudyRemarked]:
        objective = self._protocol.objective
        texts = (objective.objective, *objective.conditions, *objective.requirements, *objective.about)
        sets = [name for d in self._protocol.data_sets for name in (d.id, d.title) if name]
        taken = [item.name for step in self._steps for item in step.inputs if item.kind in ("data_set", "sample")]
        given = [item_words(text) for text in (*texts, *sets, *taken)]
        quotes = {passage.id: item_words(passage.quote) for passage in self._protocol.passages}
        outputs = {step.id: {item_words(item.name) for item in step.outputs} for step in self._steps}
        for step in self._steps:
            in_paper = frozenset().union(*(quotes[i] for i in step.passages))
            for name, makers in self._makers[step.id].items():
                later = [m for m in makers if self._place[m] > self._place[step.id]]
                is_made = any(self._place[m] < self._place[step.id] for m in makers)
                words = item_words(name)
                if is_made or not words or any(words <= known for known in given):
                    continue
                if words <= in_paper:
                    # What a sentence of a paper takes, its paper gives; unless a step makes just that.
                    later = [m for m in later if len(words) > 1 and words in outputs[m]]
                    if not later:
                        continue
                if later:
                    note, repair = f"{name!r}, by {', '.join(later)}", f"put {later[0]} before {step.id}"
                    more = {"about": name, "steps": tuple(later), "repair": repair}
                    yield remarked(StudyRemark.MADE_LATER, note, step=step.id, **more)
                else:
                    yield remarked(StudyRemark.NOT_MADE, repr(name), step=step.id, about=name)
        for circle in self._circles():
            note = " -> ".join((*circle, circle[0]))
            yield remarked(StudyRemark.IN_A_CIRCLE, note, step=circle[0], steps=tuple(circle[1:]))

    def _circles(self) -> Iterator[list[str]]:
        """Circles of steps: one that waits for a later one, which uses what comes of it."""
        known: list[set[str]] = []
        later = {s.id: {m for m in self._awaited[s.id] if self._place[m] > self._place[s.id]} for s in self._steps}
        for step in [step for step, makers in later.items() if makers][:MOST_CIRCLES]:
            reached = self.after([step])
            circle = [name for name in reached if name in later[step]][:1]
            while circle and circle[0] != step:
                circle.insert(0, reached[circle[0]])
            if circle and set(circle) not in known:
                known.append(set(circle))
                yield circle

    @cached_property
    def _users(self) -> dict[str, list[str]]:
        users: defaultdict[str, list[str]] = defaultdict(list)
        for step, makers in self._awaited.items():
            for maker in makers:
                users[maker].append(step)
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
        return {step: reached[step] for step in self._place if step in reached}


MOST_STEPS = 200  # most steps that are sorted; of more, the given order is kept
_WORD = re.compile(r"[A-Za-z]+(?:-[a-z]+)*")
_LONGEST, _NEAR, _MOST_COUNTED = 120, 25, 20
_POINTING = frozenset(("the", "these", "this", "each", "both", "those"))
_COUNTED = re.compile(
    r"\b(day|week|step|column|stage|phase|cycle|tube|section|part|lane|sheet|round)\s+(\d{1,3}|[A-Z])\b", re.IGNORECASE
)


class OrderRules(ProtocolRules):
    """The stages, pairs, words and weights of the order of steps."""

    file = "order"
    stages: dict[float, str]
    pairs: dict[str, tuple[tuple[str, str], ...]]
    words: dict[str, tuple[str, ...]]
    weights: dict[str, float]

    @cached_property
    def stage_of(self) -> dict[str, float]:
        return {stem: stage for stage, words in [*self.stages.items()][::-1] for stem in stems(words.split())}

    @cached_property
    def sides(self) -> list[list[frozenset[str]]]:
        """The stems of what goes before, and of what goes after, by pair."""
        return [[stems(pair[side].split()) for pair in self.pairs["list"]] for side in (0, 1)]

    @cached_property
    def cues(self) -> dict[str, re.Pattern[str]]:
        return {cue: re.compile(rf"\b(?:{either(words)})\b", re.IGNORECASE) for cue, words in self.words.items()}


class _ReadStep(NamedTuple):
    """Features of a step that tell its place in the order; pairs by their numbers."""

    stems: frozenset[str]
    pointed: frozenset[str]
    stage: float | None
    before: frozenset[int]
    after: frozenset[int]
    cues: frozenset[str]
    counted: dict[str, int]


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
    pairs = [one < other for place, one in enumerate(order) for other in order[place + 1 :]]
    return sum(pairs) / len(pairs) if pairs else 1.0


def _ahead(one: _ReadStep, other: _ReadStep) -> float:
    weights, score = OrderRules.shipped().weights, 0.0
    if one.stage is not None and other.stage is not None:
        score += weights["stage"] * (other.stage - one.stage)
    score += weights["pair"] * (len(one.before & other.after) - len(other.before & one.after))
    score += weights["reference"] * (len(other.pointed & one.stems) - len(one.pointed & other.stems))
    for cue, sign in (("late", 1), ("early", -1)):
        score += weights[cue] * sign * ((cue in other.cues) - (cue in one.cues))
    for kind in one.counted.keys() & other.counted.keys():
        if one.counted[kind] != other.counted[kind]:
            score += weights["ordinal"] * (1 if one.counted[kind] < other.counted[kind] else -1)
    return score


@lru_cache(maxsize=4096)
def _read(step: str) -> _ReadStep:
    rules = OrderRules.shipped()
    words = [word.casefold() for word in _WORD.findall(step[:4_000])][:_LONGEST]
    own = stemmer().stemWords(words)
    pointed = {stem for at, word in enumerate(words) if word in _POINTING for stem in own[at + 1 : at + 3]}
    staged = [rules.stage_of[stem] for stem in own if stem in rules.stage_of]
    found = frozenset(own) - stems(empty_words())
    near = " ".join(words[:_NEAR])
    before, after = (frozenset(n for n, side in enumerate(sides) if side.intersection(own)) for sides in rules.sides)
    counted: dict[str, int] = {}
    for kind, number in _COUNTED.findall(step)[:_MOST_COUNTED]:
        counted.setdefault(kind.casefold(), int(number) if number.isdigit() else ord(number.casefold()))
    return _ReadStep(
        stems=found,
        pointed=found & pointed,
        # What a step begins with is what it does; the rest of its words are what it does it with.
        stage=(2 * staged[0] + sum(staged)) / (2 + len(staged)) if staged else None,
        before=before,
        after=after,
        cues=frozenset(cue for cue, pattern in rules.cues.items() if pattern.search(near)),
        counted=counted,
    )
