"""Rewrite Cypher statements for node keys of another name or type than `id`.

Statements of the catalogue are written for what kgcheck makes, keys called ``id`` that are texts. For labels of which
the profile says otherwise, they are brought to that here; ids stay texts on this side.
"""

import re
from collections.abc import Callable, Iterable, Mapping

from kgcheck.profile.schema import KEY, Label

_NODE = re.compile(r":<(label|head|tail)> \{id: ([^{}]+)\}")
_VALUE = re.compile(r"\b([abn])\.id\b")
_PLACE_OF = {"n": "label", "a": "head", "b": "tail"}
"""The variables that statements of the catalogue have for nodes, and the place that holds the label of each."""

Quoting = Callable[[str], str]


def read_key(variable: str, label: Label, quoted: Quoting) -> str:
    """An expression for the id of a node, as text."""
    value = f"{variable}.{quoted(label.key)}"
    return f"toString({value})" if label.key_type == "integer" else value


def wanted_key(value: str, label: Label) -> str:
    """An expression for the key that a node with this id has; null where none can."""
    if label.key_type == "string":
        return value
    # An id has one form: 7 is no other way to write 007.
    return f"CASE WHEN toString(toIntegerOrNull({value})) = {value} THEN toIntegerOrNull({value}) END"


def with_keys(statement: str, places: Mapping[str, str], labels: Iterable[Label], quoted: Quoting) -> str:
    """A statement for the keys that its labels have."""
    others = {quoted(label.name): label for label in labels if (label.key, label.key_type) != (KEY, "string")}
    if not others:
        return statement
    # A node that is made may have more labels after its own.
    of_place = {place: others.get(_own(places.get(place, ""))) for place in _PLACE_OF.values()}

    def node(found: re.Match[str]) -> str:
        label = of_place[found[1]]
        return f":<{found[1]}> {{{quoted(label.key)}: {wanted_key(found[2], label)}}}" if label else found[0]

    def value(found: re.Match[str]) -> str:
        variable, place = found[1], _PLACE_OF[found[1]]
        if place in places:
            label = of_place[place]
            return read_key(variable, label, quoted) if label else found[0]
        # Of any label: nodes that a profile does not describe may have no key at all.
        names = dict.fromkeys(label.key for label in labels)
        return f"coalesce({', '.join(f'toString({variable}.{quoted(name)})' for name in names)})"

    return _VALUE.sub(value, _NODE.sub(node, statement))


def _own(place: str) -> str:
    """The first of the labels that a place holds; one may have a colon between its backticks."""
    found = re.match("`[^`]*`", place)
    return found[0] if found else ""
