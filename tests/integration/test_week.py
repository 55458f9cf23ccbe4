"""A whole week on the demo, by the real scheduler on a clock of the test's own: jobs at night, people by day."""

import hashlib
import shutil
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import time_machine

from kgcheck import clock
from kgcheck.curation.jobs import JobWork
from kgcheck.curation.project import Project, read_project
from kgcheck.curation.scheduler import Server
from kgcheck.errors import KgcheckError
from kgcheck.graph.open import open_store
from kgcheck.ledger.comparisons import ComparisonState
from kgcheck.ledger.ledger import Ledger
from kgcheck.ledger.work import WorkState, WorkTable
from kgcheck.profile.folder import profile_dir
from kgcheck.profile.schema import load_schema
from kgcheck.settings import Settings
from kgcheck.workspace import Workspace
from kgcheck.workspace.jobs import run_job
from tests.support.clock import AtOnce, Clock

pytest.importorskip("cronsim")

MONDAY = datetime(2026, 11, 23, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)

TEXT = """
ledger = "ledger.sqlite"

[stores.main]
place = "graph.lbdb"

[references.main]
snapshot = "reference.duckdb"
files = "sources"

[jobs.import]
kind = "load"
directory = "import"
schedule = "0 1 * * mon,fri"

[jobs.nightly]
kind = "audit"
types = ["existence"]
only_new = true
schedule = "30 2 * * *"
reports = [{ format = "jsonl", path = "reports/{job}-{date}.jsonl" }]
[[jobs.nightly.thresholds]]
error_if = "> 0"

[jobs.references]
kind = "refresh"
types = ["existence"]
only_new = true
fetch = false
schedule = "0 5 * * wed"
[[jobs.references.thresholds]]
error_if = "> 0"
"""

WITHDRAWN, RENAMED, OBSOLETE = "6551cda8", "0a832529", "3274ec00"
"""Findings of the demo: the gene A12M1 (to be retired), the gene A1S9T, and the process GO:0007569."""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    demo = profile_dir(load_schema().profile.name) / "demo"
    shutil.copytree(demo / "import", tmp_path / "import")
    shutil.copytree(demo / "reference", tmp_path / "sources")
    (tmp_path / "kgcheck.toml").write_text(TEXT)
    return read_project(tmp_path / "kgcheck.toml")


class Week:
    """The jobs as they ran, and what people did between them."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.folder = project.folder
        self.ran: dict[str, JobWork] = {}
        self.errors: list[str] = []
        self.content: dict[str, str] = {}

    def start(self, name: str, planned: datetime | None) -> int:
        """A run of a job, in this process, as it would be in one of its own."""
        try:
            _, done = run_job(self.project, name, planned=planned)
        except KgcheckError as error:
            self.errors.append(f"{name}: {error.message}")
            return error.exit_code
        self.ran[f"{clock.exact_now():%a} {name}"] = done
        return done.severity.exit_code

    def workspace(self) -> Workspace:
        return Workspace(
            store=self.folder / "graph.lbdb",
            reference=self.folder / "reference.duckdb",
            ledger=self.folder / "ledger.sqlite",
            settings=Settings(home=self.folder / ".kgcheck"),
        )

    def first_snapshot(self) -> None:
        with self.workspace() as workspace:
            workspace.build_reference(self.folder / "sources")

    def decide(self) -> None:
        with self.workspace() as workspace:
            workspace.decide(WITHDRAWN, "accept", by="ada", note="HGNC withdrew it")
            workspace.decide(RENAMED, "reject", by="ada", note="kept for old papers")
            workspace.decide(OBSOLETE, "defer", by="bob", until=date(2026, 11, 28))

    def release(self) -> None:
        """A made-up release, in which another thing is known of the gene that was rejected."""
        file = self.folder / "sources" / "entity.tsv"
        text = file.read_text(encoding="utf-8")
        old = "hgnc\t2017-02\tA1S9T\t\twithdrawn\t\tUBA1\t"
        assert text.count(old) == 1
        file.write_text(text.replace(old, "hgnc\t2017-02\tA1S9T\t\twithdrawn\t\tUBA1|UBA7\t"), encoding="utf-8")

    def patch(self) -> None:
        self.content["before"] = content(self.folder / "graph.lbdb")
        with self.workspace() as workspace:
            made = workspace.make_patch(self.folder / "patch", accepted=True, by="ada")
            assert made.patch is not None
            assert len(made.patch.operations) == 1
            done = workspace.apply_patch(self.folder / "patch", by="ada")
            assert (done.done, done.conflicts) == (1, ())
        self.content["patched"] = content(self.folder / "graph.lbdb")

    def undo(self) -> None:
        self.content["reloaded"] = content(self.folder / "graph.lbdb")
        with self.workspace() as workspace:
            done = workspace.undo_patch(self.folder / "patch", by="ada")
            assert (done.done, done.conflicts) == (1, ())
        self.content["undone"] = content(self.folder / "graph.lbdb")


def content(place: Path) -> str:
    """Names all nodes and edges of a store, as they are, marks and all."""
    schema, digest = load_schema(), hashlib.sha256()
    with open_store(str(place), schema, Settings()) as store:
        for label in schema.labels:
            digest.update("".join(sorted(repr(row) for row in rows(store.scan_nodes(label)))).encode())
        for pattern in schema.relations:
            digest.update("".join(sorted(repr(row) for row in rows(store.scan_edges(pattern)))).encode())
        return digest.hexdigest()


def rows(tables: Iterator[Any]) -> Iterator[Any]:
    for table in tables:
        yield from table.to_pylist()


@pytest.mark.slow
def test_a_week(project: Project) -> None:
    week, folder = Week(project), project.folder
    with time_machine.travel(MONDAY, tick=False) as traveller, Ledger(folder / "ledger.sqlite") as ledger:
        runs = WorkTable(ledger.database)
        server = Server(project, runs, week.start, lambda line: None, executor=AtOnce())
        people = {
            MONDAY + 2 * HOUR: week.first_snapshot,
            MONDAY + 9 * HOUR: week.decide,
            MONDAY + DAY + 9 * HOUR: week.release,
            MONDAY + 3 * DAY + 9 * HOUR: week.patch,
            MONDAY + 5 * DAY + 9 * HOUR: week.undo,
        }
        server.woken = Clock(traveller, MONDAY + 7 * DAY, people)  # type: ignore[assignment]
        with pytest.raises(KeyboardInterrupt):
            server.serve()

        assert week.errors == []
        seen = {name: (done.severity.value, done.new) for name, done in week.ran.items()}
        assert list(seen) == [
            "Mon import", "Mon nightly", "Tue nightly", "Wed nightly", "Wed references", "Thu nightly",
            "Fri import", "Fri nightly", "Sat nightly", "Sun nightly",
        ]  # fmt: skip
        assert seen["Mon import"][0] == "warn"  # rows in quarantine
        everything = seen["Mon nightly"][1]
        assert seen["Mon nightly"] == ("error", everything)
        assert everything > 20
        assert seen["Tue nightly"] == seen["Wed nightly"] == ("ok", 0)

        # The new release changed what the rejection was about.
        refreshed = week.ran["Wed references"]
        assert seen["Wed references"] == ("error", 1)
        assert refreshed.figures["changes"] == {"hgnc lifecycle": 1}
        assert refreshed.examples[0]["finding"] == RENAMED
        assert refreshed.examples[0]["reason"] == "id_withdrawn, reopened: reject by ada"
        audit = ledger.run(refreshed.run or "")
        assert audit.made_with.get("since") == week.ran["Wed nightly"].run
        assert (folder / "reference.before.duckdb").exists()
        assert seen["Thu nightly"] == ("ok", 0)

        # What was accepted was repaired on Thursday, and Friday's load did not undo that.
        assert week.content["patched"] != week.content["before"]
        assert week.content["reloaded"] == week.content["patched"]
        with week.workspace() as workspace:
            friday = workspace.diff(after=week.ran["Fri nightly"].run)
            (repaired,) = friday.findings((ComparisonState.GONE, ComparisonState.FIXED))
            assert repaired.fingerprint.startswith(WITHDRAWN)
            # The day of what was deferred has come.
            assert seen["Sat nightly"] == ("error", 1)
            assert week.ran["Sat nightly"].examples[0]["finding"] == OBSOLETE

            # Undone on Saturday: the graph is what it was, and Sunday finds it again.
            assert week.content["undone"] == week.content["before"]
            sunday = workspace.diff(after=week.ran["Sun nightly"].run)
            assert WITHDRAWN in [one.fingerprint[:8] for one in sunday.findings((ComparisonState.NEW,))]
        history = runs.history()
        assert {run.state for run in history} == {WorkState.DONE}
        assert [run.planned for run in reversed(history)] == [run.started for run in reversed(history)]
        assert len(list((folder / "reports").glob("nightly-2026-11-*.jsonl"))) == 7
