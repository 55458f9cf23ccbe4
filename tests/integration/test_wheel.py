"""The wheel, made from the source distribution, holds what a user needs, and works where there is no checkout."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from uv import find_uv_bin

from kgcheck import __version__
from tests.support import ROOT

_LEFT_OUT = shutil.ignore_patterns(
    ".git", ".venv", ".*_cache", ".kgcheck", "kgcheck-demo", "__pycache__", "dist", "build"
)
_DATA = ("cypher", "loaders", "corpus")


def _run(command: list[str], cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a program away from the checkout, as a user would."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("KGCHECK_", "PYTHON", "COV_"))}
    return subprocess.run(command, cwd=cwd, env=env, check=False, capture_output=True, text=True)


def _must(done: subprocess.CompletedProcess[str]) -> None:
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the source distribution of a copy of the checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    shutil.copytree(ROOT, folder / "copy", ignore=_LEFT_OUT)
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder / "dist"), "."]

    _must(_run(command, folder / "copy"))
    assert (folder / "dist" / f"kgcheck-{__version__}.tar.gz").is_file()
    return folder / "dist" / f"kgcheck-{__version__}-py3-none-any.whl"


@pytest.fixture(scope="module")
def names(wheel: Path) -> set[str]:
    """What is in the wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


@pytest.fixture(scope="module")
def kgcheck(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command of a fresh environment that holds the wheel and the pinned requirements, and nothing else."""
    folder = tmp_path_factory.mktemp("installed")
    uv, python = find_uv_bin(), str(folder / "venv" / "bin" / "python")
    pinned = ["--require-hashes", "-r", str(ROOT / "requirements" / "run.txt")]

    _must(_run([uv, "venv", "--python", sys.executable, str(folder / "venv")], folder))
    fetched = _run([uv, "pip", "install", "--python", python, *pinned], folder)
    if fetched.returncode != 0 and not os.environ.get("CI"):
        pytest.skip(f"the requirements are not to be had: {fetched.stderr}")
    _must(fetched)
    _must(_run([uv, "pip", "install", "--python", python, "--no-deps", "--offline", str(wheel)], folder))
    _must(_run([uv, "pip", "check", "--python", python], folder))
    return folder / "venv" / "bin" / "kgcheck"


def _shipped(folder: str) -> set[str]:
    found = (path.relative_to(ROOT) for path in (ROOT / folder).rglob("*") if path.is_file())
    return {path.as_posix() for path in found if "__pycache__" not in path.parts}


def test_wheel_holds_the_package_and_its_data(names: set[str]) -> None:
    package = _shipped("kgcheck")
    data = {f"kgcheck/_data/{name}" for folder in _DATA for name in _shipped(folder)}

    assert "kgcheck/py.typed" in package
    assert package - names == set()
    assert data - names == set()


def test_wheel_holds_nothing_else(names: set[str]) -> None:
    allowed = ("kgcheck/", f"kgcheck-{__version__}.dist-info/")

    assert [name for name in names if not name.startswith(allowed)] == []
    assert [name for name in names if "/tests/" in name or "__pycache__" in name] == []


def test_installed_command_tells_its_version(kgcheck: Path, tmp_path: Path) -> None:
    done = _run([str(kgcheck), "--version"], tmp_path)

    assert (done.returncode, done.stdout) == (0, f"kgcheck, version {__version__}\n"), done.stderr


@pytest.mark.slow
def test_installed_demo_writes_its_reports(kgcheck: Path, tmp_path: Path) -> None:
    done = _run([str(kgcheck), "demo", "--out", str(tmp_path / "demo")], tmp_path)

    _must(done)
    for name in ("report.html", "report.md"):
        assert (tmp_path / "demo" / name).stat().st_size > 0
