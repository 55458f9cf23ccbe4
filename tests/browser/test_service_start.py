"""The address that is printed lets a browser in, and a page of another port of the same machine does not get there."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from kgcheck.service.state import Service, ServiceOptions
from kgcheck.settings import Settings
from tests.support.service_pages import Served, listening, visiting

CANCEL = "/v1/tasks/0123456789abcdef/cancel"


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    options = ServiceOptions(ledger=str(tmp_path / "l.sqlite"))
    with listening(Service(options, Settings(home=tmp_path))) as made:
        yield made


@pytest.fixture
def neighbour(served: Served) -> Iterator[str]:
    """A page of another port, which is the same site to a browser: it is sent the cookie."""
    page = f'<form method="post" action="{served.address}{CANCEL}" enctype="text/plain"><button>go</button></form>'

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(page.encode())

        def log_message(self, *args: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


def test_the_address_lets_a_browser_in_and_no_page_elsewhere(browser: Browser, served: Served, neighbour: str) -> None:
    with visiting(browser, served.address) as (page, _):
        page.goto(f"{served.address}/")
        assert page.locator("#token").count() == 1
        opened = page.goto(f"{served.address}/sign-in?token={served.service.start_token.value}")
        assert opened
        assert (opened.status, page.url) == (200, f"{served.address}/")
        (cookie,) = page.context.cookies()
        assert (cookie.get("httpOnly"), cookie.get("sameSite")) == (True, "Strict")
        assert cookie.get("name") == f"kgcheck-{served.address.rpartition(':')[2]}"
        assert "kgcheck" not in page.evaluate("() => document.cookie")
        reload = page.reload()
        assert reload
        assert reload.status == 200

        page.goto(neighbour)
        for path, method in (("/v1/runs", "GET"), (CANCEL, "POST")):
            ask = f"""() => fetch('{served.address}{path}', {{method: '{method}', credentials: 'include'}})
                .then((answer) => answer.status, () => 'refused')"""
            assert page.evaluate(ask) == "refused"
        with page.expect_navigation() as sent:
            page.get_by_role("button").click()
        assert sent.value
        assert sent.value.status == 403
    assert served.service.actions.newest(9, name="") == []
