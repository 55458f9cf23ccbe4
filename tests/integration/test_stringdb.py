"""STRING over real HTTP: pairs with both ends checked, batches, channels, and the error shapes of API_SHAPES.md."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgcheck.errors import SourceAnswer, SourceError, SourceRefused, SourceUnanswerable
from kgcheck.providers.stringdb import AT_ONCE, StringDb, batches, pair
from tests.support import loopback
from tests.support.loopback import Fault, Loopback
from tests.support.services import StringServer

KRAS, CDC37, NRAS = "9606.ENSP00000256078", "9606.ENSP00000222005", "9606.ENSP00000358548"


@pytest.fixture
def server(shared_data: Path) -> Iterator[StringServer]:
    with Loopback() as running:
        yield StringServer(running, shared_data / "api")


@pytest.fixture
def make(server: StringServer, tmp_path: Path) -> Iterator[Callable[..., StringDb]]:
    with loopback.clients(tmp_path, http_max_mb=2, **loopback.addresses(server.server.url, "string")) as client:
        yield lambda **more: StringDb(http := client(**more), http.settings)


@pytest.fixture
def string(make: Callable[..., StringDb]) -> StringDb:
    return make()


def test_a_recorded_link_with_its_channels(string: StringDb) -> None:
    network = string.network([KRAS, CDC37])
    link = network.links[pair(KRAS, CDC37)]

    assert (link.score, link.species, link.name_a, link.name_b) == (0.604, 9606, "CDC37", "KRAS")
    assert link.channels == {"databases": 0.5, "text": 0.205, "experiments": 0.082, "coexpression": 0.042}
    assert network.release == "12.0"
    assert network.url.endswith("/api/json/network")


def test_a_pair_is_posted_with_both_ends_and_no_more(make: Callable[..., StringDb], server: StringServer) -> None:
    make(caller_identity="a lab").network([KRAS, CDC37])
    call = server.server.calls[-1]

    assert (call.method, call.path) == ("POST", "/api/json/network")
    assert sorted(call.form["identifiers"].split("\r")) == sorted([KRAS, CDC37])
    assert "%25" not in str(call.form)
    assert call.form["add_nodes"] == "0"
    assert (call.form["species"], call.form["caller_identity"]) == ("9606", "a lab")
    assert call.form["network_type"] == "functional"


BRAF = "9606.ENSP00000288602"


def _row(a: str, b: str, score: float = 0.9, **more: Any) -> dict[str, Any]:
    return {"stringId_A": a, "stringId_B": b, "ncbiTaxonId": 9606, "score": score} | more


ELSEWHERE: dict[str, list[dict[str, Any]]] = {
    "rows of other proteins": [_row("9606.X", "9606.Y")],
    "one end of another": [_row(KRAS, "9606.Y")],
    "one row too many": [_row(KRAS, BRAF), _row(BRAF, "9606.Y")],
    "another species": [_row(KRAS, BRAF, ncbiTaxonId=10090)],
    "a protein with itself": [_row(KRAS, KRAS)],
    "a score below the one asked for": [_row(KRAS, BRAF, 0.05)],
    "two scores of one pair": [_row(KRAS, BRAF, 0.9), _row(BRAF, KRAS, 0.2)],
    "a score as text": [_row(KRAS, BRAF) | {"score": "0.9"}],
    "a score that is a truth": [_row(KRAS, BRAF) | {"score": True}],
    "a negative species": [_row(KRAS, BRAF, ncbiTaxonId=-9606)],
}


@pytest.mark.parametrize("kind", ELSEWHERE)
def test_a_network_of_other_things_is_no_network(
    kind: str, make: Callable[..., StringDb], server: StringServer
) -> None:
    make().version()
    server.server.always = loopback.answers(200, ELSEWHERE[kind])
    with pytest.raises(SourceAnswer):
        make(http_attempts=1).network([KRAS, BRAF])
    server.server.always = None

    assert make().network([KRAS, BRAF]).links == {}


def test_a_pair_that_comes_twice_is_one(string: StringDb, server: StringServer) -> None:
    server.link("9606.A", "9606.B", 0.7)
    server.link("9606.B", "9606.A", 0.7)

    assert string.network(["9606.A", "9606.B"]).links.keys() == {("9606.A", "9606.B")}


def test_a_protein_that_string_mapped_itself_is_not_unknown(
    make: Callable[..., StringDb], server: StringServer
) -> None:
    make().version()
    server.server.always = lambda handler, reply: loopback.send(handler, server.not_found())

    with pytest.raises(SourceAnswer, match="gave the id itself"):
        make(http_attempts=1).network([KRAS, NRAS])


MAPPED = {"queryItem": "P01116", "queryIndex": 0, "stringId": KRAS, "ncbiTaxonId": 9606}


@pytest.mark.parametrize(
    "row",
    [
        MAPPED | {"queryItem": "P00001"},
        MAPPED | {"queryIndex": 1},
        MAPPED | {"queryIndex": 7},
        MAPPED | {"queryIndex": -1},
        MAPPED | {"ncbiTaxonId": 10090},
        MAPPED | {"stringId": "10090.ENSMUSP00000032399"},
        MAPPED | {"stringId": None},
        {"queryItem": "P01116", "stringId": KRAS},
    ],
    ids=str,
)
def test_ids_of_other_things_are_no_answer(
    row: dict[str, Any], make: Callable[..., StringDb], server: StringServer
) -> None:
    server.knows(P01116=KRAS)
    server.server.always = loopback.answers(200, [row])
    with pytest.raises(SourceAnswer):
        make(http_attempts=1).ids(["P01116", "P01111"])
    server.server.always = None

    assert make().ids(["P01116", "P01111"]) == {"P01116": KRAS}


def test_one_protein_alone_is_never_asked_for(string: StringDb, server: StringServer) -> None:
    for wrong in ([], [KRAS], [KRAS, KRAS], [f"9606.P{n}" for n in range(AT_ONCE + 1)]):
        with pytest.raises(SourceRefused):
            string.network(wrong)
    assert server.server.calls == []


def test_physical_is_another_question(string: StringDb, server: StringServer) -> None:
    server.link("9606.A", "9606.B", 0.9)
    # Below any cut-off, and seen.
    server.link("9606.A", "9606.B", 0.151, physical=True)
    ends = ["9606.A", "9606.B"]

    assert string.network(ends).links[("9606.A", "9606.B")].score == 0.9
    assert string.network(ends, "physical").links[("9606.A", "9606.B")].score == 0.151


def test_unmapped_ids_are_left_out(string: StringDb, server: StringServer) -> None:
    server.knows(P01116=KRAS, P01111=NRAS)

    assert string.ids(["P01116", "NOSUCHPROT99", "P01111"]) == {"P01116": KRAS, "P01111": NRAS}
    server.server.faults.append(lambda handler, reply: loopback.send(handler, server.not_found()))
    assert string.ids(["NOSUCHPROT99"]) == {}


def test_bad_species_is_refused(make: Callable[..., StringDb]) -> None:
    with pytest.raises(SourceUnanswerable, match="does not take"):
        make().network(["1.A", "1.B"])


def test_proteins_of_two_species_are_not_asked_for_together(string: StringDb, server: StringServer) -> None:
    with pytest.raises(SourceRefused, match="two species: 9606, 10090"):
        string.network([KRAS, "10090.A"])
    assert server.server.calls == []


def test_ids_are_those_of_one_species(string: StringDb, server: StringServer) -> None:
    server.knows(P1="9606.A", P2="10090.A")

    assert string.ids(["P1", "P2"]) == {"P1": "9606.A"}
    assert string.ids(["P1", "P2"], 10090) == {"P2": "10090.A"}


def test_pairs_of_one_species_go_together() -> None:
    pairs = [("9606.A", "9606.B"), ("10090.A", "10090.B"), ("9606.C", "9606.A")]

    assert [{p.split(".")[0] for both in some for p in both} for some in batches(pairs)] == [{"10090"}, {"9606"}]


FAULTS: list[tuple[str, Fault]] = [
    ("500", loopback.answers(500, b"x")),
    ("missing route is 404 HTML", loopback.page(404)),
    ("HTML instead of JSON", loopback.page()),
    ("truncated JSON", loopback.truncated),
    ("redirect to another host", loopback.answers(302, b"", Location="http://127.0.0.2/")),
    ("200 with an error body", loopback.answers(200, [{"Error": "internal", "ErrorMessage": "x"}])),
    ("200 with not found", loopback.answers(200, [{"Error": "not found", "ErrorMessage": "x"}])),
    ("404 without its error", loopback.answers(404, [])),
    ("a score that is none", loopback.answers(200, [{"stringId_A": KRAS, "stringId_B": NRAS, "score": 604}])),
    ("an object", loopback.answers(200, {"links": []})),
]


@pytest.mark.parametrize("fault", [f for _, f in FAULTS], ids=[n for n, _ in FAULTS])
def test_a_fault_is_never_silence_and_goes_when_it_goes(
    fault: Fault, make: Callable[..., StringDb], server: StringServer
) -> None:
    make().version()
    server.server.always = fault
    with pytest.raises(SourceError):
        make().network([KRAS, CDC37])
    server.server.always = None

    assert len(make().network([KRAS, CDC37]).links) == 1


def test_a_version_that_is_not_told(make: Callable[..., StringDb], server: StringServer) -> None:
    server.server.always = loopback.answers(200, [])

    with pytest.raises(SourceAnswer, match="version"):
        make().version()


def test_two_thousand_pairs_take_at_most_five_calls_and_none_again(
    make: Callable[..., StringDb], server: StringServer
) -> None:
    server.knows(**{f"P{n:05}": f"9606.E{n}" for n in range(4000)})
    pairs = [(f"P{n:05}", f"P{n + 1:05}") for n in range(0, 4000, 2)]

    def ask() -> int:
        string = make()
        known = string.ids(a for ends in pairs for a in ends)
        looked = [
            string.network(sorted({p for ends in some for p in ends}))
            for some in batches((known[a], known[b]) for a, b in pairs)
        ]
        return sum(len(network.proteins) for network in looked)

    assert ask() == 4000
    assert len(server.server.calls) <= 5
    before = len(server.server.calls)
    assert ask() == 4000
    assert len(server.server.calls) == before


@given(st.lists(st.tuples(st.integers(0, 6000), st.integers(0, 6000)), max_size=60))
def test_batches_hold_every_pair_once_and_few_enough_proteins(ends: list[tuple[int, int]]) -> None:
    pairs = [(str(a), str(b)) for a, b in ends]
    made = batches(pairs)

    assert sorted(p for some in made for p in some) == sorted({pair(*p) for p in pairs})
    assert all(len({e for p in some for e in p}) <= AT_ONCE for some in made)
