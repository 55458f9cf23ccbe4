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
    judged_table,
    staged,
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
        selects = (f"SELECT {literal(str(h))} WHERE EXISTS (FROM {staged(h)})" for h in holders)
        filled = {name for (name,) in self._db.execute(" UNION ALL ".join(selects)).fetchall()}
        present_holders = {name for name, n in (present.nodes | present.edges).items() if n}
        with progress.step(f"comparing with {self._store.name}", len(holders)) as step:
            for holder in holders:
                # What neither files, patches nor the store state anything of is as good as not staged: that saves a
                # dozen statements. An edge is compared only with edges of its own pattern.
                is_concerned = str(holder) in present_holders | filled or self.settling.concerns(holder)
                if isinstance(holder, Label) or is_concerned:
                    self._make_have(holder, is_present=str(holder) in present_holders)
                    self.settling.revert(holder)
                if is_concerned:
                    self._staged.add(str(holder))
                    self._judge(holder)
                    self.settling.settle(holder)
                step.advance()

    def _make_have(self, holder: Holder, *, is_present: bool) -> None:
        """Make the table of what the store holds."""
        columns = ", ".join(map(identifier, holder.stated))
        self._db.execute(
            f"CREATE TABLE {have_table(holder)} AS SELECT {columns} FROM {staged(holder)} LIMIT 0"
        ).fetchall()
        if is_present:
            store = self._store
            scanned = store.scan_nodes(holder) if isinstance(holder, Label) else store.scan_edges(holder)
            for rows in scanned:
                insert_arrow(self._db, f"have {holder}", rows.select(holder.stated))

    def counts(self, holder: Holder) -> dict[str, dict[str, int]]:
        """Count the rows of each source file by judgement: file, judgement, number."""
        found: dict[str, dict[str, int]] = {}
        if str(holder) not in self._staged:
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
        if str(holder) not in self._staged:
            return {}
        return dict(self._db.execute(f"SELECT what, count(*) FROM {gone_table(holder)} GROUP BY what").fetchall())

    def rows(self, holder: Holder, judgement: str, size: int) -> Iterator[pa.Table]:
        """The rows that were judged so, in the order of the files, in tables of about `size` rows."""
        if str(holder) not in self._staged:
            return
        columns = ", ".join(map(identifier, holder.stated))
        instead = self.settling.instead.get(str(holder), {}) if judgement == CHANGED else {}
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

    def _is_empty(self, table: str) -> bool:
        return not self._db.execute(f"SELECT EXISTS (FROM {table})").fetchall()[0][0]

    def _judge(self, holder: Holder) -> None:
        if self._is_empty(staged(holder)):
            self._db.execute(f"CREATE TABLE {judged_table(holder)} (row BIGINT, what VARCHAR, file VARCHAR)").fetchall()
            self._find_gone(holder)
            return
        same = f"EXISTS (FROM {have_table(holder)} h WHERE {_alike(holder.stated)})"
        if isinstance(holder, Label):
            # Of rows that state the same, the first stays; a second node of one id goes, whatever it states.
            unique, detail = holder.key_columns, "detail"
            what = f"""CASE
                WHEN reason IS NOT NULL THEN reason
                WHEN nth_same > 1 THEN 'duplicate_row'
                WHEN nth_key > 1 THEN 'duplicate_id'
                WHEN {same} THEN {literal(UNCHANGED)}
                WHEN id IN (SELECT id FROM {have_table(holder)}) THEN {literal(CHANGED)}
                ELSE {literal(NEW)} END"""
        else:
            unique = tuple(holder.stated)
            detail = f"""CASE
                WHEN what IN ('unknown_head', 'foreign_head') THEN {literal(f"no {holder.head} ")} || head
                WHEN what IN ('unknown_tail', 'foreign_tail') THEN {literal(f"no {holder.tail} ")} || tail
                ELSE detail END"""
            what = f"""CASE
                WHEN reason IS NOT NULL THEN reason
                WHEN head NOT IN ({self._ids(holder.head)}) THEN 'unknown_head'
                WHEN tail NOT IN ({self._ids(holder.tail)}) THEN 'unknown_tail'
                WHEN nth_same > 1 THEN 'duplicate_row'
                WHEN {same} THEN {literal(UNCHANGED)}
                ELSE {literal(NEW)} END"""
        alike, order = ", ".join(map(identifier, unique)), "ORDER BY file, line"
        # Few rows are alike, so only those are numbered; a hash finds them in a fraction of the memory.
        self._db.execute(
            f"""
            CREATE TABLE {again_table(holder)} AS
            SELECT rowid AS row, row_number() OVER (PARTITION BY {alike} {order}) AS nth_key,
                   row_number() OVER (PARTITION BY {", ".join(map(identifier, holder.stated))} {order}) AS nth_same
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
        """Tell edges whose missing end is in a namespace that the profile does not load from those of a lost node.

        Such an id has the prefix of a namespace that no label has, and is no miswritten id of this label.
        """
        table = judged_table(pattern)
        loaded = ", ".join(f"lower({_prefix(literal(each.id_example))})" for each in self._schema.labels)
        for end, label in (("head", self._schema.label(pattern.head)), ("tail", self._schema.label(pattern.tail))):
            lost, form = literal(f"unknown_{end}"), literal(label.id_pattern)
            if self._is_empty(f"{table} WHERE what = {lost}"):
                continue
            self._db.execute(
                f"""
                UPDATE {table} SET what = {literal(f"foreign_{end}")} FROM {staged(pattern)} s
                WHERE what = {lost} AND s.rowid = {table}.row
                    AND {_prefix(end)} <> '' AND NOT regexp_full_match({end}, {form})
                    AND NOT regexp_full_match({end}[length({_prefix(end)}) + 2:], {form})
                    AND lower({_prefix(end)}) NOT IN ({loaded})
                    AND lower({_prefix(end)}) NOT IN (
                        SELECT DISTINCT lower({_prefix("id")}) FROM ({self._ids(label.name)}))
                """
            ).fetchall()

    def _find_gone(self, holder: Holder) -> None:
        """Make the table ``gone``; an edge that differs from a new one in no more than its details is outdated."""
        if self._is_empty(have_table(holder)):
            self._db.execute(
                f"CREATE TABLE {gone_table(holder)} AS SELECT *, NULL::VARCHAR AS what FROM {have_table(holder)}"
            ).fetchall()
            return
        columns = ", ".join(f"h.{identifier(c)}" for c in holder.stated)
        keys = [*holder.key_columns, *(["source"] if "source" in holder.properties else [])]
        compared = holder.key_columns if isinstance(holder, Label) else holder.stated
        self._db.execute(
            f"""
            CREATE TABLE {gone_table(holder)} AS SELECT {columns}, {literal(REMOVED)} AS what
            FROM {have_table(holder)} h WHERE {" AND ".join(f"h.{k} <> {literal(NO_ID)}" for k in holder.key_columns)}
            AND NOT EXISTS (FROM {staged(holder)} s WHERE {_alike(compared)} AND s.rowid NOT IN (
                SELECT row FROM {judged_table(holder)} WHERE what NOT IN {ACCEPTED}
            ))
            """
        ).fetchall()
        if isinstance(holder, Label) or not self.gone(holder):
            return
        stated = ", ".join(map(identifier, holder.stated))
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

    def _ids(self, name: str) -> str:
        """Ids that an edge may end at: those of the files and, unless they go, those that the store holds."""
        label = self._schema.label(name)
        present = f"SELECT id FROM {have_table(label)} WHERE id <> {literal(NO_ID)}"
        if name not in self._staged:
            return present
        accepted = f"what IS NULL OR what IN {ACCEPTED}"
        stated = (
            f"SELECT id FROM {staged(label)} s LEFT JOIN {judged_table(label)} j ON j.row = s.rowid WHERE {accepted}"
        )
        return stated if self._prune else f"{stated} UNION ALL {present}"


def _alike(columns: Iterable[str]) -> str:
    return " AND ".join(f"h.{identifier(c)} IS NOT DISTINCT FROM s.{identifier(c)}" for c in columns)


def _prefix(text: str) -> str:
    """SQL for the namespace that an id names before its colon; empty where it names none."""
    return f"regexp_extract({text}, '^([A-Za-z][A-Za-z0-9._-]*):', 1)"
