"""A real Neo4j community server for tests, started from its Maven jars instead of a container image.

    with Neo4jServer(tmp_path / "neo4j", password="at-least-eight") as server:
        driver = neo4j.GraphDatabase.driver(server.uri, auth=("neo4j", "at-least-eight"))

As a program (`python -m tests.support.neo4j_server --home DIR`) it runs in the foreground.
"""

from __future__ import annotations

import argparse
import atexit
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import NoReturn, Self

import neo4j
from neo4j.exceptions import AuthError, DriverError, Neo4jError

from tests.support.neo4j_jars import Neo4jUnavailable, jars, java, last_lines, main_class, neo4j_version, run
from tests.support.ports import free_port

USER = "neo4j"
HOST = "127.0.0.1"

_SHORTEST_PASSWORD = 8
_STOP_TIMEOUT_S = 30.0
_PORT_ATTEMPTS = 3
_OPENS = ("java.nio", "java.io", "sun.nio.ch")
_FOLDERS = ("conf", "data", "import", "logs", "plugins", "run")
_SETTINGS = {
    "server.directories.import": "import",
    "dbms.usage_report.enabled": "false",
    # Half a gigabyte of zeros for each home, and a second of every start, otherwise.
    "db.tx_log.preallocate": "false",
    # Netty waits this many seconds for latecomers, twice: 10 s for each stop at the default of 5.
    "internal.dbms.bolt.netty_server_shutdown_quiet_period": "0",
}


# Java compiles quickly and not for speed, and takes the classes of the jars as right.
_QUICK_JAVA = ("-XX:TieredStopAtLevel=1", "-XX:+UnlockDiagnosticVMOptions", "-XX:-BytecodeVerificationRemote")

WITHOUT_HTTP = {"server.http.enabled": "false"}
"""For a server of one test, which is asked over Bolt alone: a fifth of its start."""


class Neo4jStartError(RuntimeError):
    """The server was started and did not come up; the message ends with what it logged."""


def _die_with_parent() -> list[str]:
    """A command prefix that ends the server with this process, even one that is killed, where there is one.

    The kernel watches the thread that starts the child, so only the main thread may ask for it. BusyBox has
    a `setpriv` too, without the option.
    """
    setpriv = shutil.which("setpriv")
    if setpriv is None or Path(setpriv).resolve().name != "setpriv":
        return []
    if threading.current_thread() is not threading.main_thread():
        return []
    return [setpriv, "--pdeathsig", "TERM"]


class Neo4jServer:
    """One server with its own home folder; it can be started again after a stop and keeps its data.

    Use it as a context manager, or call `start` and `stop`. Whatever happens, it ends with this process.
    """

    def __init__(
        self,
        home: Path,
        password: str | None = None,
        *,
        bolt_port: int | None = None,
        http_port: int | None = None,
        heap: str = "512m",
        pagecache: str = "256m",
        settings: Mapping[str, str] | None = None,
        start_timeout: float = 120.0,
        short_lived: bool = False,
    ) -> None:
        """Describe the server; nothing is started or written yet."""
        if password is not None and len(password) < _SHORTEST_PASSWORD:
            raise ValueError(f"Neo4j wants a password of at least {_SHORTEST_PASSWORD} characters")
        self.home = home.resolve()
        self.password = password
        self._wanted_ports = (bolt_port, http_port)
        self._ports = (bolt_port or 0, http_port or 0)
        self._heap = heap
        self._pagecache = pagecache
        self._settings = dict(settings or {})
        self._start_timeout = start_timeout
        # The collector of a heap that is small and has few cores.
        self._java_options = ["-XX:+UseSerialGC", *(_QUICK_JAVA if short_lived else ())]
        self._log_start = 0
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        """Start the server."""
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the server."""
        self.stop()

    @property
    def uri(self) -> str:
        """Where it answers Bolt."""
        return f"bolt://{HOST}:{self._ports[0]}"

    @property
    def http(self) -> str:
        """Where it answers HTTP."""
        return f"http://{HOST}:{self._ports[1]}"

    @property
    def auth(self) -> tuple[str, str] | None:
        """What a driver takes as `auth`."""
        return None if self.password is None else (USER, self.password)

    def start(self) -> None:
        """Start the server and wait until it answers."""
        if self._process is not None:
            raise RuntimeError("this server is already started")
        for attempt in range(1, _PORT_ATTEMPTS + 1):
            try:
                self._start_once()
                return
            except Neo4jStartError as error:
                # Between being found and being used, a free port can be taken by someone else.
                lost = self._wanted_ports == (None, None) and "already in use" in str(error)
                if not lost or attempt == _PORT_ATTEMPTS:
                    raise

    def stop(self) -> None:
        """End the server and wait until it is gone; does nothing when it is not running."""
        process = self._process
        if process is None:
            return
        for number in (signal.SIGTERM, signal.SIGKILL):
            if process.poll() is None:
                os.killpg(process.pid, number)
            with suppress(subprocess.TimeoutExpired):
                process.wait(_STOP_TIMEOUT_S)
                break
        # Last, so that an interrupted stop is done again when the interpreter exits.
        atexit.unregister(self.stop)
        self._process = None

    def wait(self) -> int:
        """Wait until the server ends by itself; returns its exit status."""
        if self._process is None:
            raise RuntimeError("this server is not started")
        return self._process.wait()

    def admin(self, args: Sequence[str], *, timeout: float | None = None) -> str:
        """Run a `neo4j-admin` command on this home, for example `["database", "dump", "neo4j"]`.

        Most commands want the server stopped. It runs in the home: give paths as absolute ones.
        """
        self._prepare()
        command = [java(), *self._java_options, "-cp", f"{jars()}/*", "org.neo4j.cli.AdminTool", *args]
        env = os.environ | {"NEO4J_HOME": str(self.home), "NEO4J_CONF": str(self.home / "conf")}
        # An import leaves its report in the working directory.
        done = run(command, env=env, cwd=self.home, timeout=timeout)
        if done.returncode != 0:
            tail = last_lines(done.stdout)
            raise RuntimeError(f"neo4j-admin {' '.join(args[:3])} exited with {done.returncode}:\n{tail}")
        return done.stdout

    def install(self) -> Path:
        """Lay the home out as an installation is, with a `bin/neo4j-admin`; the server is not started."""
        self._prepare()
        program = self.home / "bin" / "neo4j-admin"
        program.parent.mkdir(exist_ok=True)
        program.write_text(
            f"#!/bin/sh\nNEO4J_HOME='{self.home}' NEO4J_CONF='{self.home}/conf'"
            f" exec '{java()}' {' '.join(self._java_options)} -cp '{jars()}/*' org.neo4j.cli.AdminTool \"$@\"\n"
        )
        program.chmod(0o755)
        return self.home

    def _start_once(self) -> None:
        self._ports = (self._wanted_ports[0] or free_port(), self._wanted_ports[1] or free_port())
        self._prepare()
        try:
            self._process = self._spawn()
            atexit.register(self.stop)
            self._wait_until_started(self._process)
            self._log_in()
        except BaseException:
            self.stop()
            raise

    def _prepare(self) -> None:
        """Make the home's folders and write its configuration."""
        for folder in _FOLDERS:
            (self.home / folder).mkdir(parents=True, exist_ok=True)
        settings = _SETTINGS | {
            "server.bolt.listen_address": f"{HOST}:{self._ports[0]}",
            "server.http.listen_address": f"{HOST}:{self._ports[1]}",
            "server.memory.pagecache.size": self._pagecache,
            "dbms.security.auth_enabled": str(self.password is not None).lower(),
        }
        lines = [f"{name}={value}\n" for name, value in (settings | self._settings).items()]
        (self.home / "conf" / "neo4j.conf").write_text("".join(lines), encoding="utf-8")

    def _spawn(self) -> subprocess.Popen[bytes]:
        lib = jars()
        command = [*_die_with_parent(), java(), f"-Xmx{self._heap}", *self._java_options]
        command += [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENS]
        command += ["-cp", f"{lib}/*", main_class(lib)]
        command += [f"--home-dir={self.home}", f"--config-dir={self.home / 'conf'}"]
        self._log_start = self._log.stat().st_size if self._log.exists() else 0
        with self._console.open("wb") as console:
            # A session of its own keeps a Ctrl-C in the terminal from reaching the server before `stop`.
            return subprocess.Popen(
                command,
                cwd=self.home,
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def _wait_until_started(self, process: subprocess.Popen[bytes]) -> None:
        """Wait for the log's last word of a start, which comes after Bolt and HTTP have been opened."""
        deadline = time.monotonic() + self._start_timeout
        while "Started." not in self._new_log():
            if process.poll() is not None:
                raise self._failure(f"Neo4j ended with status {process.returncode} while it started")
            if time.monotonic() > deadline:
                raise self._failure(f"Neo4j did not start in {self._start_timeout:.0f} s")
            time.sleep(0.05)

    def _log_in(self) -> None:
        """See that the server answers with the password, which a new home must be given first."""
        try:
            with neo4j.GraphDatabase.driver(self.uri, auth=self.auth) as driver:
                driver.verify_connectivity()
        except AuthError:
            self._replace_built_in_password()
        except (Neo4jError, DriverError) as error:
            raise self._failure(f"Neo4j started but refused its first client: {error}") from error

    def _replace_built_in_password(self) -> None:
        """Set the password over Bolt: as an argument of neo4j-admin, `ps` would show it."""
        try:
            with neo4j.GraphDatabase.driver(self.uri, auth=(USER, "neo4j")) as driver:
                driver.execute_query(
                    "ALTER CURRENT USER SET PASSWORD FROM 'neo4j' TO $password",
                    {"password": self.password},
                    database_="system",
                )
        except AuthError as error:
            raise self._failure(f"{self.home} was made with another password") from error
        except (Neo4jError, DriverError) as error:
            raise self._failure(f"Neo4j did not take its first password: {error}") from error

    @property
    def _log(self) -> Path:
        return self.home / "logs" / "neo4j.log"

    @property
    def _console(self) -> Path:
        return self.home / "logs" / "console.log"

    def _new_log(self) -> str:
        """What the server has logged since it was last started; earlier starts are in the same file."""
        try:
            with self._log.open("rb") as log:
                log.seek(self._log_start)
                return log.read().decode("utf-8", errors="replace")
        except FileNotFoundError:
            return ""

    def _failure(self, reason: str) -> Neo4jStartError:
        console = self._console.read_text(encoding="utf-8", errors="replace")
        return Neo4jStartError(
            f"{reason}\n--- {self._log}\n{last_lines(self._new_log())}\n--- {self._console}\n{last_lines(console)}"
        )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.support.neo4j_server",
        description="Run a Neo4j community server in the foreground. The password is taken from "
        "KGCHECK_NEO4J_PASSWORD; authentication is off when that is unset.",
    )
    parser.add_argument("--home", type=Path, required=True, help="folder for its data, kept between runs")
    parser.add_argument("--port", type=int, default=7687, help="Bolt port (default: %(default)s)")
    parser.add_argument("--http-port", type=int, default=7474, help="HTTP port (default: %(default)s)")
    parser.add_argument("--no-auth", action="store_true", help="ask no one for a password")
    return parser.parse_args()


def _how_to_connect(server: Neo4jServer) -> str:
    if server.password is None:
        access = "authentication is off (no KGCHECK_NEO4J_PASSWORD or --no-auth); connect with: "
    else:
        access = f"connect with: export KGCHECK_NEO4J_USER={USER} KGCHECK_NEO4J_PASSWORD=...; "
    return (
        f"Neo4j {neo4j_version()} at {server.uri} and {server.http}; {access}"
        f"kgcheck ... --store {server.uri}; Ctrl-C stops it\n"
    )


def _interrupt(_number: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


def main() -> int:
    """Run a server until it ends or is interrupted."""
    options = _arguments()
    password = None if options.no_auth else os.environ.get("KGCHECK_NEO4J_PASSWORD") or None
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        with Neo4jServer(options.home, password, bolt_port=options.port, http_port=options.http_port) as server:
            sys.stdout.write(_how_to_connect(server))
            sys.stdout.flush()
            return server.wait()
    except KeyboardInterrupt:
        return 0
    except (Neo4jUnavailable, Neo4jStartError, ValueError) as error:
        sys.stderr.write(f"{error}\n")
        return 1


if __name__ == "__main__":
    sys.exit(main())
