"""What a snapshot says of nodes, attributes and edges: a row here is a row of docs/verdicts.md."""

from itertools import islice
from pathlib import Path

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings

from kgcheck.audit.judging import judge_tasks
from kgcheck.checks.lists import items_of, joined
from kgcheck.checks.repair import propose
from kgcheck.evidence.nodes import EvidenceJoin
from kgcheck.model import ChangeKind, CheckTask, Outcome, Reason, Stance, Verdict, World
from tests.support import quick_of
from tests.support.facts import (
    PROTEIN_NAME,
    SCHEMA,
    Facts,
    attribute,
    existence,
    potential,
    triple,
    verdicts_on,
    verdicts_together,
    world,
)
from tests.support.snapshots import GENES, LABELS, PROTEINS, TERMS, snapshots

SUPPORTED, REFUTED = Outcome.SUPPORTED, Outcome.REFUTED
INSUFFICIENT, UNAVAILABLE = Outcome.INSUFFICIENT, Outcome.UNAVAILABLE
Row = tuple[str, Outcome, Reason]


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return world().build(tmp_path_factory.mktemp("world"))


NODES: list[Row] = [
    ("Protein P04637", SUPPORTED, Reason.CONFIRMED),
    ("Protein P22303-2", SUPPORTED, Reason.CONFIRMED),
    ("Protein B4DFC2", REFUTED, Reason.ID_MERGED),
    ("Protein B4DFC2-2", REFUTED, Reason.ID_MERGED),
    ("Protein P00001", REFUTED, Reason.ID_DEMERGED),
    ("Protein I8FBX0", REFUTED, Reason.ID_DELETED),
    ("Protein A0A999ZZZ9", REFUTED, Reason.UNKNOWN_ID),
    ("Protein TP53", REFUTED, Reason.MALFORMED_ID),
    ("Protein p04637", REFUTED, Reason.MALFORMED_ID),
    ("Protein P04637 ", REFUTED, Reason.MALFORMED_ID),
    ("Protein P04637' OR '1'='1", REFUTED, Reason.MALFORMED_ID),
    ("Gene TP53", SUPPORTED, Reason.CONFIRMED),
    ("Gene OGA", SUPPORTED, Reason.CONFIRMED),
    ("Gene MGEA5", REFUTED, Reason.ID_PREVIOUS),
    ("Gene A12M1", REFUTED, Reason.ID_WITHDRAWN),
    ("Gene A1S9T", REFUTED, Reason.ID_WITHDRAWN),
    ("Gene P53", REFUTED, Reason.ID_ALIAS),
    ("Gene AIP1", REFUTED, Reason.ID_ALIAS),
    ("Gene NOSUCH1", REFUTED, Reason.UNKNOWN_ID),
    ("Disease DOID:4", SUPPORTED, Reason.CONFIRMED),
    ("Disease DOID:9", REFUTED, Reason.ID_OBSOLETE),
    ("Disease DOID:8", REFUTED, Reason.ID_OBSOLETE),
    ("Disease DOID:6", REFUTED, Reason.ID_OBSOLETE),
    ("Disease DOID:40", REFUTED, Reason.ID_SECONDARY),
    ("Disease DOID:404", REFUTED, Reason.UNKNOWN_ID),
    ("Biological_process GO:0000010", SUPPORTED, Reason.CONFIRMED),
    ("Molecular_function GO:0000010", REFUTED, Reason.WRONG_NAMESPACE),
    ("Cellular_component GO:0000020", SUPPORTED, Reason.CONFIRMED),
    ("Cellular_component GO:0000030", REFUTED, Reason.ID_SECONDARY),
    ("Biological_process GO:0000030", REFUTED, Reason.WRONG_NAMESPACE),
    ("Biological_process GO:0000031", REFUTED, Reason.ID_OBSOLETE),
    ("Tissue BTO:0000142", SUPPORTED, Reason.CONFIRMED),
    ("Tissue BTO:0005288", REFUTED, Reason.ID_OBSOLETE),
    ("Modification MOD:00046", SUPPORTED, Reason.CONFIRMED),
    ("Modification MOD:00415", REFUTED, Reason.ID_OBSOLETE),
    ("Pathway R-HSA-1", SUPPORTED, Reason.CONFIRMED),
    ("Pathway R-HSA-9", REFUTED, Reason.ID_RETIRED),
    ("Pathway R-HSA-404", REFUTED, Reason.UNKNOWN_ID),
    ("Pathway SMP00001", UNAVAILABLE, Reason.REFERENCE_MISSING),
    ("Pathway hsa04110", REFUTED, Reason.MALFORMED_ID),
    ("Protein_structure 4HHB", SUPPORTED, Reason.CONFIRMED),
    ("Protein_structure 1HHB", REFUTED, Reason.ID_SUPERSEDED),
    ("Protein_structure 9ZZZ", REFUTED, Reason.UNKNOWN_ID),
    ("Amino_acid_sequence P04637", SUPPORTED, Reason.CONFIRMED),
    ("Amino_acid_sequence I8FBX0", REFUTED, Reason.ID_DELETED),
    ("Modified_protein P04637_S6-p", SUPPORTED, Reason.CONFIRMED),
    ("Modified_protein P04637_T6-p", REFUTED, Reason.RESIDUE_MISMATCH),
    ("Modified_protein P04637_S11-p", REFUTED, Reason.POSITION_OUT_OF_RANGE),
    ("Modified_protein P04637_S0-p", REFUTED, Reason.POSITION_OUT_OF_RANGE),
    ("Modified_protein P04637_S99999999999999999999-p", REFUTED, Reason.POSITION_OUT_OF_RANGE),
    ("Modified_protein P04637_S6", REFUTED, Reason.MALFORMED_ID),
    ("Modified_protein B4DFC2_S6-p", REFUTED, Reason.ID_MERGED),
    ("Modified_protein A0A999ZZZ9_S6-p", REFUTED, Reason.UNKNOWN_ID),
    # An isoform has residues of its own, and the snapshot holds no sequence of the second.
    ("Modified_protein P04637-2_S6-p", UNAVAILABLE, Reason.NOT_COVERED),
    ("Modified_protein P22303_S6-p", UNAVAILABLE, Reason.NOT_COVERED),
]

ATTRIBUTES: list[tuple[str, str, str | None, Outcome, Reason]] = [
    ("Protein P04637", "accession", "P53_HUMAN", SUPPORTED, Reason.CONFIRMED),
    ("Protein P04637-2", "accession", "P53_HUMAN", SUPPORTED, Reason.CONFIRMED),
    ("Protein P04637", "accession", "  p53_Human", SUPPORTED, Reason.FORMATTING),
    ("Protein P04637", "accession", "MDM2_HUMAN", REFUTED, Reason.VALUE_MISMATCH),
    ("Protein P04637", "accession", None, REFUTED, Reason.VALUE_MISSING),
    ("Protein P04637", "accession", "", REFUTED, Reason.VALUE_MISSING),
    ("Protein P04637", "accession", " \t\u00a0", REFUTED, Reason.VALUE_MISSING),
    ("Protein P22303", "accession", "ACES_HUMAN", UNAVAILABLE, Reason.NOT_COVERED),
    ("Protein P04637", "taxid", "9606", UNAVAILABLE, Reason.REFERENCE_MISSING),
    ("Protein P04637", "name", "TP53", SUPPORTED, Reason.CONFIRMED),
    ("Protein P04637", "name", "P53", REFUTED, Reason.VALUE_OUTDATED),
    ("Protein P10001", "name", "H4C2", SUPPORTED, Reason.CONFIRMED),
    ("Protein P10001", "name", "HIST1H4A", REFUTED, Reason.VALUE_MISMATCH),
    ("Protein P10003", "name", "TP53", UNAVAILABLE, Reason.NOT_COVERED),
    ("Protein P04637", "description", PROTEIN_NAME, SUPPORTED, Reason.CONFIRMED),
    ("Protein P04637", "description", PROTEIN_NAME.upper().replace(" ", "\u00a0 "), SUPPORTED, Reason.FORMATTING),
    ("Protein P04637", "description", "tumor  suppressor P53", REFUTED, Reason.VALUE_OUTDATED),
    ("Protein P04637", "description", "NULL", REFUTED, Reason.VALUE_MISMATCH),
    ("Protein P04637", "synonyms", "P53; TP53; LFS1", SUPPORTED, Reason.CONFIRMED),
    ("Protein P04637", "synonyms", "TP53", REFUTED, Reason.VALUE_MISSING),
    ("Protein P04637", "synonyms", "TP53; LFS1", REFUTED, Reason.VALUE_MISSING),
    ("Protein P04637", "synonyms", None, REFUTED, Reason.VALUE_MISSING),
    ("Protein P10002", "synonyms", joined(["a; b", "c"]), SUPPORTED, Reason.CONFIRMED),
    ("Protein P10002", "synonyms", joined(["a", "b"]), REFUTED, Reason.VALUE_MISSING),
    ("Gene TP53", "name", "tumor protein p53", SUPPORTED, Reason.CONFIRMED),
    ("Disease DOID:4", "name", "disease", SUPPORTED, Reason.CONFIRMED),
    ("Disease DOID:4", "name", "disease term", REFUTED, Reason.VALUE_OUTDATED),
    ("Pathway R-HSA-1", "name", "Apoptosis", SUPPORTED, Reason.CONFIRMED),
    ("Amino_acid_sequence P04637", "sequence", "MEEPQSDPSV", SUPPORTED, Reason.CONFIRMED),
    ("Amino_acid_sequence P04637", "sequence", "meepqsdpsv", REFUTED, Reason.VALUE_MISMATCH),
    ("Amino_acid_sequence P04637", "size", "10", SUPPORTED, Reason.CONFIRMED),
    ("Amino_acid_sequence P04637", "size", "11", REFUTED, Reason.VALUE_MISMATCH),
    ("Amino_acid_sequence P04637-2", "sequence", "MEEPQSDPSV", UNAVAILABLE, Reason.NOT_COVERED),
]

EDGES: list[Row] = [
    ("Protein P10001 ACTS_ON Protein P10002", SUPPORTED, Reason.CONFIRMED),
    ("Protein P10002 ACTS_ON Protein P10001-2", SUPPORTED, Reason.CONFIRMED),
    ("Protein P10001 ACTS_ON Protein P10003", SUPPORTED, Reason.CONFIRMED),
    ("Protein P10003 ACTS_ON Protein P10002", REFUTED, Reason.BELOW_THRESHOLD),
    ("Protein P10001 ACTS_ON Protein P10004", REFUTED, Reason.EDGE_UNSUPPORTED),
    ("Protein P10001 ACTS_ON Protein P10005", INSUFFICIENT, Reason.UNMAPPED_IDENTIFIER),
    # STRING states no protein with itself.
    ("Protein P10001 ACTS_ON Protein P10001", REFUTED, Reason.EDGE_UNSUPPORTED),
    ("Protein B4DFC2 ACTS_ON Protein P10001", REFUTED, Reason.ENDPOINT_MERGED),
    ("Protein P10001 ACTS_ON Protein P00001", REFUTED, Reason.ENDPOINT_DELETED),
    ("Protein P10001 ACTS_ON Protein I8FBX0", REFUTED, Reason.ENDPOINT_DELETED),
    ("Protein P10001 CURATED_INTERACTS_WITH Protein P10002", SUPPORTED, Reason.CONFIRMED),
    ("Protein P10002 CURATED_INTERACTS_WITH Protein P10001", SUPPORTED, Reason.CONFIRMED),
    ("Protein P10003 CURATED_INTERACTS_WITH Protein P10001", INSUFFICIENT, Reason.NOTHING_FOUND),
    ("Protein P10003 CURATED_INTERACTS_WITH Protein P10004", UNAVAILABLE, Reason.REFERENCE_MISSING),
    ("Protein P10001 ASSOCIATED_WITH Biological_process GO:0000011", SUPPORTED, Reason.CONFIRMED),
    ("Protein P10001 ASSOCIATED_WITH Biological_process GO:0000010", SUPPORTED, Reason.CONFIRMED_BY_DESCENDANT),
    ("Protein P10001 ASSOCIATED_WITH Biological_process GO:0000012", INSUFFICIENT, Reason.CONFLICTING_EVIDENCE),
    ("Protein P10001 ASSOCIATED_WITH Biological_process GO:0000013", INSUFFICIENT, Reason.CONFLICTING_EVIDENCE),
    ("Protein P10001 ASSOCIATED_WITH Biological_process GO:0000014", REFUTED, Reason.EDGE_UNSUPPORTED),
    ("Protein P10002 ASSOCIATED_WITH Biological_process GO:0000011", REFUTED, Reason.EDGE_UNSUPPORTED),
    ("Protein P10002 ASSOCIATED_WITH Biological_process GO:0000015", REFUTED, Reason.EDGE_NEGATED),
    # That it has not to do with a part does not deny the whole.
    ("Protein P10002 ASSOCIATED_WITH Biological_process GO:0000014", REFUTED, Reason.EDGE_UNSUPPORTED),
    ("Protein P10003 ASSOCIATED_WITH Biological_process GO:0000011", UNAVAILABLE, Reason.NOT_COVERED),
    # What rests on a retracted paper alone does not count, and neither does its NOT.
    ("Protein P10004 ASSOCIATED_WITH Biological_process GO:0000011", INSUFFICIENT, Reason.RETRACTED_EVIDENCE),
    ("Protein P10004 ASSOCIATED_WITH Biological_process GO:0000010", INSUFFICIENT, Reason.RETRACTED_EVIDENCE),
    ("Protein P10004 ASSOCIATED_WITH Biological_process GO:0000012", SUPPORTED, Reason.CONFIRMED),
    ("Protein P10004 ASSOCIATED_WITH Biological_process GO:0000013", INSUFFICIENT, Reason.RETRACTED_EVIDENCE),
    ("Protein P10004 ASSOCIATED_WITH Biological_process GO:0000014", REFUTED, Reason.EDGE_UNSUPPORTED),
    ("Protein P10001 ASSOCIATED_WITH Tissue BTO:0000142", SUPPORTED, Reason.CONFIRMED),
    ("Protein P10002 ASSOCIATED_WITH Tissue BTO:0000142", INSUFFICIENT, Reason.NOTHING_FOUND),
    ("Protein P10001 ASSOCIATED_WITH Disease DOID:140", SUPPORTED, Reason.CONFIRMED),
    ("Protein P10001 ASSOCIATED_WITH Disease DOID:4", SUPPORTED, Reason.CONFIRMED_BY_DESCENDANT),
    # DISEASES names the term by its secondary id.
    ("Protein P10002 ASSOCIATED_WITH Disease DOID:14", SUPPORTED, Reason.CONFIRMED),
    ("Protein P10002 ASSOCIATED_WITH Disease DOID:4", SUPPORTED, Reason.CONFIRMED_BY_DESCENDANT),
    ("Protein P10002 ASSOCIATED_WITH Disease DOID:40", REFUTED, Reason.ENDPOINT_MERGED),
    ("Protein P10002 ASSOCIATED_WITH Disease DOID:6", REFUTED, Reason.ENDPOINT_DELETED),
    ("Protein P04637 HAS_STRUCTURE Protein_structure 1TUP", SUPPORTED, Reason.CONFIRMED),
    ("Protein P04637 HAS_STRUCTURE Protein_structure 2YDQ", REFUTED, Reason.EDGE_UNSUPPORTED),
    ("Protein P22303 HAS_STRUCTURE Protein_structure 2YDQ", UNAVAILABLE, Reason.NOT_COVERED),
    ("Protein P04637 HAS_STRUCTURE Protein_structure 1HHB", REFUTED, Reason.ENDPOINT_MERGED),
    ("Protein P04637 HAS_SEQUENCE Amino_acid_sequence P04637", SUPPORTED, Reason.CONFIRMED),
    ("Protein P22303 HAS_SEQUENCE Amino_acid_sequence P04637", REFUTED, Reason.EDGE_UNSUPPORTED),
    ("Protein P10001 HAS_SEQUENCE Amino_acid_sequence P04637", UNAVAILABLE, Reason.NOT_COVERED),
    ("Gene TP53 TRANSLATED_INTO Protein P04637", SUPPORTED, Reason.CONFIRMED),
    ("Gene OGA TRANSLATED_INTO Protein P10002", SUPPORTED, Reason.CONFIRMED),
    ("Gene UBA1 TRANSLATED_INTO Protein P10001", REFUTED, Reason.EDGE_UNSUPPORTED),
    ("Gene MGEA5 TRANSLATED_INTO Protein P10002", REFUTED, Reason.ENDPOINT_MERGED),
    ("Gene AIP1 TRANSLATED_INTO Protein P10002", REFUTED, Reason.ENDPOINT_DELETED),
    ("Protein P10001 ANNOTATED_IN_PATHWAY Pathway R-HSA-2", SUPPORTED, Reason.CONFIRMED),
    ("Protein P10001 ANNOTATED_IN_PATHWAY Pathway R-HSA-1", SUPPORTED, Reason.CONFIRMED_BY_DESCENDANT),
    ("Protein P10002 ANNOTATED_IN_PATHWAY Pathway R-HSA-2", SUPPORTED, Reason.CONFIRMED),
    ("Protein P10001 ANNOTATED_IN_PATHWAY Pathway R-HSA-3", REFUTED, Reason.EDGE_UNSUPPORTED),
    ("Protein P04637 HAS_MODIFIED_SITE Modified_protein P04637_S6-p", SUPPORTED, Reason.CONFIRMED),
    ("Protein P04637 HAS_MODIFIED_SITE Modified_protein P04637_S9-p", INSUFFICIENT, Reason.NOTHING_FOUND),
    ("Protein P10001 HAS_MODIFIED_SITE Modified_protein P10001_S9-p", UNAVAILABLE, Reason.NOT_COVERED),
    # The site names its protein in its own id.
    ("Protein P10001 HAS_MODIFIED_SITE Modified_protein P04637_S6-p", REFUTED, Reason.EDGE_UNSUPPORTED),
    ("Protein P21802 HAS_MODIFIED_SITE Modified_protein B4DFC2_S6-p", UNAVAILABLE, Reason.NOT_COVERED),
    ("Modified_protein P04637_S6-p HAS_MODIFICATION Modification MOD:00046", SUPPORTED, Reason.CONFIRMED),
    ("Modified_protein P04637_S6-p HAS_MODIFICATION Modification MOD:00696", SUPPORTED, Reason.CONFIRMED_BY_DESCENDANT),
    ("Modified_protein P04637_S6-p HAS_MODIFICATION Modification MOD:00047", REFUTED, Reason.EDGE_UNSUPPORTED),
    ("Modified_protein P04637_S9-p HAS_MODIFICATION Modification MOD:00046", UNAVAILABLE, Reason.NOT_COVERED),
    ("Modified_protein P04637_S6-p HAS_MODIFICATION Modification MOD:00415", REFUTED, Reason.ENDPOINT_MERGED),
    ("Modified_protein P04637_S6-p IS_SUBSTRATE_OF Protein P10001", SUPPORTED, Reason.CONFIRMED),
    ("Modified_protein P04637_S6-p IS_SUBSTRATE_OF Protein P10002", UNAVAILABLE, Reason.NOT_COVERED),
    ("Disease DOID:14 HAS_PARENT Disease DOID:4", SUPPORTED, Reason.CONFIRMED),
    ("Disease DOID:140 HAS_PARENT Disease DOID:4", INSUFFICIENT, Reason.PARENT_INDIRECT),
    ("Disease DOID:4 HAS_PARENT Disease DOID:14", REFUTED, Reason.EDGE_UNSUPPORTED),
    ("Disease DOID:40 HAS_PARENT Disease DOID:4", REFUTED, Reason.ENDPOINT_MERGED),
    ("Disease DOID:9 HAS_PARENT Disease DOID:4", REFUTED, Reason.ENDPOINT_DELETED),
]


def edge(text: str) -> tuple[str, str, str]:
    """``Protein P1 ACTS_ON Protein P2`` as head, relation and tail."""
    head, head_id, relation, tail, tail_id = text.split()
    return f"{head} {head_id}", relation, f"{tail} {tail_id}"


TASKS: list[CheckTask] = [
    *(existence(row[0]) for row in NODES),
    *(attribute(*row[:3]) for row in ATTRIBUTES),
    *(triple(*edge(row[0])) for row in EDGES),
    *(potential(*edge(row[0])) for row in EDGES),
]
EXPECTED = [(*row[-2:],) for row in (*NODES, *ATTRIBUTES, *EDGES)]


@pytest.fixture(scope="module")
def judged(snapshot: Path) -> dict[CheckTask, Verdict]:
    """The verdict on every task of the tables."""
    return dict(zip(TASKS, verdicts_together(snapshot, TASKS), strict=True))


@pytest.mark.parametrize(("task", "expected"), list(zip(TASKS, EXPECTED, strict=False)))
def test_row(judged: dict[CheckTask, Verdict], task: CheckTask, expected: tuple[Outcome, Reason]) -> None:
    assert (judged[task].outcome, judged[task].reason) == expected


@pytest.mark.parametrize(("text", "outcome", "reason"), EDGES)
def test_edge_that_the_graph_lacks(
    judged: dict[CheckTask, Verdict], text: str, outcome: Outcome, reason: Reason
) -> None:
    there, absent = judged[triple(*edge(text))], judged[potential(*edge(text))]

    if reason in (Reason.ENDPOINT_MERGED, Reason.ENDPOINT_DELETED):
        held = there.note == "with the replacement the edge is supported"
        assert (absent.outcome is SUPPORTED) == held
    elif outcome is SUPPORTED:
        assert (absent.outcome, absent.reason) == (SUPPORTED, Reason.EDGE_MISSING)
    elif outcome is REFUTED:
        assert (absent.outcome, absent.reason) == (REFUTED, Reason.NOT_FOUND_ELSEWHERE)
    else:
        assert (absent.outcome, absent.reason) == (outcome, reason)


def test_every_reason_has_a_row() -> None:
    of_absent_edges = [Reason.EDGE_MISSING, Reason.NOT_FOUND_ELSEWHERE]
    of_services = [Reason.SOURCE_UNAVAILABLE, Reason.SOURCE_REFUSED, Reason.BUDGET_SPENT]
    of_papers = {reason for reason in Reason if reason.value.startswith("citation_")}
    # They have tables of their own in test_written_wrong.py and test_older_reference.py, those of papers in
    # test_cited_papers.py.
    elsewhere = [Reason.ENDPOINT_MALFORMED, Reason.ENDPOINT_UNKNOWN, Reason.REFERENCE_OLDER, Reason.SELF_LOOP]

    expected = {*Reason} - {*of_absent_edges} - {*of_services} - of_papers - {*elsewhere}
    assert {reason for _, reason in EXPECTED} == expected


def test_evidence_says_where_it_was_found(judged: dict[CheckTask, Verdict]) -> None:
    nodes = ("Protein B4DFC2", "Protein P00001", "Protein I8FBX0", "Modified_protein P04637_T6-p", "Gene TP53")
    [[merged], [demerged], [deleted], [site], [gene]] = (judged[existence(node)].evidence for node in nodes)

    assert (merged.source, merged.release, merged.record) == ("uniprot", "ids", "B4DFC2")
    assert merged.replacements == ("P21802",)
    assert merged.url == "https://example.org/B4DFC2/entry"
    assert demerged.candidates == ("Q1", "Q2")
    assert deleted.value == "deleted; Not part of a reference proteome"
    assert site.value == "residue 6 is S"
    assert gene.url == "https://example.org/#!/HGNC:11998"


def test_evidence_of_a_retracted_paper_says_so_and_does_not_count(judged: dict[CheckTask, Verdict]) -> None:
    [alone] = judged[triple("Protein P10004", "ASSOCIATED_WITH", "Biological_process GO:0000011")].evidence
    beside = judged[triple("Protein P10004", "ASSOCIATED_WITH", "Biological_process GO:0000012")]

    assert (alone.record, alone.stance, alone.world) == ("PMID:13", Stance.SILENT, World.OPEN)
    assert alone.value == "P10004 GO:0000011; rests on retracted publications alone: PMID:13"
    assert {(e.record, e.stance) for e in beside.evidence} == {
        ("PMID:13|SGD_REF:1", Stance.SILENT),
        ("PMID:14", Stance.SUPPORTS),
    }
    assert beside.confidence == 0.95


def test_evidence_says_what_was_found(judged: dict[CheckTask, Verdict]) -> None:
    [linked] = judged[triple("Protein P10001", "ACTS_ON", "Protein P10002")].evidence
    [named] = judged[attribute("Protein P10001", "name", "HIST1H4A")].evidence
    [lacking] = judged[attribute("Protein P04637", "synonyms", "TP53; LFS1")].evidence

    assert (linked.score, "action and direction cannot be re-checked" in str(linked.value)) == (0.7, True)
    assert (named.value, named.candidates) == ("H4C1; H4C2", ("H4C1", "H4C2"))
    assert lacking.value == "P53"


@pytest.mark.slow
def test_without_a_snapshot_only_the_form_of_an_id_can_be_judged() -> None:
    for found in verdicts_together(None, TASKS):
        if found.evidence:
            assert {e.source for e in found.evidence} == {"profile"}
        else:
            assert (found.outcome, found.reason) == (UNAVAILABLE, Reason.REFERENCE_MISSING)
            assert found.missing


# the bulk path


def judged_in_bulk(join: EvidenceJoin, tasks: list[CheckTask]) -> list[tuple[Outcome, Reason, float]]:
    """What an audit concludes of tasks of one type, label, attribute and pattern."""
    first = tasks[0]
    join.tables.reset()
    for number, task in enumerate(tasks):
        listed = task.attribute == "synonyms"
        values = (None, items_of(task.value)) if listed else (task.value, ())
        join.tables.add_task(number, task.subject.id, task.object.id if task.object else None, *values)
    label = SCHEMA.label(first.subject.label)
    if first.object and first.relation:
        tail = SCHEMA.label(first.object.label)
        join.edges(SCHEMA.pattern(label.name, first.relation, tail.name), label, tail)
    elif first.attribute:
        join.attribute(label, SCHEMA.attribute(label.name, first.attribute))
    else:
        join.existence(label)
    judge_tasks(join.tables.db, first.type)
    rows = join.tables.db.execute("SELECT outcome, reason, confidence FROM judged ORDER BY task").fetchall()
    return [(Outcome(outcome), Reason(reason), confidence) for outcome, reason, confidence in rows]


def assert_both_ways_agree(snapshot: Path, tasks: list[CheckTask]) -> None:
    groups: dict[tuple[object, ...], list[CheckTask]] = {}
    for task in tasks:
        key = (task.type, task.subject.label, task.attribute, task.relation, task.object and task.object.label)
        groups.setdefault(key, []).append(task)
    in_order = [task for group in groups.values() for task in group]
    single = zip(in_order, verdicts_on(snapshot, in_order), strict=True)
    with duckdb.connect() as db:
        join = EvidenceJoin(db, snapshot)
        for group in groups.values():
            bulk = judged_in_bulk(join, group)
            assert bulk == [(v.outcome, v.reason, v.confidence) for _, v in islice(single, len(group))], group[0]


@pytest.mark.nightly
@pytest.mark.slow
def test_whole_tables_and_single_tasks_end_alike(snapshot: Path) -> None:
    assert_both_ways_agree(snapshot, TASKS)


def every_task() -> list[CheckTask]:
    tasks = [existence(f"{label} {i}") for label, ids in LABELS.values() for i in ids]
    tasks += [attribute(f"Protein {p}", a, "AA1") for p in PROTEINS for a in ("name", "synonyms")]
    ends = {"Protein": PROTEINS, "Biological_process": TERMS, "Gene": GENES}
    for pattern in SCHEMA.relations:
        pairs = [(h, t) for h in ends.get(pattern.head, ()) for t in ends.get(pattern.tail, ())]
        for make in (triple, potential):
            tasks += [make(f"{pattern.head} {h}", pattern.type, f"{pattern.tail} {t}") for h, t in pairs]
    return tasks


@pytest.mark.parametrize("step", quick_of([1, 5], 5))
@settings(max_examples=1, deadline=None, suppress_health_check=list(HealthCheck))
@given(facts=snapshots())
def test_bulk_and_single_judgements_agree(tmp_path_factory: pytest.TempPathFactory, facts: Facts, step: int) -> None:
    facts.release("diseases").covers("ASSOCIATED_WITH", "P10001")
    facts.release("pubmed").entity("PMID:1", state="withdrawn")

    assert_both_ways_agree(facts.build(tmp_path_factory.mktemp("generated")), every_task()[::step])


TERM, SAME = "Biological_process GO:0000002", "Protein P04637"
# Edges from a node to itself: how each ends, and what change is proposed.
LOOPS: dict[str, tuple[CheckTask, str, tuple[ChangeKind, str | None] | None]] = {
    "of a link whose ends became one": (potential(TERM, "HAS_PARENT", TERM), "not_found_elsewhere", None),
    "that the graph has": (triple(TERM, "HAS_PARENT", TERM), "edge_unsupported", (ChangeKind.RETIRE, None)),
    "with the replacement": (
        triple("Biological_process GO:0000001", "HAS_PARENT", TERM),
        *("endpoint_merged", (ChangeKind.RETIRE, None)),
    ),
    "of a network": (potential(SAME, "ACTS_ON", SAME), "not_found_elsewhere", None),
    "between isoforms": (triple(f"{SAME}-1", "ACTS_ON", f"{SAME}-2"), "not_covered", None),
    "that means something": (triple(SAME, "CURATED_INTERACTS_WITH", SAME), "confirmed", None),
}


@pytest.fixture(scope="module")
def looped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    facts = Facts()
    terms = facts.release("go", complete=True).entities("Biological_process", "GO:0000002", "GO:0000003")
    terms.entity("GO:0000001", "Biological_process", "secondary", now=["GO:0000002"])
    # Those that were child and parent are one term now.
    terms.link("HAS_PARENT", "GO:0000001", "GO:0000002").link("HAS_PARENT", "GO:0000002", "GO:0000003")
    proteins = facts.release("uniprot").entities("Protein", "P04637")
    proteins.link("CURATED_INTERACTS_WITH", "P04637", "P04637").covers("CURATED_INTERACTS_WITH", "P04637")
    facts.release("string").covers("ACTS_ON", "P04637")
    return facts.build(tmp_path_factory.mktemp("looped"))


def test_no_source_states_an_edge_from_a_node_to_itself_where_none_means_anything(looped: Path) -> None:
    for name, verdict in zip(LOOPS, verdicts_together(looped, [task for task, _, _ in LOOPS.values()]), strict=True):
        task, expected, change = LOOPS[name]
        proposed = propose(task, verdict)
        assert verdict.reason == expected, name
        assert (proposed and (proposed.kind, proposed.to)) == change, name


def test_loops_end_alike_in_both_ways(looped: Path) -> None:
    assert_both_ways_agree(looped, [task for task, _, _ in LOOPS.values()])
