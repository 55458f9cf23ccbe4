"""Without users, whoever started the service is let in and nobody else: other users of the machine, pages, proxies."""

from __future__ import annotations

import http.client
import random
import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from pydantic import SecretStr, ValidationError

from kgcheck.ledger.accounts import Role
from kgcheck.mcp.server import make_app
from kgcheck.service.access import StartToken
from kgcheck.service.app import create_app
from kgcheck.service.state import Service, ServiceOptions
from kgcheck.settings import Settings
from kgcheck.workspace import Workspace
from tests.support.api import bearer
from tests.support.chance import new_seed
from tests.support.mcp import serving
from tests.support.proxy import passing_on

HERE = "http://127.0.0.1:8000"
CANCEL = "/v1/tasks/0123456789abcdef/cancel"


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    made = Service(ServiceOptions(ledger=str(tmp_path / "l.sqlite")), Settings(home=tmp_path))
    yield made
    made.close()


def browser_of(service: Service) -> TestClient:
    return TestClient(create_app(service), HERE, follow_redirects=False)


def test_the_address_that_was_printed_is_opened_once(service: Service) -> None:
    browser, token = browser_of(service), service.start_token.value

    opened = browser.get(f"/sign-in?token={token}&next=/runs")

    assert (opened.status_code, opened.headers["location"]) == (303, "/runs")
    cookie = opened.headers["set-cookie"]
    assert re.fullmatch(r"kgcheck-8000=\w{64}; HttpOnly; Max-Age=43200; Path=/; SameSite=strict", cookie)
    assert token not in cookie
    assert browser.get("/v1/actions").status_code == 200
    # What changes something comes from a page of the service.
    assert browser.post(CANCEL).status_code == 403
    assert browser.post(CANCEL, headers={"x-csrf-token": service.start_token.csrf}).status_code == 404
    assert browser.get("/sign-in?token=x&next=/runs").status_code == 401
    # A bearer's token and a cookie's are two.
    for one in (service.start_token.cookie, service.start_token.csrf):
        assert browser_of(service).get("/v1/runs", headers={"authorization": f"Bearer {one}"}).status_code == 401
    other = TestClient(create_app(service), HERE, cookies={"kgcheck-8000": token})
    assert other.get("/v1/runs").status_code == 401


def test_the_token_may_be_typed_into_the_form(service: Service) -> None:
    browser = browser_of(service)
    page = browser.get("/findings", headers={"accept": "text/html"})
    assert (page.status_code, "printed an address" in page.text) == (401, True)

    assert browser.post("/sign-in", data={"token": "x" * 43}).status_code == 401
    signed = browser.post("/sign-in", data={"token": service.start_token.value, "next": "/findings"})

    assert (signed.status_code, signed.headers["location"]) == (303, "/findings")
    assert browser.get("/v1/runs").status_code == 200


@pytest.mark.parametrize("scheme", ["", "Basic ", "bearer", "Bearer x", "Token "])
def test_another_header_is_no_token(service: Service, scheme: str) -> None:
    head = {"authorization": f"{scheme}{service.start_token.value}"}
    assert browser_of(service).get("/v1/runs", headers=head).status_code == 401


def test_it_ends_with_the_first_user(service: Service) -> None:
    browser, head = browser_of(service), bearer(service)
    browser.get(f"/sign-in?token={service.start_token.value}")
    assert [browser.get("/v1/runs").status_code, browser.get("/v1/runs", headers=head).status_code] == [200, 200]

    service.users.add("ada", "admin", by="t")

    assert [browser.get("/v1/runs").status_code, browser.get("/v1/runs", headers=head).status_code] == [401, 401]
    assert browser.get(f"/sign-in?token={service.start_token.value}").status_code == 200
    assert browser.get("/v1/runs").status_code == 401


def test_who_is_not_told_the_token_may_ask_for_health_alone(service: Service) -> None:
    browser = browser_of(service)
    assert browser.get("/v1/health/live").status_code == 200
    assert browser.get("/v1/health/ready").status_code in (200, 503)
    assert [browser.get(path).status_code for path in ("/v1/runs", "/v1/decisions", "/", "/v1/actions")] == [401] * 4


def test_it_is_another_at_each_start_unless_the_environment_has_one(tmp_path: Path) -> None:
    made = {StartToken(Settings(home=tmp_path)).value for _ in range(3)}
    known = StartToken(Settings(home=tmp_path, start_token=SecretStr("k" * 32)))

    assert {len(value) for value in made} == {43}
    assert len(made) == 3
    assert (known.value, known.is_known) == ("k" * 32, True)
    for weak in ("short", "k" * 31, "k" * 31 + " ", "k" * 257):
        with pytest.raises(ValidationError, match="openssl rand -hex 32"):
            Settings(home=tmp_path, start_token=SecretStr(weak))


def test_wrong_tokens_keep_out_nobody_who_has_the_right_one(service: Service) -> None:
    browser = browser_of(service)
    wrong = {browser.post("/sign-in", data={"token": "x"}).status_code for _ in range(30)}
    assert wrong == {401, 429}
    assert browser.get("/v1/runs", headers=bearer(service)).status_code == 200
    assert browser.post("/sign-in", data={"token": service.start_token.value}).status_code == 303


# Whatever a browser, a name server and a proxy may say, against a server with sockets.

OTHERS = (
    "evil.example",
    "127.0.0.1.evil.example:{port}",
    "127.0.0.1:1",
    "localhost:1",
    "localhost.:{port}",
    "user@{own}",
)


def attacks(own: str, port: int, token: str, cookie: str, csrf: str) -> list[tuple[str, dict[str, str], bool]]:
    """Requests by method and headers, each with whether it may be let in."""
    others = [one.format(port=port, own=own) for one in OTHERS]
    hosts = [own, f"localhost:{port}", f"LOCALHOST:{port}", *others]
    origins = [
        None,
        f"http://{own}",
        f"https://{own}",
        "null",
        "",
        f"ftp://{own}",
        own,
        f"http://{own}/",
        f"http://{own}.a",
    ]
    origins += [f"http://{one}" for one in others]
    referers = [None, f"http://{own}/findings", "https://evil.example/"]
    sites = [None, "same-origin", "none", "same-site", "cross-site", "Same-Origin", ""]
    modes = [None, "navigate", "cors", "no-cors"]
    people: list[dict[str, str]] = [
        {}, {"authorization": f"Bearer {token}"}, {"authorization": f"Bearer {token[:-1]}"},
        {"cookie": cookie}, {"cookie": cookie, "x-csrf-token": csrf}, {"cookie": cookie[:-1]},
    ]  # fmt: skip
    made = []
    for host, origin, referer, site, mode, person, method in product(
        hosts, origins, referers, sites, modes, people, ("GET", "POST")
    ):
        sent = {"host": host, "origin": origin, "referer": referer, "sec-fetch-site": site, "sec-fetch-mode": mode}
        headers = {name: value for name, value in sent.items() if value is not None} | person
        # Behind a tunnel the port is another one, and the cookie has another name.
        is_here = host.lower().rpartition(":")[0] in ("127.0.0.1", "localhost")
        is_own = origin is None or origin in (f"http://{host.lower()}", f"https://{host.lower()}")
        is_own &= method == "GET" or site in (None, "same-origin", "none")
        has_token = person.get("authorization", "").endswith(token)
        has_cookie = (
            person.get("cookie") == cookie
            and host.endswith(f":{port}")
            and (method == "GET" or "x-csrf-token" in person)
        )
        made.append((method, headers, is_here and is_own and (has_token or has_cookie)))
    return made


def status_of(port: int, method: str, path: str, headers: dict[str, str]) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        # Without a Host of its own, and nothing else added.
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in headers.items():
            connection.putheader(name, value)
        if method == "POST":
            connection.putheader("content-length", "2")
            connection.putheader("content-type", "application/json")
        connection.endheaders(b"{}" if method == "POST" else None)
        return connection.getresponse().status
    finally:
        connection.close()


def drawn(made: list[Any], number: int) -> list[Any]:
    """Some that are to be let in, and as many that are not."""
    draw = random.Random(new_seed(39))  # noqa: S311
    good, bad = [one for one in made if one[2]], [one for one in made if not one[2]]
    return [*draw.sample(good, number), *draw.sample(bad, 2 * number)]


@pytest.mark.slow
def test_no_page_and_no_name_reaches_the_service(service: Service) -> None:
    start, odd = service.start_token, []
    with serving(create_app(service)) as address:
        port = int(address.rpartition(":")[2])
        own = f"127.0.0.1:{port}"
        made = attacks(own, port, start.value, f"kgcheck-{port}={start.cookie}", start.csrf)
        for method, headers, may in drawn(made, 200):
            status = status_of(port, method, "/v1/runs" if method == "GET" else CANCEL, headers)
            if (status in (200, 404)) != may or (not may and status not in (401, 403, 421)):
                odd.append((method, headers, may, status))
    assert odd == []
    assert len(made) > 100_000
    assert {row.status for row in service.actions.newest(1_000, name="")} <= {401}


def test_no_page_and_no_name_reaches_the_tools(tmp_path: Path) -> None:
    with Workspace(ledger=tmp_path / "l.sqlite", settings=Settings(home=tmp_path)) as workspace:
        start, odd = StartToken(workspace.settings, Role.VIEWER), []
        _, app = make_app(workspace, Role.VIEWER, start)
        with serving(app) as address:
            port = int(address.rpartition(":")[2])
            made = attacks(f"127.0.0.1:{port}", port, start.value, f"kgcheck-{port}={start.cookie}", start.csrf)
            # There is no cookie here, and everything is POST.
            made = [(m, h, may and "authorization" in h) for m, h, may in made if m == "POST"]
            for method, headers, may in drawn(made, 40):
                status = status_of(port, method, "/mcp", headers)
                if (status in (401, 403, 421)) == may:
                    odd.append((headers, may, status))
            assert status_of(port, "GET", "/health", {"host": "10.0.0.7:8001"}) == 200
    assert odd == []


@pytest.mark.parametrize("is_plain", [True, False])
def test_behind_a_proxy_nobody_is_the_admin(service: Service, is_plain: bool) -> None:
    """A bare ``proxy_pass`` says nothing of itself, and names the service as the host."""
    token, head = service.start_token.value, bearer(service)
    with (
        serving(create_app(service)) as address,
        passing_on(int(address.rpartition(":")[2]), "/kg", keeps=False, is_plain=is_plain) as proxy,
    ):
        port, elsewhere = int(proxy.split(":")[2].partition("/")[0]), {"origin": "https://other.example"}
        same = elsewhere | {"sec-fetch-site": "same-origin"}

        def status(method: str, path: str, headers: dict[str, str]) -> int:
            return status_of(port, method, f"/kg{path}", {"host": "other.example"} | headers)

        expected = {401, 403} if is_plain else {421}
        for headers in ({}, elsewhere, same, {"sec-fetch-site": "same-origin"}, {"cookie": "kgcheck-8000=x"}):
            assert status("GET", "/v1/runs", headers) in expected
            assert status("POST", CANCEL, headers) in expected
            assert status("GET", "/sign-in?token=x", headers) in expected
        # With the token, too, what pages elsewhere send is refused.
        assert status("POST", CANCEL, head | same) in expected
        assert status("GET", f"/sign-in?token={token}", same) in expected
