"""Work: a cited work as sources state it, and the protocol for looking works up (Works)."""

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Literal, Protocol

from pydantic import Field

from kgcheck.literature.papers import CitedWork
from kgcheck.model import Evidence, Reason, Stance, Tier, Value, World

StatedBy = Literal["record", "reference_list"]
"""Kind of statement: a record of a work at a source, or a citation by another paper, perhaps wrong."""

_TIERS = {"crossref": Tier.OWNER, "pubmed": Tier.OWNER, "jats": Tier.OWNER}
"""Tiers of sources that issued the id, or published the work itself; others compute what they list."""


class WorkStatement(Value):
    """One source's statement of a work."""

    source: str
    release: str
    record: str
    url: str = ""
    retrieved_at: datetime
    stated_by: StatedBy = "record"
    titles: tuple[str, ...] = ()
    years: tuple[int, ...] = Field(default=(), description="of print, online and the like")
    journal: str = ""
    author: str = Field(default="", description="the first one, surname first")
    volume: str = ""
    issue: str = ""
    page: str = Field(default="", description="the first one, or the number of the article")
    last_page: str = ""

    @property
    def place(self) -> tuple[str, str] | None:
        """Volume and first page, as `place_in_print` has them; None where one of them is not stated."""
        return place_in_print(self.volume, self.page)

    def evidence(self, stance: Stance, value: str) -> Evidence:
        listed = self.stated_by == "reference_list"
        return Evidence(
            source=self.source,
            release=self.release,
            record=self.record,
            url=self.url,
            retrieved_at=self.retrieved_at,
            stance=stance,
            world=World.OPEN,
            tier=Tier.TEXT if listed else _TIERS.get(self.source, Tier.COMPUTED),
            value=value,
        )


class Work(Value):
    """A work as sources know it; where they disagree, each value is kept."""

    ids: tuple[str, ...] = ()
    statements: tuple[WorkStatement, ...] = Field(min_length=1)
    retracted: bool = False
    notices: tuple[str, ...] = Field(default=(), description="ids of what retracts it, where they are known")

    @property
    def speaking(self) -> tuple[WorkStatement, ...]:
        """The records of it; lists of references speak where there is none."""
        return tuple(s for s in self.statements if s.stated_by == "record") or self.statements

    @property
    def recorded(self) -> bool:
        """Tell whether any source has a record of it."""
        return any(s.stated_by == "record" for s in self.statements)

    @property
    def titles(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(t for s in self.speaking for t in s.titles))

    @property
    def years(self) -> tuple[int, ...]:
        """All years that are stated by those that speak."""
        return tuple(sorted({y for s in self.speaking for y in s.years}))

    @property
    def authors(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(s.author for s in self.speaking if s.author))

    def named(self, kind: str) -> tuple[str, ...]:
        """Its ids of a kind, ``doi`` or ``pmid``, without the prefix."""
        return tuple(i.removeprefix(f"{kind}:") for i in self.ids if i.startswith(f"{kind}:"))


class WorksFound(Value):
    """Result of a search for one reference in a world of works."""

    by_id: tuple[Work, ...] = Field(default=(), description="works that have its DOI or PMID")
    similar: tuple[Work, ...] = Field(default=(), description="works of a like title, or at the same place in print")
    absent: tuple[Evidence, ...] = Field(default=(), description="of ids that do not exist: whose owner says so")
    looked: tuple[Evidence, ...] = Field(default=(), description="who was looked at and knows nothing of it")
    unavailable: tuple[str, ...] = Field(default=(), description="why a part of the world could not be looked at")


class Works(Protocol):
    """A world of works: a snapshot, services, or both."""

    def find(self, references: Sequence[CitedWork]) -> list[WorksFound]:
        """Look up references, in their order."""


def place_in_print(volume: str, page: str) -> tuple[str, str] | None:
    """Volume and first page as they can be compared.

    >>> place_in_print("109(41)", "E33693"), place_in_print("", "7")
    (('109', 'e33693'), None)
    """
    number = re.search(r"[a-z]{0,3}\d{1,9}", volume.casefold())
    first = re.fullmatch(r"[a-z]{0,3}\d{1,9}(?:[a-z]\d{1,9})?", page.casefold())
    return (number[0], first[0]) if number and first else None


def ids_of_reference(reference: CitedWork) -> tuple[str, ...]:
    """The ids that an entry states, with their prefixes."""
    doi = (f"doi:{reference.doi.casefold()}",) if reference.doi else ()
    return (*doi, *((f"pmid:{reference.pmid}",) if reference.pmid else ()))


def silent(source: str, release: str, at: datetime, record: str, *, complete: bool) -> Evidence:
    """Return evidence that a source was looked at and has no such work."""
    return Evidence(
        source=source,
        release=release,
        record=record[:500],
        retrieved_at=at,
        stance=Stance.CONTRADICTS if complete else Stance.SILENT,
        world=World.CLOSED if complete else World.OPEN,
        tier=Tier.OWNER if complete else Tier.COMPUTED,
        reason=Reason.UNKNOWN_ID if complete else Reason.NOTHING_FOUND,
    )
