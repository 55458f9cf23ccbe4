"""A manuscript held against what a workspace has."""

from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, cast

from pydantic import ValidationError

from kgcheck.errors import InputFormat, LedgerError, StoreMissing, UsageError
from kgcheck.inputs import parse_json, read_whole
from kgcheck.workspace.opening import Spending, spent_note, total_meter, trained_verifier
from kgcheck.workspace.papers import ReadingPapers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kgcheck.grounding.facts.check import FactCheck
    from kgcheck.grounding.facts.model_reader import ModelReader
    from kgcheck.grounding.ground import Grounded, SentenceCheck
    from kgcheck.grounding.improvement_log import ImprovementLog
    from kgcheck.grounding.manuscript import Manuscript
    from kgcheck.grounding.results import Results
    from kgcheck.grounding.revising import GivenPassage
    from kgcheck.grounding.score import CorpusFigures, DimensionJudgement, ScoreCard
    from kgcheck.ledger.verified import VerifiedReader
    from kgcheck.literature.works import Works
    from kgcheck.workspace.workspace import Workspace

    class _Look(Protocol):
        """Grounds a text; against other results than those that were named, where some are given."""

        def __call__(self, text: Manuscript, results: Results | None = ..., /) -> Grounded: ...


MARKDOWN = (".md", ".markdown", ".rmd", ".qmd")


class Grounding(ReadingPapers):
    """What checks a text; see Workspace."""

    def ground(
        self,
        manuscript: str | Path,
        *,
        bibliography: str | Path | None = None,
        results: str | Path | None = None,
        tokens: int | None = None,
        money: float | None = None,
    ) -> "tuple[Grounded, tuple[str, ...]]":
        """Hold a manuscript against the graph, papers, its citations and its results, as far as the workspace has them.

        With the brain ``llm`` a model reads the sentences in which the rules find nothing stated of the graph.

        Args:
            manuscript: Markdown, LaTeX, docx, JATS, PDF or plain text.
            bibliography: Bibliography snapshot in which its references are looked up; where the workspace is live, the
                services are asked for those that it does not have.
            results: JSON file with the canonical results, by which its numbers are checked.
            tokens: Most tokens that a model may take for all of it.
            money: Most money that it may cost.

        Returns:
            What was found of each sentence and reference, with the measures and what was not looked at; and notes.

        Raises:
            InputError: A file cannot be read.
            StoreMissing: The graph that is named is not there.
            ModelError: The model's endpoint refused or failed.
        """
        from kgcheck.grounding.ground import STATEMENTS
        from kgcheck.grounding.manuscripts.reading import read_manuscript

        text = read_manuscript(Path(manuscript))
        with ExitStack() as opened:
            reader = opened.enter_context(self._model_reader(Spending(tokens, money))) if self.brain == "llm" else None
            look, notes = opened.enter_context(self._grounder(_optional(bibliography), _optional(results), reader))
            found = look(text)
        if reader is None:
            return found, tuple(notes)
        if reader.left:
            why = f"the budget of {reader.model} is spent; {reader.left:,} sentences were left to the rules"
            found = found.model_copy(update={"not_looked": {**found.not_looked, STATEMENTS: why}})
        read = f"{reader.model} read {reader.sentences:,} sentences in which the rules find nothing"
        unusable = f"; of {reader.unusable:,} it gave no usable answer" if reader.unusable else ""
        return found, (*notes, f"{read}{unusable}", *spent_note(reader.meter))

    @contextmanager
    def _model_reader(self, spending: "Spending") -> "Iterator[ModelReader]":
        """What reads sentences with a model."""
        from kgcheck.grounding.facts.model_reader import ModelReader
        from kgcheck.llm.budget import Meter
        from kgcheck.llm.client import ChatClient
        from kgcheck.profile.claims import load_claim_forms

        with ChatClient(self.settings) as client:
            meter = Meter(spending.limits(), client.prices, total_meter(self.settings))
            yield ModelReader(client, meter, self.schema, load_claim_forms(self.schema.address))

    def ground_text(
        self,
        text: str,
        form: "Literal['markdown', 'text']" = "markdown",
        *,
        bibliography: str | Path | None = None,
        results: str | Path | None = None,
    ) -> "tuple[Grounded, tuple[str, ...]]":
        """Hold a text that stands in no file against the graph, papers and its citations, see `ground`.

        Args:
            text: The text; a file that it names is not read.
            form: How it is written.
            bibliography: See `ground`.
            results: See `ground`.

        Returns:
            See `ground`.

        Raises:
            InputFormat: It cannot be read.
            StoreMissing: The graph that is named is not there.
        """
        from kgcheck.grounding.manuscripts.reading import read_given

        manuscript = read_given(text, form)
        with self._grounder(_optional(bibliography), _optional(results)) as (look, notes):
            found = look(manuscript)
        return found, tuple(notes)

    @contextmanager
    def _grounder(
        self, bibliography: Path | None, results: Path | None, reader: "ModelReader | None" = None
    ) -> "Iterator[tuple[_Look, list[str]]]":
        """What grounds texts, with everything open that they are held against; and notes."""
        from kgcheck.grounding.ground import ground
        from kgcheck.grounding.results import read_results
        from kgcheck.workspace.opened import noting

        canonical = read_results(results) if results else None
        not_looked: dict[str, str] = {}
        checkers: list[SentenceCheck] = []
        with noting() as notes, ExitStack() as opened:
            facts = self._facts(not_looked)
            if facts:
                facts.model = reader
                checkers.append(facts)
                if not self.reference:
                    not_looked["sources"] = "no reference snapshot is named"
            works = self._works(bibliography, opened)
            if works is None:
                not_looked["references"] = "no bibliography is named, and no service is asked"
            if self.literature is None:
                not_looked["papers"] = "no papers are named"
            else:
                checkers += self._paper_checks(facts, notes)
            if canonical is None:
                not_looked["results"] = "no canonical results are named"

            def look(text: "Manuscript", results: "Results | None" = canonical) -> "Grounded":
                lacking = {what: why for what, why in not_looked.items() if what != "results" or results is None}
                return ground(text, checkers, works, results, lacking, self.progress)

            yield look, notes

    def score(
        self,
        manuscript: str | Path,
        *,
        bibliography: str | Path | None = None,
        results: str | Path | None = None,
        before: str | Path | None = None,
        tokens: int | None = None,
        money: float | None = None,
    ) -> "tuple[ScoreCard, tuple[str, ...]]":
        """Score a manuscript in eight dimensions; with the brain ``llm`` a model judges it.

        Args:
            manuscript: See `ground`.
            bibliography: See `ground`.
            results: See `ground`.
            before: JSON file of an earlier card: judgements of sections that are the same are kept.
            tokens: Most tokens that a model may take for all of it.
            money: Most money that it may cost.

        Returns:
            The card, and notes.

        Raises:
            InputFormat: The earlier card is none.
        """
        from kgcheck.grounding.manuscripts.reading import read_manuscript
        from kgcheck.grounding.score import score

        earlier = _card(Path(before)) if before else None
        text = read_manuscript(Path(manuscript))
        with self._grounder(_optional(bibliography), _optional(results)) as (look, notes):
            found = look(text)
        more = list(notes)
        corpus = self._corpus(found.manuscript, more)
        judgements = None
        if self.brain == "llm":
            judgements = self._judgements(found.manuscript, earlier, Spending(tokens, money))
        return score(found, corpus, judgements), tuple(more)

    def improve(
        self,
        manuscript: str | Path,
        out: str | Path,
        *,
        bibliography: str | Path | None = None,
        results: str | Path | None = None,
        rounds: int = 12,
        tokens: int | None = None,
        money: float | None = None,
    ) -> "tuple[ImprovementLog, tuple[str, ...]]":
        """Make a manuscript better round by round, with a model that judges and one that writes.

        The file is never changed: what comes of it is in a folder, from which the same call goes on.

        Args:
            manuscript: Markdown.
            out: The folder.
            bibliography: See `ground`.
            results: See `ground`.
            rounds: How many, with those that are done.
            tokens: Most tokens that both models may take for all of them, with those of earlier calls.
            money: Most money that they may cost.

        Returns:
            The log with the best text, and notes.

        Raises:
            InputFormat: It is not Markdown, or the folder is of another text.
            UsageError: The brain is not ``llm``.
            JobUnderWay: Another process is at work in that folder.
        """
        from kgcheck.grounding.improve import Improver, Surroundings, role
        from kgcheck.grounding.improvement_log import ImprovementLog
        from kgcheck.llm.budget import RunMeter
        from kgcheck.llm.client import ChatClient
        from kgcheck.locks import only_one
        from kgcheck.workspace.deep_cycles import GraphExperiments

        path = Path(manuscript)
        if self.brain != "llm":
            raise UsageError("improving needs a model that judges and one that writes", "use the brain llm")
        if path.suffix.lower() not in MARKDOWN:
            raise InputFormat(f"{path} is not Markdown, which alone can be improved", "convert it, as pandoc does")
        source = read_whole(path, encoding="utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
        with ExitStack() as opened:
            judging = opened.enter_context(ChatClient(self.settings))
            working = opened.enter_context(ChatClient(self.settings.for_worker()))
            prices = judging.prices if working.prices else None
            total = RunMeter(Spending(tokens, money).limits(), prices)
            look, notes = opened.enter_context(self._grounder(_optional(bibliography), _optional(results)))
            opened.enter_context(only_one(Path(out), "improves a manuscript"))
            log = ImprovementLog(Path(out), source)
            around = Surroundings(
                look=lambda text, against: (look(text, against), self._corpus(text, notes)),
                gather=self._gathered_passages if self.literature else None,
                results=_optional(results),
                experiments=GraphExperiments(cast("Workspace", self), working, role(working, total).meter),
            )
            improver = Improver(path, log, around, role(judging, total), role(working, total), total, self.progress)
            improver.run(rounds)
        return log, (*dict.fromkeys(notes), *spent_note(total))

    def _gathered_passages(self, query: str, most: int) -> "list[GivenPassage]":
        """The best passages of the papers, each with the sentences beside it, of none that is retracted."""
        from kgcheck.grounding.revising import GivenPassage
        from kgcheck.literature.search import rank_passages

        found = []
        for hit in self.index([]).search(query, limit=most):
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

    def _corpus(self, text: "Manuscript", notes: list[str]) -> "CorpusFigures | None":
        """How a manuscript stands to the papers; None where none are named."""
        from kgcheck.grounding.score import corpus_figures

        if self.literature is None:
            return None
        store = self.index(notes).store
        return corpus_figures(
            text,
            (words for _, words in store.texts()),
            lambda name: store.number_of(name) is not None,
            len(store.ids()),
        )

    def _judgements(
        self, text: "Manuscript", before: "ScoreCard | None", spending: "Spending"
    ) -> "dict[str, DimensionJudgement]":
        from kgcheck.grounding.judge import judge
        from kgcheck.llm.budget import Meter
        from kgcheck.llm.client import ChatClient

        with ChatClient(self.settings) as client:
            meter = Meter(spending.limits(), client.prices, total_meter(self.settings))
            return judge(text, client, meter, before, self.progress)

    def _facts(self, not_looked: dict[str, str]) -> "FactCheck | None":
        """What checks sentences against the graph; None where there is none and none is named."""
        from kgcheck.evidence.source import SnapshotSource
        from kgcheck.grounding.facts.check import FactCheck

        try:
            graph = self.graph
        except StoreMissing:
            # The default store need not be there for what needs no graph.
            if self._store_is_named:
                raise
            not_looked["graph"] = "no graph is named"
            return None
        source = None
        if self.reference:
            source = self._opened.get(
                "grounding reference", lambda: closing(SnapshotSource(self.reference, self.schema, self.settings))
            )
        return FactCheck(graph, self._judged(), source, self.schema)

    def _paper_checks(self, facts: "FactCheck | None", notes: list[str]) -> "list[SentenceCheck]":
        """What asks the papers: all of them, and those that a sentence cites."""
        from kgcheck.grounding.citations.check import CitedPapers
        from kgcheck.grounding.paper_support import PaperSupport

        index = self.index(notes)
        verifier = trained_verifier(index.embedder, self.settings)
        return [PaperSupport(index, verifier, facts.names if facts else None), CitedPapers(index, verifier)]

    def _judged(self) -> "VerifiedReader | None":
        """What audits have judged; None where there is no ledger."""
        try:
            return self._verified_reader()
        except LedgerError:
            if self._given_ledger:
                raise
            return None

    def _works(self, bibliography: Path | None, opened: ExitStack) -> "Works | None":
        """Where references are looked up: the snapshot first, then the services."""
        from kgcheck.grounding.citations.live_works import LiveWorks, WorksInTurn
        from kgcheck.literature.bibliography_reader import Bibliography
        from kgcheck.providers.http import Http

        places: list[Works] = []
        if bibliography:
            places.append(opened.enter_context(closing(Bibliography(bibliography))))
        if self.live:
            http = opened.enter_context(Http(self.settings))
            places.append(LiveWorks(http, self.settings))
        return WorksInTurn(*places) if len(places) > 1 else next(iter(places), None)


def _optional(path: str | Path | None) -> Path | None:
    return Path(path) if path else None


def _card(path: Path) -> "ScoreCard":
    """A card that was written before."""
    from kgcheck.grounding.score import ScoreCard

    try:
        return ScoreCard.model_validate(parse_json(read_whole(path)))
    except (ValueError, ValidationError) as error:
        raise InputFormat(f"{path} is no score: {error}"[:300], "give what kgcheck score --format json wrote") from None
