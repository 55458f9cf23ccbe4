"""Commands that are killed at any change of a file, or whose disk fails there, end as ones that nothing disturbed."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from kgcheck.curation.decisions import Decisions
from kgcheck.curation.patches import patches_in, recorded_in
from kgcheck.graph.embedded import EmbeddedStore
from kgcheck.ledger.ledger import Ledger
from kgcheck.literature.store import DocumentStore
from kgcheck.profile.schema import load_schema
from kgcheck.reference.snapshot import Snapshot
from tests.support import examples
from tests.support.audits import DEMO, core_demo, core_import
from tests.support.contents import content_digest
from tests.support.disturbing import KILLED, Ended, Fault, points, run_disturbed

JOB = """
ledger = "ledger.sqlite"
[stores.main]
place = "graph.lbdb"
[references.main]
snapshot = "reference.duckdb"
[jobs.paper]
kind = "ground"
folder = "drafts"
files = ["**/*.md"]
out = "drafts/reports/{job}"
"""

PAPER = """# A note

## Results

HMGCR interacts with TYK2. JAK2 interacts with TYK2. JAK2 does not bind TYK2 [4].

## References

1. A. Author. A made-up title. J. Made Up. 2001.
"""

POINTS = examples(9)
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


def graph(folder: Path, name: str = "graph.lbdb") -> object:
    # For writing: what a killed process left is put in order.
    with EmbeddedStore(folder / name, load_schema(), create=True) as store:
        return content_digest(store), store.counts(), store.meta()["load"], sorted(store.meta())


def new_graph(folder: Path) -> object:
    return graph(folder, "new.lbdb")


# --- an audit, and its ledger


def with_nothing(folder: Path) -> None:
    shutil.copy(core_demo().store, folder / "graph.lbdb")
    shutil.copy(core_demo().reference, folder / "reference.duckdb")


def with_ledger(folder: Path) -> None:
    with_nothing(folder)
    told = run_disturbed(*AUDITING, "--label", "Gene", under=folder, cwd=folder)
    assert told.code == 1, told.err


def decisions(folder: Path) -> object:
    # Of each finding the last one: where the first try came through, the second decides anew.
    with Ledger(folder / "ledger.sqlite") as ledger:
        return {
            decision.fingerprint: (decision.action, decision.note)
            for decision in reversed(Decisions(ledger).table.newest_first())
        }


def findings(folder: Path) -> object:
    report = ("report", "--format", "jsonl", "--ledger", "ledger.sqlite")
    told = run_disturbed(*report, under=folder, cwd=folder)
    assert told.code == 0, told.err
    rows = [json.loads(line) for line in told.out.splitlines()]
    return sorted((row["fingerprint"], row["outcome"], row["reason"]) for row in rows)


# --- a patch, and a snapshot


def with_patch(folder: Path) -> None:
    with_ledger(folder)
    to_patch = ("decide", "accept", "--label", "Gene", "--outcome", "refuted", "--yes", *IN_LEDGER)
    make = ("patch", "make", "--accepted", "--out", "patch", "--store", "graph.lbdb", *IN_LEDGER)
    for command in (to_patch, make):
        told = run_disturbed(*command, under=folder, cwd=folder)
        assert told.code == 0, told.err


def patched(folder: Path) -> object:
    # Without the marks, which say when.
    with EmbeddedStore(folder / "graph.lbdb", load_schema(), create=True) as store:
        genes = [row for rows in store.scan_nodes(store.schema.label("Gene")) for row in rows.to_pylist()]
        done = {
            patch: (record.state, len(list(recorded_in(store, patch)))) for patch, record in patches_in(store).items()
        }
        counts = store.counts()
    listed = run_disturbed("patch", "list", "--format", "json", *IN_LEDGER, under=folder, cwd=folder)
    states = [(row["id"], row["state"], row["operations"]) for row in json.loads(listed.out)]
    return sorted(map(repr, genes)), done, counts, states, sorted(p.name for p in (folder / "patch").iterdir())


def with_sources(folder: Path) -> None:
    shutil.copytree(DEMO / "reference", folder / "sources")


def snapshot(folder: Path) -> object:
    with Snapshot(folder / "new.duckdb", load_schema()) as built:
        return sorted((release.source, release.release, release.sha256) for release in built.releases())


# --- a job that grounds manuscripts


def with_drafts(folder: Path) -> None:
    with_nothing(folder)
    (folder / "kgcheck.toml").write_text(JOB)
    (folder / "drafts").mkdir()
    for n in range(3):
        text = PAPER.replace("A note", f"Note {n}")
        (folder / "drafts" / f"paper {n}.md").write_text(text)


def grounded(folder: Path) -> object:
    told = run_disturbed("job", "history", "paper", "--format", "json", under=folder, cwd=folder)
    assert told.code == 0, told.err
    last, *before = json.loads(told.out)
    alarms = last["result"]["alarms"]
    # New is what no run before has told of.
    was_done = "done" in (row["state"] for row in before)
    assert (last["state"], last["result"]["new"]) == ("done", 0 if was_done else len(alarms))
    assert {row["state"] for row in before} <= {"lost", "done"}
    reports = sorted(p.name for p in (folder / "drafts" / "reports").rglob("*.*"))
    return [last["result"][name] for name in ("manuscripts", "remarks", "alarms", "refused")], reports


PRUNING = ("load", "import", "--store", "graph.lbdb", "--prune", "--max-quarantined", "100%")
LOADING = ("load", "import", "--store", "new.lbdb", "--max-quarantined", "100%")
AUDITING = ("audit", "--store", "graph.lbdb", "--reference", "reference.duckdb", "--ledger", "ledger.sqlite")

IN_LEDGER = ("--ledger", "ledger.sqlite")
DECIDING = ("decide", "reject", "--label", "Gene", "--yes", *IN_LEDGER)
PATCHING = ("patch", "apply", "patch", "--store", "graph.lbdb", *IN_LEDGER)

WORKS = {
    "corpus add": Work(("corpus", "add", "new.jsonl", *IN_INDEX), with_index, documents),
    "load": Work(LOADING, with_graph, new_graph),
    "load --prune": Work(PRUNING, with_graph, graph),
    "audit": Work((*AUDITING, "--label", "Gene"), with_nothing, findings, (0, 1, 3)),
    "decide": Work(DECIDING, with_ledger, decisions),
    "patch apply": Work(PATCHING, with_patch, patched),
    "reference build": Work(("reference", "build", "sources", "--out", "new.duckdb"), with_sources, snapshot),
    "ground job": Work(("job", "run", "paper"), with_drafts, grounded, (1,)),
}


CUT_OFF = ("corpus add", "load --prune", "patch apply", "reference build", "ground job")
IN_CI = (("load --prune", "kill"), ("patch apply", "kill"), ("load", "eio"), ("audit", "eio"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "fault"),
    [
        pytest.param(*case, marks=() if case in IN_CI else pytest.mark.nightly)
        for case in (*((name, "kill") for name in CUT_OFF), *((name, "eio") for name in WORKS))
    ],
)
def test_a_command_that_was_disturbed_ends_as_one_that_was_not(name: str, fault: Fault, tmp_path: Path) -> None:
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
        ended = run_disturbed(*work.command, under=folder, cwd=folder, fault=fault, at=at)
        shown = (name, fault, at, undisturbed.changes, ended)
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
