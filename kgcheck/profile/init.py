"""Draft a profile's graph.toml from the survey of a graph, with guesses marked in comments."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from kgcheck.errors import ConfigurationError
from kgcheck.outputs import replacing
from kgcheck.profile.folder import GRAPH
from kgcheck.profile.lexicon import LEXICON
from kgcheck.profile.lexicon_draft import draft_words
from kgcheck.profile.recognise import Recognised, alike, recipes_of, recognise
from kgcheck.profile.schema import KEY, PropertyType, Schema, load_schema
from kgcheck.profile.survey import GraphSurvey, LabelSurvey, PropertySurvey, RelationSurvey

_PREFIX = re.compile(r"([A-Za-z][A-Za-z0-9_.]*):(.+)")
_PARENTS = re.compile(r"parent|sub_?class|(^|_)is_?a(_|$)|part_?of|broader", re.IGNORECASE)


class Draft(NamedTuple):
    """A draft of a profile."""

    text: str
    notes: tuple[str, ...]


def draft_profile(survey: GraphSurvey, name: str) -> Draft:
    """Draft a profile."""
    return _Drafting(survey, name).draft()


def draft_of_schema(schema: Schema, name: str, origin: str) -> Draft:
    """The draft of a schema that was made of files, to be edited in a folder."""
    head = schema.profile.model_dump(mode="json", exclude_defaults=True) | {"name": name}
    lines = [
        f"# A draft, made by kgcheck profile init from {_comment(origin)}. docs/profiles.md explains every key.",
        "",
    ]
    lines += ["[profile]", *(f"{key} = {_value(value)}" for key, value in head.items()), ""]
    for table, holders in (("labels", schema.labels), ("relations", schema.relations)):
        for holder in holders:
            stated = holder.model_dump(mode="json", exclude_defaults=True)
            properties = stated.pop("properties", {})
            lines += _table(table, stated)
            lines += [f"[{table}.properties]"] if properties else []
            lines += [*(f"{key} = {_value(value)}" for key, value in properties.items()), ""]
    return Draft("\n".join(lines), ())


def draft_of_words(schema: Schema) -> str:
    """The text of a lexicon.toml with the words that are drafted for a schema."""
    tables = draft_words(schema)
    lines = [
        "# Words that people ask about this graph with, drafted from its names by kgcheck profile init.",
        "# Phrases are regular expressions over lower-case text; spaces stand for any white space. docs/kgqa.md.",
        "",
        f"draft = {_value(tables.pop('draft'))}",
        "",
    ]
    for table, entries in tables.items():
        for entry in entries:
            lines += [*_table(table, entry), ""]
    return "\n".join(lines)


def _table(name: str, entries: Mapping[str, object]) -> list[str]:
    return [f"[[{name}]]", *(f"{key} = {_value(value)}" for key, value in entries.items() if value is not None)]


def write_profile(draft: Draft, folder: Path) -> Path:
    """Write a draft as graph.toml of a new profile, with the words that are drafted for it."""
    path = folder / GRAPH
    if path.exists():
        raise ConfigurationError(f"there is a profile in {folder} already", "name another folder with --out")
    _write(path, draft.text)
    _write(folder / LEXICON, draft_of_words(load_schema(str(folder.absolute()))))
    return path


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as partial:
            partial.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(f"cannot write {path}: {error.strerror}", "name another folder with --out") from error


class _Drafting:
    def __init__(self, survey: GraphSurvey, name: str) -> None:
        self._survey = survey
        self._name = name
        self._known: dict[str, Recognised] = {}
        self._sources: set[str] = set()
        self._notes: list[str] = []

    def draft(self) -> Draft:
        plain = [label for label in self._survey.labels if (label.key, label.key_type) == (KEY, "string")]
        usable = [label for label in self._survey.labels if label.key] if self._survey.own_keys else plain
        for label in self._survey.labels:
            if label in usable:
                continue
            if label.key:
                self._notes.append(
                    f"label {label.name}, {label.nodes:,} nodes: its key would be {label.key}, and in an embedded store"
                    f" only texts called {KEY} can be keys; left out, with its edges"
                )
            else:
                self._notes.append(
                    f"label {label.name}, {label.nodes:,} nodes: no property called like an id is filled on all nodes"
                    " and different on each, so that none can be the key; left out, with its edges"
                )
        if not usable:
            raise ConfigurationError(
                f"no label of {self._survey.store} has a key" + ("" if self._survey.own_keys else f" called {KEY}"),
                "a profile needs a property by which nodes are told apart",
            )
        keyed = {label.name for label in usable}
        blocks = [block for label in usable for block in self._label(label)]
        edges = [r for r in self._survey.relations if {r.head, r.tail} <= keyed]
        types = _types(edges)
        blocks += [block for relation in edges for block in self._relation(relation, types)]
        self._notes += [f"left out: {what}" for what in self._survey.left_out]
        return Draft("\n".join([*self._head(), *blocks]) + "\n", tuple(self._notes))

    def _head(self) -> Iterator[str]:
        yield f"# A draft, made by kgcheck profile init from {_comment(self._survey.store)}."
        yield "# What follows the word guess is a guess: look at it. docs/profiles.md explains every key."
        yield from (f"# {_comment(note)}" for note in self._notes)
        yield ""
        yield "[profile]"
        yield f"name = {_text(self._name)}"
        yield "version = 1"
        counts = f"draft: {len(self._survey.labels)} labels, {len(self._survey.relations)} relation patterns"
        yield f"title = {_text(counts)}"
        if self._survey.profile:
            yield f"reads = {_array([self._survey.profile])}  # the store says that kgcheck loaded it with this profile"
        yield "draft = true  # take it away once the profile is yours"
        if self._has_curies():
            yield 'standards = ["bioregistry"]  # most ids are CURIEs'
        if recipes := recipes_of(sorted(self._sources)):
            yield "references = ["
            yield from (f"    {_text(recipe)}," for recipe in recipes)
            yield "]"
        yield ""

    def _has_curies(self) -> bool:
        ids = [id_ for label in self._survey.labels for id_ in label.ids]
        return sum(bool(_PREFIX.fullmatch(id_)) for id_ in ids) * 2 > len(ids)

    def _label(self, label: LabelSurvey) -> Iterator[str]:
        known = recognise(label.name, label.ids)
        yield "[[labels]]"
        yield f"name = {_text(label.name)}  # {label.nodes:,} nodes"
        yield f"meaning = {_text(known.label.meaning if known else label.name)}"
        if label.key != KEY:
            yield f"key = {_text(label.key)}"
        if label.key_type != "string":
            yield f"key_type = {_text(label.key_type)}"
        # What was not looked at may have another form: only a form that all have is one to be held against.
        is_form_of_all = known is not None and known.share == 1
        yield f"id_pattern = {_text(known.label.id_pattern if known and is_form_of_all else '.+')}"
        yield f"id_example = {_text(label.ids[0])}"
        if label.also:
            yield f"also = {_array(label.also)}"
        attributes: dict[str, str] = {}
        if known and known.sure:
            self._known[label.name] = known
            self._sources.add(known.label.authority.source)
            issued = {} if is_form_of_all else {"pattern": known.label.id_pattern}
            yield f"authority = {_inline(known.label.authority.model_dump(exclude_defaults=True) | issued)}"
            present = {p.name for p in label.properties}
            for name, check in known.label.attributes.items():
                if name in present:
                    attributes[name] = _inline(check.model_dump(exclude_defaults=True))
                    self._sources |= {check.source, *([check.otherwise.source] if check.otherwise else [])}
            checked = f"; checked: {', '.join(attributes)}" if attributes else ""
            self._notes.append(
                f"label {label.name}: {known.share:.0%} of the ids that were looked at have the form of"
                f" {known.label.authority.source}, which therefore decides existence{checked}"
            )
        elif known:
            yield f"# a guess: authority = {_inline(known.label.authority.model_dump(exclude_defaults=True))}"
            self._notes.append(
                f"label {label.name}: its ids may be of {known.label.authority.source}, but their form tells little; a"
                " comment has the line that would check them"
            )
        else:
            self._notes.append(
                f"label {label.name}: no reference knows ids such as {label.ids[0]}; structure is checked"
            )
        if any(p.name == KEY for p in label.properties):
            self._notes.append(f"property {KEY} of label {label.name}: not its key, which has that name here; left out")
        yield from self._properties("labels", (p for p in label.properties if p.name != KEY), {})
        if attributes:
            yield "[labels.attributes]"
            yield from (f"{name} = {check}" for name, check in attributes.items())
        yield ""

    def _relation(self, relation: RelationSurvey, types: dict[tuple[str, str], PropertyType]) -> Iterator[str]:
        yield "[[relations]]"
        yield f"type = {_text(relation.type)}  # {relation.edges:,} edges"
        yield f"head = {_text(relation.head)}"
        yield f"tail = {_text(relation.tail)}"
        if relation.head == relation.tail:
            yield from self._direction(relation)
        head, tail = self._known.get(relation.head), self._known.get(relation.tail)
        model = alike(relation.type, head.label, tail.label) if head and tail else None
        if model:
            checks = [check.model_dump(mode="json", exclude_defaults=True) for check in model.checks]
            yield f"checks = [{', '.join(map(_inline, checks))}]"
            self._sources |= {check.source for check in model.checks}
            decided = ", ".join(check.source for check in model.checks)
            pattern = f"{relation.head} {relation.type} {relation.tail}"
            self._notes.append(
                f"relation {pattern}: called as {model} of {_profile_of(model)}, so that {decided} decides"
            )
        yield from self._properties("relations", relation.properties, types, relation.type)
        yield ""

    def _direction(self, relation: RelationSurvey) -> Iterator[str]:
        if relation.loops:
            yield f'loops = "unknown"  # {relation.loops:,} edges lead from a node to itself'
        if relation.mutual:
            shown = f"{relation.mutual:,} of {relation.edges:,} edges are there in the other direction, too"
            yield f"# a guess: symmetric = true, for {shown}"
        elif _PARENTS.search(relation.type) and not relation.loops:
            yield "hierarchy = true  # a guess, from the name: the tail is a parent of the head"

    def _properties(
        self,
        table: str,
        properties: Iterable[PropertySurvey],
        types: dict[tuple[str, str], PropertyType],
        relation: str = "",
    ) -> Iterator[str]:
        lines = [f'{p.name} = {{ type = "{types.get((relation, p.name), p.type)}" }}' for p in properties]
        if lines:
            yield f"[{table}.properties]"
            yield from lines


def _profile_of(model: object) -> str:
    from kgcheck.profile.recognise import own_schemas

    return next(s.profile.name for s in own_schemas() if any(p is model for p in s.relations))


def _types(relations: Iterable[RelationSurvey]) -> dict[tuple[str, str], PropertyType]:
    """One type for each property of a relation type: patterns of one type share a table of the embedded store."""
    found: dict[tuple[str, str], set[PropertyType]] = {}
    for relation in relations:
        for p in relation.properties:
            found.setdefault((relation.type, p.name), set()).add(p.type)
    numbers: set[PropertyType] = {"integer", "number"}
    return {
        key: next(iter(kinds)) if len(kinds) == 1 else "number" if kinds <= numbers else "string"
        for key, kinds in found.items()
    }


def _text(value: str) -> str:
    """A TOML text. Those of JSON are TOML, but for the one character that JSON leaves as it is."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _array(values: Iterable[str]) -> str:
    return f"[{', '.join(map(_text, values))}]"


def _inline(table: dict[str, object]) -> str:
    parts = [f"{name} = {_value(value)}" for name, value in table.items() if value is not None]
    return "{ " + ", ".join(parts) + " }"


def _value(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case int() | float():
            return repr(value)
        case dict():
            return _inline(value)
        case list() | tuple():
            return _array(map(str, value))
        case _:
            return _text(str(value))


def _comment(text: str) -> str:
    return "".join(sign if sign.isprintable() else " " for sign in text)
