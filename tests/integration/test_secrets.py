"""Passwords and keys go to whom the person named, and are seen by nobody else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import SecretStr

from kgcheck import clock
from kgcheck.errors import KgcheckError
from kgcheck.ledger.ledger import Ledger, Run
from kgcheck.llm.client import ChatClient
from kgcheck.redact import redact
from kgcheck.settings import Settings
from tests.support import chat_server as play
from tests.support import examples
from tests.support.audits import Said, demo, kgcheck
from tests.support.chat_server import ChatServer, Fail
from tests.support.impostors import Impostor

MARK = "hunter2MARK"
"""Stands in every password of these tests."""


@pytest.fixture
def listener() -> Iterator[Impostor]:
    with Impostor() as made:
        yield made


# --- to whom they go


@pytest.fixture
def cut_off(tmp_path: Path, listener: Impostor) -> Path:
    """A ledger from somebody: a run that is not finished, on a server of his."""
    run = Run(
        id="20261120-093000-beef", started=clock.now(), store=f"bolt://127.0.0.1:{listener.port}", profile="ckg",
        options={"types": ["structure"]},
    )  # fmt: skip
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        ledger.start(run)
    return tmp_path


@pytest.fixture
def password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGCHECK_NEO4J_PASSWORD", MARK)
    monkeypatch.setenv("KGCHECK_CONNECT_TIMEOUT_S", "0.5")


@pytest.mark.usefixtures("password")
@pytest.mark.parametrize("run", [(), ("20261120-093000-beef",), ("20261120",)])
def test_a_server_that_only_the_ledger_names_gets_nothing(
    cut_off: Path, listener: Impostor, run: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KGCHECK_STORE", "bolt://127.0.0.1:1")
    said = kgcheck("audit", "--ledger", "ledger.sqlite", "--resume", *run, cwd=cut_off)

    assert said.refuses("run 20261120-093000-beef is of the server bolt://127.0.0.1:")
    assert f"--store bolt://127.0.0.1:{listener.port}" in said.err
    monkeypatch.delenv("KGCHECK_STORE")
    assert kgcheck("audit", "--ledger", "ledger.sqlite", "--resume", *run, cwd=cut_off).refuses("run 2026")
    assert listener.calls == 0


def test_a_chat_endpoint_that_points_elsewhere_is_not_followed(listener: Impostor) -> None:
    def elsewhere(_call: object) -> Fail:
        return Fail(307, "moved", headers={"location": f"http://127.0.0.1:{listener.port}/v1/chat/completions"})

    server = ChatServer(elsewhere)
    server.start()
    chosen = Settings(llm_base_url=server.url, llm_model=play.MODEL, llm_api_key=SecretStr(MARK), llm_retries=0)
    try:
        with ChatClient(chosen) as client, pytest.raises(KgcheckError):
            client.complete([{"role": "user", "content": "x"}])
    finally:
        server.stop()

    assert listener.calls == 0


# --- who sees them


PASSWORDS = st.text(st.sampled_from("ab#@/?:%[]&=+ \\'\"<>ßé\uff20"), max_size=6).map(lambda t: f"{t}{MARK}{t[::-1]}")
HOSTS = st.sampled_from(["127.0.0.1:1", "localhost", "[::1]:7687", "[::1", "host:port", "", "example.invalid:99999"])
SCHEMES = st.sampled_from(["bolt://", "neo4j+s://", "http://", "https://", "postgresql://", "BOLT://", "", "bolt:"])


@st.composite
def addresses(draw: st.DrawFn) -> str:
    """Addresses that carry a password, written in the ways that people and parsers know."""
    password = draw(PASSWORDS)
    if draw(st.booleans()):
        password = quote(password, safe="")
    at = draw(st.sampled_from(["@", "@", "@", "%40"]))
    user = draw(st.sampled_from(["user", "", "a.b"]))
    return f"{draw(SCHEMES)}{user}:{password}{at}{draw(HOSTS)}{draw(st.sampled_from(['', '/', '/db', '?a=b', '#c']))}"


def unseen(said: Said, folder: Path) -> bool:
    """Whether the mark is nowhere: not in what was said, not in any file or its name."""
    files = [p for p in folder.rglob("*") if MARK in p.name or (p.is_file() and MARK.encode() in p.read_bytes())]
    return MARK not in said.out + said.err and not files and "fault in kgcheck" not in said.err


COMMANDS = [
    ("check", "existence", "Protein", "P04637", "--store", "ADDRESS"),
    ("audit", "--type", "structure", "--store", "ADDRESS"),
    ("audit", "--store", "graph.lbdb", "--reference", "ADDRESS"),
    ("audit", "--resume", "--ledger", "ADDRESS"),
    ("ask", "Which proteins act on TP53?", "--store", "ADDRESS"),
    ("load", "ADDRESS"),
    ("load", "import", "--store", "ADDRESS"),
    ("report", "--ledger", "ADDRESS"),
    ("runs", "--ledger", "ADDRESS"),
    ("explain", "abcd", "--ledger", "ADDRESS"),
    ("search", "kinase", "--index", "ADDRESS"),
    ("verify", "a claim", "--index", "ADDRESS"),
    ("reference", "show", "ADDRESS"),
    ("reference", "build", "ADDRESS", "--out", "x.duckdb"),
    ("replay", "ADDRESS"),
    ("batch", "kgqa", "ADDRESS", "--store", "ADDRESS"),
    ("bench", "make", "--store", "ADDRESS", "--reference", "r.duckdb", "--out", "x.jsonl"),
]


@pytest.mark.parametrize("command", COMMANDS)
@settings(max_examples=examples(4), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(address=addresses())
def test_a_password_in_an_option_is_seen_nowhere(
    tmp_path_factory: pytest.TempPathFactory, command: tuple[str, ...], address: str
) -> None:
    folder = tmp_path_factory.mktemp("x")
    (folder / "import").mkdir()
    said = kgcheck(*(address if word == "ADDRESS" else word for word in command), cwd=folder)

    assert said.code in (2, 3)
    assert unseen(said, folder)


VARIABLES = ("KGCHECK_STORE", "KGCHECK_LLM_BASE_URL", "KGCHECK_UNIPROT_URL", "KGCHECK_STRING_URL")


@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=st.sampled_from(VARIABLES), address=addresses())
def test_a_password_in_the_environment_is_seen_nowhere(
    tmp_path_factory: pytest.TempPathFactory, name: str, address: str
) -> None:
    folder = tmp_path_factory.mktemp("x")
    place = () if name == "KGCHECK_STORE" else ("--store", demo().store)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(name, address)
        patch.setenv("KGCHECK_LLM_MODEL", "m")
        patch.setenv("KGCHECK_HTTP_ATTEMPTS", "1")
        patch.setenv("KGCHECK_CACHE_DIR", str(folder / "cache"))
        how = ("--brain", "llm") if "LLM" in name else ("--live",)
        said = kgcheck("check", "existence", "Protein", "P04637", "--transcript", *how, *place, cwd=folder)

    assert said.code == 2
    assert unseen(said, folder)


@pytest.mark.parametrize("query", [f"?api_key={MARK}", f"?key={MARK}&x=1", f"?x={MARK}", f"#{MARK}"])
@pytest.mark.parametrize("name", VARIABLES[1:])
def test_a_key_in_an_address_is_refused(tmp_path: Path, name: str, query: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Made before the environment is wrong, whoever comes first.
    store = demo().store
    monkeypatch.setenv(name, f"https://example.invalid/v1{query}")

    said = kgcheck("check", "existence", "Protein", "P04637", "--store", store, cwd=tmp_path)

    assert said.refuses(f"the environment is wrong: {name}: ")
    assert unseen(said, tmp_path)


def test_a_key_that_an_endpoint_repeats_is_not_shown() -> None:
    server = ChatServer(lambda _call: Fail(400, f"your key {MARK} may not do that"))
    server.start()
    chosen = Settings(llm_base_url=server.url, llm_model=play.MODEL, llm_api_key=SecretStr(MARK), llm_retries=0)
    try:
        with ChatClient(chosen) as client, pytest.raises(KgcheckError) as caught:
            client.complete([{"role": "user", "content": "x"}])
    finally:
        server.stop()

    assert MARK not in str(caught.value)
    assert "your key *** may not do that" in caught.value.message


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("cannot reach bolt://user:p#w@host:7687: refused", "cannot reach bolt://***@host:7687: refused"),
        ("http://a:b@c@[::1]:80/x", "http://***@[::1]:80/x"),
        ("https://user:p%40w%40host/", "https://***@host/"),
        ("no file postgresql:/u:pw@host/db", "no file postgresql:/***@host/db"),
        ("user:pw@host", "***@host"),
        ("https://host/x?a=1&api_key=abc&b=2", "https://host/x?a=1&api_key=***&b=2"),
        ("https://host/x?token=abc", "https://host/x?token=***"),
        ("Authorization: Bearer abcdefghijkl", "Authorization: Bearer ***"),
        ("write to help@example.org", "write to help@example.org"),
        ("https://rest.uniprot.org/x?query=a:b", "https://rest.uniprot.org/x?query=a:b"),
        ("Gene ATP-alpha@1 of GO:0005515", "Gene ATP-alpha@1 of GO:0005515"),
    ],
)
def test_redacted(text: str, shown: str) -> None:
    assert redact(text) == shown
    assert redact(shown) == shown


@pytest.mark.usefixtures("password")
@pytest.mark.parametrize("by", ["option", "environment"])
def test_a_server_that_the_person_names_is_asked(
    cut_off: Path, listener: Impostor, by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = f"bolt://127.0.0.1:{listener.port}"
    if by == "environment":
        monkeypatch.setenv("KGCHECK_STORE", store)
    named = ("--store", store) if by == "option" else ()
    said = kgcheck("audit", "--ledger", "ledger.sqlite", "--resume", "20261120", *named, cwd=cut_off)

    assert said.code in (2, 3)
    assert listener.calls


def test_a_file_that_the_ledger_names_is_opened_and_told(tmp_path: Path) -> None:
    run = Run(id="20261120-093000-beef", started=clock.now(), store=str(tmp_path / "other.lbdb"), profile="ckg")
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        ledger.start(run)

    said = kgcheck("audit", "--ledger", "ledger.sqlite", "--resume", cwd=tmp_path)

    assert f"going on with the store {tmp_path / 'other.lbdb'}, where the run began\n" in said.err
