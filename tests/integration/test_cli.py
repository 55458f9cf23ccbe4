"""The command line: what a person sees, on which stream, with which exit code, whatever goes wrong."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from kgcheck.cli.late import RENAMED
from kgcheck.cli.main import _COMMANDS, cli
from kgcheck.ledger.ledger import Ledger
from tests.support import PYTHONPATH, ROOT
from tests.support.audits import demo, demo_audit, kgcheck

COMMANDS = {name: purpose for section in _COMMANDS.values() for name, (_, purpose) in section.items()}
PROGRAM = [sys.executable, "-m", "kgcheck"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": PYTHONPATH}
HEAVY = ("pydantic", "duckdb", "pyarrow", "neo4j", "ladybug", "sqlalchemy", "rich", "jinja2", "numpy")


@pytest.fixture(scope="module")
def audited() -> Path:
    """A folder with a ledger of one audit, where the demo is the default store and snapshot."""
    return demo_audit()


# --- starting


@pytest.mark.parametrize(
    "command", [(), *((name,) for name in COMMANDS), ("reference", "build"), ("reference", "show")]
)
def test_help_of_every_command(command: tuple[str, ...]) -> None:
    said = kgcheck(*command, "--help")

    assert (said.code, said.err) == (0, "")
    assert said.out.startswith(f"Usage: {' '.join(('kgcheck', *command))}")
    assert kgcheck(*command, "-h") == said


def test_help_lists_every_command_and_explains_the_exit_codes() -> None:
    text = kgcheck("--help").out

    for title, section in _COMMANDS.items():
        assert f"\n{title}:\n  {next(iter(section))} " in text
    for name, purpose in COMMANDS.items():
        assert re.search(rf"^  {name} +{re.escape(purpose)}$", text, re.MULTILINE)
    assert "0 clean, 1 findings" in text


@pytest.mark.parametrize("typed", ["adit audit", "patch aply apply", "job sevre serve", "protocol chek check"])
def test_a_mistyped_command_is_guessed(typed: str) -> None:
    *arguments, meant = typed.split()

    said = kgcheck(*arguments)

    assert said.refuses(f"No such command '{arguments[-1]}'. Did you mean '{meant}'?")


@pytest.mark.parametrize(("old", "new"), [("jobs serve", "job serve"), ("verified", "explain")])
def test_old_names_of_commands_work_with_a_warning(old: str, new: str) -> None:
    said, today = kgcheck(*old.split(), "--help"), kgcheck(*new.split(), "--help")

    assert said.out == today.out
    assert said.err == (
        f"warning: {old.split()[0]!r} is called {new.split()[0]!r} now, and the next release will not know"
        f" {old.split()[0]!r}\n"
    )
    assert today.err == ""


def test_an_old_name_is_nothing_else_today() -> None:
    def names(command: click.Command) -> Iterator[str]:
        for parameter in command.params:
            yield from (option.lstrip("-") for option in parameter.opts if option.startswith("-"))
            yield from parameter.type.choices if isinstance(parameter.type, click.Choice) else ()
        if isinstance(command, click.Group):
            context = click.Context(command)
            for name in command.list_commands(context):
                yield name
                below = command.get_command(context, name)
                assert below
                yield from names(below)

    today = {*names(cli)}
    assert not today & {*RENAMED}
    assert today >= {*RENAMED.values()}


def test_completion_names_commands_and_imports_none() -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "kgcheck"],
        env={**ENVIRONMENT, "COMP_WORDS": "kgcheck a", "COMP_CWORD": "1", "_KGCHECK_COMPLETE": "bash_complete"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip

    assert done.stdout == "plain,audit\nplain,ask\n"
    assert "kgcheck.cli.audit" not in done.stderr
    assert "kgcheck.cli.checks" not in done.stderr


@pytest.mark.slow
def test_quiet_leaves_errors_alone(audited: Path) -> None:
    told, first, last = (kgcheck(*words, cwd=audited) for words in (("report",), ("-q", "report"), ("report", "-q")))
    wrong = kgcheck("report", "nowhere", "--quiet", cwd=audited)

    assert told.err
    assert first == last == told._replace(err="")
    assert wrong.refuses("there is no run 'nowhere'")


def test_version() -> None:
    said = kgcheck("--version")

    assert (said.code, said.err) == (0, "")
    assert re.fullmatch(r"kgcheck, version \d+\.\d+\.\d+\S*\n", said.out)


@pytest.mark.parametrize(
    "arguments", [("--help",), ("--version",), ("audit", "--help"), ("check", "--help"), ("audti",)]
)
def test_starting_imports_nothing_heavy(arguments: tuple[str, ...]) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "kgcheck", *arguments],
        capture_output=True,
        text=True,
        env=ENVIRONMENT,
        check=False,
    )
    imported = {line.rsplit("|", 1)[-1].strip().split(".")[0] for line in done.stderr.splitlines() if "|" in line}

    # Options of an audit come of a model of pydantic.
    heavy = set(HEAVY) - ({"pydantic"} if arguments[1:] else set())

    assert "click" in imported
    assert imported.isdisjoint(heavy), imported & heavy


# --- what a person can get wrong


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (("audti",), "No such command 'audti'", "kgcheck --help tells more"),
        (("audit", "--stroe", "x"), "No such option", "kgcheck audit --help tells more"),
        (("audit", "--type", "everything"), "Invalid value for '--type'", "kgcheck audit --help tells more"),
        (("audit", "--graph-date", "2901-01-01"), "Invalid value for '--graph-date'", "2901-01-01 has not come yet"),
        (
            ("brief", "TP53", "--out", "x.csv"),
            "Invalid value for '--format'",
            "x.csv ends in .csv, and none is written",
        ),
        (("audit", "extra"), "there is no file extra", "name one that is there"),
        (("audit",), "there is no graph at .kgcheck/graph.lbdb", "kgcheck load DIR --store .kgcheck/graph.lbdb"),
        (("audit", "--store", "junk"), "junk is not an embedded graph", ""),
        (("audit", "--store", "mysql://x"), "no store speaks mysql://", "neo4j"),
        (("audit", "--store", "bolt://me:secret@x"), "the address of a store must not carry credentials", "KGCHECK_"),
        (("audit", "--profile", "../x"), "there is no profile '../x'", "kgcheck profile init drafts one"),
        (("audit", "--profile", "cgk"), "there is no profile 'cgk'", "did you mean ckg?"),
        (("load", "junk"), "junk is a file, and not a folder", "name an import directory"),
        (("load", "nowhere"), "there is no folder nowhere", "name an import directory"),
        (("reference", "build", "nowhere"), "Missing option '--out'", "kgcheck reference build --help tells more"),
        (("reference", "build", ".", "--out", "x", "--release", "uniprot"), "--release 'uniprot' is not SOURCE=", ""),
        (("reference", "show", "nowhere"), "there is no snapshot at nowhere", "kgcheck reference build"),
        (
            ("reference", "show", "."),
            ". is a folder, not a snapshot",
            "kgcheck reference build . --out reference.duckdb",
        ),
        (("runs", "--ledger", "."), ". is a folder", ""),
        (("runs",), "there is no ledger at .kgcheck/ledger.sqlite", "kgcheck audit makes one"),
        (("runs", "--ledger", "junk"), "junk is not a ledger", "--ledger"),
        (("check", "nonsense"), "'nonsense' is not a check", "HEAD RELATION TAIL"),
    ],
)
def test_a_mistake_is_one_message_with_a_hint(
    tmp_path: Path, arguments: tuple[str, ...], message: str, hint: str
) -> None:
    (tmp_path / "junk").write_bytes(b"junk" * 2000)

    said = kgcheck(*arguments, cwd=tmp_path)

    assert said.refuses(message), said
    assert said.err.splitlines()[-1].startswith("  "), said.err
    assert said.code == 2
    assert hint in said.err
    assert (tmp_path / "junk").read_bytes() == b"junk" * 2000
    assert sorted(p.name for p in tmp_path.iterdir()) == ["junk"], "something was left behind"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("KGCHECK_QUERY_TIMEOUT_S", "soon"),
        ("KGCHECK_CONNECT_TIMEOUT_S", "-1"),
    ],
)
def test_a_wrong_environment_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    store = demo().store
    monkeypatch.setenv(name, value)

    said = kgcheck("audit", "--store", store, cwd=tmp_path)

    assert said.refuses(f"the environment is wrong: {name}: ")
    assert value not in said.err or len(value) < 3


def test_a_fault_of_kgcheck_leaves_a_crash_file(audited: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def broken(self: Ledger) -> list[object]:
        raise ZeroDivisionError("boom")

    monkeypatch.setattr(Ledger, "runs", broken)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    said = kgcheck("runs", cwd=audited)

    assert (said.code, said.out) == (2, "")
    first, second = said.err.splitlines()
    assert first == "kgcheck: this is a fault in kgcheck: ZeroDivisionError: boom"
    (crash,) = tmp_path.iterdir()
    assert second == f"  please report it with {crash}"
    assert "Traceback" in crash.read_text()

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "gone"))
    said = kgcheck("runs", cwd=audited)
    assert said.err.splitlines()[1].startswith("  please report it with what you did; the details could not be written")


# --- results


def test_runs_in_both_forms(audited: Path) -> None:
    with Ledger(audited / ".kgcheck/ledger.sqlite") as ledger:
        (run,) = ledger.runs()

    table, listed = kgcheck("runs", cwd=audited), kgcheck("runs", "--format", "json", cwd=audited)

    assert (table.code, listed.code) == (0, 0)
    assert run.id in table.out
    assert "finished" in table.out
    assert [r["id"] for r in json.loads(listed.out)] == [run.id]


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("a.csv", "csv"),
        ("a.HTML", "html"),
        ("a.xml", "junit"),
        ("a", "table"),
    ],
)
def test_the_ending_of_a_file_names_the_form(audited: Path, tmp_path: Path, name: str, form: str) -> None:
    by_ending, by_form = tmp_path / name, tmp_path / "named.txt"
    report = ("report", "--limit", 3)

    # The option's old name.
    old = kgcheck(*report, "--output", by_ending, cwd=audited)
    assert "warning: 'output' is called 'out' now" in old.err
    assert kgcheck(*report, "--format", form, "--out", by_form, cwd=audited).code == old.code == 0

    assert by_ending.read_text(encoding="utf-8") == by_form.read_text(encoding="utf-8")


def test_a_form_that_is_named_comes_before_the_ending(audited: Path, tmp_path: Path) -> None:
    assert kgcheck("report", "--format", "sarif", "--out", tmp_path / "a.json", cwd=audited).code == 0

    assert "runs" in json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))


def test_a_table_that_has_not_all_findings_is_not_silent_about_it(audited: Path) -> None:
    cut, whole, asked = (kgcheck("report", *more, cwd=audited) for more in ((), ("--limit", 93), ("--limit", 5)))

    assert "these are the first 50 findings; all: kgcheck report " in cut.err
    assert re.search(r"^  refuted: \d+ attribute \w+", cut.err, re.MULTILINE)
    assert " more kinds: kgcheck report " in cut.err
    assert "--reason REASON --label LABEL\n" in cut.err
    assert "these are the first" not in whole.err + asked.err
    assert "  refuted: " not in whole.err + asked.err


def test_explain_in_both_forms(audited: Path) -> None:
    finding = json.loads(kgcheck("report", "--format", "jsonl", "--limit", 1, cwd=audited).out)

    table = kgcheck("explain", finding["fingerprint"][:8], cwd=audited)
    shown = kgcheck("explain", finding["fingerprint"], "--format", "json", cwd=audited)

    assert (table.code, shown.code) == (0, 0)
    assert (table.err, shown.err) == ("", "")
    assert json.loads(shown.out) == finding | {"decision": None, "decision_state": "open"}
    for evidence in finding["evidence"]:
        assert evidence["record"] in table.out
        assert evidence["release"] in table.out


@pytest.mark.slow
def test_names_are_shown_as_they_are(tmp_path: Path) -> None:
    store = tmp_path / "[red]graphs[" / ":cat:" / "graph.lbdb"

    said = kgcheck("load", ROOT / "loaders/ckg/demo/import", "--store", store, cwd=tmp_path)

    assert said.code == 0, said.err
    assert f"writing to {store} ...\n" in said.err
    assert f"{store}: 552 nodes, 1,119 edges\n" in said.err
    assert "\n1 row cannot be loaded (1 duplicate_row): see " in said.err


@pytest.mark.slow
def test_what_a_terminal_cannot_show_does_not_stop_it(audited: Path) -> None:
    done = subprocess.run(
        [*PROGRAM, "report", "--format", "table", "--limit", "86"],
        cwd=audited,
        env=ENVIRONMENT | {"PYTHONIOENCODING": "ascii", "COLUMNS": "60"},
        capture_output=True,
        check=False,
    )

    assert (done.returncode, done.stdout.isascii()) == (0, True), done.stderr


# --- signals and pipes, in processes of their own


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ("report", "--format", "table", "--limit", "86"),
        pytest.param(("report", "--format", "jsonl"), marks=pytest.mark.slow),
    ],
)
def test_a_reader_that_leaves_is_no_error(audited: Path, arguments: tuple[str, ...]) -> None:
    process = subprocess.Popen(
        [*PROGRAM, *arguments], cwd=audited, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline()
    process.stdout.close()

    said = process.stderr.read().decode()
    process.stderr.close()

    assert process.wait(timeout=60) in (0, 141)
    assert "Traceback" not in said
    assert "BrokenPipe" not in said
    assert "fault" not in said


@pytest.mark.slow
def test_a_reader_that_was_never_there_is_no_error(audited: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    process = subprocess.run(
        [*PROGRAM, "report", "--format", "jsonl"],
        cwd=audited,
        env=ENVIRONMENT,
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writing)

    assert process.returncode == 141
    assert process.stderr == ""


@pytest.mark.slow
def test_ctrl_c_keeps_what_was_done(tmp_path: Path, audited: Path) -> None:
    process = subprocess.Popen(
        [*PROGRAM, "audit", "--store", str(demo().store), "--reference", str(demo().reference)],
        cwd=tmp_path,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    assert process.stderr.readline() == "auditing ...\n"
    process.send_signal(signal.SIGINT)

    out, err = process.communicate(timeout=60)

    assert process.returncode == 130, err
    assert out == ""
    assert err.strip().splitlines() == [
        "kgcheck: interrupted",
        "  kgcheck audit --resume goes on with an audit that was cut off",
    ]
    with Ledger(tmp_path / ".kgcheck/ledger.sqlite") as ledger:
        assert ledger.cut_off()
    listed = kgcheck("runs", cwd=tmp_path)
    assert "cut off: --resume" in listed.out
    assert kgcheck("report", cwd=tmp_path).code == 0
    assert kgcheck("audit", "--resume", cwd=tmp_path).code == 1
    resumed, undisturbed = (
        kgcheck("report", "--format", "jsonl", cwd=folder).out.splitlines() for folder in (tmp_path, audited)
    )
    assert len(resumed) == len(undisturbed) == 93


INTERRUPTED = """
import signal
from kgcheck.cli.main import run
from kgcheck.ledger.ledger import Ledger

def runs(self):
    try:
        signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt:
        raise RuntimeError("Query interrupted") from None

Ledger.runs = runs
before = signal.signal(signal.SIGINT, signal.default_int_handler), signal.getsignal(signal.SIGTERM)
code = run(["runs"])
assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
assert signal.getsignal(signal.SIGTERM) is before[1]
raise SystemExit(code)
"""


def test_ctrl_c_that_a_library_turns_into_an_error_is_no_fault(audited: Path) -> None:
    """DuckDB raises a RuntimeError, pydantic a PydanticSerializationError; in a process of its own, which it is for."""
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED], cwd=audited, capture_output=True, text=True, timeout=60, check=False
    )

    assert done.returncode == 130, done.stderr
    assert done.stderr.startswith("kgcheck: interrupted")
    assert "the same command again" in done.stderr


def test_methods_are_a_paragraph(audited: Path, tmp_path: Path) -> None:
    text = kgcheck("report", "--methods", cwd=audited).out

    assert "was checked with kgcheck, version " in text
    assert kgcheck("report", "--methods", "--out", tmp_path / "methods.txt", cwd=audited).code == 0
    assert (tmp_path / "methods.txt").read_text(encoding="utf-8") == text
