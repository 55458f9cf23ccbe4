"""Papers gathered from four services over real HTTP: pages, licences, links, faults, and going on after a cut."""

import gzip
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgcheck.errors import KgcheckError, SourceAnswer, SourceBusy, SourceError, SourceOffline, SourceUnanswerable
from kgcheck.literature.corpus import QUARANTINE, Corpus
from kgcheck.literature.gather import Gathered, Gathering, SourceName, gather
from kgcheck.literature.papers import WholePaper
from kgcheck.profile.corpus_files import corpus_recipe
from kgcheck.providers.http import Http
from kgcheck.providers.openalex import work_record
from kgcheck.providers.paper_service import PaperRecord
from kgcheck.providers.semantic_scholar import SemanticScholar
from tests.support import loopback
from tests.support.audits import kgcheck
from tests.support.loopback import Loopback, Reply, answers, busy, page
from tests.support.paper_services import (
    AlexServer,
    EuropeServer,
    EutilsServer,
    ScholarServer,
    alex_work,
    europe_record,
    open_paper,
    pubmed_record,
    recorded,
    whole_paper,
)

DAY = "2026-11-22"


@pytest.fixture
def server() -> Iterator[Loopback]:
    with Loopback() as running:
        yield running


@pytest.fixture
def http(server: Loopback, tmp_path: Path) -> Iterator[Callable[..., Http]]:
    urls = loopback.addresses(server.url, "europepmc", "pubmed", "semantic_scholar", "openalex")
    with loopback.clients(tmp_path / "cache", http_max_mb=2, **urls) as make:
        yield make


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Corpus]:
    with Corpus(tmp_path / "index", create=True) as corpus:
        yield corpus


def ids(corpus: Corpus) -> list[str]:
    return [row[0] for row in corpus.store.ids()]


def paper(corpus: Corpus, name: str) -> WholePaper:
    found = corpus.store.paper(name)
    assert found is not None
    return found


def get(source: SourceName, corpus: Corpus, http: Http, today: str = DAY, **more: Any) -> Gathered:
    return gather(Gathering(source, "kinase", **more), corpus, http, today)


# Europe PMC: documented forms


def test_europe_pmc_is_gathered_by_pages(server: Loopback, http: Callable[..., Http], index: Corpus) -> None:
    EuropeServer(server, [europe_record(n) for n in range(1, 6)])
    done = get("europepmc", index, http(contact="me@example.org"))

    assert (done.counts, done.total, done.day) == ({"new": 5}, 5, DAY)
    assert ids(index) == [f"pmid:{n}" for n in range(1, 6)]
    assert [c.query["cursorMark"] for c in server.calls] == ["*", "2", "4"]
    assert "me@example.org" in server.calls[0].headers["User-Agent"]
    found = paper(index, "pmid:1")
    assert (found.ids, found.year, found.journal) == (("pmid:1", "doi:10.5555/e1"), 2014, "J")
    assert found.sections[0].paragraphs[0].text == "Results Kinase 1 binds kinase B."


def test_whole_papers_come_only_under_an_open_licence(
    server: Loopback, http: Callable[..., Http], index: Corpus
) -> None:
    closed = open_paper(2) | {"license": "publisher specific"}
    unnamed = open_paper(3) | {"license": ""}
    europe = EuropeServer(server, [open_paper(1), closed, unnamed, open_paper(4)])
    europe.texts = {f"PMC{n}": whole_paper(n) for n in (1, 2, 3)}
    get("europepmc", index, http(), full_text=True)

    assert [c.path for c in server.calls if "fullText" in c.path] == ["/PMC1/fullTextXML", "/PMC4/fullTextXML"]
    assert {s.kind for s in paper(index, "pmid:1").sections} > {"methods", "results"}
    assert paper(index, "pmid:1").licence == "cc by"
    # The fourth has none, and is here by its abstract.
    assert all({s.kind for s in paper(index, f"pmid:{n}").sections} == {"abstract"} for n in (2, 3, 4))


def test_an_abstract_gathered_before_is_completed(server: Loopback, http: Callable[..., Http], index: Corpus) -> None:
    europe = EuropeServer(server, [open_paper(1)])
    europe.texts = {"PMC1": whole_paper(1)}
    get("europepmc", index, http())
    done = get("europepmc", index, http(), full_text=True)

    assert done.counts == {"completed": 1}
    assert ids(index) == ["pmid:1"]
    assert index.store.paper("pmc:PMC1") == paper(index, "doi:10.5555/e1")


def test_another_paper_than_the_one_asked_for_is_not_taken(
    server: Loopback, http: Callable[..., Http], index: Corpus
) -> None:
    EuropeServer(server, [open_paper(1)]).texts = {"PMC1": whole_paper(2)}

    with pytest.raises(SourceAnswer, match="another paper than PMC1"):
        get("europepmc", index, http(), full_text=True)
    assert ids(index) == []
    assert list(index.folder.rglob("*PMC1*")) == []


def test_links_of_europe_pmc(server: Loopback, http: Callable[..., Http], index: Corpus) -> None:
    europe = EuropeServer(server, [europe_record(1)])
    europe.links["1/references"] = [{"id": "77", "source": "MED"}, {"doi": "10.1234/Q"}, {"title": "a book"}]
    europe.links["1/citations"] = [{"id": "88", "source": "MED"}]
    get("europepmc", index, http(), references=True, citations=True)

    found = paper(index, "pmid:1")
    assert [(w.pmid, w.doi) for w in found.references] == [("77", ""), ("", "10.1234/q")]
    assert found.citations == ("pmid:88",)


def test_a_retracted_paper_is_marked(server: Loopback, http: Callable[..., Http], index: Corpus) -> None:
    EuropeServer(server, [europe_record(1, pubTypeList={"pubType": ["Retracted Publication"]})])
    get("europepmc", index, http())

    assert [row[2] for row in index.store.ids()] == [True]


def test_a_record_without_abstract_goes_to_the_quarantine(
    server: Loopback, http: Callable[..., Http], index: Corpus
) -> None:
    EuropeServer(server, [europe_record(1, abstractText="")])

    assert get("europepmc", index, http()).counts == {"no_abstract": 1}
    (line,) = (index.folder / "quarantine.jsonl").read_text().splitlines()
    assert json.loads(line)["place"] == "Europe PMC, MED/1"


_EMPTY = {"hitCount": 1, "resultList": {"result": []}}
_META = {"count": 1, "page": 1, "per_page": 100}
_PAPER = {"paperId": "0" * 40}
WRONG_PAGES: list[tuple[SourceName, object]] = [
    # An error with the status of success, another question or mark, one twice, more than there are, and other forms.
    ("europepmc", {"errCode": 500, "errMsg": "down"}),
    *(
        ("europepmc", {"hitCount": 1, "request": said, "resultList": {"result": [europe_record(1)]}})
        for said in ({"queryString": "x"}, {"cursorMark": "x"})
    ),
    ("europepmc", {"hitCount": 2, "resultList": {"result": [europe_record(1), europe_record(1)]}}),
    ("europepmc", {"hitCount": 0, "resultList": {"result": [europe_record(1)]}}),
    ("europepmc", {"hitCount": 1, "resultList": {"result": [europe_record(1, id="")]}}),
    ("europepmc", {"hitCount": 1}),
    ("europepmc", _EMPTY | {"hitCount": "1"}),
    ("pubmed", {"esearchresult": {"ERROR": "Search Backend failed"}}),
    ("pubmed", {"error": "API rate limit exceeded"}),
    *(
        ("pubmed", {"esearchresult": {"count": count, "retstart": start, "idlist": uids}})
        for count, start, uids in (("3", "200", ["1"]), ("3", "0", []), ("2", "0", ["1", "1"]), ("1", "0", ["1 OR 2"]))
    ),
    ("semantic_scholar", {"total": 1, "data": [{"paperId": "short"}]}),
    ("semantic_scholar", {"total": 0, "data": [_PAPER]}),
    ("semantic_scholar", {"total": 5, "token": "t", "data": []}),
    ("semantic_scholar", {"total": 2, "data": [_PAPER, _PAPER]}),
    ("semantic_scholar", {"data": []}),
    ("openalex", {"meta": _META | {"page": 2}, "results": [alex_work(1)]}),
    ("openalex", {"meta": _META | {"per_page": 25}, "results": [alex_work(1)]}),
    ("openalex", {"meta": _META | {"count": 5}, "results": []}),
    ("openalex", {"meta": _META | {"count": 2}, "results": [alex_work(1), alex_work(1)]}),
    ("openalex", {"meta": _META, "results": [alex_work(1, id="https://evil.example/W1")]}),
    ("openalex", {"meta": _META, "results": [alex_work(1, abstract_inverted_index={"a": [-1]})]}),
]


@pytest.mark.parametrize(("source", "body"), WRONG_PAGES, ids=str)
def test_a_wrong_page_is_neither_used_nor_kept(
    server: Loopback, http: Callable[..., Http], index: Corpus, source: SourceName, body: object
) -> None:
    EuropeServer(server, [europe_record(1)])
    server.always = answers(200, body)
    with pytest.raises(SourceError):
        get(source, index, http())
    assert ids(index) == []

    server.always = None
    if source == "europepmc":
        assert get(source, index, http()).counts == {"new": 1}


# Going on, the day, and what was kept


def test_what_was_cut_off_goes_on_without_asking_again(
    server: Loopback, http: Callable[..., Http], index: Corpus
) -> None:
    europe = EuropeServer(server, [europe_record(n) for n in range(1, 6)])
    whole = europe._search

    def down_after_two(seen: Any) -> Reply:
        return whole(seen) if seen.query["cursorMark"] != "4" else Reply(503, {"error": "down"})

    europe._search = down_after_two  # type: ignore[method-assign]
    server._routes[0] = (*server._routes[0][:2], down_after_two)
    with pytest.raises(SourceBusy):
        get("europepmc", index, http())
    assert len(ids(index)) == 4

    server._routes[0] = (*server._routes[0][:2], whole)
    before = len(server.calls)
    # A day later it is still that gathering.
    done = get("europepmc", index, http(), today="2026-11-23")
    assert [c.query["cursorMark"] for c in server.calls[before:]] == ["4"]
    assert done.day == DAY
    assert len(ids(index)) == 5


def test_answers_are_kept_by_day(server: Loopback, http: Callable[..., Http], index: Corpus) -> None:
    EuropeServer(server, [europe_record(1)])
    get("europepmc", index, http())
    get("europepmc", index, http())
    assert len(server.calls) == 1

    get("europepmc", index, http(), today="2026-11-23")
    assert len(server.calls) == 2
    assert get("europepmc", index, http(offline=True), today="2026-11-23").total == 1
    with pytest.raises(SourceOffline):
        get("europepmc", index, http(offline=True), today="2026-11-24")


SOURCES: tuple[SourceName, ...] = ("europepmc", "pubmed", "semantic_scholar", "openalex")


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize(
    "fault",
    [
        page(),
        answers(500),
        answers(200, []),
        answers(200, {}),
        answers(200, b"null"),
    ],
    ids=range(5),
)
def test_could_not_look_is_never_not_there(
    server: Loopback, http: Callable[..., Http], index: Corpus, source: SourceName, fault: loopback.Fault
) -> None:
    server.always = fault
    with pytest.raises(SourceError) as raised:
        get(source, index, http())

    assert raised.value.exit_code == 3
    assert ids(index) == []


# PubMed: EFetch as it was recorded, ESearch and ELink as documented


def test_pubmed_is_gathered_in_lots(server: Loopback, http: Callable[..., Http], index: Corpus) -> None:
    EutilsServer(server, {str(n): pubmed_record(n) for n in range(1, 252)})
    done = get("pubmed", index, http(contact="me@example.org"), references=True, limit=251)

    assert (done.counts, done.total) == ({"new": 251}, 251)
    searches = [c.form for c in server.calls if c.path == "/esearch.fcgi"]
    assert [(s["retstart"], s["retmax"]) for s in searches] == [("0", "200"), ("200", "51")]
    assert (searches[0]["tool"], searches[0]["email"]) == ("kgcheck", "me@example.org")
    assert [w.pmid for w in paper(index, "doi:10.5555/p7").references] == ["77"]


def test_the_recorded_record_of_pubmed(
    server: Loopback, http: Callable[..., Http], index: Corpus, shared_data: Path
) -> None:
    body = (shared_data / "api/biomcp/pubmed_efetch_citation_22663011.xml").read_text()
    record = body[body.index("<PubmedArticle>") : body.index("</PubmedArticleSet>")]
    EutilsServer(server, {"22663011": record})
    get("pubmed", index, http(), references=True, citations=True)

    found = paper(index, "pmid:22663011")
    assert found.year == 2012
    assert found.sections[0].paragraphs[0].text
    assert found.citations == ("pmid:901", "pmid:902")


def test_a_paper_that_pubmed_retracts(server: Loopback, http: Callable[..., Http], index: Corpus) -> None:
    link = '<CommentsCorrectionsList><CommentsCorrections RefType="RetractionIn"/></CommentsCorrectionsList>'
    EutilsServer(server, {"1": pubmed_record(1, link)})
    get("pubmed", index, http())

    assert [row[2] for row in index.store.ids()] == [True]


def test_a_stranger_among_the_records_of_pubmed(server: Loopback, http: Callable[..., Http], index: Corpus) -> None:
    EutilsServer(server, {"1": pubmed_record(2)})
    with pytest.raises(SourceAnswer, match="the record 2"):
        get("pubmed", index, http())
    assert ids(index) == []


@pytest.mark.parametrize("source", ["pubmed", "openalex"])
def test_more_than_a_service_shows_of_one_search(
    server: Loopback, http: Callable[..., Http], index: Corpus, monkeypatch: pytest.MonkeyPatch, source: SourceName
) -> None:
    """What it shows is taken, and that there is more is an error and not the end."""
    EutilsServer(server, {str(n): pubmed_record(n) for n in range(1, 251)})
    AlexServer(server, [alex_work(n) for n in range(1, 251)])
    module = "ncbi" if source == "pubmed" else source
    monkeypatch.setattr(f"kgcheck.providers.{module}.MOST", 200)

    assert get(source, index, http(), limit=200).counts == {"new": 200}
    with pytest.raises(SourceUnanswerable, match="shows 200"):
        get(source, index, http(), limit=250)
    assert len(ids(index)) == 200


# Semantic Scholar: recorded forms


def test_the_recorded_search_of_semantic_scholar(
    server: Loopback, http: Callable[..., Http], index: Corpus, shared_data: Path
) -> None:
    (first,) = recorded(shared_data / "api/semantic_scholar", "test_search_paper_bulk_retrieval")
    ScholarServer(server, [first, {"total": first["total"], "token": None, "data": []}])
    done = get("semantic_scholar", index, http(), limit=5_000)

    # Only titles were asked for when it was recorded.
    assert done.total == 2674
    assert done.counts == {"no_abstract": len(first["data"])}
    assert server.calls[1].query["token"] == first["token"]


def test_the_recorded_papers_of_semantic_scholar(
    server: Loopback, http: Callable[..., Http], index: Corpus, shared_data: Path
) -> None:
    ((nothing, *papers),) = recorded(shared_data / "api/semantic_scholar", "test_get_papers_not_found_warning")
    assert nothing is None
    ScholarServer(server, [{"total": len(papers), "token": None, "data": papers}])
    get("semantic_scholar", index, http())

    found = paper(index, "doi:10.2139/ssrn.288970")
    assert (found.ids, found.year) == (("doi:10.2139/ssrn.288970", "s2:470667"), 2001)


def test_the_recorded_links_of_semantic_scholar(server: Loopback, http: Callable[..., Http], shared_data: Path) -> None:
    folder = shared_data / "api/semantic_scholar"
    scholar = ScholarServer(server, [])
    scholar.linked = {
        "references": recorded(folder, "test_get_paper_references"),
        "citations": recorded(folder, "test_get_paper_citations"),
    }
    asked = http()
    service, record = SemanticScholar(asked, asked.settings, DAY), PaperRecord("0" * 40, ("s2:1",))

    cited, citing = service.references(record), service.citations(record)
    ends = [e["citedPaper"] for b in scholar.linked["references"] for e in b["data"]]
    assert cited == tuple(dict.fromkeys(f"s2:{e['paperId']}" for e in ends if e["paperId"]))
    assert len(citing) > 1_000


def test_the_key_of_semantic_scholar_is_sent_and_nowhere_kept(
    server: Loopback, http: Callable[..., Http], index: Corpus, tmp_path: Path
) -> None:
    ScholarServer(server, [{"total": 0, "token": None, "data": []}])
    get("semantic_scholar", index, http(semantic_scholar_key="a-secret-key-17"))

    assert server.calls[0].headers["x-api-key"] == "a-secret-key-17"
    kept = [p for p in tmp_path.rglob("*") if p.is_file() and b"a-secret-key-17" in p.read_bytes()]
    assert kept == []


def test_links_that_are_promised_and_never_come(server: Loopback, http: Callable[..., Http]) -> None:
    scholar = ScholarServer(server, [])
    scholar.linked = {"references": [{"offset": 0, "next": 1_000, "data": []}]}
    client = http()
    service = SemanticScholar(client, client.settings, DAY)

    with pytest.raises(SourceAnswer, match="promised more links from 0 on"):
        service.references(PaperRecord("0" * 40, ("s2:1",)))


# OpenAlex: documented forms


def test_openalex_is_gathered_by_pages(server: Loopback, http: Callable[..., Http], index: Corpus) -> None:
    AlexServer(server, [alex_work(n) for n in range(1, 151)])
    done = get("openalex", index, http(contact="me@example.org"), references=True)

    assert (done.counts, done.total) == ({"new": 150}, 150)
    assert [(c.query["page"], c.query["mailto"]) for c in server.calls] == [
        ("1", "me@example.org"),
        ("2", "me@example.org"),
    ]
    found = paper(index, "openalex:W7")
    assert found.ids == ("pmid:7", "doi:10.5555/a7", "openalex:W7")
    assert found.sections[0].paragraphs[0].text == "Kinase 7 binds Kinase B."
    assert [w.text for w in found.references] == ["openalex:W9"]


def test_openalex_knows_what_is_retracted_and_what_cites(
    server: Loopback, http: Callable[..., Http], index: Corpus
) -> None:
    AlexServer(server, [alex_work(1, is_retracted=True)])
    get("openalex", index, http(), citations=True)

    assert paper(index, "pmid:1").citations == ("pmid:901",)
    assert [row[2] for row in index.store.ids()] == [True]


def test_the_snapshot_of_openalex_gives_what_its_api_gives(
    server: Loopback, http: Callable[..., Http], index: Corpus, tmp_path: Path
) -> None:
    works = [alex_work(1), alex_work(2, is_retracted=True), alex_work(3, abstract_inverted_index=None)]
    lines = [*map(json.dumps, works), json.dumps(alex_work(4, id="https://evil.example/W4")), "[1]", '{"id": ']
    part = tmp_path / "part_000.gz"
    part.write_bytes(gzip.compress("\n".join(lines).encode()))
    AlexServer(server, works)
    get("openalex", index, http(), references=True)

    with Corpus(tmp_path / "bulk", create=True) as bulk:
        added = bulk.add([part], corpus_recipe("openalex"))
        assert added.counts == {"new": 2, "no_abstract": 1, "malformed": 3}
        assert list(bulk.store.ids()) == list(index.store.ids())
        names = ids(bulk)
        assert [paper(bulk, name) for name in names] == [paper(index, name) for name in names]
        refused = [json.loads(line)["place"] for line in (bulk.folder / QUARANTINE).read_text().splitlines()]
    assert [place.rpartition(", ")[2] for place in refused] == [f"line {n}" for n in (3, 4, 5, 6)]
    assert paper(index, "openalex:W1").sections[0].paragraphs[0].text == "Kinase 1 binds Kinase B."


@given(st.lists(st.sampled_from(["kinase", "binds", "a", "B.", "naïve"]), min_size=1, max_size=30))
def test_an_abstract_is_put_together_again(words: list[str]) -> None:
    places: dict[str, list[int]] = {}
    for number, word in enumerate(words):
        places.setdefault(word, []).append(number)

    assert work_record(alex_work(1, abstract_inverted_index=places)).abstract == " ".join(words)


@pytest.mark.parametrize("source", ["europepmc", "semantic_scholar", "openalex"])
def test_a_question_that_is_not_taken(
    server: Loopback, http: Callable[..., Http], index: Corpus, source: SourceName
) -> None:
    server.always = answers(400, {"error": "unbalanced quotes"})
    with pytest.raises(SourceUnanswerable):
        get(source, index, http())


# The command


def test_the_command_gathers_and_searches(server: Loopback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    europe = EuropeServer(server, [open_paper(1), europe_record(2)])
    europe.texts = {"PMC1": whole_paper(1)}
    monkeypatch.setenv("KGCHECK_EUROPEPMC_URL", server.url)
    monkeypatch.setenv("KGCHECK_EUROPEPMC_CALLS_PER_S", "1000")
    monkeypatch.setenv("KGCHECK_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("KGCHECK_HTTP_WAIT_S", "0")
    command = ("corpus", "gather", "kinase", "--full-text", "--index", tmp_path / "index", "--model", "none")
    done = kgcheck(*command)

    assert done.code == 0, done.err
    assert "2 new; europepmc has 2" in done.err
    found = json.loads(
        kgcheck(
            "search", "stained cells", "--index", tmp_path / "index", "--section", "methods", "--format", "json"
        ).out
    )
    assert found[0]["paper"] == "pmid:1"

    server.always = busy()
    again = kgcheck(*command[:2], "another", *command[3:])
    assert again.code == 3
    assert "Europe PMC answered 429" in again.err
    assert kgcheck("search", "kinase", "--index", tmp_path / "index").code == 0


@pytest.mark.slow
def test_a_killed_gathering_goes_on(server: Loopback, tmp_path: Path) -> None:
    """Killed while a page is on its way: what came is there, and only what is missing is asked for."""
    EuropeServer(server, [europe_record(n) for n in range(1, 8)])
    method, path, answer = server._routes[0]
    waits, reached = threading.Event(), threading.Event()

    def waiting(seen: Any) -> Reply:
        if seen.query["cursorMark"] == "4" and not waits.is_set():
            reached.set()
            waits.wait(60)
        return answer(seen)

    server._routes[0] = (method, path, waiting)
    variables = {"EUROPEPMC_URL": server.url, "EUROPEPMC_CALLS_PER_S": "1000", "CACHE_DIR": str(tmp_path / "cache")}
    place = {**os.environ, **{f"KGCHECK_{name}": value for name, value in variables.items()}}
    index = str(tmp_path / "index")
    command = [sys.executable, "-m", "kgcheck", "corpus", "gather", "kinase", "--index", index, "--model", "none"]
    with subprocess.Popen(command, env=place, stderr=subprocess.DEVNULL) as process:
        assert reached.wait(60)
        process.kill()
    waits.set()
    before = len(server.calls)
    done = subprocess.run(command, env=place, check=True, capture_output=True, text=True)

    assert [c.query["cursorMark"] for c in server.calls[before:]] == ["4", "6"]
    assert "4 unchanged" in done.stderr
    listed = kgcheck("corpus", "list", "--ids", "--index", index, "--format", "json")
    assert [row["id"] for row in json.loads(listed.out)] == [f"pmid:{n}" for n in range(1, 8)]


def test_nothing_to_look_for(http: Callable[..., Http], index: Corpus) -> None:
    with pytest.raises(KgcheckError, match="nothing to look for"):
        gather(Gathering("europepmc", "  "), index, http(), DAY)
