"""Modules that are to start fast or to need little do not import what is heavy."""

import subprocess
import sys
from importlib.util import find_spec

import pytest

from tests.support import ROOT

NOT_IMPORTED = {
    "kgcheck.grounding.claims.verification": {"rustworkx"},
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


def test_the_service_needs_no_other_extra() -> None:
    """Those of its image: what manuscripts, protocols and data frames take is not there."""
    others = ("pandas", "py2neo", "pypandoc", "pyoxigraph", "rapidfuzz", "rustworkx", "scipy", "statsmodels", "typst")
    script = f"""
import sys
sys.modules.update(dict.fromkeys({others}))
from kgcheck.service.app import create_app
from kgcheck.service.state import Service, ServiceOptions
import kgcheck.mcp.server, kgcheck.service.server, kgcheck.workspace.jobs
create_app(Service(ServiceOptions()))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT)

    assert all(map(find_spec, others))
    assert done.returncode == 0, done.stderr
