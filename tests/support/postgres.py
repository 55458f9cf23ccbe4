"""A PostgreSQL server of the tests' own, in a temporary folder and reached by a socket in it; a plugin of pytest."""

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn
from uuid import uuid4

import pytest
from sqlalchemy import URL, create_engine

USER = "kgcheck"
GUARDED = "guarded"
PASSWORD = "made-up"
"""A user whom the server asks for a password, and it."""


class PostgresServer:
    """A running server with an empty database, ``postgres``."""

    def __init__(self, folder: str, programs: Path, who: dict[str, Any], *, durable: bool = False) -> None:
        self._options = f"-c listen_addresses='' -c fsync={'on' if durable else 'off'}"
        self.folder = folder
        self.data = f"{folder}/data"
        self._programs = programs
        self._who = who
        self._port: dict[str, str] = {}
        self._common = {"cwd": folder, "env": {"PATH": str(programs), "LC_ALL": "C"}, **who}

    def make(self) -> None:
        """Make the data, and start."""
        options = ("-U", USER, "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync")
        self._run("initdb", "-D", self.data, *options)
        hba = Path(self.data) / "pg_hba.conf"
        hba.write_text(f"local all {GUARDED} scram-sha-256\n{hba.read_text()}")
        self.start()
        engine = create_engine(self.address())
        with engine.begin() as connection:
            connection.exec_driver_sql(f"CREATE ROLE {GUARDED} LOGIN SUPERUSER PASSWORD '{PASSWORD}'")
        engine.dispose()

    def start(self) -> None:
        """Start, and wait until it answers."""
        options = ("-t", "60", "-l", f"{self.folder}/log", "-o", f"-k {self.folder} {self._options}")
        self._run("pg_ctl", "-D", self.data, "-w", *options, "start")

    def stop(self, mode: str = "immediate") -> None:
        """Stop; ``fast`` tells whoever is connected."""
        self._run("pg_ctl", "-D", self.data, "-m", mode, "-w", "stop")

    def listen(self, port: int, certificate: Path, key: Path) -> None:
        """Listen on loopback too, to whom speaks TLS, from the next start on."""
        for file in (certificate, key):
            copied = shutil.copy(file, self.folder)
            os.chmod(copied, 0o600)
            if self._who:
                os.chown(copied, self._who["user"], self._who["group"])
        hba = Path(self.data) / "pg_hba.conf"
        hba.write_text(hba.read_text().replace("\nhost ", "\nhostssl "))
        self._port = {"port": str(port)}
        tls = f"-c ssl_cert_file={self.folder}/{certificate.name} -c ssl_key_file={self.folder}/{key.name}"
        self._options = f"-c listen_addresses=127.0.0.1 -c port={port} -c fsync=off -c ssl=on {tls}"

    def make_standby(self, of: "PostgresServer", port: int, of_port: int, certificate: Path, key: Path) -> None:
        """Make the data a copy of another server's, and follow it."""
        source = ("-h", of.folder, "-p", str(of_port), "-U", USER)
        self._run("pg_basebackup", "-D", self.data, *source, "-R", "-X", "stream", "-c", "fast")
        self.listen(port, certificate, key)
        self.start()

    def ask(self, *statements: str) -> Any:
        """The one value that the last statement gives."""
        engine = create_engine(self.address(), isolation_level="AUTOCOMMIT")
        try:
            with engine.connect() as connection:
                *_, last = [connection.exec_driver_sql(one) for one in statements]
                return last.scalar_one()
        finally:
            engine.dispose()

    def wait_until(self, statement: str, value: object) -> None:
        """Wait until a statement gives a value."""
        end = time.monotonic() + 60
        while self.ask(statement) != value:
            assert time.monotonic() < end, statement
            time.sleep(0.05)

    def promote(self) -> None:
        """Follow nobody any more, and take what is written."""
        self._run("pg_ctl", "-D", self.data, "-w", "-t", "60", "promote")

    def address(self, database: str = "postgres") -> URL:
        """The address of a database, with a user who needs no password."""
        return URL.create("postgresql+psycopg", USER, database=database, query={"host": self.folder, **self._port})

    def _run(self, program: str, *arguments: str) -> None:
        command: list[str | Path] = [self._programs / program, *arguments]
        # Not a pipe: the server would keep it open.
        with tempfile.TemporaryFile("w+") as log:
            done = subprocess.run(command, check=False, stdout=log, stderr=log, timeout=120, **self._common)
            log.seek(0)
            if done.returncode:
                raise OSError(f"{program}: {log.read().strip()[-300:]}")


def _programs() -> Path | None:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if found:
        return found[-1].parent
    on_path = shutil.which("initdb")
    return Path(on_path).parent if on_path else None


@contextmanager
def own_server(*, durable: bool = False, is_made: bool = True) -> Iterator[PostgresServer]:
    """A server; skips where it cannot run, and fails in CI."""
    programs = _programs()
    if programs is None:
        _give_up("no PostgreSQL server programs on this machine")
    if find_spec("psycopg") is None:
        _give_up("psycopg is not installed")
    other = pwd.getpwnam("nobody") if os.getuid() == 0 else None
    who: dict[str, Any] = {"user": other.pw_uid, "group": other.pw_gid, "extra_groups": []} if other else {}
    # Not pytest's folder: the path of a socket has 107 bytes at most, and others may not enter it.
    with tempfile.TemporaryDirectory(prefix="kgcheck-pg-", ignore_cleanup_errors=True) as folder:
        if other:
            os.chown(folder, other.pw_uid, other.pw_gid)
        server = PostgresServer(folder, programs, who, durable=durable)
        try:
            if is_made:
                server.make()
        except OSError as error:
            _give_up(f"PostgreSQL does not start here: {error}")
        try:
            yield server
        finally:
            # One that a test has stopped is stopped already.
            if (Path(server.data) / "postmaster.pid").exists():
                server.stop()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """A server for the tests of a session; under pytest-xdist each worker has its own."""
    with own_server() as server:
        yield server


def fresh_schema(server: URL) -> URL:
    """The address of a new, empty schema on a server."""
    name = f"s{uuid4().hex[:12]}"
    engine = create_engine(server)
    with engine.begin() as connection:
        connection.exec_driver_sql(f"CREATE SCHEMA {name}")
    engine.dispose()
    return server.update_query_dict({"options": f"-csearch_path={name}"})


def ledger_place(request: pytest.FixtureRequest, folder: Path) -> Path | URL:
    """Where a ledger could be, in the database that the parameter of a fixture names."""
    if request.param == "sqlite":
        return folder / "ledger.sqlite"
    return fresh_schema(request.getfixturevalue("postgres_server").address())


def named(address: URL) -> str:
    """An address as a person names it: without credentials."""
    return URL.create("postgresql", database=address.database, query=address.query).render_as_string()


def _give_up(reason: str) -> NoReturn:
    """Skip on a machine without PostgreSQL, but not in CI, where a skip would pass unseen."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)
