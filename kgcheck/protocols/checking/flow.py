"""Data flow of the steps of a protocol: makers of inputs, order, and dependencies."""

from collections import deque
from collections.abc import Iterable, Iterator
from functools import cached_property

from kgcheck.literature.polarity import empty_words, stemmer
from kgcheck.protocols.checking.remarks import StudyRemark, StudyRemarked, remarked
from kgcheck.protocols.protocol import StudyProtocol

Words = frozenset[str]

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
        for step in self._steps:
            for name, makers in self.makers[step.id].items():
                earlier = [m for m in makers if self._place[m] < self._place[step.id]]
                later = [m for m in makers if self._place[m] > self._place[step.id]]
                words = item_words(name)
                if earlier or not words or any(words <= known for known in given):
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

    def _given(self) -> list[Words]:
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
        """By step, those that use what it makes, in the order of the protocol."""
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


def item_words(name: str) -> Words:
    """The stems of the words of a name that name something.

    >>> sorted(item_words("the normalised counts of the gene"))
    ['count', 'gene', 'normalis']
    """
    parts = "".join(c if c.isalnum() else " " for c in name.casefold()).split()
    return frozenset(stemmer().stemWords([part for part in parts if part not in empty_words()]))
