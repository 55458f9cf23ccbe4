"""Material of a design, choice of what fits from it, design rules, folder with model answers.

It is kept as one value beside the protocol, with the answers of a model, so that the protocol can be made again from
it, byte by byte.
"""

import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, Self

from pydantic import Field, TypeAdapter, model_validator

from kgcheck.errors import InputFormat
from kgcheck.inputs import parse_json, read_whole, wrong_parts
from kgcheck.literature.lexical import content_words, relevances, stems
from kgcheck.literature.names import naming
from kgcheck.llm.budget import PartCost
from kgcheck.model import CheckTask, CheckType, Outcome, Value
from kgcheck.outputs import write_text
from kgcheck.protocols.programs.analyses import ready_analyses
from kgcheck.protocols.protocol import (
    ExperimentalReport,
    Objective,
    ReportSection,
    ReportStep,
    StepItem,
    StepParameter,
    StudyFact,
    StudyGrounds,
    digest_of_things,
    read_formatted,
)
from kgcheck.protocols.rules import ProtocolRules
from kgcheck.protocols.search.queries import SearchConcept, SearchRules, concepts_of, words_of

if TYPE_CHECKING:
    from kgcheck.ledger.verified import Verified


class DesignLimits(Value):
    """Limits of a design, and thresholds for likeness and support."""

    referability: int = Field(ge=1, le=5)
    relevance: float = Field(ge=0, le=1)
    paper: float = Field(ge=0, le=1)
    paper_of_few: float = Field(ge=0, le=1)
    few: int = Field(gt=0)
    sections: int = Field(gt=0)
    steps: int = Field(gt=0)
    alike: float = Field(gt=0, le=1)
    facts: int = Field(gt=0)
    nodes: int = Field(gt=0)
    rounds: int = Field(gt=0)
    named: int = Field(gt=0)
    bound: float = Field(ge=0, le=1)
    sentence: int = Field(gt=0)
    heading: int = Field(gt=0)


class DesignTemperatures(Value):
    """Temperatures of sampling, by the role of a model."""

    designer: float = Field(ge=0, le=2)
    reviewer: float = Field(ge=0, le=2)


class StudyStage(Value):
    """A stage of a dry-lab study."""

    name: str
    heading: str
    purpose: str
    summary: str
    words: tuple[str, ...]

    @cached_property
    def stems(self) -> frozenset[str]:
        return stems(self.words)


class StepPattern(Value):
    """A step that kgcheck writes itself."""

    stage: str
    text: str
    rationale: str
    control: str = ""
    runs: bool = Field(default=False, description="a ready analysis is this step")
    inputs: tuple[StepItem, ...] = ()
    outputs: tuple[StepItem, ...] = ()
    parameters: tuple[StepParameter, ...] = ()
    statistics: tuple[str, ...] = ()


class AnalysisUse(Value):
    """Conditions for a ready analysis, and the steps that it makes."""

    members: tuple[str, ...] = Field(min_length=1, description="labels of the nodes that it takes")
    steps: tuple[StepPattern, ...] = Field(min_length=1)


class DesignRules(ProtocolRules):
    """Words and limits of designs."""

    file = "design"
    otherwise: str
    limits: DesignLimits
    temperatures: DesignTemperatures
    stages: tuple[StudyStage, ...] = Field(min_length=1)
    graph_steps: dict[str, StepPattern]
    from_facts: dict[str, str] = Field(description="sentences that are made from facts")
    analyses: dict[str, AnalysisUse]

    @cached_property
    def digest(self) -> str:
        """Digest of the rules by which fixed steps are made."""
        ready = [analysis.model_dump(mode="json") for analysis in ready_analyses().values()]
        return digest_of_things([self.model_dump(mode="json"), ready])[:16]

    @property
    def fixed(self) -> frozenset[str]:
        """Names of the steps that kgcheck writes itself: of the graph, and of ready analyses."""
        return frozenset({*self.graph_steps, *self.analyses})

    @model_validator(mode="after")
    def _names_stages(self) -> Self:
        steps = [*self.graph_steps.values(), *(s for a in self.analyses.values() for s in a.steps)]
        named = {self.otherwise, *(s.stage for s in steps)}
        if unknown := named - {stage.name for stage in self.stages}:
            raise ValueError(f"there is no stage {min(unknown)}")
        return self


def stage_of(heading: str, text: str) -> str:
    """The stage of a study that a step belongs to.

    >>> stage_of("Statistical analysis", "P-values were corrected by the method of Benjamini and Hochberg.")
    'statistics'
    """
    above, within = stems(content_words(heading)), stems(content_words(text))
    counts = {s.name: 2 * len(s.stems & above) + len(s.stems & within) for s in DesignRules.shipped().stages}
    best = max(counts, key=lambda name: counts[name])
    return best if counts[best] else DesignRules.shipped().otherwise


_REPORTS = TypeAdapter(list[ExperimentalReport])


class DesignMaterial(StudyGrounds):
    """All that a design rests on."""

    format: int = Field(default=1, description="a reader refuses a newer one")
    made_at: datetime
    made_by: str = "rules"
    reports: tuple[ExperimentalReport, ...] = ()
    notes: tuple[str, ...] = ()
    unavailable: tuple[str, ...] = Field(default=(), description="sources that could not be looked at")

    def synonyms(self, text: str) -> tuple[str, ...]:
        """Other names of the nodes that a text is a name of."""
        plain = text.casefold()
        named = (node.called for node in self.nodes if plain in {name.casefold() for name in node.called})
        return tuple(dict.fromkeys(name for called in named for name in called))


class TakenSection(NamedTuple):
    """A section that a protocol takes from, with its report; its id tells their places in the material."""

    id: str
    report: ExperimentalReport
    section: ReportSection


def taken_sections(material: DesignMaterial) -> tuple[TakenSection, ...]:
    """The sections that a protocol takes from, the best first: referable, or relevant where nobody judged that."""
    limits = DesignRules.shipped().limits
    places = [
        (r, s)
        for r in fitting_reports(material)
        for s, section in enumerate(material.reports[r].sections)
        if any(step.dry for step in section.steps)
    ]
    sections = [material.reports[r].sections[s] for r, s in places]
    found = []
    for (r, s), section, relevance in zip(
        places, sections, relevances(material.objective.text, map(_text, sections)), strict=True
    ):
        grade = section.referability
        if relevance >= limits.relevance if grade is None else grade >= limits.referability:
            taken = TakenSection(f"R{r + 1}.{s + 1}", material.reports[r], section)
            found.append((-(grade or 0), -round(relevance, 4), r, s, taken))
    return tuple(taken for *_, taken in sorted(found, key=lambda one: one[:4])[: limits.sections])


def fitting_reports(material: DesignMaterial) -> tuple[int, ...]:
    """The places of the reports that fit the objective: not retracted, with steps, on its subject, and near its words.

    A report is on the subject that names a node of the objective or, where it has none, its most telling phrase. How
    rare a word is among the papers counts for nearness, so that the least is lower where there are few of them.
    """
    limits = DesignRules.shipped().limits
    places = [
        n for n, own in enumerate(material.reports) if not own.retracted and any(part.steps for part in own.sections)
    ]
    texts = [" ".join((own.title, *map(_text, own.sections))) for own in (material.reports[n] for n in places)]
    least = limits.paper if len(texts) >= limits.few else limits.paper_of_few
    found = relevances(material.objective.text, texts)
    near = [n for n, relevance in zip(places, found, strict=True) if relevance >= least]
    subjects = [concept for concept in concepts_of(material.objective, material.synonyms) if concept.kind == "subject"]
    return tuple(n for n in near if not subjects or _names_any(material.reports[n], subjects))


def _names_any(report: ExperimentalReport, concepts: Iterable[SearchConcept]) -> bool:
    text = " ".join((report.title, report.abstract, *map(_text, report.sections)))
    own = stems(words_of(text))
    return any(concept.named_in(text, own) for concept in concepts)


def fits(step: ReportStep, heading: str, objective: Objective) -> bool:
    """Tell whether a step of a fitting paper is for the objective: by a word of it, or by a test."""
    wanted = stems(words_of(objective.text)) - SearchRules.shipped().generic_stems
    return bool(step.statistics or wanted & stems(words_of(f"{heading} {step.text}")))


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


def study_facts(known: "Iterable[tuple[CheckTask, str, Verified | None]]") -> tuple[StudyFact, ...]:
    """Facts with what they state and their newest judgement: that nodes exist, then edges; the verified ones first."""

    def rank(entry: "tuple[CheckTask, str, Verified | None]") -> tuple[bool, bool]:
        task, _, verified = entry
        return task.type is not CheckType.EXISTENCE, verified is None or verified.outcome is not Outcome.SUPPORTED

    facts = []
    for number, (task, stated, verified) in enumerate(sorted(known, key=rank), 1):
        judged = {name: getattr(verified, name) or "" for name in ("source", "release", "record")} if verified else {}
        if verified:
            judged |= {"outcome": verified.outcome, "reason": verified.reason, "run": verified.run, "at": verified.at}
            judged |= {"finding": task.fingerprint}
        facts.append(StudyFact(id=f"F{number}", task=task, stated=stated, **judged))
    return tuple(facts)


def likeness(one: str, other: str) -> float:
    """Compute the similarity of two sentences: the share of their stems that both have.

    >>> likeness("Reads were aligned with ABC2.", "ABC2 aligned the reads.")
    0.75
    """
    left, right = stems(content_words(one)), stems(content_words(other))
    return len(left & right) / len(left | right) if left | right else 1.0


def facts_named(text: str, material: StudyGrounds) -> tuple[str, ...]:
    """The verified facts that a sentence is about: it names every node that they are of."""
    patterns = ((node.ref, naming(node.called)) for node in material.nodes)
    named = {ref for ref, pattern in patterns if pattern and pattern.search(text)}
    return tuple(
        fact.id
        for fact in material.facts
        if fact.verified and {fact.task.subject, fact.task.object or fact.task.subject} <= named
    )


_TOKEN = re.compile(r"[^\s()\[\]{};:\"'\u201c\u201d\u2018\u2019=<>\u2264\u2265%/|]+")


def _marks(text: str) -> set[str]:
    """Extract the tokens with a digit: numbers, accessions, symbols, versions."""
    tokens = (token.strip(".,-!?").casefold().replace(",", "") for token in _TOKEN.findall(text))
    return {token for token in tokens if any(c.isdigit() for c in token)}


def strange_marks(text: str, grounds: Sequence[str]) -> str:
    """A number, an accession or an address that is in none of the grounds."""
    stated = " ".join(grounds)
    if strange := _marks(text) - _marks(stated):
        return f"it holds {min(strange)[:40]!r}, which is in nothing that it names"
    words = (word.strip(".,;()[]<>\"'") for word in text.split() if "://" in word or "www." in word.casefold())
    address = next((word for word in words if word not in stated), "")
    return f"it holds the address {address[:80]!r}, which is in nothing that it names" if address else ""


def holds_words(text: str, part: str) -> bool:
    """Tell whether a text has some words, whole."""
    found = re.search(
        rf"(?<!\w)(?<!\d[.,]){re.escape(' '.join(part.split()))}(?!\w|[.,]\d)", " ".join(text.split()), re.IGNORECASE
    )
    return found is not None


def _text(section: ReportSection) -> str:
    return " ".join((section.heading, *(step.text for step in section.steps)))


DesignRole = Literal["designer", "reviewer"]


class DesignAnswer(Value):
    """An answer of a model; one that was stopped has none, and only its cost counts."""

    role: DesignRole
    stage: str
    question: str = Field(description="SHA-256 of all that the model was given")
    answer: str = Field(default="", description="JSON of the form that was wanted")
    stopped: str = Field(default="", description="why there is no answer")
    cost: PartCost = PartCost()


class DesignFolder:
    """Folder of a design."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.answers: list[DesignAnswer] = []

    def begin(self, material: DesignMaterial) -> None:
        """Keep what a design rests on, in place of what an earlier one left."""
        self.answers = []
        (self.path / "answers.jsonl").unlink(missing_ok=True)
        text = material.model_dump_json(indent=2, exclude_defaults=True) + "\n"
        write_text(self.path / "material.json", text, secret=True)

    def read(self) -> DesignMaterial | None:
        """Read the material and the answers of a design begun here; None if there is none."""
        file = self.path / "material.json"
        if not file.is_file():
            return None
        material = read_formatted(file, DesignMaterial, "material of a design", "name another --out")
        answers = self.path / "answers.jsonl"
        try:
            lines = read_whole(answers).splitlines() if answers.is_file() else []
            self.answers = [DesignAnswer.model_validate_json(line) for line in lines]
        except ValueError as error:
            raise InputFormat(
                f"{answers} has no answers of a design: {wrong_parts(error)}"[:300], "name another --out"
            ) from None
        return material

    def add(self, answer: DesignAnswer) -> None:
        self.answers.append(answer)
        lines = "".join(f"{a.model_dump_json(exclude_defaults=True)}\n" for a in self.answers)
        write_text(self.path / "answers.jsonl", lines, secret=True)
