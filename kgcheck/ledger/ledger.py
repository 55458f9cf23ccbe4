"""The ledger: runs, what they have done so far, their findings and tallies (SQLAlchemy, SQLite).

A piece of work and what it found are written in one transaction, so that a killed run resumes with no finding lost and
none doubled.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

from pydantic import Field, ValidationError
from sqlalchemy import ColumnElement, Connection, case, delete, func, insert, select, update

from kgcheck.closing import Closing
from kgcheck.errors import AmbiguousName, LedgerError, UnknownName
from kgcheck.ledger.database import FINDING, PIECE, RUN, TALLY, Database
from kgcheck.model import CheckType, Finding, Gap, Outcome, Reason, Tally, Value

V = TypeVar("V", bound=Value)

_UNLOOKED = str(Gap("", Reason.SOURCE_UNAVAILABLE)).strip()
"""How a verdict names a service that could not be looked at, after its name."""

_TEAM = "team "
"""Pieces that are a finding handed to the team are named so, with its fingerprint."""

_WORST_FIRST = (Outcome.REFUTED, Outcome.INSUFFICIENT, Outcome.UNAVAILABLE, Outcome.SUPPORTED)


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
    unknown: dict[str, int] = Field(
        default_factory=dict, description="labels, relations and properties that the profile does not describe"
    )
    team: dict[str, int] = Field(default_factory=dict, description="findings handed to the team, by what came of them")
    compared_with: str | None = Field(default=None, description="the audit before, whose counts this one compares")
    live: dict[str, tuple[str, ...]] = Field(default={}, description="releases that services named, by service")

    def with_live(self, releases: Mapping[str, Sequence[str]]) -> "Run":
        """The run with the releases that services named, and a warning where one named none, or several.

        Args:
            releases: By service, as they came; an empty one where an answer named none.

        Returns:
            The run; what it had stays.
        """
        seen = {
            name: tuple(dict.fromkeys((*self.live.get(name, ()), *releases.get(name, ()))))
            for name in dict.fromkeys((*self.live, *releases))
        }
        warnings = dict.fromkeys(self.warnings)
        for name, named in seen.items():
            told = [release for release in named if release]
            if "" in named:
                warnings[f"{name} gave answers that name no release: what they say cannot be looked up again"] = None
            if len(told) > 1:
                moved = f"{name} moved while the run was under way, {' to '.join(told)}: evidence names its own"
                warnings[moved] = None
        return self.model_copy(update={"live": seen, "warnings": tuple(warnings)})

    @property
    def is_check(self) -> bool:
        """Whether it is of one task only, by kgcheck check."""
        return "check" in self.options


class Ledger(Closing):
    """Runs and findings in one database.

    Args:
        where: A SQLite file.
        create: Make it when it is missing.

    Raises:
        LedgerError: It cannot be opened, is no ledger, or is one of another format.
    """

    def __init__(self, where: Path, *, create: bool = True) -> None:
        self.where = where
        self._database = Database(where, create=create)

    def start(self, run: Run) -> None:
        """Write down a new run."""
        with self._database.writing() as connection:
            _insert_run(connection, run)

    def finish(self, run: Run) -> Run:
        """Write down that a run is whole.

        Returns:
            The run with its time of ending.
        """
        ended = run.model_copy(update={"finished": now()})
        self.note(ended)
        return ended

    def note(self, run: Run) -> None:
        """Write down what a run learnt of itself, finished or not."""
        with self._database.writing() as connection:
            connection.execute(update(RUN).where(RUN.c.id == run.id).values(body=run.model_dump_json()))

    def keep(self, run: Run, finding: Finding, tally: Tally) -> None:
        """Write a finished run of one task, all or nothing."""
        with self._database.writing() as connection:
            _insert_run(connection, run.model_copy(update={"finished": now()}))
            connection.execute(insert(FINDING), [_finding_row(run, finding)])
            connection.execute(insert(TALLY), [_tally_row(run, "check", tally)])

    def done(self, run: Run) -> dict[str, str]:
        """Pieces of work that are finished, each with the digest of its tasks."""
        with self._database.reading() as connection:
            rows = connection.execute(select(PIECE.c.piece, PIECE.c.tasks).where(PIECE.c.run == run.id))
            return {row.piece: row.tasks for row in rows}

    def record(
        self, run: Run, piece: str, findings: Iterable[Finding], tallies: Sequence[Tally], tasks: str = ""
    ) -> None:
        """Write a finished piece of work, its findings and its tallies, all or nothing.

        Args:
            run: The run.
            piece: Names the piece in the run.
            findings: What it found.
            tallies: What it counted.
            tasks: Digest of the tasks that the piece is of.

        Raises:
            LedgerError: It cannot be written, or the run has the piece already.
        """
        # Made before the transaction begins, so that other writers wait only for the disk.
        found = [_finding_row(run, f) for f in findings]
        counted = [_tally_row(run, piece, t) for t in tallies]
        with self._database.writing() as connection:
            connection.execute(insert(PIECE).values(run=run.id, piece=piece, tasks=tasks))
            if found:
                connection.execute(insert(FINDING), found)
            if counted:
                connection.execute(insert(TALLY), counted)

    def handed(self, run: Run) -> dict[str, str]:
        """What came of each finding that was handed to the team, by fingerprint."""
        with self._database.reading() as connection:
            query = select(PIECE.c.piece, PIECE.c.tasks).where(PIECE.c.run == run.id, PIECE.c.piece.startswith(_TEAM))
            return {row.piece.removeprefix(_TEAM): row.tasks for row in connection.execute(query)}

    def hand_over(self, run: Run, old: Finding, new: Finding | None, way: str, target: str) -> None:
        """Write what came of a finding that was handed to the team, all or nothing.

        Args:
            run: The run.
            old: The finding as it was.
            new: As the team decided, or None where it stays as it was.
            way: What came of it.
            target: The part of the schema that it is of.
        """
        piece = f"{_TEAM}{old.fingerprint}"
        with self._database.writing() as connection:
            connection.execute(insert(PIECE).values(run=run.id, piece=piece, tasks=way))
            if new is None:
                return
            _take_from_tally(connection, run, old, target)
            sources = ", ".join(sorted({e.source for e in new.verdict.evidence}))
            tally = Tally(
                type=new.task.type,
                target=target,
                outcome=new.verdict.outcome,
                reason=new.verdict.reason,
                sources=f"team: {sources}",
                count=1,
            )
            connection.execute(insert(TALLY), [_tally_row(run, piece, tally)])
            found = (FINDING.c.run == run.id) & (FINDING.c.fingerprint == old.fingerprint)
            connection.execute(update(FINDING).where(found).values(**_finding_row(run, new)))

    def unlooked(self, run: Run) -> list[tuple[str, str]]:
        """Types and targets of a run for which a service could not be looked at."""
        told = TALLY.c.reason == Reason.SOURCE_UNAVAILABLE.value
        told |= TALLY.c.sources.contains(_UNLOOKED, autoescape=True)
        query = select(TALLY.c.type, TALLY.c.target).where(TALLY.c.run == run.id, told).distinct()
        with self._database.reading() as connection:
            return [(row.type, row.target) for row in connection.execute(query)]

    def reopen(self, run: Run) -> None:
        """Forget what was done where a service could not be looked at, so that it is done again."""
        targets = self.unlooked(run)
        with self._database.writing() as connection:
            for kind, target in targets:
                for table, which in (
                    (PIECE, PIECE.c.piece.startswith(f"{kind} {target} #", autoescape=True)),
                    (TALLY, (TALLY.c.type == kind) & (TALLY.c.target == target)),
                    (FINDING, (FINDING.c.type == kind) & _of_target(target)),
                ):
                    connection.execute(delete(table).where(table.c.run == run.id, which))

    def runs(self) -> list[Run]:
        """All runs, newest first."""
        with self._database.reading() as connection:
            bodies = list(connection.scalars(select(RUN.c.body).order_by(RUN.c.number.desc())))
        return [self._parsed(Run, body) for body in bodies]

    def run(self, name: str) -> Run:
        """A run by its id, the beginning of its id, or ``latest``: the latest audit, where there is one.

        Returns:
            The run.

        Raises:
            UnknownName: There is none.
            AmbiguousName: Several ids begin so.
        """
        runs = self.runs()
        if name == "latest" and runs:
            return next((r for r in runs if not r.is_check), runs[0])
        found = [r for r in runs if r.id.startswith(name)]
        exact = [r for r in found if r.id == name]
        if not found:
            raise UnknownName("run", name, [r.id for r in runs], "" if runs else "no run yet: kgcheck audit")
        if len(found) > 1 and not exact:
            raise AmbiguousName(f"several runs begin with {name!r}", ", ".join(r.id for r in found[:8]))
        return (exact or found)[0]

    def cut_off(self) -> Run:
        """The newest run that did not finish.

        Returns:
            The run.

        Raises:
            UnknownName: All are finished.
        """
        for run in self.runs():
            if not run.finished:
                return run
        raise UnknownName("run", "that was cut off", [], "every run is finished: start a new one without --resume")

    def audit_before(self, store: str) -> Run | None:
        """The newest finished audit of a store."""
        return next((r for r in self.runs() if r.finished and r.store == store and r.nodes), None)

    def findings(self, run: Run, outcomes: Iterable[Outcome] = (), limit: int | None = None) -> Iterator[Finding]:
        """Findings of a run, the refuted first, then by type, reason and subject; potential edges by their support.

        Args:
            run: The run.
            outcomes: Only these; all if empty.
            limit: At most so many.

        Yields:
            A finding.
        """
        query = select(FINDING.c.body).where(FINDING.c.run == run.id)
        wanted = [o.value for o in outcomes]
        if wanted:
            query = query.where(FINDING.c.outcome.in_(wanted))
        ranked = query.order_by(
            case({o.value: rank for rank, o in enumerate(_WORST_FIRST)}, value=FINDING.c.outcome),
            FINDING.c.type,
            # Edges that the graph lacks are ranked: the best supported ones first.
            case((FINDING.c.type == CheckType.POTENTIAL.value, -_said("confidence")), else_=0),
            case((FINDING.c.type == CheckType.POTENTIAL.value, -func.coalesce(_said("evidence[0].score"), 0)), else_=0),
            FINDING.c.reason,
            FINDING.c.label,
            func.json_extract(FINDING.c.body, "$.task.subject.id"),
            FINDING.c.fingerprint,
        ).limit(limit)
        with self._database.reading() as connection:
            for body in connection.scalars(ranked):
                yield self._parsed(Finding, body)

    def finding(self, fingerprint: str) -> Finding:
        """The finding of that fingerprint (or its beginning) in the newest run that has it.

        Returns:
            The finding.

        Raises:
            UnknownName: No run has it.
            AmbiguousName: Several fingerprints begin so.
        """
        begins = FINDING.c.fingerprint.startswith(fingerprint, autoescape=True)
        with self._database.reading() as connection:
            names = list(connection.scalars(select(FINDING.c.fingerprint).where(begins).distinct().limit(9)))
            if not names:
                raise UnknownName("finding", fingerprint, [], "kgcheck report RUN lists the findings of a run")
            if len(names) > 1:
                raise AmbiguousName(f"several findings begin with {fingerprint!r}", ", ".join(sorted(names)))
            rows = connection.execute(select(FINDING.c.run, FINDING.c.body).where(FINDING.c.fingerprint == names[0]))
            bodies = {row.run: row.body for row in rows}
        newest = next(run for run in self.runs() if run.id in bodies)
        return self._parsed(Finding, bodies[newest.id])

    def tallies(self, run: Run) -> list[Tally]:
        """Counts of a run over all its pieces."""
        keys = (TALLY.c.type, TALLY.c.target, TALLY.c.outcome, TALLY.c.reason, TALLY.c.sources)
        counted = func.sum(TALLY.c.count)
        grouped = select(*keys, counted).where(TALLY.c.run == run.id).group_by(*keys)
        query = grouped.having(counted > 0).order_by(*keys)
        with self._database.reading() as connection:
            rows = list(connection.execute(query))
        return [
            Tally(type=CheckType(t), target=where, outcome=Outcome(o), reason=Reason(r), sources=s, count=n)
            for t, where, o, r, s, n in rows
        ]

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    def _parsed(self, kind: type[V], body: str) -> V:
        try:
            return kind.model_validate_json(body)
        except ValidationError as error:
            raise LedgerError(f"the ledger {self.where} holds a {kind.__name__.lower()} that cannot be read") from error


def now() -> datetime:
    """The time, to the second."""
    return datetime.now(UTC).replace(microsecond=0)


def new_run_id() -> str:
    """A run id that sorts by time: 20261121-021005-3f9a."""
    return f"{now():%Y%m%d-%H%M%S}-{uuid4().hex[:4]}"


def _said(part: str) -> Any:
    """A part of a finding's verdict."""
    return func.json_extract(FINDING.c.body, f"$.verdict.{part}")


def _take_from_tally(connection: Connection, run: Run, finding: Finding, target: str) -> None:
    """One task less in a tally that counts the finding."""
    same = (TALLY.c.run == run.id) & (TALLY.c.type == finding.task.type.value) & (TALLY.c.target == target)
    same &= (TALLY.c.outcome == finding.verdict.outcome.value) & (TALLY.c.reason == finding.verdict.reason.value)
    keys = [TALLY.c.piece, TALLY.c.sources]
    row = connection.execute(select(*keys).where(same, TALLY.c.count > 0).order_by(*keys).limit(1)).first()
    if row:
        one = same & (TALLY.c.piece == row.piece) & (TALLY.c.sources == row.sources)
        connection.execute(update(TALLY).where(one).values(count=TALLY.c.count - 1))


def _of_target(target: str) -> ColumnElement[bool]:
    """Findings about a label, a pattern, or an attribute of one, as Unit.target names them."""
    part, _, attribute = target.partition(".")
    label, *pattern = part.split(" ")
    stated = func.coalesce(func.json_extract(FINDING.c.body, "$.task.attribute"), "")
    found = (FINDING.c.label == label) & (stated == attribute)
    if pattern:
        relation, other = pattern
        tail = func.json_extract(FINDING.c.body, "$.task.object.label")
        return found & (FINDING.c.relation == relation) & (tail == other)
    return found & FINDING.c.relation.is_(None)


def _insert_run(connection: Connection, run: Run) -> None:
    connection.execute(insert(RUN).values(id=run.id, body=run.model_dump_json()))


def _finding_row(run: Run, finding: Finding) -> dict[str, Any]:
    return {
        "run": run.id,
        "fingerprint": finding.fingerprint,
        "type": finding.task.type.value,
        "outcome": finding.verdict.outcome.value,
        "reason": finding.verdict.reason.value,
        "label": finding.task.subject.label,
        "relation": finding.task.relation,
        "body": finding.model_dump_json(),
    }


def _tally_row(run: Run, piece: str, tally: Tally) -> dict[str, Any]:
    return tally.model_dump(mode="json") | {"run": run.id, "piece": piece}
