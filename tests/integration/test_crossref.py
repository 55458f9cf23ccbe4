"""References looked up live: Crossref, PubMed and OpenAlex over real HTTP, recorded bodies, faults, staying offline."""

import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kgcheck.errors import SourceAnswer, SourceBusy, SourceError
from kgcheck.grounding.citations.live_works import LiveWorks
from kgcheck.grounding.citations.references import judge_reference
from kgcheck.literature.papers import CitedWork
from kgcheck.providers.crossref import Crossref, cited_in, work_of
from kgcheck.providers.http import Http
from tests.support import loopback
from tests.support.loopback import Fault, Loopback, answers, busy, cut_off, page, reset, truncated
from tests.support.paper_services import (
    AlexServer,
    CrossrefServer,
    EutilsServer,
    alex_work,
    crossref_work,
    pubmed_record,
)

DAY = "2026-11-22"
TITLE = "Kinase A binds kinase B in growing yeast cells"


@pytest.fixture
def server() -> Iterator[Loopback]:
    with Loopback() as running:
        yield running


@pytest.fixture
def http(server: Loopback, tmp_path: Path) -> Iterator[Callable[..., Http]]:
    urls = loopback.addresses(server.url, "crossref", "pubmed", "openalex")
    with loopback.clients(tmp_path / "cache", http_max_mb=2, **urls) as make:
        yield make


def reference(**more: Any) -> CitedWork:
    fields = {"key": "1", "title": TITLE, "year": 2012, "authors": ("Doe J",)} | more
    return CitedWork(text=f"Doe J. {fields['title']}. J 33: 588-602. {fields.get('doi', '')}", **fields)


def kinds(asked: Http, *references: CitedWork) -> list[list[str]]:
    found = LiveWorks(asked, asked.settings, DAY).find(references)
    return [[r.remark.value for r in judge_reference(*pair).remarks] for pair in zip(references, found, strict=True)]


def test_each_id_is_looked_up_at_its_owner(server: Loopback, http: Callable[..., Http]) -> None:
    other = crossref_work("10.5555/z", title=["Glaciers melt"], author=[{"family": "Roe"}], volume="1", page="7")
    crossref = CrossrefServer(server, [crossref_work("10.5555/A"), other])
    crossref.found = [crossref_work("10.5555/A")]
    crossref.agencies["10.5555/data"] = "datacite"
    EutilsServer(server, {"7": pubmed_record(7)})
    asked = http(contact="me@example.org")

    assert kinds(
        asked,
        reference(doi="10.5555/a"),
        reference(doi="10.5555/z"),
        reference(doi="10.5555/gone"),
        reference(doi="10.5555/gone", title="Invented findings on seven unheard organs", authors=("Roe R",)),
        reference(pmid="7", title="Kinase 7", authors=()),
        reference(pmid="8", title="", authors=()),
    ) == [
        ["reference_confirmed"],
        ["doi_differs"],
        ["doi_differs"],
        ["reference_not_found"],
        ["reference_confirmed"],
        ["reference_not_found"],
    ]
    to_crossref = [c for c in server.calls if c.path.startswith("/works")]
    assert all(c.query["mailto"] == "me@example.org" for c in to_crossref)
    assert [c.form["id"] for c in server.calls if c.path == "/efetch.fcgi"] == ["7,8"]


def test_a_doi_of_another_agency_is_looked_up_at_openalex(server: Loopback, http: Callable[..., Http]) -> None:
    crossref = CrossrefServer(server, [])
    crossref.agencies |= {"10.5555/data": "datacite", "10.5555/none": "datacite"}
    work = alex_work(3, doi="https://doi.org/10.5555/data", display_name=TITLE, publication_year=2012)
    with Loopback() as other:
        alex = AlexServer(other, [work])
        asked = http(openalex_url=other.url)
        wanted = [reference(doi="10.5555/data"), reference(doi="10.5555/none")]

        assert kinds(asked, *wanted) == [["reference_confirmed"], ["reference_unknown"]]
        assert alex.works == [work]


def test_a_service_that_is_down_says_nothing_of_a_reference(server: Loopback, http: Callable[..., Http]) -> None:
    server.always = answers(503)
    asked = http()
    (one,) = LiveWorks(asked, asked.settings, DAY).find([reference(doi="10.5555/a", pmid="7")])
    (remark,) = judge_reference(reference(doi="10.5555/a"), one).remarks

    assert (remark.remark.value, remark.unavailable, len(one.unavailable)) == ("reference_unknown", True, 3)
    assert kinds(http(offline=True), reference(doi="10.5555/b")) == [["reference_unknown"]]


def test_answers_are_kept_and_taken_offline(server: Loopback, http: Callable[..., Http]) -> None:
    CrossrefServer(server, [crossref_work("10.5555/a")])
    assert kinds(http(), reference(doi="10.5555/a")) == [["reference_confirmed"]]
    before = len(server.calls)

    assert kinds(http(offline=True), reference(doi="10.5555/a")) == [["reference_confirmed"]]
    assert len(server.calls) == before


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (busy(), SourceBusy),
        (page(), SourceAnswer),
        (page(404), SourceAnswer),
        (truncated, SourceAnswer),
        (cut_off, SourceError),
        (reset, SourceError),
        (answers(200, {"status": "ok", "message-type": "work", "message": {}}), SourceAnswer),
        (
            answers(200, {"status": "failed", "message-type": "work", "message": crossref_work("10.5555/a")}),
            SourceAnswer,
        ),
        (answers(200, {"status": "ok", "message-type": "work", "message": crossref_work("10.5555/b")}), SourceAnswer),
    ],
)
def test_what_is_no_answer_is_none(
    server: Loopback, http: Callable[..., Http], fault: Fault, error: type[SourceError]
) -> None:
    CrossrefServer(server, [crossref_work("10.5555/a")])
    server.always = fault
    asked = http()
    with pytest.raises(error):
        Crossref(asked, asked.settings, DAY).work("10.5555/a")
    server.always = None

    again = http()
    work = Crossref(again, again.settings, DAY).work("10.5555/a")
    assert work is not None
    assert (work.years, work.author, work.page) == ((2011, 2012), "Doe Jane", "588")


def test_recorded_works_are_read(shared_data: Path, server: Loopback, http: Callable[..., Http]) -> None:
    folder = shared_data / "api/crossref"
    first, missing, second = _bodies(folder / "test_works_mixed_ids_warn.yaml")
    several = [json.loads(b)["message"] for b in _bodies(folder / "test_works_with_many_ids.yaml")]
    works = [json.loads(first)["message"], json.loads(second)["message"], *several]
    found = CrossrefServer(server, works)
    found.found = json.loads(_bodies(folder / "test_works_field_queries.yaml")[0])["message"]["items"]
    asked = http()
    crossref = Crossref(asked, asked.settings, DAY)

    assert missing == b"Resource not found."
    read = [crossref.work(str(w["DOI"])) for w in works]
    assert all(
        r and r.titles and r.author and r.key == str(w["DOI"]).casefold() for r, w in zip(read, works, strict=True)
    )
    # One of them states no date at all.
    assert sorted(bool(r and r.years) for r in read).count(False) == 1
    assert crossref.agency(str(works[0]["DOI"])) == "crossref"
    assert crossref.work("10.1371/notarealdoi") is None
    assert len(crossref.search("ecology")) == 5
    assert sum(len(cited_in(w)) for w in works) > 100
    for item in json.loads(_bodies(folder / "test_cursor.yaml")[0])["message"]["items"]:
        assert work_of(item).ids


def _bodies(path: Path) -> list[bytes]:
    import yaml

    strings = [i["response"]["body"]["string"] for i in yaml.safe_load(path.read_text())["interactions"]]
    return [s.encode() if isinstance(s, str) else gzip.decompress(s) for s in strings]
