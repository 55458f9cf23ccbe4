"""Validate every file of a profile, and list all mistakes at once."""

from collections.abc import Callable, Iterator
from pathlib import Path

from kgcheck.errors import ConfigurationError
from kgcheck.model import Value
from kgcheck.profile.folder import GRAPH, part
from kgcheck.profile.import_files import FILES, load_recipe
from kgcheck.profile.lexicon import LEXICON, load_lexicon
from kgcheck.profile.reference_files import ReferenceRecipe, reference_paths
from kgcheck.profile.schema import Schema, load_schema
from kgcheck.profile.toml_files import Mistake, WrongFile, read_value

CLAIMS = "claims.toml"

_ABSENT = {
    FILES: "kgcheck load cannot read files; a graph that is there can be audited",
    LEXICON: "kgcheck ask goes by words that are drafted from its names",
    CLAIMS: "papers cannot be asked about edges",
}
"""Parts that a profile may lack, and what cannot be done without each."""


class FileMistake(Value):
    """One thing that is wrong."""

    file: str
    where: str = ""
    what: str

    def __str__(self) -> str:
        return ": ".join(filter(None, (self.file, self.where, self.what)))


class Validation(Value):
    """Result of validating a profile."""

    name: str = ""
    labels: int = 0
    relations: int = 0
    mistakes: tuple[FileMistake, ...] = ()
    notes: tuple[str, ...] = ()


Look = Callable[[Schema], object]
"""Reads a part of a profile, and raises where it is wrong."""


def validate_profile(profile: str, more: dict[str, Look] | None = None) -> Validation:
    """Read every part of a profile."""
    try:
        schema = load_schema(profile)
    except WrongFile as error:
        return Validation(mistakes=tuple(_mistakes_in(error)))
    readers: dict[str, Look] = {FILES: load_recipe, LEXICON: load_lexicon, **(more or {})}
    mistakes: list[FileMistake] = list(_examples(schema))
    notes: list[str] = []
    for name, read in readers.items():
        try:
            if part(schema.folder, name).exists():
                read(schema)
            elif name in _ABSENT:
                notes.append(f"it has no {name}: {_ABSENT[name]}")
        except ConfigurationError as error:
            mistakes += _mistakes_in(error, schema.folder / name)
    recipes, wrong = _recipes(schema)
    mistakes += wrong
    notes += _undecided(schema, {recipe.source for recipe in recipes})
    return Validation(
        name=schema.profile.name,
        labels=len(schema.labels),
        relations=len(schema.relations),
        mistakes=tuple(mistakes),
        notes=tuple(notes),
    )


def _recipes(schema: Schema) -> tuple[list[ReferenceRecipe], list[FileMistake]]:
    try:
        paths = reference_paths(schema)
    except ConfigurationError as error:
        return [], list(_mistakes_in(error, schema.folder / "reference"))
    recipes, mistakes = list[ReferenceRecipe](), list[FileMistake]()
    for path in paths:
        try:
            recipes.append(read_value(path, ReferenceRecipe))
        except WrongFile as error:
            mistakes += _mistakes_in(error)
        except OSError:
            mistakes.append(FileMistake(file=str(path), what="there is no such file"))
    return recipes, mistakes


def _examples(schema: Schema) -> Iterator[FileMistake]:
    for label in schema.labels:
        if not label.matches(label.id_example):
            what = f"{label.id_example!r} does not have the form of id_pattern"
            file = str(schema.folder / GRAPH)
            yield FileMistake(file=file, where=f"labels[{label.name}].id_example", what=what)


def _undecided(schema: Schema, sources: set[str]) -> Iterator[str]:
    if free := [label.name for label in schema.labels if not label.sources]:
        yield f"existence is not checked, for they have no authority: {', '.join(free)}"
    if free := [str(p) for p in schema.relations if not p.checks]:
        yield f"no source decides these edges, whose structure is checked: {'; '.join(free)}"
    if unread := sorted(schema.sources - sources):
        yield f"no recipe reads files of these sources; only tables of facts can state them: {', '.join(unread)}"


def _mistakes_in(error: ConfigurationError, file: Path | None = None) -> Iterator[FileMistake]:
    if isinstance(error, WrongFile):
        for mistake in error.mistakes or (Mistake(what=error.message),):
            yield FileMistake(file=str(error.path), where=mistake.where, what=mistake.what)
    else:
        yield FileMistake(file=str(file), what=error.message)
