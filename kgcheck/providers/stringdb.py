"""STRING REST client: ids of proteins, and scored links between pairs of them.

A network of one protein is filled up with its partners, so a pair is only asked for with both ends, and only a link
between two proteins that were asked for counts.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Annotated, Any, NamedTuple

from pydantic import BeforeValidator, Field

from kgcheck.errors import SourceAnswer, SourceRefused, SourceUnanswerable
from kgcheck.profile.reference_files import NetworkType
from kgcheck.providers.http import Http, ProviderService, ServiceAnswer
from kgcheck.providers.paper_service import WireRecord, formed, lots
from kgcheck.settings import Settings

AT_ONCE = 2_000
"""Most proteins of one call."""

LOWEST = 150
"""The lowest score that STRING keeps, of 1000: asked for, so that a link below a cut-off is not taken for none."""

Pair = tuple[str, str]

_LATER = "try again later"

Score = Annotated[float, Field(ge=0, le=1, strict=True)]


# A number of a species may come as text.
Species = Annotated[
    int, Field(gt=0, strict=True), BeforeValidator(lambda v: int(v) if isinstance(v, str) and v.isdecimal() else v)
]


class Link(WireRecord):
    """A link between two proteins: the combined score and that of each channel, 0 to 1."""

    a: str = Field(alias="stringId_A")
    b: str = Field(alias="stringId_B")
    name_a: str = Field(alias="preferredName_A", default="")
    name_b: str = Field(alias="preferredName_B", default="")
    species: Species = Field(alias="ncbiTaxonId")
    score: Score
    neighbourhood: Score = Field(alias="nscore", default=0)
    fusion: Score = Field(alias="fscore", default=0)
    cooccurrence: Score = Field(alias="pscore", default=0)
    coexpression: Score = Field(alias="ascore", default=0)
    experiments: Score = Field(alias="escore", default=0)
    databases: Score = Field(alias="dscore", default=0)
    text: Score = Field(alias="tscore", default=0)

    @property
    def pair(self) -> Pair:
        """Both ends, the smaller id first: order means nothing."""
        return pair(self.a, self.b)

    @property
    def channels(self) -> dict[str, float]:
        named = ("neighbourhood", "fusion", "cooccurrence", "coexpression", "experiments", "databases", "text")
        scores = {name: float(getattr(self, name)) for name in named if getattr(self, name) > 0}
        return dict(sorted(scores.items(), key=lambda item: -item[1]))


class _Mapped(WireRecord):
    query: str = Field(alias="queryItem")
    index: Annotated[int, Field(ge=0, strict=True)] = Field(alias="queryIndex")
    string_id: str = Field(alias="stringId")
    name: str = Field(alias="preferredName", default="")
    species: Species = Field(alias="ncbiTaxonId")


class _Version(WireRecord):
    string_version: Annotated[str, Field(pattern=r"^\d+(\.\d+)*$")]


class Network(NamedTuple):
    """The links among the proteins of one call, and where that stands.

    Every pair of ``proteins`` was looked at: one that is not in ``links`` has no link at or above LOWEST.
    """

    proteins: frozenset[str]
    links: dict[Pair, Link]
    release: str
    url: str
    retrieved_at: datetime


class StringNames(SourceAnswer):
    """Ids and links of STRING do not belong together: none of both counts."""


class StringDb:
    """Asks STRING."""

    def __init__(self, http: Http, settings: Settings) -> None:
        self._http = http
        self._identity = settings.caller_identity
        self._species = settings.string_species
        self._version = ""
        self._names: dict[str, str] = {}
        """Name of each id, as STRING stated it with the id."""
        # The version is part of the address; answers are kept under it, and the release is asked for once.
        self.service = ProviderService.from_settings("STRING", "string", settings, release=settings.string_url)

    def version(self) -> str:
        # Once: while several calls are kept together, an answer is not kept yet when it is wanted again.
        self._version = self._version or str(self._ask("/api/json/version", _version, {}))
        self._http.saw(self.service.name, self._version)
        return self._version

    def ids(self, identifiers: Iterable[str], species: int | None = None) -> dict[str, str]:
        """STRING's ids of proteins of one species.

        That it knows none of them cannot be told from an answer that lacks them: both are an empty list.
        """
        found: dict[str, str] = {}
        for some in lots(list(dict.fromkeys(identifiers)), AT_ONCE):
            form = {"identifiers": "\r".join(some), "limit": 1, "echo_query": 1}
            of = species or self._species
            read = partial(_mapped, requested=some, species=of)
            for name, row in self._ask("/api/json/get_string_ids", read, form, of).items():
                found[name], self._names[row.string_id] = row.string_id, row.name
        return found

    def network(self, proteins: Sequence[str], network_type: NetworkType = "functional") -> Network:
        requested = frozenset(proteins)
        if not 2 <= len(requested) <= AT_ONCE:
            raise SourceRefused(
                f"STRING is asked for 2 to {AT_ONCE:,} proteins at once, not {len(requested):,}", "name as many"
            )
        kinds = {self.species_of(protein) for protein in requested}
        if len(kinds) > 1:
            raise SourceRefused(
                f"STRING links no proteins of two species: {', '.join(map(str, sorted(kinds)))}",
                "name proteins of one species",
            )
        form = {
            "identifiers": "\r".join(sorted(requested)),
            "required_score": LOWEST,
            "network_type": network_type,
            "add_nodes": 0,
        }
        release = self.version()
        read = partial(_links, requested=requested)
        links, at = self._ask("/api/json/network", read, form, *kinds)
        self._check_names(links.values())
        return Network(requested, links, release, f"{self.service.url}/api/json/network", at)

    def _check_names(self, links: Iterable[Link]) -> None:
        """Refuse links whose ends have other names than they had when their ids were given: ids were exchanged."""
        for link in links:
            for string_id, name in ((link.a, link.name_a), (link.b, link.name_b)):
                given = self._names.get(string_id)
                if given and name and given != name:
                    raise StringNames(
                        f"STRING calls {string_id[:40]} {name[:40]!r}, and it was {given[:40]!r} when it gave the id",
                        _LATER,
                    )

    def species_of(self, protein: str) -> int:
        """The NCBI taxonomy id that a STRING id begins with; that of the settings where it begins with none."""
        begins = protein.split(".")[0]
        return int(begins) if begins.isdecimal() else self._species

    def _ask(self, path: str, read: Any, form: Mapping[str, object], species: int | None = None) -> Any:
        own = {"caller_identity": self._identity}
        if form:
            return self._http.ask(self.service, path, read, form={**form, "species": species or self._species, **own})
        return self._http.ask(self.service, path, read, params=own)


def pair(a: str, b: str) -> Pair:
    """Two ids in the order that they are kept in."""
    return (a, b) if a <= b else (b, a)


def batches(pairs: Iterable[Pair]) -> list[list[Pair]]:
    """Pairs in lists of one species each, that have no more proteins than one call takes."""
    lists: list[list[Pair]] = []
    proteins: set[str] = set()
    species = ""
    for one in sorted({pair(*ends) for ends in pairs}):
        if not lists or len(proteins | set(one)) > AT_ONCE or one[0].split(".")[0] != species:
            lists.append([])
            proteins = set()
            species = one[0].split(".")[0]
        lists[-1].append(one)
        proteins |= set(one)
    return lists


def _mapped(answer: ServiceAnswer, *, requested: Sequence[str], species: int) -> dict[str, _Mapped]:
    """STRING's row of each protein that it knows; each row is about one that was asked for, in its species."""
    if _unknown(answer):
        return {}
    found: dict[str, _Mapped] = {}
    for row in formed("STRING", _body(answer), list[_Mapped]):
        same = row.index < len(requested) and requested[row.index] == row.query and row.species == species
        if not same or not row.string_id.startswith(f"{species}.") or row.query in found:
            raise SourceAnswer(
                f"STRING mapped {row.query[:40]!r} to {row.string_id[:40]!r}: not what was asked", _LATER
            )
        found[row.query] = row
    return found


def _links(answer: ServiceAnswer, *, requested: frozenset[str]) -> tuple[dict[Pair, Link], datetime]:
    """Links by their ends, each between proteins that were asked for, at or above the lowest score."""
    if _unknown(answer):
        raise SourceAnswer("STRING does not know a protein of which it gave the id itself", _LATER)
    found: dict[Pair, Link] = {}
    for row in formed("STRING", _body(answer), list[Link]):
        of_species = all(end.startswith(f"{row.species}.") for end in row.pair)
        if not {*row.pair} <= requested or not of_species or row.a == row.b or row.score < LOWEST / 1000:
            raise SourceAnswer(f"STRING linked {row.a[:40]!r} and {row.b[:40]!r}, which was not asked for", _LATER)
        other = found.setdefault(row.pair, row)
        if (other.score, other.channels) != (row.score, row.channels):
            raise SourceAnswer(f"STRING says two things of {row.a[:40]!r} and {row.b[:40]!r}", _LATER)
    return found, answer.retrieved_at


def _unknown(answer: ServiceAnswer) -> bool:
    return answer.status == 404 and _error(answer.json()).get("Error") == "not found"


def _error(body: Any) -> dict[str, Any]:
    first = body[0] if isinstance(body, list) and body else body
    return first if isinstance(first, dict) and "Error" in first else {}


def _body(answer: ServiceAnswer) -> Any:
    body = answer.json()
    error = _error(body)
    if error and answer.status == 400:
        raise SourceUnanswerable(f"STRING does not take the question: {str(error)[:200]}", "see KGCHECK_STRING_SPECIES")
    if error or answer.status != 200:
        raise SourceAnswer(f"STRING answered {answer.status}: {str(error or answer.url)[:200]}", _LATER)
    return body


def _version(answer: ServiceAnswer) -> str:
    found = formed("STRING", _body(answer), list[_Version])
    if not found:
        raise SourceAnswer("STRING does not say its version", "see KGCHECK_STRING_URL")
    return found[0].string_version
