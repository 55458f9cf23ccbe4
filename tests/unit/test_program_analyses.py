"""Ready analyses against direct computation on made-up graphs."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgcheck.errors import UnknownName, UsageError
from kgcheck.grounding.results import read_results
from kgcheck.model import Ref, Triple
from kgcheck.profile.schema import load_schema
from kgcheck.protocols.programs import methods as statistics
from kgcheck.protocols.programs.analyses import AnalysisResult, ready_analyses, ready_analysis, write_result
from kgcheck.protocols.programs.methods import AnalysisGraph, run_analysis
from tests.support.audits import MemoryStore

FEW = settings(max_examples=40, deadline=None)
EVERYTHING = {"least_members": "1", "most_members": "1000", "false_discovery_rate": "1", "rows": "1000"}
PROTEINS = [f"P{number:05d}" for number in range(12)]
TERMS = [f"GO:{number:07d}" for number in range(8)]
ANNOTATED = "Protein ASSOCIATED_WITH Biological_process"
PARENT = "Biological_process HAS_PARENT Biological_process"
ACTS = "Protein ACTS_ON Protein"

has_terms = st.sets(st.tuples(st.sampled_from(PROTEINS), st.sampled_from(TERMS)), min_size=1, max_size=40)
parents = st.sets(st.tuples(st.sampled_from(TERMS), st.sampled_from(TERMS)), max_size=8)
links = st.sets(st.tuples(st.sampled_from(PROTEINS), st.sampled_from(PROTEINS)), min_size=1, max_size=30)
members = st.sets(st.sampled_from(PROTEINS), min_size=1, max_size=6)


def graph(
    edges: Mapping[str, set[tuple[str, str]]],
    refuted: set[tuple[str, str]] = frozenset(),  # type: ignore[assignment]
    score: float | None = None,
) -> AnalysisGraph:
    rows = {
        pattern: [
            {"head": head, "tail": tail, **({"score": score or 0.9} if score or pattern == ACTS else {})}
            for head, tail in sorted(pairs)
        ]
        for pattern, pairs in edges.items()
    }
    nodes = {
        "Protein": [{"id": id_, "name": f"GEN{id_[1:]}"} for id_ in PROTEINS],
        "Biological_process": [{"id": id_, "name": f"process {id_[-1]}"} for id_ in TERMS],
        "Disease": [{"id": "DOID:1", "name": "a disease"}],
    }
    wrong = [
        Triple(head=Ref(label="Protein", id=h), relation="ASSOCIATED_WITH", tail=Ref(label="Biological_process", id=t))
        for h, t in refuted
    ]
    return AnalysisGraph(MemoryStore(nodes, rows), wrong)


def ancestors(term: str, up: set[tuple[str, str]]) -> set[str]:
    found, left = {term}, deque([term])
    while left:
        here = left.popleft()
        for child, parent in up:
            if child == here and parent not in found:
                found.add(parent)
                left.append(parent)
    return found


def rows_of(result: AnalysisResult, name: str) -> dict[str, tuple[object, ...]]:
    table = next((t for t in result.tables if t.name == name), None)
    return {str(row[0]): row for row in table.rows} if table else {}


@given(has=has_terms, up=parents, chosen=members, drop=st.integers(0, 3))
@FEW
def test_enrichment_is_fishers_exact_test_over_what_stands(
    has: set[tuple[str, str]], up: set[tuple[str, str]], chosen: set[str], drop: int
) -> None:
    # Imported here: it takes a second, and every worker collects this file.
    from scipy.stats import fisher_exact
    from statsmodels.stats.multitest import multipletests

    refuted = set(sorted(has)[:drop])
    of = {p: {a for q, t in has - refuted if q == p for a in ancestors(t, up)} for p in PROTEINS}
    background = {p for p, terms in of.items() if terms}
    drawn = chosen & background
    read = graph({ANNOTATED: has, PARENT: up}, refuted)
    result = run_analysis(ready_analysis("enrichment"), read, chosen, parameters=EVERYTHING)
    if len(drawn) < 3:
        assert not rows_of(result, "Biological process")
        return

    assert result.left_out == len(refuted)
    expected = {}
    for term in TERMS:
        size = sum(term in of[p] for p in background)
        hits = sum(term in of[p] for p in drawn)
        if size:
            cells = [[hits, len(drawn) - hits], [size - hits, len(background) - size - len(drawn) + hits]]
            expected[term] = (hits, size, fisher_exact(cells, alternative="greater").pvalue)
    adjusted = multipletests([p for _, _, p in expected.values()], method="fdr_bh")[1] if expected else []
    found = rows_of(result, "Biological process")
    for (term, (hits, size, p)), after in zip(expected.items(), adjusted, strict=True):
        if hits and drawn:
            assert found[term][2:4] == (hits, size)
            assert found[term][4:6] == pytest.approx((p, after), rel=1e-4)
        else:
            assert term not in found


def steps(edges: set[tuple[str, str]], start: str, ends: set[str]) -> int | None:
    seen, left = {start}, deque([(start, 0)])
    while left:
        here, far = left.popleft()
        if here in ends:
            return far
        for one, other in edges:
            for a, b in ((one, other), (other, one)):
                if a == here and b not in seen:
                    seen.add(b)
                    left.append((b, far + 1))
    return None


@given(edges=links, chosen=members)
@FEW
def test_neighbours_are_those_with_more_links_than_chance(edges: set[tuple[str, str]], chosen: set[str]) -> None:
    from scipy.stats import fisher_exact
    from statsmodels.stats.multitest import multipletests

    near = {p: {b for a, b in edges | {(b, a) for a, b in edges} if a == p and b != p} for p in PROTEINS}
    within = {p for p in PROTEINS if near[p]}
    options = {"parameters": {"false_discovery_rate": "1", "rows": "1000"}}
    if len(chosen & within) < 3:
        with pytest.raises(UsageError, match="of fewer than 3 nothing can be said"):
            run_analysis(ready_analysis("neighbourhood"), graph({ACTS: edges}), chosen, **options)  # type: ignore[arg-type]
        return
    result = run_analysis(ready_analysis("neighbourhood"), graph({ACTS: edges}), chosen, **options)  # type: ignore[arg-type]
    found = rows_of(result, "expanded gene set")
    drawn, others = len(chosen & within), len(within) - 1

    def p_value(hits: int, size: int, drawn: int) -> float:
        table = [[hits, drawn - hits], [size - hits, others - size - drawn + hits]]
        return float(fisher_exact(table, alternative="greater").pvalue)

    # One edge says nothing of a set; those that could have two are tested, whether they have them or not.
    assert set(found) == {p for p in within - chosen if len(near[p] & chosen) >= 2}
    tested = {p: p_value(len(near[p] & chosen), len(near[p]), drawn) for p in within - chosen if len(near[p]) >= 2}
    adjusted = dict(zip(tested, multipletests([*tested.values()], method="fdr_bh")[1], strict=True)) if tested else {}
    for id_, row in found.items():
        hits, size = len(near[id_] & chosen), len(near[id_])
        assert row[2:4] == (hits, size)
        assert row[4:6] == pytest.approx((tested[id_], adjusted[id_]), rel=1e-4)
        if size + drawn - hits <= others:
            # Without the member that it is linked to, the background is the same.
            assert row[9] == pytest.approx(p_value(hits - 1, size, drawn - 1), rel=1e-4)


def test_a_target_is_measured_without_the_genes_of_the_set() -> None:
    ring = {(PROTEINS[n], PROTEINS[(n + 1) % 12]) for n in range(12)}
    of_disease = {(p, "DOID:1") for p in PROTEINS[:7]}
    read = graph({ACTS: ring, "Protein ASSOCIATED_WITH Disease": of_disease}, score=5)
    options = {"target": "a disease", "parameters": {"permutations": "20"}}

    result = run_analysis(ready_analysis("proximity"), read, PROTEINS[:3], **options)  # type: ignore[arg-type]

    # 0 is next to none but 11, which is none of the target; 1 and 2 stand 2 steps and 1 step from 3.
    assert result.figures["network proximity"].value == pytest.approx(2, rel=1e-4)
    assert result.figures["genes in both"].value == 3
    assert result.figures["genes of the target in the network"].value == 4
    assert "3 genes of the set are of a disease themselves: left out of the target" in result.notes
    assert "Cohen's d" in result.figures
    few = {(p, "DOID:1") for p in PROTEINS[:5]}
    read = graph({ACTS: ring, "Protein ASSOCIATED_WITH Disease": few}, score=5)
    with pytest.raises(UsageError, match="3 genes of the set and 2 others of a disease"):
        run_analysis(ready_analysis("proximity"), read, PROTEINS[:3], **options)  # type: ignore[arg-type]


def test_cohens_d_is_positive_where_a_set_is_nearer_than_random_ones() -> None:
    from scipy.sparse import csr_matrix

    chain = np.zeros((300, 300), dtype=np.int64)
    for place in range(299):
        chain[place, place + 1] = chain[place + 1, place] = 1
    near, far = np.arange(100, 105), np.arange(290, 295)
    target = np.arange(105, 110)
    found = [statistics.proximity(csr_matrix(chain), some, target, 50, 1) for some in (near, far)]

    assert found[0].effect is not None
    assert found[1].effect is not None
    assert found[0].effect > 0 > found[1].effect
    low, high = found[0].effect_interval or (0, 0)
    assert low < found[0].effect < high


@given(edges=links, chosen=members, wanted=members, seed=st.integers(0, 99))
@settings(FEW, max_examples=20)
def test_proximity_is_the_mean_of_shortest_paths(
    edges: set[tuple[str, str]], chosen: set[str], wanted: set[str], seed: int
) -> None:
    of_disease = {(p, "DOID:1") for p in wanted}
    read = graph({ACTS: edges, "Protein ASSOCIATED_WITH Disease": of_disease})
    options = {"target": "a disease", "parameters": {"permutations": "20", "least_disease_score": "0"}, "seed": seed}
    # A score is missing here, and an edge without one has not the least.
    with pytest.raises(UsageError):
        run_analysis(ready_analysis("proximity"), read, chosen, **options)  # type: ignore[arg-type]

    ids, adjacency = read.network("Protein", [(ready_analysis("proximity").links[0], 0.5)])
    part = {ids[place] for place in statistics.largest_component(adjacency)} if ids else set()
    first, second = sorted(part & chosen), sorted(part & wanted)
    if not first or not second:
        return
    within = [i for i, id_ in enumerate(ids) if id_ in part]
    places = {ids[i]: n for n, i in enumerate(within)}
    ours, theirs = (np.array([places[id_] for id_ in some]) for some in (first, second))
    found = statistics.proximity(adjacency[within][:, within], ours, theirs, 20, seed)
    again = statistics.proximity(adjacency[within][:, within], ours, theirs, 20, seed)
    apart = {(a, b) for a, b in edges if a != b}

    assert found.distance == pytest.approx(np.mean([steps(apart, p, set(second)) for p in first]))
    assert found == again
    assert 1 / 21 <= found.p <= 1


def test_random_sets_have_the_degrees_of_the_set() -> None:
    random = np.random.default_rng(7)
    degrees = random.zipf(2.0, 2_000).clip(max=60)
    alike = statistics._alike(degrees)
    assert min(len(group) for group in alike) >= 100
    ones = np.flatnonzero(degrees == 1)[:50]
    drawn = statistics._redrawn(ones, alike, random)
    assert len(set(drawn)) == 50
    assert set(degrees[drawn]) == {1}


def test_an_enriched_set_is_found_and_read_as_canonical_results(tmp_path: Path) -> None:
    has = {(p, TERMS[0]) for p in PROTEINS[:4]} | {(p, TERMS[1]) for p in PROTEINS}
    names = ["GEN00000", "GEN00001", "GEN00002", "ABC1"]
    result = run_analysis(ready_analysis("enrichment"), graph({ANNOTATED: has}), names)
    write_result(result, tmp_path)

    assert list(rows_of(result, "Biological process")) == [TERMS[0]]
    assert result.genes == {"GEN00000": "P00000", "GEN00001": "P00001", "GEN00002": "P00002"}
    assert result.unknown == ("ABC1",)
    read = {found.name: float(found.value) for found in read_results(tmp_path / "results.json").all}
    assert read["Biological process.process 0.hits"] == 3
    assert read["results.Biological process: background"] == 12
    assert (tmp_path / "biological_process.tsv").read_text().startswith("id\tname\thits\t")
    with pytest.raises(UsageError, match="no Protein of the gene set: ABC1"):
        run_analysis(ready_analysis("enrichment"), graph({}), ["ABC1"])


def test_analyses_name_what_the_profile_has() -> None:
    schema = load_schema()
    for analysis in ready_analyses().values():
        for link in (*analysis.links, *analysis.targets):
            schema.pattern(analysis.member, link.relation, link.label)
            assert not link.least or link.least in analysis.parameters
            assert not link.up or schema.pattern(link.label, link.up, link.label).hierarchy


def test_parameters_are_checked() -> None:
    analysis = ready_analysis("proximity")
    with pytest.raises(UnknownName, match="permutation"):
        analysis.numbers({"permutation": "10"})
    for value in ("0", "x", "nan", "1e99", "10.5"):
        with pytest.raises(UsageError, match="permutations"):
            analysis.numbers({"permutations": value})
    with pytest.raises(UnknownName, match="ready analysis"):
        ready_analysis("enrichmant")
