"""LlmBrain: choose each step of the agent team by a language model and its tool calls.

Every role has a conversation of its own. The model may only call the tools of its role and `hand_over`; what it says is
checked by the team like any other brain's steps, and the verdict is never its to give. Several calls of one reply are
steps of their own, taken in their order. A model that cannot call tools gets them in words, and its text is bound to
the form of a step (kgcheck.agents.model_steps).
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from importlib.resources import files
from typing import Any, Literal

from pydantic import Field

from kgcheck.agents.brains.rules import RulesBrain
from kgcheck.agents.model_steps import (
    EndForm,
    Offer,
    arguments_of,
    as_call,
    as_data,
    form_of_steps,
    specs_of,
    tools_in_words,
)
from kgcheck.agents.request import Request
from kgcheck.agents.team import Action, HandOver, Talk, Turn, UseTool
from kgcheck.agents.toolbox import Tool, checked_arguments
from kgcheck.agents.transcript import AgentRole, Stage
from kgcheck.errors import ModelAnswer, UsageError
from kgcheck.graph.edge_score import cited_source
from kgcheck.llm.budget import Limits, Meter
from kgcheck.llm.client import ChatClient, Message, Reply, ToolCall
from kgcheck.llm.forms import Choices
from kgcheck.model import CheckTask, CheckType, Outcome, Value

MEMORY_STEPS = 20
"""Steps that an agent remembers; what was asked stays, whatever comes after it."""

MOST_WRONG = 4
"""Replies that end in a refused step, with none taken between, after which a model is given up."""

HAND_OVER = "hand_over"

FEW = ("node", "edges", "reference_look_up")
"""Tools that do for a check; a weak model is offered no others."""

_PROMPTS = {AgentRole.LEADER: "leader", AgentRole.KG: "kg", AgentRole.VALIDATION: "validation"}

_ASK = {
    Stage.PLAN: "Make the plan.",
    Stage.KG_QUERY: "Find it in the graph, and hand the task over.",
    Stage.VALIDATION: "Look the task up in the reference sources, and hand over what they say.",
    Stage.CONCLUSION: "Conclude.",
}


class _PlainHandOver(Value):
    """Be done with your part."""

    message: str = Field(description="what came of it")


class _TaskHandOver(_PlainHandOver):
    """Hand over what is to be validated."""

    message: str = Field(description="what you found")
    task: CheckTask


class _Conclusion(_PlainHandOver):
    """Conclude from the evidence."""

    message: str = Field(description="the conclusion in a sentence")
    outcome: Literal["supported", "refuted", "insufficient", "unavailable"]


_FORMS: dict[Stage, type[_PlainHandOver]] = {
    Stage.PLAN: _PlainHandOver,
    Stage.KG_QUERY: _TaskHandOver,
    Stage.VALIDATION: _PlainHandOver,
    Stage.CONCLUSION: _Conclusion,
}


@dataclass
class LlmBrain:
    """Asks a model for the next step. One brain serves one check.

    Without ``leads``, the plan and the conclusion, which decide nothing, come from the rules: two calls fewer.
    With ``published``, every agent is shown a demonstration of its part in a task of the same type, as in BioKGBench.
    """

    client: ChatClient
    limits: Limits | None = None
    on_text: Callable[[str], None] | None = None
    _: KW_ONLY
    total: Meter | None = None
    one_call: bool = False
    leads: bool = True
    published: bool = False

    def __post_init__(self) -> None:
        self.meter = Meter(self.limits or Limits(), self.client.prices, self.total)
        self._memory: dict[AgentRole, list[Message]] = {}
        self._waiting: dict[AgentRole, ToolCall | None] = {}
        self._pending: dict[AgentRole, list[ToolCall]] = {role: [] for role in AgentRole}
        self._stage: dict[AgentRole, Stage] = {}
        self._wrong = 0
        self._called = False
        self._bound = self.client.small

    def act(self, turn: Turn) -> Action:
        seen, tools, pending = turn.seen, turn.tools, self._pending[turn.role]
        if turn.role is AgentRole.LEADER and not self.leads:
            return RulesBrain().act(turn)
        if not seen.refused:
            self._wrong = 0
        if pending and self._stage.get(turn.role) is turn.stage:
            self._continued(turn)
            return self._step(turn, pending.pop(0), {})
        self._wrong += bool(seen.refused)
        if self._wrong >= MOST_WRONG:
            raise ModelAnswer(
                f"the model {self.client.model} took {MOST_WRONG} steps in a row that were refused,"
                f" the last one because: {seen.refused}",
                "try another model, or --brain rules",
            )
        conversation = self._continued(turn)
        choices, done = _choices(turn), True
        if self.client.small:
            done = _may_hand_over(turn)
            # Of two things that it can do, a weak model repeats the one that it has done.
            tools = [tool for tool in tools if not done or seen.refused if _of_use(tool, choices)]
        return self._action(turn, self._reply(turn.stage, conversation, tools, done, choices))

    def _reply(
        self, stage: Stage, conversation: list[Message], tools: list[Tool], done: bool, choices: Choices
    ) -> Reply:
        """Ask the model for a call, or for text bound to the form of one where it cannot make calls."""
        more: dict[str, Any] = {"meter": self.meter, "on_text": self.on_text}
        form = _FORMS[stage]
        offers: list[Offer] = [*tools, EndForm(HAND_OVER, form.__doc__ or "", form)]
        if not self._bound:
            return self.client.complete(conversation, tools=specs_of(offers), one_call=self.one_call, **more)
        system, *rest = conversation
        small = self.client.small
        if not done:
            offers = list(tools)
        system = {**system, "content": f"{system['content']}\n{tools_in_words(offers, example=not small)}"}
        steps = form_of_steps(offers, choices if small else None)
        return as_call(self.client.complete([system, *rest], answer=steps, **more))

    def _continued(self, turn: Turn) -> list[Message]:
        """The conversation of a role with what has happened since."""
        stage, role, seen = turn.stage, turn.role, turn.seen
        if role not in self._memory:
            shown = f"\n\n{_demonstration(role, turn.request)}" if self.published else ""
            self._memory[role] = [{"role": "system", "content": _prompt(role, self.client.small) + shown}]
        memory = self._memory[role]
        waiting = self._waiting.get(role)
        same = self._stage.get(role) is stage
        made = waiting and (memory[-1]["role"] == "tool" or "tool_calls" in memory[-1])
        if waiting and (same or seen.refused):
            result = json.dumps({"refused": seen.refused}) if seen.refused else as_data(seen.last)
            answers = {"role": "tool", "tool_call_id": waiting.id} if made else {"role": "user"}
            memory.append({**answers, "content": result})
        elif waiting and made:
            memory.append({"role": "tool", "tool_call_id": waiting.id, "content": "done"})
            left = self._pending[role]
            memory += [{"role": "tool", "tool_call_id": call.id, "content": "not done"} for call in left]
            left.clear()
        elif same and seen.refused:
            memory.append({"role": "user", "content": f"That was no step: {seen.refused}"})
        if not same:
            memory.append({"role": "user", "content": _assignment(turn)})
        self._stage[role], self._waiting[role] = stage, None
        return [memory[0], *_recent(memory[1:])]

    def _action(self, turn: Turn, reply: Reply) -> Action:
        prices = self.client.prices
        took: dict[str, Any] = {"tokens": reply.usage.total, "cost": prices.cost(reply.usage) if prices else None}
        in_words = self._bound and bool(reply.text)
        # A step in words goes back as the words that it was.
        self._memory[turn.role].append(reply.model_copy(update={"calls": () if in_words else reply.calls}).as_message())
        self._called |= bool(reply.calls)
        if not reply.calls:
            if turn.stage is Stage.PLAN and reply.text.strip():
                return HandOver(message=reply.text.strip(), **took)
            # A model that has never called a tool may not have heard of any. Of one that has, the conversation holds
            # calls, which some endpoints take only together with the tools.
            self._bound |= not self._called
            why = "call exactly one of your tools" if reply.text.strip() else "an empty answer is no step"
            return Talk(message=reply.text, why=why, **took)
        call, *more = reply.calls[:1] if in_words else reply.calls
        self._pending[turn.role] = more
        return self._step(turn, call, took)

    def _step(self, turn: Turn, call: ToolCall, took: dict[str, Any]) -> Action:
        self._waiting[turn.role] = call
        try:
            arguments = arguments_of(call)
            if call.name != HAND_OVER:
                return UseTool(tool=call.name, arguments=arguments, **took)
            form = checked_arguments(HAND_OVER, _FORMS[turn.stage], arguments)
        except UsageError as error:
            return Talk(message=call.arguments, why=error.message, **took)
        task = form.task if isinstance(form, _TaskHandOver) else None
        concluded = Outcome(form.outcome) if isinstance(form, _Conclusion) else None
        return HandOver(message=form.message, task=task, concluded=concluded, **took)


def _may_hand_over(turn: Turn) -> bool:
    """Return whether a hand-over can rest on something shown; before that, it is sure to be refused."""
    match turn.stage:
        case Stage.KG_QUERY:
            return bool(turn.seen.edges if turn.request.relation else turn.seen.nodes)
        case Stage.VALIDATION:
            return turn.seen.looked_up
        case _:
            return True


def _of_use(tool: Tool, choices: Choices) -> bool:
    """Return whether a weak model is offered a tool: one of the few, its arguments all in the request."""
    fields = tool.arguments.model_fields
    return tool.name in FEW and not any(f.is_required() and not choices.get(name, True) for name, f in fields.items())


def _choices(turn: Turn) -> Choices:
    """Collect what a step can name: what the request names, and what the tools have shown."""
    request = turn.request
    texts = [text for text in (request.subject, request.object) if text]
    shown = [id_ for similar in turn.seen.similar.values() for id_ in similar.ids]
    labels = [request.label] if request.label else [label for p in request.patterns for label in (p.head, p.tail)]
    types = [request.type] if request.type else [CheckType.TRIPLE, CheckType.POTENTIAL]
    choices: dict[str, Sequence[Any]] = {
        "label": list(dict.fromkeys(labels)),
        "id": list(dict.fromkeys([*texts, *shown])),
        "type": [type_.value for type_ in types],
        "attribute": [request.attribute] if request.attribute else [],
        "rule": [],
    }
    choices |= {"relation": [request.relation]} if request.relation else {"relation": [], "object": []}
    if not request.attribute:
        choices["value"] = []
    if turn.stage is Stage.VALIDATION and turn.task:
        choices["task"] = [turn.task.model_dump(mode="json", exclude_none=True)]
    return choices


def _prompt(role: AgentRole, small: bool) -> str:
    folder = files("kgcheck.agents") / "prompts"
    if small:
        return (folder / "small" / f"{_PROMPTS[role]}.md").read_text(encoding="utf-8")
    return "\n".join((folder / f"{name}.md").read_text(encoding="utf-8") for name in ("common", _PROMPTS[role]))


def _demonstration(role: AgentRole, request: Request) -> str:
    """The part of an agent in the demonstration of a type of task."""
    folder = files("kgcheck.agents") / "prompts" / "published"
    text = (folder / f"{request.task_type.replace(' ', '_')}.md").read_text(encoding="utf-8")
    parts = dict(part.split("\n", 1) for part in text.split("## ")[1:])
    return f"An example of your part, with made-up ids:\n{parts[role.value].strip()}"


def _assignment(turn: Turn) -> str:
    """Write the assignment of an agent, with the facts that it may rest on, as data."""
    stage, _, request, task, seen, _ = turn
    facts: dict[str, Any] = {
        "request": request.model_dump(mode="json", exclude={"patterns"}, exclude_none=True),
        "patterns": [f"({p.head})-[{p.type}]->({p.tail})" for p in request.patterns],
    }
    if request.relation and request.attribute:
        facts["cites"] = sorted({cited_source(p, request.attribute) for p in request.patterns})
    if task and stage in (Stage.VALIDATION, Stage.CONCLUSION):
        facts["task"] = task.model_dump(mode="json", exclude_none=True)
    if stage is Stage.CONCLUSION:
        facts["evidence"] = [e.model_dump(mode="json", exclude_none=True) for e in seen.evidence]
        facts["could_not_ask"] = [str(gap) for gap in seen.gaps]
    return f"{_ASK[stage]}\n{as_data(json.dumps(facts, ensure_ascii=False))}"


def _recent(memory: list[Message]) -> list[Message]:
    """Return the first message and the last steps; never an answer without its call."""
    if len(memory) <= 2 * MEMORY_STEPS:
        return memory
    kept = memory[-2 * MEMORY_STEPS :]
    while kept and kept[0]["role"] == "tool":
        kept = kept[1:]
    return [memory[0], *kept]
