"""Names that a reference snapshot knows: symbols, names and synonyms, also former ones."""

from pathlib import Path

import duckdb

from kgcheck.graph.schema import Schema
from kgcheck.model import Ref
from kgcheck.sources.snapshot import Snapshot

_ATTRIBUTES = ("name", "gene_name", "protein_name")
_ORDER = "CASE status WHEN 'current' THEN 0 WHEN 'synonym' THEN 1 ELSE 2 END"
_LIMIT = 12


class SnapshotNames:
    """Names in a snapshot; keeps the protocol of kgcheck.literature.names.

    Args:
        path: The snapshot.
        schema: Profile.

    Raises:
        SnapshotError: See Snapshot.
    """

    def __init__(self, path: Path, schema: Schema) -> None:
        Snapshot(path, schema).close()
        self._db = duckdb.connect(str(path), read_only=True)

    def of(self, ref: Ref) -> tuple[str, ...]:
        """Names of a node, current ones first."""
        own = (ref.id,) if ref.label == "Gene" else ()
        return tuple(dict.fromkeys([*own, *self._names([ref.id])]))

    def mentioned(self, text: str) -> tuple[str, ...]:
        """Other names of what a text names."""
        from itertools import chain

        words = [w.strip(".,;:()?!'\"") for w in text.split()][:40]
        runs = {" ".join(words[i : i + n]) for n in range(1, 6) for i in range(len(words) - n + 1)}
        # A short word in lower case is a word, not a symbol.
        exact = [r for r in runs if any(c.isupper() or c.isdigit() for c in r)]
        folded = [r.casefold() for r in runs if len(r) > 4]
        # A cursor each: batches ask from several threads.
        rows = (
            self._db.cursor()
            .execute(
                f"""
            SELECT DISTINCT id FROM value WHERE attribute IN {_ATTRIBUTES}
            AND (list_contains($exact, value) OR list_contains($folded, lower(value))) LIMIT 20
            """,
                {"exact": exact, "folded": folded},
            )
            .fetchall()
        )
        ids = list(chain.from_iterable(rows))
        known = text.casefold()
        return tuple(n for n in self._names(ids) if n.casefold() not in known)

    def _names(self, ids: list[str]) -> list[str]:
        # A cursor each: batches ask from several threads.
        rows = (
            self._db.cursor()
            .execute(
                f"""
            SELECT value FROM value WHERE list_contains($ids, id) AND attribute IN {_ATTRIBUTES} AND value <> ''
            GROUP BY value ORDER BY min({_ORDER}), value LIMIT {_LIMIT}
            """,
                {"ids": ids},
            )
            .fetchall()
        )
        return [str(row[0]) for row in rows]

    def close(self) -> None:
        """Close the snapshot."""
        self._db.close()
