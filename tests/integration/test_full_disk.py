"""A disk that is full: one line says so, what was there before stays, and nothing half-written is left."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from kgcheck.cli.main import run
from kgcheck.errors import InputError
from kgcheck.ledger.ledger import Ledger
from kgcheck.outputs import replacing, write_text
from tests.support.audits import demo
from tests.support.facts import world

ROOM = 16 << 20
INCOMPLETE = 3
"""What an audit of the demo ends with: some of its references do not speak of everything."""


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 16 MiB."""
    if os.geteuid():
        pytest.skip("only root can mount a small disk")
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={ROOM}", "tmpfs", str(folder)], capture_output=True, text=True
    )
    if mounted.returncode:
        pytest.skip(f"no small disk can be mounted here: {mounted.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def _fill(disk: Path, left: int) -> Path:
    """Fill a disk but for some bytes."""
    (disk / "filler").unlink(missing_ok=True)
    with (disk / "filler").open("wb", buffering=0) as file, suppress(OSError):
        room = os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize
        file.write(b"\0" * max(room - left, 0))
    return disk / "filler"


def _refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """What a command says that ends with code 2: a line of what was wrong, and one of advice."""
    code = run(arguments)
    out, said = capsys.readouterr()
    assert code == 2, (arguments, code, said)
    assert out == ""
    assert "Traceback" not in said
    assert "fault in kgcheck" not in said
    at = said.index("kgcheck: ")
    assert len(said[at:].strip().splitlines()) == 2, said
    assert "free" in said[at:], said
    return said[at:]


@pytest.mark.slow
def test_snapshot(disk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    facts, snapshot = world().write(tmp_path / "facts"), disk / "reference.duckdb"
    build = ["reference", "build", str(facts), "--out", str(snapshot)]
    assert run(build) == 0
    before = snapshot.read_bytes()

    for left in (0, 8_192, 65_536, 300_000, 600_000, 1_200_000):
        _fill(disk, left)
        capsys.readouterr()
        assert str(snapshot) in _refused(build, capsys)
        assert snapshot.read_bytes() == before, left
        assert sorted(p.name for p in disk.iterdir()) == ["filler", "reference.duckdb"], left

    (disk / "filler").unlink()
    assert run(build) == 0


@pytest.mark.slow
def test_ledger(disk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ledger, whole = disk / "ledger.sqlite", disk.parent / "whole.sqlite"
    over = ["--store", str(demo().store), "--reference", str(demo().reference), "--type", "existence", "--keep-all"]
    assert run(["audit", *over, "--ledger", str(whole), "--fail-on", "never"]) == INCOMPLETE
    capsys.readouterr()
    run(["report", "--ledger", str(whole), "--format", "jsonl"])
    wanted = _verdicts(capsys.readouterr().out)

    resumed = 0
    for share in (1.6, 1.3, 1, 0.2):
        ledger.unlink(missing_ok=True)
        _fill(disk, int(whole.stat().st_size * share))
        capsys.readouterr()
        told = _refused(["audit", *over, "--ledger", str(ledger), "--fail-on", "never"], capsys)
        assert told.startswith(f"kgcheck: cannot write to the ledger {ledger}: the disk is full or failing")
        assert "--resume goes on with an audit that kgcheck runs lists" in told
        (disk / "filler").unlink()
        with Ledger(ledger) as opened:
            # A disk too small for the empty tables leaves no run to go on with.
            again = ["--resume"] if opened.runs() else over
        resumed += again == ["--resume"]
        assert run(["audit", *again, "--ledger", str(ledger), "--fail-on", "never"]) == INCOMPLETE
        with Ledger(ledger) as opened:
            (ended,) = opened.runs()
            assert sum(t.count for t in opened.tallies(ended)) == len(list(opened.findings(ended)))
        capsys.readouterr()
        run(["report", "--ledger", str(ledger), "--format", "jsonl"])
        assert _verdicts(capsys.readouterr().out) == wanted
    assert resumed >= 2


def _verdicts(report: str) -> set[str]:
    import json

    return {f"{row['fingerprint']} {row['outcome']} {row['reason']}" for row in map(json.loads, report.splitlines())}


def test_report_and_transcripts(
    disk: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ledger, report = disk.parent / "ledger.sqlite", disk / "report.html"
    over = ["--store", str(demo().store), "--reference", str(demo().reference)]
    assert run(["audit", *over, "--ledger", str(ledger), "--fail-on", "never", "--type", "existence"]) == INCOMPLETE
    show = ["report", "--ledger", str(ledger), "--format", "html", "--out", str(report)]
    assert run(show) == 0
    before = report.read_bytes()
    monkeypatch.setenv("KGCHECK_HOME", str(disk / "home"))
    check = ["check", "existence", "Protein", "P04637", *over, "--ledger", str(ledger)]
    _fill(disk, 0)
    capsys.readouterr()

    _refused(show, capsys)
    assert report.read_bytes() == before
    _refused(check, capsys)
    assert [p for p in disk.rglob("*") if p.is_file() and p.name not in ("filler", "report.html")] == []


def test_what_was_there_stays_if_anything_fails(tmp_path: Path) -> None:
    path = tmp_path / "report.md"
    write_text(path, "before")

    def half() -> None:
        with replacing(path) as partial:
            partial.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        half()
    assert path.read_text() == "before"
    with replacing(path) as one, replacing(path) as other:
        one.write_text("one")
        other.write_text("other")
    assert path.read_text() == "one"
    assert [p.name for p in tmp_path.iterdir()] == ["report.md"]


def test_what_is_no_file_is_not_replaced(tmp_path: Path) -> None:
    null = os.stat("/dev/null")
    write_text(Path("/dev/null"), "gone")
    assert os.stat("/dev/null").st_rdev == null.st_rdev
    with pytest.raises(InputError, match="No space left"):
        write_text(Path("/dev/full"), "gone")
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match="is not a file"):
        write_text(tmp_path / "folder", "gone")


def _papers(said: str, count: int) -> str:
    import json

    return "".join(
        json.dumps(
            {"id": f"{said[:3]}:{n}", "title": f"Paper {n}", "abstract": f"We show that {said} in case {n}. " * 8}
        )
        + "\n"
        for n in range(count)
    )


@pytest.mark.slow
def test_index(disk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    index, papers = disk / "index", tmp_path / "papers.jsonl"
    papers.write_text(_papers("p53 binds MDM2", 3))
    more = tmp_path / "more.jsonl"
    more.write_text(_papers("insulin lowers glucose", 4_000))
    assert run(["corpus", "add", str(papers), "--index", str(index), "--model", "none"]) == 0
    for left in (0, 100_000, 1_000_000, 3_000_000):
        _fill(disk, left)
        capsys.readouterr()
        _refused(["corpus", "add", str(more), "--index", str(index), "--model", "none"], capsys)
        (disk / "filler").unlink()
        assert len([p for p in index.iterdir() if p.name.startswith("built-")]) == 1
    assert run(["corpus", "add", str(more), "--index", str(index), "--model", "none"]) == 0
    capsys.readouterr()
    assert run(["search", "insulin glucose", "--index", str(index)]) == 0
    assert "insulin" in capsys.readouterr().out
