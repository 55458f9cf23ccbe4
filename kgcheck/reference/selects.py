"""Validate the SQL select of an untrusted recipe, by an allow-list over its parse tree.

A recipe may come from anybody, and what DuckDB takes for a select can write files and run other statements: COPY in a
WITH, table functions that read files and names of files in FROM. So its tree is looked at, and only what is listed here
is taken: tables of the snapshot and ``file``, joins, set operations, and functions that give the same for the same.
"""

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

from kgcheck.duck import connected
from kgcheck.reference.snapshot import TABLES

FILE = "file"
"""The table that a recipe's file is."""

_NODES = {
    *("SELECT_NODE", "SET_OPERATION_NODE", "BASE_TABLE", "JOIN", "SUBQUERY", "EXPRESSION_LIST", "EMPTY"),
    *("ORDER_MODIFIER", "DISTINCT_MODIFIER", "LIMIT_MODIFIER", "ORDER_DEFAULT", "ASCENDING", "DESCENDING"),
}
"""Parts of a statement that are no expressions; of recursion, pivots, COPY, INSERT and SHOW there is none."""

_UNNEST = "unnest"


@cache
def refusal(select: str) -> str:
    """Refusal of a select."""
    with connected() as db:
        parsed = json.loads(str(db.execute("SELECT json_serialize_sql(?::VARCHAR)", [select]).fetchall()[0][0]))
        if parsed["error"]:
            return f"it is not one SELECT: {parsed['error_message']}"
    if len(parsed["statements"]) != 1:
        return "it is not one SELECT"
    parts = list(_parts(parsed["statements"][0]))
    named = (part["cte_map"]["map"] for part in parts if isinstance(part.get("cte_map"), dict))
    tables = {FILE, *_tables(), *(entry["key"].lower() for entries in named for entry in entries)}
    return next((why for part in parts if (why := _wrong(part, tables, _pure_functions()))), "")


def _parts(tree: Any) -> Iterator[dict[str, Any]]:
    todo = [tree]
    while todo:
        part = todo.pop()
        if isinstance(part, dict):
            yield part
            todo += part.values()
        elif isinstance(part, list):
            todo += part


def _wrong(part: dict[str, Any], tables: set[str], pure: frozenset[str]) -> str:
    kind = part.get("type")
    if "class" in part:
        named = str(part.get("function_name", "")).lower()
        return f"it calls {named}()" if named and (named not in pure or _elsewhere(part)) else ""
    match kind:
        case "TABLE_FUNCTION":
            named = str(part["function"].get("function_name", "")).lower()
            return "" if named == _UNNEST else f"it reads {named}()"
        case "BASE_TABLE":
            named = str(part["table_name"])
            known = named.lower() in tables and not _elsewhere(part)
            return "" if known else f"it reads {named!r}, which is neither {FILE!r} nor a table of the snapshot"
        case str() if kind not in _NODES:
            return f"it holds a {kind.lower().replace('_', ' ')}"
    return ""


def _elsewhere(part: dict[str, Any]) -> bool:
    return any(part.get(key) for key in ("catalog_name", "schema_name", "catalog", "schema"))


@cache
def _tables() -> frozenset[str]:
    with connected() as db:
        db.execute(TABLES).fetchall()
        return frozenset(str(name) for (name,) in db.execute("SELECT table_name FROM duckdb_tables()").fetchall())


@cache
def _pure_functions() -> frozenset[str]:
    """Functions whose value rests on nothing but what they are given."""
    with connected() as db:
        rows = db.execute(
            """
            SELECT function_name FROM duckdb_functions() GROUP BY function_name
            HAVING bool_and(coalesce(stability, '') NOT IN ('VOLATILE', 'CONSISTENT_WITHIN_QUERY'))
            AND bool_or(stability = 'CONSISTENT' OR function_type = 'macro' OR function_name = $unnest)
            """,
            {"unnest": _UNNEST},
        ).fetchall()
    return frozenset(str(name) for (name,) in rows)
