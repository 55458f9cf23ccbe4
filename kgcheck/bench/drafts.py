"""Items before they are built: what is asked and what is right, in plain tuples, so that only chosen ones cost time."""

from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

from kgcheck.bench.items import BenchLabel, Item, TaskType, Truth
from kgcheck.bench.seeded import Seed
from kgcheck.model import Ref, Triple

_WORDS: dict[str, tuple[str, ...]] = {
    "existence": (
        "Does the node of type '{0.label}' with id '{0.id}' still exist in the database that issues the id?",
        "Look the node of type '{0.label}' with id '{0.id}' up: is it current both in the graph and outside?",
    ),
    "attribute": (
        "Is the '{2}' attribute of the node of type '{0.label}' with id '{0.id}' what its source says today?",
        "Compare the '{2}' attribute of the node of type '{0.label}' with id '{0.id}' with its source.",
    ),
    "edge": (
        "Is the graph right about {2} from the node of type '{0.label}' with id '{0.id}' to the node of type"
        " '{1.label}' with id '{1.id}', whether it has that edge or not?",
        "Check {2} between the node of type '{0.label}' with id '{0.id}' and the node of type '{1.label}'"
        " with id '{1.id}': does what the graph has, or lacks, agree with the outside world?",
    ),
}
_ASK = " Answer with one of the two words of the benchmark."


class ItemDraft(NamedTuple):
    """One item to be; ``seed`` holds the kind of the change and what it needs beside the ends."""

    kind: TaskType
    words: tuple[str, ...]
    label: BenchLabel
    ends: tuple[tuple[str, str], ...]
    source: str = ""
    record: str = ""
    reason: str = ""
    seed: tuple[str, str] | None = None
    error: str = ""

    @property
    def is_real(self) -> bool:
        """Whether the graph is asked about as it is."""
        return self.seed is None

    def item(self, truth_from: str = "") -> Item:
        """The item."""
        refs = [Ref(label=label, id=id_) for label, id_ in self.ends]
        form, what = ("edge", self.words[1]) if len(refs) > 1 else (self.words[0], self.words[-1])
        digest = sha256(" ".join(self.words).encode()).hexdigest()
        text = _WORDS[form][int(digest[:4], 16) % len(_WORDS[form])].format(refs[0], refs[-1], what) + _ASK
        seed = self._seed(refs)
        named = sha256(f"{' '.join(self.words)}|{seed}".encode()).hexdigest()[:12]
        truth = Truth(
            source=self.source,
            record=self.record,
            reason=self.reason,
            origin="real" if seed is None else "seeded",
            error=self.error,
            truth_from=truth_from,
        )
        return Item(
            id=named, type=self.kind, instruction=text, check=self.words, label=self.label, seed=seed, truth=truth
        )

    def _seed(self, refs: Sequence[Ref]) -> Seed | None:
        if self.seed is None:
            return None
        kind, other = self.seed
        made: dict[str, Any] = {"kind": kind}
        if kind == "set_value":
            made |= {"ref": refs[0], "attribute": self.words[-1], "value": other}
        elif kind == "rename_node":
            made |= {"ref": Ref(label=refs[0].label, id=other), "to": refs[0].id}
        elif kind == "move_edge":
            # What is asked is where the edge was moved to.
            was = Ref(label=refs[1].label, id=other)
            made |= {"triple": Triple(head=refs[0], relation=self.words[1], tail=was), "to": refs[1].id}
        else:
            made |= {"triple": Triple(head=refs[0], relation=self.words[1], tail=refs[1])}
        return Seed.model_validate(made)


Cell = tuple[list[ItemDraft], list[ItemDraft]]
"""Drafts to support and to refute, in random order, of one part of the schema."""


def balanced(cells: Iterable[Cell], wanted: int) -> list[ItemDraft]:
    """As many drafts of each label from every cell, cells taking turns, no check twice."""
    chosen: list[ItemDraft] = []
    used: set[tuple[str, ...]] = set()
    queues = [(list(a), list(b)) for a, b in cells]
    while queues and len(chosen) + 2 <= wanted:
        left = []
        for support, refute in queues:
            if len(chosen) + 2 > wanted:
                break
            pair = [_next(support, used), _next(refute, used)]
            if pair[0] and pair[1]:
                chosen += [draft for draft in pair if draft]
                left.append((support, refute))
        queues = left
    return chosen


def _next(queue: list[ItemDraft], used: set[tuple[str, ...]]) -> ItemDraft | None:
    """The next draft about something that no item asks yet, three times of four a real one if there is one."""
    fresh = [draft for draft in queue if draft.words not in used]
    queue[:] = fresh
    if not fresh:
        return None
    draft = next((d for d in fresh if d.is_real), fresh[0]) if len(used) % 4 else fresh[0]
    queue.remove(draft)
    used.add(draft.words)
    return draft
