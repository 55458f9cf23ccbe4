"""How tests are collected in less time; a plugin that `tests/conftest.py` loads."""

import gc
import sys
from collections.abc import Generator
from pathlib import Path

import pytest
from _pytest.doctest import DoctestModule

Collectors = list[pytest.Collector]

# With it jsonschema makes 38 parsers, two seconds of processor time, for addresses of a form that no schema here has.
sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]


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

    Yields:
        Nothing, until the file is collected.

    Returns:
        What is collected.
    """
    collected = yield
    searched = any(isinstance(c, DoctestModule) for c in collected)
    if searched and ">>>" not in file_path.read_text(encoding="utf-8"):
        return [c for c in collected if not isinstance(c, DoctestModule)]
    return collected
