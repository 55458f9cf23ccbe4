"""Odd files and places: each gives one line, with advice, and no fault of kgcheck."""

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from kgcheck.cli.main import run
from kgcheck.ledger.ledger import Ledger
from tests.support import ROOT
from tests.support.audits import core_demo
from tests.support.facts import world

NOBODY = 65534
READ_ONLY = (
    *("report --ledger {ledger}", "report --ledger {ledger} --format html", "runs --ledger {ledger}"),
    *("explain {finding} --ledger {ledger}", "search insulin --index {index}", "corpus list --index {index}"),
    "reference show {reference2}",
)
WITH_OUTPUT = (
    "report --ledger {ledger}",
    "report --ledger {ledger} --format json",
    "report --ledger {ledger} --format jsonl",
    "report --ledger {ledger} --format markdown",
    "report --ledger {ledger} --format html",
    "runs --ledger {ledger}",
    "runs --ledger {ledger} --format json",
    "explain {finding} --ledger {ledger}",
    "explain {finding} --ledger {ledger} --format json",
    "reference show {reference}",
    "reference show {reference} --format json",
    "reference diff {reference} {reference2}",
    "audit --store {store} --reference {reference} --type existence --ledger {ledger2}",
    "check existence Protein P04637 --store {store} --reference {reference} --ledger {ledger2}",
    "check existence Protein P04637 --store {store} --reference {reference} --ledger {ledger2} --format json",
    "corpus list --index {index}",
    "search insulin --index {index}",
    "search insulin --index {index} --format json",
    "ask --store {store} 'How many proteins are there?'",
    "--help",
    "--version",
    "audit --help",
)


class Places:
    """What the commands are tried on."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ledger, self.index = folder / "ledger.sqlite", folder / "index"
        over = ["--store", str(core_demo().store), "--reference", str(core_demo().reference)]
        run(["audit", *over, "--type", "existence", "--ledger", str(self.ledger)])
        papers = folder / "papers.jsonl"
        papers.write_text('{"id": "x:1", "title": "Insulin", "abstract": "Insulin lowers glucose."}\n')
        run(["corpus", "add", str(papers), "--index", str(self.index), "--model", "none"])
        self.reference2 = folder / "second.duckdb"
        shutil.copy(core_demo().reference, self.reference2)
        with Ledger(self.ledger) as kept:
            self.finding = next(kept.findings(kept.run("latest"))).fingerprint

    def command(self, text: str) -> list[str]:
        """The words of a command, over these places."""
        return shlex.split(
            text.format(
                ledger=self.ledger,
                ledger2=self.folder / "ledger2.sqlite",
                finding=self.finding,
                reference=core_demo().reference,
                reference2=self.reference2,
                store=core_demo().store,
                index=self.index,
            )
        )


@pytest.fixture(scope="module")
def places() -> Iterator[Places]:
    # Not a folder of pytest, which nobody but its user may enter.
    with TemporaryDirectory(prefix="kgcheck-test-odd-") as name, pytest.MonkeyPatch.context() as patch:
        patch.setenv("KGCHECK_HOME", f"{name}/home")
        yield Places(Path(name))


def _one_line(said: str) -> str:
    """What is told at the end: a line of what was wrong, and one of advice."""
    assert "fault in kgcheck" not in said
    assert "Traceback" not in said
    told = said[said.index("kgcheck: ") :].strip().splitlines()
    assert len(told) == 2, said
    return told[0]


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_output_that_cannot_be_written_is_told(places: Places) -> None:
    for text, (code, _, said) in zip(WITH_OUTPUT, _run_all(places, WITH_OUTPUT, "/dev/full"), strict=True):
        assert code == 2, (text, said)
        assert _one_line(said) == "kgcheck: cannot write the output: No space left on device", text


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_errors_that_cannot_be_written_leave_the_exit_code(places: Places) -> None:
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "kgcheck", "report", "--ledger", "missing"]
        assert subprocess.run(command, stdout=full, stderr=full, cwd=ROOT).returncode == 2


@pytest.mark.parametrize("text", ["report --ledger {}", "reference show {}", "reference build {} --out x.duckdb"])
def test_argument_that_is_not_utf8_is_told(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    name = os.fsdecode(b"/nowhere/\xff")

    assert run([word.format(name) for word in text.split()]) == 2
    assert _one_line(capsys.readouterr().err) == r"kgcheck: /nowhere/\xff is not UTF-8"


def test_folder_and_files_that_are_not_utf8_are_told(
    tmp_path: Path, places: Places, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/in\xff"))
    world().write(odd)
    (tmp_path / "in").mkdir()
    (Path(os.fsdecode(os.fsencode(tmp_path / "in") + b"/go\xff.obo"))).write_text("x")
    monkeypatch.chdir(odd)
    shutil.copy(core_demo().reference, odd / "r.duckdb")
    shutil.copy(places.ledger, odd / "l.sqlite")
    for arguments in (
        ["reference", "build", ".", "--out", "x.duckdb"],
        ["reference", "build", str(tmp_path / "in"), "--out", str(tmp_path / "x.duckdb")],
        ["reference", "show", "r.duckdb"],
        ["load", ".", "--store", "g.lbdb"],
        ["audit", "--store", str(core_demo().store), "--reference", "r.duckdb", "--ledger", "m.sqlite"],
    ):
        code, said = run(arguments), capsys.readouterr().err
        assert code == 2, (arguments, said)
        _one_line(said)


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_what_is_in_a_folder_that_cannot_be_written_is_read(places: Places) -> None:
    _open_folders(places.folder)
    # It is made for its owner alone; here somebody has opened it to others.
    places.ledger.chmod(0o644)
    for text, (code, shown, said) in zip(READ_ONLY, _run_all(places, READ_ONLY, "", user=NOBODY), strict=True):
        assert code == 0, (text, said)
        assert shown, text
        assert "kgcheck:" not in said


_CHILD = """
import contextlib, io, json, os, pkgutil, sys, importlib
import kgcheck.cli
from kgcheck.ledger.ledger import Ledger
from kgcheck.cli.main import run
for found in pkgutil.iter_modules(kgcheck.cli.__path__):
    importlib.import_module("kgcheck.cli." + found.name)
import duckdb, sqlalchemy.dialects.sqlite, jinja2, rich.table
import kgcheck.ledger.ledger, kgcheck.report.tables, kgcheck.report.render
import kgcheck.literature.corpus, kgcheck.literature.search
commands, target, user, first = json.loads(sys.argv[1])
answers = os.fdopen(os.dup(1), "w")
if user:
    # Whoever has no rights may not find the packages, so all that is imported late is imported now.
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        for command in first:
            run(command)
    os.setgid(user)
    os.setuid(user)
for command in commands:
    place = os.open(target, os.O_WRONLY) if target else os.memfd_create("shown")
    os.dup2(place, 1)
    sys.stdout = io.TextIOWrapper(os.fdopen(os.dup(1), "wb"), errors="backslashreplace")
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        code = run(command)
    try:
        sys.stdout.flush()
    except OSError:
        sys.stdout = None
    shown = 0 if target else os.fstat(place).st_size
    os.close(place)
    print(json.dumps([code, shown, said.getvalue()]), file=answers, flush=True)
os._exit(0)
"""


def _run_all(places: Places, texts: Sequence[str], target: str, user: int = 0) -> list[tuple[int, int, str]]:
    """Run commands one after the other in a child: the code of each, how much it shows, and what it says."""
    first = [places.command(text) for text in READ_ONLY]
    asked = json.dumps([[places.command(text) for text in texts], target, user, first])
    environment = os.environ | {"HOME": "/nonexistent", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", _CHILD, asked], capture_output=True, text=True, cwd=ROOT, env=environment
    )
    assert done.returncode == 0, done.stderr
    return [(code, shown, said) for code, shown, said in map(json.loads, done.stdout.splitlines())]


def _open_folders(folder: Path) -> None:
    """Let everybody look into a folder of ours, and write nothing."""
    for part in (folder, *folder.rglob("*")):
        if part.is_dir():
            part.chmod(0o755)
