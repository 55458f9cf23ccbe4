"""Read TOML files into typed values, and report all mistakes at once with their place."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from kgcheck.errors import ConfigurationError, nearest
from kgcheck.inputs import read_toml
from kgcheck.model import Value

V = TypeVar("V", bound=Value)

Place = tuple[int | str, ...]
"""Keys and positions, from the top of a file."""


_WORDS = {
    "missing": "this key is missing",
    "extra_forbidden": "there is no such key",
    "union_tag_not_found": "the key kind is missing",
}
"""Mistakes that pydantic finds, in plain words."""


class Mistake(Value):
    """One thing that is wrong in a file."""

    where: str = ""
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}" if self.where else self.what


class Mistakes(ValueError):
    """Several things that are wrong in one file; a validator of a whole value raises it."""

    def __init__(self, mistakes: Iterable[Mistake]) -> None:
        self.mistakes = tuple(mistakes)
        super().__init__("; ".join(map(str, self.mistakes)))


class WrongFile(ConfigurationError):
    """A file of a profile is not what it has to be."""

    def __init__(self, path: Path, mistakes: Iterable[Mistake], hint: str = "") -> None:
        self.path = path
        self.mistakes = tuple(mistakes)
        super().__init__(f"{path} is wrong: {'; '.join(map(str, self.mistakes))}", hint)


def read_tables(path: Path) -> dict[str, Any]:
    """The tables of a TOML file."""
    try:
        return read_toml(path)
    except FileNotFoundError:
        raise FileNotFoundError(path) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise WrongFile(path, [Mistake(what=reason or str(error))]) from error


def read_value(path: Path, kind: type[V], extra: Mapping[str, Any] | None = None) -> V:
    """A TOML file as a value of a kind."""
    return checked(path, kind, {**read_tables(path), **(extra or {})})


def checked(path: Path, kind: type[V], tables: Mapping[str, Any]) -> V:
    """The tables of a file as a value of a kind."""
    try:
        return kind.model_validate(tables)
    except ValidationError as error:
        raise WrongFile(path, mistakes_of(error, tables)) from error


def mistakes_of(
    error: ValidationError, tables: Mapping[str, Any], known: Callable[[Place], Iterable[str]] = lambda place: ()
) -> list[Mistake]:
    """Describe the mistakes that pydantic found in the tables of a file, in words and with the keys."""
    found: list[Mistake] = []
    for one in error.errors(include_url=False):
        cause = one.get("ctx", {}).get("error")
        where = key_of(one["loc"], tables)
        if isinstance(cause, Mistakes):
            found += cause.mistakes
        else:
            message = one["msg"]
            what = str(cause or _WORDS.get(one["type"]) or message[:1].lower() + message[1:])
            if one["type"] == "union_tag_invalid":
                what = f"there is no such kind: {message.rpartition(': ')[2]} are"
            near = nearest(str(one["loc"][-1]), known(one["loc"][:-1])) if one["type"] == "extra_forbidden" else []
            found.append(Mistake(where=where, what=f"{what}; did you mean {near[0]}?" if near else what))
    return found


def key_of(place: Iterable[int | str], tables: Any) -> str:
    """Return the key of a value, as a person finds it: tables of a list by name.

    >>> key_of(("labels", 1, "key"), {"labels": [{"name": "A"}, {"name": "B"}]})
    'labels[B].key'
    """
    shown = ""
    for step in place:
        if isinstance(step, int):
            inner = tables[step] if isinstance(tables, list) and step < len(tables) else None
            shown += f"[{_name(inner) or step + 1}]"
        elif step == "[key]" or (isinstance(tables, Mapping) and step not in tables and tables.get("kind") == step):
            # Not in the file: pydantic names the kind that it chose, and that it is the key itself that is wrong.
            continue
        else:
            inner = tables.get(step) if isinstance(tables, Mapping) else None
            shown += f".{step}" if shown else str(step)
        tables = inner
    return shown


def _name(table: Any) -> str:
    if not isinstance(table, Mapping):
        return ""
    ends = [table.get(key) for key in ("head", "type" if "type" in table else "relation", "tail")]
    for names in ([table.get("name")], ends, [table.get("file"), table.get("label")], [table.get("file")]):
        if all(isinstance(name, str) and name for name in names):
            return " ".join(map(str, names))
    return ""
