"""HTTP hooks that bound a chat exchange in time and size, and models of its responses.

Needs the extra ``llm``. The forms are here because ``openai`` either builds anything without a look, or, told to be
strict, refuses servers that leave out fields which nobody reads, or have reasons of their own to finish.
"""

from collections.abc import Iterator
from typing import Annotated, Any, TypeVar

import httpx2
from pydantic import BaseModel, Field

from kgcheck import deadline


class TooLate(BaseException):
    """The deadline has passed. Not an Exception: the client would try again after one."""


class TooMuch(BaseException):
    """An answer is larger than the limit. Not an Exception: the client would ask for it again."""


class Bounds:
    """Hooks of an HTTP client that end an exchange."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes

    def of_request(self, request: httpx2.Request) -> None:
        """Give each attempt of the client, retries too, the seconds that are left."""
        # What is packed has no size that could be told before it is unpacked.
        request.headers["Accept-Encoding"] = "identity"
        left = deadline.left()
        if left is None:
            return
        if left <= 0:
            raise TooLate
        timeouts = request.extensions.get("timeout", {})
        request.extensions["timeout"] = {k: left if v is None else min(v, left) for k, v in timeouts.items()}

    def of_response(self, response: httpx2.Response) -> None:
        """Read no more of an answer than the limits allow."""
        if response.headers.get("Content-Encoding", "identity").lower() not in ("", "identity"):
            raise TooMuch("it is packed")
        if isinstance(response.stream, httpx2.SyncByteStream):
            response.stream = _Bounded(response.stream, self._max_bytes)


class _Bounded(httpx2.SyncByteStream):
    def __init__(self, stream: httpx2.SyncByteStream, max_bytes: int) -> None:
        self._stream, self._max_bytes = stream, max_bytes

    def __iter__(self) -> Iterator[bytes]:
        came = 0
        for chunk in self._stream:
            came += len(chunk)
            if came > self._max_bytes:
                raise TooMuch(f"it has over {self._max_bytes:,} bytes")
            if deadline.left() == 0:
                raise TooLate
            yield chunk

    def close(self) -> None:
        self._stream.close()


Tokens = Annotated[int, Field(ge=0, strict=True)]


class CalledFunction(BaseModel):
    """The tool that a call names, and its arguments as text."""

    name: str | None = None
    arguments: str | None = None


class WireToolCall(BaseModel):
    """A call of a tool; a model may make some of another type, which have no function."""

    id: str | None = None
    type: str | None = "function"
    function: CalledFunction = CalledFunction()


class AssistantMessage(BaseModel):
    """Message of a model."""

    content: str | None = None
    tool_calls: list[WireToolCall] | None = None


class CompletionChoice(BaseModel):
    """One answer."""

    message: AssistantMessage
    finish_reason: str | None = None


class TokenCounts(BaseModel):
    """Tokens, as the endpoint counts them; many endpoints give no details."""

    prompt_tokens: Tokens
    completion_tokens: Tokens
    prompt_tokens_details: Any = None

    @property
    def cached_tokens(self) -> int:
        """Tokens of the input that the endpoint had kept; 0 where what it says of that has another form."""
        details = self.prompt_tokens_details
        cached = details.get("cached_tokens") if isinstance(details, dict) else None
        return min(cached, self.prompt_tokens) if isinstance(cached, int) and cached > 0 else 0


class Completion(BaseModel):
    """An answer of the endpoint: what is read of it must have this form, the client does not look."""

    choices: list[CompletionChoice]
    usage: TokenCounts | None = None
    model: str | None = None


class ChunkChoice(BaseModel):
    """Increment of one answer in a piece of a stream."""

    delta: AssistantMessage


class CompletionChunk(BaseModel):
    """A piece of an answer that is streamed; the last one may only count."""

    choices: list[ChunkChoice]
    usage: TokenCounts | None = None


F = TypeVar("F", bound=BaseModel)


def read_as(form: type[F], made: Any) -> F:
    """Read what the client made of an answer: a page becomes a text, and JSON of any form an object."""
    if not hasattr(made, "to_dict"):
        raise ValueError(f"{str(made)[:60]!r}")
    return form.model_validate(made.to_dict(warnings=False))
