"""Whether an answer of a model rests on results of its tools, read from the conversation as it went over the wire.

Written apart from kgcheck.agents, which it checks: it sees messages and an answer, and nothing of the code between.
"""

import json
from itertools import pairwise
from typing import Any

Message = dict[str, Any]


def results(messages: list[Message]) -> list[tuple[str, dict[str, Any], Any]]:
    """Tool, arguments and result of every call that was carried out."""
    found = []
    for before, message in pairwise(messages):
        content = str(message.get("content") or "")
        if before["role"] != "assistant" or message["role"] not in ("tool", "user") or not content.startswith("<data>"):
            continue
        told = json.loads(content.removeprefix("<data>\n").removesuffix("\n</data>").replace("<\\/", "</"))
        if not (isinstance(told, dict) and "refused" in told):
            found.append((*_call(before), told))
    return found


def _call(message: Message) -> tuple[str, dict[str, Any]]:
    """The tool that a message of a model uses: as a call, or in words where it cannot call any."""
    if message.get("tool_calls"):
        function = message["tool_calls"][0]["function"]
        return function["name"], json.loads(function["arguments"] or "{}")
    step = json.loads(message["content"])
    return step["tool"], step.get("arguments") or {}


def values(value: Any) -> list[Any]:
    """Every value in a result, keys left out; in a dictionary by id, its key too."""
    if isinstance(value, dict):
        return [v for held in value.values() for v in values(held)]
    if isinstance(value, list):
        return [v for held in value for v in values(held)]
    return [value]


def edges(messages: list[Message]) -> set[tuple[str, str, str]]:
    """Every edge that a result shows: head, relation, tail."""
    found = set()
    for tool, asked, told in results(messages):
        if tool == "relations":
            found |= {
                (r["triple"]["head"]["id"], r["triple"]["relation"], r["triple"]["tail"]["id"])
                for r in told["relations"]
                if r["edges"]
            }
        starts: list[dict[str, str]] = asked.get("nodes", []) if tool == "shared_neighbours" else []
        if tool == "neighbours":
            starts = [asked["node"]]
        for start in starts:
            for node in told["nodes"]:
                ends = (start["id"], node["id"]) if asked["direction"] == "out" else (node["id"], start["id"])
                found.add((ends[0], asked["relation"], ends[1]))
    return found


def assert_rests_on_results(answer: dict[str, Any], question: str, messages: list[Message]) -> None:
    """Fail where an answer holds what no result of the conversation shows."""
    told = results(messages)
    shown = {v for _, _, result in told for v in values(result) if isinstance(v, str)}
    joined = edges(messages)
    ends = {end for head, _, tail in joined for end in (head, tail)}
    for found in answer.get("found") or ():
        id_ = found["ref"]["id"]
        assert id_ in shown | ends, f"no result shows {id_}"
        asked = [a for _, a, r in told if id_ in values(r)]
        only_passed = all(id_ in values(a) for a in asked) and id_ not in ends
        assert not only_passed or id_ in question, f"{id_} was only passed by the model"
        for edge in found.get("path") or ():
            triple = edge["triple"]
            assert (triple["head"]["id"], triple["relation"], triple["tail"]["id"]) in joined
    if answer.get("count") is not None:
        numbers = {v for _, _, result in told for v in values(result) if isinstance(v, int)}
        lengths = {len(rows) for _, _, r in told for rows in (r.get("rows", ()) if isinstance(r, dict) else r,)}
        assert answer["count"] in numbers | lengths, f"no result gave {answer['count']}"
    if answer.get("holds") is True:
        assert joined, "yes without an edge"
        assert answer["found"], "yes without its edge"
        assert all(found["path"] for found in answer["found"]), "yes without its edge"
    if answer.get("holds") is False:
        looked = [t for t in told if t[0] in ("relations", "neighbours", "shared_neighbours")]
        assert looked, "no without a look-up"
