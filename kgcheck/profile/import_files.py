"""The recipe of an import directory, ``loaders/<profile>/files.toml``: which file becomes which nodes or edges."""

from collections import Counter
from typing import Self

from pydantic import Field, ValidationError, field_validator, model_validator

from kgcheck.errors import ConfigurationError, KgcheckError
from kgcheck.inputs import plain_pattern, read_toml
from kgcheck.model import Value
from kgcheck.profile.schema import Label, Pattern, Schema, profile_dir


class _Format(Value):
    list_separator: str = ","


class _File(Value):
    file: str
    properties: dict[str, str] = Field(default_factory=dict, description="property: column")
    list_columns: tuple[str, ...] = Field(default=(), alias="list")
    ignored: tuple[str, ...] = ()
    optional: bool = False

    @field_validator("file")
    @classmethod
    def _inside(cls, file: str) -> str:
        return plain_pattern(file)

    @property
    def keys(self) -> dict[str, str]:
        """Key column of the staging table: column of the file."""
        raise NotImplementedError


class NodeFile(_File):
    """A file whose rows are nodes of one label."""

    label: str
    id: str

    @property
    def keys(self) -> dict[str, str]:
        """See base."""
        return {"id": self.id}


class EdgeFile(_File):
    """A file whose rows are edges of one pattern."""

    head: str
    relation: str
    tail: str
    from_column: str = Field(alias="from")
    to_column: str = Field(alias="to")

    @property
    def keys(self) -> dict[str, str]:
        """See base."""
        return {"head": self.from_column, "tail": self.to_column}


class Recipe(Value):
    """Every file of an import directory; nodes come before edges."""

    format: _Format = _Format()
    nodes: tuple[NodeFile, ...]
    edges: tuple[EdgeFile, ...]

    @property
    def files(self) -> tuple[NodeFile | EdgeFile, ...]:
        """All files, nodes before edges."""
        return (*self.nodes, *self.edges)

    @model_validator(mode="after")
    def _each_file_once(self) -> Self:
        for name, times in Counter(f.file for f in self.files).items():
            if times > 1:
                raise ValueError(f"{name} is named {times} times")
        return self


def load_recipe(schema: Schema) -> Recipe:
    """Read the recipe of a profile and check every name in it against the schema.

    Returns:
        The recipe.

    Raises:
        ConfigurationError: It is missing or wrong.
    """
    path = profile_dir(schema.profile.name) / "files.toml"
    try:
        recipe = Recipe.model_validate(read_toml(path))
        for file in recipe.nodes:
            _known(file, schema.label(file.label))
        for edge_file in recipe.edges:
            _known(edge_file, schema.pattern(edge_file.head, edge_file.relation, edge_file.tail))
    except (OSError, ValueError, ValidationError, KgcheckError) as error:
        raise ConfigurationError(f"{path} is wrong: {error}") from error
    return recipe


def _known(file: NodeFile | EdgeFile, holder: Label | Pattern) -> None:
    unknown = set(file.properties) - set(holder.properties)
    if unknown:
        raise ConfigurationError(f"{file.file} sets {sorted(unknown)}, which graph.toml does not describe")
