"""Answers to tests/integration/kgqa_questions.toml by the Cypher written beside each question.

``python -m tests.support.kgqa_answers STORE`` sends it to a store that holds ../shared/data/ckg_import, without
kgcheck, and writes tests/integration/kgqa_answers.json: ids, a number, or true or false, by question.
"""

import json
import sys
import tomllib
from pathlib import Path
from typing import Any

import ladybug

from tests.support import ROOT

QUESTIONS = ROOT / "tests" / "integration" / "kgqa_questions.toml"
ANSWERS = QUESTIONS.with_name("kgqa_answers.json")


def questions() -> list[dict[str, Any]]:
    """The questions, in the order of the file."""
    found: list[dict[str, Any]] = tomllib.loads(QUESTIONS.read_text(encoding="utf-8"))["questions"]
    return found


def answers() -> dict[str, Any]:
    """Answers by question; null where there is nothing to ask the graph."""
    found: dict[str, Any] = json.loads(ANSWERS.read_text(encoding="utf-8"))
    return found


def derive(store: Path) -> dict[str, Any]:
    """Send the Cypher of every question."""
    derived: dict[str, Any] = {}
    with ladybug.Database(str(store), read_only=True) as database, ladybug.Connection(database) as connection:
        for asked in questions():
            derived[asked["question"]] = _sent(connection, asked["cypher"]) if "cypher" in asked else None
    return derived


def _sent(connection: ladybug.Connection, cypher: str) -> Any:
    result = connection.execute(cypher)
    assert isinstance(result, ladybug.QueryResult)
    with result:
        names, rows = result.get_column_names(), result.get_all()
    if names == ["yes"]:
        return bool(next(iter(rows[0])))
    return int(next(iter(rows[0]))) if names == ["n"] else sorted(str(next(iter(row))) for row in rows)


if __name__ == "__main__":
    written = "".join(f"{json.dumps(q)}: {json.dumps(a)},\n" for q, a in derive(Path(sys.argv[1])).items())
    ANSWERS.write_text("{\n" + written.rstrip(",\n") + "\n}\n", encoding="utf-8")
