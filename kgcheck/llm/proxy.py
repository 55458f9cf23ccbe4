"""Loopback endpoint by which another program asks the configured model: it never sees the key, and is metered.

It has two doors, chat completions and the list of models, with the one model in it, and passes on what the API has for
a conversation, one request at a time. All that makes an endpoint look elsewhere, or keep what it is sent, is refused
or left out: addresses of files and images, tools of its own, ``store``. Every exchange is written down.
"""

import hmac
import json
import secrets
import socket
import threading
from collections.abc import Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

from kgcheck.errors import BudgetExceeded, BudgetSpent, KgcheckError, ModelContext, ModelError, UsageError
from kgcheck.inputs import LARGEST_DOCUMENT, parse_json
from kgcheck.llm.budget import Meter
from kgcheck.llm.client import ChatClient, Message
from kgcheck.visible import as_json

_PARAMETERS = frozenset(
    "messages tools tool_choice parallel_tool_calls functions function_call response_format temperature top_p seed stop"
    " max_tokens max_completion_tokens presence_penalty frequency_penalty logit_bias reasoning_effort verbosity".split()
)
"""Parameters that are passed on; what else a program sends is left out, and the transcript says so."""

_MOST_CONNECTIONS = 32
_IDLE_S = 60
"""Seconds for which a connection may be silent."""


class ModelProxy(ThreadingHTTPServer):
    """The endpoint, at a socket that listens on loopback, here or in a sandbox; ``token`` is the only key it takes.

    ``left_out`` are the parameters that were not passed on, ``failures`` what the endpoint itself failed with, and
    ``spent`` is why a budget for all work is over.
    """

    daemon_threads, block_on_close = True, False

    def __init__(self, client: ChatClient, meter: Meter, transcript: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Handler, bind_and_activate=False)
        self.socket.close()
        self.token = secrets.token_urlsafe(24)
        self.bearer = f"Bearer {self.token}".encode()
        self.client, self.meter = client, meter
        self.left_out: set[str] = set()
        self.failures: list[str] = []
        self.spent: BudgetSpent | None = None
        self._transcript = transcript
        self._before: Sequence[Message] = ()
        self._one, self._closed = threading.Lock(), False
        self._free = threading.BoundedSemaphore(_MOST_CONNECTIONS)

    def listen(self, listening: socket.socket) -> Self:
        """Answer at a socket that listens already."""
        self.socket = listening
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def stop(self) -> None:
        """Take no more requests, and wait for the one that is under way."""
        self.shutdown()
        self.server_close()
        with self._one:
            self._closed = True

    def exchange(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Pass on a request, and write down what came of it."""
        sent = {name: value for name, value in body.items() if name in _PARAMETERS}
        self.left_out |= body.keys() - sent.keys() - {"model", "stream", "stream_options", "n"}
        _refuse_what_leads_elsewhere(sent)
        with self._one:
            if self._closed:
                raise UsageError("the program has ended", "run it again")
            line: dict[str, Any] = {"same": _shared(self._before, sent["messages"])}
            line["messages"] = sent["messages"][line["same"] :]
            try:
                reply, made = self.client.forward(sent, self.meter)
                line |= {"reply": made["choices"][0]["message"], "usage": reply.usage.model_dump(mode="json")}
                return made
            except KgcheckError as error:
                line["error"] = error.message
                if isinstance(error, BudgetSpent):
                    self.spent = error
                elif not isinstance(error, BudgetExceeded | ModelContext):
                    self.failures.append(error.message)
                raise
            finally:
                self._before = sent["messages"]
                self._write(line)

    def _write(self, line: Mapping[str, Any]) -> None:
        try:
            with self._transcript.open("a", encoding="ascii") as file:
                file.write(f"{as_json(line)}\n")
        except OSError as error:
            self.failures.append(f"cannot write {self._transcript}: {error.strerror}")

    def verify_request(self, request: object, client_address: object) -> bool:
        return self._free.acquire(blocking=False)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: a program that breaks a connection off is no fault here."""


class _Handler(BaseHTTPRequestHandler):
    """The routes."""

    protocol_version, timeout = "HTTP/1.1", _IDLE_S
    server: ModelProxy

    def do_GET(self) -> None:
        if self._may("/v1/models"):
            self._send(200, {"object": "list", "data": [{"id": self.server.client.model, "object": "model"}]})

    def do_POST(self) -> None:
        if not self._may("/v1/chat/completions"):
            return
        size = self.headers.get("Content-Length", "")
        if not size.isascii() or not size.isdigit() or self.headers.get("Transfer-Encoding"):
            return self._refuse(411, "the length of a request is to be given")
        if int(size) > LARGEST_DOCUMENT:
            return self._refuse(413, f"a request has at most {LARGEST_DOCUMENT:,} bytes")
        try:
            body = parse_json(self.rfile.read(int(size)).decode())
            if not isinstance(body, dict):
                raise UsageError("a request is no JSON object", "send one")
            made = self.server.exchange(body)
        except ValueError as error:
            return self._refuse(400, f"the request is no JSON: {error}")
        except KgcheckError as error:
            return self._refuse(*_status(error))
        if body.get("stream"):
            return self._stream(made)
        self._send(200, made)

    def _may(self, path: str) -> bool:
        """Look at route and key before a byte of the body is read."""
        if self.path != path:
            self._refuse(404, f"here is {path} and nothing else")
        elif not hmac.compare_digest(
            self.headers.get("Authorization", "").encode(), b"Bearer " + self.server.token.encode()
        ):
            self._refuse(401, "the key is that of OPENAI_API_KEY")
        else:
            return True
        return False

    def _refuse(self, status: int, message: str, code: str | None = None) -> None:
        self.close_connection = True
        self._send(status, {"error": {"message": message, "type": "kgcheck", "code": code}})

    def _send(self, status: int, body: object, kind: str = "application/json") -> None:
        raw = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(raw)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(raw)

    def _stream(self, made: dict[str, Any]) -> None:
        """Send a whole answer as a stream of one piece: its usage could not be told from a part."""
        choices = []
        for choice in made["choices"]:
            message = choice["message"]
            calls = [{"index": number} | call for number, call in enumerate(message.get("tool_calls") or ())]
            choices.append({**choice, "delta": message | ({"tool_calls": calls} if calls else {})})
            del choices[-1]["message"]
        piece = json.dumps({**made, "object": "chat.completion.chunk", "choices": choices})
        self._send(200, f"data: {piece}\n\ndata: [DONE]\n\n", "text/event-stream")

    def log_message(self, *parts: object) -> None:
        """Say nothing on stderr."""


def _status(error: KgcheckError) -> tuple[int, str, str | None]:
    """Answer to a request that failed; clients try again after 503 alone."""
    if isinstance(error, BudgetExceeded):
        return 403, error.in_one_line, "budget"
    if isinstance(error, ModelContext):
        return 400, error.in_one_line, "context_length_exceeded"
    return (400 if type(error) in (UsageError, ModelError) else 503), error.in_one_line, None


def _refuse_what_leads_elsewhere(sent: Mapping[str, Any]) -> None:
    """Refuse a request that has no conversation, or by which the endpoint would fetch what a program names."""
    messages = sent.get("messages")
    if not isinstance(messages, list) or not messages or not all(isinstance(one, dict) for one in messages):
        raise UsageError("a request has no messages", "send a list of them")
    for message in messages:
        content = message.get("content")
        for part in content if isinstance(content, list) else ():
            if not _stays_here(part):
                raise UsageError("a message leads elsewhere", "send text, and images as data: nothing is fetched")
    tools = sent.get("tools") or []
    if not isinstance(tools, list) or any(not isinstance(t, dict) or t.get("type") != "function" for t in tools):
        raise UsageError("a tool is no function", "name functions of the program: the endpoint uses no tools")


def _stays_here(part: object) -> bool:
    """Tell whether a part of a message is text, or an image that comes with it."""
    match part:
        case {"type": "text" | "refusal"}:
            return True
        case {"type": "image_url", "image_url": {"url": str(address)}}:
            return address.startswith("data:")
    return False


def _shared(before: Sequence[Message], now: Sequence[Message]) -> int:
    """Number of messages with which a conversation goes on from the one before."""
    same = 0
    while same < min(len(before), len(now)) and before[same] == now[same]:
        same += 1
    return same
