"""The page of claims in a real browser: it loads nothing, filters, leads to quotes, and can be read by everybody."""

from collections.abc import Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from kgcheck.grounding.claims.page import claims_page
from tests.support import quick_of
from tests.support.claim_maps import TITLES, made_map
from tests.support.service_pages import visiting

HOSTILE = (
    '</title></svg></script><script>window.hacked=1</script><img src=x onerror="window.hacked=1">{{ 7 * 7 }}\u202egpj'
)
LONG = "very_long_word_without_any_place_to_break_" * 6
OVERFLOW = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Address of a page with hostile and long titles among the others."""
    file = tmp_path_factory.mktemp("claims") / "claims.html"
    titles = [*TITLES[:6], HOSTILE, LONG, *TITLES[8:]]
    file.write_text(claims_page(made_map(titles), f"papers {HOSTILE}"), encoding="utf-8")
    return file.as_uri()


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    """The page, opened; whatever it asks for or complains of fails the test."""
    with visiting(browser, address) as (opened, trouble):
        opened.goto(address)
        yield opened
    assert trouble == []


def test_nothing_hostile_runs_and_nothing_is_loaded(page: Page) -> None:
    page.get_by_role("button", name="Open all").click()
    page.wait_for_load_state("networkidle")

    assert page.evaluate("() => window.hacked") is None
    assert page.locator("img, iframe, object, link").count() == 0
    assert page.locator("script").count() == 1
    assert page.get_by_text("window.hacked=1").count() > 0


@pytest.mark.slow
def test_words_and_relations_filter(page: Page) -> None:
    page.get_by_label("Words").press_sequentially("carp dark")
    expect(page.locator("#count")).to_have_text("1 of 14 papers")
    assert page.locator("details.paper:visible").count() == 1
    assert page.locator("tbody tr:visible").count() == 1
    assert page.locator(".node:not(.off)").count() == 1
    assert page.locator("article:visible").count() == 1

    page.get_by_role("checkbox", name="contradicts").uncheck()
    expect(page.locator("article:visible")).to_have_count(0)
    page.get_by_role("button", name="Clear the filter").click()
    expect(page.locator("#count")).to_have_text("14 papers")
    page.get_by_role("checkbox", name="cites").uncheck()
    expect(page.locator(".map .cites:visible")).to_have_count(0)
    assert page.locator(".map .supports:visible").count() == 4

    page.get_by_label("Words").fill("nothing has this")
    expect(page.get_by_text("No paper on this page fits the filter.")).to_be_visible()


@pytest.mark.slow
def test_a_circle_leads_to_the_quotes_by_keyboard(page: Page) -> None:
    circle = page.locator(".node").first
    circle.focus()
    assert page.locator("#map.lit .on").count() > 0
    number = circle.get_attribute("data-paper")

    page.keyboard.press("Enter")

    expect(page.locator(f"#p-{number} .claims blockquote").first).to_be_visible()
    expect(page.locator(f"#p-{number} .related .stance").first).to_be_visible()
    page.locator(f"#p-{number} summary").click()
    page.locator(f"tr a[href='#p-{number}']").click()
    expect(page.locator(f"#p-{number} .claims blockquote").first).to_be_visible()


@pytest.mark.parametrize("width", quick_of([320, 390, 768, 1400], 320, 1400))
def test_nothing_sticks_out(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.get_by_role("button", name="Open all").click()

    assert page.evaluate(OVERFLOW) <= 0


@pytest.mark.slow
@pytest.mark.parametrize("scheme", quick_of(["light", "dark"], "light"))
def test_page_is_built_for_everybody(browser: Browser, address: str, scheme: str) -> None:
    page = browser.new_page(color_scheme=scheme, bypass_csp=True)  # type: ignore[arg-type]
    page.goto(address)
    page.get_by_role("button", name="Open all").click()
    found = Axe().run(page)
    page.close()

    assert [v["id"] for v in found.response["violations"]] == []


@pytest.mark.slow
def test_page_can_be_read_without_script(browser: Browser, address: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(address)

    assert not page.locator("#filters").is_visible()
    assert page.locator(".node").count() == 14
    page.locator("details.paper summary").first.click()
    expect(page.locator("details.paper blockquote").first).to_be_visible()
    context.close()


def test_circles_do_not_hide_each_other(page: Page) -> None:
    overlapping = page.evaluate(
        """() => {
          const placed = (circle) => ['cx', 'cy', 'r'].map((name) => Number(circle.getAttribute(name)));
          const all = [...document.querySelectorAll('.node circle')].map(placed);
          return all.filter((a, i) => all.some((b, j) => j < i && Math.hypot(a[0] - b[0], a[1] - b[1]) < a[2] + b[2]));
        }"""
    )

    assert overlapping == []
