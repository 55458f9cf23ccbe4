"""What a snapshot says outright about ids, names and links, for benchmarks: plain SQL, without the verdict function."""

from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import duckdb

from kgcheck.graph.schema import Label, Pattern
from kgcheck.graph.symmetry import unordered
from kgcheck.tables import literal

_STATE_REASON = {
    "obsolete": "term_obsolete",
    "dropped": "term_obsolete",
    "secondary": "secondary_id",
    "withdrawn": "symbol_withdrawn",
    "previous": "symbol_previous",
    "alias": "symbol_alias",
    "merged": "accession_merged",
    "demerged": "accession_demerged",
    "deleted": "accession_deleted",
    "retired": "pathway_retired",
    "superseded": "structure_superseded",
}


class Life(NamedTuple):
    """What became of an id: how it is now, its name, and what its source would say is wrong with it."""

    state: str
    name: str | None
    record: str

    @property
    def reason(self) -> str:
        """The reason that a verdict about it should give."""
        return "confirmed" if self.state == "current" else _STATE_REASON.get(self.state, "")


class Links(NamedTuple):
    """Links of one source for a relation, and the ids of which it lists every one."""

    linked: dict[tuple[str, str], str]
    denied: frozenset[tuple[str, str]]
    covered: tuple[frozenset[str], ...]
    complete: bool

    def lists(self, head: str, tail: str, *, both: bool) -> bool:
        """Whether a release would have the link if there were one."""
        if self.complete:
            return True
        inside = all if both else any
        return any(inside(end in ids for end in (head, tail)) for ids in self.covered)


def in_one_order(pattern: Pattern, pair: tuple[str, str]) -> tuple[str, str]:
    """A pair as `Links` has it."""
    return (min(pair), max(pair)) if pattern.symmetric else pair


class Truths:
    """A snapshot read for what is plainly true.

    Args:
        snapshot: Path of the snapshot.
    """

    def __init__(self, snapshot: Path) -> None:
        self._db = duckdb.connect()
        self._db.execute(f"ATTACH {literal(str(snapshot))} AS ref (READ_ONLY)").fetchall()

    def close(self) -> None:
        """Close the snapshot."""
        self._db.close()

    def __enter__(self) -> "Truths":
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def lives(self, label: Label) -> dict[str, Life]:
        """Ids of a label at the authority that issues them; those that it files under another label are left out."""
        rows = self._db.execute(
            """
            SELECT id, state, name, coalesce(nullif(record, ''), id) FROM ref.lifecycle
            WHERE source = $source AND (label = $label OR label IS NULL)
            """,
            {"source": label.authority.source, "label": label.name},
        ).fetchall()
        return {id_: Life(state, name, record) for id_, state, name, record in rows}

    def values(self, source: str, attribute: str) -> dict[str, str]:
        """The one current value of an attribute by id; ids of which several are stated are left out."""
        rows = self._db.execute(
            """
            SELECT id, any_value(value) FROM ref.value
            WHERE source = $source AND attribute = $attribute AND status = 'current'
            GROUP BY id HAVING count(DISTINCT value) = 1
            """,
            {"source": source, "attribute": attribute},
        ).fetchall()
        return dict(rows)

    def links(self, pattern: Pattern, source: str, threshold: float | None) -> Links:
        """Links of a source for a relation. A pair on which its releases or its orders disagree is in neither set.

        Args:
            pattern: The relation.
            source: The source.
            threshold: Least score that counts.

        Returns:
            The links, by head and tail: in one order where order means nothing, else as the source has them.
        """
        known = {"source": source, "relation": pattern.type}
        rows = self._db.execute(
            f"""
            SELECT head, tail, min(coalesce(score, 1)), max(coalesce(score, 1)), bool_or(negated),
                   min(coalesce(nullif(record, ''), head || ' ' || tail))
            FROM (SELECT {unordered(pattern)}, score, negated, record FROM ref.link
                  WHERE source = $source AND relation = $relation)
            GROUP BY head, tail
            """,
            known,
        ).fetchall()
        least = threshold or 0.0
        linked = {(h, t): record for h, t, low, _, no, record in rows if low >= least and not no}
        denied = frozenset((h, t) for h, t, low, high, no, _ in rows if low < least or no)
        covered: dict[int, set[str]] = defaultdict(set)
        for release, id_ in self._db.execute(
            "SELECT release_id, id FROM ref.covered WHERE source = $source AND topic = $relation", known
        ).fetchall():
            covered[release].add(id_)
        topics = self._db.execute(
            "SELECT bool_or(complete) FROM ref.topic WHERE source = $source AND topic = $relation", known
        ).fetchall()
        complete = bool(topics[0][0]) if topics else False
        return Links(linked, denied, tuple(frozenset(ids) for ids in covered.values()), complete)
