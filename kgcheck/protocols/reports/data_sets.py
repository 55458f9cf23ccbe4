"""Accessions of data sets in a text, by the patterns of ``corpus/protocols/data_sets.toml``."""

import re
from functools import cache
from typing import NamedTuple

from pydantic import Field

from kgcheck.model import Value
from kgcheck.profile.toml_files import read_value
from kgcheck.protocols.report import NamedDataSet
from kgcheck.resources import resource_dir

_NEAR = 80
"""Characters before a form that is too common by itself, in which its repository must be named."""


class DataRepository(Value):
    """Repository of data sets, with the pattern of its accessions."""

    name: str
    pattern: str = Field(description="regular expression of bounded work")
    near: tuple[str, ...] = Field(default=(), description="words of which one must stand shortly before")
    url: str = Field(default="", description="address of a record, with {id}")

    def address(self, accession: str) -> str:
        """Return the web address of a record; empty if there is none."""
        return self.url.format(id=accession)


class _DataSetFile(Value):
    repository: tuple[DataRepository, ...]


@cache
def data_repositories() -> dict[str, DataRepository]:
    """The repositories whose accessions are known, by name."""
    found = read_value(resource_dir("corpus") / "protocols" / "data_sets.toml", _DataSetFile)
    return {r.name: r for r in found.repository}


class _AccessionForm(NamedTuple):
    repository: DataRepository
    pattern: re.Pattern[str]
    near: re.Pattern[str] | None


@cache
def _known() -> tuple[_AccessionForm, ...]:
    return tuple(
        _AccessionForm(
            r,
            re.compile(rf"(?<![A-Za-z0-9])(?:{r.pattern})(?![A-Za-z0-9])"),
            re.compile("|".join(map(re.escape, r.near))) if r.near else None,
        )
        for r in data_repositories().values()
    )


def data_set_ids(text: str) -> tuple[NamedDataSet, ...]:
    """The accessions that a text names.

    >>> [(d.id, d.repository) for d in data_set_ids("From GEO (GSE100, GSM2) and PDB entry 1ABC, not 2DEF-like words.")]
    [('GSE100', 'GEO'), ('GSM2', 'GEO'), ('1ABC', 'PDB'), ('2DEF', 'PDB')]
    """
    found: list[NamedDataSet] = []
    taken: set[int] = set()
    for known in _known():
        for match in known.pattern.finditer(text):
            start, end = match.span()
            if known.near and not known.near.search(text, max(0, start - _NEAR), start):
                continue
            if taken.isdisjoint(range(start, end)):
                taken.update(range(start, end))
                found.append(NamedDataSet(id=match[0], repository=known.repository.name, start=start, end=end))
    return tuple(sorted(found, key=lambda d: d.start))
