"""UniProt over real HTTP: every life of an accession that API_SHAPES.md lists, batches and faults."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from requests_cache.backends.sqlite import SQLiteCache

from kgcheck.errors import SourceError, SourceUnanswerable
from kgcheck.profile.catalogue import State
from kgcheck.providers.http import Http
from kgcheck.providers.uniprot import UniProt
from kgcheck.providers.uniprot_entry import NoState, UniProtEntry, pubmed_ids
from kgcheck.settings import Settings
from tests.support import loopback
from tests.support.loopback import Fault, Loopback
from tests.support.services import UniProtServer, entry


@pytest.fixture
def server(shared_data: Path) -> Iterator[UniProtServer]:
    with Loopback() as running:
        yield UniProtServer(running, shared_data / "api")


@pytest.fixture
def make(server: UniProtServer, tmp_path: Path) -> Iterator[Callable[..., UniProt]]:
    with loopback.clients(tmp_path, http_max_mb=2, **loopback.addresses(server.server.url, "uniprot")) as client:
        yield lambda **more: UniProt(http := client(**more), http.settings)


@pytest.fixture
def uniprot(make: Callable[..., UniProt]) -> UniProt:
    return make()


def test_active(uniprot: UniProt) -> None:
    record = uniprot.record("P15056")

    assert (record.state, record.release, record.accession) == (State.CURRENT, "2026_03", "P15056")
    assert record.url.endswith("/uniprotkb/P15056.json") or "/uniprotkb/P15056.json?" in record.url
    assert record.entry
    assert record.entry.entry_name == "BRAF_HUMAN"
    assert record.entry.genes[0].gene_name
    assert record.entry.genes[0].gene_name.value == "BRAF"
    assert [n.value for n in record.entry.genes[0].synonyms] == ["BRAF1", "RAFB1"]
    assert record.entry.organism
    assert record.entry.organism.taxon_id == 9606
    assert [x.id for x in record.entry.references_to("PDB")][:2] == ["1UWH", "1UWJ"]


@pytest.mark.parametrize(
    ("accession", "state", "successors", "reason"),
    [
        # 303 with a body, which is not followed; the others are 200, and what is unknown is 404 with messages.
        ("B4DFC2", State.MERGED, ("P21802",), ""),
        ("P00001", State.DEMERGED, ("P99999", "P99998"), ""),
        ("Q00007", State.DEMERGED, ("P63151", "P63150"), ""),
        ("A0A009ZZZ1", State.DELETED, (), "Not part of a reference proteome"),
        ("I8FBX0", State.DELETED, (), ""),
        ("A0A999ZZZ9", NoState.UNKNOWN, (), ""),
        *(
            (wrong, NoState.MALFORMED, (), "")
            for wrong in ("TP53", "p15056", "P15056-x", "", "P15056/../x", "P15056.3")
        ),
    ],
)
def test_every_life_of_an_accession(
    uniprot: UniProt,
    server: UniProtServer,
    accession: str,
    state: State | NoState,
    successors: tuple[str, ...],
    reason: str,
) -> None:
    record = uniprot.record(accession)

    assert (record.state, record.successors, record.reason, record.entry) == (state, successors, reason, None)
    assert len(server.server.calls) == (state is not NoState.MALFORMED)


def test_bad_format_is_400_with_messages(uniprot: UniProt, server: UniProtServer) -> None:
    server.server.faults.append(lambda handler, reply: loopback.send(handler, server.refusal(400)))

    assert uniprot.record("P15056").state is NoState.MALFORMED


def test_isoform_stands_for_its_entry(uniprot: UniProt, server: UniProtServer) -> None:
    record = uniprot.record("P15056-2")

    assert (record.accession, record.state) == ("P15056-2", State.CURRENT)
    assert server.server.calls[0].path == "/uniprotkb/P15056.json"


def test_isoform_that_its_entry_does_not_list(uniprot: UniProt, server: UniProtServer) -> None:
    isoforms = [{"isoformIds": ["P10001-1"]}, {"isoformIds": ["P10001-2", "P10002-2"]}]
    server.add(entry("P10001", comments=[{"commentType": "ALTERNATIVE PRODUCTS", "isoforms": isoforms}]))

    assert uniprot.record("P10001-2").state is State.CURRENT
    assert uniprot.record("P10001-9").state is NoState.UNKNOWN


def test_secondary_id_answered_with_its_entry(uniprot: UniProt, server: UniProtServer) -> None:
    server.entries["Q10001"] = entry("P10001", secondaryAccessions=["Q10001"])

    found = uniprot.record("Q10001")
    assert (found.state, found.successors) == (State.MERGED, ("P10001",))


def test_a_batch_that_uniprot_does_not_take(uniprot: UniProt, server: UniProtServer) -> None:
    server.server.faults.append(lambda handler, reply: loopback.send(handler, server.refusal(400)))
    found, failed = uniprot.records(["P15056"])

    assert not found
    assert isinstance(failed["P15056"], SourceUnanswerable)


def test_a_page_with_one_bad_entry_is_refused_whole_and_not_kept(
    make: Callable[..., UniProt], server: UniProtServer
) -> None:
    server.add(entry("P10001"), entry("P10002", organism={"taxonId": -9606}))
    found, failed = make(http_attempts=1).records(["P10001", "P10002"])
    server.add(entry("P10002"))

    assert (found, sorted(failed)) == ({}, ["P10001", "P10002"])
    assert sorted(make().records(["P10001", "P10002"])[0]) == ["P10001", "P10002"]


def test_a_kept_answer_that_is_about_something_else_is_asked_for_again(
    make: Callable[..., UniProt], server: UniProtServer, tmp_path: Path
) -> None:
    server.add(entry("P10001"), entry("P10002"))
    make().records(["P10001"])
    kept = SQLiteCache(tmp_path / "answers.sqlite", serializer="json")
    for key, response in list(kept.responses.items()):
        response._content = response.content.replace(b"P10001", b"P10002")
        kept.responses[key] = response
    kept.close()  # type: ignore[no-untyped-call]
    calls = len(server.server.calls)

    assert make().records(["P10001"])[0]["P10001"].entry == UniProtEntry.model_validate(entry("P10001"))
    assert len(server.server.calls) == calls + 1


@pytest.mark.parametrize("tells", [True, False], ids=["the batch tells inactive entries", "it leaves them out"])
def test_a_batch_tells_every_life(tells: bool, shared_data: Path, tmp_path: Path) -> None:
    with Loopback() as running:
        UniProtServer(running, shared_data / "api", batch_tells_inactive=tells)
        settings = Settings(uniprot_url=running.url, uniprot_calls_per_s=1e6, cache_dir=tmp_path)
        with Http(settings) as http:
            asked = ["P15056", "B4DFC2", "P00001", "I8FBX0", "A0A999ZZZ9", "TP53", "P15056-2", "P15056"]
            found, failed = UniProt(http, settings).records(asked)

    assert failed == {}
    assert [(a, found[a].state.value, found[a].successors) for a in dict.fromkeys(asked)] == [
        ("P15056", "current", ()),
        ("B4DFC2", "merged", ("P21802",)),
        ("P00001", "demerged", ("P99999", "P99998")),
        ("I8FBX0", "deleted", ()),
        ("A0A999ZZZ9", "unknown", ()),
        ("TP53", "malformed", ()),
        ("P15056-2", "current", ()),
    ]


def test_a_thousand_accessions_take_at_most_three_calls_and_none_again(
    make: Callable[..., UniProt], server: UniProtServer
) -> None:
    accessions = [f"P{n:05}" for n in range(10001, 11001)]
    server.add(*map(entry, accessions))
    found, failed = make().records(accessions)

    assert (len(found), failed) == (1000, {})
    assert server.batch_calls == len(server.server.calls) <= 3
    before = len(server.server.calls)
    assert make().records(accessions)[0].keys() == found.keys()
    assert len(server.server.calls) == before


def test_a_batch_that_fails_takes_only_its_own_with_it(make: Callable[..., UniProt], server: UniProtServer) -> None:
    accessions = [f"P{n:05}" for n in range(10001, 11001)]
    server.add(*map(entry, accessions))
    server.server.faults += [loopback.page(), loopback.page()]
    found, failed = make().records(accessions)

    assert (len(found), len(failed)) == (500, 500)
    assert found.keys() | failed.keys() == set(accessions)


FAULTS: list[tuple[str, Fault]] = [
    ("500", loopback.answers(500, {"messages": ["Internal server error"]})),
    ("HTML instead of JSON", loopback.page()),
    ("a route that is missing", loopback.page(404)),
    ("an empty body", loopback.answers(200, b"")),
    ("truncated JSON", loopback.truncated),
    ("redirect to another host", loopback.answers(303, {"x": 1}, Location="http://127.0.0.2/uniprotkb/P21802")),
    ("redirect without a reason", loopback.answers(303, {}, Location="/uniprotkb/P21802")),
    ("200 with an error body", loopback.error_in_200()),
    ("another entry", loopback.answers(200, entry("P99999"))),
    ("inactive without a reason", loopback.answers(200, entry("P15056", entryType="Inactive"))),
    ("a list", loopback.answers(200, [1])),
    ("null", loopback.answers(200, b"null")),
]


@pytest.mark.parametrize("fault", [f for _, f in FAULTS], ids=[n for n, _ in FAULTS])
def test_a_fault_is_never_a_life_and_goes_when_it_goes(
    fault: Fault, make: Callable[..., UniProt], server: UniProtServer
) -> None:
    server.server.always = fault
    with pytest.raises(SourceError):
        make().record("P15056")
    found, failed = make().records(["P15056"])
    server.server.always = None

    assert (found, list(failed)) == ({}, ["P15056"])
    assert make().record("P15056").state is State.CURRENT


def test_an_entry_has_what_the_checks_need() -> None:
    origin = [{"evidenceCode": "ECO:0000269", "source": "PubMed", "id": "1"}, {"evidenceCode": "ECO:0000305"}]
    read = UniProtEntry.model_validate(
        entry(
            "P10001",
            comments=[
                {
                    "commentType": "INTERACTION",
                    "interactions": [
                        {"interactantTwo": {"uniProtKBAccession": "P10002-2", "geneName": "G"}},
                        {"interactantOne": {"uniProtKBAccession": "P10001"}, "interactantTwo": {"intActId": "EBI-9"}},
                    ],
                },
                {"commentType": "TISSUE SPECIFICITY", "texts": [{"value": "x", "evidences": origin}]},
            ],
            features=[
                {
                    "type": "Modified residue",
                    "location": {"start": {"value": 2, "modifier": "EXACT"}, "end": {"value": 2}},
                }
            ],
            references=[{"citation": {"citationCrossReferences": [{"database": "PubMed", "id": "7"}]}}],
        )
    )

    assert read.partners == ["P10002"]
    assert pubmed_ids(read.comments_of("TISSUE SPECIFICITY")[0].texts[0].evidences) == ["1"]
    assert read.features[0].location.start.value == 2
    assert read.pubmed_ids == ["7"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=8).map(lambda name: f"new{name}"), JSON, max_size=4))
def test_unknown_new_fields_never_break_an_entry(new: dict[str, Any]) -> None:
    known = entry("P10001")

    nested = entry("P10001", **new, sequence={"value": "MS", **new}, organism={"taxonId": 9606, **new})
    assert UniProtEntry.model_validate(known | new) == UniProtEntry.model_validate(known)
    assert UniProtEntry.model_validate(nested).sequence.value == "MS"
