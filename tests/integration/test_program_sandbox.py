"""Programs that want out of the sandbox: none gets out, and each leaves a clear record."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from kgcheck.errors import InputFormat, ProgramError
from kgcheck.protocols.programs.made import read_program_results
from kgcheck.protocols.programs.record import Guard, ProgramLimits, ProgramRun
from kgcheck.protocols.programs.sandbox import best_guard, bubblewrap, run_program
from tests.support.attacks import SECRET, Canaries
from tests.support.hostile_programs import ESCAPED, HostileProgram, hostile_programs

SMALL = ProgramLimits(
    seconds=120, processor_seconds=1, memory_mib=256, disk_mib=8, files=200, output_kib=64, threads=8, open_files=32
)
HOSTILE = hostile_programs()
FEW = {"reads a file outside", "calls over TCP", "bombs with threads", "makes deep folders", "ignores every signal"}
GUARDS: tuple[Guard, ...] = ("bubblewrap", "landlock")

try:
    best_guard()
except ProgramError as missing:
    pytest.skip(missing.message, allow_module_level=True)


@pytest.fixture(scope="module")
def canaries(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Canaries]:
    folder = tmp_path_factory.mktemp("canaries")
    with Canaries(folder) as made, pytest.MonkeyPatch.context() as patch:
        patch.setenv("KGCHECK_LLM_API_KEY", SECRET)
        yield made


def ran(text: str, folder: Path, guard: Guard, limits: ProgramLimits = SMALL) -> ProgramRun:
    if guard == "bubblewrap" and not bubblewrap():
        pytest.skip("this machine has no Bubblewrap that works")
    return run_program(text, folder, limits=limits, guard=guard)


def processes() -> set[int]:
    own = os.getpid()
    return {int(child) for child in Path(f"/proc/{own}/task/{own}/children").read_text().split()}


def assert_shut_in(program: HostileProgram, guard: Guard, folder: Path, canaries: Canaries) -> None:
    before = processes()
    limits = SMALL.model_copy(update={"seconds": 2}) if program.limit == "seconds" else SMALL
    run = ran(canaries.aim(program.text), folder / "work", guard, limits)

    # A traceback quotes the program, but shows nothing that it got.
    assert ESCAPED not in run.stdout
    assert canaries.harm(run.stdout + run.stderr.replace(canaries.aim(program.text), "")) == []
    assert processes() == before
    assert run.limit if program.limit == "any" else run.limit == program.limit
    assert (run.exit is None) == bool(run.signal)
    assert {path.name for path in folder.iterdir()} <= {"work"}
    assert sum(file.bytes for file in run.files) <= SMALL.disk_mib << 20
    assert len(run.stdout) <= 4 * SMALL.output_kib << 10
    if run.limit:
        assert not run.clean
    with_results = (folder / "work/results.json").exists()
    if with_results:
        with pytest.raises(InputFormat):
            read_program_results(folder / "work")


def test_there_are_a_hundred_hostile_programs() -> None:
    assert len(HOSTILE) >= 100
    assert len({program.name for program in HOSTILE}) == len(HOSTILE)


@pytest.mark.parametrize("program", [p for p in HOSTILE if p.name in FEW], ids=lambda p: p.name)
def test_a_hostile_program_is_shut_in(program: HostileProgram, tmp_path: Path, canaries: Canaries) -> None:
    assert_shut_in(program, best_guard(), tmp_path, canaries)


@pytest.mark.slow
@pytest.mark.parametrize("guard", GUARDS)
@pytest.mark.parametrize("program", HOSTILE, ids=lambda p: p.name)
def test_every_hostile_program_is_shut_in(
    program: HostileProgram, guard: Guard, tmp_path: Path, canaries: Canaries
) -> None:
    assert_shut_in(program, guard, tmp_path, canaries)
