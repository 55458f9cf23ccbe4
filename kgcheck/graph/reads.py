"""CatalogueReads: base class of both kinds of stores, with the reads that they share."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Self

from kgcheck.errors import StoreMissing
from kgcheck.graph.marks import MARKS
from kgcheck.graph.queries import Catalogue, label_place, pattern_places, where
from kgcheck.graph.store import (
    META_LABEL,
    STATE,
    STORE_ID,
    Counts,
    Direction,
    Properties,
    check_format,
    check_meta,
    check_names,
    new_state,
    one_of_each,
    plain,
    states_in,
    states_text,
)
from kgcheck.model import Ref, Triple
from kgcheck.profile.schema import Label, Pattern, Schema

Row = Sequence[Any]
"""Values that a statement returns, in the order of its RETURN."""

Shape = tuple[Sequence[str], Sequence[str], int]
"""Labels of a node, or the type of an edge; the names of the properties that it carries; how many are so."""

UNKNOWN = ("label", "relation", "property")


class CatalogueReads(ABC):
    """Reads of a graph store that are the same statements of the catalogue for all."""

    schema: Schema
    name: str
    _cypher: Catalogue
    _in_change: frozenset[str] = frozenset()

    @abstractmethod
    def _has(self, *names: str) -> bool:
        """Return whether the store may hold labels and relations of these names; where not, it is not asked."""

    @abstractmethod
    def _hidden(self, **names: str) -> list[str]:
        """The variables, given with their labels and relations, of which something retired is to be left out."""

    @abstractmethod
    def _read(self, text: str, parameters: dict[str, Any]) -> Iterable[Row]:
        """Rows of a reading statement, streamed."""

    @abstractmethod
    def _write(self, text: str, parameters: dict[str, Any]) -> list[Row]:
        """Run a writing statement in a transaction of its own."""

    @abstractmethod
    def _own_id(self) -> str:
        """The name of a store that keeps no id."""

    @abstractmethod
    def close(self) -> None:
        """See GraphStore."""

    def _rows(self, statement: str, places: Mapping[str, str] | None = None, **parameters: Any) -> list[Row]:
        """The rows of a statement of the catalogue."""
        return list(self._read(self._cypher.text(statement, **(places or {})), parameters))

    def _execute(self, statement: str, **parameters: Any) -> None:
        self._write(self._cypher.text(statement), parameters)

    def check(self, names: Sequence[str], *, create: bool, any_profile: bool = False) -> None:
        """Refuse a store that holds no graph, or another one: names are those of all labels or tables."""
        if not names and not create:
            raise StoreMissing(f"there is no graph at {self.name}", f"load one: kgcheck load DIR --store {self.name}")
        if any_profile:
            check_format(self.name, self.meta())
            return
        check_meta(self.name, self.meta(), self.schema, to_write=create)
        check_names(self.name, [name for name in names if name != META_LABEL], self.schema)

    def meta(self) -> dict[str, str]:
        return {key: value for key, value in self._rows("meta_get")} if self._has(META_LABEL) else {}

    def set_meta(self, key: str, value: str) -> None:
        self._execute("meta_set", key=key, value=value)

    def _identity(self) -> dict[str, str]:
        """The store's id and the states of its labels and patterns, by key, and whether a load is under way."""
        return {key: value for key, value in self._rows("identity_get")} if self._has(META_LABEL) else {}

    def _set_states(self, keys: Sequence[str], value: str) -> None:
        """Say in which state labels and patterns are, all or nothing."""
        self._execute("set_state", keys=list(keys), value=value)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def store_id(self) -> str:
        return self._identity().get(STORE_ID) or self._own_id()

    def state(self) -> str | None:
        return states_text(states_in(self._identity()) or {})

    @contextmanager
    def changing(self, names: Iterable[str]) -> Iterator[None]:
        before = self._in_change
        keys = [STATE + name for name in sorted(set(names) - before)]
        if keys:
            self._set_states(keys, "")
        self._in_change |= set(names)
        try:
            yield
        finally:
            self._in_change = before
        # Not after an error: what was written is then known to nobody.
        if keys:
            self._set_states(keys, new_state())

    def _make_states(self, new_id: str) -> None:
        """Give the store an id, and labels and patterns a state, where they have none."""
        identity = self._identity()
        if STORE_ID not in identity:
            self.set_meta(STORE_ID, new_id)
        names = (*self.schema.label_names, *map(str, self.schema.relations))
        if lacking := [STATE + name for name in names if not identity.get(STATE + name)]:
            self._set_states(lacking, new_state())

    def node(self, ref: Ref) -> Properties | None:
        label = self.schema.label(ref.label)
        return self.nodes(label, [ref.id]).get(ref.id)

    def nodes(self, label: Label, ids: list[str]) -> dict[str, Properties]:
        if not ids or not self._has(label.name):
            return {}
        places = label_place(label) | {"where": where(self._hidden(n=label.name))}
        rows, key = self._rows("nodes_by_ids", places, ids=ids), self._cypher.key_of(label)
        return one_of_each({"id": str(node[key])} | plain(node, label.properties) for (node,) in rows)

    def edges(self, triple: Triple) -> list[Properties]:
        pattern = self.schema.pattern(triple.head.label, triple.relation, triple.tail.label)
        rows = self._of_pattern("edges_between", pattern, head_id=triple.head.id, tail_id=triple.tail.id)
        return [plain(edge, pattern.properties) for (edge,) in rows]

    def neighbours(self, ref: Ref, pattern: Pattern, direction: Direction, limit: int) -> list[str]:
        statement = "tails" if direction == "out" else "heads"
        return [str(id_) for (id_,) in self._of_pattern(statement, pattern, id=ref.id, limit=limit)]

    def counts(self) -> Counts:
        labels = [label for label in self.schema.labels if self._has(label.name)]
        nodes = dict(zip((label.name for label in labels), self._count_nodes(labels), strict=True))
        patterns = [p for p in self.schema.relations if self._has(p.head, p.type, p.tail)]
        # An edge is where its ends are: a new store is not asked for any.
        peopled = [p for p in patterns if nodes[p.head] and nodes[p.tail]]
        edges = dict.fromkeys(map(str, patterns), 0)
        edges |= zip(map(str, peopled), self._count_edges(peopled), strict=True)
        return Counts(nodes=nodes, edges=edges)

    def _count_nodes(self, labels: Sequence[Label]) -> list[int]:
        """The nodes of each label; the store may hold some of all of them."""
        wheres = [where(self._hidden(n=label.name)) for label in labels]
        places = [label_place(label) | {"where": w} for label, w in zip(labels, wheres, strict=True)]
        return [int(self._rows("count_nodes", p)[0][0]) for p in places]

    def _count_edges(self, patterns: Sequence[Pattern]) -> list[int]:
        return [int(n) for pattern in patterns for (n,) in self._of_pattern("count_edges", pattern)]

    def _of_pattern(self, statement: str, pattern: Pattern, **parameters: Any) -> Iterable[Sequence[Any]]:
        if not self._has(pattern.head, pattern.type, pattern.tail):
            return ()
        hidden = self._hidden(a=pattern.head, r=pattern.type, b=pattern.tail)
        return self._rows(statement, pattern_places(pattern) | {"where": where(hidden)}, **parameters)


def unknown_names(schema: Schema, nodes: Iterable[Shape], edges: Iterable[Shape]) -> dict[str, int]:
    """Labels, relations and properties that a profile does not describe."""
    found = Counter[str]()
    of_label = {label.name: {label.key, *label.properties, *MARKS} for label in schema.labels}
    of_relation: dict[str, set[str]] = {}
    for pattern in schema.relations:
        of_relation.setdefault(pattern.type, set(MARKS)).update(pattern.properties)
    for labels, names, n in nodes:
        if META_LABEL in labels:
            continue
        known = [name for name in labels if name in of_label]
        also = {name for label in known for name in schema.label(label).also}
        found.update({f"label {name}": n for name in labels if name not in of_label and name not in also})
        for name in names if known else ():
            if not any(name in of_label[label] for label in known):
                found[f"property {known[0]}.{name}"] += n
    for (relation,), names, n in edges:
        if relation not in of_relation:
            found[f"relation {relation}"] += n
            continue
        found.update({f"property {relation}.{name}": n for name in names if name not in of_relation[relation]})
    return dict(sorted(found.items(), key=lambda item: (UNKNOWN.index(item[0].split(" ", 1)[0]), item[0])))
