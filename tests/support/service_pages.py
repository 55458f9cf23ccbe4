"""A service that a browser looks at, and the browser's page with all that it complains of."""

import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn
from playwright.sync_api import Browser, BrowserContext, Page

from kgcheck.service.app import create_app
from kgcheck.service.state import Service, ServiceOptions
from kgcheck.settings import Settings
from kgcheck.workspace import Workspace
from tests.support.audits import core_demo

WAIT_MS = 30_000
AXE = {
    "resultTypes": ["violations"],
    "runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]},
}


class Served:
    """A service that listens on loopback."""

    def __init__(self, address: str, service: Service) -> None:
        self.address = address
        self.service = service


@contextmanager
def listening(service: Service) -> Iterator[Served]:
    """A service on a free port of loopback, in a thread."""
    server = uvicorn.Server(uvicorn.Config(create_app(service), host="127.0.0.1", port=0, log_config=None))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    until = time.monotonic() + 60
    while not server.started and time.monotonic() < until:
        time.sleep(0.02)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield Served(f"http://127.0.0.1:{port}", service)
    finally:
        server.should_exit = True
        thread.join(60)


@contextmanager
def serving_demo(folder: Path) -> Iterator[Served]:
    """A service over a copy of the core of the demo that was audited once."""
    store, ledger = folder / "graph.lbdb", folder / "ledger.sqlite"
    shutil.copy(core_demo().store, store)
    settings = Settings(home=folder / "home")
    options = {"store": str(store), "reference": str(core_demo().reference), "ledger": str(ledger)}
    with Workspace(**options, settings=settings) as workspace:  # type: ignore[arg-type]
        workspace.audit(types=["existence", "attribute"], labels=["Disease", "Gene", "Protein"])
    with listening(Service(ServiceOptions(**options), settings)) as made:
        yield made


@contextmanager
def visiting(
    browser: Browser, visited: str | Served, *, width: int = 1400, scheme: str = "light", script: bool = True
) -> Iterator[tuple[Page, list[str]]]:
    """A page; what it complains of, and what it asks of anybody else, is noted.

    Of a service without users it is a page of whoever started it.
    """
    context: BrowserContext = browser.new_context(
        viewport={"width": width, "height": 900},
        color_scheme=scheme,  # type: ignore[arg-type]
        java_script_enabled=script,
    )
    context.set_default_timeout(WAIT_MS)
    address = visited if isinstance(visited, str) else visited.address
    if isinstance(visited, Served):
        context.request.get(f"{address}/sign-in?token={visited.service.start_token.value}&next=/static/icon.svg")
    trouble: list[str] = []
    page = context.new_page()
    page.on("console", lambda message: trouble.append(f"console: {message.text}"))
    page.on("pageerror", lambda error: trouble.append(f"error: {error}"))
    page.on("request", lambda r: trouble.append(r.url) if not r.url.startswith(address) else None)
    try:
        yield page, trouble
    finally:
        context.close()
