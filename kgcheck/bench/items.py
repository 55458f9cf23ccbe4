"""Items of the KGCheck benchmark: file reader, labels, truth, and the request to the agent team.

``support`` means that the graph's own record agrees with the outside world: the edge is there and confirmed, or it is
not there and not found (BioKGBench, table 15). A seeded item changes the graph for itself alone.
"""

import re
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from pydantic import AliasChoices, Field, ValidationError

from kgcheck.agents.request import Request, TaskType, parse_request, resolve_request
from kgcheck.bench.kgqa import read_rows
from kgcheck.bench.overlay_store import Seed
from kgcheck.errors import InputFormat, KgcheckError, UsageError
from kgcheck.graph.store import GraphStore
from kgcheck.graph.symmetry import edges_stating
from kgcheck.model import CheckType, GraphState, Outcome, Ref, TallyMark, Triple, Value
from kgcheck.profile.schema import Pattern, Schema
from kgcheck.questions.resolver import NameResolver

BenchLabel = Literal["support", "refute"]


def label_of(kind: CheckType, outcome: Outcome) -> BenchLabel | None:
    """Return a verdict in the words of the benchmark, about the graph; None where it cannot tell."""
    match TallyMark.of(kind, outcome).graph:
        case GraphState.AGREES | GraphState.RIGHTLY_ABSENT:
            return "support"
        case GraphState.HAS_IT_WRONGLY | GraphState.LACKS_IT:
            return "refute"
    return None


class Truth(Value):
    """Right answer and its reason; made without the verdict function."""

    source: str = ""
    record: str = ""
    reason: str = ""
    origin: Literal["real", "seeded", "given"] = "given"
    error: str = Field(default="", description="the error put into the graph, by name")
    truth_from: str = Field(
        default="",
        # As the key was called in version 0.1.
        validation_alias=AliasChoices("truth_from", "told_by"),
        description="where the truth is from: a snapshot, or a file of labelled items",
    )


class Item(Value):
    """One thing to check."""

    id: str
    type: TaskType
    instruction: str = ""
    check: tuple[str, ...] = Field(default=(), description="words as kgcheck check takes them")
    label: BenchLabel
    seed: Seed | None = None
    truth: Truth = Truth()


_MARKS = "\"'`\u2018\u2019\u201c\u201d"
"""Quotes that published instructions carry."""

_QUOTED = f"[{_MARKS}]*"
_NODE = re.compile(
    rf"type\s+{_QUOTED}(\w+){_QUOTED}\s*+(?:,\s*+)?(?:with|and)\s+(?:the\s+)?id\s+{_QUOTED}([^\s{_MARKS}]+)"
)
_ATTRIBUTE = re.compile(rf"\b(\w++){_QUOTED}\s+attribute", re.IGNORECASE)
_RELATION = re.compile(r"\b([A-Z]+(?:_[A-Z]+)+)\b")


def read_items(path: Path, schema: Schema) -> list[Item]:
    """Read a file of items: a JSON list or JSON lines.

    An item needs ``label`` and one of ``check`` and ``instruction``; a missing ``id`` is a hash of the item, a missing
    ``type`` is read off the check.
    """
    found: dict[str, Item] = {}
    for number, row in enumerate(read_rows(path), 1):
        try:
            item = _item(row, schema)
        except (ValidationError, KgcheckError) as error:
            why = error.message if isinstance(error, KgcheckError) else str(error.errors()[0]["msg"])
            raise InputFormat(f"{path}, item {number}: {why}", "see docs/agents.md") from error
        found.setdefault(item.id, item)
    return list(found.values())


def _item(row: Mapping[str, Any], schema: Schema) -> Item:
    filled = dict(row)
    if not filled.get("check") and not filled.get("instruction"):
        raise UsageError("an item needs a check or an instruction", "see docs/howto_batches.md")
    key = f"{filled.get('instruction')}|{filled.get('check')}|{filled.get('seed')}"
    filled.setdefault("id", sha256(key.encode()).hexdigest()[:12])
    if "type" not in filled:
        filled["type"] = request_of(Item.model_validate(filled | {"type": TaskType.RELATION}), schema).task_type
    return Item.model_validate(filled)


def request_of(item: Item, schema: Schema, store: GraphStore | None = None) -> Request:
    """Request of an item to the team."""
    if item.check:
        return resolve_request(item.check, NameResolver(schema, store)) if store else parse_request(item.check, schema)
    nodes = _NODE.findall(item.instruction)
    attribute = _ATTRIBUTE.search(item.instruction)
    match nodes:
        case [(label, id_)] if attribute:
            return parse_request(("attribute", label, id_.rstrip(".,;"), attribute[1]), schema)
        case [(label, id_)]:
            return parse_request(("existence", label, id_.rstrip(".,;")), schema)
        case [(head, head_id), (tail, tail_id)]:
            ends = Ref(label=head, id=head_id.rstrip(".,;")), Ref(label=tail, id=tail_id.rstrip(".,;"))
            pattern = _meant(item.instruction, *ends, schema, store)
            return parse_request((ends[0].id, pattern.type, ends[1].id), schema).model_copy(
                update={"patterns": (pattern,)}
            )
    raise UsageError("the instruction does not name nodes by type and id", "give the item a check")


def _meant(text: str, head: Ref, tail: Ref, schema: Schema, store: GraphStore | None) -> Pattern:
    """The relation that an instruction names, else one that the graph has between the nodes, else the first."""
    schema.label(head.label), schema.label(tail.label)
    patterns = [p for p in schema.relations if (p.head, p.tail) == (head.label, tail.label)]
    if not patterns:
        raise UsageError(
            f"no relation joins {head.label} and {tail.label}", "name nodes of labels that the profile joins"
        )
    mentioned = set(_RELATION.findall(text))
    named = [p for p in patterns if p.type in mentioned]
    if named:
        return named[0]
    there = [p for p in patterns if store and edges_stating(store, Triple(head=head, relation=p.type, tail=tail))]
    # Where both are there, the instruction of the benchmark wants the curated one checked.
    return max(there, key=lambda p: p.type.startswith("CURATED")) if there else patterns[0]
