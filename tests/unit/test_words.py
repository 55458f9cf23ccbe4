"""Names say what a thing is: banned words, one class of a name, and a glossary that the code agrees with."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import get_args

from kgcheck.curation.operations import Operation
from kgcheck.ledger.comparisons import ComparisonState
from kgcheck.ledger.decisions import Action, DecisionState
from kgcheck.model import CheckType, Outcome, Reason, Stance, Tier, World
from tests.support import ROOT

BANNED = re.compile(r"(^|_)(told|tells?|said|says?|held|asked|lay|laid|pour(ed)?)(_|$)")
FILES = sorted((ROOT / "kgcheck").rglob("*.py"))


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


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
        for line, name in names_in(parsed(path))
        if BANNED.search(snake(name))
    ]

    assert found == []


RIDDLE = re.compile(r"(What|Whether|Of|Which|Who|Whose|How|Where|Why|That|When)\b")
"""Beginnings of a docstring that names nothing: it is an imperative, or a noun phrase in a user's words."""


def docstrings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """First lines of all docstrings of a module, also those of constants and fields."""
    bodies = (body for node in ast.walk(tree) if isinstance(body := getattr(node, "body", None), list))
    for body in bodies:
        for before, statement in pairwise([None, *body]):
            match statement:
                case ast.Expr(value=ast.Constant(value=str(text))):
                    if before is None or isinstance(before, ast.Assign | ast.AnnAssign):
                        yield statement.lineno, text.splitlines()[0]


def test_riddles_are_found() -> None:
    source = '"""Papers."""\nX = 1\n"""How many."""\ndef f():\n    """Whether it is."""\n    """It runs."""\n'

    assert [text for _, text in docstrings(ast.parse(source)) if RIDDLE.match(text)] == ["How many.", "Whether it is."]


def test_no_docstring_begins_with_a_riddle() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {text}"
        for path in FILES
        for line, text in docstrings(parsed(path))
        if RIDDLE.match(text)
    ]

    assert found == []


EMPTY_NAMES = {"what", "of", "about", "giving", "standing", "carrying", "both", "bare"}
PUBLIC = ("cli", "mcp/tools.py", "service/page")
"""Where a parameter is the name of an argument, a tool's field or a form's, which users write."""


def test_no_module_and_no_parameter_has_an_empty_name() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {node.arg}"
        for path in FILES
        if not path.relative_to(ROOT / "kgcheck").as_posix().startswith(PUBLIC)
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.arg) and node.arg in EMPTY_NAMES
    ]

    assert found == []
    assert [path for path in FILES if path.stem in EMPTY_NAMES] == []


@cache
def classes() -> dict[str, list[Path]]:
    """Classes by name, with the modules that have one."""
    found: dict[str, list[Path]] = defaultdict(list)
    for path in FILES:
        for node in ast.walk(parsed(path)):
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
