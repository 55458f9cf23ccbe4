"""The site of `make docs`: built without a warning, of plain files, with nothing loaded from elsewhere."""

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path

import pytest

import kgcheck
from kgcheck.model import all_reasons
from tests.support import ROOT

pytestmark = pytest.mark.slow

LOADS = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href", "object": "data"}
NOT_LOADED = {"canonical", "next", "prev", "search", "index", "author", "license", "help"}


class Loaded(HTMLParser):
    """What a page loads."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "link" and given.get("rel") in NOT_LOADED:
            return
        if tag in LOADS and (address := given.get(LOADS[tag])):
            self.addresses.append(address)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if find_spec("sphinx") is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("Sphinx is not installed: make docs")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "--quiet", "--fail-on-warning", "--builder", "html"]
    command += ["--doctree-dir", str(folder / "doctrees"), "docs", str(folder / "html")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return folder / "html"


def test_every_page_is_built(site: Path) -> None:
    pages = {path.stem for path in (ROOT / "docs").glob("*.md")}

    assert pages < {path.stem for path in site.glob("*.html")}


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    seen = 0
    for page in site.rglob("*.html"):
        parser = Loaded()
        parser.feed(page.read_text(encoding="utf-8"))
        seen += len(parser.addresses)
        assert [a for a in parser.addresses if re.match(r"(https?:)?//", a)] == [], page
        missing = [a for a in parser.addresses if not (page.parent / re.split(r"[?#]", a)[0]).exists()]
        assert missing == [], page
    assert seen > 100
    for style in site.rglob("*.css"):
        assert not re.search(r"@import|url\(\s*['\"]?(https?:)?//", style.read_text(encoding="utf-8")), style


def test_reference_pages_hold_what_the_program_has(site: Path) -> None:
    commands, api = ((site / f"{name}.html").read_text(encoding="utf-8") for name in ("cli", "api"))

    for option in ("--reference", "--resume", "--team-budget", "--brain"):
        assert option in commands
    assert [name for name in kgcheck.__all__ if f'id="kgcheck.{name}"' not in api] == []
    assert 'id="kgcheck.Workspace.audit"' in api
    reasons, rules = ((site / f"{name}.html").read_text(encoding="utf-8") for name in ("reasons", "rules"))
    assert all(f">{reason}<" in (rules if reason.rule else reasons) for reason in all_reasons())
