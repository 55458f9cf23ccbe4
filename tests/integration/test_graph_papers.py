"""Abstracts for a graph: what its edges cite and what is undecided, within a budget, and never asked for twice."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgcheck.errors import SourceError
from kgcheck.literature.corpus import Corpus
from kgcheck.literature.edge_reader import claim_of
from kgcheck.literature.gather import GraphPapers, cited_papers, gather_for_graph
from kgcheck.literature.names import StoreNames
from kgcheck.model import Ref, Triple
from kgcheck.providers.http import Http
from kgcheck.settings import Settings
from tests.support import loopback
from tests.support.audits import MemoryStore
from tests.support.facts import SCHEMA
from tests.support.loopback import Loopback, Reply, Seen
from tests.support.paper_services import europe_record

EDGE = Triple(
    head=Ref(label="Protein", id="P10001"),
    relation="CURATED_INTERACTS_WITH",
    tail=Ref(label="Protein", id="P10002"),
)


class Europe:
    """Europe PMC, which has papers by PMID, and one that any other search finds."""

    def __init__(self, server: Loopback, numbers: set[int]) -> None:
        self.server, self.numbers, self.queries = server, numbers, list[str]()
        server.route("GET", r"/search", self._search)

    def _search(self, seen: Seen) -> Reply:
        query = seen.query["query"]
        self.queries.append(query)
        asked = {int(number) for number in re.findall(r"EXT_ID:(\d+)", query)}
        found = sorted(asked & self.numbers) if asked else [999]
        records = [europe_record(number, **({"abstractText": ""} if number == 7 else {})) for number in found]
        request = {"queryString": query, "cursorMark": seen.query["cursorMark"]}
        return Reply(body={"hitCount": len(records), "request": request, "resultList": {"result": records}})


@pytest.fixture
def europe() -> Iterator[Europe]:
    with Loopback() as server:
        yield Europe(server, set(range(1, 8)))


@pytest.fixture
def store() -> MemoryStore:
    cited = [
        "pubmed:3",
        "pubmed:3",
        "pubmed:1|pubmed:2",
        "PMID: 5; imex:IM-1",
        "doi:10.5555/8",
        "pubmed:7",
        "pubmed:404",
    ]
    rows = [{"head": "P10001", "tail": f"P1000{n}", "publications": text} for n, text in enumerate(cited, 2)]
    nodes: list[dict[str, Any]] = [{"id": f"P1000{n}", "name": f"KIN{n}"} for n in range(1, 9)]
    return MemoryStore({"Protein": nodes}, {"Protein CURATED_INTERACTS_WITH Protein": rows})


def _gather(europe: Europe, store: MemoryStore, folder: Path, limit: int) -> GraphPapers:
    settings = Settings(
        europepmc_url=europe.server.url,
        cache_dir=folder / "cache",
        http_attempts=1,
        http_pause_s=0,
        **loopback.limits(),
    )
    claims = [(str(EDGE), claim_of(EDGE, StoreNames(store), SCHEMA))]
    with Http(settings) as http, Corpus(folder / "papers", create=True) as corpus:
        try:
            return gather_for_graph(cited_papers(store), claims, corpus, http, limit=limit)
        finally:
            corpus.build(None)


def test_papers_that_edges_cite_are_found_in_any_property_the_most_cited_first(store: MemoryStore) -> None:
    assert cited_papers(store) == [f"pmid:{number}" for number in (3, 1, 2, 5, 7, 404)]


def _citing(*texts: str) -> MemoryStore:
    rows = [{"head": "P10001", "tail": "P10002", "publications": text} for text in texts]
    nodes: list[dict[str, Any]] = [{"id": f"P1000{n}", "name": f"KIN{n}"} for n in (1, 2)]
    return MemoryStore({"Protein": nodes}, {"Protein CURATED_INTERACTS_WITH Protein": rows})


def test_what_is_no_pmid_is_not_asked_for() -> None:
    wrong = (
        "PMID:0",
        "pubmed:000",
        "PMID: \u0663\u0664",
        "PMID:123456789",
        "pubmed:12a",
        "pmid:-5",
        "PubMed Central 9",
    )
    right = ("pmid:0012", "https://pubmed.ncbi.nlm.nih.gov/12/", "https://www.ncbi.nlm.nih.gov/pubmed/12")

    assert cited_papers(_citing(*wrong)) == []
    assert cited_papers(_citing(*right)) == ["pmid:12"]


@given(
    st.lists(st.tuples(st.sampled_from(("PMID:", "pubmed/", "PubMed: ", "pmid ")), st.text(max_size=12)), max_size=9)
)
def test_ids_of_cited_papers_are_pmids_whatever_edges_hold(cited: list[tuple[str, str]]) -> None:
    found = cited_papers(_citing(*(prefix + text for prefix, text in cited)))

    assert all(re.fullmatch(r"pmid:[1-9][0-9]{0,7}", paper) for paper in found)


def test_a_budget_is_kept_and_the_next_call_goes_on(europe: Europe, store: MemoryStore, tmp_path: Path) -> None:
    first = _gather(europe, store, tmp_path, 2)
    assert (first.counts, first.cited, first.searched, first.waiting) == ({"new": 2}, 6, 0, 5)

    second = _gather(europe, store, tmp_path, 10)
    # 7 has no abstract, and 404 is none of the service's.
    assert (second.lacking, second.searched, second.waiting) == (2, 1, 0)
    assert second.counts["new"] == 3
    assert '(TITLE:"KIN1" OR ABSTRACT:"KIN1") AND (TITLE:"KIN2" OR ABSTRACT:"KIN2")' in europe.queries

    asked = len(europe.queries)
    third = _gather(europe, store, tmp_path, 10)
    assert (third.counts, third.searched, third.waiting) == ({}, 0, 0)
    assert len(europe.queries) == asked


def test_a_service_that_is_down_lacks_nothing(europe: Europe, store: MemoryStore, tmp_path: Path) -> None:
    europe.server.always = loopback.reset
    with pytest.raises(SourceError):
        _gather(europe, store, tmp_path, 10)

    europe.server.always = None
    assert _gather(europe, store, tmp_path, 10).lacking == 2
