"""A deep cycle of `kgcheck improve`: an analysis of the demo's audited graph, a program over it in the real sandbox."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kgcheck.errors import ProgramError
from kgcheck.graph.embedded import EmbeddedStore
from kgcheck.grounding.ground import ground
from kgcheck.grounding.improvement_log import ImprovementLog, ImprovementRound
from kgcheck.grounding.manuscripts.reading import read_manuscript
from kgcheck.grounding.remarks import Remark
from kgcheck.grounding.results import read_results
from kgcheck.profile.schema import load_schema
from kgcheck.protocols.programs.sandbox import best_guard
from kgcheck.settings import Settings
from kgcheck.workspace import Workspace
from tests.support.audits import audited, demo
from tests.support.chat_server import MODEL, Asked, Move, Say, chat_server

NOTE = """# Secretases

# Abstract

APP, PSEN1, PSEN2, NCSTN, APH1A, APH1B and BACE1 were looked at [1].

# Methods

They were looked at.

# Results

Nothing was counted yet.

# References

1. Lee A, Roe B. A made-up title about mice. J Made Up. 2010;1:1-2.
"""

PROGRAM = """
import json
found = json.load(open("inputs/S1.1_results.json"))
tables = [rows for name, rows in found.items() if name not in ("about", "results")]
open("what_was_computed.tsv", "w").write("terms\\n")
json.dump({"enriched terms in all": sum(map(len, tables)), "mice that were cured": 77}, open("results.json", "w"))
"""

Worker = Callable[[dict[str, Any]], str]


def of_results(question: dict[str, Any]) -> str:
    """What an honest worker makes of the results: one of them, by the words of its name."""
    if not question["results"]:
        return str(question["section"])
    one = next(r for r in question["results"] if r["name"].endswith(".enriched terms in all"))
    return (
        f"{question['section'].strip()} Enrichment, computed: there were {one['value']} enriched terms in all. BETTER."
    )


def play(worker: Worker) -> Callable[[Asked], Move]:
    """A judge that finds the analysis weak, a worker, and a writer of a program."""

    def move(asked: Asked) -> Move:
        question = json.loads(str(asked.messages[1]["content"]))
        if asked.form == "ProgramAnswer":
            return Say(json.dumps({"program": PROGRAM}))
        if asked.form == "WrittenSection":
            return Say(json.dumps({"text": worker(question), "left_out": []}))
        weak = question["dimension"] == "soundness" and "BETTER" not in question["sections"]
        quote = question["sections"].splitlines()[1]
        return Say(
            json.dumps(
                {"quote": quote, "rationale": "Because.", "advice": "Do a GO enrichment.", "score": 1 if weak else 9}
            )
        )

    return move


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("deep") / "ledger.sqlite"
    with EmbeddedStore(demo().store, load_schema()) as store:
        audited(store, path, demo().reference, types=["existence"])
    return path


def improved(folder: Path, worker: Worker, ledger: Path, store: str | Path | None, **more: Any) -> ImprovementLog:
    note = folder / "note.md"
    note.write_text(NOTE, encoding="utf-8")
    with chat_server(play(worker)) as server:
        settings = Settings(home=folder, llm_base_url=server.url, llm_model=MODEL)
        with Workspace(brain="llm", settings=settings, store=store, ledger=ledger if store else None) as workspace:
            log, _ = workspace.improve(note, folder / "out", rounds=5, **more)
    return log


def deep(log: ImprovementLog) -> ImprovementRound:
    return log.done[4]


@pytest.mark.slow
def test_what_an_experiment_found_enters_the_text_with_its_results(tmp_path: Path, ledger: Path) -> None:
    try:
        best_guard()
    except ProgramError as missing:
        pytest.skip(missing.message)
    log = improved(tmp_path, of_results, ledger, demo().store)

    done = deep(log)
    assert (done.outcome, done.dimension, done.action, done.experiment) == (
        "accepted", "soundness", "add_analysis", "enrichment",
    ), done.reason  # fmt: skip
    # A number that the program states was not computed.
    assert "a program computed 1 numbers; 1 numbers that stand in the program itself are left out" in done.reason
    results = json.loads((log.folder / "results.json").read_text(encoding="utf-8"))
    assert list(results["enrichment"]["computed"]) == ["enriched terms in all"]
    assert (log.folder / "experiments/005/S1.2/record.json").is_file()
    best = read_manuscript(log.folder / "best.md")
    found = ground(best, [], None, read_results(log.folder / "results.json"))
    assert [r.sentence for r in found.remarks if r.remark is Remark.NUMBER_VERIFIED] == [4]
    assert done.cost.input_tokens > 0
    # It goes on from what it left, with the results that it adopted.
    again = improved(tmp_path, of_results, ledger, demo().store)
    assert again.rounds == log.rounds


@pytest.mark.slow
def test_a_number_that_no_experiment_found_does_not_enter_the_text(tmp_path: Path, ledger: Path) -> None:
    def invents(question: dict[str, Any]) -> str:
        return f"{question['section'].strip()} Enrichment, computed: there were 901 enriched terms in all. BETTER."

    log = improved(tmp_path, invents, ledger, demo().store)

    assert deep(log).outcome == "rejected"
    assert "it holds the number 901" in deep(log).reason
    assert deep(log).experiment == "enrichment"
    assert not (log.folder / "results.json").exists()
    assert (log.folder / "best.md").read_text(encoding="utf-8") == NOTE


def test_without_the_extra_it_says_so(tmp_path: Path, ledger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy", None)
    monkeypatch.delattr("kgcheck.protocols.programs.methods", raising=False)
    monkeypatch.delitem(sys.modules, "kgcheck.protocols.programs.methods", raising=False)
    log = improved(tmp_path, lambda question: str(question["section"]), ledger, None)

    assert deep(log).outcome == "deep_cycle"
    assert "kgcheck[protocols]" in deep(log).reason
