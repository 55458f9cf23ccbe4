"""A manuscript held against what a workspace has."""

from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from kgcheck.errors import InputFormat, LedgerError, StoreMissing
from kgcheck.inputs import parse_json, read_whole
from kgcheck.workspace.opening import Spending, total_meter
from kgcheck.workspace.papers import ReadingPapers

if TYPE_CHECKING:
    from kgcheck.grounding.facts import FactCheck
    from kgcheck.grounding.ground import Grounded, SentenceCheck
    from kgcheck.grounding.manuscript import Manuscript
    from kgcheck.grounding.score import DimensionJudgement, ScoreCard
    from kgcheck.ledger.verified import VerifiedReader
    from kgcheck.literature.works import Works


class Grounding(ReadingPapers):
    """What checks a text; see Workspace."""

    def ground(
        self, manuscript: str | Path, *, bibliography: str | Path | None = None, results: str | Path | None = None
    ) -> "tuple[Grounded, tuple[str, ...]]":
        """Hold a manuscript against the graph, papers, its citations and its results, as far as the workspace has them.

        Args:
            manuscript: Markdown, LaTeX, docx, JATS, PDF or plain text.
            bibliography: Bibliography snapshot in which its references are looked up; where the workspace is live, the
                services are asked for those that it does not have.
            results: JSON file with the canonical results, by which its numbers are checked.

        Returns:
            What was found of each sentence and reference, with the measures and what was not looked at; and notes.

        Raises:
            InputError: A file cannot be read.
            StoreMissing: The graph that is named is not there.
        """
        from kgcheck.grounding.ground import ground
        from kgcheck.grounding.numbers import read_results
        from kgcheck.grounding.reading import read_manuscript
        from kgcheck.workspace.opened import noting

        text = read_manuscript(Path(manuscript))
        canonical = read_results(Path(results)) if results else None
        not_looked: dict[str, str] = {}
        checkers: list[SentenceCheck] = []
        with noting() as notes, ExitStack() as opened:
            facts = self._facts(not_looked)
            if facts:
                checkers.append(facts)
            works = self._works(Path(bibliography) if bibliography else None, opened)
            if works is None:
                not_looked["references"] = "no bibliography is named, and no service is asked"
            if self.literature is None:
                not_looked["papers"] = "no papers are named"
            else:
                checkers += self._paper_checks(facts, notes)
            if canonical is None:
                not_looked["results"] = "no canonical results are named"
            found = ground(text, checkers, works, canonical, not_looked, self.progress)
        return found, tuple(notes)

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
        from kgcheck.grounding.score import corpus_figures, score

        earlier = _card(Path(before)) if before else None
        found, notes = self.ground(manuscript, bibliography=bibliography, results=results)
        more = list(notes)
        corpus = None
        if self.literature is not None:
            store = self.index(more).store
            corpus = corpus_figures(
                found.manuscript,
                (text for _, text in store.texts()),
                lambda name: store.number_of(name) is not None,
                len(store.ids()),
            )
        judgements = None
        if self.brain == "llm":
            judgements = self._judgements(found.manuscript, earlier, Spending(tokens, money))
        return score(found, corpus, judgements), tuple(more)

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
        from kgcheck.grounding.facts import FactCheck

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
        from kgcheck.grounding.cited import CitedPapers
        from kgcheck.grounding.paper_support import PaperSupport
        from kgcheck.literature.trained_verifier import TrainedVerifier

        index = self.index(notes)
        verifier = TrainedVerifier(index.embedder)
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
        from kgcheck.grounding.live_works import LiveWorks, WorksInTurn
        from kgcheck.literature.bibliography_reader import Bibliography
        from kgcheck.providers.http import Http

        places: list[Works] = []
        if bibliography:
            places.append(opened.enter_context(closing(Bibliography(bibliography))))
        if self.live:
            http = opened.enter_context(Http(self.settings))
            places.append(LiveWorks(http, self.settings))
        return WorksInTurn(*places) if len(places) > 1 else next(iter(places), None)


def _card(path: Path) -> "ScoreCard":
    """A card that was written before."""
    from kgcheck.grounding.score import ScoreCard

    try:
        return ScoreCard.model_validate(parse_json(read_whole(path)))
    except (ValueError, ValidationError) as error:
        raise InputFormat(f"{path} is no score: {error}"[:300], "give what kgcheck score --format json wrote") from None
