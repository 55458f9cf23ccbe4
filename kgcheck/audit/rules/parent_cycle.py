"""Terms of a hierarchy that are their own ancestors."""

from collections import deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kgcheck import rules
from kgcheck.model import Ref

_SHOWN_TERMS = 8


class Cycle(NamedTuple):
    """Terms that are all ancestors of each other: how many, and a shortest way from the first of them back to it."""

    terms: int
    way: tuple[str, ...]


def _parent_cycles(graph: rules.RuleGraph, pattern: "rules.Pattern") -> Iterable[rules.RuleHit] | None:
    return _hits(graph, pattern) if pattern.hierarchy else None


def _hits(graph: rules.RuleGraph, pattern: "rules.Pattern") -> Iterator[rules.RuleHit]:
    edges = graph.edges(pattern)
    found = list(cycles(graph.select(f"SELECT DISTINCT head, tail FROM {edges} ORDER BY ALL")))
    ways = {cycle.way for cycle in found}
    mutual = f"""
        SELECT DISTINCT a.head, a.tail FROM {edges} a JOIN {edges} b ON a.head = b.tail AND a.tail = b.head
        WHERE a.head < a.tail ORDER BY ALL"""
    pairs = (Cycle(2, (head, tail, head)) for head, tail in (graph.select(mutual) if found else ()))
    for terms, way in (*found, *(pair for pair in pairs if pair.way not in ways)):
        shown = [*way[:_SHOWN_TERMS], "..."] if len(way) > _SHOWN_TERMS + 1 else way
        detail = f"{' > '.join(shown)}; {terms} terms are ancestors of each other"
        ends = Ref(label=pattern.head, id=way[0]), Ref(label=pattern.tail, id=way[1])
        yield rules.RuleHit(ends[0], pattern.type, ends[1], detail)


def cycles(edges: Iterable[tuple[str, ...]]) -> Iterator[Cycle]:
    """Find every group of terms that are ancestors of each other."""
    parents: dict[str, list[str]] = {}
    for child, parent in edges:
        if child != parent:
            parents.setdefault(child, []).append(parent)
    for group in sorted((group for group in _components(parents) if len(group) > 1), key=min):
        yield Cycle(len(group), _way_back(min(group), parents, group))


def _components(parents: dict[str, list[str]]) -> Iterator[set[str]]:
    """Strongly connected components (Tarjan, without recursion: a hierarchy may be deep)."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    open_terms: dict[str, None] = {}
    for root in parents:
        path = [] if root in order else [(root, iter(parents[root]))]
        while path:
            term, rest = path[-1]
            if term not in order:
                order[term] = low[term] = len(order)
                open_terms[term] = None
            for parent in rest:
                if parent not in order:
                    path.append((parent, iter(parents.get(parent, ()))))
                    break
                if parent in open_terms:
                    low[term] = min(low[term], low[parent])
            else:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[term])
                if low[term] == order[term]:
                    group = set()
                    while term not in group:
                        group.add(open_terms.popitem()[0])
                    yield group


def _way_back(start: str, parents: dict[str, list[str]], group: set[str]) -> tuple[str, ...]:
    came: dict[str, str] = {}
    queue = deque([start])
    while start not in came:
        term = queue.popleft()
        for parent in sorted(group.intersection(parents.get(term, ())).difference(came)):
            came[parent] = term
            queue.append(parent)
    way = [start]
    while len(way) == 1 or way[-1] != start:
        way.append(came[way[-1]])
    return tuple(reversed(way))


RULE = rules.Rule(
    name="parent_cycle",
    words="Term that is its own ancestor",
    meaning="a term that is its own ancestor",
    groups=("edges", "hierarchies"),
    is_fault=True,
    bad="DOID:162 is a child of DOID:4, and DOID:4 of DOID:162",
    good="DOID:162 is a child of DOID:4 alone",
    of_pattern=_parent_cycles,
)
