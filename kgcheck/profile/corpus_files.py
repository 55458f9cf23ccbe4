"""Recipes of document formats, ``corpus/*.toml``: fields that hold id, title, abstract and more."""

from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import Field

from kgcheck.errors import UnknownName
from kgcheck.model import Value
from kgcheck.profile.toml_files import read_value
from kgcheck.resources import resource_dir

Format = Literal["csv", "json", "jsonl", "pubtator", "pubmed_xml", "jats", "pdf", "openalex"]


class Fields(Value):
    """Fields of a record, each a key, or keys joined by dots; several make one abstract."""

    id: str
    title: str = ""
    abstract: tuple[str, ...]
    year: str = ""
    journal: str = ""
    types: str = ""
    retracted: str = ""


class CorpusRecipe(Value):
    """Recipe that makes documents of the files of one format."""

    name: str
    title: str
    licence: str = ""
    format: Format
    suffixes: tuple[str, ...]
    prefix: str = Field(default="", description="put before each id, so that ids of several providers never meet")
    records: str = Field(default="", description="json: keys, joined by dots, of the list or table of records")
    needs: tuple[str, ...] = Field(
        default=(), description="csv: columns; json and jsonl: keys by which a file is known"
    )
    url_template: str = ""
    sentences: bool = Field(
        default=False, description="the abstract is a list of sentences, which are kept as they are"
    )
    fields: Fields | None = None

    def prefixed(self, identifier: str) -> str:
        return identifier if not identifier or identifier.startswith(self.prefix) else self.prefix + identifier


@cache
def load_corpus_recipes() -> tuple[CorpusRecipe, ...]:
    """All recipes, in the order in which files are tried with them."""
    recipes = [read_value(path, CorpusRecipe) for path in sorted(resource_dir("corpus").glob("*.toml"))]
    return tuple(sorted(recipes, key=lambda r: (-len(r.needs), r.name)))


def corpus_recipe(name: str) -> CorpusRecipe:
    """The recipe of that name."""
    for recipe in load_corpus_recipes():
        if recipe.name == name:
            return recipe
    raise UnknownName("corpus recipe", name, [r.name for r in load_corpus_recipes()])


def by_suffix(path: Path) -> list[CorpusRecipe]:
    """The recipes whose files end as this one does; `.gz` does not count."""
    name = path.name.lower().removesuffix(".gz")
    return [r for r in load_corpus_recipes() if name.endswith(r.suffixes)]
