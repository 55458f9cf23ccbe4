"""Catalogue of kgcheck's Cypher statements, files in `cypher/`, filled with schema names.

A file may hold places for names, ``<label>``, and for column lists, ``<columns>``. They are filled from the schema
only; values travel as parameters. A file under ``cypher/<backend>/`` goes before the portable one of the same name.
Statements are written for what kgcheck makes, keys called ``id`` that are texts. For labels of which the profile says
otherwise, they are brought to that here; ids stay texts on this side.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from kgcheck.errors import ConfigurationError
from kgcheck.graph.marks import RETIRED
from kgcheck.profile.schema import KEY, NAME_OF_GRAPH, Label, Pattern, PropertyType
from kgcheck.resources import resource_dir

_PLACE = re.compile(r"<([a-z_]+)>")
_NODE = re.compile(r":<(label|head|tail)> \{id: ([^{}]+)\}")
_VALUE = re.compile(r"\b([abn])\.id\b")
_PLACE_OF = {"n": "label", "a": "head", "b": "tail"}
"""The variables that statements have for nodes, and the place that holds the label of each."""

EMBEDDED_TYPES: dict[PropertyType, str] = {
    "string": "STRING",
    "strings": "STRING[]",
    "integer": "INT64",
    "number": "DOUBLE",
}


class Catalogue:
    """Statements of one backend."""

    def __init__(self, backend: str, labels: Sequence[Label] = ()) -> None:
        self._backend = backend
        self._labels = labels

    def text(self, name: str, /, **places: str) -> str:
        statement = _read(self._backend, name)
        wanted = set(_PLACE.findall(statement))
        if wanted != set(places):
            raise ConfigurationError(f"statement {name!r} has the places {sorted(wanted)}, not {sorted(places)}")
        return _PLACE.sub(lambda m: places[m[1]], self._with_keys(statement, places))

    def key_of(self, label: Label) -> str:
        """The property that holds the ids of a label's nodes."""
        return label.key if self._labels else KEY

    def _with_keys(self, statement: str, places: Mapping[str, str]) -> str:
        """A statement for the keys that its labels have."""
        others = {quoted(label.name): label for label in self._labels if (label.key, label.key_type) != (KEY, "string")}
        if not others:
            return statement
        # A node that is made may have more labels after its own, which may have a colon between its backticks.
        own = {place: re.match("`[^`]*`", places.get(place, "")) for place in _PLACE_OF.values()}
        of_place = {place: others.get(found[0]) if found else None for place, found in own.items()}

        def node(found: re.Match[str]) -> str:
            label = of_place[found[1]]
            return f":<{found[1]}> {{{quoted(label.key)}: {wanted_key(found[2], label)}}}" if label else found[0]

        def value(found: re.Match[str]) -> str:
            variable, place = found[1], _PLACE_OF[found[1]]
            if place in places:
                label = of_place[place]
                return read_key(variable, label) if label else found[0]
            # Of any label: nodes that a profile does not describe may have no key at all.
            names = dict.fromkeys(label.key for label in self._labels)
            return f"coalesce({', '.join(f'toString({variable}.{quoted(name)})' for name in names)})"

        return _VALUE.sub(value, _NODE.sub(node, statement))


@cache
def _read(backend: str, name: str) -> str:
    root = resource_dir("cypher")
    for path in (root / backend / f"{name}.cypher", root / f"{name}.cypher"):
        if path.is_file():
            lines = path.read_text(encoding="utf-8").splitlines()
            return "\n".join(line for line in lines if not line.startswith("//")).strip()
    raise ConfigurationError(f"there is no statement {name!r} for the {backend} store under {root}")


def is_name(name: str) -> bool:
    """Return whether a name is one that a schema may hold."""
    return NAME_OF_GRAPH.fullmatch(name) is not None


def quoted(name: str) -> str:
    """A schema name, quoted for Cypher."""
    if not is_name(name):
        raise ConfigurationError(f"{name!r} is not a schema name")
    return f"`{name}`"


def read_key(variable: str, label: Label) -> str:
    """An expression for the id of a node, as text."""
    value = f"{variable}.{quoted(label.key)}"
    return f"toString({value})" if label.key_type == "integer" else value


def wanted_key(value: str, label: Label) -> str:
    """An expression for the key that a node with this id has; null where none can."""
    if label.key_type == "string":
        return value
    # An id has one form: 7 is no other way to write 007.
    return f"CASE WHEN toString(toIntegerOrNull({value})) = {value} THEN toIntegerOrNull({value}) END"


def label_place(label: Label) -> dict[str, str]:
    """Place ``label``."""
    return {"label": quoted(label.name)}


def labels_place(label: Label) -> dict[str, str]:
    """Place ``label`` for a node that is made: its label, then those that it carries, too."""
    return {"label": ":".join(quoted(name) for name in (label.name, *label.also))}


def pattern_places(pattern: Pattern) -> dict[str, str]:
    """Places ``head``, ``relation`` and ``tail``."""
    return {"head": quoted(pattern.head), "relation": quoted(pattern.type), "tail": quoted(pattern.tail)}


def hop_places(pattern: Pattern) -> dict[str, str]:
    """Places ``head``, ``relation``, ``tail`` and ``properties``, those of the edge."""
    return pattern_places(pattern) | {"properties": projection("r", pattern.properties)}


def projection(variable: str, names: Iterable[str]) -> str:
    """``, n.`a` AS `a`, ...`` for every name, empty if there are none."""
    return "".join(f", {variable}.{quoted(name)} AS {quoted(name)}" for name in names)


def lists(variable: str, names: Iterable[str]) -> str:
    """``, [r IN rs | r.`a`], ...`` for every name, empty if there are none."""
    return "".join(f", [{variable} IN {variable}s | {variable}.{quoted(name)}]" for name in names)


def fields(names: Iterable[str], first: int = 0) -> str:
    """``a`: row[0], `b`: row[1], ...``, the properties of a map."""
    return ", ".join(f"{quoted(name)}: row[{i}]" for i, name in enumerate(names, first))


def same(pairs: Iterable[tuple[str, str]]) -> str:
    """`` AND (a = b OR (a IS NULL AND b IS NULL)) ...`` for every pair of expressions."""
    return "".join(f" AND ({a} = {b} OR ({a} IS NULL AND {b} IS NULL))" for a, b in pairs)


def kept(variable: str) -> str:
    """The condition that a node or edge is not retired."""
    return f"{variable}.{quoted(RETIRED)} IS NULL"


def where(variables: Iterable[str]) -> str:
    """`` WHERE n.`kgcheck_retired` IS NULL AND ...`` for every variable, empty if there are none."""
    conditions = " AND ".join(map(kept, variables))
    return f" WHERE {conditions}" if conditions else ""


def also(variables: Iterable[str]) -> str:
    """As `where`, to stand after another condition."""
    return "".join(f" AND {kept(variable)}" for variable in variables)


def columns(properties: Mapping[str, PropertyType]) -> str:
    """Column definitions of an embedded table: ``, `a` STRING, ...``."""
    return "".join(f", {quoted(name)} {EMBEDDED_TYPES[kind]}" for name, kind in properties.items())
