"""Scores of the way to a conclusion, by what scripted models do wrong over HTTP."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support import team_scripts
from tests.support.audits import demo
from tests.support.chat_server import Asked, Call, Fail, Move, Say, Script, chatty, with_model, wrong_json, wrong_tool

HEAD, TAIL = team_scripts.HEAD[1], team_scripts.TAIL[1]
ITEM = {"check": [HEAD, team_scripts.RELATION, TAIL], "label": "refute"}


def scored(tmp_path: Path, script: Script, *options: object) -> tuple[dict[str, Any], dict[str, Any]]:
    """The metrics over one item that a script plays, and its result."""
    pytest.importorskip("openai", reason="the extra llm is not installed")
    (tmp_path / "one.json").write_text(json.dumps([ITEM]))
    where = ("--store", demo().store, "--reference", demo().reference, "--out", tmp_path / "b", "--format", "json")
    said, _ = with_model(script, "batch", "kgcheck", tmp_path / "one.json", *where, *options, cwd=tmp_path)
    assert said.code == 0, said.err
    result: dict[str, Any] = json.loads((tmp_path / "b" / "results.jsonl").read_text())
    found: dict[str, Any] = json.loads(said.out)
    return found, result


def test_a_good_way(tmp_path: Path) -> None:
    found, result = scored(tmp_path, team_scripts.agents())

    assert list(found) == ["all", "relation", "publications"]
    assert [v for k, v in found["all"].items() if k.endswith(("_selection", "exact_match", "executability"))] == [
        100
    ] * 8
    assert result["score"]["faults"] == []
    assert found["all"]["idle_turns"] == 0


def test_what_an_endpoint_did_not_answer_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGCHECK_LLM_RETRIES", "0")
    (tmp_path / "one.json").write_text(json.dumps([ITEM]))
    run = ("batch", "kgcheck", tmp_path / "one.json", "--store", demo().store, "--reference", demo().reference)
    down, _ = with_model(lambda asked: Fail(503, "down"), *run, "--out", tmp_path / "b", cwd=tmp_path)
    found, _ = with_model(team_scripts.agents(), *run, "--out", tmp_path / "b", "--format", "json", cwd=tmp_path)

    assert (down.code, "1 ended with an error" in down.err) == (3, True), down.err
    assert json.loads(found.out)["all"]["exact_match"] == 100


def test_the_conclusion_of_the_model_is_scored_beside_the_verdict(tmp_path: Path) -> None:
    found, result = scored(tmp_path, team_scripts.agents(conclusion=team_scripts.conclude("supported")))

    metrics = found["all"]
    assert (metrics["exact_match"], metrics["own_exact_match"], metrics["own_executability"]) == (100, 0, 100)
    assert (metrics["misread_evidence"], result["score"]["faults"]) == (100, ["misread evidence"])


def test_a_conclusion_that_says_neither_is_not_executable(tmp_path: Path) -> None:
    found, _ = scored(tmp_path, team_scripts.agents(conclusion=team_scripts.conclude("insufficient")))

    assert (found["all"]["own_exact_match"], found["all"]["own_executability"]) == (0, 0)


def naming(id_: str) -> Script:
    """Good agents, whose leader speaks of an id in its plan."""

    def play(asked: Asked) -> Move:
        move = team_scripts.agents()(asked)
        plan = "Make the plan" in asked.last
        return Say(calls=(Call("hand_over", {"message": f"look {id_} up"}),)) if plan else move

    return play


def handing(task: dict[str, Any]) -> Script:
    kg = (*team_scripts.NODES, team_scripts.EDGES)
    wrong = Call("hand_over", {"message": "found", "task": team_scripts.TASK | task})
    return team_scripts.agents(kg=(*kg, wrong, team_scripts.HAND_TASK))


@pytest.mark.parametrize(
    ("script", "fault", "metric"),
    [
        (wrong_tool(team_scripts.agents()), "wrong tool", "wrong_tools"),
        (team_scripts.agents(kg=(team_scripts.LOOK_UP, *team_scripts.NODES, team_scripts.EDGES,
                                 team_scripts.HAND_TASK)), "wrong tool", "wrong_tools"),
        (wrong_json(team_scripts.agents()), "wrong arguments", "wrong_arguments"),
        (handing({"type": "potential"}), "unshown statement", "unshown_statements"),
        (team_scripts.agents(validation=(Call("hand_over", {"message": "it is so"}), team_scripts.LOOK_UP,
                                         Call("hand_over", {"message": "asked"}))),
         "unshown statement", "unshown_statements"),
        (naming("P04637"), "leader's instruction", "leader_faults"),
        (team_scripts.agents(kg=(team_scripts.NODES[0], *team_scripts.NODES, team_scripts.EDGES,
                                 team_scripts.HAND_TASK)), "chatter", "idle_turns"),
    ],
)  # fmt: skip
def test_each_fault_is_named_and_counted(tmp_path: Path, script: Script, fault: str, metric: str) -> None:
    found, result = scored(tmp_path, script)

    assert result["score"]["faults"] == [fault]
    assert found["all"][metric] > 0
    others = ("wrong_tools", "wrong_arguments", "unshown_statements", "leader_faults", "idle_turns", "misread_evidence")
    assert [name for name in others if found["all"][name]] == [metric]
    assert found["all"]["exact_match"] == 100


def test_ids_that_the_request_or_a_tool_names_are_no_fault(tmp_path: Path) -> None:
    assert scored(tmp_path, naming(TAIL))[1]["score"]["faults"] == []


def test_a_model_that_only_talks_has_no_tool_and_no_conclusion(tmp_path: Path) -> None:
    found, result = scored(tmp_path, chatty)

    metrics = found["all"]
    assert (metrics["kg_executability"], metrics["validation_executability"], metrics["own_executability"]) == (0, 0, 0)
    assert metrics["idle_turns"] > 50
    assert set(result["score"]["faults"]) == {"chatter", "environment not explored", "no conclusion"}
