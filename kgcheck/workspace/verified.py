"""Asks what is verified of an edge, in the words of a person or as a value."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kgcheck.errors import UsageError
from kgcheck.model import CheckTask, CheckType, Triple
from kgcheck.profile.schema import Schema

if TYPE_CHECKING:
    from kgcheck.ledger.verified import Verified, VerifiedReader

Subject = CheckTask | Triple | str


def verified_of(reader: "VerifiedReader", schema: Schema, what: Subject) -> "Verified | None":
    """What the newest run that looked found of an edge, or of another task.

    Args:
        reader: The files.
        schema: Profile.
        what: An edge, in words ``HEAD RELATION TAIL`` too, or a task about a node, an attribute or an edge.

    Returns:
        None where nobody has looked.

    Raises:
        UsageError: The words are no edge.
    """
    found = (reader.of(task) for task in _tasks(schema, what))
    return next((verified for verified in found if verified), None)


def _tasks(schema: Schema, what: Subject) -> Iterator[CheckTask]:
    if isinstance(what, CheckTask):
        yield what
        return
    for triple in [what] if isinstance(what, Triple) else _edges(schema, what):
        yield CheckTask(type=CheckType.TRIPLE, subject=triple.head, relation=triple.relation, object=triple.tail)


def _edges(schema: Schema, words: str) -> Iterator[Triple]:
    """The edges that words may mean: one for each pattern of the relation."""
    for relation in schema.relation_types:
        head, found, tail = words.strip().partition(f" {relation} ")
        if found and head.strip() and tail.strip():
            meant = [
                Triple(
                    head=schema.ref(pattern.head, head.strip()),
                    relation=relation,
                    tail=schema.ref(pattern.tail, tail.strip()),
                )
                for pattern in schema.patterns(relation)
            ]
            # Most patterns of a relation are ruled out by the form of the ids; an odd id may have been judged, too.
            yield from sorted(
                meant,
                key=lambda triple: -sum(schema.label(end.label).matches(end.id) for end in (triple.head, triple.tail)),
            )
            return
    known = ", ".join(schema.relation_types)
    raise UsageError(f"{words!r} is no edge", f"write HEAD RELATION TAIL; the relations are {known}")
