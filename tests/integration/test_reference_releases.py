"""What several releases of a source say together: which one counts, and when records are independent."""

import re
from pathlib import Path

import duckdb
import pytest

from kgcheck.model import Outcome, Reason, Verdict
from kgcheck.profile.catalogue import STATE_REASONS, State
from kgcheck.reference.build import build_snapshot
from tests.support import ROOT
from tests.support.facts import SCHEMA, SETTINGS, Facts, attribute, existence, triple, verdict_on, verdicts_on

OLD, NEW, UNDATED = "2015-05-14", "2026", ""
P1, P2, P3 = "P10001", "P10002", "P10003"
ACTS = triple(f"Protein {P1}", "ACTS_ON", f"Protein {P2}")
STRUCTURE = triple(f"Protein {P1}", "HAS_STRUCTURE", "Protein_structure 1TUP")
PROCESS = triple(f"Protein {P1}", "ASSOCIATED_WITH", "Biological_process GO:0000001")


@pytest.fixture
def facts() -> Facts:
    return Facts()


def lives_of(facts: Facts, folder: Path) -> dict[str, tuple[str, list[str], list[str]]]:
    """State, replacements and candidates of every id."""
    with duckdb.connect(str(facts.build(folder)), read_only=True) as db:
        rows = db.execute("SELECT id, state, successors, candidates FROM lifecycle").fetchall()
    lives = {identifier: (state, successors, candidates) for identifier, state, successors, candidates in rows}
    assert len(lives) == len(rows)
    return lives


def life(facts: Facts, folder: Path, identifier: str) -> tuple[str, list[str], list[str]]:
    return lives_of(facts, folder)[identifier]


def ended(found: Verdict) -> tuple[Outcome, Reason]:
    return found.outcome, found.reason


def test_example_of_the_documentation(tmp_path: Path) -> None:
    text = (ROOT / "docs/snapshot.md").read_text(encoding="utf-8")
    for name, content in re.findall(r"^\$ cat (\w+\.tsv)\n(.*?)(?=^\$|^```)", text, re.M | re.S):
        (tmp_path / name).write_text(content, encoding="utf-8")
    build_snapshot(tmp_path, tmp_path / "x.duckdb", SCHEMA, SETTINGS)

    ends = (("P21802", "1DJS"), ("P21802", "1TUP"), ("P04637", "1TUP"))
    edges = [triple(f"Protein {head}", "HAS_STRUCTURE", f"Protein_structure {tail}") for head, tail in ends]
    assert [found.reason for found in verdicts_on(tmp_path / "x.duckdb", [*edges, existence("Protein B4DFC2")])] == [
        Reason.CONFIRMED,
        Reason.EDGE_UNSUPPORTED,
        Reason.NOT_COVERED,
        Reason.ID_MERGED,
    ]


# identifiers


def test_what_became_of_an_id(facts: Facts, tmp_path: Path) -> None:
    old, new = facts.release("uniprot", date=OLD), facts.release("uniprot", "a", NEW)
    # The newest release that names it decides.
    new.entity("P11111", "Protein", "merged", now=["P11112"])
    old.entity("P11111", "Protein")
    # A replacement that was itself replaced is followed.
    old.entity("P22221", "Protein", "merged", now=["P22222"])
    new.entity("P22222", "Protein", "merged", now=["P22223"]).entity("P22223", "Protein")
    # Replacements in a circle end.
    new.entity("P33331", "Protein", "merged", now=["P33332"]).entity("P33332", "Protein", "merged", now=["P33331"])
    new.entity("P33333", "Protein", "merged", now=["P33333"])
    # One that is gone replaces nothing.
    new.entity(P1, "Protein", "merged", now=["P44442"])
    new.entity("P44442", "Protein", "demerged", candidates=["Q1", "Q2"])
    # Two files of one release that name two replacements leave a choice.
    other = facts.release("uniprot", "b", NEW)
    for state in ("merged", "secondary", "alias"):
        new.entity(f"of {state}", "Protein", state, now=[P3])
        other.entity(f"of {state}", "Protein", state, now=[P2])
    # Several replacements of a term keep their order.
    facts.release("go").entity("GO:1", "", "obsolete", now=["GO:3", "GO:2", "GO:3"])
    # Live terms of the same name may replace one that is gone.
    terms = facts.release("do").entity("DOID:1", "Disease", "obsolete", name="Flu").entities("Disease", "DOID:2")
    terms.value("DOID:2", "name", "flu")
    # Of several states of one release the first in the written order counts.
    symbols = facts.release("hgnc")
    for state in (State.WITHDRAWN, State.PREVIOUS):
        symbols.entity("AA1", "Gene", state)
    for state in (State.PREVIOUS, State.CURRENT):
        symbols.entity("BB1", "Gene", state)
    lives = lives_of(facts, tmp_path)

    assert {identifier: lives[identifier] for identifier in lives if lives[identifier][0] != "current"} == {
        "P11111": ("merged", ["P11112"], []),
        "P22221": ("merged", ["P22223"], []),
        "P22222": ("merged", ["P22223"], []),
        "P33331": ("merged", ["P33332"], []),
        "P33332": ("merged", ["P33331"], []),
        "P33333": ("merged", [], []),
        P1: ("merged", [], ["Q1", "Q2"]),
        "P44442": ("demerged", [], ["Q1", "Q2"]),
        "of merged": ("demerged", [], [P3, P2]),
        "of secondary": ("secondary", [], [P3, P2]),
        "of alias": ("alias", [], [P3, P2]),
        "GO:1": ("obsolete", ["GO:3", "GO:2"], []),
        "DOID:1": ("obsolete", [], ["DOID:2"]),
        "AA1": ("previous", [], []),
    }
    assert verdict_on(tmp_path / "reference.duckdb", ACTS).reason is Reason.ENDPOINT_DELETED


def test_id_that_the_newest_complete_release_left_out_is_gone(facts: Facts, tmp_path: Path) -> None:
    expected = {
        ("do", "Disease", "DOID:1"): ("dropped", Reason.ID_OBSOLETE),
        ("hgnc", "Gene", "ABC1"): ("withdrawn", Reason.ID_WITHDRAWN),
        ("uniprot", "Protein", P1): ("deleted", Reason.ID_DELETED),
        ("reactome", "Pathway", "R-HSA-1"): ("retired", Reason.ID_RETIRED),
    }
    for source, label, identifier in expected:
        facts.release(source, date=OLD, complete=True).entity(identifier, label)
        facts.release(source, date=NEW, complete=True).entity(f"other of {source}", label)
    lives = lives_of(facts, tmp_path)

    tasks = [existence(f"{label} {identifier}") for _, label, identifier in expected]
    judged = verdicts_on(tmp_path / "reference.duckdb", tasks)
    for ((_, _, identifier), (state, reason)), found in zip(expected.items(), judged, strict=True):
        assert lives[identifier][0] == state
        assert ended(found) == (Outcome.REFUTED, reason)
        assert [e.release for e in found.evidence] == [f"of {NEW}"]


@pytest.mark.parametrize(("date", "complete"), [(UNDATED, True), ("2027", True), (OLD, False)])
def test_id_is_not_gone_if_its_release_may_be_newer_or_the_other_is_partial(
    facts: Facts, tmp_path: Path, date: str, complete: bool
) -> None:
    facts.release("do", "a", date).entity("DOID:1", "Disease")
    facts.release("do", "b", NEW, complete=complete).entity("DOID:2", "Disease")

    assert life(facts, tmp_path, "DOID:1")[0] == "current"


@pytest.mark.parametrize(("complete", "expected"), [(False, ("current", [], [])), (True, ("alias", ["WDR1"], []))])
def test_symbol_that_a_newer_release_has_as_an_alias(
    facts: Facts, tmp_path: Path, complete: bool, expected: tuple[str, list[str], list[str]]
) -> None:
    facts.release("hgnc", date=OLD, complete=True).entity("AIP1", "Gene").entity("WDR1", "Gene")
    newer = facts.release("hgnc", date=NEW, complete=complete).entity("AIP1", "Gene", "alias", now=["WDR1"])
    newer.entity("WDR1", "Gene")

    assert life(facts, tmp_path, "AIP1") == expected


# values


def test_value_of_an_older_release_is_a_former_one(facts: Facts, tmp_path: Path) -> None:
    releases = {date: facts.release("do", f"of {date}", date) for date in (OLD, NEW, UNDATED)}
    expected = {
        (OLD, NEW): Reason.VALUE_OUTDATED,
        (NEW, OLD): Reason.CONFIRMED,
        (UNDATED, NEW): Reason.CONFLICTING_EVIDENCE,
    }
    for number, (one, other) in enumerate(expected):
        releases[one].value(f"DOID:{number}", "name", "LEOPARD syndrome")
        releases[other].value(f"DOID:{number}", "name", "Noonan syndrome")
    # A synonym of an older release need not be in a list.
    facts.release("uniprot", date=OLD).value(P1, "gene_name", "A").value(P1, "gene_name", "B", "synonym")
    facts.release("uniprot", date=NEW).value(P1, "gene_name", "A")
    tasks = [attribute(f"Disease DOID:{number}", "name", "LEOPARD syndrome") for number in range(3)]

    *names, synonyms = verdicts_on(facts.build(tmp_path), [*tasks, attribute(f"Protein {P1}", "synonyms", "A")])

    assert [found.reason for found in names] == list(expected.values())
    assert synonyms.outcome is Outcome.SUPPORTED


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

    tasks = [STRUCTURE, existence(f"Protein {P1}"), attribute(f"Protein {P1}", "name", "x")]
    for found in verdicts_on(snapshot, tasks):
        assert ended(found) == (Outcome.UNAVAILABLE, Reason.REFERENCE_MISSING)
        assert [str(gap) for gap in found.missing] == ["uniprot (reference missing)"]


def test_silence_through_a_hierarchy_that_is_not_complete_is_open(facts: Facts, tmp_path: Path) -> None:
    facts.release("goa").covers("ASSOCIATED_WITH", P1)
    facts.release("go").link("HAS_PARENT", "GO:0000002", "GO:0000001")

    assert ended(verdict_on(facts.build(tmp_path), PROCESS)) == (Outcome.INSUFFICIENT, Reason.NOTHING_FOUND)


def test_coverage_names_the_head_and_either_end_where_ends_cannot_be_confused(facts: Facts, tmp_path: Path) -> None:
    facts.release("uniprot").covers("TRANSLATED_INTO", "TP53", P2)
    facts.release("do").covers("HAS_PARENT", "DOID:1", "DOID:4")
    tasks = [
        triple("Gene TP53", "TRANSLATED_INTO", f"Protein {P1}"),
        triple("Gene MDM2", "TRANSLATED_INTO", f"Protein {P2}"),
        triple("Gene MDM2", "TRANSLATED_INTO", f"Protein {P3}"),
        triple("Disease DOID:1", "HAS_PARENT", "Disease DOID:2"),
        triple("Disease DOID:3", "HAS_PARENT", "Disease DOID:4"),
    ]
    refuted, unavailable = Outcome.REFUTED, Outcome.UNAVAILABLE

    outcomes = [found.outcome for found in verdicts_on(facts.build(tmp_path), tasks)]

    assert outcomes == [refuted, refuted, unavailable, refuted, unavailable]


# independent records


def test_link_in_both_orders_and_twice_in_a_record_is_one(facts: Facts, tmp_path: Path) -> None:
    """By confidence: links of a pair as whether the other way round, score and record, each in an export of its own."""
    cases: list[tuple[float, list[tuple[bool, float, str]]]] = [
        (0.6, [(False, 0.6, "r1")]),
        (0.84, [(False, 0.6, "r1"), (False, 0.6, "r2")]),
        (0.6, [(False, 0.6, "r1"), (False, 0.6, "r1")]),
        (0.6, [(False, 0.6, "r1"), (True, 0.6, "r2")]),
        (0.9, [(False, 0.6, "r1"), (True, 0.9, "r2")]),
        (0.936, [(False, 0.6, f"r{n}") for n in range(9)]),
    ]
    exports = [facts.release("string", f"export {number}") for number in range(9)]
    for number, (_, links) in enumerate(cases):
        one, other = f"P2000{number}", f"P3000{number}"
        for export, (turned, score, record) in zip(exports, links, strict=False):
            head, tail = (other, one) if turned else (one, other)
            export.link("ACTS_ON", head, tail, score, record=record)
    tasks = [triple(f"Protein P2000{n}", "ACTS_ON", f"Protein P3000{n}") for n in range(len(cases))]

    found = verdicts_on(facts.build(tmp_path), tasks)

    assert [verdict.confidence for verdict in found] == [confidence for confidence, _ in cases]


def test_newest_export_speaks_for_a_record(facts: Facts, tmp_path: Path) -> None:
    old, new = facts.release("string", date=OLD), facts.release("string", date=NEW)
    pairs = [(f"P2000{number}", f"P3000{number}") for number in range(3)]
    for number, (head, tail) in enumerate(pairs):
        old.link("ACTS_ON", head, tail, 0.9, record=f"r{number}")
    new.link("ACTS_ON", *pairs[0], 0.3, record="r0")
    for (head, tail), record in zip(pairs[1:], ("r1", "other"), strict=True):
        new.link("ACTS_ON", tail, head, 0.3, record=record)

    found = verdicts_on(
        facts.build(tmp_path), [triple(f"Protein {head}", "ACTS_ON", f"Protein {tail}") for head, tail in pairs]
    )

    assert {ended(verdict) for verdict in found} == {(Outcome.REFUTED, Reason.BELOW_THRESHOLD)}


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
