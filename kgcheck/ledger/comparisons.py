"""Compare two runs' findings by SQL, and keep in the ledger what is new, changed, fixed, gone.

That a finding is new, still there or changed is seen from the findings of two runs. What became of one that a run did
not find again only that run could tell, while it had the graph and the references: it writes it down here.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from enum import StrEnum
from itertools import dropwhile
from typing import Any, NamedTuple

from sqlalchemy import (
    Boolean,
    Column,
    ColumnElement,
    CompoundSelect,
    Connection,
    ForeignKey,
    FromClause,
    Index,
    Row,
    Select,
    String,
    Subquery,
    Table,
    Text,
    case,
    cast,
    delete,
    false,
    func,
    insert,
    literal,
    null,
    select,
    true,
    union_all,
    update,
)
from sqlalchemy.sql.selectable import NamedFromClause

from kgcheck.ledger.bulk_insert import number_of
from kgcheck.ledger.causes import CONSEQUENCE, FOUND, count_consequences
from kgcheck.ledger.rows import batches, finding_of
from kgcheck.ledger.run import Run
from kgcheck.ledger.tables import (
    FINDING,
    KEY,
    METADATA,
    OPEN_SEVERITIES,
    PLACE,
    PLACED,
    RUN,
    SHOWN_ORDER,
    JsonText,
    LedgerTable,
    UtcTime,
)
from kgcheck.model import Finding, Value

COMPARISON = Table(
    "comparison",
    METADATA,
    Column("run", ForeignKey("run.id"), primary_key=True),
    Column("before", String, comment="id of the run that it was compared with; NULL where there was none"),
    Column("at", UtcTime, nullable=False),
    Column("counts", JsonText(dict[str, int]), nullable=False, comment="of the states, against the run before"),
)
COMPARED = Table(
    "compared",
    METADATA,
    Column("fingerprint", String, primary_key=True),
    Column("run", ForeignKey("run.id"), primary_key=True),
    Column("state", String, nullable=False),
    Column("why", Text, nullable=False),
    Column("found_in", String, nullable=False, comment="id of the latest run that found it"),
    Column("basis", String, comment="as it was found"),
    Column("is_there", Boolean, nullable=False, server_default=false(), comment="the run has it"),
    Index("compared_by_state", "run", "state", "fingerprint"),
)
"""The findings of a run, and of the run before, that are not still as they were.

Of one that is there and of which no more is to be said than its state, the texts are empty.
"""


class ComparisonState(StrEnum):
    """State of a finding in a later run, beside an earlier one.

    ``fixed``: it was checked again and holds no more. ``gone``: what it is about is no longer in the graph.
    ``unchecked``: nobody looked, or could look, this time.
    """

    NEW = "new"
    STILL = "still"
    CHANGED = "changed"
    FIXED = "fixed"
    GONE = "gone"
    UNCHECKED = "unchecked"


class FormerFinding(Value):
    """A finding of a run before that is not still as it was: its state now, and the run that has it."""

    fingerprint: str
    state: ComparisonState
    why: str = ""
    found_in: str
    basis: str | None = None


_NO_BASIS = "new"
"""Stands for the former basis of what was not found before: no basis is written so."""

_LOOKED_AT = (
    *("types", "labels", "relations", "ids", "without_rules", "sample", "seed"),
    *("unfold", "threshold", "live", "literature", "verifiers", "trust"),
)
"""Options that decide what a run looks at, and in which sources."""


class Pair(NamedTuple):
    """Two runs of a store, by their ids: what was found, and what was found later."""

    before: str
    after: str


class ComparedPart(NamedTuple):
    """Findings of one of two runs, as SQL: what a select of them takes its columns from."""

    rows: FromClause
    of: FromClause
    """Table that they are sorted and filtered by: PLACE; or FINDING, where they are few."""
    state: ColumnElement[Any]
    basis: ColumnElement[Any]
    """Basis of decisions; what could not be looked at this time stands as it stood when it could."""
    is_there: bool
    """The later run has them; else they are those of the earlier one that it did not find."""
    where: ColumnElement[bool] = true()
    why: ColumnElement[Any] = null()
    order: Sequence[ColumnElement[Any]] = ()

    def select(self) -> Select[Any]:
        """The findings with all that `RunDiff.read` takes of them, in the order of reports."""
        counted = count_consequences(self.of).label("consequences")
        became = self.state.label("state"), self.basis.label("decided_basis"), self.why.label("why")
        return select(*FOUND, counted, *became).select_from(self.rows).where(self.where).order_by(*self.order)

    def named(self) -> Select[Any]:
        """Run, fingerprint and basis of the findings, by which decisions are looked up."""
        basis = func.coalesce(self.basis, "")
        return select(FINDING.c.run, FINDING.c.fingerprint, basis).select_from(self.rows).where(self.where)


FEW = 20_000
"""So many findings are looked up and sorted while somebody waits for a page of them."""


class RunComparison(NamedTuple):
    """States of the findings of two runs: as the later one wrote it down, or as it is worked out."""

    pair: Pair
    is_kept: bool
    rare: frozenset[str] = frozenset()
    """The states of few findings."""

    @property
    def most(self) -> ComparisonState:
        """The state of all findings of the later run but of those that are written down."""
        return ComparisonState.STILL if self.pair.before else ComparisonState.NEW

    def rows(self, name: str = "became") -> NamedFromClause:
        """COMPARED, or what it would have of the two runs."""
        return COMPARED.alias(name) if self.is_kept else union_all(*compared_rows(self.pair)).subquery(name)

    def present(
        self, states: Collection[str] = (), fingerprints: CompoundSelect[tuple[str]] | Sequence[str] | None = None
    ) -> ComparedPart:
        """The findings of the later run, so that a page needs no more than its rows."""
        after, became = self.pair.after, self.rows()
        if fingerprints is None and states and self.rare.issuperset(states):
            # Those of few states are led by what became of them.
            same = (KEY.c.run == after) & (KEY.c.fingerprint == became.c.fingerprint)
            rows: FromClause = became.join(KEY, same).join(FINDING, FINDING.c.number == KEY.c.finding)
            where = (became.c.run == after) & became.c.is_there & became.c.state.in_(sorted(states))
            of = FINDING
            state: ColumnElement[Any] = became.c.state
        else:
            # Few are looked up one by one; all are gone through in the order of their places.
            of, lead = (PLACE, PLACE) if fingerprints is None else (FINDING, KEY)
            rows = PLACED if fingerprints is None else KEY.join(FINDING, FINDING.c.number == KEY.c.finding)
            where = (lead.c.run == after) & of.c.severity.in_(OPEN_SEVERITIES)
            where = where if fingerprints is None else where & KEY.c.fingerprint.in_(fingerprints)
            here: ColumnElement[bool] = (became.c.run == after) & (became.c.fingerprint == lead.c.fingerprint)
            state = func.coalesce(became.c.state, self.most.value)
            if not self.is_kept:
                # Each is looked up in the earlier run by itself: not all are worked out for a page of some.
                became, here, state = COMPARED.alias("became"), false(), _compared_state(self.pair, lead)
            rows = rows.outerjoin(became, here)
        left = became.c.state == ComparisonState.UNCHECKED.value
        order = tuple(of.c[column.name] for column in SHOWN_ORDER)
        basis = case((left, became.c.basis), else_=FINDING.c.basis)
        return ComparedPart(rows, of, state, basis, is_there=True, where=where, why=became.c.why, order=order)

    def lost(self, name: str = "became") -> tuple[NamedFromClause, ColumnElement[bool]]:
        """The rows, with the condition that the later run did not find them."""
        rows = self.rows(name)
        return rows, (rows.c.run == self.pair.after) & ~rows.c.is_there

    def absent(self) -> ComparedPart:
        """The findings of the earlier run that the later one did not find, by fingerprint."""
        lost, is_lost = self.lost()
        there = (KEY.c.fingerprint == lost.c.fingerprint) & (KEY.c.run == lost.c.found_in)
        rows = lost.join(KEY, there).join(FINDING, FINDING.c.number == KEY.c.finding)
        order = (lost.c.fingerprint,)
        return ComparedPart(
            rows, FINDING, lost.c.state, lost.c.basis, is_there=False, where=is_lost, why=lost.c.why, order=order
        )

    def join(self, link: FromClause, fingerprint: ColumnElement[str], name: str, *, is_there: bool) -> ComparedPart:
        """Join a finding of the later run, or one that it did not find, to rows that name it."""
        key, of = KEY.alias(f"{name}_key"), FINDING.alias(name)
        if is_there:
            rows = link.join(key, (key.c.run == self.pair.after) & (key.c.fingerprint == fingerprint))
            state, basis = self.state_of(of), decided_basis(of.c.run, of.c.fingerprint)
        else:
            lost, is_lost = self.lost(f"{name}_lost")
            rows = link.join(lost, is_lost & (lost.c.fingerprint == fingerprint))
            rows = rows.join(key, (key.c.run == lost.c.found_in) & (key.c.fingerprint == lost.c.fingerprint))
            state, basis = lost.c.state, lost.c.basis
        return ComparedPart(rows.join(of, of.c.number == key.c.finding), of, state, basis, is_there)

    def state_of(self, table: FromClause) -> ColumnElement[Any]:
        """The state of a finding of the later run, by its row of KEY or FINDING."""
        if not self.is_kept:
            return _compared_state(self.pair, table)
        one = COMPARED.alias()
        became = select(one.c.state).where(one.c.run == self.pair.after, one.c.fingerprint == table.c.fingerprint)
        return func.coalesce(became.correlate_except(one).scalar_subquery(), self.most.value)


def decided_basis(run: ColumnElement[Any], fingerprint: ColumnElement[Any]) -> ColumnElement[Any]:
    """The basis to which decisions about a finding of a run belong, as SQL; see ComparedPart.basis."""
    kept, key = COMPARED.alias(), KEY.alias()
    left = select(kept.c.basis).where(kept.c.run == run, kept.c.fingerprint == fingerprint)
    left = left.where(kept.c.state == ComparisonState.UNCHECKED.value)
    own = select(key.c.basis).where(key.c.run == run, key.c.fingerprint == fingerprint)
    return func.coalesce(left.correlate_except(kept).scalar_subquery(), own.correlate_except(key).scalar_subquery())


def _compared_state(pair: Pair, table: FromClause) -> ColumnElement[Any]:
    """The state of a finding of the later run, by that which the earlier run has."""
    old, left = KEY.alias("old"), COMPARED.alias("left_over")
    is_old = (
        (old.c.fingerprint == table.c.fingerprint) & (old.c.run == pair.before) & old.c.severity.in_(OPEN_SEVERITIES)
    )
    is_left = (left.c.fingerprint == table.c.fingerprint) & (left.c.run == pair.before)
    is_left &= left.c.state == ComparisonState.UNCHECKED.value

    def before(of_left: ColumnElement[Any], of_old: ColumnElement[Any]) -> ColumnElement[Any]:
        found = select(of_left).where(is_left).scalar_subquery(), select(of_old).where(is_old).scalar_subquery()
        return func.coalesce(*found)

    former_basis = before(func.coalesce(left.c.basis, ""), func.coalesce(old.c.basis, ""))
    # In this form the look-ups are made once for each finding.
    return case(
        (literal(_NO_BASIS), ComparisonState.NEW.value),
        (func.coalesce((table if "basis" in table.c else FINDING).c.basis, ""), ComparisonState.STILL.value),
        value=func.coalesce(former_basis, _NO_BASIS),
        else_=ComparisonState.CHANGED.value,
    )


def run_before(runs: Iterable[Run], run: Run) -> Run | None:
    """The newest finished audit before a run that looked at the same of the same store."""
    earlier = dropwhile(lambda other: other.id != run.id, runs)
    same = (r for r in earlier if r.id != run.id and r.finished and r.nodes and _looks_at(r) == _looks_at(run))
    return next(same, None)


def _looks_at(run: Run) -> tuple[object, ...]:
    options = {name: run.options.get(name) for name in _LOOKED_AT}
    listed = {name: option for name, option in options.items() if isinstance(option, list | tuple)}
    # No order is meant, an empty list is none, as of a run that had no such option; without a sample nothing is drawn.
    options |= {name: sorted(map(str, option)) or None for name, option in listed.items()}
    options["seed"] = options["seed"] if options["sample"] else None
    return run.store_id, run.profile, *options.values()


def compared_with(connection: Connection, run: str) -> str | None:
    """The id of the run that a run was compared with when it ended; None where there was none."""
    return connection.execute(select(COMPARISON.c.before).where(COMPARISON.c.run == run)).scalar()


def comparison_of(connection: Connection, pair: Pair) -> RunComparison:
    """Compare the findings of two runs."""
    columns = COMPARISON.c.before, COMPARISON.c.counts
    row = connection.execute(select(*columns).where(COMPARISON.c.run == pair.after)).first()
    if pair.before and not (row and row.before == pair.before):
        return RunComparison(pair, is_kept=False)
    few = (state for state in ComparisonState if row and row.counts.get(state.value, 0) <= FEW)
    rare = frozenset(state.value for state in few if state is not ComparisonState.STILL and pair.before)
    return RunComparison(pair, is_kept=True, rare=rare)


def compared_rows(pair: Pair) -> Iterator[Select[Any]]:
    """Select the rows of COMPARED for two runs, to be written or worked out each time."""
    lost = lost_findings(pair).subquery("lost")
    none: dict[str, ColumnElement[Any]] = {c.name: null() if c.nullable else literal("") for c in COMPARED.columns}
    none["run"] = literal(pair.after)
    # By their keys alone, which both runs have in the same order: no row of a finding is read.
    state = _compared_state(pair, KEY)
    here = none | {"fingerprint": KEY.c.fingerprint, "state": state, "is_there": true()}
    gone = none | {name: lost.c[name] for name in ("fingerprint", "state", "basis", "found_in")} | {"is_there": false()}
    of_run = KEY.c.run == pair.after, KEY.c.severity.in_(OPEN_SEVERITIES)
    yield select(*(c.label(name) for name, c in here.items())).where(*of_run, state != ComparisonState.STILL.value)
    yield select(*(c.label(name) for name, c in gone.items()))


def write_compared(connection: Connection, pair: Pair) -> None:
    """Write what became of the findings of two runs, but for those of which it is written already."""
    columns = list(COMPARED.columns.keys())
    is_there = select(KEY.c.run).where(KEY.c.run == pair.after, KEY.c.fingerprint == COMPARED.c.fingerprint)
    is_there = is_there.where(KEY.c.severity.in_(OPEN_SEVERITIES)).correlate(COMPARED)
    connection.execute(update(COMPARED).where(COMPARED.c.run == pair.after).values(is_there=is_there.exists()))
    for query in compared_rows(pair):
        known, row = COMPARED.alias("known"), query.subquery("row")
        written = select(known.c.run).where(known.c.run == pair.after, known.c.fingerprint == row.c.fingerprint)
        connection.execute(insert(COMPARED).from_select(columns, select(row).where(~written.exists())))


def known_after(run: str, only: Sequence[str] = ()) -> Subquery:
    """Select what is known to be wrong after a run: what it found, and what it left as found before."""
    unchecked = (COMPARED.c.run == run) & (COMPARED.c.state == ComparisonState.UNCHECKED.value)
    left = select(COMPARED.c.fingerprint, COMPARED.c.basis, COMPARED.c.found_in).where(unchecked)
    is_left = select(COMPARED.c.run).where(unchecked, COMPARED.c.fingerprint == KEY.c.fingerprint)
    found = select(KEY.c.fingerprint, KEY.c.basis, KEY.c.run.label("found_in"))
    found = found.where(KEY.c.run == run, KEY.c.severity.in_(OPEN_SEVERITIES), ~is_left.exists())
    if only:
        left, found = left.where(COMPARED.c.fingerprint.in_(only)), found.where(KEY.c.fingerprint.in_(only))
    return union_all(found, left).subquery()


def lost_findings(pair: Pair) -> Select[Any]:
    """The findings of the earlier run that the later one did not find: fingerprint, state, basis, found_in.

    Where the later run was not compared with the earlier one, the latest run between them that could tell counts,
    unless a later one found it again.
    """
    known, now, seen_by, by = known_after(pair.before), KEY.alias("now"), RUN.alias(), RUN.alias()
    same, is_open = KEY.c.fingerprint == known.c.fingerprint, KEY.c.severity.in_(OPEN_SEVERITIES)
    begin, end = (select(RUN.c.number).where(RUN.c.id == name).scalar_subquery() for name in pair)
    store = select(RUN.c.store_id).where(RUN.c.id == pair.after).scalar_subquery()
    seen = select(func.max(seen_by.c.number)).join_from(KEY, seen_by, seen_by.c.id == KEY.c.run)
    seen = seen.where(same, is_open, seen_by.c.store_id == store).where(seen_by.c.number <= end)
    # By the latest run up to the later one that could tell; none where it was found after that.
    settled = select(COMPARED.c.state).join_from(COMPARED, by, by.c.id == COMPARED.c.run)
    settled = settled.where(
        COMPARED.c.fingerprint == known.c.fingerprint,
        COMPARED.c.state.in_((ComparisonState.FIXED.value, ComparisonState.GONE.value)),
        by.c.store_id == store,
        by.c.number.between(begin, end),
        by.c.number > func.coalesce(seen.correlate(known).scalar_subquery(), 0),
    )
    latest = settled.order_by(by.c.number.desc()).limit(1).correlate(known).scalar_subquery()
    again = select(now.c.run).where(
        now.c.fingerprint == known.c.fingerprint, now.c.run == pair.after, now.c.severity.in_(OPEN_SEVERITIES)
    )
    state = func.coalesce(latest, ComparisonState.UNCHECKED.value).label("state")
    return select(known.c.fingerprint, state, known.c.basis, known.c.found_in).where(~again.exists())


_TOGETHER = 500


class ComparisonTable(LedgerTable):
    """Reads and writes what became of findings."""

    def record(self, run: str, before: str | None, former: Iterable[FormerFinding], at: datetime) -> dict[str, int]:
        """Write what became of the findings of the run before, in place of what was written before."""
        rows = [{"run": run, **dict(one), "state": one.state.value} for one in former]
        with self._database.writing() as connection:
            for table in (COMPARED, COMPARISON):
                connection.execute(delete(table).where(table.c.run == run))
            for some in batches(rows):
                connection.execute(insert(COMPARED), some)
            counts: dict[str, int] = {}
            if before:
                pair = Pair(before, run)
                write_compared(connection, pair)
                counts = _counts(connection, RunComparison(pair, is_kept=True))
            connection.execute(insert(COMPARISON).values(run=run, before=before, at=at, counts=counts))
        return counts

    def counts(self, pair: Pair) -> dict[str, int]:
        kept = select(COMPARISON.c.counts).where(COMPARISON.c.run == pair.after, COMPARISON.c.before == pair.before)
        with self._database.reading() as connection:
            found: dict[str, int] | None = connection.execute(kept).scalar()
            return _counts(connection, comparison_of(connection, pair)) if found is None else found

    def states(self, pair: Pair, fingerprints: Iterable[str]) -> dict[str, ComparisonState]:
        found = dict[str, ComparisonState]()
        here = select(KEY.c.fingerprint).where(KEY.c.run == pair.after, KEY.c.severity.in_(OPEN_SEVERITIES))
        with self._database.reading() as connection:
            comparison = comparison_of(connection, pair)
            became = comparison.rows().c
            for some in batches(dict.fromkeys(fingerprints), _TOGETHER):
                found |= dict.fromkeys(connection.scalars(here.where(KEY.c.fingerprint.in_(some))), comparison.most)
                rows = select(became.fingerprint, became.state)
                rows = rows.where(became.run == pair.after, became.fingerprint.in_(some))
                found |= {row.fingerprint: ComparisonState(row.state) for row in connection.execute(rows)}
        return found

    def known(self, run: str, fingerprints: Sequence[str]) -> set[str]:
        found: set[str] = set()
        with self._database.reading() as connection:
            for some in batches(fingerprints, _TOGETHER):
                known = known_after(run, some)
                found |= set(connection.scalars(select(known.c.fingerprint)))
        return found

    def kept_bases(self, run: str, fingerprints: Sequence[str]) -> dict[str, str]:
        """The bases of findings of a run that stand as they were before, because a source could not be looked at."""
        found: dict[str, str] = {}
        with self._database.reading() as connection:
            for named in batches(fingerprints, _TOGETHER):
                some = COMPARED.c.fingerprint.in_(named)
                query = select(COMPARED.c.fingerprint, COMPARED.c.basis).where(COMPARED.c.run == run, some)
                query = query.where(COMPARED.c.state == ComparisonState.UNCHECKED.value, COMPARED.c.basis.is_not(None))
                found |= {row.fingerprint: row.basis for row in connection.execute(query)}
        return found

    def unfound(self, pair: Pair) -> Iterator[Row[Any]]:
        """Findings of the earlier run that the later one did not find, those of one target together."""
        lost, now = lost_findings(pair).subquery("lost"), KEY.alias()
        there = (KEY.c.fingerprint == lost.c.fingerprint) & (KEY.c.run == lost.c.found_in)
        here = (now.c.fingerprint == lost.c.fingerprint) & (now.c.run == pair.after)
        joined = lost.join(KEY, there).join(FINDING, FINDING.c.number == KEY.c.finding).outerjoin(now, here)
        query = select(FINDING, now.c.severity.label("severity_now")).select_from(joined)
        target = FINDING.c.type, FINDING.c.subject_label, FINDING.c.relation, FINDING.c.object_label
        with self._database.reading() as connection:
            yield from connection.execute(query.order_by(*target, FINDING.c.attribute, lost.c.fingerprint))

    def structure_of(self, run: str, rules: Sequence[str], *, folded: str = "", unless: str = "") -> Sequence[Row[Any]]:
        query = select(FINDING).where(FINDING.c.run == run, FINDING.c.reason.in_(rules))
        query = query.where(FINDING.c.subject_id == folded) if folded else query
        query = query.where(FINDING.c.subject_id != unless) if unless else query
        with self._database.reading() as connection:
            return connection.execute(query.where(FINDING.c.rule.is_not(None)).order_by(FINDING.c.fingerprint)).all()

    def changed_with_gaps(self, pair: Pair) -> Iterator[tuple[Finding, Finding]]:
        """Findings that changed and of which the later run could not look at a source."""
        known = known_after(pair.before)
        query = select(FINDING, known.c.found_in).join(KEY, KEY.c.finding == FINDING.c.number)
        query = query.join(known, known.c.fingerprint == KEY.c.fingerprint)
        query = query.where(KEY.c.run == pair.after, KEY.c.severity.in_(OPEN_SEVERITIES))
        # A gap is text here: an empty list is what most have.
        query = query.where(known.c.basis.is_distinct_from(KEY.c.basis), cast(FINDING.c.gaps, Text) != "[]")
        with self._database.reading() as connection:
            for row in connection.execute(query):
                number = number_of(row.found_in, row.fingerprint).scalar_subquery()
                if former := connection.execute(select(FINDING).where(FINDING.c.number == number)).first():
                    yield finding_of(row), finding_of(former)


def _counts(connection: Connection, comparison: RunComparison) -> dict[str, int]:
    pair, became, of = comparison.pair, comparison.rows().c, CONSEQUENCE.c
    every = select(func.count()).where(KEY.c.run == pair.after, KEY.c.severity.in_(OPEN_SEVERITIES))
    counts = dict.fromkeys((state.value for state in ComparisonState), 0)
    counts[comparison.most.value] = connection.execute(every).scalar_one()
    grouped = select(became.state, became.is_there, func.count()).where(became.run == pair.after)
    for name, is_there, count in connection.execute(grouped.group_by(became.state, became.is_there)):
        counts[name] += count
        counts[comparison.most.value] -= count if is_there else 0
    # What follows from a finding that is in the same state is not counted beside it.
    cause = KEY.alias("cause_key")
    both = CONSEQUENCE.join(KEY, (KEY.c.run == of.run) & (KEY.c.fingerprint == of.fingerprint))
    both = both.join(cause, (cause.c.run == of.run) & (cause.c.fingerprint == of.cause))
    followed = [(comparison.state_of(KEY), comparison.state_of(cause), both, of.run == pair.after)]
    if pair.before:
        (lost, is_lost), (lost_cause, is_lost_cause) = comparison.lost("lost"), comparison.lost("lost_cause")
        both = lost.join(CONSEQUENCE, (of.run == lost.c.found_in) & (of.fingerprint == lost.c.fingerprint))
        # Looked up for each, or SQLite goes through all lost findings of a state for every one of them.
        alike = select(lost_cause.c.state).where(is_lost_cause, lost_cause.c.fingerprint == of.cause)
        followed.append((lost.c.state, alike.correlate(CONSEQUENCE).scalar_subquery(), both, is_lost))
    for state, of_cause, rows, where in followed:
        pairs = select(state.label("state"), of_cause.label("of_cause")).select_from(rows).where(where).subquery()
        same = select(pairs.c.state, func.count()).where(pairs.c.state == pairs.c.of_cause).group_by(pairs.c.state)
        for name, count in connection.execute(same):
            counts[name] -= count
    return counts
