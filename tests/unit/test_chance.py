"""`make test` draws the same examples for everybody, `make test-random` others, which its seed repeats."""

import os
import re
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

from kgcheck import clock
from tests.support import ROOT
from tests.support.startup.sitecustomize import DAYS

DRAWING = """
from hypothesis import given, strategies as st

from tests.support.chance import new_seed

@given(st.integers(), st.text())
def test_that_draws(number, text):
    print("drawn", number, ascii(text))

def test_that_has_a_generator():
    print("drawn", new_seed(3))
"""


def drawn(folder: Path, text: str = DRAWING, **environment: str) -> tuple[list[str], str]:
    """The examples of a run, and all that it says."""
    file = folder / "test_drawing.py"
    file.write_text(text)
    words = "-m pytest -s -p no:cacheprovider -p tests.support.chance"
    command = [sys.executable, *words.split(), str(folder)]
    left = {
        name: value
        for name, value in os.environ.items()
        if name not in ("CI", "KGCHECK_TEST_SEED", "KGCHECK_TEST_ORDER", "KGCHECK_TEST_DAYS")
    }
    done = subprocess.run(
        [*command, "--rootdir", str(folder), "-c", os.devnull],
        cwd=folder,
        env=left | {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"} | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return re.findall("drawn.*", done.stdout), done.stdout


AT_A_TIME = """
import subprocess
import sys

import time_machine

from kgcheck import clock
from tests.support import ROOT

CODE = "from kgcheck import clock; print('drawn', clock.today())"

def test_that_asks_for_the_day():
    print("drawn", clock.today())
    print(subprocess.check_output([sys.executable, "-c", CODE], text=True))

@time_machine.travel("2026-11-21T12:00Z")
def test_that_travels():
    print("drawn", clock.now().isoformat())
"""


def test_the_suite_runs_on_another_day_in_its_child_processes_too(tmp_path: Path) -> None:
    day = clock.today()
    lines, said = drawn(tmp_path, AT_A_TIME, KGCHECK_TEST_DAYS="400")

    shift = 0 if DAYS else 400  # day is of that other day already
    assert lines[0] in (f"drawn {day + timedelta(days=shift + night)}" for night in (0, 1))
    assert lines[1] in (f"drawn {day + timedelta(days=shift + night)}" for night in (0, 1))
    assert lines[2] == "drawn 2026-11-21T12:00:00+00:00"
    assert "400 days from now: KGCHECK_TEST_DAYS=400 make test repeats it" in said


def test_without_a_seed_everybody_draws_the_same_and_with_one_anew_and_again(tmp_path: Path) -> None:
    lines, said = drawn(tmp_path)

    assert drawn(tmp_path, CI="true")[0] == lines
    assert "make test-random" not in said
    assert len(lines) > 10
    other, said = drawn(tmp_path, KGCHECK_TEST_SEED="7")
    assert drawn(tmp_path, KGCHECK_TEST_SEED="7")[0] == other
    assert other != lines
    assert other[-1] != lines[-1]
    assert "KGCHECK_TEST_SEED=7 make test-random repeats" in said
