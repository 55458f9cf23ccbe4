"""Improve a manuscript in rounds: a model scores it, another rewrites its weakest section.

A judge scores, a worker writes one section again, guards hold what it wrote against what is known, and a round counts
only if the score is not worse than the best. All that a round depends on is in the log of the rounds before it, so that
it goes on where a process was killed.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from kgcheck.context import Context
from kgcheck.errors import InputFormat, KgcheckError, ModelAnswer, UsageError
from kgcheck.grounding.ground import Grounded, Grounder, Notes, open_grounder
from kgcheck.grounding.improvement_log import RESULTS, ImprovementLog, ImprovementRound, ImprovementStart
from kgcheck.grounding.manuscript import Manuscript
from kgcheck.grounding.results import Results, read_results
from kgcheck.grounding.revising import (
    MOST_CHARACTERS,
    Aim,
    GivenPassage,
    ManuscriptSource,
    citable,
    draft_of,
    objection_to,
    objection_to_remarks,
    revised,
    revision_of,
    text_digest,
)
from kgcheck.grounding.score import CorpusFigures, ScoreCard, corpus_of, judge, score, score_rules
from kgcheck.inputs import parse_json, read_toml, read_whole
from kgcheck.literature.search import rank_passages
from kgcheck.llm.budget import CostByPart, Limits, Meter, RunMeter, spent_note
from kgcheck.llm.client import ChatClient
from kgcheck.locks import only_one
from kgcheck.options import TextOptions
from kgcheck.outputs import write_text
from kgcheck.resources import resource_dir

MARKDOWN = (".md", ".markdown", ".rmd", ".qmd")


class ExperimentRequest(NamedTuple):
    """Request of a deep cycle."""

    text: Manuscript
    wanted: str
    done: frozenset[str]
    folder: Path


class Experiment(NamedTuple):
    """Experiment that was run."""

    name: str
    results: Mapping[str, Any] | None
    note: str


class Experiments(Protocol):
    """Runner of experiments about a manuscript."""

    def run(self, request: ExperimentRequest) -> Experiment:
        """Run the next one."""


def with_results(file: Path | None, experiment: Experiment, folder: Path) -> tuple[Results, Results]:
    """The results of a manuscript with those of an experiment, in a file of the folder."""
    known = parse_json(read_whole(file)) if file else {}
    if not isinstance(known, dict):
        known = {"results": known}
    if experiment.name in known:
        raise InputFormat(f"{file} has results called {experiment.name!r} already", "call them by another name")
    path = folder / RESULTS
    write_text(path, json.dumps({**known, experiment.name: experiment.results}, indent=2, allow_nan=False) + "\n")
    whole = read_results(path)
    own = [r for r in whole.all if r.name.startswith(f"{experiment.name}.")]
    return whole, Results(whole.source, whole.release, whole.at, canonical=True, found=own)


ANALYSIS = "add_analysis"  # the action that results of an analysis answer
EVIDENCE = "gather_evidence"  # the action that passages of papers answer


@cache
def improve_rules() -> dict[str, Any]:
    """The rules by which rounds are chosen, from corpus/grounding/improve.toml."""
    return read_toml(resource_dir("corpus") / "grounding" / "improve.toml")


def deep_every(rounds: int) -> int:
    """After how many rounds a deep cycle is due.

    >>> deep_every(12), deep_every(60)
    (5, 10)
    """
    rules = improve_rules()
    return max(int(rules["deep_least"]), rounds // int(rules["deep_part"]))


def _judged(card: ScoreCard) -> dict[str, float]:
    """The dimensions that were judged, the weakest first."""
    judged = {name: d.partial for name, d in card.dimensions.items() if d.partial is not None}
    return dict(sorted(judged.items(), key=lambda one: one[1]))


def next_aim(
    draft: ManuscriptSource, card: ScoreCard, rounds: Sequence[ImprovementRound], possible: Mapping[str, bool]
) -> Aim | None:
    """Choose what the next round is to do."""
    rules = improve_rules()
    aims: list[Aim] = []
    for name in _judged(card):
        own = [r for r in rounds if r.dimension == name]
        # Rounds that aimed at it without success since it was last raised.
        tried = next((n for n, r in enumerate(reversed(own)) if r.outcome == "accepted"), len(own))
        actions, step, places = _ladder(name, possible), tried // rules["failures"], _sections(draft, name)
        if not places or step >= len(actions):
            continue
        aim = _aim(name, actions[step], places[len(own) % len(places)])
        if tried == 0 or not any(r.dimension == name for r in rounds[len(rounds) - rules["rest"] :]):
            return aim
        aims.append(aim)
    # Where all rest, the weakest one goes on.
    return aims[0] if aims else None


def deep_aim(draft: ManuscriptSource, card: ScoreCard, rounds: Sequence[ImprovementRound]) -> Aim | None:
    """Choose what a deep cycle is to do, whatever failed before it."""
    for name in _judged(card):
        if every := _sections(draft, name):
            # What an analysis found is told among the results, where numbers are held against those of a file.
            places = [n for n in every if draft.sections[n].kind == "results"] or every
            return _aim(name, _ladder(name, {})[0], places[sum(r.dimension == name for r in rounds) % len(places)])
    return None


def _aim(dimension: str, action: str, section: int) -> Aim:
    return Aim(dimension=dimension, action=action, task=improve_rules()["actions"][action]["task"], section=section)


def _ladder(dimension: str, possible: Mapping[str, bool]) -> list[str]:
    """The actions for a dimension, its own first; those after it follow, and then those before it."""
    actions = improve_rules()["actions"]
    names = list(actions)
    own = next(n for n, name in enumerate(names) if dimension in actions[name]["dimensions"])
    return [name for name in (*names[own:], *names[:own]) if possible.get(name, True)]


def _sections(draft: ManuscriptSource, dimension: str) -> list[int]:
    """The places of the sections that a dimension is judged by and that a model can write again."""
    reads = score_rules()["dimensions"][dimension]["reads"]
    return [
        place
        for place, s in enumerate(draft.sections)
        if s.kind in reads and not s.listing and s.body.strip() and len(s.body) <= MOST_CHARACTERS
    ]


def memory_of(rounds: Sequence[ImprovementRound]) -> list[object]:
    """Sum up earlier rounds: the last ones whole, older ones a line each."""
    most = improve_rules()["memory"]
    done = [r for r in rounds if r.dimension]
    older = []
    for r in done[:-most]:
        change = "" if r.after is None or r.before is None else f" {r.after - r.before:+.2f}"
        older.append(f"{r.dimension}, {r.action}, {r.section}: {r.outcome}{change}")
    kept = {"number", "outcome", "dimension", "action", "section", "reason", "before", "after", "left_out"}
    return [*older, *(r.model_dump(mode="json", include=kept) for r in done[-most:])]


def standing_of(card: ScoreCard) -> float:
    """Score by which rounds are compared: the overall one, or the mean of what was judged."""
    if card.overall is not None:
        return card.overall
    judged = _judged(card).values()
    return sum(judged) / max(len(judged), 1)


class _Standing(NamedTuple):
    """The manuscript as it stands: its text, what was found of it, its score, and the results that it was held against.

    ``given`` are those of the results that a worker may use.
    """

    draft: ManuscriptSource
    found: Grounded
    card: ScoreCard
    results: Results | None
    given: Results | None


def improve_manuscript(
    context: Context,
    path: Path,
    out: Path,
    options: TextOptions,
    rounds: int,
    experiments: Callable[[Context, ChatClient, Meter], Experiments],
) -> tuple[ImprovementLog, Notes]:
    """Make a manuscript better round by round, with a model that judges and one that writes; go on in a folder."""
    if context.brain != "llm":
        raise UsageError("improving needs a model that judges and one that writes", "use the brain llm")
    if path.suffix.lower() not in MARKDOWN:
        raise InputFormat(f"{path} is not Markdown, which alone can be improved", "convert it, as pandoc does")
    source = read_whole(path, encoding="utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    notes: list[str] = []
    with ExitStack() as opened:
        judging = opened.enter_context(ChatClient(context.settings, notes))
        working = opened.enter_context(ChatClient(context.settings.for_worker(), notes))
        total = RunMeter(Limits.of(options), judging.prices if working.prices else None)
        grounder = opened.enter_context(open_grounder(context, options))
        opened.enter_context(only_one(out, "improves a manuscript"))
        log = ImprovementLog(out, source)
        worker = (working, Meter(Limits(), working.prices, total))
        improver = Improver(path, log, grounder, options.results, judging, worker, total, experiments(context, *worker))
        improver.run(rounds)
    return log, (*dict.fromkeys(grounder.notes), *improver.partly_looked, *notes, *spent_note(total))


class Improver:
    """Improvement of one manuscript."""

    def __init__(
        self,
        path: Path,
        log: ImprovementLog,
        grounder: Grounder,
        results: Path | None,
        judging: ChatClient,
        working: tuple[ChatClient, Meter],
        total: Meter,
        experiments: Experiments,
    ) -> None:
        self._path, self._log, self._grounder, self._experiments = path, log, grounder, experiments
        self._context, self._given_results = grounder.context, results
        self._judging, self._working = (judging, Meter(Limits(), judging.prices, total)), working
        self._costs = CostByPart(total, log.costs())
        self.partly_looked: list[str] = []
        models = (judging.model, working[0].model)
        if log.start and (log.start.judge, log.start.worker) != models:
            why = f"{log.folder} was judged by {log.start.judge} and written by {log.start.worker}"
            raise InputFormat(why, "name the same models, or another --out")

    def run(self, rounds: int) -> None:
        """Do the rounds that are left."""
        draft, file = draft_of(self._log.text(), self._path), self._log.results_file(self._given_results)
        results = read_results(file) if file else None
        found, corpus = self._look(draft.manuscript, results)
        now = _Standing(draft, found, self._first(found, corpus), results, results)
        self._log.show()
        with self._context.progress.step(f"improving {draft.manuscript.name}", rounds) as step:
            step.advance(min(rounds, len(self._log.done)))
            while (number := len(self._log.done) + 1) <= rounds:
                deep = number % deep_every(rounds) == 0
                named = self._log.results_file(self._given_results)
                possible = {ANALYSIS: named is not None, EVIDENCE: self._context.literature is not None}
                known = now.draft, now.card, self._log.done
                aim = deep_aim(*known) if deep else next_aim(*known, possible)
                if aim is None:
                    break
                try:
                    done, kept = (self._deep_cycle if deep else self._round)(number, aim, now)
                except KgcheckError as error:
                    self._log.add(self._line(number, "stopped", error.message, dimension=aim.dimension))
                    self._log.show()
                    raise
                self._log.add(done, kept.draft.source if kept else None)
                now = kept or now
                self._log.show()
                step.advance()

    def _look(self, text: Manuscript, results: Results | None) -> tuple[Grounded, CorpusFigures | None]:
        found = self._grounder.ground(text, results)
        # Once for all rounds: each has a few sentences more or less.
        self.partly_looked = self.partly_looked or self._grounder.partly_looked(found)
        return found, corpus_of(self._context, text, self._grounder.notes)

    def _deep_cycle(self, number: int, aim: Aim, now: _Standing) -> tuple[ImprovementRound, _Standing | None]:
        """Run an experiment where the weakest dimension lacks an analysis, and let its section tell what it found."""
        if aim.action != ANALYSIS:
            why = f"no analysis raises {aim.dimension.replace('_', ' ')}, the weakest dimension: nothing was run"
            return self._line(number, "deep_cycle", why), None
        folder, wanted = self._log.experiment_folder(number), _advice(now.card, aim.dimension, aim.task)
        ran = frozenset(r.experiment for r in self._log.done if r.experiment)
        found = self._experiments.run(ExperimentRequest(now.draft.manuscript, wanted, ran, folder))
        try:
            if not found.results:
                return self._line(number, "deep_cycle", found.note, experiment=found.name), None
            results, given = with_results(self._log.results_file(self._given_results), found, folder)
        except InputFormat as error:
            return self._line(number, "deep_cycle", error.message, experiment=found.name), None
        # Against more results the same text may stand elsewhere: what it is compared with is itself, held against them.
        looked, corpus = self._look(now.draft.manuscript, results)
        before = _Standing(now.draft, looked, self._scored(looked, corpus, now.card), results, given)
        done, kept = self._round(number, aim, before, best=standing_of(before.card))
        done = done.model_copy(update={"experiment": found.name, "reason": f"{found.note}; {done.reason}"})
        if kept is None:
            return done, None
        digest = text_digest(read_whole(folder / RESULTS))
        return done.model_copy(update={"results": digest}), kept._replace(given=results)

    def _line(self, number: int, outcome: str, reason: str, **more: object) -> ImprovementRound:
        fields = {"number": number, "outcome": outcome, "reason": reason, "best": self._best()}
        return ImprovementRound.model_validate(fields | {"cost": self._costs.next()} | more)

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
                judge=self._judging[0].model,
                worker=self._working[0].model,
                card=card,
                standing=standing_of(card),
                cost=self._costs.next(),
            )
        )
        return card

    def _best(self) -> float:
        best = self._log.start.standing if self._log.start else 0.0
        for done in self._log.done:
            # Scores against other results are no measure of one another.
            best = done.best if done.results else max(best, done.best)
        return best

    def _scored(self, found: Grounded, corpus: CorpusFigures | None, before: ScoreCard | None) -> ScoreCard:
        return score(found, corpus, judge(found.manuscript, *self._judging, before))

    def _round(
        self, number: int, aim: Aim, now: _Standing, best: float | None = None
    ) -> tuple[ImprovementRound, _Standing | None]:
        """Write a section again; in a deep cycle, ``best`` is the standing that it must not fall below."""
        draft, found, card, results, _ = now
        deep = best is not None
        standing, best = standing_of(card), self._best() if best is None else best
        own: dict[str, object] = {"dimension": aim.dimension, "action": aim.action, "before": standing}
        own["section"] = draft.sections[aim.section].heading

        def rejected(reason: str) -> tuple[ImprovementRound, None]:
            return self._line(number, "rejected", reason, **own), None

        passages: list[GivenPassage] = []
        if self._context.literature is not None and aim.action == EVIDENCE:
            section = draft.sections[aim.section]
            about = (draft.manuscript.title, section.heading, section.body[:300], _advice(card, aim.dimension, ""))
            passages = citable(draft, _found_passages(self._context, " ".join(about), improve_rules()["passages"]))
            if not passages:
                return rejected("no passage was found that the manuscript can cite")
        given = now.given if aim.action == ANALYSIS else None
        try:
            written, left_out = revised(draft, aim, card, memory_of(self._log.done), given, passages, *self._working)
        except ModelAnswer as error:
            return rejected(error.message)
        try:
            made = revision_of(draft, aim.section, written, left_out, passages, self._path)
        except InputFormat as error:
            return rejected(f"it cannot be read any more: {error.message}")
        own["left_out"] = left_out
        if isinstance(made, str):
            return rejected(made)
        new, revision = made
        if why := objection_to(revision, results):
            return rejected(why)
        looked, corpus = self._look(new.manuscript, results)
        if why := objection_to_remarks(found, looked, left_out):
            return rejected(why)
        scored = self._scored(looked, corpus, card)
        own["after"] = after = standing_of(scored)
        if scored.missing != card.missing:
            return rejected("a part of the score is there before or after alone")
        tie = improve_rules()["tie"]
        raised = _judged(scored)[aim.dimension] > _judged(card)[aim.dimension]
        if not (after > best or (after >= best - tie and (raised or deep))):
            return rejected(f"the score is {after:.2f}, the best {best:.2f}")
        own |= {
            "best": max(best, after),
            "added": [r.text for r in looked.manuscript.references[len(found.manuscript.references) :]],
            "sha256": text_digest(new.source),
            "card": scored,
        }
        reason = "better" if after > best else "not worse" if deep else f"equal, and better in {aim.dimension}"
        return self._line(number, "accepted", reason, **own), _Standing(new, looked, scored, results, results)


def _advice(card: ScoreCard, dimension: str, otherwise: str) -> str:
    judgement = card.dimensions[dimension].judgement
    return judgement.advice if judgement else otherwise


def _found_passages(context: Context, query: str, most: int) -> list[GivenPassage]:
    """The best passages of the papers, each with the sentences beside it, of none that is retracted."""
    found = []
    for hit in context.index([]).search(query, limit=most):
        document = hit.document
        if document.retracted:
            continue
        spans = document.spans
        best = rank_passages(query, document.passages)[0][0] if hit.nearest is None else hit.nearest
        start, end = spans[max(0, best - 1)][0], spans[min(best + 1, len(spans) - 1)][1]
        ids = (document.paper_id, *document.ids) if document.paper else document.ids
        parts = (document.title.rstrip("."), document.journal, str(document.year or ""), *ids[:3])
        entry = " ".join(". ".join(part for part in parts if part).split())
        found.append(GivenPassage(text=document.abstract[start:end], ids=ids, entry=f"{entry}."))
    return found
