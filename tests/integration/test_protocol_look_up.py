"""Data sets looked up by accession at real servers on loopback: found, missing, and not looked at are three things."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from kgcheck.errors import InputFormat
from kgcheck.protocols.protocol import StudyDataSet
from kgcheck.protocols.search.look_up import DataSetRecords, look_up
from kgcheck.providers.http import Http
from kgcheck.settings import Settings
from tests.support import loopback
from tests.support.loopback import Loopback, answers, busy, cut_off, page, truncated
from tests.support.study_services import (
    StudyServices,
    biostudy,
    gds_summary,
    pride_project,
    project_summary,
    run_summary,
)

DAY = "2026-11-22"
EVERY = ("GSE5", "PRJNA7", "SRP900001", "E-MTAB-9", "PXD900001")


@pytest.fixture
def services() -> Iterator[StudyServices]:
    with Loopback() as server:
        made = StudyServices(server)
        made.summaries["gds"]["200000005"] = gds_summary(5)
        made.summaries["bioproject"]["7"] = project_summary(7)
        made.summaries["sra"] = {str(n): run_summary(n, "SRP900001", f"SRS{n % 2}") for n in (11, 12, 13)}
        made.studies["E-MTAB-9"] = biostudy("E-MTAB-9")
        made.statuses["PXD900001"] = "PUBLIC"
        made.projects["PXD900001"] = pride_project("PXD900001")
        yield made


@pytest.fixture
def http(services: StudyServices, tmp_path: Path) -> Iterator[Callable[..., Http]]:
    opened: list[Http] = []

    def make(**more: Any) -> Http:
        limits = loopback.limits() | {"http_attempts": 1, "http_pause_s": 0, "cache_dir": tmp_path / "cache"}
        opened.append(Http(Settings(**(limits | services.settings() | more)), sleep=lambda seconds: None))
        return opened[-1]

    yield make
    for one in opened:
        one.close()


def states(found: tuple[StudyDataSet, ...]) -> dict[str, tuple[str, str]]:
    return {d.id: (d.state, d.remark) for d in found}


def test_every_repository_is_read(services: StudyServices, http: Callable[..., Http]) -> None:
    found = look_up((*EVERY, "GSE5"), http(), DAY)

    assert [d.id for d in found] == list(EVERY)
    assert {d.state for d in found} == {"found"}
    assert [d.source for d in found] == ["GEO", "BioProject", "SRA", "BioStudies", "PRIDE"]
    assert [d.species for d in found] == [("Homo sapiens",)] * 4 + [("Homo sapiens (human)",)]
    # Three experiments of two samples.
    assert [d.samples for d in found] == [24, None, 2, 12, None]
    assert [d.assay for d in found][2:] == ["RNA-Seq", "RNA-seq of coding RNA", "Shotgun proteomics"]
    assert all(d.at and d.url and d.title for d in found)


def test_missing_private_and_withdrawn_are_told_apart(services: StudyServices, http: Callable[..., Http]) -> None:
    release = "is currently private and is scheduled to be released on Aug 28, 2028."
    services.pages = {
        "GSE91": f'Accession "GSE91" {release}',
        "GSE92": 'Accession "GSE92" was deleted by the GEO staff on Jun 18, 2007.',
        "GSE93": 'Accession "GSE93" is not yet approved by GEO curators.',
        "GSE94": "^SERIES = GSE94\n!Series_title = Quite new\n",
    }
    services.statuses |= {"PXD900002": "PRIVATE"}
    ids = ("GSE91", "GSE92", "GSE93", "GSE94", "GSE95", "PXD900002", "PXD900003", "PRD900003", "PRJNA8", "SRP900002")

    assert states(look_up((*ids, "E-MTAB-8", "XYZ1"), http(), DAY)) == {
        "GSE91": ("found", "it exists and is not public until Aug 28, 2028"),
        "GSE92": ("missing", "it was withdrawn"),
        "GSE93": ("found", "it exists and is not public: it is not approved yet"),
        "GSE94": ("found", ""),
        "GSE95": ("missing", ""),
        "PXD900002": ("found", "it exists and is not public"),
        # ProteomeXchange has other members, which nobody asked.
        "PXD900003": ("not_looked", "not at PRIDE, and others were not asked"),
        "PRD900003": ("missing", ""),
        "PRJNA8": ("missing", "no public record; one that is private looks the same from outside"),
        "SRP900002": ("missing", "no public record; one that is private looks the same from outside"),
        "E-MTAB-8": ("missing", "no public record; one that is private looks the same from outside"),
        "XYZ1": ("not_looked", "no repository of it is known"),
    }


@pytest.mark.parametrize(
    "fault",
    [
        busy(),
        page(),
        page(404),
        truncated,
        cut_off,
        answers(500),
        answers(403),
        answers(200, {}),
        answers(200, b"null"),
    ],
    ids=range(9),
)
def test_could_not_look_is_never_missing(
    services: StudyServices, http: Callable[..., Http], fault: loopback.Fault
) -> None:
    services.server.always = fault

    assert {d.state for d in look_up((*EVERY, "GSE95"), http(), DAY)} == {"not_looked"}


WRONG = {
    "another series": ("gds", "200000005", gds_summary(5, accession="GSE6")),
    "another uid": ("gds", "200000005", gds_summary(5, uid="6")),
    "no accession": ("gds", "200000005", {"uid": "200000005"}),
    "a bomb": (
        "sra",
        "11",
        run_summary(11, "SRP900001", "S") | {"expxml": '<!DOCTYPE a [<!ENTITY b "c">]><Study acc="SRP900001"/>'},
    ),
    "broken XML": ("sra", "11", run_summary(11, "SRP900001", "S") | {"expxml": "<Study"}),
    "another study": ("sra", "11", run_summary(11, "SRP900009", "S")),
    "another project": ("bioproject", "7", project_summary(7, project_acc="PRJNA9")),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_record_is_neither_used_nor_kept(services: StudyServices, http: Callable[..., Http], name: str) -> None:
    database, uid, record = WRONG[name]
    right = services.summaries[database][uid]
    services.finds = {"sra": ["11", "12", "13"], "bioproject": ["7"]}
    services.summaries[database][uid] = record
    accession = {"gds": "GSE5", "sra": "SRP900001", "bioproject": "PRJNA7"}[database]
    assert look_up([accession], http(), DAY)[0].state == "not_looked"

    services.summaries[database][uid] = right
    assert look_up([accession], http(), DAY)[0].state == "found"


def test_one_odd_record_does_not_hide_the_others(services: StudyServices, http: Callable[..., Http]) -> None:
    services.summaries["gds"]["200000006"] = gds_summary(6, accession="GSE7")

    assert [d.state for d in look_up(("GSE5", "GSE6"), http(), DAY)] == ["found", "not_looked"]


def test_records_are_kept_for_those_who_are_offline(
    services: StudyServices, http: Callable[..., Http], tmp_path: Path
) -> None:
    records = DataSetRecords(tmp_path / "kept.jsonl")
    records.keep(look_up((*EVERY, "GSE95"), http(), DAY))
    again = DataSetRecords(tmp_path / "kept.jsonl")
    before = len(services.server.calls)

    assert [d.state for d in look_up((*EVERY, "GSE95", "GSE96"), None, "", again)] == ["found"] * 5 + [
        "missing",
        "not_looked",
    ]
    # Nor is one who is offline asked under another day.
    offline = look_up(("GSE5", "GSE96"), http(offline=True), "2026-12-01", again)
    assert [(d.state, d.title) for d in offline] == [("found", "Grey fever in blood"), ("not_looked", "")]
    assert len(services.server.calls) == before
    # What is not looked at does not take the place of what is known.
    again.keep(offline)
    assert len((tmp_path / "kept.jsonl").read_text().splitlines()) == 6


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "kept.jsonl").write_text('{"id": "GSE5", "state": "perhaps"}\n')

    with pytest.raises(InputFormat, match=r"line 1: no record of a data set"):
        DataSetRecords(tmp_path / "kept.jsonl")


def test_a_key_is_sent_and_nowhere_kept(services: StudyServices, http: Callable[..., Http], tmp_path: Path) -> None:
    look_up(["GSE5", "GSE95"], http(pubmed_key=SecretStr("hush-4711")), DAY)

    assert services.calls("esummary")[0].form["api_key"] == "hush-4711"
    assert not any("hush" in json.dumps(c.query) + c.path for c in services.server.calls)
    assert all(b"hush-4711" not in path.read_bytes() for path in (tmp_path / "cache").rglob("*") if path.is_file())
