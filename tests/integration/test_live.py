"""Checks with live sources: verdicts, calls, faults, going on when a source is back, live answers over a snapshot."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgcheck import clock
from kgcheck.errors import UsageError
from kgcheck.ledger.ledger import Ledger
from kgcheck.model import CheckTask, CheckType, Outcome, Reason, Verdict
from kgcheck.report.render import render
from tests.support import loopback
from tests.support.audits import MemoryStore, comparable, demo, kgcheck
from tests.support.facts import Facts, attribute, existence, potential, triple
from tests.support.loopback import Fault
from tests.support.services import entry
from tests.support.world import World, running

SUPPORTED, REFUTED = Outcome.SUPPORTED, Outcome.REFUTED
INSUFFICIENT, UNAVAILABLE = Outcome.INSUFFICIENT, Outcome.UNAVAILABLE


@pytest.fixture
def world(shared_data: Path, tmp_path: Path) -> Iterator[World]:
    with running(shared_data, tmp_path) as made:
        yield made


def _acts_on(a: str, b: str) -> CheckTask:
    return triple(f"Protein {a}", "ACTS_ON", f"Protein {b}")


CASES: list[tuple[CheckTask, Outcome, Reason]] = [
    (existence("Protein P15056"), SUPPORTED, Reason.CONFIRMED),
    (existence("Protein P15056-2"), SUPPORTED, Reason.CONFIRMED),
    (existence("Protein B4DFC2"), REFUTED, Reason.ID_MERGED),
    (existence("Protein P00001"), REFUTED, Reason.ID_DEMERGED),
    (existence("Protein I8FBX0"), REFUTED, Reason.ID_DELETED),
    (existence("Protein A0A999ZZZ9"), REFUTED, Reason.UNKNOWN_ID),
    (existence("Protein TP53"), REFUTED, Reason.MALFORMED_ID),
    (existence("Amino_acid_sequence P10001"), SUPPORTED, Reason.CONFIRMED),
    (existence("Modified_protein P10001_S2-p"), SUPPORTED, Reason.CONFIRMED),
    (existence("Modified_protein P10001_T2-p"), REFUTED, Reason.RESIDUE_MISMATCH),
    (existence("Modified_protein P10001_S9-p"), REFUTED, Reason.POSITION_OUT_OF_RANGE),
    (existence("Gene TP53"), UNAVAILABLE, Reason.REFERENCE_MISSING),
    (attribute("Protein P15056", "accession", "BRAF_HUMAN"), SUPPORTED, Reason.CONFIRMED),
    (attribute("Protein P15056", "name", "RAFB1"), REFUTED, Reason.VALUE_OUTDATED),
    (attribute("Protein P15056", "taxid", "10090"), REFUTED, Reason.VALUE_MISMATCH),
    (attribute("Protein P10001", "description", "protein  ONE"), SUPPORTED, Reason.FORMATTING),
    (attribute("Amino_acid_sequence P10001", "sequence", "MSTAYK"), SUPPORTED, Reason.CONFIRMED),
    # The recorded entry was reduced: it has a length and no residues.
    (attribute("Amino_acid_sequence P15056", "size", "766"), SUPPORTED, Reason.CONFIRMED),
    (attribute("Amino_acid_sequence P15056", "sequence", "M"), UNAVAILABLE, Reason.REFERENCE_MISSING),
    (triple("Protein P15056", "HAS_STRUCTURE", "Protein_structure 1UWH"), SUPPORTED, Reason.CONFIRMED),
    (triple("Protein P15056", "HAS_STRUCTURE", "Protein_structure 1TUP"), REFUTED, Reason.EDGE_UNSUPPORTED),
    (potential("Protein P10001", "HAS_STRUCTURE", "Protein_structure 1TUP"), SUPPORTED, Reason.EDGE_MISSING),
    (triple("Protein B4DFC2", "HAS_STRUCTURE", "Protein_structure 1TUP"), REFUTED, Reason.ENDPOINT_MERGED),
    (triple("Protein I8FBX0", "HAS_STRUCTURE", "Protein_structure 1TUP"), REFUTED, Reason.ENDPOINT_DELETED),
    (triple("Protein A0A999ZZZ9", "HAS_STRUCTURE", "Protein_structure 1TUP"), UNAVAILABLE, Reason.NOT_COVERED),
    (triple("Protein P10001", "ASSOCIATED_WITH", "Biological_process GO:0000011"), SUPPORTED, Reason.CONFIRMED),
    (triple("Protein P10001", "ASSOCIATED_WITH", "Biological_process GO:0000012"), INSUFFICIENT, Reason.NOTHING_FOUND),
    (triple("Protein P10001", "ANNOTATED_IN_PATHWAY", "Pathway R-HSA-1"), SUPPORTED, Reason.CONFIRMED),
    (triple("Protein P10001", "HAS_MODIFIED_SITE", "Modified_protein P10001_S2-p"), SUPPORTED, Reason.CONFIRMED),
    (triple("Modified_protein P10001_S2-p", "HAS_MODIFICATION", "Modification MOD:00046"), SUPPORTED, Reason.CONFIRMED),
    (triple("Gene GEN1", "TRANSLATED_INTO", "Protein P10001"), SUPPORTED, Reason.CONFIRMED),
    (triple("Gene GEN2", "TRANSLATED_INTO", "Protein P10001"), REFUTED, Reason.EDGE_UNSUPPORTED),
    (triple("Protein P10002", "CURATED_INTERACTS_WITH", "Protein P10001"), SUPPORTED, Reason.CONFIRMED),
    (triple("Protein P10002", "CURATED_INTERACTS_WITH", "Protein P10003"), SUPPORTED, Reason.CONFIRMED),
    (triple("Protein P10001", "CURATED_INTERACTS_WITH", "Protein P10003"), INSUFFICIENT, Reason.NOTHING_FOUND),
    (_acts_on("P10001", "P10002"), SUPPORTED, Reason.CONFIRMED),
    (_acts_on("P10002", "P10001"), SUPPORTED, Reason.CONFIRMED),
    (_acts_on("P10001", "P10003"), REFUTED, Reason.BELOW_THRESHOLD),
    (_acts_on("P10002", "P10003"), REFUTED, Reason.EDGE_UNSUPPORTED),
    (_acts_on("P10001", "P10004"), INSUFFICIENT, Reason.UNMAPPED_IDENTIFIER),
    (_acts_on("P10004", "P15056"), INSUFFICIENT, Reason.UNMAPPED_IDENTIFIER),
    (_acts_on("P10001", "P10001"), REFUTED, Reason.EDGE_UNSUPPORTED),
    # STRING files both under one protein, and states no link of a protein with itself.
    (_acts_on("P10001", "P10005"), UNAVAILABLE, Reason.REFERENCE_MISSING),
    (_acts_on("P10001", "B4DFC2"), REFUTED, Reason.ENDPOINT_MERGED),
    (potential("Protein P10001", "ACTS_ON", "Protein P10002"), SUPPORTED, Reason.EDGE_MISSING),
    (potential("Protein P10002", "ACTS_ON", "Protein P10003"), REFUTED, Reason.NOT_FOUND_ELSEWHERE),
]


@pytest.fixture(scope="module")
def judged_live(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Verdict]:
    """The verdicts on all cases, from one source."""
    with running(shared_data, tmp_path_factory.mktemp("live")) as world:
        return world.verdicts([task for task, *_ in CASES])


@pytest.mark.parametrize("number", range(len(CASES)), ids=[f"{c[0].type} {c[0]}" for c in CASES])
def test_verdicts_with_live_sources(number: int, judged_live: list[Verdict]) -> None:
    _, outcome, reason = CASES[number]
    judged = judged_live[number]

    assert (judged.outcome, judged.reason) == (outcome, reason)
    for one in judged.evidence:
        if one.source != "profile":
            assert one.url.startswith("http://127.0.0.1:")
            assert one.release in ("2026_03", "12.0")
            assert one.record
            assert abs(one.retrieved_at - clock.exact_now()) < timedelta(minutes=2)


ASKED = [
    existence("Protein A0A999ZZZ9"),
    triple("Protein P10001", "HAS_STRUCTURE", "Protein_structure 9XYZ"),
    _acts_on("P10002", "P10003"),
]


SOME_FAULTS: list[Fault] = [
    loopback.busy(),
    loopback.answers(500, b"x"),
    loopback.page(),
    loopback.page(404),
    loopback.truncated,
    loopback.cut_off,
    loopback.reset,
    loopback.error_in_200(),
    loopback.answers(303, {"x": 1}, Location="http://127.0.0.2/"),
    loopback.answers(200, b""),
    loopback.answers(200, {"results": [None]}),
]
FAULTY_CALLS = st.lists(st.none() | st.sampled_from(SOME_FAULTS), max_size=4)


@pytest.mark.slow
def test_whatever_goes_wrong_nothing_is_refuted_that_is_not(shared_data: Path, tmp_path: Path) -> None:
    asked = [*ASKED, existence("Protein P10001"), triple("Protein P10001", "HAS_STRUCTURE", "Protein_structure 1TUP")]
    with running(shared_data, tmp_path) as world:
        undisturbed = [v.outcome for v in world.verdicts(asked, cache_dir=tmp_path / "good")]
        assert undisturbed == [REFUTED, REFUTED, REFUTED, SUPPORTED, SUPPORTED]

        @settings(max_examples=8)
        @given(FAULTY_CALLS, FAULTY_CALLS)
        def check(of_uniprot: list[Fault | None], of_string: list[Fault | None]) -> None:
            world.uniprot.server.faults[:] = [fault or loopback.send for fault in of_uniprot]
            world.string.server.faults[:] = [fault or loopback.send for fault in of_string]
            folder = tmp_path / uuid4().hex
            judged = [v.outcome for v in world.verdicts(asked, cache_dir=folder, http_attempts=2)]
            again = [v.outcome for v in world.verdicts(asked, cache_dir=folder, http_attempts=9)]

            assert all(said in (right, UNAVAILABLE) for said, right in zip(judged, undisturbed, strict=True))
            assert again == undisturbed

        check()


def _graph(count: int, **edges: list[dict[str, Any]]) -> MemoryStore:
    return MemoryStore(
        {"Protein": [{"id": f"P{n:05}", "name": f"G{n}", "taxid": "9606"} for n in range(10001, 10001 + count)]},
        {name.replace("__", " "): rows for name, rows in edges.items()},
    )


@pytest.mark.slow
def test_a_thousand_checks_take_three_calls_and_a_second_audit_none(world: World, tmp_path: Path) -> None:
    world.uniprot.add(*(entry(f"P{n:05}") for n in range(10006, 11001)))
    store = _graph(1000)
    first = world.audit(store, tmp_path / "a.sqlite", types=(CheckType.EXISTENCE, CheckType.ATTRIBUTE))

    assert first.run.finished
    assert sum(t.count for t in first.tallies if t.type is CheckType.EXISTENCE and t.outcome is SUPPORTED) == 1000
    assert world.uniprot.batch_calls == world.calls <= 3
    before = world.calls
    again = world.audit(store, tmp_path / "b.sqlite", types=(CheckType.EXISTENCE, CheckType.ATTRIBUTE))
    assert comparable(again) == comparable(first)
    assert world.calls == before


def test_a_refusal_is_an_end_and_a_run_with_one_is_finished(world: World, tmp_path: Path) -> None:
    world.uniprot.add(*(entry(a, organism={"taxonId": 1}) for a in ("Q10001", "Q10002")))
    rows = [{"head": "Q10001", "tail": "Q10002"}, {"head": "P10001", "tail": "P10002"}]
    store = MemoryStore({}, {"Protein ACTS_ON Protein": rows})
    done = world.audit(store, tmp_path / "a.sqlite", types=(CheckType.TRIPLE,))

    assert done.run.finished
    assert {(t.outcome, t.reason) for t in done.tallies} == {
        (UNAVAILABLE, Reason.SOURCE_REFUSED),
        (SUPPORTED, Reason.CONFIRMED),
    }


@pytest.mark.slow
def test_a_release_that_moves_or_is_not_named_is_a_warning(world: World, tmp_path: Path) -> None:
    store = MemoryStore(
        {"Protein": [{"id": "P10001"}, {"id": "B4DFC2"}, {"id": "A0A999ZZZ9"}]},
        {"Protein ACTS_ON Protein": [{"head": "P10001", "tail": "P10002"}]},
    )

    def later(handler: Any, reply: loopback.Reply) -> None:
        world.uniprot.release = "2026_04"
        loopback.send(handler, reply)

    def nameless(handler: Any, reply: loopback.Reply) -> None:
        named = {k: v for k, v in reply.headers.items() if k != "X-UniProt-Release"}
        loopback.send(handler, reply._replace(headers=named))

    world.uniprot.server.faults += [later, loopback.send, nameless]
    done = world.audit(store, tmp_path / "a.sqlite", types=(CheckType.EXISTENCE, CheckType.TRIPLE))

    assert done.run.live["UniProt"] == ("2026_03", "2026_04", "")
    assert [w for w in done.run.warnings if w.startswith("UniProt")] == [
        "UniProt gave answers that name no release: what they say cannot be looked up again",
        "UniProt moved while the run was under way, 2026_03 to 2026_04: evidence names its own",
    ]
    with Ledger(tmp_path / "a.sqlite") as kept:
        for form in ("json", "html", "markdown"):
            assert "name no release" in render(kept, kept.runs()[0], form)


@pytest.mark.slow
def test_a_run_goes_on_when_the_source_is_back(world: World, tmp_path: Path) -> None:
    store = MemoryStore(
        {"Protein": [{"id": i, "name": "GEN1"} for i in ("P10001", "B4DFC2", "I8FBX0", "A0A999ZZZ9", "P10002")]},
        {"Protein ACTS_ON Protein": [{"head": "P10001", "tail": "P10002"}, {"head": "P10002", "tail": "P10003"}]},
    )
    types = (CheckType.EXISTENCE, CheckType.ATTRIBUTE, CheckType.TRIPLE)
    world.uniprot.server.always = loopback.reset
    world.string.server.always = loopback.busy()
    down = world.audit(store, tmp_path / "a.sqlite", types=types)
    still = world.audit(store, tmp_path / "a.sqlite", resume=True)
    world.uniprot.server.always = world.string.server.always = None
    back = world.audit(store, tmp_path / "a.sqlite", resume=True)
    undisturbed = world.audit(store, tmp_path / "b.sqlite", types=types)

    assert down.run.finished is still.run.finished is None
    assert {t.outcome for t in down.tallies} == {UNAVAILABLE}
    assert down.findings == still.findings == []
    assert back.run.id == down.run.id
    assert back.run.finished
    assert comparable(back) == comparable(undisturbed)
    assert {f.verdict.reason for f in back.findings} >= {
        Reason.ID_MERGED,
        Reason.ID_DELETED,
        Reason.UNKNOWN_ID,
        Reason.EDGE_UNSUPPORTED,
    }


def test_too_many_checks_are_refused_before_anything_is_asked(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kgcheck.audit.worker.LIVE_TASKS", 3)
    with pytest.raises(UsageError, match="4 checks are too many"):
        world.audit(_graph(4), tmp_path / "a.sqlite", types=(CheckType.EXISTENCE,))

    assert world.calls == 0
    assert len(world.audit(_graph(4), tmp_path / "b.sqlite", types=(CheckType.EXISTENCE,), sample=3).tallies) == 1


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    facts = Facts()
    old = facts.release("uniprot", "2020_01", "2020-01-01", complete=True)
    old.entities("Protein", "P10001", "B4DFC2", "A0A999ZZZ9").value("P10001", "gene_name", "FORMER")
    old.link("HAS_STRUCTURE", "P10001", "9XYZ").covers("HAS_STRUCTURE", "P10001")
    string = facts.release("string", "11.0", "2019-01-01").covers("ACTS_ON", "P10001", "P10002", "P10003")
    string.link("ACTS_ON", "P10001", "P10003", 0.9)
    go = facts.release("go", complete=True).entities("Biological_process", "GO:0000011", "GO:0000010", "GO:0000012")
    go.link("HAS_PARENT", "GO:0000011", "GO:0000010")
    return facts.build(tmp_path_factory.mktemp("snapshot"))


OVER_A_SNAPSHOT = (
    (existence("Protein B4DFC2"), REFUTED, Reason.ID_MERGED),
    (existence("Protein A0A999ZZZ9"), REFUTED, Reason.UNKNOWN_ID),
    (existence("Biological_process GO:0000011"), SUPPORTED, Reason.CONFIRMED),
    (attribute("Protein P10001", "name", "FORMER"), REFUTED, Reason.VALUE_OUTDATED),
    (triple("Protein P10001", "HAS_STRUCTURE", "Protein_structure 9XYZ"), REFUTED, Reason.EDGE_UNSUPPORTED),
    (_acts_on("P10001", "P10003"), REFUTED, Reason.BELOW_THRESHOLD),
    (
        triple("Protein P10001", "ASSOCIATED_WITH", "Biological_process GO:0000010"),
        SUPPORTED,
        Reason.CONFIRMED_BY_DESCENDANT,
    ),
    (
        triple("Protein P10001", "ASSOCIATED_WITH", "Biological_process GO:0000012"),
        REFUTED,
        Reason.EDGE_UNSUPPORTED,
    ),
)


@pytest.mark.slow
def test_live_answers_come_before_the_snapshot(world: World, snapshot: Path) -> None:
    judged = world.verdicts([task for task, *_ in OVER_A_SNAPSHOT], snapshot)

    assert [(v.outcome, v.reason) for v in judged] == [(outcome, reason) for _, outcome, reason in OVER_A_SNAPSHOT]


def test_a_source_that_is_down_leaves_its_snapshot(world: World, snapshot: Path) -> None:
    world.uniprot.server.always = world.string.server.always = loopback.reset
    judged = world.verdicts([existence("Protein P10001"), _acts_on("P10001", "P10003")], snapshot)

    told = [next(e.release for e in v.evidence if e.about == "fact") for v in judged]
    assert [v.outcome for v in judged] == [SUPPORTED, SUPPORTED]
    assert told == ["2020_01", "11.0"]


@pytest.mark.slow
def test_the_command_line_checks_and_audits_live(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world.environment(monkeypatch)
    store, ledger = demo().store, tmp_path / "ledger.sqlite"
    common = ("--store", store, "--ledger", ledger, "--format", "json")

    checked = kgcheck("check", "existence", "Protein", "B4DFC2", "--live", *common, cwd=tmp_path)
    assert (checked.code, '"id_merged"' in checked.out) == (1, True)
    assert world.uniprot.server.url in checked.out
    audit = ("audit", "--live", "--type", "existence", "--label", "Protein", "--id", "I8FBX0", *common)
    assert '"id_deleted"' in kgcheck(*audit, cwd=tmp_path).out
    calls = world.calls
    offline = kgcheck(*audit, "--offline", cwd=tmp_path)
    assert '"id_deleted"' in offline.out
    assert world.calls == calls


@pytest.mark.parametrize("told_by", ["names", "UniProt"])
def test_exchanged_ids_of_string_are_refused_whole_and_not_kept(
    told_by: str, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name that came with an id is the one that its links have; an id is not what UniProt files under another."""
    task = _acts_on("P10001", "P10003")
    exchanged = {"9606.E1": "9606.E3", "9606.E3": "9606.E1"}
    known = dict(world.string.known)
    with monkeypatch.context() as patch:
        world.string.known = {name: exchanged.get(string_id, string_id) for name, string_id in known.items()}
        if told_by == "names":
            patch.setattr(world.string, "_called", lambda string_id: exchanged.get(string_id, string_id))
        else:
            # Each has the name of the other, too.
            filed = [{"database": "STRING", "id": "9606.E3"}]
            world.uniprot.add(entry("P10003", uniProtKBCrossReferences=filed))
        assert world.verdict(task).outcome is UNAVAILABLE
    world.string.known = known

    judged = world.verdict(task)
    assert (judged.outcome, judged.reason) == (REFUTED, Reason.BELOW_THRESHOLD)
