"""Rich consoles of the command line: tables on stdout, progress bars on stderr."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as RichBar

from kgcheck.cli.output import is_quiet
from kgcheck.progress import NoProgress, ProgressStep
from kgcheck.report.safe_console import SafeConsole

_PIPE_WIDTH = 180


def errors() -> Console:
    """The console of stderr."""
    return SafeConsole(stderr=True, quiet=is_quiet())


def results() -> Console:
    """The console of stdout; what goes into a pipe or a file has room for long lines, unless COLUMNS says how much."""
    console = SafeConsole()
    is_set = os.environ.get("COLUMNS", "").isdecimal()
    return console if console.is_terminal or is_set else SafeConsole(width=_PIPE_WIDTH)


class RichProgress:
    """Shows every step as a bar on stderr; on no terminal, one line a step."""

    def __init__(self) -> None:
        self._console = errors()

    @contextmanager
    def step(self, description: str, total: int | None = None) -> Iterator[ProgressStep]:
        if self._console.quiet or not self._console.is_terminal:
            self._console.print(f"{description} ...", soft_wrap=True)
            with NoProgress().step(description) as step:
                yield step
            return
        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
        )
        with RichBar(*columns, console=self._console) as bar:
            yield _Shown(bar, description, total)


class _Shown:
    def __init__(self, bar: RichBar, description: str, total: int | None) -> None:
        self._bar = bar
        self._task = bar.add_task(description, total=total)

    def advance(self, amount: int = 1) -> None:
        self._bar.advance(self._task, amount)
