"""What a task states, as a clause."""

from collections.abc import Callable

from kgcheck.model import CheckTask, CheckType, Ref, Triple
from kgcheck.profile.claims import form_of
from kgcheck.profile.schema import Schema

LONGEST_VALUE = 300
"""Characters of a value or a quote that is shown."""

Namer = Callable[[Ref], str]
"""What a node is called."""


def stated(task: CheckTask, schema: Schema, name: Namer, value: str = "") -> str:
    """What a task states, as a clause: by the claim form of the profile, else by the words of the relation."""
    triple = edge_of(task)
    if triple is None:
        own = f"{name(task.subject)} ({task.subject})"
        if task.type is CheckType.ATTRIBUTE:
            return f"the {task.attribute} of {own} is {value[:LONGEST_VALUE] or 'empty'}"
        return f"{own} exists"
    head, tail = name(triple.head), name(triple.tail)
    form = form_of(triple, schema)
    if form:
        return form.claim.format(head=head, tail=tail).strip().rstrip(".")
    return f"{head} {triple.relation.lower().replace('_', ' ')} {tail}"


def edge_of(task: CheckTask) -> Triple | None:
    """The edge that a task is about; None of another one."""
    if task.object is None or task.relation is None or task.type not in (CheckType.TRIPLE, CheckType.POTENTIAL):
        return None
    return Triple(head=task.subject, relation=task.relation, tail=task.object)
