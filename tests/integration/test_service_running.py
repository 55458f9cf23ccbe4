"""The service as a process: behind a reverse proxy with a prefix, and asked to end while it works."""

import json
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest
from sqlalchemy import select

from kgcheck.ledger.accounts import Users
from kgcheck.ledger.ledger import Ledger
from kgcheck.ledger.tables import PIECE
from kgcheck.settings import Settings
from kgcheck.workspace import Workspace
from tests.support import PYTHONPATH
from tests.support.api import Running, started
from tests.support.audits import demo
from tests.support.proxy import nginx, own_certificate, passing_on

pytestmark = pytest.mark.slow
PREFIX = "/tools/kg"
TYPES = ["existence", "attribute"]
"""Types of checks of an audit that is cut off: of dozens of pieces, a third of all."""


@contextmanager
def service(folder: Path, *more: str) -> Iterator[Running]:
    with started(folder / "ledger.sqlite", folder, *more) as running:
        yield running


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("service")
    with Workspace(
        store=demo().store, reference=demo().reference, ledger=folder / "ledger.sqlite", settings=Settings(home=folder)
    ) as workspace:
        workspace.audit(types=["existence"], ids=["PARK2"])
    return folder


@pytest.fixture(scope="module")
def token(folder: Path) -> str:
    with Ledger(folder / "ledger.sqlite") as ledger:
        return Users(ledger.database).add("ada", "admin", by="tests")[0]


@pytest.fixture(scope="module")
def behind(folder: Path, token: str) -> Iterator[Running]:
    """A service that a proxy shows under a prefix."""
    with service(folder, "--prefix", PREFIX, "--allowed-host", "127.0.0.1", "--proxy", "127.0.0.1") as running:
        yield running


@pytest.mark.parametrize("kind", ["keeps the prefix", "takes the prefix away", "nginx"])
def test_behind_a_proxy_everything_stays_under_its_prefix(
    kind: str, behind: Running, token: str, tmp_path: Path
) -> None:
    with ExitStack() as stack:
        if kind == "nginx":
            address = stack.enter_context(nginx(port_of(behind), PREFIX, tmp_path))
        else:
            address = stack.enter_context(passing_on(port_of(behind), PREFIX, keeps=kind.startswith("keeps")))
        bearer = {"Authorization": f"Bearer {token}"}
        client = stack.enter_context(httpx2.Client(timeout=60))
        ends = time.monotonic() + 30
        while kind == "nginx" and time.monotonic() < ends:
            with suppress(httpx2.ConnectError):
                client.get(f"{address}/v1/health/live")
                break

        assert client.get(f"{address}/v1/health/live").json()["status"] == "alive"
        assert client.get(f"{address}/v1/runs").status_code == 401
        runs = client.get(f"{address}/v1/runs", headers=bearer)
        assert runs.status_code == 200
        assert runs.headers["x-request-id"]
        document = client.get(f"{address}/v1/openapi.json", headers=bearer).json()
        assert [server["url"] for server in document["servers"]] == [PREFIX]

        # A browser that is not signed in is shown where, and comes back to what it wanted, all of it under the prefix.
        form = client.get(f"{address}/sign-in?next=/sign-in")
        assert form.status_code == 200
        assert f'action="{PREFIX}/sign-in"' in form.text
        signed = client.post(
            f"{address}/sign-in", data={"token": token, "next": "/findings"}, headers={"Origin": _origin(address)}
        )
        assert signed.status_code == 303
        assert signed.headers["location"] == f"{PREFIX}/findings"
        assert "HttpOnly" in signed.headers["set-cookie"]
        assert client.get(f"{address}/v1/runs").status_code == 200, "the cookie is sent under the prefix, too"
        again = client.get(f"{address}/sign-in?next=/")
        assert again.headers["location"] == f"{PREFIX}/"
        # Nobody else's place is named as one to go to.
        assert client.get(f"{address}/sign-in?next=//evil.example").headers["location"] == f"{PREFIX}/"


def test_behind_a_proxy_that_ends_tls_a_browser_is_safe(behind: Running, token: str, tmp_path: Path) -> None:
    """The service speaks http with the proxy, and everything that a browser sees is of https."""
    context, certificate = own_certificate(tmp_path)
    with passing_on(port_of(behind), PREFIX, keeps=True, tls=context) as address:
        trusting = ssl.create_default_context(cafile=str(certificate))
        with httpx2.Client(verify=trusting, timeout=60) as client, httpx2.Client(timeout=60) as other:
            with pytest.raises(httpx2.ConnectError):
                other.get(f"{address}/v1/health/live")
            assert client.get(f"{address}/v1/health/live").headers["strict-transport-security"]

            form = {"token": token, "next": "/findings"}
            signed = client.post(f"{address}/sign-in", data=form, headers={"Origin": _origin(address)})
            assert (signed.status_code, signed.headers["location"]) == (303, f"{PREFIX}/findings")
            cookie = signed.headers["set-cookie"]
            # No page without TLS and no other host can set or read it.
            assert cookie.startswith("__Host-kgcheck=")
            assert {"Secure", "HttpOnly", "Path=/", "SameSite=strict"} <= set(cookie.split("; "))
            assert "omain" not in cookie

            page = client.get(f"{address}/findings")
            assert page.status_code == 200
            assert "http://" not in re.sub(r'xmlns(:\w+)?="[^"]*"', "", page.text)
            links = re.findall(r'(?:href|src|action)="([^"]*)"', page.text)
            assert links
            assert not [link for link in links if not link.startswith((f"{PREFIX}/", "#", "?", "data:"))]
            csrf = re.search(r'name="csrf"[^>]*value="([^"]+)"', page.text)
            assert csrf

            def decide(origin: str, **more: str) -> int:
                data = {
                    "action": "reject",
                    "scope": "selected",
                    "count": "1",
                    "finding": fingerprint,
                    "back": "",
                    **more,
                }
                sent = client.post(f"{address}/findings/decide", data=data, headers={"Origin": origin})
                return int(sent.status_code)

            fingerprint = client.get(f"{address}/v1/findings?limit=1").json()["findings"][0]["fingerprint"]
            mine = _origin(address)
            assert decide("https://evil.example", csrf=csrf[1]) == 403
            assert decide(mine.replace("https", "http"), csrf="old") == 403
            assert decide(mine, csrf="old") == 403
            assert client.get(f"{address}/v1/decisions").json()["decisions"] == []
            assert decide(mine, csrf=csrf[1]) == 303
            (decision,) = client.get(f"{address}/v1/decisions").json()["decisions"]
            assert (decision["fingerprint"], decision["by"]) == (fingerprint, "ada")

            # What a service without TLS would take for a session is none here.
            bare = httpx2.get(f"{behind.address}{PREFIX}/v1/runs", headers={"Cookie": cookie.split(";")[0]}, timeout=60)
            assert bare.status_code == 401
            out = client.post(f"{address}/sign-out", data={"csrf": csrf[1]}, headers={"Origin": mine})
            assert (out.status_code, out.headers["location"]) == (303, f"{PREFIX}/sign-in")
            assert client.get(f"{address}/v1/runs").status_code == 401


def port_of(running: Running) -> int:
    return int(running.address.rpartition(":")[2])


def _origin(address: str) -> str:
    return address[: -len(PREFIX)]


def test_a_service_that_is_asked_to_end_loses_no_finding(folder: Path, token: str, tmp_path: Path) -> None:
    """An audit under way ends with its piece, and the next start goes on: the same findings, none twice."""
    headers = {"Authorization": f"Bearer {token}"}
    with service(folder) as running:
        begun = httpx2.post(f"{running.address}/v1/audits", json={"types": TYPES}, headers=headers, timeout=60)
        assert begun.status_code == 202, begun.text
        task = begun.json()["id"]
        ends = time.monotonic() + 120
        while time.monotonic() < ends:
            row = httpx2.get(f"{running.address}/v1/tasks/{task}", headers=headers, timeout=60).json()
            if row["run"] and _pieces(folder, row["run"]):
                break
            time.sleep(0.05)
        running.process.send_signal(signal.SIGTERM)
        assert running.process.wait(120) == 0, running.log.read_text()[-3000:]
        assert "Traceback" not in running.log.read_text()
    before = _pieces(folder, row["run"])

    with service(folder) as again:
        ends = time.monotonic() + 300
        while time.monotonic() < ends:
            row = httpx2.get(f"{again.address}/v1/tasks/{task}", headers=headers, timeout=60).json()
            if row["state"] not in ("waiting", "running"):
                break
            time.sleep(0.3)
        assert row["state"] == "done", row

    with (
        workspace_of(folder / "ledger.sqlite", folder) as mended,
        workspace_of(tmp_path / "l.sqlite", tmp_path) as whole,
    ):
        straight = whole.audit(TYPES)
        found = [one.fingerprint for one in mended.findings(row["run"])]
        assert sorted(found) == sorted(one.fingerprint for one in straight.findings)
        assert len(found) == len(set(found))
        assert mended.run(row["run"]).finished
    assert 0 < len(before) < len(_pieces(folder, row["run"])), "it was to end in the middle"


def workspace_of(ledger: Path, home: Path) -> Workspace:
    return Workspace(store=demo().store, reference=demo().reference, ledger=ledger, settings=Settings(home=home))


def _pieces(folder: Path, run: str) -> list[str]:
    with Ledger(folder / "ledger.sqlite", create=False) as ledger:
        with ledger.database.reading() as connection:
            return sorted(connection.execute(select(PIECE.c.piece).where(PIECE.c.run == run)).scalars())


@pytest.mark.parametrize("words", [["serve"], ["mcp", "--http"]])
def test_idle_connections_shut_nobody_out_of_a_process(words: list[str], tmp_path: Path) -> None:
    """More connections than there may be at a time, on which nothing comes, from the address of who works."""
    environment = os.environ | {"KGCHECK_HOME": str(tmp_path), "PYTHONPATH": PYTHONPATH}
    command = [sys.executable, "-m", "kgcheck", *words, "--ledger", str(tmp_path / "l.sqlite"), "--port", "0"]
    how: dict[str, Any] = {"env": environment, "cwd": tmp_path, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **how) as process, ExitStack() as stack:
        assert process.stderr
        said = ""
        while not ((port := re.search(r"http://127\.0\.0\.1:(\d+)", said)) and re.search(r"token=|Bearer ", said)):
            line = process.stderr.readline()
            assert line, said
            said += line
        # It is said once, to whoever started it.
        (token,) = re.findall(r"(?:token=|Bearer )([\w-]{43})", said)
        at, path = f"http://127.0.0.1:{port[1]}", "/v1/runs" if words == ["serve"] else "/mcp"
        for _ in range(520):
            stack.enter_context(socket.create_connection(("127.0.0.1", int(port[1])), timeout=60))
        head = {"Authorization": f"Bearer {token}", "Accept": "application/json, text/event-stream"}
        if words == ["serve"]:
            assert httpx2.get(f"{at}/v1/health/live", timeout=60).status_code == 200
            assert httpx2.get(f"{at}{path}", headers=head, timeout=60).status_code == 200
            assert httpx2.get(f"{at}{path}", timeout=60).status_code == 401
        else:
            assert httpx2.get(f"{at}/health", timeout=60).status_code == 200
            ping = {"jsonrpc": "2.0", "id": 1, "method": "nope"}
            assert httpx2.post(f"{at}{path}", json=ping, headers=head, timeout=60).status_code in (200, 400, 404)
            assert httpx2.post(f"{at}{path}", json=ping, timeout=60).status_code == 401
        process.terminate()
        said += process.stderr.read()
        assert process.wait(60) == 0
    assert said.count(token) == 1
    assert "Traceback" not in said


def test_the_log_behind_a_proxy_names_who_asked_and_no_secret(behind: Running, token: str) -> None:
    with passing_on(port_of(behind), PREFIX, keeps=True) as address:
        headers = {"Authorization": f"Bearer {token}", "X-Request-Id": "from-the-proxy"}
        httpx2.get(f"{address}/v1/findings?text=a-rare-disease&run=latest", headers=headers, timeout=60)

    ends, mine = time.monotonic() + 30, list[dict[str, Any]]()
    while not mine and time.monotonic() < ends:
        lines = [json.loads(one) for one in behind.log.read_text().splitlines() if one.startswith("{")]
        mine = [one for one in lines if one.get("request") == "from-the-proxy" and one["message"] == "request"]
    assert (mine[0]["who"], mine[0]["route"], mine[0]["method"]) == ("ada", "/v1/findings", "GET")
    text = behind.log.read_text()
    assert token not in text
    assert "a-rare-disease" not in text
    assert "Traceback" not in text
