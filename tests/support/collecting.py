"""How tests are collected in less time; a plugin that `tests/conftest.py` loads."""

import gc
import sys
from collections.abc import Generator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
from _pytest.doctest import DoctestModule

Collectors = list[pytest.Collector]


class _LateParsers(ModuleType):
    """A package of parsers of addresses; it takes two seconds, and jsonschema imports it whatever it checks."""

    def is_valid_syntax(self, term: str, value: str) -> bool:
        """What the package says, which is imported when the first address is checked."""
        if sys.modules[self.__name__] is self:
            del sys.modules[self.__name__]
        return bool(import_module(self.__name__).is_valid_syntax(term, value))


sys.modules["rfc3987_syntax"] = _LateParsers("rfc3987_syntax")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Nearly all that is made then stays until the end: to look for garbage in it took a fifth of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path) -> Generator[None, Collectors, Collectors]:
    """What is collected of a file: no examples where none stands.

    To be searched for them, a file is imported and each of its objects is looked at, and nine of ten have none.
    """
    collected = yield
    searched = any(isinstance(c, DoctestModule) for c in collected)
    if searched and ">>>" not in file_path.read_text(encoding="utf-8"):
        return [c for c in collected if not isinstance(c, DoctestModule)]
    return collected
