"""A PostgreSQL server of the tests' own, in a temporary folder and reached by a socket in it."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import URL, create_engine

USER = "kgcheck"


def _programs() -> Path | None:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if found:
        return found[-1].parent
    on_path = shutil.which("initdb")
    return Path(on_path).parent if on_path else None


@contextmanager
def running_server() -> Iterator[URL]:
    """A server with an empty database; skips where it cannot run.

    Yields:
        Its address.
    """
    programs = _programs()
    if programs is None:
        pytest.skip("no PostgreSQL server programs on this machine")
    if find_spec("psycopg") is None:
        pytest.skip("psycopg is not installed")
    # PostgreSQL refuses to run as root.
    other = pwd.getpwnam("nobody") if os.getuid() == 0 else None
    who: dict[str, Any] = {"user": other.pw_uid, "group": other.pw_gid, "extra_groups": []} if other else {}
    # Not pytest's folder: the path of a socket has 107 bytes at most, and others may not enter it.
    with tempfile.TemporaryDirectory(prefix="kgcheck-pg-", ignore_cleanup_errors=True) as folder:
        if other:
            os.chown(folder, other.pw_uid, other.pw_gid)
        data, options = f"{folder}/data", f"-c listen_addresses='' -k {folder} -c fsync=off"
        common: dict[str, Any] = {"cwd": folder, "env": {"PATH": str(programs), "LC_ALL": "C"}, **who}
        commands: tuple[list[str | Path], ...] = (
            [programs / "initdb", "-D", data, "-U", USER, "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync"],
            [programs / "pg_ctl", "-D", data, "-w", "-t", "60", "-l", f"{folder}/log", "-o", options, "start"],
        )
        for command in commands:
            done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120, **common)
            if done.returncode:
                pytest.skip(f"PostgreSQL does not start here: {done.stderr.strip()[:300]}")
        try:
            yield URL.create("postgresql+psycopg", USER, database="postgres", query={"host": folder})
        finally:
            stop: list[str | Path] = [programs / "pg_ctl", "-D", data, "-m", "immediate", "-w", "stop"]
            subprocess.run(stop, check=False, capture_output=True, timeout=60, **common)


def fresh_schema(server: URL) -> URL:
    """The address of a new, empty schema on a server."""
    name = f"s{uuid4().hex[:12]}"
    engine = create_engine(server)
    with engine.begin() as connection:
        connection.exec_driver_sql(f"CREATE SCHEMA {name}")
    engine.dispose()
    return server.update_query_dict({"options": f"-csearch_path={name}"})
