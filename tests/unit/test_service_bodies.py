"""What a client sends is read in a thread, and has no more values than a request needs."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st

from kgcheck.service import bodies
from kgcheck.service.access import BodyTooLarge
from kgcheck.service.app import create_app
from kgcheck.service.bodies import MOST_VALUES, SHOWN_ERRORS, json_of
from kgcheck.service.state import Service, ServiceOptions
from tests.support.api import bearer

MANY = MOST_VALUES + 1
JSON = {"content-type": "application/json"}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Any:
    service = Service(ServiceOptions(ledger=str(tmp_path_factory.mktemp("service") / "l.sqlite")))
    with TestClient(create_app(service), "http://127.0.0.1", headers=bearer(service)) as client:
        yield client


def unknown(count: int) -> dict[str, int]:
    return {f"k{number}": 0 for number in range(count)}


@pytest.mark.parametrize(
    "body",
    [
        json.dumps(unknown(MANY)),
        "{" + ",".join(['"a":0'] * MANY) + "}",
        json.dumps([0] * MANY),
        json.dumps([[]] * MANY),
        json.dumps([{}] * MANY),
        json.dumps({"findings": [unknown(90)] * 120}),
        json.dumps([[[0] * 100] * 120]),
    ],
)
def test_a_body_with_too_many_values_is_refused(client: TestClient, body: str) -> None:
    with pytest.raises(BodyTooLarge, match="may have 10,000 values"):
        json_of(body.encode())
    for path in ("/v1/ask", "/v1/decisions", "/v1/decisions/by-filter", "/v1/check", "/v1/audits", "/v1/patches"):
        assert client.post(path, content=body, headers=JSON).status_code == 413, path


@pytest.mark.parametrize("body", [b"[" * 100_000, b'{"a":' * 100_000, b"9" * 10_000, b"{", b"", b"\xff\xfe{", b"nul"])
def test_what_is_no_json_is_said_so(client: TestClient, body: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        json_of(body)
    assert client.post("/v1/ask", content=body, headers=JSON).status_code in (400, 422)


values = st.recursive(
    st.none() | st.integers() | st.text(), lambda part: st.lists(part) | st.dictionaries(st.text(), part)
)


@given(values)
def test_a_small_body_is_what_json_says(value: Any) -> None:
    assert json_of(json.dumps(value).encode()) == value


def test_the_largest_decision_is_taken(client: TestClient) -> None:
    rows = [{"fingerprint": f"{n:016x}", "seen": f"{n:016x}.1"} for n in range(1_000)]
    answer = client.post("/v1/decisions", json={"findings": rows, "action": "accept"})
    assert answer.status_code not in (413, 422), answer.text


def test_of_many_errors_a_few_are_said(client: TestClient) -> None:
    answer = client.post("/v1/ask", json=unknown(MOST_VALUES - 10))
    assert answer.status_code == 422
    assert len(answer.json()["errors"]) == SHOWN_ERRORS


def test_a_form_with_too_many_fields_is_refused(client: TestClient) -> None:
    form = {"content-type": "application/x-www-form-urlencoded"}
    for body in ("&" * 100_000, "a=1&" * 100_000):
        assert client.post("/sign-in", content=body, headers=form).status_code == 413


def test_others_are_answered_while_a_body_is_read(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    is_reading, may_end = threading.Event(), threading.Event()

    def slow(body: bytes) -> Any:
        is_reading.set()
        assert may_end.wait(60)
        return json_of(body)

    monkeypatch.setattr(bodies, "json_of", slow)
    thread = threading.Thread(target=client.post, args=["/v1/ask"], kwargs={"json": {}})
    thread.start()
    assert is_reading.wait(60)
    assert client.get("/v1/health/live").status_code == 200
    assert thread.is_alive()
    may_end.set()
    thread.join(60)
