"""Write a drafted schema, and the words for questions about it, as the folder of a profile."""

import json
from collections.abc import Mapping
from pathlib import Path

from kgcheck.outputs import write_text
from kgcheck.profile.folder import GRAPH
from kgcheck.profile.lexicon import LEXICON
from kgcheck.profile.lexicon_draft import draft_words
from kgcheck.profile.schema import Schema, load_schema


def draft_of_schema(schema: Schema, name: str, origin: str) -> str:
    """The text of a graph.toml for a schema that was drafted of a graph, to be edited in a folder."""
    head = schema.profile.model_dump(mode="json", exclude_defaults=True) | {"name": name}
    shown = "".join(sign if sign.isprintable() else " " for sign in origin)
    lines = [f"# A draft, made by kgcheck profile init from {shown}. docs/profiles.md explains every key.", ""]
    lines += ["[profile]", *(f"{key} = {_value(value)}" for key, value in head.items()), ""]
    for table, holders in (("labels", schema.labels), ("relations", schema.relations)):
        for holder in holders:
            stated = holder.model_dump(mode="json", exclude_defaults=True)
            properties = stated.pop("properties", {})
            lines += _table(table, stated)
            lines += [f"[{table}.properties]"] if properties else []
            lines += [*(f"{key} = {_value(value)}" for key, value in properties.items()), ""]
    return "\n".join(lines)


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


def write_profile(draft: str, folder: Path) -> Path:
    """Write a draft as graph.toml of a new profile, with the words that are drafted for it."""
    path = folder / GRAPH
    write_text(path, draft)
    write_text(folder / LEXICON, draft_of_words(load_schema(str(folder.absolute()))))
    return path


def _value(value: object) -> str:
    """A value as TOML. Texts of JSON are such, but for the one character that JSON leaves as it is."""
    match value:
        case bool():
            return str(value).lower()
        case int() | float():
            return repr(value)
        case dict():
            pairs = (f"{name} = {_value(inner)}" for name, inner in value.items() if inner is not None)
            return f"{{ {', '.join(pairs)} }}"
        case list() | tuple():
            return f"[{', '.join(_value(str(inner)) for inner in value)}]"
        case _:
            return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")
