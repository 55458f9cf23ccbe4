"""Set-up on machines that nobody prepared: each fault is one line, and the second try goes on."""

import json
import os
import re
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterator
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

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


def forget_package(checkout: Path) -> None:
    """Leave uv there, and nothing of what it installed."""
    (checkout / ".venv/installed.json").unlink()
    for folder in (checkout / ".venv").glob("lib/python3*/site-packages/iniconfig*"):
        shutil.rmtree(folder)


class Registry:
    """A package index on loopback that answers one status to everything."""

    def __init__(self, status: HTTPStatus) -> None:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_error(status)

            do_HEAD = do_CONNECT = do_GET

            def log_message(self, *args: object) -> None:
                return

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def busy_registry() -> Iterator[Registry]:
    registry = Registry(HTTPStatus.SERVICE_UNAVAILABLE)
    yield registry
    registry.server.shutdown()
    registry.server.server_close()


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


def test_no_network_after_uv_is_there(checkout: Path) -> None:
    assert set_up(checkout) == (0, [])
    forget_package(checkout)
    nowhere = {"UV_DEFAULT_INDEX": "http://127.0.0.1:9/simple", "UV_HTTP_RETRIES": "0", "UV_NO_CACHE": "1"}

    code, lines = set_up(checkout, **nowhere)

    assert (code, len(lines)) == (3, 1)
    assert "the package registry cannot be reached" in lines[0]
    assert set_up(checkout) == (0, [])


def test_a_busy_registry_is_one_line(checkout: Path, busy_registry: Registry) -> None:
    busy = "set-up: the package registry answers that it is busy. Wait a while, then run the same command again"
    code, lines = set_up(checkout, PIP_INDEX_URL=f"{busy_registry.address}/simple", PIP_RETRIES="1")

    assert (code, len(lines)) == (3, 1)
    assert lines[0].startswith(busy)
    assert set_up(checkout) == (0, [])

    # uv is there now, and meets the same.
    forget_package(checkout)
    address = f"{busy_registry.address}/simple"
    code, lines = set_up(checkout, UV_DEFAULT_INDEX=address, UV_HTTP_RETRIES="1", UV_NO_CACHE="1")

    assert (code, len(lines)) == (3, 1)
    assert lines[0].startswith(busy)


def test_a_proxy_that_refuses_is_named(checkout: Path, busy_registry: Registry) -> None:
    code, lines = set_up(checkout, HTTPS_PROXY=busy_registry.address, https_proxy="", PIP_RETRIES="0")

    assert (code, len(lines)) == (3, 1)
    assert lines[0].startswith(
        "set-up: the package registry cannot be reached through the proxy that HTTPS_PROXY names."
    )
    assert set_up(checkout) == (0, [])


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


def test_an_old_python_is_told_so(checkout: Path) -> None:
    found = next((path for version in ("3.10", "3.9", "3.8") if (path := old_python(version))), None)
    if found is None:
        pytest.skip("there is no older Python on this machine")

    code, lines = set_up(checkout, python=found)

    assert code == 2
    assert lines == [
        f"set-up: {found} is Python {lines[0].split('is Python ')[1].split(',')[0]}, and kgcheck needs 3.11. "
        "Name another: make PYTHON=python3.11 ..."
    ]


def old_python(version: str) -> str | None:
    places = [shutil.which(f"python{version}"), *map(str, Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))]
    for place in filter(None, places):
        asked = subprocess.run([place, "-c", "import sys; print(sys.executable)"], capture_output=True, text=True)
        if not asked.returncode:
            return asked.stdout.strip()
    return None


def test_a_place_that_cannot_be_written_is_one_line(checkout: Path) -> None:
    (checkout / ".venv.lock").mkdir()

    code, lines = set_up(checkout)

    assert (code, len(lines)) == (3, 1)
    assert lines[0].startswith(f"set-up: {checkout / '.venv.lock'}: Is a directory. See whether you may write there")


def test_a_pin_that_the_registry_lacks_is_told_apart(checkout: Path) -> None:
    assert set_up(checkout) == (0, [])
    pinned = checkout / "requirements/docs.txt"
    pinned.write_text(re.sub("==.*", "==0.0.1 --hash=sha256:" + "0" * 64, pinned.read_text().splitlines()[0]) + "\n")

    code, lines = set_up(checkout)

    assert (code, len(lines)) == (3, 1)
    assert lines[0].startswith("set-up: the package registry does not give a pinned package. See .venv/setup.log")


def test_a_set_that_does_not_exist_is_named(checkout: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(checkout / "requirements/install.py"), "everything"], capture_output=True, text=True
    )

    assert done.returncode == 2
    assert done.stderr.startswith("set-up: there is no set everything; there are demo, test, docs")


def test_what_was_installed_is_written_down(checkout: Path) -> None:
    assert set_up(checkout) == (0, [])

    assert list(json.loads((checkout / ".venv/installed.json").read_text())) == ["docs"]
