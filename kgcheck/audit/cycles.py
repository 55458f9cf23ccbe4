"""Cycles in a hierarchy: terms that are their own ancestors."""

from collections import deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple


class Cycle(NamedTuple):
    """Terms that are all ancestors of each other: how many, and a shortest way from the first of them back to it."""

    terms: int
    way: tuple[str, ...]


def cycles(edges: Iterable[tuple[str, str]]) -> Iterator[Cycle]:
    """Find every group of terms that are ancestors of each other.

    Args:
        edges: Child and parent; a term that is its own parent is left out.

    Yields:
        A cycle for each group, in the order of their first terms.
    """
    parents: dict[str, list[str]] = {}
    for child, parent in edges:
        if child != parent:
            parents.setdefault(child, []).append(parent)
    groups = [group for group in _components(parents) if len(group) > 1]
    for group in sorted(groups, key=min):
        yield Cycle(len(group), _way_back(min(group), parents, group))


def _components(parents: dict[str, list[str]]) -> Iterator[set[str]]:
    """Strongly connected components (Tarjan, without recursion: a hierarchy may be deep)."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    open_terms: list[str] = []
    is_open: set[str] = set()
    for root in parents:
        path = [] if root in order else [(root, iter(parents[root]))]
        while path:
            term, rest = path[-1]
            if term not in order:
                order[term] = low[term] = len(order)
                open_terms.append(term)
                is_open.add(term)
            for parent in rest:
                if parent not in order:
                    path.append((parent, iter(parents.get(parent, ()))))
                    break
                if parent in is_open:
                    low[term] = min(low[term], low[parent])
            else:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[term])
                if low[term] == order[term]:
                    group = set(_taken(open_terms, term))
                    is_open -= group
                    yield group


def _taken(stack: list[str], last: str) -> Iterator[str]:
    while True:
        term = stack.pop()
        yield term
        if term == last:
            return


def _way_back(start: str, parents: dict[str, list[str]], group: set[str]) -> tuple[str, ...]:
    """A shortest way from a term to itself within its group."""
    came: dict[str, str] = {}
    queue = deque([start])
    while start not in came:
        term = queue.popleft()
        for parent in sorted(parents.get(term, ())):
            if parent in group and parent not in came:
                came[parent] = term
                queue.append(parent)
    way = [start]
    while len(way) == 1 or way[-1] != start:
        way.append(came[way[-1]])
    return tuple(reversed(way))
