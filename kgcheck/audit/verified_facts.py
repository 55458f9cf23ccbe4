"""Look up the newest audit verdict on an edge or task, or on all edges and values of a node."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, product
from typing import TYPE_CHECKING

from kgcheck.errors import UsageError
from kgcheck.model import CheckTask, CheckType, Ref, Triple
from kgcheck.profile.schema import Schema
from kgcheck.questions.resolver import NameResolver

if TYPE_CHECKING:
    from kgcheck.graph.store import GraphStore
    from kgcheck.ledger.verified import Verified, VerifiedReader

Subject = CheckTask | Triple | str


def verified_of(reader: "VerifiedReader", resolver: NameResolver, subject: Subject) -> "Verified | None":
    """Return the result of the newest run that looked at an edge, or at another task."""
    return _fact(reader, resolver, subject)[1]


Fact = tuple[CheckTask, "Verified | None"]


def edge_facts(reader: "VerifiedReader", resolver: NameResolver, edges: Iterable[str | Triple]) -> list[Fact]:
    """List the verified facts of edges; see Workspace.verified_edges."""
    return [_fact(reader, resolver, edge) for edge in edges]


def node_facts(reader: "VerifiedReader", graph: "GraphStore", node: Ref, limit: int) -> tuple[list[Fact], bool]:
    """List the verified facts of a node; see Workspace.verified_of_node."""
    tasks = list(islice(tasks_of_node(graph, node, limit), limit + 1))
    return [(task, reader.of(task)) for task in tasks[:limit]], len(tasks) <= limit


def tasks_of_node(graph: "GraphStore", node: Ref, limit: int) -> Iterator[CheckTask]:
    """Yield the tasks on a node: its existence, its attributes and its edges."""
    schema = graph.schema
    yield CheckTask(type=CheckType.EXISTENCE, subject=node)
    for name in schema.label(node.label).attributes:
        yield CheckTask(type=CheckType.ATTRIBUTE, subject=node, attribute=name)
    for pattern in schema.relations:
        for name in graph.neighbours(node, pattern, "out", limit) if pattern.head == node.label else ():
            yield _task(Triple(head=node, relation=pattern.type, tail=Ref(label=pattern.tail, id=name)))
        for name in graph.neighbours(node, pattern, "in", limit) if pattern.tail == node.label else ():
            head = Ref(label=pattern.head, id=name)
            if head != node:
                yield _task(Triple(head=head, relation=pattern.type, tail=node))


def tasks_between(graph: "GraphStore", nodes: Sequence[Ref]) -> Iterator[CheckTask]:
    """The edges that nodes have with each other."""
    for pattern in graph.schema.relations:
        heads = [node for node in nodes if node.label == pattern.head]
        tails = [node for node in nodes if node.label == pattern.tail]
        for head, tail in product(heads, tails):
            edge = Triple(head=head, relation=pattern.type, tail=tail)
            if head != tail and graph.edges(edge):
                yield _task(edge)


def _fact(reader: "VerifiedReader", resolver: NameResolver, subject: Subject) -> Fact:
    if isinstance(subject, CheckTask):
        return subject, reader.of(subject)
    tasks = [subject] if isinstance(subject, Triple) else list(_edges(resolver.schema, subject))
    for triple in tasks:
        if found := reader.of(task := _task(triple)):
            return task, found
    if not isinstance(subject, Triple) and (edge := resolver.edge_in(subject)):
        tasks = [edge.triple]
    if not tasks:
        known = ", ".join(resolver.schema.relation_types)
        raise UsageError(f"{subject!r} is no edge", f"write HEAD RELATION TAIL; the relations are {known}")
    return _task(tasks[0]), reader.of(_task(tasks[0]))


def _task(triple: Triple) -> CheckTask:
    return CheckTask(type=CheckType.TRIPLE, subject=triple.head, relation=triple.relation, object=triple.tail)


def _edges(schema: Schema, words: str) -> Iterator[Triple]:
    """The edges that words may mean: one for each pattern of the relation."""
    for relation in schema.relation_types:
        head, found, tail = words.strip().partition(f" {relation} ")
        if found and head.strip() and tail.strip():
            meant = [
                Triple(
                    head=schema.ref(pattern.head, head.strip()),
                    relation=relation,
                    tail=schema.ref(pattern.tail, tail.strip()),
                )
                for pattern in schema.patterns(relation)
            ]
            # Most patterns of a relation are ruled out by the form of the ids; an odd id may have been judged, too.
            ends = {end for triple in meant for end in (triple.head, triple.tail)}
            fit = {end: schema.label(end.label).matches(end.id) for end in ends}
            yield from sorted(meant, key=lambda triple: -(fit[triple.head] + fit[triple.tail]))
            return
