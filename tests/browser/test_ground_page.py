"""The page of a grounded manuscript in a real browser: it loads nothing, leads to evidence, and fits a phone."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from tests.support import quick_of
from tests.support.audits import kgcheck
from tests.support.service_pages import visiting

HOSTILE = '<script>window.hacked=1</script><img src=x onerror="window.hacked=1">'
LONG = "very_long_word_without_any_place_to_break_" * 6
OVERFLOW = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
NOTE = f"""Abstract

ABC1 was seen in 73.1% of treated mice [1,9]. {HOSTILE} rose by 35% {LONG}.

Results

ABC1 was seen in 71.2% of treated mice [2].

References

1. Lee A, Roe B. {HOSTILE} A made-up title about mice. J Made Up. 2010;1:1-2.
2. Poe C. Another made-up title. J Made Up. 2012;1:3-4.
"""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Address of the page of a note with hostile and long words."""
    folder = tmp_path_factory.mktemp("ground")
    (folder / "note.txt").write_text(NOTE, encoding="utf-8")
    (folder / "results.json").write_text('{"treated mice with ABC1": {"value": 71.2, "unit": "%"}}', encoding="utf-8")
    command = ("ground", "note.txt", "--results", "results.json", "--format", "html", "--out", "ground.html")
    assert kgcheck(*command, cwd=folder).code == 1
    return Path(folder / "ground.html").as_uri()


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    """The page, opened; whatever it asks for or complains of fails the test."""
    with visiting(browser, address) as (opened, trouble):
        opened.goto(address)
        yield opened
    assert trouble == []


def test_nothing_hostile_runs_and_a_sentence_leads_to_its_evidence(page: Page) -> None:
    assert page.evaluate("() => window.hacked") is None
    assert page.locator("img, iframe, object, link").count() == 0

    verified = page.locator("a.sentence.verified").first
    details = page.locator(str(verified.get_attribute("href")))
    expect(details.locator(".remark").first).to_be_hidden()
    verified.focus()
    page.keyboard.press("Enter")

    expect(details.locator(".remark").first).to_be_visible()
    expect(page.locator("a.sentence.contradicted")).to_have_count(1)


@pytest.mark.slow
@pytest.mark.parametrize("scheme", quick_of(["light", "dark"], "light"))
def test_everybody_can_read_it(page: Page, scheme: str) -> None:
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    found = Axe().run(page)

    assert found.violations_count == 0, found.generate_report()


@pytest.mark.parametrize("width", quick_of([320, 390, 768, 1400], 320, 1400))
def test_it_fits_the_width(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})

    assert page.evaluate(OVERFLOW) <= 0
