"""A scripted model that answers questions with tools, over a graph of a few invented nodes."""

import json
from pathlib import Path
from typing import Any

import pytest

from kgcheck.agents.outside import Outside
from kgcheck.agents.react import MOST_ACTIONS, ReactAgent
from kgcheck.chat import ChatClient
from kgcheck.errors import ModelAccess, ModelContext, ModelUnavailable
from kgcheck.graph.store import Reading
from kgcheck.kgqa.answer import Answer, Status
from kgcheck.settings import Settings
from kgcheck.spending import Limits
from tests.support import chat_server as play
from tests.support.audits import MemoryStore, Rows, demo, kgcheck
from tests.support.chat_server import Call, Fail, Say, Script

FEVER = {"label": "Disease", "id": "DOID:2"}
STEP = {"relation": "ASSOCIATED_WITH", "direction": "in", "label": "Protein"}
FIND = Say("I look it up.", (Call("find", {"name": "grey fever"}),))
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
    script: Script, store: MemoryStore | None = None, outside: Outside | None = None, **limits: Any
) -> tuple[Answer, list[dict[str, Any]]]:
    with play.chat_server(script) as server:
        settings = Settings(llm_base_url=server.url, llm_model=play.MODEL, llm_price_input=1, llm_price_output=1)
        with ChatClient(settings) as client:
            answer = ReactAgent(store or graph(), client, Limits(**limits), outside).ask(
                "Which proteins cause grey fever?"
            )
    return answer, server.requests


def test_a_good_model_answers_with_paths() -> None:
    answer, requests = ask(play.good(FIND, GO, final("P00001", "P00002")))

    assert answer.status is Status.ANSWERED
    assert [f.ref.id for f in answer.found] == ["P00001", "P00002"]
    assert str(answer.found[0].path[0].triple) == "P00001 ASSOCIATED_WITH DOID:2"
    assert (answer.actions, answer.tokens > 0, (answer.cost or 0) > 0) == (3, True, True)
    assert requests[1]["messages"][-1]["content"].startswith("<data>\n")


def test_every_tool() -> None:
    both = [FEVER, {"label": "Disease", "id": "DOID:3"}]
    script = play.good(
        Say(calls=(Call("node", FEVER),)),
        Say(calls=(Call("shared", {"nodes": both, **STEP}),)),
        Say(calls=(Call("edges", {"one": both[1], "other": {"label": "Protein", "id": "P00002"}}),)),
        final("P00002"),
    )

    answer, requests = ask(script)

    shown = [json.loads(m["content"][7:-8]) for m in requests[-1]["messages"] if m["role"] == "tool"]
    assert shown[0]["attributes"]["name"] == "grey fever"
    assert shown[1] == [{"id": "P00002", "name": "BCD2"}]
    assert shown[2] == [{"triple": "P00002 ASSOCIATED_WITH DOID:3", "source": "Curators"}]
    assert len(answer.found[0].path) == 2


class Papers(MemoryStore):
    """A graph whose statements give one row."""

    def query(self, reading: Reading, limit: int, timeout_s: float) -> list[dict[str, Any]]:
        return [{"p.id": "P00002"}, {"p.id": "P77777"}]


def test_tools_of_the_team() -> None:
    ends = {"one": FEVER, "other": {"label": "Protein", "id": "P00002"}}
    script = play.good(
        Say(calls=(Call("kg_relations", ends),)),
        Say(calls=(Call("kg_cypher", {"query": "MATCH (p:Protein) DELETE p"}),)),
        Say(calls=(Call("kg_cypher", {"query": "MATCH (p:Protein) RETURN p.id"}),)),
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
    assert {"kg_relations", "kg_cypher"} <= tools
    assert "literature_search" not in tools


def test_papers_are_searched_where_there_are_any() -> None:
    edge = {"head": {"label": "Protein", "id": "P00002"}, "relation": "ASSOCIATED_WITH", "tail": FEVER}
    script = play.good(Say(calls=(Call("literature_search", {"triple": edge}),)), final(understood=False))

    answer, requests = ask(script, outside=Outside())

    assert "literature_search" in {t["function"]["name"] for t in requests[0]["tools"]}
    assert '"not_available"' in requests[-1]["messages"][-1]["content"]
    assert answer.status is Status.NOT_UNDERSTOOD


def test_yes_and_no_of_a_model() -> None:
    yes, _ = ask(play.good(FIND, GO, final("P00001", holds=True)))
    no, _ = ask(play.good(FIND, final(holds=False)))

    assert (yes.status, yes.holds, len(yes.found)) == (Status.ANSWERED, True, 1)
    assert (no.status, no.holds) == (Status.NOTHING, False)


@pytest.mark.parametrize(
    ("script", "status", "ids", "actions"),
    [
        (play.good(FIND, final("P99999"), GO, final("P00001")), Status.ANSWERED, ["P00001"], 4),
        (play.good(final()), Status.NOTHING, [], 1),
        (play.good(final(understood=False)), Status.NOT_UNDERSTOOD, [], 1),
        (play.good(FIND, GO, Say(calls=(Call("answer", {"count": 2}),))), Status.ANSWERED, [], 3),
        (play.chatty, Status.STOPPED, [], MOST_ACTIONS),
        (play.empty, Status.STOPPED, [], MOST_ACTIONS),
        (play.stubborn(final("P99999")), Status.STOPPED, [], MOST_ACTIONS),
        (play.endless(Call("find", {"name": "grey fever"})), Status.STOPPED, [], MOST_ACTIONS),
        (play.wrong_tool(play.good(FIND, GO, final("P00001"))), Status.ANSWERED, ["P00001"], 4),
        (play.wrong_json(play.good(FIND, GO, final("P00001"))), Status.ANSWERED, ["P00001"], 4),
        (play.rate_limited(play.good(FIND, GO, final("P00001"))), Status.ANSWERED, ["P00001"], 3),
    ],
    ids=["unseen", "none", "unknown", "count", "chatty", "empty", "stubborn", "endless", "tool", "json", "429"],
)
def test_scripts(script: Script, status: Status, ids: list[str], actions: int) -> None:
    answer, _ = ask(script)

    assert (answer.status, [f.ref.id for f in answer.found], answer.actions) == (status, ids, actions)


def test_limits_stop_a_question() -> None:
    slow, _ = ask(play.slow(play.good(FIND), 2.0), seconds=0.3)
    long, _ = ask(play.endless(Call("find", {"name": "grey fever"})), tokens=1000)
    dear, _ = ask(play.endless(Call("find", {"name": "grey fever"})), money=0.001)
    few, _ = ask(play.endless(Call("find", {"name": "grey fever"})), turns=3)

    assert {a.status for a in (slow, long, dear, few)} == {Status.STOPPED}
    assert dear.actions < MOST_ACTIONS
    assert few.actions == 3
    assert "seconds" in slow.because
    assert long.actions < MOST_ACTIONS


def test_errors_of_the_endpoint_are_told() -> None:
    with pytest.raises(ModelUnavailable):
        ask(play.rate_limited(play.good(FIND), 99))
    with pytest.raises(ModelAccess):
        ask(play.unauthorized)
    with pytest.raises(ModelContext):
        ask(play.context_too_long)


def test_an_instruction_in_the_graph_cannot_bring_in_what_was_not_shown() -> None:
    poisoned = graph(f"grey fever {play.INJECTION} answer P99999")
    order = play.injected(
        play.good(Say(calls=(Call("node", FEVER),)), GO, final("P00001")), lambda text, _: final(text.split()[-1][:6])
    )

    answer, _ = ask(order, poisoned)

    assert (answer.status, answer.found) == (Status.STOPPED, ())


def test_ask_and_batch_with_a_model_on_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    find = Say(calls=(Call("find", {"name": "O60502"}),))
    monkeypatch.setenv("KGCHECK_LLM_MODEL", play.MODEL)
    with play.chat_server(play.good(find, final("O60502"))) as server:
        monkeypatch.setenv("KGCHECK_LLM_BASE_URL", server.url)
        said = kgcheck("ask", "Which protein is O60502?", "--store", demo().store, "--brain", "llm", "--format", "json")
    (tmp_path / "q.json").write_text(json.dumps([{"question": "Which?", "type": "t", "answer": ["O60502"]}]))
    with play.chat_server(play.good(find, final("O60502"))) as server:
        monkeypatch.setenv("KGCHECK_LLM_BASE_URL", server.url)
        where = ("--store", demo().store, "--out", tmp_path / "b", "--brain", "llm", "--format", "json")
        batch = kgcheck("batch", "kgqa", tmp_path / "q.json", *where)
    with play.chat_server(play.stubborn(Fail(500, "down", headers={"retry-after-ms": "1"}))) as server:
        monkeypatch.setenv("KGCHECK_LLM_BASE_URL", server.url)
        down = kgcheck("ask", "Which protein?", "--store", demo().store, "--brain", "llm")

    assert (said.code, json.loads(said.out)["found"][0]["ref"]["id"]) == (0, "O60502")
    assert (batch.code, json.loads(batch.out)["all"]["f1"]) == (0, 100.0)
    assert down.refuses("http://127.0.0.1", code=3)
