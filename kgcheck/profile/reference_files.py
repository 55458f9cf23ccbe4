"""Recipes of reference files, ``reference/*.toml``: SQL from a provider's file to snapshot rows."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import Field, field_validator

from kgcheck.inputs import plain_pattern
from kgcheck.model import Value
from kgcheck.profile.catalogue import PARENT, State
from kgcheck.profile.folder import part
from kgcheck.profile.patterns import named_pattern
from kgcheck.profile.schema import Schema
from kgcheck.profile.toml_files import Mistake, WrongFile, read_value
from kgcheck.resources import resource_dir

NetworkType = Literal["functional", "physical"]

UNIPROT = "uniprot"
NETWORKS: Mapping[str, NetworkType] = {"string": "functional", "string_physical": "physical"}
"""The networks of STRING, as the profile names them."""


class RowSelect(Value):
    """Rows of one table, selected from the view ``file`` (all columns text)."""

    table: Literal["entity", "value", "link", "covered"]
    select: str


class Modification(Value):
    """PSI-MOD term of one MOD_RES note of UniProt, and its suffix in a site id."""

    code: str
    term: str


class ReferenceFile(Value):
    """A file of a source. ``topics`` maps each topic to whether the file lists everything of it."""

    glob: str
    format: Literal["tsv", "lines", "obo", "uniprot_flat", "uniprot_jsonl", "facts", "ontology"]
    url: str = Field(default="", description="where the provider has it, for kgcheck reference fetch")
    save_as: str = Field(default="", description="its name here; by default the last part of the address")
    is_permanent: bool = Field(
        default=False, description="the address is a permanent one (PURL), which redirects to where the file is today"
    )
    release: str = Field(default="", description="where the file itself does not state it; {released} is the date")
    released: str = ""
    release_line: str = Field(
        default="", description="a line of the head that states the release: groups `release` and `released`"
    )
    release_name: str = Field(default="", description="the same, in the name of the file")
    topics: dict[str, bool] = {}
    header: bool = True
    whole_lines: bool = Field(default=True, description="the last line has an end, so that one without was cut off")
    delimiter: str = "\t"
    quoted: bool = Field(default=True, description="a field may be quoted; where not, a quote is a character")
    comment: str = Field(default="", description="lines at the head that begin so say nothing")
    columns: tuple[str, ...] = Field(default=(), description="names, where there is no header line")
    rows: tuple[RowSelect, ...] = ()
    prefix: str = Field(default="", description="obo: only terms with this prefix; ontology: the same, in any case")
    parents: tuple[str, ...] = Field(default=("is_a",), description="obo: relations that make a parent")
    successor_xref: str | None = Field(default=None, description="obo: cross-reference that names a replacement")
    xrefs: tuple[str, ...] = Field(default=(), description="obo: databases whose cross-references are kept")
    modifications: dict[str, Modification] = {}

    @field_validator("glob")
    @classmethod
    def _inside(cls, glob: str) -> str:
        return plain_pattern(glob)

    @field_validator("release_line", "release_name")
    @classmethod
    def _is_pattern(cls, pattern: str) -> str:
        return named_pattern(pattern)

    @field_validator("save_as")
    @classmethod
    def _plain_name(cls, name: str) -> str:
        if "/" in name or (name and plain_pattern(name) != name):
            raise ValueError(f"{name!r} is no plain name of a file")
        return name


class ReferenceRecipe(Value):
    """The files of one source."""

    source: str
    name: str
    licence: str
    url_template: str = ""
    obtain: str = Field(default="", description="how a person gets the files that are not fetched")
    unverified: str = Field(
        default="", description="what the form is taken from, as long as the recipe has met no file of the provider"
    )
    curie: str = Field(default="", description="prefix of its ids in the Bioregistry, where they are CURIEs")
    dropped: State = Field(
        default=State.DROPPED,
        description="what an id is that an older release knew and the newest complete one does not",
    )
    namespaces: tuple[str, ...] = Field(default=(), description="those under which the source files its ids, if any")
    links: dict[str, str] = Field(
        default={},
        description="by kind of link that a reader of entries gives, what the snapshot calls it, if otherwise",
    )
    after: tuple[str, ...] = Field(default=(), description="sources whose rows this one's selects read")
    files: tuple[ReferenceFile, ...]


def load_reference_recipes(schema: Schema) -> list[ReferenceRecipe]:
    """The recipes of a profile."""
    recipes = recipes_by_path(schema).values()
    return sorted(recipes, key=lambda r: (len(r.after), r.source))


def shared_recipes() -> list[ReferenceRecipe]:
    """The recipes of sources whose ids are CURIEs, which serve graphs of any kind."""
    return [_read(path) for path in sorted(resource_dir("loaders").glob("reference/curies/*.toml"))]


def recipes_by_path(schema: Schema) -> dict[Path, ReferenceRecipe]:
    """The recipes of a profile, by file."""
    return {path: _read(path) for path in reference_paths(schema)}


def _read(path: Path) -> ReferenceRecipe:
    try:
        return read_value(path, ReferenceRecipe)
    except OSError as error:
        raise WrongFile(path, [Mistake(what=error.strerror or "there is no such file")]) from error


def reference_paths(schema: Schema) -> list[Path]:
    """The files of the recipes of a profile."""
    names = sorted(path.name for path in part(schema.folder, "reference").glob("*.toml"))
    return [part(schema.folder, f"reference/{name}") for name in names]


class SnapshotWords(NamedTuple):
    """Names for snapshot rows: links, as checks or recipes call them, and by source its namespaces."""

    links: tuple[str, ...]
    namespaces: dict[str, tuple[str, ...]]


def words_of(schema: Schema, recipes: Iterable[ReferenceRecipe]) -> SnapshotWords:
    """The words of a profile and its recipes."""
    recipes = list(recipes)
    checks = {check.link for pattern in schema.relations for check in pattern.checks}
    topics = {topic for recipe in recipes for file in recipe.files for topic in file.topics}
    links = sorted({PARENT, *checks, *topics} - {"entity", "value"})
    return SnapshotWords(tuple(links), {recipe.source: recipe.namespaces for recipe in recipes if recipe.namespaces})
