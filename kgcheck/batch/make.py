"""``kgcheck bench make``: a benchmark set over any graph and snapshot, balanced, with truth that no verdict made.

Real items state what the graph has; seeded ones change the graph for themselves alone, so that the truth is known. A
cell is a task type on one label, attribute or relation; each cell has as many items to support as to refute.
"""

import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256

from kgcheck.batch.items import BenchLabel, Item, TaskType, Truth
from kgcheck.batch.seeded import Seed
from kgcheck.batch.truth import Life, Links, Truths, in_one_order
from kgcheck.checks.catalogue import EdgeCheck
from kgcheck.errors import UsageError
from kgcheck.graph.schema import Label, Pattern
from kgcheck.graph.store import NO_ID, GraphStore
from kgcheck.model import Ref, Triple, Value
from kgcheck.progress import NoProgress, Progress

_TRIES = 200
"""Random pairs that are looked at for each one that is wanted."""

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


class Leak(Value):
    """Something about a set that gives answers away."""

    what: str


class BenchSet(Value):
    """A set of items and how it is composed."""

    items: tuple[Item, ...]
    cells: dict[str, dict[BenchLabel, int]]


class BenchMaker:
    """Makes a set.

    Args:
        store: The graph.
        truths: The snapshot.
        seed: Of the random choice; the same seed gives the same set.
        progress: Shown the cells.
    """

    def __init__(self, store: GraphStore, truths: Truths, seed: int = 0, progress: Progress | None = None) -> None:
        self._store = store
        self._truths = truths
        self._random = random.Random(seed)  # noqa: S311 - a choice that can be repeated, not a secret
        self._progress = progress or NoProgress()
        self._lives: dict[str, dict[str, Life]] = {}

    def make(self, per_type: int) -> BenchSet:
        """Make a set.

        Args:
            per_type: Items of each of the five types, where the graph and the snapshot have as many.

        Returns:
            The set, shuffled.

        Raises:
            UsageError: Neither has anything to ask about.
        """
        items: list[Item] = []
        with self._progress.step("choosing items", len(TaskType)) as step:
            for kind in TaskType:
                cells = [c for c in self._cells(kind) if min(len(c[0]), len(c[1])) > 0]
                items += _balanced(cells, per_type)
                step.advance()
        if not items:
            raise UsageError("the snapshot decides nothing of this graph", "build one that speaks of its nodes")
        self._random.shuffle(items)
        return BenchSet(items=tuple(items), cells=_counted(items))

    def _cells(self, kind: TaskType) -> Iterator[tuple[list[Item], list[Item]]]:
        """Items to support and to refute, in random order, of each part of the schema."""
        schema = self._store.schema
        match kind:
            case TaskType.EXISTENCE:
                for label in schema.labels:
                    yield self._shuffled(self._existence(label))
            case TaskType.ATTRIBUTE:
                for label in schema.labels:
                    for attribute in label.attributes:
                        yield self._shuffled(self._attribute(label, attribute))
            case _:
                for pattern in schema.relations:
                    if _kind_of(pattern) is kind:
                        for check in pattern.checks[:1] if kind is not TaskType.CURATED else pattern.checks:
                            yield self._shuffled(self._edges(kind, pattern, check))

    def _shuffled(self, items: Iterable[Item]) -> tuple[list[Item], list[Item]]:
        found = sorted(items, key=lambda i: i.id)
        self._random.shuffle(found)
        return [i for i in found if i.label == "support"], [i for i in found if i.label == "refute"]

    def _ids(self, label: Label) -> list[str]:
        return sorted(i for t in self._store.scan_nodes(label) for i in t.column("id").to_pylist() if i != NO_ID)

    def _life(self, label: str) -> dict[str, Life]:
        if label not in self._lives:
            self._lives[label] = self._truths.lives(self._store.schema.label(label))
        return self._lives[label]

    def _existence(self, label: Label) -> Iterator[Item]:
        lives = self._life(label.name)
        for id_ in self._ids(label):
            life = lives.get(id_)
            if life and life.reason:
                right: BenchLabel = "support" if life.state == "current" else "refute"
                truth = Truth(source=label.authority.source, record=life.record, reason=life.reason, origin="real")
                yield _item(
                    TaskType.EXISTENCE, ("existence", label.name, id_), right, truth, Ref(label=label.name, id=id_)
                )

    def _attribute(self, label: Label, attribute: str) -> Iterator[Item]:
        check = label.attributes[attribute]
        if check.every or label.properties[attribute].type != "string":
            return
        right, lives = self._truths.values(check.source, check.reference), self._life(label.name)
        held = {
            row["id"]: row[attribute]
            for table in self._store.scan_nodes(label)
            for row in table.select(["id", attribute]).to_pylist()
            if row["id"] in right and row[attribute]
        }
        others = sorted(set(held.values()))
        for id_, value in sorted(held.items()):
            if id_ in lives and lives[id_].state != "current":
                continue
            ref, words = Ref(label=label.name, id=id_), ("attribute", label.name, id_, attribute)
            same = _folded(value) == _folded(right[id_])
            reason = "confirmed" if value == right[id_] else "formatting" if same else ""
            truth = Truth(source=check.source, reason=reason, origin="real")
            if same:
                yield _item(TaskType.ATTRIBUTE, words, "support", truth, ref)
                wrong = self._random.choice(others)
                if _folded(wrong) != _folded(right[id_]):
                    seed = Seed(kind="set_value", ref=ref, attribute=attribute, value=wrong)
                    bad = Truth(source=check.source, origin="seeded")
                    yield _item(TaskType.ATTRIBUTE, words, "refute", bad, ref, seed=seed)
            else:
                yield _item(TaskType.ATTRIBUTE, words, "refute", truth, ref)

    def _edges(self, kind: TaskType, pattern: Pattern, check: EdgeCheck) -> Iterator[Item]:
        links = self._truths.links(pattern, check.source, check.threshold)
        if not links.linked:
            return
        graph = {
            (h, t)
            for table in self._store.scan_edges(pattern)
            for h, t in zip(table.column("head").to_pylist(), table.column("tail").to_pylist(), strict=True)
        }
        heads, tails = self._current(pattern.head), self._current(pattern.tail)
        for head, tail in _pairs(pattern, graph, links):
            if head not in heads or tail not in tails:
                continue
            record = links.linked.get(in_one_order(pattern, (head, tail)), "")
            there = (head, tail) in graph
            if record:
                yield self._edge(kind, pattern, check, (head, tail), "support", record, None if there else "add_edge")
                yield self._edge(kind, pattern, check, (head, tail), "refute", record, "drop_edge" if there else None)
            elif there and self._refutable(links, check, head, tail):
                yield self._edge(kind, pattern, check, (head, tail), "refute", "", None)
        yield from self._unlinked(kind, pattern, check, links, graph, (sorted(heads), sorted(tails)))

    def _unlinked(
        self,
        kind: TaskType,
        pattern: Pattern,
        check: EdgeCheck,
        links: Links,
        graph: set[tuple[str, str]],
        ends: tuple[Sequence[str], Sequence[str]],
    ) -> Iterator[Item]:
        """Pairs that neither the graph nor the source has: right as they are, wrong with a seeded edge."""
        heads = sorted({h for h, _ in links.linked} & set(ends[0]))
        tails = sorted({t for _, t in links.linked} & set(ends[1]))
        seen: set[tuple[str, str]] = set()
        for _ in range(min(_TRIES, len(heads) * len(tails))):
            pair = self._random.choice(heads), self._random.choice(tails)
            back = (pair[1], pair[0])
            if pair[0] == pair[1] or {pair, back} & (graph | seen) or not self._refutable(links, check, *pair):
                continue
            seen.add(pair)
            yield self._edge(kind, pattern, check, pair, "refute", "", "add_edge")
            if kind is not TaskType.CURATED:
                yield self._edge(kind, pattern, check, pair, "support", "", None)

    def _refutable(self, links: Links, check: EdgeCheck, head: str, tail: str) -> bool:
        """Whether the source would have the link and has it in no order, at no score."""
        pairs = ((head, tail), (tail, head))
        if any(p in links.linked or p in links.denied for p in pairs) or check.match == "descendant":
            return False
        return links.lists(head, tail, both=check.both_ends_mapped)

    def _current(self, label: str) -> set[str]:
        """Ids in the graph that their authority has as current, or does not speak about."""
        lives = self._life(label)
        return {i for i in self._ids(self._store.schema.label(label)) if i not in lives or lives[i].state == "current"}

    def _edge(
        self,
        kind: TaskType,
        pattern: Pattern,
        check: EdgeCheck,
        pair: tuple[str, str],
        label: BenchLabel,
        record: str,
        seed: str | None,
    ) -> Item:
        head, tail = Ref(label=pattern.head, id=pair[0]), Ref(label=pattern.tail, id=pair[1])
        change = None
        if seed:
            made = "add_edge" if seed == "add_edge" else "drop_edge"
            change = Seed.model_validate(
                {"kind": made, "triple": Triple(head=head, relation=pattern.type, tail=tail).model_dump()}
            )
        truth = Truth(source=check.source, origin="seeded" if seed else "real")
        return _item(kind, (head.id, pattern.type, tail.id), label, truth, head, tail, seed=change)


def _kind_of(pattern: Pattern) -> TaskType:
    if pattern.head == pattern.tail and pattern.symmetric:
        return TaskType.CURATED if pattern.type.startswith("CURATED") else TaskType.INTERACTION
    return TaskType.RELATION


def _pairs(pattern: Pattern, graph: Iterable[tuple[str, str]], links: Links) -> list[tuple[str, str]]:
    """The pairs of the graph and those that a source links, each once: as the graph has it, where it does."""
    found = {in_one_order(pattern, pair): pair for pair in (*sorted(links.linked), *sorted(graph, reverse=True))}
    one_label = pattern.head == pattern.tail
    return sorted((h, t) for h, t in found.values() if h != t or pattern.loops or not one_label)


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def _item(
    kind: TaskType,
    words: tuple[str, ...],
    label: BenchLabel,
    truth: Truth,
    ref: Ref,
    other: Ref | None = None,
    *,
    seed: Seed | None = None,
) -> Item:
    form = "edge" if other else words[0]
    said = words[1] if other else words[-1]
    # The wording must not hang on the label: it is chosen by the ids alone.
    digest = sha256(" ".join(words).encode()).hexdigest()
    choice = _WORDS[form][int(digest[:4], 16) % len(_WORDS[form])]
    named = sha256(f"{' '.join(words)}|{seed}".encode()).hexdigest()[:12]
    text = choice.format(ref, other, said) + _ASK
    return Item(id=named, type=kind, instruction=text, check=words, label=label, seed=seed, truth=truth)


def _balanced(cells: list[tuple[list[Item], list[Item]]], wanted: int) -> list[Item]:
    """As many items of each label from every cell, cells taking turns, no check twice."""
    chosen: list[Item] = []
    used: set[tuple[str, ...]] = set()
    queues = [(list(a), list(b)) for a, b in cells]
    while queues and len(chosen) + 2 <= wanted:
        left = []
        for support, refute in queues:
            pair = [_next(support, used), _next(refute, used)]
            if len(chosen) + 2 > wanted:
                break
            if pair[0] and pair[1]:
                chosen += [item for item in pair if item]
                left.append((support, refute))
        queues = left
    return chosen


def _next(queue: list[Item], used: set[tuple[str, ...]]) -> Item | None:
    """The next item about something that no item asks yet, real ones first."""
    fresh = [item for item in queue if item.check not in used]
    queue[:] = fresh
    if not fresh:
        return None
    item = next((i for i in fresh if i.truth.origin == "real"), fresh[0]) if len(used) % 4 else fresh[0]
    queue.remove(item)
    used.add(item.check)
    return item


def _counted(items: Iterable[Item]) -> dict[str, dict[BenchLabel, int]]:
    cells: dict[str, Counter[BenchLabel]] = {}
    for item in items:
        cells.setdefault(cell_of(item), Counter())[item.label] += 1
    return {name: dict(sorted(counts.items())) for name, counts in sorted(cells.items())}


def cell_of(item: Item) -> str:
    """Type and part of the schema of an item."""
    part = item.check[1] if item.type in (TaskType.EXISTENCE, TaskType.ATTRIBUTE) or len(item.check) == 3 else ""
    return f"{item.type.value}: {part}{'.' + item.check[3] if item.type is TaskType.ATTRIBUTE else ''}"


def leaks(items: Sequence[Item]) -> list[Leak]:
    """What gives answers away: items asked twice, cells out of balance, answers in the words, wordings of one label.

    Args:
        items: The set.

    Returns:
        Every leak; none for a set that may be used.
    """
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
    return [Leak(what=text) for text in found]
