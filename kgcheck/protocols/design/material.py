"""Material of a design: objective, nodes it is about, verified facts, reports of papers, data sets.

It is kept as one value beside the protocol, so that the protocol can be made again from it, byte by byte.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path

import numpy as np
from pydantic import Field, TypeAdapter

from kgcheck.errors import InputFormat
from kgcheck.inputs import parse_json, read_whole, wrong_parts
from kgcheck.ledger.verified import Verified
from kgcheck.literature.lexical import Lexical, content_words, stems
from kgcheck.literature.names import naming
from kgcheck.model import CheckTask, CheckType, Outcome, Ref, Value
from kgcheck.protocols.design.design_rules import design_rules
from kgcheck.protocols.protocol import Objective, StudyDataSet, StudyFact
from kgcheck.protocols.report import ExperimentalReport, ReportSection

_REPORTS = TypeAdapter(list[ExperimentalReport])

KnownFact = tuple[CheckTask, str, Verified | None]
"""A task, what it states, and how the newest run that looked judged it."""


class StudyNode(Value):
    """A node that the objective is about."""

    ref: Ref
    name: str
    names: tuple[str, ...] = Field(default=(), description="how papers call it")

    @property
    def called(self) -> tuple[str, ...]:
        """All that it is called, its id among it."""
        return tuple(dict.fromkeys((self.name, self.ref.id, *self.names)))


class DesignMaterial(Value):
    """All that a design rests on."""

    format: int = Field(default=1, description="a reader refuses a newer one")
    objective: Objective
    made_at: datetime
    made_by: str = "rules"
    small: bool = Field(default=False, description="made by a weak model, which is asked in short")
    nodes: tuple[StudyNode, ...] = ()
    facts: tuple[StudyFact, ...] = ()
    reports: tuple[ExperimentalReport, ...] = ()
    data_sets: tuple[StudyDataSet, ...] = ()
    notes: tuple[str, ...] = ()
    unavailable: tuple[str, ...] = Field(default=(), description="sources that could not be looked at")

    def of_labels(self, labels: Iterable[str]) -> tuple[StudyNode, ...]:
        """The nodes of some labels."""
        wanted = set(labels)
        return tuple(node for node in self.nodes if node.ref.label in wanted)


class TakenSection(Value):
    """A section of a report that a protocol takes from."""

    report: int = Field(ge=0, description="place of the report in the material")
    section: int = Field(ge=0, description="place of the section in its report")
    relevance: float


def taken_sections(material: DesignMaterial) -> tuple[TakenSection, ...]:
    """The sections that a protocol takes from: of papers that fit the objective, those that are referable, best first.

    A retracted paper is no ground. Where nobody judged how referable a section is, its relevance alone decides.
    """
    limits = design_rules().limits
    fitting = fitting_reports(material)
    places = [
        (r, s)
        for r in fitting
        for s, section in enumerate(material.reports[r].sections)
        if any(step.dry for step in section.steps)
    ]
    texts = [_text(material.reports[r].sections[s]) for r, s in places]
    found = []
    for (r, s), relevance in zip(places, relevances(material.objective.text, texts), strict=True):
        referable = material.reports[r].sections[s].referability
        enough = relevance >= limits.relevance if referable is None else referable >= limits.referability
        if enough:
            found.append(TakenSection(report=r, section=s, relevance=round(relevance, 4)))

    def rank(taken: TakenSection) -> tuple[float, ...]:
        referable = material.reports[taken.report].sections[taken.section].referability
        return (-(referable or 0), -taken.relevance, taken.report, taken.section)

    return tuple(sorted(found, key=rank)[: limits.sections])


def fitting_reports(material: DesignMaterial) -> tuple[int, ...]:
    """The places of the reports that fit the objective: not retracted, with steps, and near enough to its words.

    How rare a word is among the papers counts, so that the least is lower where there are few of them.
    """
    limits = design_rules().limits
    places = [
        n for n, own in enumerate(material.reports) if not own.retracted and any(part.steps for part in own.sections)
    ]
    texts = [" ".join((own.title, *map(_text, own.sections))) for own in (material.reports[n] for n in places)]
    least = limits.paper if len(texts) >= limits.few else limits.paper_of_few
    found = relevances(material.objective.text, texts)
    return tuple(n for n, relevance in zip(places, found, strict=True) if relevance >= least)


def relevances(text: str, others: Sequence[str]) -> list[float]:
    """Compute the BM25 relevance of some texts to a text, as a share of what the text has itself."""
    if not others:
        return []
    own, *rest = Lexical.of([text, *others]).scores(text).tolist()
    return [float(np.clip(score / own, 0, 1)) if own else 0.0 for score in rest]


def named_data_sets(reports: Iterable[ExperimentalReport]) -> tuple[StudyDataSet, ...]:
    """The data sets that reports name, each once; nobody has looked for them."""
    steps = (step for report in reports for section in report.sections for step in section.steps)
    found = {d.id: StudyDataSet(id=d.id, repository=d.repository) for step in steps for d in step.data_sets}
    return tuple(found.values())


def read_reports(files: Iterable[Path]) -> tuple[ExperimentalReport, ...]:
    """Reports of papers from files."""
    found: list[ExperimentalReport] = []
    for file in files:
        try:
            raw = parse_json(read_whole(file), decimals=True)
            found += _REPORTS.validate_python(raw if isinstance(raw, list) else [raw])
        except ValueError as error:
            raise InputFormat(
                f"{file} has no reports of papers: {wrong_parts(error)}"[:300],
                "kgcheck protocol report --format json writes some",
            ) from None
    return tuple(found)


def study_facts(known: Iterable[KnownFact]) -> tuple[StudyFact, ...]:
    """Facts as a protocol has them: that nodes exist, then edges; the verified ones first."""

    def rank(entry: KnownFact) -> tuple[bool, bool]:
        task, _, verified = entry
        return task.type is not CheckType.EXISTENCE, verified is None or verified.outcome is not Outcome.SUPPORTED

    return tuple(
        StudyFact(
            id=f"F{number}",
            task=task,
            stated=stated,
            **(
                {
                    "outcome": verified.outcome,
                    "reason": verified.reason,
                    "finding": task.fingerprint,
                    "source": verified.source or "",
                    "release": verified.release or "",
                    "record": verified.record or "",
                    "run": verified.run,
                    "at": verified.at,
                }
                if verified
                else {}
            ),
        )
        for number, (task, stated, verified) in enumerate(sorted(known, key=rank), 1)
    )


def likeness(one: str, other: str) -> float:
    """Compute the similarity of two sentences: the share of their stems that both have.

    >>> likeness("Reads were aligned with ABC2.", "ABC2 aligned the reads.")
    0.75
    """
    left, right = stems(content_words(one)), stems(content_words(other))
    return len(left & right) / len(left | right) if left | right else 1.0


def facts_named(text: str, material: DesignMaterial) -> tuple[str, ...]:
    """The verified facts that a sentence is about: it names every node that they are of."""
    named = set()
    for node in material.nodes:
        pattern = naming(node.called)
        if pattern and pattern.search(text):
            named.add(node.ref)
    return tuple(
        fact.id
        for fact in material.facts
        if fact.verified and {fact.task.subject, fact.task.object or fact.task.subject} <= named
    )


def _text(section: ReportSection) -> str:
    return " ".join((section.heading, *(step.text for step in section.steps)))
