"""Grounds of a model's sentences: the sources to cite, and the check that these bear a sentence out."""

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import NamedTuple

from kgcheck.literature.gate import opposes
from kgcheck.literature.lexical import content_words, stems
from kgcheck.protocols.design.assembling import QuotedPassages
from kgcheck.protocols.design.design_rules import AnalysisUse, design_rules
from kgcheck.protocols.design.from_graph import fitting_analyses
from kgcheck.protocols.design.material import DesignMaterial, taken_sections
from kgcheck.protocols.programs.analyses import ready_analysis
from kgcheck.protocols.protocol import StepParameter, StepTool, StudyFact, StudyPassage
from kgcheck.protocols.report import ReportStep

OBJECTIVE = "O"
"""The id of the objective, on which a reason may rest, and no step."""


class GivenSection(NamedTuple):
    """A section of a report by its id, with its steps by the ids of their passages."""

    id: str
    paper: str
    heading: str
    suggestion: str
    outline: tuple[str, ...]
    steps: Mapping[str, ReportStep]


class Dropped(NamedTuple):
    """Something that a model wrote and that was thrown away, and why."""

    text: str
    why: str


class Grounds:
    """The passages, facts and ready analyses that a protocol may rest on, by id."""

    def __init__(self, material: DesignMaterial) -> None:
        self.material = material
        made = QuotedPassages()
        sections: list[GivenSection] = []
        for taken in taken_sections(material):
            report = material.reports[taken.report]
            own = report.sections[taken.section]
            steps = {made.add(report, own, step).id: step for step in own.steps if step.dry}
            id_ = f"R{taken.report + 1}.{taken.section + 1}"
            sections.append(GivenSection(id_, report.paper, own.heading, own.suggestion, own.outline, steps))
        self.sections: dict[str, GivenSection] = {section.id: section for section in sections}
        self.passages: dict[str, StudyPassage] = {passage.id: passage for passage in made.all()}
        self.facts: dict[str, StudyFact] = {fact.id: fact for fact in material.facts if fact.verified}
        self.analyses: dict[str, AnalysisUse] = dict(fitting_analyses(material))
        self._steps = {id_: step for section in sections for id_, step in section.steps.items()}
        # What must not be stated as true.
        self._not_verified = [(f.stated, stems(content_words(f.stated))) for f in material.facts if not f.verified]

    def words_of(self, id_: str) -> str | None:
        """Return the text of a source by its id; None if there is no such id."""
        if id_ == OBJECTIVE:
            return self.material.objective.text
        if passage := self.passages.get(id_):
            return f"{passage.heading} {passage.quote}"
        if fact := self.facts.get(id_):
            return fact.stated
        if use := self.analyses.get(id_):
            patterns = [f"{s.text} {s.control} {' '.join(s.statistics)}" for s in use.steps]
            values = [f"{p.name} {p.value}" for s in use.steps for p in s.parameters]
            return " ".join((id_, ready_analysis(id_).title, *ready_analysis(id_).statistics, *patterns, *values))
        if section := self.sections.get(id_):
            return " ".join((section.heading, *(step.text for step in section.steps.values())))
        return None

    def objection(self, text: str, ids: Sequence[str], *, to_reasons: bool = False) -> str:
        """Return the reason why a sentence is not borne out by what it names."""
        limits = design_rules().limits
        if not text or len(text) > limits.sentence:
            return f"it is empty, or longer than {limits.sentence} characters"
        words = {id_: self.words_of(id_) for id_ in dict.fromkeys(ids)}
        unknown = [id_ for id_, own in words.items() if own is None]
        if unknown:
            return f"it names {unknown[0][:40]!r}, which there is not"
        if not words or not (to_reasons or any(i != OBJECTIVE and i not in self.sections for i in words)):
            return "it names no passage, fact or analysis that it rests on"
        grounds = [own for own in words.values() if own]
        if why := _strange_marks(text, grounds):
            return why
        own = stems(content_words(text))
        shared = own & stems(content_words(" ".join(grounds)))
        if own and len(shared) / len(own) < limits.bound:
            return "what it names speaks of other things"
        for stated, marks in self._not_verified:
            if marks and marks <= own:
                return f"it states what no audit supports: {stated}"
        return "it says the opposite of what it names" if opposes(text, grounds) == -1 else ""

    def parameter(self, name: str, value: str, passage: str, passages: Container[str]) -> StepParameter | None:
        """A setting, if a passage has it; with its number and unit where the report has them."""
        step, value = self._steps.get(passage), " ".join(value.split())
        if step is None or passage not in passages or not _holds(step.text, value):
            return None
        same = next((p for p in step.parameters if p.value == value or p.value.endswith(f" {value}")), None)
        if same is not None:
            return same.model_copy(update={"passage": passage})
        return StepParameter(name=name, value=value, passage=passage) if _holds(step.text, name) else None

    def tool(self, name: str, version: str, passage: str, passages: Container[str]) -> StepTool | None:
        """A tool, if a passage names it; without its version where that is not there."""
        step = self._steps.get(passage)
        if step is None or passage not in passages or not _holds(step.text, name):
            return None
        return StepTool(name=name, version=version if version and _holds(step.text, version) else "", passage=passage)

    def text_of(self, ids: Iterable[str]) -> str:
        """The words of all of some ids, as one text."""
        return " ".join(filter(None, (self.words_of(id_) for id_ in ids)))


_TOKEN = re.compile(r"[^\s()\[\]{};:\"'\u201c\u201d\u2018\u2019=<>\u2264\u2265%/|]+")


def _marks(text: str) -> set[str]:
    """Extract the tokens with a digit: numbers, accessions, symbols, versions."""
    tokens = (token.strip(".,-!?").casefold().replace(",", "") for token in _TOKEN.findall(text))
    return {token for token in tokens if any(c.isdigit() for c in token)}


def _strange_marks(text: str, grounds: Sequence[str]) -> str:
    """A number, an accession or an address that is in none of the grounds."""
    stated = " ".join(grounds)
    if strange := _marks(text) - _marks(stated):
        return f"it holds {min(strange)[:40]!r}, which is in nothing that it names"
    words = (word.strip(".,;()[]<>\"'") for word in text.split() if "://" in word or "www." in word.casefold())
    strange_address = next((word for word in words if word not in stated), "")
    return (
        f"it holds the address {strange_address[:80]!r}, which is in nothing that it names" if strange_address else ""
    )


def _holds(text: str, part: str) -> bool:
    """Tell whether a text has some words, whole."""
    found = re.search(rf"(?<!\w){re.escape(' '.join(part.split()))}(?!\w)", " ".join(text.split()), re.IGNORECASE)
    return found is not None
