"""How the findings of a run stand, for reports: what became of them since the run before, and what was decided."""

from kgcheck.curation.compare import diff_of
from kgcheck.curation.decisions import CurrentDecision, DecisionState
from kgcheck.ledger.ledger import Ledger, Run
from kgcheck.model import Finding
from kgcheck.report.standing import Decided, Left, Standing


def standing_of(ledger: Ledger, run: Run, *, whole: bool = True) -> Standing:
    """How the findings of a run stand to those of the run before.

    Args:
        ledger: Where both are.
        run: The run.
        whole: Each finding by itself; else their counts alone.

    Returns:
        What a report takes; of one check, which is compared with none, only what was decided.
    """
    diff = diff_of(ledger, after=run)
    counts = {state.value: count for state, count in diff.counts.items()}
    if not whole:
        return Standing(before=diff.before_id, counts=counts)
    states: dict[str, str] = {}
    decisions: dict[str, Decided] = {}
    left: list[Left] = []
    for one in diff.findings():
        if decided := _decided(one.decided):
            decisions[one.fingerprint] = decided
        if one.finding is None or one.finding.run == run.id:
            states[one.fingerprint] = one.state.value
        else:
            left.append(Left(one.finding, one.state.value))

    def state(finding: Finding) -> str | None:
        return states.get(finding.fingerprint)

    def decided_of(finding: Finding) -> Decided | None:
        return decisions.get(finding.fingerprint)

    return Standing(diff.before_id, state, decided_of, left, counts)


def _decided(current: CurrentDecision) -> Decided | None:
    """A decision as reports show it; it stands while the finding is what it was about, and its day has not come."""
    decision = current.decision
    if decision is None:
        return None
    stands = current.state in (DecisionState.ACCEPTED, DecisionState.REJECTED, DecisionState.DEFERRED)
    until = decision.until.isoformat() if decision.until else ""
    return Decided(decision.action.value, decision.by, decision.at, decision.note, until, stands)
