"""Make sets of questions, run systems over them, grade what they answered, and filter what is too easy.

A run is a folder with one line an item, as every batch has it; a folder of such folders is a system that was run
several times. Whoever answers never sees the right answer, the insight or its paper.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from statistics import mean, median, mode, stdev
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pydantic import BaseModel

from kgcheck.bench.answer_judge import (
    JudgedAnswer,
    agreement,
    judge_by_model,
    judge_by_rules,
    score_choice,
)
from kgcheck.bench.batches import (
    Batch,
    brain_identity,
    done_items,
    graph_identity,
    keep_options,
    model_identity,
    read_results,
    run_batch,
    summed,
)
from kgcheck.bench.graph_questions import GraphQuestionMaker
from kgcheck.bench.insights import USABLE, Domain, Insight, SignState
from kgcheck.bench.kgcheck import AGENT_FAULTS, agent_faults
from kgcheck.bench.kgqa import read_rows
from kgcheck.bench.question_sets import BenchQuestion, question_id, read_models, read_set, transcript_of
from kgcheck.bench.truth import Truths
from kgcheck.context import Context, noting
from kgcheck.errors import InputFormat, UsageError
from kgcheck.inputs import parse_json, read_whole
from kgcheck.literature.arguments import missing
from kgcheck.literature.embed import open_model
from kgcheck.literature.weights import lacking
from kgcheck.llm.budget import Limits, Meter, spent_note, total_meter
from kgcheck.llm.forms import messages_of
from kgcheck.llm.kept import fresh_replies
from kgcheck.options import SetOptions, Spending, WorkerOptions
from kgcheck.outputs import write_text
from kgcheck.questions.answer import Answer, Questions, Status
from kgcheck.reference.snapshot import Snapshot
from kgcheck.visible import as_json

if TYPE_CHECKING:
    from kgcheck.llm.client import ChatClient

ALIKE = 0.95
"""Cosine of two questions from which on they are taken for one."""

EASY = 3.0
"""Score of an open answer above which a system without the data knew it."""


class MadeQuestion(BaseModel):
    """A question as a model writes it."""

    question: str
    answer: str = ""
    options: dict[Literal["A", "B", "C", "D"], str] = {}
    right: list[Literal["A", "B", "C", "D"]] = []


class MadeQuestions(BaseModel):
    """The form of a model's answer."""

    questions: list[MadeQuestion]


class OpenAnswer(BaseModel):
    """Answer of a model to an open question."""

    answer: str


class ChosenOptions(BaseModel):
    """Answer of a model to a choice."""

    chosen: list[str]


def graph_questions(context: Context, count: int, seed: int) -> tuple[list[BenchQuestion], list[str]]:
    """Make questions from the graph, without a model."""
    if context.reference is None:
        raise UsageError("answers are verified by a reference", "name a snapshot with --reference")
    Snapshot(context.reference, context.schema).close()
    with noting() as notes, Truths(context.reference) as truths:
        ask = Questions(context.graph, context.progress, context.name_index()).ask
        return GraphQuestionMaker(context.graph, truths, ask, seed, context.progress).make(count), notes


def insight_questions(
    context: Context,
    file: Path,
    domain: str,
    spending: Spending,
    *,
    outside_tools: bool = False,
    since: int | None = None,
) -> tuple[list[BenchQuestion], list[str]]:
    """Write questions on the signed insights of a file, or on those that were rejected for want of outside tools.

    With a year `since`, on those of papers alone that are known to be of then or later.
    """
    from kgcheck.llm.client import ChatClient

    states: tuple[SignState, ...] = ("outside_tools",) if outside_tools else USABLE
    read, spent = read_models(file, Insight), total_meter(context.settings, spending)
    insights = [one for one in read if since is None or (one.year or 0) >= since]
    with noting() as notes, ChatClient(context.settings, notes) as client:
        made, refused = questions_of_insights(insights, Domain.read(domain), client, spent, states)
        early = [f"{one.id}: its paper is of {one.year or 'an unknown year'}" for one in read if one not in insights]
        return made, [*early, *refused, *notes, *spent_note(spent)]


def questions_of_insights(
    insights: Sequence[Insight],
    domain: Domain,
    client: "ChatClient",
    meter: Meter,
    states: Sequence[SignState] = USABLE,
) -> tuple[list[BenchQuestion], list[str]]:
    """Write two open questions and two choices on each insight that a person signed; and why others are left out.

    What a right answer names must stand in the parts that were validated, or in the grounding where all were.
    """
    made: dict[str, BenchQuestion] = {}
    refused = [f"{one.id}: not signed as it stands, or rejected" for one in insights if not one.is_usable(states)]
    for insight in (one for one in insights if one.is_usable(states)):
        texts = [*insight.parts] if insight.parts != (insight.summary,) else [insight.summary, insight.grounding]
        content = {"parts": texts, "techniques": list(insight.techniques)}
        for form in ("open", "choice"):
            answer, _ = client.answer(messages_of(domain.prompt(form), content), MadeQuestions, meter=meter)
            for number, one in enumerate(answer.questions[:2], 1):
                if why := _objection(one, form, texts):
                    refused.append(f"{insight.id}, {form} {number}: {why}")
                    continue
                choice = {"options": one.options, "right": sorted(one.right)}
                name = question_id(insight.id, form, one.question)
                given: dict[str, Any] = {"id": name, "form": form, "question": one.question}
                given |= {"answer": one.answer} if form == "open" else choice
                made.setdefault(name, BenchQuestion.model_validate(insight.fields | given))
    return list(made.values()), refused


def _objection(made: MadeQuestion, form: str, texts: Sequence[str]) -> str:
    if form == "open":
        rights = [made.answer] if made.answer.strip() else []
    else:
        rights = [made.options[letter] for letter in made.right if letter in made.options]
        if len(made.options) < 4 or len({text.casefold() for text in made.options.values()}) < 4:
            return "it has not four options"
    if not rights or not made.question.strip():
        return "it has no right answer"
    lacks = [words for right in rights for words in missing(right, [*texts, made.question])]
    return f"the insight does not name: {', '.join(lacks)}" if lacks else ""


class SetRun(NamedTuple):
    """Run of a system over a set."""

    batch: Batch
    left: int
    notes: tuple[str, ...]
    stopped: str = ""


@fresh_replies()
def run_set(context: Context, file: Path, out: Path, options: SetOptions) -> SetRun:
    """Answer a set by the graph (`ask`, by rules or by a model with tools) or by a model alone, resumably."""
    questions, limits = read_set(file), Limits.of(options)
    spent, domain = total_meter(context.settings, options.total), Domain.read(options.domain)
    by = "agent" if options.agent else options.by
    identity: dict[str, Any] = {"task": "set", "by": by, "questions": question_id(*questions)}
    stopped, left, batches = "", options.repeat * len(questions), list[Batch]()
    with noting() as notes, ExitStack() as opened:
        work: Callable[[Path, BenchQuestion], dict[str, Any]]
        if by == "graph":
            identity |= graph_identity(context) | {"profile": context.profile} | brain_identity(context)
            ask = opened.enter_context(context.asker(limits, notes, papers=False, total=spent))
            work = _work_of(lambda question, _: _from_graph(ask(question.question), question))
        elif options.agent:
            client = _client(context, notes, opened)
            # Linux alone has what it needs.
            from kgcheck.bench.agent_runs import AgentRunner

            agent = AgentRunner(options, file, out, context.settings.home)
            prompts = question_id(*(domain.prompt(f"agent_{form}") for form in _PROMPTS))
            identity |= agent.identity | model_identity(context.settings) | {"prompts": prompts}
            work = _work_of(lambda question, out: agent.answer(question, out, client, domain, limits, spent))
        else:
            prompts = question_id(*map(domain.prompt, _PROMPTS.values()))
            identity |= model_identity(context.settings) | {"prompts": prompts}
            client = _client(context, notes, opened)
            work = _work_of(lambda question, _: _from_model(question, domain, client, limits, spent))
        for number in range(1, options.repeat + 1):
            folder = out / f"run-{number}" if options.repeat > 1 else out
            keep_options(folder, identity)
            answer = partial(work, folder)
            one, results, stopped = done_items(context, folder, questions, answer, options.workers, "answering")
            batches.append(one)
            left -= sum(question.id in results for question in questions)
            if stopped:
                break
        notes += spent_note(spent)
    return SetRun(summed(batches), left, tuple(notes), stopped)


def _client(context: Context, notes: list[str], opened: ExitStack) -> "ChatClient":
    from kgcheck.llm.client import ChatClient

    return opened.enter_context(ChatClient(context.settings, notes))


def _work_of(
    answer: Callable[[BenchQuestion, Path], dict[str, Any]],
) -> Callable[[Path, BenchQuestion], dict[str, Any]]:
    def work(folder: Path, question: BenchQuestion) -> dict[str, Any]:
        return {"form": question.form, "type": question.category} | answer(question, folder)

    return work


def _from_graph(answer: Answer, question: BenchQuestion) -> dict[str, Any]:
    """The answer of `ask` in words, or the options that it found."""
    found = [(node.ref.id, node.name or "") for node in answer.found]
    chosen = [
        letter
        for letter, text in question.options.items()
        if any(text in (id_, name) or text.endswith(f"({id_})") for id_, name in found)
    ]
    if answer.holds is not None:
        text = "yes" if answer.holds else "no"
    else:
        text = str(answer.count) if answer.count is not None else ", ".join(name or id_ for id_, name in found)
    if answer.status not in (Status.ANSWERED, Status.NOTHING):
        text, chosen = "", []
    return {"answer": text, "chosen": chosen, "because": answer.because, "tokens": answer.tokens, "cost": answer.cost}


_PROMPTS = {"open": "answer_open", "choice": "answer_choice"}


def _from_model(
    question: BenchQuestion, domain: Domain, client: "ChatClient", limits: Limits, total: Meter
) -> dict[str, Any]:
    meter = Meter(limits, client.prices, total)
    content = {"question": question.question, "options": question.options, "data": list(question.data.values())}
    messages = messages_of(domain.prompt(_PROMPTS[question.form]), content)
    if question.form == "open":
        written, _ = client.answer(messages, OpenAnswer, meter=meter)
        result: dict[str, Any] = {"answer": written.answer}
    else:
        picked, _ = client.answer(messages, ChosenOptions, meter=meter)
        result = {"chosen": sorted({letter.strip(" ).").upper() for letter in picked.chosen} & question.options.keys())}
    spent = meter.spent
    return result | {"tokens": spent.input_tokens + spent.output_tokens, "cost": spent.money, "seconds": spent.seconds}


class Graded(NamedTuple):
    """Scores of a run by a judge, by item: 1 to 5 of open questions, precision and the rest of choices."""

    name: str
    scores: dict[str, dict[str, Any]]
    results: dict[str, dict[str, Any]]
    by: str = ""
    model: str = ""

    @property
    def correctness(self) -> dict[str, float]:
        """Scores of the open questions."""
        return {id_: float(score["score"]) for id_, score in self.scores.items() if "score" in score}


def grade(
    context: Context,
    file: Path,
    systems: Sequence[Path],
    options: WorkerOptions,
    judge: str = "rules",
    domain: str = "biology",
) -> tuple[list[Graded], tuple[str, ...]]:
    """Grade the runs of systems over a set; what is graded stays beside each run, in scores-JUDGE.jsonl."""
    questions = {question.id: question for question in read_set(file)}
    spent, task = total_meter(context.settings), Domain.read(domain).prompt("judge")
    graded = []
    with noting() as notes, ExitStack() as opened:
        client = _client(context, notes, opened) if judge == "llm" else None
        for run in runs_of(systems):
            found = read_results(run / "results.jsonl")
            if not found.keys() & questions.keys():
                raise UsageError(f"{run} holds no answers to the questions of {file}", "name the set that was run")
            results = {
                id_: found.get(id_, {"error": "not answered"}) | {"type": q.category or "none"}
                for id_, q in questions.items()
            }
            answered = {id_: question_id(questions[id_], r, task) for id_, r in results.items() if "error" not in r}

            def work(
                id_: str, results: Mapping[str, Any] = results, digests: Mapping[str, str] = answered
            ) -> dict[str, Any]:
                score = _scored(questions[id_], results[id_], task, client, Limits.of(options), spent)
                return score | {"digest": digests[id_]}

            name = re.sub(r"[^\w.-]+", "-", client.model if client else judge)
            place = run / f"scores-{name}.jsonl"
            before = read_results(place) if client and place.exists() else {}
            still = [score for id_, score in before.items() if score.get("digest") == answered.get(id_, "")]
            write_text(place, "".join(f"{as_json(score)}\n" for score in still))
            run_batch(
                ((id_, id_) for id_ in answered),
                work,
                place,
                workers=options.workers,
                progress=context.progress,
                description=f"grading {run.name}",
                total=len(answered),
            )
            scores = {id_: s for id_, s in read_results(place).items() if "error" not in s}
            # An answer that is not there is no better than an empty one.
            scores |= {
                id_: _scored(questions[id_], {}, task, None, Limits(), spent)
                for id_ in results.keys() - answered.keys()
            }
            began = _began(run)
            graded.append(Graded(str(run), scores, results, began.get("by", ""), began.get("model", "")))
        notes += spent_note(spent)
    return graded, tuple(notes)


def runs_of(systems: Sequence[Path]) -> list[Path]:
    """Folders of the runs of systems, each run once or several times."""
    found = []
    for system in systems:
        inside = sorted(path.parent for path in system.glob("run-*/results.jsonl")) or [system]
        if not (inside[0] / "results.jsonl").exists():
            raise UsageError(f"{system} is no folder of a run", "name one that kgcheck batch set made")
        found += inside
    return found


def _began(run: Path) -> dict[str, str]:
    """The options that a run was begun with; none of one that kgcheck did not make."""
    path = run / "batch.json"
    return {k: str(v) for k, v in parse_json(read_whole(path)).items()} if path.exists() else {}


_NUMBER = re.compile(r"(?<![\w.-])\d+(?:[.,]\d+)*(?![\w-])")
_SHORT = re.compile(rf"yes|no|{_NUMBER.pattern}")


def _scored(
    question: BenchQuestion,
    result: Mapping[str, Any],
    task: str,
    client: "ChatClient | None",
    limits: Limits,
    total: Meter,
) -> dict[str, Any]:
    if question.form == "choice":
        return {**score_choice(question.right, result.get("chosen") or ())}
    answer, right = str(result.get("answer") or ""), question.answer.strip(" .").casefold()
    if not answer.strip():
        judged = JudgedAnswer(score=1, facts=())
    elif not question.names and _SHORT.fullmatch(right):
        # Yes or no comes first, and a number is the only one.
        stated = re.findall(r"\w+", answer.casefold())[:1] if right.isalpha() else {*_NUMBER.findall(answer)}
        judged = JudgedAnswer(score=5 if [*stated] == [right] else 1, facts=())
    elif client is None or question.names:
        names = question.names or ((question.answer.strip(" ."),) if " " not in right else ())
        judged = judge_by_rules(question.answer, answer, question.question, names)
    else:
        meter = Meter(limits, client.prices, total)
        judged = judge_by_model(task, question.question, question.answer, answer, client, meter)
    return judged.model_dump(mode="json")


_MEASURES = ("score", "accuracy", "recall", "precision")


def score_rows(graded: Sequence[Graded], *, by_category: bool = False) -> list[dict[str, Any]]:
    """Rows of a table: a system each, its runs averaged with their spread; also by category where that is wanted.

    Where there are agents, each has beside it what it gains over its model alone, where that was run.
    """
    systems: dict[str, list[Graded]] = defaultdict(list)
    for one in graded:
        place = Path(one.name)
        systems[str(place.parent if re.fullmatch(r"run-\d+", place.name) else place)].append(one)
    rows, alone = [], dict[tuple[str, str], dict[str, float]]()
    for system, runs in sorted(systems.items(), key=lambda item: item[1][0].by == "agent"):
        kinds = sorted({r["type"] for r in runs[0].results.values()}) if by_category else []
        for kind in ("all", *kinds):
            inside = [id_ for id_, r in runs[0].results.items() if kind in ("all", r["type"])]
            answers = [run.results[id_] for run in runs for id_ in inside]
            row: dict[str, Any] = {"system": system, "type": kind, "runs": len(runs), "items": len(inside)}
            row["errors"] = sum("error" in answer for answer in answers)
            found = alone.setdefault((runs[0].model, kind), {}) if runs[0].by == "model" else dict[str, float]()
            for measure in _MEASURES:
                given = [
                    [score[measure] for id_ in inside if measure in (score := run.scores.get(id_, {}))] for run in runs
                ]
                means = [mean(values) for values in given if values]
                spread = f" ± {stdev(means):.2f}" if len(means) > 1 else ""
                row[measure] = f"{mean(means):.2f}{spread}" if means else "not measured"
                found |= {measure: mean(means)} if means else {}
            if any(one.by == "agent" for one in graded):
                row |= {"model": runs[0].model} | _gains(runs[0].by, found, alone.get((runs[0].model, kind)))
            costs = [answer["cost"] for answer in answers if answer.get("cost") is not None]
            row["tokens"] = sum(answer.get("tokens") or 0 for answer in answers)
            row["cost"] = round(sum(costs), 4) if costs else None
            rows.append(row)
    return rows


def _gains(by: str, found: Mapping[str, float], alone: Mapping[str, float] | None) -> dict[str, str]:
    """The differences of an agent to its model alone; of others there are none."""

    def gain(measure: str) -> str:
        if by != "agent" or alone is None:
            return "not run" if by == "agent" else ""
        return f"{found[measure] - alone[measure]:+.2f}" if measure in found and measure in alone else "not measured"

    return {f"{measure} gain": gain(measure) for measure in _MEASURES[:2]}


def failure_rows(
    graded: Sequence[Graded], questions: Sequence[BenchQuestion], notes: list[str]
) -> list[dict[str, Any]]:
    """Rows of a table: the wrong answers of each run of an agent, and how many of them have which fault."""
    rows = []
    for run in graded:
        if run.by != "agent":
            notes.append(f"{run.name} has no transcripts: it is no run of an agent")
            continue
        scored = [q for q in questions if "error" not in run.results[q.id] and q.id in run.scores]
        counts = Counter[str]()
        for question in (question for question in scored if not _is_known(run.scores[question.id])):
            path, answer = transcript_of(Path(run.name), question), run.results[question.id].get("answer")
            faults = agent_faults(read_rows(path) if path.exists() else [], question, answer or "")
            counts.update(["wrong", *(faults or ("none of these",))])
        names = ("wrong", *AGENT_FAULTS, "none of these")
        rows.append({"system": run.name, "items": len(scored), **{name: counts[name] for name in names}})
    return rows


BANDS = (("high", 4.0), ("middle", 2.5), ("low", 0.0))
"""Bands of the first system's score, each from its least score on."""


def band_rows(first: Graded, other: Graded) -> list[dict[str, Any]]:
    """Compare a system with another one, such as itself without a part, in bands of its score."""
    before, after = first.correctness, other.correctness
    bands: dict[str, list[str]] = {name: [] for name, _ in BANDS}
    for id_ in sorted(before.keys() & after.keys()):
        bands[next(name for name, least in BANDS if before[id_] >= least)].append(id_)
    return [
        {
            "system": other.name,
            "band": name,
            "items": len(ids),
            "first": round(mean(before[i] for i in ids), 2) if ids else None,
            "other": round(mean(after[i] for i in ids), 2) if ids else None,
            "better": sum(after[i] > before[i] for i in ids),
            "worse": sum(after[i] < before[i] for i in ids),
        }
        for name, ids in bands.items()
    ]


def refuse_given_data(systems: Sequence[Path]) -> None:
    """Refuse systems that are not two models, at least, none of which was given the data."""
    models = set[str]()
    for run in runs_of(systems):
        began = _began(run)
        if began.get("by") != "model":
            raise UsageError(f"{run} is no run of a model alone", "run kgcheck batch set with --by model")
        models.add(began["model"])
    if len(models) == 1:
        raise UsageError("the filter wants two models without the data", "name runs of two with --closed-book, or none")


def filter_set(
    questions: Sequence[BenchQuestion], closed_book: Sequence[Graded], notes: list[str], large: Collection[str] = ()
) -> tuple[list[BenchQuestion], list[str]]:
    """Leave out what every model without the data knew, what is asked twice, and what has large data; and say why."""
    removed = dict.fromkeys(large, "its data are larger")
    for question in questions:
        scores = [run.scores[question.id] for run in closed_book if question.id in run.scores]
        if closed_book and len(scores) == len(closed_book) and all(_is_known(score) for score in scores):
            removed[question.id] = "answered without the data"
    for run in closed_book:
        right = [score["accuracy"] for score in run.scores.values() if "accuracy" in score]
        if right:
            notes.append(f"{run.name}: {mean(right):.1%} of {len(right)} choices right without the data")
    if why := lacking():
        notes.append(f"duplicates were not looked for: {why.message}")
    else:
        removed |= {b: f"asks what {a} asks" for a, b in _doubles([q for q in questions if q.id not in removed])}
    return [q for q in questions if q.id not in removed], [f"{id_}: {why}" for id_, why in removed.items()]


def _is_known(score: Mapping[str, Any]) -> bool:
    return bool(score["accuracy"] == 1) if "accuracy" in score else float(score["score"]) > EASY


def _doubles(questions: Sequence[BenchQuestion]) -> Iterator[tuple[str, str]]:
    """Pairs of questions of one form that are alike by their vectors, with the same answer and about the same nodes."""
    if not questions:
        return
    vectors = open_model(many=True).encode([q.question for q in questions])
    gone: set[str] = set()
    for i, one in enumerate(questions):
        for j in range(i + 1, len(questions)):
            other = questions[j]
            same = one.form == other.form and {*one.entities} == {*other.entities} and one.category == other.category
            if same and not {one.id, other.id} & gone and float(vectors[i] @ vectors[j]) >= ALIKE:
                gone.add(other.id)
                yield one.id, other.id


def read_scores(path: Path) -> tuple[dict[str, float], dict[str, float]]:
    """Scores of a judge by item, and their medians where people gave several: one number, or ``scores`` by person."""
    modes, medians = {}, {}
    for row in read_rows(path):
        given = row.get("scores", row.get("score"))
        values = [*given.values()] if isinstance(given, dict) else given if isinstance(given, list) else [given]
        if "accuracy" in row or "error" in row:
            continue
        if "id" not in row or not values or not all(isinstance(v, int | float) and 1 <= v <= 5 for v in values):
            raise InputFormat(f"{path}: each line is an id with a score of 1 to 5, or scores", "see docs/benchmarks.md")
        modes[str(row["id"])], medians[str(row["id"])] = float(mode(sorted(values))), float(median(values))
    return modes, medians


def agreement_rows(files: Sequence[Path]) -> list[dict[str, Any]]:
    """Compare each judge with the first: Spearman, kappa weighted by squares, share within one point, mean."""
    read = [(path, *read_scores(path)) for path in files]
    first, modes, medians = read[0]
    rows = []
    for path, other_modes, other_medians in read[1:]:
        several = (modes, other_modes) != (medians, other_medians)
        for name, one, other in [
            ("mode", modes, other_modes),
            *([("median", medians, other_medians)] if several else []),
        ]:
            ids = sorted(one.keys() & other.keys())
            scores = [other[i] for i in ids]
            row: dict[str, Any] = {"judge": str(path), "against": str(first), "by": name if several else "score"}
            row |= agreement([one[i] for i in ids], scores)
            if len({*scores}) == 1:
                row["spearman"] = "none: every score is the same"
            rows.append(row | {"mean": round(mean(scores), 2) if scores else None})
    return rows
