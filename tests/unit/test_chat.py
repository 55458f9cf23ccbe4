"""The chat client against a scripted endpoint on loopback."""

import gzip
import json
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pydantic import SecretStr

from kgcheck.errors import (
    EXIT_INCOMPLETE,
    BudgetExceeded,
    ConfigurationError,
    MissingExtra,
    ModelAccess,
    ModelAnswer,
    ModelContext,
    ModelError,
    ModelUnavailable,
)
from kgcheck.llm.budget import Limits, Meter, Prices, Usage
from kgcheck.llm.client import ChatClient, ToolSpec, parse_answer
from kgcheck.model import Value
from kgcheck.settings import Settings
from tests.support import chat_server as play
from tests.support.chat_server import Call, ChatServer, Fail, Move, Raw, Say, Script

ASK = [{"role": "user", "content": "who are you"}]
TOOL = ToolSpec(name="look", description="look", parameters={"type": "object", "properties": {}})


class Answer(Value):
    """What the tests ask for."""

    city: str


@pytest.fixture
def notes() -> list[str]:
    return []


@pytest.fixture
def serve(notes: list[str]) -> Iterator[Any]:
    servers: list[ChatServer] = []
    clients: list[ChatClient] = []

    def start(script: Script, **settings: Any) -> tuple[ChatClient, ChatServer]:
        server = ChatServer(script)
        server.start()
        servers.append(server)
        given: dict[str, Any] = {
            "llm_base_url": server.url,
            "llm_api_key": SecretStr("sk-secret"),
            "llm_model": play.MODEL,
        }
        clients.append(ChatClient(Settings(**(given | settings)), notes))
        return clients[-1], server

    yield start
    for client in clients:
        client.close()
    for server in servers:
        server.stop()


@pytest.mark.parametrize("streamed", [False, True])
def test_text_and_tokens(serve: Any, streamed: bool) -> None:
    client, server = serve(play.good(Say("I am a script")))
    heard: list[str] = []

    reply = client.complete(ASK, on_text=heard.append if streamed else None)

    assert reply.text.strip() == "I am a script"
    assert reply.usage == Usage(input_tokens=3, output_tokens=4)
    assert "".join(heard).strip() == ("I am a script" if streamed else "")
    assert server.keys == ["sk-secret"]


@pytest.mark.parametrize("streamed", [False, True])
def test_tool_calls_come_as_they_were_written(serve: Any, streamed: bool) -> None:
    client, server = serve(play.good(Say(calls=(Call("look", {"at": "P04637"}), Call("look", "{broken")))))

    reply = client.complete(ASK, tools=[TOOL], one_call=True, on_text=(lambda _: None) if streamed else None)

    assert [(c.name, c.arguments) for c in reply.calls] == [("look", '{"at": "P04637"}'), ("look", "{broken")]
    assert server.requests[0]["parallel_tool_calls"] is False
    assert reply.as_message()["tool_calls"][0]["function"]["name"] == "look"


def test_answer_in_a_form_after_two_wrong_ones(serve: Any) -> None:
    client, server = serve(play.good(Say("no idea"), Say('{"town": "Bern"}'), Say('```json\n{"city": "Bern"}\n```')))

    found, used = client.answer(ASK, Answer)

    assert found == Answer(city="Bern")
    assert used.total > 0
    assert server.requests[0]["response_format"]["json_schema"]["name"] == "Answer"
    assert "city" in server.requests[2]["messages"][-1]["content"]


def test_answer_that_never_has_the_form(serve: Any) -> None:
    client, server = serve(play.chatty)

    with pytest.raises(ModelAnswer, match="no usable answer in 3 tries"):
        client.answer(ASK, Answer)
    assert len(server.requests) == 3


def test_empty_and_broken_answers_are_no_answers() -> None:
    for text in ("", "{", "[]", '{"city": 1}', "```json\n{}\n```"):
        with pytest.raises(ModelAnswer):
            parse_answer(text, Answer)


def test_transient_errors_are_tried_again(serve: Any) -> None:
    client, server = serve(play.rate_limited(play.good(Say("there")), times=2))

    assert client.complete(ASK).text == "there"
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("script", "error", "says"),
    [
        (play.rate_limited(play.empty, times=9), ModelUnavailable, "no more requests"),
        (play.unauthorized, ModelAccess, "refused the key"),
        (play.context_too_long, ModelContext, "does not fit"),
        (play.stubborn(Fail(404, "no such model")), ModelError, "has no model 'scripted'"),
        (play.stubborn(Fail(500, "oops", headers={"retry-after-ms": "1"})), ModelUnavailable, "does not answer"),
        (play.stubborn(Fail(422, "what")), ModelError, "refused the request"),
    ],
)
def test_errors_of_the_endpoint_are_of_the_tree(serve: Any, script: Script, error: type[ModelError], says: str) -> None:
    client, _ = serve(script)

    with pytest.raises(error, match=says) as caught:
        client.complete(ASK)
    assert type(caught.value) is error
    assert "sk-secret" not in caught.value.message + caught.value.hint


def test_no_parameter_is_sent_that_nobody_asked_for(serve: Any) -> None:
    client, server = serve(play.good(Say("yes")))

    client.complete(ASK)

    assert set(server.requests[0]) == {"model", "messages"}


def test_what_the_settings_ask_for_is_sent_and_a_call_overrules_them(serve: Any) -> None:
    settings = {"llm_temperature": 0, "llm_reasoning_effort": "low", "llm_max_output_tokens": 900}
    client, server = serve(play.good(Say("yes")), **settings)

    client.complete(ASK)
    client.complete(ASK, temperature=0.5)

    sent = [{key: r[key] for key in r if key not in ("model", "messages")} for r in server.requests]
    asked = {"temperature": 0, "reasoning_effort": "low", "max_completion_tokens": 900}
    assert sent == [asked, asked | {"temperature": 0.5}]


REFUSALS: dict[str, tuple[str, Move]] = {
    "GPT-5": (
        "temperature",
        Fail(
            400,
            "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) is supported.",
            "unsupported_value",
            param="temperature",
        ),
    ),
    "Mistral": (
        "stream_options",
        Raw(
            b'{"object": "error", "message": {"detail": [{"type": "extra_forbidden", "loc": ["body", "stream_options"],'
            b' "msg": "Extra inputs are not permitted"}]}, "type": "invalid_request_error", "code": 3001}',
            "application/json",
            422,
        ),
    ),
    "vLLM, an older one": (
        "max_completion_tokens",
        Raw(
            b"{\"object\": \"error\", \"message\": \"[{'type': 'extra_forbidden', 'loc': ('body',"
            b' \'max_completion_tokens\')}]", "type": "BadRequestError", "param": null, "code": 400}',
            "application/json",
            400,
        ),
    ),
    "llama.cpp, without a form": ("response_format", Fail(501, "not implemented")),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_a_parameter_that_is_refused_is_left_out_from_then_on(name: str, serve: Any, notes: list[str]) -> None:
    parameter, refusal = REFUSALS[name]
    asked = {"llm_temperature": 0, "llm_reasoning_effort": "low", "llm_max_output_tokens": 900, "llm_retries": 0}
    client, server = serve(play.refusing(parameter, refusal, play.good(Say("Bern"))), **asked)
    meter = Meter(Limits(turns=2))

    for _ in range(2):
        reply = client.complete(ASK, tools=[TOOL], one_call=True, answer=Answer, on_text=lambda _: None, meter=meter)
        assert reply.text.strip() == "Bern"

    first, *others = server.requests
    assert parameter in first
    assert [set(first) - set(request) for request in others] == [{parameter}] * 2
    instead = {"max_tokens"} if parameter == "max_completion_tokens" else set()
    assert [set(request) - set(first) for request in others] == [instead] * 2
    assert notes == [f"{play.MODEL} at {server.url} takes no {parameter}: it was left out"]


def test_another_client_of_the_endpoint_knows_what_it_refuses(serve: Any, notes: list[str]) -> None:
    parameter, refusal = REFUSALS["GPT-5"]
    client, server = serve(play.refusing(parameter, refusal, play.good(Say("Bern"))), llm_temperature=0)
    client.complete(ASK)

    with ChatClient(Settings(llm_base_url=server.url, llm_model=play.MODEL, llm_temperature=0), notes) as other:
        other.complete(ASK)
    with ChatClient(Settings(llm_base_url=server.url, llm_model="another", llm_temperature=0), notes) as other:
        other.complete(ASK)

    # What is refused for one model may be taken for another.
    assert [parameter in request for request in server.requests] == [True, False, False, True, False]
    # Each says what it left out, and once.
    models = (play.MODEL, play.MODEL, "another")
    assert notes == [f"{model} at {server.url} takes no {parameter}: it was left out" for model in models]


def test_a_form_that_was_not_named_is_given_up_only_where_it_was_the_reason(serve: Any, notes: list[str]) -> None:
    filtered = Fail(400, "the prompt was filtered; it says that cells stand at a temperature of 37", None)
    client, server = serve(play.good(filtered, filtered, Say('{"city": "Bern"}')), llm_temperature=0)

    with pytest.raises(ModelError, match="filtered"):
        client.complete(ASK, answer=Answer)
    client.complete(ASK, answer=Answer)

    assert ["response_format" in request for request in server.requests] == [True, False, True]
    assert ["temperature" in request for request in server.requests] == [True, True, True]
    assert notes == []


WRONG_VALUES = [
    Fail(400, "Invalid value: 'hihg'. Supported are 'low' and 'high'.", "invalid_value", param="reasoning_effort"),
    Fail(400, "max_completion_tokens is too large: 99999, at most 16384", param="max_completion_tokens"),
]


@pytest.mark.parametrize("refusal", WRONG_VALUES)
def test_a_wrong_value_is_told_and_not_left_out(refusal: Fail, serve: Any, notes: list[str]) -> None:
    client, server = serve(play.stubborn(refusal), llm_reasoning_effort="hihg", llm_max_output_tokens=99999)

    with pytest.raises(ModelError, match=refusal.message[:12]):
        client.complete(ASK)

    assert (len(server.requests), notes) == (1, [])


SENT = {
    "temperature": 0,
    "reasoning_effort": "low",
    "max_completion_tokens": 900,
    "parallel_tool_calls": False,
    "stream_options": {"include_usage": True},
    "response_format": {"type": "json_schema"},
}
WAYS_TO_REFUSE: dict[str, Callable[[str], dict[str, Any]]] = {
    "by its field": lambda name: {"error": {"message": "no", "param": name, "code": "unsupported_parameter"}},
    "by a path": lambda name: {"error": {"message": f"'$.{name}' is invalid", "param": None}},
    "in quotes": lambda name: {"message": f"Unknown parameter `{name}`", "type": "invalid_request_error"},
    "by a list": lambda name: {"detail": [{"loc": ["body", name], "msg": "extra", "input": SENT}]},
    "in a text": lambda name: {"message": f"[{{'loc': ('body', '{name}'), 'msg': 'extra'}}]", "code": 400},
}
"""Bodies of refusals, by how they name the parameter."""


@pytest.mark.parametrize("way", WAYS_TO_REFUSE)
@pytest.mark.parametrize("name", SENT)
def test_each_parameter_is_known_by_each_way_of_refusing_it_and_no_other(name: str, way: str, serve: Any) -> None:
    body = json.dumps(WAYS_TO_REFUSE[way](name)).encode()
    refusal = play.refusing(name, Raw(body, "application/json", 400), play.good(Say("yes")))
    settings = {"llm_temperature": 0, "llm_reasoning_effort": "low", "llm_max_output_tokens": 900}
    client, server = serve(refusal, **settings)

    client.complete(ASK, tools=[TOOL], one_call=True, answer=Answer, on_text=lambda _: None)

    assert [set(server.requests[0]) - set(request) for request in server.requests[1:]] == [{name}]


INNOCENT = ["the prompt says temperature", "a tool 'temperature_of' is not allowed", "no such thing", ""]


@pytest.mark.parametrize("message", INNOCENT)
@pytest.mark.parametrize("status", [400, 404, 409, 422])
def test_an_error_that_names_no_parameter_drops_none(message: str, status: int, serve: Any, notes: list[str]) -> None:
    client, server = serve(play.stubborn(Fail(status, message)), llm_temperature=0, llm_retries=0)

    with pytest.raises(ModelError):
        client.complete(ASK, tools=[TOOL], one_call=True)

    assert (len(server.requests), notes) == (1, [])


def test_an_answer_that_is_cut_off_is_told_as_that_and_asked_for_once(serve: Any) -> None:
    cut = {"choices": [{"message": {"content": '{"city": "Be'}, "finish_reason": "length"}]}
    client, server = serve(play.stubborn(Raw(json.dumps(cut).encode(), "application/json")))

    with pytest.raises(ModelAnswer, match="cut off") as caught:
        client.answer(ASK, Answer)

    assert "KGCHECK_LLM_MAX_OUTPUT_TOKENS" in caught.value.hint
    assert len(server.requests) == 1


def test_why_it_was_refused_is_said_also_where_it_is_no_text(serve: Any) -> None:
    client, _ = serve(play.stubborn(REFUSALS["Mistral"][1]))

    with pytest.raises(ModelError, match="Extra inputs are not permitted"):
        client.complete(ASK)


GARBLED: dict[str, bytes] = {
    "half of the JSON": b'{"id": "1", "choices": [{"index": 0, "mess',
    "choices that are text": b'{"choices": "none"}',
    "a choice without a message": b'{"choices": [{"index": 0, "message": null}]}',
    "a message that is text": b'{"choices": [{"message": "hello"}]}',
    "content that is a list": b'{"choices": [{"message": {"content": [1]}}]}',
    "calls that are text": b'{"choices": [{"message": {"tool_calls": "look"}}]}',
    "a call without a function": b'{"choices": [{"message": {"tool_calls": [{"function": 7}]}}]}',
    "negative tokens": b'{"choices": [{"message": {}}], "usage": {"prompt_tokens": -1, "completion_tokens": 2}}',
    "a list": b"[1]",
    "null": b"null",
    "a number": b"7",
    "an error": b'{"error": "no"}',
    "nothing": b"",
    "no text at all": b"\xff\xfe\x00",
}
TERSE = {"choices": [{"message": {"content": "yes"}, "finish_reason": "eos_token"}], "model": None}
PAGE = b"<!DOCTYPE html>\n<html><body>maintenance</body></html>"


def test_a_server_that_leaves_out_what_nobody_reads_is_understood(serve: Any) -> None:
    """Which the client of the package would refuse, were it told to be strict: no id, no object, no date."""
    client, _ = serve(play.stubborn(Raw(json.dumps(TERSE).encode(), "application/json")))

    reply = client.complete(ASK)

    assert (reply.text, reply.cut_off, reply.usage.estimated) == ("yes", False, True)


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("body", [*GARBLED.values(), PAGE], ids=[*GARBLED, "a page"])
@pytest.mark.parametrize("kind", ["application/json", "text/html", "text/event-stream"])
def test_an_answer_that_is_none_is_no_answer(kind: str, body: bytes, streamed: bool, serve: Any) -> None:
    client, _ = serve(play.stubborn(Raw(body, kind)))

    with pytest.raises(ModelAnswer) as caught:
        client.complete(ASK, on_text=(lambda _: None) if streamed else None)
    assert caught.value.exit_code == EXIT_INCOMPLETE
    assert "no completion" in caught.value.message or "without a choice" in caught.value.message


@pytest.mark.parametrize(
    "piece", [b"{", b'{"choices": 7}', b"[]", b"null", b'{"choices": [{"delta": 7}]}', b'{"choices": [7]}']
)
def test_a_piece_that_is_none_is_no_answer(piece: bytes, serve: Any) -> None:
    client, _ = serve(play.stubborn(Raw(b"data: " + piece + b"\n\ndata: [DONE]\n\n", "text/event-stream")))

    with pytest.raises(ModelAnswer):
        client.complete(ASK, on_text=lambda _: None)


# Of a failure that was to be streamed the client reads nothing before it tries again.
@pytest.mark.parametrize(("status", "streamed"), [(200, False), (200, True), (500, False)])
def test_no_more_than_the_limit_is_read_and_only_once(status: int, streamed: bool, serve: Any) -> None:
    client, server = serve(play.stubborn(Raw(b" " * 60_000_000, "application/json", status)), llm_max_mb=1)
    tracemalloc.start()
    with pytest.raises(ModelAnswer, match="too much"):
        client.complete(ASK, on_text=(lambda _: None) if streamed else None)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert len(server.requests) == 1
    assert peak < 20_000_000


def test_a_packed_answer_is_not_unpacked(serve: Any) -> None:
    bomb = gzip.compress(b" " * 5_000_000)
    client, server = serve(play.stubborn(Raw(bomb, "application/json", headers={"Content-Encoding": "gzip"})))

    with pytest.raises(ModelAnswer, match="packed"):
        client.complete(ASK)
    assert len(server.requests) == 1


def test_an_answer_that_drips_ends_with_the_seconds(serve: Any) -> None:
    client, _ = serve(play.stubborn(Raw(b" " * 400, "application/json", drip_s=0.05)))
    started = time.monotonic()

    with pytest.raises(BudgetExceeded, match="seconds"):
        client.complete(ASK, meter=Meter(Limits(seconds=0.4)))
    assert time.monotonic() - started < 10


@pytest.mark.parametrize("streamed", [False, True])
def test_an_answer_that_breaks_off_is_no_fault_of_ours(streamed: bool, serve: Any) -> None:
    client, _ = serve(play.stubborn(Raw(b'data: {"choices": []}\n\n', "text/event-stream", short=50)), llm_retries=0)

    with pytest.raises(ModelUnavailable):
        client.complete(ASK, on_text=(lambda _: None) if streamed else None)


def test_what_came_of_an_answer_that_breaks_off_is_counted(serve: Any) -> None:
    piece = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    piece |= {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "Bern " * 60}, "finish_reason": None}]}
    body = f"data: {json.dumps(piece)}\n\n".encode()
    client, _ = serve(play.stubborn(Raw(body, "text/event-stream", short=50)), llm_retries=0)
    meter = Meter(Limits(), Prices(output_per_million=1_000_000))

    with pytest.raises(ModelUnavailable):
        client.complete(ASK, on_text=lambda _: None, meter=meter)

    assert (meter.spent.estimated, meter.spent.output_tokens, meter.spent.money) == (True, 101, 101.0)


def test_endpoint_that_is_not_there() -> None:
    settings = Settings(llm_base_url="http://127.0.0.1:9/v1", llm_model="m", llm_retries=0)
    with ChatClient(settings) as client, pytest.raises(ModelUnavailable, match=r"127\.0\.0\.1:9"):
        client.complete(ASK)


@pytest.mark.parametrize("streamed", [False, True])
def test_seconds_end_a_slow_model_in_time(serve: Any, streamed: bool) -> None:
    client, _ = serve(play.slow(play.good(Say("late")), 20))
    meter = Meter(Limits(seconds=0.3))
    started = time.monotonic()

    with pytest.raises(BudgetExceeded, match="seconds"):
        client.complete(ASK, meter=meter, on_text=(lambda _: None) if streamed else None)
    assert time.monotonic() - started < 10


def test_turns_tokens_and_money_are_limited(serve: Any) -> None:
    client, _ = serve(play.good(Say("one two three")))
    for limits, prices, calls in (
        (Limits(turns=2), None, 2),
        (Limits(tokens=7), None, 2),
        (Limits(money=0.00001), Prices(input_per_million=1.0, output_per_million=1.0), 2),
    ):
        meter = Meter(limits, prices)
        for _ in range(calls):
            client.complete(ASK, meter=meter)
        with pytest.raises(BudgetExceeded):
            client.complete(ASK, meter=meter)
        assert meter.spent.turns == calls


@pytest.mark.parametrize(
    ("details", "cached"),
    [
        ({"cached_tokens": 8}, 8),
        ({}, 0),
        (None, 0),
        ({"cached_tokens": 99}, 10),
        ({"cached_tokens": -1}, 0),
        ({"cached_tokens": 0.0}, 0),
        ([], 0),
    ],
)
def test_what_the_endpoint_has_kept_of_the_input_may_cost_less(details: object, cached: int, serve: Any) -> None:
    counted = {"prompt_tokens": 10, "completion_tokens": 1, "prompt_tokens_details": details}
    body = json.dumps({"choices": [{"message": {"content": "yes"}}], "usage": counted}).encode()
    prices = {"llm_price_input": 1_000_000, "llm_price_output": 0, "llm_price_cached": 100_000}
    client, _ = serve(play.stubborn(Raw(body, "application/json")), **prices)
    meter = Meter(Limits(), client.prices)

    assert client.complete(ASK, meter=meter).usage.cached_tokens == cached
    assert meter.spent.money == pytest.approx(10 - cached + cached / 10)
    assert Prices(input_per_million=2).cost(Usage(input_tokens=10, cached_tokens=cached)) == pytest.approx(20 / 1e6)


def test_money_needs_prices() -> None:
    with pytest.raises(ConfigurationError, match="no prices"):
        Meter(Limits(money=1.0))


def test_tokens_are_estimated_where_the_server_does_not_count(serve: Any) -> None:
    client, _ = serve(play.good(Say("hello there", counted=False)))
    meter = Meter(Limits())

    assert client.complete(ASK, meter=meter).usage.estimated
    assert meter.spent.estimated
    assert meter.spent.money is None


def test_settings_that_name_no_model_or_place() -> None:
    with pytest.raises(ConfigurationError, match="no language model is named"):
        ChatClient(Settings(llm_base_url="http://x/v1"))
    with pytest.raises(ConfigurationError, match="can be reached"):
        ChatClient(Settings(llm_model="m"))


def test_missing_package_gives_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)

    with pytest.raises(MissingExtra, match="needs the extra 'llm'"):
        ChatClient(Settings(llm_model="m", llm_base_url="http://x/v1"))
