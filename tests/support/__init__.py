"""Helpers that the tests share and that are not tests themselves."""

import os
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")

SEED = os.environ.get("KGCHECK_TEST_SEED")
"""Of `make test-random`; the same number repeats a run."""

ROOT = Path(__file__).resolve().parents[2]
"""The checkout."""

PYTHONPATH = os.pathsep.join([str(ROOT), str(ROOT / "tests/support/startup")])
"""For what tests start as a process of its own: kgcheck, the tests, and their clock."""


def listed_by_git(*options: str) -> list[str]:
    """Names of files of the checkout, as `git ls-files` lists them with some options."""
    command = ["git", "ls-files", "-z", *options]
    listing = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [name for name in listing.split("\0") if name]


def quick_of(values: Iterable[Any], *quick: object) -> list[Any]:
    """Values of a parameter, of which all but a few are left to the slow tests."""
    import pytest  # what tests start as a process of its own has no need of it

    return [value if value in quick else pytest.param(value, marks=pytest.mark.slow) for value in values]


def some_of(values: Sequence[T], turn: int) -> Sequence[T]:
    """Values for one of many cases: all in `make test-random`, else every third, from another one on each turn."""
    return values if SEED else values[turn % 3 :: 3]


def examples(most: int) -> int:
    """How many examples a property gets: all of them in `make test-random`, else a third, or three."""
    return most if SEED else max(most // 3, min(most, 3))
