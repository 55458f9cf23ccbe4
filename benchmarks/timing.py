"""How the benchmarks measure and what they print."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from typing import NamedTuple


class Row(NamedTuple):
    """One line of a table."""

    what: str
    ours: str
    raw: str
    ratio: str


class Spent(NamedTuple):
    """What a program took."""

    seconds: float
    peak_mib: int
    exit_code: int
    cpu_s: float

    def __str__(self) -> str:
        return f"{self.seconds:.1f} s, {self.peak_mib:,} MiB"


def print_table(rows: Iterable[Row]) -> None:
    """Print rows as a Markdown table."""
    lines = ["| what | kgcheck | raw engine | ratio |", "| --- | --- | --- | --- |"]
    lines += [f"| {r.what} | {r.ours} | {r.raw} | {r.ratio} |" for r in rows]
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()


def timed(work: Callable[[], object]) -> float:
    """Seconds that a piece of work takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


_AS_INSTALLED = """
import runpy, sys

class WithoutPandas:
    @staticmethod
    def find_spec(name, *_):
        if name == "pandas":
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, WithoutPandas)
sys.argv = sys.argv[1:]
runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
"""
"""Runs a module without pandas: kgcheck does not need it, and where tests have installed it, pyarrow imports it."""


def spent(*arguments: str, allowed: tuple[int, ...] = (0,)) -> Spent:
    """What a Python module takes in a process of its own: ``spent("kgcheck", "load", ...)``.

    Returns:
        Seconds, peak memory and exit code.

    Raises:
        RuntimeError: It ended with another exit code than those allowed.
    """
    started = time.perf_counter()
    program = [sys.executable, "-c", _AS_INSTALLED, *arguments]
    # What is installed is compiled: to do so again at each start takes longer than all imports.
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    process = subprocess.Popen(program, stdout=subprocess.DEVNULL, env=kept)  # noqa: S603
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in allowed:
        raise RuntimeError(f"{' '.join(arguments)} ended with {process.returncode}")
    cpu_s = usage.ru_utime + usage.ru_stime
    return Spent(seconds, usage.ru_maxrss >> 10, process.returncode, cpu_s)
