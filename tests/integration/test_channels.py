"""Silence of the channel that an edge itself cites is closed, of every other one open; an excerpt never refutes."""

import gzip
from pathlib import Path

import duckdb
import pytest

from kgcheck.agents.toolbox import Toolbox
from kgcheck.agents.transcript import AgentRole
from kgcheck.checks.verdicts import verdict
from kgcheck.evidence.source import SnapshotSource
from kgcheck.model import CheckType, Outcome, Reason, World
from kgcheck.reference.build import build_snapshot
from tests.support.audits import MemoryStore, audited
from tests.support.facts import SCHEMA, SETTINGS, Facts, triple, verdict_on

GHR, KW = "DISEASES (GHR)", "DISEASES (UniProtKB-KW)"
PATTERN = "Protein ASSOCIATED_WITH Disease"
TERMS = ("DOID:4", "DOID:14", "DOID:15", "DOID:16", "DOID:99")

CASES: list[tuple[str, str, list[str], Outcome, Reason]] = [
    ("P10001", "DOID:14", [GHR], Outcome.SUPPORTED, Reason.CONFIRMED),
    ("P10001", "DOID:4", [GHR], Outcome.SUPPORTED, Reason.CONFIRMED_BY_DESCENDANT),
    ("P10001", "DOID:15", [GHR], Outcome.REFUTED, Reason.EDGE_UNSUPPORTED),
    # What another channel says supports, whatever the edge cites.
    ("P10002", "DOID:14", [GHR], Outcome.SUPPORTED, Reason.CONFIRMED),
    # Each of these cites what does not speak of the protein, or of the term, or is no channel; UniProt is not there.
    ("P10003", "DOID:15", [GHR], Outcome.UNAVAILABLE, Reason.REFERENCE_MISSING),
    ("P10001", "DOID:99", [GHR], Outcome.UNAVAILABLE, Reason.REFERENCE_MISSING),
    ("P10001", "DOID:16", [KW], Outcome.UNAVAILABLE, Reason.REFERENCE_MISSING),
    ("P10002", "DOID:15", ["BioKGBench-KGQA"], Outcome.UNAVAILABLE, Reason.REFERENCE_MISSING),
    ("P10002", "DOID:16", [""], Outcome.UNAVAILABLE, Reason.REFERENCE_MISSING),
    ("P10004", "DOID:15", ["TISSUES (GHR)"], Outcome.UNAVAILABLE, Reason.REFERENCE_MISSING),
    # All channels that parallel edges cite must be silent.
    ("P10004", "DOID:16", [GHR, KW], Outcome.UNAVAILABLE, Reason.REFERENCE_MISSING),
    ("P10005", "DOID:15", [GHR, KW], Outcome.REFUTED, Reason.EDGE_UNSUPPORTED),
]


def _facts() -> Facts:
    facts = Facts()
    disease = facts.release("do", complete=True).entities("Disease", *TERMS)
    for term in TERMS[1:]:
        disease.link("HAS_PARENT", term, "DOID:4")
    ghr = facts.release("diseases", "1")
    ghr.link("ASSOCIATED_WITH", "P10001", "DOID:14", 5, record="E1 DOID:14 knowledge (GHR)")
    ghr.link("ASSOCIATED_WITH", "P10002", "DOID:14", 4, record="E2 DOID:14 knowledge (UniProtKB-KW)")
    ghr.covers("ASSOCIATED_WITH GHR", "P10001", "P10002", "P10004", "P10005", "DOID:14", "DOID:15", "DOID:16")
    ghr.covers("ASSOCIATED_WITH UniProtKB-KW", "P10002", "P10005", "DOID:14", "DOID:15")
    return facts


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _facts().build(tmp_path_factory.mktemp("channels"))


@pytest.fixture(scope="module")
def store() -> MemoryStore:
    edges = [{"head": p, "tail": d, "source": source} for p, d, sources, *_ in CASES for source in sources]
    nodes = {"Protein": [{"id": p} for p in sorted({p for p, *_ in CASES})], "Disease": [{"id": d} for d in TERMS]}
    return MemoryStore(nodes, {PATTERN: edges})


def test_a_whole_graph(snapshot: Path, store: MemoryStore, tmp_path: Path) -> None:
    done = audited(store, tmp_path / "l.sqlite", snapshot, types=(CheckType.TRIPLE,), keep_all=True)
    judged = {
        (f.task.subject.id, f.task.object.id): (f.verdict.outcome, f.verdict.reason)
        for f in done.findings
        if f.task.object
    }

    assert judged == {(p, d): (outcome, reason) for p, d, _, outcome, reason in CASES}
    closely = audited(store, tmp_path / "m.sqlite", snapshot, types=(CheckType.TRIPLE,))
    assert {(t.outcome, t.reason, t.sources, t.count) for t in closely.tallies} == {
        (t.outcome, t.reason, t.sources, t.count) for t in done.tallies
    }
    assert {f.verdict.reason for f in closely.findings} == {Reason.EDGE_UNSUPPORTED}
    refuted = next(f for f in done.findings if f.verdict.reason is Reason.EDGE_UNSUPPORTED)
    assert [(e.source, e.world, e.value) for e in refuted.verdict.evidence if e.world is World.CLOSED] == [
        ("diseases", World.CLOSED, "no such link in the channel that the edge cites: GHR")
    ]


@pytest.mark.slow
def test_a_check_of_one_edge_asks_for_what_it_cites(snapshot: Path, store: MemoryStore) -> None:
    with SnapshotSource(snapshot, SCHEMA, SETTINGS) as source:
        tools = Toolbox(store, source)
        for protein, term, sources, outcome, reason in CASES:
            task = triple(f"Protein {protein}", "ASSOCIATED_WITH", f"Disease {term}")
            shown = tools.call(AgentRole.VALIDATION, "reference_look_up", {"task": task.model_dump(mode="json")})
            judged = verdict(task.type, shown.evidence, shown.gaps)  # type: ignore[attr-defined]
            asked = verdict(task.type, *source.observe(task, sources))
            assert (judged.outcome, judged.reason) == (asked.outcome, asked.reason) == (outcome, reason), task
            # An edge that the graph lacks cites nothing.
            lacked = task.model_copy(update={"type": CheckType.POTENTIAL})
            absent = verdict(CheckType.POTENTIAL, *source.observe(lacked, sources))
            assert absent.reason is not Reason.NOT_FOUND_ELSEWHERE, task


SCORES: list[tuple[str, str, list[tuple[str, float | None]], Outcome | None]] = [
    ("P10001", "DOID:14", [(GHR, 5)], Outcome.SUPPORTED),
    ("P10001", "DOID:14", [(GHR, 4.6)], Outcome.SUPPORTED),
    ("P10001", "DOID:14", [(GHR, 2)], Outcome.REFUTED),
    ("P10001", "DOID:14", [(GHR, None)], Outcome.REFUTED),
    # Another channel than the one that the snapshot has, none, a placeholder: nothing is to be compared.
    ("P10002", "DOID:14", [(GHR, 1)], Outcome.UNAVAILABLE),
    ("P10002", "DOID:14", [("DISEASES", 1)], None),
    ("P10002", "DOID:14", [(KW, -1.0)], None),
    ("P10002", "DOID:14", [("TISSUES (UniProtKB-KW)", 1)], None),
    # A task does not tell which of two edges has its score.
    ("P10001", "DOID:14", [(GHR, 2), (KW, 4)], Outcome.UNAVAILABLE),
]


@pytest.mark.parametrize(("protein", "disease", "edges", "outcome"), SCORES)
def test_a_score_is_compared_with_that_of_the_channel_that_is_cited(
    protein: str,
    disease: str,
    edges: list[tuple[str, float | None]],
    outcome: Outcome | None,
    snapshot: Path,
    tmp_path: Path,
) -> None:
    stated = [{"head": protein, "tail": disease, "source": source, "score": score} for source, score in edges]
    graph = MemoryStore({"Protein": [{"id": protein}], "Disease": [{"id": disease}]}, {PATTERN: stated})
    done = audited(graph, tmp_path / "l.sqlite", snapshot, types=(CheckType.ATTRIBUTE,), keep_all=True)
    found = [f for f in done.findings if f.task.attribute == "score"]

    assert [f.verdict.outcome for f in found] == ([outcome] if outcome else [])
    with SnapshotSource(snapshot, SCHEMA, SETTINGS) as source:
        tools = Toolbox(graph, source)
        for finding in found:
            wanted = {"task": finding.task.model_dump(mode="json")}
            shown = tools.call(AgentRole.VALIDATION, "reference_look_up", wanted)
            alone = verdict(finding.task.type, shown.evidence, shown.gaps)  # type: ignore[attr-defined]
            assert (alone.outcome, alone.reason) == (finding.verdict.outcome, finding.verdict.reason)


def test_without_the_whole_hierarchy_nothing_is_closed(tmp_path: Path) -> None:
    facts = Facts()
    facts.release("diseases", "1").covers("ASSOCIATED_WITH GHR", "P10001", "DOID:15")
    task = triple("Protein P10001", "ASSOCIATED_WITH", "Disease DOID:15")
    with SnapshotSource(facts.build(tmp_path), SCHEMA, SETTINGS) as source:
        evidence, _ = source.observe(task, [GHR])

    assert evidence == ()


def _files(folder: Path, kind: str) -> Path:
    """HGNC with a gene of one name, one of two proteins' genes and one that the channel knows by an old symbol."""
    folder.mkdir()
    header = "hgnc_id\tsymbol\tname\tstatus\talias_symbol\tprev_symbol\tprev_name\tuniprot_ids\n"
    genes = [("ONE", "P10001"), ("TWO", "P10002"), ("TWOB", "P10002"), ("NEW", "P10003")]
    rows = "".join(f"HGNC:{n}\t{s}\t{s}\tApproved\t\t\t\t{p}\n" for n, (s, p) in enumerate(genes))
    (folder / "hgnc_complete_set_2026-10-06.txt").write_text(header + rows)
    told = [("ONE", "DOID:14"), ("TWO", "DOID:14"), ("OLD", "DOID:14"), ("ONE", "DOID:15")]
    text = "".join(f"ENSP{s}\t{s}\t{d}\tx\tGHR\tCURATED\t5\n" for s, d in told)
    (folder / f"human_disease_knowledge_{kind}.tsv.gz").write_bytes(gzip.compress(text.encode()))
    return folder


@pytest.mark.slow
def test_rows_that_a_channel_inherits_are_one_record(tmp_path: Path) -> None:
    folder = _files(tmp_path / "in", "full")
    disease = (facts := Facts()).release("do", complete=True).entities("Disease", *TERMS)
    for below, above in (("DOID:16", "DOID:15"), ("DOID:15", "DOID:14"), ("DOID:14", "DOID:4")):
        disease.link("HAS_PARENT", below, above)
    facts.write(folder / "facts")
    told = [(d, channel) for d in ("DOID:16", "DOID:15", "DOID:14", "DOID:4") for channel in ("GHR", "UniProtKB-KW")]
    # A gene of which one channel speaks, and one of which two do.
    rows = [("NEW", d, "GHR") for d, _ in told[::2]] + [("ONE", d, c) for d, c in told]
    text = "".join(f"ENSP{s}\t{s}\t{d}\tx\t{c}\tCURATED\t5\n" for s, d, c in rows)
    (folder / "human_disease_knowledge_full.tsv.gz").write_bytes(gzip.compress(text.encode()))
    build_snapshot(folder, tmp_path / "r.duckdb", SCHEMA, SETTINGS)

    for protein, confidence, records in (
        ("P10003", 0.95, ["ENSPNEW knowledge (GHR)"]),
        ("P10001", 0.998, ["ENSPONE knowledge (GHR)", "ENSPONE knowledge (UniProtKB-KW)"]),
    ):
        for term in ("DOID:4", "DOID:15"):
            judged = verdict_on(
                tmp_path / "r.duckdb", triple(f"Protein {protein}", "ASSOCIATED_WITH", f"Disease {term}")
            )
            assert judged.reason is Reason.CONFIRMED
            assert [e.record for e in judged.evidence if e.source == "diseases"] == records
            assert judged.confidence == pytest.approx(confidence, abs=0.0011)


@pytest.mark.parametrize(("kind", "covered"), [("full", ["DOID:14", "DOID:15", "P10001"]), ("filtered", [])])
def test_only_a_whole_file_covers_and_only_genes_that_it_knows(kind: str, covered: list[str], tmp_path: Path) -> None:
    build_snapshot(_files(tmp_path / "in", kind), tmp_path / "r.duckdb", SCHEMA, SETTINGS)
    with duckdb.connect(str(tmp_path / "r.duckdb"), read_only=True) as db:
        rows = db.execute("SELECT topic, id FROM covered WHERE source = 'diseases' ORDER BY id").fetchall()

    assert rows == [("disease GHR", name) for name in covered]
