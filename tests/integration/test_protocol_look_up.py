"""Data sets looked up by accession at real servers on loopback: found, missing, and not looked at are three things."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from kgcheck.protocols.protocol import StudyDataSet
from kgcheck.protocols.search.look_up import look_up
from kgcheck.providers.http import Http
from tests.support import loopback
from tests.support.audits import kgcheck
from tests.support.loopback import Loopback, answers, busy, cut_off, page, truncated
from tests.support.protocols import protocol, step
from tests.support.study_services import StudyServices, gds_summary

DAY = "2026-11-22"


@pytest.fixture
def services() -> Iterator[StudyServices]:
    with Loopback() as server:
        made = StudyServices(server)
        made.summaries["gds"]["200000005"] = gds_summary(5)
        yield made


@pytest.fixture
def http(services: StudyServices, tmp_path: Path) -> Iterator[Callable[..., Http]]:
    with loopback.clients(tmp_path / "cache", http_attempts=1, http_pause_s=0, **services.settings()) as make:
        yield make


def states(found: tuple[StudyDataSet, ...]) -> dict[str, tuple[str, str]]:
    return {d.id: (d.state, d.remark) for d in found}


def test_a_series_is_read(services: StudyServices, http: Callable[..., Http], tmp_path: Path) -> None:
    (found,) = look_up(("GSE5", "GSE5"), http(pubmed_key=SecretStr("hush-4711")), DAY)

    assert (found.id, found.state, found.source) == ("GSE5", "found", "GEO")
    assert (found.species, found.samples) == (("Homo sapiens",), 24)
    assert found.at
    assert found.url
    assert found.title
    # A key is sent, and nowhere kept.
    assert services.calls("esummary")[0].form["api_key"] == "hush-4711"
    assert not any("hush" in json.dumps(c.query) + c.path for c in services.server.calls)
    assert all(b"hush-4711" not in path.read_bytes() for path in (tmp_path / "cache").rglob("*") if path.is_file())


def test_missing_private_and_withdrawn_are_told_apart(services: StudyServices, http: Callable[..., Http]) -> None:
    release = "is currently private and is scheduled to be released on Aug 28, 2028."
    services.pages = {
        "GSE91": f'Accession "GSE91" {release}',
        "GSE92": 'Accession "GSE92" was deleted by the GEO staff on Jun 18, 2007.',
        "GSE93": 'Accession "GSE93" is not yet approved by GEO curators.',
        "GSE94": "^SERIES = GSE94\n!Series_title = Quite new\n",
    }
    ids = ("GSE91", "GSE92", "GSE93", "GSE94", "GSE95", "PXD900002")

    assert states(look_up(ids, http(), DAY)) == {
        "GSE91": ("found", "it exists and is not public until Aug 28, 2028"),
        "GSE92": ("missing", "it was withdrawn"),
        "GSE93": ("found", "it exists and is not public: it is not approved yet"),
        "GSE94": ("found", ""),
        "GSE95": ("missing", ""),
        "PXD900002": ("not_looked", "its repository is not asked: only GEO is"),
    }


FAULTS = [
    busy(),
    page(),
    page(404),
    truncated,
    cut_off,
    answers(500),
    answers(403),
    answers(200, {}),
    answers(200, b"null"),
]


@pytest.mark.parametrize("fault", FAULTS, ids=range(len(FAULTS)))
def test_could_not_look_is_never_missing(
    services: StudyServices, http: Callable[..., Http], fault: loopback.Fault
) -> None:
    services.server.always = fault

    assert {d.state for d in look_up(("GSE5", "GSE95"), http(), DAY)} == {"not_looked"}


WRONG = {
    "another series": gds_summary(5, accession="GSE6"),
    "another uid": gds_summary(5, uid="6"),
    "no accession": {"uid": "200000005"},
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_record_is_neither_used_nor_kept(services: StudyServices, http: Callable[..., Http], name: str) -> None:
    known = services.summaries["gds"]
    known["200000005"], right = WRONG[name], known["200000005"]
    assert look_up(["GSE5"], http(), DAY)[0].state == "not_looked"

    known["200000005"] = right
    assert look_up(["GSE5"], http(), DAY)[0].state == "found"


def test_one_odd_record_does_not_hide_the_others(services: StudyServices, http: Callable[..., Http]) -> None:
    services.summaries["gds"]["200000006"] = gds_summary(6, accession="GSE7")

    assert [d.state for d in look_up(("GSE5", "GSE6"), http(), DAY)] == ["found", "not_looked"]


@pytest.mark.parametrize(
    ("accession", "remark", "code"),
    [("GSE5", "data_set_found", 0), ("GSE92", "data_set_gone", 1), ("GSE7", "data_set_not_looked", 3)],
)
def test_a_live_check_asks_the_repositories(
    services: StudyServices, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, accession: str, remark: str, code: int
) -> None:
    services.set_environment(monkeypatch, tmp_path)
    services.pages["GSE92"] = 'Accession "GSE92" was deleted by the GEO staff on Jun 18, 2007.'
    services.server.always = answers(503) if accession == "GSE7" else None
    there = StudyDataSet(id=accession, repository="A repository", state="found")
    study = protocol(step(1, data_sets=(accession,)), data_sets=(there,))
    (tmp_path / "protocol.json").write_text(study.model_dump_json(), encoding="utf-8")

    ended = kgcheck("protocol", "check", "protocol.json", "--live", "--format", "json", cwd=tmp_path)

    assert ended.code == code, ended.err
    (found,) = json.loads(ended.out)["protocols"]
    (about,) = [r for r in found["remarks"] if r.get("about") == accession]
    assert (about["remark"], "withdrawn" in about["note"]) == (remark, accession == "GSE92")
    assert [f["step"] for f in found["fallen"]] == (["S1.1"] if remark == "data_set_gone" else [])


def test_a_key_is_sent_and_nowhere_kept(services: StudyServices, http: Callable[..., Http], tmp_path: Path) -> None:
    look_up(["GSE5", "GSE95"], http(pubmed_key=SecretStr("hush-4711")), DAY)

    assert services.calls("esummary")[0].form["api_key"] == "hush-4711"
    assert not any("hush" in json.dumps(c.query) + c.path for c in services.server.calls)
    assert all(b"hush-4711" not in path.read_bytes() for path in (tmp_path / "cache").rglob("*") if path.is_file())
