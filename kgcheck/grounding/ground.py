"""Ground a manuscript: check its sentences against graph, papers, references and results."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from pydantic import Field

from kgcheck.context import Context, noting, trained_verifier
from kgcheck.errors import EXIT_CLEAN, EXIT_FINDINGS, EXIT_INCOMPLETE
from kgcheck.evidence.source import SnapshotSource
from kgcheck.grounding.citations.check import (
    CitationMeasures,
    CitedPapers,
    check_citations,
    citation_measures,
    hallucination_penalty,
)
from kgcheck.grounding.citations.live_works import LiveWorks, WorksInTurn
from kgcheck.grounding.consistency import check_consistency
from kgcheck.grounding.facts.check import FactCheck
from kgcheck.grounding.manuscript import Manuscript
from kgcheck.grounding.numbers import check_numbers
from kgcheck.grounding.paper_support import PaperSupport
from kgcheck.grounding.remarks import Remark, Remarked, SentenceState, state_of
from kgcheck.grounding.results import Results, read_results
from kgcheck.literature.bibliography import Bibliography
from kgcheck.literature.works import Works
from kgcheck.model import Value
from kgcheck.options import GroundLimits, TextOptions
from kgcheck.progress import NoProgress, Progress
from kgcheck.providers.http import Http

Notes = tuple[str, ...]
SentenceCheck = Callable[[Manuscript], list[Remarked]]  # check that makes remarks about the sentences of a manuscript
# By threshold, the states that fail.
FAILING = {
    "contradicted": frozenset({SentenceState.CONTRADICTED}),
    "unsupported": frozenset({SentenceState.CONTRADICTED, SentenceState.UNSUPPORTED}),
    "never": frozenset[SentenceState](),
}


class Grounded(Value):
    """Result of grounding a manuscript.

    ``not_looked`` says by check why nothing, or not all, was looked at. ``penalty`` is none where one of its parts is.
    """

    manuscript: Manuscript
    remarks: tuple[Remarked, ...]
    citations: CitationMeasures
    mismatches: int | None = Field(description="numbers of the abstract that differ from canonical results")
    penalty: float | None
    not_looked: Mapping[str, str] = Field(default_factory=dict)

    @cached_property
    def remarks_at(self) -> dict[int | str, list[Remarked]]:
        """Remarks by number of the sentence, or by key of the reference."""
        found: dict[int | str, list[Remarked]] = {}
        for remarked in self.remarks:
            found.setdefault(remarked.place, []).append(remarked)
        return found

    def text_of(self, remarked: Remarked) -> str:
        """The sentence or the reference that a remark is about."""
        if remarked.sentence is not None:
            return self.manuscript.sentences[remarked.sentence - 1].text
        return next((r.text or r.title for r in self.manuscript.references if r.key == remarked.reference), "")

    @cached_property
    def states(self) -> Counter[SentenceState]:
        """Number of sentences by state."""
        return Counter(state_of(self.remarks_at.get(s.number, ())) for s in self.manuscript.sentences)

    def counted(self, name: str) -> int:
        """Count the remarks of a kind, or the sentences in a state."""
        if name in set(Remark):
            return sum(r.remark == name for r in self.remarks)
        return self.states[SentenceState(name)]

    def exceeded(self, limits: GroundLimits) -> list[str]:
        """List what is over the limits, a line each."""
        failing, coverage = FAILING[limits.fail_on], self.citations.coverage
        counts = Counter(r.state for r in self.remarks)
        over = [
            f"{counts[state]:,} remarks are {state.value.replace('_', ' ')}"
            for state in SentenceState
            if state in failing and counts[state]
        ]
        over += [
            f"{n:,} {name}, at most {most:,}" for name, most in limits.most.items() if (n := self.counted(name)) > most
        ]
        if limits.coverage is not None and (coverage is None or coverage < limits.coverage):
            shown = "not known" if coverage is None else f"{coverage:.2f}"
            over.append(f"the citation coverage is {shown}, at least {limits.coverage:.2f}")
        return over

    @property
    def incomplete(self) -> bool:
        """True where something could not be looked at; that the manuscript lacks a list needs no source."""
        return any(r.unavailable and r.remark is not Remark.MARKER_OUT_OF_RANGE for r in self.remarks)

    def exit_code(self, limits: GroundLimits) -> int:
        """Exit code of the command: 1 over the limits, else 3 if something could not be looked at, else 0."""
        if self.exceeded(limits):
            return EXIT_FINDINGS
        return EXIT_INCOMPLETE if self.incomplete else EXIT_CLEAN

    def as_row(self) -> dict[str, Any]:
        """All of it in the flat form that `--format json` prints."""
        text = self.manuscript
        places = [
            (s.number, {"number": s.number, "section": s.section, "line": text.blocks[s.block].line, "text": s.text})
            for s in text.sentences
        ]
        entries = [(r.key, {"key": r.key, "text": r.text or r.title}) for r in text.references]
        return {
            "manuscript": {
                **{name: getattr(text, name) for name in ("name", "format", "sha256", "title")},
                "ids": list(text.ids),
                "sentences": len(text.sentences),
                "references": len(text.references),
            },
            "measures": {
                **self.citations.model_dump(mode="json"),
                "mismatches": self.mismatches,
                "hallucination_penalty": self.penalty,
                "states": {state.value: self.states[state] for state in SentenceState},
                "remarks": {remark.value: n for remark in Remark if (n := self.counted(remark))},
            },
            "not_looked": dict(self.not_looked),
            "sentences": [row | self._found_at(number) for number, row in places],
            "references": [row | self._found_at(key) for key, row in entries],
        }

    def _found_at(self, place: int | str) -> dict[str, Any]:
        remarks = self.remarks_at.get(place, [])
        return {"state": state_of(remarks).value, "remarks": [r.as_row() for r in remarks]}


def ground(
    manuscript: Manuscript,
    checks: Sequence[SentenceCheck],
    works: Works | None = None,
    results: Results | None = None,
    not_looked: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> Grounded:
    """Hold a manuscript against everything that is given."""
    remarks: list[Remarked] = []
    with (progress or NoProgress()).step(f"grounding {manuscript.name}", len(checks) + 2) as step:
        every: list[SentenceCheck] = [*checks, partial(check_citations, works=works)]
        for check in every:
            remarks += check(manuscript)
            step.advance()
        numbers = check_numbers(manuscript, results)
        # The text against itself, where nothing is known of a number.
        known = {(r.sentence, r.start) for r in numbers}
        remarks += [*numbers, *(r for r in check_consistency(manuscript) if (r.sentence, r.start) not in known)]
        step.advance()
    measures = citation_measures(manuscript)
    mismatches = penalty = None
    if results:
        abstract = {s.number for s in manuscript.sentences if s.section == "abstract"}
        mismatches = sum(r.remark is Remark.NUMBER_DIFFERS and r.sentence in abstract for r in remarks)
        if measures.out_of_range is not None and measures.coverage is not None:
            penalty = hallucination_penalty(measures.out_of_range, mismatches, measures.coverage)
    # Remarks about references stand behind those about sentences.
    remarks.sort(key=lambda r: (r.sentence is None, r.sentence or 0, r.reference or "", r.start))
    return Grounded(
        manuscript=manuscript, remarks=tuple(remarks), citations=measures, mismatches=mismatches, penalty=penalty,
        not_looked=dict(not_looked or {}),
    )  # fmt: skip


class Grounder:
    """Everything open that texts are held against, as far as a context and options name it."""

    def __init__(self, context: Context, options: TextOptions, notes: list[str], opened: ExitStack) -> None:
        self.context, self.notes = context, notes
        self.not_looked: dict[str, str] = {}
        self._papers: PaperSupport | None = None
        self.facts = self._fact_check()
        self._checks: list[SentenceCheck] = [self.facts.remarks] if self.facts else []
        self._works = open_works(context, options.bibliography, opened)
        if self._works is None:
            self.not_looked["references"] = "no bibliography is named, and no service is asked"
        if context.literature is None:
            self.not_looked["papers"] = "no papers are named"
        else:
            index = context.index(notes)
            verifier = trained_verifier(index.embedder, context.settings)
            self._papers = PaperSupport(index, verifier, self.facts.names if self.facts else None)
            self._checks += [self._papers.remarks, CitedPapers(index, verifier).remarks]
        self._results = read_results(options.results) if options.results else None
        if self._results is None:
            self.not_looked["results"] = "no canonical results are named"

    def _fact_check(self) -> FactCheck | None:
        """A check of sentences against the graph; None where there is none and none is named."""
        context, source = self.context, None
        graph = context.graph_if_there()
        if graph is None:
            self.not_looked["graph"] = "no graph is named"
            return None
        if context.reference:
            source = context.open_once(
                "grounding reference",
                lambda: closing(SnapshotSource(context.reference, context.schema, context.settings)),
            )
        else:
            self.not_looked["sources"] = "no reference snapshot is named"
        return FactCheck(graph, context.verified_if_there(), source, context.schema)

    def ground(self, text: Manuscript, results: Results | None = None) -> Grounded:
        """Ground a text; against other results than those that were named, where some are given."""
        lacking = {check: why for check, why in self.not_looked.items() if not (results and check == "results")}
        if self._papers and (unsearched := self._papers.unsearched(text)):
            lacking["papers"] = unsearched
        if self.facts and (methods := sum(s.section == "methods" for s in text.sentences)):
            lacking["methods"] = f"the graph is not asked about {methods:,} sentences that tell how things were done"
        return ground(text, self._checks, self._works, results or self._results, lacking, self.context.progress)

    def partly_looked(self, found: Grounded) -> list[str]:
        """List what was not looked at in this text alone, as notes."""
        return not_looked_notes(sorted(found.not_looked.items() - self.not_looked.items()))


def not_looked_notes(reasons: Iterable[tuple[str, str]]) -> list[str]:
    """Notes of what was not looked at, and why."""
    return [f"{check} not looked at: {why}" for check, why in reasons]


@contextmanager
def open_grounder(context: Context, options: TextOptions) -> Iterator[Grounder]:
    """A grounder, and all that it opens."""
    with noting() as notes, ExitStack() as opened:
        yield Grounder(context, options, notes, opened)


def open_works(context: Context, bibliography: Path | None, opened: ExitStack) -> Works | None:
    """Open the works for looking up references: the snapshot first, then the services."""
    places: list[Works] = []
    if bibliography:
        places.append(opened.enter_context(closing(Bibliography(bibliography))))
    if context.live:
        places.append(LiveWorks(opened.enter_context(Http(context.settings)), context.settings))
    return WorksInTurn(*places) if len(places) > 1 else next(iter(places), None)


def ground_manuscript(context: Context, text: Manuscript, options: TextOptions) -> tuple[Grounded, Notes]:
    """Ground a manuscript against all that a context and options name."""
    with open_grounder(context, options) as grounder:
        return grounder.ground(text), tuple(grounder.notes)
