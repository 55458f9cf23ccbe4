"""The demo, audited once for all tests of a run, and a service over a copy of it."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from fastapi.testclient import TestClient

from kgcheck.service.app import create_app
from kgcheck.service.state import Service, ServiceOptions
from kgcheck.settings import Settings
from kgcheck.workspace import Workspace
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
