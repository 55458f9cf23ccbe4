"""Ground a manuscript: hold it against the graph, papers, its citations and its results."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Protocol

from pydantic import Field

from kgcheck.errors import EXIT_CLEAN, EXIT_FINDINGS, EXIT_INCOMPLETE
from kgcheck.grounding.citations.check import (
    CitationMeasures,
    check_citations,
    citation_measures,
    hallucination_penalty,
)
from kgcheck.grounding.manuscript import Manuscript
from kgcheck.grounding.numbers import check_numbers
from kgcheck.grounding.remarks import Remark, Remarked, SentenceState, state_of
from kgcheck.grounding.results import Results
from kgcheck.literature.works import Works
from kgcheck.model import Value
from kgcheck.options import GroundLimits
from kgcheck.progress import NoProgress, Progress

STATEMENTS = "statements"
"""Key of what is not looked at where a model was to read sentences, and did not read all."""

FAILING = {
    "contradicted": frozenset({SentenceState.CONTRADICTED}),
    "unsupported": frozenset({SentenceState.CONTRADICTED, SentenceState.UNSUPPORTED}),
    "never": frozenset[SentenceState](),
}
"""By threshold, the states that fail."""

_OF_SOURCES = frozenset(set(Remark) - {Remark.MARKER_OUT_OF_RANGE})
"""Remarks that need a source; a list that the manuscript lacks is none."""


class SentenceCheck(Protocol):
    """Check that makes remarks about the sentences of a manuscript."""

    def remarks(self, manuscript: Manuscript) -> list[Remarked]:
        """Remarks, by sentence."""


class Grounded(Value):
    """Result of grounding a manuscript.

    ``not_looked`` says by check why nothing was looked at there. ``penalty`` is none where one of its parts is.
    """

    manuscript: Manuscript
    remarks: tuple[Remarked, ...]
    citations: CitationMeasures
    mismatches: int | None = Field(description="numbers of the abstract that differ from canonical results")
    penalty: float | None
    not_looked: Mapping[str, str] = Field(default_factory=dict)

    @cached_property
    def of_sentences(self) -> dict[int, list[Remarked]]:
        """Remarks by number of the sentence."""
        found: dict[int, list[Remarked]] = {}
        for remarked in self.remarks:
            if remarked.sentence is not None:
                found.setdefault(remarked.sentence, []).append(remarked)
        return found

    @cached_property
    def of_references(self) -> dict[str, list[Remarked]]:
        """Remarks by key of the reference."""
        found: dict[str, list[Remarked]] = {}
        for remarked in self.remarks:
            if remarked.reference is not None:
                found.setdefault(remarked.reference, []).append(remarked)
        return found

    def text_of(self, remarked: Remarked) -> str:
        """The sentence or the reference that a remark is about."""
        if remarked.sentence is not None:
            return self.manuscript.sentences[remarked.sentence - 1].text
        return next((r.text or r.title for r in self.manuscript.references if r.key == remarked.reference), "")

    def state(self, sentence: int) -> SentenceState:
        """The state of a sentence, by its number."""
        return state_of(self.of_sentences.get(sentence, ()))

    @cached_property
    def states(self) -> Counter[SentenceState]:
        """Number of sentences by state."""
        return Counter(self.state(s.number) for s in self.manuscript.sentences)

    @cached_property
    def counts(self) -> Counter[Remark]:
        """Number of remarks by kind."""
        return Counter(r.remark for r in self.remarks)

    def counted(self, name: str) -> int:
        """Count the remarks of a kind, or the sentences in a state."""
        return self.counts[Remark(name)] if name in set(Remark) else self.states[SentenceState(name)]

    def exceeded(self, limits: GroundLimits) -> list[str]:
        """List what is over the limits, a line each."""
        failing = FAILING[limits.fail_on]
        over = [
            f"{count:,} remarks are {state.value.replace('_', ' ')}"
            for state in SentenceState
            if state in failing and (count := sum(r.state is state for r in self.remarks))
        ]
        counts = {name: self.counted(name) for name in limits.most}
        over += [
            f"{counts[name]:,} {name}, at most {most:,}" for name, most in limits.most.items() if counts[name] > most
        ]
        coverage = self.citations.coverage
        if limits.coverage is not None and (coverage is None or coverage < limits.coverage):
            shown = "not known" if coverage is None else f"{coverage:.2f}"
            over.append(f"the citation coverage is {shown}, at least {limits.coverage:.2f}")
        return over

    @property
    def incomplete(self) -> bool:
        """True where something could not be looked at."""
        return STATEMENTS in self.not_looked or any(r.unavailable and r.remark in _OF_SOURCES for r in self.remarks)

    def exit_code(self, limits: GroundLimits) -> int:
        """Exit code of the command: 1 over the limits, else 3 if something could not be looked at, else 0."""
        if self.exceeded(limits):
            return EXIT_FINDINGS
        return EXIT_INCOMPLETE if self.incomplete else EXIT_CLEAN

    def as_row(self) -> dict[str, Any]:
        """All of it in the flat form that `--format json` prints."""
        text = self.manuscript
        return {
            "manuscript": {
                "name": text.name,
                "format": text.format,
                "sha256": text.sha256,
                "title": text.title,
                "ids": list(text.ids),
                "sentences": len(text.sentences),
                "references": len(text.references),
            },
            "measures": {
                **self.citations.model_dump(mode="json"),
                "mismatches": self.mismatches,
                "hallucination_penalty": self.penalty,
                "states": {state.value: self.states[state] for state in SentenceState},
                "remarks": {remark.value: n for remark in Remark if (n := self.counts[remark])},
            },
            "not_looked": dict(self.not_looked),
            "sentences": [
                {
                    "number": s.number,
                    "section": s.section,
                    "line": text.blocks[s.block].line,
                    "text": s.text,
                    "state": self.state(s.number).value,
                    "remarks": [_row(r) for r in self.of_sentences.get(s.number, ())],
                }
                for s in text.sentences
            ],
            "references": [
                {
                    "key": r.key,
                    "text": r.text or r.title,
                    "state": state_of(self.of_references.get(r.key, ())).value,
                    "remarks": [_row(found) for found in self.of_references.get(r.key, ())],
                }
                for r in text.references
            ],
        }


def ground(
    manuscript: Manuscript,
    checkers: Sequence[SentenceCheck],
    works: Works | None = None,
    results: Results | None = None,
    not_looked: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> Grounded:
    """Hold a manuscript against everything that is given."""
    shown = progress or NoProgress()
    remarks: list[Remarked] = []
    with shown.step(f"grounding {manuscript.name}", len(checkers) + 2) as step:
        for checker in checkers:
            remarks += checker.remarks(manuscript)
            step.advance()
        remarks += check_citations(manuscript, works)
        step.advance()
        remarks += check_numbers(manuscript, results)
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
        manuscript=manuscript,
        remarks=tuple(remarks),
        citations=measures,
        mismatches=mismatches,
        penalty=penalty,
        not_looked=dict(not_looked or {}),
    )


def _row(remarked: Remarked) -> dict[str, Any]:
    row = remarked.model_dump(mode="json", exclude_defaults=True, exclude={"sentence", "reference", "task"})
    return row | ({"task": str(remarked.task)} if remarked.task else {})
