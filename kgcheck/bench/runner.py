"""Run a function over many items in threads, resumably, with results in a JSON Lines file.

A result is one line, written whole once its item is done; what a kill left of a line is cut off when the batch goes on.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeVar

from kgcheck.errors import (
    LET_READ,
    LET_WRITE,
    BudgetSpent,
    ChangedMeanwhile,
    InputError,
    InputFormat,
    KgcheckError,
    UsageError,
)
from kgcheck.inputs import parse_json, read_whole
from kgcheck.locks import lock_open_file
from kgcheck.outputs import make_folder, write_text
from kgcheck.progress import NoProgress, Progress
from kgcheck.visible import as_json

T = TypeVar("T")
Result = dict[str, Any]

_WINDOW = 4
"""Items a worker that are handed out ahead, so that no worker waits and an endless list is not read at once."""


class Batch(NamedTuple):
    """Progress of a batch: items done now, done before, and those of now that ended with an error."""

    done: int
    before: int
    failed: int


def run_batch(
    items: Iterable[tuple[str, T]],
    work: Callable[[T], Result],
    out: Path,
    *,
    workers: int = 1,
    progress: Progress | None = None,
    description: str = "working",
    total: int | None = None,
) -> Batch:
    """Do every item that has no result yet.

    An error of the tree ends its item alone: the result is ``{"id": ..., "error": ...}``, and the item is done again
    when the batch is run again. Where the budget of the whole batch is spent, no further item is begun, and those that
    it stopped stay open. Any other error ends the batch; what is done stays done.
    """
    spent: list[BudgetSpent] = []
    with _appending(out) as file:
        kept = {i for i, result in _read(file, out).items() if "error" not in result}
        before = failed = done = 0
        file.seek(0, 2)
        with (
            (progress or NoProgress()).step(description, total) as step,
            ThreadPoolExecutor(max_workers=max(workers, 1)) as pool,
        ):
            running: dict[Future[Result], str] = {}
            try:
                for name, item in _once(items):
                    if name in kept:
                        before += 1
                        step.advance()
                        continue
                    if spent:
                        break
                    running[pool.submit(_guarded, work, item)] = name
                    while len(running) >= workers * _WINDOW:
                        n, bad = _collect(running, file, out, spent)
                        done, failed = done + n, failed + bad
                        step.advance(n)
                while running:
                    n, bad = _collect(running, file, out, spent)
                    done, failed = done + n, failed + bad
                    step.advance(n)
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
    if spent:
        raise spent[0]
    return Batch(done, before, failed)


def read_results(path: Path) -> dict[str, Result]:
    """Results by id, in the order in which the items were first done; the last line of an id counts."""
    try:
        with path.open("rb") as file:
            return _read(file, path)
    except OSError as error:
        raise InputError(f"cannot read the results {path}: {error.strerror}", LET_READ) from error


def keep_options(folder: Path, options: Mapping[str, Any]) -> None:
    """Write down what a batch was asked for, or refuse to go on with one that was asked for something else."""
    path = folder / "batch.json"
    try:
        make_folder(folder)
        if path.exists():
            before = parse_json(read_whole(path))
            wanted = json.loads(json.dumps(options))
            if before != wanted:
                names = sorted(k for k in {*before, *wanted} if before.get(k) != wanted.get(k))
                if "graph" in names:
                    raise ChangedMeanwhile(
                        f"the graph has changed since the batch in {folder} began", "name another folder with --out"
                    )
                raise UsageError(
                    f"{folder} holds a batch with other options: {', '.join(names)}", "name another folder with --out"
                )
            return
        write_text(path, json.dumps(options, indent=2, sort_keys=True) + "\n")
    except OSError as error:
        raise InputError(f"cannot write to {folder}: {error.strerror}", "name another folder with --out") from error
    except ValueError as error:
        raise InputFormat(f"{path} is not what a batch left there", "name another folder with --out") from error


def _guarded(work: Callable[[T], Result], item: T) -> Result:
    try:
        return work(item)
    except BudgetSpent:
        raise
    except KgcheckError as error:
        return {"error": error.message}


def _collect(
    running: dict[Future[Result], str], file: IO[bytes], out: Path, spent: list[BudgetSpent]
) -> tuple[int, int]:
    """Write what is done: how many items, and how many of them with an error."""
    finished, _ = wait(running, return_when=FIRST_COMPLETED)
    done = failed = 0
    for future in finished:
        name = running.pop(future)
        try:
            result = future.result()
        except BudgetSpent as error:
            spent.append(error)
            continue
        done += 1
        failed += "error" in result
        try:
            file.write(as_json({"id": name, **result}).encode() + b"\n")
            file.flush()
        except OSError as error:
            raise InputError(f"cannot write the results {out}: {error.strerror}", "free disk space") from error
    return done, failed


def _once(items: Iterable[tuple[str, T]]) -> Iterator[tuple[str, T]]:
    seen: set[str] = set()
    for name, item in items:
        if name in seen:
            raise UsageError(f"two items have the id {name!r}", "give each item an id of its own")
        seen.add(name)
        yield name, item


@contextmanager
def _appending(out: Path) -> Iterator[IO[bytes]]:
    try:
        make_folder(out.parent)
        file = out.open("a+b")
    except OSError as error:
        raise InputError(f"cannot write the results {out}: {error.strerror}", LET_WRITE) from error
    with file:
        if not lock_open_file(file.fileno(), exclusive=True):
            raise UsageError(f"another process is writing to {out}", "wait until it ends")
        file.seek(0)
        text = file.read()
        file.truncate(text.rfind(b"\n") + 1)
        yield file


def _read(file: IO[bytes], path: Path) -> dict[str, Result]:
    file.seek(0)
    results: dict[str, Result] = {}
    for number, line in enumerate(file, 1):
        if not line.endswith(b"\n"):
            break
        try:
            result = parse_json(line)
            results[result["id"]] = result
        except (ValueError, TypeError, KeyError) as error:
            raise InputFormat(f"{path}, line {number}: not a result", "name another file") from error
    return results
