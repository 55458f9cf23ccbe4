"""Checks with live sources end in time and say how; a process that is asked to end tidies up and says how to go on."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from kgcheck import deadline
from kgcheck.errors import SourceDeadline
from kgcheck.model import Reason
from kgcheck.providers.http import Http
from kgcheck.providers.uniprot import UniProt
from tests.support import PYTHONPATH, loopback
from tests.support.audits import demo, kgcheck
from tests.support.loopback import Fault
from tests.support.services import entry
from tests.support.world import World, running

PATIENT = {"http_attempts": 9, "http_timeout_s": 30, "http_total_s": 30}
"""Limits that do not end a call before the check does."""

LONG_S = 12.0


@pytest.fixture
def world(shared_data: Path, tmp_path: Path) -> Iterator[World]:
    with running(shared_data, tmp_path) as made:
        yield made


def checked(world: World, monkeypatch: pytest.MonkeyPatch, folder: Path, **settings: Any) -> tuple[dict[str, Any], str]:
    """The verdict of a check that has a second, and what stood on stderr."""
    world.environment(monkeypatch, **(PATIENT | settings))
    world.uniprot.add(entry("P05067"), entry("P22303"))
    world.string.knows(P05067="9606.F1", P22303="9606.F2")
    asked = ("check", "P05067 ACTS_ON P22303", "--live", "--seconds", 1, "--store", demo().store)
    started = time.monotonic()
    said = kgcheck(*asked, "--ledger", folder / "ledger.sqlite", "--format", "json", cwd=folder)

    # A second for the check, the rest for a machine with other work.
    assert time.monotonic() - started < LONG_S - 2
    assert said.code == 3
    found: dict[str, Any] = json.loads(said.out)
    return found, said.err


SLOW: dict[str, Fault] = {
    "no headers": loopback.slow_headers(LONG_S),
    "dripping headers": loopback.dripping_headers(LONG_S),
    "dripping body": loopback.slow_body(LONG_S),
    "asked to wait": loopback.busy("30"),
    "broken again and again": loopback.answers(200, b"x"),
}


@pytest.mark.parametrize("kind", SLOW)
def test_a_check_ends_in_time_with_a_verdict(
    kind: str, world: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    world.uniprot.server.always = world.string.server.always = SLOW[kind]
    found, told = checked(world, monkeypatch, tmp_path)

    assert (found["outcome"], found["reason"]) == ("unavailable", Reason.SOURCE_UNAVAILABLE.value)
    assert "Traceback" not in told


def test_the_pace_of_calls_is_no_reason_to_be_late(
    world: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found, told = checked(world, monkeypatch, tmp_path, string_calls_per_s=0.01)

    assert (found["outcome"], found["reason"]) == ("unavailable", Reason.SOURCE_UNAVAILABLE.value)
    assert "the time ran out before STRING answered" in told


def test_time_that_ran_out_says_nothing_about_a_service(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = world.settings(http_pause_s=60)
    with Http(settings) as http:
        uniprot = UniProt(http, settings)
        world.uniprot.server.faults.append(loopback.slow_headers(2))
        with deadline.until(time.monotonic() + 0.2), pytest.raises(SourceDeadline):
            uniprot.record("P10001")
        assert uniprot.record("P10001").entry


def _until(true: Callable[[], object]) -> None:
    ends = time.monotonic() + 60
    while not true():
        assert time.monotonic() < ends
        time.sleep(0.05)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_process_that_is_asked_to_end_leaves_nothing_and_says_how_to_go_on(
    number: signal.Signals, world: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    world.environment(monkeypatch, **PATIENT)
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setenv("PYTHONPATH", PYTHONPATH)
    world.uniprot.server.always = loopback.slow_headers(LONG_S)
    audit = (sys.executable, "-m", "kgcheck", "audit", "--live", "--type", "existence", "--id", "I8FBX0")
    process = subprocess.Popen(
        [*audit, "--label", "Protein", "--store", str(demo().store)],
        cwd=tmp_path,
        env=dict(os.environ),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        _until(lambda: world.calls)
        assert list(temporary.iterdir())
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    finally:
        with suppress(ProcessLookupError):
            process.kill()

    assert process.returncode == 128 + number
    assert out == ""
    assert err.strip().splitlines()[-2:] == [
        "kgcheck: interrupted",
        "  kgcheck audit --resume goes on with an audit that was cut off",
    ]
    assert list(temporary.iterdir()) == []
    world.uniprot.server.always = None
    resumed = kgcheck("audit", "--resume", "--format", "json", cwd=tmp_path)
    assert (resumed.code, '"id_deleted"' in resumed.out) == (1, True)
