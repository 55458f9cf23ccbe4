"""Jobs of kgcheck.toml, run for real on the demo."""

import json
import shutil
from pathlib import Path

import pytest

from kgcheck.ledger.ledger import Ledger
from tests.support.audits import demo, kgcheck

AUDIT = """
ledger = "ledger.sqlite"
[stores.main]
place = "graph.lbdb"
[references.main]
snapshot = "reference.duckdb"
[jobs.ids]
kind = "audit"
types = ["existence"]
ids = ["PARK2", "PRNP", "P35354"]
schedule = "30 2 * * *"
reports = [{ format = "json", path = "reports/{job}-{date}.json" }]
[[jobs.ids.thresholds]]
error_if = "> 0"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copy(demo().store, tmp_path / "graph.lbdb")
    shutil.copy(demo().reference, tmp_path / "reference.duckdb")
    (tmp_path / "kgcheck.toml").write_text(AUDIT)
    return tmp_path


def test_a_job_runs_and_is_remembered(folder: Path) -> None:
    ended = kgcheck("job", "run", "ids", "--format", "json", cwd=folder)

    assert ended.code == 1, ended.err
    run = json.loads(ended.out)
    assert (run["state"], run["severity"], run["attempt"]) == ("done", "error", 1)
    assert run["result"]["thresholds"][0]["count"] == 1
    (report,) = run["result"]["reports"]
    assert Path(report).parent == folder / "reports"
    assert len(json.loads(Path(report).read_text())["findings"]) == 1
    with Ledger(folder / "ledger.sqlite") as ledger:
        assert [audit.id for audit in ledger.runs()] == [run["run"]]

    inner = folder / "deep" / "er"
    inner.mkdir(parents=True)
    again = kgcheck("job", "history", "ids", "--format", "json", cwd=inner)
    assert again.code == 0
    assert [row["number"] for row in json.loads(again.out)] == [run["number"]]
    (row,) = json.loads(kgcheck("job", "list", "--format", "json", cwd=inner).out)
    assert (row["job"], row["kind"], row["state"], row["severity"]) == ("ids", "audit", "done", "error")
    assert "ids" in kgcheck("job", "list", cwd=inner).out


def test_warnings_end_with_0(folder: Path) -> None:
    (folder / "kgcheck.toml").write_text(AUDIT.replace('error_if = "> 0"', 'warn_if = "> 0"\nerror_if = "> 50%"'))

    ended = kgcheck("job", "run", "ids", cwd=folder)

    assert ended.code == 0
    assert ended.out.startswith("ids: warn: audit ")
    assert "warn: 1 refuted of 3 looked at, > 0" in ended.out


def test_unknown_job_and_no_file(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    assert kgcheck("job", "run", "idz", cwd=folder).refuses("there is no job 'idz'")
    assert kgcheck("job", "show", "idz", cwd=folder).refuses("there is no job 'idz'")
    assert kgcheck("job", "history", "idz", cwd=folder).refuses("there is no job 'idz'")
    empty = tmp_path_factory.mktemp("empty")
    assert kgcheck("job", "list", cwd=empty).refuses("there is no kgcheck.toml in this folder or above")


def test_next_is_in_the_time_zone_of_the_job(folder: Path) -> None:
    (folder / "kgcheck.toml").write_text('time_zone = "Asia/Tokyo"\n' + AUDIT)

    rows = json.loads(kgcheck("job", "next", "--count", "3", "--format", "json", cwd=folder).out)

    assert [row["job"] for row in rows] == ["ids"] * 3
    assert all(row["at"].endswith("T02:30:00+09:00") for row in rows)


def test_commands_take_what_kgcheck_toml_names(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = folder / "deep"
    inner.mkdir()
    what = ("--type", "existence", "--id", "PARK2", "--format", "json")

    ended = kgcheck("audit", *what, cwd=inner)

    assert ended.code == 1, ended.err
    assert json.loads(ended.out)["run"]["reference"] == str(folder / "reference.duckdb")
    assert f"--store {folder / 'graph.lbdb'} (kgcheck.toml)" in ended.err
    assert (folder / "ledger.sqlite").exists()
    # What the environment or an option names comes first.
    monkeypatch.setenv("KGCHECK_STORE", str(folder / "none.lbdb"))
    assert kgcheck("audit", *what, cwd=inner).refuses("there is no ")
    monkeypatch.setenv("KGCHECK_LEDGER", str(folder / "other.sqlite"))
    assert kgcheck("runs", cwd=inner).refuses(f"there is no ledger at {folder / 'other.sqlite'}")
    monkeypatch.delenv("KGCHECK_LEDGER")
    assert kgcheck("runs", "--ledger", "third.sqlite", cwd=inner).refuses("there is no ledger at third.sqlite")
    shown = " ".join(kgcheck("audit", "--help", cwd=inner).out.split())
    assert f"[default: {folder / 'reference.duckdb'}, as" in shown
    # What is wrong in the file is wrong for every command that would take something from it, and for no other.
    (folder / "kgcheck.toml").write_text("stroes = 1")
    assert kgcheck("runs", cwd=inner).refuses(f"{folder / 'kgcheck.toml'} is wrong: stroes: there is no such key")
    assert kgcheck("profile", "list", cwd=inner).code == 0
