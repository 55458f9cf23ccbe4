"""The words and bounds by which protocols are put together: the file ``corpus/protocols/design.toml``."""

from functools import cache

from pydantic import Field, model_validator

from kgcheck.literature.lexical import content_words, stems
from kgcheck.model import Value
from kgcheck.profile.toml_files import read_value
from kgcheck.protocols.protocol import StepItem, StepParameter
from kgcheck.resources import resource_dir


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
    """Sampling temperature of each role of a model."""

    designer: float = Field(ge=0, le=2)
    reviewer: float = Field(ge=0, le=2)


class StudyStage(Value):
    """A stage of a dry-lab study."""

    name: str
    heading: str
    purpose: str
    summary: str
    words: tuple[str, ...]


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
    least: int = Field(gt=0, description="so many of them")
    steps: tuple[StepPattern, ...] = Field(min_length=1)


class DesignRules(Value):
    """The file."""

    otherwise: str
    limits: DesignLimits
    temperatures: DesignTemperatures
    stages: tuple[StudyStage, ...] = Field(min_length=1)
    graph_steps: dict[str, StepPattern]
    analyses: dict[str, AnalysisUse]

    @property
    def fixed(self) -> frozenset[str]:
        """Names of the steps that kgcheck writes itself: of the graph, and of ready analyses."""
        return frozenset({*self.graph_steps, *self.analyses})

    @model_validator(mode="after")
    def _names_stages(self) -> "DesignRules":
        steps = [*self.graph_steps.values(), *(s for a in self.analyses.values() for s in a.steps)]
        named = {self.otherwise, *(s.stage for s in steps)}
        if unknown := named - {stage.name for stage in self.stages}:
            raise ValueError(f"there is no stage {min(unknown)}")
        return self


@cache
def design_rules() -> DesignRules:
    """The rules that are shipped."""
    return read_value(resource_dir("corpus") / "protocols" / "design.toml", DesignRules)


@cache
def _stage_stems() -> dict[str, frozenset[str]]:
    return {stage.name: stems(stage.words) for stage in design_rules().stages}


def stage_of(heading: str, text: str) -> str:
    """The stage of a study that a step belongs to.

    >>> stage_of("Statistical analysis", "P-values were corrected by the method of Benjamini and Hochberg.")
    'statistics'
    """
    above, within = stems(content_words(heading)), stems(content_words(text))
    counts = {name: 2 * len(own & above) + len(own & within) for name, own in _stage_stems().items()}
    best = max(counts, key=lambda name: counts[name])
    return best if counts[best] else design_rules().otherwise
