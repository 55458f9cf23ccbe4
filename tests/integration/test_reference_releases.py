"""What several releases of a source say together: which one counts, and when records are independent."""

import re
from pathlib import Path

import duckdb
import pytest

from kgcheck.model import Outcome, Reason, Verdict
from kgcheck.profile.catalogue import STATE_REASONS, State
from kgcheck.reference.build import build_snapshot
from tests.support import ROOT
from tests.support.facts import SCHEMA, SETTINGS, Facts, attribute, existence, triple, verdict_on

OLD, NEW, UNDATED = "2015-05-14", "2026", ""
P1, P2, P3 = "P10001", "P10002", "P10003"
ACTS = triple(f"Protein {P1}", "ACTS_ON", f"Protein {P2}")
STRUCTURE = triple(f"Protein {P1}", "HAS_STRUCTURE", "Protein_structure 1TUP")
PROCESS = triple(f"Protein {P1}", "ASSOCIATED_WITH", "Biological_process GO:0000001")


@pytest.fixture
def facts() -> Facts:
    return Facts()


def life(facts: Facts, folder: Path, identifier: str) -> tuple[str, list[str], list[str]]:
    """State, replacements and candidates of an id."""
    with duckdb.connect(str(facts.build(folder)), read_only=True) as db:
        rows = db.execute("SELECT state, successors, candidates FROM lifecycle WHERE id = ?", [identifier]).fetchall()
    assert len(rows) == 1
    return rows[0][0], rows[0][1], rows[0][2]


def ended(found: Verdict) -> tuple[Outcome, Reason]:
    return found.outcome, found.reason


def test_example_of_the_documentation(tmp_path: Path) -> None:
    text = (ROOT / "docs/snapshot.md").read_text(encoding="utf-8")
    for name, content in re.findall(r"^\$ cat (\w+\.tsv)\n(.*?)(?=^\$|^```)", text, re.M | re.S):
        (tmp_path / name).write_text(content, encoding="utf-8")
    build_snapshot(tmp_path, tmp_path / "x.duckdb", SCHEMA, SETTINGS)

    def of(head: str, tail: str) -> tuple[Outcome, Reason]:
        edge = triple(f"Protein {head}", "HAS_STRUCTURE", f"Protein_structure {tail}")
        return ended(verdict_on(tmp_path / "x.duckdb", edge))

    assert of("P21802", "1DJS") == (Outcome.SUPPORTED, Reason.CONFIRMED)
    assert of("P21802", "1TUP") == (Outcome.REFUTED, Reason.EDGE_UNSUPPORTED)
    assert of("P04637", "1TUP") == (Outcome.UNAVAILABLE, Reason.NOT_COVERED)
    assert verdict_on(tmp_path / "x.duckdb", existence("Protein B4DFC2")).reason is Reason.ID_MERGED


# identifiers


def test_newest_release_that_names_an_id_decides(facts: Facts, tmp_path: Path) -> None:
    facts.release("uniprot", date=NEW).entity(P1, "Protein", "merged", now=[P2])
    facts.release("uniprot", date=OLD).entity(P1, "Protein")

    assert life(facts, tmp_path, P1) == ("merged", [P2], [])


@pytest.mark.parametrize(
    ("source", "label", "identifier", "state", "reason"),
    [
        ("do", "Disease", "DOID:1", "dropped", Reason.ID_OBSOLETE),
        ("hgnc", "Gene", "ABC1", "withdrawn", Reason.ID_WITHDRAWN),
        ("uniprot", "Protein", P1, "deleted", Reason.ID_DELETED),
        ("reactome", "Pathway", "R-HSA-1", "retired", Reason.ID_RETIRED),
    ],
)
def test_id_that_the_newest_complete_release_left_out_is_gone(
    facts: Facts, tmp_path: Path, source: str, label: str, identifier: str, state: str, reason: Reason
) -> None:
    facts.release(source, date=OLD, complete=True).entity(identifier, label)
    facts.release(source, date=NEW, complete=True).entity("other", label)

    assert life(facts, tmp_path, identifier)[0] == state
    found = verdict_on(tmp_path / "reference.duckdb", existence(f"{label} {identifier}"))
    assert ended(found) == (Outcome.REFUTED, reason)
    assert [e.release for e in found.evidence] == [f"of {NEW}"]


@pytest.mark.parametrize(("date", "complete"), [(UNDATED, True), ("2027", True), (OLD, False)])
def test_id_is_not_gone_if_its_release_may_be_newer_or_the_other_is_partial(
    facts: Facts, tmp_path: Path, date: str, complete: bool
) -> None:
    facts.release("do", "a", date).entity("DOID:1", "Disease")
    facts.release("do", "b", NEW, complete=complete).entity("DOID:2", "Disease")

    assert life(facts, tmp_path, "DOID:1")[0] == "current"


def test_symbol_that_is_current_and_an_alias_of_another_is_current(facts: Facts, tmp_path: Path) -> None:
    facts.release("hgnc", date=OLD, complete=True).entity("AIP1", "Gene").entity("WDR1", "Gene")
    facts.release("hgnc", date=NEW).entity("AIP1", "Gene", "alias", now=["WDR1"])

    assert life(facts, tmp_path, "AIP1") == ("current", [], [])


def test_symbol_that_a_complete_release_only_has_as_an_alias_is_one(facts: Facts, tmp_path: Path) -> None:
    facts.release("hgnc", date=OLD, complete=True).entity("AIP1", "Gene")
    facts.release("hgnc", date=NEW, complete=True).entity("AIP1", "Gene", "alias", now=["WDR1"]).entity("WDR1", "Gene")

    assert life(facts, tmp_path, "AIP1") == ("alias", ["WDR1"], [])


@pytest.mark.parametrize("state", ["merged", "secondary", "alias"])
def test_two_files_of_one_release_that_name_two_replacements_leave_a_choice(
    facts: Facts, tmp_path: Path, state: str
) -> None:
    facts.release("uniprot", "a", NEW).entity("Q1", "Protein", state, now=[P2])
    facts.release("uniprot", "b", NEW).entity("Q1", "Protein", state, now=[P1])

    assert life(facts, tmp_path, "Q1") == ("demerged" if state == "merged" else state, [], [P2, P1])


def test_term_with_several_replacements_keeps_their_order(facts: Facts, tmp_path: Path) -> None:
    facts.release("go").entity("GO:1", "", "obsolete", now=["GO:3", "GO:2", "GO:3"])

    assert life(facts, tmp_path, "GO:1") == ("obsolete", ["GO:3", "GO:2"], [])


def test_replacement_that_was_itself_replaced_is_followed(facts: Facts, tmp_path: Path) -> None:
    facts.release("uniprot", date=OLD).entity(P1, "Protein", "merged", now=[P2])
    facts.release("uniprot", date=NEW).entity(P2, "Protein", "merged", now=[P3]).entity(P3, "Protein")

    assert life(facts, tmp_path, P1) == ("merged", [P3], [])


def test_replacements_in_a_circle_end(facts: Facts, tmp_path: Path) -> None:
    release = facts.release("uniprot").entity(P1, "Protein", "merged", now=[P2])
    release.entity(P2, "Protein", "merged", now=[P1]).entity(P3, "Protein", "merged", now=[P3])

    assert life(facts, tmp_path, P1) == ("merged", [P2], [])
    assert life(facts, tmp_path, P3) == ("merged", [], [])


def test_replacement_that_is_gone_replaces_nothing(facts: Facts, tmp_path: Path) -> None:
    release = facts.release("uniprot").entity(P1, "Protein", "merged", now=[P2])
    release.entity(P2, "Protein", "demerged", candidates=["Q1", "Q2"])

    assert life(facts, tmp_path, P1) == ("merged", [], ["Q1", "Q2"])
    assert verdict_on(tmp_path / "reference.duckdb", ACTS).reason is Reason.ENDPOINT_DELETED


def test_live_terms_of_the_same_name_may_replace_one_that_is_gone(facts: Facts, tmp_path: Path) -> None:
    release = facts.release("do").entity("DOID:1", "Disease", "obsolete", name="Flu").entities("Disease", "DOID:2")
    release.value("DOID:2", "name", "flu")

    assert life(facts, tmp_path, "DOID:1") == ("obsolete", [], ["DOID:2"])


# values


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [(OLD, NEW, Reason.VALUE_OUTDATED), (NEW, OLD, Reason.CONFIRMED), (UNDATED, NEW, Reason.CONFLICTING_EVIDENCE)],
)
def test_value_of_an_older_release_is_a_former_one(
    facts: Facts, tmp_path: Path, old: str, new: str, reason: Reason
) -> None:
    facts.release("do", "a", old).value("DOID:1", "name", "LEOPARD syndrome")
    facts.release("do", "b", new).value("DOID:1", "name", "Noonan syndrome")

    assert verdict_on(facts.build(tmp_path), attribute("Disease DOID:1", "name", "LEOPARD syndrome")).reason is reason


def test_synonym_of_an_older_release_need_not_be_in_a_list(facts: Facts, tmp_path: Path) -> None:
    facts.release("uniprot", date=OLD).value(P1, "gene_name", "A").value(P1, "gene_name", "B", "synonym")
    facts.release("uniprot", date=NEW).value(P1, "gene_name", "A")

    assert verdict_on(facts.build(tmp_path), attribute(f"Protein {P1}", "synonyms", "A")).outcome is Outcome.SUPPORTED


# links


@pytest.mark.parametrize(
    ("date", "complete", "covers", "expected"),
    [
        (NEW, True, [], (Outcome.REFUTED, Reason.EDGE_UNSUPPORTED)),
        (NEW, False, [P1], (Outcome.REFUTED, Reason.EDGE_UNSUPPORTED)),
        (NEW, False, [P2], (Outcome.SUPPORTED, Reason.CONFIRMED)),
        (OLD, True, [P1], (Outcome.SUPPORTED, Reason.CONFIRMED)),
        (UNDATED, True, [P1], (Outcome.SUPPORTED, Reason.CONFIRMED)),
    ],
)
def test_link_counts_unless_a_newer_release_speaks_of_its_subject(
    facts: Facts, tmp_path: Path, date: str, complete: bool, covers: list[str], expected: tuple[Outcome, Reason]
) -> None:
    facts.release("uniprot", "a", "2020").link("HAS_STRUCTURE", P1, "1TUP")
    other = facts.release("uniprot", "b", date, complete=complete).covers("HAS_STRUCTURE", *covers)
    other.link("HAS_STRUCTURE", P2, "2YDQ")

    assert ended(verdict_on(facts.build(tmp_path), STRUCTURE)) == expected


@pytest.mark.parametrize(("mapped", "reason"), [([P1], Reason.CONFIRMED), ([P1, P2], Reason.EDGE_UNSUPPORTED)])
def test_link_of_a_network_counts_unless_a_newer_export_holds_both_ends(
    facts: Facts, tmp_path: Path, mapped: list[str], reason: Reason
) -> None:
    facts.release("string", date=OLD).link("ACTS_ON", P1, P2, 0.9).covers("ACTS_ON", P1, P2)
    facts.release("string", date=NEW).covers("ACTS_ON", *mapped)

    assert verdict_on(facts.build(tmp_path), ACTS).reason is reason


def test_pair_that_no_single_export_holds_is_not_covered(facts: Facts, tmp_path: Path) -> None:
    for end in (P1, P2):
        facts.release("string", end).covers("ACTS_ON", end, P3)

    assert ended(verdict_on(facts.build(tmp_path), ACTS)) == (Outcome.UNAVAILABLE, Reason.NOT_COVERED)


def test_source_that_speaks_of_another_topic_only_is_missing(facts: Facts, tmp_path: Path) -> None:
    facts.release("uniprot", complete=True).link("HAS_SEQUENCE", P1, P1)
    snapshot = facts.build(tmp_path)

    for task in (STRUCTURE, existence(f"Protein {P1}"), attribute(f"Protein {P1}", "name", "x")):
        found = verdict_on(snapshot, task)
        assert ended(found) == (Outcome.UNAVAILABLE, Reason.REFERENCE_MISSING)
        assert [str(gap) for gap in found.missing] == ["uniprot (reference missing)"]


def test_silence_through_a_hierarchy_that_is_not_complete_is_open(facts: Facts, tmp_path: Path) -> None:
    facts.release("goa").covers("ASSOCIATED_WITH", P1)
    facts.release("go").link("HAS_PARENT", "GO:0000002", "GO:0000001")

    assert ended(verdict_on(facts.build(tmp_path), PROCESS)) == (Outcome.INSUFFICIENT, Reason.NOTHING_FOUND)


@pytest.mark.parametrize(
    ("covered", "outcome"), [("TP53", Outcome.REFUTED), (P1, Outcome.REFUTED), (P2, Outcome.UNAVAILABLE)]
)
def test_coverage_may_name_either_end_where_ends_cannot_be_confused(
    facts: Facts, tmp_path: Path, covered: str, outcome: Outcome
) -> None:
    facts.release("uniprot").covers("TRANSLATED_INTO", covered)

    found = verdict_on(facts.build(tmp_path), triple("Gene TP53", "TRANSLATED_INTO", f"Protein {P1}"))
    assert found.outcome is outcome


@pytest.mark.parametrize(("covered", "outcome"), [("DOID:1", Outcome.REFUTED), ("DOID:2", Outcome.UNAVAILABLE)])
def test_coverage_names_the_head_where_both_ends_are_of_one_kind(
    facts: Facts, tmp_path: Path, covered: str, outcome: Outcome
) -> None:
    facts.release("do").covers("HAS_PARENT", covered)

    found = verdict_on(facts.build(tmp_path), triple("Disease DOID:1", "HAS_PARENT", "Disease DOID:2"))
    assert found.outcome is outcome


# independent records


@pytest.mark.parametrize(
    ("links", "confidence"),
    [
        ([(P1, P2, 0.6, "r1")], 0.6),
        ([(P1, P2, 0.6, "r1"), (P1, P2, 0.6, "r2")], 0.84),
        ([(P1, P2, 0.6, "r1"), (P1, P2, 0.6, "r1")], 0.6),
        ([(P1, P2, 0.6, "r1"), (P2, P1, 0.6, "r2")], 0.6),
        ([(P1, P2, 0.6, "r1"), (P2, P1, 0.9, "r2")], 0.9),
        ([(P1, P2, 0.6, f"r{n}") for n in range(9)], 0.936),
    ],
)
def test_link_in_both_orders_and_twice_in_a_record_is_one(
    facts: Facts, tmp_path: Path, links: list[tuple[str, str, float, str]], confidence: float
) -> None:
    for number, (head, tail, score, record) in enumerate(links):
        facts.release("string", f"export {number}").link("ACTS_ON", head, tail, score, record=record)

    assert verdict_on(facts.build(tmp_path), ACTS).confidence == confidence


@pytest.mark.parametrize(("head", "tail", "record"), [(P1, P2, "r"), (P2, P1, "r"), (P2, P1, "other")])
def test_newest_export_speaks_for_a_record(facts: Facts, tmp_path: Path, head: str, tail: str, record: str) -> None:
    facts.release("string", date=OLD).link("ACTS_ON", P1, P2, 0.9, record="r")
    facts.release("string", date=NEW).link("ACTS_ON", head, tail, 0.3, record=record)

    assert ended(verdict_on(facts.build(tmp_path), ACTS)) == (Outcome.REFUTED, Reason.BELOW_THRESHOLD)


def test_plain_annotation_is_heard_among_many_with_not(facts: Facts, tmp_path: Path) -> None:
    release = facts.release("goa").link("ASSOCIATED_WITH", P1, "GO:0000001", record="PMID:9")
    for number in range(5):
        release.link("ASSOCIATED_WITH", P1, "GO:0000001", negated=True, record=f"PMID:{number}")

    found = verdict_on(facts.build(tmp_path), PROCESS)
    assert ended(found) == (Outcome.INSUFFICIENT, Reason.CONFLICTING_EVIDENCE)


def test_term_and_its_descendant_in_one_record_are_one(facts: Facts, tmp_path: Path) -> None:
    release = facts.release("uniprot").link("ASSOCIATED_WITH", P1, "GO:0000001", record=P1)
    release.link("ASSOCIATED_WITH", P1, "GO:0000002", record=P1)
    facts.release("go").link("HAS_PARENT", "GO:0000002", "GO:0000001")

    found = verdict_on(facts.build(tmp_path), PROCESS)
    assert (*ended(found), found.confidence) == (Outcome.SUPPORTED, Reason.CONFIRMED, 0.95)


def test_every_state_has_a_meaning() -> None:
    assert set(STATE_REASONS) == set(State)


@pytest.mark.parametrize("states", [(State.WITHDRAWN, State.PREVIOUS), (State.PREVIOUS, State.CURRENT)])
def test_of_several_states_of_one_release_the_first_in_the_written_order_counts(
    facts: Facts, tmp_path: Path, states: tuple[State, ...]
) -> None:
    release = facts.release("hgnc", "a", NEW)
    for state in states:
        release.entity("AA1", "Gene", state)

    assert life(facts, tmp_path, "AA1")[0] == min(states, key=list(State).index)
