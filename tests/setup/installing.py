"""What the tests of setting up share: the requirement files, and an environment without this machine's settings."""

import importlib.util
import os
from pathlib import Path

from tests.support import ROOT

_SPEC = importlib.util.spec_from_file_location("kgcheck_install", ROOT / "requirements/install.py")
assert _SPEC
assert _SPEC.loader
installer = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(installer)

# The images install theirs by themselves.
FILES = sorted(
    {file for files, alone in installer.SETS.values() for file in (*files, *alone)} | {"run", "service", "uv"}
)
"""Every requirement file that something is installed from."""
ALONE = sorted({file for _, alone in installer.SETS.values() for file in alone})
"""Those that are installed without what their packages depend on."""


def quiet_environment(home: Path) -> dict[str, str]:
    """The environment of an empty home: no settings of pip or uv but certificates, no cache."""
    dropped = ("PIP_", "UV_", "PYTHON")
    kept = {n: value for n, value in os.environ.items() if not n.startswith(dropped) or n == "PIP_CERT"}
    return {**kept, "HOME": str(home), "XDG_CACHE_HOME": str(home / ".cache"), "PIP_CONFIG_FILE": os.devnull}
