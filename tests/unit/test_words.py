"""Names say what a thing is: banned words, one class of a name, and a glossary that the code agrees with."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import get_args

from kgcheck.curation.operations import Operation
from kgcheck.ledger.comparisons import ComparisonState
from kgcheck.ledger.decisions import Action, DecisionState
from kgcheck.model import CheckType, Outcome, Reason, Stance, Tier, World
from tests.support import ROOT

BANNED = re.compile(r"(^|_)(told|tells?|said|says?|held|asked|lay|laid|pour(ed)?)(_|$)")
FILES = sorted((ROOT / "kgcheck").rglob("*.py"))


def names_in(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Names that a module gives: of functions, classes, variables, attributes, arguments and imports."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield node.lineno, name
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield node.lineno, name
            case ast.arg(arg=name) | ast.keyword(arg=str(name)):
                yield node.lineno, name
            case ast.alias(asname=str(name)):
                yield node.lineno, name


def snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def test_banned_words_are_found() -> None:
    source = "def _told_of(asked): ...\nclass PaperSaid: held_back = 1\nthe_layer = hello = 1\ncall(say=2)\n"

    assert [n for _, n in names_in(ast.parse(source)) if BANNED.search(snake(n))] == [
        "_told_of", "PaperSaid", "asked", "held_back", "say",
    ]  # fmt: skip


def test_no_name_says_tells_or_asks() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in FILES
        for line, name in names_in(ast.parse(path.read_text(encoding="utf-8")))
        if BANNED.search(snake(name))
    ]

    assert found == []


@cache
def classes() -> dict[str, list[Path]]:
    """Classes by name, with the modules that have one."""
    found: dict[str, list[Path]] = defaultdict(list)
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                found[node.name].append(path.relative_to(ROOT))
    return found


def test_one_class_has_a_name() -> None:
    assert {name: where for name, where in classes().items() if len(where) > 1} == {}


def test_the_glossary_and_the_code_agree() -> None:
    """Each word that the glossary writes as code is a class, an outcome, a reason or the like; so are its own words."""
    lines = (ROOT / "docs/glossary.md").read_text(encoding="utf-8").splitlines()
    table = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line.startswith("| ")][2:]
    values = {value.value for kind in (CheckType, Outcome, Reason, Stance, Tier, World) for value in kind}
    source = "\n".join(path.read_text(encoding="utf-8") for path in FILES)
    as_texts = set(re.findall(r"[\"'](\w+)[\"']", source))
    known = values | as_texts | set(classes())

    named = {word for row in table for cell in row for word in re.findall(r"`(\w+)`", cell)}
    assert named - known == set()
    assert {word for word, _ in table if re.fullmatch(r"([A-Z][a-z]+)+", word)} - set(classes()) == set()
    assert {outcome.value for outcome in Outcome} <= named
    assert {kind.value for kind in (*CheckType, *Tier, *World, *Stance)} <= named
    assert {kind.value for kind in (*ComparisonState, *Action, *DecisionState)} <= named
    operations = [kind.model_fields["kind"].default for kind in get_args(get_args(Operation)[0])]
    assert operations
    assert set(operations) <= named
