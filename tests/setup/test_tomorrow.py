"""Requirement files install their pins, and nothing else, on the day after a newer release of everything."""

import base64
import csv
import hashlib
import importlib.metadata
import io
import json
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import NamedTuple

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.setup.installing import ALONE, FILES, quiet_environment
from tests.support import ROOT

pytestmark = pytest.mark.slow

NEWER = "99.0"
Pinned = tuple[str, str]
"""A canonical name and a version."""


class Pin(NamedTuple):
    """A line of a requirement file without its hashes."""

    requirement: Requirement
    name: str
    version: str


def pins(text: str) -> list[Pin]:
    joined = re.sub(r"\\\n", " ", re.sub(r"^\s*#.*\n", "", text, flags=re.MULTILINE))
    found = [Requirement(line.split(" --hash", 1)[0].strip()) for line in joined.splitlines() if line.strip()]
    return [Pin(one, canonicalize_name(one.name), str(one.specifier).removeprefix("==")) for one in found]


@cache
def metadata() -> dict[Pinned, str]:
    """The METADATA of each package that is pinned for this machine: of this environment, else from pip's registry."""
    wanted = {(pin.name, pin.version) for file in FILES for pin in pins(read(file)) if applies(pin)}
    # Those are installed without what they depend on.
    found = {(pin.name, pin.version): described(*pin[1:]) for file in ALONE for pin in pins(read(file))}
    for name, version in wanted - set(found):
        try:
            distribution = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        if distribution.version == version:
            extras = distribution.metadata.get_all("Provides-Extra") or ()
            found[name, version] = described(name, version, distribution.requires or (), extras)
    missing = [f"{name}=={version}" for name, version in sorted(wanted - set(found))]
    asked = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed", "--no-deps"]
    done = subprocess.run([*asked, "--report", "-", *missing], capture_output=True, text=True, check=True)
    for stated in (item["metadata"] for item in json.loads(done.stdout)["install"]):
        name, version = canonicalize_name(stated["name"]), stated["version"]
        found[name, version] = described(
            name, version, stated.get("requires_dist", ()), stated.get("provides_extra", ())
        )
    return found


def described(name: str, version: str, requires: Iterable[str] = (), extras: Iterable[str] = ()) -> str:
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
    return "\n".join([*lines, *(f"Requires-Dist: {r}" for r in requires), *(f"Provides-Extra: {e}" for e in extras)])


def applies(pin: Pin) -> bool:
    return pin.requirement.marker is None or pin.requirement.marker.evaluate()


def read(file: str) -> str:
    return (ROOT / "requirements" / f"{file}.txt").read_text(encoding="utf-8")


def wheel(name: str, version: str, metadata_text: str) -> bytes:
    """An empty wheel with the dependencies of the real one."""
    head = re.sub(r"^Version: .*$", f"Version: {version}", metadata_text, count=1, flags=re.MULTILINE)
    folder = f"{name.replace('-', '_')}-{version}.dist-info"
    files = {
        f"{folder}/METADATA": head + "\n\n",
        f"{folder}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = io.StringIO()
    rows = csv.writer(record, lineterminator="\n")
    for path, text in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        rows.writerow([path, f"sha256={digest}", len(text.encode())])
    rows.writerow([f"{folder}/RECORD", "", ""])
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for path, text in {**files, f"{folder}/RECORD": record.getvalue()}.items():
            archive.writestr(zipfile.ZipInfo(path, (2026, 11, 24, 0, 0, 0)), text)
    return made.getvalue()


def file_name(name: str, version: str) -> str:
    return f"{name.replace('-', '_')}-{version}-py3-none-any.whl"


class Index:
    """A package index on loopback with every pin and a newer release of it."""

    def __init__(self) -> None:
        self.files: dict[str, dict[str, bytes]] = {}
        for (name, version), text in metadata().items():
            files = self.files.setdefault(name, {})
            files |= {file_name(name, one): wheel(name, one, text) for one in (version, NEWER)}
        index = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                parts = self.path.strip("/").split("/")
                files = index.files.get(parts[1], {}) if len(parts) > 1 else {}
                if len(parts) == 2 and files:
                    page = "".join(f'<a href="{one}">{one}</a><br>' for one in files)
                    body, kind = f"<!DOCTYPE html><html><body>{page}</body></html>".encode(), "text/html"
                elif len(parts) == 3 and parts[2] in files:
                    body, kind = files[parts[2]], "application/octet-stream"
                else:
                    self.send_error(HTTPStatus.NOT_FOUND)
                    return
                self.send_response(HTTPStatus.OK)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if self.command == "GET":
                    self.wfile.write(body)

            do_HEAD = do_GET

            def log_message(self, *args: object) -> None:
                return

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}/simple/"

    def copied(self, text: str) -> str:
        """A requirement file with the hashes of this index."""
        lines = []
        for pin in pins(text):
            if not applies(pin):
                continue
            file = self.files[pin.name][file_name(pin.name, pin.version)]
            lines.append(f"{pin.requirement} --hash=sha256:{hashlib.sha256(file).hexdigest()}")
        return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def index() -> Iterator[Index]:
    made = Index()
    Thread(target=made.server.serve_forever, daemon=True).start()
    yield made
    made.server.shutdown()
    made.server.server_close()


@pytest.fixture(scope="module")
def oldest_pip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pip that came with Python 3.11.0."""
    folder = tmp_path_factory.mktemp("pip")
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--require-hashes",
            "--no-deps",
            "--target",
            str(folder),
            "-r",
            str(ROOT / "requirements/oldest_pip.txt"),
        ],
        check=True,
    )
    return folder


def resolved(
    tool: str, file: Path, index: Index, oldest: Path, tmp_path: Path, *, alone: bool
) -> tuple[dict[str, str], str]:
    """The packages that a tool would install from a file, with versions, and what it said."""
    variables = quiet_environment(tmp_path)
    options = ["--require-hashes", "-r", str(file), *(["--no-deps"] if alone else [])]
    if tool == "uv":
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "empty")], check=True)
        uv = [sys.executable, "-m", "uv", "pip", "install", "--dry-run", "--python", str(tmp_path / "empty")]
        done = run([*uv, "--default-index", index.address, "--no-cache", *options], variables)
        found = dict(re.findall(r"^ \+ ([\w.-]+)==(\S+)", done.stderr, re.MULTILINE))
    else:
        report = tmp_path / "report.json"
        command = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--no-cache-dir"]
        if tool == "oldest pip":
            variables["PYTHONPATH"] = str(oldest)
        done = run([*command, "--index-url", index.address, "--report", str(report), *options], variables)
        rows = json.loads(report.read_text())["install"] if not done.returncode else []
        found = {row["metadata"]["name"]: row["metadata"]["version"] for row in rows}
    return {canonicalize_name(name): version for name, version in found.items()}, done.stdout + done.stderr


def run(command: list[str], variables: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, env=dict(variables), capture_output=True, text=True, check=False)


@pytest.mark.parametrize("tool", ["oldest pip", "pip", "uv"])
@pytest.mark.parametrize("file", FILES)
def test_a_newer_release_of_everything_changes_nothing(
    file: str, tool: str, index: Index, oldest_pip: Path, tmp_path: Path
) -> None:
    copied = index.copied(read(file))
    (tmp_path / "pins.txt").write_text(copied)

    found, told = resolved(tool, tmp_path / "pins.txt", index, oldest_pip, tmp_path, alone=file in ALONE)

    assert found == {pin.name: pin.version for pin in pins(copied)}, told


def test_a_lost_extra_is_noticed(index: Index, oldest_pip: Path, tmp_path: Path) -> None:
    """As requirements/dev.txt was: coverage is pinned, and pytest-cov asks for coverage[toml]."""
    wanted = {"pytest-cov", "coverage", "pytest", "pluggy", "iniconfig", "packaging", "pygments"}
    copied = "".join(
        line + "\n" for line in index.copied(read("dev")).splitlines() if pins(line + "\n")[0].name in wanted
    )
    (tmp_path / "pins.txt").write_text(copied.replace("coverage[toml]", "coverage"))

    found, told = resolved("oldest pip", tmp_path / "pins.txt", index, oldest_pip, tmp_path, alone=False)

    assert "coverage[toml]" in copied
    assert found == {}
    assert "In --require-hashes mode, all requirements must have their versions pinned with ==" in told
    assert "coverage[toml]" in told


def test_all_extras_resolve_together_and_with_what_is_pinned(tmp_path: Path) -> None:
    """`make lock` leaves out papers-torch, which is gigabytes and is installed by nobody here."""
    made = tmp_path / "all.txt"
    asked = (
        str(ROOT / "pyproject.toml"),
        "--extra=all",
        "-c",
        str(ROOT / "requirements/dev.txt"),
        "--universal",
        "--python-version",
        "3.11",
    )

    done = run([sys.executable, "-m", "uv", "pip", "compile", "--quiet", *asked, "-o", str(made)], os.environ)

    assert done.returncode == 0, done.stderr
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    wanted = {canonicalize_name(Requirement(line).name) for lines in extras.values() for line in lines} - {"kgcheck"}
    assert wanted <= {pin.name for pin in pins(made.read_text())}


def test_the_oldest_pip_is_what_it_is_called(oldest_pip: Path) -> None:
    told = run([sys.executable, "-m", "pip", "--version"], {**os.environ, "PYTHONPATH": str(oldest_pip)}).stdout

    assert told.startswith("pip 22.3 ")
