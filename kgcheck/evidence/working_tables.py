"""DuckDB working tables of tasks and evidence: their columns, writer and reader.

A join over millions of rows is one statement, so modules meet in DuckDB tables and not in arguments. What the tables of
look-ups are is stated here once, and `WorkingTables` alone creates, fills, empties or changes them; anyone may read
them in a select. Tables that a module makes by itself have names of their own.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC
from functools import cached_property
from typing import Any

import duckdb
import pyarrow as pa

from kgcheck import clock
from kgcheck.duck import insert_arrow
from kgcheck.model import INFORMS, SEARCH, Evidence, Gap, Reason, Stance

_TASK = """
    task BIGINT,     -- number of the task
    head VARCHAR,    -- id of the node, or of the edge's head, as the graph writes it
    tail VARCHAR,    -- id of the edge's tail, as the graph writes it; NULL of a node
    value VARCHAR,   -- what the graph says of the attribute, where that is one value
    items VARCHAR[]  -- what the graph says of the attribute, where that is a list
"""
_PAIR = """
    task BIGINT, head VARCHAR, tail VARCHAR,
    head_now VARCHAR,  -- the id under which its authority files the head now
    tail_now VARCHAR   -- the id under which its authority files the tail now; NULL of a node
"""
LOOK_UP_TABLES = {
    # A task to be looked up; all of one label, attribute or pattern.
    "task": _TASK,
    # A task about an edge, under the ids that its ends have now.
    "ends": _PAIR,
    # An id that is not written as its authority writes it, and the one id that it can only mean, as that writes it.
    "intended_id": "id VARCHAR, intended VARCHAR",
    # A task of which the source that is being looked at has not spoken so far.
    "unseen": _PAIR,
    # A task that was looked up, while others are.
    "looked_up": _TASK,
    # An observation about a task: the columns of Evidence, and where it stands.
    "evidence": """
        task BIGINT, source VARCHAR,
        release_id INTEGER,      -- the snapshot's release that it stands in (ref.release); NULL outside it
        release VARCHAR,         -- the release in words, where no release_id names it: papers, the profile
        record VARCHAR,          -- the record within the release
        url VARCHAR,             -- address of the record, where no release_id gives it
        retrieved_at TIMESTAMP,  -- UTC: when it was read, where no release_id tells
        stance VARCHAR, world VARCHAR, tier VARCHAR,
        reason VARCHAR,          -- what it alone would mean; NULL for plain support and plain silence
        value VARCHAR,           -- what the source says, for people
        quote VARCHAR,           -- an exact substring of the passage it rests on
        score DOUBLE,            -- the source's own score, from 0 to 1
        about VARCHAR,           -- fact, head or tail: part of the task; search: none; informs: the fact, undecided
        replacements VARCHAR[],  -- ids that the source puts in place of this one
        candidates VARCHAR[],    -- ids that a curator may choose from
        weight VARCHAR           -- of a paper: whether its judge decides or informs, and by which figures
    """,
    # A deciding source that could not be looked at for a task, and the reason why not.
    "gap": "task BIGINT, source VARCHAR, cause VARCHAR",
}
"""Tables that look-ups hand to each other, and empty before the next ones."""

_OF_ONE_LOOK_UP = ("task", "ends", "intended_id", "unseen")

Parameters = Mapping[str, Any] | None


def insert_rows(db: duckdb.DuckDBPyConnection, table: str, rows: list[dict[str, Any]]) -> None:
    """Insert rows, as values by column, into a working table."""
    if rows:
        schema = db.sql(f"FROM {table} LIMIT 0").to_arrow_table().schema
        insert_arrow(db, table, pa.Table.from_pylist(rows, schema=schema))


class WorkingTables:
    """The working tables of one DuckDB database: the only writer that they have.

    Selects that are given to a method may read any table of the database; their columns go by name, and those that
    they lack are NULL.
    """

    def __init__(self, db: duckdb.DuckDBPyConnection) -> None:
        self.db = db
        self.reset()

    def reset(self) -> None:
        self._empty(*LOOK_UP_TABLES)

    def begin_next(self) -> None:
        """Make room for tasks of another kind, with other numbers; what is known of those before is kept."""
        self.add("looked_up", "FROM task")
        self._empty(*_OF_ONE_LOOK_UP)

    def recall(self) -> None:
        """Put the tasks that were looked up before beside the last ones, so that all are judged together."""
        self.add("task", "FROM looked_up")

    def _empty(self, *tables: str) -> None:
        # A comment ends with its line.
        created = (f"CREATE OR REPLACE TEMP TABLE {table} ({LOOK_UP_TABLES[table]}\n)" for table in tables)
        self.db.execute("; ".join(created)).fetchall()

    def add(self, table: str, select: str, parameters: Parameters = None) -> None:
        """Add the rows of a select to a table."""
        self.db.execute(f"INSERT INTO {table} BY NAME {select}", parameters).fetchall()

    def put(self, table: str, select: str) -> None:
        """Fill a table anew with the rows of a select."""
        self._empty(table)
        self.add(table, select)

    def drop(self, table: str, tasks: str, parameters: Parameters = None) -> None:
        """Take the tasks that a select of the column task gives out of a table."""
        # Most go at once, and those that stay are copied faster than the others are deleted.
        self.db.execute(
            f"CREATE OR REPLACE TEMP TABLE {table} AS FROM {table} ANTI JOIN ({tasks}) USING (task)", parameters
        ).fetchall()

    @cached_property
    def links_have_places(self) -> bool:
        """Tell whether a row of the links has a place: in a table, or a view of one, but not of several."""
        link = "database_name = 'ref' AND table_name = 'link'"
        # To list columns takes as long as all else that opening takes: a table needs none of it.
        listed = (f"duckdb_tables() WHERE {link}", f"duckdb_columns() WHERE {link} AND column_name = 'rowid'")
        return any(self.has(entries) for entries in listed)

    def has(self, rows: str) -> bool:
        """Tell whether a table, or a select without its first words, has any row."""
        return bool(self.db.execute(f"SELECT 1 FROM {rows} LIMIT 1").fetchall())

    def add_task(
        self, number: int, head: str, tail: str | None = None, value: str | None = None, items: Sequence[str] = ()
    ) -> None:
        row = {"task": number, "head": head, "tail": tail, "value": value, "items": list(items)}
        self.add("task", f"SELECT {', '.join(f'${name} AS {name}' for name in row)}", row)

    def tasks(self) -> list[tuple[int, str, str | None]]:
        """Number, head and tail of every task."""
        return self.db.execute("SELECT task, head, tail FROM task ORDER BY task").fetchall()

    def add_observations(self, observations: Mapping[int, Iterable[Evidence]]) -> None:
        """Add observations, by task, that stand in no snapshot, such as those of papers."""
        rows = [
            observed.model_dump()
            | {"task": task, "retrieved_at": observed.retrieved_at.astimezone(UTC).replace(tzinfo=None)}
            for task, of_task in observations.items()
            for observed in of_task
        ]
        insert_rows(self.db, "evidence", rows)

    def set_causes(self, causes: Mapping[str, Mapping[int, Reason]]) -> None:
        for source, by_task in causes.items():
            for cause in set(by_task.values()):
                self.db.execute(
                    "UPDATE gap SET cause = ? WHERE source = ? AND list_contains(?, task)",
                    [cause.value, source, sorted(task for task, why in by_task.items() if why is cause)],
                ).fetchall()

    def put_intended_ends(self, end: str, as_filed: str) -> None:
        """Go on with the ids that were meant, where ends are written otherwise."""
        self.db.execute(
            f"UPDATE ends SET {end}_now = {as_filed} FROM intended_id WHERE intended_id.id = ends.{end}"
        ).fetchall()

    def evidence_of(self, tasks: str) -> dict[int, tuple[Evidence, ...]]:
        order = ", ".join(("task", *SHOWN_ORDER))
        found: dict[int, tuple[Evidence, ...]] = {}
        for task, *row in self.db.execute(f"SELECT * FROM ({self.stated(tasks)}) ORDER BY {order}").fetchall():
            stated = dict(zip(Evidence.model_fields, row, strict=True))
            times = {name: stated[name] and stated[name].replace(tzinfo=UTC) for name in ("retrieved_at", "pinned_at")}
            found[task] = (*found.get(task, ()), Evidence.model_validate(stated | times))
        return found

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
        select = f"SELECT DISTINCT task, source, cause FROM gap SEMI JOIN ({tasks}) USING (task) ORDER BY ALL"
        found: dict[int, tuple[Gap, ...]] = {}
        for task, source, cause in self.db.execute(select).fetchall():
            found[task] = (*found.get(task, ()), Gap(source, Reason(cause)))
        return found


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
