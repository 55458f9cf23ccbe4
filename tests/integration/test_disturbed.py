"""Commands that are killed at any change of a file end, once they are run again, as ones that nothing disturbed."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from kgcheck.graph.changes import content_digest
from kgcheck.graph.embedded import EmbeddedStore
from kgcheck.profile.schema import load_schema
from tests.support import examples
from tests.support.audits import core_demo, core_import
from tests.support.disturbing import KILLED, Ended, points, run_disturbed

POINTS = examples(9)
"""At how many places each command is killed."""


class Work(NamedTuple):
    """A command, the folder in which it works, and what is there in the end."""

    command: tuple[str, ...]
    make: Callable[[Path], None]
    ended: Callable[[Path], object]
    codes: tuple[int, ...] = (0,)


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


PRUNING = ("load", "import", "--store", "graph.lbdb", "--prune", "--max-quarantined", "100%")

WORKS = {
    "load --prune": Work(PRUNING, with_graph, graph),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", WORKS)
def test_a_command_that_was_killed_ends_as_one_that_was_not(name: str, tmp_path: Path) -> None:
    work = WORKS[name]
    before, whole = tmp_path / "before", tmp_path / "whole"
    before.mkdir()
    work.make(before)
    shutil.copytree(before, whole)
    undisturbed = run_disturbed(*work.command, under=whole, cwd=whole)
    assert undisturbed.code in work.codes, undisturbed.err
    wanted = work.ended(whole)

    for at in points(undisturbed.changes, POINTS, seed=39):
        folder = tmp_path / f"at {at}"
        shutil.copytree(before, folder)
        ended = run_disturbed(*work.command, under=folder, cwd=folder, fault="kill", at=at)
        shown = (name, at, undisturbed.changes, ended)
        # Of a command of several processes, one is killed, and another says so.
        if ended.code != KILLED:
            told_of(ended, shown, work)
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
