"""Make questions from a graph whose whole answer a reference confirms, with distractors that are never true.

A node's neighbours over a relation are verified where a closed source lists the node, the graph and the source have the
same ones, no other source has more or denies one, and all ids are current. Answers are put together from such
neighbours alone, and a question counts only where `ask` understands its words and finds the same answer in the graph.
Forms with a condition on a property, or an order, are not made: no link verifies a property.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice, product
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from kgcheck.bench.question_sets import LETTERS, BenchQuestion, question_id
from kgcheck.bench.truth import Links, TrueState, TruthSource
from kgcheck.errors import UsageError
from kgcheck.graph.store import GraphStore
from kgcheck.model import Ref, Value, World
from kgcheck.profile.catalogue import EdgeCheck
from kgcheck.profile.schema import Pattern
from kgcheck.profile.toml_files import read_value
from kgcheck.progress import NoProgress, Progress
from kgcheck.questions.answer import Answer, Status
from kgcheck.questions.plan import Anchor, Plan, many_of
from kgcheck.resources import resource_dir

MOST_ANSWERS = 12
"""Answers of one question; nobody reads more."""

_OPTIONS = 4
_TRIES = 200
"""Nodes of a relation that a form tries."""

_NEAR = 6
"""Second nodes that are tried for a first one."""

_NOT_UNDERSTOOD = 3
"""Questions of a form over a relation of which no wording is understood, after which no more are tried."""


class _Wordings(Value):
    related: tuple[str, ...]
    forms: dict[str, tuple[str, ...]]


@cache
def _wordings() -> _Wordings:
    return read_value(resource_dir("corpus") / "bench" / "graph_questions.toml", _Wordings)


class Side(NamedTuple):
    """A relation seen from one of its ends."""

    pattern: Pattern
    out: bool

    @property
    def named(self) -> str:
        """Label of the node that a question names."""
        return self.pattern.head if self.out else self.pattern.tail

    @property
    def wanted(self) -> str:
        """Label of what it asks for."""
        return self.pattern.tail if self.out else self.pattern.head


class GraphQuestion(NamedTuple):
    """A question to be: its form, the relation that leads to its answer, what it names, and the answer."""

    form: str
    side: Side
    label: str
    named: tuple[str, ...]
    answers: frozenset[str]
    holds: bool | None = None
    via: str = ""
    hops: int = 1


Neighbours = Mapping[str, set[str]]


class _KnownLinks(NamedTuple):
    """Links of one check: by head, by tail, and what its source lists."""

    check: EdgeCheck
    links: Links
    by_head: Neighbours
    by_tail: Neighbours
    denied: Neighbours

    def of(self, node: str, *, out: bool) -> set[str]:
        """Nodes that the source links with a node."""
        return (self.by_head if out else self.by_tail).get(node, set())


class VerifiedNeighbours:
    """Neighbours of nodes as far as graph and reference agree on all of them."""

    def __init__(self, store: GraphStore, truths: TruthSource) -> None:
        self._store, self._truths = store, truths
        self._edges: dict[str, tuple[Neighbours, Neighbours]] = {}
        self._links: dict[str, list[_KnownLinks]] = {}
        self._lives: dict[str, dict[str, TrueState]] = {}
        self._above: dict[str, Neighbours] = {}
        self._below: dict[str, Neighbours] = {}

    def nodes(self, side: Side) -> list[str]:
        """Nodes whose neighbours are verified, in one order."""
        return [node for node in sorted(self._graph(side.pattern)[0 if side.out else 1]) if self.of(side, node)]

    def of(self, side: Side, node: str) -> frozenset[str] | None:
        """All neighbours of a node; None where they cannot be verified."""
        there = self.stated(side, node)
        if not 0 < len(there) <= MOST_ANSWERS or not self._are_current(side, node, there):
            return None
        known = [(one, one.of(node, out=side.out)) for one in self._known(side.pattern)]
        if any(linked - there or one.denied.get(node, set()) & there for one, linked in known):
            return None
        if not any(
            _is_closed(one) and one.links.lists(node, node, both_ends=True) and linked == there for one, linked in known
        ):
            return None
        if not side.out and any(self.stated(side, below) - there for below in self.below(side.named, node)):
            # What belongs to a narrower term belongs to this one, too.
            return None
        return frozenset(there)

    def is_false(self, side: Side, node: str, other: str, answers: frozenset[str]) -> bool:
        """Tell whether graph and reference both know that a node has no such neighbour, not even by a narrower term."""
        if other in answers or other == node or not self._are_current(side, node, {other}):
            return False
        if side.pattern.hierarchy:
            # A grandparent is no parent, and some call it one.
            if other in (self.above if side.out else self.below)(side.named, node):
                return False
        elif any({other, *self.below(side.wanted, other)} & {a, *self.below(side.wanted, a)} for a in answers):
            return False
        near = (
            [node] if side.pattern.hierarchy else [node, *self.below(side.named, node), *self.above(side.named, node)]
        )
        if any(self._are_joined(side, one, other) for one in near):
            return False
        return any(
            _is_closed(one)
            and one.links.lists(node, other, both_ends=one.check.both_ends_mapped)
            and (not one.check.both_ends_mapped or one.links.lists(other, other, both_ends=True))
            for one in self._known(side.pattern)
        )

    def misreadings(self, side: Side, node: str, answers: frozenset[str]) -> Iterator[str]:
        """Nodes that a hasty reader may take for neighbours: denied ones, other ends, siblings, partners' partners."""
        for one in self._known(side.pattern):
            yield from sorted(one.denied.get(node, ()))
        if side.named == side.wanted and not side.pattern.symmetric:
            yield from sorted(self.stated(side._replace(out=not side.out), node))
        for answer in sorted(answers):
            parents = self._parents(side.wanted).get(answer, set())
            yield from sorted(c for c, above in self._parents(side.wanted).items() if above & parents)
        back = side._replace(out=not side.out)
        for partner in sorted({p for answer in answers for p in self.stated(back, answer)} - {node}):
            yield from sorted(self.stated(side, partner))

    def above(self, label: str, node: str) -> set[str]:
        """Broader terms of a term."""
        return _reached(self._parents(label), node)

    def below(self, label: str, node: str) -> set[str]:
        """Narrower terms of a term."""
        self._parents(label)
        return _reached(self._below[label], node)

    def are_related(self, label: str, one: frozenset[str], two: frozenset[str]) -> bool:
        """Tell whether a term of one set is broader than one of the other."""
        return any(self.above(label, a) & two for a in one - two) or any(self.above(label, b) & one for b in two - one)

    def _parents(self, label: str) -> Neighbours:
        """Direct parents by term, in the graph or by any source."""
        if label not in self._above:
            above: dict[str, set[str]] = defaultdict(set)
            for pattern in self._store.schema.relations:
                if pattern.hierarchy and pattern.head == label:
                    for ends in (self._graph(pattern)[0], *(one.by_head for one in self._known(pattern))):
                        for head, tails in ends.items():
                            above[head] |= tails
            self._above[label] = above
            self._below[label] = _turned(above)
        return self._above[label]

    def _are_joined(self, side: Side, node: str, other: str) -> bool:
        """Tell whether any relation of these labels joins two nodes, in the graph or by any source, or might."""
        for pattern in self._store.schema.relations:
            for out in (True, False):
                seen = Side(pattern, out)
                turned = pattern.hierarchy and out != side.out
                if (seen.named, seen.wanted) != (side.named, side.wanted) or turned:
                    continue
                reached = [self.stated(seen, node)]
                reached += [one.of(node, out=out) for one in self._known(pattern)]
                # A score below a threshold is no denial.
                reached += [
                    one.denied.get(node, set()) for one in self._known(pattern) if one.check.threshold is not None
                ]
                if any(other in nodes for nodes in reached):
                    return True
        return False

    def stated(self, side: Side, node: str) -> set[str]:
        """Neighbours of a node in the graph, verified or not."""
        return self._graph(side.pattern)[0 if side.out else 1].get(node, set())

    def _are_current(self, side: Side, node: str, others: set[str]) -> bool:
        ends = [(side.named, node), *((side.wanted, other) for other in others)]
        return all(self._is_current(label, id_) for label, id_ in ends)

    def _is_current(self, label: str, id_: str) -> bool:
        if label not in self._lives:
            self._lives[label] = self._truths.lives(self._store.schema.label(label))
        lives = self._lives[label]
        return not lives or (id_ in lives and lives[id_].state == "current")

    def _graph(self, pattern: Pattern) -> tuple[Neighbours, Neighbours]:
        if str(pattern) not in self._edges:
            pairs = [
                pair
                for table in self._store.scan_edges(pattern.ends_alone)
                for pair in zip(table.column("head").to_pylist(), table.column("tail").to_pylist(), strict=True)
            ]
            self._edges[str(pattern)] = _by_end(pairs, mutual=pattern.symmetric)
        return self._edges[str(pattern)]

    def _known(self, pattern: Pattern) -> list[_KnownLinks]:
        if str(pattern) not in self._links:
            found = []
            for check in pattern.checks:
                links, mutual = (
                    self._truths.links(pattern, check.source, check.threshold),
                    check.match == "either_order",
                )
                refuted, _ = _by_end([*links.denied, *links.refuted], mutual=True)
                found.append(_KnownLinks(check, links, *_by_end(links.linked, mutual=mutual), refuted))
            self._links[str(pattern)] = found
        return self._links[str(pattern)]


def _is_closed(known: _KnownLinks) -> bool:
    return known.check.world is World.CLOSED


def _by_end(pairs: Iterable[tuple[str, str]], *, mutual: bool) -> tuple[Neighbours, Neighbours]:
    """Neighbours of each node by pairs: of heads, and of tails."""
    by_head: dict[str, set[str]] = defaultdict(set)
    for head, tail in pairs:
        by_head[head].add(tail)
        if mutual:
            by_head[tail].add(head)
    return by_head, by_head if mutual else _turned(by_head)


def _turned(ends: Neighbours) -> Neighbours:
    turned: dict[str, set[str]] = defaultdict(set)
    for head, tails in ends.items():
        for tail in tails:
            turned[tail].add(head)
    return turned


def _reached(ends: Neighbours, node: str) -> set[str]:
    found: set[str] = set()
    left = [node]
    while left:
        new = ends.get(left.pop(), set()) - found
        found |= new
        left += new
    return found - {node}


class GraphQuestionMaker:
    """Makes questions, the seed deciding which."""

    def __init__(
        self,
        store: GraphStore,
        truths: TruthSource,
        ask: Callable[[str], Answer],
        seed: int = 0,
        progress: Progress | None = None,
    ) -> None:
        self._store, self._ask = store, ask
        self._verified = VerifiedNeighbours(store, truths)
        self._random = Random(seed)  # noqa: S311 - a choice that can be repeated, not a secret
        self._progress = progress or NoProgress()
        self._orders: list[tuple[Side, list[str]]] = []
        self._meant: dict[tuple[str, str, bool, str], list[Any]] = {}
        self._data = {Path(store.name).name: "graph", truths.name: "reference"}

    def make(self, count: int) -> list[BenchQuestion]:
        """Make so many questions, the forms taking turns; fewer where the graph gives no more."""
        made: dict[str, BenchQuestion] = {}
        sides = [Side(p, out) for p in self._store.schema.relations for out in (True, False)[: 2 - p.symmetric]]
        self._orders = [(side, nodes) for side in sides if (nodes := self._verified.nodes(side))]
        streams = [self._stream(form) for form in (*_wordings().forms, *["choice"] * len(_wordings().forms))]
        with self._progress.step("making questions", count) as step:
            while streams and len(made) < count:
                for stream in [*streams]:
                    question = next(stream, None)
                    if question is None:
                        streams.remove(stream)
                    elif question.id not in made and len(made) < count:
                        made[question.id] = question
                        step.advance()
        if not made:
            raise UsageError(
                "no answer of this graph is verified as a whole",
                "audit it first, or name a reference that lists its nodes",
            )
        return list(made.values())

    def _stream(self, form: str) -> Iterator[BenchQuestion]:
        """Questions of a form, the relations taking turns."""
        orders = [(side, self._random.sample(nodes, len(nodes))) for side, nodes in self._orders]
        for turn in range(_TRIES):
            for side, nodes in orders:
                if turn < len(nodes) and (question := self._question(form, side, nodes, turn)):
                    yield question

    def _question(self, form: str, side: Side, nodes: Sequence[str], at: int) -> BenchQuestion | None:
        answers = self._verified.of(side, nodes[at])
        if answers is None or nodes[at] in answers:
            return None
        if form == "choice":
            return self._choice(GraphQuestion("list", side, side.named, (nodes[at],), answers))
        drafts = self._drafts(form, side, nodes[at], answers, nodes[at + 1 :])
        return next((made for draft in drafts if (made := self._open(draft))), None)

    def _drafts(
        self, form: str, side: Side, node: str, answers: frozenset[str], others: Sequence[str]
    ) -> Iterator[GraphQuestion]:
        match form:
            case "list" | "count":
                yield GraphQuestion(form, side, side.named, (node,), answers)
            case "whether":
                wrong = next(self._wrong(side, node, answers), None)
                holds = wrong is None or self._random.random() < 0.5
                other = self._random.choice(sorted(answers)) if wrong is None or holds else wrong
                yield GraphQuestion(form, side, side.named, (node, other), answers, holds)
            case "two_hops":
                yield from self._two_hops(side, node, answers)
            case _:
                yield from self._of_two(form, side, node, answers, others)

    def _of_two(
        self, form: str, side: Side, node: str, answers: frozenset[str], others: Sequence[str]
    ) -> Iterator[GraphQuestion]:
        """Questions about two nodes; where their answers are broader or narrower than each other, none."""
        back = side._replace(out=not side.out)
        near = sorted({n for answer in answers for n in self._verified.stated(back, answer)} - {node})
        for other in (near or others)[:_NEAR]:
            second = self._verified.of(side, other)
            if second is None or self._verified.are_related(side.wanted, answers, second):
                continue
            found = {"intersection": answers & second, "union": answers | second, "without": answers - second}[form]
            if found and found != answers and node not in found and other not in found:
                yield GraphQuestion(form, side, side.named, (node, other), found)

    def _two_hops(self, side: Side, node: str, via: frozenset[str]) -> Iterator[GraphQuestion]:
        for pattern, out in product(self._store.schema.relations, (True, False)):
            further = Side(pattern, out)
            if further.named != side.wanted or pattern.hierarchy or (pattern.symmetric and not out):
                continue
            reached = [self._verified.of(further, one) for one in sorted(via)]
            known = [nodes for nodes in reached if nodes is not None]
            if len(known) == len(reached) and (found := frozenset().union(*known) - {node}):
                yield GraphQuestion("two_hops", further, side.named, (node,), found, via=side.wanted, hops=2)

    def _wrong(self, side: Side, node: str, answers: frozenset[str]) -> Iterator[str]:
        """Plausible nodes that are no answer, the seed deciding in which order."""
        found = [*dict.fromkeys(self._verified.misreadings(side, node, answers))]
        self._random.shuffle(found)
        return (other for other in found if self._verified.is_false(side, node, other, answers))

    def _open(self, draft: GraphQuestion) -> BenchQuestion | None:
        text = self._understood(draft)
        if text is None:
            return None
        if draft.holds is not None:
            return self._item(draft, text, answer="yes" if draft.holds else "no")
        if draft.form == "count":
            return self._item(draft, text, answer=str(len(draft.answers)))
        names = tuple(self._name(draft.side.wanted, id_) for id_ in sorted(draft.answers))
        return self._item(draft, text, answer=", ".join(names), names=names) if len({*names}) == len(names) else None

    def _choice(self, draft: GraphQuestion) -> BenchQuestion | None:
        text = self._understood(draft)
        right = self._random.sample(sorted(draft.answers), min(len(draft.answers), self._random.choice((1, 1, 2))))
        wrong = [*islice(self._wrong(draft.side, draft.named[0], draft.answers), _OPTIONS - len(right))]
        shown = {id_: self._shown(draft.side.wanted, id_) for id_ in (*right, *wrong)}
        taken = {self._name(draft.side.wanted, id_).casefold() for id_ in draft.answers}
        doubled = any(self._name(draft.side.wanted, id_).casefold() in taken for id_ in wrong)
        if text is None or len(shown) < _OPTIONS or len({*shown.values()}) < len(shown) or doubled:
            return None
        order = sorted(shown)
        self._random.shuffle(order)
        options = {letter: shown[id_] for letter, id_ in zip(LETTERS, order, strict=False)}
        letters = tuple(letter for letter, id_ in zip(LETTERS, order, strict=False) if id_ in right)
        return self._item(draft, text, options=options, right=letters)

    def _item(self, draft: GraphQuestion, text: str, **fields: Any) -> BenchQuestion:
        side, kind = draft.side, "choice" if "options" in fields else draft.form
        return BenchQuestion(
            id=question_id(kind, text),
            form="choice" if kind == "choice" else "open",
            question=text,
            category=f"{kind}: {side.pattern}",
            hops=draft.hops,
            entities=draft.named,
            data=self._data,
            **fields,
        )

    def _understood(self, draft: GraphQuestion) -> str | None:
        """The first wording that is understood as it is meant: `ask` finds the very answer, by that relation."""
        words, place = _wordings(), (draft.form, str(draft.side.pattern), draft.side.out, draft.via)
        second = draft.side.wanted if draft.form == "whether" else draft.label
        wordings = [*product(words.forms[draft.form], words.related, (self._shown, _id_alone))]
        known = self._meant.setdefault(place, [0, None])
        if known[0] >= _NOT_UNDERSTOOD:
            return None
        for wording, related, shown in [known[1], *wordings] if known[1] else wordings:
            if related != words.related[0] and "{related}" not in wording:
                continue
            named = [shown(label, id_) for label, id_ in zip((draft.label, second), draft.named, strict=False)]
            text = wording.format(
                wanted=many_of(draft.side.wanted),
                related=related,
                named=named[0],
                other=named[-1],
                via=many_of(draft.via) if draft.via else "",
            )
            if self._fits(self._ask(text), draft):
                self._meant[place] = [0, (wording, related, shown)]
                return text
            if known[1] and shown == _id_alone:
                # Words that meant it of another node: it is this node that is not understood.
                break
        if not known[1]:
            known[0] += 1
        return None

    def _fits(self, answer: Answer, draft: GraphQuestion) -> bool:
        if answer.status not in (Status.ANSWERED, Status.NOTHING) or draft.side.pattern.type not in answer.read_as:
            return False
        if draft.form == "whether":
            return answer.holds == draft.holds and _is_about(answer.plan, draft)
        # Another relation, or the other direction, may give the same number: of other nodes.
        is_number = draft.form != "count" or answer.count == len(draft.answers)
        return is_number and {found.ref.id for found in answer.found} == draft.answers

    def _name(self, label: str, id_: str) -> str:
        return str((self._store.node(Ref(label=label, id=id_)) or {}).get("name") or id_)

    def _shown(self, label: str, id_: str) -> str:
        name = self._name(label, id_)
        return id_ if name == id_ else f"{name} ({id_})"


def _is_about(plan: Plan | None, draft: GraphQuestion) -> bool:
    """Tell whether a plan asks about the two nodes of a draft, by its relation and in its direction."""
    steps = plan.target.steps if plan and len(plan.target.among) == 1 else ()
    if plan is None or len(steps) != 1 or not isinstance(end := steps[0].to, Anchor):
        return False
    ends = [{ref.id for ref in anchor.refs} for anchor in (plan.target.among[0], end)]
    ways = ("either", "out" if draft.side.out else "in")
    is_relation = str(steps[0].pattern) == str(draft.side.pattern) and steps[0].direction in ways
    return is_relation and ends == [{id_} for id_ in draft.named]


def _id_alone(label: str, id_: str) -> str:
    return id_
