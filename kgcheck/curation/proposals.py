"""Operations from findings: the proposed change, with what a person chose where there was a choice."""

from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

from pydantic import ValidationError

from kgcheck.checks.lists import items_of
from kgcheck.curation.effects import presence, same_value
from kgcheck.curation.operations import AddEdge, Cited, Merge, Operation, PropertyValue, Repoint, Retire, SetValue
from kgcheck.errors import UnknownName
from kgcheck.graph.changes import Editable, NotAsExpected
from kgcheck.graph.store import brought_to
from kgcheck.ledger.basis import basis_of, is_deciding
from kgcheck.model import ChangeKind, CheckType, Finding, Ref, Stance, Triple
from kgcheck.profile.schema import Label, Pattern, PropertyType, Schema
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

    def steps_to_go(ref: Any) -> int:
        way: list[Any] = []
        while ref in goes_to and ref not in way:
            way.append(ref)
            ref = goes_to[ref]
        return len(way)

    def place(operation: Operation) -> tuple[int, int]:
        match operation:
            case AddEdge():
                return 4, 0
            case SetValue(what=Ref()):
                return 1, 0
            case Merge() | Repoint() if isinstance(operation.what, Ref):
                return 2, -steps_to_go(operation.what)
            case Retire(what=Ref()):
                return 3, 0
            case _:
                return 0, 0

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
                return self._move_node(self._subject, to)
            case CheckType.TRIPLE if kind is not ChangeKind.RETIRE:
                return self._repoint(to)
            case _ if kind is ChangeKind.RETIRE and self._chosen is None:
                what = self._triple if task.object else self._subject
                rule = self._finding.verdict.reason.rule
                keeps_one = rule is not None and rule.repair is RuleRepair.RETIRE_DUPLICATES
                return Retire(what=what, but_one=keeps_one, **self._common)
            case _:
                raise NotRepairable(f"{kind.value} of {task} is nothing that a patch can do")

    @property
    def _subject(self) -> Ref:
        self._schema.label(self._task.subject.label)
        return self._task.subject

    @property
    def _triple(self) -> Triple:
        task = self._task
        if task.object is None or task.relation is None:
            raise NotRepairable("it is about no edge")
        self._schema.pattern(task.subject.label, task.relation, task.object.label)
        return Triple(head=task.subject, relation=task.relation, tail=task.object)

    def _set_value(self, to: str | None) -> Operation:
        task = self._task
        what = self._triple if task.object else self._subject
        holder: Label | Pattern
        if isinstance(what, Triple):
            holder = self._schema.pattern(what.head.label, what.relation, what.tail.label)
        else:
            holder = self._schema.label(what.label)
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
        what = self._triple
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
        what = self._triple
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
