"""The page of the service without a browser: what its routes show and do, over the demo."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import pytest
from fastapi.testclient import TestClient

from kgcheck.ledger.accounts import MOST, SavedFilter, SavedFilterTable
from kgcheck.literature.documents import Document
from kgcheck.model import Evidence, Gap, Reason, Ref, Stance, Tier, World
from kgcheck.service.page import nodes
from kgcheck.workspace import Workspace
from tests.support.api import ledger_of, served
from tests.support.audits import demo
from tests.support.hostile import MARK, HostileTexts, PageReader
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
    answer = client.get(path, params=params or None, headers={"accept": "text/html"})
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
    assert "called 'nobody:1'" in refused
    assert "name it by its id" in refused


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
    for address in ("done=reject&count=x", "done=x&count=1", "done=reject&count=1&first=-1", "done=reject"):
        assert "Undo all" not in page.get(f"/findings?{address}").text


@pytest.mark.parametrize(
    ("address", "wrong"),
    [
        ("/findings/decide", {"count": "0"}),
        ("/findings/decide", {"count": ""}),
        ("/findings/decide", {"scope": ""}),
        ("/findings/undo", {"count": "0"}),
        ("/findings/undo", {"first": "0"}),
        ("/findings/undo", {"first": ""}),
        ("/findings/undo", {"action": "nothing"}),
    ],
)
def test_a_form_that_says_not_all_is_refused(read: TestClient, address: str, wrong: dict[str, str]) -> None:
    whole = {
        "csrf": hidden(read.get("/findings/decide?scope=all").text, "/findings/decide")["csrf"],
        "action": "reject",
    }
    sent = whole | {"scope": "selected", "count": "1", "first": "1"} | wrong

    assert read.post(address, data=sent, headers={"accept": "text/html"}).status_code == 422


def test_nobody_takes_back_what_another_decided(page: TestClient) -> None:
    name = named(page, "P00001")
    with Workspace(ledger=ledger_of(page)) as workspace:
        made = workspace.decide([name], "reject", by="rosa")
    forged = {"action": "reject", "count": "1", "first": str(made[0].decision.number)}

    answer = page.post("/findings/undo", data=hidden(page.get("/findings").text, "/findings/undo") | forged)

    assert "0 findings reopened." in answer.text
    with Workspace(ledger=ledger_of(page)) as workspace:
        assert [d.action.value for d in workspace.history(name)] == ["reject"]


def test_a_node_is_shown_with_what_sources_say_and_what_was_found(read: TestClient) -> None:
    shown = text_of(read, "/nodes/Disease/DOID:14291")

    assert "LEOPARD syndrome DOID:14291" in shown
    # The name that the graph has, and beside it the one of the source, with release and record.
    assert "Noonan syndrome with multiple lentigines contradicts do 2026 DOID:14291" in shown
    assert "exists yes current; Noonan syndrome with multiple lentigines supports do 2026 DOID:14291" in shown
    merged = read.get("/nodes/Protein/B4DFC2").text
    assert f'href="/findings/{named(read, "B4DFC2")}"' in merged
    assert 'in its place: <a href="/nodes/Protein/P21802">P21802</a>' in merged
    assert 'href="/findings?node=Protein+B4DFC2"' in merged.replace("%20", "+")
    assert 'href="/nodes/Protein/B4DFC2"' in read.get(f"/findings/{named(read, 'B4DFC2')}").text


def test_a_node_that_the_graph_lacks_has_a_page(read: TestClient) -> None:
    shown = text_of(read, "/nodes/Disease/DOID:0014667")
    unknown = text_of(read, "/nodes/Protein/a/b?c")

    assert "The graph has no such node. Properties" in text_of(read, "/nodes/Gene/NOBODY")
    assert "The graph has no such node." not in shown
    assert "The graph has no such node." in unknown
    assert "a/b" in unknown
    assert "Findings of the latest audit" in unknown


def test_a_graph_that_is_away_is_not_one_without_the_node(tmp_path: Path) -> None:
    with served(tmp_path, store=str(tmp_path / "gone.lbdb")) as client:
        shown = text_of(client, "/nodes/Protein/B4DFC2")

    assert "The graph could not be looked at." in shown
    assert "The graph has no such node" not in shown
    assert "exists not known merged; now P21802 contradicts uniprot" in shown
    assert "Accession merged into another" in shown


def test_neighbours_come_in_pages(read: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nodes, "_PAGE", 3)
    monkeypatch.setattr(nodes, "_EACH", 1)
    first = read.get("/nodes/Protein/P15056").text
    way = "/nodes/Protein/P15056?relation=ASSOCIATED_WITH&amp;other=Disease&amp;direction=out"
    assert f'href="{way}"' in first

    address, seen = unescape(way), list[str]()
    while address:
        page = read.get(address).text
        seen += re.findall(r'<li><a href="/nodes/Disease/([^"]+)"', page)
        found = re.search(r'<a href="([^"]+)" rel="next"', page)
        address = unescape(found[1]) if found else ""

    with Workspace(store=str(demo().store)) as workspace:
        pattern = workspace.schema.pattern("Protein", "ASSOCIATED_WITH", "Disease")
        ref = Ref(label="Protein", id="P15056")
        assert [unquote(name) for name in seen] == workspace.graph.neighbours(ref, pattern, "out", 100)
    assert len(seen) > 6


@pytest.mark.parametrize(
    ("words", "place"),
    [("TP53", "Gene/TP53"), ("Protein NOBODY1", "Protein/NOBODY1"), ("LEOPARD syndrome", "Disease/DOID%3A14291")],
)
def test_a_node_is_found_by_id_and_by_name(read: TestClient, words: str, place: str) -> None:
    found = read.get("/nodes", params={"q": words})

    assert f"/nodes/{place}" in (str(found.url), *re.findall(r'href="([^"]+)"', found.text)) or found.url.raw_path == (
        f"/nodes/{place}".encode()
    )
    assert "no node of that id or name" in text_of(read, "/nodes", q="no such thing")


def test_every_part_of_a_hostile_node_is_shown_as_text(read: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = HostileTexts(41)
    evidence = Evidence(
        source=texts.text(),
        release=texts.text(),
        record=texts.text(),
        url="javascript:window.pwned=1",
        retrieved_at=datetime(2026, 1, 1, tzinfo=UTC),
        stance=Stance.CONTRADICTS,
        world=World.CLOSED,
        tier=Tier.OWNER,
        value=texts.text(),
        replacements=(texts.id(), "../../sign-out"),
    )
    said = {name: ((evidence,), (Gap(texts.text(), Reason.NOT_COVERED),)) for name in ("", "name", texts.text())}
    monkeypatch.setattr(nodes, "_stated", lambda *_: said)

    shown = read.get(f"/nodes/Protein/{quote(texts.id(), safe='')}").text

    assert shown.count(MARK) > 12
    assert PageReader(shown).wrong == []


def test_a_filter_is_saved_under_a_name_for_who_saved_it(page: TestClient) -> None:
    form = {"back": "reason=id_merged&node=Protein+B4DFC2", "action": "save", "name": "<b>merged</b> & mine"}
    kept = page.post("/findings/filters", data=form)
    assert str(kept.url).endswith("/findings?reason=id_merged&node=Protein+B4DFC2")

    pattern = r'<li class="saved"><a href="([^"]+)" aria-current="true">([^<]*)</a>'
    [(address, name)] = re.findall(pattern, page.get(kept.url).text)
    assert (unescape(address), unescape(name)) == (kept.url.raw_path.decode(), form["name"])
    assert "1 finding of this filter" in text_of(page, unescape(address))

    app: Any = page.app
    users = app.state.service.users
    ada, eve = (users.add(name, "viewer", by="t")[0] for name in ("ada", "eve"))
    as_ada, as_eve = ({"authorization": f"Bearer {token}"} for token in (ada, eve))
    page.post("/findings/filters", data=form | {"name": "hers"}, headers=as_ada)
    assert ">hers<" in page.get("/findings", headers=as_ada).text
    assert "Saved filters" not in page.get("/findings", headers=as_eve).text
    # What another saved cannot be removed.
    page.post("/findings/filters", data=form | {"name": "hers", "action": "remove"}, headers=as_eve)
    assert ">hers<" in page.get("/findings", headers=as_ada).text
    page.post("/findings/filters", data=form | {"name": "hers", "action": "remove"}, headers=as_ada)
    assert ">hers<" not in page.get("/findings", headers=as_ada).text


def test_a_saved_filter_that_cannot_be_read_is_no_filter_at_all(page: TestClient) -> None:
    app: Any = page.app
    table = SavedFilterTable(app.state.service.ledger.database)
    owner = str(page.get("/").text.partition('class="who"><span>')[2].partition("<")[0])
    table.save(SavedFilter(by=owner, name="old", filter={"types": ["was_one"]}, at=datetime.now(UTC)))
    assert "old not known any more" in text_of(page, "/findings")

    for number in range(MOST - 1):
        table.save(SavedFilter(by=owner, name=f"n{number}", filter={}, at=datetime.now(UTC)))
    table.save(SavedFilter(by=owner, name="old", filter={}, at=datetime.now(UTC)))
    more = page.post("/findings/filters", data={"name": "more", "action": "save"}, headers={"accept": "text/html"})
    assert "remove one first" in more.text


@pytest.mark.parametrize(
    ("address", "status"),
    [("/no/such", 404), ("/runs/20260101-000000-0000", 404), ("/nodes/Nothing/x", 404), ("/findings?node=x", 400)],
)
def test_an_error_keeps_the_way_to_the_other_pages(read: TestClient, address: str, status: int) -> None:
    answer = read.get(address, headers={"accept": "text/html"})
    nobody = read.get(address, headers={"accept": "text/html", "authorization": ""})

    assert answer.status_code == status
    assert '<nav aria-label="Pages">' in answer.text
    assert '<nav aria-label="Pages">' not in nobody.text


def test_a_run_shows_its_findings_by_reason_and_source_and_over_the_audits_before(read: TestClient) -> None:
    shown = text_of(read, "/runs/" + (name := latest(read)))
    page = read.get(f"/runs/{name}").text

    counts = {reason: int(count) for reason, count in re.findall(r"(Accession \w+ \w+ \w+) (\d+) ", shown)}
    listed = f"/findings?reason=id_merged&amp;run={name}"
    assert listed in page
    assert f"{counts['Accession merged into another']} finding" in text_of(read, unescape(listed))
    assert "over the last 2 audits of the same" in shown
    assert re.search(r"Findings by source .* uniprot \d+ \d+ % ±0", shown)
    assert re.search(r'<svg class="bar" role="img" aria-label="\d+ refuted, [^"]*supported">', page)
    assert re.search(r'aria-label="from (\d+) to \1">', page)


def latest(client: TestClient) -> str:
    with Workspace(ledger=ledger_of(client)) as workspace:
        return workspace.run("latest").id
