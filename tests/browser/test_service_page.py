"""The page of the service in a real browser: a curator's way, hostile text, and that everybody can use it."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from kgcheck.ledger.ledger import Ledger, PinnedRelease, Run
from kgcheck.model import (
    Change,
    ChangeKind,
    CheckTask,
    CheckType,
    Evidence,
    Finding,
    Outcome,
    Reason,
    Ref,
    Stance,
    Tally,
    Target,
    Tier,
    Verdict,
    World,
)
from kgcheck.service.state import Service, ServiceOptions
from kgcheck.settings import Settings
from tests.support.service_pages import AXE, WAIT_MS, Served, listening, serving_demo, visiting

AT = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)
HOSTILE = '"></script><script>window.hacked=1</script><img src=//example.org/x.png onerror="window.hacked=1">'
LONG = "very_long_identifier_without_any_place_to_break_" * 5
OVERFLOW = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
SHIFT = """() => new Promise((done) => {
  let sum = 0;
  const seen = new PerformanceObserver((list) => list.getEntries().forEach((e) => (sum += e.value)));
  seen.observe({ type: "layout-shift", buffered: true });
  setTimeout(() => done(sum), 100);
})"""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The demo, without users: whoever comes is the admin."""
    with serving_demo(tmp_path_factory.mktemp("served")) as made:
        yield made


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A service over a ledger in which every text is hostile or long; its graph is not there."""
    folder = tmp_path_factory.mktemp("hostile")
    run = Run(
        id="20261120-093000-beef",
        started=AT,
        finished=AT,
        store=f"bolt://localhost:7687 {HOSTILE}",
        profile="ckg",
        reference=HOSTILE,
        warnings=(HOSTILE, LONG),
        nodes={"Protein": 1, HOSTILE: 2},
        edges={"Protein ACTS_ON Protein": 1},
        releases=(PinnedRelease(source=HOSTILE, release=LONG, file="f", released="2026-01"),),
    )
    tally = Tally(
        type=CheckType.TRIPLE,
        target=Target(label="Protein", relation="ACTS_ON", object_label="Protein"),
        outcome=Outcome.REFUTED,
        reason=Reason.EDGE_UNSUPPORTED,
        count=4,
    )
    with Ledger(folder / "ledger.sqlite") as ledger:
        for each in (run.model_copy(update={"id": "20261119-093000-beef"}), run):
            ledger.start(each)
            ledger.record(each, "all", list(_hostile(each)), [tally])
    options = ServiceOptions(store=str(folder / "graph.lbdb"), ledger=str(folder / "ledger.sqlite"))
    with listening(Service(options, Settings(home=folder / "home"))) as made:
        yield made


def _hostile(run: Run) -> Iterator[Finding]:
    for number, text in enumerate((HOSTILE, LONG, "javascript:window.hacked=1", "a \u202e b \x1b[31m")):
        task = CheckTask(
            type=CheckType.TRIPLE,
            subject=Ref(label="Protein", id=f"{number} {text}".replace("\x1b", "")),
            relation="ACTS_ON",
            object=Ref(label="Protein", id=LONG),
            value=text,
        )
        evidence = Evidence(
            source=text,
            release=text,
            record=text,
            url=["javascript:window.hacked=1", "https://example.org/record"][number % 2],
            retrieved_at=AT,
            stance=Stance.CONTRADICTS,
            world=World.CLOSED,
            tier=Tier.CURATED,
            value=text,
            quote=text,
        )
        yield Finding(
            run=run.id,
            fingerprint=task.fingerprint,
            task=task,
            names=(text, LONG),
            verdict=Verdict(
                outcome=Outcome.REFUTED, reason=Reason.EDGE_UNSUPPORTED, confidence=0.9, evidence=(evidence,), note=text
            ),
            change=Change(kind=ChangeKind.REVIEW, candidates=(text, LONG), because=text),
        )


def rows_of(page: Page) -> list[str]:
    return list(page.locator("#rows .row").evaluate_all("(rows) => rows.map((row) => row.dataset.finding)"))


def current(page: Page) -> str | None:
    return page.locator("#rows .row.current").get_attribute("data-finding")


def press(page: Page, key: str, words: str) -> None:
    """Press a key and wait until the page has announced what it did."""
    page.keyboard.press(key)
    expect(page.locator("#live")).to_contain_text(words, timeout=WAIT_MS)


NUMBERS = """() => [...document.querySelectorAll("main td.n")].filter((cell) => cell.checkVisibility())
  .map((cell) => [cell.textContent.trim(), cell.getBoundingClientRect()])
  .map(([text, box]) => [text, box.left >= 0 && box.right <= document.documentElement.clientWidth])"""
LABELS = """(kind) => [...document.querySelectorAll(`svg.drawing.${kind} text`)]
  .map((text) => text.getBoundingClientRect()).flatMap((one, at, all) => all.slice(at + 1).filter((other) =>
    one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom))"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("width", "kind", "scheme"),
    [
        (390, "narrow", "light"),
        (1280, "wide", "dark"),
        pytest.param(390, "narrow", "dark", marks=pytest.mark.slow),
        pytest.param(1280, "wide", "light", marks=pytest.mark.slow),
    ],
)
def test_numbers_and_names_can_be_read_at_every_width(
    browser: Browser, served: Served, width: int, kind: str, scheme: str
) -> None:
    with visiting(browser, served, width=width, scheme=scheme) as (page, trouble):
        with served.service.open() as workspace:
            run = workspace.run().id
        for path in ("/", "/runs", f"/runs/{run}"):
            page.goto(served.address + path)
            numbers = page.evaluate(NUMBERS)
            assert [text for text, is_seen in numbers if not is_seen] == [], path
            assert any(text not in ("0", "") for text, _ in numbers), path
            assert page.evaluate(OVERFLOW) <= 0, path
        page.goto(f"{served.address}/nodes/Protein/P15056")
        assert page.locator(f"svg.drawing.{kind} text").count() >= 8
        assert page.evaluate(LABELS, kind) == []
        assert page.evaluate(OVERFLOW) <= 0
        assert trouble == []


def test_nothing_hostile_runs_and_nothing_leaves(browser: Browser, hostile: Served) -> None:
    with visiting(browser, hostile) as (page, trouble):
        page.goto(f"{hostile.address}/findings")
        assert len(rows_of(page)) == 4
        expect(page.locator("#detail article")).to_be_visible(timeout=WAIT_MS)
        for name in rows_of(page):
            page.goto(f"{hostile.address}/findings/{name}")
            assert page.evaluate("() => window.hacked") is None
            assert page.locator("main img, main iframe, main script, a[href^=javascript]").count() == 0
            assert page.evaluate(OVERFLOW) <= 0
        assert "<U+202E>" in page.content().replace("&lt;", "<").replace("&gt;", ">")
        for path in ("/", "/runs", "/runs/20261120-093000-beef", "/diff", "/findings/decide?scope=all"):
            page.goto(hostile.address + path)
            assert page.evaluate("() => window.hacked") is None
            assert page.evaluate(OVERFLOW) <= 0

        answer = page.request.get(f"{hostile.address}/findings")
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        added = "const s = document.createElement('script'); s.src = '//example.org/x.js'; document.body.append(s)"
        page.evaluate(f"() => {{ try {{ {added} }} catch {{ }} }}")
        # The policy speaks of it on the console, and nothing was sent.
        assert [line for line in trouble if not line.startswith("console:")] == []


@pytest.mark.slow
def test_a_page_works_without_script(browser: Browser, served: Served) -> None:
    with visiting(browser, served, script=False) as (page, _):
        page.goto(f"{served.address}/findings?type=attribute&decision=open")
        before = page.locator("#total").inner_text()
        page.locator("#rows .row a").last.click()
        page.get_by_label("Note").fill("by hand")
        page.get_by_role("button", name="Reject").click()
        expect(page.locator(".history")).to_contain_text("reject")
        expect(page.locator(".history")).to_contain_text("by hand")
        page.get_by_role("link", name="Triage").last.click()
        expect(page.locator("#total")).not_to_have_text(before)
        page.go_back()
        page.get_by_role("button", name="Undo").click()
        expect(page.locator(".history")).to_contain_text("reopen")


@pytest.mark.slow
def test_a_curators_whole_way(browser: Browser, tmp_path: Path) -> None:
    with serving_demo(tmp_path) as served, visiting(browser, served) as (page, trouble):
        token, _ = served.service.users.add("rosa", "curator", by="test", expires_in=timedelta(hours=1))
        page.goto(f"{served.address}/findings")
        page.get_by_label("Token").fill(token)
        page.get_by_role("button", name="Sign in").click()
        expect(page.locator(".who")).to_contain_text("rosa")
        trouble.clear()  # the browser itself notes the status 401 of the form

        page.locator(".facets").get_by_role("link", name="attribute").click()
        expect(page.locator(".facets a[aria-current]", has_text="attribute")).to_be_visible()
        names = rows_of(page)
        assert len(names) >= 5
        expect(page.locator("#detail .sides .says").first).to_contain_text("The graph", timeout=WAIT_MS)
        expect(page.locator("#detail .sides .says.contradicts")).to_have_count(1)

        # Faster than the service answers: each key finds the row that it was meant for.
        for key in "aar":
            page.keyboard.press(key)
        expect(page.locator("#rows .row").nth(2)).to_have_attribute("data-state", "rejected", timeout=WAIT_MS)
        page.keyboard.press("d")
        expect(page.get_by_role("dialog", name="Defer")).to_be_visible(timeout=WAIT_MS)
        page.keyboard.press("Enter")
        expect(page.locator("#live")).to_contain_text("Deferred", timeout=WAIT_MS)
        press(page, "a", "Accepted")
        states = page.locator("#rows .row").evaluate_all("(rows) => rows.slice(0, 5).map((r) => r.dataset.state)")
        assert states == ["accepted", "accepted", "rejected", "deferred", "accepted"]
        press(page, "u", "Undone")
        expect(page.locator(f"#r-{names[4]}")).to_have_attribute("data-state", "open")
        with served.service.open() as workspace:
            assert [d.action.value for d in workspace.history(names[4])] == ["accept", "reopen"]
            assert {d.by for name in names[:5] for d in workspace.history(name)} == {"rosa"}

        page.get_by_role("navigation", name="Pages").get_by_role("link", name="Patches").click()
        page.get_by_role("button", name="Make a patch").click()
        expect(page.locator(".operations > li")).to_have_count(2)
        page.get_by_role("button", name="Check").click()
        expect(page.locator("main")).to_contain_text("2 operations would fit")
        page.get_by_role("button", name="Apply").click()
        expect(page.locator("#task")).to_contain_text("2 operations applied", timeout=60_000)

        page.get_by_role("link", name="Runs").first.click()
        page.wait_for_url(f"{served.address}/runs")
        page.locator("tbody th a").first.click()
        page.get_by_role("button", name="Audit the same again").click()
        expect(page.locator("#task")).to_contain_text("is there", timeout=120_000)
        page.get_by_role("link", name="what became of the findings").click()
        rows = page.locator("section[aria-labelledby=s-fixed] .row a")
        expect(rows).to_have_count(2)
        fixed = rows.evaluate_all("(all) => all.map((a) => a.href)")
        assert sorted(address.rpartition("/")[2] for address in fixed) == sorted(names[:2])
        page.get_by_role("button", name="Sign out").click()
        expect(page.get_by_label("Token")).to_be_visible()
        assert trouble == []


PATHS = (
    *("/", "/findings", "/findings/decide?scope=all", "/runs", "/diff", "/patches", "/ask", "/jobs", "/tasks"),
    *("/findings/FINDING", "/runs/RUN", "/findings/0123456789abcdef", "/no/such/page"),
    *("/nodes", "/nodes?q=nobody", "/nodes/Protein/NODE", "/findings?node=Protein+NODE"),
)


@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everybody_can_use_every_page(browser: Browser, hostile: Served, scheme: str, width: int) -> None:
    with visiting(browser, hostile, width=width, scheme=scheme) as (page, _):
        page.goto(f"{hostile.address}/findings")
        finding = rows_of(page)[0]
        for path in PATHS:
            path = path.replace("FINDING", finding).replace("RUN", "20261120-093000-beef").replace("NODE", LONG)
            page.goto(hostile.address + path)
            if path == "/findings" and width > 1200:
                expect(page.locator("#detail article")).to_be_visible(timeout=WAIT_MS)
            assert page.evaluate(OVERFLOW) <= 0, path
            assert [text for text, is_seen in page.evaluate(NUMBERS) if not is_seen] == [], path
            assert page.evaluate(SHIFT) < 0.1, path
            found = Axe().run(page, options=AXE).response["violations"]
            wrong = [(v["id"], [node["html"][:200] for node in v["nodes"][:3]]) for v in found]
            assert wrong == [], path
