"""Query string of a list of findings: read from an address, and written into another."""

from typing import Any, NamedTuple
from urllib.parse import urlencode

from starlette.datastructures import QueryParams

from kgcheck.curation.findings import FACETS, NOT_REJECTED, FindingFilter
from kgcheck.errors import UsageError

FACET_OF = {name.removesuffix("s"): name for name in FACETS}
"""Names in an address, and the facets that they are of."""

_MOST, _LONGEST = 50, 512


class TriageQuery(NamedTuple):
    """A run, filters and a place in the list."""

    run: str = ""
    before: str = ""
    chosen: tuple[tuple[str, str], ...] = ()
    """Names of FACET_OF with a choice each."""
    since: str = ""
    text: str = ""
    node: str = ""
    cause: str = ""
    after: str = ""

    @classmethod
    def of(cls, params: QueryParams) -> "TriageQuery":
        chosen = tuple(dict.fromkeys((name, value) for name, value in params.multi_items() if name in FACET_OF))
        names = ("run", "before", "since", "q", "node", "cause", "after")
        single = {name: params.get(name, "").strip() for name in names}
        if len(chosen) > _MOST or any(len(value) > _LONGEST for value in (*single.values(), *(v for _, v in chosen))):
            raise UsageError("that is more than a filter takes", "leave some of it out")
        run, before, *rest = single.values()
        return cls(run, before, chosen, *rest)

    @classmethod
    def of_filter(cls, wanted: FindingFilter) -> "TriageQuery":
        chosen = ((name, str(value)) for name, facet in FACET_OF.items() for value in getattr(wanted, facet))
        single = {name: str(getattr(wanted, name) or "") for name in ("since", "text", "node", "cause")}
        return cls(chosen=tuple(chosen), **single)

    @property
    def filters(self) -> dict[str, Any]:
        """As Workspace.list_findings takes them; what was rejected is left out unless it is chosen."""
        chosen = self.named_filters
        return {**chosen, "decisions": chosen["decisions"] or list(NOT_REJECTED)}

    @property
    def named_filters(self) -> dict[str, Any]:
        """The same, of what the address names alone."""
        facets = {facet: [v for name, v in self.chosen if FACET_OF[name] == facet] for facet in FACET_OF.values()}
        named = {"run": self.run or "latest", "before": self.before or None}
        single = {"since": self.since or None, "text": self.text or None}
        return {**named, **facets, **single, "node": self.node or None, "cause": self.cause or None}

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Names and values of an address, without the place in the list."""
        single = {"run": self.run, "before": self.before, "since": self.since, "q": self.text}
        single |= {"node": self.node, "cause": self.cause}
        return [*self.chosen, *((name, value) for name, value in single.items() if value)]

    @property
    def address(self) -> str:
        """Query string of the list, without the place in it."""
        return urlencode(self.pairs)

    @property
    def whole_address(self) -> str:
        return urlencode([*self.pairs, *([("after", self.after)] if self.after else [])])

    @property
    def is_narrowed(self) -> bool:
        return bool(self.chosen or self.since or self.text or self.node or self.cause)

    def has(self, name: str) -> bool:
        """Return whether a choice of a facet is made."""
        return any(chosen == name for chosen, _ in self.chosen)

    def is_chosen(self, name: str, choice: str) -> bool:
        return (name, choice) in self.chosen

    def toggled(self, name: str, choice: str) -> str:
        """The address with a choice added, or taken away."""
        one = (name, choice)
        chosen = tuple(c for c in self.chosen if c != one) if one in self.chosen else (*self.chosen, one)
        return self._replace(chosen=chosen).address

    def cleared(self) -> str:
        return TriageQuery(run=self.run, before=self.before).address

    def beginning_after(self, fingerprint: str) -> str:
        """The address of the next page."""
        return self._replace(after=fingerprint).whole_address
