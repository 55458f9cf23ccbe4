"""Edges that a snapshot supports so plainly that one verdict tells of all."""

import shutil
from functools import partial
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, event, given, settings

from benchmarks.bulk_audit import compare
from benchmarks.generate import generate
from kgcheck.audit.judging import judge_tasks
from kgcheck.audit.numbers import pairs_of
from kgcheck.audit.plain_pairs import PlainPairs
from kgcheck.evidence.nodes import EvidenceJoin
from kgcheck.evidence.plain_support import PlainEdges, plainly_supported
from kgcheck.graph.embedded import EmbeddedStore
from kgcheck.loading.load import load_directory
from kgcheck.model import CheckType
from kgcheck.profile.schema import Pattern
from kgcheck.reference.build import build_snapshot
from kgcheck.reference.overlay import attach_overlay, attach_snapshot
from kgcheck.settings import Settings
from tests.support import examples
from tests.support.audits import audited, comparable, demo
from tests.support.facts import SCHEMA, Facts
from tests.support.snapshots import CROWDS, MANY, TERMS, crowded_snapshots

TRIPLES = (CheckType.TRIPLE,)
ENDS = {
    "Protein": (*MANY, "P10001-2", "P10001-x", "P99999"),
    "Biological_process": TERMS,
    "Gene": CROWDS["TRANSLATED_INTO"][1],
}


def alike_among(db: duckdb.DuckDBPyConnection, pairs: list[tuple[str, str]], asked: PlainEdges) -> set[str]:
    """The pairs that are plainly supported, in words; what is said of their links is about them."""
    table = pa.table(dict(zip(("head", "tail"), map(list, zip(*pairs, strict=True)), strict=True)))
    alike, is_plain = PlainPairs(db, records=True).among(pairs_of(table), asked)
    heads, tails = alike.pairs.ends()
    assert is_plain.sum() == len(heads)
    if alike.links is not None:
        numbers = alike.links.column("number").to_pylist()
        assert set(numbers) == set(alike.pairs.numbers.tolist())
        assert numbers == sorted(numbers)
    return {f"{head} {tail}" for head, tail in zip(heads.to_pylist(), tails.to_pylist(), strict=True)}


def add_pairs(join: EvidenceJoin, pairs: list[tuple[str, str]]) -> None:
    """Add a task for each pair of ends."""
    rows = {"tasks": list(range(len(pairs))), "heads": [h for h, _ in pairs], "tails": [t for _, t in pairs]}
    select = "SELECT unnest($tasks) AS task, unnest($heads) AS head, unnest($tails) AS tail"
    join.tables.add("task", select, rows)


def plain_and_verdicts(snapshot: Path, pattern: Pattern) -> tuple[set[str], dict[str, tuple[str, ...]]]:
    """The pairs of a pattern that are plainly supported, and the verdict on each pair, each looked up as any other."""
    head, tail = SCHEMA.label(pattern.head), SCHEMA.label(pattern.tail)
    pairs = [(h, t) for h in ENDS[pattern.head] for t in ENDS[pattern.tail]]
    with duckdb.connect() as db:
        join = EvidenceJoin(db, snapshot)
        add_pairs(join, pairs)
        asked = plainly_supported(db, pattern, head, tail)
        plain = alike_among(db, pairs, asked) if asked else set()
        join.edges(pattern, head, tail)
        judge_tasks(db, CheckType.TRIPLE)
        told = db.execute(
            """
            SELECT head || ' ' || tail, j.outcome, j.reason, v.sources::VARCHAR, v.gaps::VARCHAR
            FROM judged j JOIN task USING (task) JOIN signature_verdict v ON v.number = j.verdict
            """
        )
        return plain, {pair: tuple(verdict) for pair, *verdict in told.fetchall()}


def assert_one_verdict_on_plain_edges(snapshot: Path, relation: str) -> None:
    for pattern in SCHEMA.patterns(relation):
        if pattern.head in ENDS and pattern.tail in ENDS:
            plain, verdicts = plain_and_verdicts(snapshot, pattern)
            if plain:
                event(f"{pattern}: some")
                found = {verdicts[pair] for pair in plain}
                assert len(found) == 1, found
                assert next(iter(found))[:2] == ("supported", "confirmed")


@settings(max_examples=examples(9), suppress_health_check=list(HealthCheck))
@given(crowded_snapshots())
def test_plainly_supported_edges_have_one_verdict(
    tmp_path_factory: pytest.TempPathFactory, crowd: tuple[str, Facts]
) -> None:
    relation, facts = crowd
    assert_one_verdict_on_plain_edges(facts.build(tmp_path_factory.mktemp("generated")), relation)


@settings(max_examples=examples(6), suppress_health_check=list(HealthCheck))
@given(crowded_snapshots())
def test_under_live_answers_that_say_nothing_the_same_links_count(
    tmp_path_factory: pytest.TempPathFactory, crowd: tuple[str, Facts]
) -> None:
    relation, facts = crowd
    snapshot = facts.build(tmp_path_factory.mktemp("generated"))
    for pattern in SCHEMA.patterns(relation):
        if pattern.head not in ENDS or pattern.tail not in ENDS:
            continue
        pairs = [(h, t) for h in ENDS[pattern.head] for t in ENDS[pattern.tail]]
        observed = []
        for attach in (attach_snapshot, partial(attach_overlay, schema=SCHEMA)):
            with duckdb.connect() as db:
                join = EvidenceJoin(db, snapshot, attach)
                add_pairs(join, pairs)
                join.edges(pattern, SCHEMA.label(pattern.head), SCHEMA.label(pattern.tail))
                columns = "* EXCLUDE (retrieved_at)"
                observed.append(db.execute(f"SELECT {columns} FROM evidence ORDER BY ALL").fetchall())
        assert observed[0] == observed[1]


@pytest.mark.parametrize(
    ("scores", "turned", "ended"),
    [
        ([0.9], [], "confirmed"),
        ([0.399], [None], "below_threshold"),
        # A link without a score counts beside three below the cut-off.
        ([None, 0.1, 0.2, 0.3], [], "confirmed"),
    ],
)
def test_a_pair_is_plainly_supported_by_its_scores(
    scores: list[float | None], turned: list[float | None], ended: str, tmp_path: Path
) -> None:
    facts = Facts()
    facts.release("uniprot", complete=True).entities("Protein", "P10001", "P10002")
    string = facts.release("string", complete=True)
    for number, score in enumerate(scores):
        string.link("ACTS_ON", "P10001", "P10002", score, record=f"r{number}")
    for number, score in enumerate(turned):
        string.link("ACTS_ON", "P10002", "P10001", score, record=f"r{number}")
    plain, verdicts = plain_and_verdicts(facts.build(tmp_path), SCHEMA.pattern("Protein", "ACTS_ON", "Protein"))

    assert verdicts["P10001 P10002"][1] == ended
    assert bool(plain) == (len(scores + turned) == 1)
    assert {verdicts[pair][1] for pair in plain} <= {"confirmed"}


@pytest.mark.slow
def test_what_an_audit_leaves_out_changes_nothing(tmp_path: Path) -> None:
    with EmbeddedStore(demo().store, SCHEMA) as store:
        quick = audited(store, tmp_path / "quick", demo().reference, types=TRIPLES)
        each = audited(store, tmp_path / "each", demo().reference, types=TRIPLES, keep_all=True)
    wanted = [f for f in each.findings if f.verdict.outcome.value in ("refuted", "insufficient")]
    assert comparable(quick) == comparable(each._replace(findings=wanted))
    assert len(wanted) < sum(tally.count for tally in quick.tallies)


@pytest.mark.slow
def test_an_audit_counts_what_the_generator_knows(tmp_path: Path) -> None:
    generate(tmp_path / "import", 60_000, reference=tmp_path / "facts")
    snapshot, limits = tmp_path / "reference.duckdb", Settings()
    build_snapshot(tmp_path / "facts", snapshot, SCHEMA, limits)
    with EmbeddedStore(tmp_path / "graph.lbdb", SCHEMA, create=True) as store:
        load_directory(tmp_path / "import", store, limits, quarantine=tmp_path / "quarantine.jsonl")
        found = audited(store, tmp_path / "ledger", snapshot, types=TRIPLES, piece_tasks=50)
    known = compare([t.as_row() for t in found.tallies], tmp_path / "facts" / "answers.json")
    reasons = {said for counts in known.values() for said in counts}
    assert reasons == {
        "supported confirmed",
        "supported confirmed_by_descendant",
        "refuted edge_unsupported",
        "refuted below_threshold",
        "refuted endpoint_deleted",
        "refuted endpoint_merged",
        "insufficient nothing_found",
    }


def said_of_links(snapshot: Path, pattern: Pattern, pairs: list[tuple[str, str]]) -> list[str] | None:
    """The pairs that are plainly supported, with what is said of their links; None where none can be told to be."""
    with duckdb.connect() as db:
        EvidenceJoin(db, snapshot)
        asked = plainly_supported(db, pattern, SCHEMA.label(pattern.head), SCHEMA.label(pattern.tail))
        if not asked:
            return None
        table = pa.table(dict(zip(("head", "tail"), map(list, zip(*pairs, strict=True)), strict=True)))
        alike, _ = PlainPairs(db, records=True).among(pairs_of(table), asked)
        assert alike.pairs.numbers.size
        heads, tails = alike.pairs.ends()
        said = alike.links.drop(["number"]).to_pylist() if alike.links else []
        return [*map(str, zip(heads.to_pylist(), tails.to_pylist(), strict=True)), *map(str, said)]


def test_a_note_that_links_are_bare_changes_nothing(tmp_path: Path) -> None:
    facts = Facts()
    uniprot = facts.release("uniprot", "r1", complete=True).link("ASSOCIATED_WITH", "P10001", TERMS[0])
    # Twice the same, and the entry of an isoform.
    uniprot.link("ASSOCIATED_WITH", "P10002", TERMS[0]).link("ASSOCIATED_WITH", "P10002", TERMS[0])
    hgnc = facts.release("hgnc", "r1", complete=True).link("TRANSLATED_INTO", "AA1", "P10001", record="r1")
    hgnc.link("TRANSLATED_INTO", "BB1", "P10002")
    facts.release("string", "r1", complete=True).link("ACTS_ON", "P10001", "P10002", 0.9)
    noted = facts.build(tmp_path)
    shutil.copy(noted, without := tmp_path / "without.duckdb")
    with duckdb.connect(str(without)) as db:
        notes = db.execute("DELETE FROM meta WHERE key ^@ 'bare link ' RETURNING key").fetchall()
    assert notes == [('bare link ["uniprot","go_annotation"]',)]
    compared = 0
    for relation in ("ASSOCIATED_WITH", "TRANSLATED_INTO", "ACTS_ON"):
        for pattern in SCHEMA.patterns(relation):
            if pattern.head in ENDS and pattern.tail in ENDS:
                for isoforms in (False, True):
                    pairs = [(h, t) for h in ENDS[pattern.head] for t in ENDS[pattern.tail] if isoforms or "-" not in h]
                    said = said_of_links(noted, pattern, pairs)
                    assert said == said_of_links(without, pattern, pairs)
                    compared += said is not None
    assert compared == 6
