"""PlainPairs: find in bulk the edges that a snapshot plainly supports, as integer pairs."""

from typing import NamedTuple

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kgcheck.audit.numbers import Ids, Numbers, Pairs, are_in, as_numbers, stable_order
from kgcheck.checks.signature import ROUNDED_SQL
from kgcheck.evidence.plain_support import PlainEdges, PlainEnd
from kgcheck.profile.catalogue import EdgeCheck
from kgcheck.quoting import identifier, literal

_OF_LINKS = {"record": pa.string(), "score": pa.float64()}
"""Columns of links beside their pairs and their origin."""


class LinkOrigin(NamedTuple):
    """Origin of a link."""

    source: str
    release_id: int


class Alike(NamedTuple):
    """Pairs that are plainly supported, by which links."""

    pairs: Pairs
    origins: list[LinkOrigin]
    links: pa.Table | None = None
    alone: EdgeCheck | None = None


class PlainPairs:
    """Tells which pairs are plainly supported."""

    def __init__(self, db: duckdb.DuckDBPyConnection, *, records: bool) -> None:
        self._db = db
        self._records = records
        self._made: dict[tuple[str, PlainEnd], _FineEnds] = {}

    def among(self, pairs: Pairs, plain: PlainEdges) -> tuple[Alike, npt.NDArray[np.bool_]]:
        origins = self._origins(plain)
        links = self._links(pairs, plain, origins)
        numbers = as_numbers(links.column("number"))
        in_order = np.sort(numbers)
        is_plain = are_in(pairs.numbers, in_order)
        alike = Alike(pairs.some(is_plain), origins, alone=plain.alone)
        if self._records:
            alike = alike._replace(links=_more_of(alike, links, in_order))
        return alike, is_plain

    def _origins(self, plain: PlainEdges) -> list[LinkOrigin]:
        """List the origins of the links. Most sources have one release, so that no link need be asked."""
        releases = f"SELECT source, id FROM ref.release WHERE source IN ({', '.join(map(literal, plain.sources))})"
        rows = self._db.execute(f"{releases} LIMIT 2").fetchall()
        if len(rows) != 1:
            stands = f"SELECT DISTINCT source, release_id FROM ({plain.links}) ORDER BY ALL"
            rows = self._db.execute(stands).fetchall()
        return [LinkOrigin(*row) for row in rows]

    def _links(self, pairs: Pairs, plain: PlainEdges, origins: list[LinkOrigin]) -> pa.Table:
        """The links that support pairs of nodes that are fine: numbers of the pairs, and what more is wanted."""
        head, tail = self._ends("head", pairs.heads, plain.head), self._ends("tail", pairs.tails, plain.tail)
        columns = ["(h.number << 32) | t.number AS number"]
        is_bare = plain.bare and head.as_filed and tail.as_filed and len(origins) == 1
        if self._records and not is_bare:
            # As `nullif(l.record, h.id || ' ' || t.id)`, of which a text would be made for every link.
            is_of_ends = """strlen(l.record) = strlen(h.lead) + strlen(t.id)
                AND prefix(l.record, h.lead) AND suffix(l.record, t.id)"""
            columns.append(f"CASE WHEN {is_of_ends} THEN NULL ELSE l.record END AS record")
            if plain.alone:
                columns.append(f"{ROUNDED_SQL.format('l.score')} AS score")
        if self._records and len(origins) > 1:
            places = " ".join(
                f"WHEN l.source = {literal(o.source)} AND l.release_id = {o.release_id} THEN {place}"
                for place, o in enumerate(origins)
            )
            columns.append(f"CASE {places} END AS origin")
        return self._db.sql(f"""
            SELECT {", ".join(columns)} FROM ({plain.links}) l
            JOIN {head.table} h ON h.filed = l.head JOIN {tail.table} t ON t.filed = l.tail""").to_arrow_table()

    def _ends(self, which: str, ids: Ids, end: PlainEnd) -> "_FineEnds":
        """The nodes that are fine: number, id, lead (of a record), and the id under which links file it."""
        made = (ids.name, end)
        if made in self._made:
            return self._made[made]
        name = identifier(f"fine {which}")
        if ids.name:
            # All nodes of a label: several patterns ask the same of them.
            name = identifier(f"fine {ids.name} {len(self._made)}")
        numbered = pa.table({"number": np.arange(len(ids.texts), dtype=np.uint64), "id": ids.texts})
        self._db.register("incoming", numbered)
        try:
            self._db.execute(f"""
                CREATE OR REPLACE TEMP TABLE {name} AS
                SELECT number, id, id || ' ' AS lead, {end.filed} AS filed FROM incoming WHERE {end.fine}""").fetchall()
        finally:
            self._db.unregister("incoming")
        others = self._db.execute(f"SELECT 1 FROM {name} WHERE filed <> id LIMIT 1").fetchall()
        fine = _FineEnds(name, as_filed=not others)
        if ids.name:
            self._made[made] = fine
        return fine


class _FineEnds(NamedTuple):
    """A table of nodes, and whether links file all of them under their own ids."""

    table: str
    as_filed: bool


def _more_of(alike: Alike, links: pa.Table, in_order: Numbers) -> pa.Table | None:
    pairs = alike.pairs.numbers
    of_links = [name for name in _OF_LINKS if name in links.column_names]
    if len(alike.origins) > 1 or any(links.column(name).null_count < len(links) for name in of_links):
        numbers = as_numbers(links.column("number"))
        order = stable_order(numbers)
        return links.take(pa.array(order[are_in(in_order, pairs)]))
    # All that is to be said is how many links a pair has, where that decides how sure its verdict is.
    again = in_order[1:][in_order[1:] == in_order[:-1]]
    if alike.alone is None or not len(again):
        return None
    again = again[are_in(again, pairs)]
    numbers = np.insert(pairs, np.searchsorted(pairs, again), again)
    others = {name: pa.nulls(len(numbers), kind) for name, kind in _OF_LINKS.items()}
    return pa.table({"number": numbers, **others})
