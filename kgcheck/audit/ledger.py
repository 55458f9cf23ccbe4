"""The ledger: runs, what they have done so far, their findings and tallies (SQLAlchemy; SQLite by default).

A piece of work and what it found are written in one transaction, so that a killed run resumes with no finding lost and none
doubled.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from uuid import uuid4

from pydantic import Field, ValidationError
from sqlalchemy import (
    Column,
    Connection,
    Engine,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    create_engine,
    event,
    func,
    insert,
    select,
    update,
)
from sqlalchemy.exc import DatabaseError, SQLAlchemyError

from kgcheck.errors import AmbiguousName, LedgerError, UnknownName
from kgcheck.model import CheckType, Finding, Outcome, Reason, Tally, Value

_FORMAT = 1

_metadata = MetaData()
_run = Table(
    "run",
    _metadata,
    Column("id", String, primary_key=True),
    Column("body", Text, nullable=False),
)
_piece = Table(
    "piece",
    _metadata,
    Column("run", ForeignKey("run.id"), primary_key=True),
    Column("piece", String, primary_key=True),
)
_finding = Table(
    "finding",
    _metadata,
    Column("run", ForeignKey("run.id"), primary_key=True),
    Column("fingerprint", String, primary_key=True),
    Column("type", String, nullable=False),
    Column("outcome", String, nullable=False),
    Column("reason", String, nullable=False),
    Column("label", String, nullable=False),
    Column("relation", String),
    Column("body", Text, nullable=False),
    Index("finding_by_fingerprint", "fingerprint"),
)
_tally = Table(
    "tally",
    _metadata,
    Column("run", ForeignKey("run.id"), primary_key=True),
    Column("piece", String, primary_key=True),
    Column("type", String, primary_key=True),
    Column("target", String, primary_key=True),
    Column("outcome", String, primary_key=True),
    Column("reason", String, primary_key=True),
    Column("sources", String, primary_key=True),
    Column("count", Integer, nullable=False),
)
_FIRST = {"refuted": 0, "insufficient": 1, "unavailable": 2, "supported": 3}


class Run(Value):
    """One audit: what was asked for, of which graph, against which releases, and how far it got."""

    id: str
    started: datetime
    finished: datetime | None = None
    store: str
    profile: str
    reference: str | None = None
    releases: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    options: dict[str, Any] = Field(default_factory=dict)
    nodes: dict[str, int] = Field(default_factory=dict)
    edges: dict[str, int] = Field(default_factory=dict)


class Ledger:
    """Runs and findings in one database.

    Args:
        where: A SQLite file, made when it is missing.

    Raises:
        LedgerError: It cannot be opened, is no ledger, or is one of another format.
    """

    def __init__(self, where: Path) -> None:
        self.where = where
        try:
            where.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise LedgerError(f"cannot make {where.parent}: {error.strerror}", "name another ledger with --ledger") from error
        self._engine: Engine = create_engine(f"sqlite:///{where}")
        event.listen(self._engine, "connect", _durable)
        with self._transaction() as connection:
            version = connection.exec_driver_sql("PRAGMA user_version").scalar_one()
            if version not in (0, _FORMAT):
                raise LedgerError(f"{where} is a ledger of format {version}, and this kgcheck reads {_FORMAT}")
            _metadata.create_all(connection)
            connection.exec_driver_sql(f"PRAGMA user_version = {_FORMAT}")

    def start(self, run: Run) -> None:
        """Write down a new run."""
        with self._transaction() as connection:
            connection.execute(insert(_run).values(id=run.id, body=run.model_dump_json()))

    def finish(self, run: Run) -> Run:
        """Write down that a run is whole.

        Returns:
            The run with its time of ending.
        """
        ended = run.model_copy(update={"finished": now()})
        with self._transaction() as connection:
            connection.execute(update(_run).where(_run.c.id == run.id).values(body=ended.model_dump_json()))
        return ended

    def done(self, run: Run) -> set[str]:
        """Pieces of work that are finished."""
        with self._transaction() as connection:
            return set(connection.scalars(select(_piece.c.piece).where(_piece.c.run == run.id)))

    def record(self, run: Run, piece: str, findings: Iterable[Finding], tallies: Sequence[Tally]) -> None:
        """Write a finished piece of work, its findings and its tallies, all or nothing."""
        rows = [
            {
                "run": run.id,
                "fingerprint": f.fingerprint,
                "type": f.task.type.value,
                "outcome": f.verdict.outcome.value,
                "reason": f.verdict.reason.value,
                "label": f.task.subject.label,
                "relation": f.task.relation,
                "body": f.model_dump_json(),
            }
            for f in findings
        ]
        with self._transaction() as connection:
            connection.execute(insert(_piece).values(run=run.id, piece=piece))
            if rows:
                connection.execute(insert(_finding), rows)
            if tallies:
                held = [t.model_dump(mode="json") | {"run": run.id, "piece": piece} for t in tallies]
                connection.execute(insert(_tally), held)

    def runs(self) -> list[Run]:
        """All runs, newest first."""
        with self._transaction() as connection:
            bodies = list(connection.scalars(select(_run.c.body)))
        return sorted((Run.model_validate_json(b) for b in bodies), key=lambda r: r.started, reverse=True)

    def run(self, name: str) -> Run:
        """A run by its id, the beginning of its id, or ``latest``.

        Raises:
            UnknownName: There is none.
            AmbiguousName: Several ids begin so.
        """
        runs = self.runs()
        if name == "latest" and runs:
            return runs[0]
        found = [r for r in runs if r.id.startswith(name)]
        exact = [r for r in found if r.id == name]
        if not found:
            raise UnknownName("run", name, [r.id for r in runs], "" if runs else "no run yet: kgcheck audit")
        if len(found) > 1 and not exact:
            raise AmbiguousName(f"several runs begin with {name!r}", ", ".join(r.id for r in found))
        return (exact or found)[0]

    def findings(self, run: Run, outcomes: Iterable[Outcome] = (), limit: int | None = None) -> Iterator[Finding]:
        """Findings of a run, the refuted ones first, then by type, reason and subject.

        Args:
            run: The run.
            outcomes: Only these; all if empty.
            limit: At most so many.
        """
        order = sorted(_FIRST, key=lambda o: _FIRST[o])
        query = select(_finding.c.body).where(_finding.c.run == run.id)
        wanted = [o.value for o in outcomes]
        if wanted:
            query = query.where(_finding.c.outcome.in_(wanted))
        ranked = query.order_by(
            func.instr(",".join(order), _finding.c.outcome),
            _finding.c.type,
            _finding.c.reason,
            _finding.c.label,
            func.json_extract(_finding.c.body, "$.task.subject.id"),
            _finding.c.fingerprint,
        ).limit(limit)
        with self._transaction() as connection:
            for body in connection.scalars(ranked):
                yield Finding.model_validate_json(body)

    def finding(self, fingerprint: str) -> Finding:
        """The finding of that fingerprint (or its beginning) in the newest run that has it.

        Raises:
            UnknownName: No run has it.
            AmbiguousName: Several fingerprints begin so.
        """
        query = select(_finding.c.run, _finding.c.fingerprint, _finding.c.body).where(
            _finding.c.fingerprint.startswith(fingerprint, autoescape=True)
        )
        with self._transaction() as connection:
            rows = list(connection.execute(query.limit(1000)))
        names = sorted({row.fingerprint for row in rows})
        if not names:
            raise UnknownName("finding", fingerprint, [], "kgcheck report RUN lists the findings of a run")
        if len(names) > 1:
            raise AmbiguousName(f"several findings begin with {fingerprint!r}", ", ".join(names[:8]))
        age = {run.id: position for position, run in enumerate(self.runs())}
        newest = min(rows, key=lambda row: age[row.run])
        return Finding.model_validate_json(newest.body)

    def tallies(self, run: Run) -> list[Tally]:
        """Counts of a run over all its pieces."""
        keys = (_tally.c.type, _tally.c.target, _tally.c.outcome, _tally.c.reason, _tally.c.sources)
        query = select(*keys, func.sum(_tally.c.count)).where(_tally.c.run == run.id).group_by(*keys).order_by(*keys)
        with self._transaction() as connection:
            rows = list(connection.execute(query))
        return [
            Tally(type=CheckType(t), target=where, outcome=Outcome(o), reason=Reason(r), sources=s, count=n)
            for t, where, o, r, s, n in rows
        ]

    def close(self) -> None:
        """Close the database."""
        self._engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @contextmanager
    def _transaction(self) -> Iterator[Connection]:
        try:
            with self._engine.begin() as connection:
                yield connection
        except DatabaseError as error:
            said = str(error.orig)
            if "full" in said:
                raise LedgerError(f"the disk is full: {self.where} was left as it was", "free space, then run with --resume") from error
            if "not a database" in said:
                raise LedgerError(f"{self.where} is not a ledger", "name another with --ledger") from error
            raise LedgerError(f"the ledger {self.where} cannot be used: {said}") from error
        except (SQLAlchemyError, ValidationError, json.JSONDecodeError) as error:
            raise LedgerError(f"the ledger {self.where} cannot be used: {error}") from error


def now() -> datetime:
    """The time, to the second."""
    return datetime.now(UTC).replace(microsecond=0)


def new_run_id() -> str:
    """A run id that sorts by time: 20261121-021005-3f9a."""
    return f"{now():%Y%m%d-%H%M%S}-{uuid4().hex[:4]}"


def _durable(connection: Any, _record: Any) -> None:
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "busy_timeout=10000"):
        connection.execute(f"PRAGMA {pragma}")
