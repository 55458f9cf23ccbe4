"""Replies of models that are kept: the same question is paid for once, and a batch asks each of its runs anew."""

import sqlite3
import stat
from pathlib import Path
from typing import Any

import pytest
import time_machine

from kgcheck.errors import ConfigurationError, ModelAnswer
from kgcheck.llm.budget import Limits, Meter, Usage
from kgcheck.llm.client import ChatClient, ToolSpec
from kgcheck.llm.kept import fresh_replies
from kgcheck.settings import Settings
from tests.support import team_scripts
from tests.support.audits import core_demo, kgcheck
from tests.support.chat_server import Call, ChatServer, Say, chat_server, good

HELLO = [{"role": "user", "content": "Hello"}]
TOOL = ToolSpec(name="node", description="a node", parameters={"type": "object"})


def client_of(server: ChatServer, folder: Path, **more: Any) -> ChatClient:
    given: dict[str, Any] = {"llm_keep_days": 1.0, "llm_model": "small", "llm_retries": 0} | more
    return ChatClient(Settings(llm_base_url=server.url, cache_dir=folder, **given))


def test_a_reply_is_paid_for_once(tmp_path: Path) -> None:
    with chat_server(good(Say("Good day.", calls=(Call("node", {"id": "x"}),)))) as server:
        with client_of(server, tmp_path) as client:
            first = client.complete(HELLO, tools=[TOOL])
        meter, heard, notes = Meter(Limits(turns=1)), list[str](), list[str]()
        settings = Settings(llm_base_url=server.url, cache_dir=tmp_path, llm_keep_days=1, llm_model="small")
        with ChatClient(settings, notes) as client:
            for _ in range(2):
                again = client.complete(HELLO, tools=[TOOL], meter=meter, on_text=heard.append)
        assert len(server.requests) == 1

    assert again == first.model_copy(update={"usage": Usage(), "kept": True})
    assert heard == ["Good day."] * 2
    assert notes == ["2 replies of small were kept from earlier calls and cost nothing"]
    file = tmp_path / "model_replies.sqlite"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert b"Hello" not in file.read_bytes()


def test_another_question_model_endpoint_or_setting_is_asked(tmp_path: Path) -> None:
    with chat_server(good(Say("Good day."))) as server, chat_server(good(Say("Hello."))) as other:
        with client_of(server, tmp_path) as client:
            client.complete(HELLO)
            client.complete([{"role": "user", "content": "hello"}])
            client.complete(HELLO, temperature=0.5)
            client.complete(HELLO, tools=[TOOL])
        for more in ({"llm_model": "large"}, {"llm_max_output_tokens": 9}):
            with client_of(server, tmp_path, **more) as client:
                client.complete(HELLO)
        with client_of(other, tmp_path) as client:
            assert client.complete(HELLO).text == "Hello."
        assert (len(server.requests), len(other.requests)) == (6, 1)


def test_what_is_old_is_fresh_replies_and_so_is_all_where_nothing_is_kept(tmp_path: Path) -> None:
    with chat_server(good(Say("Good day."))) as server:
        with time_machine.travel("2026-11-01T12:00:00Z", tick=False), client_of(server, tmp_path) as client:
            client.complete(HELLO)
        with time_machine.travel("2026-11-02T11:00:00Z", tick=False), client_of(server, tmp_path) as client:
            client.complete(HELLO)
        assert len(server.requests) == 1
        with time_machine.travel("2026-11-02T13:00:00Z", tick=False), client_of(server, tmp_path) as client:
            client.complete(HELLO)
            with fresh_replies(), client_of(server, tmp_path) as batch:
                batch.complete(HELLO)
            client.complete(HELLO)
        with client_of(server, tmp_path / "nothing", llm_keep_days=0) as client:
            client.complete(HELLO)
        assert len(server.requests) == 4
    assert not (tmp_path / "nothing").exists()


def test_an_answer_of_another_form_is_not_kept(tmp_path: Path) -> None:
    with chat_server(good(Say("What?"), Say("What?"), Say("What?"), Say('{"input_tokens": 3}'))) as server:
        for _ in range(2):
            with client_of(server, tmp_path) as client, pytest.raises(ModelAnswer):
                client.answer(HELLO, Usage, tries=1)
        with client_of(server, tmp_path) as client:
            assert client.answer(HELLO, Usage)[0].input_tokens == 3
            assert len(server.requests) == 4
            # The third reply had not the form: what was asked after it is asked again.
            assert client.answer(HELLO, Usage)[0].input_tokens == 3
            assert len(server.requests) == 5
            assert client.answer(HELLO, Usage)[0].input_tokens == 3
        assert len(server.requests) == 5


@pytest.mark.parametrize(
    "reply", ["{", "[]", '{"at": "2026-11-28T00:00:00+00:00", "reply": {"calls": 3}}', '{"at": 3}']
)
def test_what_is_kept_in_another_form_is_fresh_replies(tmp_path: Path, reply: str) -> None:
    with chat_server(good(Say("Good day."))) as server:
        with client_of(server, tmp_path) as client:
            client.complete(HELLO)
        with sqlite3.connect(tmp_path / "model_replies.sqlite") as db:
            db.execute("UPDATE reply SET value = ?", [reply])
        with client_of(server, tmp_path) as client:
            assert client.complete(HELLO).text == "Good day."
        assert len(server.requests) == 2


def test_a_file_that_is_no_database_ends_with_a_clear_line(tmp_path: Path) -> None:
    (tmp_path / "model_replies.sqlite").write_bytes(b"no database at all, but long enough for a header" * 99)

    with chat_server(good(Say("Good day."))) as server, pytest.raises(ConfigurationError, match="cannot keep replies"):
        client_of(server, tmp_path)


@pytest.mark.slow
def test_a_check_that_is_repeated_pays_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = (
        "check",
        team_scripts.WORDS,
        "--brain",
        "llm",
        "--store",
        core_demo().store,
        "--reference",
        core_demo().reference,
    )
    with chat_server(team_scripts.agents()) as server:
        monkeypatch.setenv("KGCHECK_LLM_BASE_URL", server.url)
        monkeypatch.setenv("KGCHECK_LLM_MODEL", "small")
        monkeypatch.setenv("KGCHECK_LLM_KEEP_DAYS", "1")
        monkeypatch.setenv("KGCHECK_CACHE_DIR", str(tmp_path / "cache"))
        first = kgcheck(*command, cwd=tmp_path)
        asked = len(server.requests)
        second = kgcheck(*command, cwd=tmp_path)

        assert asked > 3
        assert len(server.requests) == asked
    assert first.code == second.code
    assert "kept from earlier calls and cost nothing" in second.err
