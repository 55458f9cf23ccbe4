"""Decisions about findings: which one counts, what comes back, and files of them that are exchanged."""

from __future__ import annotations

import io
import json
import tempfile
import threading
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.console import Console

from kgcheck import clock
from kgcheck.cli import show
from kgcheck.curation.compare import RunDiff, diff_of
from kgcheck.curation.decisions import Choice, Decisions, decide
from kgcheck.curation.findings import FindingFilter, FindingList, FindingPage, wanted
from kgcheck.errors import UnknownName, UsageError
from kgcheck.ledger.basis import basis_of
from kgcheck.ledger.decisions import Action, Decision, DecisionState, DecisionTable
from kgcheck.ledger.ledger import Ledger, Run
from kgcheck.model import (
    Change,
    ChangeKind,
    CheckTask,
    CheckType,
    Evidence,
    Finding,
    Outcome,
    Reason,
    Ref,
    Stance,
    Tier,
    Verdict,
    World,
)
from tests.support import examples
from tests.support.audits import kgcheck

TODAY = clock.today()
"""Of when the tests were collected. They may end on the next day: nothing is compared with a single day ahead."""
HOSTILE = (
    "</script><img src=x onerror=alert(1)> =HYPERLINK(1) \x1b[31m \u202eesrever [[decision]] \"' ''' \\ | `x`\n<<<"
)


def run(name: str = "20260101-000000-aaaa", store: str = "graph.lbdb") -> Run:
    return Run(
        id=name, started=clock.now(), finished=clock.now(), store=store, profile="ckg", nodes={"Protein": 9, "Gene": 1}
    )


def finding(
    of: Run,
    identifier: str = "P10001",
    *,
    reason: Reason = Reason.ID_MERGED,
    outcome: Outcome = Outcome.REFUTED,
    value: str = "merged",
    release: str = "2026_01",
    change: Change | None = None,
    label: str = "Protein",
    name: str | None = None,
) -> Finding:
    task = CheckTask(type=CheckType.EXISTENCE, subject=Ref(label=label, id=identifier))
    evidence = Evidence(
        source="uniprot",
        release=release,
        record=identifier,
        retrieved_at=clock.now(),
        stance=Stance.CONTRADICTS,
        world=World.CLOSED,
        tier=Tier.OWNER,
        value=value,
    )
    verdict = Verdict(outcome=outcome, reason=reason, confidence=0.9, evidence=(evidence,))
    return Finding(
        run=of.id, fingerprint=task.fingerprint, task=task, verdict=verdict, change=change, names=(name, None)
    )


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger(tmp_path / "ledger.sqlite") as opened:
        yield opened


def kept(ledger: Ledger, of: Run, *findings: Finding) -> Run:
    ledger.start(of)
    ledger.record(of, "existence Protein #last", findings, [])
    return of


def test_a_basis_is_what_a_decision_is_about_and_no_release_or_date() -> None:
    of = run()
    same = [finding(of), finding(run("another")), finding(of, release="2027_01"), finding(of, name="p53")]
    change = Change(kind=ChangeKind.REVIEW, candidates=("A", "B"))
    others = [
        finding(of, reason=Reason.ID_DELETED),
        finding(of, outcome=Outcome.INSUFFICIENT),
        finding(of, value="merged elsewhere"),
        finding(of, change=change),
        finding(of, change=change.model_copy(update={"candidates": ("A",)})),
        finding(of, change=Change(kind=ChangeKind.REPOINT, to="A")),
    ]
    silence = finding(of).verdict.evidence[0].model_copy(update={"stance": Stance.SILENT, "world": World.OPEN})
    more = finding(of).verdict.model_copy(update={"evidence": (*finding(of).verdict.evidence * 2, silence)})

    assert {basis_of(f) for f in same} == {basis_of(finding(of))}
    # What decides nothing, and the same once more, changes nothing.
    assert basis_of(finding(of).model_copy(update={"verdict": more})) == basis_of(finding(of))
    assert len({basis_of(f) for f in [*others, same[0]]}) == 7


def test_the_latest_decision_about_the_present_basis_counts(ledger: Ledger) -> None:
    of = run()
    found, changed = finding(of), finding(of, value="merged into another")
    kept(ledger, of, found)

    def stands(one: Finding) -> tuple[str, str | None]:
        current = Decisions(ledger).beside([one])[one.fingerprint]
        return current.state.value, current.decision.by if current.decision else None

    assert stands(found) == ("open", None)
    made = decide(ledger, [found.fingerprint[:6]], "reject", by="anna", note="a false alarm")
    assert (made[0].decision.basis, made[0].before.state) == (basis_of(found), DecisionState.OPEN)
    assert stands(found) == ("rejected", "anna")
    assert stands(changed) == ("reopened", "anna")
    (over,) = decide(ledger, [changed], "accept", by="ben")
    assert "reject by anna" in over.line
    assert stands(changed) == ("accepted", "ben")
    # What it was before, it may become again.
    assert stands(found) == ("rejected", "anna")
    decide(ledger, [found], "reopen", by="carl")
    assert stands(found) == ("open", "carl")
    decide(ledger, [found], "defer", by="dora", until=TODAY + timedelta(days=2))
    assert stands(found) == ("deferred", "dora")
    for days, state in ((1, "deferred"), (2, "open"), (3, "open")):
        day = TODAY + timedelta(days=days)
        assert Decisions(ledger).beside([found], day)[found.fingerprint].state.value == state
    assert [d.by for d in Decisions(ledger).table.of([found.fingerprint])] == ["anna", "ben", "carl", "dora"]


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"action": "accept", "by": "  "}, "a decision needs a name"),
        ({"action": "accept", "by": "a" * 10_001}, "the name has 10,001 characters"),
        ({"action": "accept", "by": "a", "note": "\ud800"}, "the note cannot be written as UTF-8"),
        ({"action": "accept", "by": "a", "note": "\x00"}, "the note cannot be written"),
        ({"action": "defer", "by": "a"}, "a deferral needs its day"),
        ({"action": "defer", "by": "a", "until": TODAY.isoformat()}, f"{TODAY} is not after today"),
        ({"action": "defer", "by": "a", "until": "tomorrow"}, "'tomorrow' is no day"),
        ({"action": "accept", "by": "a", "until": "2999-01-01"}, "--until is of defer, not of accept"),
        ({"action": "reject", "by": "a", "chosen": "A"}, "--choose is of accept"),
        ({"action": "accept", "by": "a", "chosen": "C"}, "'C' is not proposed for finding"),
        ({"action": "agree", "by": "a"}, "there is no action 'agree'"),
    ],
)
def test_what_cannot_be_decided_is_refused_and_nothing_is_written(
    ledger: Ledger, choice: dict[str, Any], message: str
) -> None:
    of = run()
    free, open_ = finding(of, "P2"), finding(of, change=Change(kind=ChangeKind.REVIEW, candidates=("A", "B")))
    kept(ledger, of, open_, free)
    action = choice.pop("action")

    with pytest.raises(UsageError, match="^" + message.replace("(", r"\(")):
        decide(ledger, [open_], action, **choice)
    with pytest.raises(UnknownName, match="there is no finding 'ffff'"):
        decide(ledger, [free, "ffff"], "accept", by="a")
    assert Decisions(ledger).table.newest_first() == []


def test_a_choice_is_of_what_is_proposed(ledger: Ledger) -> None:
    of = run()
    one = finding(of, change=Change(kind=ChangeKind.REVIEW, candidates=("A", "B")))
    other = finding(of, "P2", change=Change(kind=ChangeKind.REPOINT, to="B"))
    kept(ledger, of, one, other, finding(of, "P3"))

    assert [m.decision.chosen for m in decide(ledger, [one, other], "accept", by="x", chosen="B")] == ["B", "B"]
    with pytest.raises(UsageError) as refused:
        decide(ledger, [one, other], "accept", by="x", chosen="A")
    assert refused.value.hint == "choose from B"
    with pytest.raises(UsageError) as refused:
        decide(ledger, [finding(of, "P3")], "accept", by="x", chosen="A")
    assert "nothing is proposed" in refused.value.hint


@st.composite
def decided(draw: st.DrawFn) -> list[Decision]:
    """Decisions about two findings of two bases, in an order of time that has ties."""
    start = datetime(2026, 5, 1, 12, tzinfo=UTC)
    decisions = []
    for by in range(draw(st.integers(0, 7))):
        action = draw(st.sampled_from(list(Action)))
        decisions.append(
            Decision(
                fingerprint=draw(st.sampled_from(["a" * 16, "b" * 16])),
                basis=draw(st.sampled_from(["1" * 16, "2" * 16])),
                action=action,
                until=date(2026, 5, draw(st.integers(1, 5))) if action is Action.DEFER else None,
                by=str(by),
                at=start + timedelta(hours=draw(st.integers(0, 3))),
            )
        )
    return decisions


@settings(max_examples=examples(40), deadline=None, suppress_health_check=list(HealthCheck))
@given(decided(), st.sampled_from(["1" * 16, "2" * 16, "3" * 16]), st.integers(1, 5))
def test_the_newest_decision_about_the_present_basis_makes_the_state(
    made: list[Decision], basis: str, day: int
) -> None:
    today = date(2026, 5, day)
    with tempfile.TemporaryDirectory() as folder, Ledger(Path(folder) / "l.sqlite") as ledger:
        of = run()
        found = finding(of)
        kept(ledger, of, found)
        table = DecisionTable(ledger.database)
        table.add(made)
        about = [d for d in table.of(["a" * 16])]
        current = table.states([("r", "a" * 16, basis)], today)["a" * 16]

        # As the words say it: of those about the basis the last one counts; else the last of all is what was decided.
        def last(some: list[Decision]) -> Decision | None:
            return max(some, key=lambda d: d.number) if some else None

        present, decided_last = last([d for d in about if d.basis == basis]), last(about)
        expected = "open"
        if present:
            over = present.action is Action.DEFER and present.until and present.until <= today
            named = {"accept": "accepted", "reject": "rejected", "defer": "deferred", "reopen": "open"}
            expected = "open" if over else named[present.action.value]
        elif decided_last and decided_last.action is not Action.REOPEN:
            expected = "reopened"
        assert (current.state.value, current.decision) == (expected, present or decided_last)


# Lists


def missing(one: Finding, confidence: float) -> Finding:
    """The same finding about a potential edge: these are ranked."""
    partner = Ref(label="Protein", id="P99999")
    task = CheckTask(type=CheckType.POTENTIAL, subject=one.task.subject, relation="ACTS_ON", object=partner)
    turned = {Outcome.REFUTED: Outcome.SUPPORTED}
    outcome = turned.get(one.verdict.outcome, one.verdict.outcome)
    verdict = one.verdict.model_copy(update={"confidence": confidence, "outcome": outcome})
    return one.model_copy(update={"task": task, "fingerprint": task.fingerprint, "verdict": verdict})


def many(ledger: Ledger) -> Run:
    """A run of findings that differ in all that they can be filtered by, some of them decided."""
    of = run("20260101-000000-many")
    reasons = [Reason.ID_MERGED, Reason.ID_DELETED]
    some = [
        finding(
            of,
            f"P{n:02d}",
            reason=reasons[n % 2],
            outcome=Outcome.INSUFFICIENT if n % 5 == 0 else Outcome.REFUTED,
            label="Gene" if n % 7 == 0 else "Protein",
            name=f"100% {n}_x" if n % 3 else None,
        )
        for n in range(40)
    ]
    some = [missing(one, 0.9 - n / 100) if n % 9 == 4 else one for n, one in enumerate(some)]
    kept(ledger, of, *some)
    decide(ledger, some[:9], "reject", by="anna", note=HOSTILE)
    decide(ledger, some[5:7], "accept", by="ben")
    decide(ledger, [finding(of, f"P{n:02d}", value="before") for n in (20, 21)], "accept", by="carl")
    return of


@settings(max_examples=examples(25), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.fixed_dictionaries(
        {},
        optional={
            "reasons": st.sampled_from([["id_merged"], ["id_merged", "id_deleted"], ["id_deleted", "id_obsolete"]]),
            "types": st.sampled_from([["existence"], ["potential", "existence"]]),
            "outcomes": st.sampled_from([["insufficient"], ["refuted"], ["supported"], ["refuted", "supported"]]),
            "graph": st.sampled_from([["lacks_it"], ["has_it_wrongly"], ["lacks_it", "has_it_wrongly"]]),
            "labels": st.sampled_from([["Gene"], ["Gene", "Protein"]]),
            "decisions": st.lists(
                st.sampled_from([s.value for s in DecisionState]), min_size=1, max_size=3, unique=True
            ),
            "text": st.sampled_from(["100% 1", "_x", "p0", "nothing"]),
            "states": st.sampled_from([["new"], ["still"], ["new", "fixed"]]),
        },
    ),
    st.sampled_from([10, 11, 7, 3, 1]),
)
def test_pages_together_are_what_fits_the_filter(listed: RunDiff, filters: dict[str, Any], size: int) -> None:
    every = list(FindingList(listed, FindingFilter()).page())
    assert len(every) == 40

    def fits(one: Any) -> bool:
        f, text = one.finding, filters.get("text", "").lower()
        parts = (f.task.subject.id, f.names[0] or "")
        return (
            f.verdict.reason.value in filters.get("reasons", [f.verdict.reason.value])
            and f.verdict.outcome.value in filters.get("outcomes", [f.verdict.outcome.value])
            and f.mark.graph in filters.get("graph", [f.mark.graph])
            and f.task.type.value in filters.get("types", [f.task.type.value])
            and f.task.subject.label in filters.get("labels", [f.task.subject.label])
            and one.decided.state.value in filters.get("decisions", [one.decided.state.value])
            and one.state.value in filters.get("states", [one.state.value])
            and (any(text in part.lower() for part in parts) or (bool(text) and f.fingerprint.startswith(text)))
        )

    expected = [one.fingerprint for one in every if fits(one)]
    found, cursor = list[str](), None
    wanted_ = FindingList(listed, wanted(**filters))
    while True:
        page = FindingPage(wanted_, cursor, size)
        found += [one.fingerprint for one in page]
        if not page.next:
            break
        cursor = page.next
    assert found == expected
    assert wanted_.count() == len(expected)


@pytest.fixture(scope="module")
def listed(tmp_path_factory: pytest.TempPathFactory) -> RunDiff:
    with Ledger(tmp_path_factory.mktemp("listed") / "ledger.sqlite") as ledger:
        many(ledger)
        return diff_of(ledger)


@pytest.mark.parametrize("narrowed", [{"types": ["potential"]}, {"reasons": ["edge_missing"]}])
def test_what_was_called_refuted_of_a_missing_edge_is_what_the_graph_lacks(narrowed: dict[str, Any]) -> None:
    assert wanted(outcomes=["refuted"], **narrowed) == wanted(graph=["lacks_it"], **narrowed)


def test_a_list_knows_its_names(listed: RunDiff) -> None:
    for filters, message in (
        ({"labels": ["Protien"]}, "there is no label 'Protien'"),
        ({"reasons": ["merged"]}, "there is no reason 'merged'"),
        ({"decisions": ["done"]}, "there is no decision 'done'"),
    ):
        with pytest.raises(UsageError, match=message):
            FindingList(listed, wanted(**filters))
    with pytest.raises(UnknownName):
        list(FindingList(listed, FindingFilter()).page(after="ffff"))


def test_hostile_notes_and_names_are_only_shown(listed: RunDiff) -> None:
    rejected = FindingList(listed, wanted(decisions=["rejected"]))
    out = io.StringIO()
    Console(file=out, width=300).print(show.compared_table(rejected.page()))
    whole = {format_: "".join(show.text_of(rejected.page(), format_)) for format_ in ("table", "json", "jsonl", "csv")}

    for text in (out.getvalue(), *whole.values()):
        assert not set("\x1b\u202e") & set(text)
    assert json.loads(whole["json"])["findings"][0]["decision"]["note"] == HOSTILE
    assert len(whole["jsonl"].splitlines()) == 7


# Exit codes


def test_rejected_and_deferred_findings_fail_no_run(ledger: Ledger) -> None:
    of = run()
    refuted, weak = finding(of), finding(of, "P2", outcome=Outcome.INSUFFICIENT)
    kept(ledger, of, refuted, weak)
    diff = diff_of(ledger)

    def fails() -> list[bool]:
        return [diff.fails(threshold) for threshold in ("refuted", "insufficient", "new", "never")]

    assert fails() == [True, True, True, False]
    decide(ledger, [refuted], "reject", by="x")
    assert fails() == [False, True, True, False]
    decide(ledger, [weak], "defer", by="x", until=TODAY + timedelta(days=2))
    assert fails() == [False, False, False, False]
    assert diff.fails("insufficient", TODAY + timedelta(days=2))
    decide(ledger, [refuted], "accept", by="x")
    assert fails() == [True, True, True, False]

    later = run("20260102-000000-bbbb")
    kept(ledger, later, finding(later), finding(later, "P2", outcome=Outcome.INSUFFICIENT, value="other"))
    diff = diff_of(ledger)
    # Accepted, but still as it was; and what was deferred is another one now.
    assert fails() == [True, True, True, False]
    decide(ledger, [finding(later, "P2", outcome=Outcome.INSUFFICIENT, value="other")], "reject", by="x")
    assert fails() == [True, True, False, False]
    with pytest.raises(UnknownName, match="there is no threshold 'old'"):
        diff.exit_code("old")


def test_a_deferral_whose_day_came_since_the_run_before_is_new_again(ledger: Ledger) -> None:
    before, after = run(), run("20260102-000000-bbbb")
    kept(ledger, before.model_copy(update={"started": clock.now() - timedelta(days=3)}), finding(before))
    kept(ledger, after, finding(after))
    late = clock.exact_now() - timedelta(days=9)
    until = TODAY - timedelta(days=1)
    deferred = Choice(action=Action.REJECT, by="x").about(finding(before), basis_of(finding(before)), late)
    DecisionTable(ledger.database).add([deferred.model_copy(update={"action": Action.DEFER, "until": until})])

    assert diff_of(ledger).fails("new")
    assert not diff_of(ledger).fails("new", until - timedelta(days=1))


# Commands


def test_commands_decide_by_filter_only_when_that_is_confirmed(tmp_path: Path) -> None:
    where = tmp_path / "ledger.sqlite"
    with Ledger(where) as ledger:
        many(ledger)
    decided_by = ("--ledger", where, "--by", "zed")

    assert kgcheck("decide", "reject", "--reason", "id_deleted", *decided_by).refuses("this would reject 20 findings")
    assert kgcheck("decide", "reject", *decided_by).refuses("nothing says which findings are meant")
    assert kgcheck("decide", "abcd", "reject", "--text", "x", *decided_by).refuses("name findings, or filters")
    assert kgcheck("decide", "accept", "--label", "Protien", "--yes", *decided_by).refuses("there is no label")
    done = kgcheck("decide", "reject", "--reason", "id_deleted", "--yes", "--note", HOSTILE, *decided_by)
    assert (done.code, len(done.out.splitlines())) == (0, 20)
    assert done.err == "20 decided, by zed\n"
    listed = kgcheck(
        "findings", "--decision", "rejected", "--reason", "id_deleted", "--format", "json", "--ledger", where
    )
    assert len(json.loads(listed.out)["findings"]) == 20
    page = json.loads(kgcheck("findings", "--limit", "3", "--format", "json", "--ledger", where).out)
    assert page["next"] == page["findings"][-1]["fingerprint"]
    nothing = kgcheck("decide", "accept", "--text", "no such text", "--yes", *decided_by)
    assert (nothing.code, nothing.err) == (0, "no finding fits: nothing was decided\n")
    history = kgcheck("decisions", "history", page["next"], "--ledger", where)
    assert "zed" in history.out or "anna" in history.out
    explained = kgcheck("explain", page["next"], "--format", "json", "--ledger", where)
    assert json.loads(explained.out)["decision"]
    assert kgcheck("decide", "aaaa", "accept", "--ledger", tmp_path / "none.sqlite").refuses("there is no ledger")
    assert not (tmp_path / "none.sqlite").exists()


def test_two_who_decide_at_once_are_both_kept_and_the_last_one_counts(ledger: Ledger, tmp_path: Path) -> None:
    of = run()
    found = finding(of)
    kept(ledger, of, found)
    people = [f"person {n}" for n in range(6)]

    def one(by: str) -> None:
        with Ledger(tmp_path / "ledger.sqlite") as own:
            decide(own, [found], "accept" if by[-1] in "024" else "reject", by=by)

    threads = [threading.Thread(target=one, args=(by,)) for by in people]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    history = list(Decisions(ledger).table.of([found.fingerprint]))
    assert sorted(d.by for d in history) == people
    assert [d.number for d in history] == sorted(d.number for d in history)
    assert Decisions(ledger).beside([found])[found.fingerprint].decision == history[-1]


def test_a_clock_of_2040_neither_undoes_a_later_decision_nor_stamps_it(ledger: Ledger, tmp_path: Path) -> None:
    of = run()
    found = finding(of)
    kept(ledger, of, found)
    table, late = DecisionTable(ledger.database), datetime(2040, 1, 1, tzinfo=UTC)
    table.add([Choice(action=Action.REJECT, by="fast clock").about(found, basis_of(found), late)])
    (made,) = decide(ledger, [found], "accept", by="ben")

    assert made.decision.at.year < 2040
    current = Decisions(ledger).beside([found])[found.fingerprint]
    assert (current.state, current.decision) == (DecisionState.ACCEPTED, made.decision)
    assert [d.by for d in table.of([found.fingerprint])] == ["fast clock", "ben"]
    assert [d.at.year for d in table.newest_first()] == [made.decision.at.year, 2040]
    assert [d.by for _, d in Decisions(ledger).accepted(of)] == ["ben"]
    assert FindingList(diff_of(ledger, after=of), FindingFilter(decisions=(DecisionState.ACCEPTED,))).count() == 1


def test_runs_that_cannot_be_compared_are_refused(ledger: Ledger) -> None:
    first, later, other = run(), run("20260102-000000-bbbb"), run("20260103-000000-cccc", "another.lbdb")
    check = run("20260104-000000-dddd").model_copy(update={"options": {"check": "x"}})
    for one in (first, later, other, check):
        kept(ledger, one)

    for before, after, message in (
        (later, first, f"run {later.id} is not before run {first.id}"),
        (first, first, f"run {first.id} is not before run {first.id}"),
        (first, other, f"run {first.id} is of the store graph.lbdb, and run {other.id} of another.lbdb"),
        (first, check, f"run {check.id} is a check of one thing"),
    ):
        for named in ((before, after), (before.id, after.id)):
            with pytest.raises(UsageError, match=message):
                diff_of(ledger, *named)


def test_a_report_shows_states_and_decisions(tmp_path: Path) -> None:
    where = tmp_path / "ledger.sqlite"
    with Ledger(where) as ledger:
        many(ledger)
    markdown = kgcheck("report", "--format", "markdown", "--ledger", where).out
    html = kgcheck("report", "--format", "html", "--ledger", where).out
    rows = [json.loads(line) for line in kgcheck("report", "--format", "jsonl", "--ledger", where).out.splitlines()]

    for text in (markdown, html):
        assert "Since the run before" in text
        assert "rejected by anna" in text
        assert "was accepted by carl" in text
        assert "<img src=x" not in text
        assert not set("\x1b\u202e") & set(text)
    assert {row["state"] for row in rows} == {"new", "reopened"}
    assert {(row.get("decision") or {}).get("action") for row in rows} == {"reject", "accept", None}
