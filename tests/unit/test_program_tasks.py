"""Tasks out of protocols, the gate before a run, the levels of errors, and a writer that is sent its errors."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgcheck.errors import BudgetExceeded
from kgcheck.llm.budget import Limits, Meter
from kgcheck.llm.client import ChatClient
from kgcheck.protocols.programs.sandbox import MadeFile, ProgramLimits, ProgramRun, ReachedLimit
from kgcheck.protocols.programs.steps import (
    ProgramAttempt,
    ProgramRecord,
    ProgramRules,
    error_level,
    problems_of,
    program_figures,
    program_tasks,
    write_program,
)
from kgcheck.protocols.protocol import StepItem, StudyStep
from kgcheck.settings import Settings
from tests.support.chat_server import MODEL, ChatServer, Say, chat_server, good
from tests.support.protocols import protocol


def table(name: str) -> StepItem:
    return StepItem(name=name, kind="table")


PROTOCOL = protocol(
    StudyStep(id="S1.1", text="Enrich.", analysis="enrichment", outputs=(table("Enriched terms"),)),
    StudyStep(id="S1.2", text="Count.", inputs=(table("enriched terms"),), outputs=(table("Counts, all"),)),
    StudyStep(id="S1.3", text="Read.", inputs=(table("counts, all"), table("extra"))),
    StudyStep(id="S1.4", text="Draw.", inputs=(table("counts, all"), table("extra")), outputs=(table("x"),)),
)


def run(**given: object) -> ProgramRun:
    fields: dict[str, object] = {
        "sha256": "0" * 64, "guard": "landlock", "limits": ProgramLimits(), "seconds": 1.0, "processor_seconds": 1.0,
        "started_at": datetime(2026, 1, 1, tzinfo=UTC), "memory_bytes": 1, "exit": 0,
    }  # fmt: skip
    return ProgramRun.model_validate(fields | given)


def test_tasks_are_the_steps_that_make_something_and_take_what_others_make() -> None:
    tasks = {task.id: task for task in program_tasks(PROTOCOL)}

    assert list(tasks) == ["S1.2", "S1.4"]
    assert [(f.file, f.step) for f in tasks["S1.2"].inputs] == [("results.json", "S1.1")]
    assert [(f.file, f.step) for f in tasks["S1.2"].outputs] == [("counts_all.tsv", "S1.2")]
    assert [(f.file, f.step) for f in tasks["S1.4"].inputs] == [("counts_all.tsv", "S1.2"), ("extra.tsv", "")]


@pytest.mark.parametrize(
    ("program", "problem"),
    [
        ("import json, os.path\nfrom scipy import stats", ""),
        ("from . import x", ""),
        ("try:\n    import jsn\nexcept ImportError:\n    pass", "there is no module 'jsn'"),
        ("import a_module.b", "there is no module 'a_module'"),
        ("if True print(1)", "SyntaxError"),
        ("x = '\x00'", "SyntaxError"),
        ("(" * 50_000, "SyntaxError"),
        ("-" * 90_000 + "1", "SyntaxError"),
        ("x" * 200_000, "100,000 characters"),
        ("  \n", "100,000 characters"),
        ("return 1\n)", "SyntaxError"),
    ],
)
def test_the_gate_sees_what_cannot_run(program: str, problem: str) -> None:
    found = problems_of(program, "python")
    assert problem in " ".join(found)
    assert bool(found) == bool(problem)


@given(st.text(alphabet="()[]{}:=+-*@~'\"\\\n\tif else for in lambda def 0x1_e.\x00é", max_size=200))
@settings(max_examples=200, deadline=None)
def test_the_gate_never_fails(text: str) -> None:
    problems_of(text, "python")


@pytest.mark.parametrize(
    ("stderr", "level"),
    [
        ("FileNotFoundError: [Errno 2] No such file or directory: 'x'", 1),
        ("ModuleNotFoundError: No module named 'x'", 1),
        ("urllib.error.URLError: <urlopen error>", 1),
        ("NameError: name 'x' is not defined", 2),
        ("TypeError: unsupported operand\n\nnote: see above", 2),
        ("json.decoder.JSONDecodeError: Expecting value", 2),
        ("KeyError: 'FileNotFoundError'", 3),
        ("IndexError: list index out of range", 3),
        ("numpy.linalg.LinAlgError: Singular matrix", 3),
        ("AssertionError", 4),
        ("", 4),
        ("Error in library(x) : there is no package called 'x'", 1),
        ('Error: could not find function "f"', 2),
        ("Error in x[[9]] : subscript out of bounds", 3),
        ("TypeError: first\n\nDuring handling another exception occurred:\nKeyError: 'x'", 3),
    ],
)
def test_errors_have_the_levels_of_the_paper(stderr: str, level: int) -> None:
    assert error_level(f"Traceback (most recent call last):\n{stderr}") == level


def test_every_limit_has_a_level() -> None:
    levels = ProgramRules.shipped().levels
    assert sorted(limit for level in levels for limit in level.limits) == sorted(get_args(ReachedLimit))
    assert [level.level for level in levels] == [1, 2, 3, 4]


def test_figures_count_what_was_completed() -> None:
    task = program_tasks(PROTOCOL)[0]
    fine, bad = ProgramAttempt(run=run()), ProgramAttempt(run=run(exit=1), level=3)
    records = [
        ProgramRecord(task=task, attempts=attempts) for attempts in ((fine,), (bad, fine), (fine, bad), (bad,) * 4)
    ]
    assert program_figures(records) == "2 of 4 programs succeeded; errors: 2 of level 3"
    assert program_figures([]) == "0 of 0 programs succeeded"


@contextmanager
def writer(*programs: str) -> Iterator[tuple[ChatClient, ChatServer]]:
    with chat_server(good(*(Say(json.dumps({"program": program})) for program in programs))) as server:
        with ChatClient(Settings(llm_base_url=server.url, llm_model=MODEL, llm_api_key="k")) as client:
            yield client, server


def test_errors_go_back_to_the_writer_until_a_program_runs() -> None:
    programs = ["import jsn", "print(undefined)", "print(1)"]
    runs: list[str] = []

    def attempt(program: str) -> ProgramAttempt:
        runs.append(program)
        if program == "print(1)":
            return ProgramAttempt(run=run(files=(MadeFile(name="x", bytes=1, sha256="0"),)))
        return ProgramAttempt(run=run(exit=1, stderr="NameError: name 'undefined' is not defined"), level=2)

    task = program_tasks(PROTOCOL)[0]
    with writer(*programs) as (client, server):
        program, record = write_program(task, client, Meter(Limits()), attempt)
    assert (program, runs, record.success) == ("print(1)", programs[1:], True)
    assert [a.level for a in record.attempts] == [1, 2, None]
    assert record.written_by == MODEL
    sent = [r["messages"][-1]["content"] for r in server.requests]
    assert "before" not in json.loads(sent[0])
    assert json.loads(sent[1])["before"]["errors"] == ["ModuleNotFoundError: there is no module 'jsn'"]
    assert "NameError" in json.loads(sent[2])["before"]["errors"][0]


def test_a_writer_that_never_gets_there_is_stopped() -> None:
    task = program_tasks(PROTOCOL)[0]
    with writer("import jsn") as (client, _):
        # What fails the gate is not run.
        _, record = write_program(task, client, Meter(Limits()), lambda _: pytest.fail("it was run"), most=3)
        assert (record.success, [(a.level, a.run) for a in record.attempts]) == (False, [(1, None)] * 3)
        with pytest.raises(BudgetExceeded):
            write_program(task, client, Meter(Limits(tokens=1)), lambda _: pytest.fail("it was run"))
