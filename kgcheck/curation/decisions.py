"""Decide about findings: accept, reject, defer, reopen.

A decision belongs to a finding and to its basis. When the basis changes, the finding comes back as reopened.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING

from pydantic import model_validator
from sqlalchemy import func, select

from kgcheck import clock
from kgcheck.choices import chosen as chosen_of
from kgcheck.errors import ChangedMeanwhile, UsageError
from kgcheck.ledger.basis import basis_of
from kgcheck.ledger.causes import CONSEQUENCE, FOUND
from kgcheck.ledger.comparisons import ComparisonTable
from kgcheck.ledger.decisions import Action, CurrentDecision, Decision, DecisionTable, decided_about, latest_decisions
from kgcheck.ledger.ledger import Ledger, Run, in_order
from kgcheck.ledger.rows import batches, finding_of
from kgcheck.ledger.tables import FINDING, KEY, SHOWN_ORDER
from kgcheck.model import Finding, Value
from kgcheck.report.tables import proposal

if TYPE_CHECKING:
    from kgcheck.curation.findings import FindingList

_SHOWN = 12
_LONGEST = 10_000


class Made(Value):
    """A decision that was made, and where the finding stood before it."""

    decision: Decision
    before: CurrentDecision

    @property
    def line(self) -> str:
        made, old = self.decision, self.before.decision
        chosen, until = f" {made.chosen!r}" if made.chosen else "", f" until {made.until}" if made.until else ""
        was = f"; {old.action.value} by {old.by} on {old.at:%Y-%m-%d %H:%M} stays in its history" if old else ""
        return f"{made.fingerprint} {made.action.value}{chosen}{until}: {made.about}, {made.reason}{was}"


class Choice(Value):
    """Decision to be made about one finding or many."""

    action: Action
    by: str
    chosen: str | None = None
    note: str = ""
    until: date | None = None

    @model_validator(mode="after")
    def _fits(self) -> "Choice":
        is_deferral, today = self.action is Action.DEFER, clock.today()
        wrong: list[tuple[bool, str, str]] = [(not self.by.strip(), "a decision needs a name", "add --by NAME")]
        for name, text in (("name", self.by), ("note", self.note), ("choice", self.chosen or "")):
            length = f"the {name} has {len(text):,} characters, and {_LONGEST:,} are the most"
            # Half of a pair cannot be written, and PostgreSQL has no NUL.
            is_text = text.encode(errors="replace").decode() == text and "\x00" not in text
            wrong += [(len(text) > _LONGEST, length, ""), (not is_text, f"the {name} cannot be written as UTF-8", "")]
        wrong += [
            (is_deferral and not self.until, "a deferral needs its day", "add --until DATE, such as 2027-01-31"),
            (bool(self.until) and not is_deferral, f"--until is of defer, not of {self.action.value}", "leave it out"),
            (self.chosen is not None and self.action is not Action.ACCEPT, "--choose is of accept", "leave it out"),
            (bool(self.until and self.until <= today), f"{self.until} is not after today, {today}", ""),
        ]
        for is_so, message, hint in wrong:
            if is_so:
                raise UsageError(message, hint)
        return self

    def check(self, finding: Finding) -> None:
        if self.chosen is None:
            return
        change = finding.change
        proposed = [*([change.to] if change.to is not None else []), *change.candidates] if change else []
        if self.chosen not in proposed:
            raise UsageError(
                f"{self.chosen!r} is not proposed for finding {finding.fingerprint}, {finding.task}",
                f"choose from {_some(proposed)}"
                if proposed
                else "nothing is proposed that could be chosen: leave --choose out",
            )

    def about(self, finding: Finding, basis: str, at: datetime) -> Decision:
        return Decision(
            fingerprint=finding.fingerprint,
            basis=basis,
            **dict(self),
            at=at,
            run=finding.run,
            about=f"{finding.task.type.value} {finding.task}",
            reason=finding.verdict.reason.value,
            proposed=proposal(finding.change),
        )


class Decisions:
    """The decisions in a ledger."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self.table = DecisionTable(ledger.database)

    def current(self, fingerprints: Iterable[str]) -> dict[str, Decision]:
        """The newest decision about each finding, whatever its basis was; what nobody decided is left out."""
        return {decision.fingerprint: decision for decision in self.table.of(fingerprints)}

    def beside(self, findings: Iterable[Finding], today: date | None = None) -> dict[str, CurrentDecision]:
        found = list(findings)
        return self._states(found, self.bases(found), today)

    def _states(
        self, findings: list[Finding], bases: Mapping[str, str], today: date | None = None
    ) -> dict[str, CurrentDecision]:
        named = ((one.run, one.fingerprint, bases[one.fingerprint]) for one in findings)
        return self.table.states(named, today or clock.today())

    def bases(self, findings: list[Finding]) -> dict[str, str]:
        """Return the bases of findings for decisions: where a source was away, those from when it was there."""
        table, by_run = ComparisonTable(self._ledger.database), defaultdict[str, list[str]](list)
        for finding in findings:
            by_run[finding.run].append(finding.fingerprint)
        bases = {finding.fingerprint: basis_of(finding) for finding in findings}
        for run, fingerprints in by_run.items():
            bases |= table.kept_bases(run, fingerprints)
        return bases

    def decide(
        self, findings: Iterable[Finding], choice: "Choice", seen: Mapping[str, str] | None = None, last: int = 0
    ) -> list["Made"]:
        """Decide about findings, all or none; each decision is about the finding as it is given."""
        found, at = list(findings), clock.exact_now()
        for finding in found:
            choice.check(finding)
        # Read first: what is decided from here on is no longer what was looked at.
        unless_after = last or (self.table.newest() if seen else None)
        bases = self.bases(found)
        before = self._states(found, bases)
        present = {name: version_of(bases[name], before[name]) for name in seen or () if name in before}
        changed = {name: now for name, now in present.items() if seen and seen[name] != now}
        if changed:
            known = f"not as they were any more: {_some(sorted(changed))}"
            raise ChangedMeanwhile(known, "look again, and decide about them as they are now", changed)
        made = self.table.add(
            (choice.about(one, bases[one.fingerprint], at) for one in found), unless_after=unless_after
        )
        return [Made(decision=one, before=before[one.fingerprint]) for one in made]

    def accepted(self, run: Run) -> Iterator[tuple[Finding, Decision]]:
        """The findings of a run that were accepted as they are now, or whose causes were, each with the decision.

        They come in the order of reports, each cause before what follows from it.
        """
        own, of_cause = latest_decisions("own"), latest_decisions("of_cause")
        follows, key = CONSEQUENCE.alias(), KEY.alias()
        is_own = (own.c.fingerprint == FINDING.c.fingerprint) & (own.c.basis == FINDING.c.basis)
        is_cause = (follows.c.run == FINDING.c.run) & (follows.c.fingerprint == FINDING.c.fingerprint)
        is_key = (key.c.run == follows.c.run) & (key.c.fingerprint == follows.c.cause)
        is_of_cause = (of_cause.c.fingerprint == follows.c.cause) & (of_cause.c.basis == key.c.basis)
        query = in_order(run.id).outerjoin(own, is_own).outerjoin(follows, is_cause).outerjoin(key, is_key)
        query = query.outerjoin(of_cause, is_of_cause)
        # What was decided of a finding itself wins.
        query = query.where(func.coalesce(own.c.action, of_cause.c.action) == Action.ACCEPT.value)
        query = query.where(FINDING.c.fingerprint.in_(decided_about(run.id)))
        query = query.order_by(None).order_by(follows.c.cause.is_not(None), *SHOWN_ORDER)
        with self._ledger.database.reading() as connection:
            rows = connection.execute(
                query.add_columns(func.coalesce(own.c.number, of_cause.c.number).label("decision"))
            )
            for some in batches(rows, 500):
                decisions = self.table.numbered([row.decision for row in some])
                yield from ((finding_of(row), decisions[row.decision]) for row in some)


def version_of(basis: str, decided: CurrentDecision) -> str:
    """Version of a finding for whoever decides: its basis, and the decision that counts."""
    return f"{basis}.{decided.decision.number if decided.decision else 0}"


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")


def day_of(text: str | date | None) -> date | None:
    """A whole day."""
    if not isinstance(text, str):
        return text
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise UsageError(f"{text!r} is no day", "write 2027-01-31") from None


def decide(
    ledger: Ledger,
    findings: "str | Iterable[str | Finding] | FindingList",
    action: str,
    *,
    by: str,
    chosen: str | None = None,
    note: str = "",
    until: str | date | None = None,
    seen: Mapping[str, str] | None = None,
    expected: int | None = None,
) -> list[Made]:
    """Decide about findings; see Workspace.decide."""
    kind = Action(chosen_of("action", action, [member.value for member in Action]))
    choice = Choice(action=kind, by=by, chosen=chosen, note=note, until=day_of(until))
    decisions = Decisions(ledger)
    if expected is None:
        return decisions.decide(_found(ledger, findings), choice, seen)
    last = decisions.table.newest()
    # Counted before they are read: there may be a million.
    count = expected if isinstance(findings, Iterable) else findings.count()
    found = _found(ledger, findings) if count == expected else []
    count = len(found) if count == expected else count
    if count != expected:
        known = f"{count:,} findings are meant, not {expected:,}"
        raise ChangedMeanwhile(known, "look at them again", {"count": str(count)})
    return decisions.decide(found, choice, seen, last)


def _found(ledger: Ledger, findings: "str | Iterable[str | Finding] | FindingList") -> list[Finding]:
    if isinstance(findings, str):
        findings = [findings]
    if not isinstance(findings, Iterable):
        findings = [one.finding for one in findings.page()]
    known = [ledger.finding(one) if isinstance(one, str) else one for one in findings]
    return list({finding.fingerprint: finding for finding in known}.values())


def take_back(ledger: Ledger, first: int, count: int, action: Action, by: str) -> list[Made]:
    """See Workspace.take_back."""
    decisions = Decisions(ledger)
    # Read first: what is decided from here on counts, and is not taken back.
    last = decisions.table.newest()
    together = [
        one
        for one in decisions.table.newest_first(first + count, count)
        if one.number >= first and one.by == by and one.action is action
    ]
    newest = decisions.current(one.fingerprint for one in together)
    standing = [one for one in together if newest[one.fingerprint].number == one.number]
    choice = Choice(action=Action.REOPEN, by=by)
    found: list[Finding] = []
    # As they were then, and together: one by one they would take minutes.
    for some in batches(standing, 500):
        named = FINDING.c.fingerprint.in_([one.fingerprint for one in some])
        query = select(*FOUND).where(FINDING.c.run.in_({one.run for one in some}), named)
        runs = {one.fingerprint: one.run for one in some}
        with ledger.database.reading() as connection:
            rows = connection.execute(query).all()
        found += [finding_of(row) for row in rows if runs[row.fingerprint] == row.run]
    return decisions.decide(found, choice, last=last) if found else []
