"""DecisionTable: append-only decisions about findings in the ledger, and their current state."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime
from enum import StrEnum
from typing import Any

from pydantic import Field
from sqlalchemy import (
    ColumnElement,
    CompoundSelect,
    Connection,
    FromClause,
    Index,
    String,
    Subquery,
    case,
    column,
    func,
    insert,
    select,
    union,
    values,
)

from kgcheck.errors import ChangedMeanwhile
from kgcheck.ledger.causes import CONSEQUENCE
from kgcheck.ledger.comparisons import decided_basis
from kgcheck.ledger.rows import batches
from kgcheck.ledger.tables import RUN, LedgerTable, read_row, table_of
from kgcheck.model import Value

_TOGETHER = 500


class Action(StrEnum):
    """Kind of decision of a person about a finding."""

    ACCEPT = "accept"
    REJECT = "reject"
    DEFER = "defer"
    REOPEN = "reopen"

    @property
    def done(self) -> str:
        return {"defer": "deferred"}.get(self.value, f"{self.value}ed")


class DecisionState(StrEnum):
    """State of a finding by what was decided about it."""

    OPEN = "open"
    REOPENED = "reopened"
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    DEFERRED = "deferred"


class Decision(Value):
    """Decision of somebody about a finding: who, when, what and why.

    It is about the finding of that fingerprint as it was then: its basis. ``about``, ``reason`` and ``proposed`` show
    what was seen.
    """

    fingerprint: str
    basis: str
    action: Action
    chosen: str | None = Field(default=None, description="id or value, of several that were proposed")
    note: str = ""
    until: date | None = Field(default=None, description="of a deferral: the day on which it comes back")
    by: str
    at: datetime
    number: int = Field(default=0, description="in the order in which they count in this ledger; 0 outside of one")
    run: str = ""
    about: str = ""
    reason: str = ""
    proposed: str = ""


DECISION = table_of(
    "decision",
    Decision,
    Index("decision_by_finding", "fingerprint", "basis", "at", "number"),
    Index("decision_by_action", "action"),
    text=("chosen", "note", "about", "proposed"),
)


class CurrentDecision(Value):
    """State of a finding by what was decided, and the decision that made it so.

    Of a reopened one that is the decision about what it was before; of an open one, one that took a decision back or
    whose day has come. An inherited one is about the cause of the finding.
    """

    state: DecisionState = DecisionState.OPEN
    decision: Decision | None = None
    is_inherited: bool = False

    @property
    def stands(self) -> bool:
        """Validity of the decision: the finding is still what it was decided about."""
        return self.state not in (DecisionState.OPEN, DecisionState.REOPENED)

    @property
    def words(self) -> str:
        """The decision in a line; empty where there is none."""
        if not (made := self.decision):
            return ""
        until = f" until {made.until}" if made.until else ""
        chosen = f" {made.chosen!r}" if made.chosen else ""
        note = f": {made.note}" if made.note else ""
        was = "" if self.stands else "was "
        return f"{was}{made.action.done}{chosen}{until} by {made.by}, {made.at:%Y-%m-%d %H:%M}{note}"


class DecisionTable(LedgerTable):
    """Reads and writes decisions."""

    def states(self, found: Iterable[tuple[str, str, str]], today: date) -> dict[str, CurrentDecision]:
        """Look up the states of findings, each named by its run, its fingerprint and its basis."""
        states = dict[str, CurrentDecision]()
        columns = (column(name, String) for name in ("run", "fingerprint", "basis"))
        named = values(*columns, name="named")
        for some in batches(found, _TOGETHER):
            states |= dict.fromkeys((name for _, name, _ in some), CurrentDecision(state=DecisionState.OPEN))
            with self._database.reading() as connection:
                # Of most nothing was decided, and the query for the others is compiled anew each time.
                about = _decided_among(connection, {run for run, *_ in some}, [name for _, name, _ in some])
                if not about:
                    continue
                rows = named.data([one for one in some if one[1] in about]).cte()
                state = state_column(rows, rows.c.basis, today)
                query = select(rows.c.fingerprint, state, *_decision_columns(rows, rows.c.basis))
                known = connection.execute(query).all()
                decisions = _numbered(connection, [row.decision for row in known if row.decision is not None])
            for fingerprint, decision_state, number, is_inherited in known:
                states[fingerprint] = CurrentDecision(
                    state=DecisionState(decision_state),
                    decision=decisions.get(number),
                    is_inherited=bool(is_inherited),
                )
        return states

    def newest(self) -> int:
        with self._database.reading() as connection:
            return connection.scalar(select(func.max(DECISION.c.number))) or 0

    def add(self, decisions: Iterable[Decision], *, unless_after: int | None = None) -> list[Decision]:
        added = list[Decision]()
        with self._database.writing() as connection:
            for some in batches(decisions, _TOGETHER):
                about = DECISION.c.fingerprint.in_([d.fingerprint for d in some])
                newer = select(DECISION.c.fingerprint, DECISION.c.by).where(
                    about, DECISION.c.number > (unless_after or 0)
                )
                if unless_after is not None and (row := connection.execute(newer.limit(1)).first()):
                    known = f"{row.by} has just decided about {row.fingerprint}"
                    raise ChangedMeanwhile(known, "look again: nothing was decided")
                statement = insert(DECISION).returning(DECISION.c.number, sort_by_parameter_order=True)
                numbers = connection.scalars(statement, [d.model_dump(exclude={"number"}) for d in some])
                added += [d.model_copy(update={"number": n}) for d, n in zip(some, numbers, strict=True)]
        return added

    def of(self, fingerprints: Iterable[str]) -> Iterator[Decision]:
        with self._database.reading() as connection:
            for some in batches(dict.fromkeys(fingerprints), _TOGETHER):
                found = select(DECISION).where(DECISION.c.fingerprint.in_(some)).order_by(DECISION.c.number)
                yield from (read_row(Decision, row) for row in connection.execute(found))

    def numbered(self, numbers: Sequence[int]) -> dict[int, Decision]:
        with self._database.reading() as connection:
            return _numbered(connection, numbers)

    def newest_first(self, before: int | None = None, limit: int | None = None) -> list[Decision]:
        query = select(DECISION).order_by(DECISION.c.number.desc()).limit(limit)
        with self._database.reading() as connection:
            rows = connection.execute(query if before is None else query.where(DECISION.c.number < before))
            return [read_row(Decision, row) for row in rows]


def _numbered(connection: Connection, numbers: Sequence[int]) -> dict[int, Decision]:
    rows = connection.execute(select(DECISION).where(DECISION.c.number.in_(numbers)))
    return {row.number: read_row(Decision, row) for row in rows}


def _decided_among(connection: Connection, runs: Iterable[str], fingerprints: Sequence[str]) -> set[str]:
    """Those of some findings of which something was decided, or of whose causes."""
    of = CONSEQUENCE.c
    # By the runs, too, with which the key of the table begins: there may be millions of consequences.
    found = select(of.fingerprint).where(of.run.in_(runs), of.fingerprint.in_(fingerprints))
    of_causes = found.where(select(DECISION.c.number).where(DECISION.c.fingerprint == of.cause).exists())
    own = select(DECISION.c.fingerprint).where(DECISION.c.fingerprint.in_(fingerprints))
    return set(connection.scalars(union(own, of_causes)))


def latest_decisions(name: str = "latest_decision") -> Subquery:
    """For each finding and basis the decision that counts: the one that came last, whatever its clock said."""
    place = func.row_number().over(
        partition_by=(DECISION.c.fingerprint, DECISION.c.basis), order_by=DECISION.c.number.desc()
    )
    ordered = select(DECISION, place.label("place")).subquery(f"ordered_{name}")
    return select(ordered).where(ordered.c.place == 1).subquery(name)


def state_column(found: FromClause, basis: ColumnElement[Any], today: date) -> ColumnElement[str]:
    """Return the state of a finding by decisions about it, or about its cause, as SQL."""
    number = func.coalesce(*_numbers_that_count(found, basis))
    action, until = (_of_number(decided, number) for decided in _DECIDES)
    before = _newest(DECISION.c.action, DECISION.c.fingerprint == found.c.fingerprint)
    # Of most nothing was decided: that is known from three look-ups.
    undecided = case(
        (before.is_(None) | (before == Action.REOPEN.value), DecisionState.OPEN.value),
        else_=DecisionState.REOPENED.value,
    )
    return case(
        (number.is_(None), undecided),
        (action == Action.ACCEPT.value, DecisionState.ACCEPTED.value),
        (action == Action.REJECT.value, DecisionState.REJECTED.value),
        ((action == Action.DEFER.value) & (until > today), DecisionState.DEFERRED.value),
        else_=DecisionState.OPEN.value,
    )


def _decision_columns(found: FromClause, basis: ColumnElement[Any]) -> tuple[ColumnElement[Any], ...]:
    """The number of the decision that made the state of a finding, and whether it is about its cause, as SQL."""
    own, of_cause = _numbers_that_count(found, basis)
    newest = _newest(DECISION.c.number, DECISION.c.fingerprint == found.c.fingerprint)
    return func.coalesce(own, of_cause, newest).label("decision"), own.is_(None) & of_cause.is_not(None)


def decided_about(run: str | None) -> CompoundSelect[tuple[str]]:
    """The findings of which something was decided, or of whose causes: of a run, or of any."""
    runs = CONSEQUENCE.c.run == run if run else CONSEQUENCE.c.run.in_(select(RUN.c.id))
    about = select(DECISION.c.fingerprint)
    return union(about, select(CONSEQUENCE.c.fingerprint).where(runs, CONSEQUENCE.c.cause.in_(about)))


def is_due(found: FromClause, basis: ColumnElement[Any], after: date, today: date) -> ColumnElement[bool]:
    """Check whether the day of a deferral has come, after one day and up to another, as SQL."""
    number = func.coalesce(*_numbers_that_count(found, basis))
    action, until = (_of_number(decided, number) for decided in _DECIDES)
    return (action == Action.DEFER.value) & (until > after) & (until <= today)


_DECIDES = (DECISION.c.action, DECISION.c.until)


def _newest(selected: ColumnElement[Any], *conditions: ColumnElement[bool]) -> ColumnElement[Any]:
    newest = select(selected).where(*conditions).order_by(DECISION.c.number.desc()).limit(1)
    return newest.correlate_except(DECISION).scalar_subquery()


def _numbers_that_count(found: FromClause, basis: ColumnElement[Any]) -> tuple[ColumnElement[Any], ColumnElement[Any]]:
    """The numbers of the newest decisions about a finding and about its cause, each as it is now."""
    own = _newest(DECISION.c.number, DECISION.c.fingerprint == found.c.fingerprint, DECISION.c.basis == basis)
    of, of_cause = CONSEQUENCE.alias(), DECISION.alias()
    same = (of_cause.c.fingerprint == of.c.cause) & (of_cause.c.basis == decided_basis(of.c.run, of.c.cause))
    query = select(func.max(of_cause.c.number)).select_from(of.join(of_cause, same))
    query = query.where(of.c.run == found.c.run, of.c.fingerprint == found.c.fingerprint)
    return own, query.correlate_except(of, of_cause).scalar_subquery()


def _of_number(selected: ColumnElement[Any], number: ColumnElement[Any]) -> ColumnElement[Any]:
    return select(selected).where(DECISION.c.number == number).correlate_except(DECISION).scalar_subquery()
