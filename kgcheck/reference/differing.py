"""Rows that one of two snapshots alone has."""

from typing import Literal

import duckdb

from kgcheck.duck import identifier, literal
from kgcheck.reference.hashes import STATED, are_hashed_alike, digests_of, find_differing, hash_of, have_digests

Side = Literal["older", "newer"]

SIDES: tuple[Side, ...] = ("older", "newer")


class DifferingRows:
    """Compares the tables of the snapshots ``older`` and ``newer``: by digests and hashes, where both have them."""

    def __init__(self, db: duckdb.DuckDBPyConnection) -> None:
        self._db = db
        self._releases = {side: self._release_numbers(side) for side in SIDES}
        self._has_hashes = are_hashed_alike(db, SIDES)
        self._has_digests = self._has_hashes and have_digests(db, SIDES)

    def of(self, source: str, table: str, wanted: str, kinds: str = "") -> str:
        """A select of what one side alone has of a source; it does not matter how often."""
        kind, stated = STATED[table]
        where, of_digests = f"source = {literal(source)}", "true"
        if kinds:
            where, of_digests = f"{where} AND {kind} {kinds}", f"kind {kinds}"
        found = [f"SELECT {wanted} FROM newer.{table} LIMIT 0"]
        if table == "link" and self._has_hashes:
            hashed = {str(s): f"SELECT rowid AS number, hash FROM {s}.{table} WHERE {where}" for s in SIDES}
            parts = {str(s): digests_of(s, table, source, of_digests) for s in SIDES}
            find_differing(self._db, hashed, parts if self._has_digests else None)
        elif self.are_none(table, source, of_digests):
            return found[0]
        else:
            find_differing(self._db, {str(side): self._hashed(side, source, table, stated, where) for side in SIDES})
        alone = self._db.execute("SELECT count(older), count(newer) FROM differing").fetchall()[0]
        found += [
            f"SELECT {wanted} FROM {side}.{table} SEMI JOIN differing ON differing.{side} = {table}.rowid"
            for side, count in zip(SIDES, alone, strict=True)
            if count
        ]
        return " UNION ALL ".join(f"({select})" for select in found)

    def are_none(self, table: str, source: str, kinds: str = "true") -> bool:
        """Whether digests tell that both sides have the same rows."""
        if not self._has_digests:
            return False
        older, newer = (self._db.execute(digests_of(side, table, source, kinds)).fetchall() for side in SIDES)
        return bool(older == newer)

    def _hashed(self, side: Side, source: str, table: str, stated: str, where: str) -> str:
        """A select of the places of rows and the hashes of what they state."""
        # Releases are others on the other side, and in the same order.
        hashed, name = hash_of(stated, self._releases[side].get(source, [])), identifier(f"hashed {side}")
        rows = f"SELECT rowid AS number, {hashed} AS hash FROM {side}.{table} WHERE {where}"
        self._db.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS {rows}").fetchall()
        return f"FROM {name}"

    def _release_numbers(self, side: Side) -> dict[str, list[int]]:
        """The numbers of the releases of a side by source, in order."""
        rows = self._db.execute(f"SELECT source, list(id ORDER BY id) FROM {side}.release GROUP BY source").fetchall()
        return {str(source): [int(number) for number in numbers] for source, numbers in rows}
