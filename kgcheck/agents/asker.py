"""A model that answers questions by tools alone: thought, action, observation, at most 15 times as in BioKGBench.

What it answers must rest on what its tools have shown in this conversation (kgcheck.agents.shown); else it is told so,
and in the end there is no answer.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from importlib.resources import files
from typing import Any, NamedTuple

from pydantic import BaseModel, ValidationError

from kgcheck.agents.bound import as_call, form_of_steps, told_of
from kgcheck.agents.brains.llm import data, spec_of
from kgcheck.agents.moves import EdgesOf, Final, Find, Neighbours, NodeOf, Shared
from kgcheck.agents.outside import Outside
from kgcheck.agents.shown import Path, Shown, Step, Unsupported
from kgcheck.agents.toolbox import CypherArguments, CypherResult, RelationsResult, Tool, Toolbox
from kgcheck.agents.transcript import Role
from kgcheck.agents.whether import bears_out
from kgcheck.errors import BudgetExceeded, UnknownName, UsageError
from kgcheck.graph.store import GraphStore, Reading
from kgcheck.graph.symmetry import directions
from kgcheck.llm.budget import Limits, Meter
from kgcheck.llm.client import ChatClient, Message, Reply
from kgcheck.llm.forms import complete_bound
from kgcheck.model import CheckTask, Evidence, Gap, Ref, Triple
from kgcheck.profile.schema import Schema
from kgcheck.questions.answer import NOT_IN_THE_GRAPH, Answer, Edge, Found, Status

MOST_ACTIONS = 15
MOST_UNSUPPORTED = 3
"""Answers that nothing bears out, after which a model is given up."""

OF_THE_TEAM = ((Role.KG, "kg_relations"), (Role.KG, "kg_cypher"), (Role.VALIDATION, "literature_search"))
"""Tools of the team that serve a question, too; the last one only where there are papers."""

_MOST_SHOWN = 200
_NAMES = 5
_ANSWER = "answer"


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
        run = _Run(question, self._store, self._more, self._client.small)
        try:
            for _ in range(MOST_ACTIONS):
                answer = run.take(self._next(run, meter))
                if answer:
                    break
            else:
                answer = run.without(f"no answer after {MOST_ACTIONS} actions")
        except BudgetExceeded as error:
            answer = run.without(error.message)
        spent = meter.spent
        tokens = spent.input_tokens + spent.output_tokens
        return answer.model_copy(update={"actions": spent.turns, "tokens": tokens, "cost": spent.money})

    def _next(self, run: "_Run", meter: Meter) -> Reply:
        if run.bound:
            reply = complete_bound(self._client, run.messages, run.form(), meter=meter, on_text=self._on_text)
            return as_call(reply)
        return self._client.complete(run.messages, tools=run.specs, meter=meter, on_text=self._on_text)


class _NoSource:
    """Questions are answered from the graph: no source gives evidence."""

    def observe(self, task: CheckTask, cited: Sequence[str] = ()) -> tuple[tuple[Evidence, ...], tuple[Gap, ...]]:
        """See ReferenceSource."""
        return (), ()


class _Run:
    """One question under way."""

    def __init__(self, question: str, store: GraphStore, more: list[Tool], small: bool = False) -> None:
        self._question = question
        self._store = store
        self._schema: Schema = store.schema
        self._shown = Shown(question, store)
        self._unsupported: list[str] = []
        self.bound = small
        tools = (
            _Tool("find", Find, self._find),
            _Tool("node", NodeOf, self._node),
            _Tool("edges", EdgesOf, self._edges),
            _Tool("neighbours", Neighbours, self._neighbours),
            _Tool("shared", Shared, self._shared),
            *(_Tool(tool.name, tool.arguments, self._team(tool)) for tool in more if not small),
            _Tool(_ANSWER, Final, self._answer),
        )
        self._tools = {tool.name: tool for tool in tools}
        purposes = {tool.name: tool.purpose for tool in more}
        self.specs = [spec_of(t.name, purposes.get(t.name) or t.form.__doc__ or "", t.form) for t in tools]
        self.forms = {tool.name: tool.form for tool in tools}
        self._small, self._went = small, False
        self._known: dict[str, None] = {}
        folder = files("kgcheck.agents") / "prompts"
        prompt = ((folder / "small" if small else folder) / "react.md").read_text(encoding="utf-8")
        if small:
            prompt += told_of(self.forms, example=False) + self._worked_example()
        known = "\n".join(f"({p.head})-[{p.type}]->({p.tail})" for p in self._schema.relations)
        self.messages: list[Message] = [
            {"role": "system", "content": f"{prompt}\nThe relations of the graph:\n{known}"},
            {"role": "user", "content": data(json.dumps({"question": question}, ensure_ascii=False))},
        ]

    def form(self) -> type[BaseModel]:
        """What the next step can be: for a weak model, a step over what was shown, and an answer after one."""
        if not self._small:
            return form_of_steps(self.forms)
        relations = dict.fromkeys(p.type for p in self._schema.relations)
        choices: dict[str, Sequence[Any]] = {
            "label": [label.name for label in self._schema.labels],
            "relation": list(relations),
        }
        known = list(self._known)
        choices |= {"id": known, "ids": known[-_MOST_SHOWN:]} if known else {}
        closed = {*(() if self._went else (_ANSWER,)), *(() if known else ("edges", "neighbours", "shared"))}
        return form_of_steps({name: form for name, form in self.forms.items() if name not in closed}, choices)

    def _worked_example(self) -> str:
        """A question of two made-up names with its steps, in the words of the first relation of the profile."""
        p = self._schema.relations[0]
        node = {"label": p.head, "id": "ID1"}
        steps = [
            ("find", {"name": "NAME1", "label": p.head}, {p.head: ["ID1"]}),
            ("neighbours", {"node": node, "relation": p.type, "direction": "out", "label": p.tail}, {"nodes": ["ID2"]}),
            (_ANSWER, {"understood": True, "label": p.tail, "ids": ["ID2"]}, None),
        ]
        lines = [f"\nAn example, with made-up ids: which {p.tail} does the {p.head} NAME1 go to by {p.type}?"]
        for tool, arguments, shown in steps:
            lines.append(json.dumps({"tool": tool, "arguments": arguments}))
            lines += [f"shows {json.dumps(shown)}"] if shown else []
        return "\n".join(lines)

    def take(self, reply: Reply) -> Answer | None:
        """Do what a reply says.

        Args:
            reply: Of the model.

        Returns:
            The answer, if it was one that rests on what was shown.
        """
        call = reply.calls[0] if reply.calls else None
        shown = reply if self.bound and reply.text else reply.model_copy(update={"calls": reply.calls[:1]})
        self.messages.append(shown.model_copy(update={"calls": ()} if shown is reply else {}).as_message())
        if call is None:
            said = "That was no action: call exactly one tool."
            # A model that does not call a tool may not have heard of any.
            self.messages.append({"role": "user", "content": said if self.bound else f"{said} {told_of(self.forms)}"})
            self.bound = True
            return None
        try:
            result = self._used(call.name, call.arguments)
        except (UsageError, UnknownName) as error:
            result = {"refused": f"{error.message}; {error.hint}" if error.hint else error.message}
            if isinstance(error, Unsupported):
                self._unsupported.append(error.message)
                if len(self._unsupported) == MOST_UNSUPPORTED:
                    return self.without(f"the model was given up after {MOST_UNSUPPORTED} answers")
        if isinstance(result, Answer):
            return result
        found = _ids_in(result)
        self._known |= dict.fromkeys(found)
        self._went |= "refused" not in result and not (call.name == "find" and found)
        told = data(json.dumps(result, ensure_ascii=False, default=str))
        if shown is reply:
            self.messages.append({"role": "user", "content": told})
        else:
            self.messages.append({"role": "tool", "tool_call_id": call.id, "content": told})
        return None

    def without(self, because: str) -> Answer:
        """No answer.

        Args:
            because: Why the model had to stop.

        Returns:
            Unsupported where it had answered and nothing bore that out, else stopped.
        """
        if not self._unsupported:
            return Answer(question=self._question, status=Status.STOPPED, because=because)
        because = f"{because}; its last one rests on nothing that its tools have shown: {self._unsupported[-1]}"
        return Answer(question=self._question, status=Status.UNSUPPORTED, because=because)

    def _used(self, name: str, arguments: str) -> Any:
        if name not in self._tools:
            raise UsageError(f"there is no tool {name!r}")
        try:
            return self._tools[name].run(self._tools[name].form.model_validate_json(arguments or "{}"))
        except ValidationError as error:
            wrong = "; ".join(f"{'.'.join(map(str, e['loc']))} {e['msg']}" for e in error.errors()[:5])
            raise UsageError(f"the arguments of {name} do not fit: {wrong}") from error

    def _team(self, tool: Tool) -> Callable[[Any], Any]:
        """A tool of the team. What papers say is no part of the graph, and shows no answer."""

        def run(asked: Any) -> Any:
            result = tool.run(asked)
            if isinstance(result, RelationsResult):
                self._shown.relations(result)
            elif isinstance(result, CypherResult) and isinstance(asked, CypherArguments):
                self._shown.statement(asked.query, self._read(asked.query), result)
            return result.model_dump(mode="json", exclude_none=True)

        return run

    def _read(self, statement: str) -> Reading:
        # The tables of a grammar: half a second that only those wait for who write statements.
        from kgcheck.graph.reading import read_statement

        return read_statement(statement, self._schema, self._store.backend)

    def _find(self, asked: Find) -> dict[str, list[str]]:
        labels = [self._schema.label(asked.label)] if asked.label else self._schema.labels
        found = {}
        for label in labels:
            ids = self._store.ids_named(label, asked.name, _NAMES)
            if label.matches(asked.name) and self._store.node(Ref(label=label.name, id=asked.name)):
                ids = [asked.name, *(i for i in ids if i != asked.name)]
            for id_ in ids:
                ref = Ref(label=label.name, id=id_)
                if id_ == asked.name:
                    self._shown.looked_up(ref, {})
                else:
                    self._shown.named(ref)
            if ids:
                found[label.name] = ids
        return found

    def _node(self, asked: NodeOf) -> dict[str, Any]:
        ref = self._schema.ref(asked.label, asked.id)
        held = self._store.node(ref)
        if held is not None:
            self._shown.looked_up(ref, held)
        return {"exists": held is not None, "attributes": held or {}}

    def _edges(self, asked: EdgesOf) -> list[dict[str, Any]]:
        self._must_have(asked.one, asked.other)
        found: list[dict[str, Any]] = []
        for head, tail in dict.fromkeys(((asked.one, asked.other), (asked.other, asked.one))):
            for pattern in self._schema.relations:
                if (pattern.head, pattern.tail) == (head.label, tail.label):
                    triple = Triple(head=head, relation=pattern.type, tail=tail)
                    edges = self._store.edges(triple)
                    told = edges[: _MOST_SHOWN - len(found)]
                    if told or not edges:
                        self._shown.edge(triple, told)
                    found += [{"triple": str(triple)} | edge for edge in told]
        return found

    def _neighbours(self, asked: Neighbours) -> dict[str, Any]:
        step = Step(asked.node, asked.relation, asked.direction, asked.label)
        reached = self._step(step)
        self._shown.step(step, reached, _MOST_SHOWN)
        return self._told(list(reached))

    def _shared(self, asked: Shared) -> dict[str, Any]:
        steps = [Step(node, asked.relation, asked.direction, asked.label) for node in asked.nodes]
        reached = [self._step(step) for step in steps]
        common = reduce(lambda a, b: {r: e for r, e in a.items() if r in b}, reached)
        paths: Mapping[Ref, Path] = {ref: tuple(way[ref] for way in reached) for ref in common}
        self._shown.shared(steps, paths, _MOST_SHOWN)
        return self._told(list(common))

    def _step(self, step: Step) -> dict[Ref, Edge]:
        head, tail = (step.node.label, step.label) if step.direction == "out" else (step.label, step.node.label)
        pattern = self._schema.pattern(head, step.relation, tail)
        self._must_have(step.node)
        reached: dict[Ref, Edge] = {}
        for way in directions(pattern, step.direction):
            for hop in self._store.hops([step.node.id], pattern, way):
                ref = Ref(label=step.label, id=hop.end)
                triple = step._replace(direction=way).triple(ref)
                reached.setdefault(ref, Edge(triple=triple, properties=hop.properties))
        return reached

    def _must_have(self, *refs: Ref) -> None:
        """Nothing can be said of the neighbours of a node that is not there."""
        for ref in refs:
            if self._store.node(self._schema.ref(ref.label, ref.id)) is None:
                raise UsageError(f"the graph has no {ref.label} {ref.id!r}", "look its id up with find")

    def _told(self, refs: list[Ref]) -> dict[str, Any]:
        """Nodes as a model is told of them; of how many where they are cut off."""
        told = refs[:_MOST_SHOWN]
        held = self._store.nodes(self._schema.label(told[0].label), [r.id for r in told]) if told else {}
        nodes = [{"id": r.id, "name": held.get(r.id, {}).get("name")} for r in told]
        return {"total": len(refs), "nodes": nodes, "cut_off": len(told) < len(refs)}

    def _answer(self, final: Final) -> Answer:
        if not final.understood:
            return Answer(question=self._question, status=Status.NOT_UNDERSTOOD, because="the model does not know")
        if final.ids and not final.label:
            raise UsageError("say of which label the ids are")
        if final.count is not None and final.holds is not None:
            raise UsageError("the answer is a number, or whether it holds, not both")
        shown = self._shown
        refs = [self._schema.ref(final.label or "", id_) for id_ in dict.fromkeys(final.ids)]
        for ref in refs:
            if shown.path(ref) is None:
                raise Unsupported(shown.why_not(ref))
        notes = [f"{what} is cut off: there may be more" for what in dict.fromkeys(shown.cut)]
        if final.holds is not None:
            edges = bears_out(self._question, final.holds, shown, self._store)
            if not final.holds:
                because = NOT_IN_THE_GRAPH
                return Answer(question=self._question, status=Status.NOTHING, holds=False, because=because)
            paths: dict[Ref, Path] = {edge.triple.tail: (edge,) for edge in edges}
            return self._found(list(paths), paths, holds=True)
        if final.count is not None:
            if final.count not in shown.counts:
                raise Unsupported(f"{final.count} is no number that a tool has given, and no result has so many nodes")
            counted = shown.counts[final.count]
            refs = refs or list(counted.refs)
            return self._found(refs, shown.paths, count=final.count, notes=(f"the number is: {counted.what}", *notes))
        if not refs and not shown.none:
            raise Unsupported("no look-up has come to nothing, so that nothing shows that the graph has none")
        if not refs:
            notes = [f"there are none: {what}" for what in dict.fromkeys(shown.none)]
        return self._found(refs, shown.paths, notes=tuple(notes))

    def _found(self, refs: list[Ref], paths: Mapping[Ref, Path], **more: Any) -> Answer:
        held = {
            Ref(label=name, id=id_): node
            for name in dict.fromkeys(ref.label for ref in refs)
            for id_, node in self._store.nodes(
                self._schema.label(name), [r.id for r in refs if r.label == name]
            ).items()
        }
        found = tuple(
            Found(
                ref=ref,
                name=held.get(ref, {}).get("name"),
                properties={k: v for k, v in held.get(ref, {}).items() if k not in ("id", "name")},
                path=paths.get(ref, ()),
            )
            for ref in refs
        )
        status = Status.ANSWERED if found or more.get("count") is not None else Status.NOTHING
        return Answer(question=self._question, status=status, found=found, **more)


def _ids_in(result: Any) -> list[str]:
    """Ids of the nodes in what `find`, `neighbours` and `shared` show."""
    if not isinstance(result, dict):
        return []
    if "nodes" in result:
        return [node["id"] for node in result["nodes"]]
    return [id_ for ids in result.values() if isinstance(ids, list) for id_ in ids]
