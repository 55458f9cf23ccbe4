"""ChatClient: chat completions and tool calls at any OpenAI-compatible endpoint, within limits.

Needs the extra ``llm``. The endpoint, the key and the model come from the environment (kgcheck.settings). Connections,
retries on transient errors, timeouts of a read, streams and their assembly are the package ``openai``'s own. Ours is
what it does not do: an end of all attempts together, answers of bounded size, no redirects, errors that never hold the
key, tokens where a server does not count them, and requests without what an endpoint refuses: no parameter is sent that
nobody asked for, and one that is refused is left out from then on, with a note (its ``parse`` and ``stream`` take
strict tools and schemas only, which few servers know). What a model writes is data: callers check.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, Field, ValidationError

from kgcheck import deadline
from kgcheck.cleartext import is_cleartext_host, refuse_cleartext
from kgcheck.errors import (
    BudgetExceeded,
    ConfigurationError,
    KgcheckError,
    MissingExtra,
    ModelAccess,
    ModelAnswer,
    ModelContext,
    ModelError,
    ModelUnavailable,
)
from kgcheck.inputs import wrong_parts
from kgcheck.llm.budget import Limits, Meter, Usage, prices_of
from kgcheck.model import Value
from kgcheck.plurals import how_many
from kgcheck.redact import HIDDEN
from kgcheck.settings import Settings

if TYPE_CHECKING:
    import ssl

    import openai

    from kgcheck.llm.wire import Completion

Message = dict[str, Any]
"""One message of a conversation, as the chat completions API has it."""

A = TypeVar("A", bound=BaseModel)

_CHARACTERS_PER_TOKEN = 3
"""Cautious: English has about four. Used only where a server does not count."""

_DISPENSABLE = (
    *("temperature", "reasoning_effort", "max_completion_tokens", "max_tokens"),
    *("parallel_tool_calls", "stream_options"),
)
"""Parameters without which a request still asks the same question."""

_VALUE = re.compile(r"too (?:large|high|small|low)|at (?:most|least)|must be|less than|greater than|between")
"""Words by which an endpoint refuses a value, and not the parameter."""

_FORM = "response_format"
_REFUSED = (400, 415, 422, 501)
"""Statuses with which endpoints refuse a parameter; a form also without naming it."""


class ToolSpec(Value):
    """A tool that a model may call; ``parameters`` is a JSON schema."""

    name: str
    description: str
    parameters: dict[str, Any]


class ToolCall(Value):
    """A call as the model wrote it; ``arguments`` is text that may be no JSON."""

    id: str
    name: str
    arguments: str


class Reply(Value):
    """Answer of a model."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    usage: Usage = Usage()
    model: str = ""
    cut_off: bool = Field(default=False, description="the model stopped because it ran out of tokens")
    kept: bool = Field(default=False, description="it was kept from an earlier call")

    def as_message(self) -> Message:
        """The reply as it goes back into the conversation."""
        message: Message = {"role": "assistant", "content": self.text}
        if self.calls:
            message["tool_calls"] = [
                {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.arguments}}
                for c in self.calls
            ]
        return message


@cache
def _trusted() -> "ssl.SSLContext":
    """The certificates that are trusted, read once: that takes longer than a whole short request."""
    import httpx2

    return httpx2.create_ssl_context()


class ChatClient:
    """One model at one endpoint. May be used from several threads."""

    def __init__(self, settings: Settings, notes: list[str] | None = None) -> None:
        """Open a client; `notes` takes a line for each parameter that is left out since the endpoint refuses it."""
        try:
            import httpx2
            import openai

            from kgcheck.llm import wire as chat_wire
            from kgcheck.llm.kept import KeptReplies
        except ImportError:
            raise MissingExtra("a language model", "llm") from None
        if not settings.llm_model:
            raise ConfigurationError("no language model is named", "set KGCHECK_LLM_MODEL")
        key = settings.llm_api_key.get_secret_value() if settings.llm_api_key else None
        if not key and not settings.llm_base_url:
            raise ConfigurationError(
                "no language model can be reached", "set KGCHECK_LLM_BASE_URL, KGCHECK_LLM_API_KEY or both"
            )
        self.model = settings.llm_model
        self.small = settings.llm_small
        self.reasoning_effort = settings.llm_reasoning_effort
        self.prices = prices_of(settings)
        self._openai, self._wire, self._broken = openai, chat_wire, httpx2.TransportError
        self._key = key
        self._notes: list[str] = [] if notes is None else notes
        self._noted: set[str] = set()
        self._sampling = {
            "temperature": settings.llm_temperature,
            "reasoning_effort": settings.llm_reasoning_effort,
            "max_completion_tokens": settings.llm_max_output_tokens,
        }
        bounds = chat_wire.Bounds(int(settings.llm_max_mb * 1_000_000))
        hooks: dict[str, list[Callable[..., Any]]] = {"request": [bounds.of_request], "response": [bounds.of_response]}
        self._address = settings.llm_base_url or "https://api.openai.com/v1"
        self._refused = refused_parameters(self._address, self.model)
        self._client = openai.OpenAI(
            # Servers of one's own often want none, and the client wants some.
            api_key=key or "none",
            base_url=self._address,
            timeout=settings.llm_timeout_s,
            max_retries=settings.llm_retries,
            # The key and the conversation go to the address that was given, and to no other that it names.
            http_client=openai.DefaultHttpxClient(event_hooks=hooks, follow_redirects=False, verify=_trusted()),
        )
        endpoint = self._client.base_url
        if key and endpoint.scheme != "https" and not is_cleartext_host(endpoint.host, settings.cleartext_hosts):
            self._client.close()
            refuse_cleartext(endpoint.host, settings.cleartext_hosts, "write the endpoint with https://")
        self._kept, self._found = KeptReplies(settings, self._notes), 0

    def close(self) -> None:
        self._client.close()
        self._kept.close()
        if self._found:
            kept = how_many(self._found, "reply", "replies")
            self._notes.append(f"{kept} of {self.model} were kept from earlier calls and cost nothing")

    def __enter__(self) -> "ChatClient":
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def complete(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[ToolSpec] = (),
        answer: type[BaseModel] | None = None,
        one_call: bool = False,
        on_text: Callable[[str], None] | None = None,
        meter: Meter | None = None,
        temperature: float | None = None,
    ) -> Reply:
        """Send a conversation and wait for the reply; its text has a form if the endpoint can bind it to one.

        With `one_call` it is not to call several tools at once, as far as the endpoint can bind it. A reply that was
        kept from an earlier call is a turn that costs nothing.
        """
        request = self._request(messages, tools, answer, temperature)
        request |= {"parallel_tool_calls": False} if tools and one_call else {}
        meter = meter or Meter(Limits())
        meter.take_turn()
        with suppress(ValidationError):
            if kept := self._kept.find(self._address, request):
                reply = Reply.model_validate_json(kept).model_copy(update={"kept": True})
                self._found += 1
                if on_text and reply.text:
                    on_text(reply.text)
                return reply
        reply, _ = self._exchange(request, meter, on_text)
        if not answer or _has_form(reply.text, answer):
            self._keep(request, reply)
        return reply

    def _keep(self, request: Mapping[str, Any], reply: Reply) -> None:
        if not reply.cut_off:
            self._kept.keep(self._address, request, reply.model_dump_json(exclude={"usage", "kept"}))

    def forward(self, request: Mapping[str, Any], meter: Meter) -> tuple[Reply, dict[str, Any]]:
        """Send a request of another program to this model, and return what came back, also as it came, without the key.

        It has parameters of the chat completions API alone; the model is always this one.
        """
        meter.take_turn()
        reply, made = self._exchange({**request, "model": self.model}, meter)
        whole = json.dumps(made.to_dict(warnings=False))
        return reply, json.loads(whole.replace(self._key, HIDDEN) if self._key else whole)

    def _exchange(
        self, request: dict[str, Any], meter: Meter, on_text: Callable[[str], None] | None = None
    ) -> tuple[Reply, Any]:
        """Send a request within the limits, and count what it takes."""
        try:
            # The retries of the client, too, end with the seconds of the conversation, or of the check around it.
            with deadline.until(meter.deadline):
                made = self._accepted(request, on_text, meter)
            completion = self._wire.read_as(self._wire.Completion, made)
        except self._wire.TooMuch as error:
            raise ModelAnswer(
                f"{self._address} answered with too much: {error}", "raise KGCHECK_LLM_MAX_MB, or see what answers"
            ) from None
        except self._wire.TooLate:
            _check_time(meter)
            raise ModelUnavailable(f"{self._address} took too long", "raise the limit") from None
        except (self._openai.OpenAIError, ValueError) as error:
            _check_time(meter)
            raise self._mapped(error) from error
        reply = _reply(completion, request)
        meter.add(reply.usage)
        return reply, made

    def answer(
        self,
        messages: Sequence[Message],
        form: type[A],
        *,
        tries: int = 3,
        meter: Meter | None = None,
        temperature: float | None = None,
        named: set[str] | None = None,
    ) -> tuple[A, Usage]:
        """Ask until the text has the wanted form; `named` takes the model by which the endpoint answers."""
        conversation = list(messages)
        used = Usage()
        wrong = ""
        for _ in range(tries):
            reply = self.complete(conversation, answer=form, meter=meter, temperature=temperature)
            used = used + reply.usage
            if named is not None:
                named.add(reply.model or self.model)
            try:
                parsed = parse_answer(reply.text, form)
                if len(conversation) > len(messages):
                    # The next time it comes without the answers before it that had not the form.
                    self._keep(self._request(messages, (), form, temperature), reply)
                return parsed, used
            except ModelAnswer as error:
                if reply.cut_off:
                    raise ModelAnswer(
                        f"the answer of {self.model} was cut off after {reply.usage.output_tokens:,} tokens",
                        "raise KGCHECK_LLM_MAX_OUTPUT_TOKENS, or the limit of the endpoint",
                    ) from None
                wrong = error.message
            conversation += [reply.as_message(), {"role": "user", "content": f"{wrong}. Answer with that JSON alone."}]
        message = f"the model {self.model} gave no usable answer in {tries} tries: {wrong}"
        raise ModelAnswer(message, "try another model")

    def _request(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        answer: type[BaseModel] | None,
        temperature: float | None,
    ) -> dict[str, Any]:
        request: dict[str, Any] = {"model": self.model, "messages": list(messages)}
        sampling = self._sampling | ({} if temperature is None else {"temperature": temperature})
        request |= {name: value for name, value in sampling.items() if value is not None}
        if tools:
            request["tools"] = [{"type": "function", "function": tool.model_dump()} for tool in tools]
        if answer:
            form = {"name": answer.__name__, "schema": answer.model_json_schema()}
            request[_FORM] = {"type": "json_schema", "json_schema": form}
        return request

    def _accepted(self, request: dict[str, Any], on_text: Callable[[str], None] | None, meter: Meter) -> Any:
        """Send a request, without what the endpoint refuses; what that is, it says one at a time."""
        if on_text:
            request = request | {"stream": True, "stream_options": {"include_usage": True}}
        tried_without: set[str] = set()
        while True:
            left_out = self._refused | tried_without
            if "max_completion_tokens" in left_out & request.keys():
                # Its older name, which some servers alone know.
                request = request | {"max_tokens": request["max_completion_tokens"]}
            sent = {name: value for name, value in request.items() if name not in left_out}
            try:
                made = self._client.chat.completions.create(**sent)
                break
            except self._openai.APIStatusError as error:
                if name := _named_parameter(error, sent):
                    self._refused.add(name)
                elif _FORM in sent and _may_refuse(error):
                    # It may have another reason: what comes without a form tells.
                    tried_without.add(_FORM)
                else:
                    raise
        self._refused.update(tried_without)
        for name in sorted(self._refused & request.keys() - self._noted):
            self._noted.add(name)
            self._notes.append(f"{self.model} at {self._address} takes no {name}: it was left out")
        return self._streamed(made, on_text, meter, request) if on_text else made

    def _streamed(self, stream: Any, on_text: Callable[[str], None], meter: Meter, request: Mapping[str, Any]) -> Any:
        """Assemble an answer from its pieces; what came of one that ends early is counted as well as can be."""
        from openai.lib.streaming.chat import ChatCompletionStreamState

        state: ChatCompletionStreamState[None] = ChatCompletionStreamState()
        written = 0
        with stream, ExitStack() as unfinished:
            unfinished.callback(lambda: meter.add(_estimated(request, written)))
            for chunk in self._chunks(stream):
                meter.check()
                piece = self._wire.read_as(self._wire.CompletionChunk, chunk)
                try:
                    state.handle_chunk(chunk)
                except (AssertionError, AttributeError, LookupError, RuntimeError, TypeError) as error:
                    raise ValueError(f"a piece does not go with those before it: {error}") from error
                text = "".join(part.delta.content or "" for part in piece.choices)
                calls = [call for part in piece.choices for call in part.delta.tool_calls or ()]
                written += len(text) + sum(len(call.function.arguments or "") for call in calls)
                if text:
                    on_text(text)
            unfinished.pop_all()
        try:
            return state.get_final_completion()
        except (AssertionError, RuntimeError) as error:
            raise ValueError("the answer has no pieces") from error

    def _chunks(self, stream: Any) -> Iterator[Any]:
        """Pieces of an answer; a connection that breaks between them is no fault of who reads them."""
        try:
            yield from stream
        except self._broken as error:
            raise ModelUnavailable(f"{self._address} broke off: {error}", "try again later") from error

    def _mapped(self, error: Exception) -> KgcheckError:
        """One error of the tree for every error of the client. No message carries the key."""
        message = _message_of(error)
        message = (message.replace(self._key, HIDDEN) if self._key else message)[:300]
        api = self._openai
        match error:
            case api.AuthenticationError() | api.PermissionDeniedError():
                return ModelAccess(f"{self._address} refused the key", "set KGCHECK_LLM_API_KEY")
            case api.NotFoundError():
                return ModelError(
                    f"{self._address} has no model {self.model!r}: {message}",
                    "check KGCHECK_LLM_MODEL and KGCHECK_LLM_BASE_URL",
                )
            case api.BadRequestError() if _is_context(error, message):
                return ModelContext(
                    f"the conversation does not fit in the context of {self.model}", "use a model with a longer one"
                )
            case api.APITimeoutError():
                return ModelUnavailable(f"{self._address} took too long", "raise KGCHECK_LLM_TIMEOUT_S")
            case api.RateLimitError():
                return ModelUnavailable(f"{self._address} takes no more requests for now: {message}", "try again later")
            case api.APIConnectionError() | api.InternalServerError() | api.ConflictError():
                return ModelUnavailable(f"{self._address} does not answer: {message}", "check KGCHECK_LLM_BASE_URL")
            case ValueError() | api.APIResponseValidationError():
                why = " ".join(message.split())
                return ModelAnswer(f"{self._address} sent no completion: {why}", "check that it is OpenAI-compatible")
            case _:
                return ModelError(
                    f"{self._address} refused the request: {message}", "check that it is OpenAI-compatible"
                )


def _message_of(error: Exception) -> str:
    """The message of an error; the client leaves out one that is no text."""
    message, body = str(getattr(error, "message", None) or error).strip(), getattr(error, "body", None)
    shown = body.get("message") if isinstance(body, Mapping) and body.get("message") else body
    return message if isinstance(shown, str) or not shown else f"{message} - {json.dumps(shown)}"


def _check_time(meter: Meter) -> None:
    """Tell an endpoint that failed from a conversation, or a check around it, that is out of time."""
    meter.check()
    if deadline.left() == 0:
        raise BudgetExceeded("the model was stopped: no seconds are left", "raise the limit")


def parse_answer(text: str, form: type[A]) -> A:
    r"""Read an answer that was asked for in a form.

    >>> from kgcheck.llm.budget import Usage
    >>> parse_answer('```json\n{"input_tokens": 3}\n```', Usage).total
    3
    """
    fenced = re.fullmatch(r"\s*+```(?:json)?[^\S\n]*+\n(.*?)\n?```\s*+", text, re.DOTALL)
    try:
        return form.model_validate_json(fenced[1] if fenced else text)
    except ValidationError as error:
        raise ModelAnswer(f"the answer is no {form.__name__}: {wrong_parts(error)}") from None


def _has_form(text: str, form: type[BaseModel]) -> bool:
    with suppress(ModelAnswer):
        return bool(parse_answer(text, form))
    return False


def _is_context(error: "openai.APIStatusError", text: str) -> bool:
    return error.code == "context_length_exceeded" or "context length" in text.lower()


@cache
def refused_parameters(address: str, model: str) -> set[str]:
    """Names of the parameters that an endpoint has refused for a model, as long as this process lives."""
    return set()


def _may_refuse(error: "openai.APIStatusError") -> bool:
    return error.status_code in _REFUSED and not _is_context(error, error.message)


def _named_parameter(error: "openai.APIStatusError", sent: Mapping[str, Any]) -> str | None:
    """Find the parameter of a request that an endpoint does not take by its own words, if it can be asked without."""
    if not _may_refuse(error):
        return None
    names = [name for name in (*_DISPENSABLE, _FORM) if name in sent]
    if error.code == "invalid_value" or _VALUE.search(error.message):
        return None
    if error.param:
        return next((name for name in names if error.param.partition(".")[0] == name), None)
    # A word that prompts have, too, is meant only where it is quoted; a body may quote the whole request.
    text = str(_without_request(error.body))
    forms = {name: rf"\b{name}\b" if "_" in name else rf"[\"'`.]{name}[\"'`]" for name in names}
    named = [name for name, form in forms.items() if re.search(form, text)]
    return named[0] if len(named) == 1 else None


def _without_request(body: object) -> object:
    """The body of an error without what it repeats of the request, as FastAPI does."""
    if isinstance(body, Mapping):
        return {key: _without_request(part) for key, part in body.items() if key not in ("input", "ctx")}
    return [_without_request(part) for part in body] if isinstance(body, list) else body


def _estimated(request: Mapping[str, Any], written: int) -> Usage:
    """The usage of a request that the endpoint did not count, by the characters that were sent and written."""
    sent = len(json.dumps([request.get(part) for part in ("messages", "tools", _FORM)]))
    return Usage(
        input_tokens=sent // _CHARACTERS_PER_TOKEN + 1,
        output_tokens=written // _CHARACTERS_PER_TOKEN + 1,
        estimated=True,
    )


def _reply(completion: "Completion", request: dict[str, Any]) -> Reply:
    if not completion.choices:
        raise ModelAnswer("the endpoint answered without a choice", "check that it is OpenAI-compatible")
    choice = completion.choices[0]
    calls = tuple(
        ToolCall(id=call.id or f"call_{n}", name=call.function.name or "", arguments=call.function.arguments or "")
        for n, call in enumerate(choice.message.tool_calls or ())
        if call.type == "function"
    )
    text = choice.message.content or ""
    counted = completion.usage
    if counted:
        usage = Usage(
            input_tokens=counted.prompt_tokens,
            output_tokens=counted.completion_tokens,
            cached_tokens=counted.cached_tokens,
        )
    else:
        written = len(text) + sum(len(c.arguments) for c in calls)
        usage = _estimated(request, written)
    return Reply(
        text=text, calls=calls, usage=usage, model=completion.model or "", cut_off=choice.finish_reason == "length"
    )
