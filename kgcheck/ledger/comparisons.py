"""What became of findings from one run to the next, in the ledger.

That a finding is new, still there or changed is seen from the findings of two runs. What became of one that a run did
not find again only that run could tell, while it had the graph and the references: it writes it down here.
"""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from itertools import dropwhile
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import (
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
    select,
    true,
    union_all,
)
from sqlalchemy.sql.selectable import NamedFromClause

from kgcheck.ledger.run import Run
from kgcheck.ledger.tables import FINDING, METADATA, RUN, JsonText, UtcTime
from kgcheck.model import Outcome, Value

if TYPE_CHECKING:
    pass

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


_LOOKED_AT = ("types", "labels", "relations", "ids", "sample", "seed", "unfold", "threshold", "live", "literature")
"""What was asked for that decides what a run looks at, and in which sources."""


class Pair(NamedTuple):
    """Two runs of a store, by their ids: what was found, and what was found later."""

    before: str
    after: str


class Present(NamedTuple):
    """The findings of the later of two runs, beside the earlier one: what a select of them takes its columns from."""

    rows: FromClause
    """FINDING and, where the later run wrote something down, ``kept``."""
    kept: NamedFromClause
    where: ColumnElement[bool]
    state: ColumnElement[Any]
    basis: ColumnElement[Any]
    """To which decisions belong: what could not be looked at this time stands as it stood when it could."""
    former_basis: ColumnElement[Any]
    """NULL of what is new."""
    found_in: ColumnElement[Any]
    """The run that found it before; NULL of what is new."""


def present(pair: Pair, *, is_kept: bool) -> Present:
    """The findings of the later run, each looked up in the earlier one, so that a page needs no more than its rows.

    Args:
        pair: The runs.
        is_kept: The later one was compared with the earlier one when it ended.

    Returns:
        What a select is made of.
    """
    kept, old, left = COMPARED.alias("kept"), FINDING.alias("old"), COMPARED.alias("left_over")
    is_old = (old.c.fingerprint == FINDING.c.fingerprint) & (old.c.run == pair.before) & old.c.outcome.in_(OPEN)
    is_left = (left.c.fingerprint == FINDING.c.fingerprint) & (left.c.run == pair.before)
    is_left &= left.c.state == ComparisonState.UNCHECKED.value

    def before(of_left: ColumnElement[Any], of_old: ColumnElement[Any]) -> ColumnElement[Any]:
        found = select(of_left).where(is_left).scalar_subquery(), select(of_old).where(is_old).scalar_subquery()
        return func.coalesce(*found)

    former_basis = before(func.coalesce(left.c.basis, ""), func.coalesce(old.c.basis, ""))
    plain = case(
        (former_basis.is_(None), literal(ComparisonState.NEW.value)),
        (former_basis == func.coalesce(FINDING.c.basis, ""), literal(ComparisonState.STILL.value)),
        else_=literal(ComparisonState.CHANGED.value),
    )
    here = (kept.c.fingerprint == FINDING.c.fingerprint) & (kept.c.run == pair.after) & (literal(is_kept) == true())
    unchecked = kept.c.state == ComparisonState.UNCHECKED.value
    return Present(
        rows=FINDING.outerjoin(kept, here),
        kept=kept,
        where=(FINDING.c.run == pair.after) & FINDING.c.outcome.in_(OPEN),
        state=func.coalesce(kept.c.state, plain),
        basis=case((unchecked, kept.c.basis), else_=FINDING.c.basis),
        former_basis=former_basis,
        found_in=before(left.c.found_in, old.c.run),
    )


def absent(pair: Pair, *, is_kept: bool, only: Sequence[str] = ()) -> Select[Any]:
    """The findings of the earlier run that the later one did not find: fingerprint, state, former_basis, found_in.

    Where the later run was not compared with the earlier one, the latest run between them that could tell counts,
    unless a later one found it again.

    Args:
        pair: The runs.
        is_kept: The later one was compared with the earlier one when it ended.
        only: Only these; all if empty.

    Returns:
        A select.
    """
    known, kept = known_after(pair.before, only), _kept(pair.after, only)
    now = FINDING.alias("now")
    again = select(now.c.fingerprint).where(
        now.c.fingerprint == known.c.fingerprint, now.c.run == pair.after, now.c.outcome.in_(OPEN)
    )
    settled = func.coalesce(_settled(pair, known), ComparisonState.UNCHECKED.value)
    state = func.coalesce(kept.c.state, settled) if is_kept else settled
    joined = known.outerjoin(kept, kept.c.fingerprint == known.c.fingerprint) if is_kept else known
    columns = known.c.fingerprint, state.label("state"), known.c.basis.label("former_basis"), known.c.found_in
    return select(*columns).select_from(joined).where(~again.exists())


def run_before(runs: Iterable[Run], run: Run) -> Run | None:
    """The newest finished audit before a run that looked at the same of the same store.

    Args:
        runs: All, newest first.
        run: One of them.

    Returns:
        It, or None.
    """
    earlier = dropwhile(lambda other: other.id != run.id, runs)
    same = (r for r in earlier if r.id != run.id and r.finished and r.nodes and _looks_at(r) == _looks_at(run))
    return next(same, None)


def _looks_at(run: Run) -> tuple[object, ...]:
    options = {name: run.options.get(name) for name in _LOOKED_AT}
    # No order is meant; and without a sample nothing is drawn.
    options |= {name: sorted(map(str, option)) for name, option in options.items() if isinstance(option, list | tuple)}
    options["seed"] = options["seed"] if options["sample"] else None
    return run.store, run.profile, *options.values()


def compared_with(connection: Connection, run: str) -> str | None:
    """The id of the run that a run was compared with when it ended; None where there was none."""
    return connection.execute(select(COMPARISON.c.before).where(COMPARISON.c.run == run)).scalar()


def found_by(run: str, only: Sequence[str]) -> Subquery:
    """The findings of a run, or some of them: fingerprint, basis, outcome."""
    columns = FINDING.c.fingerprint, FINDING.c.basis, FINDING.c.outcome
    return _some(select(*columns).where(FINDING.c.run == run, FINDING.c.outcome.in_(OPEN)), FINDING, only)


def _kept(run: str, only: Sequence[str]) -> Subquery:
    columns = COMPARED.c.fingerprint, COMPARED.c.state, COMPARED.c.basis, COMPARED.c.found_in
    return _some(select(*columns).where(COMPARED.c.run == run), COMPARED, only)


def known_after(run: str, only: Sequence[str]) -> Subquery:
    """What is known to be wrong after a run: what it found, and what it had to leave as it was found before."""
    left = select(COMPARED.c.fingerprint, COMPARED.c.basis, COMPARED.c.found_in)
    left = left.where(COMPARED.c.run == run, COMPARED.c.state == ComparisonState.UNCHECKED.value)
    is_left = select(COMPARED.c.fingerprint).where(
        COMPARED.c.fingerprint == FINDING.c.fingerprint,
        COMPARED.c.run == run,
        COMPARED.c.state == ComparisonState.UNCHECKED.value,
    )
    found = select(FINDING.c.fingerprint, FINDING.c.basis, FINDING.c.run.label("found_in"))
    found = found.where(FINDING.c.run == run, FINDING.c.outcome.in_(OPEN), ~is_left.exists())
    if only:
        left, found = left.where(COMPARED.c.fingerprint.in_(only)), found.where(FINDING.c.fingerprint.in_(only))
    return union_all(found, left).subquery()


def _some(query: Select[Any], table: Table, only: Sequence[str]) -> Subquery:
    return (query.where(table.c.fingerprint.in_(only)) if only else query).subquery()


def _settled(pair: Pair, known: Subquery) -> ColumnElement[Any]:
    """Fixed or gone by the latest run up to the later one that could tell; NULL where it was found after that."""
    ends = {name: select(RUN.c.number).where(RUN.c.id == name).scalar_subquery() for name in pair}
    store = select(RUN.c.store).where(RUN.c.id == pair.after).scalar_subquery()
    seen_by, by = RUN.alias(), RUN.alias()
    seen = select(func.max(seen_by.c.number)).join_from(FINDING, seen_by, seen_by.c.id == FINDING.c.run)
    seen = seen.where(
        FINDING.c.fingerprint == known.c.fingerprint, FINDING.c.outcome.in_(OPEN), seen_by.c.store == store
    )
    seen = seen.where(seen_by.c.number <= ends[pair.after])
    settled = select(COMPARED.c.state).join_from(COMPARED, by, by.c.id == COMPARED.c.run)
    settled = settled.where(
        COMPARED.c.fingerprint == known.c.fingerprint,
        COMPARED.c.state.in_((ComparisonState.FIXED.value, ComparisonState.GONE.value)),
        by.c.store == store,
        by.c.number.between(ends[pair.before], ends[pair.after]),
        by.c.number > func.coalesce(seen.correlate(known).scalar_subquery(), 0),
    )
    return settled.order_by(by.c.number.desc()).limit(1).correlate(known).scalar_subquery()


def states_of(pair: Pair, *, is_kept: bool, only: Sequence[str] = ()) -> Subquery:
    """The states of all findings of two runs, or of some: fingerprint, state."""
    found, lost = present(pair, is_kept=is_kept), absent(pair, is_kept=is_kept, only=only).subquery("lost")
    here = select(FINDING.c.fingerprint, found.state.label("state")).select_from(found.rows).where(found.where)
    here = here.where(FINDING.c.fingerprint.in_(only)) if only else here
    return union_all(here, select(lost.c.fingerprint, lost.c.state)).subquery("compared_state")
