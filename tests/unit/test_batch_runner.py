"""The batch runner: each item once, whatever happens."""

import json
import multiprocessing
import os
import signal
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgcheck.bench.batches import keep_options, read_results, run_batch, set_aside
from kgcheck.errors import ChangedMeanwhile, InputError, InputFormat, KgcheckError, UsageError


def items(n: int) -> list[tuple[str, int]]:
    return [(f"q{i}", i) for i in range(n)]


def double(n: int) -> dict[str, int]:
    return {"value": 2 * n}


@pytest.mark.parametrize("workers", [1, 4])
def test_every_item_has_a_result(tmp_path: Path, workers: int) -> None:
    out = tmp_path / "deep" / "results.jsonl"

    batch = run_batch(items(50), double, out, workers=workers)

    assert batch == (50, 0, 0)
    assert {name: r["value"] for name, r in read_results(out).items()} == {f"q{i}": 2 * i for i in range(50)}


def test_what_is_done_is_not_done_again(tmp_path: Path) -> None:
    out = tmp_path / "results.jsonl"
    run_batch(items(3), double, out)
    seen: list[int] = []

    def note(n: int) -> dict[str, int]:
        seen.append(n)
        return double(n)

    assert run_batch(items(5), note, out) == (2, 3, 0)
    assert seen == [3, 4]
    assert len(out.read_text().splitlines()) == 5


def test_an_item_that_was_corrected_is_done_again(tmp_path: Path) -> None:
    out = tmp_path / "results.jsonl"
    run_batch(items(3), double, out)

    assert run_batch([("q0", 0), ("q1", 100), ("q2", 2)], double, out) == (1, 2, 0)
    assert {name: r["value"] for name, r in read_results(out).items()} == {"q0": 0, "q1": 200, "q2": 4}


def test_an_error_is_the_result_of_its_item_and_is_tried_again(tmp_path: Path) -> None:
    out = tmp_path / "results.jsonl"

    def fails(n: int) -> dict[str, int]:
        if n == 1:
            raise KgcheckError("the endpoint is down")
        return double(n)

    assert run_batch(items(3), fails, out) == (3, 0, 1)
    assert read_results(out)["q1"] == {"id": "q1", "error": "the endpoint is down"}
    assert run_batch(items(3), double, out) == (1, 2, 0)
    assert read_results(out)["q1"]["value"] == 2


def test_a_fault_ends_the_batch_and_keeps_what_is_done(tmp_path: Path) -> None:
    out = tmp_path / "results.jsonl"

    def broken(n: int) -> dict[str, int]:
        if n == 9:
            raise ZeroDivisionError
        return double(n)

    with pytest.raises(ZeroDivisionError):
        run_batch(items(20), broken, out)

    assert set(read_results(out)) >= {f"q{i}" for i in range(6)}


@given(st.integers(min_value=0))
def test_a_cut_line_costs_one_item(tmp_path_factory: pytest.TempPathFactory, cut: int) -> None:
    out = tmp_path_factory.mktemp("cut") / "results.jsonl"
    run_batch(items(4), double, out)
    whole = out.read_bytes()
    out.write_bytes(whole[: cut % (len(whole) + 1)])
    left = out.read_bytes().count(b"\n")

    assert run_batch(items(4), double, out) == (4 - left, left, 0)
    assert sorted(out.read_bytes().splitlines()) == sorted(whole.splitlines())


def test_a_killed_batch_goes_on(tmp_path: Path) -> None:
    out = tmp_path / "results.jsonl"
    child = multiprocessing.get_context("spawn").Process(target=_slowly, args=(out,))
    child.start()
    deadline = time.monotonic() + 30
    while (not out.exists() or out.read_bytes().count(b"\n") < 3) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert child.pid
    os.kill(child.pid, signal.SIGKILL)
    child.join()

    batch = run_batch(items(40), double, out, workers=2)

    assert batch.before >= 3
    assert batch.done + batch.before == 40
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert sorted(line["id"] for line in lines) == sorted(f"q{i}" for i in range(40))


def _slowly(out: Path) -> None:
    def slow(n: int) -> dict[str, int]:
        time.sleep(0.05)
        return double(n)

    run_batch(items(40), slow, out, workers=2)


def test_two_processes_do_not_write_to_one_file(tmp_path: Path) -> None:
    out = tmp_path / "results.jsonl"
    inside, leave = threading.Event(), threading.Event()

    def waits(n: int) -> dict[str, int]:
        inside.set()
        leave.wait(30)
        return double(n)

    first = threading.Thread(target=run_batch, args=(items(1), waits, out))
    first.start()
    inside.wait(30)
    try:
        with pytest.raises(UsageError, match="another process is writing"):
            run_batch(items(1), double, out)
    finally:
        leave.set()
        first.join()


def test_an_id_names_one_item(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="two items have the id 'a'"):
        run_batch([("a", 1), ("a", 2)], double, tmp_path / "results.jsonl")


def test_other_files_are_refused(tmp_path: Path) -> None:
    out = tmp_path / "results.jsonl"
    out.write_text("not json\n")
    with pytest.raises(InputFormat, match="line 1"):
        run_batch(items(1), double, out)
    with pytest.raises(InputError, match="cannot read"):
        read_results(tmp_path / "missing.jsonl")
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot write"):
        run_batch(items(1), double, tmp_path / "file" / "results.jsonl")


@pytest.mark.parametrize("run", [".", "run-2"])
def test_a_batch_of_a_graph_that_has_changed_begins_anew_and_keeps_its_results(tmp_path: Path, run: str) -> None:
    folder = tmp_path / run
    keep_options(folder, {"store": "s", "graph": "one"})
    run_batch(items(1), double, folder / "results.jsonl")
    before = (folder / "results.jsonl").read_bytes()

    with pytest.raises(ChangedMeanwhile, match="the graph has changed since the batch in"):
        keep_options(folder, {"store": "s", "graph": "two"})
    set_aside(tmp_path)
    keep_options(folder, {"store": "s", "graph": "two"})

    assert (folder / "results.before.jsonl").read_bytes() == before
    assert run_batch(items(1), double, folder / "results.jsonl").before == 0


def test_a_batch_goes_on_as_it_began(tmp_path: Path) -> None:
    keep_options(tmp_path, {"verifier": "trained", "scope": ("corpus",)})
    keep_options(tmp_path, {"verifier": "trained", "scope": ("corpus",)})

    with pytest.raises(UsageError, match="other options: verifier"):
        keep_options(tmp_path, {"verifier": "llm", "scope": ["corpus"]})

    (tmp_path / "batch.json").write_text("{")
    with pytest.raises(InputFormat, match=r"batch\.json"):
        keep_options(tmp_path, {"verifier": "llm"})
