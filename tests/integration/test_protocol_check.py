"""`kgcheck protocol check` and its job, on the demo with an audit, an index and a bibliography."""

import json
import shutil
from pathlib import Path

import pytest

from kgcheck.model import CheckTask, CheckType, Ref
from tests.support.audits import Said, demo, kgcheck
from tests.support.paper_services import crossref_work
from tests.support.protocols import fact, passage, protocol, step

FILE = """
ledger = "ledger.sqlite"
[stores.main]
place = "graph.lbdb"
[references.main]
snapshot = "reference.duckdb"
[jobs.ids]
kind = "audit"
types = ["existence"]
ids = ["PARK2", "PRNP"]
thresholds = []
[jobs.designs]
kind = "protocols"
folder = "designs"
after = ["ids"]
bibliography = "works.duckdb"
out = "reports/{job}.json"
"""


def exists(name: str) -> CheckTask:
    return CheckTask(type=CheckType.EXISTENCE, subject=Ref(label="Gene", id=name))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with two protocols: one on a gene whose symbol is not valid any more, one on what still stands."""
    place = tmp_path_factory.mktemp("designs")
    shutil.copy(demo().store, place / "graph.lbdb")
    shutil.copy(demo().reference, place / "reference.duckdb")
    (place / "kgcheck.toml").write_text(FILE, encoding="utf-8")
    falls = protocol(
        step(1, "Take the gene.", makes="the gene set", facts=("F1",), passages=("Q1",)),
        step(2, "Use the gene set.", takes="gene set", facts=("F2",)),
        facts=(fact(1, exists("PARK2")), fact(2, exists("PRNP"))),
        passages=(passage(1, "So it is.", "doi:10.5555/p"), passage(2, "So it is.", "PMID:99990001")),
    )
    stands = protocol(step(1, "Take it.", facts=("F1",)), facts=(fact(1, exists("PRNP")),))
    for name, study in (("one", falls), ("two", stands)):
        (place / "designs" / name).mkdir(parents=True)
        (place / "designs" / name / "protocol.json").write_text(study.model_dump_json(), encoding="utf-8")
    (place / "works").mkdir()
    (place / "works" / "works.jsonl").write_text(json.dumps(crossref_work("10.5555/p")))
    build = ("reference", "build", "works", "--kind", "bibliography", "--out", "works.duckdb")
    assert kgcheck(*build, cwd=place).code == 0
    return place


@pytest.fixture(scope="module")
def job(folder: Path) -> Said:
    """The audit, after which the protocols are checked."""
    return kgcheck("job", "run", "ids", cwd=folder)


def test_an_audit_lets_a_step_fall(folder: Path, job: Said) -> None:
    assert job.code == 0, job.err
    assert "then designs: error: 2 protocols, 1 step fell: one/protocol.json S1.1" in job.err

    history = kgcheck("job", "history", "designs", "--format", "json", cwd=folder)
    row = json.loads(history.out)[-1]  # the newest comes first
    assert (row["state"], row["severity"]) == ("done", "error")
    result = row["result"]
    assert (result["fallen"], result["new"], result["protocols"]) == (["one/protocol.json S1.1"], 1, 2)
    report = json.loads((folder / "reports" / "designs.json").read_text(encoding="utf-8"))
    assert [len(p["fallen"]) for p in report["protocols"]] == [1, 0]


def test_what_fell_before_is_not_new(folder: Path, job: Said) -> None:
    (folder / "designs" / "three").mkdir()
    (folder / "designs" / "three" / "protocol.json").write_text("{}", encoding="utf-8")
    again = kgcheck("job", "run", "designs", "--format", "json", cwd=folder)
    shutil.rmtree(folder / "designs" / "three")

    assert again.code == 1
    result = json.loads(again.out)["result"]
    assert (result["fallen"], result["new"]) == (["one/protocol.json S1.1"], 0)
    assert "three/protocol.json is no protocol" in result["refused"][0]


def test_the_command_shows_why_and_what_follows(folder: Path, job: Said) -> None:
    what = ("--bibliography", "works.duckdb", "--format", "json")
    ended = kgcheck("protocol", "check", "designs/one/protocol.json", *what, cwd=folder)

    assert ended.code == 1, ended.err
    (found,) = json.loads(ended.out)["protocols"]
    (fallen,) = found["fallen"]
    assert (fallen["step"], fallen["because"], fallen["downstream"]) == ("S1.1", ["F1"], ["S1.2"])
    remarks = {(r.get("about"), r["remark"]): r for r in found["remarks"]}
    outdated = remarks["F1", "fact_id_outdated"]
    assert outdated["repair"] == "repoint: PRKN"
    assert outdated["finding"] == exists("PARK2").fingerprint
    assert kgcheck("explain", outdated["finding"], cwd=folder).code == 0
    assert ("F2", "fact_verified") in remarks
    assert ("Q1", "paper_stands") in remarks
    assert ("Q2", "paper_unknown") in remarks
    assert "data sets not looked at" in ended.err


def test_what_stands_is_clean(folder: Path, job: Said) -> None:
    two = ("protocol", "check", "designs/two/protocol.json")
    ended = kgcheck(*two, cwd=folder)

    assert (ended.code, "1 holds" in ended.out) == (0, True), ended.err
    assert kgcheck(*two, "designs/one/protocol.json", cwd=folder).code == 1
    # A clause that is not that of its task.
    text = (folder / "designs/two/protocol.json").read_text(encoding="utf-8")
    for stated in ("PRNP (Gene PRNP) does not exist", "TP53 (Gene PRNP) exists"):
        (folder / "turned.json").write_text(text.replace("PRNP (Gene PRNP) exists", stated), encoding="utf-8")
        ended = kgcheck("protocol", "check", "turned.json", "--format", "json", cwd=folder)
        assert (ended.code, "fact_differs" in ended.out) == (1, True), stated


def test_one_file_that_is_no_protocol_does_not_stop_the_others(folder: Path, job: Said) -> None:
    (folder / "broken.json").write_text('{"objective": 7', encoding="utf-8")
    files = ("broken.json", "designs/two/protocol.json", "none.json")

    ended = kgcheck("protocol", "check", *files, "--format", "json", cwd=folder)

    assert ended.code == 3, ended.err
    found = {one["name"]: one for one in json.loads(ended.out)["protocols"]}
    assert list(found) == list(files)
    assert [r["remark"] for r in found["broken.json"]["remarks"]] == ["unreadable"]
    assert found["designs/two/protocol.json"]["counts"]["holds"] == 1
    assert kgcheck("protocol", "check", "broken.json", cwd=folder).refuses("broken.json is no protocol")


@pytest.mark.parametrize(
    ("old", "new", "command", "message"),
    [
        ('after = ["ids"]', 'after = ["idz"]', ("list",), "jobs.designs.after: 'idz' is no load, audit or refresh"),
        ('folder = "designs"', 'folder = "nowhere"', ("run", "designs"), "there is no folder"),
        ('folder = "designs"', 'folder = "works"', ("run", "designs"), "works is **/protocol.json"),
    ],
)
def test_jobs_that_name_no_such_job_or_folder(
    folder: Path, job: Said, old: str, new: str, command: tuple[str, ...], message: str
) -> None:
    (folder / "other.toml").write_text(FILE.replace(old, new), encoding="utf-8")
    said = kgcheck("job", *command, "--config", "other.toml", cwd=folder)
    assert (said.code, message in said.err) == (2, True), said.err


def test_a_paper_that_a_list_retracts(folder: Path, job: Said) -> None:
    (folder / "retracted.tsv").write_text("99990001\n", encoding="utf-8")
    (folder / "notes.jsonl").write_text(
        json.dumps({"id": "pmid:99990001", "title": "A made-up title", "abstract": "So it was not."}) + "\n"
    )
    index = ("corpus", "add", "notes.jsonl", "--index", "papers", "--model", "none")
    assert kgcheck(*index, "--retractions", "retracted.tsv", cwd=folder).code == 0
    study = protocol(
        step(1, passages=("Q1",)),
        step(2, passages=("Q2",)),
        passages=(passage(1, "So it was not."), passage(2, "So it was.")),
    )
    (folder / "study.json").write_text(study.model_dump_json(), encoding="utf-8")

    what = ("--literature", "papers", "--format", "json")
    (found,) = json.loads(kgcheck("protocol", "check", "study.json", *what, cwd=folder).out)["protocols"]

    remarks = [(r["step"], r["remark"]) for r in found["remarks"] if r["state"] != "lacking"]
    assert sorted(remarks) == [("S1.1", "paper_retracted"), ("S1.2", "paper_retracted"), ("S1.2", "quote_differs")]
