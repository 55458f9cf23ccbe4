"""Faults that are put into protocols, each at a place that a seed draws; see benchmarks.protocol_damage."""

import json
import random
import re
from collections.abc import Callable
from typing import Any, NamedTuple

Protocol = dict[str, Any]
Draw = random.Random  # noqa: S311  # a seed, no secret


class Damage(NamedTuple):
    """What was damaged: ids of steps, facts, passages, data sets or names of things that an alarm may be about."""

    about: frozenset[str]
    follows: frozenset[str] = frozenset()


def steps_of(protocol: Protocol) -> list[Protocol]:
    """All steps, in order."""
    return [step for section in protocol["sections"] for step in section["steps"]]


def by_id(entries: list[Protocol]) -> dict[str, Protocol]:
    """Entries by their ids."""
    return {entry["id"]: entry for entry in entries}


def resting_on(protocol: Protocol, id_: str) -> frozenset[str]:
    """Ids of steps that rest on a fact, a passage or a data set, by any of their parts."""
    return frozenset(step["id"] for step in steps_of(protocol) if json.dumps(id_) in json.dumps(step))


def parameter_far(protocol: Protocol, draw: Draw) -> Damage | None:
    """A parameter a hundred times as large as in its source."""
    found = [
        (s, p) for s in steps_of(protocol) for p in s.get("parameters", ()) if p.get("passage") and p.get("number")
    ]
    if not found:
        return None
    step, parameter = draw.choice(found)
    old = float(parameter["number"])
    new = old * 100 if draw.random() < 0.5 else old / 100
    _set_number(parameter, new)
    return Damage(frozenset({step["id"]}), resting_on(protocol, parameter["passage"]))


def parameter_near(protocol: Protocol, draw: Draw) -> Damage | None:
    """A parameter half as large again as in its source."""
    found = [
        (s, p) for s in steps_of(protocol) for p in s.get("parameters", ()) if p.get("passage") and p.get("number")
    ]
    if not found:
        return None
    step, parameter = draw.choice(found)
    _set_number(parameter, float(parameter["number"]) * 1.5)
    return Damage(frozenset({step["id"]}))


def _set_number(parameter: Protocol, number: float) -> None:
    text = f"{number:g}"
    parameter["value"] = re.sub(r"[\d.,]*\d", text, parameter["value"], count=1)
    parameter["number"] = text


def version_changed(protocol: Protocol, draw: Draw) -> Damage | None:
    """A tool with a version that its source does not name."""
    found = [(s, t) for s in steps_of(protocol) for t in s.get("tools", ()) if t.get("version") and t.get("passage")]
    if not found:
        return None
    step, tool = draw.choice(found)
    tool["version"] = f"{draw.randint(11, 60)}.{draw.randint(0, 9)}"
    return Damage(frozenset({step["id"], tool["name"]}))


def version_dropped(protocol: Protocol, draw: Draw) -> Damage | None:
    """A tool without the version that it had."""
    found = [(s, t) for s in steps_of(protocol) for t in s.get("tools", ()) if t.get("version")]
    if not found:
        return None
    step, tool = draw.choice(found)
    tool["version"] = ""
    return Damage(frozenset({step["id"], tool["name"]}))


def quote_changed(protocol: Protocol, draw: Draw) -> Damage | None:
    """A passage in which one word or one number is another."""
    passage = draw.choice(protocol["passages"]) if protocol.get("passages") else None
    if passage is None:
        return None
    words = passage["quote"].split(" ")
    place = draw.randrange(len(words))
    words[place] = str(draw.randint(2, 999)) if any(c.isdigit() for c in words[place]) else "never"
    passage["quote"] = " ".join(words)
    return Damage(frozenset({passage["id"]}) | resting_on(protocol, passage["id"]))


def paper_invented(protocol: Protocol, draw: Draw) -> Damage | None:
    """A passage of a paper that nobody has."""
    passage = draw.choice(protocol["passages"]) if protocol.get("passages") else None
    if passage is None:
        return None
    passage["paper"] = f"doi:10.5555/invented.{draw.randint(1, 9999)}"
    return Damage(frozenset({passage["id"]}) | resting_on(protocol, passage["id"]))


def fact_refuted(protocol: Protocol, draw: Draw, refuted: list[Protocol]) -> Damage | None:
    """A fact that the audit refuted, stated as supported."""
    used = [f for f in protocol.get("facts", ()) if resting_on(protocol, f["id"]) and f.get("outcome") == "supported"]
    fits = [r for r in refuted if r["type"] == "triple"]
    if not used or not fits:
        return None
    fact = draw.choice(used)
    fact["task"] = draw.choice(fits)
    return Damage(frozenset({fact["id"]}) | resting_on(protocol, fact["id"]))


def fact_turned(protocol: Protocol, draw: Draw) -> Damage | None:
    """A fact whose other end is exchanged for that of another: nobody audited such an edge."""
    edges = [f for f in protocol.get("facts", ()) if f["task"].get("object") and f.get("outcome") == "supported"]
    used = [f for f in edges if resting_on(protocol, f["id"])]
    if not used:
        return None
    fact = draw.choice(used)
    there = {json.dumps([f["task"]["subject"], f["task"]["relation"], f["task"]["object"]]) for f in edges}
    others = [
        f["task"]["object"]
        for f in edges
        if f["task"]["relation"] == fact["task"]["relation"]
        and json.dumps([fact["task"]["subject"], f["task"]["relation"], f["task"]["object"]]) not in there
    ]
    if not others:
        return None
    fact["task"]["object"] = draw.choice(others)
    return Damage(frozenset({fact["id"]}) | resting_on(protocol, fact["id"]))


def made_later(protocol: Protocol, draw: Draw) -> Damage | None:
    """A step after the one that takes what it makes."""
    found = []
    for section in protocol["sections"]:
        steps = section["steps"]
        for early in range(len(steps)):
            made = {item["name"] for item in steps[early].get("outputs", ())}
            for late in range(early + 1, len(steps)):
                if made & {item["name"] for item in steps[late].get("inputs", ())}:
                    found.append((section, early, late))
    if not found:
        return None
    section, early, late = draw.choice(found)
    steps = section["steps"]
    taker, maker = steps[late]["id"], steps[early]["id"]
    steps[early], steps[late] = steps[late], steps[early]
    # Between them others may take and make, too.
    between = frozenset(s["id"] for s in steps[early : late + 1])
    return Damage(frozenset({taker, maker}), between)


def not_made(protocol: Protocol, draw: Draw) -> Damage | None:
    """A step that takes what no step makes and what no data set is."""
    step = draw.choice(steps_of(protocol))
    step.setdefault("inputs", []).append({"name": "the matrix of phosphosites", "kind": "matrix"})
    return Damage(frozenset({step["id"], "the matrix of phosphosites"}))


def evidence_dropped(protocol: Protocol, draw: Draw) -> Damage | None:
    """A step that rests on nothing any more."""
    found = [s for s in steps_of(protocol) if s.get("passages") or s.get("facts")]
    if not found:
        return None
    step = draw.choice(found)
    step["passages"], step["facts"] = [], []
    for part in (*step.get("parameters", ()), *step.get("tools", ())):
        part["passage"] = ""
    return Damage(frozenset({step["id"]}))


def control_dropped(protocol: Protocol, draw: Draw) -> Damage | None:
    """No step has a control."""
    found = [s for s in steps_of(protocol) if s.get("control")]
    if not found:
        return None
    for step in steps_of(protocol):
        step["control"] = ""
    return Damage(frozenset({"", *(s["id"] for s in steps_of(protocol))}))


def statistics_dropped(protocol: Protocol, draw: Draw) -> Damage | None:
    """No step has statistics."""
    found = [s for s in steps_of(protocol) if s.get("statistics")]
    if not found:
        return None
    for step in steps_of(protocol):
        step["statistics"] = []
    return Damage(frozenset({"", *(s["id"] for s in steps_of(protocol))}))


def data_set_species(protocol: Protocol, draw: Draw) -> Damage | None:
    """A data set of another species than the objective's."""
    used = [d for d in protocol.get("data_sets", ()) if resting_on(protocol, d["id"])]
    if not used:
        return None
    data_set = draw.choice(used)
    data_set["species"] = ["Danio rerio"]
    return Damage(frozenset({data_set["id"]}) | resting_on(protocol, data_set["id"]))


def retracted(protocol: Protocol, draw: Draw, ids: list[str]) -> Damage | None:
    """A passage of a paper that was retracted."""
    passage = draw.choice(protocol["passages"]) if protocol.get("passages") and ids else None
    if passage is None:
        return None
    passage["paper"] = draw.choice(ids)
    return Damage(frozenset({passage["id"]}) | resting_on(protocol, passage["id"]))


KINDS: dict[str, Callable[..., Damage | None]] = {
    "fact_refuted": fact_refuted,
    "fact_turned": fact_turned,
    "retracted": retracted,
    "paper_invented": paper_invented,
    "quote_changed": quote_changed,
    "parameter_far": parameter_far,
    "parameter_near": parameter_near,
    "version_changed": version_changed,
    "version_dropped": version_dropped,
    "made_later": made_later,
    "not_made": not_made,
    "evidence_dropped": evidence_dropped,
    "control_dropped": control_dropped,
    "statistics_dropped": statistics_dropped,
    "data_set_species": data_set_species,
}
"""By name; two of them also get what they draw from."""
