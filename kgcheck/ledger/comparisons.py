"""Compare two runs' findings by SQL, and keep in the ledger what is new, changed, fixed, gone.

That a finding is new, still there or changed is seen from the findings of two runs. What became of one that a run did
not find again only that run could tell, while it had the graph and the references: it writes it down here.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from enum import StrEnum
from itertools import dropwhile
from typing import TYPE_CHECKING, Any, NamedTuple

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
from kgcheck.ledger.causes import CONSEQUENCE
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
    UtcTime,
)
from kgcheck.model import Finding, Value

if TYPE_CHECKING:
    from kgcheck.ledger.database import Database

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


class RunComparison(NamedTuple):
    """Two runs with what became of the findings of both: as the later run wrote it down, or as it is worked out."""

    pair: Pair
    rows: NamedFromClause
    """COMPARED, or a select with its columns."""
    is_kept: bool
    rare: frozenset[str] = frozenset()
    """The states of few findings."""

    @property
    def is_own(self) -> ColumnElement[bool]:
        condition: ColumnElement[bool] = self.rows.c.run == self.pair.after
        return condition

    def lost(self, name: str) -> tuple[NamedFromClause, ColumnElement[bool]]:
        """The rows once more under another name, with the condition that the later run did not find them."""
        rows = compared_pair(self.pair, name, is_kept=self.is_kept)
        return rows, (rows.c.run == self.pair.after) & ~rows.c.is_there


FEW = 20_000
"""So many findings are looked up and sorted while somebody waits for a page of them."""

_KEYED = KEY.join(FINDING, FINDING.c.number == KEY.c.finding)


class Present(NamedTuple):
    """The findings of the later of two runs, beside the earlier one: what a select of them takes its columns from."""

    rows: FromClause
    """FINDING, ``of`` and ``became``."""
    of: Table
    """Table that they are sorted and filtered by: PLACE; or FINDING, where they are few."""
    became: NamedFromClause
    where: ColumnElement[bool]
    state: ColumnElement[Any]

    @property
    def basis(self) -> ColumnElement[Any]:
        """Basis of decisions; what could not be looked at this time stands as it stood when it could."""
        became = self.became.c
        return case((became.state == ComparisonState.UNCHECKED.value, became.basis), else_=FINDING.c.basis)

    @property
    def order(self) -> tuple[ColumnElement[Any], ...]:
        return tuple(self.of.c[column.name] for column in SHOWN_ORDER)


def present(
    comparison: RunComparison,
    states: Collection[str] = (),
    fingerprints: CompoundSelect[tuple[str]] | Sequence[str] | None = None,
) -> Present:
    """The findings of the later run, so that a page needs no more than its rows."""
    pair, became = comparison.pair, comparison.rows
    if fingerprints is None and states and comparison.rare.issuperset(states):
        # Those of few states are led by what became of them.
        same = (KEY.c.run == pair.after) & (KEY.c.fingerprint == became.c.fingerprint)
        few = became.join(KEY, same).join(FINDING, FINDING.c.number == KEY.c.finding)
        where = comparison.is_own & became.c.is_there & became.c.state.in_(sorted(states))
        return Present(few, FINDING, became, where, became.c.state)
    # Few are looked up one by one; all are gone through in the order of their places.
    of, rows, lead = (PLACE, PLACED, PLACE) if fingerprints is None else (FINDING, _KEYED, KEY)
    where = (lead.c.run == pair.after) & of.c.severity.in_(OPEN_SEVERITIES)
    most = ComparisonState.STILL if pair.before else ComparisonState.NEW
    here: ColumnElement[bool] = comparison.is_own & (became.c.fingerprint == lead.c.fingerprint)
    state: ColumnElement[Any] = func.coalesce(became.c.state, most.value)
    if not comparison.is_kept:
        # Each is looked up in the earlier run by itself: not all are worked out for a page of some.
        became, here, state = COMPARED.alias("became"), false(), _compared_state(pair, lead)
    return Present(
        rows=rows.outerjoin(became, here),
        of=of,
        became=became,
        where=where if fingerprints is None else where & KEY.c.fingerprint.in_(fingerprints),
        state=state,
    )


def state_of(comparison: RunComparison, table: FromClause) -> ColumnElement[Any]:
    """The state of a finding of the later run, by its row of KEY or FINDING."""
    if not comparison.is_kept:
        return _compared_state(comparison.pair, table)
    one, most = COMPARED.alias(), ComparisonState.STILL if comparison.pair.before else ComparisonState.NEW
    became = select(one.c.state).where(one.c.run == comparison.pair.after, one.c.fingerprint == table.c.fingerprint)
    return func.coalesce(became.correlate_except(one).scalar_subquery(), most.value)


def decided_basis(run: ColumnElement[Any], fingerprint: ColumnElement[Any]) -> ColumnElement[Any]:
    """The basis to which decisions about a finding of a run belong, as SQL; see Present.basis."""
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


def lost_findings(pair: Pair) -> Select[Any]:
    """The findings of the earlier run that the later one did not find: fingerprint, state, basis, found_in.

    Where the later run was not compared with the earlier one, the latest run between them that could tell counts,
    unless a later one found it again.
    """
    known, now = known_after(pair.before), KEY.alias("now")
    again = select(now.c.fingerprint).where(
        now.c.fingerprint == known.c.fingerprint, now.c.run == pair.after, now.c.severity.in_(OPEN_SEVERITIES)
    )
    state = func.coalesce(_settled(pair, known), ComparisonState.UNCHECKED.value)
    columns = known.c.fingerprint, state.label("state"), known.c.basis, known.c.found_in
    return select(*columns).where(~again.exists())


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
    if not pair.before or (row and row.before == pair.before):
        few = (state for state in ComparisonState if row and row.counts.get(state.value, 0) <= FEW)
        rare = frozenset(state.value for state in few if state is not ComparisonState.STILL and pair.before)
        return RunComparison(pair, compared_pair(pair, "became", is_kept=True), is_kept=True, rare=rare)
    return RunComparison(pair, compared_pair(pair, "became", is_kept=False), is_kept=False)


def compared_pair(pair: Pair, name: str, *, is_kept: bool) -> NamedFromClause:
    """COMPARED, or what it would have of two runs."""
    return COMPARED.alias(name) if is_kept else union_all(*compared_rows(pair)).subquery(name)


def compared_rows(pair: Pair) -> Iterator[Select[Any]]:
    """Select the rows of COMPARED for two runs, to be written or worked out each time."""
    lost = lost_findings(pair).subquery("lost")
    texts: dict[str, ColumnElement[Any]] = {
        column.name: null() if column.nullable else literal("") for column in COMPARED.columns
    }
    # By their keys alone, which both runs have in the same order: no row of a finding is read.
    state = _compared_state(pair, KEY)
    here = {"fingerprint": KEY.c.fingerprint, "run": literal(pair.after), "state": state, "is_there": true()}
    found = (column.label(name) for name, column in (texts | here).items())
    yield select(*found).where(
        KEY.c.run == pair.after, KEY.c.severity.in_(OPEN_SEVERITIES), state != ComparisonState.STILL.value
    )
    gone: dict[str, ColumnElement[Any]] = {name: lost.c[name] for name in ("fingerprint", "state", "basis", "found_in")}
    gone |= {"run": literal(pair.after), "is_there": false()}
    yield select(*(column.label(name) for name, column in (texts | gone).items()))


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


def found_by(run: str) -> Subquery:
    """The findings of a run: fingerprint, basis."""
    return (
        select(KEY.c.fingerprint, KEY.c.basis).where(KEY.c.run == run, KEY.c.severity.in_(OPEN_SEVERITIES)).subquery()
    )


def known_after(run: str, only: Sequence[str] = ()) -> Subquery:
    """Select what is known to be wrong after a run: what it found, and what it left as found before."""
    left = select(COMPARED.c.fingerprint, COMPARED.c.basis, COMPARED.c.found_in)
    left = left.where(COMPARED.c.run == run, COMPARED.c.state == ComparisonState.UNCHECKED.value)
    is_left = select(COMPARED.c.fingerprint).where(
        COMPARED.c.fingerprint == KEY.c.fingerprint,
        COMPARED.c.run == run,
        COMPARED.c.state == ComparisonState.UNCHECKED.value,
    )
    found = select(KEY.c.fingerprint, KEY.c.basis, KEY.c.run.label("found_in"))
    found = found.where(KEY.c.run == run, KEY.c.severity.in_(OPEN_SEVERITIES), ~is_left.exists())
    if only:
        left, found = left.where(COMPARED.c.fingerprint.in_(only)), found.where(KEY.c.fingerprint.in_(only))
    return union_all(found, left).subquery()


def _settled(pair: Pair, known: Subquery) -> ColumnElement[Any]:
    """Fixed or gone by the latest run up to the later one that could tell; NULL where it was found after that."""
    ends = {name: select(RUN.c.number).where(RUN.c.id == name).scalar_subquery() for name in pair}
    store = select(RUN.c.store_id).where(RUN.c.id == pair.after).scalar_subquery()
    seen_by, by = RUN.alias(), RUN.alias()
    seen = select(func.max(seen_by.c.number)).join_from(KEY, seen_by, seen_by.c.id == KEY.c.run)
    seen = seen.where(
        KEY.c.fingerprint == known.c.fingerprint, KEY.c.severity.in_(OPEN_SEVERITIES), seen_by.c.store_id == store
    )
    seen = seen.where(seen_by.c.number <= ends[pair.after])
    settled = select(COMPARED.c.state).join_from(COMPARED, by, by.c.id == COMPARED.c.run)
    settled = settled.where(
        COMPARED.c.fingerprint == known.c.fingerprint,
        COMPARED.c.state.in_((ComparisonState.FIXED.value, ComparisonState.GONE.value)),
        by.c.store_id == store,
        by.c.number.between(ends[pair.before], ends[pair.after]),
        by.c.number > func.coalesce(seen.correlate(known).scalar_subquery(), 0),
    )
    return settled.order_by(by.c.number.desc()).limit(1).correlate(known).scalar_subquery()


_TOGETHER = 500


class ComparisonTable:
    """Reads and writes what became of findings."""

    def __init__(self, database: "Database") -> None:
        self._database = database

    def before(self, run: str) -> str | None:
        with self._database.reading() as connection:
            return compared_with(connection, run)

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
                counts = _counts(connection, RunComparison(pair, COMPARED.alias("became"), is_kept=True))
            connection.execute(insert(COMPARISON).values(run=run, before=before, at=at, counts=counts))
        return counts

    def counts(self, pair: Pair) -> dict[str, int]:
        kept = select(COMPARISON.c.counts).where(COMPARISON.c.run == pair.after, COMPARISON.c.before == pair.before)
        with self._database.reading() as connection:
            found: dict[str, int] | None = connection.execute(kept).scalar()
            return _counts(connection, comparison_of(connection, pair)) if found is None else found

    def states(self, pair: Pair, fingerprints: Iterable[str]) -> dict[str, ComparisonState]:
        found = dict[str, ComparisonState]()
        most = ComparisonState.STILL if pair.before else ComparisonState.NEW
        here = select(KEY.c.fingerprint).where(KEY.c.run == pair.after, KEY.c.severity.in_(OPEN_SEVERITIES))
        with self._database.reading() as connection:
            comparison = comparison_of(connection, pair)
            became = comparison.rows.c
            for some in batches(dict.fromkeys(fingerprints), _TOGETHER):
                found |= dict.fromkeys(connection.scalars(here.where(KEY.c.fingerprint.in_(some))), most)
                rows = select(became.fingerprint, became.state).where(comparison.is_own, became.fingerprint.in_(some))
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
        found, known = found_by(pair.after), known_after(pair.before)
        changed = select(found.c.fingerprint, known.c.found_in).join(known, known.c.fingerprint == found.c.fingerprint)
        changed = changed.where(known.c.basis.is_distinct_from(found.c.basis))
        with self._database.reading() as connection:
            ids = changed.subquery("changed_finding")
            query = select(FINDING).join(KEY, KEY.c.finding == FINDING.c.number).where(KEY.c.run == pair.after)
            query = query.join(ids, ids.c.fingerprint == KEY.c.fingerprint)
            # A gap is text here: an empty list is what most have.
            query = query.where(cast(FINDING.c.gaps, Text) != "[]").add_columns(ids.c.found_in)
            for row in connection.execute(query):
                number = number_of(row.found_in, row.fingerprint).scalar_subquery()
                old = select(FINDING).where(FINDING.c.number == number)
                if former := connection.execute(old).first():
                    yield finding_of(row), finding_of(former)


def _counts(connection: Connection, comparison: RunComparison) -> dict[str, int]:
    pair, became = comparison.pair, comparison.rows.c
    every = select(func.count()).where(KEY.c.run == pair.after, KEY.c.severity.in_(OPEN_SEVERITIES))
    counts = dict.fromkeys((state.value for state in ComparisonState), 0)
    rest = connection.execute(every).scalar_one()
    grouped = select(became.state, became.is_there, func.count()).where(comparison.is_own)
    for state, is_there, count in connection.execute(grouped.group_by(became.state, became.is_there)):
        counts[state] += count
        rest -= count if is_there else 0
    # What follows from a finding that is in the same state is not counted beside it.
    cause, of = KEY.alias("cause_key"), CONSEQUENCE.c
    both = CONSEQUENCE.join(KEY, (KEY.c.run == of.run) & (KEY.c.fingerprint == of.fingerprint))
    both = both.join(cause, (cause.c.run == of.run) & (cause.c.fingerprint == of.cause))
    state, of_cause = state_of(comparison, KEY).label("state"), state_of(comparison, cause).label("of_cause")
    followed = select(state, of_cause).select_from(both).where(of.run == pair.after).subquery("followed")
    same = select(followed.c.state, func.count()).where(followed.c.state == followed.c.of_cause)
    folded = Counter({state: count for state, count in connection.execute(same.group_by(followed.c.state))})
    if pair.before:
        (lost, is_lost), (lost_cause, is_lost_cause) = comparison.lost("lost"), comparison.lost("lost_cause")
        both = lost.join(CONSEQUENCE, (of.run == lost.c.found_in) & (of.fingerprint == lost.c.fingerprint))
        # Looked up for each, or SQLite goes through all lost findings of a state for every one of them.
        alike = select(lost_cause.c.state).where(is_lost_cause, lost_cause.c.fingerprint == of.cause)
        of_cause = alike.correlate(CONSEQUENCE).scalar_subquery().label("of_cause")
        followed = select(lost.c.state, of_cause).select_from(both).where(is_lost).subquery("lost_followed")
        same = select(followed.c.state, func.count()).where(followed.c.state == followed.c.of_cause)
        folded.update({state: count for state, count in connection.execute(same.group_by(followed.c.state))})
    counts[(ComparisonState.STILL if pair.before else ComparisonState.NEW).value] += rest
    return {state: count - folded[state] for state, count in counts.items()}
