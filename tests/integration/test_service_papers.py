"""Search and verify over HTTP with a real index: the demo's notes, read by the trained verifier."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient

from kgcheck.literature.corpus import Corpus
from kgcheck.resources import resource_dir
from tests.support.api import served

NOTES = resource_dir("corpus") / "demo" / "notes.jsonl"


@pytest.fixture(scope="module")
def papers() -> dict[str, dict[str, Any]]:
    rows = [json.loads(line) for line in NOTES.read_text(encoding="utf-8").splitlines()]
    return {row["id"]: row for row in rows}


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    folder = tmp_path_factory.mktemp("papers")
    with Corpus(folder / "literature", create=True) as corpus:
        corpus.add([NOTES])
        corpus.build(None)
    with served(folder, literature=str(folder / "literature")) as client:
        yield client


def asked(api: TestClient, path: str, **body: Any) -> Any:
    answer = api.post(path, json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_papers_are_found_with_their_best_passage(api: TestClient, papers: dict[str, dict[str, Any]]) -> None:
    found = asked(api, "/v1/search", query="SOD1 mutations in amyotrophic lateral sclerosis", limit=3)

    first = found["papers"][0]
    assert (first["id"], first["title"]) == ("pmid:12442272", papers["pmid:12442272"]["title"])
    assert first["passage"]
    assert first["passage"] in " ".join([first["title"], papers["pmid:12442272"]["abstract"]])
    assert len(found["papers"]) <= 3
    scores = [one["score"] for one in found["papers"]]
    assert scores == sorted(scores, reverse=True)
    assert asked(api, "/v1/search", query="zyxwvut")["papers"] == []
    only = asked(api, "/v1/search", query="SOD1", documents=["pmid:22859398"])["papers"]
    assert {one["id"] for one in only} <= {"pmid:22859398"}


def test_a_claim_is_read_with_exact_quotes(api: TestClient, papers: dict[str, dict[str, Any]]) -> None:
    claim = "SOD1 mutations are known from patients with amyotrophic lateral sclerosis."
    answer = asked(api, "/v1/verify", claim=claim, documents=["pmid:12442272"])

    assert answer["claim"] == claim
    assert answer["stance"] == "supports"
    (opinion,) = answer["opinions"]
    abstract = papers["pmid:12442272"]["abstract"]
    assert opinion["quotes"]
    assert all(quote["text"] == abstract[quote["start"] : quote["end"]] for quote in opinion["quotes"])


def test_an_edge_is_read_in_papers(api: TestClient) -> None:
    answer = asked(api, "/v1/verify", triple="P00441 ASSOCIATED_WITH DOID:332", documents=["pmid:12442272"])

    assert answer["stance"] in ("supports", "neutral")
    assert [one["document"] for one in answer["opinions"]] == ["pmid:12442272"]


def test_what_papers_cannot_be_asked_is_a_problem(api: TestClient) -> None:
    for path, body, status in (
        ("/v1/verify", {}, 422),
        ("/v1/verify", {"claim": "x", "triple": "a b c"}, 422),
        ("/v1/verify", {"triple": "P00441 NO_SUCH DOID:332"}, 404),
        ("/v1/verify", {"claim": "x", "documents": ["pmid:99999999"]}, 404),
        ("/v1/search", {"query": "x", "documents": ["pmid:99999999"]}, 404),
        ("/v1/search", {"query": ""}, 422),
    ):
        answer = api.post(path, json=body)
        assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json"), answer.text
    ready = api.get("/v1/health/ready").json()
    assert {part["name"] for part in ready["parts"] if part["is_ready"]} == {
        "ledger", "store", "reference", "literature",
    }  # fmt: skip
