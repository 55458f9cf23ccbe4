"""The HTML report in a real browser: it loads nothing, filters, opens by keyboard, and can be read by everybody."""

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from kgcheck.ledger.ledger import Ledger, PinnedRelease, Run
from kgcheck.model import (
    Change,
    ChangeKind,
    CheckTask,
    CheckType,
    Evidence,
    Finding,
    Gap,
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
from kgcheck.report.documents import document
from tests.support import quick_of
from tests.support.service_pages import visiting

AT = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)
HOSTILE = '</script><script>window.hacked=1</script><img src=x onerror="window.hacked=1">'
LONG = "very_long_identifier_without_any_place_to_break_" * 6
OVERFLOW = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
OPEN_ALL = "() => document.querySelectorAll('details').forEach((d) => (d.open = true))"

# The contrast of every text that is seen with what lies behind it, worst first (WCAG 2.2, 1.4.3).
CONTRASTS = """() => {
  const light = (c) => [0.2126, 0.7152, 0.0722].reduce((sum, weight, i) => {
    const part = c[i] / 255;
    return sum + weight * (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
  }, 0);
  const parsed = (text) => text.match(/[\\d.]+/g).map(Number);
  const behind = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const colour = parsed(getComputedStyle(at).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  const told = new Map();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !node.checkVisibility() || /SCRIPT|STYLE/.test(node.tagName)) continue;
    const [a, b] = [light(parsed(getComputedStyle(node).color)), light(behind(node))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    told.set(`${node.tagName}.${node.className} ${getComputedStyle(node).color}`, ratio);
  }
  return [...told].sort((x, y) => x[1] - y[1]);
}"""

NAMELESS = """() => [...document.querySelectorAll('input, select, button, a, summary, svg[role], [role=region]')]
  .filter((n) => !(n.labels?.length || n.ariaLabel || n.textContent.trim() ||
    document.getElementById(n.getAttribute('aria-labelledby'))))
  .map((n) => n.outerHTML)"""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Address of a report with findings of every kind, hostile and long values among them."""
    folder = tmp_path_factory.mktemp("report")
    run = Run(
        id="20261120-093000-beef",
        started=AT,
        store=f"bolt://localhost:7687 {LONG}",
        profile="ckg",
        reference="ref.duckdb",
        releases=tuple(
            PinnedRelease(source="uniprot", release=f"2026_0{n}", file="uniprot.dat.gz", sha256="849471c81dc5")
            for n in range(1, 4)
        ),
        warnings=(f"warning {HOSTILE}",),
    )
    tallies = [
        Tally(
            type=t,
            target=Target(label="Protein", attribute=t.value),
            outcome=outcome,
            reason=Reason.NOT_COVERED,
            sources=sources,
            gaps=gaps,
            count=40,
        )
        for t in CheckType
        for outcome, sources, gaps in (
            (Outcome.REFUTED, ("uniprot",), ()),
            (Outcome.UNAVAILABLE, (), (Gap("uniprot", Reason.NOT_COVERED),)),
        )
    ]
    with Ledger(folder / "ledger.sqlite") as ledger:
        ledger.start(run)
        ledger.record(run, "all", list(_findings(run)), tallies)
        page = folder / "report.html"
        page.write_text(document(ledger, run, "html"), encoding="utf-8")
    return page.as_uri()


def _findings(run: Run) -> Iterator[Finding]:
    for n, kind in enumerate((*CheckType, *CheckType)):
        edge = kind in (CheckType.TRIPLE, CheckType.POTENTIAL)
        task = CheckTask(
            type=kind,
            subject=Ref(label="Protein" if n % 2 else "Disease", id=f"Q0000{n}"),
            relation="ACTS_ON" if edge else None,
            object=Ref(label="Tissue", id="BTO:0000142") if edge else None,
            attribute="name" if kind is CheckType.ATTRIBUTE else None,
            rule="orphan_node" if kind is CheckType.STRUCTURE else None,
            value=[HOSTILE, LONG, None][n % 3],
        )
        outcome = list(Outcome)[n % 4]
        verdict = Verdict(
            outcome=outcome,
            reason=[Reason.ID_MERGED, Reason.NOTHING_FOUND, Reason.EDGE_UNSUPPORTED][n % 3],
            confidence=0.93,
            evidence=tuple(_evidence(n, stance) for stance in Stance) if n else (),
            missing=(Gap("goa", Reason.NOT_COVERED),),
            note="a note",
        )
        change = Change(kind=ChangeKind.REPOINT, to=LONG, because="merged") if outcome is Outcome.REFUTED else None
        yield Finding(run=run.id, fingerprint=task.fingerprint, task=task, verdict=verdict, change=change)


def _evidence(n: int, stance: Stance) -> Evidence:
    return Evidence(
        source="uniprot",
        release="2026_03",
        record=f"Q0000{n}",
        url=["https://www.uniprot.org/uniprotkb/Q00007", "javascript:window.hacked=1", ""][n % 3],
        retrieved_at=AT,
        stance=stance,
        world=World.CLOSED,
        tier=Tier.CURATED,
        value=[HOSTILE, LONG, "merged; now P04637"][n % 3],
        quote="as it is written",
        score=0.4,
        about="head",
        candidates=("P1", "P2"),
    )


@pytest.fixture
def page(browser: Browser, report: str) -> Iterator[Page]:
    """The report, opened; whatever it asks for or complains of fails the test."""
    with visiting(browser, report, width=1280) as (opened, trouble):
        opened.goto(report)
        yield opened
    assert trouble == []


def _shown(page: Page) -> list[str]:
    # Not the inner text: that of findings out of view is not made.
    return page.locator(".finding:visible .what").all_text_contents()


def test_nothing_hostile_runs_and_nothing_is_loaded(page: Page) -> None:
    page.evaluate(OPEN_ALL)
    page.wait_for_load_state("networkidle")

    assert page.evaluate("() => window.hacked") is None
    assert page.locator("img, iframe, object, link").count() == 0
    assert page.locator("script").count() == 1
    assert page.locator(".notice").first.inner_text().startswith("This run is not finished.")


def test_policy_forbids_what_is_not_the_reports_own(browser: Browser, report: str) -> None:
    page = browser.new_page()
    said = list[str]()
    page.on("console", lambda message: said.append(message.text))
    page.goto(report)
    added = "const s = document.createElement('script'); s.append('window.hacked = 1'); document.body.append(s)"
    page.evaluate(f"() => {{ try {{ {added} }} catch (error) {{ console.log(String(error)) }} }}")
    page.evaluate("() => { const i = new Image(); i.src = 'https://example.org/x.png'; document.body.append(i); }")
    page.wait_for_timeout(200)

    assert page.evaluate("() => window.hacked") is None
    assert any("img-src" in text or "default-src" in text for text in said)
    page.close()


@pytest.mark.slow
def test_filter_by_typing(page: Page) -> None:
    everything = _shown(page)

    page.get_by_label("Text").press_sequentially("q00003 2026_03")

    expect(page.locator("#count")).to_have_text("1 of 12 findings")
    assert _shown(page) == ["Q00003 ACTS_ON BTO:0000142"]
    assert page.locator(".type:visible").count() == 1

    page.get_by_label("Text").fill("nothing has this")
    expect(page.get_by_text("No finding on this page fits the filter.")).to_be_visible()
    page.get_by_role("button", name="Clear the filter").click()
    expect(page.locator("#count")).to_have_text("12 findings")
    assert _shown(page) == everything


@pytest.mark.slow
def test_findings_open_by_keyboard(page: Page) -> None:
    summary = page.locator(".finding summary").first
    page.get_by_role("button", name="Clear the filter").focus()

    page.keyboard.press("Tab")
    assert summary.evaluate("(node) => node === document.activeElement")
    assert summary.evaluate("(node) => getComputedStyle(node).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    expect(page.locator(".finding .facts").first).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.locator(".finding .facts").first).to_be_hidden()


@pytest.mark.parametrize("width", quick_of([320, 360, 768, 1280, 2560], 320, 1280))
def test_nothing_sticks_out(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})

    assert page.evaluate(OVERFLOW) <= 0
    page.evaluate(OPEN_ALL)
    assert page.evaluate(OVERFLOW) <= 0


@pytest.mark.slow
@pytest.mark.parametrize("scheme", quick_of(["light", "dark"], "light"))
def test_text_can_be_read(browser: Browser, report: str, scheme: str) -> None:
    page = browser.new_page(color_scheme=scheme)  # type: ignore[arg-type]
    page.goto(report)
    page.evaluate(OPEN_ALL)
    contrasts = page.evaluate(CONTRASTS)
    lightness = sum(
        map(int, page.evaluate("() => getComputedStyle(document.body).backgroundColor").strip("rgb()").split(","))
    )
    page.close()

    assert len(contrasts) > 20
    assert [told for told in contrasts if told[1] < 4.5] == []
    assert (lightness < 100) == (scheme == "dark")


@pytest.mark.slow
def test_page_is_built_for_everybody(page: Page) -> None:
    for landmark in ("banner", "navigation", "main", "search", "contentinfo"):
        expect(page.get_by_role(landmark)).to_have_count(1)
    page.evaluate(OPEN_ALL)
    levels = page.evaluate("() => [...document.querySelectorAll('h1,h2,h3,h4')].map((h) => Number(h.tagName[1]))")
    ids = page.evaluate("() => [...document.querySelectorAll('[id]')].map((n) => n.id)")
    targets = page.evaluate("() => [...document.querySelectorAll('a[href^=\"#\"]')].map((a) => a.hash.slice(1))")

    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert page.evaluate(NAMELESS) == []
    assert page.locator("th:not([scope])").count() == 0
    assert page.locator("table:not(:has(thead))").count() == 0
    assert len(ids) == len(set(ids))
    assert set(targets) <= set(ids)
    assert page.locator("html").get_attribute("lang") == "en"


@pytest.mark.slow
def test_thousands_of_findings_stay_quick(browser: Browser, tmp_path: Path) -> None:
    run = Run(id="20261120-093000-feed", started=AT, finished=AT, store="graph.lbdb", profile="ckg")
    task = CheckTask(type=CheckType.EXISTENCE, subject=Ref(label="Protein", id="P"))
    verdict = Verdict(
        outcome=Outcome.REFUTED, reason=Reason.UNKNOWN_ID, confidence=0.9, evidence=(_evidence(2, Stance.SILENT),)
    )
    tasks = (task.model_copy(update={"subject": Ref(label="Protein", id=f"P{n:05d}")}) for n in range(3_000))
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        ledger.start(run)
        found = [Finding(run=run.id, fingerprint=t.fingerprint, task=t, verdict=verdict) for t in tasks]
        ledger.record(run, "all", found, [])
        (tmp_path / "report.html").write_text(document(ledger, run, "html"), encoding="utf-8")
    page = browser.new_page()
    page.goto((tmp_path / "report.html").as_uri())
    expect(page.locator("#count")).to_have_text("2,000 findings")

    page.get_by_label("Text").fill("p0012")

    expect(page.locator("#count")).to_have_text("10 of 2,000 findings", timeout=15_000)
    assert page.locator(".finding").count() == 2_000
    page.close()


@pytest.mark.slow
def test_page_can_be_read_without_script(browser: Browser, report: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(report)

    assert len(_shown(page)) == 12
    assert not page.locator("#filters").is_visible()
    page.locator(".finding summary").first.click()
    expect(page.locator(".finding .facts").first).to_be_visible()
    context.close()


@pytest.mark.slow
def test_a_link_to_a_finding_opens_it(page: Page, report: str) -> None:
    name = page.locator(".finding").nth(5).get_attribute("id")

    page.evaluate("(name) => { location.hash = name; }", name)

    expect(page.locator(f"#{name} .facts")).to_be_in_viewport()
