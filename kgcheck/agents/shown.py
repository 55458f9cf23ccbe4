"""What the tools of one conversation have shown: the only ground that an answer of a model may stand on.

Only what a model was told counts: no refused call, nothing beyond a cut-off, and no id merely because the model passed
it itself.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from kgcheck.agents.toolbox import CypherResult, RelationsResult
from kgcheck.errors import UsageError
from kgcheck.graph.store import Direction, GraphStore, Reading
from kgcheck.model import Ref, Triple
from kgcheck.questions.answer import Edge

Path = tuple[Edge, ...]


class Unsupported(UsageError):
    """An answer that nothing bears out which the tools have shown."""


class Counted(NamedTuple):
    """Where a number comes from, and the nodes that it counts, if it counts nodes."""

    what: str
    refs: tuple[Ref, ...] = ()


class Step(NamedTuple):
    """One step from a node: along which relation, which way, to which label."""

    node: Ref
    relation: str
    direction: Direction
    label: str

    def triple(self, other: Ref) -> Triple:
        """The edge of the step to a node."""
        head, tail = (self.node, other) if self.direction == "out" else (other, self.node)
        return Triple(head=head, relation=self.relation, tail=tail)


class Shown:
    """Keeps what tools gave.

    Args:
        question: Ids that it names may be answers once the graph is seen to have them.
        store: The graph.
    """

    def __init__(self, question: str, store: GraphStore) -> None:
        self._question = question.casefold()
        self._store = store
        self.paths: dict[Ref, Path] = {}
        self.edges: dict[Triple, Edge] = {}
        self.counts: dict[int, Counted] = {}
        self.none: list[str] = []
        self.cut: list[str] = []
        self._absent: set[Triple] = set()
        self._steps: dict[Step, frozenset[str]] = {}
        self._passed: set[Ref] = set()
        self._listed: dict[str, frozenset[str]] = {}

    def named(self, ref: Ref) -> None:
        """A node that a look-up by name gave."""
        self.paths.setdefault(ref, ())

    def looked_up(self, ref: Ref, attributes: Mapping[str, Any]) -> None:
        """A node that was asked for by its id, and is there."""
        self._passed.add(ref)
        for name, value in attributes.items():
            if isinstance(value, int) and not isinstance(value, bool):
                self.counts[value] = Counted(f"{name} of {ref}")

    def edge(self, triple: Triple, properties: Sequence[Mapping[str, Any]]) -> None:
        """What a look-up of one edge gave: the properties of each parallel one, or none."""
        if not properties:
            self._absent.add(triple)
            return
        found = Edge(triple=triple, properties=dict(properties[0]))
        self.edges[triple] = found
        for ref in (triple.head, triple.tail):
            self._reach(ref, (found,))

    def step(self, step: Step, reached: Mapping[Ref, Edge], told: int) -> None:
        """The nodes one step away, of which the first ``told`` were told."""
        for ref, edge in list(reached.items())[:told]:
            self.edges[edge.triple] = edge
            self._reach(ref, (edge, *self.paths.get(step.node, ())))
        if told >= len(reached):
            self._steps[step] = frozenset(ref.id for ref in reached)
        self._total(f"{step.label} nodes one step from {step.node} along {step.relation}", list(reached), told)

    def shared(self, steps: Sequence[Step], common: Mapping[Ref, Path], told: int) -> None:
        """The nodes that are one step from each of several."""
        for ref, path in list(common.items())[:told]:
            self.edges |= {edge.triple: edge for edge in path}
            self._reach(ref, path)
        nodes = ", ".join(str(step.node) for step in steps)
        self._total(f"{steps[0].label} nodes that {nodes} share along {steps[0].relation}", list(common), told)

    def relations(self, result: RelationsResult) -> None:
        """What stands between two nodes; nothing does where one of them is not there."""
        for between in result.relations:
            ends = (between.triple.head, between.triple.tail)
            if all(self._store.node(ref) is not None for ref in ends):
                self.edge(between.triple, between.edges)

    def statement(self, text: str, reading: Reading, result: CypherResult) -> None:
        """Rows of a statement: what it reads from the graph counts, what its writer put into it does not."""
        if reading.invents:
            return
        self._cut(f"the rows of {text}", result.cut_off)
        for value in _values(result.rows):
            if isinstance(value, str) and not any(value in own for own in reading.parameters.values()):
                self._listed[value] = self._listed.get(value, frozenset()) | reading.labels
            elif isinstance(value, int) and not isinstance(value, bool):
                self.counts[value] = Counted(f"a number that a statement gave: {text}")
        if not result.cut_off and not reading.limited and result.rows:
            self.counts[len(result.rows)] = Counted(f"the rows of {text}")

    def path(self, ref: Ref) -> Path | None:
        """How a node was reached; empty where it was only looked up, None where nothing shows it.

        Args:
            ref: The node.

        Returns:
            The edges from it back to where the way began.
        """
        if ref in self.paths:
            return self.paths[ref]
        if ref in self._passed and ref.id.casefold() in self._question:
            return ()
        if ref.label in self._listed.get(ref.id, ()) and self._store.node(ref) is not None:
            return ()
        return None

    def why_not(self, ref: Ref) -> str:
        """Why a node cannot be an answer."""
        if ref in self._passed:
            return f"{ref} is an id of your own that no tool came to: go to it from what the question names"
        return f"no tool has shown {ref}"

    def lacks(self, triple: Triple) -> bool:
        """Whether a complete look-up has shown that an edge is not there."""
        if triple in self._absent:
            return True
        ways = (
            Step(triple.head, triple.relation, "out", triple.tail.label),
            Step(triple.tail, triple.relation, "in", triple.head.label),
        )
        ends = (triple.tail.id, triple.head.id)
        return any(way in self._steps and end not in self._steps[way] for way, end in zip(ways, ends, strict=True))

    def _reach(self, ref: Ref, path: Path) -> None:
        # A way there says more than a look-up by name.
        self.paths[ref] = self.paths.get(ref) or path

    def _total(self, what: str, refs: list[Ref], told: int) -> None:
        self._cut(what, len(refs) > told)
        self.counts[len(refs)] = Counted(what, tuple(refs[:told]))
        if not refs:
            self.none.append(what)

    def _cut(self, what: str, cut: bool) -> None:
        if cut:
            self.cut.append(what)


def _values(value: Any) -> Iterator[Any]:
    """Every value in rows."""
    if isinstance(value, Mapping):
        # A name that begins so is the store's own, such as the place of a node in its files.
        for name, held in value.items():
            if not str(name).startswith("_"):
                yield from _values(held)
    elif isinstance(value, Iterable) and not isinstance(value, str | bytes):
        for held in value:
            yield from _values(held)
    else:
        yield value
