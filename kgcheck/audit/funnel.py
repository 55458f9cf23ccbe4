"""Funnel: hand an audit's undecided and doubtful findings to the agent team with live sources, worst first."""

import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from kgcheck.agents.brains.rules import RulesBrain
from kgcheck.agents.request import Request
from kgcheck.agents.team import Team, TeamConclusion
from kgcheck.agents.toolbox import Outside, Toolbox
from kgcheck.agents.transcript import Transcript
from kgcheck.errors import BudgetExceeded, BudgetSpent, KgcheckError, ModelAnswer, ModelError, UsageError
from kgcheck.evidence.source import ReferenceSource
from kgcheck.graph.store import GraphStore
from kgcheck.ledger.ledger import Ledger, Run
from kgcheck.ledger.run import COULD_NOT_LOOK, NOT_DECIDED, HandedOver
from kgcheck.model import CheckType, Finding, Outcome, Reason, Target
from kgcheck.options import TeamBudget
from kgcheck.outputs import write_text
from kgcheck.plurals import how_many
from kgcheck.profile.claims import form_of
from kgcheck.profile.reference_files import NETWORKS, UNIPROT
from kgcheck.profile.schema import Schema
from kgcheck.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Callable

    from kgcheck.agents.team import Brain
    from kgcheck.reference.live import LiveReference

UNDECIDED = (Outcome.INSUFFICIENT, Outcome.UNAVAILABLE)

DOUBTFUL = 0.8
"""A refutation of a lower confidence is looked at a second time."""

_WORST = (
    Reason.CONFLICTING_EVIDENCE,
    Reason.RETRACTED_EVIDENCE,
    Reason.BELOW_THRESHOLD,
    Reason.UNMAPPED_IDENTIFIER,
    Reason.NOTHING_FOUND,
)
"""Reasons of undecided findings, the worst first; any other comes after these."""

_BUDGET_SPENT = "the budget of the team is spent"
_BY_RULES = "the rest of the team's findings went by the rules"
_LIVE = frozenset((UNIPROT, *NETWORKS))


@dataclass
class TeamSources:
    """Sources and brain of a team: evidence by one path, look-ups beside it, and the services behind both."""

    source: ReferenceSource
    outside: Outside
    live: "LiveReference | None" = None
    make_brain: "Callable[[GraphStore], Brain] | None" = None
    """None: the rules."""

    @property
    def calls(self) -> int:
        return self.live.http.calls if self.live else 0

    @property
    def has_failed(self) -> bool:
        """Tell whether a service could not be looked at for what was looked up last."""
        causes = self.live.causes if self.live else {}
        return any(cause is Reason.SOURCE_UNAVAILABLE for failed in causes.values() for cause in failed.values())


class Funnel:
    """Hands findings of a run to the team, and puts what it decides in their place."""

    def __init__(self, store: GraphStore, sources: TeamSources, ledger: Ledger, transcripts: Path) -> None:
        self._store = store
        self._sources = sources
        self._toolbox = Toolbox(store, sources.source, sources.outside)
        self._ledger = ledger
        self._transcripts = transcripts
        self._make_brain = sources.make_brain
        self.notes: list[str] = []

    def decide(self, run: Run, budget: TeamBudget, progress: Progress) -> Mapping[str, int]:
        """Let the team decide the worst findings, as far as a budget goes; what is left is noted.

        A finding that the team could not decide stays as it was. One that was handed over before, in a run that was cut
        off, counts and is not asked again. What the team decided in the run before is looked up again by the rules,
        from kept answers while the service's release is the same, and takes none of the number of findings.
        """
        before = self._ledger.handed(run.compared_with) if run.compared_with else {}
        known = {fingerprint for fingerprint, one in before.items() if one.is_decided}
        handed = self._ledger.handed(run.id)
        spent = _Spent(budget, len(handed.keys() - known))
        for one in handed.values():
            spent.add(one, is_new=False)
        doubted = (f for f in self._ledger.findings(run, (*UNDECIDED, Outcome.REFUTED)) if self._may_decide(f))
        ordered = in_order(doubted, self._ledger.consequences(run), before)
        waiting = [finding for finding in ordered if finding.fingerprint not in handed]
        with progress.step("asking the team", min(len(waiting), budget.team_budget)) as step:
            for finding in waiting:
                if finding.fingerprint in handed:
                    continue
                is_free = finding.fingerprint in known
                if spent.reached(is_free=is_free):
                    break
                decided = self._decide_with_following(run, finding, handed, spent, is_free=is_free)
                self._ledger.hand_over(run, *decided)
                handed |= {one.fingerprint: one for *_, one in decided}
                step.advance()
        if spent.why:
            ended = (t.count for t in self._ledger.tallies(run) if t.type.asks_sources and t.outcome in UNDECIDED)
            left = f"{how_many(sum(ended), 'check is', 'checks are')} still undecided"
            self.notes.append(f"{_BUDGET_SPENT} ({spent.why}): {left}")
        return dict(sorted(Counter(one.result for one in handed.values()).items()))

    def _decide_with_following(
        self, run: Run, finding: Finding, handed: Mapping[str, HandedOver], spent: "_Spent", *, is_free: bool
    ) -> list[tuple[Finding, Finding | None, HandedOver]]:
        """Decide a finding and, where a refutation falls, what follows from it; written together."""
        one, new = self._decide(run, finding, by_rules=is_free)
        spent.add(one, is_new=not is_free)
        decided = [(finding, new, one)]
        if new is None or finding.verdict.outcome is not Outcome.REFUTED or one.result == Outcome.REFUTED.value:
            return decided
        for other in self._ledger.following(run, finding.fingerprint):
            if other.fingerprint in handed or not self._may_decide(other):
                continue
            if spent.reached(is_free=True):
                break
            its, newer = self._decide(run, other, by_rules=True)
            spent.add(its, is_new=False)
            decided.append((other, newer, its))
            if its.result == COULD_NOT_LOOK:
                decided[0] = (finding, None, one.model_copy(update={"result": COULD_NOT_LOOK}))
                break
        return decided

    def _may_decide(self, finding: Finding) -> bool:
        """Tell whether a live service, or papers where they are asked, may decide what a finding is about."""
        if not finding.task.type.asks_sources:
            return False
        if deciding_sources(finding, self._store.schema) & _LIVE:
            return True
        triple = finding.task.edge
        return bool(triple and self._sources.outside.reader and form_of(triple, self._store.schema))

    def _decide(self, run: Run, finding: Finding, *, by_rules: bool) -> tuple[HandedOver, Finding | None]:
        started, calls, transcripts = time.monotonic(), self._sources.calls, list[Transcript]()
        checked = self._checked(finding, transcripts, by_rules=by_rules)
        file = self._transcripts / run.id / f"{finding.fingerprint}.jsonl"
        write_text(file, transcripts[-1].as_jsonl(), secret=True)
        result, new = NOT_DECIDED, None
        if checked and checked.task.fingerprint == finding.fingerprint:
            verdict = checked.verdict
            # Where the snapshot has something of a source, its silence stands, and the verdict names no gap.
            is_blind = self._sources.has_failed
            was_refuted = finding.verdict.outcome is Outcome.REFUTED
            is_decided = verdict.outcome not in UNDECIDED or (was_refuted and verdict.outcome is Outcome.INSUFFICIENT)
            if is_blind and (was_refuted or not is_decided):
                result = COULD_NOT_LOOK
            elif is_decided:
                result = verdict.outcome.value
                new = finding.model_copy(update={"task": checked.task, "verdict": verdict, "change": checked.change})
        events = [event for transcript in transcripts for event in transcript.events]
        costs = [event.cost for event in events if event.cost is not None]
        handed = HandedOver(
            fingerprint=finding.fingerprint,
            result=result,
            outcome=finding.verdict.outcome.value,
            reason=finding.verdict.reason.value,
            calls=self._sources.calls - calls,
            seconds=round(time.monotonic() - started, 3),
            tokens=sum(event.tokens for event in events),
            money=sum(costs) if costs else None,
        )
        return handed, new

    def _checked(self, finding: Finding, transcripts: list[Transcript], *, by_rules: bool) -> TeamConclusion | None:
        """Check what a finding is about; by the rules, too, where a model fails."""
        request = Request.of(finding.task, self._store.schema)
        brains: list[Callable[[], Brain]] = [RulesBrain]
        if self._make_brain and not by_rules:
            brains.insert(0, partial(self._make_brain, self._store))
        for make in brains:
            transcripts.append(Transcript())
            try:
                return Team(self._toolbox, make()).check(request, transcripts[-1])
            except ModelAnswer:
                # One that is too weak for this one may do for the next.
                continue
            except ModelError as error:
                self._go_by_rules(error)
            except UsageError:
                return None
            except BudgetExceeded as error:
                if isinstance(error.__cause__, BudgetSpent):
                    self._go_by_rules(error)
        return None

    def _go_by_rules(self, error: KgcheckError) -> None:
        self._make_brain = None
        self.notes.append(f"{_BY_RULES}: {error.in_one_line}")


@dataclass
class _Spent:
    """Spending of a team within a run, of all its lives."""

    budget: TeamBudget
    findings: int
    calls: int = 0
    seconds: float = 0.0
    money: float = 0.0
    why: str = ""

    def add(self, one: HandedOver, *, is_new: bool) -> None:
        self.findings += is_new
        self.calls += one.calls or 0
        self.seconds += one.seconds or 0.0
        self.money += one.money or 0.0

    def reached(self, *, is_free: bool) -> bool:
        """Tell whether nothing more is to be handed over, and keep why."""
        most = self.budget
        spent: tuple[tuple[float | None, float, str], ...] = (
            (None if is_free else most.team_budget, self.findings, "findings"),
            (most.team_calls, self.calls, "calls"),
            (most.team_seconds, self.seconds, "seconds"),
            (most.team_money, self.money, "in money"),
        )
        over = (f"{limit:,} {words}" for limit, used, words in spent if limit is not None and used >= limit)
        self.why = next(over, "")
        return bool(self.why)


def is_note(text: str) -> bool:
    """Tell whether a warning of a run is a note of its funnel."""
    return text.startswith((_BUDGET_SPENT, _BY_RULES))


def deciding_sources(finding: Finding, schema: Schema) -> frozenset[str]:
    """The sources that the profile names for what a finding is about."""
    task = finding.task
    label = schema.label(task.subject.label)
    if task.relation and task.object:
        pattern = schema.pattern(label.name, task.relation, task.object.label)
        ends = label.sources | schema.label(task.object.label).sources
        return ends | {check.source for check in pattern.checks}
    if task.attribute:
        return label.sources | ({source} if (source := schema.attribute(label.name, task.attribute).source) else set())
    return label.sources


def in_order(
    findings: Iterable[Finding],
    worth: Mapping[str, int] = {},  # only read
    before: Mapping[str, HandedOver] = {},
) -> list[Finding]:
    """Findings in the order in which they are handed over.

    First what the team decided in the run before, then what was not handed to it there, then what it left. Each time
    undecided ones take turns with refutations that are doubtful or of high worth: those from which others follow.
    """
    turns: dict[int, tuple[list[Finding], list[Finding]]] = {}
    for finding in findings:
        verdict, earlier = finding.verdict, before.get(finding.fingerprint)
        is_refuted = verdict.outcome is Outcome.REFUTED
        if earlier and earlier.is_decided:
            turn = 0
        elif is_refuted and not worth.get(finding.fingerprint) and verdict.confidence >= DOUBTFUL:
            continue
        else:
            turn = 2 if earlier and earlier.result == NOT_DECIDED else 1
        turns.setdefault(turn, ([], []))[is_refuted].append(finding)

    ranked = Counter[tuple[CheckType, Target]]()

    def rank(finding: Finding) -> tuple[int, int, int, float, str]:
        reason, fingerprint = finding.verdict.reason, finding.fingerprint
        place = _WORST.index(reason) if reason in _WORST else len(_WORST)
        number = 0
        if finding.verdict.outcome is Outcome.UNAVAILABLE:
            # There may be any number of one kind, of which none is worse than the others: kinds take turns.
            ranked[kind := (finding.task.type, Target.of(finding.task))] += 1
            number = ranked[kind]
        return number, place, -worth.get(fingerprint, 0), finding.verdict.confidence, fingerprint

    taken = (zip_longest(*(sorted(some, key=rank) for some in turns[turn])) for turn in sorted(turns))
    return [finding for pairs in taken for finding in chain.from_iterable(pairs) if finding]
