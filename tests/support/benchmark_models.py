"""Scripted models that take all three tasks of BioKGBench: one that does its part, and what others may do."""

import json
import re
from typing import Any

from tests.support.chat_server import Asked, Call, Move, Say
from tests.support.team_scripts import results

_DATA = re.compile(r"<data>\n(.*?)\n</data>", re.DOTALL)


def facts(asked: Asked) -> dict[str, Any]:
    """The facts of the assignment that an agent was given last."""
    given = [m for m in asked.messages if m["role"] == "user" and "<data>" in str(m["content"])]
    found: dict[str, Any] = json.loads(_DATA.findall(given[-1]["content"])[-1].replace("<\\/", "</"))
    return found


def diligent(asked: Asked) -> Move:
    """Does its part in every task: it follows what the tools and the passages show."""
    if "answer" in asked.tools:
        return _answer(asked)
    if "node" in asked.tools:
        return Say(calls=(_kg_step(asked),))
    if "reference_look_up" in asked.tools:
        done = asked.messages[-1]["role"] == "tool"
        task = {"task": facts(asked)["task"]}
        return Say(calls=(Call("hand_over", {"message": "asked"}) if done else Call("reference_look_up", task),))
    if "hand_over" in asked.tools:
        end = {"outcome": _outcome(facts(asked))} if "Conclude" in asked.last else {}
        return Say(calls=(Call("hand_over", {"message": "so be it"} | end),))
    passages = json.loads(asked.last)["passages"]
    return Say(json.dumps({"answer": "SUPPORTS", "quotes": [p["text"] for p in passages[:1]]}))


def careless(asked: Asked) -> Move:
    """The same, but it takes whatever it was shown for support, and answers no question."""
    if "hand_over" in asked.tools and "Conclude" in asked.last:
        return Say(calls=(Call("hand_over", {"message": "fine", "outcome": "supported"}),))
    if "answer" in asked.tools or asked.form:
        return Say("Let me think about that.")
    return diligent(asked)


def _answer(asked: Asked) -> Move:
    ids = re.findall(r"\b[OPQ]\d[A-Z0-9]{3}\d\b", facts(asked)["question"])
    shown = results(asked.messages)
    step = {"ids": ids, "relation": "ASSOCIATED_WITH", "direction": "out", "label": "Disease"}
    if not shown:
        return Say(calls=(Call("neighbours_of", step),))
    found = [node["id"] for row in shown[-1]["nodes"] for node in row["nodes"]]
    return Say(calls=(Call("answer", {"understood": True, "label": "Disease", "ids": found}),))


def _kg_step(asked: Asked) -> Call:
    wanted = facts(asked)
    request, shown = wanted["request"], results(asked.messages)
    if not (relation := request.get("relation")):
        ref = {"label": request["label"], "id": request["subject"]}
        if not shown:
            return Call("node", ref)
        task = {"type": request["type"], "subject": ref}
        if attribute := request.get("attribute"):
            task |= {"attribute": attribute, "value": shown[0]["properties"].get(attribute)}
        return Call("hand_over", {"message": "looked up", "task": task})
    head, tail = re.findall(r"\((\w+)\)", wanted["patterns"][0])
    ends = [{"label": head, "id": request["subject"]}, {"label": tail, "id": request["object"]}]
    if len(shown) < 2:
        return Call("node", ends[len(shown)])
    if len(shown) == 2:
        return Call("edges", {"head": ends[0], "relation": relation, "tail": ends[1]})
    kind = "triple" if shown[2]["edges"] else "potential"
    task = {"type": kind, "subject": ends[0], "relation": relation, "object": ends[1]}
    return Call("hand_over", {"message": "found", "task": task})


def _outcome(conclusion: dict[str, Any]) -> str:
    stances = [e["stance"] for e in conclusion["evidence"] if e["stance"] != "silent"]
    return {"supports": "supported", "contradicts": "refuted"}[stances[0]] if stances else "insufficient"
