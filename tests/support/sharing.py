"""What all workers of a run of the tests have together; a plugin that `tests/conftest.py` loads."""

import atexit
import os
import shutil
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from filelock import FileLock

_FOLDER = "KGCHECK_TEST_FOLDER"


def pytest_configure(config: pytest.Config) -> None:
    """A folder for the run; workers have its name from the process that starts them."""
    if _FOLDER not in os.environ:
        folder = tempfile.TemporaryDirectory(prefix="kgcheck-test-")
        os.environ[_FOLDER] = folder.name
        config.add_cleanup(folder.cleanup)


def made_once(name: str, make: Callable[[Path], None]) -> Path:
    """A folder that the first who needs it makes, while others wait; to be read only."""
    folder = _of_run() / name
    done = folder.with_name(f"{name}.done")
    with FileLock(folder.with_name(f"{name}.lock")):
        if not done.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            make(folder)
            done.touch()
    return folder


@cache
def _of_run() -> Path:
    """The folder of the run, or of this process, where it is no test."""
    if _FOLDER in os.environ:
        return Path(os.environ[_FOLDER])
    folder = tempfile.TemporaryDirectory(prefix="kgcheck-test-")
    atexit.register(folder.cleanup)
    return Path(folder.name)
