"""The forms of a designer's and a reviewer's answers. What a model writes is data: who uses it looks."""

from pydantic import BaseModel, ConfigDict, Field

from kgcheck.protocols.protocol import ItemKind

MOST_SECTIONS = 12
MOST_POINTS = 20
MOST_STEPS = 30
MOST_SENTENCES = 12
MOST_NAMED = 20
"""Parts of one answer; what is more is an answer of another form."""


class _Written(BaseModel):
    model_config = ConfigDict(extra="ignore")


class WrittenBound(_Written):
    """A sentence with the ids that it rests on."""

    text: str = Field(max_length=2_000)
    rests_on: list[str] = Field(default=[], max_length=MOST_NAMED)


class WrittenHeading(_Written):
    """A heading with its reason and the sections of reports that it takes from."""

    heading: str = Field(max_length=300)
    reason: WrittenBound
    sources: list[str] = Field(default=[], max_length=MOST_NAMED)


class WrittenHeadings(_Written):
    """The headings of a protocol."""

    sections: list[WrittenHeading] = Field(min_length=1, max_length=MOST_SECTIONS)


class WrittenPart(_Written):
    """The outline of a section."""

    section: int = Field(ge=1, description="place of its heading")
    points: list[WrittenBound] = Field(max_length=MOST_POINTS)


class WrittenOutline(_Written):
    """The outline of a protocol, each point with the sections of reports and the facts that it takes from."""

    parts: list[WrittenPart] = Field(max_length=MOST_SECTIONS)


class WrittenParameter(_Written):
    """A setting as a passage has it."""

    name: str = Field(min_length=1, max_length=200)
    value: str = Field(min_length=1, max_length=300)
    passage: str = ""


class WrittenTool(_Written):
    """A tool as a passage has it."""

    name: str = Field(min_length=1, max_length=200)
    version: str = Field(default="", max_length=100)
    passage: str = ""


class WrittenItem(_Written):
    """What a step takes or makes."""

    name: str = Field(min_length=1, max_length=80)
    kind: ItemKind = "other"


class WrittenStep(_Written):
    """A step in sentences."""

    sentences: list[WrittenBound] = Field(max_length=MOST_SENTENCES)
    inputs: list[WrittenItem] = Field(default=[], max_length=MOST_NAMED)
    outputs: list[WrittenItem] = Field(default=[], max_length=MOST_NAMED)
    parameters: list[WrittenParameter] = Field(default=[], max_length=MOST_NAMED)
    tools: list[WrittenTool] = Field(default=[], max_length=MOST_NAMED)
    statistics: list[str] = Field(default=[], max_length=MOST_NAMED)
    data_sets: list[str] = Field(default=[], max_length=MOST_NAMED)
    control: str = Field(default="", max_length=600)


class WrittenDetails(_Written):
    """The steps of one section."""

    steps: list[WrittenStep] = Field(max_length=MOST_STEPS)


class DesignReview(_Written):
    """What a reviewer makes of a draft."""

    remarks: list[str] = Field(default=[], max_length=MOST_NAMED)
    approved: bool
