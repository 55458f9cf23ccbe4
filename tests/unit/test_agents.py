"""The trio: requests are understood, the machine keeps the agents to their parts, and the evidence decides."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import permutations
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgcheck.agents.brains.rules import RulesBrain
from kgcheck.agents.replay import replay
from kgcheck.agents.request import parse_request, resolve_request
from kgcheck.agents.team import (
    Action,
    Brain,
    HandOver,
    Team,
    TeamConclusion,
    TeamResults,
    Turn,
    UseTool,
    call_key,
    check_supported,
    value_text,
)
from kgcheck.agents.toolbox import Toolbox
from kgcheck.agents.transcript import AgentRole, Event, Stage, Transcript
from kgcheck.audit.checks import exit_code
from kgcheck.checks.verdicts import verdict
from kgcheck.errors import AmbiguousName, BudgetExceeded, StoreUnavailable, UnknownName, UsageError
from kgcheck.evidence.source import SnapshotSource
from kgcheck.graph.edge_score import scores_of, scores_to_check
from kgcheck.graph.embedded import EmbeddedStore
from kgcheck.graph.store import Properties
from kgcheck.ledger.ledger import Ledger
from kgcheck.llm.budget import Limits
from kgcheck.model import (
    CheckTask,
    CheckType,
    Evidence,
    Gap,
    GraphState,
    Outcome,
    Reason,
    Ref,
    Stance,
    Tally,
    TallyMark,
    Target,
    Tier,
    World,
)
from kgcheck.profile.schema import load_schema
from kgcheck.settings import Settings
from tests.support.audits import MemoryStore, audited, demo, demo_audited, kgcheck
from tests.support.facts import Facts

pytestmark = pytest.mark.usefixtures("lexicon_read_once")

SCHEMA = load_schema()
ACTS_ON = "Protein ACTS_ON Protein"


# --- requests


@pytest.mark.parametrize(
    ("words", "kind", "parts"),
    [
        (["P04637 ACTS_ON Q00987"], None, ("P04637", "ACTS_ON", "Q00987")),
        (["  P04637   ACTS_ON  Q00987 "], None, ("P04637", "ACTS_ON", "Q00987")),
        (["renal carcinoma HAS_PARENT kidney cancer"], None, ("renal carcinoma", "HAS_PARENT", "kidney cancer")),
        (["renal carcinoma", "HAS_PARENT", "kidney cancer"], None, ("renal carcinoma", "HAS_PARENT", "kidney cancer")),
        (["existence Protein Q00015"], CheckType.EXISTENCE, ("Q00015", None, None)),
        (["attribute Gene TP53 name"], CheckType.ATTRIBUTE, ("TP53", None, None)),
        (["attribute P04637 ACTS_ON Q00987 score"], CheckType.ATTRIBUTE, ("P04637", "ACTS_ON", "Q00987")),
        (["attribute my gene ACTS_ON an other score"], CheckType.ATTRIBUTE, ("my gene", "ACTS_ON", "an other")),
        (["attribute", "Gene", "ACTS_ON", "x", "score"], CheckType.ATTRIBUTE, ("Gene", "ACTS_ON", "x")),
        (["attribute Gene ACTS_ON name"], CheckType.ATTRIBUTE, ("ACTS_ON", None, None)),
    ],
)
def test_requests_are_understood(words: list[str], kind: CheckType | None, parts: tuple[str | None, ...]) -> None:
    request = parse_request(words, SCHEMA)

    assert (request.type, (request.subject, request.relation, request.object)) == (kind, parts)
    assert parse_request(request.words, SCHEMA) == request


def test_a_request_has_every_pattern_that_its_ids_may_fit() -> None:
    def patterns(text: str) -> list[str]:
        return [str(p) for p in parse_request([text], SCHEMA).patterns]

    assert patterns("P04637 ASSOCIATED_WITH DOID:162") == ["Protein ASSOCIATED_WITH Disease"]
    assert len(patterns("P04637 ASSOCIATED_WITH GO:0005524")) == 3
    assert len(patterns("P04637 ASSOCIATED_WITH brain")) == 5
    assert patterns("TP53 TRANSLATED_INTO P04637") == ["Gene TRANSLATED_INTO Protein"]


@pytest.mark.parametrize(
    ("words", "error", "message", "hint"),
    [
        ([""], UsageError, "'' is not a check", "for example: P04637 HAS_STRUCTURE 2YDQ"),
        (["P04637"], UsageError, "'P04637' is not a check", "HEAD RELATION TAIL"),
        (["P04637 ACTS_ON"], UsageError, "'' cannot be an id or a name", "HEAD RELATION TAIL"),
        (["P04637 binds to Q00987"], UsageError, "is not a check", "HEAD RELATION TAIL"),
        (["existence Protein"], UsageError, "is not a check", "existence LABEL ID"),
        (["attribute Gene TP53 name now"], UnknownName, "there is no attribute 'now'", "known: "),
        (["attribute Gene TP53 ACTS_ON name"], UsageError, "is not a check", "attribute HEAD RELATION TAIL NAME"),
        (["attribute P04637 ACTS_ON Q00987 scoer"], UnknownName, "there is no attribute 'scoer'", "did you mean score"),
        (
            ["attribute P04637 ACTS_ON Q00987 action"],
            UnknownName,
            "there is no check of 'ACTS_ON.action'",
            "attributes of ACTS_ON with a check: score",
        ),
        (
            ["attribute P04637_S9-p IS_SUBSTRATE_OF Q00987 score"],
            UnknownName,
            "there is no check of 'IS_SUBSTRATE_OF.score'",
            "with a check: none",
        ),
        (["attribute P04637 ACTS_UPON Q00987 score"], UnknownName, "no relation 'ACTS_UPON'", "did you mean ACTS_ON"),
        (["attribute", "P04637", "ACTS_ON", "", "score"], UsageError, "cannot be an id or a name", "for example"),
        (["P04637", "ACTS_ON", ""], UsageError, "'' cannot be an id or a name", "for example"),
        (["P04637", "ACTS_ON", "Q\x00"], UsageError, "cannot be an id or a name", "for example"),
        (["P04637", "ACTS_ON", "Q" * 600], UsageError, "cannot be an id or a name", "for example"),
        (["existence", "Protein", "\udcff"], UsageError, "cannot be an id or a name", "for example"),
        (["existence Protien P04637"], UnknownName, "there is no label 'Protien'", "did you mean Protein"),
        (["attribute Gene TP53 family"], UnknownName, "there is no check of 'Gene.family'", "with a check: name"),
        (["P04637 ACTS_UPON Q00987"], UnknownName, "there is no relation 'ACTS_UPON'", "did you mean ACTS_ON"),
        (
            ["P04637 HAS_STRUCTURE Q00987"],
            UnknownName,
            "there is no edge of the form",
            "e.g. P04637 HAS_STRUCTURE 2YDQ",
        ),
    ],
)
def test_requests_that_make_no_sense_are_refused(
    words: list[str], error: type[UsageError], message: str, hint: str
) -> None:
    with pytest.raises(error) as caught:
        parse_request(words, SCHEMA)

    assert message in caught.value.message
    assert hint in caught.value.hint


@given(st.lists(st.text(max_size=12), max_size=5))
def test_no_words_break_the_parser(words: list[str]) -> None:
    try:
        assert parse_request(words, SCHEMA).subject
    except UsageError:
        pass


# --- a small graph and a source for the machine


class OneSource:
    """Says the same of every task."""

    def __init__(self, *evidence: Evidence, gaps: tuple[Gap, ...] = ()) -> None:
        self._said = (evidence, gaps)
        self.asked: list[CheckTask] = []

    def observe(self, task: CheckTask, cited: Sequence[str] = ()) -> tuple[tuple[Evidence, ...], tuple[Gap, ...]]:
        self.asked.append(task)
        return self._said


def evidence(stance: Stance = Stance.SUPPORTS, record: str = "r") -> Evidence:
    return Evidence(
        source="string",
        release="12.0",
        record=record,
        retrieved_at=datetime(2026, 1, 1, tzinfo=UTC),
        stance=stance,
        world=World.CLOSED,
        tier=Tier.CURATED,
    )


def graph(**more: Any) -> MemoryStore:
    proteins: list[dict[str, Any]] = [
        {"id": "P04637", "name": "TP53"},
        {"id": "Q00987", "name": "MDM2", "synonyms": ["HDM2", "a; b"]},
    ]
    return MemoryStore({"Protein": proteins, **more}, {ACTS_ON: [{"head": "P04637", "tail": "Q00987", "score": 0.9}]})


TP53, MDM2 = Ref(label="Protein", id="P04637"), Ref(label="Protein", id="Q00987")
TRIPLE = CheckTask(type=CheckType.TRIPLE, subject=TP53, relation="ACTS_ON", object=MDM2)
REQUEST = parse_request(["P04637 ACTS_ON Q00987"], SCHEMA)

NODES = [UseTool(tool="node", arguments=end.model_dump()) for end in (TP53, MDM2)]
EDGES = UseTool(tool="edges", arguments={"head": TP53.model_dump(), "relation": "ACTS_ON", "tail": MDM2.model_dump()})
LOOK_UP = UseTool(tool="reference_look_up", arguments={"task": TRIPLE.model_dump(mode="json")})
GOOD: dict[Stage, list[Action]] = {
    Stage.PLAN: [HandOver(message="go")],
    Stage.KG_QUERY: [*NODES, EDGES, HandOver(message="found it", task=TRIPLE)],
    Stage.VALIDATION: [LOOK_UP, HandOver(message="asked")],
    Stage.CONCLUSION: [HandOver(message="done")],
}


class Script:
    """A brain that says its lines, and repeats the last one of a stage for ever."""

    def __init__(self, lines: dict[Stage, list[Action]] | None = None) -> None:
        self._lines = {stage: list(actions) for stage, actions in (GOOD | (lines or {})).items()}
        self.refused: list[str] = []

    def act(self, turn: Turn) -> Action:
        self.refused += [turn.seen.refused] if turn.seen.refused else []
        lines = self._lines[turn.stage]
        return lines.pop(0) if len(lines) > 1 else lines[0]


def checked(brain: Brain, source: OneSource | None = None, **budget: Any) -> tuple[TeamConclusion, Transcript]:
    transcript = Transcript()
    team = Team(Toolbox(graph(), source or OneSource(evidence())), brain, Limits(**budget))
    return team.check(REQUEST, transcript), transcript


# --- the machine


def test_every_agent_has_its_turn_in_order() -> None:
    made, transcript = checked(Script())

    assert [(e.stage, e.role) for e in transcript.events] == [
        (Stage.PLAN, AgentRole.LEADER),
        *[(Stage.KG_QUERY, AgentRole.KG)] * 4,
        *[(Stage.VALIDATION, AgentRole.VALIDATION)] * 2,
        (Stage.CONCLUSION, AgentRole.LEADER),
    ]
    assert made.task == TRIPLE
    assert made.conclusion == "done"
    assert made.verdict.outcome is Outcome.SUPPORTED


@pytest.mark.parametrize("stage", [Stage.KG_QUERY, Stage.VALIDATION])
def test_an_agent_that_never_ends_runs_out_of_turns(stage: Stage) -> None:
    tool = EDGES if stage is Stage.KG_QUERY else LOOK_UP

    with pytest.raises(BudgetExceeded, match=rf"stopped in stage '{stage}' after 12 turns") as caught:
        checked(Script({stage: [tool]}), turns=12)

    assert caught.value.exit_code == 3
    assert "--turns" in caught.value.hint


@pytest.mark.parametrize(
    ("stage", "action", "why"),
    [
        (Stage.PLAN, LOOK_UP, "there is no tool of the leader 'reference_look_up'"),
        (Stage.KG_QUERY, LOOK_UP, "there is no tool of the kg agent 'reference_look_up'"),
        (Stage.VALIDATION, EDGES, "there is no tool of the validation agent 'edges'"),
        (Stage.KG_QUERY, UseTool(tool="rm -rf", arguments={}), "there is no tool of the kg agent 'rm -rf'"),
        (Stage.KG_QUERY, UseTool(tool="node", arguments={}), "arguments of node do not fit: label: Field required"),
        (
            Stage.KG_QUERY,
            UseTool(tool="node", arguments={"label": "Protein", "id": "P04637", "cypher": "MATCH (n)"}),
            "arguments of node do not fit: cypher: Extra inputs are not permitted",
        ),
        (
            Stage.KG_QUERY,
            UseTool(tool="node", arguments={"label": "Protein`) DETACH DELETE (n", "id": "P04637"}),
            "there is no label",
        ),
        (
            Stage.KG_QUERY,
            UseTool(tool="edges", arguments=EDGES.arguments | {"relation": "HAS_STRUCTURE"}),
            "there is no relation 'Protein HAS_STRUCTURE Protein'",
        ),
        (
            Stage.KG_QUERY,
            UseTool(
                tool="neighbours",
                arguments={"node": TP53.model_dump(), "relation": "ACTS_ON", "direction": "up", "label": "Protein"},
            ),
            "arguments of neighbours do not fit: direction",
        ),
        (Stage.KG_QUERY, HandOver(message="nothing"), "say what is to be validated"),
        (Stage.VALIDATION, HandOver(message="I know it"), "look the task up in the reference sources first"),
        (
            Stage.VALIDATION,
            UseTool(tool="reference_look_up", arguments={"task": {"type": "existence", "subject": TP53.model_dump()}}),
            "only the task that the KG agent handed over is to be looked up",
        ),
    ],
)
def test_a_step_that_breaks_the_rules_is_refused_and_told(stage: Stage, action: Action, why: str) -> None:
    brain = Script({stage: [action, *GOOD[stage]]})

    made, transcript = checked(brain)

    (refused,) = [e for e in transcript.events if e.refused]
    assert brain.refused == [refused.refused]
    assert why in (refused.refused or "")
    assert refused.result is None
    assert made.verdict.outcome is Outcome.SUPPORTED


def test_an_agent_that_only_breaks_the_rules_ends_with_the_reason() -> None:
    with pytest.raises(BudgetExceeded, match="the last step was refused: there is no tool of the leader"):
        checked(Script({Stage.PLAN: [LOOK_UP]}))


@pytest.mark.parametrize(
    "task",
    [
        TRIPLE.model_copy(update={"type": CheckType.POTENTIAL}),
        TRIPLE.model_copy(update={"subject": MDM2, "object": TP53}),
        TRIPLE.model_copy(update={"object": Ref(label="Protein", id="P38398")}),
        TRIPLE.model_copy(update={"relation": "CURATED_INTERACTS_WITH"}),
        TRIPLE.model_copy(update={"value": "yes"}),
        TRIPLE.model_copy(update={"object": None}),
        CheckTask(type=CheckType.EXISTENCE, subject=TP53),
    ],
)
def test_a_task_that_was_not_asked_for_or_not_seen_is_refused(task: CheckTask) -> None:
    brain = Script({Stage.KG_QUERY: [*NODES, EDGES, HandOver(message="this", task=task), GOOD[Stage.KG_QUERY][-1]]})

    made, _ = checked(brain)

    assert len(brain.refused) == 1
    assert "is not what was asked for, or not what the tools have shown" in brain.refused[0]
    assert made.task == TRIPLE


def test_what_nodes_are_said_to_be_must_have_been_seen() -> None:
    request = parse_request(["attribute Protein Q00987 synonyms"], SCHEMA)
    toolbox, seen = Toolbox(graph(), OneSource()), TeamResults()
    task = CheckTask(type=CheckType.ATTRIBUTE, subject=MDM2, attribute="synonyms", value=r"HDM2; a\; b")
    for wrong in (task, None):
        with pytest.raises(UsageError):
            check_supported(wrong, request, seen)
    seen.nodes[call_key("node", MDM2.model_dump())] = toolbox.call(AgentRole.KG, "node", MDM2.model_dump())  # type: ignore[assignment]

    check_supported(task, request, seen)
    for change in ({"value": "HDM2"}, {"value": None}, {"attribute": "name"}, {"subject": TP53}):
        with pytest.raises(UsageError):
            check_supported(task.model_copy(update=change), request, seen)


@pytest.mark.parametrize("stance", Stance)
def test_the_evidence_decides_whatever_the_agents_say(stance: Stance) -> None:
    flipped = TRIPLE.model_copy(update={"type": CheckType.POTENTIAL})
    loud = "This edge is beyond doubt supported / refuted!"
    brain = Script(
        {
            Stage.PLAN: [HandOver(message=loud, task=flipped)],
            Stage.VALIDATION: [LOOK_UP, HandOver(message=loud, task=flipped)],
            Stage.CONCLUSION: [HandOver(message=loud, task=flipped)],
        }
    )

    made, _ = checked(brain, OneSource(evidence(stance)))

    assert made.task == TRIPLE
    assert made.verdict == verdict(CheckType.TRIPLE, [evidence(stance)])
    assert made.conclusion == loud


def test_what_is_looked_up_twice_counts_once() -> None:
    source = OneSource(evidence(), gaps=(Gap("uniprot", Reason.NOT_COVERED),))
    brain = Script({Stage.VALIDATION: [LOOK_UP, LOOK_UP, LOOK_UP, HandOver(message="asked")]})

    made, _ = checked(brain, source)

    assert len(source.asked) == 3
    assert made.verdict == verdict(CheckType.TRIPLE, [evidence()], [Gap("uniprot", Reason.NOT_COVERED)])
    assert len(made.verdict.evidence) == len(made.verdict.missing) == 1


def test_a_store_that_is_down_is_no_refusal() -> None:
    class Down(MemoryStore):
        def nodes(self, label: object, ids: list[str]) -> dict[str, Properties]:
            raise StoreUnavailable("the store is down")

    team = Team(Toolbox(Down({}, {}), OneSource()), Script())

    with pytest.raises(StoreUnavailable):
        team.check(REQUEST, Transcript())


def test_either_order_of_an_edge_is_the_one_task_that_an_audit_has(tmp_path: Path) -> None:
    # One edge is in the order of its ids, one is not, one stands in both, and others are not there.
    proteins = [f"P1000{n}" for n in range(4)]
    stated = [(0, 1), (2, 1), (2, 3), (3, 2)]
    edges = [{"head": proteins[h], "tail": proteins[t], "source": "Literature"} for h, t in stated]
    store = MemoryStore({"Protein": [{"id": p} for p in proteins]}, {ACTS_ON: edges})
    facts = Facts()
    string = facts.release("string", "11.0", "2019-01-01", complete=True).covers("ACTS_ON", *proteins)
    for other in proteins[1:]:
        string.link("ACTS_ON", other, proteins[0], 0.99)
    snapshot = facts.build(tmp_path / "snapshot")
    types = (CheckType.TRIPLE, CheckType.POTENTIAL)
    judged = {
        f.fingerprint for f in audited(store, tmp_path / "l.sqlite", snapshot, types=types, keep_all=True).findings
    }
    team = Team(Toolbox(store, OneSource(evidence())), RulesBrain())

    made = {
        (head, tail): team.check(parse_request([f"{head} ACTS_ON {tail}"], SCHEMA), Transcript()).task
        for head, tail in permutations(proteins, 2)
    }

    both = {(proteins[2], proteins[3]), (proteins[3], proteins[2])}
    assert {ends for ends in made if made[ends] != made[ends[::-1]]} == both
    assert judged <= {task.fingerprint for task in made.values()}
    assert len(judged) == 6


def test_an_edge_whose_order_matters_is_found_one_way() -> None:
    nodes = {"Disease": [{"id": "DOID:4"}, {"id": "DOID:305"}]}
    edges = {"Disease HAS_PARENT Disease": [{"head": "DOID:305", "tail": "DOID:4"}]}
    team = Team(Toolbox(MemoryStore(nodes, edges), OneSource(evidence())), RulesBrain())

    made = [
        team.check(parse_request([f"{a} HAS_PARENT {b}"], SCHEMA), Transcript())
        for a, b in (("DOID:305", "DOID:4"), ("DOID:4", "DOID:305"))
    ]

    assert [m.task.type for m in made] == [CheckType.TRIPLE, CheckType.POTENTIAL]


# --- the rules


@pytest.fixture(scope="module")
def toolbox() -> Iterator[Toolbox]:
    with EmbeddedStore(demo().store, SCHEMA) as store, SnapshotSource(demo().reference, SCHEMA, Settings()) as source:
        yield Toolbox(store, source)


def ask(toolbox: Toolbox, *words: str) -> tuple[TeamConclusion, Transcript]:
    transcript = Transcript()
    return Team(toolbox, RulesBrain()).check(resolve_request(words, toolbox.resolver), transcript), transcript


@pytest.mark.parametrize(
    ("words", "kind", "outcome", "reason"),
    [
        ("P05067 ACTS_ON P22303", CheckType.TRIPLE, Outcome.SUPPORTED, Reason.CONFIRMED),
        ("P04035 ACTS_ON P29597", CheckType.TRIPLE, Outcome.REFUTED, Reason.EDGE_UNSUPPORTED),
        ("P27144 ASSOCIATED_WITH GO:0004017", CheckType.TRIPLE, Outcome.REFUTED, Reason.EDGE_NEGATED),
        ("MGEA5 TRANSLATED_INTO O60502", CheckType.TRIPLE, Outcome.REFUTED, Reason.ENDPOINT_MERGED),
        ("P02649 ACTS_ON P05067", CheckType.POTENTIAL, Outcome.SUPPORTED, Reason.EDGE_MISSING),
        ("existence Protein B4DFC2", CheckType.EXISTENCE, Outcome.REFUTED, Reason.ID_MERGED),
        ("existence Protein P15056", CheckType.EXISTENCE, Outcome.SUPPORTED, Reason.CONFIRMED),
        ("existence Protein Q00015", CheckType.POTENTIAL, Outcome.UNAVAILABLE, Reason.NOT_COVERED),
        ("attribute Disease DOID:14291 name", CheckType.ATTRIBUTE, Outcome.REFUTED, Reason.VALUE_OUTDATED),
        ("attribute Protein P15056 accession", CheckType.ATTRIBUTE, Outcome.REFUTED, Reason.VALUE_MISSING),
        ("APP ACTS_ON ACHE", CheckType.TRIPLE, Outcome.SUPPORTED, Reason.CONFIRMED),
        ("P05067 ACTS_ON ACHE", CheckType.TRIPLE, Outcome.SUPPORTED, Reason.CONFIRMED),
    ],
)
def test_rules_check_every_kind(
    toolbox: Toolbox, words: str, kind: CheckType, outcome: Outcome, reason: Reason
) -> None:
    made, transcript = ask(toolbox, words)

    assert (made.task.type, made.verdict.outcome, made.verdict.reason) == (kind, outcome, reason)
    assert made.conclusion == f"{made.task} is {outcome}: {reason.replace('_', ' ')}"
    assert made.verdict == verdict(made.task.judged_as, made.verdict.evidence, gaps_of(transcript))
    assert not [e for e in transcript.events if e.refused]


@pytest.mark.parametrize(
    ("stance", "outcome", "reason", "state", "code"),
    [
        (Stance.SUPPORTS, Outcome.SUPPORTED, Reason.CONFIRMED, GraphState.LACKS_IT, 1),
        (Stance.CONTRADICTS, Outcome.REFUTED, Reason.ID_DELETED, GraphState.RIGHTLY_ABSENT, 0),
        (Stance.SILENT, Outcome.REFUTED, Reason.UNKNOWN_ID, GraphState.RIGHTLY_ABSENT, 0),
    ],
)
def test_of_a_node_that_the_graph_lacks_it_is_said_whether_it_should_have_it(
    stance: Stance, outcome: Outcome, reason: Reason, state: GraphState, code: int
) -> None:
    said = evidence(stance).model_copy(update={"reason": reason if stance is Stance.CONTRADICTS else None})
    made, transcript = ask(Toolbox(graph(), OneSource(said)), "existence Protein P15056")

    assert (made.verdict.outcome, made.verdict.reason, made.change) == (outcome, reason, None)
    assert TallyMark.of(made.task.type, outcome).graph is state
    assert exit_code([_tally(made)]) == code
    assert replay(transcript.events, SCHEMA).same
    there, _ = ask(Toolbox(graph(), OneSource(said)), "existence Protein P04637")
    assert there.task.type is CheckType.EXISTENCE


def _tally(made: TeamConclusion) -> Tally:
    task, judged = made.task, made.verdict
    return Tally(type=task.type, target=Target.of(task), outcome=judged.outcome, reason=judged.reason, count=1)


def gaps_of(transcript: Transcript) -> list[Gap]:
    told = [gap for e in transcript.events if e.result for gap in e.result.get("gaps", ())]
    return [Gap(source, Reason(cause)) for source, cause in told]


@pytest.mark.slow
def test_a_check_comes_to_what_the_audit_found(toolbox: Toolbox) -> None:
    """One verdict function: every finding of the demo's audit, asked for by itself, is the same finding."""
    asked = [f for f in demo_audited().findings if f.task.type is not CheckType.STRUCTURE]

    for finding in asked:
        task = finding.task
        if task.object and task.attribute:
            ends = task.subject.id, task.relation or "", task.object.id
            made, transcript = ask(toolbox, "attribute", *ends, task.attribute)
            assert replay(transcript.events, SCHEMA).same
        elif task.object:
            made, _ = ask(toolbox, task.subject.id, task.relation or "", task.object.id)
        elif task.attribute:
            made, _ = ask(toolbox, "attribute", task.subject.label, task.subject.id, task.attribute)
        else:
            made, _ = ask(toolbox, "existence", task.subject.label, task.subject.id)
        assert (made.task, made.verdict, made.change) == (task, finding.verdict, finding.change)
    assert len(asked) > 70
    assert any(f.task.object and f.task.attribute for f in asked)


Row = tuple[str, str, float | None, str]
SCORE = "attribute P04637 ACTS_ON Q00987 score"


def edges_of(*rows: Row) -> MemoryStore:
    proteins: list[dict[str, Any]] = [{"id": i, "name": f"name of {i}"} for i in ("P04637", "Q00987")]
    edges = [{"head": h, "tail": t, "score": s, "source": cited} for h, t, s, cited in rows]
    return MemoryStore({"Protein": proteins}, {ACTS_ON: edges})


@pytest.mark.parametrize(
    ("rows", "value"),
    [
        ([("P04637", "Q00987", 0.9, "STRING")], "0.9"),
        ([("Q00987", "P04637", 0.9, "STRING")], "0.9"),
        ([("P04637", "Q00987", 0.9, "STRING"), ("P04637", "Q00987", 0.4, "STRING")], "0.4"),
        ([("P04637", "Q00987", 0.9, "STRING"), ("P04637", "Q00987", None, "STRING")], None),
        ([("P04637", "Q00987", 0.9, "STRING"), ("P04637", "Q00987", 0.4, "IntAct")], "0.9"),
        ([("P04637", "Q00987", 0.9, "STRING"), ("P04637", "Q00987", -1.0, "STRING")], "0.9"),
        ([("Q00987", "P04637", 0.4, "STRING"), ("P04637", "Q00987", 0.9, "STRING")], "0.9"),
        ([("Q00987", "P04637", 0.4, "STRING"), ("P04637", "Q00987", 0.9, "IntAct")], "0.4"),
    ],
)
@pytest.mark.parametrize("words", [SCORE, "attribute P04637 ACTS_ON name of Q00987 score"])
def test_which_of_parallel_edges_has_the_score(rows: list[Row], value: str | None, words: str) -> None:
    task = ask(Toolbox(edges_of(*rows), OneSource(evidence())), words)[0].task
    asked, turned = "P04637 ACTS_ON Q00987.score", "Q00987 ACTS_ON P04637.score"
    cites = [head for head, _, _, cited in rows if cited.lower() == "string"]

    assert (task.type, task.value) == (CheckType.ATTRIBUTE, value)
    assert str(task) == (asked if "P04637" in cites else turned)


@pytest.mark.slow
@settings(max_examples=100)
@given(
    st.lists(
        st.tuples(
            st.none() | st.sampled_from([-1.0, 0.0, 0.1, 0.769, 1e-7, 769.0]) | st.floats(0, 1000),
            st.sampled_from(["STRING", "string", "IntAct", "STRING (text)"]) | st.none(),
        ),
        max_size=5,
    )
)
def test_sql_and_one_edge_choose_the_same_score(edges: list[tuple[float | None, str | None]]) -> None:
    pattern = SCHEMA.pattern("Protein", "ACTS_ON", "Protein")
    with duckdb.connect() as db:
        db.execute("CREATE TABLE edge (head VARCHAR, tail VARCHAR, score DOUBLE, source VARCHAR)")
        for score, source in edges:
            db.execute("INSERT INTO edge VALUES ('a', 'b', $score, $source)", {"score": score, "source": source})
        chosen = db.execute(scores_to_check(pattern, "score", "edge")).fetchall()

    scores = scores_of(pattern, "score", [{"score": score, "source": source} for score, source in edges])
    assert chosen == [("a", "b", value_text(score)) for score in scores[:1]]


@pytest.mark.parametrize(
    ("rows", "error", "message", "hint"),
    [
        ([], UnknownName, "there is no edge 'P04637 ACTS_ON Q00987'", "kgcheck check 'P04637 ACTS_ON Q00987'"),
        (
            [("P04637", "Q00987", 0.9, "IntAct"), ("P04637", "Q00987", 0.9, "")],
            UsageError,
            "the edge P04637 ACTS_ON Q00987 does not cite STRING",
            "it cites IntAct, nothing",
        ),
        ([("P04637", "Q00987", -1.0, "STRING")], UsageError, "has no score to check, but -1", "--type structure"),
    ],
)
def test_an_edge_without_a_score_to_check_says_why(
    rows: list[Row], error: type[UsageError], message: str, hint: str
) -> None:
    with pytest.raises(error) as caught:
        ask(Toolbox(edges_of(*rows), OneSource(evidence())), SCORE)

    assert message in caught.value.message
    assert hint in caught.value.hint


def test_a_score_that_was_not_asked_for_or_not_seen_is_refused() -> None:
    request = parse_request([SCORE], SCHEMA)
    store = edges_of(("P04637", "Q00987", 0.4, "STRING"), ("P04637", "Q00987", 0.9, "STRING"))
    toolbox, seen = Toolbox(store, OneSource()), TeamResults()
    good = TRIPLE.model_copy(update={"type": CheckType.ATTRIBUTE, "attribute": "score", "value": "0.4"})
    for action in NODES:
        result = toolbox.call(AgentRole.KG, action.tool, action.arguments)
        seen.nodes[call_key(action.tool, action.arguments)] = result  # type: ignore[assignment]
    with pytest.raises(UsageError):
        check_supported(good, request, seen)
    result = toolbox.call(AgentRole.KG, EDGES.tool, EDGES.arguments)
    seen.edges[call_key(EDGES.tool, EDGES.arguments)] = result  # type: ignore[assignment]

    check_supported(good, request, seen)
    changes = ({"value": "0.9"}, {"value": None}, {"attribute": None}, {"type": CheckType.TRIPLE}, {"object": TP53})
    for change in changes:
        with pytest.raises(UsageError):
            check_supported(good.model_copy(update=change), request, seen)
    with pytest.raises(UsageError):
        check_supported(good, REQUEST, seen)


def test_a_name_of_several_nodes_is_ambiguous(toolbox: Toolbox) -> None:
    with pytest.raises(AmbiguousName, match="several Disease nodes are called 'autosomal dominant disease'") as caught:
        ask(toolbox, "autosomal dominant disease HAS_PARENT DOID:0050739")

    name = "autosomal dominant disease"
    assert caught.value.hint == f"name one by its id: DOID:0050736 ({name}), DOID:0080002 ({name})"


def named(*labels: str, edge_to: str | None = None) -> Toolbox:
    ids = {"Tissue": "BTO:0000142", "Disease": "DOID:162"}
    nodes = {label: [{"id": ids[label], "name": "brain"}] for label in labels}
    edges = {f"Protein ASSOCIATED_WITH {edge_to}": [{"head": "P04637", "tail": ids[edge_to]}]} if edge_to else {}
    return Toolbox(MemoryStore({"Protein": [{"id": "P04637"}], **nodes}, edges), OneSource(evidence()))


def test_a_name_under_several_labels_is_ambiguous() -> None:
    with pytest.raises(AmbiguousName, match="may mean several edges") as caught:
        ask(named("Tissue", "Disease"), "P04637 ASSOCIATED_WITH brain")

    assert "Tissue BTO:0000142" in caught.value.hint
    assert "Disease DOID:162" in caught.value.hint


@pytest.mark.parametrize(
    ("toolbox", "kind", "meant"),
    [
        (named("Tissue", "Disease", edge_to="Disease"), CheckType.TRIPLE, Ref(label="Disease", id="DOID:162")),
        (named("Tissue"), CheckType.POTENTIAL, Ref(label="Tissue", id="BTO:0000142")),
    ],
)
def test_of_a_name_the_edge_that_exists_or_the_only_label_is_meant(
    toolbox: Toolbox, kind: CheckType, meant: Ref
) -> None:
    made, _ = ask(toolbox, "P04637 ASSOCIATED_WITH brain")

    assert (made.task.type, made.task.object) == (kind, meant)


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        ("P15O56 ACTS_ON P04049", "there is no node 'Protein P15O56'", "P15056"),
        ("P15056 ACTS_ON P15O56", "there is no node 'Protein P15O56'", "P15056"),
        ("attribute Protein P15057 name", "there is no node 'Protein P15057'", "P15056"),
        ("P15056 ASSOCIATED_WITH GO:9999999", "there is no node 'Cellular_component GO:9999999'", ""),
        ("P15056 ACTS_ON some unknown thing", "there is no Protein called 'some unknown thing'", "looks like P04637"),
    ],
)
def test_unknown_nodes_are_told_with_those_like_them(toolbox: Toolbox, words: str, message: str, hint: str) -> None:
    with pytest.raises(UnknownName) as caught:
        ask(toolbox, words)

    assert message in caught.value.message
    assert hint in caught.value.hint


# --- what is kept of a check


def check(tmp_path: Path, *words: str) -> Any:
    return kgcheck("check", *words, "--store", demo().store, "--reference", demo().reference, cwd=tmp_path)


def test_a_check_is_kept_in_the_ledger_with_its_transcript(tmp_path: Path) -> None:
    said = check(tmp_path, "MGEA5 TRANSLATED_INTO O60502", "--transcript", "--format", "json")

    assert said.code == 1
    with Ledger(tmp_path / ".kgcheck/ledger.sqlite") as ledger:
        (run,) = ledger.runs()
        (finding,) = ledger.findings(run)
        (tally,) = ledger.tallies(run)
    assert json.loads(said.out) == finding.as_row() | {"taken": []}
    assert (tally.outcome, tally.count) == (Outcome.REFUTED, 1)
    assert run.finished
    assert run.options["check"] == "MGEA5 TRANSLATED_INTO O60502"
    assert len(run.releases) == 34
    path = Path(run.options["transcript"])
    assert path == tmp_path / ".kgcheck/transcripts" / f"{run.id}.jsonl"
    events = [Event.model_validate_json(line) for line in path.read_text().splitlines()]
    assert [e.tool for e in events if e.tool] == ["node", "node", "edges", "reference_look_up"]
    assert [e.stage for e in events if not e.tool] == list(Stage)
    for event in events:
        assert f"[{event.stage.value}] {event.role.value}: " in said.err
    assert kgcheck("explain", finding.fingerprint[:8], cwd=tmp_path).code == 0


@pytest.mark.parametrize(
    ("words", "arguments", "code"),
    [
        ("existence Protein P15056", (), 0),
        ("existence Protein B4DFC2", (), 1),
        ("existence Protein B4DFC2", ("--fail-on", "never"), 0),
        ("existence Protein Q00015", (), 3),
        ("P15O56 ACTS_ON P04049", (), 2),
    ],
)
def test_exit_code_of_a_check(tmp_path: Path, words: str, arguments: tuple[str, ...], code: int) -> None:
    said = check(tmp_path, words, *arguments)

    assert said.code == code
    if code == 2:
        assert said.refuses(code=code)


@pytest.mark.parametrize("limit", [("--turns", "3"), ("--seconds", "0.000001")])
def test_a_check_that_stops_says_so_and_prints_its_verdict(tmp_path: Path, limit: tuple[str, str]) -> None:
    said = check(tmp_path, "existence Protein P15056", "--format", "json", *limit)
    found = json.loads(said.out)

    assert said.code == 3
    assert (found["outcome"], found["reason"], found["evidence"]) == ("unavailable", "budget_spent", [])
    assert found["subject"] == {"label": "Protein", "id": "P15056", "name": "BRAF"}
    assert "the check stopped in stage" in said.err
    assert "raise --turns or --seconds" in said.err
    kept = [path.read_text() for path in (tmp_path / ".kgcheck/transcripts").glob("*")]
    stages = [json.loads(line)["stage"] for text in kept for line in text.splitlines()]
    assert stages == (["plan", "kg query", "kg query"] if "--turns" in limit else [])
    with Ledger(tmp_path / ".kgcheck/ledger.sqlite") as ledger:
        assert [t.outcome for run in ledger.runs() for t in ledger.tallies(run)] == [Outcome.UNAVAILABLE]


def test_what_was_looked_at_before_a_check_stopped_decides(tmp_path: Path) -> None:
    """The fewest turns with which the sources are looked up: the leader never concludes."""
    turns = next(n for n in range(3, 12) if check(tmp_path, "existence Protein B4DFC2", "--turns", str(n)).code == 1)
    said = check(tmp_path, "existence Protein B4DFC2", "--turns", str(turns), "--format", "json")

    assert "the check stopped in stage" in said.err
    assert json.loads(said.out)["reason"] == "id_merged"


def test_a_check_without_a_snapshot_is_unavailable(tmp_path: Path) -> None:
    said = kgcheck("check", "existence Protein P15056", "--store", demo().store, "--format", "json", cwd=tmp_path)

    assert said.code == 3
    assert json.loads(said.out)["missing"] == ["uniprot (reference missing)"]
