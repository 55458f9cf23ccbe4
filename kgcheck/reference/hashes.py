"""A hash of each link of a snapshot, kept in it when it is built: what two snapshots both have is then not read again.

DuckDB promises no hash that is the same in all its versions. So a snapshot names whose hashes it has, and they are
compared with those of another one only where both were made alike.
"""

from collections.abc import Mapping, Sequence

import duckdb

from kgcheck.duck import literal

HASHED_BY = "hashed_by"
"""Key in ``meta``."""

LINK = "head, tail, score, negated, record, head_now, tail_now, citations, retracted"
"""What a link states."""


def fill_hashes(db: duckdb.DuckDBPyConnection) -> None:
    """Fill column ``hash`` of the links of a snapshot that is being built, and say by what."""
    numbers: dict[str, list[int]] = {}
    for source, number in db.execute("SELECT source, id FROM release ORDER BY id").fetchall():
        numbers.setdefault(source, []).append(number)
    for source, its in numbers.items():
        db.execute(f"UPDATE link SET hash = {hash_of(LINK, its)} WHERE source = {literal(source)}").fetchall()
    db.execute("INSERT INTO meta VALUES (?, ?)", [HASHED_BY, f"DuckDB {duckdb.__version__}"]).fetchall()


def are_hashed_alike(db: duckdb.DuckDBPyConnection, names: Sequence[str]) -> bool:
    """Whether attached snapshots, given by their names, have hashes of their links that can be compared."""
    makers = {
        tuple(db.execute(f"SELECT value FROM {name}.meta WHERE key = {literal(HASHED_BY)}").fetchall())
        for name in names
    }
    if len(makers) != 1 or makers == {()}:
        return False
    without = " UNION ALL ".join(f"SELECT 1 FROM {name}.link WHERE hash IS NULL" for name in names)
    return not db.execute(f"SELECT EXISTS ({without})").fetchall()[0][0]


def hash_of(columns: str, releases: Sequence[int]) -> str:
    """SQL of the hash of a row.

    Args:
        columns: What it states.
        releases: The numbers of the releases of its source, in order: by its place there its release is known in
            another snapshot, where all numbers may be others.

    Returns:
        An expression of UBIGINT.
    """
    return f"hash(list_position({list(releases)}::INTEGER[], release_id), {columns})"


def find_differing(db: duckdb.DuckDBPyConnection, hashed: Mapping[str, str]) -> None:
    """Fill table ``differing``: the places of rows that one side alone has, in a column of the side's name.

    Args:
        db: A working database.
        hashed: By side, ``older`` and ``newer``, a select of number and hash of its rows.
    """
    # Most rows stand in parts that are the same on both sides: only of the others are single hashes compared.
    part = "(hash >> 48)::USMALLINT AS part"
    summed = {side: f"SELECT {part}, sum(hash) AS total FROM ({rows}) GROUP BY part" for side, rows in hashed.items()}
    some = {
        side: f"SELECT * FROM (SELECT *, {part} FROM ({rows})) SEMI JOIN differing_part USING (part)"
        for side, rows in hashed.items()
    }
    db.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE differing_part AS
        SELECT part FROM ({summed["older"]}) a FULL JOIN ({summed["newer"]}) b USING (part)
        WHERE a.total IS DISTINCT FROM b.total;
        CREATE OR REPLACE TEMP TABLE differing AS
        SELECT a.number AS older, b.number AS newer
        FROM ({some["older"]}) a FULL JOIN ({some["newer"]}) b ON a.hash = b.hash
        WHERE a.hash IS NULL OR b.hash IS NULL
        """
    ).fetchall()
