"""The demo finds exactly what docs/demo.md documents, over the command that a newcomer types."""

import csv
import json
import re
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kgcheck.model import Outcome
from kgcheck.protocols.protocol import read_protocol
from tests.support import ROOT
from tests.support.audits import Said, kgcheck

EXAMPLE = ROOT / "examples" / "grounding"
COLUMNS = ("type", "subject", "relation", "object", "attribute", "outcome", "reason")


class Shown(NamedTuple):
    """The demo's folder, what the command said, and the findings in its ledger."""

    out: Path
    said: Said
    findings: list[dict[str, Any]]


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    out = tmp_path_factory.mktemp("demo") / "kgcheck-demo"
    said = kgcheck("demo", "--out", out)
    return Shown(out, said, findings(out))


def findings(out: Path) -> list[dict[str, Any]]:
    report = kgcheck("report", "--ledger", out / "ledger.sqlite", "--format", "jsonl")
    return [json.loads(line) for line in report.out.splitlines()]


def documented() -> list[tuple[str, ...]]:
    with (ROOT / "tests/integration/demo_findings.tsv").open(newline="", encoding="utf-8") as file:
        return sorted(tuple(row[c] for c in COLUMNS) for row in csv.DictReader(file, delimiter="\t"))


def as_documented(found: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    return sorted(
        (
            f["type"],
            f["subject"]["id"],
            f["relation"] or "",
            f["object"]["id"] if f["object"] else "",
            f["attribute"] or f["rule"] or "",
            f["outcome"],
            f["reason"],
        )
        for f in found
    )


def test_demo_finds_exactly_what_is_documented(shown: Shown) -> None:
    assert as_documented(shown.findings) == documented()


def test_page_about_the_demo_counts_the_same_findings() -> None:
    page = (ROOT / "docs/demo.md").read_text(encoding="utf-8")
    section = page.split("## Findings by reason")[1].split("##")[0]
    told = {reason: int(count) for reason, count in re.findall(r"^\| `(\w+)` \| (\d+) \|$", section, re.MULTILINE)}
    facts = re.findall(r"^\| \d+ \| (\w[\w ]*\w) \|", page, re.MULTILINE)

    assert told == Counter(row[-1] for row in documented())
    assert f"{len(facts)} facts, {len(documented())} findings" in page
    assert len([kind for kind in facts if kind != "seeded"]) >= 15
    assert len(told) >= 8


def test_readme_shows_what_the_demo_says(shown: Shown) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    screen = re.search(r"^\$ make demo\n(run .*?)^```", readme, re.MULTILINE | re.DOTALL)
    assert screen
    first, *others, report, last = (re.sub(r"^run \S+:", "run:", line) for line in screen[1].splitlines())

    errors = [re.sub(r"^run \S+:", "run:", line) for line in shown.said.err.splitlines()]
    assert first in errors
    assert [*others, report.replace(".../kgcheck-demo", str(shown.out))] == shown.said.out.splitlines()
    assert last.replace("kgcheck-demo", str(shown.out)) == errors[-1]
    assert shown.said.code == 0
    assert all((shown.out / name).stat().st_size > 10_000 for name in ("report.html", "report.md"))


def test_every_finding_has_evidence_that_says_where_it_stands_and_proposes_a_change_to_a_wrong_graph(
    shown: Shown,
) -> None:
    for finding in shown.findings:
        assert finding["evidence"], finding
        for evidence in finding["evidence"]:
            assert evidence["source"] and evidence["release"] and evidence["record"], finding  # noqa: PT018
            assert datetime.fromisoformat(evidence["retrieved_at"]).utcoffset() is not None
        assert (finding["proposed_change"] is not None) == (finding["graph"] is not None), finding


@pytest.mark.slow
def test_demo_shows_what_papers_say(shown: Shown) -> None:
    # All that the notes are taken to say of edges. Their other genes and diseases meet only in mice, in denials or
    # in what a drug does, and a paper that says no more must not count for an edge.
    assert "; papers speak of 3 edges\n" in shown.said.err
    out = shown.out
    where = ("--store", out / "graph.lbdb", "--reference", out / "reference.duckdb", "--index", out / "literature")
    for disease in ("DOID:1289", "DOID:332"):
        said = kgcheck("verify", "--triple", f"P00441 ASSOCIATED_WITH {disease}", *where, "--format", "json")
        opinions = [(o["document"], o["stance"]) for o in json.loads(said.out)["opinions"]]
        assert [found for found in opinions if found[1] != "silent"] == [("pmid:12442272", "supports")]


@pytest.mark.slow
def test_the_example_of_a_note_has_four_faults_and_the_rest_is_confirmed(shown: Shown, tmp_path: Path) -> None:
    out = shown.out
    said = kgcheck(
        *("ground", EXAMPLE / "note.md", "--results", EXAMPLE / "results.json", "--literature", out / "literature"),
        *("--store", out / "graph.lbdb", "--reference", out / "reference.duckdb"),
        *("--ledger", out / "ledger.sqlite", "--format", "json"),
        cwd=tmp_path,
    )

    assert said.code == 1
    remarks = {
        s["number"]: (s["state"], {r["remark"] for r in s["remarks"]}) for s in json.loads(said.out)["sentences"]
    }
    assert remarks == {
        1: ("verified", {"number_verified", "cited_silent"}),
        2: ("contradicted", {"number_differs", "number_verified", "cited_silent"}),
        3: ("verified", {"edge_verified"}),
        4: ("verified", {"edge_verified", "symbol_outdated"}),
        5: ("contradicted", {"edge_denied"}),
        6: ("supported", {"cited_supports"}),
        7: ("contradicted", {"edge_verified", "marker_out_of_range"}),
        8: ("verified", {"papers_support", "number_verified", "cited_supports"}),
    }


@pytest.fixture(scope="module")
def shown_again(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    """The demo with its protocols, in a folder that holds other files and what is left of an earlier one."""
    out = tmp_path_factory.mktemp("again")
    (out / "mine.txt").write_text("mine")
    (out / "graph.lbdb").write_bytes(b"not a graph")
    (out / "ledger.sqlite").write_bytes(b"not a ledger")
    said = kgcheck("demo", "--protocol", "--out", out, "--limit", 3)
    return Shown(out, said, findings(out))


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize(("name", "ready"), [("alzheimer", {"neighbourhood"}), ("rasopathies", set[str]())])
def test_demo_designs_protocols_on_what_it_verified(shown_again: Shown, name: str, ready: set[str]) -> None:
    protocol = read_protocol(shown_again.out / "protocols" / name / "protocol.json")
    facts = {fact.id: fact for fact in protocol.facts}

    # The others have too few genes in the network of the demo.
    assert {step.analysis for step in protocol.steps} == {"", "enrichment", *ready}
    assert all(facts[id_].verified for step in protocol.steps for id_ in step.facts)
    assert sum(fact.verified for fact in protocol.facts) > 80
    assert any(fact.outcome is Outcome.REFUTED for fact in protocol.facts)
    assert f"protocol: {shown_again.out / 'protocols' / name / 'protocol.html'}" in shown_again.said.out
    assert kgcheck("protocol", "replay", shown_again.out / "protocols" / name).code == 0


@pytest.mark.slow
def test_demo_replaces_an_earlier_one_and_leaves_other_files(shown_again: Shown) -> None:
    assert shown_again.said.code == 0
    assert as_documented(shown_again.findings) == documented()
    assert (shown_again.out / "mine.txt").read_text() == "mine"


@pytest.mark.parametrize("name", ["graph.lbdb", "ledger.sqlite"])
def test_what_cannot_be_replaced_is_told(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()

    said = kgcheck("demo", "--out", tmp_path)

    assert said.code == 2
    assert said.err.startswith(f"kgcheck: cannot replace {tmp_path / name}: ")
    assert said.out == ""
