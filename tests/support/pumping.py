"""Texts that are hard for a regular expression, made from the expression itself, and all expressions of the package.

An expression is slow where a text can be taken apart in many ways, or is begun at every place and given up far behind
it. Both need something that is repeated: so each repeat is pumped, after what leads to it, and ends in what fits not.
"""

import ast
import dataclasses
import importlib
import inspect
import pkgutil
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import permutations
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any, NamedTuple

from kgcheck.profile.lexicon import parser, sre
from tests.support.spent import spent

_SIGNS = "a1 \n-A.,([=_\u00e9\u2013\0!"
"""What stands for the rest of the characters, beside those that an expression names."""

_LONG = 60
"""How often something may be repeated before it counts as repeated without end."""

_IN_CLASS: dict[Any, Callable[[str], bool]] = {
    sre.CATEGORY_DIGIT: str.isdecimal,
    sre.CATEGORY_NOT_DIGIT: lambda c: not c.isdecimal(),
    sre.CATEGORY_SPACE: str.isspace,
    sre.CATEGORY_NOT_SPACE: lambda c: not c.isspace(),
    sre.CATEGORY_WORD: lambda c: c.isalnum() or c == "_",
    sre.CATEGORY_NOT_WORD: lambda c: not (c.isalnum() or c == "_"),
}


class Expression(NamedTuple):
    """One of the package: where it stands, and whether it is tried at one place of a text only."""

    where: str
    pattern: re.Pattern[Any]
    methods: frozenset[str]


class Attack(NamedTuple):
    """A text: what it begins with, what is repeated, what it ends in."""

    before: str
    pumped: str
    after: str

    def text(self, size: int) -> str:
        """Of about so many characters."""
        return self.before + self.pumped * (size // len(self.pumped)) + self.after


class TooLong(Exception):
    """A search that was stopped."""


def attacks(pattern: re.Pattern[Any]) -> list[Attack]:
    """Texts that are made to be hard for an expression."""
    written = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    tree = parser.parse(written, pattern.flags & (re.VERBOSE | re.IGNORECASE | re.DOTALL | re.MULTILINE))
    atoms = list(_atoms(tree))
    literals = dict.fromkeys(chr(v) for kind, v in atoms if kind is sre.LITERAL)
    signs = sorted({*_SIGNS, *literals}, key=lambda c: (-sum(_takes(a, c) for a in atoms), c))
    found: dict[Attack, None] = {}
    for before, body in _repeats(tree, "", signs):
        for pumped in _bodies(body, signs):
            ends = ["", "\0\n", *[c for c in signs if c not in pumped and c in literals][:1]]
            for end in ends:
                for attack in (Attack(before, pumped, end), Attack("", before + pumped, end)):
                    found.setdefault(attack)
    if found:
        found.update(dict.fromkeys(Attack("", "".join(pair), "\0") for pair in permutations(signs[:4], 2)))
    return list(found)


def _atoms(tree: Any) -> Iterator[tuple[Any, Any]]:
    for kind, value in tree:
        if kind in (sre.LITERAL, sre.NOT_LITERAL, sre.IN, sre.ANY):
            yield kind, value
        else:
            for inner in _inside(kind, value):
                yield from _atoms(inner)


def _inside(kind: Any, value: Any) -> list[Any]:
    if kind in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
        return [value[2]]
    if kind is sre.SUBPATTERN:
        return [value[-1]]
    if kind is sre.BRANCH:
        return list(value[1])
    if kind in (sre.ASSERT, sre.ASSERT_NOT):
        return [value[1]]
    if kind is sre.ATOMIC_GROUP:
        return [value]
    if kind is sre.GROUPREF_EXISTS:
        return [part for part in value[1:] if part]
    return []


def _takes(atom: tuple[Any, Any], sign: str) -> bool:
    kind, value = atom
    if kind is sre.ANY:
        return sign != "\n"
    if kind in (sre.LITERAL, sre.NOT_LITERAL):
        return bool((ord(sign) == value) == (kind is sre.LITERAL))
    negated = value[0][0] is sre.NEGATE
    fits = any(
        (item is sre.LITERAL and ord(sign) == of)
        or (item is sre.RANGE and of[0] <= ord(sign) <= of[1])
        or (item is sre.CATEGORY and _IN_CLASS[of](sign))
        for item, of in value[negated:]
    )
    return bool(fits != negated)


def _repeats(tree: Any, before: str, signs: list[str]) -> Iterator[tuple[str, Any]]:
    """What leads to each repeat, and what it repeats."""
    for kind, value in tree:
        many = kind in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT)
        if many and value[1] >= _LONG:
            yield before, value[2]
        for inner in _inside(kind, value):
            yield from _repeats(inner, before, signs)
        before += _example(kind, value, signs)


def _example(kind: Any, value: Any, signs: list[str]) -> str:
    """A short text that a part may fit."""
    if kind in (sre.LITERAL, sre.NOT_LITERAL, sre.IN, sre.ANY):
        return next(iter(_taken((kind, value), signs)), "")
    if kind in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
        return "".join(_example(of, what, signs) for of, what in value[2]) * int(value[0])
    if kind in (sre.ASSERT, sre.ASSERT_NOT) or not (inside := _inside(kind, value)):
        return ""
    return "".join(_example(of, what, signs) for of, what in inside[0])


def _taken(atom: tuple[Any, Any], signs: list[str]) -> list[str]:
    kind, value = atom
    if kind is sre.LITERAL:
        return [chr(value)]
    more = (
        [chr(of if item is sre.LITERAL else of[0]) for item, of in value if item in (sre.LITERAL, sre.RANGE)]
        if (kind is sre.IN and value[0][0] is not sre.NEGATE)
        else []
    )
    return [c for c in dict.fromkeys((*signs, *more)) if _takes(atom, c)][:4]


def _bodies(body: Any, signs: list[str]) -> list[str]:
    """What a repeat takes: single characters, or one text for each way through it."""
    if len(body) == 1 and body[0][0] in (sre.LITERAL, sre.NOT_LITERAL, sre.IN, sre.ANY):
        return _taken(body[0], signs)
    texts = [""]
    for kind, value in body:
        if kind is sre.SUBPATTERN:
            more = _bodies(value[-1], signs)
        elif kind is sre.BRANCH:
            more = [text for way in value[1] for text in _bodies(way, signs)[:1]][:6]
        elif kind in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
            more = [text * max(1, value[0]) for text in _bodies(value[2], signs)][:2]
        elif kind in (sre.LITERAL, sre.NOT_LITERAL, sre.IN, sre.ANY):
            more = _taken((kind, value), signs)[:2]
        else:
            more = [""]
        texts = [text + end for text in texts for end in more or [""]][:6]
    return [text for text in dict.fromkeys(texts) if text]


def seconds(pattern: re.Pattern[Any], method: str, text: str, *, limit: float) -> float:
    """Processor time of one search."""
    given: Any = text if isinstance(pattern.pattern, str) else text.encode("latin-1", "replace")
    look: Callable[[], object] = {
        "match": lambda: pattern.match(given),
        "fullmatch": lambda: pattern.fullmatch(given),
    }.get(method, lambda: sum(1 for _ in pattern.finditer(given)))

    looking = True

    def stop(_number: int, _frame: FrameType | None) -> None:
        if looking:
            raise TooLong

    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, limit)
    try:
        try:
            return spent(look)
        finally:
            looking = False
    except TooLong:
        return limit
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        # It may be under way by now, and where nobody waits for it, it ends the process.
        signal.signal(signal.SIGPROF, signal.SIG_IGN)


def expressions(*rooms: str) -> list[Expression]:
    """The expressions of modules, of what they keep, and those that stand where they are used."""
    names = [f"kgcheck.{room}" for room in rooms] or ["kgcheck"]
    modules = [importlib.import_module(name) for name in names]
    for package in tuple(modules):
        inside = pkgutil.walk_packages(getattr(package, "__path__", ()), f"{package.__name__}.")
        # Both run as soon as they are imported.
        found_in = (found.name for found in inside if not found.name.endswith(("__main__", "migrations.env")))
        modules += map(importlib.import_module, found_in)
    found: dict[tuple[Any, int], tuple[str, re.Pattern[Any], set[str]]] = {}
    trees = {module.__name__: ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8")) for module in modules}
    used: dict[str, set[str]] = {}
    for of, tree in trees.items():
        for name, method in _uses(tree):
            used.setdefault(of + name if name.startswith("_") else name, set()).add(method)
    for module in modules:
        seen: set[int] = set()
        for name, value in list(vars(module).items()):
            if name.startswith("__") or isinstance(value, ModuleType):
                continue
            for path, pattern in _held(value, name, seen, 0):
                last = path.rsplit(".", 1)[-1]
                methods = used.get(module.__name__ + last if last.startswith("_") else last, {"search"})
                entry = found.setdefault(
                    (pattern.pattern, pattern.flags), (f"{module.__name__}.{path}", pattern, set())
                )
                entry[2].update(methods)
        for line, pattern, method in _in_place(trees[module.__name__], module):
            entry = found.setdefault((pattern.pattern, pattern.flags), (f"{module.__name__}:{line}", pattern, set()))
            entry[2].add(method)
    return [Expression(where, pattern, frozenset(methods)) for where, pattern, methods in found.values()]


def expressions_in(value: object, where: str) -> list[Expression]:
    """The expressions within a value."""
    return [Expression(path, pattern, frozenset({"search"})) for path, pattern in _held(value, where, set(), 0)]


_METHODS = {"search", "match", "fullmatch", "finditer", "findall", "sub", "subn", "split"}


def _uses(tree: ast.AST) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in _METHODS:
            if isinstance(node.value, ast.Name):
                yield node.value.id, node.attr
            elif isinstance(node.value, ast.Attribute):
                yield node.value.attr, node.attr


def _in_place(tree: ast.AST, module: ModuleType) -> Iterator[tuple[int, re.Pattern[Any], str]]:
    """Expressions that are written where they are used; of those that hold values, what the module itself can make."""
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args):
            continue
        if not (isinstance(node.func.value, ast.Name) and node.func.value.id == "re" and node.func.attr in _METHODS):
            continue
        with suppress(Exception):
            text = eval(compile(ast.Expression(node.args[0]), "", "eval"), vars(module))  # noqa: S307
            flags = next(
                (
                    eval(compile(ast.Expression(k.value), "", "eval"), vars(module))  # noqa: S307
                    for k in node.keywords
                    if k.arg == "flags"
                ),
                0,
            )
            if node.func.attr in ("search", "match", "fullmatch", "findall", "finditer") and len(node.args) > 2:
                flags = eval(compile(ast.Expression(node.args[2]), "", "eval"), vars(module))  # noqa: S307
            yield node.lineno, text if isinstance(text, re.Pattern) else re.compile(text, flags), node.func.attr


def _held(value: Any, path: str, seen: set[int], depth: int) -> Iterator[tuple[str, re.Pattern[Any]]]:
    """The expressions within a value, and in what a function without parameters keeps."""
    if isinstance(value, re.Pattern):
        yield path, value
        return
    if id(value) in seen or depth > 6 or isinstance(value, str | bytes | int | float | None):
        return
    seen.add(id(value))
    if hasattr(value, "cache_info"):
        with suppress(Exception):
            if not inspect.signature(value).parameters:
                yield from _held(value(), path, seen, depth + 1)
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _held(inner, f"{path}.{key}" if isinstance(key, str) else path, seen, depth + 1)
    elif isinstance(value, tuple) and hasattr(value, "_fields"):
        for name in value._fields:
            yield from _held(getattr(value, name), f"{path}.{name}", seen, depth + 1)
    elif isinstance(value, list | tuple | set | frozenset):
        for inner in value:
            yield from _held(inner, path, seen, depth + 1)
    elif not isinstance(value, type) and type(value).__module__.startswith("kgcheck"):
        names = [f.name for f in dataclasses.fields(value)] if dataclasses.is_dataclass(value) else []
        for name in dict.fromkeys((*names, *getattr(value, "__dict__", ()), *getattr(value, "__slots__", ()))):
            yield from _held(getattr(value, name, None), f"{path}.{name}", seen, depth + 1)
