"""Manuscripts held against a context: grounded, scored, and improved."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from pydantic import ValidationError

from kgcheck.context import Context, noting, trained_verifier
from kgcheck.errors import InputFormat, UsageError
from kgcheck.evidence.source import SnapshotSource
from kgcheck.grounding.citations.check import CitedPapers
from kgcheck.grounding.citations.live_works import LiveWorks, WorksInTurn
from kgcheck.grounding.facts.check import FactCheck
from kgcheck.grounding.ground import STATEMENTS, Grounded, SentenceCheck, ground
from kgcheck.grounding.manuscript import Manuscript
from kgcheck.grounding.manuscripts.reading import read_given, read_manuscript
from kgcheck.grounding.paper_support import PaperSupport
from kgcheck.grounding.results import Results, read_results
from kgcheck.inputs import parse_json, read_whole
from kgcheck.literature.bibliography_reader import Bibliography
from kgcheck.literature.works import Works
from kgcheck.llm.budget import Limits, Meter, RunMeter, spent_note, total_meter
from kgcheck.options import Spending, TextOptions
from kgcheck.providers.http import Http

if TYPE_CHECKING:
    from kgcheck.grounding.facts.model_reader import ModelReader
    from kgcheck.grounding.improve import Experiments
    from kgcheck.grounding.improvement_log import ImprovementLog
    from kgcheck.grounding.revising import GivenPassage
    from kgcheck.grounding.score import CorpusFigures, DimensionJudgement, ScoreCard
    from kgcheck.llm.client import ChatClient

Notes = tuple[str, ...]

MARKDOWN = (".md", ".markdown", ".rmd", ".qmd")


class Look(Protocol):
    """Grounds a text; against other results than those that were named, where some are given."""

    def __call__(self, text: Manuscript, results: Results | None = ..., /) -> Grounded: ...


class Grounder(NamedTuple):
    """A function that grounds texts, with everything open that they are held against; and notes."""

    look: Look
    notes: list[str]


def ground_manuscript(context: Context, path: Path, options: TextOptions) -> tuple[Grounded, Notes]:
    """Ground a manuscript; with the brain ``llm`` a model reads the sentences in which the rules find nothing."""
    text = read_manuscript(path)
    with ExitStack() as opened:
        reader = opened.enter_context(_model_reader(context, options)) if context.brain == "llm" else None
        look, notes = opened.enter_context(open_grounder(context, options, reader))
        found = look(text)
    if reader is None:
        return found, tuple(notes)
    if reader.left:
        why = f"the budget of {reader.model} is spent; {reader.left:,} sentences were left to the rules"
        found = found.model_copy(update={"not_looked": {**found.not_looked, STATEMENTS: why}})
    read = f"{reader.model} read {reader.sentences:,} sentences in which the rules find nothing"
    unusable = f"; of {reader.unusable:,} it gave no usable answer" if reader.unusable else ""
    return found, (*notes, f"{read}{unusable}", *spent_note(reader.meter))


def ground_text(
    context: Context, text: str, form: Literal["markdown", "text"], options: TextOptions
) -> tuple[Grounded, Notes]:
    """Ground a text that stands in no file; a file that it names is not read."""
    manuscript = read_given(text, form)
    with open_grounder(context, options) as (look, notes):
        found = look(manuscript)
    return found, tuple(notes)


def score_manuscript(
    context: Context, path: Path, options: TextOptions, before: Path | None = None
) -> "tuple[ScoreCard, Notes]":
    """Score a manuscript; with the brain ``llm`` a model judges it, but for what an earlier card has judged."""
    from kgcheck.grounding.score import score

    earlier = _card(before) if before else None
    text = read_manuscript(path)
    with open_grounder(context, options) as (look, notes):
        found = look(text)
    more = list(notes)
    corpus = _corpus(context, found.manuscript, more)
    judgements = _judgements(context, found.manuscript, earlier, options) if context.brain == "llm" else None
    return score(found, corpus, judgements), tuple(more)


def improve_manuscript(
    context: Context,
    path: Path,
    out: Path,
    options: TextOptions,
    rounds: int,
    experiments: "Callable[[Context, ChatClient, Meter], Experiments]",
) -> "tuple[ImprovementLog, Notes]":
    """Make a manuscript better round by round, with a model that judges and one that writes; go on in a folder."""
    from kgcheck.grounding.improve import Improver, Surroundings, role
    from kgcheck.grounding.improvement_log import ImprovementLog
    from kgcheck.llm.client import ChatClient
    from kgcheck.locks import only_one

    if context.brain != "llm":
        raise UsageError("improving needs a model that judges and one that writes", "use the brain llm")
    if path.suffix.lower() not in MARKDOWN:
        raise InputFormat(f"{path} is not Markdown, which alone can be improved", "convert it, as pandoc does")
    source = read_whole(path, encoding="utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    with ExitStack() as opened:
        judging = opened.enter_context(ChatClient(context.settings))
        working = opened.enter_context(ChatClient(context.settings.for_worker()))
        prices = judging.prices if working.prices else None
        total = RunMeter(Limits.of(options), prices)
        look, notes = opened.enter_context(open_grounder(context, options))
        opened.enter_context(only_one(out, "improves a manuscript"))
        log = ImprovementLog(out, source)
        around = Surroundings(
            look=lambda text, against: (look(text, against), _corpus(context, text, notes)),
            gather=(lambda query, most: _passages(context, query, most)) if context.literature else None,
            results=options.results,
            experiments=experiments(context, working, role(working, total).meter),
        )
        improver = Improver(path, log, around, role(judging, total), role(working, total), total, context.progress)
        improver.run(rounds)
    return log, (*dict.fromkeys(notes), *spent_note(total))


@contextmanager
def open_grounder(context: Context, options: TextOptions, reader: "ModelReader | None" = None) -> Iterator[Grounder]:
    """A grounder, with everything open that texts are held against; a reader reads sentences with a model."""
    canonical = read_results(options.results) if options.results else None
    not_looked: dict[str, str] = {}
    checkers: list[SentenceCheck] = []
    with noting() as notes, ExitStack() as opened:
        facts = _facts(context, not_looked)
        if facts:
            facts.model = reader
            checkers.append(facts)
            if not context.reference:
                not_looked["sources"] = "no reference snapshot is named"
        works = open_works(context, options.bibliography, opened)
        if works is None:
            not_looked["references"] = "no bibliography is named, and no service is asked"
        if context.literature is None:
            not_looked["papers"] = "no papers are named"
        else:
            index = context.index(notes)
            verifier = trained_verifier(index.embedder, context.settings)
            checkers += [PaperSupport(index, verifier, facts.names if facts else None), CitedPapers(index, verifier)]
        if canonical is None:
            not_looked["results"] = "no canonical results are named"

        def look(text: Manuscript, results: Results | None = canonical) -> Grounded:
            lacking = {name: why for name, why in not_looked.items() if name != "results" or results is None}
            return ground(text, checkers, works, results, lacking, context.progress)

        yield Grounder(look, notes)


def open_works(context: Context, bibliography: Path | None, opened: ExitStack) -> Works | None:
    """Open the works for looking up references: the snapshot first, then the services."""
    places: list[Works] = []
    if bibliography:
        places.append(opened.enter_context(closing(Bibliography(bibliography))))
    if context.live:
        places.append(LiveWorks(opened.enter_context(Http(context.settings)), context.settings))
    return WorksInTurn(*places) if len(places) > 1 else next(iter(places), None)


def _facts(context: Context, not_looked: dict[str, str]) -> FactCheck | None:
    """A check of sentences against the graph; None where there is none and none is named."""
    graph = context.graph_if_there()
    if graph is None:
        not_looked["graph"] = "no graph is named"
        return None
    source = None
    if context.reference:
        source = context.open_once(
            "grounding reference",
            lambda: closing(SnapshotSource(context.reference, context.schema, context.settings)),
        )
    return FactCheck(graph, context.verified_if_there(), source, context.schema)


@contextmanager
def _model_reader(context: Context, spending: Spending) -> "Iterator[ModelReader]":
    from kgcheck.grounding.facts.model_reader import ModelReader
    from kgcheck.llm.client import ChatClient
    from kgcheck.profile.claims import load_claim_forms

    with ChatClient(context.settings) as client:
        meter = Meter(Limits.of(spending), client.prices, total_meter(context.settings))
        yield ModelReader(client, meter, context.schema, load_claim_forms(context.schema.address))


def _passages(context: Context, query: str, most: int) -> "list[GivenPassage]":
    """The best passages of the papers, each with the sentences beside it, of none that is retracted."""
    from kgcheck.grounding.revising import GivenPassage
    from kgcheck.literature.search import rank_passages

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


def _corpus(context: Context, text: Manuscript, notes: list[str]) -> "CorpusFigures | None":
    """Compare a manuscript with papers; None if none are named."""
    from kgcheck.grounding.score import corpus_figures

    if context.literature is None:
        return None
    store = context.index(notes).store
    return corpus_figures(
        text,
        (words for _, words in store.texts()),
        lambda name: store.number_of(name) is not None,
        len(store.ids()),
    )


def _judgements(
    context: Context, text: Manuscript, before: "ScoreCard | None", spending: Spending
) -> "dict[str, DimensionJudgement]":
    from kgcheck.grounding.judge import judge
    from kgcheck.llm.client import ChatClient

    with ChatClient(context.settings) as client:
        meter = Meter(Limits.of(spending), client.prices, total_meter(context.settings))
        return judge(text, client, meter, before, context.progress)


def _card(path: Path) -> "ScoreCard":
    """A card that was written before."""
    from kgcheck.grounding.score import ScoreCard

    try:
        return ScoreCard.model_validate(parse_json(read_whole(path)))
    except (ValueError, ValidationError) as error:
        raise InputFormat(f"{path} is no score: {error}"[:300], "give what kgcheck score --format json wrote") from None
