"""The funnel: undecided findings go to the team with live sources and papers, worst first, under a budget."""

import json
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from kgcheck.agents.request import Request, parse_request
from kgcheck.agents.toolbox import WithLiterature
from kgcheck.audit.funnel import Funnel, TeamSources, in_order
from kgcheck.audit.papers import Papers
from kgcheck.audit.run import Audit
from kgcheck.checks.verdicts import verdict
from kgcheck.context import live_sources
from kgcheck.errors import ModelUnavailable
from kgcheck.evidence.source import SnapshotSource
from kgcheck.ledger.ledger import Ledger, Run
from kgcheck.ledger.run import COULD_NOT_LOOK, NOT_DECIDED, HandedOver
from kgcheck.literature.documents import Document
from kgcheck.literature.edge_reader import TripleReader
from kgcheck.literature.names import StoreNames
from kgcheck.literature.search import LiteratureIndex
from kgcheck.model import CheckTask, CheckType, Finding, Outcome, Reason, Ref, Stance, TallyMark, Tier
from kgcheck.options import AuditOptions
from kgcheck.report.render import render
from tests.support import loopback
from tests.support.audits import Audited, MemoryStore, demo, kgcheck, of_run
from tests.support.chat_server import MODEL, Call, Say, chat_server
from tests.support.facts import SCHEMA, SETTINGS, Facts, triple
from tests.support.literature import build_index, judges
from tests.support.reports import finding
from tests.support.world import World, running

PAIRS = [("P10001", "P10002"), ("P10002", "P10003"), ("P10001", "P10003"), ("P10001", "P10004")]


@pytest.fixture
def world(shared_data: Path, tmp_path: Path) -> Iterator[World]:
    with running(shared_data, tmp_path) as made:
        yield made


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore(
        {"Protein": [{"id": f"P1000{n}", "name": f"KIN{'ABCD'[n - 1]}"} for n in range(1, 5)]},
        {"Protein ACTS_ON Protein": [{"head": a, "tail": b} for a, b in PAIRS]},
    )


@pytest.fixture
def snapshot(tmp_path: Path) -> Path:
    """A complete STRING that maps none of the proteins: every pair stays undecided."""
    facts = Facts()
    facts.release("string", "11.0", "2019-01-01", complete=True).link("ACTS_ON", "P90001", "P90002", 0.9).covers(
        "ACTS_ON", "P90001", "P90002"
    )
    return facts.build(tmp_path / "snapshot")


@pytest.fixture
def outdated(tmp_path: Path) -> Path:
    """A release of UniProt that calls a protein deleted which is there today."""
    facts = Facts()
    release = facts.release("uniprot", "2020_01", "2020-01-01", complete=True)
    release.entity("P10002", state="withdrawn", detail="deleted", record="P10002")
    for other in ("P10001", "P10003", "P10004"):
        release.entity(other, record=other)
    return facts.build(tmp_path / "old")


def _night(world: World, store: MemoryStore, snapshot: Path, ledger: Path, **options: Any) -> Audited:
    given: dict[str, Any] = {"live": False, "types": (CheckType.TRIPLE,)}
    return world.audit(store, ledger, snapshot, **(given | options))


def test_the_team_decides_what_the_snapshot_could_not(
    world: World, store: MemoryStore, snapshot: Path, tmp_path: Path
) -> None:
    done = _night(world, store, snapshot, tmp_path / "a.sqlite", team_budget=10)
    reasons = {str(f.task): f.verdict.reason for f in done.findings}

    assert reasons == {
        "P10001 ACTS_ON P10002": Reason.CONFIRMED,
        "P10002 ACTS_ON P10003": Reason.EDGE_UNSUPPORTED,
        "P10001 ACTS_ON P10003": Reason.BELOW_THRESHOLD,
        "P10001 ACTS_ON P10004": Reason.UNMAPPED_IDENTIFIER,
    }
    assert done.run.team == {NOT_DECIDED: 1, "refuted": 2, "supported": 1}
    assert sum(t.count for t in done.tallies) == len(PAIRS)
    assert {(t.outcome, t.count) for t in done.tallies if t.by_team} == {(Outcome.SUPPORTED, 1), (Outcome.REFUTED, 1)}
    assert done.run.finished
    assert len(list((tmp_path / "home" / "transcripts" / done.run.id).glob("*.jsonl"))) == 4
    refuted = next(f for f in done.findings if f.verdict.reason is Reason.EDGE_UNSUPPORTED)
    assert refuted.change
    assert refuted.verdict.evidence[0].release == "12.0"
    with Ledger(tmp_path / "a.sqlite") as kept:
        assert "Handed to the team: 1 not decided, 2 refuted, 1 supported." in render(kept, done.run, "markdown")


@pytest.mark.slow
@pytest.mark.parametrize("budget", [0, 2])
def test_the_budget_is_kept(budget: int, world: World, store: MemoryStore, snapshot: Path, tmp_path: Path) -> None:
    done = _night(world, store, snapshot, tmp_path / "a.sqlite", team_budget=budget)

    assert sum(done.run.team.values()) == budget
    assert sum(f.verdict.reason is Reason.UNMAPPED_IDENTIFIER for f in done.findings) >= 4 - budget
    assert budget or not world.calls


@pytest.mark.slow
def test_a_source_that_is_down_decides_nothing(
    world: World, store: MemoryStore, snapshot: Path, tmp_path: Path
) -> None:
    world.uniprot.server.always = world.string.server.always = loopback.reset
    done = _night(world, store, snapshot, tmp_path / "a.sqlite", team_budget=10)

    assert done.run.team == {COULD_NOT_LOOK: 4}
    assert not done.run.finished
    assert {f.verdict.outcome for f in done.findings} == {Outcome.INSUFFICIENT}


def test_the_score_of_an_edge_is_handed_over_too() -> None:
    head, tail = Ref(label="Protein", id="P10001"), Ref(label="Protein", id="P10002")
    task = CheckTask(type=CheckType.ATTRIBUTE, subject=head, relation="ACTS_ON", object=tail, attribute="score")
    undecided = finding("P10001", outcome=Outcome.INSUFFICIENT, reason=Reason.REFERENCE_OLDER)
    undecided = undecided.model_copy(update={"task": task})

    assert in_order([undecided]) == [undecided]
    asked = Request.of(task, SCHEMA)
    assert asked == parse_request(asked.words, SCHEMA).model_copy(update={"text": str(task)})


def test_the_worst_come_first() -> None:
    undecided = [
        finding("P10001", outcome=Outcome.UNAVAILABLE, reason=Reason.NOT_COVERED),
        finding("P10002", outcome=Outcome.INSUFFICIENT, reason=Reason.NOTHING_FOUND),
        finding("P10003", outcome=Outcome.INSUFFICIENT, reason=Reason.CONFLICTING_EVIDENCE),
        finding("P10005", outcome=Outcome.INSUFFICIENT, reason=Reason.UNMAPPED_IDENTIFIER),
    ]

    assert [f.task.subject.id for f in in_order(undecided)] == ["P10003", "P10005", "P10002", "P10001"]


@pytest.fixture
def papers(store: MemoryStore, tmp_path: Path) -> Iterator[TripleReader]:
    texts = {"pmid:1": "KINA binds KIND in human cells. KINA interacts with KIND.", "pmid:2": "Mice sleep."}
    folder = build_index(tmp_path / "papers", [Document(ids=(i,), abstract=t) for i, t in texts.items()])
    with LiteratureIndex(folder) as index:
        yield TripleReader(index, judges(trust=0.7), StoreNames(store), SCHEMA)


def _with_papers(world: World, store: MemoryStore, snapshot: Path, ledger: Path, papers: Papers | None) -> Audited:
    settings = world.settings(home=world.folder / "home")
    with Ledger(ledger) as kept, live_sources(SCHEMA, settings, wanted=True) as live:
        audit = Audit(store, snapshot, kept, settings, live=live, papers=papers)
        options = AuditOptions(types=(CheckType.TRIPLE,), team_budget=10)
        return of_run(kept, audit.start(options))


@pytest.mark.slow
@pytest.mark.parametrize("limit", [0, 100])
def test_a_paper_that_the_snapshot_lists_as_retracted_does_not_count(
    limit: int, world: World, store: MemoryStore, papers: TripleReader, tmp_path: Path
) -> None:
    facts = Facts()
    facts.release("string", "11.0", "2019-01-01", complete=True).covers("ACTS_ON", "P90001", "P90002")
    facts.release("pubmed").entity("PMID:1", state="withdrawn", detail="retracted publication", record="1")
    done = _with_papers(world, store, facts.build(tmp_path / "s"), tmp_path / "a.sqlite", Papers(papers, limit=limit))
    found = next(f for f in done.findings if str(f.task) == "P10001 ACTS_ON P10004")

    assert found.verdict.outcome is Outcome.INSUFFICIENT
    said = [e for e in found.verdict.evidence if e.source == "literature"]
    if limit:
        assert found.verdict.reason is Reason.RETRACTED_EVIDENCE
        assert [(e.record, e.stance, e.reason) for e in said] == [("pmid:1", Stance.SILENT, Reason.RETRACTED_EVIDENCE)]
        assert "a retracted publication" in (said[0].value or "")
    with SnapshotSource(tmp_path / "s" / "reference.duckdb", SCHEMA, SETTINGS) as source:
        told, _ = WithLiterature(source, papers).observe(triple("Protein P10001", "ACTS_ON", "Protein P10004"))
    assert [(e.record, e.stance) for e in told if e.source == "literature"] == [("pmid:1", Stance.SILENT)]


@pytest.mark.slow
def test_the_team_asks_papers_about_what_databases_leave_undecided(
    world: World, store: MemoryStore, snapshot: Path, papers: TripleReader, tmp_path: Path
) -> None:
    # An audit that has no paper left to ask leaves this edge to the team, and STRING does not map its tail.
    done = _with_papers(world, store, snapshot, tmp_path / "a.sqlite", Papers(papers, limit=0))
    without = _with_papers(world, store, snapshot, tmp_path / "b.sqlite", None)
    decided = next(f for f in done.findings if str(f.task) == "P10001 ACTS_ON P10004")
    left = next(f for f in without.findings if f.fingerprint == decided.fingerprint)

    assert (left.verdict.outcome, left.verdict.reason) == (Outcome.INSUFFICIENT, Reason.UNMAPPED_IDENTIFIER)
    assert (decided.verdict.outcome, decided.verdict.reason) == (Outcome.SUPPORTED, Reason.CONFIRMED)
    said = [e for e in decided.verdict.evidence if e.source == "literature"]
    assert [(e.record, e.tier, e.stance) for e in said] == [("pmid:1", Tier.TEXT, Stance.SUPPORTS)]
    assert decided.verdict == verdict(decided.task.type, decided.verdict.evidence)
    assert without.run.team == {NOT_DECIDED: 1, "refuted": 2, "supported": 1}
    assert done.run.team == {"refuted": 2, "supported": 2}
    transcript = tmp_path / "home" / "transcripts" / done.run.id / f"{decided.fingerprint}.jsonl"
    events = [json.loads(line) for line in transcript.read_text(encoding="utf-8").splitlines()]
    shown = next(e["result"] for e in events if e.get("tool") == "literature_search")
    assert {p["document"] for p in shown["passages"]} == {"pmid:1"}


@pytest.mark.slow
def test_papers_do_not_overrule_what_a_database_says(
    world: World, store: MemoryStore, snapshot: Path, papers: TripleReader, tmp_path: Path
) -> None:
    world.string.knows(P10004="9606.E4")
    world.string.link("9606.E1", "9606.E4", 0.9)
    done = _with_papers(world, store, snapshot, tmp_path / "a.sqlite", Papers(papers, limit=0))
    decided = next(f for f in done.findings if str(f.task) == "P10001 ACTS_ON P10004")

    spoken = [(e.source, e.record) for e in decided.verdict.evidence if e.stance is Stance.SUPPORTS]
    assert sorted(spoken) == [("literature", "pmid:1"), ("string", "9606.E1 9606.E4")]
    (path,) = (tmp_path / "home").glob(f"transcripts/*/{decided.fingerprint}.jsonl")
    assert "literature_search" not in path.read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_command_line_hands_papers_to_the_team(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.environment(monkeypatch)
    text = "SOD1 is associated with amyotrophic lateral sclerosis."
    index = build_index(tmp_path / "papers", [Document(ids=("pmid:1",), abstract=text)])
    said = kgcheck(
        *("audit", "--store", demo().store, "--type", "triple", "--id", "P00441", "--ledger", tmp_path / "l.sqlite"),
        *("--team-budget", 5, "--literature", index, "--keep-all", "--format", "jsonl"),
        cwd=tmp_path,
    )
    kept = [path.read_text(encoding="utf-8") for path in (tmp_path / ".kgcheck").glob("transcripts/*/*.jsonl")]

    assert "handed to the team: 5" in said.err
    assert any("of 1 paper looked at: none speaks of both" in text for text in kept)


def test_what_was_decided_is_looked_up_again_and_others_have_their_turn(
    world: World, store: MemoryStore, snapshot: Path, tmp_path: Path
) -> None:
    nights = [_night(world, store, snapshot, tmp_path / "a.sqlite", team_budget=2) for _ in range(3)]
    handed = []
    with Ledger(tmp_path / "a.sqlite") as kept:
        handed = [kept.handed(night.run.id) for night in nights]
    first, second, third = ({name for name, one in night.items() if one.is_decided} for night in handed)

    assert len(handed[0]) == 2
    assert first <= second <= third
    assert len(set().union(*handed)) == len(PAIRS)
    assert len(third) == 3
    # Of one release, an answer that was kept is not asked for again.
    assert sum(one.calls or 0 for name, one in handed[1].items() if name in first) == 0


@pytest.mark.slow
def test_a_budget_of_calls_ends_the_teams_work_and_says_so(
    world: World, store: MemoryStore, snapshot: Path, tmp_path: Path
) -> None:
    done = _night(world, store, snapshot, tmp_path / "a.sqlite", team_budget=10, team_calls=1)

    assert sum(done.run.team.values()) == 1
    (warning,) = (text for text in done.run.warnings if "team" in text)
    assert warning.startswith("the budget of the team is spent (1 calls): ")
    assert len(done.findings) == len(PAIRS)


@pytest.mark.slow
def test_what_nobody_could_look_at_is_handed_over_and_else_makes_no_finding(
    world: World, store: MemoryStore, tmp_path: Path
) -> None:
    facts = Facts()
    facts.release("uniprot", "2020_01", "2020-01-01").entity("P99999", record="P99999")
    empty = facts.build(tmp_path / "empty")
    kinds = (CheckType.EXISTENCE, CheckType.TRIPLE)
    done = _night(world, store, empty, tmp_path / "a.sqlite", team_budget=3, types=kinds)
    plain = _night(world, store, empty, tmp_path / "b.sqlite", types=kinds)

    assert plain.findings == []
    with Ledger(tmp_path / "a.sqlite") as kept:
        handed = kept.handed(done.run.id)
    assert {one.outcome for one in handed.values()} == {"unavailable"}
    # Kinds of checks take turns, and what was not handed over leaves no finding.
    assert {f.task.type for f in done.findings} == set(kinds)
    assert {f.fingerprint for f in done.findings} == handed.keys()
    assert sum(t.count for t in done.tallies) == sum(t.count for t in plain.tallies)


@pytest.mark.slow
def test_a_refutation_from_which_others_follow_is_looked_at_again_with_these(
    world: World, store: MemoryStore, outdated: Path, tmp_path: Path
) -> None:
    kinds = (CheckType.EXISTENCE, CheckType.TRIPLE)
    alone = _night(world, store, outdated, tmp_path / "b.sqlite", types=kinds)
    done = _night(world, store, outdated, tmp_path / "a.sqlite", team_budget=10, types=kinds)

    assert "P10002" in {str(f.task.subject.id) for f in alone.findings if f.verdict.outcome is Outcome.REFUTED}
    world.uniprot.server.always = world.string.server.always = loopback.reset
    down = _night(
        world,
        store,
        outdated,
        tmp_path / "c.sqlite",
        team_budget=10,
        types=kinds,
        settings={"cache_dir": tmp_path / "none"},
    )

    assert down.run.team.keys() == {COULD_NOT_LOOK}
    refuted = [{f.fingerprint for f in one.findings if f.mark is TallyMark.REFUTED} for one in (down, alone)]
    assert refuted[0] == refuted[1]
    about = {str(f.task): f.verdict for f in done.findings}
    assert about["Protein P10002"].outcome is Outcome.SUPPORTED
    assert Reason.ENDPOINT_DELETED not in {verdict.reason for verdict in about.values()}


@pytest.mark.slow
@pytest.mark.parametrize("way", ["killed", "down"])
def test_what_follows_from_a_refutation_that_falls_is_not_lost_where_the_run_ends_between(
    way: str, world: World, store: MemoryStore, outdated: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kinds = (CheckType.EXISTENCE, CheckType.TRIPLE)
    whole = _night(world, store, outdated, tmp_path / "whole.sqlite", team_budget=10, types=kinds)
    real, fallen = Funnel._decide, list[Finding]()

    def ending(self: Funnel, run: Run, one: Finding, *, by_rules: bool) -> tuple[HandedOver, Finding | None]:
        if fallen and way == "killed":
            raise KeyboardInterrupt
        handed, new = real(self, run, one, by_rules=by_rules)
        if one.task.type is CheckType.EXISTENCE and one.verdict.outcome is Outcome.REFUTED and new:
            fallen.append(one)
        return handed, new

    monkeypatch.setattr(Funnel, "_decide", ending)
    if way == "down":
        monkeypatch.setattr(TeamSources, "has_failed", property(lambda _: bool(fallen)))
    ends = pytest.raises(KeyboardInterrupt) if way == "killed" else nullcontext()
    with ends:
        cut = _night(world, store, outdated, tmp_path / "a.sqlite", team_budget=10, types=kinds)
        assert COULD_NOT_LOOK in cut.run.team
        assert not cut.run.finished
    monkeypatch.undo()
    resumed = world.audit(store, tmp_path / "a.sqlite", outdated, resume=True)

    assert len(fallen) == 1
    assert resumed.run.finished
    assert resumed.run.team == whole.run.team
    assert resumed.tallies == whole.tallies
    assert {f.fingerprint: f.verdict.reason for f in resumed.findings} == {
        f.fingerprint: f.verdict.reason for f in whole.findings
    }


class _Broken:
    """A brain whose model is away."""

    def act(self, *_: object) -> Any:
        raise ModelUnavailable("the model is away", "start it")


@pytest.mark.slow
def test_where_a_model_fails_the_rules_go_on(world: World, store: MemoryStore, snapshot: Path, tmp_path: Path) -> None:
    settings = world.settings(home=world.folder / "home")
    with Ledger(tmp_path / "a.sqlite") as kept, live_sources(SCHEMA, settings, wanted=True) as live:
        audit = Audit(store, snapshot, kept, settings, live=live, make_brain=lambda _: _Broken())
        done = of_run(kept, audit.start(AuditOptions(types=(CheckType.TRIPLE,), team_budget=10, brain="llm")))

    assert done.run.team == {NOT_DECIDED: 1, "refuted": 2, "supported": 1}
    (warning,) = (text for text in done.run.warnings if "team" in text)
    assert "went by the rules: the model is away" in warning


def _money(
    way: str, most: float | None, world: World, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[list[float], str]:
    """What a model that takes no step takes for each finding, and what is said of it."""
    world.environment(monkeypatch)
    limits = () if most is None else (way, most)
    with chat_server(lambda _: Say(calls=(Call("nothing"),))) as server:
        for name, value in {"BASE_URL": server.url, "MODEL": MODEL, "PRICE_INPUT": 1, "PRICE_OUTPUT": 1}.items():
            monkeypatch.setenv(f"KGCHECK_LLM_{name}", str(value))
        said = kgcheck(
            *("audit", "--store", demo().store, "--type", "triple", "--id", "P00441", "--ledger", folder / "l.sqlite"),
            *("--team-budget", 5, "--keep-all", "--brain", "llm", "--format", "jsonl", *limits),
            cwd=folder,
        )
    with Ledger(folder / "l.sqlite", create=False) as kept:
        return [one.money or 0.0 for one in kept.handed(kept.run("latest").id).values()], said.err


@pytest.mark.slow
@pytest.mark.parametrize("way", ["--team-money", "--total-money"])
def test_money_ends_the_work_of_the_model_in_the_middle_of_a_finding(
    way: str, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("openai", reason="the extra llm is not installed")
    for name in ("free", "limited"):
        (tmp_path / name).mkdir()
    free, _ = _money(way, None, world, tmp_path / "free", monkeypatch)
    limited, said = _money(way, 1.5 * min(free), world, tmp_path / "limited", monkeypatch)

    assert len(free) == 5
    assert min(free) < sum(limited) < 2 * min(free)
    assert "went by the rules: the model was stopped after " in said


def _audit(
    world: World, store: MemoryStore, snapshot: Path, ledger: Path, budget: int, *, resume: bool = False
) -> Audited:
    options: dict[str, Any] = {"live": False, "team_budget": budget, "types": (CheckType.TRIPLE,)}
    return world.audit(store, ledger, snapshot, resume=resume, **({} if resume else options))


@pytest.mark.slow
def test_a_run_that_was_cut_off_asks_no_finding_twice(
    world: World, store: MemoryStore, snapshot: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = _audit(world, store, snapshot, tmp_path / "whole.sqlite", 10)
    asked: list[str] = []
    real = Funnel._decide

    def dying(self: Funnel, run: Run, one: Finding, *, by_rules: bool) -> tuple[HandedOver, Finding | None]:
        if len(asked) == 2:
            asked.append("killed")
            raise KeyboardInterrupt
        asked.append(one.fingerprint)
        return real(self, run, one, by_rules=by_rules)

    monkeypatch.setattr(Funnel, "_decide", dying)
    with pytest.raises(KeyboardInterrupt):
        _audit(world, store, snapshot, tmp_path / "a.sqlite", 10)
    resumed = _audit(world, store, snapshot, tmp_path / "a.sqlite", 10, resume=True)

    assert len(set(asked)) == len(asked) == 5
    assert resumed.run.team == whole.run.team
    assert {f.fingerprint: f.verdict.reason for f in resumed.findings} == {
        f.fingerprint: f.verdict.reason for f in whole.findings
    }
    assert resumed.tallies == whole.tallies
