"""The API without the command line: the same results, nothing printed, clear errors, and everything closed."""

import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from kgcheck import CheckTask, CheckType, KgcheckError, Outcome, Reason, Ref, Settings, Triple, Workspace
from kgcheck.errors import StoreMissing, UnknownName, UsageError
from kgcheck.graph.embedded import EmbeddedStore
from kgcheck.model import Finding
from kgcheck.report.frames import FINDINGS
from tests.integration.import_directory import CKG, GENES, ImportDirectory
from tests.support import PYTHONPATH, ROOT
from tests.support.audits import DEMO, core_demo, core_import, without_run
from tests.support.audits import kgcheck as command

APOE_APP = Triple(head=Ref(label="Protein", id="P02649"), relation="ACTS_ON", tail=Ref(label="Protein", id="P05067"))


def over_the_demo(folder: Path, **more: Any) -> Workspace:
    given: dict[str, Any] = {"store": core_demo().store, "reference": core_demo().reference}
    return Workspace(**given, settings=Settings(home=folder / "home"), **more)


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with over_the_demo(tmp_path) as opened:
        yield opened


# --- the same as the command line


@pytest.mark.slow
def test_audit_as_an_arrow_table_is_what_the_command_line_prints(
    workspace: Workspace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    audit = workspace.audit(types=["existence", "attribute", CheckType.STRUCTURE], labels=["Protein", "Gene"])
    table = audit.to_arrow()
    assert capsys.readouterr() == ("", "")

    shown = command("report", audit.run.id, "--format", "json", "--ledger", workspace.ledger)
    printed = json.loads(shown.out)
    assert table.schema == FINDINGS
    # What became of a finding is of two runs, and not in the table of one.
    assert {finding.pop("state") for finding in printed["findings"]} == {"new"}
    assert [as_printed(row) for row in table.to_pylist()] == printed["findings"]
    assert [t.as_row() for t in audit.tallies] == printed["tallies"]
    assert json.loads(json.dumps(audit.run.as_row())) == printed["run"]
    assert audit.outcomes.total() == sum(t.count for t in audit.tallies)
    assert audit.outcomes[Outcome.REFUTED] > 0
    assert audit.exit_code() == 1
    assert audit.outcomes[Outcome.UNAVAILABLE] > 0
    assert audit.exit_code("never") == 3

    elsewhere = tmp_path / "l.sqlite"
    place = ("--store", core_demo().store, "--reference", core_demo().reference, "--ledger", elsewhere)
    types = "--type existence --type attribute --type structure --label Protein --label Gene".split()
    again = json.loads(command("audit", *types, *place, "--format", "json").out)
    assert {finding.pop("state") for finding in again["findings"]} == {"new"}
    assert [without_run(row) for row in again["findings"]] == [without_run(row) for row in printed["findings"]]


def as_printed(row: dict[str, Any]) -> dict[str, Any]:
    """A row of the table in the nested form of --format json."""

    def node(end: str) -> dict[str, str] | None:
        parts = {"label": row[f"{end}_label"], "id": row[f"{end}_id"], "name": row[f"{end}_name"]}
        return {k: v for k, v in parts.items() if v is not None} or None

    change = {"kind": row["change_kind"], "to": row["change_to"], "candidates": row["change_candidates"]}
    change = {k: v for k, v in (change | {"because": row["change_because"]}).items() if v is not None}
    keys = ("run", "fingerprint", "type", "relation", "attribute", "rule", "value", "outcome", "graph")
    evidence = [
        {k: at.isoformat().replace("+00:00", "Z") if hasattr(at, "isoformat") else at for k, at in e.items()}
        for e in row["evidence"]
    ]
    return {key: row[key] for key in (*keys, "reason", "confidence", "note")} | {
        "missing": [f"{gap['source']} ({gap['cause'].replace('_', ' ')})" for gap in row["missing"]],
        "subject": node("subject"),
        "object": node("object"),
        "evidence": [{k: v for k, v in e.items() if v is not None} for e in evidence],
        "proposed_change": change if row["change_kind"] else None,
        "cause": row["cause"],
    }


# --- checks, questions, papers


def test_check_takes_words_edges_and_tasks(workspace: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    events: list[str] = []
    by_words = workspace.check("APOE ACTS_ON APP", on_event=lambda event: events.append(event.role.value))
    by_edge = workspace.check(APOE_APP)
    task = CheckTask(type=CheckType.EXISTENCE, subject=Ref(label="Protein", id="P04637"))

    assert by_words.verdict.outcome is Outcome.SUPPORTED
    assert by_words.verdict.reason is Reason.EDGE_MISSING
    assert by_words.exit_code() == 1
    assert by_words.transcript
    assert by_words.transcript.is_file()
    assert events[0] == "leader"
    assert by_edge.finding.task == by_words.finding.task
    assert by_edge.verdict == by_words.verdict
    assert workspace.finding(by_words.finding.fingerprint).run == by_edge.run.id
    # The graph lacks it.
    assert workspace.check(task).finding.task == task.model_copy(update={"type": CheckType.POTENTIAL})
    attribute = CheckTask(type=CheckType.ATTRIBUTE, subject=Ref(label="Protein", id="P02649"), attribute="accession")
    assert workspace.check(attribute).finding.task.attribute == "accession"
    assert capsys.readouterr() == ("", "")


# --- load, runs, reports


def test_load_build_audit_and_report(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with Workspace(
        store=tmp_path / "g.lbdb", reference=tmp_path / "r.duckdb", settings=Settings(home=tmp_path / "home")
    ) as workspace:
        loaded = workspace.load(core_import())
        assert workspace.graph.counts().total_nodes == loaded.nodes == 274
        again = workspace.load(core_import())
        assert again.total("loaded") == again.total("changed") == 0
        releases = workspace.build_reference(DEMO / "reference")
        assert workspace.releases() == releases
        assert len(releases) > 10
        audit = workspace.audit(types=["existence"], labels=["Protein"])
        text = workspace.report(output=tmp_path / "report.md")
        assert (tmp_path / "report.md").read_text(encoding="utf-8") == text
        assert workspace.report(audit.run, "jsonl").count("\n") == len(list(audit.findings))
        assert [run.id for run, _ in workspace.runs()] == [audit.run.id]
        assert workspace.run("latest").id == audit.run.id
        assert tuple(workspace.tallies()) == audit.tallies

    assert capfd.readouterr() == ("", "")


def test_a_store_that_is_open_already_is_read_and_left_open(tmp_path: Path) -> None:
    with EmbeddedStore(core_demo().store, CKG) as store:
        with Workspace(store=store, reference=core_demo().reference, settings=Settings(home=tmp_path)) as workspace:
            audit = workspace.audit(types=["existence"], labels=["Gene"])
            assert audit.run.store_id == store.store_id()
            assert workspace.graph is store
            assert workspace.store == store.name
            with pytest.raises(UsageError, match="was handed over open, and is only read"):
                workspace.load(core_import())
        assert store.counts().total_nodes


# --- errors


@pytest.mark.parametrize(
    ("options", "message", "hint"),
    [
        ({"types": ["tripel"]}, "there is no check type 'tripel'", "did you mean triple?"),
        ({"labels": ["Protien"]}, "there is no label 'Protien'", "did you mean Protein?"),
        ({"relations": ["ACTS_UPON"]}, "there is no relation 'ACTS_UPON'", "did you mean ACTS_ON?"),
        ({"sample": 0}, "sample=0: Input should be greater than 0", "see docs/howto_python.md"),
        ({"threshold": 2}, "threshold=2: Input should be less than or equal to 1", "see docs/howto_python.md"),
        ({"graph_date": "2024-13"}, "'2024-13' is no date", "write 2024, 2024-06 or 2024-06-30"),
    ],
)
def test_what_an_audit_cannot_be_asked(workspace: Workspace, options: dict[str, Any], message: str, hint: str) -> None:
    with pytest.raises(KgcheckError) as failed:
        workspace.audit(**options)

    assert (failed.value.message, failed.value.hint) == (message, hint)


def test_what_is_not_there(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "home")
    with pytest.raises(UnknownName, match="no brain 'rule'"):
        Workspace(brain="rule")
    for path in ("postgresql://me:secret@host/runs", Path("postgresql://me:secret@host/runs")):
        with pytest.raises(UsageError, match="must not carry credentials"):
            Workspace(ledger=path)
    with pytest.raises(UnknownName, match="no profile 'ckgg'"):
        Workspace(profile="ckgg", settings=settings).audit()
    with Workspace(store=tmp_path / "none.lbdb", settings=settings) as workspace:
        with pytest.raises(StoreMissing):
            workspace.audit()
        assert not Path(str(workspace.ledger)).exists()
        with pytest.raises(KgcheckError, match="there is no ledger"):
            workspace.runs()
        with pytest.raises(KgcheckError, match="there is no folder"):
            workspace.load(tmp_path / "nothing")
        with pytest.raises(UsageError, match="no papers are named"):
            workspace.search("x")
        with pytest.raises(UsageError, match="no reference to build"):
            workspace.build_reference(tmp_path)
    with over_the_demo(tmp_path) as workspace:
        workspace.audit(types=["structure"], labels=["Protein"])
        with pytest.raises(UnknownName, match="no outcome 'refuse'") as failed:
            workspace.findings(outcomes=["refuse"])
        assert failed.value.hint == "did you mean refuted?"
        with pytest.raises(UnknownName, match="no form 'htm'"):
            workspace.report(format_="htm")
        with pytest.raises(UnknownName, match="no run 'x'"):
            workspace.findings("x")
        with pytest.raises(UsageError, match="turns=0"):
            workspace.check(APOE_APP, turns=0)
        with pytest.raises(UsageError, match="structure is checked by an audit"):
            workspace.check(CheckTask(type=CheckType.STRUCTURE, subject=APOE_APP.head, rule="self_loop"))


# --- opening and closing


def test_closing_is_for_good_and_findings_stay_readable(tmp_path: Path) -> None:
    workspace = over_the_demo(tmp_path)
    with workspace:
        audit = workspace.audit(types=["structure"], labels=["Protein"])
    workspace.close()

    for use in (
        workspace.audit,
        workspace.runs,
        workspace.findings,
        lambda: workspace.check(APOE_APP),
        lambda: workspace.ask("x"),
        lambda: workspace.load(DEMO / "import"),
        lambda: workspace.graph,
    ):
        with pytest.raises(UsageError, match="the workspace is closed"):
            use()
    assert all(isinstance(finding, Finding) for finding in audit.findings)
    assert audit.to_arrow().num_rows == len(list(audit.findings))


@pytest.mark.slow
def test_two_workspaces_and_several_threads_at_once(tmp_path: Path) -> None:
    one, other = over_the_demo(tmp_path / "one"), over_the_demo(tmp_path / "other")
    with one, other, ThreadPoolExecutor(3) as pool:
        audits = [pool.submit(w.audit, ["existence"], labels=["Gene"]) for w in (one, other, one)]
        fingerprints = [[f.fingerprint for f in audit.result().findings] for audit in audits]
        checks = list(pool.map(one.check, ["APOE ACTS_ON APP"] * 3))

        assert fingerprints[0] == fingerprints[1] == fingerprints[2] != []
        assert len({check.run.id for check in checks}) == 3
        assert len(one.runs()) == 5
        assert len(other.runs()) == 1


# --- what the package exports


def test_exports_are_there_and_come_late() -> None:
    script = (
        "import sys, kgcheck\n"
        "assert not {'pydantic', 'duckdb', 'kgcheck.workspace', 'kgcheck.model'} & set(sys.modules)\n"
        "assert set(kgcheck.__all__) <= set(dir(kgcheck))\n"
        "from kgcheck import *\n"
        "print(Workspace.__name__, Ref(label='Gene', id='TP53'), verdict.__name__, kgcheck.model.Ref is Ref)\n"
        "try:\n    kgcheck.Workspaces\nexcept AttributeError as error:\n    print(error)\n"
        # pyarrow imports pandas, where that is installed, as soon as it makes an array of Python's values.
        "profile = Workspace(store='g.lbdb').schema\n"
        "print(profile.label('Protein').base_id('P00441-2'), 'pandas' in sys.modules)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert ran.stdout.splitlines() == [
        "Workspace Gene TP53 verdict True",
        "module 'kgcheck' has no attribute 'Workspaces'",
        "P00441 False",
    ]


@pytest.mark.slow
def test_a_script_without_a_guard_loads_a_store(tmp_path: Path) -> None:
    directory = ImportDirectory(tmp_path / "import")
    directory.write(GENES, directory.row(GENES, ID="TP53", name="tumor protein p53"))
    script = tmp_path / "script.py"
    script.write_text(
        "from kgcheck import Settings, Workspace\n"
        "with Workspace(store='g.lbdb', settings=Settings(home='home')) as workspace:\n"
        "    print(workspace.load('import').nodes)\n"
    )
    for how in ([str(script)], ["-c", script.read_text()]):
        ran = subprocess.run(
            [sys.executable, "-W", "error", *how],
            cwd=tmp_path,
            env={"PYTHONPATH": PYTHONPATH, "PATH": ""},
            capture_output=True,
            text=True,
            check=True,
        )
        assert (ran.stdout, ran.stderr) == ("1\n", "")
