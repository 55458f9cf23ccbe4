"""Funnel: hand an audit's undecided findings to the agent team with live sources, worst first."""

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from kgcheck.agents.brains.rules import RulesBrain
from kgcheck.agents.outside import Outside
from kgcheck.agents.request import Request
from kgcheck.agents.team import Team, TeamConclusion
from kgcheck.agents.toolbox import Toolbox
from kgcheck.agents.transcript import Transcript
from kgcheck.errors import BudgetExceeded, UsageError
from kgcheck.evidence.source import ReferenceSource
from kgcheck.graph.store import GraphStore
from kgcheck.ledger.ledger import Ledger, Run
from kgcheck.model import CheckType, Finding, Outcome, Reason
from kgcheck.outputs import write_text
from kgcheck.progress import Progress

UNDECIDED = (Outcome.INSUFFICIENT, Outcome.UNAVAILABLE)

_WORST = (
    Reason.CONFLICTING_EVIDENCE,
    Reason.RETRACTED_EVIDENCE,
    Reason.BELOW_THRESHOLD,
    Reason.UNMAPPED_IDENTIFIER,
    Reason.NOTHING_FOUND,
)
"""Reasons of undecided findings, the worst first; any other comes after these."""

NOT_DECIDED = "not decided"


class Funnel:
    """Hands findings of a run to the team, and puts what it decides in their place."""

    def __init__(
        self,
        store: GraphStore,
        source: ReferenceSource,
        ledger: Ledger,
        transcripts: Path,
        outside: Outside | None = None,
    ) -> None:
        self._schema = store.schema
        self._team = Team(Toolbox(store, source, outside), RulesBrain())
        self._ledger = ledger
        self._transcripts = transcripts

    def decide(self, run: Run, budget: int, progress: Progress) -> Mapping[str, int]:
        """Let the team decide the worst undecided findings.

        A finding that the team could not decide stays as it was. One that was handed over before, in a run that was cut
        off, counts and is not asked again.
        """
        handed = self._ledger.handed(run)
        ways = Counter(handed.values())
        left = [f for f in worst_first(self._ledger.findings(run, UNDECIDED)) if f.fingerprint not in handed]
        chosen = left[: max(budget - len(handed), 0)]
        with progress.step("asking the team", len(chosen)) as step:
            for finding in chosen:
                decided = self._decide(run, finding)
                way = decided.verdict.outcome.value if decided else NOT_DECIDED
                self._ledger.hand_over(run, finding, decided, way)
                ways[way] += 1
                step.advance()
        return dict(sorted(ways.items()))

    def _decide(self, run: Run, finding: Finding) -> Finding | None:
        transcript = Transcript()
        try:
            checked: TeamConclusion = self._team.check(Request.of(finding.task, self._schema), transcript)
        except (UsageError, BudgetExceeded):
            return None
        finally:
            write_text(self._transcripts / run.id / f"{finding.fingerprint}.jsonl", transcript.as_jsonl(), secret=True)
        verdict = checked.verdict
        if checked.task.fingerprint != finding.fingerprint or verdict.outcome in UNDECIDED:
            return None
        return finding.model_copy(update={"task": checked.task, "verdict": verdict, "change": checked.change})


def worst_first(findings: Iterable[Finding]) -> list[Finding]:
    """Undecided findings that a source could decide, in the order in which they are handed over."""

    def rank(finding: Finding) -> tuple[int, int, str]:
        reason = finding.verdict.reason
        place = _WORST.index(reason) if reason in _WORST else len(_WORST)
        return UNDECIDED.index(finding.verdict.outcome), place, finding.fingerprint

    return sorted((f for f in findings if f.task.type is not CheckType.STRUCTURE), key=rank)
