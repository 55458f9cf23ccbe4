"""What a Neo4j server is run with: Java, and the server's jars, which Maven fetches once.

The version is the one that `tests/neo4j/pom.xml` names. The jars are kept outside the checkout.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

POM = Path(__file__).resolve().parents[1] / "neo4j" / "pom.xml"

_MARKER = ".complete"
_ENTRY_POINT = "META-INF/services/org.neo4j.server.startup.EntryPoint"
_OLDEST_JAVA = 17
_MAVEN_TIMEOUT_S = 900.0


class Neo4jUnavailable(Exception):
    """This machine cannot run the server; the message says what is missing."""


@functools.cache
def neo4j_version() -> str:
    """The server version that the pom names."""
    found = re.search(r"<neo4j\.version>([^<]+)<", POM.read_text(encoding="utf-8"))
    if found is None:
        raise Neo4jUnavailable(f"{POM} names no neo4j.version")
    return found[1].strip()


def jars() -> Path:
    """The folder with the server's jars, fetched with Maven when it is not there yet.

    It is named after the version and lies in `KGCHECK_NEO4J_CACHE`, or in `~/.cache/kgcheck`. Processes that
    find it missing at the same time each fetch into a folder of their own, and the first to finish gives its
    folder the name: none ever sees a half-filled one.
    """
    cache = Path(os.environ.get("KGCHECK_NEO4J_CACHE") or "~/.cache/kgcheck").expanduser().resolve()
    lib = cache / f"neo4j-{neo4j_version()}"
    if not (lib / _MARKER).exists():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache, prefix=".neo4j-") as scratch:
            built = Path(scratch) / "built"
            _download(built)
            (built / _MARKER).touch()
            _publish(built, lib, Path(scratch) / "replaced")
    return lib


def _publish(built: Path, lib: Path, replaced: Path) -> None:
    """Give the finished folder its name, unless another process has just done so."""
    if (lib / _MARKER).exists():
        return
    with suppress(FileNotFoundError):
        os.replace(lib, replaced)
    try:
        os.replace(built, lib)
    except OSError:
        if not (lib / _MARKER).exists():
            raise


def _download(target: Path) -> None:
    """Copy the server's jars, and all that they need, into the target folder."""
    mvn = shutil.which("mvn")
    if mvn is None:
        raise Neo4jUnavailable("Maven (mvn) is not on PATH, and the Neo4j jars are not in the cache")
    command = [mvn, "-B", "-q", "-Dstyle.color=never", "-f", str(POM), "dependency:copy-dependencies"]
    command += ["-DincludeScope=runtime", f"-DoutputDirectory={target}"]
    try:
        done = run(command, timeout=_MAVEN_TIMEOUT_S)
    except subprocess.TimeoutExpired as error:
        raise Neo4jUnavailable(f"Maven did not finish in {_MAVEN_TIMEOUT_S:.0f} s") from error
    if done.returncode != 0:
        raise Neo4jUnavailable(f"Maven could not get the Neo4j jars:\n{last_lines(done.stdout)}")


def java() -> str:
    """Find a `java` that is new enough."""
    path = shutil.which("java")
    if path is None:
        raise Neo4jUnavailable("java is not on PATH")
    release = _java_release(path)
    if release < _OLDEST_JAVA:
        raise Neo4jUnavailable(f"Neo4j needs Java {_OLDEST_JAVA} or newer; {path} is Java {release}")
    return path


@functools.cache
def _java_release(path: str) -> int:
    output = run([path, "-version"]).stdout
    found = re.search(r'version "(\d+)', output)
    if found is None:
        raise Neo4jUnavailable(f"{path} does not tell its version:\n{last_lines(output)}")
    return int(found[1])


@functools.cache
def main_class(lib: Path) -> str:
    """The class that starts the server: its name changes between versions, so the jar is asked."""
    with zipfile.ZipFile(lib / f"neo4j-{neo4j_version()}.jar") as jar:
        return jar.read(_ENTRY_POINT).decode().split()[0]


def run(
    command: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    timeout: float | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a program to its end, with what it says on either stream in `stdout`."""
    return subprocess.run(
        command,
        check=False,
        env=env,
        cwd=cwd,
        timeout=timeout,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )


def last_lines(text: str, count: int = 25) -> str:
    """The end of an output, without the stack frames that would push Java's causes out of it."""
    return "\n".join([line for line in text.strip().splitlines() if not line.startswith("\tat ")][-count:])
