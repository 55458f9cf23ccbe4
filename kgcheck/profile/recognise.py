"""Match a new graph's labels, by their ids' form, and its relations to those of known profiles.

The patterns of kgcheck's own profiles are the table.

Those patterns follow the Bioregistry and the issuing databases, and for each there is a reference that can decide
something. The package `bioregistry` knows many more, but none that kgcheck could check: 48 MB for nothing.
"""

import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import NamedTuple

from kgcheck.profile.folder import profile_names
from kgcheck.profile.patterns import matches
from kgcheck.profile.reference_files import ReferenceRecipe, recipes_by_path
from kgcheck.profile.schema import Label, Pattern, Schema, load_schema
from kgcheck.resources import resource_dir

ENOUGH = 0.9
"""Share of the ids that must have the form."""

_PROBES = ("abc", "ABC1", "1234", "12345", "x:1", "a b", "A1B2C3")
"""Texts that no accession pattern with a prefix takes: a pattern that takes some tells little by itself."""


class Recognised(NamedTuple):
    """A label of one of kgcheck's own profiles whose ids look like those of another graph."""

    schema: Schema
    label: Label
    share: float
    sure: bool


@cache
def own_schemas() -> tuple[Schema, ...]:
    """The profiles that kgcheck has."""
    return tuple(load_schema(name) for name in profile_names())


def recognise(name: str, ids: Sequence[str]) -> Recognised | None:
    """The label of kgcheck's own whose ids those of another label are."""
    found = []
    for schema in own_schemas():
        for label in schema.labels:
            share = sum(matches(label.id_pattern, id_) for id_ in ids) / len(ids) if ids else 0.0
            if label.authority.source and share >= ENOUGH:
                loose = sum(matches(label.id_pattern, probe) for probe in _PROBES)
                found.append((loose, folded(label.name) != folded(name), Recognised(schema, label, share, not loose)))
    if not found:
        return None
    loose, other_name, best = min(found, key=lambda f: (f[0] > 0, f[1], f[0]))
    sure = best.sure or not other_name
    if (
        other_name
        and sum(f[0] == loose and f[2].label.authority.source == best.label.authority.source for f in found) > 1
    ):
        # Branches of one source, such as its namespaces, and no name tells which: only that they are its ids.
        authority = best.label.authority.model_copy(update={"namespace": type(best.label.authority)().namespace})
        best = best._replace(label=best.label.model_copy(update={"authority": authority, "attributes": {}}))
    return best._replace(sure=sure)


def alike(relation: str, head: Label, tail: Label) -> Pattern | None:
    """A relation of kgcheck's own with checks, of this name and between ids of the same sources."""
    for schema in own_schemas():
        for pattern in schema.relations:
            ends = schema.label(pattern.head).authority, schema.label(pattern.tail).authority
            same = all(a.source and a == b.authority for a, b in zip(ends, (head, tail), strict=True))
            if pattern.checks and same and folded(pattern.type) == folded(relation):
                return pattern
    return None


def recipes_of(sources: Iterable[str]) -> list[str]:
    """The recipes of kgcheck's own for some sources, for those whose rows they read, and for tables of facts."""
    known: dict[str, dict[str, ReferenceRecipe]] = {}
    root = resource_dir("loaders")
    for schema in own_schemas():
        for path, recipe in recipes_by_path(schema).items():
            known.setdefault(recipe.source, {})[path.relative_to(root).as_posix()] = recipe
    found: dict[str, None] = {}
    wanted = list(sources)
    tables = [s for s, by_path in known.items() for r in by_path.values() if any(f.format == "facts" for f in r.files)]
    todo = [*wanted, *tables] if wanted else []
    while todo:
        for name, recipe in known.get(todo.pop(), {}).items():
            if name not in found:
                found[name] = None
                todo += recipe.after
    return sorted(found)


def folded(name: str) -> str:
    """A name without what writers change.

    >>> folded("Biological_process") == folded("biolink:BiologicalProcess")
    True
    """
    return re.sub(r"[^a-z0-9]", "", name.rpartition(":")[2].lower())
