"""Messages with a question, and JSON schemas of answers, narrowed to choices."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel

if TYPE_CHECKING:
    from kgcheck.llm.client import Message

B = TypeVar("B", bound=BaseModel)

Choices = Mapping[str, Sequence[Any]]
"""Allowed values of each field of an answer, by its name; a field without any choice is left out."""

LONGEST_TEXT = 160
"""Characters of a text: weak models seldom end one by themselves."""


def messages_of(task: str, question: object) -> "list[Message]":
    """Messages for a model: its task, and a question as JSON."""
    content = json.dumps(question, ensure_ascii=False)
    return [{"role": "system", "content": task}, {"role": "user", "content": content}]


def with_schema(form: type[B], narrow: Callable[[dict[str, Any]], dict[str, Any]]) -> type[B]:
    """A form whose JSON schema says more of what an answer can be. It binds a model, and refuses nothing."""

    class Narrowed(form):  # type: ignore[valid-type, misc]
        @classmethod
        def model_json_schema(cls, *args: Any, **more: Any) -> dict[str, Any]:
            return narrow(super().model_json_schema(*args, **more))

    Narrowed.__name__, Narrowed.__doc__ = form.__name__, form.__doc__
    return Narrowed


def narrowed(schema: Any, choices: Choices, most: int | None = None) -> Any:
    """A JSON schema whose fields can be nothing but what is left to choose.

    >>> schema = {"properties": {"label": {"type": "string"}, "rule": {}}, "required": ["rule"]}
    >>> narrowed(schema, {"label": ["Gene"], "rule": []})
    {'required': ['label'], 'properties': {'label': {'enum': ['Gene']}}}
    """
    if isinstance(schema, list):
        return [narrowed(part, choices, most) for part in schema]
    if not isinstance(schema, dict):
        return schema
    fields = schema.get("properties")
    found = {key: narrowed(part, choices, most) for key, part in schema.items() if key != "properties"}
    if fields is not None:
        named = [name for name in fields if choices.get(name)]
        kept = {name: part for name, part in fields.items() if name not in choices or name in named}
        found["properties"] = {
            name: _chosen(part, choices[name], most) if name in named else narrowed(part, choices, most)
            for name, part in kept.items()
        }
        needed = [name for name in kept if name in named or name in schema.get("required", ())]
        found |= {"required": needed} if needed else {}
    if schema.get("type") == "string" and not {"enum", "const"} & set(schema):
        found["maxLength"] = min(LONGEST_TEXT, schema.get("maxLength", LONGEST_TEXT))
    if schema.get("type") == "array" and most is not None:
        found["maxItems"] = min(most, schema.get("maxItems", most))
    return found


def _chosen(field: dict[str, Any], choices: Sequence[Any], most: int | None) -> dict[str, Any]:
    """The schema of a field that is one of some values, or a list of them."""
    one = {"enum": list(choices)}
    entries = len(choices) if most is None else min(most, len(choices))
    return {"type": "array", "items": one, "maxItems": entries} if field.get("type") == "array" else one
