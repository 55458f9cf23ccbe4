"""What a protocol is for: the objective with its conditions and requirements, as a person writes it in TOML."""

from pathlib import Path

from pydantic import Field

from kgcheck.errors import InputFormat
from kgcheck.inputs import read_toml, wrong_parts
from kgcheck.model import Value


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
        """All of it as running text, for search and likeness."""
        return " ".join((self.title, self.objective, *self.conditions, *self.requirements, *self.about, *self.assays))


def read_objective(path: Path) -> Objective:
    """Read an objective."""
    try:
        return Objective.model_validate(read_toml(path))
    except ValueError as error:
        hint = f"write it in TOML; its fields are {', '.join(Objective.model_fields)}"
        raise InputFormat(f"{path} is no objective: {wrong_parts(error, 5)}", hint) from None
