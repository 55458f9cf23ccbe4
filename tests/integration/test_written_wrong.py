"""Ids that are not written as their authority writes them: the repair belongs to the node, and its edges say so."""

from pathlib import Path
from typing import Any

import pytest

from kgcheck.checks.repair import propose
from kgcheck.graph.store import one_of_each
from kgcheck.model import Change, ChangeKind, CheckTask, Outcome, Reason, Verdict
from tests.support.facts import Facts, attribute, existence, triple, verdict_on


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    facts = Facts()
    hgnc = facts.release("hgnc", complete=True).entities("Gene", "TP53", "C1orf112", "AbC", "aBC")
    hgnc.link("TRANSLATED_INTO", "TP53", "P04637").link("TRANSLATED_INTO", "C1orf112", "Q00987")
    do = facts.release("do", complete=True).entities("Disease", "DOID:1", "DOID:2", "DOID:3", "DOID:4")
    do.link("HAS_PARENT", "DOID:3", "DOID:2").link("HAS_PARENT", "DOID:2", "DOID:1")
    go = facts.release("go", complete=True).entities("Molecular_function", "GO:0000001")
    go.entity("GO:0000002", "Molecular_function", "secondary", now=["GO:0000001"])
    go.entity("GO:0000003", "Biological_process", "obsolete", now=["GO:0000001"])
    facts.release("goa").link("ASSOCIATED_WITH", "P04637", "GO:0000001")
    facts.release("uniprot").value("P04637", "gene_name", "APOE").value("P04637", "gene_name", "AD2", "synonym")
    return facts.build(tmp_path_factory.mktemp("written"))


def looked(snapshot: Path, task: CheckTask) -> tuple[Verdict, Change | None]:
    judged = verdict_on(snapshot, task)
    return judged, propose(task, judged)


@pytest.mark.parametrize(
    ("node", "reason", "right"),
    [
        ("Gene tp53", Reason.UNKNOWN_ID, "TP53"),
        ("Gene C1ORF112", Reason.UNKNOWN_ID, "C1orf112"),
        ("Gene TP53 ", Reason.MALFORMED_ID, "TP53"),
        ("Gene T P53", Reason.MALFORMED_ID, "TP53"),
        ("Disease doid:2", Reason.MALFORMED_ID, "DOID:2"),
        ("Disease doid: 2", Reason.MALFORMED_ID, "DOID:2"),
        # Nobody lists all accessions, so the form decides.
        ("Protein p04637", Reason.MALFORMED_ID, "P04637"),
        ("Protein p04637-2", Reason.MALFORMED_ID, "P04637-2"),
        ("Pathway r-hsa-109581", Reason.MALFORMED_ID, "R-HSA-109581"),
        # Two symbols differ in case alone, and of a list that lacks it, no id was meant.
        ("Gene ABC", Reason.UNKNOWN_ID, None),
        ("Disease doid:99", Reason.MALFORMED_ID, None),
        ("Disease DOID:2?", Reason.MALFORMED_ID, None),
    ],
)
def test_the_right_id_is_proposed(snapshot: Path, node: str, reason: Reason, right: str | None) -> None:
    judged, change = looked(snapshot, existence(node))

    assert (judged.outcome, judged.reason) == (Outcome.REFUTED, reason)
    assert change
    assert (change.kind, change.to) == (ChangeKind.REPOINT if right else ChangeKind.REVIEW, right)


@pytest.mark.parametrize(
    ("edge", "reason", "kind", "to"),
    [
        (("Gene tp53", "TRANSLATED_INTO", "Protein P04637"), Reason.ENDPOINT_UNKNOWN, ChangeKind.REPOINT, "TP53"),
        (("Gene TP53", "TRANSLATED_INTO", "Protein p04637"), Reason.ENDPOINT_MALFORMED, ChangeKind.REPOINT, "P04637"),
        (("Gene TP53?", "TRANSLATED_INTO", "Protein P04637"), Reason.ENDPOINT_MALFORMED, ChangeKind.REVIEW, None),
        (("Gene NOPE", "TRANSLATED_INTO", "Protein P04637"), Reason.ENDPOINT_UNKNOWN, ChangeKind.REVIEW, None),
        # With the id that was meant, no source has the edge: not to be re-pointed.
        (("Gene tp53", "TRANSLATED_INTO", "Protein Q00987"), Reason.ENDPOINT_UNKNOWN, ChangeKind.REVIEW, None),
    ],
)
def test_edges_of_such_a_node_are_not_retired(
    snapshot: Path, edge: tuple[str, str, str], reason: Reason, kind: ChangeKind, to: str | None
) -> None:
    judged, change = looked(snapshot, triple(*edge))

    assert (judged.outcome, judged.reason) == (Outcome.REFUTED, reason)
    assert change
    assert (change.kind, change.to) == (kind, to)


@pytest.mark.parametrize("term", ["GO:0000002", "GO:0000003"])
def test_no_id_of_another_branch_replaces_one(snapshot: Path, term: str) -> None:
    """A curator moves the node: under its label, neither it nor its edges may have the replacement's id."""
    process, function = f"Biological_process {term}", f"Molecular_function {term}"
    edge = ("Protein P04637", "ASSOCIATED_WITH", process)
    for task in (existence(process), triple(*edge)):
        judged, change = looked(snapshot, task)
        assert change
        assert (change.kind, change.to, change.candidates) == (ChangeKind.REVIEW, None, ("GO:0000001",)), judged

    _, change = looked(snapshot, existence(function))
    assert change
    assert (change.kind, change.to) == (ChangeKind.REPOINT, "GO:0000001")


def test_a_parent_that_is_still_an_ancestor_says_by_whom(snapshot: Path) -> None:
    judged, change = looked(snapshot, triple("Disease DOID:3", "HAS_PARENT", "Disease DOID:1"))

    # is_a is transitive: the edge is true, if redundant, and nothing is to be changed for certain.
    assert (judged.outcome, judged.reason, judged.confidence) == (Outcome.INSUFFICIENT, Reason.PARENT_INDIRECT, 0)
    assert change is None
    assert [e.candidates for e in judged.evidence] == [("DOID:2",)]
    turned, _ = looked(snapshot, triple("Disease DOID:1", "HAS_PARENT", "Disease DOID:3"))
    assert turned.reason is Reason.EDGE_UNSUPPORTED


@pytest.mark.parametrize(
    ("value", "to"), [("APOE,ApoE", "APOE,ApoE,AD2"), ("APOE|ApoE", "APOE|ApoE|AD2"), ("APOE; ApoE", "APOE; ApoE; AD2")]
)
def test_a_list_that_is_held_as_text_stays_text(snapshot: Path, value: str, to: str) -> None:
    judged, change = looked(snapshot, attribute("Protein P04637", "synonyms", value))

    assert judged.reason is Reason.VALUE_MISSING
    assert change
    assert change.to == to


def test_a_text_that_holds_every_name_lacks_none(snapshot: Path) -> None:
    judged, _ = looked(snapshot, attribute("Protein P04637", "synonyms", "ad2,APOE"))

    assert judged.outcome is Outcome.SUPPORTED


def test_a_name_that_uniprot_lacks_is_looked_up_in_hgnc(snapshot: Path) -> None:
    right, _ = looked(snapshot, attribute("Protein Q00987", "name", "C1orf112"))
    wrong, change = looked(snapshot, attribute("Protein Q00987", "name", "MDM2"))

    assert (right.outcome, list(map(str, right.missing))) == (Outcome.SUPPORTED, ["uniprot (not covered)"])
    assert (wrong.outcome, wrong.reason) == (Outcome.REFUTED, Reason.VALUE_MISMATCH)
    assert change
    assert change.to == "C1orf112"


def test_nodes_that_share_an_id_have_the_smallest_values_that_are_stated() -> None:
    nodes: list[dict[str, Any]] = [
        {"id": "A", "name": "b", "size": "x"},
        {"id": "A", "name": "a"},
        {"id": "A", "size": 3},
        {"id": "B"},
    ]

    assert one_of_each(nodes) == {"A": {"id": "A", "name": "a", "size": 3}, "B": {"id": "B"}}
    assert one_of_each(reversed(nodes)) == {"A": {"id": "A", "name": "a", "size": 3}, "B": {"id": "B"}}
