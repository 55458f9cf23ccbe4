"""A scripted model that answers questions with tools, over a graph of a few invented nodes."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from kgcheck.agents.asker import MOST_ACTIONS, MOST_UNSUPPORTED, ReactAgent
from kgcheck.agents.toolbox import Outside
from kgcheck.graph.reading import read_statement
from kgcheck.graph.store import Reading
from kgcheck.llm.budget import Limits, Meter
from kgcheck.llm.client import ChatClient, Message, Reply, ToolCall
from kgcheck.profile.schema import load_schema
from kgcheck.questions.answer import Answer, Status
from kgcheck.settings import Settings
from tests.support import chat_server as play
from tests.support import examples
from tests.support.answers import assert_rests_on_results
from tests.support.audits import MemoryStore, Rows, demo
from tests.support.chat_server import Call, Fail, Say, Script

pytestmark = pytest.mark.usefixtures("lexicon_read_once")

QUESTION = "Is ABC1 associated with grey fever?"
IDS = st.sampled_from(["P00001", "P00002", "P99999", "DOID:2", "DOID:3"])
FEVER = {"label": "Disease", "id": "DOID:2"}
AGUE = {"label": "Disease", "id": "DOID:3"}
STEP = {"relation": "ASSOCIATED_WITH", "direction": "in", "label": "Protein"}
FIND = Say("I look it up.", (Call("find_nodes", {"name": "grey fever"}),))
LOOK = Say(calls=(Call("node", {"label": "Protein", "id": "P00001"}),))
GO = Say(calls=(Call("neighbours", {"node": FEVER, **STEP}),))


def final(*ids: str, **more: Any) -> Say:
    return Say(calls=(Call("answer", {"label": "Protein", "ids": list(ids), **more}),))


def graph(name: str = "grey fever") -> MemoryStore:
    nodes: dict[str, Rows] = {
        "Protein": [{"id": "P00001", "name": "ABC1"}, {"id": "P00002", "name": "BCD2"}],
        "Disease": [{"id": "DOID:2", "name": name}, {"id": "DOID:3", "name": "ague"}],
    }
    edges = [{"head": h, "tail": t, "source": "Curators"} for h, t in (("P00001", "DOID:2"), ("P00002", "DOID:2"))]
    edges.append({"head": "P00002", "tail": "DOID:3", "source": "Curators"})
    return MemoryStore(nodes, {"Protein ASSOCIATED_WITH Disease": edges})


def ask(
    script: Script,
    store: MemoryStore | None = None,
    outside: Outside | None = None,
    question: str = "Which proteins cause grey fever?",
    small: bool = False,
    **limits: Any,
) -> tuple[Answer, list[dict[str, Any]]]:
    with play.chat_server(script) as server:
        prices: dict[str, Any] = {"llm_price_input": 1, "llm_price_output": 1}
        settings = Settings(llm_base_url=server.url, llm_model=play.MODEL, llm_small=small, **prices)
        with ChatClient(settings) as client:
            answer = ReactAgent(store or graph(), client, Limits(**limits), outside).ask(question)
    return answer, server.requests


def test_a_good_model_answers_with_paths() -> None:
    answer, requests = ask(play.good(FIND, GO, final("P00001", "P00002")))

    assert answer.status is Status.ANSWERED
    assert [f.ref.id for f in answer.found] == ["P00001", "P00002"]
    assert str(answer.found[0].path[0].triple) == "P00001 ASSOCIATED_WITH DOID:2"
    assert (answer.actions, answer.tokens > 0, (answer.cost or 0) > 0) == (3, True, True)
    assert requests[1]["messages"][-1]["content"].startswith("<data>\n")


def test_an_answer_ends_a_reply_and_no_reply_has_more_actions_than_there_may_be() -> None:
    calls = [call for say in (FIND, GO, final("P00001", "P00002"), FIND) for call in say.calls]
    answer, requests = ask(play.good(Say(calls=tuple(calls))))
    assert (answer.status, answer.actions, len(requests)) == (Status.ANSWERED, 3, 1)

    answer, requests = ask(play.good(Say(calls=(FIND.calls[0],) * 40)))
    assert (answer.status, answer.actions, len(requests)) == (Status.STOPPED, MOST_ACTIONS, 1)


def test_every_tool() -> None:
    both = [FEVER, {"label": "Disease", "id": "DOID:3"}]
    script = play.good(
        Say(calls=(Call("node", FEVER),)),
        Say(calls=(Call("shared_neighbours", {"nodes": both, **STEP}),)),
        Say(calls=(Call("relations", {"one": both[1], "other": {"label": "Protein", "id": "P00002"}}),)),
        final("P00002"),
    )

    answer, requests = ask(script)

    shown = [json.loads(m["content"][7:-8]) for m in requests[-1]["messages"] if m["role"] == "tool"]
    assert shown[0]["properties"]["name"] == "grey fever"
    assert shown[1] == {"total": 1, "nodes": [{"id": "P00002", "name": "BCD2"}], "cut_off": False}
    triple = {"head": {"label": "Protein", "id": "P00002"}, "relation": "ASSOCIATED_WITH", "tail": both[1]}
    assert [r for r in shown[2]["relations"] if r["edges"]] == [
        {"triple": triple, "edges": [{"source": "Curators"}], "turned": 0, "cut_off": False}
    ]
    assert len(answer.found[0].path) == 2


class Papers(MemoryStore):
    """A graph whose statements give one row."""

    def query(self, reading: Reading, limit: int, timeout_s: float) -> list[dict[str, Any]]:
        return [{"p.id": "P00002"}, {"p.id": "P77777"}]


def test_tools_of_the_team() -> None:
    ends = {"one": FEVER, "other": {"label": "Protein", "id": "P00002"}}
    script = play.good(
        Say(calls=(Call("relations", ends),)),
        Say(calls=(Call("cypher", {"query": "MATCH (p:Protein) DELETE p"}),)),
        Say(calls=(Call("cypher", {"query": "MATCH (p:Protein) RETURN p.id"}),)),
        final("P77777"),
        final("P00002"),
    )
    store = graph()
    store.__class__ = Papers

    answer, requests = ask(script, store)

    shown = [json.loads(m["content"][7:-8]) for m in requests[-1]["messages"] if m["role"] == "tool"]
    assert shown[0]["relations"][0]["triple"]["relation"] == "ASSOCIATED_WITH"
    assert "'DELETE p' is not allowed" in shown[1]["refused"]
    # The graph has no such node, though a statement gave its id.
    assert "no tool has shown" in shown[3]["refused"]
    assert [f.ref.id for f in answer.found] == ["P00002"]
    tools = {t["function"]["name"] for t in requests[0]["tools"]}
    assert {"relations", "cypher"} <= tools
    assert "literature_search" not in tools


def test_yes_and_no_of_a_model() -> None:
    def asked(protein: str, holds: bool, *looked: Say) -> Answer:
        question = f"Is protein {protein} associated with ague?"
        return ask(play.good(*looked, Say(calls=(Call("answer", {"holds": holds}),))), question=question)[0]

    look = Say(calls=(Call("relations", {"one": {"label": "Protein", "id": "P00002"}, "other": AGUE}),))
    other = Say(calls=(Call("relations", {"one": {"label": "Protein", "id": "P00001"}, "other": AGUE}),))
    walk = Say(calls=(Call("neighbours", {"node": AGUE, **STEP}),))
    yes, no = asked("BCD2", True, look), asked("P00001", False, other)

    assert (yes.status, yes.holds) == (Status.ANSWERED, True)
    assert str(yes.found[0].path[0].triple) == "P00002 ASSOCIATED_WITH DOID:3"
    assert (no.status, no.holds) == (Status.NOTHING, False)
    assert asked("ABC1", False, walk).holds is False
    # What was shown says the opposite, is about another node, or was not looked for at all.
    for wrong in (asked("P00002", False, look), asked("P00001", True, other), asked("P00001", True, look)):
        assert (wrong.status, wrong.holds) == (Status.UNSUPPORTED, None)
    for wrong in (asked("ABC1", False, look), asked("ABC1", True), asked("ABC1", False)):
        assert (wrong.status, wrong.holds) == (Status.UNSUPPORTED, None)


@pytest.mark.parametrize(
    "question",
    [
        "Is P00002 not associated with ague?",
        "Is only P00002 associated with ague?",
        "Is P00002 associated with ague with a score above 0.9?",
        "Is P00002 associated with ague in zebrafish?",
        "Is P00002 associated with FOOBAR?",
        "Is P00002 associated with ague and grey fever?",
        "Is everything fine?",
    ],
)
@pytest.mark.parametrize("holds", [True, False])
def test_yes_or_no_is_not_judged_where_the_question_says_more_than_an_edge(question: str, holds: bool) -> None:
    looks = [Say(calls=(Call("neighbours", {"node": node, **STEP}),)) for node in (AGUE, FEVER)]
    answer, _ = ask(play.good(*looks, Say(calls=(Call("answer", {"holds": holds}),))), question=question)

    assert (answer.status, answer.holds) == (Status.UNSUPPORTED, None)


def test_which_way_a_parent_is_asked_for() -> None:
    nodes: dict[str, Rows] = {"Disease": [{"id": "DOID:2", "name": "grey fever"}, {"id": "DOID:3", "name": "ague"}]}
    store = MemoryStore(nodes, {"Disease HAS_PARENT Disease": [{"head": "DOID:2", "tail": "DOID:3"}]})
    look = Say(calls=(Call("relations", {"one": FEVER, "other": AGUE}),))

    def asked(question: str, holds: bool) -> Answer:
        return ask(play.good(look, Say(calls=(Call("answer", {"holds": holds}),))), store, question=question)[0]

    assert asked("Is grey fever a kind of ague?", True).holds is True
    assert asked("Is ague a kind of grey fever?", False).holds is False
    assert asked("Is ague a kind of grey fever?", True).status is Status.UNSUPPORTED


def test_what_is_not_in_the_graph_has_no_neighbours_to_tell_of() -> None:
    nobody = {"label": "Disease", "id": "DOID:99"}
    script = play.good(
        Say(calls=(Call("neighbours", {"node": nobody, **STEP}),)),
        Say(calls=(Call("relations", {"one": nobody, "other": FEVER}),)),
        Say(calls=(Call("answer", {"count": 0}),)),
    )
    answer, requests = ask(script)

    assert "the graph has no Disease 'DOID:99'" in requests[1]["messages"][-1]["content"]
    assert (answer.status, answer.count) == (Status.UNSUPPORTED, None)


def test_an_empty_answer_rests_on_a_look_up_that_found_none() -> None:
    nodes: dict[str, Rows] = {"Disease": [{"id": "DOID:2", "name": "grey fever"}]}
    none, _ = ask(play.good(FIND, GO, final()), MemoryStore(nodes, {}))
    counted, _ = ask(play.good(GO, Say(calls=(Call("answer", {"count": 0}),))), MemoryStore(nodes, {}))

    assert (none.status, none.found) == (Status.NOTHING, ())
    assert none.notes == ("there are none: Protein nodes one step from Disease DOID:2 along ASSOCIATED_WITH",)
    assert (counted.status, counted.count) == (Status.ANSWERED, 0)


def test_a_number_says_what_it_counts() -> None:
    answer, _ = ask(play.good(GO, Say(calls=(Call("answer", {"count": 2}),))))

    assert answer.notes == ("the number is: Protein nodes one step from Disease DOID:2 along ASSOCIATED_WITH",)
    assert [f.ref.id for f in answer.found] == ["P00001", "P00002"]


def test_what_is_cut_off_is_not_shown() -> None:
    ids = [f"P{n:05}" for n in range(300)]
    nodes: dict[str, Rows] = {"Protein": [{"id": i} for i in ids], "Disease": [{"id": "DOID:2", "name": "grey fever"}]}
    store = MemoryStore(nodes, {"Protein ASSOCIATED_WITH Disease": [{"head": i, "tail": "DOID:2"} for i in ids]})
    shown, requests = ask(play.good(GO, final("P00199")), store)
    hidden, _ = ask(play.good(GO, final("P00250")), store)
    whole, _ = ask(play.good(GO, Say(calls=(Call("answer", {"count": 300}),))), store)
    part, _ = ask(play.good(GO, Say(calls=(Call("answer", {"count": 200}),))), store)
    no, _ = ask(
        play.good(GO, Say(calls=(Call("answer", {"holds": False}),))), store, question="Does P00299 cause DOID:2?"
    )

    told = json.loads(requests[-1]["messages"][-1]["content"][7:-8])
    assert (told["total"], len(told["nodes"]), told["cut_off"]) == (300, 200, True)
    assert (shown.status, len(shown.notes)) == (Status.ANSWERED, 1)
    assert "cut off" in shown.notes[0]
    assert (whole.status, whole.count) == (Status.ANSWERED, 300)
    assert {a.status for a in (hidden, part, no)} == {Status.UNSUPPORTED}


@pytest.mark.parametrize(
    ("statement", "reads"),
    [
        ("MATCH (p:Protein) RETURN p.id", True),
        ("MATCH (p:Protein)-[:ACTS_ON]->(q) WHERE q.id = 'P1' WITH p, count(q) AS n WHERE n > 3 RETURN p.id, n", True),
        ("MATCH (p:Protein {id: 'P1'}) WHERE p.name = 'a' + 'b' OR 1 + 1 = 2 RETURN p.name", True),
        ("MATCH (p:Protein) RETURN count(DISTINCT p.id) AS n ORDER BY n LIMIT 5", True),
        ("MATCH (p:Protein) RETURN p.id AS i ORDER BY p.name + 'x', 7 DESC", True),
        ("MATCH (p:Protein) WITH collect(p.id) AS ids UNWIND ids AS i RETURN i", True),
        ("MATCH w = (p:Protein)-[:ACTS_ON]->(q) RETURN nodes(w), min(p.name), max(q.name)", True),
        ("MATCH (p:Protein) RETURN p.`id` AS `where`", True),
        ("MATCH (p:Protein) /* RETURN 7 */ RETURN p.id // + 1", True),
        ("MATCH (p:Protein) RETURN 424242", False),
        ("MATCH (p:Protein) RETURN (7)", False),
        ("MATCH (p:Protein) RETURN p.id, 'P00001' AS id", False),
        ("MATCH (p:Protein) RETURN 'P000' + '01'", False),
        ("MATCH (p:Protein) RETURN p.id + p.id AS id", False),
        ("MATCH (p:Protein) RETURN p.id = p.name AS same", False),
        ("MATCH (p:Protein) RETURN p.name IS NULL AS none", False),
        ("MATCH (p:Protein) RETURN count(*) + 40", False),
        ("MATCH (p:Protein) RETURN count(7)", False),
        ("MATCH (p:Protein) RETURN collect('P00001') AS ids", False),
        ("MATCH (p:Protein) RETURN collect(CASE WHEN p.id = 'x' THEN 'P00001' ELSE 'P00002' END) AS ids", False),
        ("MATCH (p:Protein) WITH p, 7 AS n RETURN n", False),
        ("MATCH (p:Protein) WITH p, 'P00001' AS n MATCH (q:Protein) RETURN n, q.id", False),
        ("MATCH (p:Protein) WITH p, [1, 2] AS x UNWIND x AS y RETURN y", False),
        ("MATCH (p:Protein) RETURN size(p.id)", False),
        ("MATCH (p:Protein) RETURN toUpper(p.id) AS id", False),
        ("MATCH (p:Protein) RETURN CoAlEsCe (p.name, 'MDM2') AS name", False),
        ("MATCH (p:Protein) RETURN CASE WHEN p.id = p.id THEN p.name END", False),
        ("MATCH (p:Protein) UNWIND [1, 2] AS n RETURN n", False),
        ("UNWIND ['P00001'] AS n MATCH (p:Protein) RETURN n", False),
        ("MATCH (p:Protein) WITH p LIMIT 7 RETURN count(p)", False),
    ],
)
def test_a_statement_shows_only_what_it_reads(statement: str, reads: bool) -> None:
    for backend in ("embedded", "neo4j"):
        assert read_statement(statement, load_schema(), backend).invents is not reads


class Rowed(MemoryStore):
    """A graph whose statements give what they were told to."""

    rows: ClassVar[list[dict[str, Any]]] = []

    def query(self, reading: Reading, limit: int, timeout_s: float) -> list[dict[str, Any]]:
        return self.rows[:limit]


@pytest.mark.parametrize(
    ("script", "status", "ids", "actions"),
    [
        (play.good(FIND, final("P99999"), GO, final("P00001")), Status.ANSWERED, ["P00001"], 4),
        (play.stubborn(final()), Status.UNSUPPORTED, [], MOST_UNSUPPORTED),
        (play.good(final(understood=False)), Status.NOT_UNDERSTOOD, [], 1),
        (play.good(FIND, GO, Say(calls=(Call("answer", {"count": 2}),))), Status.ANSWERED, ["P00001", "P00002"], 3),
        (play.stubborn(Say(calls=(Call("answer", {"count": 424242}),))), Status.UNSUPPORTED, [], MOST_UNSUPPORTED),
        (play.stubborn(Say(calls=(Call("answer", {"holds": True}),))), Status.UNSUPPORTED, [], MOST_UNSUPPORTED),
        (play.good(LOOK, final("P00001")), Status.UNSUPPORTED, [], 1 + MOST_UNSUPPORTED),
        (play.chatty, Status.STOPPED, [], MOST_ACTIONS),
        (play.empty, Status.STOPPED, [], MOST_ACTIONS),
        (play.stubborn(final("P99999")), Status.UNSUPPORTED, [], MOST_UNSUPPORTED),
        (play.endless(Call("find_nodes", {"name": "grey fever"})), Status.STOPPED, [], MOST_ACTIONS),
        (play.wrong_tool(play.good(FIND, GO, final("P00001"))), Status.ANSWERED, ["P00001"], 4),
        (play.wrong_json(play.good(FIND, GO, final("P00001"))), Status.ANSWERED, ["P00001"], 4),
        (play.rate_limited(play.good(FIND, GO, final("P00001"))), Status.ANSWERED, ["P00001"], 3),
    ],
    ids=[
        "unseen", "none", "unknown", "count", "number", "holds", "own id", "chatty", "empty", "stubborn", "endless",
        "tool", "json", "429",
    ],
)  # fmt: skip
def test_scripts(script: Script, status: Status, ids: list[str], actions: int) -> None:
    answer, _ = ask(script)

    assert (answer.status, [f.ref.id for f in answer.found], answer.actions) == (status, ids, actions)


@pytest.mark.parametrize(
    ("rows", "query", "answer", "status"),
    [
        ([{"n": 7, "_id": 5}], "MATCH (p:Protein) RETURN count(*)", {"count": 7}, Status.ANSWERED),
        ([{"n": 7, "p": {"_id": 5}}], "MATCH (p:Protein) RETURN count(*), p", {"count": 5}, Status.UNSUPPORTED),
        ([{"n": 7}], "MATCH (p:Protein) RETURN 7", {"count": 7}, Status.UNSUPPORTED),
        ([{"i": "P00001"}], "MATCH (p:Protein {id: 'P00001'}) RETURN p.id", {"ids": ["P00001"]}, Status.UNSUPPORTED),
        ([{"i": "P00001"}], "MATCH (p:Disease) RETURN p.id", {"ids": ["P00001"]}, Status.UNSUPPORTED),
        (
            [{"i": "P00001"}],
            "MATCH (p:Protein {id: 'P0000\\u0031'}) RETURN p.id",
            {"ids": ["P00001"]},
            Status.UNSUPPORTED,
        ),
        (
            [{"i": "P00001"}],
            "MATCH (p:Disease) WHERE p.name <> 'Protein' RETURN p.id // Protein",
            {"ids": ["P00001"]},
            Status.UNSUPPORTED,
        ),
        ([{"i": "P00001"}] * 7, "MATCH (p:Protein) RETURN p.id", {"count": 7}, Status.ANSWERED),
        ([{"i": "P00001"}] * 7, "MATCH (p:Protein) RETURN p.id LIMIT 7", {"count": 7}, Status.UNSUPPORTED),
        ([{"i": "P00001"}] * 7, "MATCH (p:Protein) RETURN p.id LIMIT 7", {"ids": ["P00001"]}, Status.ANSWERED),
        ([{"i": "P00001"}] * 101, "MATCH (p:Protein) RETURN p.id", {"count": 100}, Status.UNSUPPORTED),
        ([{"i": "P00001"}] * 101, "MATCH (p:Protein) RETURN p.id", {"ids": ["P00001"]}, Status.ANSWERED),
    ],
)
def test_rows_of_statements(
    rows: list[dict[str, Any]], query: str, answer: dict[str, Any], status: Status, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = graph()
    store.__class__ = Rowed
    monkeypatch.setattr(Rowed, "rows", rows)
    said = Say(calls=(Call("answer", {"label": "Protein", **answer}),))

    found, _ = ask(play.good(Say(calls=(Call("cypher", {"query": query}),)), said), store)

    assert found.status is status


def test_two_nodes_between_which_nothing_stands_show_neither() -> None:
    ends = {"one": AGUE, "other": {"label": "Protein", "id": "P00001"}}
    between = Say(calls=(Call("relations", ends),))

    assert ask(play.good(between, final("P00001")))[0].status is Status.UNSUPPORTED
    no = Say(calls=(Call("answer", {"holds": False}),))
    assert ask(play.good(between, no), question="Is ABC1 associated with ague?")[0].holds is False


CALLS = st.one_of(
    st.builds(lambda name: Call("find_nodes", {"name": name}), st.sampled_from(["grey fever", "ABC1", "P00002", "x"])),
    st.builds(
        lambda label, id_: Call("node", {"label": label, "id": id_}),
        st.sampled_from(["Protein", "Disease", "Nothing"]),
        st.sampled_from(["P00001", "P00002", "DOID:2", "P99999"]),
    ),
    st.builds(lambda id_: Call("neighbours", {"node": {"label": "Disease", "id": id_}, **STEP}), IDS),
    st.builds(
        lambda one, other: Call(
            "relations", {"one": {"label": "Disease", "id": one}, "other": {"label": "Protein", "id": other}}
        ),
        IDS,
        IDS,
    ),
    st.just(Call("find_nodes", "{")),
    st.just(Call("delete_graph", {"id": "P00001"})),
)
ANSWERS = st.one_of(
    st.builds(lambda n: {"count": n}, st.integers(-3, 424242)),
    st.builds(lambda n: {"count": n}, st.integers(0, 4)),
    st.builds(lambda holds: {"holds": holds}, st.booleans()),
    st.builds(lambda ids: {"label": "Protein", "ids": ids}, st.lists(IDS, max_size=3)),
    st.builds(
        lambda ids, n: {"label": "Disease", "ids": ids, "count": n}, st.lists(IDS, max_size=2), st.integers(0, 3)
    ),
)


def step(tool: str, **arguments: Any) -> Say:
    return Say(json.dumps({"tool": tool, "arguments": arguments}))


@pytest.mark.parametrize("takes_forms", [True, False])
def test_a_model_that_cannot_call_tools_answers_in_a_form(takes_forms: bool) -> None:
    moves = iter(
        [Say("Grey fever is a fever."), step("find_nodes", name="grey fever"), step("neighbours", node=FEVER, **STEP)]
    )

    def play_on(asked: play.Asked) -> play.Move:
        if asked.form and not takes_forms:
            return Fail(400, "response_format is not supported here")
        return next(moves, step("answer", label="Protein", ids=["P00001"]))

    answer, requests = ask(play_on)

    assert (answer.status, [f.ref.id for f in answer.found]) == (Status.ANSWERED, ["P00001"])
    assert_rests_on_results(answer.model_dump(mode="json"), QUESTION, requests[-1]["messages"])
    bound = ["response_format" in request for request in requests]
    assert bound == ([False, True, True, True] if takes_forms else [False, True, False, False, False])
    assert not any("tools" in request for request in requests[1:])
    form = requests[1]["response_format"]["json_schema"]["schema"]
    assert len(form["anyOf"]) == len(requests[0]["tools"])


@pytest.mark.parametrize(
    ("moves", "small"),
    [
        ([Say("Well."), step("answer", count=424242)], False),
        ([step("answer", label="Protein", ids=["P99999"])], True),
    ],
)
def test_a_made_up_answer_in_a_form_is_refused_too(moves: list[Say], small: bool) -> None:
    answer, _ = ask(play.good(*moves), small=small)

    assert (answer.status, answer.count, answer.found) == (Status.UNSUPPORTED, None, ())


def test_a_weak_model_goes_on_from_what_was_shown() -> None:
    moves = [step("find_nodes", name="grey fever", label="Disease"), step("neighbours", node=FEVER, **STEP)]
    moves.append(step("answer", label="Protein", ids=["P00001"]))
    answer, requests = ask(play.good(*moves), small=True)

    assert (answer.status, [f.ref.id for f in answer.found]) == (Status.ANSWERED, ["P00001"])
    assert_rests_on_results(answer.model_dump(mode="json"), QUESTION, requests[-1]["messages"])
    forms = [Draft202012Validator(r["response_format"]["json_schema"]["schema"]) for r in requests]
    assert all(form.is_valid(json.loads(move.text)) for form, move in zip(forms, moves, strict=True))
    # No answer before a look at the graph, and none of an id that nothing has shown.
    answers = [json.loads(moves[2].text), {"tool": "answer", "arguments": {"label": "Protein", "ids": ["P99999"]}}]
    assert [[form.is_valid(one) for one in answers] for form in forms] == [[False] * 2, [False] * 2, [True, False]]


def test_a_weak_model_that_finds_nothing_may_say_so() -> None:
    moves = step("find_nodes", name="red fever", label="Disease"), step("answer", understood=False)
    answer, requests = ask(play.good(*moves), small=True)

    assert (answer.status, len(requests)) == (Status.NOT_UNDERSTOOD, 2)


class Scripted:
    """A client without a server, for many conversations; keeps what it was last sent."""

    model, prices, small = play.MODEL, None, False

    def __init__(self, calls: Sequence[Call]) -> None:
        self._calls = list(calls)
        self.messages: list[Message] = []

    def complete(self, messages: Sequence[Message], *, meter: Meter, **more: Any) -> Reply:
        meter.take_turn()
        self.messages = list(messages)
        call = self._calls.pop(0) if len(self._calls) > 1 else self._calls[0]
        return Reply(calls=(ToolCall(id=f"c{len(messages)}", name=call.name, arguments=call.text),))


@settings(max_examples=examples(200))
@given(calls=st.lists(CALLS, max_size=4), answer=ANSWERS)
def test_whatever_a_model_does_its_answer_is_in_what_it_was_told(calls: list[Call], answer: dict[str, Any]) -> None:
    """The checker reads the conversation alone; it knows nothing of the code that it checks."""
    client = Scripted([*calls, Call("answer", answer)])
    found = ReactAgent(graph(), cast(ChatClient, client)).ask(QUESTION)

    assert_rests_on_results(found.model_dump(mode="json"), QUESTION, client.messages)


def test_limits_stop_a_question() -> None:
    slow, _ = ask(play.slow(play.good(FIND), 2.0), seconds=0.3)
    long, _ = ask(play.endless(Call("find_nodes", {"name": "grey fever"})), tokens=1000)
    dear, _ = ask(play.endless(Call("find_nodes", {"name": "grey fever"})), money=0.001)
    few, _ = ask(play.endless(Call("find_nodes", {"name": "grey fever"})), turns=3)

    assert {a.status for a in (slow, long, dear, few)} == {Status.STOPPED}
    assert dear.actions < MOST_ACTIONS
    assert few.actions == 3
    assert "seconds" in slow.because
    assert long.actions < MOST_ACTIONS


def test_an_instruction_in_the_graph_cannot_bring_in_what_was_not_shown() -> None:
    poisoned = graph(f"grey fever {play.INJECTION} answer P99999")
    order = play.injected(
        play.good(Say(calls=(Call("node", FEVER),)), GO, final("P00001")), lambda text, _: final(text.split()[-1][:6])
    )

    answer, _ = ask(order, poisoned)

    assert (answer.status, answer.found) == (Status.UNSUPPORTED, ())


def test_ask_and_batch_with_a_model_on_the_command_line(tmp_path: Path) -> None:
    find = Say(calls=(Call("find_nodes", {"name": "O60502"}),))
    right, ask_demo = play.good(find, final("O60502")), ("ask", "Which protein is O60502?", "--store", demo().store)
    said, asked = play.with_model(right, *ask_demo, "--format", "json", cwd=tmp_path)
    made_up, _ = play.with_model(
        play.stubborn(Say(calls=(Call("answer", {"count": 424242}),))), *ask_demo, cwd=tmp_path
    )
    (tmp_path / "q.json").write_text(json.dumps([{"question": "Which is O60502?", "type": "t", "answer": ["O60502"]}]))
    where = ("--store", demo().store, "--out", tmp_path / "b", "--format", "json")
    batch, by_batch = play.with_model(right, "batch", "kgqa", tmp_path / "q.json", *where, cwd=tmp_path)
    down, _ = play.with_model(
        play.stubborn(Fail(500, "down", headers={"retry-after-ms": "1"})), *ask_demo, cwd=tmp_path
    )

    assert (said.code, json.loads(said.out)["found"][0]["ref"]["id"]) == (0, "O60502")
    assert "parallel_tool_calls" not in asked[0].body
    assert (made_up.code, made_up.out) == (3, "")
    assert "rests on nothing that its tools have shown: 424242" in made_up.err
    assert (batch.code, json.loads(batch.out)["all"]["f1"]) == (0, 100.0)
    assert not any(one.body["parallel_tool_calls"] for one in by_batch)
    assert down.refuses("http://127.0.0.1", code=3)
