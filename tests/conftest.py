"""What every test can use: the servers of tests.support and the shared real data."""

import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.support import ROOT

pytest_plugins = [
    "tests.support.chance",
    "tests.support.neo4j_fixtures",
    "tests.support.postgres",
    "tests.support.collecting",
    "tests.support.sharing",
    "tests.support.spreading",
    "tests.support.statements",
]

# Two workers share two cores: threads of faiss or numpy, in them and in what they start, would spin for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# A scripted model is asked each time, but where a test is about replies that are kept.
os.environ.setdefault("KGCHECK_LLM_KEEP_DAYS", "0")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data that is not committed; a test that needs it is skipped where it is absent."""
    folder = Path(os.environ.get("KGCHECK_SHARED_DATA") or ROOT.parent / "shared" / "data")
    if not folder.is_dir():
        pytest.skip(f"the shared data is not at {folder}; KGCHECK_SHARED_DATA names another place")
    return folder


@pytest.fixture(scope="module")
def lexicon_read_once() -> Iterator[None]:
    """The lexicon of a profile is read once, for tests that open many graphs of one."""
    from kgcheck.profile.lexicon import read_lexicon

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kgcheck.profile.lexicon.read_lexicon", cache(read_lexicon))
        yield
