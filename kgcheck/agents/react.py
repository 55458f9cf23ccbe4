"""A model that answers questions by tools alone: thought, action, observation, at most 15 times as in BioKGBench."""

import json
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from importlib.resources import files
from typing import Any, NamedTuple

from pydantic import BaseModel, Field, ValidationError

from kgcheck.agents.brains.llm import data, spec_of
from kgcheck.agents.outside import Outside
from kgcheck.agents.toolbox import Tool, Toolbox
from kgcheck.agents.transcript import Role
from kgcheck.chat import ChatClient, Message, Reply
from kgcheck.checks.signature import Gap
from kgcheck.errors import BudgetExceeded, UnknownName, UsageError
from kgcheck.graph.schema import Schema
from kgcheck.graph.store import Direction, GraphStore
from kgcheck.graph.symmetry import directions
from kgcheck.kgqa.answer import Answer, Edge, Found, Status
from kgcheck.model import CheckTask, Evidence, Ref, Triple, Value
from kgcheck.spending import Limits, Meter

MOST_ACTIONS = 15
OF_THE_TEAM = ((Role.KG, "kg_relations"), (Role.KG, "kg_cypher"), (Role.VALIDATION, "literature_search"))
"""Tools of the team that serve a question, too; the last one only where there are papers."""

_MOST_SHOWN = 200
_NAMES = 5


class Find(Value):
    """Nodes that carry a name, of one label or of any."""

    name: str
    label: str | None = None


class NodeOf(Value):
    """Whether a node exists, and its attributes."""

    label: str
    id: str


class EdgesOf(Value):
    """Relations between two nodes, in either order."""

    one: Ref
    other: Ref


class Neighbours(Value):
    """Nodes one step from a node along a relation (out) or against it (in)."""

    node: Ref
    relation: str
    direction: Direction
    label: str


class Shared(Value):
    """Nodes that all of several nodes have one step away."""

    nodes: tuple[Ref, ...] = Field(min_length=2, max_length=10)
    relation: str
    direction: Direction
    label: str


class Final(Value):
    """The answer: ids of one label, a number, or whether it holds."""

    understood: bool = True
    label: str | None = None
    ids: tuple[str, ...] = ()
    count: int | None = None
    holds: bool | None = Field(default=None, description="of a yes or no question: whether the graph says so")


class _Tool(NamedTuple):
    name: str
    form: type[BaseModel]
    run: Callable[[Any], Any]


class ReactAgent:
    """Answers questions with a model.

    Args:
        store: The graph.
        client: The model.
        limits: Of each question.
        outside: Papers that the model may search; without them it has no such tool.
        on_text: Gets what the model says as it says it.
    """

    def __init__(
        self,
        store: GraphStore,
        client: ChatClient,
        limits: Limits | None = None,
        outside: Outside | None = None,
        on_text: Callable[[str], None] | None = None,
    ) -> None:
        self._store = store
        self._client = client
        self._limits = limits or Limits()
        self._on_text = on_text
        toolbox = Toolbox(store, _NoSource(), outside)
        self._more = [
            tool
            for role, name in OF_THE_TEAM
            for tool in toolbox.tools(role)
            if tool.name == name and (outside or role is Role.KG)
        ]

    def ask(self, question: str) -> Answer:
        """Answer a question.

        Args:
            question: In words.

        Returns:
            The answer; stopped where the actions or a limit ran out before there was one.
        """
        meter = Meter(self._limits, self._client.prices)
        run = _Run(question, self._store, self._more)
        try:
            for _ in range(MOST_ACTIONS):
                reply = self._client.complete(run.messages, tools=run.specs, meter=meter, on_text=self._on_text)
                answer = run.take(reply)
                if answer:
                    break
            else:
                answer = _stopped(question, f"no answer after {MOST_ACTIONS} actions")
        except BudgetExceeded as error:
            answer = _stopped(question, error.message)
        spent = meter.spent
        tokens = spent.input_tokens + spent.output_tokens
        return answer.model_copy(update={"actions": spent.turns, "tokens": tokens, "cost": spent.money})


class _NoSource:
    """Questions are answered from the graph: no source gives evidence."""

    def observe(self, task: CheckTask, cited: Sequence[str] = ()) -> tuple[tuple[Evidence, ...], tuple[Gap, ...]]:
        """See ReferenceSource."""
        return (), ()


class _Run:
    """One question under way."""

    def __init__(self, question: str, store: GraphStore, more: list[Tool]) -> None:
        self._question = question
        self._store = store
        self._schema: Schema = store.schema
        self._shown: dict[Ref, tuple[Edge, ...]] = {}
        self._listed: set[str] = set()
        tools = (
            _Tool("find", Find, self._find),
            _Tool("node", NodeOf, self._node),
            _Tool("edges", EdgesOf, self._edges),
            _Tool("neighbours", Neighbours, self._neighbours),
            _Tool("shared", Shared, self._shared),
            *(_Tool(tool.name, tool.arguments, self._team(tool)) for tool in more),
            _Tool("answer", Final, self._answer),
        )
        self._tools = {tool.name: tool for tool in tools}
        purposes = {tool.name: tool.purpose for tool in more}
        self.specs = [spec_of(t.name, purposes.get(t.name) or t.form.__doc__ or "", t.form) for t in tools]
        prompt = (files("kgcheck.agents") / "prompts" / "react.md").read_text(encoding="utf-8")
        known = "\n".join(f"({p.head})-[{p.type}]->({p.tail})" for p in self._schema.relations)
        self.messages: list[Message] = [
            {"role": "system", "content": f"{prompt}\nThe relations of the graph:\n{known}"},
            {"role": "user", "content": data(json.dumps({"question": question}, ensure_ascii=False))},
        ]

    def take(self, reply: Reply) -> Answer | None:
        """Do what a reply says.

        Args:
            reply: Of the model.

        Returns:
            The answer, if it was one that rests on what was shown.
        """
        call = reply.calls[0] if reply.calls else None
        self.messages.append(reply.model_copy(update={"calls": reply.calls[:1]}).as_message())
        if call is None:
            self.messages.append({"role": "user", "content": "That was no action: call exactly one tool."})
            return None
        try:
            result = self._used(call.name, call.arguments)
        except (UsageError, UnknownName) as error:
            result = {"refused": error.message}
        if isinstance(result, Answer):
            return result
        told = data(json.dumps(result, ensure_ascii=False, default=str))
        self.messages.append({"role": "tool", "tool_call_id": call.id, "content": told})
        return None

    def _used(self, name: str, arguments: str) -> Any:
        if name not in self._tools:
            raise UsageError(f"there is no tool {name!r}")
        try:
            return self._tools[name].run(self._tools[name].form.model_validate_json(arguments or "{}"))
        except ValidationError as error:
            wrong = "; ".join(f"{'.'.join(map(str, e['loc']))} {e['msg']}" for e in error.errors()[:5])
            raise UsageError(f"the arguments of {name} do not fit: {wrong}") from error

    def _team(self, tool: Tool) -> Callable[[Any], Any]:
        """A tool of the team; ids in what it shows may be answers."""

        def run(asked: Any) -> Any:
            result = tool.run(asked).model_dump(mode="json", exclude_none=True)
            self._listed |= set(_texts(result))
            return result

        return run

    def _show(self, ref: Ref, path: tuple[Edge, ...] = ()) -> None:
        self._shown.setdefault(ref, path)

    def _find(self, asked: Find) -> dict[str, list[str]]:
        labels = [self._schema.label(asked.label)] if asked.label else self._schema.labels
        found = {}
        for label in labels:
            ids = self._store.ids_named(label, asked.name, _NAMES)
            if label.matches(asked.name) and self._store.node(Ref(label=label.name, id=asked.name)):
                ids = [asked.name, *(i for i in ids if i != asked.name)]
            for id_ in ids:
                self._show(Ref(label=label.name, id=id_))
            if ids:
                found[label.name] = ids
        return found

    def _node(self, asked: NodeOf) -> dict[str, Any]:
        ref = self._schema.ref(asked.label, asked.id)
        held = self._store.node(ref)
        if held is not None:
            self._show(ref)
        return {"exists": held is not None, "attributes": held or {}}

    def _edges(self, asked: EdgesOf) -> list[dict[str, Any]]:
        found = []
        for head, tail in ((asked.one, asked.other), (asked.other, asked.one)):
            for pattern in self._schema.relations:
                if (pattern.head, pattern.tail) == (head.label, tail.label):
                    triple = Triple(head=head, relation=pattern.type, tail=tail)
                    found += [{"triple": str(triple)} | edge for edge in self._store.edges(triple)]
        return found[:_MOST_SHOWN]

    def _neighbours(self, asked: Neighbours) -> list[dict[str, Any]]:
        reached = self._step(asked.node, asked)
        for ref, edge in reached.items():
            self._show(ref, (edge, *self._shown.get(asked.node, ())))
        return self._told(list(reached))

    def _shared(self, asked: Shared) -> list[dict[str, Any]]:
        steps = [self._step(node, asked) for node in asked.nodes]
        common = reduce(lambda a, b: {r: e for r, e in a.items() if r in b}, steps)
        for ref in common:
            self._show(ref, tuple(step[ref] for step in steps))
        return self._told(list(common))

    def _step(self, node: Ref, asked: Neighbours | Shared) -> dict[Ref, Edge]:
        head, tail = (node.label, asked.label) if asked.direction == "out" else (asked.label, node.label)
        pattern = self._schema.pattern(head, asked.relation, tail)
        reached: dict[Ref, Edge] = {}
        for way in directions(pattern, asked.direction):
            for hop in self._store.hops([node.id], pattern, way):
                ref = Ref(label=asked.label, id=hop.end)
                ends = (node, ref) if way == "out" else (ref, node)
                triple = Triple(head=ends[0], relation=asked.relation, tail=ends[1])
                reached.setdefault(ref, Edge(triple=triple, properties=hop.properties))
        return reached

    def _told(self, refs: list[Ref]) -> list[dict[str, Any]]:
        if not refs:
            return []
        held = self._store.nodes(self._schema.label(refs[0].label), [r.id for r in refs[:_MOST_SHOWN]])
        return [{"id": r.id, "name": held.get(r.id, {}).get("name")} for r in refs[:_MOST_SHOWN]]

    def _answer(self, final: Final) -> Answer:
        if not final.understood:
            return Answer(question=self._question, status=Status.NOT_UNDERSTOOD, because="the model does not know")
        if final.ids and not final.label:
            raise UsageError("say of which label the ids are")
        refs = [self._schema.ref(final.label or "", id_) for id_ in dict.fromkeys(final.ids)]
        unseen = [ref for ref in refs if ref not in self._shown and not self._is_listed(ref)]
        if unseen:
            raise UsageError(f"no tool has shown {', '.join(map(str, unseen[:3]))}")
        held = self._store.nodes(self._schema.label(refs[0].label), [r.id for r in refs]) if refs else {}
        found = tuple(
            Found(
                ref=ref,
                name=held.get(ref.id, {}).get("name"),
                properties={k: v for k, v in held.get(ref.id, {}).items() if k not in ("id", "name")},
                path=self._shown.get(ref, ()),
            )
            for ref in refs
        )
        status = Status.ANSWERED if found or final.count is not None or final.holds else Status.NOTHING
        return Answer(question=self._question, status=status, count=final.count, holds=final.holds, found=found)

    def _is_listed(self, ref: Ref) -> bool:
        """Whether a statement or another tool of the team has shown an id, and the graph has that node."""
        return ref.id in self._listed and self._store.node(ref) is not None


def _texts(value: Any) -> Iterator[str]:
    """Every text in a result."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for held in value.values():
            yield from _texts(held)
    elif isinstance(value, list | tuple):
        for held in value:
            yield from _texts(held)


def _stopped(question: str, because: str) -> Answer:
    return Answer(question=question, status=Status.STOPPED, because=because)
