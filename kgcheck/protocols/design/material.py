"""Material of a design, choice of what fits from it, design rules, folder with model answers.

It is kept as one value beside the protocol, with the answers of a model, so that the protocol can be made again from
it, byte by byte.
"""

import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from pydantic import Field, TypeAdapter

from kgcheck.errors import InputFormat
from kgcheck.inputs import parse_json, read_whole, wrong_parts
from kgcheck.literature.lexical import content_words, relevances, stems
from kgcheck.literature.names import naming
from kgcheck.llm.budget import PartCost
from kgcheck.model import Value
from kgcheck.outputs import write_text
from kgcheck.protocols.programs.analyses import ready_analyses
from kgcheck.protocols.protocol import (
    ExperimentalReport,
    Objective,
    ReportSection,
    ReportStep,
    StepItem,
    StepParameter,
    StudyGrounds,
    digest_of_things,
    read_formatted,
)
from kgcheck.protocols.rules import ProtocolRules
from kgcheck.protocols.search.queries import SearchRules, concepts_of, words_of

if TYPE_CHECKING:
    pass


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

    members: tuple[str, ...] = Field(description="labels of the nodes that it takes")
    steps: tuple[StepPattern, ...]


class DesignRules(ProtocolRules):
    """Words and limits of designs."""

    file = "design"
    otherwise: str
    limits: dict[str, int]
    shares: dict[str, float]
    temperatures: dict[str, float]
    stages: tuple[StudyStage, ...]
    graph_steps: dict[str, StepPattern]
    from_facts: dict[str, str] = Field(description="sentences that are made from facts")
    analyses: dict[str, AnalysisUse]

    @cached_property
    def digest(self) -> str:
        ready = [analysis.model_dump(mode="json") for analysis in ready_analyses().values()]
        return digest_of_things([self.model_dump(mode="json"), ready])[:16]

    @property
    def fixed(self) -> frozenset[str]:
        """Names of the steps that kgcheck writes itself: of the graph, and of ready analyses."""
        return frozenset({*self.graph_steps, *self.analyses})


def stage_of(heading: str, text: str) -> str:
    """The stage of a study that a step belongs to.

    >>> stage_of("Statistical analysis", "P-values were corrected by the method of Benjamini and Hochberg.")
    'statistics'
    """
    above, within = stems(content_words(heading)), stems(content_words(text))
    counts = {s.name: 2 * len(s.stems & above) + len(s.stems & within) for s in DesignRules.shipped().stages}
    best = max(counts, key=lambda name: counts[name])
    return best if counts[best] else DesignRules.shipped().otherwise


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
    rules = DesignRules.shipped()
    taken = [
        TakenSection(f"R{r + 1}.{s + 1}", material.reports[r], section)
        for r in fitting_reports(material)
        for s, section in enumerate(material.reports[r].sections)
        if any(step.dry for step in section.steps)
    ]
    found = relevances(material.objective.text, (_text(one.section) for one in taken))
    kept = [
        (-(grade or 0), -round(relevance, 4), one)
        for one, relevance in zip(taken, found, strict=True)
        for grade in [one.section.referability]
        if (relevance >= rules.shares["relevance"] if grade is None else grade >= rules.limits["referability"])
    ]
    return tuple(one for *_, one in sorted(kept, key=lambda rated: rated[:2])[: rules.limits["sections"]])


def fitting_reports(material: DesignMaterial) -> tuple[int, ...]:
    """The places of the reports that fit the objective: not retracted, with steps, on its subject, and near its words.

    A report is on the subject that names a node of the objective or, where it has none, its most telling phrase. How
    rare a word is among the papers counts for nearness, so that the least is lower where there are few of them.
    """
    rules = DesignRules.shipped()
    texts = {
        place: " ".join((own.title, *map(_text, own.sections)))
        for place, own in enumerate(material.reports)
        if not own.retracted and any(part.steps for part in own.sections)
    }
    least = rules.shares["paper" if len(texts) >= rules.limits["few"] else "paper_of_few"]
    found = relevances(material.objective.text, texts.values())
    near = [place for place, relevance in zip(texts, found, strict=True) if relevance >= least]
    subjects = [concept for concept in concepts_of(material.objective, material.synonyms) if concept.kind == "subject"]
    about = {place: f"{texts[place]} {material.reports[place].abstract}" for place in near}
    own = {place: stems(words_of(text)) for place, text in about.items()}
    return tuple(n for n in near if not subjects or any(one.named_in(about[n], own[n]) for one in subjects))


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
            found += TypeAdapter(list[ExperimentalReport]).validate_python(raw if isinstance(raw, list) else [raw])
        except ValueError as error:
            why = f"{file} has no reports of papers: {wrong_parts(error)}"[:300]
            raise InputFormat(why, "kgcheck protocol report --format json writes some") from None
    return tuple(found)


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


def _has_digit(token: str) -> bool:
    return any(map(str.isdigit, token))


def strange_marks(text: str, grounds: Sequence[str]) -> str:
    """A number, an accession, a symbol with a digit or an address that is in none of the grounds."""
    stated = " ".join(grounds)
    own, known = (
        {token.strip(".,-!?").casefold().replace(",", "") for token in _TOKEN.findall(words) if _has_digit(token)}
        for words in (text, stated)
    )
    if strange := own - known:
        return f"it holds {min(strange)[:40]!r}, which is in nothing that it names"
    words = (word.strip(".,;()[]<>\"'") for word in text.split() if "://" in word or "www." in word.casefold())
    address = next((word for word in words if word not in stated), "")
    return f"it holds the address {address[:80]!r}, which is in nothing that it names" if address else ""


def holds_words(text: str, part: str) -> bool:
    """Tell whether a text has some words, whole."""
    whole = rf"(?<!\w)(?<!\d[.,]){re.escape(' '.join(part.split()))}(?!\w|[.,]\d)"
    return re.search(whole, " ".join(text.split()), re.IGNORECASE) is not None


def _text(section: ReportSection) -> str:
    return " ".join((section.heading, *(step.text for step in section.steps)))


class DesignAnswer(Value):
    """An answer of a model; one that was stopped has none, and only its cost counts."""

    role: Literal["designer", "reviewer"]
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
            why = f"{answers} has no answers of a design: {wrong_parts(error)}"[:300]
            raise InputFormat(why, "name another --out") from None
        return material

    def add(self, answer: DesignAnswer) -> None:
        self.answers.append(answer)
        lines = "".join(f"{a.model_dump_json(exclude_defaults=True)}\n" for a in self.answers)
        write_text(self.path / "answers.jsonl", lines, secret=True)
