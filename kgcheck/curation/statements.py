"""A patch as Cypher, for people: statements with parameters, and the parameters in a file of their own."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

from kgcheck.curation.operations import Patch
from kgcheck.curation.steps import AddedEdge, AddedNode, DroppedNode, SetEdge, SetNode, Step, updated
from kgcheck.graph.marks import CHANGED_AT, CHANGED_BY, RETIRED_AT
from kgcheck.graph.queries import Catalogue, label_place, pattern_places
from kgcheck.graph.store import Properties
from kgcheck.model import Ref, Triple
from kgcheck.profile.schema import Schema

_Shape = tuple[str, tuple[tuple[str, str], ...]]
_WHEN_APPLIED = (CHANGED_AT, CHANGED_BY, RETIRED_AT)


def statements_of(patch: Patch, steps: Sequence[Sequence[Step]], schema: Schema) -> tuple[str, dict[str, Any]]:
    """What a patch does to a Neo4j graph that is as it expects, as statements.

    Args:
        patch: The patch.
        steps: What each operation comes to.
        schema: Where names come from.

    Returns:
        Cypher without any value, and its parameters.
    """
    cypher = Catalogue("neo4j", schema.labels)
    every = (step for some in steps for step in some)
    lines = [
        f"// kgcheck patch {patch.id}: {len(patch.operations)} operations, for people to read.",
        "// Parameters: patch.params.json, and $at (when, as text) and $by (who).",
        "// Run all of it in one transaction (cypher-shell: :begin, this file, :commit), and roll it back when a",
        "// statement fails, by a division by zero: it did not find a value, an edge or a node as the findings saw it.",
        "// What only kgcheck patch apply sees: other properties of a node than those that change, edges of a node",
        "// that came since the patch was made, and ends of new edges that were retired since. Only what apply did",
        "// can be undone, and only of that does a load know.",
    ]
    parameters: dict[str, Any] = {}
    for (statement, places), group in _groups(every, schema):
        name = f"rows{len(parameters) + 1}"
        parameters[name] = list(_numbered(map(_row, group)))
        lines += ["", cypher.text(statement, **dict(places)).replace("$rows", f"${name}") + ";"]
    return "\n".join(lines) + "\n", parameters


def _groups(steps: Iterable[Step], schema: Schema) -> Iterator[tuple[_Shape, list[Step]]]:
    """Steps that one statement does: alike, and none of what another of them has changed, which it would not see."""
    for shape, alike in groupby(steps, lambda s: _shape(s, schema)):
        group: list[Step] = []
        known: dict[Ref | Triple, Step] = {}
        for step in alike:
            what = step.ref if isinstance(step, SetNode | AddedNode | DroppedNode) else step.triple
            if known.setdefault(what, step) != step or (step in group and _leaves_it_so(step)):
                yield shape, group
                group, known = [], {what: step}
            group.append(step)
        yield shape, group


def _leaves_it_so(step: Step) -> bool:
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


def _shape(step: Step, schema: Schema) -> _Shape:
    """The statement of a step, and its places."""
    if isinstance(step, SetNode | AddedNode):
        places = label_place(schema.label(step.ref.label))
        statement = "update_patched_node" if isinstance(step, SetNode) else "create_patched_node"
    elif isinstance(step, SetEdge | AddedEdge):
        t: Triple = step.triple
        places = pattern_places(schema.pattern(t.head.label, t.relation, t.tail.label))
        statement = "update_patched_edge" if isinstance(step, SetEdge) else "create_patched_edge"
    else:
        raise TypeError(step)
    return statement, tuple(places.items())


def _row(step: Step) -> dict[str, Any]:
    match step:
        case SetNode(ref=ref, before=before, after=after):
            return {"id": ref.id, "was": _stated(before), "set": _stated(after)}
        case AddedNode(ref=ref, properties=properties):
            return {"id": ref.id, "set": _stated(properties)}
        case SetEdge(triple=t, properties=properties, after=after):
            was = {name: value for name, value in _stated(properties).items() if value is not None}
            return {"head": t.head.id, "tail": t.tail.id, "was": was, "set": _stated(after)}
        case AddedEdge(triple=t, properties=properties):
            return {"head": t.head.id, "tail": t.tail.id, "set": _stated(properties)}
        case _:
            raise TypeError(step)


def _stated(properties: Properties) -> Properties:
    """Properties without what is known only when the patch is applied: when, and by whom."""
    return {name: value for name, value in properties.items() if name not in _WHEN_APPLIED}
