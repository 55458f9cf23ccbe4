"""Pages full of hostile text in a real browser: nothing of it runs, and nobody is called."""

import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, expect

from kgcheck.service.state import Service
from kgcheck.settings import Settings
from tests.support.chance import new_seed
from tests.support.hostile import HostileWorld
from tests.support.service_pages import AXE, WAIT_MS, listening, visiting

OVERFLOW = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
MADE = """() => [...document.querySelectorAll("main *")].flatMap((e) => [...e.attributes].map((a) => a.name))
  .concat([...document.querySelectorAll("*")].map((e) => e.localName))
  .filter((name) => name.startsWith("on") || "iframe object embed base style math use".split(" ").includes(name))"""


class Canary:
    """Listens on loopback, and counts who calls."""

    def __init__(self) -> None:
        self.calls = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        while True:
            try:
                self._listener.accept()[0].close()
            except OSError:
                return
            self.calls += 1

    def close(self) -> None:
        self._listener.close()


@pytest.fixture
def canary() -> Iterator[Canary]:
    made = Canary()
    yield made
    made.close()


@pytest.mark.slow
def test_nothing_that_a_text_says_is_done(browser: Browser, canary: Canary, tmp_path: Path) -> None:
    world = HostileWorld(tmp_path, seed=new_seed(11), port=canary.port)
    with listening(Service(world.options, Settings(home=tmp_path / "home"))) as served:
        paths = ["/", "/findings", "/findings/decide?scope=all", "/runs", f"/runs/{world.run}", "/diff", "/patches"]
        paths += [f"/patches/{world.patch}", "/ask?search=binds", "/ask?claim=binds", "/jobs", "/tasks", "/sign-in"]
        paths += [
            f"/nodes/{world.node.label}/{quote(world.node.id, safe='')}",
            f"/tasks/{world.task}",
            *(f"/findings/{name}" for name in world.findings[:4]),
        ]
        with visiting(browser, served) as (page, trouble):
            for path in paths:
                page.goto(served.address + path)
                page.evaluate("() => document.querySelectorAll('details').forEach((one) => (one.open = true))")
                assert page.evaluate("() => window.pwned") is None, path
                assert page.evaluate(MADE) == [], path
                assert page.evaluate(OVERFLOW) <= 0, path
            for path in ("/ask?search=binds", "/ask?claim=binds", "/findings?done=reject&count=2&first=1"):
                page.goto(served.address + path)
                found = Axe().run(page, options=AXE).response["violations"]
                assert [(v["id"], [node["html"][:200] for node in v["nodes"][:3]]) for v in found] == [], path
            page.goto(f"{served.address}/findings")
            for _ in world.findings[:5]:
                page.keyboard.press("j")
                expect(page.locator("#detail article")).to_be_visible(timeout=WAIT_MS)
            # What the panel shows was put there by the page's own script.
            assert page.evaluate("() => window.pwned") is None
            assert page.evaluate(MADE) == []
            policy = page.request.get(f"{served.address}/findings").headers["content-security-policy"]
            assert ("default-src 'none'" in policy, "unsafe" in policy) == (True, False)
            # Nor would a script be loaded that a hole in all that had let in: the policy says so on the console.
            added = f"s = document.createElement('script'); s.src = '//127.0.0.1:{canary.port}/x.js'"
            page.evaluate(f"() => {{ try {{ const {added}; document.body.append(s) }} catch {{ }} }}")
            assert [line for line in trouble if not line.startswith("console:")] == []
    assert canary.calls == 0
