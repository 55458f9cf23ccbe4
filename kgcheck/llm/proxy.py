"""Loopback endpoint by which another program asks the configured model: it never sees the key, and is metered.

It has two doors, chat completions and the list of models, with the one model in it, and passes on one request at a
time. What makes an endpoint look elsewhere, or keep what it is sent, is refused or left out: addresses of files and
images, tools of its own, ``store``. Every exchange is written down.
"""

import hmac
import json
import secrets
import socket
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from itertools import takewhile
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, Field, ValidationError

from kgcheck.errors import BudgetExceeded, BudgetSpent, KgcheckError, ModelContext, ModelError
from kgcheck.inputs import LARGEST_DOCUMENT, parse_json, wrong_parts
from kgcheck.llm.budget import Meter
from kgcheck.llm.client import ChatClient
from kgcheck.visible import as_json

_PARAMETERS = frozenset(
    "messages tools tool_choice parallel_tool_calls functions function_call response_format temperature top_p seed stop"
    " max_tokens max_completion_tokens presence_penalty frequency_penalty logit_bias reasoning_effort verbosity".split()
)
"""Parameters that are passed on; what else a program sends is left out."""

_OURS = frozenset(("model", "n", "stream", "stream_options"))
_IDLE_S = 10
"""Seconds for which a connection may be silent: others wait for it."""


class _InlineImage(BaseModel):
    url: str = Field(pattern="^data:")


class _ImagePart(BaseModel):
    type: Literal["image_url"]
    image_url: _InlineImage


class _TextPart(BaseModel):
    type: Literal["text", "refusal"]


class _ProgramMessage(BaseModel):
    content: str | list[_TextPart | _ImagePart] | None = None


class _ProgramTool(BaseModel):
    type: Literal["function"]


class ProgramRequest(BaseModel):
    """Request of another program: a conversation that leads nowhere else, and functions of its own alone."""

    messages: list[_ProgramMessage] = Field(min_length=1)
    tools: list[_ProgramTool] | None = None


class ModelProxy(HTTPServer):
    """The endpoint, at a socket that listens on loopback, here or in a sandbox; ``token`` is the only key it takes.

    ``left_out`` are the parameters that were not passed on, ``failures`` what the endpoint itself failed with, and
    ``spent`` is why a budget for all work is over.
    """

    def __init__(self, client: ChatClient, meter: Meter, transcript: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Handler, bind_and_activate=False)
        self.socket.close()
        self.token = secrets.token_urlsafe(24)
        self.client, self.meter = client, meter
        self.left_out: set[str] = set()
        self.failures: list[str] = []
        self.spent: BudgetSpent | None = None
        self._transcript = transcript
        self._before: Sequence[object] = ()

    @contextmanager
    def at(self, listening: socket.socket) -> Iterator[None]:
        """Answer at a socket that listens already, one request at a time; the last one is waited for."""
        self.socket = listening
        thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield
        finally:
            self.shutdown()
            self.server_close()
            thread.join()

    def exchange(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Pass on a request, and write down what came of it."""
        sent = {name: value for name, value in body.items() if name in _PARAMETERS}
        ProgramRequest.model_validate(sent)
        self.left_out |= body.keys() - _PARAMETERS - _OURS
        pairs = zip(self._before, sent["messages"], strict=False)
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        line: dict[str, Any] = {"same": same, "messages": sent["messages"][same:]}
        self._before = sent["messages"]
        try:
            reply, made = self.client.forward(sent, self.meter)
            line |= {"reply": made["choices"][0]["message"], "usage": reply.usage.model_dump()}
        except KgcheckError as error:
            line["error"] = error.message
            if isinstance(error, BudgetSpent):
                self.spent = error
            elif not isinstance(error, BudgetExceeded | ModelContext):
                self.failures.append(error.message)
            raise
        finally:
            with self._transcript.open("a", encoding="ascii") as file:
                file.write(f"{as_json(line)}\n")
        return made

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of a program that breaks a connection off; what else went wrong here is a failure."""
        error = sys.exception()
        if not isinstance(error, ConnectionError | TimeoutError):
            self.failures.append(f"{type(error).__name__}: {error}")


class _Handler(BaseHTTPRequestHandler):
    timeout = _IDLE_S
    server: ModelProxy

    def do_GET(self) -> None:
        if self._may("/v1/models"):
            self._send(200, {"object": "list", "data": [{"id": self.server.client.model, "object": "model"}]})

    def do_POST(self) -> None:
        if not self._may("/v1/chat/completions"):
            return
        size = self.headers.get("Content-Length", "")
        if not size.isascii() or not size.isdigit() or self.headers.get("Transfer-Encoding"):
            self._refuse(411, "the length of a request is to be given")
        elif int(size) > LARGEST_DOCUMENT:
            self._refuse(413, f"a request has at most {LARGEST_DOCUMENT:,} bytes")
        else:
            self._answer(self.rfile.read(int(size)))

    def _answer(self, raw: bytes) -> None:
        try:
            body = parse_json(raw.decode())
            if not isinstance(body, dict):
                raise ValueError("it is no object")
            made = self.server.exchange(body)
        except ValueError as error:
            why = wrong_parts(error) if isinstance(error, ValidationError) else str(error)
            self._refuse(400, f"this request is not passed on: {why}")
        except ModelContext as error:
            self._refuse(400, error.message, "context_length_exceeded")
        except KgcheckError as error:
            # Clients try again after 503 alone.
            status = 403 if isinstance(error, BudgetExceeded) else 400 if type(error) is ModelError else 503
            self._refuse(status, error.message)
        else:
            self._send(200, _as_stream(made) if body.get("stream") else made)

    def _may(self, path: str) -> bool:
        """Look at route and key before a byte of the body is read."""
        key = self.headers.get("Authorization", "").encode()
        if self.path != path:
            self._refuse(404, f"here is {path} and nothing else")
            return False
        if not hmac.compare_digest(key, f"Bearer {self.server.token}".encode()):
            self._refuse(401, "the key is that of OPENAI_API_KEY")
            return False
        return True

    def _refuse(self, status: int, message: str, code: str | None = None) -> None:
        self._send(status, {"error": {"message": message, "type": "kgcheck", "code": code}})

    def _send(self, status: int, body: dict[str, Any] | str) -> None:
        raw = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/event-stream" if isinstance(body, str) else "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, *parts: object) -> None:
        """Say nothing on stderr."""


def _as_stream(made: Mapping[str, Any]) -> str:
    """A whole answer as a stream of one piece: a budget is counted from whole answers."""
    choices = []
    for choice in made["choices"]:
        calls = [{"index": number} | call for number, call in enumerate(choice["message"].get("tool_calls") or ())]
        delta = choice["message"] | ({"tool_calls": calls} if calls else {})
        choices.append({"index": choice.get("index", 0), "finish_reason": choice.get("finish_reason"), "delta": delta})
    piece = json.dumps({**made, "object": "chat.completion.chunk", "choices": choices})
    return f"data: {piece}\n\ndata: [DONE]\n\n"
