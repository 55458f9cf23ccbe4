"""SnapshotNames: current and former names and synonyms of nodes in a reference snapshot."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from kgcheck.caching import BatchCache
from kgcheck.model import Ref
from kgcheck.profile.catalogue import State
from kgcheck.profile.schema import Label, Schema
from kgcheck.reference.snapshot import Snapshot, damage_named

_ATTRIBUTES = ("name", "gene_name", "protein_name")
_ORDER = "CASE status WHEN 'current' THEN 0 WHEN 'synonym' THEN 1 ELSE 2 END"
_LIMIT = 12
_KEPT = 10_000
"""Nodes whose names are kept: an edge after the other of one node asks for them again."""


class SnapshotNames:
    """Names in a snapshot; keeps the protocol of kgcheck.literature.names."""

    def __init__(self, path: Path, schema: Schema) -> None:
        self._schema = schema
        self._snapshot = Snapshot(path, schema)
        self._names_of = BatchCache[str, list[str]](_KEPT)

    def of_many(self, refs: Iterable[Ref]) -> dict[Ref, tuple[str, ...]]:
        wanted = {ref: self._schema.label(ref.label) for ref in refs}
        known = self._names_of.get_many((ref.id for ref in wanted), self._look_up)
        return {
            ref: tuple(dict.fromkeys([*([ref.id] if label.key in label.names else []), *known.get(ref.id, ())]))
            for ref, label in wanted.items()
        }

    def mentioned(self, text: str) -> tuple[str, ...]:
        """Other names of what a text names."""
        words = [w.strip(".,;:()?!'\"") for w in text.split()][:40]
        runs = {" ".join(words[i : i + n]) for n in range(1, 6) for i in range(len(words) - n + 1)}
        # A short word in lower case is a word, not a symbol.
        exact = [r for r in runs if any(c.isupper() or c.isdigit() for c in r)]
        folded = [r.casefold() for r in runs if len(r) > 4]
        found = self._rows(
            f"""
            SELECT DISTINCT id FROM ref.value WHERE attribute IN {_ATTRIBUTES}
            AND (list_contains($exact, value) OR list_contains($folded, lower(value))) LIMIT 20
            """,
            {"exact": exact, "folded": folded},
        )
        known = text.casefold()
        return tuple(n for n in self._names(found) if n.casefold() not in known)

    def issued(self, ref: Ref) -> bool:
        """Tell whether an authority of a label issues an id, or did once; a name of something else is none."""
        label = self._schema.label(ref.label)
        known = self._rows(
            "SELECT id FROM ref.lifecycle WHERE list_contains($sources, source) AND list_contains($ids, id) "
            "AND list_contains($states, state)",
            {
                "sources": sorted(label.sources),
                "ids": [ref.id, *(one.base_id(ref.id) for one in label.issued)],
                "states": [state.value for state in State if state is not State.ALIAS],
            },
        )
        return bool(known)

    def named(self, label: Label, text: str) -> list[str]:
        """Ids of a label that its authority calls so, as it calls them now where any is; written as here, if any is."""
        rows = self._rows(
            f"""
            SELECT id FROM (
                SELECT id, min(value <> $text[1]) AS otherwise, min({_ORDER}) AS place FROM ref.value
                WHERE list_contains($sources, source) AND attribute IN {_ATTRIBUTES} AND lower(value) = lower($text[1])
                GROUP BY id UNION ALL
                SELECT unnest(CASE state WHEN '{State.CURRENT}' THEN [id] ELSE successors END), id <> $text[1],
                       (state <> '{State.CURRENT}')::INTEGER FROM ref.lifecycle
                WHERE list_contains($sources, source) AND lower(id) = lower($text[1])
                  AND state IN ('{State.CURRENT}', '{State.ALIAS}'))
            QUALIFY dense_rank() OVER (ORDER BY place, otherwise) = 1
            """,
            {"text": [text], "sources": [label.authority.source] if label.authority.source else []},
        )
        return [id_ for id_ in sorted(set(rows)) if label.matches(id_)]

    def _names(self, ids: list[str]) -> list[str]:
        return self._rows(
            f"""
            SELECT value FROM ref.value WHERE list_contains($ids, id) AND attribute IN {_ATTRIBUTES} AND value <> ''
            GROUP BY value ORDER BY min({_ORDER}), value LIMIT {_LIMIT}
            """,
            {"ids": ids},
        )

    def _look_up(self, ids: list[str]) -> dict[str, list[str]]:
        """The names of each of some nodes; none of one that the snapshot does not know."""
        rows = self._ask(
            f"""
            SELECT id, list(value ORDER BY place, value)[:{_LIMIT}] FROM (
                SELECT id, value, min({_ORDER}) AS place FROM ref.value
                WHERE id IN (SELECT unnest($ids)) AND attribute IN {_ATTRIBUTES} AND value <> '' GROUP BY id, value)
            GROUP BY id
            """,
            {"ids": ids},
        )
        names: dict[str, list[str]] = {id_: [] for id_ in ids}
        return names | dict(rows)

    def _rows(self, statement: str, parameters: dict[str, list[str]]) -> list[str]:
        return [str(row[0]) for row in self._ask(statement, parameters)]

    def _ask(self, statement: str, parameters: dict[str, list[str]]) -> list[tuple[Any, ...]]:
        # A cursor each: batches ask from several threads.
        with damage_named(self._snapshot.path):
            return self._snapshot.cursor().execute(statement, parameters).fetchall()

    def close(self) -> None:
        self._snapshot.close()
