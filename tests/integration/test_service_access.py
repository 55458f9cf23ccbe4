"""Who may call which route of the service: every cell of the table is tried, and what stands in front of it."""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.datastructures import Headers
from time_machine import travel

from kgcheck import clock
from kgcheck.errors import StoreLocked
from kgcheck.ledger.accounts import IDLE, LONGEST, Role
from kgcheck.service.access import NotOfThisSite, Viewer, check_host, check_site
from kgcheck.service.app import create_app
from kgcheck.service.limits import Rates, ServiceLimits
from kgcheck.service.state import Service, ServiceOptions
from kgcheck.settings import Settings
from tests.support import ROOT, examples
from tests.support.api import RouteRow, bearer, routes_of, routes_table
from tests.support.audits import kgcheck

HERE = "http://127.0.0.1:8000"
BEARER = "authorization"


@dataclass
class World:
    """A service with users, and a client that knows nobody."""

    service: Service
    app: FastAPI
    client: TestClient
    tokens: dict[str, str]

    def bearer(self, name: str) -> dict[str, str]:
        return {BEARER: f"Bearer {self.tokens[name]}"}

    def sign_in(self, name: str, **more: Any) -> TestClient:
        """A browser of its own that has a session, and no header."""
        browser = TestClient(self.app, HERE, raise_server_exceptions=False, follow_redirects=False)
        answer = browser.post("/sign-in", data={"token": self.tokens[name], **more})
        assert answer.status_code == 303, answer.text
        return browser

    def csrf(self, browser: TestClient) -> str:
        signed_in = self.service.users.by_session(browser.cookies["kgcheck-8000"])
        assert signed_in
        return signed_in.session.csrf


def made(folder: Path, **options: Any) -> World:
    given_ = {"limits": ServiceLimits(per_minute=1_000_000, failures=1_000_000)} | options
    place = {"store": str(folder / "graph.lbdb"), "ledger": str(folder / "ledger.sqlite")}
    service = Service(ServiceOptions(**place, **given_), Settings(home=folder / "home"))
    app = create_app(service)
    tokens = {role.value: service.users.add(f"{role.value}.name", role, by="t")[0] for role in Role}
    tokens["expired"] = service.users.add("late", "admin", by="t", expires_in=timedelta(days=-1))[0]
    tokens["revoked"], entry = service.users.add("gone", "admin", by="t")
    service.users.revoke(entry.id)
    tokens["wrong"] = tokens["admin"][:-1] + ("A" if tokens["admin"][-1] != "A" else "B")
    return World(service, app, TestClient(app, HERE, raise_server_exceptions=False, follow_redirects=False), tokens)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    found = made(tmp_path)
    yield found
    found.service.close()


def path_of(row: RouteRow) -> str:
    """A path with its places filled, whatever their names are."""
    return re.sub(r"\{[^}]*\}", "0123456789abcdef", row.path)


def expected(row: RouteRow, role: Role | None) -> set[int]:
    """What may come of a request without a body: refused in one way, or let in, whatever comes of it then."""
    if row.allows(role):
        return set(range(200, 600)) - {401, 403}
    return {401} if role is None else {403}


def test_every_cell_of_the_table(world: World) -> None:
    rows = list(routes_of(world.app))
    wrong: list[tuple[str, str, str, int]] = []

    def attempt(row: RouteRow, who: str, role: Role | None, headers: dict[str, str], client: TestClient) -> None:
        # Signing in without a token is refused by the form itself.
        allowed = expected(row, role) | ({401} if (row.method, row.path) == ("POST", "/sign-in") else set())
        answer = client.request(row.method, path_of(row), headers=headers)
        if answer.status_code not in allowed:
            wrong.append((row.method, row.path, who, answer.status_code))
        if answer.status_code == 401 and row.path != "/sign-in":
            assert answer.headers["www-authenticate"].startswith("Bearer")
        assert answer.headers["content-security-policy"].startswith("default-src 'none'")
        assert answer.headers["x-content-type-options"] == "nosniff"

    for row in rows:
        attempt(row, "nobody", None, {}, world.client)
        for who in ("wrong", "expired", "revoked"):
            attempt(row, who, None, world.bearer(who), world.client)
        for role in Role:
            attempt(row, role.value, role, world.bearer(role.value), world.client)
    assert len(rows) > 40
    assert {row.method for row in rows} >= {"GET", "POST"}
    assert all(row.is_open or row.role for row in rows)
    assert wrong == []


def test_every_cell_of_a_session(world: World) -> None:
    browser = world.sign_in("admin")
    csrf = world.csrf(browser)
    wrong = []

    for row in routes_of(world.app):
        if row.path in ("/sign-out", "/sign-in"):
            continue
        bare = browser.request(row.method, path_of(row)).status_code
        other = browser.request(row.method, path_of(row), headers={"x-csrf-token": csrf[:-1]}).status_code
        whole = browser.request(row.method, path_of(row), headers={"x-csrf-token": csrf}).status_code
        refused = not row.is_safe and not row.is_open
        if (bare == 403, other == 403, whole == 403) != (refused, refused, False):
            wrong.append((row.method, row.path, bare, other, whole))
    assert wrong == []


def test_the_documentation_lists_every_route() -> None:
    table = routes_table(create_app(Service(ServiceOptions())))
    written = (ROOT / "docs" / "access.md").read_text(encoding="utf-8")

    assert table in written, "tests.support.api.routes_table makes it"


def test_a_route_that_names_nobody_lets_nobody_in(world: World) -> None:
    @world.app.get("/forgotten")
    def forgotten() -> str:
        return "secret"

    @world.app.get("/known")
    def known(asking: Viewer) -> str:
        return asking.name

    assert world.client.get("/forgotten", headers=world.bearer("admin")).status_code == 403
    assert world.client.get("/known", headers=world.bearer("viewer")).json() == "viewer.name"


def test_who_is_not_let_in_is_refused_before_the_body_is_read(world: World) -> None:
    answer = world.client.post("/v1/ask", content=b"{no json", headers={"content-type": "application/json"})
    assert answer.status_code == 401

    def endless() -> Iterator[bytes]:
        yield b"x"
        raise AssertionError("the body was read")

    assert world.client.post("/v1/ask", content=endless()).status_code == 401


def test_a_session_is_begun_used_and_ended(world: World) -> None:
    browser = TestClient(world.app, HERE, follow_redirects=False)
    asked_for = browser.get("/v1/runs?limit=3", headers={"accept": "text/html"})
    assert (asked_for.status_code, 'value="/v1/runs?limit=3"' in asked_for.text) == (401, True)
    browser.cookies.set("kgcheck-8000", "f" * 43)

    answer = browser.post("/sign-in", data={"token": f" {world.tokens['viewer']}\n", "next": "/v1/runs?limit=3"})

    assert (answer.status_code, answer.headers["location"]) == (303, "/v1/runs?limit=3")
    cookie = answer.headers["set-cookie"]
    assert re.fullmatch(r"kgcheck-8000=[\w-]{43}; HttpOnly; Max-Age=43200; Path=/; SameSite=strict", cookie)
    first = browser.cookies.get("kgcheck-8000", domain="127.0.0.1")
    assert first
    assert first != "f" * 43
    browser = TestClient(world.app, HERE, follow_redirects=False, cookies={"kgcheck-8000": first})
    assert browser.get("/v1/runs").status_code == 200
    assert world.service.users.by_session(first)
    # Nobody keeps what a browser had before somebody signed in.
    again = browser.post("/sign-in", data={"token": world.tokens["curator"]})
    second = again.headers["set-cookie"].partition("=")[2].partition(";")[0]
    assert second != first
    assert world.service.users.by_session(first) is None
    third = TestClient(world.app, HERE, follow_redirects=False, cookies={"kgcheck-8000": second})
    assert third.post("/sign-out").status_code == 403
    assert third.post("/sign-out", data={"csrf": "x"}).status_code == 403
    out = third.post("/sign-out", data={"csrf": world.service.users.by_session(second).session.csrf})  # type: ignore[union-attr]
    assert out.status_code == 303
    assert 'kgcheck-8000=""' in out.headers["set-cookie"]
    assert world.service.users.by_session(second) is None


def test_with_tls_the_cookie_is_of_this_host_alone(world: World) -> None:
    browser = TestClient(world.app, "https://127.0.0.1", follow_redirects=False)

    answer = browser.post("/sign-in", data={"token": world.tokens["viewer"]})

    assert answer.headers["set-cookie"].startswith("__Host-kgcheck=")
    assert "; Secure" in answer.headers["set-cookie"]
    assert "domain" not in answer.headers["set-cookie"].lower()
    assert answer.headers["strict-transport-security"] == "max-age=31536000"
    assert browser.get("/v1/runs").status_code == 200


def test_without_tls_nobody_signs_in_from_elsewhere(tmp_path: Path) -> None:
    world = made(tmp_path, is_local=False)
    browser = TestClient(world.app, "http://kg.example.org", follow_redirects=False)

    answer = browser.post("/sign-in", data={"token": world.tokens["viewer"]})

    assert (answer.status_code, "set-cookie" in answer.headers) == (403, False)
    assert "https" in answer.text
    assert browser.get("/v1/runs", headers=world.bearer("viewer")).status_code == 200
    world.service.close()


def test_a_session_ends_with_time_and_with_its_token(world: World) -> None:
    users, at = world.service.users, clock.now()
    secret, (_, token) = users.sign_in(world.tokens["viewer"])  # type: ignore[misc]
    with travel(at + IDLE - timedelta(minutes=1), tick=False):
        assert users.by_session(secret)
    with travel(at + 2 * IDLE - timedelta(minutes=2), tick=False):
        assert users.by_session(secret)
    with travel(at + 3 * IDLE, tick=False):
        assert users.by_session(secret) is None
    used, _ = users.sign_in(world.tokens["viewer"])  # type: ignore[misc]
    for hour in range(1, int(LONGEST.total_seconds()) // 3600 + 1):
        with travel(at + timedelta(hours=hour), tick=False):
            assert bool(users.by_session(used)) == (timedelta(hours=hour) < LONGEST)
    last, _ = users.sign_in(world.tokens["viewer"])  # type: ignore[misc]
    assert users.by_session(last)
    assert [one.id for one in users.revoke("viewer.name")] == [token.id]
    assert users.by_session(last) is None
    assert users.by_token(world.tokens["viewer"]) is None


@pytest.mark.usefixtures("within_a_minute")
def test_failed_sign_ins_are_throttled(tmp_path: Path) -> None:
    world = made(tmp_path, limits=ServiceLimits(failures=3))

    statuses = [world.client.post("/sign-in", data={"token": "x"}).status_code for _ in range(5)]
    right = world.client.post("/sign-in", data={"token": world.tokens["admin"]})

    assert statuses == [401, 401, 401, 429, 429]
    assert (right.status_code, right.headers["retry-after"]) == (429, "60")
    assert world.client.get("/v1/runs", headers=world.bearer("wrong")).status_code == 429
    # Who has a token is not kept out by those who have none.
    assert world.client.get("/v1/runs", headers=world.bearer("admin")).status_code == 200
    world.service.close()


def test_addresses_that_failed_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who has many addresses, as everybody with IPv6 has, fills no memory with them."""
    now = [600.0]
    monkeypatch.setattr("limits.storage.memory.time", SimpleNamespace(time=lambda: now[0]))
    rates = Rates(ServiceLimits(failures=3))
    assert all(rates.failed(f"2001:db8::{number}") for number in range(100))
    now[0] += 200

    ends = time.monotonic() + 30
    while "2001:db8::" in (kept := str(vars(rates._counter.storage))) and time.monotonic() < ends:
        rates.failed("192.0.2.1")
        time.sleep(0.05)

    assert "2001:db8::" not in kept


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_may_not_be_too_large(tmp_path: Path, chunked: bool) -> None:
    world = made(tmp_path, limits=ServiceLimits(body_bytes=1_000))
    whole = b'{"question": "' + b"x" * 2_000 + b'"}'
    content: Any = (whole[start : start + 100] for start in range(0, len(whole), 100)) if chunked else whole

    answer = world.client.post(
        "/v1/ask", content=content, headers={**world.bearer("admin"), "content-type": "application/json"}
    )

    assert answer.status_code == 413
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["x-frame-options"] == "DENY"
    world.service.close()


def test_what_takes_too_long_is_answered_for(tmp_path: Path) -> None:
    world = made(tmp_path, limits=ServiceLimits(seconds=0.5))
    over = threading.Event()

    @world.app.get("/slow")
    def slow(asking: Viewer) -> None:
        over.wait(30)

    with world.service.writing(), pytest.raises(StoreLocked), world.service.reading():
        pass
    threading.Timer(3, over.set).start()
    answer = world.client.get("/slow", headers=world.bearer("viewer"))
    assert answer.status_code == 503
    assert answer.json()["type"].endswith(":took-too-long")
    assert answer.headers["cache-control"] == "no-store"
    world.service.close()


def test_a_form_that_is_refused_gets_a_page(world: World) -> None:
    """A person who sends a form gets words; whoever asks the API, or for JSON, gets a problem."""
    browser, path = world.sign_in("curator"), "/findings/0123456789abcdef/decide"
    page = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
    large = {"csrf": world.csrf(browser), "note": "x" * 3_000_000}
    elsewhere = {"origin": "https://evil.example"}

    forms = {
        403: browser.post(path, data={"csrf": "old"}, headers=page),
        413: browser.post(path, data=large, headers=page),
        421: browser.get("/findings", headers={**page, "host": "evil.example"}),
    }
    for status, answer in forms.items():
        assert (answer.status_code, answer.headers["content-type"]) == (status, "text/html; charset=utf-8")
        assert f"({status})" in answer.text
        assert answer.headers["content-security-policy"].startswith("default-src 'none'")
        assert answer.headers["cache-control"] == "no-store"
    assert "does not come from a page of this service" in forms[403].text
    assert "x" * 100 not in forms[413].text
    other_site = browser.post(path, data={"csrf": "old"}, headers=page | elsewhere)
    assert (other_site.status_code, "text/html" in other_site.headers["content-type"]) == (403, True)
    # Our own script takes a part of a page.
    part = browser.post(path, data={"csrf": "old"}, headers={"x-fragment": "1"})
    assert part.text.startswith('<p class="notice problem">')

    problem = "application/problem+json"
    for answer in (
        browser.post(path, json={}),
        browser.post(path, data={"csrf": "old"}, headers={"accept": "application/json"}),
        browser.post("/v1/decisions", data={"csrf": "old"}, headers=page),
    ):
        assert (answer.status_code, answer.headers["content-type"]) == (403, problem)


def test_a_form_of_a_session_that_has_ended_leads_to_signing_in(world: World) -> None:
    page = {"accept": "text/html", "referer": f"{HERE}/findings?outcome=refuted"}

    answer = world.client.post("/findings/decide", data={"csrf": "x"}, headers=page)
    other = world.client.post("/findings/decide", headers=page | {"referer": "http://evil.example/findings"})

    assert (answer.status_code, 'value="/findings?outcome=refuted"' in answer.text) == (401, True)
    assert (other.status_code, 'value="/"' in other.text) == (401, True)
    assert world.client.post("/v1/ask", headers=page).headers["content-type"] == "application/problem+json"


@pytest.mark.usefixtures("within_a_minute")
def test_too_many_requests_of_a_browser_get_a_page(tmp_path: Path) -> None:
    world = made(tmp_path, limits=ServiceLimits(per_minute=3))
    browser = world.sign_in("viewer")

    answers = [browser.get("/v1/health/live", headers={"accept": "text/html"}) for _ in range(3)]
    answer = browser.get("/findings", headers={"accept": "text/html"})

    assert [one.status_code for one in answers] == [200] * 3
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "60")
    assert "Too many requests" in answer.text
    # Each token is counted by itself.
    assert world.client.get("/v1/health/live", headers=world.bearer("viewer")).status_code == 429
    assert world.client.get("/v1/health/live", headers=world.bearer("admin")).status_code == 200
    world.service.close()


def test_whatever_changes_something_is_in_the_record(world: World) -> None:
    world.client.get("/v1/runs", headers=world.bearer("admin"))
    world.client.post("/v1/tasks/0123456789abcdef/cancel", headers=world.bearer("curator"))
    world.client.post("/v1/tasks/0123456789abcdef/cancel", headers=world.bearer("viewer"))
    world.client.post("/v1/ask", headers=world.bearer("wrong"))
    world.sign_in("viewer")

    found = world.client.get("/v1/actions", headers=world.bearer("admin")).json()["actions"]

    assert [(a["name"], a["method"], a["route"], a["object"], a["status"]) for a in found] == [
        ("viewer.name", "POST", "/sign-in", "", 303),
        ("", "POST", "/v1/ask", "", 401),
        ("viewer.name", "POST", "/v1/tasks/{task}/cancel", "0123456789abcdef", 403),
        ("curator.name", "POST", "/v1/tasks/{task}/cancel", "0123456789abcdef", 404),
    ]
    secrets_ = [*world.tokens.values(), *(token.split("_", 2)[2] for token in world.tokens.values())]
    ledger = b"".join(path.read_bytes() for path in Path(world.service.options.ledger or "").parent.glob("ledger*"))
    assert not [token for token in secrets_ if token.encode() in ledger]


def test_without_users_this_machine_alone_is_let_in(tmp_path: Path) -> None:
    options = ServiceOptions(ledger=str(tmp_path / "l.sqlite"))
    service = Service(options)
    client = TestClient(create_app(service), "http://[::1]:8000", headers=bearer(service))

    assert client.get("/v1/actions").status_code == 200
    for name, value in (("x-forwarded-for", "192.0.2.1"), ("forwarded", "for=192.0.2.1"), ("via", "1.1 x")):
        assert client.get("/v1/actions", headers={name: value}).status_code == 401
    # Others would be let in with the first request after the last token was revoked.
    token, entry = service.users.add("a", "admin", by="t")
    assert client.get("/v1/actions").status_code == 401
    service.users.revoke(entry.id)
    assert client.get("/v1/actions").status_code == 401
    assert client.get("/v1/actions", headers={BEARER: f"Bearer {token}"}).status_code == 401
    service.close()
    beyond = Service(options.model_copy(update={"is_local": False, "ledger": str(tmp_path / "m.sqlite")}))
    assert TestClient(create_app(beyond), HERE).get("/v1/actions").status_code == 401
    beyond.close()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--host", "0.0.0.0"], "would listen on 0.0.0.0"),  # noqa: S104
        (["--host", "::"], "would listen on ::"),
        (["--host", "192.0.2.1"], "would listen on 192.0.2.1"),
        (["--allowed-host", "kg.example.org"], "would answer to kg.example.org"),
    ],
)
def test_without_users_it_does_not_listen_beyond_this_machine(tmp_path: Path, options: list[str], words: str) -> None:
    refusal = kgcheck("serve", "--ledger", tmp_path / "l.sqlite", "--port", "0", *options)

    assert refusal.refuses("the service has no users", code=2)
    assert words in refusal.err
    assert "kgcheck token add NAME --role admin" in refusal.err


HOSTS = ["evil.example", "127.0.0.1.evil.example", "localhost@evil.example", "", "a b", "[::1", ":80"]


def test_another_host_is_refused(tmp_path: Path) -> None:
    service = Service(ServiceOptions(ledger=str(tmp_path / "l.sqlite")))
    client = TestClient(create_app(service), HERE)

    for host in HOSTS:
        assert client.get("/v1/health/live", headers={"host": host}).status_code == 421
    for name in ("localhost", "LOCALHOST:1", "127.0.0.1:8000", "[::1]:8000", "[::1]"):
        assert client.get("/v1/health/live", headers={"host": name}).status_code == 200
    check_host("kg.example.org:443", frozenset())
    service.close()


CROSS = [
    {"sec-fetch-site": "same-origin", "origin": "https://evil.example"},
    {"sec-fetch-site": "same-origin", "origin": "null"},
    {"sec-fetch-site": "none", "origin": "http://127.0.0.1"},
    {"sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "same-site"},
    {"sec-fetch-site": "cross-site", "origin": HERE},
    {"origin": "null"},
    {"origin": "http://evil.example"},
    {"origin": "http://127.0.0.1:9000"},
    {"origin": "http://127.0.0.1.evil.example:8000"},
    {"origin": "http://["},
]


def test_a_page_elsewhere_can_change_nothing(tmp_path: Path) -> None:
    service = Service(ServiceOptions(ledger=str(tmp_path / "l.sqlite")))
    client = TestClient(create_app(service), HERE, headers=bearer(service))

    for headers in CROSS:
        assert client.post("/v1/tasks/0123456789abcdef/cancel", headers=headers).status_code == 403
        assert client.post("/sign-in", headers=headers).status_code == 403
        is_read = headers.get("origin", HERE) == HERE
        assert client.get("/v1/runs", headers=headers).status_code == (200 if is_read else 403)
    own: tuple[dict[str, str], ...] = {"sec-fetch-site": "same-origin", "origin": HERE}, {"origin": HERE}, {}
    assert [client.post("/v1/tasks/0123456789abcdef/cancel", headers=h).status_code for h in own] == [404] * 3
    assert service.actions.newest(9, name="") == []
    service.close()


def test_a_name_of_the_service_may_send_forms() -> None:
    inner = Headers({"host": "inner:8000", "origin": "https://kg.example.org"})
    check_site("POST", inner, ["kg.example.org"])
    for names in ((), ["kg.example"], ["kg.example.org:8443"]):
        with pytest.raises(NotOfThisSite):
            check_site("POST", inner, names)


HOSTILE = st.one_of(
    st.text(max_size=200),
    st.from_regex(r"kgc_[0-9a-f]{12}_[A-Za-z0-9_-]{43}", fullmatch=True),
    st.from_regex(r"(Bearer|Basic|bearer)? ?kgc_\w*_?.*", fullmatch=True),
)


@settings(max_examples=examples(80), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(HOSTILE)
def test_no_text_is_taken_for_a_token_or_a_session(world: World, text: str) -> None:
    users = world.service.users
    assert users.by_token(text) is None
    assert users.by_session(text) is None
    assert users.sign_in(text) is None


@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.binary(max_size=80).map(lambda raw: raw.translate(None, b"\r\n\0")), st.sampled_from(["Bearer ", "bearer", ""])
)
def test_no_header_is_taken_for_a_token_or_a_session(world: World, value: bytes, scheme: str) -> None:
    for name in (b"authorization", b"cookie", b"x-csrf-token"):
        raw = scheme.encode() + value if name == b"authorization" else b"kgcheck-8000=" + value
        answer = world.client.get("/v1/runs", headers=httpx2.Headers([(name, raw)]))
        assert answer.status_code == 401


@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 60), st.characters(codec="utf-8"))
def test_no_token_with_another_sign_counts(world: World, place: int, sign: str) -> None:
    token = world.tokens["admin"]
    at = place % len(token)
    if token[at] == sign:
        return
    assert world.service.users.by_token(token[:at] + sign + token[at + 1 :]) is None
    assert world.service.users.by_token(token)


def test_no_line_of_a_log_has_a_token(world: World, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        browser = world.sign_in("admin")
        secret = browser.cookies["kgcheck-8000"]
        world.client.get(f"/v1/runs/{world.tokens['admin']}", headers=world.bearer("wrong"))
        shown = world.client.get(f"/v1/runs?limit={world.tokens['admin']}", headers=world.bearer("admin")).text
        browser.post(
            "/v1/audits", json={"types": [world.tokens["viewer"]]}, headers={"x-csrf-token": world.csrf(browser)}
        )
    lines = [
        record.getMessage() for record in caplog.records if record.name.startswith(("kgcheck", "uvicorn", "fastapi"))
    ]
    for token in (*world.tokens.values(), secret):
        assert not [line for line in (*lines, shown) if token in line]
