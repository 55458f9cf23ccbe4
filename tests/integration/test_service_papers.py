"""Search and verify over HTTP with a real index: the demo's notes, read by the trained verifier."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from kgcheck.ledger.ledger import Ledger
from kgcheck.literature.corpus import Corpus
from kgcheck.literature.documents import SOURCE
from kgcheck.resources import resource_dir
from tests.support.api import ledger_of, served
from tests.support.jats import article
from tests.support.literature import remove_papers
from tests.unit.test_ledger import finding, run, tally

NOTES = resource_dir("corpus") / "demo" / "notes.jsonl"


@pytest.fixture(scope="module")
def papers() -> dict[str, dict[str, Any]]:
    rows = [json.loads(line) for line in NOTES.read_text(encoding="utf-8").splitlines()]
    return {row["id"]: row for row in rows}


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    folder = tmp_path_factory.mktemp("papers")
    (folder / "one.xml").write_text(article("10.5555/one"))
    with Corpus(folder / "literature", create=True) as corpus:
        corpus.add([NOTES, folder / "one.xml"])
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
    edge = asked(api, "/v1/verify", triple="P00441 ASSOCIATED_WITH DOID:332", documents=["pmid:12442272"])
    assert [one["document"] for one in edge["opinions"]] == ["pmid:12442272"]
    abstract = papers["pmid:12442272"]["abstract"]
    assert opinion["quotes"]
    assert all(quote["text"] == abstract[quote["start"] : quote["end"]] for quote in opinion["quotes"])


def test_the_page_names_the_section_that_a_text_stands_in(api: TestClient) -> None:
    def page(**wanted: str) -> str:
        answer = api.get("/ask", params=wanted, headers={"accept": "text/html"})
        assert answer.status_code == 200
        return answer.text

    assert '<small class="section">in results</small>' in page(search="kinase B in yeast cells at night")
    assert "in methods: 2. Materials and Methods &gt; Results of staining" in page(search="cells stained with dye C")
    assert '<small class="section">in results</small>' in page(claim="Kinase A binds kinase B in yeast cells at night.")
    (found,) = asked(api, "/v1/search", query="kinase B in yeast cells at night", limit=1)["papers"]
    answer = asked(api, "/v1/verify", claim="Kinase A binds kinase B in yeast cells at night.")
    read = next(one for one in answer["opinions"] if one["quotes"])
    assert {(one["section"], one["heading"]) for one in (found, read)} == {("results", "Results")}
    assert 'class="section"' not in page(search="SOD1 mutations in amyotrophic lateral sclerosis")


def test_evidence_of_a_finding_names_the_section_of_its_quote(api: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    (found,) = asked(api, "/v1/search", query="kinase B in yeast cells at night", limit=1)["papers"]
    made = finding(run("20260101-000000-cccc"), "P00001")
    (seen,) = made.verdict.evidence
    quoting = seen.model_copy(update={"source": SOURCE, "record": found["id"], "quote": found["passage"]})
    made = made.model_copy(update={"verdict": made.verdict.model_copy(update={"evidence": (quoting,)})})
    with Ledger(Path(ledger_of(api))) as ledger:
        ledger.keep(run("20260101-000000-cccc"), made, tally())

    for headers in ({"accept": "text/html"}, {"x-fragment": "1"}):
        text = api.get(f"/findings/{made.fingerprint}", headers=headers).text
        assert '<small class="section">in results</small></summary>' in text
        assert "<mark>Kinase A binds kinase B in yeast cells" in text
    # Another process takes the paper out.
    remove_papers(monkeypatch, "doi:10.5555/one")
    text = api.get(f"/findings/{made.fingerprint}", headers={"accept": "text/html"}).text
    assert "Kinase A binds kinase B in yeast cells" in text
    assert "in results" not in text


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
