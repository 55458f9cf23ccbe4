"""A typed protocol: sections and steps, with the facts and the papers that each step rests on.

Ids are the protocol's own: ``F1`` a fact, ``Q1`` a passage, ``S1.2`` a step of the section ``S1``; data sets go by
their accession. A step names only ids that the protocol has.
"""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from typing import Literal, Self

from pydantic import Field, model_validator

from kgcheck.model import CheckTask, Outcome, Reason, Value
from kgcheck.protocols.objective import Objective
from kgcheck.providers.data_sets import RecordState

ItemKind = Literal["data_set", "table", "matrix", "gene_set", "network", "model", "figure", "text", "sample", "other"]
"""What a step takes or makes."""

DataSetState = Literal[RecordState, "not_looked"]
"""What the repository answered; ``not_looked``: nobody asked, or it did not answer."""


class StudyPassage(Value):
    """Words of a paper that a step rests on, exactly as the paper has them."""

    id: str = Field(pattern=r"^Q[1-9]\d*$")
    paper: str = Field(min_length=1, description="id of the paper, e.g. PMID:123 or doi:10.1371/…")
    title: str = ""
    year: int | None = None
    url: str = ""
    section: str = ""
    heading: str = ""
    quote: str = Field(min_length=1)
    retracted: bool = False


class StudyFact(Value):
    """A fact of the graph, with how it was judged when the protocol was made; ``outcome`` is none if nobody looked."""

    id: str = Field(pattern=r"^F[1-9]\d*$")
    task: CheckTask
    stated: str = Field(min_length=1, description="the fact as a clause")
    outcome: Outcome | None = None
    reason: Reason | None = None
    finding: str = Field(default="", description="fingerprint")
    source: str = ""
    release: str = ""
    record: str = ""
    run: str = ""
    at: datetime | None = None

    @property
    def verified(self) -> bool:
        """Whether it may be stated as true."""
        return self.outcome is Outcome.SUPPORTED


class StepParameter(Value):
    """A setting of a step: ``number`` and ``unit`` where the value is a measure."""

    name: str = Field(min_length=1, max_length=200)
    value: str = Field(min_length=1, max_length=300, description="as it is written")
    number: Decimal | None = None
    unit: str = ""
    comparator: str = Field(default="=", description="=, <, >, ≤ or ≥")
    passage: str = Field(default="", description="id of the passage that has it")


class StepTool(Value):
    """Software, a package or an instrument; ``version`` is empty where none is named."""

    name: str = Field(min_length=1, max_length=200)
    version: str = Field(default="", max_length=100)
    passage: str = Field(default="", description="id of the passage that has it")


class StepItem(Value):
    """What a step takes or makes, by the name that other steps call it."""

    name: str = Field(min_length=1, max_length=200)
    kind: ItemKind = "other"


class StudyDataSet(Value):
    """A data set in a repository, by its accession."""

    id: str = Field(min_length=1, max_length=100, description="accession, e.g. GSE21122")
    repository: str = Field(default="", description="e.g. GEO")
    title: str = ""
    species: tuple[str, ...] = ()
    assay: str = ""
    samples: int | None = None
    url: str = ""
    state: DataSetState = "not_looked"
    source: str = Field(default="", description="service that was asked")
    at: datetime | None = Field(default=None, description="when it was asked")
    remark: str = Field(default="", description="what is odd about it, e.g. that it is not public yet")

    @property
    def can_be_taken(self) -> bool:
        """Whether steps may name it: it was not looked for in vain."""
        return self.state in ("found", "not_looked")


class StudyStep(Value):
    """One step."""

    id: str = Field(pattern=r"^S[1-9]\d*\.[1-9]\d*$")
    text: str = Field(min_length=1)
    inputs: tuple[StepItem, ...] = ()
    outputs: tuple[StepItem, ...] = ()
    parameters: tuple[StepParameter, ...] = ()
    tools: tuple[StepTool, ...] = ()
    statistics: tuple[str, ...] = Field(default=(), description="names of tests and corrections, e.g. Fisher's exact")
    data_sets: tuple[str, ...] = Field(default=(), description="accessions among those of the protocol")
    facts: tuple[str, ...] = Field(default=(), description="ids of facts that it rests on")
    passages: tuple[str, ...] = Field(default=(), description="ids of passages that it rests on")
    analysis: str = Field(default="", description="name of a ready analysis that runs it")
    fixed: str = Field(default="", description="what it is a fixed step of, of kgcheck's own")
    control: str = Field(default="", description="what it compares with, where it is or has a control")
    rationale: str = ""

    @property
    def quoted(self) -> tuple[str, ...]:
        """Ids of all passages that it names, each once."""
        named = (*self.passages, *(p.passage for p in self.parameters), *(t.passage for t in self.tools))
        return tuple(name for name in dict.fromkeys(named) if name)


class StudySection(Value):
    """Steps under a heading."""

    id: str = Field(pattern=r"^S[1-9]\d*$")
    heading: str = Field(min_length=1, max_length=300)
    rationale: str = ""
    summary: str = ""
    steps: tuple[StudyStep, ...] = ()


class StudyProtocol(Value):
    """A protocol as ``protocol.json`` has it."""

    format: int = Field(default=1, description="a reader refuses a newer one")
    objective: Objective
    made_at: datetime
    made_by: str = Field(default="rules", description="rules, or the name of the model that wrote it")
    sections: tuple[StudySection, ...] = Field(min_length=1)
    facts: tuple[StudyFact, ...] = ()
    passages: tuple[StudyPassage, ...] = ()
    data_sets: tuple[StudyDataSet, ...] = ()
    notes: tuple[str, ...] = Field(default=(), description="what could not be done or looked at")

    @property
    def steps(self) -> Iterator[StudyStep]:
        """All steps, in order."""
        return (step for section in self.sections for step in section.steps)

    def steps_by_ground(self) -> dict[str, tuple[str, ...]]:
        """Ids of the steps that rest on each fact, passage and data set; of one that no step names, none."""
        found: dict[str, list[str]] = {}
        for step in self.steps:
            for name in dict.fromkeys((*step.facts, *step.quoted, *step.data_sets)):
                found.setdefault(name, []).append(step.id)
        return {name: tuple(steps) for name, steps in found.items()}

    @model_validator(mode="after")
    def _ids_are_its_own(self) -> Self:
        for kind, ids in {
            "fact": [f.id for f in self.facts],
            "passage": [p.id for p in self.passages],
            "data set": [d.id for d in self.data_sets],
            "section": [s.id for s in self.sections],
            "step": [s.id for s in self.steps],
        }.items():
            if twice := sorted(i for i, count in Counter(ids).items() if count > 1):
                raise ValueError(f"the {kind} {twice[0]} is there twice")
        facts, passages = {f.id for f in self.facts}, {p.id for p in self.passages}
        data_sets = {d.id for d in self.data_sets}
        for section in self.sections:
            for step in section.steps:
                if not step.id.startswith(f"{section.id}."):
                    raise ValueError(f"the step {step.id} stands in the section {section.id}")
                named = {*step.facts} - facts | {*step.quoted} - passages | {*step.data_sets} - data_sets
                if named:
                    raise ValueError(f"the step {step.id} rests on {min(named)}, which the protocol does not have")
        return self
