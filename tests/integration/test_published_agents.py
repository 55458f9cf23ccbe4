"""The tools of BioKGBench's agents, which take ids, and demonstrations by type of task; scripted models over HTTP."""

import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from kgcheck.agents.brains.llm import _FORMS, HAND_OVER
from kgcheck.agents.request import TaskType
from kgcheck.agents.toolbox import PUBLISHED, TOOLS, Toolbox, checked_arguments
from kgcheck.agents.transcript import AgentRole, Stage
from kgcheck.errors import UnknownName, UsageError
from tests.support import team_scripts
from tests.support.audits import MemoryStore, demo, kgcheck
from tests.support.chat_server import Asked, Call, Fail, Move, Say, stubborn, with_model
from tests.unit.test_llm_brain import Source

ACTS_ON, LINKED = "Protein ACTS_ON Protein", "Protein ASSOCIATED_WITH Disease"
CODES = "Gene TRANSLATED_INTO Protein"


@pytest.fixture(scope="module")
def box() -> Toolbox:
    nodes = {
        "Protein": [{"id": "P1", "name": "one"}, {"id": "P2", "name": "two"}, {"id": "P3", "name": "three"}],
        "Gene": [{"id": "G1"}],
        "Disease": [{"id": "D1", "name": "fever"}, {"id": "D2", "name": "cold"}, {"id": "D3", "name": "gout"}],
    }
    edges = {
        ACTS_ON: [{"head": "P1", "tail": "P2"}, {"head": "P3", "tail": "P1"}],
        LINKED: [{"head": h, "tail": t} for h, t in (("P1", "D1"), ("P1", "D2"), ("P2", "D2"), ("P2", "D3"))],
        CODES: [{"head": "G1", "tail": "P1"}],
    }
    return Toolbox(MemoryStore(nodes, edges), Source())


def call(box: Toolbox, tool: str, **arguments: object) -> Any:
    return box.call(AgentRole.ASKER, tool, dict(arguments)).model_dump(mode="json")


def test_relations_are_counted_in_both_directions(box: Toolbox) -> None:
    found = call(box, "relations_of", ids=["P1", "G1", "X9"])

    p1, g1 = found["nodes"]
    assert p1["node"] == {"label": "Protein", "id": "P1"}
    # Order means nothing for ACTS_ON: both of its edges show on either side.
    assert p1["outgoing"] == {"ACTS_ON": 2, "ASSOCIATED_WITH": 2}
    assert p1["incoming"] == {"ACTS_ON": 2, "TRANSLATED_INTO": 1}
    assert (g1["outgoing"], g1["incoming"]) == ({"TRANSLATED_INTO": 1}, {})
    assert found["missing"] == ["X9"]


def test_types_of_neighbours(box: Toolbox) -> None:
    step = {"relation": "ASSOCIATED_WITH", "direction": "out"}
    found = call(box, "neighbour_types", ids=["P1", "P3"], **step)

    assert [row["labels"] for row in found["nodes"]] == [{"Disease": 2}, {}]
    with pytest.raises(UnknownName, match="CAUSES"):
        call(box, "neighbour_types", ids=["P1"], relation="CAUSES", direction="out")


def test_neighbours_of_several_nodes_come_apart(box: Toolbox) -> None:
    step = {"relation": "ASSOCIATED_WITH", "direction": "out", "label": "Disease"}
    found = call(box, "neighbours_of", ids=["P1", "P2", "P3", "X9"], **step)

    shown = [(row["node"]["id"], row["total"], [n["id"] for n in row["nodes"]]) for row in found["nodes"]]
    assert shown == [("P1", 2, ["D1", "D2"]), ("P2", 2, ["D2", "D3"]), ("P3", 0, [])]
    assert found["missing"] == ["X9"]
    with pytest.raises(UnknownName):
        call(box, "neighbours_of", ids=["P1"], **step | {"label": "Planet"})
    with pytest.raises(UsageError):
        call(box, "neighbours_of", ids=[], **step)


def test_lists_are_put_together_in_their_order(box: Toolbox) -> None:
    lists = [["c", "a", "b", "a"], ["b", "c", "d"]]

    assert call(box, "intersection", lists=lists) == {"total": 2, "ids": ["c", "b"]}
    assert call(box, "union", lists=lists) == {"total": 4, "ids": ["c", "a", "b", "d"]}
    assert call(box, "intersection", lists=[["a"], ["b"]]) == {"total": 0, "ids": []}


# --- a batch of questions


def neighbours(id_: str) -> Call:
    return Call("neighbours_of", {"ids": [id_], "relation": "ASSOCIATED_WITH", "direction": "out", "label": "Disease"})


def shown(asked: Asked) -> list[list[str]]:
    """The ids that each result shows."""
    results = team_scripts.results(asked.messages)
    return [
        [n["id"] for row in r.get("nodes", ()) for n in row["nodes"]] if "nodes" in r else r["ids"] for r in results
    ]


def answering(asked: Asked, final: dict[str, Any], lists: bool = True) -> Move:
    """Diseases of two proteins, put together, then an answer."""
    steps = sum(m["role"] == "assistant" for m in asked.messages)
    if steps < 2:
        return Say(calls=(neighbours(("P02649", "P49768")[steps]),))
    if steps == 2 and lists:
        return Say(calls=(Call("intersection", {"lists": shown(asked)}),))
    return Say(calls=(Call("answer", {"understood": True} | final),))


QUESTION = "Which diseases are both P02649 and P49768 associated with?"


def batch(tmp_path: Path, script: Any, *options: object, answer: object = ()) -> tuple[Any, list[Asked]]:
    pytest.importorskip("openai", reason="the extra llm is not installed")
    file = tmp_path / "q.json"
    file.write_text(json.dumps([{"question": QUESTION, "type": "conjunction", "answer": answer}]))
    where = ("--store", demo().store, "--out", tmp_path / "b", "--format", "json")
    said, asked = with_model(script, "batch", "kgqa", file, *where, *options, cwd=tmp_path)
    assert said.code == 0, said.err
    return json.loads((tmp_path / "b" / "results.jsonl").read_text()), asked


def test_a_model_answers_with_the_tools_of_the_benchmark(tmp_path: Path) -> None:
    common: list[list[str]] = []

    def play(asked: Asked) -> Move:
        if len(results := shown(asked)) == 3:
            common.append(results[2])
            return answering(asked, {"label": "Disease", "ids": results[2]})
        return answering(asked, {})

    result, asked = batch(tmp_path, play, "--protocol", "biokgbench")

    assert set(asked[0].tools) == {*PUBLISHED, "answer"}
    assert "An example with made-up ids" in asked[0].text
    assert [found["id"] for found in result["answers"]] == common[0]
    ask = kgcheck("ask", QUESTION, "--store", demo().store, "--format", "json")
    assert common[0] == sorted(common[0], key=common[0].index)
    assert {f["ref"]["id"] for f in json.loads(ask.out)["found"]} == set(common[0]) != set()


@pytest.mark.parametrize("final", [{"label": "Disease", "ids": ()}, {"count": 0}])
def test_lists_of_a_model_s_own_bear_nothing_out(tmp_path: Path, final: dict[str, Any]) -> None:
    def play(asked: Asked) -> Move:
        steps = sum(m["role"] == "assistant" for m in asked.messages)
        made_up = Call("intersection", {"lists": [["DOID:1"], ["DOID:2"]]})
        return Say(calls=(made_up,)) if not steps else Say(calls=(Call("answer", {"understood": True} | final),))

    assert batch(tmp_path, play, "--protocol", "biokgbench")[0]["status"] == "unsupported"


def test_the_tools_of_the_benchmark_are_no_others(tmp_path: Path) -> None:
    _, asked = batch(tmp_path, lambda _: Say(calls=(Call("answer", {"understood": False}),)))

    assert not set(asked[0].tools) & set(PUBLISHED)
    rules = kgcheck("batch", "kgqa", tmp_path / "q.json", "--store", demo().store, "--protocol", "biokgbench")
    assert rules.refuses("the published tools are a model's")


def test_a_question_that_ended_with_an_error_counts_under_its_type(tmp_path: Path) -> None:
    pytest.importorskip("openai", reason="the extra llm is not installed")
    (tmp_path / "q.json").write_text(json.dumps([{"question": QUESTION, "type": "conjunction", "answer": ["x"]}]))
    command = ("batch", "kgqa", tmp_path / "q.json", "--store", demo().store, "--out", tmp_path / "b")
    said, _ = with_model(stubborn(Fail(400, "no")), *command, "--format", "json", cwd=tmp_path)

    assert said.code == 3
    assert {kind: row["questions"] for kind, row in json.loads(said.out).items()} == {"all": 1, "conjunction": 1}


# --- demonstrations of checks


FOLDER = files("kgcheck.agents") / "prompts" / "published"
ROLES = {"leader": AgentRole.LEADER, "kg agent": AgentRole.KG, "validation agent": AgentRole.VALIDATION}


@pytest.mark.parametrize("kind", TaskType)
def test_every_call_of_a_demonstration_would_be_taken(kind: TaskType) -> None:
    text = (FOLDER / f"{kind.replace(' ', '_')}.md").read_text(encoding="utf-8")
    parts = dict(part.split("\n", 1) for part in text.split("## ")[1:])

    assert list(parts) == list(ROLES)
    for name, part in parts.items():
        calls = []
        for line in part.splitlines():
            for tool, rest in re.findall(rf"\b({'|'.join(TOOLS)}|{HAND_OVER}) (?=(\{{.*))", line):
                arguments, _ = json.JSONDecoder().raw_decode(rest)
                calls.append(tool)
                if tool == HAND_OVER:
                    stage = {"leader": Stage.CONCLUSION if "outcome" in arguments else Stage.PLAN}
                    form = _FORMS[stage.get(name, Stage.KG_QUERY if name == "kg agent" else Stage.VALIDATION)]
                    checked_arguments(tool, form, arguments)
                else:
                    assert ROLES[name] in TOOLS[tool].roles
                    checked_arguments(tool, TOOLS[tool].arguments, arguments)
        assert calls[-1] == HAND_OVER
        assert len(calls) > 1


def test_each_agent_is_shown_its_part_by_type_of_task(tmp_path: Path) -> None:
    pytest.importorskip("openai", reason="the extra llm is not installed")
    words = [team_scripts.HEAD[1], team_scripts.RELATION, team_scripts.TAIL[1]]
    (tmp_path / "i.json").write_text(json.dumps([{"check": words, "label": "refute"}]))
    where = ("--store", demo().store, "--reference", demo().reference)
    command = ("batch", "kgcheck", tmp_path / "i.json", *where, "--protocol", "biokgbench")
    said, asked = with_model(team_scripts.agents(), *command, "--out", tmp_path / "b", cwd=tmp_path)

    systems = {str(one.messages[0]["content"]) for one in asked}
    assert said.code == 0, said.err
    assert len(systems) == 3
    text = (FOLDER / "relation.md").read_text(encoding="utf-8")
    for part in text.split("## ")[1:]:
        assert sum(part.split("\n", 1)[1].strip() in system for system in systems) == 1
    plain, asked = with_model(team_scripts.agents(), *command[:-2], "--out", tmp_path / "c", cwd=tmp_path)
    assert plain.code == 0
    assert not any("An example of your part" in one.text for one in asked)
    assert kgcheck(*command, "--out", tmp_path / "d").refuses("demonstrations are for a model")
