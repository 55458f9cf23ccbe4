"""A manuscript made better round by round, after Prompt-to-Paper: the weakest dimension, an action by root cause.

A judge scores, a worker writes one section again, guards hold what it wrote against what is known, and a round counts
only if the score is not worse than the best. All that a round depends on is in the log of the rounds before it, so that
it goes on where a process was killed.
"""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from pydantic import Field

from kgcheck.errors import InputFormat, KgcheckError, ModelAnswer
from kgcheck.grounding.ground import Grounded
from kgcheck.grounding.improvement_log import ImprovementLog, ImprovementRound, ImprovementStart
from kgcheck.grounding.judge import judge
from kgcheck.grounding.manuscript import Manuscript
from kgcheck.grounding.results import Results
from kgcheck.grounding.revising import (
    MOST_CHARACTERS,
    Aim,
    GivenPassage,
    ManuscriptSource,
    citable,
    draft_of,
    revised,
    revision_of,
)
from kgcheck.grounding.revision_guard import objection_to, objection_to_remarks
from kgcheck.grounding.score import CorpusFigures, ScoreCard, score, score_rules
from kgcheck.grounding.source_sections import text_digest
from kgcheck.llm.budget import CostByPart, Limits, Meter
from kgcheck.llm.client import ChatClient
from kgcheck.model import Value
from kgcheck.progress import NoProgress, Progress
from kgcheck.resources import resource_dir

DEEP_CYCLE = "a deep cycle runs experiments, and protocol design has none yet: nothing was done"


class ActionRule(Value):
    """An action of the ladder."""

    dimensions: tuple[str, ...]
    task: str


class ImproveRules(Value):
    """How rounds are chosen; see corpus/grounding/improve.toml."""

    failures: int = Field(gt=0)
    rest: int = Field(ge=0)
    memory: int
    tie: float
    deep_least: int
    deep_part: int
    passages: int
    actions: dict[str, ActionRule]


class ModelRole(NamedTuple):
    """A model with what counts for it."""

    client: ChatClient
    meter: Meter


class Surroundings(NamedTuple):
    """What a manuscript is held against.

    ``look`` grounds a text and says how it stands to the corpus; ``gather`` finds passages; both come from a workspace.
    """

    look: Callable[[Manuscript], tuple[Grounded, CorpusFigures | None]]
    gather: Callable[[str, int], list[GivenPassage]] | None
    results: Results | None


@cache
def improve_rules() -> ImproveRules:
    """The rules."""
    file = resource_dir("corpus") / "grounding" / "improve.toml"
    return ImproveRules.model_validate(tomllib.loads(file.read_text(encoding="utf-8")))


def deep_every(rounds: int) -> int:
    """After how many rounds a deep cycle is due.

    Args:
        rounds: Of the whole.

    Returns:
        A number of rounds.

    >>> deep_every(12), deep_every(60)
    (5, 10)
    """
    rules = improve_rules()
    return max(rules.deep_least, rounds // rules.deep_part)


def standing_of(card: ScoreCard) -> float:
    """What rounds are compared by: the overall score; the mean of the tiers that are there where one is missing."""
    if card.overall is not None:
        return card.overall
    return sum(d.partial for d in card.dimensions.values()) / len(card.dimensions)


def failures_in_a_row(rounds: Sequence[ImprovementRound], dimension: str) -> int:
    """How often a dimension was aimed at without success since it was last raised.

    Args:
        rounds: Those that are done.
        dimension: Its name.

    Returns:
        The number.
    """
    count = 0
    for done in reversed(rounds):
        if done.dimension == dimension:
            if done.outcome == "accepted":
                break
            count += 1
    return count


def next_aim(
    draft: ManuscriptSource, card: ScoreCard, rounds: Sequence[ImprovementRound], possible: Mapping[str, bool]
) -> Aim | None:
    """What the next round is to do.

    Args:
        draft: The manuscript.
        card: Its score.
        rounds: Those that are done.
        possible: Whether there is anything to do an action with, by its name.

    Returns:
        The weakest dimension that does not rest, the action of its ladder and a section; None where all of them have
        failed with every action.
    """
    rules = improve_rules()
    weakest = sorted(card.dimensions, key=lambda name: card.dimensions[name].partial)
    aims: list[Aim] = []
    for name in weakest:
        actions = _ladder(name, possible)
        tried = failures_in_a_row(rounds, name)
        step = tried // rules.failures
        places = _sections(draft, name)
        if not places or step >= len(actions):
            continue
        aimed = sum(r.dimension == name for r in rounds)
        action = actions[step]
        aim = Aim(dimension=name, action=action, task=rules.actions[action].task, section=places[aimed % len(places)])
        if tried == 0 or not any(r.dimension == name for r in rounds[len(rounds) - rules.rest :]):
            return aim
        aims.append(aim)
    # Where all rest, the weakest one goes on.
    return aims[0] if aims else None


def _ladder(dimension: str, possible: Mapping[str, bool]) -> list[str]:
    """The actions for a dimension, its own first; those after it follow, and then those before it."""
    actions = improve_rules().actions
    names = list(actions)
    own = next(n for n, name in enumerate(names) if dimension in actions[name].dimensions)
    return [name for name in (*names[own:], *names[:own]) if possible.get(name, True)]


def _sections(draft: ManuscriptSource, dimension: str) -> list[int]:
    reads = score_rules().dimensions[dimension].reads
    return [
        n
        for n, s in enumerate(draft.sections)
        if s.kind in reads and not s.listing and s.body.strip() and len(s.body) <= MOST_CHARACTERS
    ]


def memory_of(rounds: Sequence[ImprovementRound]) -> list[object]:
    """What earlier rounds did: the last ones whole, older ones a line each.

    Args:
        rounds: Those that are done.

    Returns:
        Lines and mappings, the oldest first.
    """
    most = improve_rules().memory
    done = [r for r in rounds if r.dimension]
    older = [f"{r.dimension}, {r.action}, {r.section}: {r.outcome}{_change(r)}" for r in done[:-most]]
    kept = {"number", "outcome", "dimension", "action", "section", "reason", "before", "after", "left_out"}
    return [*older, *(r.model_dump(mode="json", include=kept) for r in done[-most:])]


def _change(done: ImprovementRound) -> str:
    return "" if done.after is None or done.before is None else f" {done.after - done.before:+.2f}"


class Improver:
    """Improves one manuscript.

    Args:
        path: Its file, which is never changed.
        log: Of the rounds that are done.
        surroundings: What it is held against.
        judging: The model that scores.
        working: The model that writes.
        total: Counts what both take, and what was taken before.
        progress: Where to show progress.
    """

    def __init__(
        self,
        path: Path,
        log: ImprovementLog,
        surroundings: Surroundings,
        judging: ModelRole,
        working: ModelRole,
        total: Meter,
        progress: Progress | None = None,
    ) -> None:
        self._path, self._log, self._around = path, log, surroundings
        self._judging, self._working = judging, working
        self._progress = progress or NoProgress()
        self._costs = CostByPart(total, log.costs())
        models = (judging.client.model, working.client.model)
        if log.start and (log.start.judge, log.start.worker) != models:
            raise InputFormat(
                f"{log.folder} was judged by {log.start.judge} and written by {log.start.worker}",
                "name the same models, or another --out",
            )

    def run(self, rounds: int) -> None:
        """Do the rounds that are left.

        Args:
            rounds: How many there are to be, with those that are done.

        Raises:
            KgcheckError: A model failed, or the budget is spent: the round is begun again next time.
        """
        draft = draft_of(self._log.text(), self._path)
        found, corpus = self._around.look(draft.manuscript)
        card = self._first(found, corpus)
        self._log.show()
        possible = {
            "add_analysis": self._around.results is not None,
            "gather_evidence": self._around.gather is not None,
        }
        try:
            with self._progress.step(f"improving {draft.manuscript.name}", rounds) as step:
                step.advance(min(rounds, len(self._log.done)))
                while (number := len(self._log.done) + 1) <= rounds:
                    aim = None if number % deep_every(rounds) == 0 else next_aim(draft, card, self._log.done, possible)
                    if aim is not None:
                        draft, found, card = self._recorded(number, aim, draft, found, card)
                    elif number % deep_every(rounds) == 0:
                        self._log.add(self._line(number, "deep_cycle", DEEP_CYCLE))
                    else:
                        break
                    self._log.show()
                    step.advance()
        finally:
            self._log.plot()

    def _recorded(
        self, number: int, aim: Aim, draft: ManuscriptSource, found: Grounded, card: ScoreCard
    ) -> tuple[ManuscriptSource, Grounded, ScoreCard]:
        """Do a round and keep it; the manuscript after it."""
        try:
            done, kept = self._round(number, aim, draft, found, card)
        except KgcheckError as error:
            self._log.add(self._line(number, "stopped", error.message, dimension=aim.dimension))
            self._log.show()
            raise
        self._log.add(done, kept[0].source if kept else None)
        return kept or (draft, found, card)

    def _line(self, number: int, outcome: str, reason: str, **more: object) -> ImprovementRound:
        fields = {
            "number": number,
            "outcome": outcome,
            "reason": reason,
            "best": self._best(),
            "cost": self._costs.next(),
        }
        return ImprovementRound.model_validate(fields | more)

    def _first(self, found: Grounded, corpus: CorpusFigures | None) -> ScoreCard:
        """The score of the manuscript as it stands."""
        if self._log.start:
            last = self._log.accepted
            return last.card if last and last.card else self._log.start.card
        card = self._scored(found, corpus, None)
        self._log.begin(
            ImprovementStart(
                name=found.manuscript.name,
                sha256=text_digest(self._log.text()),
                judge=self._judging.client.model,
                worker=self._working.client.model,
                card=card,
                standing=standing_of(card),
                cost=self._costs.next(),
            )
        )
        return card

    def _best(self) -> float:
        start = self._log.start.standing if self._log.start else 0.0
        return max((r.best for r in self._log.done), default=start)

    def _scored(self, found: Grounded, corpus: CorpusFigures | None, before: ScoreCard | None) -> ScoreCard:
        judgements = judge(found.manuscript, self._judging.client, self._judging.meter, before)
        return score(found, corpus, judgements)

    def _round(
        self, number: int, aim: Aim, draft: ManuscriptSource, found: Grounded, card: ScoreCard
    ) -> tuple[ImprovementRound, tuple[ManuscriptSource, Grounded, ScoreCard] | None]:
        section = draft.sections[aim.section]
        standing, best = standing_of(card), self._best()
        own = {"dimension": aim.dimension, "action": aim.action, "section": section.heading, "before": standing}

        def done(reason: str, outcome: str = "rejected", **more: object) -> ImprovementRound:
            return self._line(number, outcome, reason, **(own | more))

        passages: list[GivenPassage] = []
        if self._around.gather and aim.action == "gather_evidence":
            judgement = card.dimensions[aim.dimension].judgement
            parts = (draft.manuscript.title, section.heading, section.body[:300], judgement.advice if judgement else "")
            query = " ".join(parts)
            passages = citable(draft, self._around.gather(query, improve_rules().passages))
            if not passages:
                return done("no passage was found that the manuscript can cite"), None
        results = self._around.results
        given = results if aim.action == "add_analysis" else None
        memory = memory_of(self._log.done)
        try:
            written, left_out = revised(
                draft, aim, card, memory, given, passages, self._working.client, self._working.meter
            )
        except ModelAnswer as error:
            return done(error.message), None
        try:
            made = revision_of(draft, aim.section, written, left_out, passages, self._path)
        except InputFormat as error:
            return done(f"it cannot be read any more: {error.message}"), None
        if isinstance(made, str):
            return done(made, left_out=left_out), None
        new, revision = made
        if why := objection_to(revision, results):
            return done(why, left_out=left_out), None
        looked, corpus = self._around.look(new.manuscript)
        if why := objection_to_remarks(found, looked, left_out):
            return done(why, left_out=left_out), None
        scored = self._scored(looked, corpus, card)
        after = standing_of(scored)
        if scored.missing != card.missing:
            return done("a part of the score is there before or after alone", after=after, left_out=left_out), None
        tie = improve_rules().tie
        raised = scored.dimensions[aim.dimension].partial > card.dimensions[aim.dimension].partial
        if not (after > best or (after >= best - tie and raised)):
            return done(f"the score is {after:.2f}, the best {best:.2f}", after=after, left_out=left_out), None
        added = looked.manuscript.references[len(found.manuscript.references) :]
        accepted = done(
            "better" if after > best else f"equal, and better in {aim.dimension}", after=after, left_out=left_out,
            outcome="accepted", best=max(best, after), added=[r.text for r in added],
            sha256=text_digest(new.source), card=scored,
        )  # fmt: skip
        return accepted, (new, looked, scored)


def role(client: ChatClient, total: Meter) -> ModelRole:
    """A model whose cost counts in a total.

    Args:
        client: The model.
        total: Counts what all of them take.

    Returns:
        Both.
    """
    return ModelRole(client, Meter(Limits(), client.prices, total))
