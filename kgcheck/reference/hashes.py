"""Hashes of links and digests of tables in a snapshot, to compare two without reading all.

Every link has a hash of what it states. A digest is the number and a sum of the hashes of some rows: of the links of
a source and relation whose hashes begin alike (a part), and of all that a source has of a kind in another table. Two
parts that differ have the same sum by a chance of one in 2**64, as two links have the same hash.

DuckDB promises no hash that is the same in all its versions. So a snapshot names whose hashes it has, and they are
compared with those of another one only where both were made alike.
"""

from collections.abc import Mapping, Sequence

import duckdb

from kgcheck.quoting import literal

FIRST_WITH_HASHES, FIRST_WITH_DIGESTS = 6, 7
"""Formats of snapshots."""

HASHED_BY = "hashed_by"
"""Key in ``meta``."""

LINK = "head, tail, score, negated, record, head_now, tail_now, citations, retracted"
"""Columns that a link states."""

STATED = {
    "link": ("relation", LINK),
    "lifecycle": ("''", "id, namespace, state, name, successors, candidates, detail, record"),
    "value": ("attribute", "id, attribute, value, status, record"),
    "covered": ("topic", "topic, id"),
}
"""By table: what its rows are told apart by in digests beside their source, and what a row states."""

_PART = "(hash >> 48)::USMALLINT"
"""Links with the same first bits of their hash are a part."""

_SUMS = "count(*) AS row_count, sum(hash(hash)) AS total"
"""Row count and sum of the hashes of a part.

Hashed once more, so that hashes which are near each other, as those of one part, have no sum alike.
"""


def fill_hashes(db: duckdb.DuckDBPyConnection) -> None:
    """Fill column ``hash`` of the links of a snapshot that is being built, and say by what."""
    numbers: dict[str, list[int]] = {}
    for source, number in db.execute("SELECT source, id FROM release ORDER BY id").fetchall():
        numbers.setdefault(source, []).append(number)
    for source, its in numbers.items():
        db.execute(f"UPDATE link SET hash = {hash_of(LINK, its)} WHERE source = {literal(source)}").fetchall()
    db.execute("INSERT INTO meta VALUES (?, ?)", [HASHED_BY, f"DuckDB {duckdb.__version__}"]).fetchall()


def fill_digests(db: duckdb.DuckDBPyConnection) -> None:
    """Fill table ``digest`` of a snapshot that is being built, after `fill_hashes`."""
    rows = [f"SELECT 'link', source, relation, {_PART}, hash FROM link"]
    releases = db.execute("SELECT source, list(id ORDER BY id) FROM release GROUP BY source").fetchall()
    for table in ("lifecycle", "value", "covered"):
        kind, stated = STATED[table]
        present = {source for (source,) in db.execute(f"SELECT DISTINCT source FROM {table}").fetchall()}
        rows += [
            f"SELECT {literal(table)}, source, {kind}, 0, {hash_of(stated, its)} FROM {table}"
            f" WHERE source = {literal(source)}"
            for source, its in releases
            if source in present
        ]
    rows.append("SELECT 'ancestor', ontology, '', 0, hash(id, ancestor) FROM ancestor")
    for some in rows:
        # One after the other: all links are one of them.
        db.execute(
            f"""
            INSERT INTO digest SELECT table_name, source, kind, part, {_SUMS}
            FROM ({some}) AS stated(table_name, source, kind, part, hash) GROUP BY ALL ORDER BY ALL
            """
        ).fetchall()


def are_hashed_alike(db: duckdb.DuckDBPyConnection, names: Sequence[str]) -> bool:
    """Tell whether attached snapshots, given by their names, have link hashes that can be compared."""
    makers = {
        tuple(db.execute(f"SELECT value FROM {name}.meta WHERE key = {literal(HASHED_BY)}").fetchall())
        for name in names
    }
    if len(makers) != 1 or makers == {()}:
        return False
    without = " UNION ALL ".join(f"SELECT 1 FROM {name}.link WHERE hash IS NULL" for name in names)
    return not db.execute(f"SELECT EXISTS ({without})").fetchall()[0][0]


def have_digests(db: duckdb.DuckDBPyConnection, names: Sequence[str]) -> bool:
    """Tell whether attached snapshots whose hashes are alike have digests of them, too."""
    formats = (db.execute(f"SELECT value FROM {name}.meta WHERE key = 'format'").fetchall() for name in names)
    return all(int(stated) >= FIRST_WITH_DIGESTS for ((stated,),) in formats)


def hash_of(columns: str, releases: Sequence[int]) -> str:
    """SQL of the hash of a row."""
    return f"hash(list_position({list(releases)}::INTEGER[], release_id), {columns})"


def find_differing(
    db: duckdb.DuckDBPyConnection, hashed: Mapping[str, str], digests: Mapping[str, str] | None = None
) -> None:
    """Fill table ``differing``: the places of rows that one side alone has, in a column of the side's name."""
    # Most rows stand in parts that are the same on both sides: only of the others are single hashes compared.
    summed = digests or {
        side: f"SELECT {_PART} AS part, {_SUMS} FROM ({rows}) GROUP BY part" for side, rows in hashed.items()
    }
    db.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE differing_part AS
        SELECT part FROM ({summed["older"]}) a FULL JOIN ({summed["newer"]}) b USING (part)
        WHERE (a.row_count, a.total) IS DISTINCT FROM (b.row_count, b.total)
        """
    ).fetchall()
    some = {
        side: f"SELECT * FROM (SELECT *, {_PART} AS part FROM ({rows})) SEMI JOIN differing_part USING (part)"
        for side, rows in hashed.items()
    }
    if not db.execute("FROM differing_part LIMIT 1").fetchall():
        some = dict.fromkeys(hashed, "SELECT NULL::BIGINT AS number, NULL::UBIGINT AS hash WHERE false")
    db.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE differing AS
        SELECT a.number AS older, b.number AS newer
        FROM ({some["older"]}) a FULL JOIN ({some["newer"]}) b ON a.hash = b.hash
        WHERE a.hash IS NULL OR b.hash IS NULL
        """
    ).fetchall()


def digests_of(side: str, table: str, source: str, kinds: str = "true") -> str:
    """A select of part, row_count and total: the digests of a source's rows of a table."""
    return f"""
        SELECT part, sum(row_count) AS row_count, sum(total) AS total FROM {side}.digest
        WHERE table_name = {literal(table)} AND source = {literal(source)} AND {kinds} GROUP BY part"""
