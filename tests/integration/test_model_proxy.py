"""The endpoint through which another program asks the model: what it passes on, and what it never does."""

import http.client
import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import openai
import pytest

from kgcheck.errors import BudgetSpent
from kgcheck.llm.budget import Limits, Meter, RunMeter
from kgcheck.llm.client import ChatClient
from kgcheck.llm.proxy import ModelProxy
from kgcheck.settings import Settings
from tests.support.chat_server import Call, ChatServer, Fail, Raw, Say, Script, chat_server

KEY = "sk-the-key-of-this-endpoint"
ASK = {"model": "any", "messages": [{"role": "user", "content": "Hello"}]}


class Door(NamedTuple):
    """A proxy, what is behind it, and where it is."""

    proxy: ModelProxy
    server: ChatServer
    port: int
    transcript: Path

    def post(self, body: Any = ASK, path: str = "/v1/chat/completions", **headers: str) -> tuple[int, str]:
        """Send a request as an agent may, well formed or not."""
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        given = {"Authorization": f"Bearer {self.proxy.token}", "Content-Length": str(len(raw))} | headers
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        connection.putrequest("POST", path, skip_accept_encoding=True)
        for name, value in given.items():
            if value:
                connection.putheader(name.replace("_", "-"), value)
        connection.endheaders(raw)
        reply = connection.getresponse()
        text = reply.read().decode()
        connection.close()
        return reply.status, text

    @property
    def client(self) -> openai.OpenAI:
        return openai.OpenAI(base_url=f"http://127.0.0.1:{self.port}/v1", api_key=self.proxy.token, max_retries=0)


def behind(script: Script, folder: Path, meter: Meter | None = None) -> Iterator[Door]:
    with chat_server(script) as server:
        settings = Settings(llm_base_url=server.url, llm_model="scripted", llm_api_key=KEY, llm_retries=0)
        with ChatClient(settings) as client:
            proxy = ModelProxy(client, meter or Meter(Limits()), folder / "transcript.jsonl")
            listening = socket.create_server(("127.0.0.1", 0))
            with proxy.at(listening):
                yield Door(proxy, server, listening.getsockname()[1], folder / "transcript.jsonl")


SCRIPT: list[Script] = []


@pytest.fixture
def door(tmp_path: Path) -> Iterator[Door]:
    SCRIPT[:] = [lambda asked: Say("Hello yourself")]
    yield from behind(lambda asked: SCRIPT[0](asked), tmp_path)


def test_the_client_of_openai_works_whole_and_streamed_with_tools(door: Door) -> None:
    tools: Any = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}]
    messages: Any = ASK["messages"]
    whole = door.client.chat.completions.create(model="x", messages=messages, temperature=0.5)
    SCRIPT[0] = lambda asked: Say(calls=(Call("look", {"at": "this"}),))
    with door.client.chat.completions.stream(model="x", messages=messages, tools=tools) as stream:
        for _ in stream:
            pass
        called = stream.get_final_completion()

    assert whole.choices[0].message.content == "Hello yourself"
    assert [m.id for m in door.client.models.list()] == ["scripted"]
    assert called.choices[0].message.tool_calls
    assert called.choices[0].message.tool_calls[0].function.arguments == '{"at": "this"}'
    assert [body.get("temperature") for body in door.server.requests] == [0.5, None]
    assert {body["model"] for body in door.server.requests} == {"scripted"}
    assert "stream" not in door.server.requests[1]
    assert door.server.keys == [KEY, KEY]


@pytest.mark.parametrize(
    "path",
    [
        *("/v1/files", "/v1/chat/completions/", "/v1/../v1/chat/completions", "/v1/chat/completions?x=1", "/"),
        *("http://example.org/v1/chat/completions", "//example.org/v1/chat/completions", "example.org:443"),
    ],
)
def test_no_other_path_and_no_other_host_is_reached(door: Door, path: str) -> None:
    assert door.post(path=path)[0] == 404
    assert door.server.requests == []


def test_no_other_method_is_answered(door: Door) -> None:
    for method in ("CONNECT", "PUT", "DELETE", "HEAD", "OPTIONS"):
        connection = http.client.HTTPConnection("127.0.0.1", door.port, timeout=10)
        connection.request(method, "example.org:443" if method == "CONNECT" else "/v1/chat/completions")
        assert connection.getresponse().status == 501
        connection.close()


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Authorization": ""}, 401),
        ({"Authorization": f"Bearer {KEY}"}, 401),
        ({"Content_Length": "9000000"}, 413),
        ({"Content_Length": "-1"}, 411),
        ({"Content_Length": "²"}, 411),
        ({"Content_Length": ""}, 411),
        ({"Transfer_Encoding": "chunked"}, 411),
        ({"Host": "example.org"}, 200),
    ],
)
def test_requests_without_the_key_or_of_no_size_are_refused_unread(
    door: Door, headers: dict[str, str], status: int
) -> None:
    if "Content_Length" in headers:
        headers = {"Content-Length": headers["Content_Length"]}
    assert door.post(**headers)[0] == status
    assert len(door.server.requests) == (status == 200)


@pytest.mark.parametrize(
    "body",
    [
        b"not JSON",
        b"\xff\xfe",
        b"[" * 100_000,
        [],
        {},
        {"messages": []},
        {"messages": ["Hello"]},
        ASK | {"tools": [{"type": "web_search"}]},
        {
            "messages": [
                {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://example.org/"}}]}
            ]
        },
        {"messages": [{"role": "user", "content": [{"type": "file", "file": {"file_id": "1"}}]}]},
        {"messages": [{"role": "user", "content": [{"type": "file", "image_url": {"url": "data:"}}]}]},
        {"messages": [{"role": "user", "content": ["https://example.org/"]}]},
    ],
)
def test_a_request_that_is_none_or_leads_elsewhere_is_refused(door: Door, body: Any) -> None:
    assert door.post(body)[0] == 400
    assert door.server.requests == []


def test_what_the_endpoint_would_keep_or_look_up_is_left_out(door: Door) -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    more = {"store": True, "metadata": {"a": "b"}, "web_search_options": {}, "extra_headers": {"x": "y"}, "n": 50}
    messages = [{"role": "user", "content": [{"type": "text", "text": "Look"}, image]}]

    assert door.post({"messages": messages} | more)[0] == 200
    assert door.server.requests == [{"model": "scripted", "messages": messages}]
    assert door.proxy.left_out == {"store", "metadata", "web_search_options", "extra_headers"}


def test_the_key_comes_back_in_no_answer_and_in_no_error(door: Door) -> None:
    SCRIPT[0] = lambda asked: Say(f"my key is {KEY}")
    whole = door.post()
    SCRIPT[0] = lambda asked: Fail(400, f"bad key {KEY}")
    failed = door.post()
    SCRIPT[0] = lambda asked: Raw(f"<p>{KEY}</p>".encode(), "text/html")
    page = door.post()

    assert [whole[0], failed[0], page[0]] == [200, 400, 503]
    assert "my key is ***" in whole[1]
    assert KEY not in whole[1] + failed[1] + page[1] + door.transcript.read_text()
    assert len(door.proxy.failures) == 2


def test_a_budget_that_is_spent_ends_the_calls_one_by_one(tmp_path: Path) -> None:
    total = RunMeter(Limits(turns=3))
    for door in behind(lambda asked: Say("Hello"), tmp_path, Meter(Limits(turns=2), within=total)):
        statuses = [door.post()[0] for _ in range(3)]
        assert (statuses, door.proxy.spent, len(door.server.requests)) == ([200, 200, 403], None, 2)
    for door in behind(lambda asked: Say("Hello"), tmp_path, Meter(Limits(), within=total)):
        statuses = [door.post()[0] for _ in range(2)]
        assert (statuses, len(door.server.requests)) == ([200, 403], 1)
        assert isinstance(door.proxy.spent, BudgetSpent)
        assert door.proxy.failures == []


def test_a_silent_connection_and_one_that_breaks_off_hold_nothing_up_for_long(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kgcheck.llm.proxy._Handler.timeout", 0.2)
    silent = socket.create_connection(("127.0.0.1", door.port), timeout=10)
    with socket.create_connection(("127.0.0.1", door.port), timeout=10) as broken:
        broken.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nContent-Le")

    assert door.post()[0] == 200
    assert door.proxy.failures == []
    silent.close()
