"""What every test can use: the servers of tests.support, the shared real data and the Hypothesis profiles."""

import os
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis.internal.conjecture import engine

from tests.support import ROOT, examples

pytest_plugins = [
    "tests.support.neo4j_fixtures",
    "tests.support.postgres",
    "tests.support.collecting",
    "tests.support.sharing",
    "tests.support.spreading",
]

# Two workers share two cores: threads of faiss or numpy, in them and in what they start, would spin for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# A slow or busy machine must not fail a property; only in CI must a run be the same as the one before.
settings.register_profile("dev", deadline=None, print_blob=True, max_examples=examples(50))
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True, max_examples=examples(50))
settings.load_profile("ci" if os.environ.get("CI") else "dev")

# A failing case is made smaller for a minute and not for five: where each example builds a snapshot, that is the run.
engine.MAX_SHRINKING_SECONDS = 60


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data that is not committed; a test that needs it is skipped where it is absent."""
    folder = Path(os.environ.get("KGCHECK_SHARED_DATA") or ROOT.parent / "shared" / "data")
    if not folder.is_dir():
        pytest.skip(f"the shared data is not at {folder}; KGCHECK_SHARED_DATA names another place")
    return folder
