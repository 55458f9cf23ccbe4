"""Prefixes of the Bioregistry: preferred spellings, synonyms, and the form of local ids."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

import duckdb

from kgcheck.quoting import literal
from kgcheck.standards.tables import Standard, standard, tables

_AFTER_AN_ID = {"uniprot": r"(?:-[0-9]+)?(?:\.[0-9]+)?(?:[:#-]PRO_[0-9]+)?"}
"""By prefix, what its database itself writes after an id: UniProt an isoform, a version, a chain.

The Bioregistry has these under prefixes of their own, and graphs write them under that of the database.
"""


@dataclass(frozen=True, kw_only=True)
class Prefix:
    """A prefix of the Bioregistry.

    ``pattern`` is that of whole local ids, None where the Bioregistry has none; ``pattern_by`` is the registry that it
    is taken from, where it is not the Bioregistry's own, and ``pattern_of_miriam`` what Identifiers.org has beside it.
    ``banana`` is a prefix that ids of some databases repeat, as in ``MGI:MGI:97490``; ``peel`` stands between it and
    the id. ``part_of`` is the prefix whose ids some of these are. ``ontology`` is where the OBO Foundry has its terms.
    """

    prefix: str
    preferred: str
    synonyms: tuple[str, ...] = ()
    pattern: str | None = None
    pattern_by: str = ""
    pattern_of_miriam: str | None = None
    banana: str | None = None
    peel: str = ":"
    part_of: str | None = None
    ontology: str | None = None
    deprecated: bool = False

    @property
    def spellings(self) -> tuple[str, ...]:
        """All spellings that the Bioregistry knows, the preferred one first."""
        return tuple(dict.fromkeys((self.preferred, self.prefix, *self.synonyms)))


class Registry:
    """The prefixes of a release of the Bioregistry."""

    def __init__(self, records: Iterable[Prefix], release: Standard) -> None:
        self.release = release
        self._records = {record.prefix: record for record in records}
        # What is a prefix itself is no synonym of another.
        self._found: dict[str, Prefix] = {}
        for rank in range(3):
            for record in self:
                for name in ((record.prefix,), (record.preferred,), record.synonyms)[rank]:
                    self._found.setdefault(name.casefold(), record)
        self._parts: dict[str, list[Prefix]] = {}
        for record in self:
            if record.part_of:
                self._parts.setdefault(record.part_of, []).append(record)

    def __iter__(self) -> Iterator[Prefix]:
        return iter(self._records.values())

    def __len__(self) -> int:
        return len(self._records)

    def find(self, prefix: str) -> Prefix | None:
        """The record of a prefix in any spelling, whatever its case.

        >>> registry().find("WB").preferred, registry().find("mondo").preferred, registry().find("no such prefix")
        ('WormBase', 'MONDO', None)
        """
        return self._found.get(prefix.casefold())

    def misfit(self, prefix: Prefix, local: str) -> str | None:
        """SQL of whether a local id, an expression of SQL, has no form of its prefix; None where nobody knows its form.

        The id may repeat the prefix, and case makes no difference. The forms are those of the Bioregistry, of
        Identifiers.org, and of prefixes whose ids are a part of these, as ``kegg.pathway`` is of ``kegg``.
        """
        if not prefix.pattern:
            return None
        parts = (part.pattern for part in self._parts.get(prefix.prefix, ()))
        patterns = dict.fromkeys(filter(None, (prefix.pattern, prefix.pattern_of_miriam, *parts)))
        form = literal("(?i)" + "|".join(f"(?:{pattern})" for pattern in patterns))
        repeated = "|".join(
            re.escape(name) for name in dict.fromkeys((prefix.banana or prefix.prefix, *prefix.spellings))
        )
        peel = "|".join(re.escape(sign) for sign in dict.fromkeys((prefix.peel, ":", "_")))
        bare = f"regexp_replace({local}, {literal(f'(?i)^(?:{repeated})(?:{peel})')}, '')"
        if after := _AFTER_AN_ID.get(prefix.prefix):
            bare = f"regexp_replace({bare}, {literal(f'{after}$')}, '')"
        return f"NOT (regexp_full_match({local}, {form}) OR regexp_full_match({bare}, {form}))"

    def fits(self, prefix: Prefix, local: str) -> bool:
        """Tell whether a local id has a form of its prefix, which is so where nobody knows its form.

        >>> [registry().fits(registry().find("GO"), one) for one in ("0006915", "GO:0006915", "go_0006915", "6915")]
        [True, True, True, False]
        """
        misfit = self.misfit(prefix, "given")
        if misfit is None:
            return True
        ((misses,),) = duckdb.execute(f"SELECT {misfit} FROM (SELECT ? AS given)", [local]).fetchall()
        return not misses


@cache
def registry() -> Registry:
    """The Bioregistry, of the release that is shipped."""
    records = (
        Prefix(**{"preferred": record["prefix"]} | record | {"synonyms": tuple(record.get("synonyms", ()))})
        for record in tables("bioregistry")["prefixes"]
    )
    return Registry(records, standard("bioregistry"))
