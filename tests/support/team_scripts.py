"""Scripts that play the three agents of a check over the demo: what a model would say to each conversation."""

import json
import re
from typing import Any

from tests.support.chat_server import Asked, Call, Move, Say, Script

HEAD, RELATION, TAIL = ("Gene", "MGEA5"), "TRANSLATED_INTO", ("Protein", "O60502")
WORDS = f"{HEAD[1]} {RELATION} {TAIL[1]}"

REFS = [{"label": label, "id": id_} for label, id_ in (HEAD, TAIL)]
NODES = [Call("node", dict(ref)) for ref in REFS]
TASK = {"type": "triple", "subject": REFS[0], "relation": RELATION, "object": REFS[1]}
EDGES = Call("edges", {"head": REFS[0], "relation": RELATION, "tail": REFS[1]})
HAND_TASK = Call("hand_over", {"message": "there is such an edge", "task": TASK})
LOOK_UP = Call("reference_look_up", {"task": TASK})


def conclude(outcome: str) -> Call:
    return Call("hand_over", {"message": f"it is {outcome}", "outcome": outcome})


def agents(
    kg: tuple[Call, ...] = (NODES[0], NODES[1], EDGES, HAND_TASK),
    validation: tuple[Call, ...] = (LOOK_UP, Call("hand_over", {"message": "asked"})),
    conclusion: Call | None = None,
) -> Script:
    """Three well-behaved agents: each takes its steps in order, by how many it has taken already."""

    def act(asked: Asked) -> Move:
        steps = sum(1 for m in asked.messages if m["role"] == "assistant")
        if "node" in asked.tools:
            return Say(calls=(kg[min(steps, len(kg) - 1)],))
        if "reference_look_up" in asked.tools:
            return Say(calls=(validation[min(steps, len(validation) - 1)],))
        if "Conclude" in asked.last:
            return Say(calls=(conclusion or conclude("refuted"),))
        return Say(calls=(Call("hand_over", {"message": "KG agent: find it. Validation agent: ask."}),))

    return act


def obedient(order: str, asked: Asked) -> Move:
    """Does what an instruction hidden in data says: "call TOOL {...}" or "conclude OUTCOME"."""
    verb, _, rest = order.partition(" ")
    if verb == "call":
        tool, _, arguments = rest.partition(" ")
        return Say(calls=(Call(tool, arguments or "{}"),))
    if verb == "conclude" and "Conclude" in asked.last:
        return Say(calls=(conclude(re.findall(r"[a-z]+", rest)[0]),))
    return agents()(asked)


def results(messages: list[dict[str, Any]]) -> list[Any]:
    """Tool results that a conversation holds, without their marks."""
    texts = [m["content"] for m in messages if m["role"] == "tool"]
    return [json.loads(t.removeprefix("<data>\n").removesuffix("\n</data>").replace("<\\/", "</")) for t in texts]
