"""Jobs of kgcheck.toml, run for real on the demo."""

import json
import os
import shutil
from pathlib import Path

import pytest

from kgcheck.curation.project import read_project
from kgcheck.ledger.ledger import Ledger
from kgcheck.ledger.work import WorkState
from kgcheck.profile.folder import profile_dir
from kgcheck.workspace.jobs import run_job
from tests.support import quick_of
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


@pytest.mark.slow
@pytest.mark.parametrize("replaced", quick_of([0, 1], 1))
def test_a_refresh_cut_off_while_the_snapshot_takes_its_place_audits_the_new_one(
    folder: Path, replaced: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources = profile_dir("ckg") / "demo" / "reference"
    shutil.copytree(sources, folder / "sources")
    file = folder / "sources" / "entity.tsv"
    old = "hgnc\t2017-02\tA1S9T\t\twithdrawn\t\tUBA1\t"
    text = file.read_text(encoding="utf-8")
    assert text.count(old) == 1
    file.write_text(text.replace(old, old.replace("UBA1", "UBA1|UBA7")), encoding="utf-8")
    (folder / "kgcheck.toml").write_text(
        AUDIT.replace('duckdb"\n', 'duckdb"\nfiles = "sources"\n')
        .replace('kind = "audit"', 'kind = "refresh"\nfetch = false')
        .replace('["PARK2", "PRNP", "P35354"]', '["A1S9T"]')
    )
    left = replaced
    replace = os.replace

    def cut_off(source: str | Path, target: str | Path) -> None:
        nonlocal left
        if Path(target).suffix == ".duckdb" and not Path(target).name.startswith("."):
            left -= 1
            if left < 0:
                raise KeyboardInterrupt
        replace(source, target)

    with monkeypatch.context() as patched:
        patched.setattr("kgcheck.workspace.jobs.os.replace", cut_off)
        with pytest.raises(KeyboardInterrupt):
            run_job(read_project(folder / "kgcheck.toml"), "ids")
    run, done = run_job(read_project(folder / "kgcheck.toml"), "ids")

    assert run.state is WorkState.DONE
    assert done.figures["changes"] == {"hgnc lifecycle": 1}
    with Ledger(folder / "ledger.sqlite") as ledger:
        (finding,) = ledger.findings(ledger.run(done.run or ""))
    assert {e.replacements for e in finding.verdict.evidence if e.replacements} == {("UBA1", "UBA7")}
    assert sorted(p.name for p in folder.glob("*.duckdb")) == ["reference.before.duckdb", "reference.duckdb"]
    assert not list(folder.glob(".*.duckdb"))


@pytest.mark.slow
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
    # The help breaks lines wherever a path has a hyphen.
    shown = "".join(kgcheck("audit", "--help", cwd=inner).out.split())
    assert f"[default:{folder / 'reference.duckdb'},as" in shown
    assert f"[default:{folder / 'ledger.sqlite'},as" in shown
    # What is wrong in the file is wrong for every command that would take something from it, and for no other.
    (folder / "kgcheck.toml").write_text("stroes = 1")
    assert kgcheck("runs", cwd=inner).refuses(f"{folder / 'kgcheck.toml'} is wrong: stroes: there is no such key")
    assert kgcheck("profile", "list", cwd=inner).code == 0


MORE = """
[notifications.team]
address_env = "NO_SUCH_ADDRESS"
when = ["always"]

[jobs.questions]
kind = "batch"
task = "kgqa"
file = "questions.json"
out = "answers/{job}"
notify = ["team"]

[jobs.late]
kind = "load"
directory = "not-there"
notify = ["team"]
"""


def test_a_batch_is_a_job_and_a_message_that_cannot_be_sent_loses_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_SUCH_ADDRESS", raising=False)
    # A file that is named is trusted with its addresses.
    monkeypatch.setenv("KGCHECK_CONFIG", str(folder / "kgcheck.toml"))
    (folder / "kgcheck.toml").write_text(AUDIT + MORE)
    questions = [{"question": "Which protein is O60502?", "type": "one-hop", "answer": [{"id": "O60502"}]}]
    (folder / "questions.json").write_text(json.dumps(questions))

    ended = kgcheck("job", "run", "questions", "--format", "json", cwd=folder)

    assert ended.code == 0, ended.err
    run = json.loads(ended.out)
    assert (run["state"], run["severity"], run["result"]["done"]) == ("done", "ok", 1)
    assert (folder / "answers" / "questions" / "metrics.json").exists()
    why = "the environment has no NO_SUCH_ADDRESS"
    assert run["result"]["notifications"] == [{"name": "team", "sent": False, "why": why}]
    assert f"notification team: {why}" in ended.err


def test_a_job_that_fails_says_why_and_is_remembered(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_SUCH_ADDRESS", raising=False)
    # A file that is named is trusted with its addresses.
    monkeypatch.setenv("KGCHECK_CONFIG", str(folder / "kgcheck.toml"))
    (folder / "kgcheck.toml").write_text(AUDIT + MORE)

    assert kgcheck("job", "run", "late", cwd=folder).refuses(f"there is no folder {folder / 'not-there'}")

    (row,) = json.loads(kgcheck("job", "history", "--format", "json", cwd=folder).out)
    assert (row["job"], row["state"], row["severity"]) == ("late", "failed", "error")
    assert "there is no folder" in row["message"]
    assert row["result"]["notifications"][0]["sent"] is False
