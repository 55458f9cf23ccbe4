"""Chance and time in tests: `make test` draws the same for everybody, `make test-random` anew; a plugin of pytest."""

from __future__ import annotations

import os
from random import Random

import pytest
from hypothesis import HealthCheck, core, settings
from hypothesis.internal.conjecture import engine

from tests.support import PYTHONPATH, SEED, examples
from tests.support.startup.sitecustomize import DAYS

# A slow or busy machine must not fail a property.
_ALWAYS = settings(
    deadline=None,
    database=None,
    print_blob=True,
    max_examples=examples(50),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("same", _ALWAYS, derandomize=True)
settings.register_profile("anew", _ALWAYS)
settings.load_profile("anew" if SEED else "same")
if SEED:
    core.global_force_seed = int(SEED)  # type: ignore[assignment]  # it says None alone

# A failing case is made smaller for a minute and not for five: where each example builds a snapshot, that is the run.
engine.MAX_SHRINKING_SECONDS = 60


ORDER = os.environ.get("KGCHECK_TEST_ORDER")
"""A number by which files, and the tests of each, are put into another order; tests of a file stay together."""

if DAYS:
    os.environ["PYTHONPATH"] = PYTHONPATH


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests into another order, the same one in every worker."""
    if ORDER:
        items.sort(key=lambda item: (_place(item.nodeid.split("::", 1)[0]), _place(item.nodeid)))


def _place(name: str) -> float:
    return Random(f"{ORDER} {name}").random()  # noqa: S311 - an order, not a secret


def new_seed(kept: int) -> int:
    """The seed of a test's own generator: the one that is given, and in `make test-random` another."""
    return Random(f"{SEED} {kept}").randrange(10**9) if SEED else kept  # noqa: S311 - examples, not secrets


def pytest_report_header() -> str | None:
    """Show the seeds and the time."""
    if DAYS:
        return f"{DAYS} days from now: KGCHECK_TEST_DAYS={DAYS} make test repeats it"
    if ORDER:
        return f"order of seed {ORDER}: KGCHECK_TEST_ORDER={ORDER} make test repeats it"
    return f"examples of seed {SEED}: KGCHECK_TEST_SEED={SEED} make test-random repeats them" if SEED else None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Show the seed again where the failures end."""
    if SEED and terminalreporter.stats.get("failed"):
        terminalreporter.section("examples were drawn anew")
        terminalreporter.line(f"KGCHECK_TEST_SEED={SEED} make test-random repeats them")
        terminalreporter.line("make each case that failed an example of its test, so that `make test` finds it")
