"""Findings that follow from another one of their run: linked, listed, counted and decided with it."""

from __future__ import annotations

import random
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from kgcheck import clock
from kgcheck.curation.compare import comparison_summary, diff_of
from kgcheck.curation.decisions import Decisions, decide
from kgcheck.curation.facets import counted_of, facets_of, new_findings, settled
from kgcheck.curation.findings import list_findings
from kgcheck.curation.patch_maker import Wanted, make_patch
from kgcheck.curation.thresholds import Threshold, judge
from kgcheck.graph.embedded import EmbeddedStore
from kgcheck.ledger.causes import reasons_following
from kgcheck.ledger.comparisons import COMPARISON, ComparisonState, ComparisonTable, FormerFinding
from kgcheck.ledger.ledger import Ledger, Run
from kgcheck.model import (
    Change,
    ChangeKind,
    CheckTask,
    CheckType,
    Finding,
    Outcome,
    Reason,
    Ref,
    Tally,
    Target,
    Verdict,
)
from kgcheck.profile.schema import load_schema
from kgcheck.report.render import render
from kgcheck.rules import CauseKind
from tests.support import ROOT, quick_of
from tests.support.patches import graph_file

SAME_IDS = {"Amino_acid_sequence": ("Protein",)}


def found(
    kind: CheckType,
    reason: Reason,
    subject: str,
    tail: str | None = None,
    outcome: Outcome = Outcome.REFUTED,
    **more: Any,
) -> Finding:
    """A finding of a node or an edge, written as ``Label id``."""
    head, other = (Ref(label=n.split()[0], id=n.split()[1]) if n else None for n in (subject, tail))
    assert head
    relation = None if other is None or kind is CheckType.STRUCTURE else "R"
    rule = reason.value if kind is CheckType.STRUCTURE else None
    task = CheckTask(type=kind, subject=head, object=other, relation=relation, rule=rule, **more)
    return Finding(
        run="r",
        fingerprint=task.fingerprint,
        task=task,
        verdict=Verdict(outcome=outcome, reason=reason, confidence=0.9 if outcome is Outcome.REFUTED else 0.0),
    )


def obsolete(node: str, reason: Reason = Reason.ID_OBSOLETE) -> Finding:
    return found(CheckType.EXISTENCE, reason, node)


def edge(head: str, tail: str, reason: Reason = Reason.ENDPOINT_DELETED) -> Finding:
    return found(CheckType.TRIPLE, reason, head, tail)


def shared(head: str, tail: str) -> Finding:
    return found(CheckType.STRUCTURE, Reason("shared_name"), head, tail, Outcome.INSUFFICIENT)


def written(ledger: Ledger, findings: Sequence[Finding], name: str = "r", former: Sequence[FormerFinding] = ()) -> Run:
    """A finished run with findings and their causes."""
    run = Run(id=name, started=clock.now(), store="s", store_id="s", profile="ckg", nodes={"A": 1, "B": 1}, edges={})
    ledger.start(run)
    tallies = [
        Tally(type=f.task.type, target=Target.of(f.task), outcome=f.verdict.outcome, reason=f.verdict.reason, count=1)
        for f in findings
    ]
    ledger.record(run, "piece", [f.model_copy(update={"run": name}) for f in findings], tallies)
    ledger.link_causes(run, SAME_IDS)
    before = next((r for r in ledger.runs() if r.id != name), None)
    ComparisonTable(ledger.database).record(name, before.id if before else None, former, clock.now())
    return ledger.finish(run)


def causes(ledger: Ledger, run: Run) -> dict[str, str | None]:
    return {finding.fingerprint: finding.cause for finding in ledger.findings(run)}


@pytest.mark.parametrize(
    ("cause", "consequence"),
    [
        (obsolete("A 1"), edge("A 1", "B 2")),
        (obsolete("B 2"), edge("A 1", "B 2")),
        (obsolete("B 2", Reason.ID_MERGED), edge("A 1", "B 2", Reason.ENDPOINT_MERGED)),
        (obsolete("A 1"), found(CheckType.ATTRIBUTE, Reason.VALUE_MISMATCH, "A 1", attribute="name")),
        (obsolete("A 1"), found(CheckType.POTENTIAL, Reason.EDGE_MISSING, "A 1", "B 2", Outcome.SUPPORTED)),
        (obsolete("A 2"), shared("A 1", "A 2")),
        (obsolete("A 1", Reason.WRONG_NAMESPACE), found(CheckType.STRUCTURE, Reason("id_on_two_labels"), "A 1", "B 1")),
        (obsolete("Protein 1"), obsolete("Amino_acid_sequence 1")),
        (edge("A 1", "B 2", Reason.BELOW_THRESHOLD), found(CheckType.ATTRIBUTE, Reason.VALUE_MISMATCH, "A 1", "B 2")),
        (
            found(CheckType.ATTRIBUTE, Reason.VALUE_MISMATCH, "A 1", attribute="size"),
            found(CheckType.STRUCTURE, Reason("length_mismatch"), "A 1", attribute="size"),
        ),
        (
            found(CheckType.EXISTENCE, Reason.REFERENCE_OLDER, "A 1", outcome=Outcome.INSUFFICIENT),
            found(CheckType.TRIPLE, Reason.REFERENCE_OLDER, "A 1", "B 2", Outcome.INSUFFICIENT),
        ),
    ],
    ids=lambda f: f.verdict.reason.value,
)
def test_a_finding_follows_from_its_cause(tmp_path: Path, cause: Finding, consequence: Finding) -> None:
    with Ledger(tmp_path / "l") as ledger:
        run = written(ledger, [consequence, cause])
        assert causes(ledger, run) == {cause.fingerprint: None, consequence.fingerprint: cause.fingerprint}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (obsolete("A 9"), edge("A 1", "B 2")),
        (obsolete("B 1"), edge("A 1", "B 2")),
        (obsolete("A 1"), edge("A 1", "B 2", Reason.EDGE_NEGATED)),
        (found(CheckType.EXISTENCE, Reason.REFERENCE_OLDER, "A 1", outcome=Outcome.INSUFFICIENT), edge("A 1", "B 2")),
        (obsolete("A 1"), found(CheckType.STRUCTURE, Reason("id_on_two_labels"), "A 1", "B 1")),
        (obsolete("A 1"), obsolete("B 1")),
        (
            found(CheckType.ATTRIBUTE, Reason.VALUE_MISMATCH, "A 1", attribute="name"),
            found(CheckType.STRUCTURE, Reason("length_mismatch"), "A 1", attribute="size"),
        ),
    ],
)
def test_what_is_wrong_by_itself_follows_from_nothing(tmp_path: Path, one: Finding, other: Finding) -> None:
    with Ledger(tmp_path / "l") as ledger:
        assert set(causes(ledger, written(ledger, [one, other])).values()) == {None}


def test_pairs_of_one_name_follow_from_the_first_and_roots_are_named(tmp_path: Path) -> None:
    pairs = [shared("A 1", f"A {n}") for n in (3, 2, 4)]
    protein, sequence = obsolete("Protein 7"), obsolete("Amino_acid_sequence 7")
    of_sequence = edge("A 1", "Amino_acid_sequence 7")
    with Ledger(tmp_path / "l") as ledger:
        known = causes(ledger, written(ledger, [*pairs, protein, sequence, of_sequence]))
    first = pairs[1].fingerprint
    assert [known[pair.fingerprint] for pair in pairs] == [first, None, first]
    assert known[of_sequence.fingerprint] == known[sequence.fingerprint] == protein.fingerprint


FILTERS: tuple[dict[str, Any], ...] = (
    {},
    {"types": ["triple"]},
    {"labels": ["B"]},
    {"reasons": ["endpoint_deleted", "id_obsolete"]},
    {"outcomes": ["refuted"]},
    {"text": "1"},
    {"states": ["new"]},
    *({"decisions": [state]} for state in ("open", "accepted", "rejected", "deferred")),
)


@pytest.mark.slow
@pytest.mark.parametrize("seed", quick_of(range(2), 0))
def test_no_finding_vanishes(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311
    nodes = [f"{label} {n}" for label in ("A", "B") for n in range(6)]
    some = [obsolete(node, chance.choice([Reason.ID_OBSOLETE, Reason.ID_MERGED])) for node in chance.sample(nodes, 5)]
    for _ in range(40):
        ends = chance.sample(nodes, 2)
        some.append(chance.choice([edge, shared])(*ends))
        some.append(
            found(
                CheckType.ATTRIBUTE,
                Reason(chance.choice(sorted(reasons_following(CauseKind.NODE)))),
                ends[0],
                attribute="name",
            )
        )
    unique = list({finding.fingerprint: finding for finding in some}.values())
    with Ledger(tmp_path / "l") as ledger:
        run = written(ledger, chance.sample(unique, len(unique) // 2), "r1")
        run = written(ledger, unique, "r2")
        for action in ("accept", "reject", "defer", "reopen") * 2:
            names = [finding.fingerprint for finding in chance.sample(unique, 4)]
            decide(ledger, names, action, by="me", until="2999-01-01" if action == "defer" else None)
        known = causes(ledger, run)
        for finding in known:
            assert known.get(known[finding] or "") is None
        for filters in FILTERS:
            listed = list_findings(ledger, run, **filters)
            shown = [one.fingerprint for one in listed.page()]
            every = {one.fingerprint for one in list_findings(ledger, run, **filters, unfold=True).page()}
            assert {name for name in every if name not in shown} == {n for n in every if known[n] in every}, filters
            assert all(known[name] in shown for name in every.difference(shown))
            facets = facets_of(listed)
            assert (
                (facets.total, facets.followed)
                == (len(shown), len(every) - len(shown))
                == (listed.count(), facets.marks.total() and len(every) - facets.marks.total())
            ), filters
        counts = diff_of(ledger, after=run).counts
        for state, count in counts.items():
            assert count == list_findings(ledger, run, states=[state.value]).count(), state
        beside, every_finding = comparison_summary(ledger, run), list(ledger.findings(run))
        followed = sum(len(beside.following(finding)) for finding in every_finding)
        told = [finding for finding in every_finding if not beside.follows(finding)]
        assert len(told) + followed == len(known)


@pytest.mark.parametrize(
    ("state", "is_kept"),
    [
        ("fixed", True),
        ("fixed", False),
        ("gone", False),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in (("gone", True), ("unchecked", True), ("unchecked", False))
        ),
    ],
)
def test_what_is_no_longer_found_stands_under_its_cause(state: str, is_kept: bool, tmp_path: Path) -> None:
    cause, one, other = obsolete("A 1"), edge("A 1", "B 2"), edge("A 1", "B 3")
    alone = edge("A 7", "B 2")
    with Ledger(tmp_path / "l") as ledger:
        every = [cause, one, other, alone]
        before = written(ledger, every)
        former = [
            FormerFinding(
                fingerprint=finding.fingerprint,
                state=ComparisonState(state),
                found_in=before.id,
            )
            for finding in every
        ]
        run = written(ledger, [], "s", former)
        if not is_kept:
            # Compared with a run that it was not compared with when it ended: it is worked out.
            with ledger.database.writing() as connection:
                connection.execute(update(COMPARISON).where(COMPARISON.c.run == run.id).values(before=None, counts={}))

        listed = list_findings(ledger, run, before, states=[state])
        facets = facets_of(listed)

        assert {(c.fingerprint, c.consequences) for c in listed.page()} == {
            (cause.fingerprint, 2),
            (alone.fingerprint, 0),
        }
        assert (listed.count(), facets.total, facets.followed) == (2, 2, 2)
        assert facets.of("states")[state] == diff_of(ledger, before, run).counts[ComparisonState(state)] == 2
        assert list_findings(ledger, run, before, states=[state], unfold=True).count() == 4
        assert list_findings(ledger, run, before, states=[state], types=["triple"]).count() == 3


def test_a_cause_decides_what_follows_from_it(tmp_path: Path) -> None:
    cause, one, other = obsolete("A 1"), edge("A 1", "B 2"), edge("A 1", "B 3")
    with Ledger(tmp_path / "l") as ledger:
        run = written(ledger, [cause, one, other])
        decisions = Decisions(ledger)

        def stands(finding: Finding) -> tuple[str, bool]:
            listed = list_findings(ledger, run, unfold=True).page()
            current = next(x.decided for x in listed if x.fingerprint == finding.fingerprint)
            (there,) = decisions.beside([ledger.finding(finding.fingerprint)]).values()
            told = comparison_summary(ledger, run).decided(ledger.finding(finding.fingerprint))
            assert current == there
            assert told.decision == current.decision
            return current.state.value, current.is_inherited

        decide(ledger, cause.fingerprint, "accept", by="me")
        assert stands(one) == ("accepted", True)
        assert {finding.fingerprint for finding, _ in decisions.accepted(run)} == {
            finding.fingerprint for finding in (cause, one, other)
        }
        decide(ledger, other.fingerprint, "reject", by="you")
        assert (stands(one), stands(other)) == (("accepted", True), ("rejected", False))
        assert [finding.fingerprint for finding, _ in decisions.accepted(run)] == [cause.fingerprint, one.fingerprint]
        decide(ledger, cause.fingerprint, "reject", by="me")
        assert stands(one) == ("rejected", True)
        assert not diff_of(ledger, after=run).fails("refuted")
        assert not diff_of(ledger, after=run).fails("new")
        # What is taken back of one is open, and stands alone where its cause is left out.
        decide(ledger, one.fingerprint, "reopen", by="me")
        assert stands(one) == ("open", False)
        assert diff_of(ledger, after=run).fails("new")
        assert [x.fingerprint for x in list_findings(ledger, run, decisions=["open"]).page()] == [one.fingerprint]
        decide(ledger, cause.fingerprint, "reopen", by="me")
        assert stands(cause) == ("open", False)


def test_thresholds_count_causes(tmp_path: Path) -> None:
    many = [obsolete("A 1"), *(edge("A 1", f"B {n}") for n in range(9))]
    with Ledger(tmp_path / "l") as ledger:
        run = written(ledger, many)

        def counted(**threshold: Any) -> int:
            new = new_findings(ledger, run, 3)
            asked = [Threshold(error_if="> 0", **threshold)]
            (crossed,) = judge(asked, counted_of(ledger.tallies(run)), new.counted, settled(ledger, run))
            return crossed.count

        assert [counted(), counted(only_new=True), counted(type="triple"), new_findings(ledger, run, 3).total] == [
            1,
            1,
            9,
            1,
        ]
        decide(ledger, many[0].fingerprint, "reject", by="me")
        assert [counted(), counted(only_new=True), counted(type="triple")] == [0, 0, 0]


def test_the_page_of_reasons_names_all_that_follow() -> None:
    (part,) = re.findall(r"^## Root causes\n(.*)", (ROOT / "docs" / "reasons.md").read_text(), re.M | re.S)
    rows = [set(re.findall(r"`(\w+)`", cells)) for cells in re.findall(r"^\| (`.*?) \| .* \|$", part, re.M)]
    assert rows == [reasons_following(kind) for kind in CauseKind]


@pytest.mark.parametrize(
    ("change", "kept"),
    [
        (Change(kind=ChangeKind.REPOINT, to="B"), ["merge"]),
        (Change(kind=ChangeKind.RETIRE), ["retire"]),
        (None, ["retire", "set_value"]),
    ],
    ids=["merge", "retire", "nothing"],
)
def test_a_patch_does_once_what_repairs_a_cause(tmp_path: Path, change: Change | None, kept: list[str]) -> None:
    cause = obsolete("Protein A").model_copy(update={"change": change})
    task = CheckTask(
        type=CheckType.TRIPLE,
        subject=Ref(label="Protein", id="A"),
        relation="ACTS_ON",
        object=Ref(label="Protein", id="C"),
    )
    of_edge = edge("Protein A", "Protein C").model_copy(
        update={"task": task, "fingerprint": task.fingerprint, "change": Change(kind=ChangeKind.RETIRE)}
    )
    name = found(CheckType.ATTRIBUTE, Reason.VALUE_MISMATCH, "Protein A", attribute="name", value="name of A")
    name = name.model_copy(update={"change": Change(kind=ChangeKind.SET_VALUE, to="another")})
    both = [one.model_copy(update={"cause": cause.fingerprint}) for one in (of_edge, name)]
    path = shutil.copyfile(graph_file(), tmp_path / "graph.lbdb")
    with EmbeddedStore(path, load_schema()) as store:
        made = make_patch([Wanted(one) for one in (cause, *both)], "r", store, tmp_path / "patch", by="me")
    assert made.patch
    assert [operation.kind for operation in made.patch.operations] == kept
    with_it = {item.finding.fingerprint for item in made.left_out if "comes with another operation" in item.why}
    assert with_it == ({one.fingerprint for one in both} if change else set())


def test_reports_tell_consequences_with_their_cause(tmp_path: Path) -> None:
    many = [obsolete("A 1"), *(edge("A 1", f"B {n}") for n in range(3)), obsolete("A 7")]
    with Ledger(tmp_path / "l") as ledger:
        run = written(ledger, many)
        beside = comparison_summary(ledger, run)
        texts = {
            name: render(ledger, run, name, compared=beside)
            for name in ("junit", "sarif", "csv", "html", "markdown", "table")
        }
    assert 'failures="2"' in texts["junit"].splitlines()[0] + texts["junit"].split("<testsuite ")[0]
    assert texts["sarif"].count('"ruleId"') == 2
    assert texts["sarif"].count("follows from it") == 3
    assert texts["csv"].count(many[0].fingerprint) == 4
    assert texts["html"].count('<details class="finding ') == 2
    assert "3 more follow from it" in texts["html"]
    assert "3 more follow from it" in texts["markdown"]
    assert "[+3 follow]" in texts["table"]
    assert all(finding.fingerprint in texts[name] for finding in many for name in ("junit", "csv", "html"))
