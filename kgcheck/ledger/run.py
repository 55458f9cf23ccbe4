"""Run: record of one audit or check, with its options, graph, pinned releases and times."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from pydantic import Field, model_validator

from kgcheck.model import Value

LAST = "#last"
"""End of the name of the piece that makes a unit whole."""


CHANGED = "changed"
"""Key of `Run.made_with` where others changed the graph while it was audited."""

SINCE, KGCHECK, PROFILE, GRAPH, REFERENCE = "since", "kgcheck", "profile", "graph", "reference"
"""Keys of `Run.made_with`: the earlier run whose graph was read again, and what names the inputs."""

BUILT_FROM = "built_from"
"""Key of `Run.made_with` where the graph was built from files of the reference: their sources."""


class PinnedRelease(Value):
    """A release of a reference source in the snapshot of a run.

    >>> str(PinnedRelease(source="go", release="2026-01-01", file="go.tsv", sha256="0123456789abcdef"))
    'go 2026-01-01 (go.tsv 0123456789ab)'
    """

    source: str
    release: str
    file: str = ""
    sha256: str = Field(default="", description="of the file; of runs before format 2 its first 12 digits")
    released: str = Field(
        default="", description="the date of the release, as exact as it is known; empty if it is not"
    )

    def __str__(self) -> str:
        return f"{self.source} {self.release} ({self.file} {self.sha256[:12]})" if self.file else self.source


NOT_DECIDED = "not decided"
COULD_NOT_LOOK = "could not look"
"""Results of the team that are no outcome: nothing speaks clearly, or a service could not be looked at."""


class HandedOver(Value):
    """A finding that went to the team: how it stood, what came of it, and at what cost."""

    fingerprint: str
    result: str = Field(description="an outcome, NOT_DECIDED or COULD_NOT_LOOK")
    outcome: str | None = Field(default=None, description="before")
    reason: str | None = Field(default=None, description="before")
    calls: int | None = Field(default=None, description="of services")
    seconds: float | None = None
    tokens: int | None = None
    money: float | None = Field(default=None, description="where prices are set")

    @property
    def is_decided(self) -> bool:
        return self.result not in (NOT_DECIDED, COULD_NOT_LOOK)


class Run(Value):
    """One audit: what was asked for, of which graph, against which releases, and how far it got."""

    id: str
    started: datetime
    finished: datetime | None = None
    store: str = Field(description="where the store was")
    store_id: str = Field(default="", description="names the store wherever it is; its place, where nothing else does")
    profile: str
    reference: str | None = None
    releases: tuple[PinnedRelease, ...] = ()
    warnings: tuple[str, ...] = ()
    options: dict[str, Any] = Field(default_factory=dict)
    nodes: dict[str, int] = Field(default_factory=dict)
    edges: dict[str, int] = Field(default_factory=dict)
    unknown: dict[str, int] = Field(
        default_factory=dict, description="labels, relations and properties that the profile does not describe"
    )
    team: dict[str, int] = Field(default_factory=dict, description="findings handed to the team, by what came of them")
    compared_with: str | None = Field(default=None, description="the audit before, whose counts this one compares")
    live: dict[str, tuple[str, ...]] = Field(default={}, description="releases that services named, by service")
    made_with: dict[str, str] = Field(default={}, description="names its inputs for later runs; see kgcheck.audit.run")

    @model_validator(mode="before")
    @classmethod
    def _named(cls, values: dict[str, Any]) -> dict[str, Any]:
        return values if values.get("store_id") else values | {"store_id": values.get("store")}

    @property
    def is_mixed(self) -> bool:
        return CHANGED in self.made_with

    def with_live(self, releases: Mapping[str, Sequence[str]]) -> "Run":
        """The run with the releases that services named, and a warning where one named none, or several."""
        seen = {
            name: tuple(dict.fromkeys((*self.live.get(name, ()), *releases.get(name, ()))))
            for name in dict.fromkeys((*self.live, *releases))
        }
        warnings = dict.fromkeys(self.warnings)
        for name, named in seen.items():
            stated = [release for release in named if release]
            if "" in named:
                warnings[f"{name} gave answers that name no release: what they say cannot be looked up again"] = None
            if len(stated) > 1:
                moved = f"{name} moved while the run was under way, {' to '.join(stated)}: evidence names its own"
                warnings[moved] = None
        return self.model_copy(update={"live": seen, "warnings": tuple(warnings)})

    @property
    def is_check(self) -> bool:
        """Tell whether the run is of one task only, by kgcheck check."""
        return "check" in self.options

    def as_row(self) -> dict[str, Any]:
        """The run in the flat form that `--format json` prints: releases are text, ``SOURCE RELEASE (FILE DIGEST)``."""
        return self.model_dump(mode="json") | {"releases": [str(release) for release in self.releases]}
