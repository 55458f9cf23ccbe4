"""Recipe of an import directory, ``files.toml``: file rows that become nodes and edges."""

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Self

from pydantic import Field, field_validator, model_validator

from kgcheck.errors import UnknownName
from kgcheck.inputs import plain_pattern
from kgcheck.model import Value
from kgcheck.profile.folder import part
from kgcheck.profile.schema import Holder, Label, Schema
from kgcheck.profile.toml_files import Mistake, Mistakes, WrongFile, read_value

FILES = "files.toml"

PLACE = re.compile(r"\{(\w+)\}")
"""Place in a constant for the id of the node, or for a part of it."""


class _Format(Value):
    list_separator: str = Field(default=",", min_length=1)


class _Rows(Value):
    file: str
    properties: dict[str, str] = Field(default_factory=dict, description="property: column")
    ignored: tuple[str, ...] = ()
    optional: bool = False
    sources: dict[str, str] = Field(
        default={},
        exclude=True,
        description="what `kgcheck build` writes here: facts of these references, each with what `source` says of it",
    )
    constants: dict[str, str] = Field(
        default={},
        exclude=True,
        description="column: text that `kgcheck build` writes; {id}, or a group of the id's form, stands for it",
    )

    @field_validator("file")
    @classmethod
    def _inside(cls, file: str) -> str:
        return plain_pattern(file)

    @property
    def target(self) -> str:
        """The label or pattern, as text."""
        raise NotImplementedError

    @property
    def keys(self) -> dict[str, str]:
        """Key column of the staging table: column of the file."""
        raise NotImplementedError

    @property
    def columns(self) -> list[str]:
        return list(dict.fromkeys([*self.keys.values(), *self.properties.values()]))


class NodeFile(_Rows):
    """A file whose rows are nodes of one label."""

    label: str
    id: str
    linked: bool = Field(
        default=False, exclude=True, description="`kgcheck build` writes only the nodes that an edge names"
    )
    values: dict[str, str] = Field(
        default={},
        exclude=True,
        description="property: the authority's value that `kgcheck build` writes where graph.toml checks none",
    )

    @property
    def target(self) -> str:
        return self.label

    @property
    def keys(self) -> dict[str, str]:
        return {"id": self.id}


class EdgeFile(_Rows):
    """A file whose rows are edges of one pattern."""

    head: str
    relation: str
    tail: str
    from_column: str = Field(alias="from")
    to_column: str = Field(alias="to")

    @property
    def target(self) -> str:
        return f"{self.head} {self.relation} {self.tail}"

    @property
    def keys(self) -> dict[str, str]:
        return {"head": self.from_column, "tail": self.to_column}


class Recipe(Value):
    """Every file of an import directory, each of one label or one pattern; nodes come before edges."""

    format: _Format = _Format()
    nodes: tuple[NodeFile, ...]
    edges: tuple[EdgeFile, ...] = ()

    @property
    def files(self) -> tuple[NodeFile | EdgeFile, ...]:
        return (*self.nodes, *self.edges)

    @cached_property
    def by_file(self) -> dict[str, NodeFile | EdgeFile]:
        return {entry.file: entry for entry in self.files}

    @model_validator(mode="after")
    def _name_each_file_once(self) -> Self:
        names = [entry.file for entry in self.files]
        if doubled := sorted({name for name in names if names.count(name) > 1}):
            raise Mistakes(Mistake(where=f"[{name}]", what=f"{name} is named more than once") for name in doubled)
        return self


def load_recipe(schema: Schema) -> Recipe:
    """Read the recipe of a profile and check every name in it against the schema."""
    path = part(schema.folder, FILES)
    try:
        recipe = read_value(path, Recipe)
    except FileNotFoundError:
        raise WrongFile(
            path, [Mistake(what="it is missing")], "it says which files a load reads; an audit needs none"
        ) from None
    if mistakes := list(_unknown_names(recipe, schema)):
        raise WrongFile(path, mistakes)
    return recipe


def _unknown_names(recipe: Recipe, schema: Schema) -> Iterator[Mistake]:
    for entry in recipe.files:
        where = f"{'nodes' if isinstance(entry, NodeFile) else 'edges'}[{entry.file} {entry.target}]"
        try:
            holder = holder_of(entry, schema)
        except UnknownName as error:
            yield Mistake(where=where, what=error.in_one_line)
            continue
        parts = {"id", *holder.groups} if isinstance(holder, Label) else set[str]()
        unknown = sorted({part for text in entry.constants.values() for part in PLACE.findall(text)} - parts)
        if keys := sorted(set(entry.constants) & set(entry.keys.values())):
            yield Mistake(where=f"{where}.constants", what=f"{keys[0]!r} is a column of ids, and no constant")
        elif unknown:
            known = ", ".join(f"{{{part}}}" for part in sorted(parts)) or "none in edges"
            what = f"{{{unknown[0]}}} stands for nothing; what does: {known}"
            yield Mistake(where=f"{where}.constants", what=what)
        if strange := sorted(set(entry.properties) - set(holder.properties)):
            what = f"{entry.file} sets {strange}, which graph.toml does not describe"
            yield Mistake(where=f"{where}.properties", what=what)


def holder_of(entry: NodeFile | EdgeFile, schema: Schema) -> Holder:
    """The label or pattern of a file."""
    if isinstance(entry, NodeFile):
        return schema.label(entry.label)
    return schema.pattern(entry.head, entry.relation, entry.tail)
