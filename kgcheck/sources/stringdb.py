"""STRING over its REST service: which proteins it knows, and the links between pairs of them.

A network of one protein is filled up with its partners, so a pair is only asked for with both ends, and only a link
between two proteins that were asked for counts.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError

from kgcheck.errors import SourceAnswer, SourceRefused
from kgcheck.settings import Settings
from kgcheck.sources.http import Answer, Http, Service
from kgcheck.sources.networks import NetworkType

AT_ONCE = 2_000
"""Most proteins of one call."""

LOWEST = 150
"""The lowest score that STRING keeps, of 1000: asked for, so that a link below a cut-off is not taken for none."""

Pair = tuple[str, str]

Score = Annotated[float, Field(ge=0, le=1)]


class _Wire(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)


class Link(_Wire):
    """A link between two proteins: the combined score and that of each channel, 0 to 1."""

    a: str = Field(alias="stringId_A")
    b: str = Field(alias="stringId_B")
    name_a: str = Field(alias="preferredName_A", default="")
    name_b: str = Field(alias="preferredName_B", default="")
    species: Annotated[int, BeforeValidator(lambda v: int(v) if isinstance(v, str) and v.isdecimal() else v)] = Field(
        alias="ncbiTaxonId"
    )
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
        """The channels that have a score, the highest first."""
        named = ("neighbourhood", "fusion", "cooccurrence", "coexpression", "experiments", "databases", "text")
        scores = {name: float(getattr(self, name)) for name in named if getattr(self, name) > 0}
        return dict(sorted(scores.items(), key=lambda item: -item[1]))


class _Mapped(_Wire):
    query: str = Field(alias="queryItem")
    string_id: str = Field(alias="stringId")


class _Version(_Wire):
    string_version: str
    stable_address: str


class Network(NamedTuple):
    """The links among the proteins of one call, and where that stands.

    Every pair of ``proteins`` was looked at: one that is not in ``links`` has no link at or above LOWEST.
    """

    proteins: frozenset[str]
    links: dict[Pair, Link]
    release: str
    url: str
    retrieved_at: datetime


class StringDb:
    """Asks STRING.

    Args:
        http: What asks.
        settings: The address of a pinned version, the pace, the species, and who is asking.
    """

    def __init__(self, http: Http, settings: Settings) -> None:
        self._http = http
        self._identity = settings.caller_identity
        self._species = settings.string_species
        # The version is part of the address; answers are kept under it, and the release is asked for once.
        self.service = Service(
            "STRING",
            settings.string_url,
            settings.string_calls_per_s,
            "KGCHECK_STRING_URL",
            release=settings.string_url,
        )

    def version(self) -> str:
        """The release that answers, as STRING names it.

        Returns:
            For example ``12.5``.
        """
        return str(self._ask("/api/json/version", _version, {}))

    def ids(self, identifiers: Iterable[str], species: int | None = None) -> dict[str, str]:
        """STRING's ids of proteins of one species.

        Args:
            identifiers: UniProt accessions, gene names or the like.
            species: NCBI taxonomy id; without it, that of the settings.

        Returns:
            The id of each that STRING knows; the others are left out.
        """
        found: dict[str, str] = {}
        for some in _chunks(identifiers, AT_ONCE):
            form = {"identifiers": "\r".join(some), "limit": 1, "echo_query": 1}
            for mapped in self._ask("/api/json/get_string_ids", lambda a: _rows(a, _MAPPED), form, species):
                if mapped.query in some:
                    found.setdefault(mapped.query, mapped.string_id)
        return found

    def network(self, proteins: Sequence[str], network_type: NetworkType = "functional") -> Network:
        """The links among proteins.

        Args:
            proteins: STRING ids of one species, 2 to 2,000.
            network_type: ``physical`` is a question of its own, with scores of its own.

        Returns:
            Every link between two of them; of a protein that was not asked for, none.

        Raises:
            SourceRefused: There are too few or too many, or they are of two species.
        """
        asked = frozenset(proteins)
        if not 2 <= len(asked) <= AT_ONCE:
            raise SourceRefused(f"STRING is asked for 2 to {AT_ONCE:,} proteins at once, not {len(asked):,}")
        kinds = {self.species_of(protein) for protein in asked}
        if len(kinds) > 1:
            raise SourceRefused(f"STRING links no proteins of two species: {', '.join(map(str, sorted(kinds)))}")
        form = {
            "identifiers": "\r".join(sorted(asked)),
            "required_score": LOWEST,
            "network_type": network_type,
            "add_nodes": 0,
        }
        release = self.version()
        links, answer = self._ask("/api/json/network", lambda a: (_rows(a, _LINKS), a), form, *kinds)
        among = {link.pair: link for link in links if link.a in asked and link.b in asked and link.a != link.b}
        return Network(asked, among, release, f"{self.service.url}/api/json/network", answer.retrieved_at)

    def partners(self, protein: str, threshold: float, limit: int = 100) -> list[Link]:
        """The proteins that one is linked with.

        Args:
            protein: Its STRING id.
            threshold: Least score, 0 to 1.
            limit: Most partners.

        Returns:
            The links, best first.
        """
        form = {"identifiers": protein, "required_score": round(threshold * 1000), "limit": limit}
        links = self._ask("/api/json/interaction_partners", lambda a: _rows(a, _LINKS), form, self.species_of(protein))
        mine = [link for link in links if protein in link.pair and link.score >= threshold]
        return sorted(mine, key=lambda link: (-link.score, link.pair))

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


_LINKS = TypeAdapter(list[Link])
_MAPPED = TypeAdapter(list[_Mapped])


def _rows(answer: Answer, kind: TypeAdapter[Any]) -> Any:
    """The rows of an answer; none where STRING says that it knows no such protein.

    Returns:
        The rows.

    Raises:
        SourceRefused: STRING does not take the question.
        SourceAnswer: It says something that it does not promise.
    """
    said = answer.json()
    error = said[0] if isinstance(said, list) and said and isinstance(said[0], dict) else said
    if isinstance(error, dict) and "Error" in error:
        if answer.status == 404 and error["Error"] == "not found":
            return []
        if answer.status == 400:
            raise SourceRefused(f"STRING does not take the question: {str(error)[:200]}", "see KGCHECK_STRING_SPECIES")
        raise SourceAnswer(f"STRING answered {answer.status}: {str(error)[:200]}", "try again later")
    if answer.status != 200:
        raise SourceAnswer(f"STRING answered {answer.status}: {answer.url[:160]}", "try again later")
    try:
        return kind.validate_python(said)
    except ValidationError as wrong:
        raise SourceAnswer(
            f"STRING sent other rows than it promises: {wrong.errors()[0]['msg']}", "try again later"
        ) from wrong


def _version(answer: Answer) -> str:
    if answer.status != 200:
        raise SourceAnswer(f"STRING answered {answer.status} to the question for its version", "see KGCHECK_STRING_URL")
    try:
        return _Version.model_validate(answer.json()[0]).string_version
    except (ValidationError, LookupError, TypeError) as error:
        raise SourceAnswer("STRING does not say its version", "see KGCHECK_STRING_URL") from error


def _chunks(items: Iterable[str], size: int) -> Iterable[list[str]]:
    rest = iter(dict.fromkeys(items))
    while chunk := list(islice(rest, size)):
        yield chunk
