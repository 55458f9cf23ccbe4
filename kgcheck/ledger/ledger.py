"""Ledger: store of runs, their progress, findings and tallies (SQLAlchemy; SQLite, PostgreSQL).

A piece of work and what it found are written in one transaction, so that a killed run resumes with no finding lost and
none doubled.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import product
from typing import Any
from uuid import uuid4

from pydantic import ValidationError
from sqlalchemy import (
    URL,
    ColumnElement,
    Connection,
    FromClause,
    Row,
    Select,
    Table,
    delete,
    func,
    insert,
    select,
    tuple_,
    update,
)

from kgcheck import clock
from kgcheck.closing import Closing
from kgcheck.errors import FROM_A_COPY, AmbiguousName, LedgerError, UnknownName
from kgcheck.ledger.bulk_insert import (
    insert_findings,
    is_settled,
    last_number,
    remove_findings,
    replace_finding,
    settle_run,
)
from kgcheck.ledger.causes import CONSEQUENCE, FOUND, consequences_of, link_causes
from kgcheck.ledger.comparisons import COMPARED, COMPARISON, compared_with
from kgcheck.ledger.database import Database
from kgcheck.ledger.place import LedgerPlace
from kgcheck.ledger.rows import (
    FindingRows,
    batches,
    finding_of,
    finding_row,
    run_of,
    run_row,
    tally_of,
    tally_row,
)
from kgcheck.ledger.run import COULD_NOT_LOOK, HandedOver, PinnedRelease, Run
from kgcheck.ledger.tables import (
    FINDING,
    HANDED,
    KEY,
    PIECE,
    PLACE,
    PLACED,
    RELEASE,
    RUN,
    SHOWN_ORDER,
    TALLY,
    UNSETTLED,
    read_row,
)
from kgcheck.memory import collection_paused
from kgcheck.model import CheckType, Finding, GraphState, Outcome, Reason, Tally, TallyMark, Target

__all__ = ["Ledger", "PinnedRelease", "Run", "new_run_id"]

_TOGETHER = 500
"""Findings that are fetched at a time."""


class Ledger(Closing):
    """Runs and findings in one database."""

    def __init__(self, where: LedgerPlace | URL, *, create: bool = True) -> None:
        self._database = Database(where, create=create)
        self.place = where
        self.where = self._database.where
        self._recorded: defaultdict[str, int] = defaultdict(int)

    @property
    def database(self) -> Database:
        return self._database

    def start(self, run: Run) -> None:
        with self._database.writing() as connection:
            _insert_run(connection, run)

    def finish(self, run: Run) -> Run:
        ended = run.model_copy(update={"finished": clock.now()})
        with self._database.writing() as connection:
            self._refuse_lost(connection, run)
            connection.execute(update(RUN).where(RUN.c.id == run.id).values(**run_row(ended)))
            self._database.after_a_run(connection)
        return ended

    def link_causes(self, run: Run, same_ids: Mapping[str, Sequence[str]]) -> None:
        with self._database.writing() as connection:
            link_causes(connection, run.id, same_ids)

    def consequences(self, run: Run) -> Counter[str]:
        with self._database.reading() as connection:
            return consequences_of(connection, run.id)

    def following(self, run: Run, cause: str) -> list[Finding]:
        same = (CONSEQUENCE.c.run == KEY.c.run) & (CONSEQUENCE.c.fingerprint == KEY.c.fingerprint)
        numbers = select(KEY.c.finding).join(CONSEQUENCE, same)
        numbers = numbers.where(CONSEQUENCE.c.run == run.id, CONSEQUENCE.c.cause == cause)
        query = select(*FOUND).where(FINDING.c.number.in_(numbers)).order_by(FINDING.c.number)
        with self._reading("finding") as connection:
            return [finding_of(row) for row in connection.execute(query)]

    def note(self, run: Run) -> None:
        """Write down what a run learnt of itself, finished or not."""
        with self._database.writing() as connection:
            connection.execute(update(RUN).where(RUN.c.id == run.id).values(**run_row(run)))

    def keep(self, run: Run, finding: Finding, tally: Tally) -> None:
        """Write a finished run of one task, all or nothing."""
        with self._database.writing() as connection:
            _insert_run(connection, run.model_copy(update={"finished": clock.now()}))
            newest = last_number(connection)
            connection.execute(insert(FINDING), [finding_row(run.id, finding)])
            settle_run(connection, run.id, newest)
            connection.execute(insert(TALLY), [tally_row(run.id, "check", tally)])

    def done(self, run: Run) -> dict[str, str]:
        """Pieces of work that are finished, each with the digest of its tasks."""
        with self._database.reading() as connection:
            rows = connection.execute(select(PIECE.c.piece, PIECE.c.digest).where(PIECE.c.run == run.id))
            return {row.piece: row.digest for row in rows}

    def record(
        self,
        run: Run,
        piece: str,
        findings: Iterable[Finding] | FindingRows,
        tallies: Sequence[Tally],
        tasks: str = "",
    ) -> None:
        """Write a finished piece of work, its findings and its tallies, all or nothing."""
        with collection_paused():
            # Made before the transaction begins, so that other writers wait only for the disk.
            ready, found = None, list[dict[str, Any]]()
            if isinstance(findings, FindingRows):
                ready = FindingRows(list(findings.batches))
            else:
                found = [finding_row(run.id, f) for f in findings]
            counted = [tally_row(run.id, piece, t) for t in tallies]
            with self._database.writing(alone=False) as connection:
                self._refuse_lost(connection, run)
                connection.execute(insert(PIECE).values(run=run.id, piece=piece, digest=tasks))
                if ready:
                    insert_findings(connection, run.id, ready)
                newest = last_number(connection) if found else 0
                for table, rows in ((FINDING, found), (TALLY, counted)):
                    for some in batches(rows):
                        connection.execute(insert(table), some)
                # Where earlier ones of the run wait, these wait with them.
                if found and is_settled(connection, run.id):
                    settle_run(connection, run.id, newest)
            self._recorded[run.id] += 1

    def _refuse_lost(self, connection: Connection, run: Run) -> None:
        """Refuse a ledger that has lost pieces: a server that was behind has taken the place of the one before."""
        kept = connection.execute(select(func.count()).where(PIECE.c.run == run.id)).scalar_one()
        if kept < self._recorded[run.id]:
            raise LedgerError(
                f"the ledger {self.where} has lost {self._recorded[run.id] - kept} pieces of run {run.id}: it"
                " was put back, or a standby that was behind has taken its place",
                "kgcheck audit --resume does them again",
            )
        self._recorded[run.id] = kept

    def handed(self, run: str) -> dict[str, HandedOver]:
        with self._database.reading() as connection:
            rows = connection.execute(select(HANDED).where(HANDED.c.run == run).order_by(HANDED.c.fingerprint))
            return {row.fingerprint: read_row(HandedOver, row) for row in rows}

    def team_findings(self, run: Run) -> list[tuple[HandedOver, Finding]]:
        """The findings of a run that went to the team, as they stand now."""
        same = (KEY.c.run == HANDED.c.run) & (KEY.c.fingerprint == HANDED.c.fingerprint)
        numbers = select(KEY.c.finding).join(HANDED, same).where(HANDED.c.run == run.id)
        query, handed = select(*FOUND).where(FINDING.c.number.in_(numbers)), self.handed(run.id)
        with self._reading("finding") as connection:
            return [(handed[row.fingerprint], finding_of(row)) for row in connection.execute(query)]

    def drop_unlooked(self, run: Run) -> None:
        """Forget findings of a run of what nobody could look at, but for those that went to the team."""
        of_run = select(HANDED.c.fingerprint).where(HANDED.c.run == run.id)
        unlooked = FINDING.c.outcome == Outcome.UNAVAILABLE.value, FINDING.c.fingerprint.not_in(of_run)
        with self._database.writing() as connection:
            numbers = connection.scalars(select(FINDING.c.number).where(FINDING.c.run == run.id, *unlooked)).all()
            remove_findings(connection, numbers)

    def hand_over(self, run: Run, *decided: tuple[Finding, Finding | None, HandedOver]) -> None:
        """Write what came of findings that were handed to the team, all or nothing: each before and after."""
        with self._database.writing() as connection:
            for old, new, handed in decided:
                connection.execute(insert(HANDED).values(run=run.id, **handed.model_dump()))
                if new is None:
                    continue
                _take_from_tally(connection, run, old)
                tally = Tally(
                    type=new.task.type,
                    target=Target.of(old.task),
                    outcome=new.verdict.outcome,
                    reason=new.verdict.reason,
                    sources=tuple(sorted({e.source for e in new.verdict.evidence})),
                    by_team=True,
                    count=1,
                )
                connection.execute(insert(TALLY), [tally_row(run.id, "", tally)])
                replace_finding(connection, finding_row(run.id, new))

    def unlooked(self, run: Run) -> list[tuple[CheckType, Target]]:
        """Types and targets of a run for which a service could not be looked at."""
        found = {
            (tally.type, tally.target): None
            for tally in self.tallies(run)
            if tally.reason is Reason.SOURCE_UNAVAILABLE
            or any(gap.cause is Reason.SOURCE_UNAVAILABLE for gap in tally.gaps)
        }
        return list(found)

    def reopen(self, run: Run) -> None:
        """Forget what was done where a service could not be looked at, so that it is done again."""
        targets = self.unlooked(run)
        with self._database.writing() as connection:
            of_run = HANDED.c.run == run.id
            connection.execute(delete(HANDED).where(of_run, HANDED.c.result == COULD_NOT_LOOK))
            for table in (COMPARED, COMPARISON, CONSEQUENCE):
                connection.execute(delete(table).where(table.c.run == run.id))
            for kind, target in targets:
                counted = of_target(TALLY, kind, target, label=TALLY.c.label) & (TALLY.c.run == run.id)
                pieces = select(TALLY.c.piece).where(counted, ~TALLY.c.by_team)
                connection.execute(delete(PIECE).where(PIECE.c.run == run.id, PIECE.c.piece.in_(pieces)))
                self._recorded.pop(run.id, None)
                connection.execute(delete(TALLY).where(counted))
                found = of_target(FINDING, kind, target, label=FINDING.c.subject_label) & (FINDING.c.run == run.id)
                again = select(FINDING.c.fingerprint).where(found)
                connection.execute(delete(HANDED).where(of_run, HANDED.c.fingerprint.in_(again)))
                remove_findings(connection, connection.scalars(select(FINDING.c.number).where(found)).all())

    def runs(self) -> list[Run]:
        releases: dict[str, list[Row[Any]]] = defaultdict(list)
        with self._reading("run") as connection:
            rows = connection.execute(select(RUN).order_by(RUN.c.number.desc())).all()
            for release in connection.execute(select(RELEASE).order_by(RELEASE.c.run, RELEASE.c.place)):
                releases[release.run].append(release)
            return [run_of(row, releases[row.id]) for row in rows]

    def run(self, name: str) -> Run:
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
        for run in self.runs():
            if not run.finished:
                return run
        raise UnknownName("run", "that was cut off", [], "every run is finished: start a new one without --resume")

    def audit_before(self, store_id: str) -> Run | None:
        return next((r for r in self.runs() if r.finished and r.store_id == store_id and r.nodes), None)

    def name_store(self, place: str, store_id: str) -> None:
        """Let the runs of which only a place is known be of the store that is there."""
        with self._database.writing() as connection:
            connection.execute(update(RUN).where(RUN.c.store_id == place).values(store_id=store_id))

    def findings(self, run: Run, outcomes: Iterable[Outcome] = (), limit: int | None = None) -> Iterator[Finding]:
        """Findings of a run, wrong ones first, then by type, reason and subject; potential edges by their support."""
        # A server would otherwise send all of them at once.
        query = in_order(run.id, outcomes).limit(limit).execution_options(yield_per=_TOGETHER)
        with self._reading("finding") as connection, connection.execute(query) as rows:
            for row in rows:
                yield finding_of(row)

    def finding(self, fingerprint: str) -> Finding:
        # A fingerprint is hexadecimal digits: no other begins so and comes after "g".
        begins = of_any_run(KEY.c.fingerprint.between(fingerprint, f"{fingerprint}g"))
        with self._reading("finding") as connection:
            names = list(connection.scalars(select(KEY.c.fingerprint).where(begins).distinct().limit(9)))
            if not names:
                raise UnknownName("finding", fingerprint, [], "kgcheck report RUN lists the findings of a run")
            if len(names) > 1:
                raise AmbiguousName(f"several findings begin with {fingerprint!r}", ", ".join(sorted(names)))
            newest = select(KEY.c.finding).join(RUN, RUN.c.id == KEY.c.run).where(KEY.c.fingerprint == names[0])
            number = connection.scalar(newest.order_by(RUN.c.number.desc()).limit(1))
            return finding_of(connection.execute(select(*FOUND).where(FINDING.c.number == number)).one())

    def known(self, fingerprints: Sequence[str]) -> set[str]:
        found: set[str] = set()
        with self._database.reading() as connection:
            for named in batches(fingerprints, _TOGETHER):
                some = of_any_run(KEY.c.fingerprint.in_(named))
                found |= set(connection.scalars(select(KEY.c.fingerprint).where(some).distinct()))
        return found

    def tallies(self, run: Run) -> list[Tally]:
        names = "type label relation object_label attribute outcome reason sources gaps by_team".split()
        keys = [TALLY.c[name] for name in names]
        counted = func.sum(TALLY.c.count)
        grouped = select(*keys, counted.label("count_")).where(TALLY.c.run == run.id).group_by(*keys)
        with self._reading("tally") as connection:
            found = [tally_of(row) for row in connection.execute(grouped.having(counted > 0))]
        # By the program, as databases do not agree in which order letters come.
        return sorted(found, key=lambda t: (t.type, str(t.target), t.outcome, t.reason, t.sources_line))

    def close(self) -> None:
        self._database.close()

    @contextmanager
    def _reading(self, kind: str) -> Iterator[Connection]:
        """Read, and name what cannot be read: a ledger may come from anybody."""
        try:
            with self._database.reading() as connection:
                yield connection
        except (ValidationError, ValueError, TypeError) as error:
            raise LedgerError(f"the ledger {self.where} holds a {kind} that cannot be read", FROM_A_COPY) from error


def new_run_id() -> str:
    """A run id that sorts by time: 20261121-021005-3f9a."""
    return f"{clock.now():%Y%m%d-%H%M%S}-{uuid4().hex[:4]}"


def in_order(run: str, outcomes: Iterable[Outcome] = ()) -> Select[Any]:
    """The findings of a run in the order in which they are shown, which the table of places has ready."""
    query = select(*FOUND).select_from(PLACED).where(PLACE.c.run == run).order_by(*SHOWN_ORDER)
    wanted = tuple(outcomes)
    return query.where(of_outcomes(PLACE, wanted)) if wanted else query


def of_outcomes(table: FromClause, outcomes: Collection[Outcome]) -> ColumnElement[bool]:
    """A condition for rows of PLACE or FINDING: those with some outcomes."""
    return _of_kinds(table, [(kind, outcome) for kind in CheckType for outcome in outcomes])


def of_graph_states(table: FromClause, states: Collection[GraphState]) -> ColumnElement[bool]:
    """A condition for rows of PLACE or FINDING: those of which a graph stands so."""
    kinds = product(CheckType, Outcome)
    return _of_kinds(table, [(kind, outcome) for kind, outcome in kinds if TallyMark.of(kind, outcome).graph in states])


def _of_kinds(table: FromClause, kinds: Iterable[tuple[CheckType, Outcome]]) -> ColumnElement[bool]:
    found = [(TallyMark.of(kind, outcome).severity, kind.value) for kind, outcome in kinds]
    # Twice: with one value alone SQLite takes the column for a constant, no longer sees that the rows are in the order
    # that is wanted, and sorts a million of them for a page of fifty.
    severities = table.c.severity.in_(sorted({severity for severity, _ in found}) * 2)
    return severities & tuple_(table.c.severity, table.c.type).in_(found * 2)


def of_any_run(key: ColumnElement[bool]) -> ColumnElement[bool]:
    """A condition for rows of KEY, whatever their run.

    Its index begins with the run. With a join SQLite goes through all keys; so it looks for each run's.
    """
    return key & KEY.c.run.in_(select(RUN.c.id))


def of_target(table: Table, kind: CheckType, target: Target, *, label: ColumnElement[Any]) -> ColumnElement[bool]:
    """A condition for rows of a type and a target."""
    columns = table.c.relation, table.c.object_label, table.c.attribute
    values = target.relation, target.object_label, target.attribute
    same = (table.c.type == kind.value) & label.is_not_distinct_from(target.label)
    for column, value in zip(columns, values, strict=True):
        same &= column.is_not_distinct_from(value)
    return same


def _take_from_tally(connection: Connection, run: Run, finding: Finding) -> None:
    """One task less in a tally that counts the finding."""
    same = of_target(TALLY, finding.task.type, Target.of(finding.task), label=TALLY.c.label) & (TALLY.c.run == run.id)
    same &= (TALLY.c.outcome == finding.verdict.outcome.value) & (TALLY.c.reason == finding.verdict.reason.value)
    one = select(TALLY.c.number).where(same, TALLY.c.count > 0).order_by(TALLY.c.number).limit(1)
    number = connection.execute(one).scalar()
    if number is not None:
        connection.execute(update(TALLY).where(TALLY.c.number == number).values(count=TALLY.c.count - 1))


def _insert_run(connection: Connection, run: Run) -> None:
    connection.execute(insert(RUN).values(**run_row(run)))
    releases = [{"run": run.id, "place": place, **dict(release)} for place, release in enumerate(run.releases)]
    if releases:
        connection.execute(insert(RELEASE), releases)


_OF_A_RUN = (COMPARED, COMPARISON, CONSEQUENCE, PLACE, KEY, UNSETTLED, FINDING, TALLY, PIECE, HANDED, RELEASE)
"""Tables of what a run found and did. Decisions are about findings of any run, and stay."""


def needed(ledger: Ledger, old: Collection[str] = ()) -> set[str]:
    """Runs that later ones need: the newest of each store and options, its base of comparison, and unfinished ones.

    And those that found what runs which are not old no longer have.
    """
    found: set[str] = set()
    newest: dict[tuple[str, str], Run] = {}
    for run in ledger.runs():
        if not run.finished:
            found |= {run.id, run.compared_with or run.id}
        elif not run.is_check:
            newest.setdefault((run.store_id, repr(sorted(run.options.items()))), run)
    with ledger.database.reading() as connection:
        before = {compared_with(connection, run.id) for run in newest.values()}
        referenced = set(connection.scalars(select(COMPARED.c.found_in).where(COMPARED.c.run.not_in(old)).distinct()))
    found |= {run.id for run in newest.values()} | {name for name in before if name}
    return found | {run.compared_with for run in newest.values() if run.compared_with} | referenced


def forget(database: "Database", runs: Iterable[str]) -> int:
    """Take runs out of the ledger, each all or nothing."""
    count = 0
    for name in runs:
        # One at a time: others who write wait no longer than for one.
        with database.writing() as connection:
            for table in _OF_A_RUN:
                connection.execute(delete(table).where(table.c.run == name))
            count += connection.execute(delete(RUN).where(RUN.c.id == name)).rowcount
    return count
