"""DuckDB working tables of tasks and evidence: their schemas, writer and reader.

A join over millions of rows is one statement, so modules meet in DuckDB tables and not in arguments. What these tables
are is stated here once: `WORKING_TABLES` describes every column, and the CREATE statements come from that.
`WorkingTables` alone creates, fills, empties or changes those of look-ups; each of those of an audit is filled by one
module. Anyone may read them in a select. Tables that a module makes for itself alone have names of their own.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC
from functools import cached_property
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa

from kgcheck import clock
from kgcheck.duck import insert_arrow
from kgcheck.model import INFORMS, SEARCH, Evidence, Gap, Reason, Stance
from kgcheck.quoting import identifier


class Column(NamedTuple):
    """A column of a working table: its name, its DuckDB type, and what it means."""

    name: str
    type: str
    meaning: str


class WorkingTable(NamedTuple):
    """A working table: its name, what a row is, its columns, and the module that makes it, if not this one."""

    name: str
    meaning: str
    columns: tuple[Column, ...]
    maker: str = "kgcheck.evidence.working_tables"

    @property
    def definition(self) -> str:
        return f"{identifier(self.name)} ({', '.join(f'{identifier(c.name)} {c.type}' for c in self.columns)})"

    @property
    def create(self) -> str:
        return f"CREATE OR REPLACE TEMP TABLE {self.definition}"


_TASK = Column("task", "BIGINT", "number of the task")
_PAIR = (
    _TASK,
    Column("head", "VARCHAR", "id of the node, or of the edge's head, as the graph writes it"),
    Column("tail", "VARCHAR", "id of the edge's tail, as the graph writes it; NULL of a node"),
    Column("head_now", "VARCHAR", "the id under which its authority files the head now"),
    Column("tail_now", "VARCHAR", "the id under which its authority files the tail now; NULL of a node"),
)

TASK = WorkingTable(
    "task",
    "a task to be looked up; all of one label, attribute or pattern",
    (
        *_PAIR[:3],
        Column("value", "VARCHAR", "what the graph says of the attribute, where that is one value"),
        Column("items", "VARCHAR[]", "what the graph says of the attribute, where that is a list"),
    ),
)
LOOKED_UP = WorkingTable("looked_up", "a task that was looked up, while others are", TASK.columns)
EVIDENCE = WorkingTable(
    "evidence",
    "an observation about a task: the columns of Evidence, and where it stands",
    (
        _TASK,
        Column("source", "VARCHAR", "name of the source"),
        Column("release_id", "INTEGER", "the snapshot's release that it stands in (ref.release); NULL outside it"),
        Column("release", "VARCHAR", "the release in words, where no release_id names it: papers, the profile"),
        Column("record", "VARCHAR", "the record within the release"),
        Column("url", "VARCHAR", "address of the record, where no release_id gives it"),
        Column("retrieved_at", "TIMESTAMP", "UTC: when it was read, where no release_id tells"),
        Column("stance", "VARCHAR", "supports, contradicts or silent"),
        Column("world", "VARCHAR", "closed or open"),
        Column("tier", "VARCHAR", "owner, curated, computed or text"),
        Column("reason", "VARCHAR", "what it alone would mean; NULL for plain support and plain silence"),
        Column("value", "VARCHAR", "what the source says, for people"),
        Column("quote", "VARCHAR", "an exact substring of the passage it rests on"),
        Column("score", "DOUBLE", "the source's own score, from 0 to 1"),
        Column(
            "about",
            "VARCHAR",
            "fact, head or tail: which part of the task; search: of none; informs: of the fact, deciding nothing",
        ),
        Column("replacements", "VARCHAR[]", "ids that the source puts in place of this one"),
        Column("candidates", "VARCHAR[]", "ids that a curator may choose from"),
        Column("weight", "VARCHAR", "of a paper: whether its judge decides or informs, and by which figures"),
    ),
)
GAP = WorkingTable(
    "gap",
    "a deciding source that could not be looked at for a task",
    (
        _TASK,
        Column("source", "VARCHAR", "name of the source"),
        Column("cause", "VARCHAR", "the reason why not: reference_missing, not_covered, source_unavailable, ..."),
    ),
)
ENDS = WorkingTable("ends", "a task about an edge, under the ids that its ends have now", _PAIR)
INTENDED_ID = WorkingTable(
    "intended_id",
    "an id that is not written as its authority writes it, and the one id that it can only mean",
    (
        Column("id", "VARCHAR", "the id as the graph writes it"),
        Column("intended", "VARCHAR", "the id as the authority writes it"),
    ),
)
UNSEEN = WorkingTable("unseen", "a task of which the source that is being looked at has not spoken so far", _PAIR)

CHOSEN = WorkingTable(
    "chosen",
    "a task of a unit that an audit looks at",
    (
        Column("number", "BIGINT", "from 1, in an order that does not change; 0 stands for all plainly supported"),
        *TASK.columns[1:],
    ),
    "kgcheck.audit.tasks",
)
_VERDICT = (
    Column("outcome", "VARCHAR", "supported, refuted, insufficient or unavailable"),
    Column("reason", "VARCHAR", "why"),
    Column("confidence", "DOUBLE", "from 0 to 1"),
    Column("note", "VARCHAR", "what more there is to say; empty for most"),
)
SIGNATURE_VERDICT = WorkingTable(
    "signature_verdict",
    "an evidence signature that tasks have, and what it comes to",
    (
        Column("number", "INTEGER", "number of the signature"),
        Column("signature", "VARCHAR", "observations and gaps, as JSON"),
        *_VERDICT,
        Column("sources", "VARCHAR[]", "sources that made an observation"),
        Column("gaps", "VARCHAR[][]", "source and cause of each gap"),
    ),
    "kgcheck.audit.judging",
)
JUDGED = WorkingTable(
    "judged",
    "a task and how it ended",
    (_TASK, Column("verdict", "INTEGER", "number of its signature in signature_verdict"), *_VERDICT),
    "kgcheck.audit.judging",
)
NODE_NAME = WorkingTable(
    "node_name",
    "a node that findings are about, as the graph calls it",
    (
        Column("label", "VARCHAR", "label of the node"),
        Column("id", "VARCHAR", "id of the node"),
        Column("name", "VARCHAR", "its name; NULL where it has none"),
    ),
    "kgcheck.audit.naming",
)

_OF_ONE_LOOK_UP = (TASK, ENDS, INTENDED_ID, UNSEEN)
LOOK_UP_TABLES = (*_OF_ONE_LOOK_UP, LOOKED_UP, EVIDENCE, GAP)
"""Tables that look-ups hand to each other, and empty before the next ones."""

WORKING_TABLES = (*LOOK_UP_TABLES, CHOSEN, SIGNATURE_VERDICT, JUDGED, NODE_NAME)


def fill(db: duckdb.DuckDBPyConnection, table: WorkingTable, select: str) -> None:
    """Make a working table anew of a select that has its columns."""
    columns = ", ".join(f"{identifier(c.name)}::{c.type} AS {identifier(c.name)}" for c in table.columns)
    db.execute(f"CREATE OR REPLACE TEMP TABLE {identifier(table.name)} AS SELECT {columns} FROM ({select})").fetchall()


def insert_rows(db: duckdb.DuckDBPyConnection, table: WorkingTable, rows: list[dict[str, Any]]) -> None:
    """Insert rows, as values by column, into a working table."""
    if rows:
        schema = db.sql(f"FROM {identifier(table.name)} LIMIT 0").to_arrow_table().schema
        insert_arrow(db, table.name, pa.Table.from_pylist(rows, schema=schema))


class TaskRow(NamedTuple):
    """A row of the table ``task``, without its value."""

    number: int
    head: str
    tail: str | None


class WorkingTables:
    """The working tables of one DuckDB database: the only writer that they have.

    Selects that are given to a method may read any table of the database; their columns go by name, and those that
    they lack are NULL.
    """

    def __init__(self, db: duckdb.DuckDBPyConnection) -> None:
        self.db = db
        self.reset()

    def reset(self) -> None:
        self.db.execute("; ".join(table.create for table in LOOK_UP_TABLES)).fetchall()

    def begin_next(self) -> None:
        """Make room for tasks of another kind, with other numbers; what is known of those before is kept."""
        self._insert(LOOKED_UP, "FROM task")
        self.db.execute("; ".join(table.create for table in _OF_ONE_LOOK_UP)).fetchall()

    def recall(self) -> None:
        """Put the tasks that were looked up before beside the last ones, so that all are judged together."""
        self._insert(TASK, "FROM looked_up")

    @cached_property
    def links_have_places(self) -> bool:
        """Tell whether a row of the links has a place: in a table, or a view of one, but not of several."""
        link = "database_name = 'ref' AND table_name = 'link'"
        # To list columns takes as long as all else that opening takes: a table needs none of it.
        listed = (f"duckdb_tables() WHERE {link}", f"duckdb_columns() WHERE {link} AND column_name = 'rowid'")
        return any(self.db.execute(f"SELECT 1 FROM {entries}").fetchall() for entries in listed)

    def has(self, table: str) -> bool:
        return bool(self.db.execute(f"SELECT 1 FROM {identifier(table)} LIMIT 1").fetchall())

    def add_task(
        self, number: int, head: str, tail: str | None = None, value: str | None = None, items: Sequence[str] = ()
    ) -> None:
        row = {"task": number, "head": head, "tail": tail, "value": value, "items": list(items)}
        self._insert(TASK, f"SELECT {', '.join(f'${name} AS {name}' for name in row)}", row)

    def add_tasks(self, select: str, parameters: Mapping[str, Any] | None = None) -> None:
        self._insert(TASK, select, parameters)

    def tasks(self) -> list[TaskRow]:
        rows = self.db.execute("SELECT task, head, tail FROM task ORDER BY task").fetchall()
        return [TaskRow(*row) for row in rows]

    def add_evidence(self, select: str, parameters: Mapping[str, Any] | None = None) -> None:
        self._insert(EVIDENCE, select, parameters)

    def add_observations(self, observations: Mapping[int, Iterable[Evidence]]) -> None:
        """Add observations, by task, that stand in no snapshot, such as those of papers."""
        rows = [
            {
                **observed.model_dump(),
                "task": task,
                "retrieved_at": observed.retrieved_at.astimezone(UTC).replace(tzinfo=None),
            }
            for task, of_task in observations.items()
            for observed in of_task
        ]
        insert_rows(self.db, EVIDENCE, rows)

    def add_gaps(self, select: str, parameters: Mapping[str, Any] | None = None) -> None:
        self._insert(GAP, select, parameters)

    def set_causes(self, causes: Mapping[str, Mapping[int, Reason]]) -> None:
        for source, by_task in causes.items():
            for cause in set(by_task.values()):
                self.db.execute(
                    "UPDATE gap SET cause = ? WHERE source = ? AND list_contains(?, task)",
                    [cause.value, source, sorted(task for task, why in by_task.items() if why is cause)],
                ).fetchall()

    def set_ends(self, select: str) -> None:
        self._replace(ENDS, select)

    def drop_ends(self, tasks: str) -> None:
        """Take the tasks that a select of the column task gives out of ``ends``."""
        self.db.execute(f"CREATE OR REPLACE TEMP TABLE ends AS FROM ends ANTI JOIN ({tasks}) USING (task)").fetchall()

    def put_intended_ends(self, end: str, as_filed: str) -> None:
        """Go on with the ids that were meant, where ends are written otherwise."""
        self.db.execute(
            f"UPDATE ends SET {end}_now = {as_filed} FROM intended_id WHERE intended_id.id = ends.{end}"
        ).fetchall()

    def set_intended_ids(self, select: str) -> None:
        self._replace(INTENDED_ID, select)

    def set_unseen(self, select: str) -> None:
        self._replace(UNSEEN, select)

    def drop_unseen(self, tasks: str, parameters: Mapping[str, Any] | None = None) -> None:
        """Take the tasks that a select of the column task gives out of ``unseen``."""
        # Most go at once, and those that stay are copied faster than the others are deleted.
        self.db.execute(
            f"CREATE OR REPLACE TEMP TABLE unseen AS FROM unseen ANTI JOIN ({tasks}) USING (task)", parameters
        ).fetchall()

    def evidence_of(self, tasks: str) -> dict[int, tuple[Evidence, ...]]:
        order = ", ".join(("task", *SHOWN_ORDER))
        rows = self.db.execute(f"SELECT * FROM ({self.stated(tasks)}) ORDER BY {order}").fetchall()
        found: dict[int, list[Evidence]] = {}
        for task, *row in rows:
            found.setdefault(task, []).append(_evidence(row))
        return {task: tuple(items) for task, items in found.items()}

    def stated(self, tasks: str) -> str:
        """A select of the evidence of tasks with what its releases say: task, and the columns of Evidence."""
        now = f"TIMESTAMP '{clock.now():%Y-%m-%d %H:%M:%S}'"
        return f"""
        SELECT e.task, e.source, coalesce(e.release, r.release, '') AS release, e.record,
               coalesce(e.url, {ADDRESS_SQL.format(template="r.url_template", record="e.record", ends=_ENDS)}) AS url,
               date_trunc('second', coalesce(e.retrieved_at, r.retrieved_at, {now})) AS retrieved_at,
               date_trunc('second', r.built_at) AS pinned_at, e.stance, e.world, e.tier, e.reason, e.value, e.quote,
               e.score, e.about, coalesce(e.replacements, []) AS replacements,
               coalesce(e.candidates, []) AS candidates, coalesce(e.weight, '') AS weight
        FROM evidence e SEMI JOIN ({tasks}) USING (task) LEFT JOIN ref.release r ON r.id = e.release_id
             LEFT JOIN task t ON t.task = e.task"""

    def gaps_of(self, tasks: str) -> dict[int, tuple[Gap, ...]]:
        rows = self.db.execute(
            f"SELECT DISTINCT task, source, cause FROM gap SEMI JOIN ({tasks}) USING (task) ORDER BY ALL"
        ).fetchall()
        found: dict[int, list[Gap]] = {}
        for task, source, cause in rows:
            found.setdefault(task, []).append(Gap(source, Reason(cause)))
        return {task: tuple(gaps) for task, gaps in found.items()}

    def _replace(self, table: WorkingTable, select: str) -> None:
        self.db.execute(table.create).fetchall()
        self._insert(table, select)

    def _insert(self, table: WorkingTable, select: str, parameters: Mapping[str, Any] | None = None) -> None:
        self.db.execute(f"INSERT INTO {identifier(table.name)} BY NAME {select}", parameters).fetchall()


def _evidence(row: Sequence[Any]) -> Evidence:
    stated = dict(zip(Evidence.model_fields, row, strict=True))
    times = {name: stated[name] and stated[name].replace(tzinfo=UTC) for name in ("retrieved_at", "pinned_at")}
    return Evidence.model_validate(stated | times)


_QUOTED = "replace(url_encode({text}), '%2F', '/')"
_OTHER_SAFE = {"%3A": ":", "%40": "@", "%2C": ",", "%3B": ";", "%3D": "="}


def _address_sql() -> str:
    record = _QUOTED.format(text="{record}")
    for code, sign in _OTHER_SAFE.items():
        record = f"replace({record}, '{code}', '{sign}')"
    named = "CASE WHEN contains({record}, ' ') OR {ends} = '' THEN {record} ELSE {ends} END"
    pair = f"replace({_QUOTED.format(text=named)}, '%20', '%0d')"
    # The signs of the places are doubled twice: once for this text, once for that which is made of it.
    with_pair = f"""CASE WHEN contains({{template}}, '{{{{pair}}}}') THEN replace({{template}}, '{{{{pair}}}}', {pair})
                    ELSE {{template}} END"""
    return f"coalesce(replace({with_pair}, '{{{{record}}}}', {record}), '')"


ADDRESS_SQL = _address_sql()
"""SQL for the address at which a record can be read: ``{record}`` and ``{pair}`` of a template, each part quoted.

The pair is the record where that holds a space, else the ends of the task. No template is an empty address.
"""

_ENDS = "concat_ws(' ', nullif(t.head, ''), nullif(t.tail, ''))"

_ABOUT = ("tail", SEARCH, "head", "fact", INFORMS)
_STANCES = (Stance.SUPPORTS.value, Stance.SILENT.value, Stance.CONTRADICTS.value)
SHOWN_ORDER = (
    f"list_position({list(_ABOUT)}, about)",
    f"list_position({list(_STANCES)}, stance)",
    "source",
    "record",
    "release",
    "coalesce(reason, '')",
    "coalesce(value, '')",
    "coalesce(score, 0.0)",
)
"""The order in which the evidence of a task is shown."""
