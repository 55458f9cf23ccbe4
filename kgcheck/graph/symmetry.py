"""Symmetric relations (``symmetric`` in graph.toml): find an edge in either direction.

What a person, a tool or a question asks for goes through here; what checks a store edge by edge does not.
"""

from typing import Final

from kgcheck.graph.store import Direction, GraphStore, Properties
from kgcheck.model import Triple
from kgcheck.profile.schema import Pattern, Schema

_BOTH: Final[tuple[Direction, Direction]] = ("out", "in")


def orders(schema: Schema, triple: Triple) -> tuple[Triple, ...]:
    """The triples that say the same as one: itself, and turned round where order means nothing."""
    turned = Triple(head=triple.tail, relation=triple.relation, tail=triple.head)
    pattern = schema.pattern(triple.head.label, triple.relation, triple.tail.label)
    return (triple, turned) if pattern.symmetric and turned != triple else (triple,)


def edges_stating(store: GraphStore, triple: Triple) -> list[Properties]:
    """Properties of every edge that states a triple, in either order where order means nothing."""
    return [edge for stated in orders(store.schema, triple) for edge in store.edges(stated)]


def directions(pattern: Pattern, wanted: Direction) -> tuple[Direction, ...]:
    """The directions to walk along a pattern: the one that was asked for, or both where order means nothing.

    An edge from a node to itself shows in both.
    """
    return _BOTH if pattern.symmetric else (wanted,)


def unordered(pattern: Pattern) -> str:
    """SQL columns head and tail, in one order for both where order means nothing."""
    return "least(head, tail) AS head, greatest(head, tail) AS tail" if pattern.symmetric else "head, tail"
