"""The page of the service without a browser: what its routes show and do, over the demo."""

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from kgcheck.literature.documents import Document
from kgcheck.workspace import Workspace
from tests.support.api import ledger_of, served
from tests.support.literature import build_index

PAPER = Document(
    ids=("pmid:1",),
    title="One gene in one tumour",
    abstract="Tumours were sequenced. BRAF is associated with cancer of the thyroid. Nothing else was found.",
    year=2001,
    recipe="jsonl",
)


@pytest.fixture
def page(tmp_path: Path) -> Iterator[TestClient]:
    with served(tmp_path) as client:
        yield client


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A service with a paper, for tests that change nothing."""
    folder = tmp_path_factory.mktemp("read")
    with served(folder, literature=str(build_index(folder / "papers", [PAPER]))) as client:
        yield client


def text_of(client: TestClient, path: str, **params: str) -> str:
    """What a page shows, without its marks, in single spaces."""
    answer = client.get(path, params=params, headers={"accept": "text/html"})
    assert answer.status_code == 200, answer.text
    main = answer.text.partition("<main")[2].partition("</main>")[0]
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", main)).split())


def named(client: TestClient, subject: str) -> str:
    """The fingerprint of a finding about a node."""
    with Workspace(ledger=ledger_of(client)) as workspace:
        return next(
            one.fingerprint
            for one in workspace.list_findings(types=["existence"]).page()
            if one.finding and one.finding.task.subject.id == subject
        )


def hidden(text: str, form: str) -> dict[str, str]:
    """The values that a form holds already."""
    inside = text.partition(f'action="{form}"')[2].partition("</form>")[0]
    return {name: unescape(value) for name, value in re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', inside)}


def test_papers_are_searched_and_the_passage_is_marked(read: TestClient) -> None:
    found = read.get("/ask", params={"search": "cancer of the thyroid"}).text

    assert "<mark>BRAF is associated with cancer of the thyroid.</mark> Nothing else was found." in found
    assert 'href="https://pubmed.ncbi.nlm.nih.gov/1/"' in found
    assert "No paper has any of these words." in text_of(read, "/ask", search="zymurgy")


def test_papers_are_asked_about_an_edge_by_its_parts(read: TestClient) -> None:
    edge = {"head": "P15056", "relation": "ASSOCIATED_WITH", "tail": "DOID:162"}

    assert "BRAF is associated with cancer. " in text_of(read, "/ask", **edge)
    assert "1 paper for it, 0 against it, 0 silent" in text_of(read, "/ask", **edge)
    refused = text_of(read, "/ask", **edge | {"tail": "nobody:1"})
    assert "there is no name" in refused
    assert "neither the graph nor the snapshot knows what it is called" in refused


def test_without_papers_there_are_no_boxes_for_them(page: TestClient) -> None:
    shown = text_of(page, "/ask")

    assert "Papers on an edge" not in shown
    assert "There are no papers here" in shown
    assert "kgcheck serve --literature" in text_of(page, "/ask", search="cancer")


def test_what_can_be_chosen_is_named(read: TestClient) -> None:
    shown = text_of(read, f"/findings/{named(read, 'DOID:0080002')}")

    assert "Choose what is right autosomal dominant disease DOID:0050736" in shown
    assert "Proposed Protein P21802 FGFR2" in text_of(read, f"/findings/{named(read, 'B4DFC2')}")


def test_the_history_of_a_finding_has_runs_and_decisions(page: TestClient) -> None:
    name = named(page, "P00001")
    with Workspace(ledger=ledger_of(page)) as workspace:
        newest, oldest = [run for run, _ in workspace.runs()]
        workspace.decide([name], "reject", by="rosa", note="by hand")

    history = text_of(page, f"/findings/{name}").partition("History")[2]

    assert re.search(
        rf"reject by rosa: by hand .* found again by run {newest.id} .* found by run {oldest.id} : ", history
    )


def test_what_was_decided_at_once_is_taken_back_at_once(page: TestClient) -> None:
    chosen = page.get("/findings/decide", params={"type": "existence", "scope": "all"}).text
    done = page.post("/findings/decide", data=hidden(chosen, "/findings/decide") | {"action": "reject"})
    many = re.search(r"(\d+) findings rejected\.", done.text)
    assert many
    name = named(page, "P00001")
    with Workspace(ledger=ledger_of(page)) as workspace:
        # Somebody has thought about this one since: it is left.
        workspace.decide([name], "accept", by="rosa")

    back = hidden(done.text, "/findings/undo")
    undone = page.post("/findings/undo", data=back)

    assert f"{int(many[1]) - 1} findings reopened." in undone.text
    assert "Undo all" not in undone.text
    with Workspace(ledger=ledger_of(page)) as workspace:
        assert workspace.list_findings(decisions=["rejected"]).count() == 0
        assert [d.action.value for d in workspace.history(name)] == ["reject", "accept"]
    assert "0 findings reopened." in page.post("/findings/undo", data=back).text


def test_nobody_takes_back_what_another_decided(page: TestClient) -> None:
    name = named(page, "P00001")
    with Workspace(ledger=ledger_of(page)) as workspace:
        made = workspace.decide([name], "reject", by="rosa")
    forged = {"action": "reject", "count": "1", "first": str(made[0].decision.number)}

    answer = page.post("/findings/undo", data=hidden(page.get("/findings").text, "/findings/undo") | forged)

    assert "0 findings reopened." in answer.text
    with Workspace(ledger=ledger_of(page)) as workspace:
        assert [d.action.value for d in workspace.history(name)] == ["reject"]


@pytest.mark.parametrize(
    "address", ["done=reject&count=x", "done=x&count=1", "done=reject&count=1&first=-1", "done=reject"]
)
def test_an_address_that_makes_no_sense_has_done_nothing(read: TestClient, address: str) -> None:
    assert "Undo all" not in read.get(f"/findings?{address}").text


def test_a_row_says_which_label_a_node_has(read: TestClient) -> None:
    assert "P00001 Protein" in text_of(read, "/findings", type="existence", q="P00001")
