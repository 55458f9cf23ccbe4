"""How an earlier run ended the tasks of a unit, from what it left behind: findings, and files of what it judged.

Then nothing need be judged again as its snapshot had it. Where they do not tell, nothing is guessed.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from sqlalchemy import Text, cast, select

from kgcheck.audit.plan import Unit
from kgcheck.audit.tasks import NO_TASKS
from kgcheck.duck import literal
from kgcheck.ledger.basis import digest_sql
from kgcheck.ledger.ledger import Ledger, Run
from kgcheck.ledger.run import CARRIED
from kgcheck.ledger.tables import FINDING, KEY
from kgcheck.ledger.verified import KEPT_TYPES, METADATA, VerifiedFiles
from kgcheck.model import CheckType, Gap, Outcome, Reason, Tally

Key = tuple[Any, ...]
"""What a tally counts alike: outcome, reason, sources and gaps."""

_TOGETHER = 500
_FEW_TASKS = 5_000
"""Whether so many tasks have findings is sooner asked of each than of all findings of a run together."""

_ENDS = pa.schema([("head", pa.string()), ("tail", pa.string())])
_ENDED = _ENDS.append(pa.field("outcome", pa.string())).append(pa.field("reason", pa.string()))

_SAME = "asked.head = recorded.head AND asked.tail IS NOT DISTINCT FROM recorded.tail"
_THEIRS = f"FROM recorded SEMI JOIN asked ON {_SAME}"
_OTHERS = f"CREATE OR REPLACE TEMP TABLE asked AS FROM asked ANTI JOIN recorded ON {_SAME}"


def fingerprints(db: duckdb.DuckDBPyConnection, unit: Unit, tasks: str) -> list[str]:
    """The fingerprints of the tasks of a unit, given as a select, see CheckTask.fingerprint."""
    return [str(row[0]) for row in db.execute(f"SELECT {_fingerprint(unit)} FROM ({tasks})").fetchall()]


def _fingerprint(unit: Unit) -> str:
    target = unit.target
    parts = [literal(unit.type.value), literal(target.label or ""), "head", literal(target.relation or "")]
    parts += [literal(target.object_label or ""), "coalesce(tail, '')", literal(target.attribute or ""), "''"]
    return digest_sql(parts)


def key_of(tally: Tally) -> Key:
    """What a tally counts alike."""
    return tally.outcome, tally.reason, tally.sources, tally.gaps


class RecordedOutcomes:
    """What an earlier run left behind."""

    def __init__(self, db: duckdb.DuckDBPyConnection, ledger: Ledger, files: VerifiedFiles | None, run: Run) -> None:
        self._db = db
        self._ledger = ledger
        self._files = files
        self._run = run
        self._has_keys = False

    def of(
        self, unit: Unit, tasks: str, pieces: Mapping[str, str], counted: Iterable[Tally]
    ) -> tuple[list[str], Counter[Key]] | None:
        """How some tasks of a unit ended."""
        if not self._files or unit.type not in KEPT_TYPES:
            return None
        self._db.execute(f"CREATE OR REPLACE TEMP TABLE asked AS SELECT DISTINCT head, tail FROM ({tasks})").fetchall()
        self._find_theirs(unit)
        found = [str(row[0]) for row in self._db.execute(f"SELECT fingerprint {_THEIRS}").fetchall()]
        self._db.execute(_OTHERS).fetchall()
        others = self._without_finding(self._files, pieces, counted)
        return None if others is None else (found, self._keys_of_findings(found) + others)

    def pairs(self, unit: Unit, pieces: Mapping[str, str], counted: Iterable[Tally]) -> str | None:
        """All edges of a unit, as the run looked at them: nobody need ask the store for them."""
        if not self._files or unit.type is not CheckType.TRIPLE:
            return None
        paths = self._paths(self._files, pieces)
        if not paths or sum(pq.read_metadata(path).num_rows for path, _ in paths) < sum(t.count for t in counted):
            return None
        read = "SELECT head, tail FROM read_parquet({})"
        return " UNION ALL ".join(read.format(literal(str(path))) for path, _ in paths)

    def _find_theirs(self, unit: Unit) -> None:
        """Table ``recorded``: those in ``asked`` of which the run has a finding, with its fingerprint."""
        if self._left() <= _FEW_TASKS:
            table, keys = "some_key", fingerprints(self._db, unit, "FROM asked")
            self._put(self._keys(keys[start : start + _TOGETHER] for start in range(0, len(keys), _TOGETHER)), table)
        else:
            table = "every_key"
            if not self._has_keys:
                self._put(self._keys([None]), table)
                self._has_keys = True
        named = f"SELECT head, tail, {_fingerprint(unit)} AS fingerprint FROM asked"
        found = f"SELECT * FROM ({named}) SEMI JOIN {table} USING (fingerprint)"
        self._db.execute(f"CREATE OR REPLACE TEMP TABLE recorded AS {found}").fetchall()

    def _keys(self, among: Iterable[list[str] | None]) -> pa.Table:
        """The fingerprints of the run's findings among some, or of all."""
        query, found = select(KEY.c.fingerprint).where(KEY.c.run == self._run.id), list[str]()
        with self._ledger.database.reading(of=self._run.id) as connection:
            for some in among:
                found += connection.scalars(query if some is None else query.where(KEY.c.fingerprint.in_(some)))
        return pa.table([found], schema=pa.schema([("fingerprint", pa.string())]))

    def _keys_of_findings(self, fingerprints: list[str]) -> Counter[Key]:
        texts = cast(FINDING.c.evidence, Text), cast(FINDING.c.gaps, Text)
        query = select(FINDING.c.outcome, FINDING.c.reason, *texts).join(KEY, KEY.c.finding == FINDING.c.number)
        query = query.where(KEY.c.run == self._run.id)
        keys: Counter[Key] = Counter()
        with self._ledger.database.reading(of=self._run.id) as connection:
            for start in range(0, len(fingerprints), _TOGETHER):
                some = fingerprints[start : start + _TOGETHER]
                for outcome, reason, evidence, gaps in connection.execute(query.where(KEY.c.fingerprint.in_(some))):
                    sources = tuple(sorted({observed["source"] for observed in json.loads(evidence)}))
                    unseen = tuple(sorted(Gap(source, Reason(cause)) for source, cause in json.loads(gaps)))
                    keys[Outcome(outcome), Reason(reason), sources, unseen] += 1
        return keys

    def _without_finding(
        self, files: VerifiedFiles, pieces: Mapping[str, str], counted: Iterable[Tally]
    ) -> Counter[Key] | None:
        """How those in ``asked`` ended, which made no finding: as the files have it, the latest first."""
        ways: dict[tuple[str, str], list[Key]] = {}
        for key in {key_of(tally) for tally in counted}:
            ways.setdefault((key[0].value, key[1].value), []).append(key)
        ended: Counter[tuple[str, str]] = Counter()
        paths = self._paths(files, pieces)
        if paths is None:
            return None
        while self._left() and paths:
            if all(is_alike for _, is_alike in paths):
                # What stands nowhere else is in these, which are most of a unit: they need not be read.
                ways_left = {(same["outcome"], same["reason"]) for same in map(_same, (path for path, _ in paths))}
                if len(ways_left) == 1:
                    ended[ways_left.pop()] += self._left()
                    self._db.execute("DELETE FROM asked").fetchall()
                break
            self._put(_ended_in(paths.pop(0)[0]))
            counts = self._db.execute(f"SELECT outcome, reason, count(*) {_THEIRS} GROUP BY ALL").fetchall()
            ended += Counter({(outcome, reason): count for outcome, reason, count in counts})
            self._db.execute(_OTHERS).fetchall()
        if self._left():
            return None
        if any(len(ways.get(way, ())) != 1 for way in ended):
            return None
        return Counter({ways[way][0]: count for way, count in ended.items()})

    def _paths(self, files: VerifiedFiles, pieces: Mapping[str, str]) -> list[tuple[Path, bool]] | None:
        """The files of pieces: what the run judged itself first, then what was judged before, the latest first."""
        judged = [piece for piece, digest in pieces.items() if not piece.endswith(CARRIED) and digest != NO_TASKS]
        paths = files.own(self._run.id, judged)
        if not all(files.paths(self._run.id, piece)[0] in paths for piece in judged):
            return None
        for piece in pieces:
            if piece.endswith(CARRIED):
                listed = files.inherited(self._run.id, piece)
                if listed is None:
                    return None
                paths += [files.of_run(self._run.id) / entry.file for entry in listed]
        return [(path, "outcome" in _same(path)) for path in paths] if all(map(Path.exists, paths)) else None

    def _left(self) -> int:
        return int(self._db.execute("SELECT count(*) FROM asked").fetchall()[0][0])

    def _put(self, rows: pa.Table, table: str = "recorded") -> None:
        self._db.register("incoming", rows)
        try:
            self._db.execute(f"CREATE OR REPLACE TEMP TABLE {table} AS FROM incoming").fetchall()
        finally:
            self._db.unregister("incoming")


def _same(path: Path) -> Mapping[str, str]:
    """What all rows of a file have in common."""
    found: Mapping[str, str] = json.loads(pq.read_metadata(path).metadata[METADATA.encode()])
    return found


def _ended_in(path: Path) -> pa.Table:
    """How the tasks of a file ended."""
    names, same = pq.read_schema(path).names, _same(path)
    rows = pq.read_table(path, columns=[name for name in _ENDED.names if name in names])
    columns = [
        rows[name] if name in names else pa.repeat(pa.scalar(same.get(name), pa.string()), rows.num_rows)
        for name in _ENDED.names
    ]
    return pa.table(columns, names=_ENDED.names).cast(_ENDED).group_by(_ENDED.names).aggregate([])
