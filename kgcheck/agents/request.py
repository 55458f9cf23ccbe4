"""What the team is asked, read from words: ``P04637 ACTS_ON Q00987``, ``existence Protein Q00015``, ``attribute Gene TP53 name``."""

from collections.abc import Sequence

from kgcheck.errors import UnknownName, UsageError
from kgcheck.graph.schema import Pattern, Schema
from kgcheck.model import CheckType, Value

FORMS = (
    "HEAD RELATION TAIL, or existence LABEL ID, or attribute LABEL ID NAME; for example: P04637 ACTS_ON Q00987"
)


class Request(Value):
    """One thing to check. Of an edge, whether it is a triple or a potential one is for the graph to say."""

    text: str
    type: CheckType | None
    subject: str
    label: str | None = None
    attribute: str | None = None
    relation: str | None = None
    object: str | None = None
    patterns: tuple[Pattern, ...] = ()


def parse_request(words: Sequence[str], schema: Schema) -> Request:
    """Understand a request.

    Args:
        words: The words, each one argument or all in one.
        schema: Profile.

    Returns:
        The request, with every pattern of the relation that its ids or names may fit.

    Raises:
        UsageError: The words have none of the forms.
        UnknownName: A label, attribute or relation does not exist.
    """
    tokens = words[0].split() if len(words) == 1 else list(words)
    match tokens:
        case ["existence", label, identifier]:
            schema.ref(label, identifier)
            return Request(text=" ".join(tokens), type=CheckType.EXISTENCE, subject=identifier, label=label)
        case ["attribute", label, identifier, attribute]:
            schema.ref(label, identifier), schema.attribute(label, attribute)
            return Request(
                text=" ".join(tokens), type=CheckType.ATTRIBUTE, subject=identifier, label=label, attribute=attribute
            )
        case ["existence" | "attribute", *_]:
            raise UsageError(f"{' '.join(tokens)!r} is not a check", FORMS)
        case [head, relation, tail]:
            return Request(
                text=" ".join(tokens),
                type=None,
                subject=head,
                relation=relation,
                object=tail,
                patterns=_patterns(schema, head, relation, tail),
            )
        case _:
            raise UsageError(f"{' '.join(tokens)!r} is not a check", FORMS)


def _patterns(schema: Schema, head: str, relation: str, tail: str) -> tuple[Pattern, ...]:
    """Patterns whose id forms fit; else, for names instead of ids, those with an end that has names."""
    try:
        return tuple(schema.patterns_for(head, relation, tail))
    except UnknownName:
        named = [p for p in schema.patterns(relation) if _may_be(schema, p.head, head) and _may_be(schema, p.tail, tail)]
        if not named:
            raise
        return tuple(named)


def _may_be(schema: Schema, label: str, text: str) -> bool:
    spec = schema.label(label)
    return spec.matches(text) or "name" in spec.properties
