"""A kgcheck.toml that was only found gets no password before it is trusted, and none travels in the clear."""

from __future__ import annotations

import json
import shutil
import tomllib
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import SecretStr

from kgcheck import clock
from kgcheck.cleartext import is_cleartext_host
from kgcheck.curation.jobs import JobWork, notify
from kgcheck.curation.project import NotificationEntry, read_project
from kgcheck.curation.project_file import configured, find_file
from kgcheck.curation.scheduler import Processes
from kgcheck.curation.thresholds import Severity
from kgcheck.curation.trust import check_trusted, revoke, trust, trusted
from kgcheck.errors import ConfigurationError, KgcheckError
from kgcheck.graph.open import open_store
from kgcheck.ledger.ledger import Ledger
from kgcheck.ledger.place import ledger_place
from kgcheck.ledger.work import WorkItem, WorkState
from kgcheck.llm.client import ChatClient
from kgcheck.profile.schema import load_schema
from kgcheck.providers.http import Http, ProviderService
from kgcheck.providers.ncbi import Eutils
from kgcheck.providers.semantic_scholar import SemanticScholar
from kgcheck.settings import Settings
from kgcheck.workspace.jobs import job_ledger, run_job
from tests.support import examples
from tests.support.audits import core_import, kgcheck
from tests.support.impostors import BoltImpostor, HttpImpostor, Impostor, PostgresImpostor

MARK = "hunter2MARK"
"""The password of everything here."""


@pytest.fixture(autouse=True)
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for name in ("NEO4J", "LEDGER"):
        monkeypatch.setenv(f"KGCHECK_{name}_PASSWORD", MARK)
    monkeypatch.setenv("KGCHECK_LEDGER_USER", "me")
    monkeypatch.setenv("KGCHECK_CONNECT_TIMEOUT_S", "2")
    for name in ("KGCHECK_CONFIG", "KGCHECK_STORE", "KGCHECK_LEDGER"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def bolt() -> Iterator[BoltImpostor]:
    with BoltImpostor() as made:
        yield made


@pytest.fixture
def postgres() -> Iterator[PostgresImpostor]:
    with PostgresImpostor() as made:
        yield made


def cloned(folder: Path, *lines: str) -> Path:
    """A folder of somebody with a kgcheck.toml, and one in it in which somebody works."""
    (folder / "inner").mkdir(parents=True, exist_ok=True)
    (folder / "kgcheck.toml").write_text("\n".join(lines), encoding="utf-8")
    return folder / "inner"


def says_password(server: Impostor) -> bool:
    return MARK.encode() in server.heard


# --- who is trusted


def test_a_store_of_a_found_file_gets_the_password_when_it_is_trusted(tmp_path: Path, bolt: BoltImpostor) -> None:
    inner = cloned(tmp_path / "repo", "[stores.main]", f'place = "bolt://127.0.0.1:{bolt.port}"')
    audit = ("audit", "--type", "structure", "--ledger", str(tmp_path / "ledger.sqlite"))

    said = kgcheck(*audit, cwd=inner)

    toml = tmp_path / "repo" / "kgcheck.toml"
    assert said.refuses(
        f"{toml} was found by itself and is not trusted with its addresses: stores.main.place = bolt://"
    )
    assert f"kgcheck trust {toml}" in said.err
    assert bolt.calls == 0

    assert kgcheck("trust", cwd=inner).out == f"stores.main.place = bolt://127.0.0.1:{bolt.port}\n"
    assert "is trusted" not in kgcheck(*audit, cwd=inner).err
    assert says_password(bolt)


def test_a_ledger_of_a_found_file_gets_the_password_when_it_is_trusted(
    tmp_path: Path, postgres: PostgresImpostor
) -> None:
    address = f"postgresql://127.0.0.1:{postgres.port}/kgcheck"
    inner = cloned(tmp_path / "repo", f'ledger = "{address}"', '[jobs.a]\nkind = "audit"')
    for command in (("runs",), ("job", "run", "a"), ("job", "list"), ("job", "history"), ("findings",)):
        assert f"with its addresses: ledger = {address}" in kgcheck(*command, cwd=inner).err
    assert postgres.calls == 0

    assert kgcheck("trust", str(tmp_path / "repo"), cwd=tmp_path).code == 0

    assert "the ledger" in kgcheck("runs", cwd=inner).err
    assert says_password(postgres)


def test_a_file_that_is_named_is_trusted_by_that(
    tmp_path: Path, postgres: PostgresImpostor, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = cloned(tmp_path / "repo", f'ledger = "postgresql://127.0.0.1:{postgres.port}/kgcheck"')
    assert kgcheck("job", "list", "--config", "../kgcheck.toml", cwd=inner).code == 2
    assert says_password(postgres)
    monkeypatch.setenv("KGCHECK_CONFIG", str(inner.parent / "kgcheck.toml"))
    postgres.heard = b""
    assert kgcheck("runs", cwd=tmp_path).code == 2
    assert says_password(postgres)


def test_a_job_that_sends_messages_needs_trust_before_it_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = '[notifications.n]\naddress_env = "{}"\n[jobs.l]\nkind = "load"\ndirectory = "x"\nnotify = ["n"]'
    inner = cloned(tmp_path / "repo", text.format("AWS_SECRET"))
    monkeypatch.setenv("AWS_SECRET", f"json://127.0.0.1/{MARK}")

    assert "notifications.n.address_env = AWS_SECRET" in kgcheck("job", "run", "l", cwd=inner).err
    assert kgcheck("trust", cwd=inner).code == 0
    cloned(tmp_path / "repo", text.format("OTHER_SECRET"))
    assert "which have changed since you trusted it" in kgcheck("job", "run", "l", cwd=inner).err


def test_a_schedule_hands_its_trust_to_no_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cloned(tmp_path / "repo", 'ledger = "postgresql://127.0.0.1:1/x"')
    seen: list[list[str]] = []

    class Started:
        def __init__(self, command: list[str], **how: Any) -> None:
            seen.append(command)

        def wait(self) -> int:
            return 0

    monkeypatch.setattr("subprocess.Popen", Started)
    for is_named in (False, True):
        Processes(read_project(tmp_path / "repo" / "kgcheck.toml", is_named=is_named)).start("a", None)

    assert ["--config" in command for command in seen] == [False, True]


def test_what_is_trusted_is_listed_and_taken_back(tmp_path: Path) -> None:
    inner = cloned(tmp_path / "repo", 'ledger = "postgresql://127.0.0.1:1/x"')
    assert kgcheck("trust", "--list", cwd=inner).out == ""
    assert "kgcheck.toml is not trusted" in kgcheck("trust", "--revoke", cwd=inner).err
    kgcheck("trust", cwd=inner)
    toml = tmp_path / "repo" / "kgcheck.toml"
    assert kgcheck("trust", "--list", cwd=inner).out.startswith(f"{toml}: trusted, 20")
    cloned(tmp_path / "repo", 'ledger = "postgresql://127.0.0.1:2/x"')
    assert f"{toml}: changed since" in kgcheck("trust", "--list", cwd=inner).out
    assert kgcheck("trust", "--revoke", cwd=inner).code == 0
    assert trusted() == []
    assert kgcheck("trust", "--list", "--revoke", cwd=inner).refuses("--list takes no PATH")
    assert kgcheck("trust", cwd=tmp_path).refuses("there is no kgcheck.toml")
    (note,) = (tmp_path / "state").rglob("trusted")
    assert note.stat().st_mode & 0o777 == 0o700


def test_a_note_that_cannot_be_read_trusts_nothing(tmp_path: Path) -> None:
    inner = cloned(tmp_path / "repo", 'ledger = "postgresql://127.0.0.1:1/x"')
    kgcheck("trust", cwd=inner)
    (note,) = (tmp_path / "state").rglob("*.json")
    assert note.stat().st_mode & 0o777 == 0o600
    note.write_text("{}")
    assert f"{note} cannot be read" in kgcheck("runs", cwd=inner).err


HOSTS = st.sampled_from(
    [
        *("localhost", "127.0.0.1", "[::1]", "localhost.evil.org", "0177.0.0.1", "2130706433", "0x7f.1", "127.1"),
        *(
            "evil.org",
            "EVIL.org",
            "\uff4c\uff4f\uff43alhost",
            "l\u00f6calhost",
            "xn--lcalhost-n4a",
            "evil.org.",
            "[::]",
        ),
        *("${KGCHECK_HOST}", "$(hostname)", "%6cocalhost", "local\u200bhost", "a.b.c.d.e", "0.0.0.0", "1.1"),  # noqa: S104
    ]
)
SCHEMES = st.sampled_from(["bolt://", "BOLT://", "neo4j://", "neo4j+s://", "postgresql://", "postgres://", "http://"])
PORTS = st.sampled_from(["", ":7687", ":1", ":65535"])
PLACES = st.one_of(
    st.builds("{}{}{}".format, SCHEMES, HOSTS, PORTS),
    st.builds(
        "postgresql://{}{}/db{}".format, HOSTS, PORTS, st.sampled_from(["", "?host=evil.org", "?sslmode=disable"])
    ),
    st.sampled_from(["g.lbdb", "./a/../g.lbdb", "/abs/g.lbdb", "bolt:/evil.org", "file.with:colon", "//evil.org/x"]),
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.fixed_dictionaries({"ledger": PLACES, "one": PLACES, "other": PLACES})),
        st.tuples(st.sampled_from(["trust", "revoke", "swap the link", "touch"]), st.none()),
        st.tuples(st.sampled_from(["here", "below", "by the link"]), st.sampled_from(["store", "ledger", "reference"])),
    ),
    min_size=3,
    max_size=14,
)


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(steps=STEPS)
def test_no_file_gets_what_it_was_not_trusted_with(
    steps: list[tuple[str, Any]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Files are written, trusted, revoked and linked to; an address comes out only where its whole file is trusted."""
    root = tmp_path_factory.mktemp("x").resolve()
    inner = cloned(root / "repo", "")
    (root / "linked").mkdir()
    link = root / "linked" / "kgcheck.toml"
    link.symlink_to(root / "repo" / "kgcheck.toml")
    cloned(root / "third", 'ledger = "postgresql://third.org/x"', "[stores.a]", 'place = "bolt://third.org"')
    known: dict[Path, dict[str, str]] = {}
    toml = root / "repo" / "kgcheck.toml"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(root / "state"))
        for step, value in steps:
            match step:
                case "write":
                    cloned(root / "repo", *_lines(value))
                case "touch":
                    toml.touch()
                case "trust" | "revoke":
                    try:
                        if step == "trust":
                            trust(toml, read_project(toml, whole=False).addresses)
                            known[toml] = _stated(toml)
                        else:
                            known.pop(toml, None)
                            revoke(toml)
                    except KgcheckError:
                        continue
                case "swap the link":
                    target = root / ("repo" if "third" in str(link.readlink()) else "third") / "kgcheck.toml"
                    link.unlink()
                    link.symlink_to(target)
                case _:
                    folder = {"here": root / "repo", "below": inner, "by the link": root / "linked"}[step]
                    found = folder / "kgcheck.toml" if step != "below" else toml
                    _ask(folder, value, found, known)


def _lines(places: dict[str, str]) -> list[str]:
    return [
        f"ledger = {json.dumps(places['ledger'])}",
        *("[defaults]", 'store = "one"', "[stores.one]", f"place = {json.dumps(places['one'])}"),
        *("[stores.other]", f"place = {json.dumps(places['other'])}"),
    ]


def _stated(toml: Path) -> dict[str, str]:
    """The addresses of a file, read in another way."""
    tables = tomllib.loads(toml.read_text("utf-8"))
    every = {f"stores.{name}": store["place"] for name, store in tables.get("stores", {}).items()}
    every["ledger"] = tables.get("ledger", "")
    return {key: place for key, place in every.items() if "://" in place}


def _ask(folder: Path, field: str, toml: Path, known: dict[Path, dict[str, str]]) -> None:
    with chdir(folder):
        try:
            got = configured(field)
        except KgcheckError:
            return
        if got and "://" in got[0]:
            assert known.get(toml) == _stated(toml)
        try:
            found = find_file()
            assert found
            place = job_ledger(read_project(found.path, is_named=found.is_named))
        except KgcheckError:
            return
        if not isinstance(place, Path):
            assert known.get(toml) == _stated(toml)


def test_the_digest_is_of_what_was_read(tmp_path: Path) -> None:
    """Between trust and use the file changes: what is used is what was asked about."""
    cloned(tmp_path / "repo", 'ledger = "postgresql://127.0.0.1:1/x"')
    toml = tmp_path / "repo" / "kgcheck.toml"
    before = read_project(toml, is_named=False)
    trust(toml, before.addresses)
    cloned(tmp_path / "repo", 'ledger = "postgresql://evil.org/x"')
    after = read_project(toml, is_named=False)

    assert before.ledger == "postgresql://127.0.0.1:1/x"
    with pytest.raises(ConfigurationError, match="changed since"):
        _ = after.ledger
    with pytest.raises(ConfigurationError, match="changed since"):
        check_trusted(toml, {})


def test_no_job_runs_with_what_it_was_not_trusted_with(tmp_path: Path, bolt: BoltImpostor) -> None:
    store = f'[stores.s]\nplace = "bolt://127.0.0.1:{bolt.port}"\n[jobs.a]\nkind = "audit"'
    cloned(tmp_path / "repo", store)
    project = read_project(tmp_path / "repo" / "kgcheck.toml", is_named=False)

    with pytest.raises(ConfigurationError, match="not trusted"):
        run_job(project, "a")

    assert bolt.calls == 0


OUTSIDE: dict[str, str] = {
    "ledger": 'ledger = "../out.sqlite"',
    "stores.s.place": '[stores.s]\nplace = "{out}/graph.lbdb"\n[jobs.j]\nkind = "load"\ndirectory = "import"',
    "jobs.j.quarantine": '[jobs.j]\nkind = "load"\ndirectory = "import"\nquarantine = "../{{job}}.jsonl"',
    "jobs.j.out": '[jobs.j]\nkind = "ground"\nfolder = "."\nfiles = ["*.md"]\nout = "link/{{date}}"',
    "jobs.j.reports.[1].path": '[jobs.j]\nkind = "audit"\ntypes = ["structure"]\n'
    'reports = [{{format = "json", path = "{out}/r.json"}}]',
    "references.r.snapshot": '[references.r]\nsnapshot = "{out}/r.duckdb"\nfiles = "f"\n{refresh}',
    "references.r.files": '[references.r]\nsnapshot = "r.duckdb"\nfiles = "{out}"\n{refresh}',
}
"""By key, files whose job would write to another folder."""


@pytest.mark.parametrize("key", OUTSIDE)
def test_a_job_of_a_found_file_writes_elsewhere_only_when_it_is_trusted(tmp_path: Path, key: str) -> None:
    out, repo = tmp_path / "out", tmp_path / "repo"
    out.mkdir()
    refresh = '[jobs.j]\nkind = "refresh"\nfetch = false'
    text = OUTSIDE[key].format(out=out, refresh=refresh)
    text += "" if "[jobs" in text else '\n[jobs.j]\nkind = "audit"'
    inner = cloned(repo, text)
    (repo / "link").symlink_to(out)

    said = kgcheck("job", "run", "j", cwd=inner)

    assert said.code == 2, said.err
    assert f"not trusted with its addresses: {key} = " in said.err
    assert list(out.iterdir()) == []
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out", "repo"]

    assert f"{key} = " in kgcheck("trust", cwd=inner).out
    assert "not trusted" not in kgcheck("job", "run", "j", cwd=inner).err


@pytest.mark.slow
@pytest.mark.parametrize("place", ["../mine.lbdb", "link.lbdb"])
def test_a_plain_command_writes_to_a_store_elsewhere_only_when_its_file_is_trusted(tmp_path: Path, place: str) -> None:
    (tmp_path / "mine.lbdb").write_text("mine")
    inner = cloned(tmp_path / "repo", f'[stores.s]\nplace = "{place}"')
    (tmp_path / "repo" / "link.lbdb").symlink_to(tmp_path / "mine.lbdb")

    for command in (("load", str(core_import()), "--prune"), ("patch", "apply", "p")):
        assert f"is not trusted with its addresses: stores.s.place = {place}" in kgcheck(*command, cwd=inner).err

    assert kgcheck("trust", cwd=inner).out == f"stores.s.place = {place}\n"
    assert "not trusted" not in kgcheck("load", str(core_import()), cwd=inner).err
    assert (tmp_path / "mine.lbdb").read_text() == "mine"


# --- in the clear

FOREIGN = ("0.0.0.0", "127.1", "2130706433", "0177.0.0.1", "0x7f000001")  # noqa: S104
"""Addresses that lead to this machine, and are not written as one that does."""


def opened(address: str, **given: Any) -> None:
    """Connect as every command does, and let it fail."""
    secrets = {"neo4j_password": SecretStr(MARK), "ledger_password": SecretStr(MARK), "ledger_user": "me"}
    chosen = Settings(**{**secrets, "connect_timeout_s": 2, **given})
    if address.startswith("postgres"):
        Ledger(ledger_place(address, chosen)).close()
    else:
        open_store(address, load_schema(), chosen).close()


@pytest.mark.parametrize("host", FOREIGN)
@pytest.mark.parametrize("scheme", ["bolt", "neo4j", "BOLT"])
def test_no_neo4j_password_goes_to_another_machine_in_the_clear(host: str, scheme: str, bolt: BoltImpostor) -> None:
    with pytest.raises(ConfigurationError, match="in the clear") as refused:
        opened(f"{scheme}://{host}:{bolt.port}")

    assert bolt.calls == 0
    assert "KGCHECK_CLEARTEXT_HOSTS" in refused.value.hint


def test_a_host_that_is_named_gets_it(bolt: BoltImpostor) -> None:
    with pytest.raises(KgcheckError):
        opened(f"bolt://0.0.0.0:{bolt.port}", cleartext_hosts="neo4j, 0.0.0.0")

    assert says_password(bolt)


def test_a_member_that_only_the_server_names_gets_nothing_in_the_clear(bolt: BoltImpostor) -> None:
    with (
        BoltImpostor(f"0.0.0.0:{bolt.port}") as router,
        pytest.raises(ConfigurationError, match=r"go to 0\.0\.0\.0 in the clear"),
    ):
        opened(f"neo4j://127.0.0.1:{router.port}")

    assert says_password(router)
    assert bolt.calls == 0


@pytest.mark.parametrize("host", FOREIGN[:3])
@pytest.mark.parametrize("query", ["", "?sslmode=prefer", "?sslmode=disable", "?sslmode=allow", "?sslmode=require"])
def test_no_ledger_password_goes_to_another_machine_in_the_clear(
    host: str, query: str, postgres: PostgresImpostor
) -> None:
    with pytest.raises(KgcheckError) as refused:
        opened(f"postgresql://{host}:{postgres.port}/db{query}")

    assert not says_password(postgres)
    assert "KGCHECK_CLEARTEXT_HOSTS" in refused.value.hint


@pytest.mark.parametrize(
    ("address", "environment"),
    [
        ("postgresql://127.0.0.1:{}/db?host=0.0.0.0", {}),
        ("postgresql://127.0.0.1:{}/db?host=127.0.0.1,0.0.0.0", {"PGSSLMODE": "disable"}),
        ("postgresql://127.0.0.1:{}/db", {"PGHOSTADDR": "0.0.0.0"}),  # noqa: S104
        ("postgresql://:{}/db", {"PGHOST": "0.0.0.0"}),  # noqa: S104
        ("postgresql://0.0.0.0:{}/db", {"PGSSLMODE": "allow"}),
        ("postgresql://0.0.0.0:{}/db", {"PGPASSWORD": MARK, "KGCHECK_LEDGER_PASSWORD": ""}),
    ],
)
def test_where_libpq_connects_is_asked_of_libpq(
    address: str, environment: dict[str, str], postgres: PostgresImpostor, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    given = {"ledger_password": None} if "PGPASSWORD" in environment else {}

    with pytest.raises(KgcheckError):
        opened(address.format(postgres.port), **given)

    assert not says_password(postgres)


def asked(service: str, chosen: Settings) -> None:
    """One call with a key."""
    if service == "llm":
        with ChatClient(chosen) as client:
            client.complete([{"role": "user", "content": "x"}])
    with Http(chosen, sleep=lambda seconds: None) as http:
        if service == "pubmed":
            Eutils(http, chosen, "2026-11-24", "PubMed").search("pubmed", "x", 1)
        SemanticScholar(http, chosen, "2026-11-24").page("x", "", 1)


@pytest.mark.parametrize("service", ["llm", "pubmed", "semantic_scholar"])
@pytest.mark.parametrize(("host", "may"), [*((host, False) for host in FOREIGN[:3]), ("127.0.0.1", True)])
def test_no_key_goes_to_another_machine_in_the_clear(service: str, host: str, may: bool, tmp_path: Path) -> None:
    with HttpImpostor() as server:
        address = f"http://{host}:{server.port}"
        if service == "llm":
            given: dict[str, Any] = {"llm_base_url": address, "llm_api_key": SecretStr(MARK), "llm_model": "m"}
        else:
            given = {f"{service}_url": address, f"{service}_key": SecretStr(MARK)}
        chosen = Settings(**given, http_attempts=1, llm_retries=0, cache_dir=tmp_path / "cache")

        with pytest.raises(KgcheckError) as failed:
            asked(service, chosen)

    assert ("in the clear" in failed.value.message) is not may
    assert says_password(server) is may


def test_a_recipe_does_not_get_what_netrc_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "netrc").write_text(f"machine 127.0.0.1 login me password {MARK}\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    with HttpImpostor() as server, Http(Settings(cache_dir=tmp_path / "cache")) as http:
        service = ProviderService("recipe", f"http://127.0.0.1:{server.port}", 100, "KGCHECK_X")
        with http.stream(service, f"http://127.0.0.1:{server.port}/x", {}):
            pass

    assert server.heard
    assert b"Authorization" not in server.heard


@pytest.mark.parametrize(
    ("address", "may"),
    [
        ("json://bot:{mark}@0.0.0.0:{port}/x", False),
        ("json://0.0.0.0:{port}/{mark}", False),
        ("json://bot:{mark}@127.0.0.1:{port}/x", True),
        ("mailto://me:{mark}@0.0.0.0:{port}?from=b@example.org&to=a@example.org&mode=insecure", False),
        ("mailto://me:{mark}@example.org?smtp=0.0.0.0&to=a@example.org&mode=insecure", False),
    ],
)
def test_no_message_says_its_secret_in_the_clear(
    address: str, may: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = WorkItem(number=1, job="j", state=WorkState.RUNNING, created=clock.now(), worker="w")
    with HttpImpostor() as server:
        monkeypatch.setenv("HOOK", address.format(mark=MARK, port=server.port))
        entries = {"n": NotificationEntry(address_env="HOOK", when=("always",))}
        (sent,) = notify(entries, ["n"], run, JobWork(Severity.OK, "x"))

    assert not sent.sent
    assert ("in the clear" in sent.why) is not may
    assert bool(server.calls) is may


@settings(max_examples=examples(200))
@given(
    host=st.one_of(
        HOSTS.map(lambda h: h.strip("[]")),
        st.ip_addresses().map(str),
        st.text(st.sampled_from("lLocalhst.127:0[]%@/\\ \u212b\uff11\u2024"), max_size=14),
    )
)
def test_only_what_is_surely_this_machine_counts_as_it(host: str) -> None:
    if is_cleartext_host(host, "neo4j,db.example.org"):
        plain = host.lower().partition("%")[0]
        assert plain in ("localhost", "::1") or (plain.startswith("127.") and plain.count(".") == 3 and plain.isascii())


def test_what_an_option_names_needs_no_trust_in_the_file(tmp_path: Path, bolt: BoltImpostor) -> None:
    inner = cloned(tmp_path / "repo", 'ledger = "postgresql://127.0.0.1:1/x"', "[stores.main]", 'place = "bolt://h"')
    named = ("--store", f"bolt://127.0.0.1:{bolt.port}", "--ledger", str(tmp_path / "l.sqlite"))

    assert "not trusted" not in kgcheck("audit", *named, cwd=inner).err
    assert says_password(bolt)
    assert kgcheck("audit", "--help", cwd=inner).code == 0


def test_a_file_without_addresses_needs_no_trust(tmp_path: Path) -> None:
    inner = cloned(tmp_path / "repo", 'ledger = "l.sqlite"', "[stores.main]", 'place = "g.lbdb"')

    assert "not trusted" not in kgcheck("runs", cwd=inner).err
    assert "nothing to trust" in kgcheck("trust", cwd=inner).err


@pytest.mark.slow
def test_a_job_of_a_found_file_writes_into_its_own_folder(tmp_path: Path) -> None:
    job = '[stores.s]\nplace = "g.lbdb"\n[jobs.j]\nkind = "load"\ndirectory = "import"\nquarantine = "q/../q.jsonl"'
    inner = cloned(tmp_path / "repo", job)
    shutil.copytree(core_import(), tmp_path / "repo" / "import")

    assert kgcheck("job", "run", "j", cwd=inner).code == 0
    assert (tmp_path / "repo" / "g.lbdb").exists()


def test_a_link_that_leads_to_itself_is_one_line(tmp_path: Path) -> None:
    inner = cloned(tmp_path / "repo", '[stores.s]\nplace = "loop"')
    (tmp_path / "repo" / "loop").symlink_to("loop")

    assert kgcheck("audit", cwd=inner).refuses(f"there is no graph at {tmp_path / 'repo' / 'loop'}")
    looped = kgcheck("audit", "--profile", "../loop", cwd=inner)
    assert looped.refuses()
    # Python 3.13 says of it what the system says.
    assert "cannot use a path: Symlink loop from" in looped.err or "Too many levels of symbolic links" in looped.err


@pytest.mark.parametrize("scheme", ["bolt+s", "bolt+ssc", "neo4j+s", "neo4j+ssc"])
def test_with_tls_it_goes_where_it_was_sent(scheme: str, bolt: BoltImpostor) -> None:
    with pytest.raises(KgcheckError):
        opened(f"{scheme}://0.0.0.0:{bolt.port}")

    assert bolt.calls
    assert not says_password(bolt)


def test_without_a_password_nothing_is_refused(bolt: BoltImpostor) -> None:
    with pytest.raises(KgcheckError):
        opened(f"bolt://0.0.0.0:{bolt.port}", neo4j_password=None)

    assert bolt.calls


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_ledger_of_this_machine_needs_no_tls(host: str, postgres: PostgresImpostor) -> None:
    with pytest.raises(KgcheckError):
        opened(f"postgresql://127.0.0.1:{postgres.port}/db?host={host}")

    assert says_password(postgres)
