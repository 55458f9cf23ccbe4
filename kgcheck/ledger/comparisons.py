"""What became of findings from one run to the next, in the ledger.

That a finding is new, still there or changed is seen from the findings of two runs. What became of one that a run did
not find again only that run could tell, while it had the graph and the references: it writes it down here.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from enum import StrEnum
from itertools import dropwhile
from typing import Any, NamedTuple

from sqlalchemy import (
    Boolean,
    Column,
    ColumnElement,
    Connection,
    ForeignKey,
    FromClause,
    Index,
    Select,
    String,
    Subquery,
    Table,
    Text,
    case,
    func,
    literal,
    null,
    select,
    true,
    union_all,
)
from sqlalchemy.sql.selectable import NamedFromClause

from kgcheck.ledger.run import Run
from kgcheck.ledger.tables import FINDING, KEY, METADATA, PLACE, PLACED, RUN, SHOWN_ORDER, JsonText, UtcTime
from kgcheck.model import Outcome, Value

COMPARISON = Table(
    "comparison",
    METADATA,
    Column("run", ForeignKey("run.id"), primary_key=True),
    Column("before", String, comment="id of the run that it was compared with; NULL where there was none"),
    Column("at", UtcTime, nullable=False),
    Column("counts", JsonText(dict[str, int]), nullable=False, comment="of the states, against the run before"),
    Column("is_listed", Boolean, comment="whether LISTED has it; NULL where there was no such table"),
)
LISTED = Table(
    "compared_state",
    METADATA,
    Column("run", ForeignKey("run.id"), primary_key=True),
    Column("state", String, primary_key=True),
    Column("fingerprint", String, primary_key=True),
    Column("found_in", String, comment="of one that the run did not find: id of the latest run that found it"),
    Column("basis", String, comment="of one that the run did not find: as it was found"),
    Index("compared_state_of_finding", "run", "fingerprint"),
    sqlite_with_rowid=False,
)
"""The findings of a run, and of the run that it was compared with, that are not still as they were."""
COMPARED = Table(
    "compared",
    METADATA,
    Column("fingerprint", String, primary_key=True),
    Column("run", ForeignKey("run.id"), primary_key=True),
    Column("state", String, nullable=False),
    Column("why", Text, nullable=False),
    Column("found_in", String, nullable=False, comment="id of the latest run that found it"),
    Column("type", String, nullable=False),
    Column("subject_label", String, nullable=False),
    Column("relation", String),
    Column("object_label", String),
    Column("outcome", String, nullable=False, comment="as it was found"),
    Column("reason", String, nullable=False, comment="as it was found"),
    Column("basis", String, comment="as it was found"),
    Column("about", Text, nullable=False, comment="the task in words"),
    Index("compared_by_state", "run", "state", "fingerprint"),
)

OPEN_SEVERITIES = (0, 1)
"""Where they stand among the places of findings."""

OPEN = (Outcome.REFUTED.value, Outcome.INSUFFICIENT.value)
"""Outcomes of which runs keep every finding: these are compared."""

_TOGETHER = 500


class ComparisonState(StrEnum):
    """What became of a finding from one run to a later one.

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
    """A finding of a run before that has become something else than a finding as it was."""

    fingerprint: str
    state: ComparisonState
    why: str = ""
    found_in: str
    type: str
    subject_label: str
    relation: str | None = None
    object_label: str | None = None
    outcome: str
    reason: str
    basis: str | None = None
    about: str


_NO_BASIS = "new"
"""Stands for the former basis of what was not found before: no basis is written so."""

_LOOKED_AT = ("types", "labels", "relations", "ids", "sample", "seed", "unfold", "threshold", "live", "literature")
"""What was asked for that decides what a run looks at, and in which sources."""


class Pair(NamedTuple):
    """Two runs of a store, by their ids: what was found, and what was found later."""

    before: str
    after: str


class WrittenDown(NamedTuple):
    """What the later of two runs wrote down about both when it ended."""

    is_kept: bool
    """What became of findings that it did not find."""
    is_listed: bool
    """What became of all findings, by state."""
    rare: frozenset[str] = frozenset()
    """The states of few findings."""


NOTHING = WrittenDown(is_kept=False, is_listed=False)

FEW = 20_000
"""So many findings are looked up and sorted while somebody waits for a page of them."""

_KEYED = KEY.join(FINDING, FINDING.c.number == KEY.c.finding)


class Present(NamedTuple):
    """The findings of the later of two runs, beside the earlier one: what a select of them takes its columns from."""

    rows: FromClause
    """FINDING, ``of`` and, where the later run wrote something down, ``kept``."""
    of: Table
    """What they are sorted and filtered by: PLACE; or FINDING, where they are few."""
    kept: NamedFromClause
    where: ColumnElement[bool]
    state: ColumnElement[Any]
    basis: ColumnElement[Any]
    """To which decisions belong: what could not be looked at this time stands as it stood when it could."""

    @property
    def order(self) -> tuple[ColumnElement[Any], ...]:
        """In which findings are shown."""
        return tuple(self.of.c[column.name] for column in SHOWN_ORDER)


def present(
    pair: Pair,
    what: WrittenDown,
    states: Collection[str] = (),
    about: Select[tuple[str]] | Sequence[str] | None = None,
) -> Present:
    """The findings of the later run, each looked up in the earlier one, so that a page needs no more than its rows."""
    kept = COMPARED.alias("kept")
    if about is None and what.is_listed and states and what.rare.issuperset(states):
        return _few(pair, kept, states)
    # Few are looked up one by one; all are gone through in the order of their places.
    of, rows, lead = (PLACE, PLACED, PLACE) if about is None else (FINDING, _KEYED, KEY)
    here = (kept.c.fingerprint == lead.c.fingerprint) & (kept.c.run == pair.after)
    here &= literal(what.is_kept) == true()
    where = (lead.c.run == pair.after) & of.c.severity.in_(OPEN_SEVERITIES)
    return Present(
        rows=rows.outerjoin(kept, here),
        of=of,
        kept=kept,
        where=where if about is None else where & KEY.c.fingerprint.in_(about),
        state=_state(pair, what, lead, kept),
        basis=_basis(kept),
    )


def _few(pair: Pair, kept: NamedFromClause, states: Collection[str]) -> Present:
    """The findings of the later run that are in one of some states of few."""
    same = (KEY.c.run == LISTED.c.run) & (KEY.c.fingerprint == LISTED.c.fingerprint)
    here = (kept.c.fingerprint == LISTED.c.fingerprint) & (kept.c.run == pair.after)
    rows = LISTED.join(KEY, same).join(FINDING, FINDING.c.number == KEY.c.finding).outerjoin(kept, here)
    wanted = LISTED.c.state.in_(sorted(states)) & LISTED.c.found_in.is_(None)
    return Present(rows, FINDING, kept, (LISTED.c.run == pair.after) & wanted, LISTED.c.state, _basis(kept))


def _basis(kept: NamedFromClause) -> ColumnElement[Any]:
    return case((kept.c.state == ComparisonState.UNCHECKED.value, kept.c.basis), else_=FINDING.c.basis)


def _state(pair: Pair, what: WrittenDown, of: Table, kept: NamedFromClause) -> ColumnElement[Any]:
    if what.is_listed:
        return _listed_state(pair, of)
    if not pair.before:
        return literal(ComparisonState.NEW.value)
    return func.coalesce(kept.c.state, _compared_state(pair, of))


def _listed_state(pair: Pair, of: Table) -> ColumnElement[Any]:
    """The state of a finding of the later run, as that wrote it down."""
    mine = (LISTED.c.run == pair.after) & (LISTED.c.fingerprint == of.c.fingerprint)
    found = select(LISTED.c.state).where(mine).scalar_subquery()
    return func.coalesce(found, ComparisonState.STILL.value)


def _compared_state(pair: Pair, of: Table) -> ColumnElement[Any]:
    """The state of a finding of the later run, by that which the earlier run has."""
    old, left = KEY.alias("old"), COMPARED.alias("left_over")
    is_old = (old.c.fingerprint == of.c.fingerprint) & (old.c.run == pair.before) & old.c.outcome.in_(OPEN)
    is_left = (left.c.fingerprint == of.c.fingerprint) & (left.c.run == pair.before)
    is_left &= left.c.state == ComparisonState.UNCHECKED.value

    def before(of_left: ColumnElement[Any], of_old: ColumnElement[Any]) -> ColumnElement[Any]:
        found = select(of_left).where(is_left).scalar_subquery(), select(of_old).where(is_old).scalar_subquery()
        return func.coalesce(*found)

    former_basis = before(func.coalesce(left.c.basis, ""), func.coalesce(old.c.basis, ""))
    # In this form the look-ups are made once for each finding.
    return case(
        (literal(_NO_BASIS), ComparisonState.NEW.value),
        (func.coalesce((KEY if of is KEY else FINDING).c.basis, ""), ComparisonState.STILL.value),
        value=func.coalesce(former_basis, _NO_BASIS),
        else_=ComparisonState.CHANGED.value,
    )


def absent(pair: Pair, what: WrittenDown, only: Sequence[str] = ()) -> Select[Any]:
    """The findings of the earlier run that the later one did not find: fingerprint, state, former_basis, found_in.

    Where the later run was not compared with the earlier one, the latest run between them that could tell counts,
    unless a later one found it again.
    """
    if what.is_listed:
        lost = select(LISTED.c.fingerprint, LISTED.c.state, LISTED.c.basis.label("former_basis"), LISTED.c.found_in)
        lost = lost.where(LISTED.c.run == pair.after, LISTED.c.found_in.is_not(None))
        return lost.where(LISTED.c.fingerprint.in_(only)) if only else lost
    known, kept = known_after(pair.before, only), _kept(pair.after, only)
    now = KEY.alias("now")
    again = select(now.c.fingerprint).where(
        now.c.fingerprint == known.c.fingerprint, now.c.run == pair.after, now.c.outcome.in_(OPEN)
    )
    settled = func.coalesce(_settled(pair, known), ComparisonState.UNCHECKED.value)
    state = func.coalesce(kept.c.state, settled) if what.is_kept else settled
    joined = known.outerjoin(kept, kept.c.fingerprint == known.c.fingerprint) if what.is_kept else known
    columns = known.c.fingerprint, state.label("state"), known.c.basis.label("former_basis"), known.c.found_in
    return select(*columns).select_from(joined).where(~again.exists())


def run_before(runs: Iterable[Run], run: Run) -> Run | None:
    """The newest finished audit before a run that looked at the same of the same store."""
    earlier = dropwhile(lambda other: other.id != run.id, runs)
    same = (r for r in earlier if r.id != run.id and r.finished and r.nodes and _looks_at(r) == _looks_at(run))
    return next(same, None)


def _looks_at(run: Run) -> tuple[object, ...]:
    options = {name: run.options.get(name) for name in _LOOKED_AT}
    # No order is meant; and without a sample nothing is drawn.
    options |= {name: sorted(map(str, option)) for name, option in options.items() if isinstance(option, list | tuple)}
    options["seed"] = options["seed"] if options["sample"] else None
    return run.store_id, run.profile, *options.values()


def compared_with(connection: Connection, run: str) -> str | None:
    """The id of the run that a run was compared with when it ended; None where there was none."""
    return connection.execute(select(COMPARISON.c.before).where(COMPARISON.c.run == run)).scalar()


def recorded(connection: Connection, pair: Pair) -> WrittenDown:
    """What the later of two runs wrote down about both when it ended."""
    columns = COMPARISON.c.before, COMPARISON.c.is_listed, COMPARISON.c.counts
    row = connection.execute(select(*columns).where(COMPARISON.c.run == pair.after)).first()
    if not row:
        return WrittenDown(is_kept=not pair.before, is_listed=False)
    is_kept = (row.before or "") == pair.before
    few = (state for state in ComparisonState if row.counts.get(state.value, 0) <= FEW)
    rare = frozenset(state.value for state in few if state is not ComparisonState.STILL)
    return WrittenDown(is_kept, is_kept and bool(row.is_listed), rare)


def found_by(run: str, only: Sequence[str]) -> Subquery:
    """The findings of a run, or some of them: fingerprint, basis, outcome."""
    columns = KEY.c.fingerprint, KEY.c.basis, KEY.c.outcome
    return _some(select(*columns).where(KEY.c.run == run, KEY.c.outcome.in_(OPEN)), KEY, only)


def _kept(run: str, only: Sequence[str]) -> Subquery:
    columns = COMPARED.c.fingerprint, COMPARED.c.state, COMPARED.c.basis, COMPARED.c.found_in
    return _some(select(*columns).where(COMPARED.c.run == run), COMPARED, only)


def known_after(run: str, only: Sequence[str]) -> Subquery:
    """What is known to be wrong after a run: what it found, and what it had to leave as it was found before."""
    left = select(COMPARED.c.fingerprint, COMPARED.c.basis, COMPARED.c.found_in)
    left = left.where(COMPARED.c.run == run, COMPARED.c.state == ComparisonState.UNCHECKED.value)
    is_left = select(COMPARED.c.fingerprint).where(
        COMPARED.c.fingerprint == KEY.c.fingerprint,
        COMPARED.c.run == run,
        COMPARED.c.state == ComparisonState.UNCHECKED.value,
    )
    found = select(KEY.c.fingerprint, KEY.c.basis, KEY.c.run.label("found_in"))
    found = found.where(KEY.c.run == run, KEY.c.outcome.in_(OPEN), ~is_left.exists())
    if only:
        left, found = left.where(COMPARED.c.fingerprint.in_(only)), found.where(KEY.c.fingerprint.in_(only))
    return union_all(found, left).subquery()


def _some(query: Select[Any], table: Table, only: Sequence[str]) -> Subquery:
    return (query.where(table.c.fingerprint.in_(only)) if only else query).subquery()


def _settled(pair: Pair, known: Subquery) -> ColumnElement[Any]:
    """Fixed or gone by the latest run up to the later one that could tell; NULL where it was found after that."""
    ends = {name: select(RUN.c.number).where(RUN.c.id == name).scalar_subquery() for name in pair}
    store = select(RUN.c.store_id).where(RUN.c.id == pair.after).scalar_subquery()
    seen_by, by = RUN.alias(), RUN.alias()
    seen = select(func.max(seen_by.c.number)).join_from(KEY, seen_by, seen_by.c.id == KEY.c.run)
    seen = seen.where(KEY.c.fingerprint == known.c.fingerprint, KEY.c.outcome.in_(OPEN), seen_by.c.store_id == store)
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


def listed_rows(pair: Pair, what: WrittenDown) -> Iterator[Select[Any]]:
    """What stands in LISTED of two runs."""
    kept, lost = COMPARED.alias("kept"), absent(pair, what).subquery("lost")
    run, none = literal(pair.after), null()
    same = (kept.c.fingerprint == KEY.c.fingerprint) & (kept.c.run == pair.after) & (literal(what.is_kept) == true())
    # By their keys alone, which both runs have in the same order: no row of a finding is read.
    state = _state(pair, what, KEY, kept)
    here = select(run, state.label("state"), KEY.c.fingerprint, none, none).select_from(KEY.outerjoin(kept, same))
    yield here.where(KEY.c.run == pair.after, KEY.c.outcome.in_(OPEN), state != ComparisonState.STILL.value)
    yield select(run, lost.c.state, lost.c.fingerprint, lost.c.found_in, lost.c.former_basis)


def states_of(pair: Pair, what: WrittenDown, only: Sequence[str] = ()) -> Subquery:
    """The states of all findings of two runs, or of some: fingerprint, state."""
    found, lost = present(pair, what, about=only or None), absent(pair, what, only).subquery("lost")
    here = select(found.of.c.fingerprint, found.state.label("state")).select_from(found.rows).where(found.where)
    return union_all(here, select(lost.c.fingerprint, lost.c.state)).subquery("compared_state")
