"""An experimental report: what a paper did, section by section and step by step, each step in the paper's own words."""

from typing import Literal

from pydantic import Field

from kgcheck.literature.papers import SectionKind
from kgcheck.model import Value
from kgcheck.protocols.protocol import StepItem, StepParameter, StepTool


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
    year: int | None = None
    url: str = ""
    licence: str = ""
    species: tuple[str, ...] = ()
    retracted: bool = False
    sections: tuple[ReportSection, ...] = ()
    made_by: str = "rules"
    dropped: int = Field(default=0, ge=0, description="steps of a model that are not words of the paper")
    note: Literal["", "no methods"] = Field(default="", description="why there is nothing, where there is nothing")
