"""The example of a note, grounded in the demo: what is right in it is verified, and its four faults are found."""

import json
from pathlib import Path

import pytest

from tests.support import ROOT
from tests.support.audits import kgcheck

EXAMPLE = ROOT / "examples" / "grounding"

pytestmark = pytest.mark.slow


def test_the_example_has_four_faults_and_the_rest_is_confirmed(tmp_path: Path) -> None:
    assert kgcheck("demo", "--out", tmp_path / "demo", cwd=tmp_path).code == 0
    demo = tmp_path / "demo"

    said = kgcheck(
        *("ground", EXAMPLE / "note.md", "--results", EXAMPLE / "results.json", "--literature", demo / "literature"),
        *("--store", demo / "graph.lbdb", "--reference", demo / "reference.duckdb"),
        *("--ledger", demo / "ledger.sqlite", "--format", "json"),
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
