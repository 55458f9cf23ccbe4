"""Statements of a model over an embedded store, and attacks on it: each of the two layers holds by itself.

The layers are the guard (`read_statement`; alone in tests/unit/test_reading.py) and the process that runs what it lets
pass. Here the raw attacks go straight into that process, and then both layers are tried together.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import ladybug
import landlock
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kgcheck.agents.tool_types import CypherResult
from kgcheck.agents.toolbox import Toolbox
from kgcheck.agents.transcript import AgentRole
from kgcheck.errors import StoreError, StoreUnavailable, StoreUnguarded, UsageError
from kgcheck.graph.embedded import EmbeddedStore
from kgcheck.graph.query_process import QueryProcess
from kgcheck.graph.reading import read_statement
from kgcheck.graph.store import Reading
from kgcheck.profile.schema import load_schema
from tests.support.attacks import SECRET, UNDISGUISED, Canaries, attacks
from tests.support.audits import demo
from tests.unit.test_llm_brain import Source

CKG = load_schema()
SOME = settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
MANY = settings(SOME, max_examples=2000)


@pytest.fixture
def canaries(tmp_path: Path) -> Iterator[Canaries]:
    folder = tmp_path / "canaries"
    folder.mkdir()
    before = untouched()
    with Canaries(folder) as made:
        yield made
    assert demo().store.read_bytes() == before


@pytest.fixture(scope="module")
def guarded() -> Iterator[QueryProcess]:
    process = QueryProcess(demo().store)
    yield process
    process.close()


def raw(process: QueryProcess, text: str, timeout_s: float = 5.0) -> str:
    """Everything that comes back from a statement that no guard has seen."""
    try:
        return json.dumps(process.rows(Reading(text, {}, ()), 100, timeout_s))
    except (StoreError, RuntimeError) as error:
        return str(error)


def pid(process: QueryProcess) -> int:
    assert process._process is not None
    return process._process.pid


def children(parent: int) -> list[str]:
    return Path(f"/proc/{parent}/task/{parent}/children").read_text().split()


def test_without_the_layers_the_attacks_do_harm(canaries: Canaries, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise nothing here would mean anything."""
    monkeypatch.setenv("HOME", str(canaries.folder))
    shown = []
    with ladybug.Database(str(demo().store), read_only=True) as database, ladybug.Connection(database) as connection:
        for attack in UNDISGUISED[:4]:
            try:
                result = connection.execute(canaries.aim(attack))
                assert isinstance(result, ladybug.QueryResult)
                shown.append(str(result.get_all()))
            except RuntimeError as error:
                shown.append(str(error))

    harm = canaries.harm(" ".join(shown))

    assert "a file was read" in harm
    assert any("written.csv" in found for found in harm)
    assert any("requests came" in found for found in harm)
    assert canaries.ran.exists() or not canaries.library.stat().st_size


@cache
def untouched() -> bytes:
    """The file of the store, which no attack may change."""
    return demo().store.read_bytes()


def stamp(path: Path) -> tuple[int, int, int]:
    """What changes when a file is written to: to read it whole after each of thousands of attacks would take longer."""
    seen = path.stat()
    return seen.st_ino, seen.st_size, seen.st_mtime_ns


def assert_harmless_raw(process: QueryProcess, canaries: Canaries, attack: str) -> None:
    before = stamp(demo().store)
    shown = raw(process, canaries.aim(attack))
    assert canaries.harm(shown) == []
    assert stamp(demo().store) == before
    if process._process is not None:
        assert children(pid(process)) == []


@pytest.mark.parametrize("attack", UNDISGUISED)
def test_the_process_alone_stops_what_the_store_would_do(
    guarded: QueryProcess, canaries: Canaries, attack: str
) -> None:
    assert_harmless_raw(guarded, canaries, attack)


@given(attack=attacks())
@SOME
def test_the_process_alone_stops_attacks(guarded: QueryProcess, canaries: Canaries, attack: str) -> None:
    assert_harmless_raw(guarded, canaries, attack)


@pytest.mark.slow
@given(attack=attacks())
@MANY
def test_the_process_alone_stops_two_thousand_attacks(guarded: QueryProcess, canaries: Canaries, attack: str) -> None:
    assert_harmless_raw(guarded, canaries, attack)


@pytest.fixture(scope="module")
def toolbox() -> Iterator[Toolbox]:
    with EmbeddedStore(demo().store, CKG) as store:
        yield Toolbox(store, Source())


def assert_harmless(toolbox: Toolbox, canaries: Canaries, attack: str) -> None:
    try:
        found = toolbox.call(AgentRole.KG, "cypher", {"query": canaries.aim(attack)})
        assert isinstance(found, CypherResult)
        shown = found.model_dump_json()
    except UsageError as error:
        # The message may quote the statement, but nothing that it asked for.
        shown = str(error).replace(attack, "")
    assert canaries.harm(shown) == []


@given(attack=attacks())
@SOME
def test_the_tool_stops_attacks(toolbox: Toolbox, canaries: Canaries, attack: str) -> None:
    assert_harmless(toolbox, canaries, attack)


@pytest.mark.slow
@given(attack=attacks())
@MANY
def test_the_tool_stops_two_thousand_attacks(toolbox: Toolbox, canaries: Canaries, attack: str) -> None:
    assert_harmless(toolbox, canaries, attack)


WANTED = """
import ctypes, json, os, socket, subprocess, sys
from pathlib import Path
from kgcheck.graph import sandbox
store, secret, folder, port = Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])
import select, signal, encodings.idna
held = os.open(secret, os.O_RDONLY)
def shell():
    if os.system("true") != 0:
        raise OSError
attempts = {
    "read": lambda: open(secret).read(),
    "list": lambda: os.listdir(folder),
    "write": lambda: open(folder + "/new", "w"),
    "overwrite": lambda: open(store, "r+b"),
    "append": lambda: open(secret, "a"),
    "unlink": lambda: os.unlink(secret),
    "rename": lambda: os.rename(secret, folder + "/new"),
    "link": lambda: os.link(secret, folder + "/new"),
    "symlink": lambda: os.symlink(secret, folder + "/new"),
    "mkdir": lambda: os.mkdir(folder + "/new"),
    "chmod": lambda: os.chmod(secret, 0o777),
    "utime": lambda: os.utime(secret),
    "truncate": lambda: os.truncate(secret, 0),
    "tcp": lambda: socket.create_connection(("127.0.0.1", port)),
    "udp": lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM),
    "unix": lambda: socket.socket(socket.AF_UNIX),
    "socketpair": lambda: socket.socketpair(),
    "fork": lambda: os.fork(),
    "exec": lambda: os.execv("/bin/true", ["true"]),
    "spawn": lambda: subprocess.run(["/bin/true"]),
    "shell": shell,
    "kill": lambda: os.kill(os.getppid(), 0),
    "environ": lambda: open("/proc/self/environ").read(),
    "library": lambda: ctypes.CDLL(folder + "/library.so"),
    "limits": lambda: __import__("resource").setrlimit(1, (1, 1)),
    "memory": lambda: bytearray(1 << 30),
}
try:
    sandbox.enter(store, memory=1 << 28)
except Exception as error:
    print(json.dumps({"refused": str(error)}))
    raise SystemExit
done = []
for name, attempt in attempts.items():
    try:
        attempt()
        done.append(name)
    except (OSError, MemoryError, ValueError):
        pass
print(json.dumps({"done": done, "store": len(store.read_bytes())}))
"""


def confined(code: str, *arguments: object) -> dict[str, object]:
    ran = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True, timeout=60, check=True
    )
    said: dict[str, object] = json.loads(ran.stdout)
    return said


def test_a_guarded_process_can_do_nothing_but_read_the_store(canaries: Canaries) -> None:
    port = canaries.places["{URL}"].split(":")[2].split("/")[0]

    said = confined(WANTED, demo().store, canaries.secret, canaries.folder, port)

    assert said == {"done": [], "store": demo().store.stat().st_size}
    assert canaries.harm() == []


def test_a_process_with_threads_is_not_guarded(canaries: Canaries) -> None:
    waiting = "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n"
    code = waiting + WANTED

    said = confined(code, demo().store, canaries.secret, canaries.folder, 1)

    assert "2 threads" in str(said["refused"])


def test_a_machine_that_cannot_guard_refuses_the_tool(monkeypatch: pytest.MonkeyPatch, toolbox: Toolbox) -> None:
    def missing() -> int:
        raise OSError(95, "Operation not supported")

    with EmbeddedStore(demo().store, CKG) as store:
        monkeypatch.setattr(landlock, "landlock_abi_version", missing)
        with pytest.raises(StoreUnguarded, match="the kernel offers no Landlock") as raised:
            store.query(read_statement("MATCH (p:Protein) RETURN p.id", CKG, "embedded"), 1, 5.0)
        with pytest.raises(UsageError, match="cannot be run here"):
            Toolbox(store, Source()).call(AgentRole.KG, "cypher", {"query": "MATCH (p:Protein) RETURN p.id"})
        assert "Landlock" in raised.value.hint


def test_a_store_that_is_open_for_writing_is_not_asked(tmp_path: Path) -> None:
    with EmbeddedStore(tmp_path / "graph.lbdb", CKG, create=True) as store:
        store.prepare()
        with pytest.raises(StoreError, match="open for writing"):
            store.query(Reading("RETURN 1", {}, ("1",)), 1, 5.0)


def test_a_statement_that_takes_too_long_is_ended_and_the_next_one_runs(guarded: QueryProcess) -> None:
    slow = (
        "MATCH (a:Protein),(b:Protein),(c:Protein),(d:Protein),(e:Protein),(f:Protein)"
        " WHERE (a.id + b.id + c.id + d.id + e.id + f.id) CONTAINS 'zzz' RETURN count(*)"
    )
    began = time.monotonic()
    assert "Interrupted" in raw(guarded, slow, 0.5) or "too long" in raw(guarded, slow, 0.5)
    assert time.monotonic() - began < 10
    assert raw(guarded, "MATCH (p:Protein {id: 'O60502'}) RETURN p.id") == '[["O60502"]]'


def test_a_process_that_hangs_is_killed(guarded: QueryProcess) -> None:
    raw(guarded, "RETURN 1")
    held = pid(guarded)
    os.kill(held, signal.SIGSTOP)
    with pytest.raises(StoreUnavailable, match="too long"):
        guarded.rows(Reading("RETURN 1", {}, ()), 1, 0.2)
    assert not Path(f"/proc/{held}").exists()
    assert raw(guarded, "RETURN 1") == "[[1]]"


def test_a_process_that_died_is_started_again(guarded: QueryProcess) -> None:
    raw(guarded, "RETURN 1")
    os.kill(pid(guarded), signal.SIGKILL)
    time.sleep(0.2)
    assert raw(guarded, "RETURN 1") == "[[1]]"


@pytest.mark.parametrize(
    "line",
    [
        b"[1]\n",
        b"page\n",
        b'{"rows": 5}\n',
        b'{"rows": [5]}\n',
        b'{"rows": [[1], [1, 2]]}\n',
        b'{"rows": ' + b"[[1]," * 100 + b"[1]" + b"]" * 100 + b"}\n",
        b'{"rows": ' + b"[" * 100_000 + b"\n",
        b'{"rows": [[1]], "more": 1}\n',
        b'{"refused": 7}\n',
        b'{"rows": [["\xff"]]}\n',
        b'{"rows": [' + b"[1]," * 200 + b"[1]]}\n",
    ],
    ids=range(11),
)
def test_what_is_no_answer_is_refused_and_the_process_ended(
    guarded: QueryProcess, monkeypatch: pytest.MonkeyPatch, line: bytes
) -> None:
    """Statements of others run there, so that what it says is not trusted either."""
    raw(guarded, "RETURN 1")
    with monkeypatch.context() as lying:
        lying.setattr("kgcheck.graph.query_process._line", lambda *_: line)
        assert "gave what is no answer" in raw(guarded, "RETURN 1")
    assert raw(guarded, "RETURN 1") == "[[1]]"


@pytest.mark.slow
def test_too_much_memory_or_text_is_refused_and_the_next_one_runs(guarded: QueryProcess) -> None:
    hungry = (
        "MATCH (a:Protein),(b:Protein),(c:Protein),(d:Protein),(e:Protein)"
        " WITH collect(a.id + b.id + c.id + d.id) AS x RETURN size(x)"
    )
    assert "memory" in raw(guarded, hungry, 60.0).lower() or "too much" in raw(guarded, hungry, 60.0)
    long = "MATCH (a:Protein),(b:Protein),(c:Protein) RETURN collect(a.id + b.id + c.id)"
    assert "too much" in raw(guarded, long, 60.0)
    assert raw(guarded, "RETURN 1") == "[[1]]"


def test_closing_the_store_ends_the_process() -> None:
    with EmbeddedStore(demo().store, CKG) as store:
        store.query(read_statement("MATCH (p:Protein) RETURN p.id", CKG, "embedded"), 1, 5.0)
        assert store._guarded is not None
        held = pid(store._guarded)
        assert Path(f"/proc/{held}").exists()
        assert SECRET not in Path(f"/proc/{held}/environ").read_text()
    assert not Path(f"/proc/{held}").exists()


@given(st.lists(st.sampled_from(["a", "'", '"', "\\", "\n", "é", "\u2028", "\U0001f9ec"]), max_size=6).map("".join))
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_text_arrives_as_it_is(toolbox: Toolbox, value: str) -> None:
    escaped = "".join(f"\\U{ord(c):08X}" for c in value)
    found = toolbox.call(
        AgentRole.KG, "cypher", {"query": f"MATCH (p:Protein {{id: 'O60502'}}) RETURN '{escaped}' AS x"}
    )
    assert isinstance(found, CypherResult)
    assert found.rows == ({"x": value},)
