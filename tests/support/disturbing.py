"""Commands that are killed, or whose disk fails, at the n-th change of a file; and the same commands undisturbed.

How many changes there are is counted by a run that nothing disturbs. Where one is cut is drawn with a seed.
"""

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple

import pytest

from tests.support import ROOT
from tests.support.chance import new_seed
from tests.support.sharing import made_once

Fault = Literal["kill", "eio", "none"]

KILLED = -9


class Ended(NamedTuple):
    """How a command ended, and after how many changes of files."""

    code: int
    out: str
    err: str
    changes: int


@cache
def _library() -> Path:
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler on this machine")

    def make(folder: Path) -> None:
        source = Path(__file__).with_name("faulty_disk.c")
        command = [compiler, "-shared", "-fPIC", "-O1", "-o", str(folder / "faulty.so"), str(source), "-ldl"]
        subprocess.run(command, check=True, timeout=60)

    return made_once("faulty-disk", make) / "faulty.so"


def run_disturbed(
    *command: object, under: Path, cwd: Path, fault: Fault = "none", at: int = 0, times: int = 1, timeout_s: int = 240
) -> Ended:
    """Run a command of kgcheck."""
    counter = cwd / ".changes"
    counter.write_bytes(bytes(8))
    more = {
        "LD_PRELOAD": str(_library()),
        "FAULTY_UNDER": f"{under.resolve()}/",
        "FAULTY_COUNT": str(counter),
        "FAULTY_AT": str(at if fault != "none" else 0),
        "FAULTY_HOW": fault,
        "FAULTY_TIMES": str(times),
        "PYTHONPATH": str(ROOT),
    }
    done = subprocess.run(
        [sys.executable, "-m", "kgcheck", *map(str, command)],
        cwd=cwd, env=os.environ | more, capture_output=True, text=True, timeout=timeout_s,
    )  # fmt: skip
    changes = int.from_bytes(counter.read_bytes(), sys.byteorder)
    return Ended(done.returncode, done.stdout, done.stderr, changes)


def points(changes: int, number: int, seed: int) -> Iterator[int]:
    """So many places among the changes of a command, drawn anew; the first and the last are among them."""
    choice = random.Random(new_seed(seed))  # noqa: S311 - where to kill, not a secret
    yield from [1, changes, *(choice.randrange(1, changes + 1) for _ in range(number - 2))][:number]
