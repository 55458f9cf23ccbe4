"""ComparisonSummary: state and decision of each finding, handed to report writers; their words.

Reports know no comparison and no decision by themselves: whoever asks for one hands them over in this form.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from kgcheck.ledger.comparisons import ComparisonState
from kgcheck.ledger.decisions import CurrentDecision, DecisionState
from kgcheck.ledger.run import Run
from kgcheck.model import Finding

PARTS = ("nodes", "edges", "source", "namespace")
"""Parts of a graph: nodes by label, edges by pattern and by source, ids by namespace."""


class PartCount(NamedTuple):
    """Count of one part of a graph in two runs."""

    part: str
    name: str
    before: int
    after: int


def moved_parts(before: Run | None, after: Run) -> list[PartCount]:
    """Compare what two runs counted of a graph: the parts that differ, those that vanished first."""
    if before is None:
        return []
    counts = [_parts_of(run) for run in (before, after)]
    # An earlier version did not count all of them.
    known = {part for part, _ in counts[0]} & {part for part, _ in counts[1]}
    keys = {key for key in (*counts[0], *counts[1]) if key[0] in known}
    found = [PartCount(*key, counts[0].get(key, 0), counts[1].get(key, 0)) for key in keys]
    moved = (one for one in found if one.before != one.after)
    return sorted(moved, key=lambda c: (c.after > 0, -abs(c.after - c.before), PARTS.index(c.part), c.name))


def _parts_of(run: Run) -> dict[tuple[str, str], int]:
    found = {("nodes", name): n for name, n in run.nodes.items()}
    found |= {("edges", name): n for name, n in run.edges.items()}
    counted = ((*key.partition(" "), n) for key, n in run.made_with.items())
    return found | {(part, name): int(n) for part, _, name, n in counted if part in PARTS and n.isdecimal()}


class ComparisonSummary(NamedTuple):
    """Comparison and decisions of the findings of a run, which are kept beside the run."""

    before: str | None = None
    most: str | None = None
    """The state of all findings but those in ``states``."""
    states: Mapping[str, str] = {}
    decisions: Mapping[str, CurrentDecision] = {}
    left: Iterable[tuple[Finding, str]] = ()
    """Findings of the run before that this run has not, each with its state: ``fixed``, ``gone`` or ``unchecked``."""
    consequences: Callable[[str], Iterable[Finding]] = lambda _: ()
    """Findings of the run that follow from one."""
    counts: Mapping[str, int] = {}
    parts: Sequence[PartCount] = ()
    thresholds: Mapping[str, bool] = {}
    """Thresholds in words, each with whether it is crossed."""

    def state(self, finding: Finding) -> str | None:
        state = self.states.get(finding.fingerprint, self.most)
        is_back = self.decided(finding).state is DecisionState.REOPENED and state != ComparisonState.UNCHECKED.value
        return DecisionState.REOPENED.value if is_back else state

    def decided(self, finding: Finding) -> CurrentDecision:
        return self.decisions.get(finding.fingerprint) or CurrentDecision()

    def follows(self, finding: Finding) -> bool:
        """Tell whether a finding is told with its cause: in the same state, and nothing else was decided about it."""
        if finding.cause is None:
            return False
        state, of_cause = (self.states.get(name, self.most) for name in (finding.fingerprint, finding.cause))
        current = self.decided(finding)
        return state == of_cause and (current.is_inherited or current.decision is None)

    def following(self, finding: Finding) -> list[Finding]:
        return [one for one in self.consequences(finding.fingerprint) if self.follows(one)]


ALONE = ComparisonSummary()
"""Summary of a run that is compared with none, and of which nothing was decided."""

STATES: dict[str, str] = {
    "new": "Not found by the run before.",
    "still": "Found before as it is now.",
    "changed": "Found before with another reason, proposal or evidence.",
    "fixed": "Checked again, and it holds no more.",
    "gone": "What it was about is no longer in the graph.",
    "unchecked": "Not looked at this time, or it could not be: it stands as it was.",
}
"""States of findings since the run before, in plain words."""
