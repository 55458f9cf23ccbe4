"""Recipe of an import directory, ``files.toml``: file rows that become nodes and edges."""

import re
from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from typing import Self

from pydantic import Field, field_validator, model_validator

from kgcheck.errors import UnknownName
from kgcheck.inputs import plain_pattern
from kgcheck.model import Value
from kgcheck.profile.folder import part
from kgcheck.profile.schema import Label, Pattern, Schema
from kgcheck.profile.toml_files import Mistake, Mistakes, WrongFile, read_value

FILES = "files.toml"

PLACE = re.compile(r"\{(\w+)\}")
"""Place in a constant for the id of the node, or for a part of it."""


class _Format(Value):
    list_separator: str = Field(default=",", min_length=1)
    lenient: bool = Field(
        default=False,
        description="a row may end before its last columns, and a quote that opens no field is a character",
    )


class Where(Value):
    """Filter of the rows of a file by one column: those with one of the values, or whose list holds one."""

    column: str
    equals: tuple[str, ...] = ()
    contains: tuple[str, ...] = ()

    @field_validator("equals", "contains", mode="before")
    @classmethod
    def _one_or_many(cls, values: object) -> object:
        return (values,) if isinstance(values, str) else values

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if bool(self.equals) == bool(self.contains):
            raise ValueError("give either equals or contains, a value or a list of values")
        return self


class _Rows(Value):
    file: str
    where: Where | None = None
    properties: dict[str, str] = Field(default_factory=dict, description="property: column")
    list_columns: tuple[str, ...] = Field(default=(), alias="list")
    ignored: tuple[str, ...] = ()
    optional: bool = False
    optional_columns: tuple[str, ...] = Field(default=(), description="columns of properties that the file may lack")
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
        """The label or pattern, as `kgcheck.loading.staging.holder_name` writes it."""
        raise NotImplementedError

    @property
    def keys(self) -> dict[str, str]:
        """Key column of the staging table: column of the file."""
        raise NotImplementedError

    @property
    def prefixes(self) -> dict[str, str]:
        """Key column of the staging table: what stands before every id in the file, and is taken off."""
        raise NotImplementedError

    @property
    def columns(self) -> list[str]:
        tested = [self.where.column] if self.where else []
        return list(dict.fromkeys([*self.keys.values(), *self.properties.values(), *tested]))

    @property
    def required_columns(self) -> set[str]:
        spare = {c for c in self.properties.values() if c in self.optional_columns}
        return set(self.columns) - (spare - {*self.keys.values(), *([self.where.column] if self.where else [])})


class NodeFile(_Rows):
    """Rows of a file that are nodes of one label."""

    label: str
    id: str
    prefix: str = Field(default="", description="stands before every id in the file, and is taken off")
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

    @property
    def prefixes(self) -> dict[str, str]:
        return {"id": self.prefix}


class EdgeFile(_Rows):
    """Rows of a file that are edges of one pattern."""

    head: str
    relation: str
    tail: str
    from_column: str = Field(alias="from")
    to_column: str = Field(alias="to")
    from_prefix: str = ""
    to_prefix: str = ""

    @property
    def target(self) -> str:
        return f"{self.head} {self.relation} {self.tail}"

    @property
    def keys(self) -> dict[str, str]:
        return {"head": self.from_column, "tail": self.to_column}

    @property
    def prefixes(self) -> dict[str, str]:
        return {"head": self.from_prefix, "tail": self.to_prefix}


class Recipe(Value):
    """Every file of an import directory; nodes come before edges.

    Several entries may read one file where each says `where`: a row goes to the first that takes it. Entries of edges
    that take the same rows are told apart by the ends: a row goes to the first whose labels have both.
    """

    format: _Format = _Format()
    nodes: tuple[NodeFile, ...]
    edges: tuple[EdgeFile, ...] = ()

    @property
    def files(self) -> tuple[NodeFile | EdgeFile, ...]:
        return (*self.nodes, *self.edges)

    @cached_property
    def by_file(self) -> dict[str, tuple[NodeFile | EdgeFile, ...]]:
        return {
            name: tuple(f for f in self.files if f.file == name) for name in dict.fromkeys(f.file for f in self.files)
        }

    def rivals(self, entry: EdgeFile) -> tuple[EdgeFile, ...]:
        """The entries that take the same rows as this one, itself included; only ends tell them apart."""
        return tuple(e for e in self.edges if (e.file, e.where) == (entry.file, entry.where))

    @model_validator(mode="after")
    def _files_are_shared_by_rows(self) -> Self:
        if mistakes := list(self._wrongly_shared()):
            raise Mistakes(mistakes)
        return self

    def _wrongly_shared(self) -> Iterator[Mistake]:
        for name, entries in self.by_file.items():
            without = sum(e.where is None for e in entries)
            if len(entries) > 1 and without:
                what = (
                    f"{name} is named {len(entries)} times, {without} of them without `where`: say which rows are meant"
                )
                yield Mistake(where=f"[{name}]", what=what)
            if len({type(e) for e in entries}) > 1:
                yield Mistake(where=f"[{name}]", what=f"{name} has both nodes and edges: make two files of it")
            for target, times in Counter(e.target for e in entries).items():
                if times > 1:
                    what = f"{name} is named {times} times for {target}: give one `where` with a list of values"
                    yield Mistake(where=f"[{name}]", what=what)
            for where, times in Counter(e.where for e in entries if isinstance(e, NodeFile) and e.where).items():
                if times > 1:
                    what = (
                        f"{times} labels take the same rows of {name}: {where.column} {where.equals or where.contains}"
                    )
                    yield Mistake(where=f"[{name}]", what=what)


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
        kind = "nodes" if isinstance(entry, NodeFile) else "edges"
        where = f"{kind}[{entry.file} {entry.target}]"
        try:
            holder = _holder(entry, schema)
        except UnknownName as error:
            yield Mistake(where=where, what=error.in_one_line)
            continue
        if mistake := _wrong_constant(entry, holder):
            yield Mistake(where=f"{where}.constants", what=mistake)
        if unknown := sorted(set(entry.properties) - set(holder.properties)):
            what = f"{entry.file} sets {unknown}, which graph.toml does not describe"
            yield Mistake(where=f"{where}.properties", what=what)


def _wrong_constant(entry: NodeFile | EdgeFile, holder: Label | Pattern) -> str | None:
    """A constant in a column of ids, or for a part that no id of the label has."""
    if keys := sorted(set(entry.constants) & set(entry.keys.values())):
        return f"{keys[0]!r} is a column of ids, and no constant"
    parts = {"id", *holder.groups} if isinstance(holder, Label) else set[str]()
    if unknown := sorted({part for text in entry.constants.values() for part in PLACE.findall(text)} - parts):
        known = ", ".join(f"{{{part}}}" for part in sorted(parts)) or "none in edges"
        return f"{{{unknown[0]}}} stands for nothing; what does: {known}"
    return None


def _holder(entry: NodeFile | EdgeFile, schema: Schema) -> Label | Pattern:
    if isinstance(entry, NodeFile):
        return schema.label(entry.label)
    return schema.pattern(entry.head, entry.relation, entry.tail)
