"""A model that answers questions by tools alone: thought, action, observation, at most 15 times as in BioKGBench.

What it answers must rest on what its tools have shown in this conversation (kgcheck.agents.answer_support); else it is
refused with the reason, and in the end there is no answer.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from typing import Any, NamedTuple

from pydantic import BaseModel, Field

from kgcheck.agents.answer_support import ShownResults, Unsupported, edges_for_yes_or_no
from kgcheck.agents.model_steps import (
    Offer,
    arguments_of,
    as_call,
    as_data,
    form_of_steps,
    specs_of,
    tools_in_words,
)
from kgcheck.agents.outside import Outside
from kgcheck.agents.tool_types import NamedNodesResult, NodesResult, Path
from kgcheck.agents.toolbox import MOST_NODES, Toolbox, checked_arguments
from kgcheck.agents.transcript import AgentRole
from kgcheck.errors import BudgetExceeded, UnknownName, UsageError
from kgcheck.graph.store import GraphStore
from kgcheck.llm.budget import Limits, Meter
from kgcheck.llm.client import ChatClient, Message, Reply, ToolCall
from kgcheck.llm.forms import complete_bound
from kgcheck.model import CheckTask, Evidence, Gap, Ref, Value
from kgcheck.questions.answer import NOT_IN_THE_GRAPH, Answer, Found, Status

MOST_ACTIONS = 15
MOST_UNSUPPORTED = 3
"""Answers that nothing bears out, after which a model is given up."""


class FinalAnswer(Value):
    """The answer: ids of one label, a number, or whether it holds."""

    understood: bool = True
    label: str | None = None
    ids: tuple[str, ...] = ()
    count: int | None = None
    holds: bool | None = Field(default=None, description="of a yes or no question: whether the graph says so")


class _AnswerForm(NamedTuple):
    """The form with which a conversation ends, offered beside the tools."""

    name: str
    purpose: str
    arguments: type[BaseModel]


_ANSWER = _AnswerForm("answer", FinalAnswer.__doc__ or "", FinalAnswer)

_BEYOND_SMALL = ("cypher", "literature_search")
"""Tools that are too much for a weak model."""

_FROM_NODES = ("relations", "neighbours", "shared_neighbours")
"""Tools that go on from nodes that were shown."""


class ReactAgent:
    """Answers questions with a model."""

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
        self._toolbox = Toolbox(store, _NoSource(), outside)
        left_out = {*(() if outside else ("literature_search",)), *(_BEYOND_SMALL if client.small else ())}
        tools = self._toolbox.tools(AgentRole.ASKER)
        self._offers: list[Offer] = [*(t for t in tools if t.name not in left_out), _ANSWER]

    def ask(self, question: str) -> Answer:
        """Answer a question."""
        meter = Meter(self._limits, self._client.prices)
        conversation = _Conversation(question, self._store, self._toolbox, self._offers, self._client.small)
        try:
            for _ in range(MOST_ACTIONS):
                answer = conversation.take(self._next(conversation, meter))
                if answer:
                    break
            else:
                answer = conversation.without_answer(f"no answer after {MOST_ACTIONS} actions")
        except BudgetExceeded as error:
            answer = conversation.without_answer(error.message)
        spent = meter.spent
        tokens = spent.input_tokens + spent.output_tokens
        return answer.model_copy(update={"actions": spent.turns, "tokens": tokens, "cost": spent.money})

    def _next(self, conversation: "_Conversation", meter: Meter) -> Reply:
        more: dict[str, Any] = {"meter": meter, "on_text": self._on_text}
        if conversation.bound:
            return as_call(complete_bound(self._client, conversation.messages, conversation.form(), **more))
        return self._client.complete(conversation.messages, tools=specs_of(self._offers), **more)


class _NoSource:
    """Questions are answered from the graph: no source gives evidence."""

    def observe(self, task: CheckTask, cited: Sequence[str] = ()) -> tuple[tuple[Evidence, ...], tuple[Gap, ...]]:
        return (), ()


class _Conversation:
    """One question under way."""

    def __init__(
        self, question: str, store: GraphStore, toolbox: Toolbox, offers: Sequence[Offer], small: bool
    ) -> None:
        self._question = question
        self._store = store
        self._toolbox = toolbox
        self._offers = offers
        self._shown = ShownResults(question, store)
        self._unsupported: list[str] = []
        self.bound = small
        self._small, self._looked = small, False
        self._known: dict[str, None] = {}
        folder = files("kgcheck.agents") / "prompts"
        prompt = ((folder / "small" if small else folder) / "asker.md").read_text(encoding="utf-8")
        if small:
            prompt += tools_in_words(offers, example=False) + self._worked_example()
        known = "\n".join(f"({p.head})-[{p.type}]->({p.tail})" for p in store.schema.relations)
        self.messages: list[Message] = [
            {"role": "system", "content": f"{prompt}\nThe relations of the graph:\n{known}"},
            {"role": "user", "content": as_data(json.dumps({"question": question}, ensure_ascii=False))},
        ]

    def form(self) -> type[BaseModel]:
        """What the next step can be: for a weak model, a step over what was shown, and an answer after one."""
        if not self._small:
            return form_of_steps(self._offers)
        schema, known = self._store.schema, list(self._known)
        choices: dict[str, Sequence[Any]] = {
            "label": [label.name for label in schema.labels],
            "relation": list(dict.fromkeys(p.type for p in schema.relations)),
        }
        choices |= {"id": known, "ids": known[-MOST_NODES:]} if known else {}
        closed = {*(() if self._looked else (_ANSWER.name,)), *(() if known else _FROM_NODES)}
        return form_of_steps([offer for offer in self._offers if offer.name not in closed], choices)

    def _worked_example(self) -> str:
        """A question of two made-up names with its steps, in the words of the first relation of the profile."""
        p = self._store.schema.relations[0]
        node = {"label": p.head, "id": "ID1"}
        steps = [
            ("find_nodes", {"name": "NAME1", "label": p.head}, {"ids": {p.head: ["ID1"]}}),
            ("neighbours", {"node": node, "relation": p.type, "direction": "out", "label": p.tail}, {"nodes": ["ID2"]}),
            (_ANSWER.name, {"understood": True, "label": p.tail, "ids": ["ID2"]}, None),
        ]
        lines = [f"\nAn example, with made-up ids: which {p.tail} does the {p.head} NAME1 go to by {p.type}?"]
        for tool, arguments, shown in steps:
            lines.append(json.dumps({"tool": tool, "arguments": arguments}))
            lines += [f"shows {json.dumps(shown)}"] if shown else []
        return "\n".join(lines)

    def take(self, reply: Reply) -> Answer | None:
        """Carry out the step that a reply holds."""
        call = reply.calls[0] if reply.calls else None
        in_words = self.bound and bool(reply.text)
        # A step in words goes back as the words that it was.
        kept = () if in_words else reply.calls[:1]
        self.messages.append(reply.model_copy(update={"calls": kept}).as_message())
        if call is None:
            wrong = "That was no action: call exactly one tool."
            # A model that does not call a tool may not have heard of any.
            content = wrong if self.bound else f"{wrong} {tools_in_words(self._offers)}"
            self.messages.append({"role": "user", "content": content})
            self.bound = True
            return None
        try:
            result = self._result(call)
        except (UsageError, UnknownName) as error:
            result = {"refused": error.in_one_line}
            if isinstance(error, Unsupported):
                self._unsupported.append(error.message)
                if len(self._unsupported) == MOST_UNSUPPORTED:
                    return self.without_answer(f"the model was given up after {MOST_UNSUPPORTED} answers")
        if isinstance(result, Answer):
            return result
        content = as_data(json.dumps(result, ensure_ascii=False, default=str))
        message = {"role": "user"} if in_words else {"role": "tool", "tool_call_id": call.id}
        self.messages.append({**message, "content": content})
        return None

    def without_answer(self, because: str) -> Answer:
        """What a conversation comes to that ends without an answer."""
        if not self._unsupported:
            return Answer(question=self._question, status=Status.STOPPED, because=because)
        because = f"{because}; its last one rests on nothing that its tools have shown: {self._unsupported[-1]}"
        return Answer(question=self._question, status=Status.UNSUPPORTED, because=because)

    def _result(self, call: ToolCall) -> Any:
        offer = next((o for o in self._offers if o.name == call.name), None)
        if offer is None:
            raise UsageError(f"there is no tool {call.name!r}")
        arguments = arguments_of(call)
        if offer is _ANSWER:
            return self._answer(checked_arguments(call.name, FinalAnswer, arguments))
        result = self._toolbox.call(AgentRole.ASKER, call.name, arguments)
        self._shown.add(offer.arguments.model_validate(arguments), result)
        found = _ids_in(result)
        self._known |= dict.fromkeys(found)
        # A look-up by name that found something is where a weak model begins, and nothing to answer with yet.
        self._looked |= not (isinstance(result, NamedNodesResult) and bool(found))
        return result.model_dump(mode="json", exclude_none=True)

    def _answer(self, final: FinalAnswer) -> Answer:
        if not final.understood:
            return Answer(question=self._question, status=Status.NOT_UNDERSTOOD, because="the model does not know")
        if final.ids and not final.label:
            raise UsageError("name the label that the ids are of")
        if final.count is not None and final.holds is not None:
            raise UsageError("the answer is a number, or whether it holds, not both")
        shown = self._shown
        refs = [self._store.schema.ref(final.label or "", id_) for id_ in dict.fromkeys(final.ids)]
        for ref in refs:
            if shown.path(ref) is None:
                raise Unsupported(shown.why_not(ref))
        notes = [f"{what} is cut off: there may be more" for what in dict.fromkeys(shown.cut)]
        if final.holds is not None:
            edges = edges_for_yes_or_no(self._question, final.holds, shown, self._store)
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
        schema = self._store.schema
        nodes = {
            Ref(label=name, id=id_): node
            for name in dict.fromkeys(ref.label for ref in refs)
            for id_, node in self._store.nodes(schema.label(name), [r.id for r in refs if r.label == name]).items()
        }
        found = tuple(
            Found(
                ref=ref,
                name=nodes.get(ref, {}).get("name"),
                properties={k: v for k, v in nodes.get(ref, {}).items() if k not in ("id", "name")},
                path=paths.get(ref, ()),
            )
            for ref in refs
        )
        status = Status.ANSWERED if found or more.get("count") is not None else Status.NOTHING
        return Answer(question=self._question, status=status, found=found, **more)


def _ids_in(result: BaseModel) -> list[str]:
    """Ids of the nodes that a result lists."""
    match result:
        case NodesResult():
            return [node.id for node in result.nodes]
        case NamedNodesResult():
            return [id_ for ids in result.ids.values() for id_ in ids]
        case _:
            return []
