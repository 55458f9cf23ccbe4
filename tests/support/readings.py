"""Tables of readings.toml: rows of texts, and how they are read."""

import tomllib

from tests.support import ROOT

_TABLES = tomllib.loads((ROOT / "tests" / "support" / "readings.toml").read_text(encoding="utf-8"))


def readings(name: str) -> list[tuple[str, ...]]:
    """The rows of a table, each cut at its bars."""
    return [tuple(part.strip() for part in f" {line}".split(" |")) for line in _TABLES[name].strip().splitlines()]
