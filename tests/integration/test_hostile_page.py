"""Whatever graphs, papers, ledgers and people write, a page of the service shows it as text."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from fastapi.testclient import TestClient

from kgcheck.service.app import create_app
from kgcheck.service.state import Service
from kgcheck.settings import Settings
from tests.support.api import RouteRow, bearer, routes_of
from tests.support.chance import new_seed
from tests.support.hostile import MARK, HostileTexts, HostileWorld, PageReader

_PARAMETERS = (
    *("q", "claim", "head", "relation", "tail", "search", "after", "before", "run", "label", "reason", "type"),
    *("decision", "state", "outcome", "scope", "finding", "done", "count", "first", "next", "like", "what"),
    *("node", "other", "direction", "name"),
    *("action", "note", "until", "choose", "choose_other", "back", "version", "username", "else"),
)
_KNOWN = {"action": "reject", "scope": "selected", "count": "1", "first": "1", "relation": "ACTS_ON"}
"""Values with which a form comes further than the first check, so that the hostile ones beside them are looked at."""


def _client(folder: Path, world: HostileWorld) -> TestClient:
    service = Service(world.options, Settings(home=folder / "home"))
    return TestClient(create_app(service), "http://127.0.0.1", headers=bearer(service), raise_server_exceptions=False)


def _places(row: RouteRow, world: HostileWorld, few: int) -> Iterator[str]:
    """Addresses of a route: what the world has, and a hostile one."""
    part = row.path.split("/")[1]
    names = {
        "runs": [world.run, f"{world.run[:-4]}0000"],
        "patches": [world.patch],
        "tasks": [world.task, "0" * 16, "1" * 16],
        "jobs": [world.job, "%3Cscript%3E"],
        "static": ["page.css", "no_such.css"],
        "findings": [*world.findings[:few], "0" * 16],
    }
    if "{" not in row.path:
        yield row.path
        return
    if part == "nodes":
        label = world.node.label
        yield from (f"/nodes/{label}/{quote(name, safe='')}" for name in (world.node.id, "nobody", world.texts.id()))
        yield f"/nodes/{quote(world.texts.id(), safe='')}/x"
        return
    # A route of another kind needs a place here, or nobody would look at what it shows.
    assert part in names, row.path
    for name in names[part]:
        yield row.path.replace("{name}", name).replace("{fingerprint}", name)


def _wrong(
    client: TestClient, world: HostileWorld, few: int = 10, turns: tuple[int, ...] = (0, 1, 2)
) -> list[tuple[str, list[str]]]:
    """What every route of the page makes of hostile texts that is more than text."""
    found, texts = [], world.texts
    rows = [row for row in routes_of(client.app) if not row.path.startswith("/v1")]  # type: ignore[arg-type]
    assert len(rows) > 28
    elements = 0
    # What only looks comes first: what is done here changes what there is.
    for row in sorted(rows, key=lambda row: row.method):
        for path in _places(row, world, few):
            for given, headers in [_given(texts)[turn] for turn in turns]:
                answer = _send(client, row.method, path, given, headers)
                assert answer.status_code < 500, (row.method, path, given, answer.text)
                if answer.headers["content-type"].startswith("text/html"):
                    page = PageReader(answer.text)
                    elements += page.elements
                    found += [(f"{row.method} {path} {given}", page.wrong)] if page.wrong else []
                else:
                    assert not answer.headers["content-type"].startswith("text/") or "/static/" in path, path
    assert elements > 1_000
    return found


def _given(texts: HostileTexts) -> list[tuple[dict[str, str], dict[str, str]]]:
    """Nothing, and a hostile text for each parameter; then with those that open the way for the others, as script."""
    hostile, page = {name: texts.text(most=400) for name in _PARAMETERS}, {"accept": "text/html"}
    return [({}, page), (hostile, page), (hostile | _KNOWN, page | {"X-Fragment": "1"})]


def _send(client: TestClient, method: str, path: str, given: dict[str, str], headers: dict[str, str]) -> Any:
    if method == "POST":
        return client.post(path, data=given, headers=headers)
    return client.get(path, params=given, headers=headers)


def _shown(client: TestClient, world: HostileWorld) -> None:
    """The pages show what is hostile, and not nothing."""
    for path in ("/", "/findings", f"/findings/{world.findings[0]}", "/runs", f"/runs/{world.run}", "/tasks", "/jobs"):
        assert MARK in client.get(path).text, path
    for path in (
        "/patches",
        f"/patches/{world.patch}",
        f"/tasks/{world.task}",
        "/ask?search=binds",
        "/ask?claim=binds",
        f"/nodes/{world.node.label}/{quote(world.node.id, safe='')}",
    ):
        assert MARK in client.get(path).text, path


@pytest.mark.slow
def test_no_page_takes_a_text_for_more_than_text(tmp_path: Path) -> None:
    world = HostileWorld(tmp_path, seed=7)
    with _client(tmp_path, world) as client:
        _shown(client, world)
        assert _wrong(client, world, few=1, turns=(2,)) == []


@pytest.mark.slow
@pytest.mark.seeded
@pytest.mark.parametrize("turn", range(2))
def test_no_page_takes_any_text_for_more_than_text(tmp_path: Path, turn: int) -> None:
    world = HostileWorld(tmp_path, seed=new_seed(turn))
    with _client(tmp_path, world) as client:
        assert _wrong(client, world) == []


@pytest.mark.parametrize("seed", range(50))
def test_what_is_not_escaped_would_be_seen(seed: int) -> None:
    texts = HostileTexts(seed)
    hostile = next(text for _ in range(500) if "<script" in (text := texts.text(controls=False)) and "<!--" not in text)

    assert PageReader(f"<p>{hostile}</p>").wrong
    assert PageReader(f'<a href="{hostile}">x</a>').wrong
    assert PageReader("<p>&lt;script&gt;</p>").wrong == []
    assert PageReader('<a href="javascript:x">x</a>').wrong
    assert PageReader('<a href="//example.org/">x</a>').wrong
    assert PageReader("<p>\u202e</p>").wrong
    assert PageReader('<p onclick="x">x</p>').wrong
    assert PageReader("<p>219359</p>").wrong
