"""RowBuffer: nodes, edges and rejects of one file on their way to the tables, some thousands at a time."""

import json
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from kgcheck.forms.source import Source
from kgcheck.forms.tables import TOGETHER, GraphTables

NO_RELATION = "edge"
"""Relation of edges whose file says none."""

_SHOWN = 500
"""Letters of a rejected item that are kept."""


class RowBuffer:
    """Collects one file's rows, which are in the tables when the block ends.

    In an open world the file may name nodes without listing them, so that no edge dangles. The `prefix` goes before
    ids that hold within the file alone.
    """

    def __init__(self, source: Source, tables: GraphTables, prefix: str = "", *, open_world: bool = False) -> None:
        self.source = source
        self.prefix = prefix
        self._tables = tables
        self._open_world = open_world
        self._rows: dict[str, list[tuple[object, ...]]] = {"node": [], "edge": [], "quarantine": []}

    def node(self, id_: Any, labels: Sequence[str], properties: Mapping[str, Any], at: int | str | None = None) -> None:
        """Add a node, or reject one without an id."""
        name = id_text(id_)
        if not name:
            self.reject("bad_id", "a node without an id that is text or a whole number", properties, at)
            return
        self._tables.lists_nodes |= not self._open_world
        self._add("node", name, list(dict.fromkeys(filter(None, labels))), text_pairs(properties), at)

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
            self._add("edge", ends[0], relation, ends[1], text_pairs(properties), at)

    def negated(self) -> None:
        """Count a statement that something does not hold."""
        self._tables.negated[self.source.name] += 1

    def note(self, remark: str) -> None:
        """Keep a remark on the file."""
        self._tables.note(self.source, remark)

    def reject(self, reason: str, detail: str, item: Any = "", at: int | str | None = None) -> None:
        """Keep what could not be read; where it stands is a line, or a place such as ``nodes[3]``."""
        line, detail = (at, detail) if not isinstance(at, str) else (None, f"{at}: {detail}")
        self._rows["quarantine"].append((self.source.name, line, reason, detail, text(item)[:_SHOWN]))
        self._flush(TOGETHER)

    def _add(self, table: str, *values: Any) -> None:
        *stated, at = values
        self._rows[table].append((*stated, self.source.number, at if isinstance(at, int) else None))
        self._flush(TOGETHER)

    def _flush(self, least: int = 0) -> None:
        if sum(map(len, self._rows.values())) >= least:
            for table, rows in self._rows.items():
                self._tables.add(table, rows)
                rows.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        if kind is None:
            self._flush()


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


def text_pairs(properties: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Properties as texts, without those that say nothing."""
    return [(name, shown) for name, value in properties.items() if (shown := text(value))]


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
        here, prefix = source.number, local_prefix(source, sources)
        ((local,),) = tables.db.execute(
            "SELECT bool_and(regexp_full_match(id, 'n?[0-9]+')) FROM node WHERE file = ?", [here]
        ).fetchall()
        for table, column in _ID_COLUMNS if local else ():
            tables.db.execute(f"UPDATE {table} SET {column} = ? || {column} WHERE file = ?", [prefix, here]).fetchall()


_ID_COLUMNS = (("node", "id"), ("edge", "head"), ("edge", "tail"))


def local_prefix(source: Source, sources: Sequence[Source]) -> str:
    """The beginning of ids that hold within one file of several."""
    return f"{source.name}#" if len(sources) > 1 else ""


def call_by_stated_ids(sources: Sequence[Source], tables: GraphTables, *, local: bool = True) -> None:
    """Call nodes by their property ``id`` instead of numbers of a database, where it is there and differs for all.

    Where it is not, numbers are `local` to their file; if not local, only where two files have the same.
    """
    of_files, numbers = "file IN (SELECT unnest(?::INTEGER[]))", [source.number for source in sources]
    ((differ, apart),) = tables.db.execute(
        f"""
        SELECT count(DISTINCT id) = count(*), count(*) > 0 AND bool_and(regexp_full_match(id, 'n?[0-9]+'))
               AND count(DISTINCT id) = count(*) AND count(DISTINCT properties['id']) = count(*)
        FROM node WHERE {of_files}
        """,
        [numbers],
    ).fetchall()
    if not apart:
        if local or not differ:
            separate_local_ids(sources, tables)
        return
    stated = f"SELECT id AS number, properties['id'] AS stated FROM node WHERE {of_files}"
    tables.db.execute(f"CREATE OR REPLACE TEMP TABLE stated_id AS {stated}", [numbers]).fetchall()
    for table, column in _ID_COLUMNS:
        tables.db.execute(
            f"UPDATE {table} SET {column} = stated FROM stated_id WHERE {column} = number AND {of_files}", [numbers]
        ).fetchall()
    tables.db.execute("DROP TABLE stated_id").fetchall()
    tables.notes.append("nodes are called by their property id, not by the numbers that a database gave them")
