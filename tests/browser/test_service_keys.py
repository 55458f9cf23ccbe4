"""The page of the service with keys alone: everything is reached, focus is seen and never lost, and all has a name."""

import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.support.service_pages import WAIT_MS, Served, serving_demo, visiting

FOCUS = """() => {
  const e = document.activeElement;
  if (!e || e === document.body) return null;
  const ring = (style) => style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
  const box = e.getBoundingClientRect();
  const text = e.getAttribute("aria-label") ?? e.textContent.replace(/\\s+/g, " ").trim().slice(0, 60);
  return {
    name: `${e.localName} ${e.name ?? ""} ${text}`,
    ring: ring(getComputedStyle(e)) || ring(getComputedStyle(e, "::after")),
    seen: box.width > 0 && box.height > 0 && box.bottom > 0 && box.top < innerHeight && box.right > 0,
    row: e.closest(".row")?.dataset.finding ?? null,
  };
}"""
MOST = 250
PAGES = ("/", "/findings?type=attribute", "/runs", "/patches", "/ask", "/jobs", "/tasks", "/diff")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The demo, without users: whoever comes is the admin."""
    with serving_demo(tmp_path_factory.mktemp("keys")) as made:
        yield made


def focus(page: Page) -> dict[str, Any]:
    """What has the focus, which must be something, and be seen."""
    found: dict[str, Any] | None = page.evaluate(FOCUS)
    assert found is not None
    assert found["seen"], found
    assert found["ring"], found
    return found


def tab_to(page: Page, name: str, key: str = "Tab") -> None:
    """Press a key until something of that name has the focus."""
    for _ in range(MOST):
        page.keyboard.press(key)
        if name in focus(page)["name"]:
            return
    raise AssertionError(f"{name} cannot be reached")


def row_in(page: Page, place: int) -> str:
    name = page.locator("#rows .row").nth(place).get_attribute("data-finding")
    assert name
    return name


def press(page: Page, key: str, words: str, on: str) -> None:
    """Press a key: it is announced, and the focus is on that row."""
    page.keyboard.press(key)
    expect(page.locator("#live")).to_contain_text(words, timeout=WAIT_MS)
    expect(page.locator(f"#r-{on}.current a:focus")).to_have_count(1, timeout=WAIT_MS)
    assert focus(page)["row"] == on


@pytest.mark.slow
def test_a_curators_whole_way_with_keys_alone(browser: Browser, tmp_path: Path) -> None:
    with serving_demo(tmp_path) as served, visiting(browser, served) as (page, _):
        token, _ = served.service.users.add("rosa", "curator", by="test", expires_in=timedelta(hours=1))
        page.goto(f"{served.address}/")
        expect(page.locator("#token:focus")).to_have_count(1, timeout=WAIT_MS)
        page.keyboard.type(token)
        page.keyboard.press("Enter")
        expect(page.locator(".who")).to_contain_text("rosa", timeout=WAIT_MS)
        tab_to(page, "Skip to the content")
        tab_to(page, "Triage")
        page.keyboard.press("Enter")
        page.wait_for_url("**/findings?*")
        first, second, third, fourth = (row_in(page, place) for place in range(4))

        press(page, "a", "Accepted", second)
        press(page, "r", "Rejected", third)
        page.keyboard.press("n")
        expect(page.locator("#detail [name=note]:focus")).to_have_count(1, timeout=WAIT_MS)
        page.keyboard.type("looked up by hand")
        # Enter in a note decides nothing.
        press(page, "Enter", "The note is kept", third)
        press(page, "r", "Rejected", fourth)
        page.keyboard.press("d")
        expect(page.get_by_role("dialog", name="Defer")).to_be_visible(timeout=WAIT_MS)
        page.keyboard.press("Escape")
        expect(page.locator(f"#r-{fourth} a:focus")).to_have_count(1, timeout=WAIT_MS)
        page.keyboard.press("d")
        expect(page.get_by_role("dialog", name="Defer")).to_be_visible(timeout=WAIT_MS)
        page.keyboard.press("Enter")
        expect(page.locator("#live")).to_contain_text("Deferred", timeout=WAIT_MS)
        press(page, "u", "Undone", fourth)
        page.keyboard.press("?")
        expect(page.get_by_role("dialog", name="Keys")).to_be_visible(timeout=WAIT_MS)
        page.keyboard.press("Escape")
        expect(page.locator(f"#r-{fourth} a:focus")).to_have_count(1, timeout=WAIT_MS)
        with served.service.open() as workspace:
            assert [d.action.value for d in workspace.history(first)] == ["accept"]
            assert [(d.action.value, d.note) for d in workspace.history(third)] == [("reject", "looked up by hand")]
            assert [d.action.value for d in workspace.history(fourth)] == ["defer", "reopen"]

        press(page, "x", "Selected", fourth)
        tab_to(page, "Decide selected", "Shift+Tab")
        page.keyboard.press("Enter")
        page.wait_for_url("**/findings/decide?*")
        tab_to(page, "Reject 1")
        page.keyboard.press("Enter")
        page.wait_for_url("**done=reject*")
        expect(page.get_by_role("status").first).to_contain_text("1 finding rejected.")
        tab_to(page, "Undo all 1")
        page.keyboard.press("Enter")
        page.wait_for_url("**done=reopen*")
        with served.service.open() as workspace:
            assert [d.action.value for d in workspace.history(fourth)][-2:] == ["reject", "reopen"]

        tab_to(page, "Patches")
        page.keyboard.press("Enter")
        page.wait_for_url("**/patches")
        tab_to(page, "Make a patch")
        page.keyboard.press("Enter")
        page.wait_for_url("**/patches/*")
        expect(page.locator(".operations > li")).to_have_count(1)


@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 1400])
def test_focus_goes_through_every_page_and_out_again(browser: Browser, served: Served, width: int) -> None:
    with visiting(browser, served, width=width) as (page, _):
        for path in PAGES:
            page.goto(served.address + path)
            if path.startswith("/findings") and width > 1200:
                expect(page.locator("#detail article")).to_be_visible(timeout=WAIT_MS)
            page.keyboard.press("Tab")
            assert "Skip to the content" in focus(page)["name"], path
            for _ in range(MOST):
                page.keyboard.press("Tab")
                if page.evaluate(FOCUS) is None:
                    break
                focus(page)
            else:
                raise AssertionError(f"{path} does not let the focus go")


@pytest.mark.slow
def test_focus_stays_in_a_panel_that_is_loaded_anew(browser: Browser, served: Served) -> None:
    waiting: list[Route] = []
    with visiting(browser, served, width=1400) as (page, _):
        page.goto(f"{served.address}/findings?type=attribute")
        expect(page.locator("#detail article")).to_be_visible(timeout=WAIT_MS)
        page.route(re.compile("/findings/[0-9a-f]{16}"), lambda route: waiting.append(route))
        row = page.locator("#rows > .row").nth(1)
        with page.expect_request(re.compile("/findings/[0-9a-f]{16}"), timeout=WAIT_MS):
            row.locator("a").focus()
        page.locator("#detail").get_by_role("button", name="Accept").focus()
        waiting[-1].continue_()
        chosen = row.get_attribute("data-finding")
        expect(page.locator(f"#detail [data-finding='{chosen}']")).to_be_visible(timeout=WAIT_MS)

        focus(page)
        assert page.evaluate("document.getElementById('detail').contains(document.activeElement)")


@pytest.mark.slow
def test_everything_has_a_name_and_a_role(browser: Browser, served: Served) -> None:
    names = {
        "/": [
            'heading "',
            'region "Since the run before"',
            'region "Findings by reason"',
            'region "Age of the references"',
        ],
        "/findings?type=attribute": [
            *('navigation "Pages"', 'searchbox "Search ids, names and values"', 'complementary "Filters"'),
            *('region "Decision"', 'list "Findings"', 'checkbox "Select ', 'region "The finding that is chosen"'),
            *('article "', 'form "Decide"', 'button "Accept"', 'button "Reject"', 'button "Defer"', 'textbox "Note"'),
            *('textbox "Defer until"', 'region "Evidence', 'region "Proposal"', 'region "History"'),
        ],
        "/runs": ['heading "Runs"', 'region "Runs"', 'button "Audit the graph now"', 'columnheader "refuted"'],
        "/ask": ['heading "Ask"', 'textbox "The graph a question', 'textbox "One fact'],
        "/patches": ['heading "Patches"', 'button "Make a patch from what is accepted"'],
    }
    with visiting(browser, served) as (page, _):
        for path, wanted in names.items():
            page.goto(served.address + path)
            if path.startswith("/findings"):
                expect(page.locator("#detail article")).to_be_visible(timeout=WAIT_MS)
            tree = page.locator("body").aria_snapshot()
            assert [name for name in wanted if name not in tree] == [], tree
            # A control without a name stands as its role alone.
            assert [
                line for line in tree.splitlines() if line.strip() in ("- button", "- link", "- textbox", "- img")
            ] == []
