"""Steps of models that cannot call tools: their text is bound to the form of a call, where the endpoint can do that.

The chat templates of small models leave tools out, so that the model never hears of them. Such a model is told of its
tools in words, and answers with JSON: which tool, and its arguments.
"""

import json
from collections.abc import Mapping
from functools import reduce
from operator import or_
from typing import Any, Literal

from pydantic import BaseModel, RootModel, create_model

from kgcheck.inputs import parse_json
from kgcheck.llm.client import Reply, ToolCall

_HOW = """\
Your tools cannot be called here. Answer with one JSON object and nothing else: {"tool": NAME, "arguments": {...}}. For
example: EXAMPLE. Your tools and their arguments:
"""


def form_of_steps(tools: Mapping[str, type[BaseModel]]) -> type[BaseModel]:
    """The form that every step must have: one of the tools with its arguments.

    Args:
        tools: The arguments of each, by name.

    Returns:
        A form whose JSON schema binds a model.
    """
    # The names are known when the program runs only, which is more than type checkers follow.
    make: Any = create_model
    steps = [make(f"Use_{name}", tool=(Literal[name], ...), arguments=(form, ...)) for name, form in tools.items()]
    root: Any = RootModel
    step: type[BaseModel] = root[reduce(or_, steps)]
    return step


def told_of(tools: Mapping[str, type[BaseModel]]) -> str:
    """The tools in words, each on a line with the names of its arguments, and how to use one of them."""
    purposes = {name: (form.__doc__ or "").split("\n")[0] for name, form in tools.items()}
    lines = [f"- {name}({', '.join(form.model_fields)}): {purposes[name]}" for name, form in tools.items()]
    return _HOW.replace("EXAMPLE", _example(tools)) + "\n".join(lines)


def _example(tools: Mapping[str, type[BaseModel]]) -> str:
    """A step with the first tool that needs nothing but texts, or with the first one."""
    needed = {name: {k: f for k, f in form.model_fields.items() if f.is_required()} for name, form in tools.items()}
    plain = [name for name, fields in needed.items() if fields and all(f.annotation is str for f in fields.values())]
    name = next(iter(plain or tools))
    return json.dumps({"tool": name, "arguments": {field: f"some {field}" for field in needed[name]}})


def as_call(reply: Reply) -> Reply:
    """A reply whose text is a step, as a call; any other reply as it is.

    Args:
        reply: Of a model that was told of its tools in words.

    Returns:
        The reply, with one call if its text was one.
    """
    if reply.calls:
        return reply
    try:
        said = parse_json(reply.text)
    except ValueError:
        return reply
    if not isinstance(said, dict) or not isinstance(said.get("tool"), str):
        return reply
    call = ToolCall(id="step", name=said["tool"], arguments=json.dumps(said.get("arguments") or {}))
    return reply.model_copy(update={"calls": (call,)})
