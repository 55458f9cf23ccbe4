"""BenchMaker: make a balanced KGCheck set over any graph, with real errors and seeded ones.

Real items state what the graph has; seeded ones put an error into the graph for themselves alone, so that the truth is
known. A cell is a task type on one label, attribute or relation; each cell has as many items to support as to refute.
Candidates are sampled before anything is built: a graph of millions of edges makes no more items than are wanted.
"""

import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256
from itertools import islice
from typing import Any, NamedTuple, TypeVar

from kgcheck.agents.request import TaskType
from kgcheck.bench.items import BenchLabel, Item, Seed, Truth
from kgcheck.bench.truth import Links, TrueState, TruthSource, in_one_order
from kgcheck.errors import UsageError
from kgcheck.graph.store import NO_ID, GraphStore
from kgcheck.model import Ref, Triple, Value
from kgcheck.plurals import how_many
from kgcheck.profile.catalogue import EdgeCheck
from kgcheck.profile.schema import Label, Pattern
from kgcheck.progress import NoProgress, Progress

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
        return self.seed is None

    def item(self, truth_from: str = "") -> Item:
        """Build the item."""
        refs = [Ref(label=label, id=id_) for label, id_ in self.ends]
        form, subject = ("edge", self.words[1]) if len(refs) > 1 else (self.words[0], self.words[-1])
        digest = sha256(" ".join(self.words).encode()).hexdigest()
        text = _WORDS[form][int(digest[:4], 16) % len(_WORDS[form])].format(refs[0], refs[-1], subject) + _ASK
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


Pair = tuple[str, str]
S = TypeVar("S", str, Pair)
T = TypeVar("T")

_TRIES = 200
"""Random pairs that are looked at for those that nobody states."""


class BenchSet(Value):
    """A set of items and how it is composed."""

    items: tuple[Item, ...]
    cells: dict[str, dict[BenchLabel, int]]


class BenchMaker:
    """Makes a set."""

    def __init__(self, store: GraphStore, truths: TruthSource, seed: int = 0, progress: Progress | None = None) -> None:
        self._store = store
        self._truths = truths
        self._random = random.Random(seed)  # noqa: S311 - a choice that can be repeated, not a secret
        self._progress = progress or NoProgress()
        self._lives: dict[str, dict[str, TrueState]] = {}
        self._ids_of: dict[str, list[str]] = {}
        self._enough = 0

    def make(self, per_type: int) -> BenchSet:
        """Make a set."""
        drafts: list[ItemDraft] = []
        # No cell gives more than all items of its type.
        self._enough = per_type
        with self._progress.step("choosing items", len(TaskType)) as step:
            for kind in TaskType:
                cells = [c for c in self._cells(kind) if min(len(c[0]), len(c[1])) > 0]
                drafts += balanced(cells, per_type)
                step.advance()
        if not drafts:
            raise UsageError(
                "what is known to be true decides nothing of this graph", "take one that speaks of its nodes"
            )
        self._random.shuffle(drafts)
        items = [draft.item(self._truths.name) for draft in drafts]
        return BenchSet(items=tuple(items), cells=_counted(items))

    def _cells(self, kind: TaskType) -> Iterator[Cell]:
        """Drafts to support and to refute, in random order, of each part of the schema."""
        schema = self._store.schema
        match kind:
            case TaskType.EXISTENCE:
                for label in schema.labels:
                    yield self._cell(*self._existence(label))
            case TaskType.ATTRIBUTE:
                for label in schema.labels:
                    for attribute in label.attributes:
                        yield self._cell(*self._attribute(label, attribute))
            case _:
                for pattern in schema.relations:
                    if _kind_of(pattern) is kind:
                        for check in pattern.checks[:1] if kind is not TaskType.CURATED else pattern.checks:
                            yield self._cell(*self._edges(kind, pattern, check))

    def _cell(self, *streams: Iterable[ItemDraft]) -> Cell:
        """As many of every kind of draft as can be needed, in random order."""
        drafts = [draft for stream in streams for draft in islice(stream, self._enough)]
        self._random.shuffle(drafts)
        return [d for d in drafts if d.label == "support"], [d for d in drafts if d.label == "refute"]

    def _some(self, found: Iterable[S]) -> list[S]:
        """Ids, or pairs of them, in a random order that the seed alone decides."""
        order = sorted(found)
        self._random.shuffle(order)
        return order

    def _ids(self, label: Label) -> list[str]:
        if label.name not in self._ids_of:
            found = (i for t in self._store.scan_nodes(label) for i in t.column("id").to_pylist() if i != NO_ID)
            self._ids_of[label.name] = sorted(found)
        return self._ids_of[label.name]

    def _life(self, label: str) -> dict[str, TrueState]:
        if label not in self._lives:
            self._lives[label] = self._truths.lives(self._store.schema.label(label))
        return self._lives[label]

    # --- nodes ---------------------------------------------------------------------------------------

    def _existence(self, label: Label) -> Iterator[Iterable[ItemDraft]]:
        lives, ids = self._life(label.name), self._ids(label)
        known = [i for i in ids if i in lives and lives[i].is_known]
        current = self._some(i for i in known if lives[i].state == "current")
        gone = self._some(i for i in known if lives[i].state != "current")
        yield (self._node(label, id_, "support", lives[id_]) for id_ in current)
        yield (self._node(label, id_, "refute", lives[id_]) for id_ in gone)
        if current and not label.shares_ids_with:
            there = set(ids)
            deleted = self._some(
                i for i, life in lives.items() if life.reason and life.state != "current" and i not in there
            )
            yield (
                self._node(label, id_, "refute", lives[id_], ("rename_node", self._random.choice(current)))
                for id_ in deleted
                if label.matches(id_)
            )

    def _node(
        self, label: Label, id_: str, right: BenchLabel, life: TrueState, seed: tuple[str, str] | None = None
    ) -> ItemDraft:
        source = life.source or label.authority.source
        error = "deleted id" if seed else ""
        words, ends = ("existence", label.name, id_), ((label.name, id_),)
        return ItemDraft(TaskType.EXISTENCE, words, right, ends, source, life.record, life.reason, seed, error)

    def _attribute(self, label: Label, attribute: str) -> Iterator[Iterable[ItemDraft]]:
        check = label.attributes[attribute]
        if check.every or label.properties[attribute].type != "string":
            return
        right, lives = self._truths.values(label, check.source, check.reference), self._life(label.name)
        stated_values = {
            id_: value
            for table in self._store.scan_nodes(label)
            for id_, value in zip(table.column("id").to_pylist(), table.column(attribute).to_pylist(), strict=True)
            if value and id_ in right and (id_ not in lives or lives[id_].state == "current")
        }
        others = sorted(set(stated_values.values()))
        same = [i for i, value in stated_values.items() if value == right[i] or _folded(value) == _folded(right[i])]
        differ = self._some(stated_values.keys() - same)
        same = self._some(same)

        def draft(id_: str, label_: BenchLabel, reason: str = "", wrong: str = "") -> ItemDraft:
            words, ends = ("attribute", label.name, id_, attribute), ((label.name, id_),)
            seed, error = (("set_value", wrong), "wrong value") if wrong else (None, "")
            return ItemDraft(TaskType.ATTRIBUTE, words, label_, ends, check.source, "", reason, seed, error)

        yield (draft(i, "support", "confirmed" if stated_values[i] == right[i] else "formatting") for i in same)
        yield (draft(i, "refute") for i in differ)
        wrongs = ((i, self._random.choice(others)) for i in same)
        yield (draft(i, "refute", wrong=wrong) for i, wrong in wrongs if _folded(wrong) != _folded(right[i]))

    # --- edges ---------------------------------------------------------------------------------------

    def _edges(self, kind: TaskType, pattern: Pattern, check: EdgeCheck) -> Iterator[Iterable[ItemDraft]]:
        links = self._truths.links(pattern, check.source, check.threshold)
        if not (links.linked or links.refuted):
            return
        tables = self._store.scan_edges(pattern.ends_alone)
        pairs = [
            pair
            for table in tables
            for pair in zip(table.column("head").to_pylist(), table.column("tail").to_pylist(), strict=True)
        ]
        stated = (
            {in_one_order(pattern, p): p for p in pairs} if pattern.symmetric else dict(zip(pairs, pairs, strict=True))
        )
        heads, tails = self._current(pattern.head), self._current(pattern.tail)
        looped = pattern.loops or pattern.head != pattern.tail

        def as_stated(pairs: Iterable[Pair]) -> Iterator[Pair]:
            """As the graph states them."""
            for pair in pairs:
                head, tail = stated.get(pair, pair)
                if head in heads and tail in tails and (looped or head != tail):
                    yield head, tail

        def draft(pair: Pair, label: BenchLabel, seed: tuple[str, str] | None = None, error: str = "") -> ItemDraft:
            words, ends = (pair[0], pattern.type, pair[1]), ((pattern.head, pair[0]), (pattern.tail, pair[1]))
            return ItemDraft(kind, words, label, ends, check.source, "", "", seed, error)

        graph, linked = stated.keys(), links.linked.keys()
        both, lacking = self._some(graph & linked), self._some(linked - graph)
        yield (draft(p, "support") for p in as_stated(both))
        yield (draft(p, "refute", ("drop_edge", ""), "dropped edge") for p in as_stated(reversed(both)))
        yield (draft(p, "refute") for p in as_stated(lacking))
        yield (draft(p, "support", ("add_edge", "")) for p in as_stated(reversed(lacking)))
        stray = self._some(graph - linked)
        yield (draft(p, "refute") for p in as_stated(stray) if self._refutable(links, check, *p))
        unlinked = self._unlinked(pattern, check, links, set(graph), (sorted(heads), sorted(tails)))
        yield (draft(p, "refute", ("add_edge", ""), "made-up edge") for p in unlinked)
        if kind is not TaskType.CURATED:
            yield (draft(p, "support") for p in unlinked)
        by_head: dict[str, str] = {}
        for head, tail in as_stated(both):
            by_head.setdefault(head, tail)
        moved = ((p, by_head[p[0]]) for p in unlinked if p[0] in by_head)
        yield (draft(p, "refute", ("move_edge", was), "re-pointed edge") for p, was in moved)

    def _unlinked(
        self,
        pattern: Pattern,
        check: EdgeCheck,
        links: Links,
        graph: set[Pair],
        ends: tuple[Sequence[str], Sequence[str]],
    ) -> list[Pair]:
        """Pairs that neither the graph nor the source has: right as they are, wrong with a seeded edge."""
        heads = sorted({h for pair in links.linked for h in pair} & set(ends[0]))
        tails = sorted({t for pair in links.linked for t in pair} & set(ends[1]))
        found = [p for p in self._some(links.refuted) if in_one_order(pattern, p) not in graph]
        found = [p for p in found if p[0] in set(ends[0]) and p[1] in set(ends[1])]
        seen: set[Pair] = set(found)
        for _ in range(min(_TRIES, len(heads) * len(tails))):
            pair = self._random.choice(heads), self._random.choice(tails)
            placed = in_one_order(pattern, pair)
            if pair[0] == pair[1] or placed in graph or placed in seen:
                continue
            if self._refutable(links, check, *pair):
                seen.add(placed)
                found.append(pair)
        return found

    def _refutable(self, links: Links, check: EdgeCheck, head: str, tail: str) -> bool:
        """Tell whether a link is known not to hold: said outright, or a source that would have it has none."""
        pairs = ((head, tail), (tail, head))
        if any(p in links.refuted for p in pairs[: 1 if check.match != "either_order" else 2]):
            return True
        if any(p in links.linked or p in links.denied for p in pairs) or check.match == "descendant":
            return False
        return links.lists(head, tail, both_ends=check.both_ends_mapped)

    def _current(self, label: str) -> set[str]:
        """Ids in the graph that their authority has as current, or does not speak about."""
        lives = self._life(label)
        return {i for i in self._ids(self._store.schema.label(label)) if i not in lives or lives[i].state == "current"}


def _kind_of(pattern: Pattern) -> TaskType:
    if pattern.head == pattern.tail and pattern.symmetric:
        return TaskType.CURATED if pattern.type.startswith("CURATED") else TaskType.INTERACTION
    return TaskType.RELATION


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def _counted(items: Iterable[Item]) -> dict[str, dict[BenchLabel, int]]:
    cells: dict[str, Counter[BenchLabel]] = {}
    for item in items:
        cells.setdefault(cell_of(item), Counter())[item.label] += 1
    return {name: dict(sorted(counts.items())) for name, counts in sorted(cells.items())}


def cell_of(item: Item) -> str:
    """Type and part of the schema of an item."""
    part = item.check[1] if item.type in (TaskType.EXISTENCE, TaskType.ATTRIBUTE) or len(item.check) == 3 else ""
    return f"{item.type.value}: {part}{'.' + item.check[3] if item.type is TaskType.ATTRIBUTE else ''}"


def leaks(items: Sequence[Item]) -> list[str]:
    """Find what gives answers away: items asked twice, cells out of balance, answers in the words, wordings."""
    found = [f"{' '.join(c)} is asked {n} times" for c, n in Counter(i.check for i in items).items() if n > 1]
    for name, counts in _counted(items).items():
        if abs(counts.get("support", 0) - counts.get("refute", 0)) > 1:
            found.append(f"{name} is not balanced: {counts}")
    for item in items:
        words = set(re.findall(r"\w+", item.instruction.lower()))
        if words & {"support", "refute", "seeded", item.truth.reason or "support"}:
            found.append(f"item {item.id} has its answer in its words")
    by_wording: dict[tuple[str, str], Counter[str]] = {}
    for item in items:
        by_wording.setdefault((item.type.value, item.instruction.split()[0]), Counter())[item.label] += 1
    for (kind, word), labels in by_wording.items():
        total = sum(labels.values())
        if total >= 20 and max(labels.values()) > 0.75 * total:
            found.append(f"the wording {word!r} of {kind} gives the label away: {dict(labels)}")
    return found


DEV_SHARE = 1 / 11
"""Share of a set that is its dev part, as in BioKGBench: one item to about ten of the test part."""


def dev_and_test(
    items: Sequence[T], entities: Callable[[T], Iterable[str]], *, share: float = DEV_SHARE, seed: int = 0
) -> tuple[list[T], list[T]]:
    """Split items into a dev and a test part, so that no entity that is asked about is in both; answers may recur.

    >>> dev_and_test(["a b", "c", "b d"], str.split, share=0.3)
    (['c'], ['a b', 'b d'])
    """
    joined: dict[str, str] = {}

    def group(name: str) -> str:
        while joined.setdefault(name, name) != name:
            name = joined[name]
        return name

    named = [list(entities(item)) or [f"item {number}"] for number, item in enumerate(items)]
    for names in named:
        for name in names[1:]:
            joined[group(name)] = group(names[0])
    parts: dict[str, list[int]] = {}
    for number, names in enumerate(named):
        parts.setdefault(group(names[0]), []).append(number)
    order = list(parts.values())
    random.Random(seed).shuffle(order)  # noqa: S311 - a choice that can be repeated, not a secret
    wanted, dev = max(round(share * len(items)), 1), set[int]()
    for part in order:
        if len(dev) + len(part) <= wanted:
            dev.update(part)
    if not dev:
        raise UsageError(
            f"no dev part: all groups of items that share an entity have over {how_many(wanted, 'item')}",
            "make a larger set",
        )
    return [i for n, i in enumerate(items) if n in dev], [i for n, i in enumerate(items) if n not in dev]


def entities_of(item: Item) -> tuple[str, ...]:
    """Name the nodes that an item asks about, by their ids."""
    return item.check[2:3] if item.type in (TaskType.EXISTENCE, TaskType.ATTRIBUTE) else item.check[::2]
