"""Set-up on machines that nobody prepared: each fault is one line, and the second try goes on."""

import os
import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from tests.setup.installing import quiet_environment
from tests.support import ROOT

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One home, so that uv is downloaded once."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture
def checkout(tmp_path: Path, home: Path) -> Path:
    """A checkout of one small package, in a folder with a space in its name, with the installer of this one."""
    folder = tmp_path / "a folder"
    (folder / "requirements").mkdir(parents=True)
    shutil.copy(ROOT / "requirements/install.py", folder / "requirements")
    shutil.copy(ROOT / "requirements/uv.txt", folder / "requirements")
    small = re.search(r"^iniconfig==.*\n(?:    --hash.*\n)+", (ROOT / "requirements/dev.txt").read_text(), re.MULTILINE)
    assert small
    (folder / "requirements/docs.txt").write_text(small[0].rstrip().rstrip("\\") + "\n")
    (folder / "pyproject.toml").write_text("")
    (tmp_path / "home").symlink_to(home)
    return folder


def set_up(checkout: Path, **variables: str) -> tuple[int, list[str]]:
    """The exit code of a set-up and its lines, but for those of progress."""
    done = subprocess.run(
        [variables.pop("python", sys.executable), str(checkout / "requirements/install.py"), "docs"],
        env={**quiet_environment(checkout.parent / "home"), **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    lines = [line for line in done.stderr.splitlines() if not re.search(r": (installing|done in) ", line)]
    return done.returncode, lines


def installed(checkout: Path) -> bool:
    return bool(list((checkout / ".venv").glob("lib/python3*/site-packages/iniconfig")))


def test_a_second_set_up_has_nothing_to_do(checkout: Path) -> None:
    assert set_up(checkout) == (0, [])
    assert installed(checkout)
    before = (checkout / ".venv/setup.log").stat().st_mtime_ns

    assert set_up(checkout) == (0, [])
    assert (checkout / ".venv/setup.log").stat().st_mtime_ns == before

    (checkout / "pyproject.toml").write_text("# changed\n")
    assert set_up(checkout) == (0, [])
    assert (checkout / ".venv/setup.log").stat().st_mtime_ns > before


def test_no_network_is_one_line_and_the_second_try_goes_on(checkout: Path) -> None:
    nowhere = {"PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_RETRIES": "1"}

    code, lines = set_up(checkout, **nowhere)

    assert (code, len(lines)) == (3, 1)
    assert lines[0].startswith("set-up: the package registry cannot be reached. Look at the network, then run the same")
    assert set_up(checkout) == (0, [])
    assert installed(checkout)


def test_a_full_disk_is_one_line(checkout: Path) -> None:
    if os.geteuid():
        pytest.skip("only root can mount a small disk")
    disk = checkout / ".venv"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", str(disk)], check=True)
    try:
        code, lines = set_up(checkout)
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)

    assert (code, len(lines)) == (3, 1)
    assert lines[0].startswith("set-up: the disk is full. Free some space")
    assert set_up(checkout) == (0, [])


def test_two_set_ups_at_the_same_time_wait_for_each_other(checkout: Path) -> None:
    command = [sys.executable, str(checkout / "requirements/install.py"), "docs"]
    variables = quiet_environment(checkout.parent / "home")
    both = [subprocess.Popen(command, env=variables, stderr=subprocess.PIPE, text=True) for _ in range(2)]

    told = [process.communicate(timeout=300)[1] for process in both]

    assert [process.returncode for process in both] == [0, 0], told
    assert sorted("this one waits" in text for text in told) == [False, True]
    assert sorted("installing what `docs` needs" in text for text in told) == [False, True]


@pytest.mark.parametrize("wrong", ["gone", "old"])
def test_an_environment_of_another_python_is_made_anew(checkout: Path, wrong: str) -> None:
    venv.create(checkout / ".venv", with_pip=False)
    python = checkout / ".venv/bin/python"
    python.unlink()
    if wrong == "old":
        python.write_text("#!/bin/sh\necho 3 10\n")
        python.chmod(0o755)

    code, lines = set_up(checkout)

    assert (code, len(lines)) == (0, 1)
    assert re.fullmatch(r"set-up: \.venv is of (Python 3\.10|a Python that is gone): it is made anew", lines[0])
    assert installed(checkout)


def test_a_folder_that_is_no_environment_is_left_alone(checkout: Path) -> None:
    (checkout / ".venv").mkdir()
    (checkout / ".venv/thesis.txt").write_text("years of work")

    code, lines = set_up(checkout)

    assert (code, len(lines)) == (3, 1)
    assert "is no virtual environment. Move it away" in lines[0]
    assert (checkout / ".venv/thesis.txt").read_text() == "years of work"
