"""What is said when a store cannot be used: one error of the tree, with what to do next."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import ladybug
import pytest
from py2neo import errors as py2neo_errors
from pydantic import SecretStr

from kgcheck.errors import (
    EXIT_INCOMPLETE,
    StoreAccess,
    StoreError,
    StoreLocked,
    StoreMissing,
    StoreSchema,
    StoreUnavailable,
    UsageError,
)
from kgcheck.graph.embedded import EmbeddedStore
from kgcheck.graph.neo4j import Neo4jStore, server_error
from kgcheck.graph.open import open_store
from kgcheck.graph.py2neo import Py2neoStore
from kgcheck.graph.store import AS_TEXT, GraphStore, LoadTarget
from kgcheck.loading.load import load_directory
from kgcheck.model import Ref
from kgcheck.profile.schema import load_schema
from kgcheck.settings import Settings
from tests.contract.stores import ACTS_ON, DISEASE, PROTEIN, add_nodes, edges_table
from tests.support import ROOT
from tests.support.audits import core_import
from tests.support.contents import content_digest
from tests.support.neo4j_fixtures import Neo4jTarget
from tests.support.neo4j_server import WITHOUT_HTTP, Neo4jServer
from tests.support.ports import free_port

CKG = load_schema()
P1 = Ref(label="Protein", id="P1")


def settings_for(target: Neo4jTarget, **changes: object) -> Settings:
    values: dict[str, object] = {"neo4j_user": target.user, "neo4j_password": SecretStr(target.password)}
    return Settings.model_validate(values | changes)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """An embedded store with one protein."""
    made = tmp_path / "graph.lbdb"
    with EmbeddedStore(made, CKG, create=True) as store:
        fill(store)
    return made


def fill(store: GraphStore) -> None:
    store.prepare()
    store.set_meta("profile_version", "1")
    store.set_meta("profile", "ckg")
    add_nodes(store, PROTEIN, "P1")


# --- addresses -------------------------------------------------------------------------------------


WITH_CREDENTIALS = ("bolt://neo4j:geheim@localhost:7687", "neo4j://geheim@localhost", "bolt://:geheim@x")
OF_ANOTHER_SCHEME = ("http://localhost:7474", "bolt+tls://x", "postgres://x", "file:///tmp/x", "://x")
OF_NO_FORM = (
    *("bolt://[::1", "bolt://localhost:port", "bolt://localhost:99999", "bolt://"),
    "bolt://localhost:7687/graph?x=geheim",
)


@pytest.mark.parametrize(
    ("name", "message", "hint"),
    [
        *((name, "no store speaks", "bolt+ssc, neo4j") for name in OF_ANOTHER_SCHEME),
        *((name, "must not carry credentials", "KGCHECK_NEO4J_PASSWORD") for name in WITH_CREDENTIALS),
        *((name, "address", "") for name in OF_NO_FORM),
    ],
)
def test_an_address_that_cannot_be_used_is_refused_and_no_secret_repeated(name: str, message: str, hint: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        open_store(name, CKG, Settings(connect_timeout_s=1))
    assert hint in caught.value.hint
    # What is no address may be a password that was typed where one belongs.
    assert "geheim" not in caught.value.message + caught.value.hint


# --- a server --------------------------------------------------------------------------------------


@pytest.mark.parametrize("address", ["127.0.0.1:{port}", "nowhere.invalid:7687"])
@pytest.mark.parametrize("scheme", ["bolt", "neo4j", "bolt+s"])
def test_no_server(scheme: str, address: str) -> None:
    name = f"{scheme}://{address.format(port=free_port())}"
    with pytest.raises(StoreUnavailable, match="no Neo4j server answers") as caught:
        open_store(
            name, CKG, Settings(neo4j_password=SecretStr("x"), cleartext_hosts="nowhere.invalid", connect_timeout_s=2)
        )
    assert caught.value.exit_code == EXIT_INCOMPLETE
    assert "start it" in caught.value.hint


def test_something_else_answers(clean_neo4j: Neo4jTarget) -> None:
    if clean_neo4j.http is None:
        pytest.skip("the server was not started here")
    name = clean_neo4j.http.replace("http://", "bolt://")
    with pytest.raises(StoreUnavailable, match="no Neo4j server answers"):
        open_store(name, CKG, settings_for(clean_neo4j))


def test_encryption_that_the_server_does_not_speak(clean_neo4j: Neo4jTarget) -> None:
    with pytest.raises(StoreUnavailable):
        open_store(clean_neo4j.uri.replace("bolt://", "bolt+s://"), CKG, settings_for(clean_neo4j))


@pytest.mark.parametrize("password", [None, "", "wrong-password"])
def test_wrong_or_missing_credentials(clean_neo4j: Neo4jTarget, password: str | None) -> None:
    secret = None if password is None else SecretStr(password)
    with pytest.raises(StoreAccess, match="refused the credentials") as caught:
        open_store(clean_neo4j.uri, CKG, settings_for(clean_neo4j, neo4j_password=secret))
    assert "wrong-password" not in caught.value.message
    assert caught.value.hint == "set KGCHECK_NEO4J_USER and KGCHECK_NEO4J_PASSWORD"


def test_a_database_that_is_not_there(clean_neo4j: Neo4jTarget) -> None:
    with pytest.raises(StoreMissing, match="no such database") as caught:
        open_store(clean_neo4j.uri, CKG, settings_for(clean_neo4j, neo4j_database="nowhere"))
    assert caught.value.hint == "set KGCHECK_NEO4J_DATABASE"


def test_a_query_that_takes_too_long(clean_neo4j: Neo4jTarget) -> None:
    with open_store(clean_neo4j.uri, CKG, settings_for(clean_neo4j), create=True) as store:
        fill(store)
        add_nodes(store, DISEASE, *(f"DOID:{i}" for i in range(3000)))
    slow = "MATCH (a:`Disease`), (b:`Disease`), (c:`Disease`) WHERE a.id + b.id + c.id = 'x' RETURN count(*) AS n"
    uri = clean_neo4j.uri.replace("bolt://", "neo4j://")
    with Neo4jStore(uri, CKG, settings_for(clean_neo4j, query_timeout_s=1)) as opened:
        with pytest.raises(StoreUnavailable, match="took too long") as caught:
            list(opened._read(slow, {}))
        assert opened.node(P1) == {"id": "P1"}
    assert "KGCHECK_QUERY_TIMEOUT_S" in caught.value.hint


@pytest.mark.parametrize(
    ("code", "retryable", "kind"),
    [
        ("Neo.ClientError.Security.AuthenticationRateLimit", False, StoreAccess),
        ("Neo.ClientError.Security.Forbidden", False, StoreAccess),
        ("Neo.ClientError.Transaction.TransactionTimedOutClientConfiguration", False, StoreUnavailable),
        ("Neo.ClientError.Transaction.LockClientStopped", False, StoreUnavailable),
        ("Neo.ClientError.Transaction.Terminated", False, StoreUnavailable),
        ("Neo.TransientError.General.MemoryPoolOutOfMemoryError", True, StoreUnavailable),
        ("Neo.DatabaseError.General.UnknownError", False, StoreUnavailable),
        ("Neo.ClientError.Statement.SyntaxError", False, StoreError),
        ("", False, StoreError),
    ],
)
def test_what_a_server_says_becomes_one_error(code: str, retryable: bool, kind: type[StoreError]) -> None:
    error = server_error("bolt://x", code, "because", retryable)
    assert type(error) is kind
    assert "bolt://x" in error.message


@pytest.mark.slow
def test_a_load_ends_where_another_transaction_holds_its_nodes(clean_neo4j: Neo4jTarget, tmp_path: Path) -> None:
    folder, settings = tmp_path / "import", settings_for(clean_neo4j, query_timeout_s=5)

    def load(store: LoadTarget) -> None:
        load_directory(folder, store, settings, quarantine=tmp_path / "quarantine.jsonl")

    shutil.copytree(core_import(), folder)
    with Neo4jStore(clean_neo4j.uri, CKG, settings, create=True) as store:
        load(store)
        before = content_digest(store)
        (genes,) = folder.rglob("Gene.tsv")
        head, *rows = genes.read_text().splitlines()
        renamed = ("\t".join([*row.split("\t")[:2], "other", *row.split("\t")[3:]]) for row in rows)
        genes.write_text("\n".join([head, *renamed, ""]))
        with clean_neo4j.driver() as driver, driver.session() as session, session.begin_transaction() as foreign:
            foreign.run("MATCH (n:Gene) SET n.foreign = 1").consume()
            with pytest.raises(StoreUnavailable, match="waited for what another transaction holds") as caught:
                load(store)
            foreign.rollback()
        assert "run the same command again" in caught.value.hint
        assert content_digest(store) == before
        load(store)
        with EmbeddedStore(tmp_path / "graph.lbdb", CKG, create=True) as other:
            load(other)
            assert scanned(store) == scanned(other)


def scanned(store: GraphStore) -> list[Any]:
    """All genes of a store, in order."""
    rows = (row for table in store.scan_nodes(CKG.label("Gene")) for row in table.drop_columns(AS_TEXT).to_pylist())
    return sorted((sorted(row.items()) for row in rows), key=str)


@pytest.fixture
def own_server(neo4j_jars: Path, tmp_path: Path) -> Iterator[Neo4jServer]:
    """A server that a test may stop."""
    with Neo4jServer(tmp_path / "neo4j", "for-this-test-only", short_lived=True, settings=WITHOUT_HTTP) as server:
        yield server


@pytest.mark.slow
def test_a_server_that_stops_while_it_is_read(own_server: Neo4jServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgcheck.graph.neo4j._RETRY_S", 1.0)
    monkeypatch.setattr("kgcheck.graph.server.SCAN_ROWS", 1000)
    settings = Settings(neo4j_password=SecretStr("for-this-test-only"), connect_timeout_s=2)
    with Neo4jStore(own_server.uri, CKG, settings, create=True) as store:
        fill(store)
        add_nodes(store, PROTEIN, *(f"Q{i}" for i in range(20_000)))
        store.add_edges(ACTS_ON, edges_table(ACTS_ON, *({"head": "P1", "tail": f"Q{i}"} for i in range(9))))
        tables = store.scan_nodes(PROTEIN)
        assert next(tables).num_rows == 1000
        own_server.stop()
        with pytest.raises(StoreUnavailable) as caught:
            list(tables)
        assert caught.value.exit_code == EXIT_INCOMPLETE
        with pytest.raises(StoreUnavailable):
            store.counts()
        with pytest.raises(StoreUnavailable):
            add_nodes(store, PROTEIN, "Z1")
        with pytest.raises(StoreUnavailable):
            next(store.scan_edges(ACTS_ON))


class BrokenGraph:
    """A py2neo Graph whose server has gone: a real one would wait for it without end."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def run(self, cypher: str, parameters: dict[str, Any] | None = None) -> NoReturn:
        raise self._error

    query = run


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (py2neo_errors.ConnectionUnavailable("gone"), StoreUnavailable),
        (py2neo_errors.ConnectionBroken("gone"), StoreUnavailable),
        (py2neo_errors.ServiceUnavailable("gone"), StoreUnavailable),
        (ConnectionResetError("gone"), StoreUnavailable),
        (py2neo_errors.Neo4jError("no", "Neo.ClientError.Security.Unauthorized"), StoreAccess),
        (py2neo_errors.Neo4jError("no", "Neo.ClientError.Statement.SyntaxError"), StoreError),
        (py2neo_errors.Neo4jError("no", "Neo.TransientError.Transaction.DeadlockDetected"), StoreUnavailable),
    ],
)
def test_what_py2neo_raises_becomes_one_error(error: Exception, kind: type[StoreError]) -> None:
    with pytest.raises(kind) as caught:
        Py2neoStore(BrokenGraph(error), CKG)
    assert type(caught.value) is kind


# --- a file ----------------------------------------------------------------------------------------


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(StoreMissing, match="there is no graph at") as caught:
        open_store(str(tmp_path / "nothing.lbdb"), CKG, Settings())
    assert caught.value.hint.startswith("load one: kgcheck load DIR --store ")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("create", [False, True])
def test_a_folder(tmp_path: Path, create: bool) -> None:
    with pytest.raises(StoreError, match="is a folder"):
        open_store(str(tmp_path), CKG, Settings(), create=create)


@pytest.mark.parametrize("content", [b"ID\tname\n", b"\x00" * 8192, os.urandom(20_000), b"SQLite format 3\x00" * 999])
@pytest.mark.parametrize("create", [False, True])
def test_a_file_of_another_kind_stays_as_it_is(tmp_path: Path, content: bytes, create: bool) -> None:
    path = tmp_path / "notes.tsv"
    path.write_bytes(content)
    with pytest.raises(StoreError, match=r"notes\.tsv") as caught:
        open_store(str(path), CKG, Settings(), create=create)
    assert caught.value.hint
    assert path.read_bytes() == content


@pytest.mark.parametrize("size", [0, 5000])
def test_a_truncated_store(path: Path, size: int) -> None:
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(StoreError, match=r"graph\.lbdb"), open_store(str(path), CKG, Settings()) as store:
        store.node(P1)


def made_elsewhere(path: Path, table: str) -> str:
    with ladybug.Database(str(path)) as database, ladybug.Connection(database) as connection:
        connection.execute(f"CREATE NODE TABLE {table}")
    return str(path)


@pytest.mark.parametrize("create", [False, True])
def test_a_file_with_other_labels(tmp_path: Path, create: bool) -> None:
    made = made_elsewhere(tmp_path / "movies.lbdb", "Movie(title STRING, PRIMARY KEY(title))")
    with pytest.raises(StoreSchema, match="its labels are Movie"):
        open_store(made, CKG, Settings(), create=create)


def test_a_file_with_other_columns(tmp_path: Path) -> None:
    made = made_elsewhere(tmp_path / "other.lbdb", "Protein(id STRING, PRIMARY KEY(id))")
    with open_store(made, CKG, Settings()) as store, pytest.raises(StoreSchema, match="other columns"):
        list(store.scan_nodes(PROTEIN))


HOLD = """
import sys
from pathlib import Path
from typing import Any, NoReturn
from kgcheck.graph.embedded import EmbeddedStore
from kgcheck.profile.schema import load_schema
with EmbeddedStore(Path(sys.argv[1]), load_schema(), create=sys.argv[2] == "write"):
    print("held", flush=True)
    sys.stdin.readline()
"""


@pytest.mark.parametrize(("theirs", "ours"), [("write", "read"), ("write", "write"), ("read", "write")])
def test_a_file_that_another_process_has_open(path: Path, theirs: str, ours: str) -> None:
    command = [sys.executable, "-c", HOLD, str(path), theirs]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout
        assert child.stdout.readline() == b"held\n"
        with pytest.raises(StoreLocked, match="in use by another process") as caught:
            open_store(str(path), CKG, Settings(), create=ours == "write")
        assert "wait until it ends" in caught.value.hint
        child.communicate(b"\n")
    with open_store(str(path), CKG, Settings(), create=ours == "write") as store:
        assert store.node(P1) == {"id": "P1"}


def test_two_may_read_a_file_and_a_closed_store_says_so(path: Path) -> None:
    with open_store(str(path), CKG, Settings()) as one, open_store(str(path), CKG, Settings()) as two:
        assert one.node(P1) == two.node(P1) == {"id": "P1"}
    two.close()
    with pytest.raises(StoreError, match="is closed"):
        two.node(P1)


def test_a_file_opened_for_reading_takes_no_writes(path: Path) -> None:
    before = path.read_bytes()
    with open_store(str(path), CKG, Settings()) as store:
        writes: list[Callable[[], None]] = [store.prepare]
        writes += [lambda: add_nodes(store, PROTEIN, "P2"), lambda: store.set_meta("a", "b")]
        for write in writes:
            with pytest.raises(StoreError, match="read"):
                write()
    assert path.read_bytes() == before


@pytest.mark.parametrize("place", ["/proc/kgcheck/graph.lbdb", "/dev/null/graph.lbdb"])
def test_a_place_that_cannot_be_written_to(place: str) -> None:
    with pytest.raises(StoreError) as caught:
        open_store(place, CKG, Settings(), create=True)
    assert place.rsplit("/", 1)[0] in caught.value.message


def test_a_query_on_a_file_that_takes_too_long(path: Path) -> None:
    with EmbeddedStore(path, CKG, create=True) as store:
        add_nodes(store, DISEASE, *(f"DOID:{i}" for i in range(3000)))
    slow = "MATCH (a:`Disease`), (b:`Disease`), (c:`Disease`) WHERE a.id + b.id + c.id = 'x' RETURN count(*) AS n"
    with EmbeddedStore(path, CKG, timeout_s=0.5) as store:
        with pytest.raises(StoreUnavailable, match="took too long"):
            store._read(slow, {})
        assert store.node(P1) == {"id": "P1"}
