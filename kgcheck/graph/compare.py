"""Staged rows compared with each other and with the store: what is new, changed or unchanged, what stays out."""

from collections.abc import Iterator

import duckdb
import pyarrow as pa

from kgcheck.graph.schema import Holder, Label, Pattern, Schema
from kgcheck.graph.staging import holder_name, keys_of, staged, stated_by
from kgcheck.graph.store import NO_ID, Counts, GraphStore
from kgcheck.progress import Progress
from kgcheck.tables import identifier, insert_arrow, literal

NEW, CHANGED, UNCHANGED = "new", "changed", "unchanged"
_ACCEPTED = f"({literal(NEW)}, {literal(CHANGED)}, {literal(UNCHANGED)})"


class Comparison:
    """Tables ``judged <label or pattern>`` (what, file, and what the row states) and ``quarantine``.

    Args:
        db: A working database with the staging tables.
        store: The graph to compare with; read only.
    """

    def __init__(self, db: duckdb.DuckDBPyConnection, store: GraphStore) -> None:
        self._db = db
        self._store = store
        self._schema: Schema = store.schema
        self._db.execute(
            "CREATE TABLE quarantine (file VARCHAR, line BIGINT, reason VARCHAR, detail VARCHAR, row_text VARCHAR)"
        ).fetchall()

    def judge(self, held: Counts, progress: Progress) -> None:
        """Judge every staged row.

        Args:
            held: What the store holds now.
            progress: Where to show progress.
        """
        labels, patterns = self._schema.labels, self._schema.relations
        with progress.step(f"comparing with {self._store.name}", len(labels) + len(patterns)) as step:
            for label in labels:
                self._make_have(label, self._store.scan_nodes(label) if held.nodes.get(label.name) else iter(()))
                self._judge(label)
                step.advance()
            for pattern in patterns:
                # An edge is compared only with edges of its own pattern: without rows there is nothing to compare.
                wanted = held.edges.get(str(pattern)) and self._has_rows(pattern)
                self._make_have(pattern, self._store.scan_edges(pattern) if wanted else iter(()))
                self._judge(pattern)
                step.advance()

    def counts(self, holder: Holder) -> dict[str, dict[str, int]]:
        """How the rows of each source file were judged: file, judgement, number."""
        found: dict[str, dict[str, int]] = {}
        select = f"SELECT file, what, count(*) FROM {_judged(holder)} GROUP BY ALL ORDER BY ALL"
        for file, what, n in self._db.execute(select).fetchall():
            found.setdefault(file, {})[what] = n
        return found

    def to_write(self) -> int:
        """How many rows are new or changed."""
        wanted = f"what IN ({literal(NEW)}, {literal(CHANGED)})"
        counts = " UNION ALL ".join(
            f"SELECT count(*) AS n FROM {_judged(h)} WHERE {wanted}" for h in self._schema.holders
        )
        return int(self._db.execute(f"SELECT sum(n)::BIGINT FROM ({counts})").fetchall()[0][0])

    def rows(self, holder: Holder, what: str, size: int) -> Iterator[pa.Table]:
        """The rows that were judged so, in tables of about `size` rows."""
        columns = ", ".join(identifier(c) for c in stated_by(holder))
        keys = ", ".join(keys_of(holder))
        select = f"SELECT {columns} FROM {_judged(holder)} WHERE what = {literal(what)} ORDER BY {keys}"
        held: list[pa.RecordBatch] = []
        for batch in self._db.sql(select).to_arrow_reader(size):
            held.append(batch)
            if sum(b.num_rows for b in held) >= size:
                yield pa.Table.from_batches(held)
                held = []
        if held:
            yield pa.Table.from_batches(held)

    def _has_rows(self, holder: Holder) -> bool:
        return bool(self._db.execute(f"SELECT EXISTS (FROM {staged(holder)})").fetchall()[0][0])

    def _make_have(self, holder: Holder, tables: Iterator[pa.Table]) -> None:
        columns = ", ".join(identifier(c) for c in stated_by(holder))
        self._db.execute(f"CREATE TABLE {_have(holder)} AS SELECT {columns} FROM {staged(holder)} LIMIT 0").fetchall()
        for table in tables:
            insert_arrow(self._db, f"have {holder_name(holder)}", table.select(stated_by(holder)))

    def _judge(self, holder: Holder) -> None:
        columns = ", ".join(identifier(c) for c in stated_by(holder))
        if not self._has_rows(holder):
            nothing = f"SELECT file, line, reason AS what, detail, row_text, {columns} FROM {staged(holder)}"
            self._db.execute(f"CREATE TABLE {_judged(holder)} AS {nothing}").fetchall()
            return
        keys = ", ".join(keys_of(holder))
        if isinstance(holder, Label):
            what, detail = self._what_of_node(holder), "detail"
        else:
            what, detail = self._what_of_edge(holder), _missing_end(holder)
        # Few rows share their keys with another, so only those are numbered.
        self._db.execute(
            f"""
            CREATE TABLE {_again(holder)} AS
            SELECT rowid AS row, row_number() OVER (PARTITION BY {keys} ORDER BY file, line) AS nth_key,
                   row_number() OVER (PARTITION BY {columns} ORDER BY file, line) AS nth_same
            FROM {staged(holder)} SEMI JOIN (
                SELECT {keys} FROM {staged(holder)} WHERE reason IS NULL GROUP BY ALL HAVING count(*) > 1
            ) USING ({keys}) WHERE reason IS NULL;
            CREATE TABLE {_judged(holder)} AS
            SELECT file, line, {what} AS what, detail, row_text, {columns}
            FROM {staged(holder)} s LEFT JOIN {_again(holder)} a ON a.row = s.rowid;
            INSERT INTO quarantine
            SELECT file, line, what, {detail}, row_text
            FROM {_judged(holder)} WHERE what NOT IN {_ACCEPTED};
            DROP TABLE {staged(holder)};
            DROP TABLE {_again(holder)};
            """
        ).fetchall()

    def _what_of_node(self, label: Label) -> str:
        # Of rows that state the same, the first stays; a second node of one id goes, whatever it states.
        return f"""CASE
            WHEN reason IS NOT NULL THEN reason
            WHEN nth_same > 1 THEN 'duplicate_row'
            WHEN nth_key > 1 THEN 'duplicate_id'
            WHEN {_held_as_stated(label)} THEN {literal(UNCHANGED)}
            WHEN id IN (SELECT id FROM {_have(label)}) THEN {literal(CHANGED)}
            ELSE {literal(NEW)} END"""

    def _what_of_edge(self, pattern: Pattern) -> str:
        # An edge has no key but what it states, so it is new or unchanged, never changed.
        return f"""CASE
            WHEN reason IS NOT NULL THEN reason
            WHEN head NOT IN ({self._ids(pattern.head)}) THEN 'unknown_head'
            WHEN tail NOT IN ({self._ids(pattern.tail)}) THEN 'unknown_tail'
            WHEN nth_same > 1 THEN 'duplicate_row'
            WHEN {_held_as_stated(pattern)} THEN {literal(UNCHANGED)}
            ELSE {literal(NEW)} END"""

    def _ids(self, name: str) -> str:
        """Ids that an edge may end at: those of the files and those that the store holds."""
        label = self._schema.label(name)
        return (
            f"SELECT id FROM {_judged(label)} WHERE what IN {_ACCEPTED}"
            f" UNION ALL SELECT id FROM {_have(label)} WHERE id <> {literal(NO_ID)}"
        )


def _judged(holder: Holder) -> str:
    return identifier(f"judged {holder_name(holder)}")


def _have(holder: Holder) -> str:
    return identifier(f"have {holder_name(holder)}")


def _again(holder: Holder) -> str:
    return identifier(f"again {holder_name(holder)}")


def _held_as_stated(holder: Holder) -> str:
    same = " AND ".join(f"h.{identifier(c)} IS NOT DISTINCT FROM s.{identifier(c)}" for c in stated_by(holder))
    return f"EXISTS (FROM {_have(holder)} h WHERE {same})"


def _missing_end(pattern: Pattern) -> str:
    return (
        f"CASE what WHEN 'unknown_head' THEN {literal(f'no {pattern.head} ')} || head"
        f" WHEN 'unknown_tail' THEN {literal(f'no {pattern.tail} ')} || tail ELSE detail END"
    )
