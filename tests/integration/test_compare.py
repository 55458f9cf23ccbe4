"""What became of findings: from pairs of graphs and references, against what the words of the states say."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, reject, settings
from hypothesis import strategies as st

from kgcheck.audit.run import Audit
from kgcheck.checks.verdicts import verdict
from kgcheck.curation.compare import diff_of
from kgcheck.curation.decisions import decide
from kgcheck.errors import UsageError
from kgcheck.evidence.source import SnapshotSource
from kgcheck.ledger.basis import basis_of, is_deciding
from kgcheck.ledger.comparisons import ComparisonState
from kgcheck.ledger.decisions import DecisionState
from kgcheck.ledger.ledger import Ledger
from kgcheck.model import CheckType, Finding, Outcome, Reason, TallyMark
from kgcheck.options import AuditOptions
from tests.integration.test_resume import BrittleLedger, CutOff
from tests.support.audits import MemoryStore, audited, of_run
from tests.support.facts import SCHEMA, SETTINGS, Facts
from tests.support.snapshots import GENES, PROTEINS, TERMS, snapshots

PATTERNS = {
    "Protein ACTS_ON Protein": (PROTEINS, PROTEINS),
    "Protein ASSOCIATED_WITH Biological_process": (PROTEINS, TERMS),
    "Gene TRANSLATED_INTO Protein": (GENES, PROTEINS),
}


def graph(nodes: dict[str, Sequence[str]], edges: dict[str, Sequence[tuple[str, str]]] | None = None) -> MemoryStore:
    return MemoryStore(
        {label: [{"id": i} for i in ids] for label, ids in nodes.items()},
        {
            name: [{"head": h, "tail": t, "source": "x", "score": 0.9} for h, t in e]
            for name, e in (edges or {}).items()
        },
        name="one graph",
    )


def states(ledger: Path, before: str | None = None, after: str | None = None) -> dict[str, str]:
    """The states by what the finding is about."""
    with Ledger(ledger) as opened:
        return {
            str(one.finding.task): str(one.state) for one in diff_of(opened, before, after).findings() if one.finding
        }


class Scene:
    """Two snapshots that disagree about proteins, built once.

    P1 and P5 stay as they are, P2 comes back, P3 is deleted, P4 is deleted and then merged.
    """

    def __init__(self, folder: Path) -> None:
        older, newer = Facts(), Facts()
        release = older.release("uniprot", complete=True).entities("Protein", "P10001", "P10003", "P10005")
        release.entity("P10002", "Protein", "deleted").entity("P10004", "Protein", "deleted")
        release.entity("P10006", "Protein", "deleted").entity("P10007", "Protein", "deleted")
        release = newer.release("uniprot", date="2026-06-01", complete=True)
        release.entities("Protein", "P10001", "P10002", "P10005").entity("P10003", "Protein", "deleted")
        release.entity("P10004", "Protein", "merged", now=["P10001"]).entity("P10006", "Protein", "deleted")
        release.entity("P10007", "Protein", "deleted")
        self.older, self.newer = older.build(folder / "older"), newer.build(folder / "newer")


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    return Scene(tmp_path_factory.mktemp("scene"))


def test_every_state_and_nothing_that_nobody_looked_at_is_fixed(scene: Scene, tmp_path: Path) -> None:
    ledger, ids = tmp_path / "ledger.sqlite", [f"P1000{n}" for n in range(1, 8)]
    kinds = {"types": (CheckType.EXISTENCE,)}
    first = audited(graph({"Protein": ids}), ledger, scene.older, **kinds)
    assert states(ledger) == {f"Protein P1000{n}": "new" for n in (2, 4, 6, 7)}

    less = graph({"Protein": [i for i in ids if i != "P10007"]})
    second = audited(less, ledger, scene.newer, **kinds)
    expected = {
        "Protein P10002": "fixed",
        "Protein P10003": "new",
        "Protein P10004": "changed",
        "Protein P10006": "still",
        "Protein P10007": "gone",
    }
    assert states(ledger) == expected
    with Ledger(ledger) as opened:
        diff = diff_of(opened)
        assert diff.before == first.run
        assert diff.counts == Counter({s: n for s, n in Counter(map(ComparisonState, expected.values())).items()})
        by_id = {f.task.subject.id: f.fingerprint for f in (*first.findings, *second.findings)}
        assert {i: diff.state_of(f) for i, f in by_id.items()} == {
            i: ComparisonState(expected[f"Protein {i}"]) for i in by_id
        }
        assert diff.state_of("f" * 16) is None

    # Nobody could look: all stay as they were, and are so again when somebody can.
    audited(less, ledger, None, **kinds)
    left = {f"Protein P1000{n}": "unchecked" for n in (3, 4, 6)}
    assert states(ledger) == left
    audited(less, ledger, None, **kinds)
    assert states(ledger) == left
    audited(less, ledger, scene.newer, **kinds)
    assert states(ledger) == {f"Protein P1000{n}": "still" for n in (3, 4, 6)}
    # Across all of these runs: what the runs between could tell.
    assert states(ledger, first.run.id) == expected
    assert states(ledger, first.run.id, second.run.id) == expected


@pytest.mark.slow
def test_a_source_that_is_away_changes_no_finding_and_no_decision(tmp_path: Path) -> None:
    ledger, name = tmp_path / "ledger.sqlite", "Protein ASSOCIATED_WITH Disease"
    facts, less = Facts(), Facts()
    for some in (facts, less):
        release = some.release("uniprot").entities("Protein", "P10001").covers("ASSOCIATED_WITH", "P10001")
        some.release("do").entities("Disease", "DOID:1")
        assert release
    diseases = facts.release("diseases").covers("ASSOCIATED_WITH", "P10001")
    diseases.link("ASSOCIATED_WITH", "P10001", "DOID:1", negated=True)
    whole, part = facts.build(tmp_path / "whole"), less.build(tmp_path / "part")
    store = graph({"Protein": ["P10001"], "Disease": ["DOID:1"]}, {name: [("P10001", "DOID:1")]})
    kinds = {"types": (CheckType.TRIPLE,)}
    (found,) = audited(store, ledger, whole, **kinds).findings
    assert (found.verdict.outcome, found.verdict.reason) == (Outcome.REFUTED, Reason.EDGE_NEGATED)
    with Ledger(ledger) as opened:
        decide(opened, [found], "reject", by="anna")

    (weaker,) = audited(store, ledger, part, **kinds).findings
    assert weaker.verdict.outcome is Outcome.INSUFFICIENT
    with Ledger(ledger) as opened:
        diff = diff_of(opened)
        (one,) = diff.findings()
        assert (one.state, one.why) == (ComparisonState.UNCHECKED, "could not look at diseases")
        assert one.decided.state is DecisionState.REJECTED
        assert not diff.fails("insufficient")
        # What is decided now is about what it is when the source is there.
        decide(opened, [weaker], "accept", by="ben")
    audited(store, ledger, whole, **kinds)
    with Ledger(ledger) as opened:
        (one,) = diff_of(opened).findings()
    assert one.decided.decision
    assert (one.state, one.decided.state, one.decided.decision.by) == (
        ComparisonState.STILL, DecisionState.ACCEPTED, "ben",
    )  # fmt: skip


@pytest.mark.slow
def test_a_finding_that_stood_for_many_is_not_fixed_while_some_of_them_are_left(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.sqlite"
    genes = [f"AA{n}" for n in range(1, 31)]

    def look(*ids: str) -> Counter[tuple[str, str]]:
        run = audited(graph({"Gene": list(ids)}), ledger, types=(CheckType.STRUCTURE,)).run
        with Ledger(ledger) as opened:
            found = [one for one in diff_of(opened, after=run).findings() if one.finding]
        rows = [(one.finding.task.subject.id == "(all)", one) for one in found if one.finding]
        orphans = [(fold, one) for fold, one in rows if one.finding and one.finding.task.rule == "orphan_node"]
        return Counter(("fold" if fold else "one", str(one.state)) for fold, one in orphans)

    assert look(*genes) == {("fold", "new"): 1}
    assert look(*genes[:12]) == {("one", "changed"): 12, ("fold", "fixed"): 1}
    assert look(*genes[:10]) == {("one", "still"): 10, ("one", "gone"): 2}
    assert look(*genes[:28]) == {("fold", "changed"): 1, ("one", "changed"): 10}
    assert look(*genes[:28]) == {("fold", "still"): 1}


# Against what the words say, in graphs and references that nobody chose

Rows = dict[str, list[tuple[str, str]]]


@st.composite
def worlds(draw: st.DrawFn) -> tuple[dict[str, list[str]], Rows, Facts]:
    nodes = {
        "Protein": draw(st.lists(st.sampled_from(PROTEINS), min_size=1, unique=True)),
        "Biological_process": draw(st.lists(st.sampled_from(TERMS), unique=True)),
        "Gene": draw(st.lists(st.sampled_from(GENES), unique=True)),
    }
    edges: Rows = {}
    for name, (heads, tails) in PATTERNS.items():
        head, _, tail = name.split(" ")
        pairs = [(h, t) for h in heads for t in tails if h in nodes[head] and t in nodes[tail]]
        edges[name] = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=4)) if pairs else []
    facts = draw(snapshots())
    facts.release("diseases").covers("ASSOCIATED_WITH", PROTEINS[0])
    return nodes, {name: some for name, some in edges.items() if some}, facts


@st.composite
def two_worlds(draw: st.DrawFn) -> list[tuple[dict[str, list[str]], Rows, Facts | None]]:
    """A graph with its references, and both a little later; one of them may stay as it was, and references may go."""
    nodes, edges, facts = draw(worlds())
    later = draw(worlds())
    kept = draw(st.sampled_from(["graph", "references", "neither", "no references"]))
    after_facts = {"references": facts, "no references": None}.get(kept, later[2])
    after = (nodes, edges) if kept in ("graph", "no references") else later[:2]
    return [(nodes, edges, facts), (*after, copy.deepcopy(after_facts))]


def expected_state(
    one: Finding,
    now_: dict[str, Finding],
    looked: dict[str, Outcome],
    nodes: dict[str, list[str]],
    edges: Rows,
    ask: Any,
) -> str:
    """What the words say became of a finding: still there or not, looked at again or not, and how that ended."""
    task = one.task
    if again := now_.get(one.fingerprint):
        if basis_of(again) == basis_of(one):
            return "still"
        away = {gap.source for gap in again.verdict.missing} & {
            e.source for e in one.verdict.evidence if is_deciding(e)
        }
        worse = again.mark.severity < one.mark.severity
        return "unchecked" if away and not worse else "changed"
    ends = [task.subject, *([task.object] if task.object else [])]
    if any(end.id not in nodes.get(end.label, []) for end in ends if end.id != "(all)"):
        return "gone"
    if task.relation and task.object and task.subject.id != "(all)":
        pair = (task.subject.id, task.object.id)
        stated = edges.get(f"{task.subject.label} {task.relation} {task.object.label}", [])
        if task.type is CheckType.POTENTIAL:
            if pair in stated or (task.relation == "ACTS_ON" and pair[::-1] in stated):
                return "fixed"
        elif pair not in stated:
            return "gone"
    if task.type is CheckType.STRUCTURE:
        return "fixed"
    outcome = looked.get(one.fingerprint)
    if outcome is None and task.type is CheckType.POTENTIAL:
        # No source states it, so that no run has it as a task: it is looked up by itself.
        alone = verdict(task.type, *ask(task))
        silent = alone.outcome is Outcome.INSUFFICIENT and alone.reason is Reason.NOTHING_FOUND
        return "fixed" if silent or alone.outcome is Outcome.REFUTED else "unchecked"
    is_right = outcome and TallyMark.of(task.type, outcome) in (TallyMark.SUPPORTED, TallyMark.RIGHTLY_ABSENT)
    return "fixed" if is_right else "unchecked"


def assert_states_are_what_the_words_say(folder: Path, pair: Any, options: dict[str, Any]) -> Counter[str]:
    snapshots_ = [facts.build(folder / str(n)) if facts else None for n, (_, _, facts) in enumerate(pair)]
    stores = [graph(nodes, edges) for nodes, edges, _ in pair]
    before, after = (
        audited(store, folder / "ledger.sqlite", snapshot, **options)
        for store, snapshot in zip(stores, snapshots_, strict=True)
    )
    everything = audited(stores[1], folder / "all.sqlite", snapshots_[1], **options, keep_all=True)
    looked = {f.fingerprint: f.verdict.outcome for f in everything.findings}
    now_ = {f.fingerprint: f for f in after.findings}
    nodes, edges, _ = pair[1]
    with SnapshotSource(snapshots_[1], SCHEMA, SETTINGS) as source:
        expected = {
            f.fingerprint: expected_state(f, now_, looked, nodes, edges, source.observe) for f in before.findings
        }
    expected |= {f: "new" for f in now_ if f not in expected}
    with Ledger(folder / "ledger.sqlite") as ledger:
        diff = diff_of(ledger)
        assert (diff.before, diff.after) == (before.run, after.run)
        found = {one.fingerprint: str(one.state) for one in diff.findings()}
        counts = {state.value: n for state, n in diff.counts.items() if n}
        one_by_one = {f: state.value for f, state in diff.states(expected).items()}
    # An edge that is gone and one that is missing have the same words.
    about = {f.fingerprint: f"{f.task.type.value} {f.task}" for f in (*before.findings, *after.findings)}
    assert {about[f]: state for f, state in found.items()} == {about[f]: state for f, state in expected.items()}
    # A consequence is counted with its cause, where both are in the same state.
    lost = [f for f in before.findings if f.fingerprint not in now_ and f.cause not in now_]
    causes = {f.fingerprint: f.cause for f in (*now_.values(), *lost) if f.cause}
    counted = {f: state for f, state in expected.items() if f not in causes or expected[causes[f]] != state}
    assert counts == Counter(counted.values())
    assert one_by_one == expected
    return Counter(expected.values())


@pytest.mark.slow
@settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck))
@given(two_worlds())
def test_states_are_what_the_words_say_in_many_worlds(tmp_path_factory: pytest.TempPathFactory, pair: Any) -> None:
    assert_states_are_what_the_words_say(tmp_path_factory.mktemp("generated"), pair, {})


TYPES = st.lists(st.sampled_from(list(CheckType)), min_size=1, unique=True).map(tuple)
PARTS = st.one_of(
    st.builds(lambda n, seed: {"sample": n, "seed": seed}, st.integers(1, 6), st.integers(0, 3)),
    st.builds(lambda types, n: {"types": types, "sample": n}, TYPES, st.integers(1, 4)),
    st.just({"labels": ("Protein",)}),
    TYPES.map(lambda types: {"types": types}),
    st.builds(lambda ids: {"ids": tuple(ids)}, st.lists(st.sampled_from(PROTEINS), min_size=1, max_size=2)),
)


def of_a_part(folder: Path, pair: Any, part: dict[str, Any], *, cut: int | None) -> Counter[str]:
    """The states after two runs of a part, the later one cut off and resumed where wanted, as the words say."""
    if "ids" in part:
        # One that a graph does not have would be refused.
        common = [i for i in part["ids"] if all(i in nodes["Protein"] for nodes, _, _ in pair)]
        part = {"ids": tuple(common)} if common else {"labels": ("Protein",)}
    snapshots = [facts.build(folder / str(n)) if facts else None for n, (_, _, facts) in enumerate(pair)]
    stores = [graph(nodes, edges) for nodes, edges, _ in pair]
    ledger, whole_ledger = folder / "ledger.sqlite", folder / "whole.sqlite"
    whole = audited(stores[0], whole_ledger, snapshots[0])
    before = audited(stores[0], ledger, snapshots[0], **part)
    if cut is None:
        after = audited(stores[1], ledger, snapshots[1], **part)
    else:
        with BrittleLedger(ledger, cut) as brittle, suppress(CutOff):
            Audit(stores[1], snapshots[1], brittle, SETTINGS).start(AuditOptions(**part, piece_tasks=1))
        with Ledger(ledger) as opened:
            if not opened.run("latest").finished:
                # Nobody compared yet, so that nothing is known of what was not found.
                assert not {ComparisonState.FIXED, ComparisonState.GONE} & set(+diff_of(opened, before.run).counts)
                Audit(stores[1], snapshots[1], opened, SETTINGS).resume(opened.cut_off())
            after = of_run(opened, opened.run("latest"))
    looked = {
        of: {f.fingerprint: f.verdict.outcome for f in found}
        for of, found in (
            ("part", audited(stores[1], folder / "part.sqlite", snapshots[1], **part, keep_all=True).findings),
            ("whole", audited(stores[1], folder / "all.sqlite", snapshots[1], keep_all=True).findings),
        )
    }
    left_out = looked["whole"].keys() - looked["part"].keys()
    now_ = {f.fingerprint: f for f in after.findings}
    nodes, edges, _ = pair[1]

    def expected(one: Any) -> str:
        state = expected_state(one, now_, looked["part"], nodes, edges, source.observe)
        return "unchecked" if state == "fixed" and one.fingerprint in left_out else state

    with SnapshotSource(snapshots[1], SCHEMA, SETTINGS) as source:
        wanted = {f.fingerprint: expected(f) for f in before.findings}
    wanted |= {f: "new" for f in now_ if f not in wanted}
    with Ledger(ledger) as opened:
        diff = diff_of(opened)
        assert (diff.before, diff.after) == (before.run, after.run)
        found = {one.fingerprint: str(one.state) for one in diff.findings()}
    about = {f.fingerprint: f"{f.task.type.value} {f.task}" for f in (*before.findings, *after.findings)}
    assert {about[f]: state for f, state in found.items()} == {about[f]: state for f, state in wanted.items()}

    # Beside a run that looked at everything, a part tells of what it found, and of nothing else.
    last = audited(stores[1], whole_ledger, snapshots[1], **part)
    with Ledger(whole_ledger) as opened:
        if diff_of(opened).before:
            # The part is the whole: the same question once more.
            return Counter(wanted.values())
        beside = {one.fingerprint: str(one.state) for one in diff_of(opened, whole.run, last.run).findings()}
    again = {f.fingerprint: f for f in last.findings}
    old = {f.fingerprint: basis_of(f) for f in whole.findings}
    assert beside == {f: "unchecked" for f in old if f not in again} | {
        f: "new" if f not in old else "still" if basis_of(one) == old[f] else "changed" for f, one in again.items()
    }
    return Counter(wanted.values())


@pytest.mark.slow
@settings(max_examples=2, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
@given(two_worlds(), PARTS, st.none() | st.integers(0, 2))
def test_a_part_tells_nothing_of_what_it_left_out_in_many_worlds(
    tmp_path_factory: pytest.TempPathFactory, pair: Any, part: dict[str, Any], cut: int | None
) -> None:
    try:
        of_a_part(tmp_path_factory.mktemp("parts"), pair, part, cut=cut)
    except UsageError as error:
        if not error.message.startswith("nothing to check"):
            raise
        reject()
