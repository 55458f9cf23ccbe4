"""The commands of ``make up``, with a program in place of docker that runs them without containers."""

import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from http.cookiejar import CookieJar
from pathlib import Path
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, build_opener

import pytest

from tests.support import ROOT
from tests.support.neo4j_fixtures import Neo4jTarget
from tests.support.ports import free_port

DOCKER = """\
#!{python}
import json, os, subprocess, sys, time
from urllib.error import URLError
from urllib.request import urlopen

words = sys.argv[1:]
with open("docker.log", "a") as log:
    log.write(json.dumps(words) + "\\n")
assert words[:3] == ["compose", "--profile", "service"]
kgcheck = [sys.executable, "-m", "kgcheck"]
if words[3:6] == ["run", "--rm", "service"]:
    places = {{"/opt/kgcheck": {root!r}, "/work/.kgcheck": os.environ["KGCHECK_HOME"]}}
    for there, here in places.items():
        words = [word.replace(there, here) for word in words]
    sys.exit(subprocess.run([*kgcheck, *words[6:]]).returncode)
if words[3:] == ["up", "--detach", "--wait", "service"]:
    # As the image starts it.
    port = os.environ["PORT"]
    silent = {{"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}}
    serving = subprocess.Popen([*kgcheck, "serve", "--host", "0.0.0.0", "--port", port], **silent)
    for _ in range(600):
        try:
            urlopen(f"http://127.0.0.1:{{port}}/v1/health/live", timeout=30).close()
            break
        except URLError:
            if serving.poll() is not None:
                sys.exit(1)
            time.sleep(0.2)
    with open("serving", "w") as file:
        file.write(str(serving.pid))
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A checkout with the script alone; the service that it started is stopped at the end."""
    (tmp_path / "requirements").mkdir()
    shutil.copy(ROOT / "requirements" / "up.py", tmp_path / "requirements")
    docker = tmp_path / "bin" / "docker"
    docker.parent.mkdir()
    docker.write_text(DOCKER.format(python=sys.executable, root=str(ROOT)))
    docker.chmod(0o755)
    monkeypatch.setenv("PATH", str(docker.parent), prepend=os.pathsep)
    yield tmp_path
    if (tmp_path / "serving").exists():
        os.kill(int((tmp_path / "serving").read_text()), signal.SIGKILL)


def up(folder: Path) -> subprocess.CompletedProcess[str]:
    script = str(folder / "requirements" / "up.py")
    return subprocess.run([sys.executable, script], cwd=folder, capture_output=True, text=True, timeout=300)


@pytest.mark.slow
def test_one_command_ends_with_findings_on_a_page(
    clean_neo4j: Neo4jTarget, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, port = folder / "home", free_port()
    monkeypatch.setenv("PORT", str(port))
    for name, value in {
        "STORE": clean_neo4j.uri,
        "NEO4J_USER": clean_neo4j.user,
        "NEO4J_PASSWORD": clean_neo4j.password,
        "LEDGER": str(home / "ledger.sqlite"),
        "REFERENCE": str(home / "reference.duckdb"),
        "HOME": str(home),
    }.items():
        monkeypatch.setenv(f"KGCHECK_{name}", value)
    done = up(folder)

    assert done.returncode == 0, done.stderr
    *_, where, token = done.stdout.splitlines()
    assert where == "open http://127.0.0.1:8000/ and sign in with this token, which counts for 12 hours:"
    passwords = re.findall(r"^KGCHECK_(NEO4J|LEDGER)_PASSWORD=([0-9a-f]{32})$", (folder / ".env").read_text(), re.M)
    assert len({password for _, password in passwords}) == 2
    assert stat.S_IMODE((folder / ".env").stat().st_mode) == 0o600
    assert not any(password in done.stdout + done.stderr for _, password in passwords)

    page = build_opener(HTTPCookieProcessor(CookieJar()))
    form = urlencode({"token": token, "next": "/findings"}).encode()
    with page.open(f"http://127.0.0.1:{port}/sign-in", form, timeout=60) as answer:
        shown = answer.read().decode()
    assert "Amino_acid_sequence Q00LT1" in shown
    os.kill(int((folder / "serving").read_text()), signal.SIGKILL)

    # A second time: the same passwords, graph and findings, and another token.
    before, begun = (folder / ".env").read_text(), (folder / "docker.log").read_text()
    again = up(folder)
    assert again.returncode == 0, again.stderr
    assert (folder / ".env").read_text() == before
    assert again.stdout.splitlines()[-1] != token
    commands = [json.loads(line)[3:] for line in (folder / "docker.log").read_text()[len(begun) :].splitlines()]
    assert not any("load" in words or "audit" in words for words in commands)


def test_without_docker_one_line_says_so(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "bin" / "docker").unlink()
    monkeypatch.setenv("PATH", str(folder / "bin"))
    done = up(folder)

    assert (done.returncode, done.stdout) == (2, "")
    assert "there is no docker here" in done.stderr
    assert "Traceback" not in done.stderr
