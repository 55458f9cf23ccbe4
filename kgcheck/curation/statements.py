"""A patch as Cypher, for people: statements with parameters, and the parameters in a file of their own."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from kgcheck.curation.effects import active
from kgcheck.curation.operations import Merge, Operation, Patch
from kgcheck.curation.steps import AddedEdge, AddedNode, DraftGraph, DroppedNode, SetEdge, SetNode, Step, do, updated
from kgcheck.graph.changes import Editable
from kgcheck.graph.marks import CHANGED_AT, CHANGED_BY, RETIRED_AT
from kgcheck.graph.queries import Catalogue, label_place, pattern_places
from kgcheck.graph.store import Properties
from kgcheck.model import Ref, Triple
from kgcheck.profile.schema import Schema

_Shape = tuple[str, tuple[tuple[str, str], ...]]
_WHEN_APPLIED = (CHANGED_AT, CHANGED_BY, RETIRED_AT)


class Expected(NamedTuple):
    """A node that must stand as it stood, though nothing is done to it."""

    ref: Ref


class WatchedPart(NamedTuple):
    """A step, and how that which it touches stands before it, when all is as it was found."""

    step: Step | Expected
    node: Properties = {}
    """All properties of the node that it is about."""
    beside: int = 0
    """How many edges state the triple that it is about, those that are retired left out."""
    retired: tuple[bool, bool] = (False, False)
    """Whether the ends of a new edge are."""


def watched(operation: Operation, steps: Iterable[Step], graph: Editable) -> tuple[WatchedPart, ...]:
    """The steps of an operation, with what must be as it is for them to fit."""
    draft = DraftGraph(graph)
    found: list[WatchedPart] = []
    if isinstance(operation, Merge) and (into := draft.node(operation.into)):
        found.append(WatchedPart(Expected(into.ref), into.properties))
    for step in steps:
        match step:
            case SetNode(ref=ref):
                node = draft.node(ref)
                found.append(WatchedPart(step, node.properties if node else {}))
            case SetEdge(triple=t) | AddedEdge(triple=t):
                head, tail = (bool(node and node.retired) for node in map(draft.node, (t.head, t.tail)))
                found.append(WatchedPart(step, beside=len(active(draft.edges(t))), retired=(head, tail)))
            case _:
                found.append(WatchedPart(step))
        do(step, draft)
    return tuple(found)


def statements_of(patch: Patch, steps: Sequence[Sequence[WatchedPart]], schema: Schema) -> tuple[str, dict[str, Any]]:
    """What a patch does to a Neo4j graph that is as it expects, as statements."""
    cypher = Catalogue("neo4j", schema.labels)
    every = (step for some in steps for step in some)
    lines = [
        f"// kgcheck patch {patch.id}: {len(patch.operations)} operations, for people to read.",
        "// Parameters: patch.params.json, and $at (when, as text) and $by (who).",
        "// Run all of it in one transaction (cypher-shell: :begin, this file, :commit), and roll it back when a",
        "// statement fails, by a division by zero: it did not find a value, an edge or a node as the findings saw it.",
        "// Only what kgcheck patch apply did can be undone, and only of that does a load know.",
    ]
    parameters: dict[str, Any] = {}
    for (statement, places), group in _groups(every, schema):
        name = f"rows{len(parameters) + 1}"
        parameters[name] = list(_numbered(_row(one, schema) for one in group))
        lines += ["", cypher.text(statement, **dict(places)).replace("$rows", f"${name}") + ";"]
    return "\n".join(lines) + "\n", parameters


def _groups(steps: Iterable[WatchedPart], schema: Schema) -> Iterator[tuple[_Shape, list[WatchedPart]]]:
    """Steps that one statement does: alike, and none of what another of them has changed, which it would not see."""
    for shape, alike in groupby(steps, lambda w: _shape(w.step, schema)):
        group: list[WatchedPart] = []
        known: dict[Ref | Triple, WatchedPart] = {}
        for one in alike:
            step = one.step
            what = step.ref if isinstance(step, SetNode | AddedNode | DroppedNode | Expected) else step.triple
            first = known.setdefault(what, one)
            if first.step != step or (first is not one and _leaves_it_so(step)):
                yield shape, group
                group, known = [], {what: one}
            # What a statement looks at is as it was before its first row.
            group.append(one._replace(beside=known[what].beside))
        yield shape, group


def _leaves_it_so(step: Step | Expected) -> bool:
    """Whether an edge is afterwards as it was: the same step once more is then of the same edge, not of one alike."""
    if not isinstance(step, SetEdge):
        return False
    was = _stated(step.properties)
    return updated(was, _stated(step.after)) == updated({}, was)


def _numbered(rows: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The rows, each with how many before it are just like it: of edges that are alike, each row means another one."""
    seen = Counter[str]()
    for row in rows:
        text = json.dumps(row, sort_keys=True)
        yield row | {"nth": seen[text]} if "was" in row and "head" in row else row
        seen[text] += 1


def _shape(step: Step | Expected, schema: Schema) -> _Shape:
    """The statement of a step, and its places."""
    if isinstance(step, SetNode | AddedNode | Expected):
        places = label_place(schema.label(step.ref.label))
        statements = {SetNode: "update_patched_node", AddedNode: "create_patched_node", Expected: "expect_patched_node"}
        statement = statements[type(step)]
    elif isinstance(step, SetEdge | AddedEdge):
        t: Triple = step.triple
        places = pattern_places(schema.pattern(t.head.label, t.relation, t.tail.label))
        statement = "update_patched_edge" if isinstance(step, SetEdge) else "create_patched_edge"
    else:
        raise TypeError(step)
    return statement, tuple(places.items())


def _row(one: WatchedPart, schema: Schema) -> dict[str, Any]:
    match one.step:
        case SetNode(ref=ref, before=before, after=after):
            return _as_found(ref, one.node, schema, _stated(before)) | {"set": _stated(after)}
        case Expected(ref=ref):
            return _as_found(ref, one.node, schema, {})
        case AddedNode(ref=ref, properties=properties):
            return {"id": ref.id, "set": _stated(properties)}
        case SetEdge(triple=t, properties=properties, after=after):
            was = {name: value for name, value in _stated(properties).items() if value is not None}
            row = {"head": t.head.id, "tail": t.tail.id, "was": was, "set": _stated(after)}
            return row | {"beside": one.beside}
        case AddedEdge(triple=t, properties=properties):
            row = {"head": t.head.id, "tail": t.tail.id, "set": _stated(properties)}
            return row | {"beside": one.beside, "retired": list(one.retired)}
        case _:
            raise TypeError(one.step)


def _as_found(ref: Ref, node: Properties, schema: Schema, before: Properties) -> dict[str, Any]:
    """A node by its id, all that it must have, and the names of what it may have beside that."""
    was = {name: value for name, value in (_stated(node) | before).items() if _can_be_written(value)}
    beside = [name for name in node if name not in was]
    return {"id": ref.id, "was": was, "any": [schema.label(ref.label).key, *beside]}


def _can_be_written(value: Any) -> bool:
    """Whether a value stands in JSON as it is: a date of the server does not."""
    try:
        return bool(json.loads(json.dumps(value, allow_nan=False)) == value)
    except (TypeError, ValueError):
        return False


def _stated(properties: Properties) -> Properties:
    """Properties without what is known only when the patch is applied: when, and by whom."""
    return {name: value for name, value in properties.items() if name not in _WHEN_APPLIED}
