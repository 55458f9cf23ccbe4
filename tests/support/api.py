"""The demo, audited once for all tests of a run, and a service over a copy of it."""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from fastapi import FastAPI
from fastapi.testclient import TestClient

from kgcheck.ledger.accounts import Role
from kgcheck.service.access import SAFE
from kgcheck.service.app import create_app
from kgcheck.service.guards import doors
from kgcheck.service.state import Service, ServiceOptions
from kgcheck.settings import Settings
from kgcheck.workspace import Workspace
from tests.support import PYTHONPATH
from tests.support.audits import demo
from tests.support.sharing import made_once


@cache
def demo_ledger() -> Path:
    """A ledger with two audits of the demo, some of what they found, and what became of it."""

    def make(folder: Path) -> None:
        place = folder / "ledger.sqlite"
        with Workspace(store=str(demo().store), reference=demo().reference, ledger=place) as workspace:
            for _ in range(2):
                workspace.audit(types=["existence", "structure"])

    return made_once("two-audits", make) / "ledger.sqlite"


@contextmanager
def served(folder: Path, **options: Any) -> Iterator[TestClient]:
    """A client of a service over a copy of the demo's ledger."""
    ledger = folder / "ledger.sqlite"
    shutil.copy(demo_ledger(), ledger)
    given = {"store": str(demo().store), "reference": str(demo().reference), "ledger": str(ledger)} | options
    service = Service(ServiceOptions(**given), Settings(home=folder / "home"))
    with TestClient(
        create_app(service), "http://127.0.0.1", raise_server_exceptions=False, headers=bearer(service)
    ) as client:
        yield client


def bearer(service: Service) -> dict[str, str]:
    """What whoever started a service sends with each request."""
    return {"authorization": f"Bearer {service.start_token.value}"}


def ledger_of(client: TestClient) -> str:
    """The ledger of a service that `served` gave."""
    app: Any = client.app
    return str(app.state.service.options.ledger)


class Running(NamedTuple):
    """A service in a process of its own."""

    process: "subprocess.Popen[bytes]"
    address: str
    log: Path


@contextmanager
def started(ledger: Path | str, folder: Path, *more: str) -> Iterator[Running]:
    """``kgcheck serve`` over the demo, until it says where it listens; killed at the end."""
    where = ["--store", str(demo().store), "--reference", str(demo().reference), "--ledger", str(ledger)]
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    log = folder / f"log-{time.monotonic_ns()}"
    with log.open("wb") as err:
        process = subprocess.Popen(
            [sys.executable, "-m", "kgcheck", "serve", *where, "--port", "0", *more],
            env=kept | {"KGCHECK_HOME": str(folder), "PYTHONPATH": PYTHONPATH},
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=err,
        )
    try:
        ends = time.monotonic() + 120
        while not (found := re.search(r"serving on (http://[^/]+)(/\S*)", log.read_text())):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < ends
            time.sleep(0.1)
        yield Running(process, found[1], log)
    finally:
        process.kill()
        process.wait(60)


class RouteRow(NamedTuple):
    """A method of a path, and the least role that it needs."""

    method: str
    path: str
    role: Role | None
    is_open: bool
    """For everybody. A route with neither a role nor this is for nobody."""

    @property
    def is_safe(self) -> bool:
        return self.method in SAFE

    def allows(self, role: Role | None) -> bool:
        """Return whether a role may call the route; None stands for somebody who is not signed in."""
        return self.is_open or (role is not None and self.role is not None and role.may(self.role))


def routes_of(app: FastAPI) -> Iterator[RouteRow]:
    """Every method of every route, by path."""
    for door in sorted(doors(app), key=lambda door: door.path):
        for method in sorted(door.methods - {"HEAD"}):
            yield RouteRow(method, door.path, door.needs.role if door.needs else None, door.is_open)


def routes_table(app: FastAPI) -> str:
    """The routes as a table in Markdown."""
    lines = ["| method | path | everybody | viewer | curator | admin |", "| --- | --- | :-: | :-: | :-: | :-: |"]
    for row in routes_of(app):
        cells = " | ".join("yes" if row.allows(role) else "" for role in (None, *Role))
        lines.append(f"| {row.method} | `{row.path}` | {cells} |")
    return "\n".join(lines) + "\n"
