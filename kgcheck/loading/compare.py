"""Compare staged rows with a graph store: new, changed, unchanged, gone or quarantined."""

from collections.abc import Iterable, Iterator

import duckdb
import pyarrow as pa

from kgcheck.duck import insert_arrow
from kgcheck.graph.store import NO_ID, Counts, LoadTarget, node_schema
from kgcheck.loading.curated_conflicts import Curated, Settling
from kgcheck.loading.staging import (
    ACCEPTED,
    CHANGED,
    NEW,
    UNCHANGED,
    again_table,
    gone_table,
    have_table,
    holder_name,
    judged_table,
    keys_of,
    staged,
    stated_by,
)
from kgcheck.profile.schema import Holder, Label, Pattern, Schema
from kgcheck.progress import Progress
from kgcheck.quoting import identifier, literal

REMOVED, OUTDATED = "removed", "outdated"
"""States of facts in the store that no file states: gone for good, or in favour of a changed edge."""


class Comparison:
    """Tables of each label or pattern: ``judged`` (rows that are not new, and why), ``gone``; and ``quarantine``."""

    def __init__(
        self,
        db: duckdb.DuckDBPyConnection,
        store: LoadTarget,
        *,
        prune: bool = False,
        curated: Curated | None = None,
    ) -> None:
        self._db = db
        self._store = store
        self._prune = prune
        self._schema: Schema = store.schema
        self._staged: set[str] = set()
        self.settling = Settling(db, curated or Curated())
        self._db.execute(
            "CREATE TABLE quarantine (file VARCHAR, line BIGINT, reason VARCHAR, detail VARCHAR, row_text VARCHAR)"
        ).fetchall()

    def judge(self, present: Counts, progress: Progress) -> None:
        holders = self._schema.holders
        filled = self._filled(holders)
        with progress.step(f"comparing with {self._store.name}", len(holders)) as step:
            for holder in holders:
                is_label, name = isinstance(holder, Label), holder_name(holder)
                some = (present.nodes if is_label else present.edges).get(name, 0) > 0
                # What neither files, patches nor the store state anything of is as good as not staged: that saves a
                # dozen statements. An edge is compared only with edges of its own pattern.
                is_concerned = some or name in filled or self.settling.concerns(holder)
                if is_label or is_concerned:
                    self._make_have(holder, self._scan(holder) if some else iter(()))
                    self.settling.revert(holder)
                if is_concerned:
                    self._staged.add(name)
                    self._judge(holder)
                    self.settling.settle(holder)
                step.advance()

    def _scan(self, holder: Holder) -> Iterator[pa.Table]:
        return self._store.scan_nodes(holder) if isinstance(holder, Label) else self._store.scan_edges(holder)

    def counts(self, holder: Holder) -> dict[str, dict[str, int]]:
        """Count the rows of each source file by judgement: file, judgement, number."""
        found: dict[str, dict[str, int]] = {}
        if not self._is_staged(holder):
            return found
        select = f"""
            WITH odd AS (SELECT file, what, count(*) AS n FROM {judged_table(holder)} GROUP BY ALL),
                 told AS (SELECT file, sum(n) AS n FROM odd GROUP BY ALL),
                 staged AS (SELECT file, count(*) AS n FROM {staged(holder)} GROUP BY ALL)
            FROM odd UNION ALL
            SELECT file, {literal(NEW)} AS what, (s.n - coalesce(t.n, 0))::BIGINT AS n
            FROM staged s LEFT JOIN told t USING (file) WHERE s.n > coalesce(t.n, 0) ORDER BY ALL"""
        for file, what, n in self._db.execute(select).fetchall():
            found.setdefault(file, {})[what] = n
        return found

    def gone(self, holder: Holder) -> dict[str, int]:
        """Count the facts that the store holds and no file states: REMOVED or OUTDATED, number."""
        if not self._is_staged(holder):
            return {}
        rows = self._db.execute(f"SELECT what, count(*) FROM {gone_table(holder)} GROUP BY what").fetchall()
        return {what: n for what, n in rows}

    def rows(self, holder: Holder, judgement: str, size: int) -> Iterator[pa.Table]:
        """The rows that were judged so, in the order of the files, in tables of about `size` rows."""
        if not self._is_staged(holder):
            return
        columns = ", ".join(identifier(c) for c in stated_by(holder))
        instead = self.settling.instead.get(holder_name(holder), {}) if judgement == CHANGED else {}
        if judgement in (REMOVED, OUTDATED):
            select = f"SELECT {columns} FROM {gone_table(holder)} WHERE what = {literal(judgement)}"
        elif judgement == NEW:
            select = f"SELECT {columns} FROM {staged(holder)} s ANTI JOIN {judged_table(holder)} j ON j.row = s.rowid"
        else:
            left_out = f" AND row NOT IN ({', '.join(map(str, instead))})" if instead else ""
            some = f"(FROM {judged_table(holder)} WHERE what = {literal(judgement)}{left_out})"
            select = f"SELECT {columns} FROM {staged(holder)} s SEMI JOIN {some} j ON j.row = s.rowid"
        present: list[pa.RecordBatch] = []
        for batch in self._db.sql(select).to_arrow_reader(size):
            present.append(batch)
            if sum(b.num_rows for b in present) >= size:
                yield pa.Table.from_batches(present)
                present = []
        if present:
            yield pa.Table.from_batches(present)
        if rows := [row for row in instead.values() if row is not None]:
            yield pa.Table.from_pylist(rows, schema=node_schema(holder) if isinstance(holder, Label) else None)

    def _is_staged(self, holder: Holder) -> bool:
        return holder_name(holder) in self._staged

    def _filled(self, holders: Iterable[Holder]) -> set[str]:
        selects = (f"SELECT {literal(holder_name(h))} WHERE EXISTS (FROM {staged(h)})" for h in holders)
        return {name for (name,) in self._db.execute(" UNION ALL ".join(selects)).fetchall()}

    def _is_empty(self, table: str) -> bool:
        return not self._db.execute(f"SELECT EXISTS (FROM {table})").fetchall()[0][0]

    def _make_have(self, holder: Holder, tables: Iterator[pa.Table]) -> None:
        columns = ", ".join(identifier(c) for c in stated_by(holder))
        self._db.execute(
            f"CREATE TABLE {have_table(holder)} AS SELECT {columns} FROM {staged(holder)} LIMIT 0"
        ).fetchall()
        for table in tables:
            insert_arrow(self._db, f"have {holder_name(holder)}", table.select(stated_by(holder)))

    def _judge(self, holder: Holder) -> None:
        keys, columns = keys_of(holder), stated_by(holder)
        if self._is_empty(staged(holder)):
            self._db.execute(f"CREATE TABLE {judged_table(holder)} (row BIGINT, what VARCHAR, file VARCHAR)").fetchall()
            self._find_gone(holder)
            return
        if isinstance(holder, Label):
            unique, what, detail = keys, self._what_of_node(holder), "detail"
        else:
            unique, what, detail = columns, self._what_of_edge(holder), _missing_end(holder)
        alike, order = ", ".join(map(identifier, unique)), "ORDER BY file, line"
        # Few rows are alike, so only those are numbered; a hash finds them in a fraction of the memory.
        self._db.execute(
            f"""
            CREATE TABLE {again_table(holder)} AS
            SELECT rowid AS row, row_number() OVER (PARTITION BY {alike} {order}) AS nth_key,
                   row_number() OVER (PARTITION BY {", ".join(map(identifier, columns))} {order}) AS nth_same
            FROM {staged(holder)} WHERE reason IS NULL AND hash({alike}) IN (
                SELECT hash({alike}) AS h FROM {staged(holder)} WHERE reason IS NULL GROUP BY h HAVING count(*) > 1
            );
            CREATE TABLE {judged_table(holder)} AS
            SELECT s.rowid AS row, {what} AS what, s.file
            FROM {staged(holder)} s LEFT JOIN {again_table(holder)} a ON a.row = s.rowid WHERE what <> {literal(NEW)};
            DROP TABLE {again_table(holder)};
            """
        ).fetchall()
        if isinstance(holder, Pattern):
            self._part_foreign(holder)
        self._db.execute(
            f"""
            INSERT INTO quarantine
            SELECT s.file, line, what, {detail}, row_text
            FROM {staged(holder)} s JOIN {judged_table(holder)} j ON j.row = s.rowid WHERE what NOT IN {ACCEPTED}
            """
        ).fetchall()
        self._find_gone(holder)

    def _part_foreign(self, pattern: Pattern) -> None:
        """Tell edges whose missing end is in a namespace that the profile does not load from those of a lost node."""
        table = judged_table(pattern)
        for end, label in (("head", self._schema.label(pattern.head)), ("tail", self._schema.label(pattern.tail))):
            lost = literal(f"unknown_{end}")
            if not self._db.execute(f"SELECT EXISTS (FROM {table} WHERE what = {lost})").fetchall()[0][0]:
                continue
            self._db.execute(
                f"""
                UPDATE {table} SET what = {literal(f"foreign_{end}")} FROM {staged(pattern)} s
                WHERE what = {lost} AND s.rowid = {table}.row AND {self._is_foreign(label, end)}
                """
            ).fetchall()

    def _is_foreign(self, label: Label, column: str) -> str:
        """SQL for an id with the prefix of a namespace that no label has, and that is no miswritten id of this one."""
        form, prefix = literal(label.id_pattern), f"lower({_prefix(column)})"
        loaded = ", ".join(f"lower({_prefix(literal(each.id_example))})" for each in self._schema.labels)
        return f"""{_prefix(column)} <> '' AND NOT regexp_full_match({column}, {form})
            AND NOT regexp_full_match({column}[length({_prefix(column)}) + 2:], {form})
            AND {prefix} NOT IN ({loaded})
            AND {prefix} NOT IN (SELECT DISTINCT lower({_prefix("id")}) FROM ({self._ids(label.name)}))"""

    def _find_gone(self, holder: Holder) -> None:
        """Make the table ``gone``; an edge that differs from a new one in no more than its details is outdated."""
        if self._is_empty(have_table(holder)):
            self._db.execute(
                f"CREATE TABLE {gone_table(holder)} AS SELECT *, NULL::VARCHAR AS what FROM {have_table(holder)}"
            ).fetchall()
            return
        columns = ", ".join(f"h.{identifier(c)}" for c in stated_by(holder))
        keys = [*keys_of(holder), *(["source"] if "source" in holder.properties else [])]
        compared = keys_of(holder) if isinstance(holder, Label) else stated_by(holder)
        same = " AND ".join(f"h.{identifier(c)} IS NOT DISTINCT FROM s.{identifier(c)}" for c in compared)
        self._db.execute(
            f"""
            CREATE TABLE {gone_table(holder)} AS SELECT {columns}, {literal(REMOVED)} AS what
            FROM {have_table(holder)} h WHERE {" AND ".join(f"h.{k} <> {literal(NO_ID)}" for k in keys_of(holder))}
            AND NOT EXISTS (FROM {staged(holder)} s WHERE {same} AND s.rowid NOT IN (
                SELECT row FROM {judged_table(holder)} WHERE what NOT IN {ACCEPTED}
            ))
            """
        ).fetchall()
        if isinstance(holder, Label) or not self.gone(holder):
            return
        stated = ", ".join(map(identifier, stated_by(holder)))
        stated_keys = ", ".join(f"coalesce({identifier(k)}, '')" for k in keys)
        self._db.execute(
            f"""
            CREATE TABLE {again_table(holder)} AS
            SELECT n.row, n.file, g.row AS gone FROM (
                SELECT s.rowid AS row, s.file, row({stated_keys}) AS key,
                       row_number() OVER (PARTITION BY {stated_keys} ORDER BY s.file, line) AS nth
                FROM {staged(holder)} s ANTI JOIN {judged_table(holder)} j ON j.row = s.rowid
            ) n JOIN (
                SELECT rowid AS row, row({stated_keys}) AS key,
                       row_number() OVER (PARTITION BY {stated_keys} ORDER BY {stated}) AS nth
                FROM {gone_table(holder)}
            ) g USING (key, nth);
            INSERT INTO {judged_table(holder)} SELECT row, {literal(CHANGED)}, file FROM {again_table(holder)};
            UPDATE {gone_table(holder)} SET what = {literal(OUTDATED)}
            WHERE rowid IN (SELECT gone FROM {again_table(holder)});
            DROP TABLE {again_table(holder)};
            """
        ).fetchall()

    def _what_of_node(self, label: Label) -> str:
        # Of rows that state the same, the first stays; a second node of one id goes, whatever it states.
        return f"""CASE
            WHEN reason IS NOT NULL THEN reason
            WHEN nth_same > 1 THEN 'duplicate_row'
            WHEN nth_key > 1 THEN 'duplicate_id'
            WHEN {_present_as_stated(label)} THEN {literal(UNCHANGED)}
            WHEN id IN (SELECT id FROM {have_table(label)}) THEN {literal(CHANGED)}
            ELSE {literal(NEW)} END"""

    def _what_of_edge(self, pattern: Pattern) -> str:
        return f"""CASE
            WHEN reason IS NOT NULL THEN reason
            WHEN head NOT IN ({self._ids(pattern.head)}) THEN 'unknown_head'
            WHEN tail NOT IN ({self._ids(pattern.tail)}) THEN 'unknown_tail'
            WHEN nth_same > 1 THEN 'duplicate_row'
            WHEN {_present_as_stated(pattern)} THEN {literal(UNCHANGED)}
            ELSE {literal(NEW)} END"""

    def _ids(self, name: str) -> str:
        """Ids that an edge may end at: those of the files and, unless they go, those that the store holds."""
        label = self._schema.label(name)
        present = f"SELECT id FROM {have_table(label)} WHERE id <> {literal(NO_ID)}"
        if not self._is_staged(label):
            return present
        accepted = f"what IS NULL OR what IN {ACCEPTED}"
        stated = (
            f"SELECT id FROM {staged(label)} s LEFT JOIN {judged_table(label)} j ON j.row = s.rowid WHERE {accepted}"
        )
        return stated if self._prune else f"{stated} UNION ALL {present}"


def _present_as_stated(holder: Holder) -> str:
    same = " AND ".join(f"h.{identifier(c)} IS NOT DISTINCT FROM s.{identifier(c)}" for c in stated_by(holder))
    return f"EXISTS (FROM {have_table(holder)} h WHERE {same})"


def _missing_end(pattern: Pattern) -> str:
    return (
        f"CASE WHEN what IN ('unknown_head', 'foreign_head') THEN {literal(f'no {pattern.head} ')} || head"
        f" WHEN what IN ('unknown_tail', 'foreign_tail') THEN {literal(f'no {pattern.tail} ')} || tail ELSE detail END"
    )


def _prefix(text: str) -> str:
    """SQL for the namespace that an id names before its colon; empty where it names none."""
    return f"regexp_extract({text}, '^([A-Za-z][A-Za-z0-9._-]*):', 1)"
