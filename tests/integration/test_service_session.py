"""The session of docs/http_api.md runs as it is written, with curl, against a service in a process of its own."""

import json
import re
import shlex
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from tests.support import ROOT
from tests.support.api import demo_ledger
from tests.support.audits import demo

PAGE = ROOT / "docs" / "http_api.md"


def commands() -> list[list[str]]:
    consoles = re.findall(r"^```console\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return [shlex.split(line[2:]) for console in consoles for line in console.splitlines() if line.startswith("$ ")]


@contextmanager
def begun(command: list[str], folder: Path, port: int) -> Iterator[None]:
    """A service that answers; at the end it is stopped as a person stops it."""
    process = subprocess.Popen([sys.executable, "-m", *command], cwd=folder)
    try:
        until = time.monotonic() + 60
        while True:
            try:
                with urlopen(f"http://127.0.0.1:{port}/v1/health/live", timeout=30):
                    break
            except URLError:
                assert process.poll() is None
                assert time.monotonic() < until
                time.sleep(0.2)
        yield
        process.terminate()
        assert process.wait(60) == 0
    finally:
        process.kill()


@pytest.mark.slow
def test_session_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    curl = shutil.which("curl")
    if curl is None:
        pytest.skip("there is no curl on this machine")
    folder = tmp_path / "kgcheck-demo"
    folder.mkdir()
    shutil.copy(demo().store, folder / "graph.lbdb")
    shutil.copy(demo().reference, folder / "reference.duckdb")
    shutil.copy(demo_ledger(), folder / "ledger.sqlite")
    monkeypatch.setenv("KGCHECK_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("KGCHECK_START_TOKEN", "s" * 32)
    monkeypatch.chdir(tmp_path)
    (folder / "token").write_text(f"Authorization: Bearer {'s' * 32}\n", encoding="utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # The ledger of the tests is of a copy of the graph in another place, and a patch is for the place of its run.
    (serve, *asking) = [[word.replace("8000", str(port)) for word in command] for command in commands()]
    serve[serve.index("--store") + 1] = str(demo().store)

    answers = {}
    with begun(serve, tmp_path, port):
        for command in asking:
            assert command[0] == "curl"
            ended = subprocess.run(
                [curl, *command[1:], "-w", "\n%{http_code}"], capture_output=True, text=True, timeout=60, check=True
            )
            body, _, code = ended.stdout.rpartition("\n")
            path = next(word for word in command if word.startswith("http")).partition("/v1/")[2]
            answers[path, "-d" in command] = int(code), body

    codes = {path: code for (path, _), (code, _) in answers.items()}
    assert {path: code for path, code in codes.items() if code not in (200, 201)} == {"findings?lable=Gene": 422}
    finding = json.loads(answers["findings/fb7a191abc56beb2", False][1])
    assert (finding["about"], finding["reason"]) == ("existence Gene PARK2", "id_previous")
    made = json.loads(answers["decisions", True][1])["decisions"]
    assert [one["decision"]["action"] for one in made] == ["accept"]
    assert json.loads(answers["patches", True][1])["operations"]
    assert "unknown" not in answers["health/ready", False][1]
