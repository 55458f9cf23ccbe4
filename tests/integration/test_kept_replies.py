"""Replies of models that are kept: the same question is paid for once, and a batch asks each of its runs anew."""

import sqlite3
import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import time_machine

from kgcheck.errors import BudgetExceeded, ModelAnswer
from kgcheck.llm.budget import Limits, Meter, Usage
from kgcheck.llm.client import ChatClient, ToolSpec
from kgcheck.llm.kept import fresh_replies
from kgcheck.settings import Settings
from tests.support import team_scripts
from tests.support.audits import core_demo, kgcheck
from tests.support.chat_server import Asked, Call, ChatServer, Move, Say, chat_server, good
from tests.support.world import running

HELLO = [{"role": "user", "content": "Hello"}]
TOOL = ToolSpec(name="node", description="a node", parameters={"type": "object"})


def client_of(server: ChatServer, folder: Path, **more: Any) -> ChatClient:
    given: dict[str, Any] = {"llm_keep_days": 1.0, "llm_model": "small", "llm_retries": 0} | more
    return ChatClient(Settings(llm_base_url=server.url, cache_dir=folder, **given))


def test_a_reply_is_paid_for_once(tmp_path: Path) -> None:
    with chat_server(good(Say("Good day.", calls=(Call("node", {"id": "x"}),)))) as server:
        with client_of(server, tmp_path) as client:
            first = client.complete(HELLO, tools=[TOOL])
        meter, heard, notes = Meter(Limits(turns=2, tokens=1)), list[str](), list[str]()
        settings = Settings(llm_base_url=server.url, cache_dir=tmp_path, llm_keep_days=1, llm_model="small")
        with ChatClient(settings, notes) as client:
            for _ in range(2):
                again = client.complete(HELLO, tools=[TOOL], meter=meter, on_text=heard.append)
            # The same work ends where it ended before.
            with pytest.raises(BudgetExceeded, match="2 turns"):
                client.complete(HELLO, tools=[TOOL], meter=meter)
        assert len(server.requests) == 1

    assert again == first.model_copy(update={"usage": Usage(), "kept": True})
    assert heard == ["Good day."] * 2
    assert (meter.spent.turns, meter.spent.input_tokens, meter.spent.output_tokens) == (2, 0, 0)
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
            said = [client.complete(HELLO, answer=Usage).text for _ in range(3)]
        assert said == ["What?", '{"input_tokens": 3}', '{"input_tokens": 3}']
        assert len(server.requests) == 4


def test_an_answer_that_took_several_tries_comes_at_once_the_next_time(tmp_path: Path) -> None:
    with chat_server(good(Say("What?"), Say("What?"), Say('{"input_tokens": 3}'))) as server:
        for _ in range(3):
            with client_of(server, tmp_path) as client:
                assert client.answer(HELLO, Usage)[0].input_tokens == 3
                # As a weak model's steps are: bound to a form, and not asked again by the client.
                assert client.complete(HELLO, answer=Usage).kept
        assert len(server.requests) == 3


@pytest.mark.parametrize("reply", ["{", "[]", '{"calls": 3}', b"\xff"])
def test_what_is_kept_in_another_form_is_fresh_replies(tmp_path: Path, reply: object) -> None:
    with chat_server(good(Say("Good day."))) as server:
        with client_of(server, tmp_path) as client:
            client.complete(HELLO)
        with sqlite3.connect(tmp_path / "model_replies.sqlite") as db:
            db.execute("UPDATE kept SET reply = ?", [reply])
        with client_of(server, tmp_path) as client:
            assert client.complete(HELLO).text == "Good day."
        assert len(server.requests) == 2


def no_folder(folder: Path) -> None:
    folder.write_text("a file")


def a_folder_in_its_place(folder: Path) -> None:
    (folder / "model_replies.sqlite").mkdir(parents=True)


def no_database(folder: Path) -> None:
    folder.mkdir()
    (folder / "model_replies.sqlite").write_bytes(b"no database at all, but long enough for a header" * 99)


def another_table(folder: Path) -> None:
    folder.mkdir()
    with sqlite3.connect(folder / "model_replies.sqlite") as db:
        db.execute("CREATE TABLE kept (anything)")


@pytest.mark.parametrize("spoil", [no_folder, a_folder_in_its_place, no_database, another_table])
def test_a_model_is_asked_where_nothing_can_be_kept(tmp_path: Path, spoil: Callable[[Path], None]) -> None:
    folder, notes = tmp_path / "cache", list[str]()
    spoil(folder)

    with chat_server(good(Say("Good day."))) as server:
        settings = Settings(llm_base_url=server.url, cache_dir=folder, llm_keep_days=1, llm_model="small")
        with ChatClient(settings, notes) as client:
            assert [client.complete(HELLO).text for _ in range(2)] == ["Good day."] * 2

    (note,) = notes
    assert note.startswith(f"replies of models are not kept in {folder}, and are paid for again: ")


def test_what_was_paid_for_is_not_lost_where_it_can_no_longer_be_kept(tmp_path: Path) -> None:
    notes = list[str]()

    def full(asked: Asked) -> Move:
        with sqlite3.connect(tmp_path / "model_replies.sqlite") as db:
            db.execute("DROP TABLE IF EXISTS kept")
        return Say("Good day.")

    with chat_server(full) as server:
        settings = Settings(llm_base_url=server.url, cache_dir=tmp_path, llm_keep_days=1, llm_model="small")
        with ChatClient(settings, notes) as client:
            assert [client.complete(HELLO).text for _ in range(2)] == ["Good day."] * 2
    assert [note.partition(": ")[2] for note in notes] == ["no such table: kept"]


def test_threads_and_clients_at_once_keep_one_file(tmp_path: Path) -> None:
    with chat_server(good(Say("Good day."))) as server, ExitStack() as opened:
        notes = list[str]()
        settings = Settings(llm_base_url=server.url, cache_dir=tmp_path, llm_keep_days=1, llm_model="small")
        clients = [opened.enter_context(ChatClient(settings, notes)) for _ in range(2)]
        asked = [(clients[n % 2], [{"role": "user", "content": str(n // 2)}]) for n in range(24)]
        with ThreadPoolExecutor(6) as pool:
            for _ in range(2):
                said = list(pool.map(lambda one: one[0].complete(one[1]).text, asked))
                assert said == ["Good day."] * 24
        assert 12 <= len(server.requests) <= 24
        assert notes == []


def test_old_replies_leave_the_file_and_a_key_is_never_in_it(tmp_path: Path) -> None:
    with chat_server(good(Say("Good day."))) as server:
        for day in ("2026-11-01", "2026-11-03"):
            with time_machine.travel(f"{day}T12:00:00Z", tick=False):
                with client_of(server, tmp_path, llm_api_key="sk-secret") as client:
                    client.complete([{"role": "user", "content": day}])
    with sqlite3.connect(tmp_path / "model_replies.sqlite") as db:
        assert db.execute("SELECT count(*) FROM kept").fetchall() == [(1,)]
    assert b"sk-secret" not in (tmp_path / "model_replies.sqlite").read_bytes()


@pytest.mark.slow
def test_a_check_that_is_repeated_pays_nothing(
    shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = (
        "check",
        team_scripts.WORDS,
        "--brain",
        "llm",
        "--live",
        "--store",
        core_demo().store,
        "--reference",
        core_demo().reference,
    )
    with running(shared_data, tmp_path) as world, chat_server(team_scripts.agents()) as server:
        world.environment(monkeypatch)
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
