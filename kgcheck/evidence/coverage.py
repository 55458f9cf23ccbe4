"""What a snapshot's releases speak about, and what becomes of tasks that none speaks of."""

from typing import NamedTuple

import duckdb

from kgcheck.evidence.tables import WorkingTables
from kgcheck.model import Reason


class _Release(NamedTuple):
    id: int
    recency: int
    complete: bool


class Topics:
    """Which releases speak of which topics: a small table, of which much is asked, read once."""

    def __init__(self, db: duckdb.DuckDBPyConnection) -> None:
        self._releases: dict[tuple[str, str], list[_Release]] = {}
        rows = db.execute(
            """
            SELECT t.source, t.topic, r.id, r.recency, t.complete
            FROM ref.topic t JOIN ref.release r ON r.id = t.release_id
            """
        ).fetchall()
        for source, topic, *release in rows:
            self._releases.setdefault((source, topic), []).append(_Release(*release))

    def complete(self, source: str, topic: str) -> int | None:
        """The newest release that lists everything of a topic, or None."""
        whole = [r for r in self._releases.get((source, topic), ()) if r.complete]
        return max(whole, key=lambda r: (r.recency, r.id)).id if whole else None

    def speak(self, source: str, topic: str) -> bool:
        """Whether any release speaks of a topic."""
        return (source, topic) in self._releases

    def dates(self, source: str, topic: str) -> int:
        """Of how many different dates the releases are that speak of a topic."""
        return len({r.recency for r in self._releases.get((source, topic), ())})


def add_gaps(tables: WorkingTables, topics: Topics, source: str, topic: str) -> None:
    """Gaps of the tasks in ``unseen``: the source could not be looked at for this topic."""
    cause = Reason.NOT_COVERED if topics.speak(source, topic) else Reason.REFERENCE_MISSING
    tables.add_gaps(
        "SELECT task, $source AS source, $cause AS cause FROM unseen", {"source": source, "cause": cause.value}
    )
