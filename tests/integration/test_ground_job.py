"""The job that grounds the manuscripts of a folder, after an audit of the demo."""

import json
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.support.audits import Said, demo, kgcheck

FILE = """
ledger = "ledger.sqlite"
[stores.main]
place = "graph.lbdb"
[references.main]
snapshot = "reference.duckdb"
[jobs.ids]
kind = "audit"
types = ["existence"]
ids = ["PRNP"]
thresholds = []
[jobs.paper]
kind = "ground"
folder = "drafts"
files = ["**/*.md"]
after = ["ids"]
results = "results.json"
most = { number_unknown = 0 }
out = "drafts/reports/{job}"
"""

PAPER = """# A note

## Abstract

The gene set had 12 genes. HMGCR interacts with TYK2 [4].

## Results

JAK2 interacts with TYK2.

## References

1. A. Author. A made-up title. J. Made Up. 2001.
"""


def result(*arguments: str, cwd: Path) -> tuple[int, dict[str, object]]:
    ended = kgcheck("job", "run", "paper", "--format", "json", *arguments, cwd=cwd)
    return ended.code, json.loads(ended.out)["result"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("drafts")
    shutil.copy(demo().store, place / "graph.lbdb")
    shutil.copy(demo().reference, place / "reference.duckdb")
    (place / "kgcheck.toml").write_text(FILE, encoding="utf-8")
    (place / "results.json").write_text('{"gene set genes": 21, "samples": 4}', encoding="utf-8")
    (place / "drafts" / ".hidden").mkdir(parents=True)
    (place / "drafts" / "paper.md").write_text(PAPER, encoding="utf-8")
    (place / "drafts" / ".hidden" / "other.md").write_text(PAPER, encoding="utf-8")
    return place


class Ended(NamedTuple):
    """The audit, after which the paper is grounded, with the history and the reports of then."""

    said: Said
    history: list[dict[str, Any]]
    reports: list[str]


@pytest.fixture(scope="module")
def job(folder: Path) -> Ended:
    said = kgcheck("job", "run", "ids", cwd=folder)
    history = json.loads(kgcheck("job", "history", "paper", "--format", "json", cwd=folder).out)
    return Ended(said, history, sorted(p.name for p in (folder / "drafts" / "reports" / "paper").iterdir()))


def test_it_runs_after_an_audit_with_reports(job: Ended) -> None:
    assert job.said.code == 0, job.said.err
    assert "then paper: error: 1 manuscripts: " in job.said.err
    assert job.reports == ["paper.md.ground.html", "paper.md.ground.json"]
    (row,) = job.history
    remarks = row["result"]["remarks"]
    assert {"edge_refuted": 1, "marker_out_of_range": 1, "number_differs": 1}.items() <= remarks.items()
    assert row["result"]["new"] == len(row["result"]["alarms"]) == sum(remarks.values())


@pytest.mark.slow
def test_only_what_is_new_is_new(folder: Path, job: Ended) -> None:
    paper = folder / "drafts" / "paper.md"
    # Others may have run on another text.
    result(cwd=folder)
    (folder / "drafts" / "broken.md").write_bytes(b"\xff\xfe")
    code, found = result(cwd=folder)
    assert (code, found["new"], found["manuscripts"]) == (1, 0, 1)
    assert "broken.md is not UTF-8 text" in str(found["refused"])

    # Moved within its section it is the same; another denial is new.
    moved = PAPER.replace("JAK2 interacts", "Nothing was moved. JAK2 does not bind TYK2. JAK2 interacts")
    paper.write_text(moved.replace("The gene set", "We did this. The gene set"), encoding="utf-8")
    code, found = result(cwd=folder)
    (folder / "drafts" / "broken.md").unlink()
    paper.write_text(PAPER, encoding="utf-8")
    assert (code, found["new"]) == (1, 1)


@pytest.mark.slow
def test_a_clean_paper_has_no_alarms(folder: Path, job: Ended) -> None:
    paper = folder / "drafts" / "paper.md"
    paper.write_text("# A note\n\n## Results\n\nJAK2 interacts with TYK2.\n", encoding="utf-8")
    code, found = result(cwd=folder)
    paper.write_text(PAPER, encoding="utf-8")
    assert (code, found["alarms"], found["remarks"]) == (0, [], {})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("number_unknown", "number_unknwon"), "there is no remark or state 'number_unknwon'"),
        (("**/*.md", "*.tex"), "no file of"),
        (('folder = "drafts"', 'folder = "draft"'), "there is no folder"),
        (('"results.json"', '"result.json"'), "there is no file"),
        (('["**/*.md"]', '["../*.md"]'), "must name files inside the folder"),
        (('["ids"]', '["paper"]'), "is no load, audit or refresh"),
    ],
)
def test_what_is_wrong_in_the_file_is_named(folder: Path, job: Ended, change: tuple[str, str], said: str) -> None:
    path = folder / "wrong.toml"
    path.write_text(FILE.replace(*change), encoding="utf-8")
    ended = kgcheck("job", "run", "paper", "--config", path, cwd=folder)
    path.unlink()
    assert (ended.code, said in ended.err) == (2, True), ended.err
