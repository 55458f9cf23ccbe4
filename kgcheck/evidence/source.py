"""ReferenceSource protocol; SnapshotSource: evidence on single tasks from snapshot and services."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, NamedTuple, Protocol

from kgcheck.checks.lists import items_of
from kgcheck.closing import Closing
from kgcheck.duck import connected, limits
from kgcheck.evidence.edges import Cited, cited_by
from kgcheck.evidence.nodes import EvidenceJoin
from kgcheck.evidence.working_tables import ADDRESS_SQL
from kgcheck.model import CheckTask, CheckType, Evidence, Gap, Target
from kgcheck.profile.schema import Label, Pattern, Schema
from kgcheck.reference.overlay import attach_snapshot
from kgcheck.reference.retractions import retracted_among
from kgcheck.reference.snapshot import Snapshot, damage_named, refuse_unserved, sources_of
from kgcheck.settings import Settings

if TYPE_CHECKING:
    # What asks services takes a while to be imported.
    from kgcheck.reference.live import LiveReference

Observed = tuple[tuple[Evidence, ...], tuple[Gap, ...]]


class ReferenceSource(Protocol):
    """Anything that can be asked about a task: a snapshot now, live services later."""

    def observe(self, task: CheckTask, cited: Sequence[str] = ()) -> Observed:
        """Look up the source's evidence on a task, and the deciding sources that could not be looked at."""


class Stated(NamedTuple):
    """Statements of a source about one id.

    Attribute, value and status; relation and other end; and where that stands.
    """

    values: list[tuple[str, str, str]]
    links: list[tuple[str, str]]
    release: str
    url: str
    at: datetime | None


class SnapshotSource(Closing):
    """Single look-ups in a snapshot, and in services over it, through the joins that serve a whole graph.

    May be used by several threads; one look-up is under way at a time.
    """

    def __init__(
        self,
        snapshot: Path | None,
        schema: Schema,
        settings: Settings,
        live: "LiveReference | None" = None,
        dates: Mapping[str, str] | None = None,
    ) -> None:
        if snapshot and live:
            # Live answers are laid over it, so that its own sources could not be told from theirs.
            Snapshot(snapshot, schema).close()
        self._schema = schema
        self._snapshot = snapshot
        self.turn = RLock()
        self._db = connected(config=limits(settings))
        self._live = live
        try:
            self._join = EvidenceJoin(self._db, snapshot, live.attach if live else attach_snapshot, dates)
            if snapshot and not live:
                refuse_unserved(sources_of(self._db, snapshot), snapshot, schema)
        except BaseException:
            self.close()
            raise

    def observe(self, task: CheckTask, cited: Sequence[str] = ()) -> Observed:
        """See ReferenceSource. Structure tasks need no source: they give nothing."""
        with self.turn, damage_named(self._snapshot):
            return self._observe([task], [cited])[0]

    def observe_all(
        self, tasks: Sequence[CheckTask], cited: Mapping[str, Sequence[str]] | None = None
    ) -> list[Observed]:
        """Look up many tasks: those of one label, attribute or pattern together."""
        alike: dict[tuple[CheckType, Target], list[int]] = {}
        for place, task in enumerate(tasks):
            alike.setdefault((task.type, Target.of(task)), []).append(place)
        found: dict[int, Observed] = {}
        with self.turn, damage_named(self._snapshot):
            for places in alike.values():
                together = [tasks[place] for place in places]
                named = [(cited or {}).get(task.fingerprint, ()) for task in together]
                found |= zip(places, self._observe(together, named), strict=True)
        return [found[place] for place in range(len(tasks))]

    def _observe(self, tasks: Sequence[CheckTask], cited: Sequence[Sequence[str]]) -> list[Observed]:
        tables, task = self._join.tables, tasks[0]
        tables.reset()
        for number, each in enumerate(tasks, 1):
            tail = each.object.id if each.object else None
            tables.add_task(number, each.subject.id, tail, each.value, items_of(each.value))
        label = self._schema.label(task.subject.label)
        match task.judged_as:
            case CheckType.EXISTENCE:
                self._fetch(label)
                self._join.existence(label)
            case CheckType.ATTRIBUTE if task.object and task.relation:
                pattern = self._schema.pattern(label.name, task.relation, task.object.label)
                self._fetch(pattern)
                check = pattern.scored[task.attribute or ""]
                tail_label = self._schema.label(task.object.label)
                self._join.scores(pattern, label, tail_label, check, _named(tasks, cited))
            case CheckType.ATTRIBUTE:
                self._fetch(label)
                self._join.attribute(label, self._schema.attribute(label.name, task.attribute or ""))
            case CheckType.TRIPLE | CheckType.POTENTIAL if task.object and task.relation:
                pattern = self._schema.pattern(label.name, task.relation, task.object.label)
                self._fetch(pattern)
                stated = _named(tasks, cited) if task.type is CheckType.TRIPLE else None
                self._join.edges(pattern, label, self._schema.label(task.object.label), stated)
        if self._live:
            tables.set_causes(self._live.causes)
        evidence, gaps = tables.evidence_of("FROM task"), tables.gaps_of("FROM task")
        return [(evidence.get(number, ()), gaps.get(number, ())) for number in range(1, len(tasks) + 1)]

    def stated(self, source: str, identifier: str) -> Stated:
        """All that a source states of an id: in the snapshot, and of what the last look-up brought live."""
        selects = (
            """
            SELECT DISTINCT attribute, value, status FROM ref.value WHERE source = $source AND id = $id AND value <> ''
            ORDER BY attribute, status = 'current' DESC, value""",
            """
            SELECT DISTINCT relation, CASE WHEN head_now = $id THEN tail_now ELSE head_now END AS other FROM ref.link
            WHERE source = $source AND NOT negated AND NOT retracted AND $id IN (head_now, tail_now) ORDER BY ALL""",
            f"""
            SELECT coalesce(release, ''), {ADDRESS_SQL.format(template="url_template", record="$id", ends="''")},
                   retrieved_at
            FROM ref.release WHERE id IN (
                SELECT release_id FROM ref.value WHERE source = $source AND id = $id UNION
                SELECT release_id FROM ref.link WHERE source = $source AND $id IN (head_now, tail_now))
            ORDER BY recency DESC, id DESC LIMIT 1""",
        )
        of_id = {"source": source, "id": identifier}
        with self.turn, damage_named(self._snapshot):
            values, links, places = (self._db.execute(select, of_id).fetchall() for select in selects)
        release, url, at = next(iter(places), ("", "", None))
        return Stated(values, links, release, url, at and at.replace(tzinfo=UTC))

    def retracted(self, papers: Iterable[str]) -> set[str]:
        """Return those of some papers, ``PMID:1``, that the snapshot lists as retracted."""
        with self.turn, damage_named(self._snapshot):
            return retracted_among(self._db, papers)

    def _fetch(self, part: Label | Pattern) -> None:
        if self._live:
            self._live.fetch(self._db, self._join.tables.tasks(), part)

    def close(self) -> None:
        self._db.close()


def _named(tasks: Sequence[CheckTask], cited: Sequence[Sequence[str]]) -> Cited | None:
    """Sources that the edges of tasks cite."""
    return cited_by(
        (task.subject.id, task.object.id, source)
        for task, sources in zip(tasks, cited, strict=True)
        for source in sources
        if task.object
    )
