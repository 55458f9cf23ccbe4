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
from kgcheck.ledger.ledger import Ledger, Run, of_target
from kgcheck.ledger.run import CARRIED
from kgcheck.ledger.tables import FINDING
from kgcheck.ledger.verified import KEPT_TYPES, VerifiedFiles
from kgcheck.model import Gap, Outcome, Reason, Tally

Key = tuple[Any, ...]
"""What a tally counts alike: outcome, reason, sources and gaps."""

_TOGETHER = 500
_ENDS = pa.schema([("head", pa.string()), ("tail", pa.string())])
_FOUND = _ENDS.append(pa.field("fingerprint", pa.string()))
_ENDED = _ENDS.append(pa.field("outcome", pa.string())).append(pa.field("reason", pa.string()))

_SAME = "asked.head = recorded.head AND asked.tail IS NOT DISTINCT FROM recorded.tail"
_THEIRS = f"FROM recorded SEMI JOIN asked ON {_SAME}"
_OTHERS = f"CREATE OR REPLACE TEMP TABLE asked AS FROM asked ANTI JOIN recorded ON {_SAME}"


def key_of(tally: Tally) -> Key:
    """What a tally counts alike."""
    return tally.outcome, tally.reason, tally.sources, tally.gaps


class RecordedOutcomes:
    """What an earlier run left behind.

    Args:
        db: A working database.
        ledger: Where the run is.
        files: What was judged is kept here, or None.
        run: The earlier run.
    """

    def __init__(self, db: duckdb.DuckDBPyConnection, ledger: Ledger, files: VerifiedFiles | None, run: Run) -> None:
        self._db = db
        self._ledger = ledger
        self._files = files
        self._run = run

    def of(
        self, unit: Unit, tasks: str, pieces: Mapping[str, str], counted: Iterable[Tally]
    ) -> tuple[list[str], Counter[Key]] | None:
        """How some tasks of a unit ended.

        Args:
            unit: What they are of.
            tasks: A select of head and tail.
            pieces: The run's pieces of the unit, each with the digest of its tasks.
            counted: What the run counted of the unit.

        Returns:
            The fingerprints of their findings, and how many ended in each way; None where that is not known.
        """
        if not self._files or unit.type not in KEPT_TYPES:
            return None
        self._db.execute(f"CREATE OR REPLACE TEMP TABLE asked AS SELECT DISTINCT head, tail FROM ({tasks})").fetchall()
        self._register_found(unit)
        found = [str(row[0]) for row in self._db.execute(f"SELECT fingerprint {_THEIRS}").fetchall()]
        self._db.execute(_OTHERS).fetchall()
        others = self._without_finding(self._files, pieces, counted)
        return None if others is None else (found, self._keys_of_findings(found) + others)

    def _register_found(self, unit: Unit) -> None:
        """Table ``recorded``: the findings of the unit."""
        names = (FINDING.c.subject_id, FINDING.c.object_id, FINDING.c.fingerprint)
        which = of_target(FINDING, unit.type, unit.target, label=FINDING.c.subject_label)
        with self._ledger.database.reading() as connection:
            rows = connection.execute(select(*names).where(which, FINDING.c.run == self._run.id)).all()
        self._put(pa.table([list(column) for column in zip(*rows, strict=True)] or [[], [], []], schema=_FOUND))

    def _keys_of_findings(self, fingerprints: list[str]) -> Counter[Key]:
        texts = cast(FINDING.c.evidence, Text), cast(FINDING.c.gaps, Text)
        query = select(FINDING.c.outcome, FINDING.c.reason, *texts).where(FINDING.c.run == self._run.id)
        keys: Counter[Key] = Counter()
        with self._ledger.database.reading() as connection:
            for start in range(0, len(fingerprints), _TOGETHER):
                some = fingerprints[start : start + _TOGETHER]
                for outcome, reason, evidence, gaps in connection.execute(query.where(FINDING.c.fingerprint.in_(some))):
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
        alike: set[tuple[str, str]] = set()
        paths = self._paths(files, pieces)
        if paths is None:
            return None
        for path in paths:
            metadata: Mapping[str, str] = json.loads(pq.read_metadata(path).metadata[b"kgcheck"])
            if "outcome" in metadata:
                # Of those that one tells of, which are most of a unit, no list need be read.
                alike.add((metadata["outcome"], metadata["reason"]))
                continue
            if not self._left():
                break
            names = [n for n in _ENDED.names if n in pq.read_schema(path).names]
            rows = pq.read_table(path, columns=names)
            for name in _ENDED.names:
                if name not in names:
                    rows = rows.append_column(name, pa.nulls(rows.num_rows, pa.string()))
            self._put(rows.select(_ENDED.names).cast(_ENDED))
            counts = self._db.execute(f"SELECT outcome, reason, count(*) {_THEIRS} GROUP BY ALL").fetchall()
            ended += Counter({(outcome, reason): count for outcome, reason, count in counts})
            self._db.execute(_OTHERS).fetchall()
        if left := self._left():
            if len(alike) != 1:
                return None
            ended[next(iter(alike))] += left
        if any(len(ways.get(way, ())) != 1 for way in ended):
            return None
        return Counter({ways[way][0]: count for way, count in ended.items()})

    def _paths(self, files: VerifiedFiles, pieces: Mapping[str, str]) -> list[Path] | None:
        """The files of pieces: what the run judged itself first, then what was judged before, the latest first.

        Returns:
            Paths; None where one is missing.
        """
        own: list[Path] = []
        inherited: list[Path] = []
        for piece, digest in pieces.items():
            if piece.endswith(CARRIED):
                listed = files.inherited(self._run.id, piece)
                if listed is None:
                    return None
                inherited += [files.of_run(self._run.id) / entry.file for entry in listed]
            elif digest != NO_TASKS:
                one_by_one, alike = files.paths(self._run.id, piece)
                own += [one_by_one, alike] if alike.exists() else [one_by_one]
        paths = [*own, *inherited]
        return paths if all(path.exists() for path in paths) else None

    def _left(self) -> int:
        return int(self._db.execute("SELECT count(*) FROM asked").fetchall()[0][0])

    def _put(self, rows: pa.Table) -> None:
        self._db.register("incoming", rows)
        try:
            self._db.execute("CREATE OR REPLACE TEMP TABLE recorded AS FROM incoming").fetchall()
        finally:
            self._db.unregister("incoming")
