"""Reads and writes what became of findings, in the ledger."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Row, Text, cast, delete, func, insert, select

from kgcheck.ledger.causes import CONSEQUENCE
from kgcheck.ledger.comparisons import (
    COMPARED,
    COMPARISON,
    ComparisonState,
    FormerFinding,
    Pair,
    RunComparison,
    compared_with,
    comparison_of,
    decided_basis,
    found_by,
    known_after,
    lost_findings,
    state_of,
    write_compared,
)
from kgcheck.ledger.rows import batches, finding_of
from kgcheck.ledger.settling import number_of
from kgcheck.ledger.tables import FINDING, KEY, OPEN_SEVERITIES
from kgcheck.model import Finding

if TYPE_CHECKING:
    from kgcheck.ledger.database import Database

_TOGETHER = 500


class ComparisonTable:
    """Reads and writes what became of findings."""

    def __init__(self, database: "Database") -> None:
        self._database = database

    def before(self, run: str) -> str | None:
        """The id of the run that a run was compared with when it ended; None where there was none."""
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
        """Count the findings in each state."""
        kept = select(COMPARISON.c.counts).where(COMPARISON.c.run == pair.after, COMPARISON.c.before == pair.before)
        with self._database.reading() as connection:
            found: dict[str, int] | None = connection.execute(kept).scalar()
            return _counts(connection, comparison_of(connection, pair)) if found is None else found

    def states(self, pair: Pair, fingerprints: Iterable[str]) -> dict[str, ComparisonState]:
        """The states of some findings; those that neither run knows are left out."""
        rest, found = list(dict.fromkeys(fingerprints)), dict[str, ComparisonState]()
        most = ComparisonState.STILL if pair.before else ComparisonState.NEW
        here = select(KEY.c.fingerprint).where(KEY.c.run == pair.after, KEY.c.severity.in_(OPEN_SEVERITIES))
        with self._database.reading() as connection:
            comparison = comparison_of(connection, pair)
            became = comparison.rows.c
            for start in range(0, len(rest), _TOGETHER):
                some = rest[start : start + _TOGETHER]
                found |= dict.fromkeys(connection.scalars(here.where(KEY.c.fingerprint.in_(some))), most)
                rows = select(became.fingerprint, became.state).where(comparison.is_own, became.fingerprint.in_(some))
                found |= {row.fingerprint: ComparisonState(row.state) for row in connection.execute(rows)}
        return found

    def known(self, run: str, fingerprints: Sequence[str]) -> set[str]:
        """Return those of some findings that are known to be wrong after a run."""
        found: set[str] = set()
        with self._database.reading() as connection:
            for start in range(0, len(fingerprints), _TOGETHER):
                known = known_after(run, fingerprints[start : start + _TOGETHER])
                found |= set(connection.scalars(select(known.c.fingerprint)))
        return found

    def kept_bases(self, run: str, fingerprints: Sequence[str]) -> dict[str, str]:
        """The bases of findings of a run that stand as they were before, because a source could not be looked at."""
        found: dict[str, str] = {}
        with self._database.reading() as connection:
            for start in range(0, len(fingerprints), _TOGETHER):
                some = COMPARED.c.fingerprint.in_(fingerprints[start : start + _TOGETHER])
                query = select(COMPARED.c.fingerprint, COMPARED.c.basis).where(COMPARED.c.run == run, some)
                query = query.where(COMPARED.c.state == ComparisonState.UNCHECKED.value, COMPARED.c.basis.is_not(None))
                found |= {row.fingerprint: row.basis for row in connection.execute(query)}
        return found

    def decided_bases(self, run: str, fingerprints: Sequence[str]) -> dict[str, str]:
        """The bases to which decisions about findings of a run belong; those that it has not are left out."""
        found: dict[str, str] = {}
        basis = decided_basis(KEY.c.run, KEY.c.fingerprint).label("decided_basis")
        with self._database.reading() as connection:
            for some in batches(fingerprints, _TOGETHER):
                query = select(KEY.c.fingerprint, basis).where(KEY.c.run == run, KEY.c.fingerprint.in_(some))
                found |= {row.fingerprint: row.decided_basis or "" for row in connection.execute(query)}
        return found

    def unfound(self, pair: Pair) -> Iterator[Row[Any]]:
        """Findings of the earlier run that the later one did not find, those of one target together."""
        lost, now, kept = lost_findings(pair).subquery("lost"), KEY.alias(), COMPARED.alias()
        there = (KEY.c.fingerprint == lost.c.fingerprint) & (KEY.c.run == lost.c.found_in)
        here = (now.c.fingerprint == lost.c.fingerprint) & (now.c.run == pair.after)
        earlier = (kept.c.fingerprint == lost.c.fingerprint) & (kept.c.run == pair.before)
        joined = lost.outerjoin(KEY, there).outerjoin(FINDING, FINDING.c.number == KEY.c.finding)
        joined = joined.outerjoin(now, here).outerjoin(kept, earlier)
        columns = [c.label(f"kept_{c.name}") for c in kept.columns]
        named = lost.c.fingerprint.label("named"), now.c.severity.label("severity_now")
        query = select(FINDING, *named, *columns).select_from(joined)
        target = FINDING.c.type, FINDING.c.subject_label, FINDING.c.relation, FINDING.c.object_label
        with self._database.reading() as connection:
            yield from connection.execute(query.order_by(*target, FINDING.c.attribute, lost.c.fingerprint))

    def structure_of(self, run: str, rules: Sequence[str], *, folded: str = "", unless: str = "") -> Sequence[Row[Any]]:
        """Findings of a run by some rules."""
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
    folded = {state: count for state, count in connection.execute(same.group_by(followed.c.state))}
    counts[(ComparisonState.STILL if pair.before else ComparisonState.NEW).value] += rest
    return {state: count - folded.get(state, 0) for state, count in counts.items()}
