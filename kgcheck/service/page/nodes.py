"""Web page of a node (properties, sources, neighbours, findings), and the search for nodes."""

from collections.abc import Iterator
from contextlib import closing
from typing import Annotated, Any, NamedTuple

from fastapi import APIRouter, Path, Query, Response

from kgcheck.agents.team import value_text
from kgcheck.errors import KgcheckError
from kgcheck.evidence.source import Observed, SnapshotSource
from kgcheck.graph.neighbourhood import NearEnd, NearNode, Neighbourhood
from kgcheck.graph.store import Direction, Properties
from kgcheck.model import CheckTask, CheckType, Evidence, Ref
from kgcheck.service.page.drawing import draw
from kgcheck.service.page.findings import latest_audit
from kgcheck.service.page.rendering import Viewed, node_address
from kgcheck.workspace.workspace import Workspace

router = APIRouter(prefix="/nodes", include_in_schema=False)

_EACH, _PAGE, _FINDINGS = 6, 50, 20

Word = Annotated[str, Query(max_length=200)]


class _Property(NamedTuple):
    """A property of a node, as the graph and as sources have it; that it is there is one, too."""

    name: str
    value: str
    stated: tuple[Evidence, ...]


class _NeighbourList(NamedTuple):
    """Nodes along one relation in one direction, from a place in their order on."""

    relation: str
    label: str
    direction: Direction
    nodes: list[NearNode]
    first: int
    has_more: bool


@router.get("")
def search(page: Viewed, q: Annotated[str, Query(max_length=600)] = "") -> Response:
    """Nodes by label and id, by id or by name; where that is one, the page of it."""
    text = q.strip()
    with page.service.reading() as workspace:
        schema = workspace.schema
        found = list(dict.fromkeys(one.ref for one in workspace.resolver().anywhere(text))) if text else []
        labels = [label for label in schema.labels if not found and label.matches(text)]
        lacking = [NearEnd(label=label.name, id=text) for label in labels]
        first, _, rest = text.partition(" ")
        if rest and not found and first in schema.label_names:
            found = [schema.ref(first, rest)]
    if len(found) == 1:
        return page.redirect(node_address(found[0]))
    return page.render("nodes", q=q, found=found, lacking=lacking)


@router.get("/{label}/{name:path}")
def node(
    page: Viewed,
    label: Annotated[str, Path(max_length=200)],
    name: Annotated[str, Path(max_length=512)],
    relation: Word = "",
    other: Word = "",
    direction: Direction = "out",
    first: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
) -> Response:
    """A node, which the graph need not have; or its neighbours along one relation."""
    with page.service.reading() as workspace:
        ref = workspace.schema.ref(label, name)
        if relation:
            shown = _neighbours(workspace, ref, relation, other, direction, first)
            return page.render("neighbours", ref=ref, some=shown)
        return page.render("node", ref=ref, **_content(workspace, ref))


def _content(workspace: Workspace, ref: Ref) -> dict[str, Any]:
    found: dict[str, Any] = {"problem": None, "away": None, "is_there": None, "drawing": None, "groups": [], "name": ""}
    values: Properties = {}
    # What sources say, and what was found, is there also while the graph is away; and the other way round.
    try:
        node = workspace.graph.node(ref)
        values = node or {}
        around = workspace.neighbourhood(ref, _EACH)
        found |= {"is_there": node is not None, "groups": list(_groups(around)), "drawing": draw([ref], around)}
        found["name"] = workspace.names_of(ref.label, [ref.id]).get(ref.id, "")
    except KgcheckError as error:
        found["problem"] = error
    run = latest_audit(workspace)
    listed = list(workspace.list_findings(run, node=str(ref)).page(limit=_FINDINGS + 1)) if run else []
    stated: dict[str, Observed] = {}
    try:
        stated = _stated(workspace, ref, values)
    except KgcheckError as error:
        found["away"] = error
    return found | {
        "properties": list(_properties(values, stated)),
        "has_sources": workspace.reference is not None,
        "unasked": dict.fromkeys(gap for _, gaps in stated.values() for gap in gaps),
        "run": run,
        "findings": listed[:_FINDINGS],
        "has_more_findings": len(listed) > _FINDINGS,
    }


def _stated(workspace: Workspace, ref: Ref, values: Properties) -> dict[str, Observed]:
    """Observe a node in the snapshot, by attribute and as a whole under ``""``."""
    reference, schema, settings = workspace.reference, workspace.schema, workspace.settings
    if reference is None:
        return {}
    tasks = [CheckTask(type=CheckType.EXISTENCE, subject=ref)]
    for name in schema.label(ref.label).attributes:
        value = value_text(values.get(name))
        tasks.append(CheckTask(type=CheckType.ATTRIBUTE, subject=ref, attribute=name, value=value))
    source = workspace.open_once("source of nodes", lambda: closing(SnapshotSource(reference, schema, settings)))
    return {task.attribute or "": seen for task, seen in zip(tasks, source.observe_all(tasks), strict=True)}


def _properties(values: Properties, stated: dict[str, Observed]) -> Iterator[_Property]:
    for name in dict.fromkeys(["", *values, *stated]):
        value = value_text(values.get(name)) or ""
        evidence = stated[name][0] if name in stated else ()
        if name != "id" and (not name or value or evidence):
            yield _Property(name, value, evidence)


def _groups(around: Neighbourhood) -> Iterator[_NeighbourList]:
    names = {(node.label, node.id): node for node in around.nodes}
    here = around.nodes[0]
    groups: dict[tuple[str, str, Direction], list[NearNode]] = {}
    for edge in around.edges:
        is_out = (edge.head.label, edge.head.id) == (here.label, here.id)
        end = edge.tail if is_out else edge.head
        groups.setdefault((edge.relation, end.label, "out" if is_out else "in"), []).append(names[end.label, end.id])
    for (relation, label, direction), nodes in groups.items():
        way = f"{here.id} {relation} {label}" if direction == "out" else f"{label} {relation} {here.id}"
        yield _NeighbourList(relation, label, direction, nodes, 0, way in around.more)


def _neighbours(
    workspace: Workspace, ref: Ref, relation: str, label: str, direction: Direction, first: int
) -> _NeighbourList:
    graph, schema = workspace.graph, workspace.schema
    ends = (ref.label, label) if direction == "out" else (label, ref.label)
    ids = graph.neighbours(ref, schema.pattern(ends[0], relation, ends[1]), direction, first + _PAGE + 1)[first:]
    known = graph.nodes(schema.label(label), ids[:_PAGE])
    nodes = [NearNode(label=label, id=one, name=value_text(known.get(one, {}).get("name"))) for one in ids[:_PAGE]]
    return _NeighbourList(relation, label, direction, nodes, first, len(ids) > _PAGE)
