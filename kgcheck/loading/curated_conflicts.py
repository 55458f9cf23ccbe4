"""Keep curated facts through a reload: compare files with the graph as it was before patches.

Files are compared with the graph as it would be without the patches. So what a patch changed stays as long as the files
state what they stated before; where they state something else about it, that is named, and the curated state stays.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Literal, NamedTuple

import duckdb
import pyarrow as pa
from pydantic import Field

from kgcheck.duck import insert_arrow
from kgcheck.errors import StoreError
from kgcheck.graph.changes import ChangedStore, StoreChanges, digest
from kgcheck.graph.store import Properties, brought_to, edge_schema, node_schema
from kgcheck.loading.staging import (
    ACCEPTED,
    CHANGED,
    NEW,
    UNCHANGED,
    gone_table,
    have_table,
    judged_table,
    staged,
)
from kgcheck.model import Triple, Value
from kgcheck.profile.schema import Holder, Label, Pattern
from kgcheck.quoting import identifier, literal

Row = dict[str, Any]
"""Statement of a row of a file: its keys and its properties."""


@dataclass
class CuratedFact:
    """A node or an edge that patches changed."""

    holder: str
    """Its label or pattern, as `holder_name` writes it."""
    key: tuple[str, ...]
    """The id of a node; head and tail of an edge."""
    patch: str
    finding: str
    before: Properties | None
    """Properties that were changed of a node, all of an edge. None where a patch made it."""
    after: Properties
    """The same as the patches left them."""
    retired: bool = False
    there: bool = True
    """Presence in the store, retired or not."""
    whole: str = ""
    """Digest of all that the store has of an edge, the marks included."""
    recorded: tuple[tuple[str, int], ...] = ()
    """Record of it in the store: the key of the record, and the number of the step in it."""


class Curated(NamedTuple):
    """Everything in a store that patches changed."""

    nodes: tuple[CuratedFact, ...] = ()
    edges: tuple[CuratedFact, ...] = ()


class EdgeUpdate(NamedTuple):
    """An edge of which a file states something else that no patch touched."""

    triple: Triple
    fact: CuratedFact
    values: Properties


SettledKind = Literal["conflict", "upstream"]


class Settled(Value):
    """Statement of a file about a curated fact, and the outcome."""

    kind: SettledKind = Field(description="upstream: the files now state what the patch made")
    holder: str = Field(description="its label or pattern")
    what: str
    why: str
    finding: str
    patch: str
    file: str = ""
    line: int = 0

    def __str__(self) -> str:
        place = f" ({self.file}, line {self.line})" if self.file else ""
        return f"{self.what}: {self.why}{place}; finding {self.finding}, patch {self.patch}"


class _Stated(NamedTuple):
    """A row of a file, by its number, and what it was judged to be."""

    number: int
    file: str
    line: int
    what: str
    row: Row


class Settling:
    """Takes the work of patches out of a comparison, and settles what the files say of it."""

    def __init__(self, db: duckdb.DuckDBPyConnection, curated: Curated) -> None:
        self._db = db
        self._of: dict[str, list[CuratedFact]] = {}
        for touched in chain(curated.nodes, curated.edges):
            self._of.setdefault(touched.holder, []).append(touched)
        self._retired = {(t.holder, t.key[0]): t for t in curated.nodes if t.retired}
        there = [(t.holder.split(" "), t) for t in curated.edges if t.there]
        self._at = {(p[at], t.key[at // 2]): t for p, t in there for at in (0, 2)}
        self._now: dict[str, Row] = {}
        self.settled: list[Settled] = []
        self.kept = 0
        self.updates: list[EdgeUpdate] = []
        self.instead: dict[str, dict[int, Row | None]] = {}
        """Rows that are written in place of staged ones, by label or pattern and number; None for none."""

    def concerns(self, holder: Holder) -> bool:
        return str(holder) in self._of

    def revert(self, holder: Holder) -> None:
        """Make the table of what a store holds as if no patch had been applied."""
        facts, names = self._facts(holder), holder.stated
        if not facts:
            return
        if isinstance(holder, Label):
            ids = [t.key[0] for t in facts]
            self._now = {row["id"]: row for row in self._rows(f"FROM {have_table(holder)}", ("id",), [ids], names)}
            self._db.execute(f"DELETE FROM {have_table(holder)} WHERE id IN (SELECT unnest(?))", [ids]).fetchall()
        else:
            for row in (_row(holder, t, t.after) for t in facts if t.there):
                same = " AND ".join(f"{identifier(n)} IS NOT DISTINCT FROM ?" for n in row)
                one = f"SELECT rowid FROM {have_table(holder)} WHERE {same} LIMIT 1"
                self._db.execute(
                    f"DELETE FROM {have_table(holder)} WHERE rowid IN ({one})", list(row.values())
                ).fetchall()
        before = [_row(holder, t, self._now.get(t.key[0], {}) | t.before) for t in facts if t.before is not None]
        schema = node_schema(holder) if isinstance(holder, Label) else edge_schema(holder)
        insert_arrow(self._db, f"have {holder}", pa.Table.from_pylist(before, schema=schema))

    def settle(self, holder: Holder) -> None:
        """Decide about the rows of the files that state something about what patches changed."""
        if isinstance(holder, Label):
            self._settle_nodes(holder)
        else:
            self._settle_edges(holder)

    def _settle_nodes(self, label: Label) -> None:
        facts = self._facts(label)
        rows = {s.row["id"]: s for s in self._stated(label, ("id",), [[t.key[0] for t in facts]])}
        for fact in facts:
            (id_,) = fact.key
            row, shown = rows.get(id_), f"{label.name} {id_}"
            now = _row(label, fact, self._now.get(id_, {}))
            if row is None:
                self._db.execute(f"DELETE FROM {gone_table(label)} WHERE id = ?", [id_]).fetchall()
                self._unstated(fact, shown)
            elif row.what == UNCHANGED:
                self.kept += 1
            elif fact.retired or fact.before is None:
                same = not fact.retired and row.row == now
                why = "a file states it otherwise" + (", and it stays retired" if fact.retired else "")
                self._settle(fact, shown, row, "" if same else why)
                self._judge(label, row, UNCHANGED)
            else:
                merged = self._merged(fact, shown, row, fact.before, fact.after)
                if merged == now:
                    self._judge(label, row, UNCHANGED)
                else:
                    self.instead.setdefault(label.name, {})[row.number] = merged
        gone = self._db.execute(f"SELECT id FROM {gone_table(label)}").fetchall() if self._at else []
        for (id_,) in gone:
            # It cannot be taken away while an edge that a patch made, or retired, is at it.
            if fact_at := self._at.get((label.name, id_)):
                self._db.execute(f"DELETE FROM {gone_table(label)} WHERE id = ?", [id_]).fetchall()
                self._note("conflict", fact_at, f"{label.name} {id_}", "no file states it, and curated edges are at it")

    def _settle_edges(self, pattern: Pattern) -> None:
        facts = self._facts(pattern)
        keys = [[t.key[0] for t in facts], [t.key[1] for t in facts]]
        ends = ("head", "tail")
        new = [s for s in self._stated(pattern, ends, keys) if s.what != UNCHANGED]
        names = pattern.stated
        gone = self._rows(f"SELECT *, rowid AS gone FROM {gone_table(pattern)}", ends, keys, [*names, "gone"])
        present = self._rows(f"FROM {have_table(pattern)}", ends, keys, names)
        for fact in facts:
            before = None if fact.before is None else _row(pattern, fact, fact.before)
            after = _row(pattern, fact, fact.after)
            shown = f"{fact.key[0]} {pattern.type} {fact.key[1]}"
            if before in present:
                present.remove(before)
            unstated = next((g for g in gone if {n: g[n] for n in names} == before), None)
            row = next((s for s in new if not fact.retired and s.row == after), None)
            if row is None and (unstated or before is None):
                source = (fact.before or fact.after).get("source")
                row = next((s for s in new if _ends(s) == fact.key and s.row.get("source") == source), None)
            if unstated:
                gone.remove(unstated)
                self._db.execute(f"DELETE FROM {gone_table(pattern)} WHERE rowid = ?", [unstated["gone"]]).fetchall()
            if row:
                new.remove(row)
                self._settle_edge(pattern, fact, row, before, after)
            elif unstated:
                self._unstated(fact, shown)
            else:
                self.kept += 1
        active = {t.key for t in facts if not t.retired} | {(r["head"], r["tail"]) for r in present}
        self._settle_new(pattern, {t.key: t for t in facts if t.retired and t.key not in active}, new)

    def _settle_edge(self, pattern: Pattern, fact: CuratedFact, row: _Stated, before: Row | None, after: Row) -> None:
        shown = f"{fact.key[0]} {pattern.type} {fact.key[1]}"
        self._judge(pattern, row, UNCHANGED)
        if fact.retired:
            self._settle(fact, shown, row, "a file states it otherwise, and it stays retired")
        elif row.row == after or before is None:
            self._settle(fact, shown, row, "" if row.row == after else "a file states it otherwise")
        else:
            changed = {n for n in pattern.properties if before[n] != after[n]}
            states = [{name: state[name] for name in changed} for state in (before, after)]
            merged = self._merged(fact, shown, row, *states)
            if values := {n: merged[n] for n in pattern.properties if merged[n] != after[n]}:
                (head, tail), relation = fact.key, pattern.type
                ends = {"head": {"label": pattern.head, "id": head}, "tail": {"label": pattern.tail, "id": tail}}
                self.updates.append(EdgeUpdate(Triple.model_validate({**ends, "relation": relation}), fact, values))
                self._judge(pattern, row, CHANGED)
                self.instead.setdefault(str(pattern), {})[row.number] = None

    def _settle_new(
        self, pattern: Pattern, retired: Mapping[tuple[str, ...], CuratedFact], new: Iterable[_Stated]
    ) -> None:
        """Edges that a file states anew: of what was retired, or at a node that was."""

        def leave(row: _Stated, fact: CuratedFact, why: str) -> None:
            self._judge(pattern, row, UNCHANGED)
            head, tail = _ends(row)
            self._settle(fact, f"{head} {pattern.type} {tail}", row, f"a file states it anew, and {why}")

        for row in new:
            if fact := retired.get(_ends(row)):
                leave(row, fact, "it stays retired")
        for end, label in (("head", pattern.head), ("tail", pattern.tail)):
            for row in self._stated(pattern, (end,), [[id_ for of, id_ in self._retired if of == label]]):
                if row.what != UNCHANGED:
                    id_ = row.row[end]
                    leave(row, self._retired[label, id_], f"{label} {id_} is retired")

    def _merged(self, fact: CuratedFact, shown: str, row: _Stated, before: Properties, after: Properties) -> Row:
        """A row with the curated values, which stay whatever the row says of them."""
        news = sorted(n for n in after if row.row[n] != before.get(n))
        for name in news:
            was, stays = before.get(name), after[name]
            why = f"a file states {row.row[name]!r}, and no longer {was!r}; {stays!r} stays"
            self._settle(fact, f"{shown} {name}", row, "" if row.row[name] == stays else why)
        self.kept += not news
        return row.row | after

    def _unstated(self, fact: CuratedFact, shown: str) -> None:
        if fact.before is None and not fact.retired:
            self.kept += 1
        else:
            self._note("upstream" if fact.retired else "conflict", fact, shown, "no file states it any more")

    def _settle(self, fact: CuratedFact, shown: str, row: _Stated, why: str) -> None:
        kind: SettledKind = "conflict" if why else "upstream"
        self._note(kind, fact, shown, why or "a file states what the patch made", row.file, row.line)

    def _note(self, kind: SettledKind, fact: CuratedFact, shown: str, why: str, file: str = "", line: int = 0) -> None:
        of = {"finding": fact.finding, "patch": fact.patch, "holder": fact.holder}
        self.settled.append(Settled(kind=kind, what=shown, why=why, file=file, line=line, **of))

    def _facts(self, holder: Holder) -> list[CuratedFact]:
        """List the facts of a label or pattern that patches changed, each value of the type of the schema."""
        return [
            replace(t, before=None if t.before is None else _typed(holder, t.before), after=_typed(holder, t.after))
            for t in self._of.get(str(holder), ())
        ]

    def _judge(self, holder: Holder, row: _Stated, judgement: str) -> None:
        self._db.execute(f"DELETE FROM {judged_table(holder)} WHERE row = ?", [row.number]).fetchall()
        self._db.execute(
            f"INSERT INTO {judged_table(holder)} VALUES (?, ?, ?)", [row.number, judgement, row.file]
        ).fetchall()

    def _stated(self, holder: Holder, keys: tuple[str, ...], values: list[list[str]]) -> list[_Stated]:
        names = holder.stated
        select = f"""
            SELECT s.*, s.rowid AS number, coalesce(j.what, {literal(NEW)}) AS what
            FROM {staged(holder)} s LEFT JOIN {judged_table(holder)} j ON j.row = s.rowid
            WHERE j.what IS NULL OR j.what IN {ACCEPTED}"""
        rows = self._rows(select, keys, values, ["number", "file", "line", "what", *names])
        return [_Stated(r["number"], r["file"], r["line"], r["what"], {n: r[n] for n in names}) for r in rows]

    def _rows(self, source: str, keys: tuple[str, ...], values: list[list[str]], names: Sequence[str]) -> list[Row]:
        if not values[0]:
            return []
        columns = ", ".join(f"t.{identifier(n)}" for n in names)
        wanted = ", ".join(f"unnest(${i + 1}::VARCHAR[]) AS {k}" for i, k in enumerate(keys))
        joined = f"SELECT {columns} FROM ({source}) t SEMI JOIN (SELECT {wanted}) w USING ({', '.join(keys)})"
        return [dict(zip(names, row, strict=True)) for row in self._db.execute(joined, values).fetchall()]


def update_edges(store: ChangedStore, updates: Iterable[EdgeUpdate]) -> None:
    """Set what files state of curated edges, and note it in what the store says of the patches.

    So the patches can be undone, and the edges be known again.
    """
    for triple, fact, values in updates:
        with store.statements(write=True) as run:
            changes = StoreChanges(store, run)
            edge = next((e for e in changes.edges(triple) if digest(e.properties) == fact.whole), None)
            if edge is None:
                raise StoreError(f"the edge {triple} has changed meanwhile", "run the same command again")
            changes.set_edge(edge, values)
            for key, number in fact.recorded:
                record = json.loads(changes.record(key) or "{}")
                properties = record["steps"][number]["properties"] | values
                record["steps"][number]["properties"] = {n: v for n, v in properties.items() if v is not None}
                changes.set_record(key, json.dumps(record))
            changes.renew_states()


def _ends(row: _Stated) -> tuple[str, ...]:
    return row.row["head"], row.row["tail"]


def _row(holder: Holder, fact: CuratedFact, properties: Mapping[str, Any]) -> Row:
    keys = dict(zip(holder.key_columns, fact.key, strict=True))
    return keys | {name: properties.get(name) for name in holder.properties}


def _typed(holder: Holder, properties: Properties) -> Properties:
    known = {n: v for n, v in properties.items() if n in holder.properties}
    return {n: None if v is None else brought_to(holder.properties[n].type, v) for n, v in known.items()}
