"""Evidence as values: rows of the evidence tables with the release they come from, and single look-ups."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, NamedTuple, Protocol
from urllib.parse import quote

import duckdb

from kgcheck.checks.lists import items_of
from kgcheck.checks.signature import Gap
from kgcheck.closing import Closing
from kgcheck.duck import connected, limits
from kgcheck.evidence.edges import cited_by
from kgcheck.evidence.nodes import SCHEMA_SOURCE, EvidenceJoin
from kgcheck.model import CheckTask, CheckType, Evidence, Reason
from kgcheck.profile.reference_files import NetworkType
from kgcheck.profile.schema import Label, Pattern, Schema
from kgcheck.reference.overlay import attach_snapshot
from kgcheck.reference.retractions import retracted_among
from kgcheck.reference.snapshot import Snapshot, damage_told
from kgcheck.settings import Settings

if TYPE_CHECKING:
    from kgcheck.providers.uniprot_entry import UniProtEntry

WHOLE_SOURCE = "literature"
"""The source whose rows hold a whole Evidence in ``value``: quotes have no column."""

Observed = tuple[tuple[Evidence, ...], tuple[Gap, ...]]


class ReferenceSource(Protocol):
    """Anything that can be asked about a task: a snapshot now, live services later."""

    def observe(self, task: CheckTask, cited: Sequence[str] = ()) -> Observed:
        """What the source says of a task, and which deciding sources could not be looked at.

        Args:
            task: The task.
            cited: The sources that the graph's own edges name, where it is about an edge that is there.
        """


class LiveSource(Protocol):
    """Services that lay what they say over a snapshot, see kgcheck.reference.live."""

    failures: dict[str, str]
    """Why a source could not be looked at, where one could not, and may be later."""
    refusals: dict[str, str]
    """Why a source will never be looked at for some tasks: it does not take the question."""

    @property
    def releases(self) -> Mapping[str, tuple[str, ...]]:
        """The releases that each service named, as they came; an empty one where it named none."""

    def attach(self, db: duckdb.DuckDBPyConnection, snapshot: Path | None) -> None:
        """Make the catalog ``ref``."""

    def fetch(self, db: duckdb.DuckDBPyConnection, part: Label | Pattern) -> None:
        """Bring what the tasks in the table ``task`` need."""

    def suggest(
        self, db: duckdb.DuckDBPyConnection, pattern: Pattern, ids: Sequence[str], threshold: float | None
    ) -> None:
        """Bring the links of some nodes, so that those that the graph lacks can be seen."""

    def explain(self, db: duckdb.DuckDBPyConnection) -> None:
        """Name the gaps of services that could not be looked at."""

    def entry_of(self, accession: str) -> "UniProtEntry | None":
        """The entry of an accession that was fetched and is active."""

    def channels(self, record: str, network: NetworkType) -> dict[str, float]:
        """The scores by channel of a link that was fetched."""


class Stated(NamedTuple):
    """What a source states of one id: attribute, value and status; relation and other end; and where that stands."""

    values: list[tuple[str, str, str]]
    links: list[tuple[str, str]]
    release: str
    url: str
    at: datetime | None


class SnapshotSource(Closing):
    """Single look-ups in a snapshot, and in services over it, through the joins that serve a whole graph.

    May be used by several threads; one look-up is under way at a time.

    Args:
        snapshot: Path of the snapshot, or None: then every look-up is a gap.
        schema: Profile.
        settings: Limits.
        live: Services to ask, too.
        dates: Of what the graph has of each label and pattern, see kgcheck.loading.manifest.graph_dates.

    Raises:
        SnapshotError: See Snapshot.
    """

    def __init__(
        self,
        snapshot: Path | None,
        schema: Schema,
        settings: Settings,
        live: LiveSource | None = None,
        dates: Mapping[str, str] | None = None,
    ) -> None:
        if snapshot:
            Snapshot(snapshot, schema).close()
        self._schema = schema
        self._snapshot = snapshot
        self.turn = RLock()
        self._db = connected(config=limits(settings))
        self._live = live
        self._join = EvidenceJoin(self._db, snapshot, live.attach if live else attach_snapshot, dates)

    def observe(self, task: CheckTask, cited: Sequence[str] = ()) -> Observed:
        """See ReferenceSource. Structure tasks need no source: they give nothing."""
        with self.turn, damage_told(self._snapshot):
            return self._observe(task, cited)

    def _observe(self, task: CheckTask, cited: Sequence[str]) -> Observed:
        self._join.reset()
        self._db.execute(
            "INSERT INTO task VALUES (1, $head, $tail, $value, $items)",
            {
                "head": task.subject.id,
                "tail": task.object.id if task.object else None,
                "value": task.value,
                "items": items_of(task.value),
            },
        ).fetchall()
        label = self._schema.label(task.subject.label)
        match task.type:
            case CheckType.EXISTENCE:
                self._fetch(label)
                self._join.existence(label)
            case CheckType.ATTRIBUTE if task.object and task.relation:
                pattern = self._schema.pattern(label.name, task.relation, task.object.label)
                self._fetch(pattern)
                check = pattern.scored[task.attribute or ""]
                self._join.scores(pattern, label, self._schema.label(task.object.label), check)
            case CheckType.ATTRIBUTE:
                self._fetch(label)
                self._join.attribute(label, self._schema.attribute(label.name, task.attribute or ""))
            case CheckType.TRIPLE | CheckType.POTENTIAL if task.object and task.relation:
                pattern = self._schema.pattern(label.name, task.relation, task.object.label)
                self._fetch(pattern)
                told = cited_by(task.subject.id, task.object.id, cited if task.type is CheckType.TRIPLE else ())
                self._join.edges(pattern, label, self._schema.label(task.object.label), told)
        if self._live:
            self._live.explain(self._db)
        evidence = evidence_of(self._db, "SELECT 1 AS task").get(1, ())
        return evidence, gaps_of(self._db, "SELECT 1 AS task").get(1, ())

    def stated(self, source: str, identifier: str) -> Stated:
        """All that a source states of an id: in the snapshot, and of what the last look-up brought live.

        Args:
            source: As the profile names it.
            identifier: The id.

        Returns:
            Values, current ones first, and links, none that is denied.
        """
        with self.turn, damage_told(self._snapshot):
            return self._stated(source, identifier)

    def _stated(self, source: str, identifier: str) -> Stated:
        asked = {"source": source, "id": identifier}
        values = self._db.execute(
            """
            SELECT DISTINCT attribute, value, status FROM ref.value WHERE source = $source AND id = $id AND value <> ''
            ORDER BY attribute, status = 'current' DESC, value
            """,
            asked,
        ).fetchall()
        links = self._db.execute(
            """
            SELECT DISTINCT relation, CASE WHEN head_now = $id THEN tail_now ELSE head_now END AS other FROM ref.link
            WHERE source = $source AND NOT negated AND NOT retracted AND $id IN (head_now, tail_now) ORDER BY ALL
            """,
            asked,
        ).fetchall()
        place = self._db.execute(
            """
            SELECT release, url_template, retrieved_at FROM ref.release WHERE id IN (
                SELECT release_id FROM ref.value WHERE source = $source AND id = $id UNION
                SELECT release_id FROM ref.link WHERE source = $source AND $id IN (head_now, tail_now))
            ORDER BY recency DESC, id DESC LIMIT 1
            """,
            asked,
        ).fetchone()
        release, template, at = place or ("", "", None)
        return Stated(values, links, release or "", _address(template or "", identifier), at and at.replace(tzinfo=UTC))

    def retracted(self, papers: Iterable[str]) -> set[str]:
        """Which of some papers, ``PMID:1``, the snapshot lists as retracted."""
        with self.turn, damage_told(self._snapshot):
            return retracted_among(self._db, papers)

    def _fetch(self, part: Label | Pattern) -> None:
        if self._live:
            self._live.fetch(self._db, part)

    def close(self) -> None:
        """Close the snapshot."""
        self._db.close()


def evidence_of(db: duckdb.DuckDBPyConnection, tasks: str) -> dict[int, tuple[Evidence, ...]]:
    """Evidence by task.

    Args:
        db: A working database with the tables of EvidenceJoin.
        tasks: A select that gives the column task.

    Returns:
        The evidence of each task that has any, what speaks of ends last.
    """
    rows = db.execute(
        f"""
        SELECT e.task, e.source, r.release, e.record, r.url_template, r.retrieved_at, r.built_at,
               e.stance, e.world, e.tier, e.reason, e.value, e.score, e.about, e.replacements, e.candidates,
               t.head, t.tail
        FROM evidence e SEMI JOIN ({tasks}) USING (task) LEFT JOIN ref.release r ON r.id = e.release_id
             LEFT JOIN task t ON t.task = e.task
        ORDER BY e.task, e.about DESC, e.stance DESC, e.source, e.record
        """
    ).fetchall()
    found: dict[int, list[Evidence]] = {}
    for row in rows:
        found.setdefault(row[0], []).append(_evidence(row[1:]))
    return {task: tuple(items) for task, items in found.items()}


def gaps_of(db: duckdb.DuckDBPyConnection, tasks: str) -> dict[int, tuple[Gap, ...]]:
    """Gaps by task; see `evidence_of`."""
    rows = db.execute(
        f"SELECT DISTINCT task, source, cause FROM gap SEMI JOIN ({tasks}) USING (task) ORDER BY ALL"
    ).fetchall()
    found: dict[int, list[Gap]] = {}
    for task, source, cause in rows:
        found.setdefault(task, []).append(Gap(source, Reason(cause)))
    return {task: tuple(gaps) for task, gaps in found.items()}


def _evidence(row: Sequence[object]) -> Evidence:
    source, release, record, template, at, pinned, stance, world, tier, reason, value, score, about = row[:-4]
    new, other, *ends = row[-4:]
    if source == WHOLE_SOURCE:
        return Evidence.model_validate_json(str(value))
    own = source == SCHEMA_SOURCE
    stamp = at.replace(tzinfo=UTC) if isinstance(at, datetime) else datetime.now(UTC)
    return Evidence.model_validate(
        {
            "source": source,
            "release": "graph.toml" if own else release or "",
            "record": record,
            "url": _address(str(template or ""), str(record), " ".join(str(end) for end in ends if end)),
            "retrieved_at": stamp.replace(microsecond=0),
            "pinned_at": pinned.replace(tzinfo=UTC, microsecond=0) if isinstance(pinned, datetime) else None,
            "stance": stance,
            "world": world,
            "tier": tier,
            "reason": reason,
            "value": value,
            "score": score,
            "about": about,
            "replacements": new or (),
            "candidates": other or (),
        }
    )


@lru_cache(10_000)
def _address(template: str, record: str, ends: str = "") -> str:
    """Where a record stands; of a pair, the two are parted as STRING wants it: those of the record, or of the edge."""
    if not template:
        return ""
    parts = "%0d".join(quote(part) for part in (record if " " in record else ends or record).split(" "))
    return template.replace("{record}", quote(record, safe=":/@,;=")).replace("{pair}", parts)
