"""Models of an objective, a protocol (StudyProtocol) and a paper's report, and their JSON files.

Ids are the protocol's own: ``F1`` a fact, ``Q1`` a passage, ``S1.2`` a step of the section ``S1``; data sets go by
their accession. A step names only ids that the protocol has.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from typing import Literal, Self, TypeVar

from pydantic import Field, model_validator

from kgcheck.choices import SectionKind
from kgcheck.errors import InputFormat
from kgcheck.inputs import parse_json, read_toml, read_whole, wrong_parts
from kgcheck.model import CheckTask, CheckType, Outcome, Reason, Ref, Value

FILE = "protocol.json"  # file of a protocol in the folder of its design


class Objective(Value):
    """A research objective.

    ``about`` has names or ids of nodes of the graph (genes, proteins, diseases …): their facts stand beside the steps.
    """

    title: str = Field(min_length=1, max_length=300)
    objective: str = Field(min_length=1, max_length=5_000, description="what is to be found out")
    conditions: tuple[str, ...] = Field(default=(), description="what there is: samples, data, machines")
    requirements: tuple[str, ...] = Field(default=(), description="what the protocol must do, or not do")
    about: tuple[str, ...] = Field(default=(), description="names or ids of nodes of the graph")
    species: str = Field(default="Homo sapiens", description="scientific name")
    assays: tuple[str, ...] = Field(default=(), description="kinds of data that are wanted, e.g. RNA-seq")

    @property
    def text(self) -> str:
        return " ".join((self.title, self.objective, *self.conditions, *self.requirements, *self.about, *self.assays))


def read_objective(path: Path) -> Objective:
    """Read an objective."""
    try:
        return Objective.model_validate(read_toml(path))
    except ValueError as error:
        hint = f"write it in TOML; its fields are {', '.join(Objective.model_fields)}"
        raise InputFormat(f"{path} is no objective: {wrong_parts(error, 5)}", hint) from None


ItemKind = Literal["data_set", "table", "matrix", "gene_set", "network", "model", "figure", "text", "sample", "other"]
"""Kind of an input or output of a step."""

DataSetState = Literal["found", "missing", "not_looked"]
"""Answer of the repository; ``not_looked``: nobody asked, or it did not answer."""


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
    digest: str = Field(default="", description="of paper, place and quote, as they were taken")

    @property
    def digest_now(self) -> str:
        """Digest of paper, place and quote as they stand here, whatever its spaces."""
        quote = " ".join(self.quote.split())
        return digest_of_things([self.paper, self.title, self.year, self.url, self.section, self.heading, quote])


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
        return self.outcome is Outcome.SUPPORTED


class StudyNode(Value):
    """A node that the objective is about."""

    ref: Ref
    name: str
    names: tuple[str, ...] = Field(default=(), description="how papers call it")

    @property
    def called(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((self.name, self.ref.id, *self.names)))


class StepParameter(Value):
    """A setting of a step: ``number`` and ``unit`` where the value is a measure."""

    name: str = Field(min_length=1, max_length=200)
    value: str = Field(min_length=1, max_length=300, description="as it is written")
    number: Decimal | None = None
    unit: str = ""
    comparator: str = Field(default="=", description="=, <, >, ≤ or ≥")
    passage: str = Field(default="", description="id of the passage that has it")

    @property
    def written(self) -> str:
        """The value behind its sign, where it is compared: ``< 0.05``."""
        return self.value if self.comparator in ("=", self.value[:1]) else f"{self.comparator} {self.value}"

    @property
    def setting(self) -> tuple[str, str]:
        """Its name and value as a ready analysis takes them."""
        return self.name.casefold().replace(" ", "_"), str(self.number or self.value)


class StepTool(Value):
    """Software, a package or an instrument; ``version`` is empty where none is named."""

    name: str = Field(min_length=1, max_length=200)
    version: str = Field(default="", max_length=100)
    passage: str = Field(default="", description="id of the passage that has it")

    @property
    def written(self) -> str:
        return f"{self.name} {self.version}".strip()


class StepItem(Value):
    """Input or output of a step, by the name that other steps call it."""

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
        """Tell whether steps may name the data set: it was not looked for in vain."""
        return self.state in ("found", "not_looked")

    def may_be_of(self, species: str) -> bool:
        """Tell whether the record names a species, or none at all."""
        return not self.species or species.casefold() in {name.casefold() for name in self.species}


class StudyGrounds(Value):
    """Objective, nodes, facts and data sets that a protocol is designed from."""

    objective: Objective
    nodes: tuple[StudyNode, ...] = Field(default=(), description="nodes that the objective is about")
    facts: tuple[StudyFact, ...] = ()
    data_sets: tuple[StudyDataSet, ...] = ()
    refused: dict[str, str] = Field(default={}, description="ready analyses that the graph cannot run for it, and why")

    def of_labels(self, labels: Iterable[str]) -> tuple[StudyNode, ...]:
        """Nodes of some labels, without those that an audit refuted."""
        existing = {f.task.subject: f for f in self.facts if f.task.type is CheckType.EXISTENCE}
        refuted = {ref for ref, fact in existing.items() if fact.outcome is Outcome.REFUTED}
        wanted = set(labels)
        return tuple(node for node in self.nodes if node.ref.label in wanted and node.ref not in refuted)


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
        named = (*self.passages, *(p.passage for p in self.parameters), *(t.passage for t in self.tools))
        return tuple(name for name in dict.fromkeys(named) if name)


class StudySection(Value):
    """Steps under a heading."""

    id: str = Field(pattern=r"^S[1-9]\d*$")
    heading: str = Field(min_length=1, max_length=300)
    rationale: str = ""
    summary: str = ""
    steps: tuple[StudyStep, ...] = ()


class StudyProtocol(StudyGrounds):
    """A protocol as ``protocol.json`` has it."""

    format: int = Field(default=1, description="a reader refuses a newer one")
    made_at: datetime
    made_by: str = Field(default="rules", description="rules, or the name of the model that wrote it")
    rules: str = Field(default="", description="digest of the rules that made its fixed steps")
    sections: tuple[StudySection, ...] = Field(min_length=1)
    passages: tuple[StudyPassage, ...] = ()
    notes: tuple[str, ...] = Field(default=(), description="what could not be done or looked at")

    @property
    def steps(self) -> Iterator[StudyStep]:
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
        parts: dict[str, tuple[StudyFact | StudyPassage | StudyDataSet | StudySection, ...]] = {
            **{"fact": self.facts, "passage": self.passages},
            **{"data set": self.data_sets, "section": self.sections},
        }
        ids = {kind: [part.id for part in some] for kind, some in parts.items()} | {"step": [s.id for s in self.steps]}
        for kind, own in ids.items():
            if twice := sorted(i for i, count in Counter(own).items() if count > 1):
                raise ValueError(f"the {kind} {twice[0]} is there twice")
        for section in self.sections:
            for step in section.steps:
                if not step.id.startswith(f"{section.id}."):
                    raise ValueError(f"the step {step.id} stands in the section {section.id}")
                named = {"fact": step.facts, "passage": (*step.quoted, *step.passages), "data set": step.data_sets}
                if lost := {i for kind, some in named.items() for i in some if i not in ids[kind]}:
                    raise ValueError(f"the step {step.id} rests on {min(lost)!r}, which the protocol does not have")
        return self


V = TypeVar("V", bound=Value)


def read_formatted(path: Path, kind: type[V], form: str, hint: str, text: str | None = None) -> V:
    """A JSON file with the number of its format."""
    newest = kind.model_fields["format"].default
    try:
        raw = parse_json(read_whole(path) if text is None else text)
        found = raw.get("format") if isinstance(raw, dict) else None
        if isinstance(found, int) and found > newest:
            raise InputFormat(f"{path} has the format {found}, newer than {newest}", "upgrade kgcheck")
        return kind.model_validate(raw)
    except ValueError as error:
        raise InputFormat(f"{path} is no {form}: {wrong_parts(error)}"[:500], hint) from None


def digest_of_things(things: object) -> str:
    """SHA-256 of what JSON can hold: whether something was made of just these things."""
    return sha256(json.dumps(things, sort_keys=True).encode()).hexdigest()


def read_protocol(path: Path, text: str | None = None) -> StudyProtocol:
    """Read a protocol; see `read_formatted`."""
    hint = "give a protocol.json as kgcheck protocol design writes it"
    return read_formatted(path, StudyProtocol, "protocol", hint, text)


class NamedDataSet(Value):
    """An accession in a text: ``text[start:end]`` of the sentence."""

    id: str
    repository: str
    start: int
    end: int


class ReportStep(Value):
    """A sentence that tells what was done; ``text`` is exactly as in the paper."""

    number: int = Field(ge=1, description="place in the paper, counted through all sections")
    text: str = Field(min_length=1)
    parameters: tuple[StepParameter, ...] = ()
    tools: tuple[StepTool, ...] = ()
    statistics: tuple[str, ...] = ()
    data_sets: tuple[NamedDataSet, ...] = ()
    inputs: tuple[StepItem, ...] = ()
    outputs: tuple[StepItem, ...] = ()
    dry: bool = Field(default=False, description="it is done by computing, not at a bench")


class ReportSection(Value):
    """A section of the methods, with what the paper says came out of it."""

    heading: str
    path: tuple[str, ...] = ()
    kind: SectionKind = "methods"
    outline: tuple[str, ...] = Field(default=(), description="a few words a step")
    steps: tuple[ReportStep, ...] = ()
    results: tuple[str, ...] = Field(default=(), description="sentences of the results that belong to it, exact")
    referability: int | None = Field(default=None, ge=1, le=5, description="how much of it a protocol can take over")
    suggestion: str = Field(default="", description="what a protocol should take from it, or why not")


class ExperimentalReport(Value):
    """Report of one paper: its methods, section by section and step by step."""

    paper: str = Field(min_length=1)
    ids: tuple[str, ...] = ()
    title: str = ""
    abstract: str = Field(default="", description="by which it is judged whether the paper is on a subject")
    year: int | None = None
    url: str = ""
    licence: str = ""
    species: tuple[str, ...] = ()
    retracted: bool = False
    sections: tuple[ReportSection, ...] = ()
    note: Literal["", "no methods"] = Field(default="", description="why there is nothing, where there is nothing")


def few(names: Sequence[str], most: int = 6) -> str:
    """The first of some names, and how many more there are."""
    return ", ".join(names[:most]) + (f" and {len(names) - most:,} more" if len(names) > most else "")
