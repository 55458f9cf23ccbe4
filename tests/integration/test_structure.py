"""Audits of structure: faults in pieces, folded, filtered and compared; what each rule finds stands in tests/rules."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgcheck import clock
from kgcheck.audit.rules.count_moved import moved_counts
from kgcheck.audit.rules.parent_cycle import cycles
from kgcheck.graph.store import StrayEdge
from kgcheck.ledger.ledger import Ledger, Run
from kgcheck.model import CheckType, Finding, Reason
from kgcheck.rules import ALL
from tests.support.audits import Audited, MemoryStore, audited, comparable
from tests.support.rule_cases import CASES
from tests.support.spent import spent

Nodes = dict[str, list[dict[str, Any]]]

ACTS_ON = "Protein ACTS_ON Protein"
PARENT = "Disease HAS_PARENT Disease"
OF_DISEASE = "Protein ASSOCIATED_WITH Disease"
IN_PATHWAY = "Protein ANNOTATED_IN_PATHWAY Pathway"
TRANSLATED = "Gene TRANSLATED_INTO Protein"


CLEAN: dict[str, Nodes] = tomllib.loads((CASES / "graph.toml").read_text(encoding="utf-8"))


class Graph(NamedTuple):
    """A graph that a test may spoil."""

    nodes: Nodes
    edges: Nodes
    stray: list[StrayEdge]

    def store(self) -> MemoryStore:
        return MemoryStore(self.nodes, self.edges, self.stray)


def acts_on(head: str, tail: str, **more: Any) -> dict[str, Any]:
    return {"head": head, "tail": tail, "action": "binding", "score": 0.9, "source": "STRING"} | more


@pytest.fixture
def graph() -> Graph:
    """Two proteins, their genes, a pathway and a chain of three diseases, without a fault."""
    nodes, edges = deepcopy(CLEAN["nodes"]), deepcopy(CLEAN["edges"])
    return Graph(nodes, edges, [])


def structure(graph: Graph, tmp_path: Path, **options: Any) -> Audited:
    return audited(graph.store(), tmp_path / "ledger.sqlite", types=(CheckType.STRUCTURE,), **options)


def told(finding: Finding) -> tuple[str | None, ...]:
    task = finding.task
    return task.rule, task.subject.id, task.relation, task.object.id if task.object else None


def test_clean_graph_has_no_finding(graph: Graph, tmp_path: Path) -> None:
    audit = structure(graph, tmp_path)

    assert audit.findings == []
    assert audit.tallies == []


def spoil(graph: Graph) -> None:
    """One node and three edges that each break a rule."""
    graph.nodes["Gene"].append({"id": "BRCA1", "name": "BRCA1 DNA repair associated"})
    graph.edges[ACTS_ON].append(acts_on("P04637", "P04637"))
    graph.edges[IN_PATHWAY][0]["evidence"] = " Unspecified "
    edge = StrayEdge(head_label="Gene", head_id="TP53", relation="ACTS_ON", tail_label="Protein", tail_id="Q00987")
    graph.stray.extend([edge, edge])


def test_faults_are_the_same_in_pieces_of_any_size(graph: Graph, tmp_path: Path) -> None:
    spoil(graph)
    graph.nodes["Disease"][2]["name"] = "cancer"
    graph.edges[ACTS_ON].append(acts_on("Q00987", "P04637"))
    graph.nodes["Gene"] += [{"id": f"GENE{n}", "name": "unspecified"} for n in range(20)]

    whole = structure(graph, tmp_path / "1", unfold=True)
    small = structure(graph, tmp_path / "2", piece_tasks=3, unfold=True)

    assert len(whole.findings) == 6 + 20 + 20 + 19
    assert comparable(small) == comparable(whole)


@pytest.mark.slow
def test_what_many_break_alike_is_one_finding_with_its_number_and_examples(graph: Graph, tmp_path: Path) -> None:
    graph.nodes["Gene"] += [{"id": f"GENE{n:02}", "name": f"gene {n}"} for n in range(30)]
    graph.edges[IN_PATHWAY][0]["evidence"] = "unspecified"

    folded = structure(graph, tmp_path / "1")
    unfolded = structure(graph, tmp_path / "2", unfold=True)
    small = structure(graph, tmp_path / "3", piece_tasks=3)

    assert [told(f) for f in folded.findings] == [
        ("orphan_node", ALL, None, None),
        ("placeholder_value", "P04637", "ANNOTATED_IN_PATHWAY", "R-HSA-109581"),
    ]
    assert (folded.findings[0].task.value or "").startswith(
        "30 nodes, among them GENE00 no edge that the profile knows; GENE01 no edge that "
    )
    assert len(unfolded.findings) == 31
    assert {(t.reason, t.count) for t in folded.tallies} == {
        (Reason("orphan_node"), 30),
        (Reason("placeholder_value"), 1),
    }
    assert comparable(small) == comparable(folded)
    assert sorted(map(repr, folded.tallies)) == sorted(map(repr, unfolded.tallies))


def test_what_is_folded_is_counted_among_the_nodes_that_are_asked_for(graph: Graph, tmp_path: Path) -> None:
    graph.nodes["Gene"] += [{"id": f"GENE{n:02}", "name": f"gene {n}"} for n in range(40)]
    # Of one node twice: a hit that stands for itself and one that is made of several.
    graph.nodes["Gene"].append({"id": "GENE07", "name": "gene 7"})
    asked = tuple(f"GENE{n:02}" for n in range(5, 30))

    some = structure(graph, tmp_path / "1", ids=asked)
    few = structure(graph, tmp_path / "2", ids=asked[:3])

    (fold,) = (f for f in some.findings if f.task.rule == "orphan_node")
    examples = "; ".join(f"{name} no edge that the profile knows" for name in asked[:5])
    assert fold.task.value == f"25 nodes, among them {examples}"
    assert {f.task.subject.id for f in few.findings if f.task.rule == "orphan_node"} == set(asked[:3])


def test_placeholders_are_folded_by_property(graph: Graph, tmp_path: Path) -> None:
    pathways = [f"R-HSA-{n}" for n in range(100, 200)]
    graph.nodes["Pathway"] += [{"id": i, "name": i} for i in pathways]
    edge = {"head": "P04637", "source": "Reactome"}
    graph.edges[IN_PATHWAY] += [edge | {"tail": i, "evidence": "unspecified"} for i in pathways[:60]]
    graph.edges[IN_PATHWAY] += [edge | {"tail": i, "cellular_component": "unknown"} for i in pathways[60:]]

    audit = structure(graph, tmp_path)

    assert {(f.task.attribute, (f.task.value or "").split(",")[0]) for f in audit.findings} == {
        ("evidence", "60 edges"),
        ("cellular_component", "40 edges"),
    }
    assert len({f.fingerprint for f in audit.findings}) == 2


def test_malformed_ids_are_told_once(graph: Graph, tmp_path: Path) -> None:
    graph.nodes["Disease"][2]["id"] = graph.edges[PARENT][1]["head"] = "DOID-305"
    graph.edges[OF_DISEASE][0]["tail"] = "DOID-305"

    both = audited(graph.store(), tmp_path / "l.sqlite", types=(CheckType.EXISTENCE, CheckType.STRUCTURE))

    assert [f.task.type for f in both.findings if f.verdict.reason is Reason.MALFORMED_ID] == [CheckType.EXISTENCE]


def test_edges_of_one_pair_are_one_finding(graph: Graph, tmp_path: Path) -> None:
    """Parallel edges that differ are separate facts; their faults are one finding about the pair."""
    graph.edges[ACTS_ON] = [
        acts_on("P04637", "Q00987", score=2.0, as_text=["score"]),
        acts_on("P04637", "Q00987", score=3.0, as_text=[]),
        acts_on("P04637", "Q00987", action="-", source=""),
        acts_on("P04637", "Q00987", action="none", source=None),
    ]

    audit = structure(graph, tmp_path)

    assert {(f.task.rule, f.task.value) for f in audit.findings} == {
        ("score_out_of_range", "score is 2.0; score is 3.0"),
        ("number_as_text", "score"),
        ("placeholder_value", "action=-; action=none"),
        ("missing_provenance", "no source"),
        ("parallel_scores", "scores 2.0, 3.0"),
    }


def test_nodes_that_share_a_name_are_paired_with_the_first(graph: Graph, tmp_path: Path) -> None:
    graph.nodes["Gene"] += [{"id": name, "name": "tumor protein p53"} for name in ("A1", "B1")]
    graph.edges[TRANSLATED] += [{"head": name, "tail": "P04637", "source": "HGNC"} for name in ("A1", "B1")]

    audit = structure(graph, tmp_path)

    assert sorted(told(f)[1:] for f in audit.findings) == [("A1", None, "B1"), ("A1", None, "TP53")]


@pytest.mark.slow
def test_filters_apply_to_faults(graph: Graph, tmp_path: Path) -> None:
    spoil(graph)

    def rules(**options: Any) -> set[str | None]:
        return {f.task.rule for f in structure(graph, tmp_path, **options).findings}

    assert rules() == {"self_loop", "orphan_node", "placeholder_value", "wrong_end_label"}
    assert rules(labels=("Gene",)) == {"orphan_node", "wrong_end_label"}
    assert rules(relations=("ACTS_ON",)) == {"self_loop", "wrong_end_label"}
    assert rules(labels=("Pathway",)) == {"placeholder_value"}
    assert rules(ids=("BRCA1",)) == {"orphan_node"}
    assert rules(ids=("R-HSA-109581",)) == {"placeholder_value"}
    assert rules(ids=("TP53",)) == {"wrong_end_label"}


def test_stray_edges_may_have_any_ends(graph: Graph, tmp_path: Path) -> None:
    graph.stray.append(StrayEdge(head_label="", head_id="", relation="ACTS_ON", tail_label="Drug", tail_id="a\nb"))

    (finding,) = structure(graph, tmp_path).findings

    assert finding.task.subject.id == "(no id)"
    assert "\n" not in str(finding.task)


@pytest.mark.slow
def test_counts_that_moved_are_told(graph: Graph, tmp_path: Path) -> None:
    before = deepcopy(graph)
    before.nodes["Tissue"] = [{"id": "BTO:0000142", "name": "brain"}]
    tissue = "Protein ASSOCIATED_WITH Tissue"
    before.edges[tissue] = [{"head": "P04637", "tail": "BTO:0000142", "source": "TISSUES"}]
    structure(before, tmp_path)
    graph.nodes["Pathway"].append({"id": "R-HSA-5357801", "name": "Programmed Cell Death"})
    graph.edges[IN_PATHWAY].append({"head": "P04637", "tail": "R-HSA-5357801", "source": "Reactome", "evidence": "TAS"})

    audit = structure(graph, tmp_path)

    assert {(f.task.rule, str(f.task.subject), f.task.relation, f.task.value) for f in audit.findings} == {
        ("count_moved", f"Pathway {ALL}", None, "1 before, 2 now"),
        ("count_moved", f"Tissue {ALL}", None, "1 before, 0 now"),
        ("count_moved", f"Protein {ALL}", "ANNOTATED_IN_PATHWAY", "1 before, 2 now"),
        ("count_moved", f"Protein {ALL}", "ASSOCIATED_WITH", "1 before, 0 now"),
    }
    assert structure(graph, tmp_path).findings == []


def test_counts_are_compared_with_audits_of_the_same_store_only(graph: Graph, tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    with Ledger(path) as ledger:
        other = Run(id="1", started=clock.now(), store="another", profile="ckg", nodes={"Gene": 1})
        check = Run(id="2", started=clock.now(), store="memory", profile="ckg")
        cut_off = Run(id="3", started=clock.now(), store="memory", profile="ckg", nodes={"Gene": 1})
        for run in (other, check):
            ledger.start(run)
            ledger.finish(run)
        ledger.start(cut_off)

    assert structure(graph, tmp_path).findings == []


@pytest.mark.parametrize(
    ("before", "after", "moved"),
    [(100, 110, False), (100, 111, True), (100, 90, False), (100, 89, True), (0, 1, True), (0, 0, False), (1, 0, True)],
)
def test_a_count_moves_by_more_than_a_tenth(before: int, after: int, *, moved: bool) -> None:
    assert bool(list(moved_counts({"Gene": before}, {"Gene": after}))) == moved


# --- cycles


Edges = list[tuple[str, str]]


def ways_up(edges: Edges) -> dict[str, set[str]]:
    """Ancestors by term, the slow way."""
    found: dict[str, set[str]] = {}
    for child, parent in edges:
        if child != parent:
            found.setdefault(child, set()).add(parent)
    for _ in found:
        for ancestors in found.values():
            ancestors |= {a for b in list(ancestors) for a in found.get(b, ())}
    return found


@given(st.lists(st.tuples(st.sampled_from("abcdefgh"), st.sampled_from("abcdefgh")), max_size=24))
def test_cycles_are_the_groups_of_mutual_ancestors(edges: Edges) -> None:
    up = ways_up(edges)
    groups = {frozenset({t} | {a for a in up[t] if t in up.get(a, ())}) for t in up if t in up[t]}

    found = list(cycles(edges))

    assert [min(g) for g in sorted(groups, key=min)] == [c.way[0] for c in found]
    assert sorted(len(g) for g in groups) == sorted(c.terms for c in found)
    for cycle in found:
        assert cycle.way[0] == cycle.way[-1]
        assert len(set(cycle.way)) == len(cycle.way) - 1
        assert all(step in set(edges) for step in zip(cycle.way, cycle.way[1:], strict=False))


def ladder() -> Edges:
    """A hierarchy with 10 ** 499 ways from bottom to top."""
    return [(f"{layer}.{i}", f"{layer + 1}.{j}") for layer in range(500) for i in range(10) for j in range(10)]


def chain() -> Edges:
    return [(f"{n:05}", f"{n + 1:05}") for n in range(50_000)]


def ring() -> Edges:
    return [*chain()[:-1], ("49999", "00000")]


@pytest.mark.parametrize(("edges", "groups"), [(ladder, 0), (chain, 0), (ring, 1)])
def test_cycles_in_50000_edges_take_less_than_two_seconds(edges: Callable[[], Edges], groups: int) -> None:
    made = edges()
    found: list[object] = []

    assert spent(lambda: found.extend(cycles(made))) < 2
    assert len(found) == groups


def test_a_long_cycle_is_told_in_short(graph: Graph, tmp_path: Path) -> None:
    terms = [f"DOID:{1000 + n}" for n in range(30)]
    graph.nodes["Disease"] = [{"id": t, "name": t} for t in terms] + graph.nodes["Disease"]
    graph.edges[PARENT] += [{"head": a, "tail": b} for a, b in zip(terms, terms[1:] + terms[:1], strict=True)]

    (finding,) = structure(graph, tmp_path).findings

    assert finding.task.value == (
        "DOID:1000 > DOID:1001 > DOID:1002 > DOID:1003 > DOID:1004 > DOID:1005 > DOID:1006 > DOID:1007 > ...; "
        "30 terms are ancestors of each other"
    )
