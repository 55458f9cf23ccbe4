"""Improve a manuscript round by round, after Prompt-to-Paper: the weakest dimension, an action by root cause.

A judge scores, a worker writes one section again, guards hold what it wrote against what is known, and a round counts
only if the score is not worse than the best. All that a round depends on is in the log of the rounds before it, so that
it goes on where a process was killed.
"""

import json
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from pydantic import Field

from kgcheck.errors import InputFormat, KgcheckError, ModelAnswer
from kgcheck.grounding.ground import Grounded
from kgcheck.grounding.improvement_log import RESULTS, ImprovementLog, ImprovementRound, ImprovementStart
from kgcheck.grounding.judge import judge
from kgcheck.grounding.manuscript import Block, Manuscript, Table
from kgcheck.grounding.manuscripts.markers import AuthorYears
from kgcheck.grounding.numbers import numbers_of_results
from kgcheck.grounding.quantities import quantities
from kgcheck.grounding.remarks import REMARKS, Check, Remarked, SentenceState
from kgcheck.grounding.results import Results, read_results
from kgcheck.grounding.revising import (
    MOST_CHARACTERS,
    Aim,
    GivenPassage,
    ManuscriptSource,
    Revision,
    citable,
    draft_of,
    revised,
    revision_of,
    text_digest,
)
from kgcheck.grounding.score import CorpusFigures, ScoreCard, score, score_rules
from kgcheck.inputs import parse_json, read_whole
from kgcheck.literature.documents import Span
from kgcheck.llm.budget import CostByPart, Limits, Meter
from kgcheck.llm.client import ChatClient
from kgcheck.model import Value
from kgcheck.outputs import write_text
from kgcheck.profile.toml_files import read_value
from kgcheck.progress import NoProgress, Progress
from kgcheck.resources import resource_dir
from kgcheck.visible import visible

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_NAME = re.compile(r"[^\W_]+(?:[-_][^\W_]+)*")
_CITED = re.compile(r"(?:\[\^?|\^)\s?\d{1,4}(?:\s?[,;\u2013-]\s?\d{1,4}){0,60}\s?[\]^]")
_WORD = re.compile(r"[^\s,;()\[\]]+")
_MARKUP = re.compile(
    r"""(?:https?://|www\.)[^\s<>)\]]+      # addresses
    |\b10\.\d{4,9}/[^\s<>)\]]+              # DOIs
    |(?<=\]\()[^\s)]+                       # targets of links and images
    |(?<=\]:)\s*\S+                         # targets below the text
    |<[A-Za-z/!?][^\s>]*                    # HTML
    |\\[A-Za-z]+                            # commands
    |\{=\w+\}                               # what is written through
    """,
    re.VERBOSE,
)


def objection_to(revision: Revision, results: Results | None) -> str:
    """Say why the new text of a section is rejected, before it is grounded."""
    before, after = _changed(revision.old.blocks, revision.new.blocks)
    return (
        _list_differs(revision)
        or _hidden(revision)
        or _strange_markup(revision)
        or _strange_citation(revision, after)
        or _strange_number(revision, after, results)
        or _lost(revision, before, after)
    )


def objection_to_remarks(old: Grounded, new: Grounded, left_out: Sequence[str]) -> str:
    """Say why the new text is rejected for what was found of it."""
    more = Counter(map(_contradiction, _contradicted(new))) - Counter(map(_contradiction, _contradicted(old)))
    for remarked in _contradicted(new):
        if more[_contradiction(remarked)] > 0:
            return f"it is contradicted: {REMARKS[remarked.remark].lower()}: {remarked.note}"
    if new.incomplete and not old.incomplete:
        return "what it states could not be looked up"
    lost = sorted(_verified(old) - _verified(new))
    unnamed = [fact for fact in lost if not any(fact.casefold() in one.casefold() for one in left_out)]
    return f"it loses the verified fact {unnamed[0]!r}, and does not say so" if unnamed else ""


def _changed(old: Sequence[Block], new: Sequence[Block]) -> tuple[Sequence[Block], Sequence[Block]]:
    """The blocks of both that are not the same at the beginning and at the end."""
    most = min(len(old), len(new))
    start = next((n for n in range(most) if old[n].text != new[n].text), most)
    most -= start
    end = next((n for n in range(most) if old[-1 - n].text != new[-1 - n].text), most)
    return old[start : len(old) - end], new[start : len(new) - end]


def _list_differs(revision: Revision) -> str:
    old, new = revision.old.references, revision.new.references
    if new[: len(old)] != old or tuple(r.key for r in new[len(old) :]) != revision.added:
        return "the list of references does not stay as it was"
    return ""


def _hidden(revision: Revision) -> str:
    """Object to signs that nobody sees: programs may read them."""
    text = revision.body.replace("\t", " ").replace("\r", "")
    if visible(text, layout=True) != text and visible(revision.section.body, layout=True) == revision.section.body:
        return "it holds signs that cannot be seen"
    return ""


def _strange_markup(revision: Revision) -> str:
    known = "\n".join((revision.section.body, *revision.given))
    marks = dict.fromkeys(m[0].strip() for m in _MARKUP.finditer(revision.body))
    strange = next((mark for mark in marks if mark.rstrip(".") not in known), "")
    if strange:
        return f"it brings in {strange!r}, which is neither in the old text nor in what was given"
    figures = revision.section.body.count("![") - revision.body.count("![")
    return "it loses a figure" if figures > 0 else ""


def _strange_citation(revision: Revision, after: Iterable[Block]) -> str:
    keys = {r.key for r in revision.new.references}
    strange = next((k for block in after for m in block.markers for k in m.keys if k not in keys), "")
    if not strange:
        finder = AuthorYears(revision.new.references)
        old = {revision.section.body[m.start : m.end] for m in finder.marks(revision.section.body)}
        names = (revision.body[m.start : m.end] for m in finder.marks(revision.body) if not m.found)
        strange = next((name for name in names if name not in old), "")
    return f"it cites {strange!r}, which is neither in the list nor was given" if strange else ""


def _measured(text: str, without: Iterable[Span] = ()) -> set[tuple[object, ...]]:
    return {(q.value, q.unit, q.comparator) for q in quantities(text, without)}


def _strange_number(revision: Revision, after: Sequence[Block], results: Results | None) -> str:
    old = "\n".join((revision.section.body, *revision.given))
    names = " ".join(result.name for result in results.all) if results else ""
    known, words = _measured(old), {word for text in (old, names) for _, word in _numbered(text)}
    right: Counter[str] = Counter()
    if results:
        for text in _statements(after, revision.old.tables, revision.new.tables):
            right.update(text[start:end] for start, end in numbers_of_results(text, results))
    body = revision.body
    own = quantities(body)
    measured = [(q.start, q.number_end) for q in own]
    most = len(revision.new.references)
    cited = [m.span() for m in _CITED.finditer(body) if all(0 < int(n) <= most for n in re.findall(r"\d+", m[0]))]
    for at, word in _numbered(body):
        if _covering(cited, at) is not None:
            continue
        place = _covering(measured, at)
        if place is None:
            fine = word in words
        else:
            quantity = own[place]
            fine = (quantity.value, quantity.unit, quantity.comparator) in known
            if not fine:
                # As often as it is right: a result may stand in a sentence about something else, too.
                shown = body[quantity.start : quantity.number_end]
                right[shown] -= 1
                fine = right[shown] >= 0
        if not fine:
            return f"it holds the number {word}, which is in neither the results, the old text nor what was given"
    return ""


def _numbered(text: str) -> Iterator[tuple[int, str]]:
    """The numbers of a text by their places; of one within a name, as IL-6, the name."""
    names = [m.span() for m in _NAME.finditer(text) if any(map(str.isalpha, m[0]))]
    for match in _NUMBER.finditer(text):
        place = _covering(names, match.start())
        yield match.start(), match[0] if place is None else text[slice(*names[place])].casefold()


def _covering(spans: Sequence[Span], at: int) -> int | None:
    """Find which of some spans in order covers a place."""
    place = bisect_right(spans, at, key=lambda span: span[0]) - 1
    return place if place >= 0 and at < spans[place][1] else None


def _statements(after: Iterable[Block], old: Sequence[Table], new: Sequence[Table]) -> Iterator[str]:
    """Sentences and rows of tables that are new, without their citations."""
    for block in after:
        text = block.text
        for marker in block.markers:
            text = text[: marker.start] + " " * (marker.end - marker.start) + text[marker.end :]
        yield from (text[start:end] for start, end in block.spans)
    for table in new:
        if table.rows not in [t.rows for t in old]:
            head = " ".join(table.rows[0]) if table.rows else ""
            yield from (f"{head} {' '.join(row)}" for row in table.rows)


def _lost(revision: Revision, before: Sequence[Block], after: Sequence[Block]) -> str:
    """A citation, a number or a table of the old text that is gone, and of which the model does not say so."""
    named = {w.strip(".:@^") for text in revision.left_out for w in _WORD.findall(text)}
    old, new = ({k for b in blocks for m in b.markers for k in m.keys} for blocks in (before, after))
    if gone := sorted(old - new - named):
        return f"it loses the citation of {gone[0]!r}, and does not say so"
    kept = {q for b in after for q in _measured(b.text, _places(b))} | _measured(revision.body)
    for block in before:
        for q in quantities(block.text, _places(block)):
            shown = block.text[q.start : q.number_end].strip()
            if (q.value, q.unit, q.comparator) not in kept and not {shown, block.text[q.start : q.end]} & named:
                return f"it loses the number {block.text[q.start : q.end]}, and does not say so"
    tables = [t.rows for t in revision.new.tables]
    if any(t.rows not in tables for t in revision.old.tables):
        return "it loses or changes a table"
    return ""


def _places(block: Block) -> list[Span]:
    return [(m.start, m.end) for m in block.markers]


def _contradicted(found: Grounded) -> list[Remarked]:
    return [r for r in found.remarks if r.state is SentenceState.CONTRADICTED]


def _contradiction(remarked: Remarked) -> tuple[object, ...]:
    return remarked.remark, remarked.stated, remarked.found, remarked.reference


def _verified(found: Grounded) -> set[str]:
    return {
        r.stated for r in found.remarks if r.check is Check.GRAPH and r.state is SentenceState.VERIFIED and r.stated
    }


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


def with_results(given: Path | None, experiment: Experiment, folder: Path) -> tuple[Results, Results]:
    """The results of a manuscript with those of an experiment, in a file of the folder."""
    known = parse_json(read_whole(given)) if given else {}
    if not isinstance(known, dict):
        known = {"results": known}
    if experiment.name in known:
        raise InputFormat(f"{given} has results called {experiment.name!r} already", "call them by another name")
    path = folder / RESULTS
    write_text(path, json.dumps({**known, experiment.name: experiment.results}, indent=2, allow_nan=False) + "\n")
    whole = read_results(path)
    own = [r for r in whole.all if r.name.startswith(f"{experiment.name}.")]
    return whole, Results(whole.source, whole.release, whole.at, canonical=True, found=own)


ANALYSIS = "add_analysis"
"""Action that results of an analysis answer."""


class ActionRule(Value):
    """An action of the ladder."""

    dimensions: tuple[str, ...]
    task: str


class ImproveRules(Value):
    """Rules by which rounds are chosen; see corpus/grounding/improve.toml."""

    failures: int = Field(gt=0)
    rest: int = Field(ge=0)
    memory: int
    tie: float
    deep_least: int
    deep_part: int
    passages: int
    actions: dict[str, ActionRule]


@cache
def improve_rules() -> ImproveRules:
    """The rules."""
    return read_value(resource_dir("corpus") / "grounding" / "improve.toml", ImproveRules)


def deep_every(rounds: int) -> int:
    """After how many rounds a deep cycle is due.

    >>> deep_every(12), deep_every(60)
    (5, 10)
    """
    rules = improve_rules()
    return max(rules.deep_least, rounds // rules.deep_part)


def failures_in_a_row(rounds: Sequence[ImprovementRound], dimension: str) -> int:
    """Count the rounds that aimed at a dimension without success since it was last raised."""
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
    """Choose what the next round is to do."""
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


def deep_aim(draft: ManuscriptSource, card: ScoreCard, rounds: Sequence[ImprovementRound]) -> Aim | None:
    """Choose what a deep cycle is to do, whatever failed before it."""
    for name in sorted(card.dimensions, key=lambda name: card.dimensions[name].partial):
        if every := _sections(draft, name):
            # What an analysis found is told among the results, where numbers are held against those of a file.
            places = [n for n in every if draft.sections[n].kind == "results"] or every
            action, aimed = _ladder(name, {})[0], sum(r.dimension == name for r in rounds)
            task = improve_rules().actions[action].task
            return Aim(dimension=name, action=action, task=task, section=places[aimed % len(places)])
    return None


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
    """Sum up earlier rounds: the last ones whole, older ones a line each."""
    most = improve_rules().memory
    done = [r for r in rounds if r.dimension]
    older = []
    for r in done[:-most]:
        change = "" if r.after is None or r.before is None else f" {r.after - r.before:+.2f}"
        older.append(f"{r.dimension}, {r.action}, {r.section}: {r.outcome}{change}")
    kept = {"number", "outcome", "dimension", "action", "section", "reason", "before", "after", "left_out"}
    return [*older, *(r.model_dump(mode="json", include=kept) for r in done[-most:])]


class ModelRole(NamedTuple):
    """A model with what counts for it."""

    client: ChatClient
    meter: Meter


class Surroundings(NamedTuple):
    """Context of a manuscript that is improved.

    ``look`` grounds a text against results and says how it stands to the corpus; ``gather`` finds passages;
    ``experiments`` are those of deep cycles. All of them come from a workspace.
    """

    look: Callable[[Manuscript, Results | None], tuple[Grounded, CorpusFigures | None]]
    gather: Callable[[str, int], list[GivenPassage]] | None
    results: Path | None
    experiments: Experiments


class _Standing(NamedTuple):
    """The manuscript as it stands: its text, what was found of it, its score, and the results that it was held against.

    ``given`` are those of the results that a worker may use.
    """

    draft: ManuscriptSource
    found: Grounded
    card: ScoreCard
    results: Results | None
    given: Results | None


def standing_of(card: ScoreCard) -> float:
    """Score by which rounds are compared: the overall one, or the mean of the tiers that are there."""
    if card.overall is not None:
        return card.overall
    return sum(d.partial for d in card.dimensions.values()) / len(card.dimensions)


class Improver:
    """Improvement of one manuscript."""

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
        """Do the rounds that are left."""
        draft = draft_of(self._log.text(), self._path)
        file = self._log.results_file(self._around.results)
        results = read_results(file) if file else None
        found, corpus = self._around.look(draft.manuscript, results)
        now = _Standing(draft, found, self._first(found, corpus), results, results)
        self._log.show()
        try:
            with self._progress.step(f"improving {draft.manuscript.name}", rounds) as step:
                step.advance(min(rounds, len(self._log.done)))
                while (number := len(self._log.done) + 1) <= rounds:
                    deep = number % deep_every(rounds) == 0
                    aim = self._aim(now, deep=deep)
                    if aim is None:
                        break
                    now = self._recorded(number, aim, now, deep=deep)
                    self._log.show()
                    step.advance()
        finally:
            self._log.plot()

    def _aim(self, now: _Standing, *, deep: bool) -> Aim | None:
        if deep:
            return deep_aim(now.draft, now.card, self._log.done)
        has_results = self._log.results_file(self._around.results) is not None
        possible = {ANALYSIS: has_results, "gather_evidence": self._around.gather is not None}
        return next_aim(now.draft, now.card, self._log.done, possible)

    def _recorded(self, number: int, aim: Aim, now: _Standing, *, deep: bool) -> _Standing:
        """Do a round and keep it; the manuscript after it."""
        try:
            done, kept = (self._deep_cycle if deep else self._round)(number, aim, now)
        except KgcheckError as error:
            self._log.add(self._line(number, "stopped", error.message, dimension=aim.dimension))
            self._log.show()
            raise
        self._log.add(done, kept.draft.source if kept else None)
        return kept or now

    def _deep_cycle(self, number: int, aim: Aim, now: _Standing) -> tuple[ImprovementRound, _Standing | None]:
        """Run an experiment where the weakest dimension lacks an analysis, and let its section tell what it found."""
        if aim.action != ANALYSIS:
            why = f"no analysis raises {aim.dimension.replace('_', ' ')}, the weakest dimension: nothing was run"
            return self._line(number, "deep_cycle", why), None
        judgement = now.card.dimensions[aim.dimension].judgement
        folder = self._log.experiment_folder(number)
        request = ExperimentRequest(
            text=now.draft.manuscript,
            wanted=judgement.advice if judgement else aim.task,
            done=frozenset(r.experiment for r in self._log.done if r.experiment),
            folder=folder,
        )
        found = self._around.experiments.run(request)
        if not found.results:
            return self._line(number, "deep_cycle", found.note, experiment=found.name), None
        try:
            results, given = with_results(self._log.results_file(self._around.results), found, folder)
        except InputFormat as error:
            return self._line(number, "deep_cycle", error.message, experiment=found.name), None
        # Against more results the same text may stand elsewhere: what it is compared with is itself, held against them.
        looked, corpus = self._around.look(now.draft.manuscript, results)
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
                judge=self._judging.client.model,
                worker=self._working.client.model,
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
        judgements = judge(found.manuscript, self._judging.client, self._judging.meter, before)
        return score(found, corpus, judgements)

    def _round(
        self, number: int, aim: Aim, now: _Standing, best: float | None = None
    ) -> tuple[ImprovementRound, _Standing | None]:
        """Write a section again; in a deep cycle, ``best`` is the standing that it must not fall below."""
        draft, found, card, results, _ = now
        section, deep = draft.sections[aim.section], best is not None
        standing, best = standing_of(card), self._best() if best is None else best
        own = {"dimension": aim.dimension, "action": aim.action, "section": section.heading, "before": standing}

        def done(reason: str, outcome: str = "rejected", **more: object) -> ImprovementRound:
            return self._line(number, outcome, reason, **(own | more))

        passages: list[GivenPassage] = []
        if self._around.gather and aim.action == "gather_evidence":
            judgement = card.dimensions[aim.dimension].judgement
            advice = judgement.advice if judgement else ""
            query = " ".join((draft.manuscript.title, section.heading, section.body[:300], advice))
            passages = citable(draft, self._around.gather(query, improve_rules().passages))
            if not passages:
                return done("no passage was found that the manuscript can cite"), None
        given = now.given if aim.action == ANALYSIS else None
        worker = self._working
        try:
            written, left_out = revised(
                draft, aim, card, memory_of(self._log.done), given, passages, worker.client, worker.meter
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
        looked, corpus = self._around.look(new.manuscript, results)
        if why := objection_to_remarks(found, looked, left_out):
            return done(why, left_out=left_out), None
        scored = self._scored(looked, corpus, card)
        after = standing_of(scored)
        if scored.missing != card.missing:
            return done("a part of the score is there before or after alone", after=after, left_out=left_out), None
        tie = improve_rules().tie
        raised = scored.dimensions[aim.dimension].partial > card.dimensions[aim.dimension].partial
        if not (after > best or (after >= best - tie and (raised or deep))):
            return done(f"the score is {after:.2f}, the best {best:.2f}", after=after, left_out=left_out), None
        added = looked.manuscript.references[len(found.manuscript.references) :]
        accepted = done(
            "better" if after > best else "not worse" if deep else f"equal, and better in {aim.dimension}",
            after=after, left_out=left_out,
            outcome="accepted", best=max(best, after), added=[r.text for r in added],
            sha256=text_digest(new.source), card=scored,
        )  # fmt: skip
        return accepted, _Standing(new, looked, scored, results, results)


def role(client: ChatClient, total: Meter) -> ModelRole:
    """A model whose cost counts in a total."""
    return ModelRole(client, Meter(Limits(), client.prices, total))
