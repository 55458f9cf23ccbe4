"""Facilities of this machine that kgcheck can use, and the commands that install the missing ones."""

import os
import platform
import re
import shutil
import subprocess
from collections.abc import Iterator
from glob import glob
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Literal

from pydantic import SecretStr

from kgcheck import __version__
from kgcheck.choices import DEFAULT_STORE
from kgcheck.context import Context, PartName
from kgcheck.errors import ConfigurationError, nearest
from kgcheck.model import Value
from kgcheck.redact import redact

State = Literal["ok", "missing", "broken"]

_LEAST_FREE_GB = 1.0
"""Free disk under which a small graph with its ledger and snapshot may not fit."""

EXTRAS = {
    "fast": "Neo4j twice as fast",
    "grounding": "manuscripts in Word, LaTeX and PDF",
    "jobs": "schedules and notifications",
    "literature": "searching papers by meaning",
    "literature-torch": "other sentence models, and GPUs",
    "llm": "language models",
    "mcp": "tools for language models",
    "pandas": "data frames",
    "pdf": "papers as PDF",
    "postgres": "a ledger that many share",
    "protocols": "programs of protocols, and their statistics",
    "py2neo": "Neo4j by py2neo",
    "service": "the HTTP API and the page",
    "telemetry": "traces of the service",
}

_PROGRAMS = (
    ("Java", ("java",), "a Neo4j server of one's own", "apt install default-jre-headless"),
    (
        "PostgreSQL programs",
        ("postgres", "/usr/lib/postgresql/*/bin/postgres"),
        "a ledger server of one's own",
        "apt install postgresql",
    ),
    ("R", ("Rscript",), "programs of protocols in R", "apt install r-base-core"),
    ("Chromium", ("chromium", "chromium-browser", "google-chrome"), "the browser tests", "apt install chromium"),
)

_PROBE_S = 20
"""Longest time for a program to tell its version."""

_STATEMENT_MEMORY = "db.memory.transaction.max"

OPTION_VARIABLES = frozenset(f"KGCHECK_{name}" for name in ("BY", "CONFIG", "INDEX", "REFERENCE", "STORE"))
"""Variables that stand for options of commands and are no settings."""

_VERSIONS = ("duckdb", "ladybug", "neo4j", "pyarrow", "pydantic", "sqlalchemy")


class Facility(Value):
    """Something that kgcheck can use: whether it is there, and the command that brings it."""

    name: str
    state: State
    found: str = ""
    needed_for: str = ""
    command: str = ""
    is_required: bool = False

    @property
    def stops_the_main_job(self) -> bool:
        """True where no graph can be audited before this is mended."""
        return self.is_required and self.state != "ok"


def facilities(context: Context) -> list[Facility]:
    """Look at everything that kgcheck can use; nothing is made or written, and no service of others is asked."""
    found = [_python(), *_packages()]
    try:
        found += [_disk(context), *_settings(context), *_parts(context), _language_model(context)]
    except ConfigurationError as error:
        found.append(
            Facility(name="settings", state="broken", found=error.message, command=error.hint, is_required=True)
        )
    return [*found, _weights(), *_guards(), *(_program(*row) for row in _PROGRAMS)]


def _python() -> Facility:
    found = f"{platform.python_version()}, {platform.system()} {platform.machine()}, kgcheck {__version__}"
    return Facility(name="Python", state="ok", found=found, needed_for="everything", is_required=True)


def _packages() -> Iterator[Facility]:
    try:
        wanted = requires("kgcheck") or []
    except PackageNotFoundError:
        yield Facility(name="packages", state="broken", found="kgcheck is not installed", command="pip install .")
        return
    lacking = [name for name in _names(wanted) if not _version(name)]
    yield Facility(
        name="packages",
        state="broken" if lacking else "ok",
        found=f"without {', '.join(lacking)}" if lacking else ", ".join(f"{n} {_version(n)}" for n in _VERSIONS),
        needed_for="everything",
        command="pip install --force-reinstall kgcheck" if lacking else "",
        is_required=True,
    )
    missing = {extra: [n for n in _names(wanted, extra) if not _version(n)] for extra in EXTRAS}
    yield Facility(
        name="extras",
        state="missing" if all(missing.values()) else "ok",
        found=", ".join(extra for extra, names in missing.items() if not names),
        needed_for="see below" if any(missing.values()) else "",
    )
    for extra, names in missing.items():
        if names:
            yield Facility(
                name=f"extra {extra}",
                state="missing",
                found=f"without {', '.join(names)}",
                needed_for=EXTRAS[extra],
                command=f"pip install 'kgcheck[{extra}]'",
            )


def _names(wanted: list[str], extra: str = "") -> list[str]:
    """The packages that an extra, or kgcheck itself, asks for on every machine."""
    suffix = re.compile(rf"; extra == ['\"]{re.escape(extra)}['\"]$")
    rows = [row for row in wanted if (suffix.search(row) if extra else ";" not in row)]
    return [found[0] for row in rows if (found := re.match(r"[\w.-]+", row))]


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def _disk(context: Context) -> Facility:
    """Room, and the right to write, where runs are kept."""
    home = context.settings.home.absolute()
    folder = next(parent for parent in (home, *home.parents) if parent.is_dir())
    free = shutil.disk_usage(folder).free / 1e9
    if is_writable := os.access(folder, os.W_OK):
        found = f"{free:,.1f} GB free in {folder}"
    else:
        found = f"{folder} cannot be written to"
    is_ready = is_writable and free >= _LEAST_FREE_GB
    return Facility(
        name="disk",
        state="ok" if is_ready else "broken",
        found=found,
        needed_for="runs, snapshots, indexes",
        command="" if is_ready else "export KGCHECK_HOME=A_FOLDER_WITH_ROOM",
        is_required=True,
    )


def _settings(context: Context) -> Iterator[Facility]:
    """The settings that the environment has; of a secret, that it is there."""
    settings = context.settings
    fields = {f"KGCHECK_{name.upper()}": name for name in type(settings).model_fields}
    shown = []
    for name in sorted(name for name in os.environ if name.startswith("KGCHECK_")):
        value = getattr(settings, fields[name]) if name in fields else os.environ[name]
        if name in fields or name in OPTION_VARIABLES:
            shown.append(f"{name}={'(hidden)' if isinstance(value, SecretStr) else redact(str(value))}")
        else:
            found = f"{name} is no setting" + "".join(f"; {known} is" for known in nearest(name, fields)[:1])
            yield Facility(name="setting", state="broken", found=found, command=f"unset {name}")
    yield Facility(name="settings", state="ok", found=", ".join(shown) or "none is set: all are as they come")


_PARTS: dict[PartName, tuple[str, str]] = {
    "store": ("the graph that is audited", "kgcheck load IMPORT_DIRECTORY, or kgcheck demo"),
    "ledger": ("runs, findings and decisions", "kgcheck audit"),
    "reference": ("what facts are checked against", "kgcheck reference build"),
    "literature": ("what papers say", "kgcheck corpus"),
}


def _parts(context: Context) -> Iterator[Facility]:
    """The parts of the workspace; one that nobody named and nobody made yet is no fault."""
    for name in context.part_names:
        place, needed_for = str(getattr(context, name)), _PARTS[name][0]
        by_default = place in (DEFAULT_STORE, str(context.settings.ledger_file))
        if by_default and _is_missing(Path(place)):
            found, command = f"none yet at {place}", _PARTS[name][1]
            yield Facility(name=name, state="missing", found=found, needed_for=needed_for, command=command)
        else:
            part = context.part(name)
            yield Facility(
                name=name,
                state="ok" if part.is_ready else "broken",
                found=place if part.is_ready else " ".join(part.why.split()),
                needed_for=needed_for,
                command=part.hint,
                is_required=True,
            )
            if name == "store" and part.is_ready:
                yield from _statement_memory(context)
    if "://" not in context.store:
        yield _unnamed("Neo4j", "a graph on a server", "kgcheck doctor --store bolt://HOST")
    if "://" not in str(context.ledger):
        yield _unnamed("PostgreSQL", "a ledger that many share", "kgcheck doctor --ledger postgresql://HOST/DATABASE")


def _is_missing(path: Path) -> bool:
    """Tell whether nothing is at a path; where nobody may look, something may be."""
    try:
        return not path.exists()
    except OSError:
        return False


def _statement_memory(context: Context) -> Iterator[Facility]:
    """The memory that a server lets one statement take, which no client can bound."""
    from kgcheck.graph.neo4j import Neo4jStore

    store = context.graph
    if not isinstance(store, Neo4jStore):
        return
    found = store.setting(_STATEMENT_MEMORY)
    is_bounded = found not in (None, "0", "0B")
    yield Facility(
        name="memory of a statement",
        state="ok" if is_bounded else "missing",
        found=f"{found} of the server" if is_bounded else "not shown to this user" if found is None else "no limit",
        needed_for="statements of a model, which may exhaust the server",
        command="" if is_bounded else f"set {_STATEMENT_MEMORY} in neo4j.conf (docs/howto_neo4j.md)",
    )


def _unnamed(name: str, needed_for: str, command: str) -> Facility:
    return Facility(name=name, state="missing", found="no server is named", needed_for=needed_for, command=command)


def _language_model(context: Context) -> Facility:
    settings = context.settings
    is_named = bool(settings.llm_base_url and settings.llm_model)
    return Facility(
        name="language model",
        state="ok" if is_named else "missing",
        found=f"{settings.llm_model} at {settings.llm_base_url}, not asked" if is_named else "none is named",
        needed_for="what only a model can do",
        command="" if is_named else "export KGCHECK_LLM_BASE_URL=ADDRESS KGCHECK_LLM_MODEL=NAME",
    )


def _weights() -> Facility:
    from kgcheck.literature.embed import PACKAGED, lacking

    missing = lacking()
    return Facility(
        name="weights",
        state="missing" if missing else "ok",
        found="" if missing else PACKAGED,
        needed_for="searching papers by meaning",
        command=missing.hint if missing else "",
    )


def _guards() -> Iterator[Facility]:
    """The sandboxes of programs of protocols, and of the statements of a model."""
    from kgcheck.graph.sandbox import missing_guard
    from kgcheck.protocols.programs.sandbox import bubblewrap

    lacking = missing_guard()
    yield Facility(
        name="Landlock, seccomp",
        state="missing" if lacking else "ok",
        found=lacking,
        needed_for="programs and a model's own statements",
        command="apt install libseccomp2, on Linux 5.13 or newer" if lacking else "",
    )
    program = bubblewrap()
    yield Facility(
        name="Bubblewrap",
        state="ok" if program else "missing",
        found=program or "none that works here",
        needed_for="programs of protocols, shut in twice",
        command="" if program else "apt install bubblewrap, where user namespaces are open",
    )


def _program(name: str, patterns: tuple[str, ...], needed_for: str, command: str) -> Facility:
    places = (path for pattern in patterns for path in (shutil.which(pattern), *sorted(glob(pattern))) if path)
    place = next(places, "")
    found = _first_line(place, "-version" if name == "Java" else "--version") if place else ""
    return Facility(
        name=name,
        state="ok" if found else "missing",
        found=found or (f"{place} does not start" if place else ""),
        needed_for=needed_for,
        command="" if found else command,
    )


def _first_line(program: str, option: str) -> str:
    """The line in which a program tells its version; empty where it does not start."""
    try:
        # Not in the environment of this process, whose secrets are none of its business.
        done = subprocess.run(  # noqa: S603
            [program, option], env={"PATH": os.defpath}, capture_output=True, text=True, timeout=_PROBE_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    lines = (done.stdout + done.stderr).splitlines()
    return lines[0].strip() if lines and done.returncode == 0 else ""
