"""`make test` draws the same examples for everybody, `make test-random` others, which its seed repeats."""

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.support import ROOT
from tests.support.chance import new_seed

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
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-s",
        "-p",
        "no:cacheprovider",
        "-p",
        "tests.support.chance",
        str(folder),
    ]
    left = {
        name: value
        for name, value in os.environ.items()
        if name not in ("CI", "KGCHECK_TEST_SEED", "KGCHECK_TEST_ORDER")
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


def test_without_a_seed_everybody_draws_the_same(tmp_path: Path) -> None:
    lines, said = drawn(tmp_path)

    assert drawn(tmp_path, CI="true")[0] == lines
    assert "make test-random" not in said
    assert len(lines) > 10


def test_a_seed_draws_anew_and_repeats(tmp_path: Path) -> None:
    lines, said = drawn(tmp_path, KGCHECK_TEST_SEED="7")

    assert drawn(tmp_path, KGCHECK_TEST_SEED="7")[0] == lines
    other, _ = drawn(tmp_path, KGCHECK_TEST_SEED="8")
    assert other != lines
    assert other[-1] != lines[-1]
    assert "KGCHECK_TEST_SEED=7 make test-random repeats" in said


def test_a_generator_of_our_own_has_the_seed_that_is_given() -> None:
    assert "KGCHECK_TEST_SEED" in os.environ or new_seed(11) == 11


def test_tests_run_in_any_order_that_its_seed_repeats(tmp_path: Path) -> None:
    text = "".join(f"def test_{n}(): print('drawn', {n})\n" for n in range(8))
    orders = [drawn(tmp_path, text, KGCHECK_TEST_ORDER=seed)[0] for seed in ("1", "1", "2")]

    assert orders[0] == orders[1] != orders[2]
    assert sorted(orders[0]) == sorted(orders[2])
