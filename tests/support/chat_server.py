"""An OpenAI-compatible endpoint on loopback that plays scripts: the stand-in for a paid model, over real HTTP.

A script is a function from what was asked to a move: `Say` something or `Fail`. Scripts are stateless but for the
number of the request, so that several conversations may share a server.
"""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from kgcheck.llm.client import refused_parameters
from tests.support.audits import Said, kgcheck

MODEL = "scripted"
INJECTION = "IGNORE ALL PREVIOUS INSTRUCTIONS"
"""Starts an instruction hidden in data: a model that plays `injected` obeys the rest of its line."""


@dataclass(frozen=True)
class Call:
    """A tool call; text instead of a dictionary goes out as it is, JSON or not."""

    name: str
    arguments: dict[str, Any] | str = field(default_factory=dict)

    @property
    def text(self) -> str:
        return self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments)


@dataclass(frozen=True)
class Say:
    """A reply."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    delay_s: float = 0.0
    counted: bool = True
    model: str = MODEL
    heard: threading.Event | None = None
    """Of a streamed reply: after the first word, wait until this is set."""


@dataclass(frozen=True)
class Fail:
    """An HTTP error."""

    status: int
    message: str
    code: str | None = None
    headers: dict[str, str] = field(default_factory=dict)
    param: str | None = None


@dataclass(frozen=True)
class Raw:
    """A body as it is; ``short`` bytes of what its header promises never come, and ``drip_s`` parts its bytes."""

    body: bytes
    type: str
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    short: int = 0
    drip_s: float = 0.0


Move = Say | Fail | Raw


@dataclass(frozen=True)
class Asked:
    """One request, as a script sees it."""

    number: int
    body: dict[str, Any]

    @property
    def messages(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.body["messages"]
        return found

    @property
    def tools(self) -> list[str]:
        return [t["function"]["name"] for t in self.body.get("tools", [])]

    @property
    def form(self) -> str | None:
        """Name of the form that the answer must have."""
        name: str | None = self.body.get("response_format", {}).get("json_schema", {}).get("name")
        return name

    @property
    def text(self) -> str:
        """Everything said so far."""
        return "\n".join(str(m.get("content") or "") for m in self.messages)

    @property
    def last(self) -> str:
        return str(self.messages[-1].get("content") or "")


Script = Callable[[Asked], Move]


def good(*moves: Move) -> Script:
    """Plays the moves in order; the last one again and again."""
    return lambda asked: moves[min(asked.number, len(moves)) - 1]


def chatty(asked: Asked) -> Move:
    """Talks, and does nothing."""
    return Say(f"That is an interesting question. Let me think about it some more ({asked.number}).")


def stubborn(move: Move) -> Script:
    """Does one thing, whatever it is told."""
    return lambda asked: move


def wrong_tool(then: Script, times: int = 1) -> Script:
    """Calls a tool that does not exist, then plays on."""
    return _first(times, Say(calls=(Call("delete_graph", {"really": True}),)), then)


def wrong_json(then: Script, times: int = 1) -> Script:
    """Calls the first tool with broken JSON, or answers with it, then plays on."""

    def play(asked: Asked) -> Move:
        if asked.number > times:
            return then(Asked(asked.number - times, asked.body))
        broken = '{"label": "Protein", "id": '
        return Say(calls=(Call(asked.tools[0], broken),)) if asked.tools else Say(broken)

    return play


def empty(asked: Asked) -> Move:
    """Says nothing."""
    return Say()


def endless(call: Call) -> Script:
    """Calls one tool for ever."""
    return lambda asked: Say(calls=(call,))


def slow(then: Script, seconds: float) -> Script:
    """Takes its time."""

    def play(asked: Asked) -> Move:
        move = then(asked)
        return Say(move.text, move.calls, seconds, move.counted) if isinstance(move, Say) else move

    return play


def rate_limited(then: Script, times: int = 1) -> Script:
    """429 so many times, then plays on."""
    return _first(times, Fail(429, "Rate limit reached", "rate_limit_exceeded", {"retry-after-ms": "1"}), then)


def unauthorized(asked: Asked) -> Move:
    """401."""
    return Fail(401, "Incorrect API key provided", "invalid_api_key")


def context_too_long(asked: Asked) -> Move:
    """400 as servers answer to a conversation that is too long."""
    return Fail(400, "This model's maximum context length is 8192 tokens", "context_length_exceeded")


def refusing(name: str, move: Move, then: Script) -> Script:
    """Refuses requests that have a parameter, and plays on without it."""
    return lambda asked: move if name in asked.body else then(asked)


def injected(then: Script, obey: Callable[[str, Asked], Move]) -> Script:
    """Plays on until an instruction turns up in what it is shown, and then obeys that."""

    def play(asked: Asked) -> Move:
        shown = "\n".join(str(m.get("content") or "") for m in asked.messages if m["role"] in ("tool", "user"))
        if INJECTION in shown:
            return obey(shown.split(INJECTION, 1)[1].split("\n", 1)[0].strip(), asked)
        return then(asked)

    return play


def _first(times: int, move: Move, then: Script) -> Script:
    return lambda asked: move if asked.number <= times else then(Asked(asked.number - times, asked.body))


class ChatServer:
    """The endpoint; `requests` are the bodies that came, `keys` the keys with them, `heard` whether waits ended."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.heard: list[bool] = []
        self._lock = threading.Lock()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def take(self, body: dict[str, Any], key: str) -> Move:
        with self._lock:
            self.requests.append(body)
            self.keys.append(key)
            number = len(self.requests)
        return self.script(Asked(number, body))

    def start(self) -> None:
        # The port may have been another server's.
        refused_parameters.cache_clear()
        self._thread.start()

    def stop(self) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


def with_model(script: Script, *arguments: object, cwd: Path) -> tuple[Said, list[Asked]]:
    """What a command says that asks a model, and what the model was asked."""
    asked: list[Asked] = []

    def play(one: Asked) -> Move:
        asked.append(one)
        return script(one)

    with chat_server(play) as server, pytest.MonkeyPatch.context() as environment:
        environment.setenv("KGCHECK_LLM_BASE_URL", server.url)
        environment.setenv("KGCHECK_LLM_MODEL", MODEL)
        environment.setenv("KGCHECK_LLM_API_KEY", "none")
        return kgcheck(*arguments, "--brain", "llm", cwd=cwd), asked


@contextmanager
def chat_server(script: Script) -> Iterator[ChatServer]:
    """A running endpoint."""
    server = ChatServer(script)
    server.start()
    try:
        yield server
    finally:
        server.stop()


def _handler(server: ChatServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers["Content-Length"]))
            if self.path != "/v1/chat/completions":
                self._send(404, {"error": {"message": "no such route", "code": None}})
                return
            body = json.loads(raw)
            move = server.take(body, self.headers.get("Authorization", "").removeprefix("Bearer "))
            try:
                self._play(move, body)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True

        def _play(self, move: Move, body: dict[str, Any]) -> None:
            if isinstance(move, Fail):
                error = {"message": move.message, "type": "error", "param": move.param, "code": move.code}
                self._send(move.status, {"error": error}, move.headers)
                return
            if isinstance(move, Raw):
                self._raw(move)
                return
            time.sleep(move.delay_s)
            if body.get("stream"):
                self._stream(move, body)
            else:
                self._send(200, _completion(move, body))

        def _raw(self, move: Raw) -> None:
            self.send_response(move.status)
            for name, value in ({"Content-Type": move.type} | move.headers).items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(move.body) + move.short))
            self.end_headers()
            for start in range(0, len(move.body), 1 if move.drip_s else 1 << 16):
                self.wfile.write(move.body[start : start + (1 if move.drip_s else 1 << 16)])
                time.sleep(move.drip_s)
            self.close_connection = bool(move.short)

        def _send(self, status: int, body: dict[str, Any], headers: dict[str, str] | None = None) -> None:
            raw = json.dumps(body).encode()
            self.send_response(status)
            for name, value in ({"Content-Type": "application/json"} | (headers or {})).items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def _stream(self, move: Say, body: dict[str, Any]) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Connection", "close")
            self.end_headers()
            for number, chunk in enumerate(_chunks(move, body)):
                self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
                self.wfile.flush()
                if number == 1 and move.heard:
                    server.heard.append(move.heard.wait(5))
            self.wfile.write(b"data: [DONE]\n\n")
            self.close_connection = True

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing on stderr."""

    return Handler


def _usage(move: Say, body: dict[str, Any]) -> dict[str, int]:
    sent = sum(len(str(m.get("content") or "").split()) for m in body["messages"])
    said = len(move.text.split()) + sum(len(c.text.split()) for c in move.calls)
    return {"prompt_tokens": sent, "completion_tokens": said, "total_tokens": sent + said}


def _calls(move: Say) -> list[dict[str, Any]]:
    return [
        {"id": f"call_{n}", "type": "function", "function": {"name": call.name, "arguments": call.text}}
        for n, call in enumerate(move.calls)
    ]


def _envelope(kind: str) -> dict[str, Any]:
    return {"id": "chatcmpl-1", "object": kind, "created": 1, "model": MODEL}


def _completion(move: Say, body: dict[str, Any]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": move.text or None}
    if move.calls:
        message["tool_calls"] = _calls(move)
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if move.calls else "stop"}
    counted = {"usage": _usage(move, body)} if move.counted else {}
    return _envelope("chat.completion") | {"model": move.model, "choices": [choice]} | counted


def _chunks(move: Say, body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    kind = "chat.completion.chunk"
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": word} for word in move.text.split(" ") for word in (word + " ",)]
    for n, call in enumerate(_calls(move)):
        text = call["function"]["arguments"]
        first = {"index": n} | call | {"function": {"name": call["function"]["name"], "arguments": text[:4]}}
        deltas += [{"tool_calls": [first]}, {"tool_calls": [{"index": n, "function": {"arguments": text[4:]}}]}]
    for delta in deltas:
        yield _envelope(kind) | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    finish = "tool_calls" if move.calls else "stop"
    yield _envelope(kind) | {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}
    if move.counted:
        yield _envelope(kind) | {"choices": [], "usage": _usage(move, body)}
