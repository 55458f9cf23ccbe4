"""Modules that are to start fast or to need little do not import what is heavy."""

import subprocess
import sys
from importlib.util import find_spec

import pytest

from tests.support import ROOT

NOT_IMPORTED = {
    "kgcheck.literature.corpus": {"requests", "requests_cache"},
    "kgcheck.protocols.checking.file_checks": {"duckdb", "httpx2", "requests", "sqlalchemy"},
    "kgcheck.protocols.protocol": {"numpy", "pyarrow", "requests"},
}


@pytest.mark.parametrize("module", NOT_IMPORTED)
def test_heavy_packages_are_not_imported(module: str) -> None:
    heavy = NOT_IMPORTED[module]
    script = f"import sys, {module}; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT)

    assert all(map(find_spec, heavy))
    assert done.stdout == "[]\n"
