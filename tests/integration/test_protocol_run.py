"""`kgcheck protocol run`: analyses over the demo's audited graph, programs of steps, and what is kept."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from kgcheck.errors import ProgramError
from kgcheck.grounding.results import read_results
from kgcheck.model import CheckType, Outcome
from kgcheck.protocols.programs.sandbox import best_guard
from tests.support.audits import LEDGER, Audited, Said, demo, demo_audit, demo_audited, kgcheck
from tests.support.chat_server import MODEL, Say, chat_server, good

GENES = "APP,PSEN1,PSEN2,NCSTN,APH1A,APH1B,BACE1"
TERMS = [{"name": "enriched terms", "kind": "table"}]
STEPS = [
    {"id": "S1.1", "text": "Enrich.", "analysis": "enrichment", "outputs": TERMS},
    {
        "id": "S1.2", "text": "Count the terms.", "inputs": TERMS,
        "outputs": [{"name": "counted terms", "kind": "table"}],
    },
    {"id": "S1.3", "text": "Discuss."},
    {
        "id": "S1.4", "text": "Expand.", "analysis": "neighbourhood",
        "parameters": [{"name": "least score", "value": "0.4"}],
    },
]  # fmt: skip
PROGRAM = """
import json
found = json.load(open("inputs/S1.1_results.json"))
count = sum(len(rows) for name, rows in found.items() if name not in ("about", "results"))
open("counted_terms.tsv", "w").write(f"terms\\t{count}\\n")
json.dump({"terms": count}, open("results.json", "w"))
"""


@pytest.fixture(scope="module")
def audit() -> tuple[Path, Audited]:
    return demo_audit() / LEDGER, demo_audited()


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def protocol(tmp_path: Path) -> Path:
    path = tmp_path / "protocol.json"
    objective = {"title": "Secretases", "objective": "What do they do?", "about": GENES.split(",")}
    sections = [{"id": "S1", "heading": "Analysis", "steps": STEPS}]
    path.write_text(json.dumps({"objective": objective, "made_at": "2026-01-01T00:00:00Z", "sections": sections}))
    return path


def analysed(name: str, out: Path, *more: object) -> tuple[Said, dict[str, object]]:
    ran = kgcheck("protocol", "run", "--analysis", name, "--genes", GENES, "--store", demo().store, "--out", out, *more)
    return ran, json.loads((out / "results.json").read_text())["about"] if ran.code == 0 else {}


@pytest.mark.parametrize("given", ["", "seed"])
def test_a_parameter_without_a_value_is_refused(tmp_path: Path, given: str) -> None:
    ran = kgcheck("protocol", "run", "--analysis", "enrichment", "--genes", GENES, "--set", given, "--out", tmp_path)

    assert ran.refuses(f"{given!r} sets no parameter")


def test_only_what_stands_is_analysed(audit: tuple[Path, Audited], tmp_path: Path) -> None:
    ledger, found = audit
    ran, about = analysed("enrichment", tmp_path / "a", "--ledger", ledger)
    assert ran.code == 0
    assert all("of fewer than 3 nothing can be said" in line for line in ran.err.splitlines()), ran.err
    _, before = analysed("enrichment", tmp_path / "b")

    wrong = [
        f.task for f in found.findings
        if f.task.type is CheckType.TRIPLE and f.verdict.outcome is Outcome.REFUTED and f.task.object
        and (f.task.relation, f.task.object.label) != ("ASSOCIATED_WITH", "Disease")
        and f.task.object.label in ("Biological_process", "Molecular_function", "Cellular_component", "Pathway")
    ]  # fmt: skip
    assert about["left_out"] == len(wrong) > 0
    assert before["left_out"] == 0
    assert before["edges"] == int(str(about["edges"])) + len(wrong)
    assert about["run"] == found.run.id
    assert about["releases"]
    assert "nobody has looked" in str(before["notes"])
    assert read_results(tmp_path / "a/results.json").all
    # A check is no audit.
    copy = shutil.copy(ledger, tmp_path / "ledger.sqlite")
    assert "in run" in kgcheck("check", "existence", "Gene", "TP53", "--store", demo().store, "--ledger", copy).out
    assert analysed("enrichment", tmp_path / "c", "--ledger", copy)[1]["run"] == found.run.id


def test_a_run_takes_the_nodes_of_its_design_and_names_what_it_leaves_out(
    protocol: Path, audit: tuple[Path, Audited], tmp_path: Path
) -> None:
    study = json.loads(protocol.read_text())
    study["objective"]["about"] = [*study["objective"]["about"], "NOSUCHGENE"]
    nodes = {"PSEN1": "P49768", "PSEN2": "P49810", "APP": "P05067"}
    study["nodes"] = [{"ref": {"label": "Protein", "id": id_}, "name": name} for name, id_ in nodes.items()]
    protocol.write_text(json.dumps(study))

    command = ("protocol", "run", protocol, "--step", "S1.1", "--store", demo().store, "--ledger", audit[0])
    ran = kgcheck(*command, "--out", tmp_path / "out")

    assert ran.code == 0, ran
    about = json.loads((tmp_path / "out/S1.1/results.json").read_text())["about"]
    assert sorted(about["genes"].values()) == sorted(nodes.values())
    assert "NOSUCHGENE is no Protein that stands: left out of the set" in ran.err
    assert "BACE1 is no Protein that stands: left out of the set" in ran.err


def test_a_design_has_the_analyses_that_the_graph_can_run(audit: tuple[Path, Audited], tmp_path: Path) -> None:
    names = ["SNCA", "MAPT", "PARK2", "HTRA2", "Parkinson's disease"]
    (tmp_path / "o.toml").write_text(f'title = "Secretases"\nobjective = "What do they do?"\nabout = {names!r}\n')
    of_graph = ("--store", demo().store, "--ledger", audit[0])
    made = kgcheck("protocol", "design", "o.toml", "--out", "made", *of_graph)
    assert "'proximity' is left out: 3 genes of the set and 0 others of DOID:14330 are in the network" in made.err

    ran = kgcheck("protocol", "run", "made/protocol.json", "--out", "results", *of_graph)
    assert ran.code == 0, ran
    assert ran.out.endswith("2 done\n")
    checked = kgcheck("protocol", "check", "made/protocol.json", *of_graph)
    assert "step_missing" not in checked.out


def test_steps_are_run_and_kept(protocol: Path, audit: tuple[Path, Audited], tmp_path: Path) -> None:
    try:
        best_guard()
    except ProgramError as missing:
        pytest.skip(missing.message)
    programs, out = tmp_path / "programs", tmp_path / "out"
    programs.mkdir()
    (programs / "S1.2.py").write_text(PROGRAM)
    command = ["protocol", "run", protocol, "--store", demo().store, "--ledger", audit[0], "--out", out]

    def run(*more: object) -> tuple[int, list[str]]:
        ran = kgcheck(*command, "--programs", programs, *more)
        return ran.code, [" ".join(line.split()[:2]) for line in ran.out.splitlines()[:4]]

    assert run() == (0, ["S1.1 done", "S1.2 done", "S1.3 skipped:", "S1.4 done"])
    assert json.loads((out / "S1.2/results.json").read_text())["terms"] > 0
    record = json.loads((out / "S1.2/record.json").read_text())
    assert record["attempts"][0]["run"]["exit"] == 0
    assert list(record["attempts"][0]["run"]["inputs"]) == ["S1.1_results.json"]
    assert run() == (0, ["S1.1 kept", "S1.2 kept", "S1.3 skipped:", "S1.4 kept"])
    (programs / "S1.2.py").write_text("print(1)")
    assert run("--step", "S1.2") == (1, ["S1.2 failed", "1 failed", "0 of"])
    # What stood there was another program's.
    assert not (out / "S1.2/results.json").exists()
    assert "level 4: it left no counted_terms.tsv" in kgcheck(*command, "--programs", programs, "--step", "S1.2").out
    # What a step needs and no step has left is named.
    assert kgcheck(*command[:-1], tmp_path / "none", "--programs", programs, "--step", "S1.2").code == 1


def test_a_model_writes_what_is_not_given(
    protocol: Path, audit: tuple[Path, Audited], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    try:
        best_guard()
    except ProgramError as missing:
        pytest.skip(missing.message)
    wrong = PROGRAM.replace("inputs/", "input/")
    with chat_server(good(*(Say(json.dumps({"program": text})) for text in (wrong, PROGRAM)))) as server:
        monkeypatch.setenv("KGCHECK_LLM_BASE_URL", server.url)
        monkeypatch.setenv("KGCHECK_LLM_MODEL", MODEL)
        command = ["protocol", "run", protocol, "--store", demo().store, "--ledger", audit[0], "--out", tmp_path / "o"]
        kgcheck(*command, "--step", "S1.1")
        ran = kgcheck(*command, "--step", "S1.2", "--brain", "llm")
        assert ran.code == 0, ran
        assert "1 of 1 programs succeeded" in ran.out
        assert "kept" in kgcheck(*command, "--step", "S1.2", "--brain", "llm").out
    record = json.loads((tmp_path / "o/S1.2/record.json").read_text())
    assert [attempt["level"] for attempt in record["attempts"]] == [1, None]
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name a protocol or an --analysis"),
        (["--analysis", "enrichment"], "no folder for the results"),
        (["--analysis", "enrichmant", "--genes", "APP", "--out", "o"], "there is no ready analysis 'enrichmant'"),
        (["--analysis", "enrichment", "--genes", "ABC1", "--out", "o"], "the graph has no Protein of the gene set"),
        (["--analysis", "proximity", "--genes", "APP", "--out", "o"], "proximity needs a target"),
        (["--analysis", "neighbourhood", "--genes", "APP", "--out", "o"], "1 of 1 genes are in the network: of fewer"),
        (["--analysis", "enrichment", "--genes", "APP", "--set", "rows=0", "--out", "o"], "rows is '0'"),
        (["--analysis", "enrichment", "--genes", "@none.txt", "--out", "o"], "there is no file none.txt"),
        (["none.json", "--out", "o"], "there is no file none.json"),
        (["protocol.json", "--out", "o", "--step", "S9.9"], "there is no step 'S9.9'"),
    ],
)
def test_what_cannot_be_run_is_refused(arguments: list[str], message: str, protocol: Path) -> None:
    assert kgcheck("protocol", "run", *arguments, "--store", demo().store).refuses(message)


def test_ready_analyses_are_listed() -> None:
    ran = kgcheck("protocol", "run", "--analysis", "list")
    assert [line.split(":")[0] for line in ran.out.splitlines()] == ["enrichment", "neighbourhood", "proximity"]


@pytest.mark.slow
def test_mismatch_repair_genes_are_enriched_in_mismatch_repair(shared_data: Path, tmp_path: Path) -> None:
    """On real data: nothing else is so sure of these genes."""
    store = tmp_path / "graph.lbdb"
    assert kgcheck("load", shared_data / "ckg_import", "--store", store).code == 0
    genes = "MSH2,MSH6,MLH1,PMS2,MSH3,PMS1,EXO1,PCNA,LIG1,RFC1"
    ran = kgcheck("protocol", "run", "--analysis", "enrichment", "--genes", genes, "--store", store, "--out", "o")
    assert ran.code == 0, ran
    rows = Path("o/biological_process.tsv").read_text().splitlines()
    assert rows[1].startswith("GO:0006298\tmismatch repair\t")
    assert Path("o/pathway.tsv").read_text().splitlines()[1].startswith("R-HSA-5358508\tMismatch Repair\t")
    random = "HBB,INS,KRT40,CRX,PRNP,TLR4,ALOX5,SORL1,BARX1,CD14"
    kgcheck("protocol", "run", "--analysis", "enrichment", "--genes", random, "--store", store, "--out", "r")
    assert "mismatch repair" not in Path("r/biological_process.tsv").read_text()
