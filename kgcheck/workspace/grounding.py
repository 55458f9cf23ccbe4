"""A manuscript held against what a workspace has."""

from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING

from kgcheck.errors import LedgerError, StoreMissing
from kgcheck.workspace.papers import ReadingPapers

if TYPE_CHECKING:
    from kgcheck.grounding.ground import Checker, Grounded
    from kgcheck.ledger.verified import VerifiedReader
    from kgcheck.literature.works import Works


class Grounding(ReadingPapers):
    """What checks a text; see Workspace."""

    def ground(
        self, manuscript: str | Path, *, bibliography: str | Path | None = None, results: str | Path | None = None
    ) -> "Grounded":
        """Hold a manuscript against the graph, papers, its citations and its results, as far as the workspace has them.

        Args:
            manuscript: Markdown, LaTeX, docx, JATS, PDF or plain text.
            bibliography: Bibliography snapshot in which its references are looked up; where the workspace is live, the
                services are asked for those that it does not have.
            results: JSON file with the canonical results, by which its numbers are checked.

        Returns:
            What was found of each sentence and reference, with the measures, and what was not looked at.

        Raises:
            InputError: A file cannot be read.
            StoreMissing: The graph that is named is not there.
        """
        from kgcheck.grounding.ground import ground
        from kgcheck.grounding.numbers import read_results
        from kgcheck.grounding.reading import read_manuscript

        text = read_manuscript(Path(manuscript))
        canonical = read_results(Path(results)) if results else None
        not_looked: dict[str, str] = {}
        checkers: list[Checker] = []
        with ExitStack() as opened:
            if facts := self._facts(not_looked):
                checkers.append(facts)
            works = self._works(Path(bibliography) if bibliography else None, opened)
            if works is None:
                not_looked["references"] = "no bibliography is named, and no service is asked"
            if self.literature is None:
                not_looked["papers"] = "no papers are named"
            if canonical is None:
                not_looked["results"] = "no canonical results are named"
            return ground(text, checkers, works, canonical, not_looked, self.progress)

    def _facts(self, not_looked: dict[str, str]) -> "Checker | None":
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
