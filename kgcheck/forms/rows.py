"""RowBuffer: nodes, edges and rejects of one file on their way to the tables, some thousands at a time."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from kgcheck.forms.source import Source
from kgcheck.forms.tables import EdgeRow, GraphTables, NodeRow, RejectedRow

NO_RELATION = "edge"
"""Relation of edges whose file says none."""

_TOGETHER = 20_000
_SHOWN = 500
"""Letters of a rejected item that are kept."""


class RowBuffer:
    """Collects one file's rows and puts them into the tables by the thousands.

    In an open world the file may name nodes without listing them, so that no edge dangles. The `prefix` goes before
    ids that hold within the file alone.
    """

    def __init__(self, source: Source, tables: GraphTables, prefix: str = "", *, open_world: bool = False) -> None:
        self.source = source
        self.prefix = prefix
        self.tables = tables
        self._open_world = open_world
        self._nodes: list[NodeRow] = []
        self._edges: list[EdgeRow] = []
        self._rejects: list[RejectedRow] = []

    def node(self, id_: Any, labels: Sequence[str], properties: Mapping[str, Any], at: int | str | None = None) -> None:
        """Add a node, or reject one without an id."""
        name = id_text(id_)
        if not name:
            self.reject("bad_id", "a node without an id that is text or a whole number", properties, at)
            return
        self.tables.lists_nodes |= not self._open_world
        self._nodes.append(NodeRow(name, tuple(dict.fromkeys(filter(None, labels))), texts(properties), _line(at)))
        self._flush_many()

    def edge(
        self, head: Any, relation: Any, tail: Any, properties: Mapping[str, Any], at: int | str | None = None
    ) -> None:
        """Add an edge, or reject one that lacks an end or a relation."""
        ends = id_text(head), id_text(tail)
        relation = text(relation).strip()
        if not all(ends):
            lacking = "head" if not ends[0] else "tail"
            shown = {"head": head, "relation": relation, "tail": tail, **properties}
            self.reject("end_missing", f"an edge without a {lacking} that is text or a whole number", shown, at)
        elif not relation:
            shown = {"head": head, "tail": tail, **properties}
            self.reject("relation_missing", "an edge without a relation", shown, at)
        else:
            self._edges.append(EdgeRow(ends[0], relation, ends[1], texts(properties), _line(at)))
            self._flush_many()

    def negated(self) -> None:
        """Count a statement that something does not hold."""
        self.tables.negated[self.source.name] += 1

    def note(self, remark: str) -> None:
        """Keep a remark on the file."""
        self.tables.note(self.source, remark)

    def reject(self, reason: str, detail: str, item: Any = "", at: int | str | None = None) -> None:
        """Keep what could not be read; where it stands is a line, or a place such as ``nodes[3]``."""
        shown = item if isinstance(item, str) else text(item)
        detail = f"{at}: {detail}" if isinstance(at, str) else detail
        self._rejects.append(RejectedRow(_line(at), reason, detail, shown[:_SHOWN]))
        self._flush_many()

    def flush(self) -> None:
        """Put what is collected into the tables."""
        self.tables.add_nodes(self.source, self._nodes)
        self.tables.add_edges(self.source, self._edges)
        self.tables.reject(self.source, self._rejects)
        self._nodes, self._edges, self._rejects = [], [], []

    def _flush_many(self) -> None:
        if len(self._nodes) + len(self._edges) + len(self._rejects) >= _TOGETHER:
            self.flush()


def _line(at: int | str | None) -> int | None:
    return at if isinstance(at, int) else None


@contextmanager
def buffered(source: Source, tables: GraphTables, prefix: str = "", *, open_world: bool = False) -> Iterator[RowBuffer]:
    """A buffer whose rows are in the tables when the block ends."""
    buffer = RowBuffer(source, tables, prefix, open_world=open_world)
    yield buffer
    buffer.flush()


def id_text(value: Any) -> str:
    """An id as text; empty where the value is none.

    >>> id_text(7), id_text(" GO:1 "), id_text(None), id_text(True)
    ('7', 'GO:1', '', '')
    """
    if isinstance(value, str):
        return value.strip()
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else ""


def text(value: Any) -> str:
    """A value as text: lists of texts and numbers joined, what is nested as compact JSON.

    >>> text(["a", 1.5]), text(True), text(None), text({"a": [None]})
    ('a|1.5', 'true', '', '{"a":[null]}')
    """
    match value:
        case str():
            return value
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case int() | float():
            return str(value)
        case list() | tuple() if not any(isinstance(v, dict | list | tuple) for v in value):
            return "|".join(filter(None, map(text, value)))
        case list() | tuple() | dict():
            return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
        case _:
            # Times and places of a database.
            return str(value)


def texts(properties: Mapping[str, Any]) -> dict[str, str]:
    """Properties as texts, without those that say nothing."""
    return {name: shown for name, value in properties.items() if (shown := text(value))}


def text_list(value: Any) -> list[str]:
    """Texts of a list; those of a text are what stands between ``|``.

    >>> text_list("biolink:Gene|biolink:Protein"), text_list(["a", None]), text_list(None)
    (['biolink:Gene', 'biolink:Protein'], ['a'], [])
    """
    parts: Iterable[Any] = value if isinstance(value, list | tuple) else text(value).split("|")
    return [shown for part in parts if (shown := text(part).strip())]


def without(item: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """An item's other fields."""
    return {name: value for name, value in item.items() if name not in names}


def separate_local_ids(sources: Sequence[Source], tables: GraphTables) -> None:
    """Put the file's name before ids that count its nodes: in another file, the same number is another node."""
    if len(sources) < 2:
        return
    for source in sources:
        ((local,),) = tables.db.execute(
            "SELECT bool_and(regexp_full_match(id, 'n?[0-9]+')) FROM node WHERE file = ?", [source.number]
        ).fetchall()
        if local:
            prefix, here = local_prefix(source, sources), source.number
            tables.db.execute("UPDATE node SET id = ? || id WHERE file = ?", [prefix, here]).fetchall()
            tables.db.execute(
                "UPDATE edge SET head = ? || head, tail = ? || tail WHERE file = ?", [prefix, prefix, here]
            ).fetchall()


def local_prefix(source: Source, sources: Sequence[Source]) -> str:
    """The beginning of ids that hold within one file of several."""
    return f"{source.name}#" if len(sources) > 1 else ""


def call_by_stated_ids(sources: Sequence[Source], tables: GraphTables) -> bool:
    """Call nodes by their property ``id`` instead of numbers of a database, where it is there and differs for all."""
    ((apart,),) = tables.db.execute(
        f"""
        SELECT count(*) > 0 AND bool_and(regexp_full_match(id, 'n?[0-9]+')) AND count(DISTINCT id) = count(*)
               AND count(DISTINCT properties['id']) = count(*)
        FROM node WHERE {_OF_FILES}
        """,
        [_numbers(sources)],
    ).fetchall()
    if not apart:
        return False
    tables.db.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE stated_id AS
        SELECT id AS number, properties['id'] AS stated FROM node WHERE {_OF_FILES}
        """,
        [_numbers(sources)],
    ).fetchall()
    for table, column in (("node", "id"), ("edge", "head"), ("edge", "tail")):
        tables.db.execute(
            f"UPDATE {table} SET {column} = stated FROM stated_id WHERE {column} = number AND {_OF_FILES}",
            [_numbers(sources)],
        ).fetchall()
    tables.db.execute("DROP TABLE stated_id").fetchall()
    tables.notes.append("nodes are called by their property id, not by the numbers that a database gave them")
    return True


def node_ids_differ(sources: Sequence[Source], tables: GraphTables) -> bool:
    """Tell if no id stands twice."""
    ((differ,),) = tables.db.execute(
        f"SELECT count(DISTINCT id) = count(*) FROM node WHERE {_OF_FILES}", [_numbers(sources)]
    ).fetchall()
    return bool(differ)


_OF_FILES = "file IN (SELECT unnest(?::INTEGER[]))"


def _numbers(sources: Sequence[Source]) -> list[int]:
    return [source.number for source in sources]
