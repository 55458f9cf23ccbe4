"""Topics: what a snapshot's releases cover in full or in part, and gaps of tasks outside of it."""

import duckdb

from kgcheck.evidence.working_tables import WorkingTables
from kgcheck.model import Reason
from kgcheck.profile.catalogue import NAMING
from kgcheck.quoting import literal


class Topics:
    """Topics of the releases of a snapshot: a small table, of which much is asked, read once."""

    def __init__(self, db: duckdb.DuckDBPyConnection) -> None:
        self._releases: dict[tuple[str, str], list[tuple[int, int, bool]]] = {}
        select = "SELECT t.source, t.topic, r.recency, r.id, t.complete FROM ref.topic t JOIN ref.release r"
        for source, topic, *release in db.execute(f"{select} ON r.id = t.release_id").fetchall():
            self._releases.setdefault((source, topic), []).append(tuple(release))

    def complete(self, source: str, topic: str) -> int | None:
        """The newest release that lists everything of a topic, or None."""
        whole = [(recency, number) for recency, number, whole in self._releases.get((source, topic), ()) if whole]
        return max(whole)[1] if whole else None

    def speak(self, source: str, topic: str) -> bool:
        return (source, topic) in self._releases

    def dates(self, source: str, topic: str) -> int:
        return len({recency for recency, *_ in self._releases.get((source, topic), ())})


def named_later(db: duckdb.DuckDBPyConnection, topics: Topics, source: str, dated: str, column: str) -> str:
    """SQL for whether the id in a column, which lifecycle l is of, may have become one of its own since.

    What an authority knew as a name of something else, a graph that is newer than that may have as an id. A later list
    of all ids that still lacks it must be older than the graph, too.
    """
    older = f"SELECT id FROM ref.release WHERE source = {literal(source)} AND is_older(released, {literal(dated)})"
    releases = [release for (release,) in db.execute(f"{older} ORDER BY id").fetchall()]
    if not releases or topics.complete(source, "entity") not in (None, *releases):
        return "false"
    states = ", ".join(literal(state) for state in NAMING)
    of_older = f"l.state IN ({states}) AND l.release_id IN ({', '.join(map(str, releases))})"
    return f"({of_older} AND NOT is_impossible({column}, ''))"


def add_gaps(tables: WorkingTables, topics: Topics, source: str, topic: str) -> None:
    """Gaps of the tasks in ``unseen``: the source could not be looked at for this topic."""
    cause = Reason.NOT_COVERED if topics.speak(source, topic) else Reason.REFERENCE_MISSING
    select = "SELECT task, $source AS source, $cause AS cause FROM unseen"
    tables.add("gap", select, {"source": source, "cause": cause.value})
