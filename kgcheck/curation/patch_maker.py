"""Make a patch from findings: operations that fit the graph, a page for people, and Cypher."""

import json
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import ValidationError

from kgcheck import clock
from kgcheck.audit.run import store_place
from kgcheck.checks.lists import items_of
from kgcheck.curation.operations import (
    PATCH,
    AddEdge,
    Cited,
    Merge,
    Operation,
    Patch,
    PatchHeader,
    PropertyValue,
    Repoint,
    Retire,
    SetValue,
    in_words,
    numbered_lines,
    profile_of,
    sealed,
    write_patch,
)
from kgcheck.curation.steps import (
    DraftGraph,
    SetEdge,
    SetNode,
    Stamp,
    Step,
    WholeEdge,
    WholeNode,
    active,
    do,
    do_all,
    expectations,
    meetings,
    presence,
    same_value,
    steps_of,
    updated,
)
from kgcheck.errors import UnknownName, UsageError
from kgcheck.graph.changes import Editable, NotAsExpected, StoreChanges
from kgcheck.graph.marks import CHANGED_AT, CHANGED_BY, RETIRED_AT
from kgcheck.graph.open import OpenedStore
from kgcheck.graph.queries import Catalogue, label_place, pattern_places
from kgcheck.graph.store import Properties, brought_to
from kgcheck.ledger.basis import basis_of, is_deciding
from kgcheck.model import ChangeKind, CheckType, Finding, Ref, Stance, Triple
from kgcheck.outputs import write_text
from kgcheck.profile.schema import Label, Pattern, PropertyType, Schema
from kgcheck.report.documents import page
from kgcheck.report.tables import called_in
from kgcheck.rules import RuleRepair


class Wanted(NamedTuple):
    """A finding that is to be repaired, and what a person chose, where there was a choice."""

    finding: Finding
    chosen: str | None = None

    @classmethod
    def with_cause(cls, finding: Finding, chosen: str | None) -> "Wanted":
        """A finding that is repaired with its cause: what was chosen there is chosen where it is proposed, too."""
        change = finding.change
        return cls(finding, chosen if change and chosen in (change.to, *change.candidates) else None)


class LeftOut(NamedTuple):
    """A finding for which a patch does nothing, and why."""

    finding: Finding
    why: str


class NotRepairable(Exception):
    """A finding leads to no operation."""


def operation_for(wanted: Wanted, graph: Editable) -> Operation:
    """The operation that a finding leads to, without its expectations."""
    try:
        return _Reader(wanted, graph).operation()
    except UnknownName as error:
        raise NotRepairable(error.message) from None
    except ValidationError as error:
        raise NotRepairable(f"the proposal cannot be used: {error.errors()[0]['msg']}") from None


def in_order(operations: Iterable[Operation]) -> list[Operation]:
    """Operations in an order in which none takes away what another needs.

    First edges, then values of nodes, then nodes that move, those that others move into last, then nodes that go, and
    edges that come.
    """
    found = list(operations)
    goes_to = {o.what: o.into for o in found if isinstance(o, Merge | Repoint) and isinstance(o.what, Ref)}

    def place(operation: Operation) -> tuple[int, int]:
        if isinstance(operation, AddEdge) or not isinstance(operation.what, Ref):
            return (4 if isinstance(operation, AddEdge) else 0), 0
        if isinstance(operation, SetValue | Retire):
            return (1 if isinstance(operation, SetValue) else 3), 0
        way, ref = list[Ref](), operation.what
        while ref in goes_to and ref not in way:
            way.append(ref)
            ref = goes_to[ref]
        return 2, -len(way)

    return sorted(found, key=place)


class _Reader:
    def __init__(self, wanted: Wanted, graph: Editable) -> None:
        self._finding, self._chosen = wanted
        self._task = wanted.finding.task
        self._graph = graph
        self._schema: Schema = graph.schema
        deciding = [e for e in wanted.finding.verdict.evidence if is_deciding(e)]
        cited = dict.fromkeys(Cited(source=e.source, release=e.release, record=e.record) for e in deciding)
        self._common: dict[str, Any] = {
            "finding": wanted.finding.fingerprint,
            "basis": basis_of(wanted.finding),
            "reason": wanted.finding.verdict.reason,
            "evidence": tuple(cited),
        }

    def operation(self) -> Operation:
        change, task = self._finding.change, self._task
        if change is None:
            raise NotRepairable(f"it is {self._finding.verdict.outcome.value}: no change is proposed")
        if self._chosen is not None and change.candidates and self._chosen not in change.candidates:
            raise NotRepairable(f"{self._chosen!r} is none of its candidates: {', '.join(change.candidates)}")
        kind = change.kind
        if kind is ChangeKind.REVIEW and self._chosen is None:
            choice = f"choose one of {', '.join(change.candidates)}" if change.candidates else "a person must look"
            raise NotRepairable(f"nothing is proposed that could be done by itself: {choice}")
        to = self._chosen if self._chosen is not None else change.to
        match task.type:
            case CheckType.ATTRIBUTE:
                return self._set_value(to)
            case CheckType.STRUCTURE if kind is ChangeKind.SET_VALUE:
                return self._set_value(to)
            case CheckType.STRUCTURE if kind is ChangeKind.REVIEW:
                return self._one_of_two(to)
            case CheckType.POTENTIAL:
                return self._add_edge()
            case CheckType.EXISTENCE if kind is not ChangeKind.RETIRE:
                return self._move_node(self._subject(), to)
            case CheckType.TRIPLE if kind is not ChangeKind.RETIRE:
                return self._repoint(to)
            case _ if kind is ChangeKind.RETIRE and self._chosen is None:
                what = self._triple() if task.object else self._subject()
                rule = self._finding.verdict.reason.rule
                keeps_one = rule is not None and rule.repair is RuleRepair.RETIRE_DUPLICATES
                return Retire(what=what, but_one=keeps_one, **self._common)
            case _:
                raise NotRepairable(f"{kind.value} of {task} is nothing that a patch can do")

    def _subject(self) -> Ref:
        self._schema.label(self._task.subject.label)
        return self._task.subject

    def _triple(self) -> Triple:
        task = self._task
        if task.object is None or task.relation is None:
            raise NotRepairable("it is about no edge")
        self._schema.pattern(task.subject.label, task.relation, task.object.label)
        return Triple(head=task.subject, relation=task.relation, tail=task.object)

    def _set_value(self, to: str | None) -> Operation:
        task, schema = self._task, self._schema
        what = self._triple() if task.object else self._subject()
        holder: Label | Pattern = (
            schema.label(what.label)
            if isinstance(what, Ref)
            else schema.pattern(what.head.label, what.relation, what.tail.label)
        )
        if task.attribute not in holder.properties:
            raise NotRepairable(f"the profile has no property {task.attribute!r} of {what}")
        kind = holder.properties[task.attribute].type
        value = _typed(kind, to)
        if value is None:
            raise NotRepairable("the right value is not known" if to is None else f"{to!r} is no {kind}")
        source = None
        if isinstance(holder, Pattern) and task.attribute in holder.scored and "source" in holder.properties:
            score = holder.scored[task.attribute].score
            source = score.cited if score else None
        was = self._was(what, task.attribute, kind)
        return SetValue(what=what, attribute=task.attribute, was=was, to=value, source=source, **self._common)

    def _was(self, subject: Ref | Triple, attribute: str, kind: PropertyType) -> PropertyValue:
        """Return the graph's value, which must be what the finding saw; a structure rule tells no value."""
        seen = items_of(self._task.value) if kind == "strings" else self._task.value
        if isinstance(subject, Triple):
            values = [e.properties.get(attribute) for e in self._graph.edges(subject) if not e.retired]
            known = [v for v in values if same_value(kind, v, seen)] or [_typed(kind, self._task.value)]
            found: PropertyValue = known[0]
            return found
        node = self._graph.node(subject)
        value: PropertyValue = node.properties.get(attribute) if node else None
        if self._task.type is CheckType.ATTRIBUTE and node and not same_value(kind, value, seen):
            raise NotAsExpected(f"{subject}.{attribute} is another value now than the finding saw")
        return value

    def _move_node(self, node: Ref, to: str | None) -> Operation:
        if not to:
            raise NotRepairable("it is not known what stands in its place")
        into = Ref(label=node.label, id=to)
        if presence(self._graph, into) == "absent":
            return Repoint(what=node, to=to, **self._common)
        return Merge(what=node, into=into, **self._common)

    def _one_of_two(self, chosen: str | None) -> Operation:
        """Two nodes that are one: the other one goes into that which was chosen."""
        task = self._task
        if task.object is None or task.relation or task.object.label != task.subject.label:
            raise NotRepairable("nothing is proposed that could be done by itself: a person must look")
        ends = {task.subject.id: task.object, task.object.id: task.subject}
        if chosen not in ends:
            raise NotRepairable(f"choose the node that stays: {' or '.join(ends)}")
        return self._move_node(ends[chosen], chosen)

    def _repoint(self, to: str | None) -> Operation:
        what = self._triple()
        spoken = [e.about for e in self._finding.verdict.evidence if to in (*e.replacements, *e.candidates)]
        ends = sorted({about for about in spoken if about in ("head", "tail")})
        if not to or len(ends) != 1:
            raise NotRepairable("the evidence does not say which end of the edge it is about")
        end: Literal["head", "tail"] = "head" if ends == ["head"] else "tail"
        old = what.head if end == "head" else what.tail
        new = Ref(label=old.label, id=to)
        if presence(self._graph, new) == "absent":
            raise NotRepairable(f"there is no {new} in the graph: repair the node {old} itself, with all of its edges")
        pattern = self._schema.pattern(what.head.label, what.relation, what.tail.label)
        if new == (what.tail if end == "head" else what.head) and not pattern.loops:
            return Retire(what=what, **self._common)
        return Repoint(what=what, end=end, to=to, **self._common)

    def _add_edge(self) -> Operation:
        what = self._triple()
        pattern = self._schema.pattern(what.head.label, what.relation, what.tail.label)
        values: dict[str, Any] = {}
        for e in self._finding.verdict.evidence:
            if e.stance is not Stance.SUPPORTS or e.about != "fact" or values:
                continue
            score = next((c.score for c in pattern.checks if c.source == e.source and c.score), None)
            if "source" in pattern.properties:
                values["source"] = score.cited if score else e.source
            if score and e.score is not None:
                values[score.property] = e.score
        return AddEdge(what=what, properties=values, **self._common)


def _typed(kind: PropertyType, text: str | None) -> PropertyValue:
    if text is None:
        return None
    if kind == "strings":
        return items_of(text)
    value: PropertyValue = brought_to(kind, text)
    return value


_NodeOperation = Merge | Repoint | Retire
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
    """Number of edges that state the triple that it is about, without those that are retired."""
    retired: tuple[bool, bool] = (False, False)
    """Retirement of the ends of a new edge: head, tail."""


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
            case SetEdge(triple=t) | WholeEdge(step="add_edge", triple=t):
                head, tail = (bool(node and node.retired) for node in map(draft.node, (t.head, t.tail)))
                found.append(WatchedPart(step, beside=len(active(draft.edges(t))), retired=(head, tail)))
            case _:
                found.append(WatchedPart(step))
        do(step, draft)
    return tuple(found)


def statements_of(patch: Patch, steps: Sequence[Sequence[WatchedPart]], schema: Schema) -> tuple[str, dict[str, Any]]:
    """Write a patch as Cypher statements with parameters, for a Neo4j graph that is as it expects."""
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
    for (statement, places), group in groupby(every, lambda one: _statement(one, schema)):
        for rows in _together(group, schema):
            name = f"rows{len(parameters) + 1}"
            parameters[name] = rows
            lines += ["", cypher.text(statement, **dict(places)).replace("$rows", f"${name}") + ";"]
    return "\n".join(lines) + "\n", parameters


def _together(alike: Iterable[WatchedPart], schema: Schema) -> Iterator[list[dict[str, Any]]]:
    """Rows that one statement does: none of what another of them has changed, which it would not see."""
    rows: list[dict[str, Any]] = []
    first: dict[Ref | Triple, WatchedPart] = {}
    seen = Counter[str]()
    for one in alike:
        step = one.step
        what = step.ref if isinstance(step, SetNode | WholeNode | Expected) else step.triple
        same = first.setdefault(what, one)
        # A step that leaves its edge as it was is then, done once more, of the same edge.
        was = _stated(step.properties) if isinstance(step, SetEdge) else {}
        is_lasting = isinstance(step, SetEdge) and updated(was, _stated(step.after)) == updated({}, was)
        if same.step != step or (same is not one and is_lasting):
            yield rows
            rows, first, seen, same = [], {what: one}, Counter(), one
        # What a statement looks at is as it was before its first row.
        row = _row(one._replace(beside=same.beside), schema)
        text = json.dumps(row, sort_keys=True)
        # Of edges that are alike, each row means another one.
        rows.append(row | {"nth": seen[text]} if "was" in row and "head" in row else row)
        seen[text] += 1
    yield rows


def _statement(one: WatchedPart, schema: Schema) -> tuple[str, tuple[tuple[str, str], ...]]:
    """The statement of a step, and its places."""
    match one.step:
        case SetNode(ref=ref):
            statement, places = "update_patched_node", label_place(schema.label(ref.label))
        case WholeNode(step="add_node", ref=ref):
            statement, places = "create_patched_node", label_place(schema.label(ref.label))
        case Expected(ref=ref):
            statement, places = "expect_patched_node", label_place(schema.label(ref.label))
        case SetEdge(triple=t) | WholeEdge(step="add_edge", triple=t):
            statement = "update_patched_edge" if isinstance(one.step, SetEdge) else "create_patched_edge"
            places = pattern_places(schema.pattern(t.head.label, t.relation, t.tail.label))
        case _:
            raise TypeError(one.step)
    return statement, tuple(places.items())


def _row(one: WatchedPart, schema: Schema) -> dict[str, Any]:
    match one.step:
        case SetNode(ref=ref) | Expected(ref=ref):
            # By its id, with all that it must have, and the names of what it may have beside that.
            known = _stated(one.node) | (_stated(one.step.before) if isinstance(one.step, SetNode) else {})
            was = {name: value for name, value in known.items() if _can_be_written(value)}
            beside = [name for name in one.node if name not in was]
            row = {"id": ref.id, "was": was, "any": [schema.label(ref.label).key, *beside]}
            return row | {"set": _stated(one.step.after)} if isinstance(one.step, SetNode) else row
        case WholeNode(ref=ref, properties=properties):
            return {"id": ref.id, "set": _stated(properties)}
        case SetEdge(triple=t, properties=properties, after=after):
            was = {name: value for name, value in _stated(properties).items() if value is not None}
            return {"head": t.head.id, "tail": t.tail.id, "was": was, "set": _stated(after), "beside": one.beside}
        case WholeEdge(triple=t, properties=properties):
            row = {"head": t.head.id, "tail": t.tail.id, "set": _stated(properties)}
            return row | {"beside": one.beside, "retired": list(one.retired)}


def _can_be_written(value: Any) -> bool:
    """Tell whether a value stands in JSON as it is: a date of the server does not."""
    try:
        return bool(json.loads(json.dumps(value, allow_nan=False)) == value)
    except (TypeError, ValueError):
        return False


def _stated(properties: Properties) -> Properties:
    return {name: value for name, value in properties.items() if name not in _WHEN_APPLIED}


CYPHER, PARAMETERS, PAGE = "patch.cypher", "patch.params.json", "patch.md"


class PatchMade(NamedTuple):
    """A patch that was made, and the findings for which it does nothing; no patch where it would be empty."""

    patch: Patch | None
    left_out: tuple[LeftOut, ...]

    def words(self) -> list[tuple[int, str]]:
        return [(n, in_words(o)) for n, o in enumerate(self.patch.operations if self.patch else (), 1)]

    def as_row(self) -> dict[str, Any]:
        operations = self.patch.operations if self.patch else ()
        return {
            "patch": self.patch.id if self.patch else None,
            "operations": [o.model_dump(mode="json") for o in operations],
            "left_out": [{"finding": item.finding.fingerprint, "why": item.why} for item in self.left_out],
        }


class Drafted(NamedTuple):
    """An operation with what it expects, and the steps that it comes to."""

    operation: Operation
    steps: tuple[Step, ...]
    watched: tuple[WatchedPart, ...]


def make_patch(wanted: Sequence[Wanted], run: str, store: OpenedStore, folder: Path, *, by: str) -> PatchMade:
    """Make a patch of findings, and write its files."""
    if (folder / PATCH).exists():
        raise UsageError(f"{folder} holds a patch already", "name another folder with --out")
    findings = {w.finding.fingerprint: w.finding for w in wanted}
    with store.statements(write=False) as run_:
        draft = DraftGraph(StoreChanges(store, run_))
        operations, left_out = _operations(wanted, draft)
        drafted, misfits = fitting(operations, draft)
    left_out += [LeftOut(findings[operation.finding], why) for operation, why in misfits]
    if not drafted:
        return PatchMade(None, tuple(left_out))
    patch = patch_of([d.operation for d in drafted], store, run, by=by)
    # The patch itself comes last: a folder with one is whole.
    text, parameters = statements_of(patch, [d.watched for d in drafted], store.schema)
    write_text(folder / CYPHER, text)
    write_text(folder / PARAMETERS, json.dumps(parameters, indent=1) + "\n")
    write_text(folder / PAGE, patch_page(patch, findings, left_out))
    write_patch(folder, patch)
    return PatchMade(patch, tuple(left_out))


def patch_of(operations: Sequence[Operation], store: OpenedStore, run: str, *, by: str) -> Patch:
    """A patch of operations that know what they expect."""
    header = PatchHeader(
        store=store_place(store),
        store_id=store.store_id(),
        profile=profile_of(store.schema),
        run=run,
        created=clock.now(),
        by=by,
        operations=len(operations),
    )
    return Patch(sealed(header, numbered_lines(operations)), tuple(operations))


def fitting(operations: Iterable[Operation], draft: DraftGraph) -> tuple[list[Drafted], list[tuple[Operation, str]]]:
    """Operations that fit one after the other, each with what it expects and comes to."""
    drafted, misfits = [], []
    for operation in operations:
        try:
            ready = operation.model_copy(update={"expected": expectations(operation, draft)})
            steps = steps_of(ready, draft, Stamp("", ""))
            if isinstance(ready, Merge | Repoint):
                ready = ready.model_copy(update={"meets": meetings(steps)})
            drafted.append(Drafted(ready, steps, watched(ready, steps, draft)))
            do_all(steps, draft)
        except NotAsExpected as error:
            misfits.append((operation, str(error)))
    return drafted, misfits


def patch_page(patch: Patch, findings: dict[str, Finding], left_out: Iterable[LeftOut]) -> str:
    """A patch as a page to read."""
    rows = [
        {
            "number": number,
            "operation": operation,
            "words": in_words(operation),
            "called": called_in(findings[operation.finding]) if operation.finding in findings else "",
        }
        for number, operation in enumerate(patch.operations, 1)
    ]
    left = [{"finding": item.finding, "why": item.why} for item in left_out]
    return page("patch", "markdown", header=patch.header, id=patch.id, rows=rows, left_out=left)


def _operations(wanted: Sequence[Wanted], draft: DraftGraph) -> tuple[list[Operation], list[LeftOut]]:
    found: list[Operation] = []
    left_out: list[LeftOut] = []
    first: dict[tuple[object, ...], Operation] = {}
    for one in wanted:
        try:
            operation = operation_for(one, draft)
        except (NotRepairable, NotAsExpected) as error:
            left_out.append(LeftOut(one.finding, str(error)))
            continue
        # No two operations may have the same effect.
        kind = "move" if isinstance(operation, Merge | Repoint) else operation.kind
        same = first.setdefault((kind, operation.what, getattr(operation, "attribute", "")), operation)
        if same is operation:
            found.append(operation)
        elif all(getattr(operation, name, None) == getattr(same, name, None) for name in ("to", "into")):
            left_out.append(LeftOut(one.finding, f"finding {same.finding} comes to the same operation"))
        else:
            why = f"finding {same.finding} makes another change of the same thing: {in_words(same)}"
            left_out.append(LeftOut(one.finding, why))
    nodes = {o.what: o for o in found if isinstance(o, Merge | Repoint | Retire) and isinstance(o.what, Ref)}
    causes = {one.finding.fingerprint: one.finding for one in wanted}
    kept: list[Operation] = []
    for operation in found:
        finding = causes[operation.finding]
        if finding.cause in causes and (other := _does_it_too(operation, nodes)):
            left_out.append(LeftOut(finding, f"{_WITH_ANOTHER}: {in_words(other)}"))
        else:
            kept.append(operation)
    return in_order(kept), [LeftOut(item.finding, _comes_with(item, nodes, causes) or item.why) for item in left_out]


_WITH_ANOTHER = "it comes with another operation"


def _does_it_too(operation: Operation, nodes: Mapping[Ref, _NodeOperation]) -> _NodeOperation | None:
    """The operation on a node that leaves nothing to do for one that follows from it."""
    what = operation.what
    if isinstance(what, Ref):
        other = nodes.get(what)
        return other if isinstance(operation, SetValue) and not isinstance(other, Repoint) else None
    for end in (what.head, what.tail):
        # The edges of a node that moves keep their values.
        if (other := nodes.get(end)) and (isinstance(other, Retire) or not isinstance(operation, SetValue)):
            return other
    return None


def _comes_with(item: LeftOut, nodes: Mapping[Ref, _NodeOperation], causes: Container[str | None]) -> str:
    """Name the operation on a node that repairs a left-out finding, too; empty if there is none."""
    finding, ends = item.finding, [end for end in (item.finding.task.subject, item.finding.task.object) if end]
    for operation in (nodes[end] for end in ends if end in nodes):
        is_moved = not isinstance(operation, Retire) and finding.change and operation.into.id == finding.change.to
        if operation.finding != finding.fingerprint and (is_moved or finding.cause in causes):
            return f"{_WITH_ANOTHER}: {in_words(operation)}"
    return ""
