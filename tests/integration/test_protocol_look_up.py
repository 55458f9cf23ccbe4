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
    with loopback.clients(tmp_path / "cache", http_attempts=1, http_pause_s=0, **services.settings()) as make:
        yield make


def states(found: tuple[StudyDataSet, ...]) -> dict[str, tuple[str, str]]:
    return {d.id: (d.state, d.remark) for d in found}


def test_a_count_without_end_is_none(services: StudyServices, http: Callable[..., Http]) -> None:
    samples = {"type": "Samples", "attributes": [{"name": "Sample count", "value": "9" * 5_000}]}
    services.studies["E-MTAB-9"] = biostudy("E-MTAB-9", section={"subsections": [samples]})

    (found,) = look_up(("E-MTAB-9",), http(), DAY)

    assert (found.state, found.samples) == ("found", None)


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
        "PRJNA8": ("not_shown", ""),
        "SRP900002": ("not_shown", ""),
        "E-MTAB-8": ("not_shown", ""),
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


def test_a_key_is_sent_and_nowhere_kept(services: StudyServices, http: Callable[..., Http], tmp_path: Path) -> None:
    look_up(["GSE5", "GSE95"], http(pubmed_key=SecretStr("hush-4711")), DAY)

    assert services.calls("esummary")[0].form["api_key"] == "hush-4711"
    assert not any("hush" in json.dumps(c.query) + c.path for c in services.server.calls)
    assert all(b"hush-4711" not in path.read_bytes() for path in (tmp_path / "cache").rglob("*") if path.is_file())


@pytest.mark.parametrize(
    ("accession", "remark", "code"),
    [
        ("GSE5", "data_set_found", 0),
        ("GSE92", "data_set_gone", 1),
        ("GSE95", "data_set_gone", 1),
        ("PRJNA8", "data_set_not_shown", 0),
        ("XYZ1", "data_set_not_looked", 3),
        # Its service is down.
        ("PXD900001", "data_set_not_looked", 3),
    ],
)
def test_a_live_check_asks_the_repositories(
    services: StudyServices, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, accession: str, remark: str, code: int
) -> None:
    services.set_environment(monkeypatch, tmp_path)
    services.pages["GSE92"] = 'Accession "GSE92" was deleted by the GEO staff on Jun 18, 2007.'
    services.server.always = answers(503) if accession.startswith("PXD") else None
    there = StudyDataSet(id=accession, repository="A repository", state="found")
    study = protocol(step(1, data_sets=(accession,)), data_sets=(there,))
    (tmp_path / "protocol.json").write_text(study.model_dump_json(), encoding="utf-8")

    ended = kgcheck("protocol", "check", "protocol.json", "--live", "--format", "json", cwd=tmp_path)

    assert ended.code == code, ended.err
    (found,) = json.loads(ended.out)["protocols"]
    (about,) = [r for r in found["remarks"] if r.get("about") == accession]
    assert about["remark"] == remark
    assert [f["step"] for f in found["fallen"]] == (["S1.1"] if remark == "data_set_gone" else [])
    assert ("withdrawn" in about["note"]) is (accession == "GSE92")
