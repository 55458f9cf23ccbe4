"""Commands that are killed at any change of a file, or whose disk fails there, end as ones that nothing disturbed."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from kgcheck.graph.changes import content_digest
from kgcheck.graph.embedded import EmbeddedStore
from kgcheck.literature.store import DocumentStore
from kgcheck.profile.schema import load_schema
from tests.support import examples
from tests.support.audits import core_demo, core_import
from tests.support.disturbing import KILLED, Ended, points, run_disturbed

POINTS = examples(12)
"""At how many places each command is disturbed in each way."""


class Work(NamedTuple):
    """A command, the folder in which it works, and what is there in the end."""

    command: tuple[str, ...]
    make: Callable[[Path], None]
    ended: Callable[[Path], object]
    codes: tuple[int, ...] = (0,)


# --- papers


def papers(numbers: range, said: str) -> str:
    rows = (
        {"id": f"x:{n}", "title": f"Paper {n}", "abstract": f"We show that {said} in case {n}. " * 4} for n in numbers
    )
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def with_index(folder: Path) -> None:
    (folder / "old.jsonl").write_text(papers(range(40), "p53 binds MDM2"))
    (folder / "new.jsonl").write_text(papers(range(30, 800), "insulin lowers glucose") + '{"id": 1}\n')
    assert run_disturbed("corpus", "add", "old.jsonl", *IN_INDEX, under=folder, cwd=folder).code == 0


IN_INDEX = ("--index", "index", "--model", "none")


def documents(folder: Path) -> object:
    with DocumentStore(folder / "index" / "documents.sqlite") as store:
        kept = sorted((d.id, d.text) for d in store.documents(store.numbers()).values())
    found = run_disturbed("search", "insulin glucose", "--index", "index", under=folder, cwd=folder)
    assert found.code == 0, found.err
    return kept, found.out, len(list((folder / "index").glob("built-*")))


# --- a load that takes away


def with_graph(folder: Path) -> None:
    shutil.copy(core_demo().store, folder / "graph.lbdb")
    shutil.copytree(core_import(), folder / "import")
    for path in sorted((folder / "import").rglob("*.tsv")):
        head, *rows = path.read_text().splitlines()
        kept = [row for n, row in enumerate(rows) if n % 3] if "protein" in path.name.lower() else rows
        if path.name == "Gene.tsv":
            kept = ["\t".join([*row.split("\t")[:2], "other", *row.split("\t")[3:]]) for row in kept]
        path.write_text("\n".join([head, *kept, ""]))


def graph(folder: Path) -> object:
    # For writing: what a killed process left is put in order.
    with EmbeddedStore(folder / "graph.lbdb", load_schema(), create=True) as store:
        return content_digest(store), store.counts(), store.meta()["load"], sorted(store.meta())


# --- an audit, and its ledger


def with_nothing(folder: Path) -> None:
    shutil.copy(core_demo().store, folder / "graph.lbdb")
    shutil.copy(core_demo().reference, folder / "reference.duckdb")


def findings(folder: Path) -> object:
    report = ("report", "--format", "jsonl", "--ledger", "ledger.sqlite")
    told = run_disturbed(*report, under=folder, cwd=folder)
    assert told.code == 0, told.err
    rows = [json.loads(line) for line in told.out.splitlines()]
    return sorted((row["fingerprint"], row["outcome"], row["reason"]) for row in rows)


PRUNING = ("load", "import", "--store", "graph.lbdb", "--prune", "--max-quarantined", "100%")
AUDITING = ("audit", "--store", "graph.lbdb", "--reference", "reference.duckdb", "--ledger", "ledger.sqlite")

WORKS = {
    "corpus add": Work(("corpus", "add", "new.jsonl", *IN_INDEX), with_index, documents),
    "load --prune": Work(PRUNING, with_graph, graph),
    "audit": Work((*AUDITING, "--label", "Gene"), with_nothing, findings, (0, 1, 3)),
}


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["kill", "eio"])
@pytest.mark.parametrize("name", WORKS)
def test_a_command_that_was_disturbed_ends_as_one_that_was_not(name: str, fault: str, tmp_path: Path) -> None:
    work = WORKS[name]
    before, whole = tmp_path / "before", tmp_path / "whole"
    before.mkdir()
    work.make(before)
    shutil.copytree(before, whole)
    undisturbed = run_disturbed(*work.command, under=whole, cwd=whole)
    assert undisturbed.code in work.codes, undisturbed.err
    wanted = work.ended(whole)

    for at in points(undisturbed.changes, POINTS, seed=39):
        folder = tmp_path / f"{fault} {at}"
        shutil.copytree(before, folder)
        ended = run_disturbed(
            *work.command, under=folder, cwd=folder, fault="kill" if fault == "kill" else "eio", at=at
        )
        shown = (name, fault, at, undisturbed.changes, ended)
        if fault == "eio":
            told_of(ended, shown, work)
        else:
            assert ended.code in (KILLED, *work.codes), shown
        again = run_disturbed(*work.command, under=folder, cwd=folder)
        assert again.code in work.codes, (*shown, again)
        assert work.ended(folder) == wanted, shown
        left = [p.name for p in folder.rglob("*") if ".partial" in p.name]
        assert left == [], shown
        shutil.rmtree(folder)


def told_of(ended: Ended, shown: object, work: Work) -> None:
    """Where it could not go on, one error with advice says so."""
    assert "Traceback" not in ended.err, shown
    assert "fault in kgcheck" not in ended.err, shown
    if ended.code not in work.codes:
        assert ended.code in (2, 3), shown
        assert "kgcheck: " in ended.err, shown
