"""A run that was cut off goes on and ends exactly as if nothing had happened."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, repeat
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pytest
from pydantic import SecretStr

from kgcheck.audit.run import Audit
from kgcheck.errors import LedgerError, StoreLocked, StoreUnavailable, UsageError
from kgcheck.graph.embedded import EmbeddedStore
from kgcheck.graph.neo4j import Neo4jStore
from kgcheck.ledger.ledger import Ledger, Run
from kgcheck.ledger.place import LedgerPlace
from kgcheck.ledger.rows import FindingRows
from kgcheck.loading.load import load_directory
from kgcheck.model import CheckType, Finding, Tally
from kgcheck.options import AuditOptions
from kgcheck.profile.schema import load_schema
from kgcheck.settings import Settings
from kgcheck.workspace import Workspace
from tests.support import PYTHONPATH, ROOT, quick_of
from tests.support.audits import (
    Audited,
    MemoryStore,
    audited,
    comparable,
    core_demo,
    core_import,
    demo,
    demo_audited,
    kgcheck,
    of_run,
)
from tests.support.neo4j_fixtures import Neo4jTarget
from tests.support.neo4j_server import WITHOUT_HTTP, Neo4jServer
from tests.support.ports import free_port

PIECE = 40


class CutOff(Exception):
    """Stands for whatever ends a process."""


class BrittleLedger(Ledger):
    """Fails before or after the n-th piece."""

    def __init__(self, where: LedgerPlace, pieces: int) -> None:
        super().__init__(where)
        self._left = pieces

    def record(
        self, run: Run, piece: str, findings: Iterable[Finding] | FindingRows, tallies: Sequence[Tally], tasks: str = ""
    ) -> None:
        if self._left == 0:
            raise CutOff
        self._left -= 1
        super().record(run, piece, findings, tallies, tasks)


def embedded() -> EmbeddedStore:
    return EmbeddedStore(demo().store, load_schema())


def cut_off(store: Any, path: Path, pieces: int, reference: Path | None = None, **options: Any) -> None:
    """Start an audit that ends after so many pieces."""
    with BrittleLedger(path, pieces) as ledger, pytest.raises(CutOff):
        Audit(store, reference, ledger, Settings()).start(AuditOptions(**options))


def resumed(store: Any, path: Path, reference: Path | None = None) -> Audited:
    with Ledger(path) as ledger:
        return of_run(ledger, Audit(store, reference, ledger, Settings()).resume(ledger.cut_off()))


def proteins(*names: str) -> MemoryStore:
    return MemoryStore({"Protein": [{"id": name} for name in names], "Gene": [{"id": "TP53"}]}, {})


class Scope(NamedTuple):
    """What is audited of the demo."""

    options: dict[str, Any]
    piece_tasks: int


SCOPES = {
    "genes": Scope({"labels": ("Gene",)}, 10),
    "sample": Scope({"labels": ("Gene",), "sample": 90, "seed": 3, "keep_all": True}, 5),
    "everything": Scope({}, PIECE),
}
"""An audit of everything takes seconds, one of the genes and their edges some tenths of one."""


def slowly(scope: str, *values: object) -> Any:
    return pytest.param(scope, *values, marks=pytest.mark.slow)


@pytest.fixture(scope="module", params=["genes", slowly("everything")])
def scope(request: pytest.FixtureRequest) -> Scope:
    return SCOPES[request.param]


@pytest.fixture(scope="module")
def undisturbed(scope: Scope, tmp_path_factory: pytest.TempPathFactory) -> Audited:
    if not scope.options:
        return demo_audited()
    with embedded() as store:
        path = tmp_path_factory.mktemp("undisturbed") / "ledger.sqlite"
        return audited(store, path, demo().reference, **scope.options)


@pytest.mark.parametrize(
    ("scope", "pieces"),
    [("genes", 1), slowly("genes", 0), slowly("sample", 10), slowly("everything", 77)],
    indirect=["scope"],
)
def test_a_run_cut_off_after_any_piece_ends_the_same(
    undisturbed: Audited, tmp_path: Path, scope: Scope, pieces: int
) -> None:
    path = tmp_path / "ledger.sqlite"
    with embedded() as store:
        cut_off(store, path, pieces, demo().reference, piece_tasks=scope.piece_tasks, **scope.options)

        assert comparable(resumed(store, path, demo().reference)) == comparable(undisturbed)


def goes_on_from(elsewhere: Path, ledger: Path, store: Path, reference: Path, undisturbed: Audited) -> None:
    """After a check, resume from another folder: the run knows its store and its snapshot, and it is the one meant."""
    check = ("check", "existence", "Protein", "P00001", "--store", store, "--reference", reference)
    assert kgcheck(*check, "--ledger", ledger, cwd=elsewhere.parent).code == 1
    elsewhere.mkdir()
    said = kgcheck("audit", "--resume", "--ledger", ledger, cwd=elsewhere)

    assert said.code == 1, said.err
    with Ledger(ledger) as kept:
        run = next(r for r in kept.runs() if r.nodes)
        assert comparable(of_run(kept, run)) == comparable(undisturbed)
    assert kgcheck("audit", "--resume", "--ledger", ledger).code == 2


CHILD = """
import json, os, signal, sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from sqlalchemy import Engine, event
from kgcheck.ledger.ledger import Ledger
from kgcheck.options import AuditOptions
from kgcheck.audit.run import Audit
from kgcheck.graph.embedded import EmbeddedStore
from kgcheck.profile.schema import load_schema
from kgcheck.settings import Settings

store, reference, path, statements = Path(sys.argv[2]), Path(sys.argv[3]), Path(sys.argv[4]), int(sys.argv[5])
left = [statements]

def count(*_):
    left[0] -= 1
    if left[0] == 0:
        os.kill(os.getpid(), signal.SIGKILL)

with Ledger(path) as ledger, EmbeddedStore(store, load_schema()) as graph:
    event.listen(Engine, "after_cursor_execute", count)
    audit = Audit(graph, reference, ledger, Settings())
    if ledger.runs():
        audit.resume(ledger.runs()[0])
    else:
        audit.start(AuditOptions(**json.loads(sys.argv[6])))
"""


def child(path: Path, statements: int, scope: Scope) -> int:
    """Start an audit, or go on with it, in a process that is killed after so many SQL statements on its ledger."""
    options = json.dumps({"piece_tasks": scope.piece_tasks, **scope.options})
    where = (ROOT, *demo(), path, statements, options)
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(CHILD), *map(str, where)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return done.returncode


@pytest.mark.slow
@pytest.mark.parametrize(("scope", "seed"), [("everything", 1)], indirect=["scope"])
def test_a_run_killed_again_and_again_ends_the_same(
    undisturbed: Audited, tmp_path: Path, scope: Scope, seed: int
) -> None:
    path, kills = tmp_path / "ledger.sqlite", 0

    while child(path, 20 + seed * 7919 * (kills + 1) % 200, scope) != 0:
        kills += 1

    assert kills >= 2
    with Ledger(path) as ledger:
        (run,) = ledger.runs()
        assert comparable(of_run(ledger, run)) == comparable(undisturbed)


def killed(folder: Path) -> Path:
    """The ledger of an audit, of the graph and the snapshot in a folder, that was killed."""
    ledger = folder / ".kgcheck/ledger.sqlite"
    command = [sys.executable, "-m", "kgcheck", "audit", "--store", "graph.lbdb", "--reference", "reference.duckdb"]
    process = subprocess.Popen(command, cwd=folder, env=environment(), stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    while "auditing" not in process.stderr.readline():
        assert process.poll() is None
    while not pieces_in(ledger):
        assert process.poll() is None, "it ended before it could be killed"
    process.kill()
    process.communicate()
    return ledger


@pytest.mark.slow
@pytest.mark.parametrize("scope", ["everything"], indirect=True)
def test_the_command_goes_on_where_a_killed_one_ended(undisturbed: Audited, tmp_path: Path) -> None:
    graph, reference = tmp_path / "graph.lbdb", tmp_path / "reference.duckdb"
    shutil.copy(demo().store, graph)
    shutil.copy(demo().reference, reference)
    ledger = killed(tmp_path)

    goes_on_from(tmp_path / "elsewhere", ledger, graph, reference, undisturbed)


def environment() -> dict[str, str]:
    import os

    return {**os.environ, "PYTHONPATH": PYTHONPATH}


def pieces_in(path: Path) -> int:
    try:
        with Ledger(path, create=False) as ledger:
            return len(ledger.done(ledger.runs()[0]))
    except (LedgerError, IndexError):
        return 0


@pytest.mark.slow
@pytest.mark.parametrize("scope", ["everything"], indirect=True)
def test_two_processes_on_one_run_double_nothing(undisturbed: Audited, tmp_path: Path, scope: Scope) -> None:
    path = tmp_path / "ledger.sqlite"
    with embedded() as store:
        cut_off(store, path, 10, demo().reference, piece_tasks=scope.piece_tasks, **scope.options)
    where = ("--ledger", path, "--store", demo().store, "--reference", demo().reference)
    command = [sys.executable, "-m", "kgcheck", "audit", "--resume", *map(str, where)]
    both = [
        subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]

    said = [process.communicate(timeout=300) for process in both]

    codes = sorted(process.returncode for process in both)
    assert codes in ([1, 1], [1, 2]), said
    for out, err in said:
        assert "Traceback" not in err
        assert "fault in kgcheck" not in err
        if not out:
            assert "is finished" in err or "another process is working on the same run" in err
    with Ledger(path) as ledger:
        assert comparable(of_run(ledger, ledger.run("latest"))) == comparable(undisturbed)


# --- what cannot go on


def test_a_finished_run_does_not_go_on(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    store = proteins("P04637")
    run = audited(store, path, types=(CheckType.STRUCTURE,)).run

    with Ledger(path) as ledger, pytest.raises(UsageError, match=f"run {run.id} is finished"):
        Audit(store, None, ledger, Settings()).resume(run)
    for name in (run.id, run.id[:15]):
        said = kgcheck("audit", "--resume", name, "--ledger", path, "--store", demo().store)
        assert (said.code, said.out) == (2, "")
        assert said.err == f"kgcheck: run {run.id} is finished\n  start a new one without --resume\n"
    said = kgcheck("audit", "--ledger", path, "--resume")
    assert said.err.startswith("kgcheck: there is no run 'that was cut off'\n  every run is finished")


@pytest.mark.parametrize(
    ("then", "now", "options", "what"),
    [
        (("P04637",), ("P04637", "Q00987"), {}, "the graph or the snapshot"),
        # The counts are the same, and the pieces that are done were of other tasks.
        (("P04637", "Q00987", "P38398"), ("P04637", "Q00987", "P51587"), {"piece_tasks": 1}, "the graph"),
        (
            ("P04637", "WRONG1", "WRONG2"),
            ("P04637", "WRONG0", "WRONG2"),
            {"piece_tasks": 1, "types": (CheckType.STRUCTURE,)},
            "the graph",
        ),
    ],
    ids=["counts", "nodes", "faults"],
)
def test_a_graph_that_is_another_does_not_go_on(
    tmp_path: Path, then: tuple[str, ...], now: tuple[str, ...], options: dict[str, Any], what: str
) -> None:
    cut_off(proteins(*then), tmp_path / "ledger.sqlite", 1, **options)

    with pytest.raises(LedgerError, match=f"{what} has changed since run"):
        resumed(proteins(*now), tmp_path / "ledger.sqlite")


@pytest.mark.slow
@pytest.mark.parametrize("has_reference", quick_of([False, True], False))
def test_a_store_that_was_moved_goes_on(tmp_path: Path, has_reference: bool) -> None:
    store, moved, ledger = tmp_path / "graph.lbdb", tmp_path / "moved.lbdb", tmp_path / "ledger.sqlite"
    shutil.copy(core_demo().store, store)
    reference = core_demo().reference if has_reference else None
    options: dict[str, Any] = {"types": (CheckType.ATTRIBUTE,), "labels": ("Gene",)}
    with EmbeddedStore(store, load_schema()) as graph:
        cut_off(graph, ledger, 1, reference, piece_tasks=5, **options)
    store.rename(moved)

    said = kgcheck("audit", "--resume", "--ledger", ledger, "--store", moved)

    assert said.code == 3, said.err
    with EmbeddedStore(moved, load_schema()) as graph, Ledger(ledger) as kept:
        run = kept.run("latest")
        assert run.finished
        undisturbed = audited(graph, tmp_path / "undisturbed.sqlite", reference, **options)
        assert comparable(of_run(kept, run)) == comparable(undisturbed)


@pytest.mark.slow
def test_a_server_on_which_somebody_changed_a_name_does_not_go_on(clean_neo4j: Neo4jTarget, tmp_path: Path) -> None:
    def change(name: str) -> None:
        with clean_neo4j.driver() as driver:
            driver.execute_query("UNWIND ['P04637', 'Q00987'] AS id MERGE (p:Protein {id: id}) SET p.name = $n", n=name)

    asked: dict[str, Any] = {"types": (CheckType.STRUCTURE,), "piece_tasks": 1}
    settings = Settings(neo4j_password=SecretStr(clean_neo4j.password))
    change("one")
    with Neo4jStore(clean_neo4j.uri, load_schema(), settings) as store:
        cut_off(store, tmp_path / "unchanged.sqlite", 1, **asked)
        assert resumed(store, tmp_path / "unchanged.sqlite").run.finished
        cut_off(store, tmp_path / "changed.sqlite", 1, **asked)
        change("two")
        with pytest.raises(LedgerError, match="the graph has changed since run"):
            resumed(store, tmp_path / "changed.sqlite")


class VisitedLedger(BrittleLedger):
    """Lets somebody do something before the n-th piece is written."""

    visitor: Callable[[], object]

    def record(self, *arguments: Any) -> None:
        if self._left == 0:
            self.visitor()
        self._left -= 1
        Ledger.record(self, *arguments)


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.usefixtures("neo4j_jars")
def test_an_audit_whose_server_is_restarted_goes_on(tmp_path: Path) -> None:
    types = (CheckType.STRUCTURE, CheckType.ATTRIBUTE)
    server = Neo4jServer(tmp_path / "home", bolt_port=free_port(), settings=WITHOUT_HTTP, short_lived=True)
    with server:
        with Neo4jStore(server.uri, load_schema(), Settings(), create=True) as store:
            load_directory(core_import(), store, Settings(), quarantine=tmp_path / "quarantine.jsonl")
            whole = audited(store, tmp_path / "whole.sqlite", types=types)
            with VisitedLedger(tmp_path / "ledger.sqlite", 2) as ledger:
                ledger.visitor = server.stop
                audit = Audit(store, None, ledger, Settings(keep_extract=False))
                with pytest.raises(StoreUnavailable) as told:
                    audit.start(AuditOptions(types=types))
            server.start()
        with Neo4jStore(server.uri, load_schema(), Settings()) as store:
            again = resumed(store, tmp_path / "ledger.sqlite")

    assert f"kgcheck audit --resume {again.run.id}" in told.value.hint
    assert comparable(again) == comparable(whole)


@pytest.mark.slow
def test_an_audit_under_which_somebody_writes_to_the_server_is_mixed(clean_neo4j: Neo4jTarget, tmp_path: Path) -> None:
    settings = Settings(neo4j_password=SecretStr(clean_neo4j.password))
    write = "MATCH (n:Gene) WITH n LIMIT 1 SET n.name = 'x'"
    with Neo4jStore(clean_neo4j.uri, load_schema(), settings, create=True) as store, clean_neo4j.driver() as driver:
        load_directory(core_import(), store, settings, quarantine=tmp_path / "quarantine.jsonl")
        with VisitedLedger(tmp_path / "ledger.sqlite", 1) as ledger:
            ledger.visitor = lambda: driver.execute_query(write)
            audit = Audit(store, None, ledger, settings)
            first, second = (audit.start(AuditOptions(types=(CheckType.STRUCTURE,))) for _ in range(2))

    assert (first.is_mixed, second.is_mixed) == (True, False)


def test_nobody_writes_to_an_embedded_store_under_an_audit(tmp_path: Path) -> None:
    path = tmp_path / "graph.lbdb"
    shutil.copy(core_demo().store, path)
    kept_out = []

    def write() -> None:
        with pytest.raises(StoreLocked):
            EmbeddedStore(path, load_schema(), create=True)
        kept_out.append(True)

    with EmbeddedStore(path, load_schema()) as store, VisitedLedger(tmp_path / "ledger.sqlite", 1) as ledger:
        ledger.visitor = write
        run = Audit(store, None, ledger, Settings()).start(AuditOptions(types=(CheckType.STRUCTURE,)))

    assert kept_out
    assert not run.is_mixed


class Moving(MemoryStore):
    """A graph that others change while it is looked at; or one of which nobody can say so."""

    states: Iterator[str | None]

    def state(self) -> str | None:
        return next(self.states)


def test_a_graph_that_changes_under_an_audit_is_warned_about(tmp_path: Path) -> None:
    store = Moving({"Protein": [{"id": "P04637"}]}, {})
    store.states = chain(["one"], repeat("two"))

    with Workspace(store=store, ledger=tmp_path / "ledger.sqlite") as workspace:
        audit = workspace.audit(types=(CheckType.STRUCTURE,))

    assert "the graph changed while it was audited" in audit.run.warnings[-1]
    assert audit.run.made_with["graph"] == ""
    assert audit.exit_code("never") == 3


class Turning(MemoryStore):
    """A graph that somebody changes before the n-th look at it."""

    LOOKS = ("state", "counts", "store_id", "unknown", "meta", "nodes", "scan_nodes", "scan_edges", "stray_edges")
    BEFORE = {"Protein": [{"id": "P04637"}, {"id": "bad id"}], "Gene": [{"id": "TP53"}, {"id": "EGFR"}]}
    AFTER = {"Protein": [{"id": "P04637"}], "Gene": [{"id": "TP53"}]}

    def __init__(self, at: int) -> None:
        super().__init__(self.BEFORE, {})
        self.looks = 0
        self._at = at

    def __getattribute__(self, name: str) -> Any:
        if name in type(self).LOOKS:
            self.looks += 1
            if self.looks == self._at:
                self._nodes = self.AFTER
        return super().__getattribute__(name)

    def audited(self, folder: Path) -> tuple[bool, dict[str, int], list[str]]:
        """Whether the audit says that the graph changed, what it counted, and what it found."""
        audit = audited(self, folder / f"{self._at}.sqlite", types=(CheckType.STRUCTURE,), labels=("Protein", "Gene"))
        return audit.run.is_mixed, dict(audit.run.nodes), comparable(audit)[0]


def test_a_change_between_the_first_looks_of_an_audit_is_told(tmp_path: Path) -> None:
    # The state, the counts: a plan of the one and findings of the other would be of no graph.
    assert Turning(3).audited(tmp_path)[0]


@pytest.mark.slow
def test_an_audit_is_of_one_graph_or_says_so_whenever_it_changes(tmp_path: Path) -> None:
    undisturbed = Turning(0)
    before, after = undisturbed.audited(tmp_path), Turning(1).audited(tmp_path)
    assert before[1:] != after[1:]
    told = [Turning(at).audited(tmp_path) for at in range(2, undisturbed.looks + 2)]
    assert [found for found in told if not found[0] and found not in (before, after)] == []
    assert sum(found[0] for found in told) >= undisturbed.looks - 2


def test_a_graph_of_which_nothing_shows_that_it_is_the_same_does_not_go_on(tmp_path: Path) -> None:
    store = Moving({"Protein": [{"id": "P04637"}]}, {})
    store.states = repeat(None)
    cut_off(store, tmp_path / "ledger.sqlite", 1)

    with pytest.raises(LedgerError, match="nothing shows that the graph is as it was when run"):
        resumed(store, tmp_path / "ledger.sqlite")


def test_another_snapshot_does_not_go_on(tmp_path: Path) -> None:
    path, other = tmp_path / "ledger.sqlite", tmp_path / "other.duckdb"
    shutil.copy(demo().reference, other)
    with duckdb.connect(str(other)) as db:
        db.execute("UPDATE release SET sha256 = 'another' WHERE source = 'uniprot'").fetchall()
    cut_off(proteins("P04637"), path, 1, demo().reference)
    for reference in (other, None):
        with pytest.raises(LedgerError, match="the graph or the snapshot has changed since run"):
            resumed(proteins("P04637"), path, reference)


@pytest.mark.slow
@pytest.mark.parametrize("scope", ["genes"], indirect=True)
def test_a_snapshot_that_was_only_moved_goes_on(undisturbed: Audited, tmp_path: Path, scope: Scope) -> None:
    path, moved = tmp_path / "ledger.sqlite", tmp_path / "moved.duckdb"
    shutil.copy(demo().reference, moved)
    with embedded() as store:
        cut_off(store, path, 1, demo().reference, piece_tasks=scope.piece_tasks, **scope.options)

        assert comparable(resumed(store, path, moved)) == comparable(undisturbed)


def test_another_store_does_not_go_on(tmp_path: Path) -> None:
    cut_off(proteins("P04637"), tmp_path / "ledger.sqlite", 1)
    other = MemoryStore({"Protein": [{"id": "P04637"}], "Gene": [{"id": "TP53"}]}, {}, name="another")

    with pytest.raises(UsageError, match="is of the store that was at memory, and another is another one") as caught:
        resumed(other, tmp_path / "ledger.sqlite")

    assert caught.value.hint == "add --store memory, or where that store is now"


def test_what_was_asked_cannot_change_and_the_run_is_one_that_there_is(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    cut_off(proteins("P04637"), path, 1)

    for words in ("--type all", "--label Gene", "--id TP53", "--sample 5", "--seed 1", "--keep-all"):
        option, *value = words.split()
        said = kgcheck("audit", "--resume", "--ledger", path, option, *value)
        assert said.refuses(f"a run goes on as it began: {option} cannot be given with --resume")
    assert kgcheck("audit", "--resume", "2020", "--ledger", path).refuses("there is no run '2020'")


def test_resuming_makes_no_ledger(tmp_path: Path) -> None:
    said = kgcheck("audit", "--resume", "--ledger", tmp_path / "ledger.sqlite")

    assert said.code == 2
    assert "there is no ledger" in said.err
    assert list(tmp_path.iterdir()) == []
