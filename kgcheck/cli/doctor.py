"""``kgcheck doctor``: list what is installed and configured, and how to get what is missing."""

import os
import platform
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from glob import glob
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click
from pydantic import SecretStr

from kgcheck import __version__
from kgcheck.choices import DEFAULT_STORE
from kgcheck.cli.options import table_or_json_option, workspace_options
from kgcheck.cli.output import show_rows
from kgcheck.context import Context, PartName
from kgcheck.errors import EXIT_USAGE, ConfigurationError, nearest
from kgcheck.graph.sandbox import bubblewrap, missing_guard
from kgcheck.literature.weights import PACKAGED, lacking
from kgcheck.model import Value
from kgcheck.redact import redact

if TYPE_CHECKING:
    from kgcheck.workspace import Workspace


_LEAST_FREE_GB = 1.0
"""Free disk under which a small graph with its ledger and snapshot may not fit."""

EXTRAS = {
    "fast": "Neo4j twice as fast",
    "grounding": "manuscripts in Word, LaTeX and PDF",
    "jobs": "schedules and notifications",
    "llm": "language models",
    "mcp": "tools for language models",
    "pandas": "data frames",
    "papers": "searching papers by meaning",
    "papers-torch": "other sentence models, and GPUs",
    "pdf": "papers as PDF",
    "postgres": "a ledger that many share",
    "protocols": "programs of protocols, and their statistics",
    "py2neo": "Neo4j by py2neo",
    "rdf": "graphs in RDF, and ontologies in OWL",
    "service": "the HTTP API and the page",
    "telemetry": "traces of the service",
}

_PROGRAMS = (
    ("Java", "java", "a Neo4j server of one's own", "apt install default-jre-headless"),
    ("PostgreSQL programs", "postgres /usr/lib/postgresql/*/bin/postgres", "a ledger server of one's own",
     "apt install postgresql"),
    ("R", "Rscript", "programs of protocols in R", "apt install r-base-core"),
    ("Chromium", "chromium chromium-browser google-chrome", "the browser tests", "apt install chromium"),
)  # fmt: skip

_PROBE_S = 20
"""Longest time for a program to tell its version."""

_STATEMENT_MEMORY = "db.memory.transaction.max"

OPTION_VARIABLES = frozenset(f"KGCHECK_{name}" for name in ("BY", "CONFIG", "INDEX", "REFERENCE", "STORE"))
"""Variables that stand for options of commands and are no settings."""

_VERSIONS = ("duckdb", "ladybug", "neo4j", "pyarrow", "pydantic", "sqlalchemy")


class Facility(Value):
    """Something that kgcheck can use: whether it is there, and the command that brings it."""

    name: str
    state: Literal["ok", "missing", "broken"]
    found: str = ""
    needed_for: str = ""
    command: str = ""
    is_required: bool = False


def facilities(context: Context) -> list[Facility]:
    """Look at everything that kgcheck can use; nothing is made or written, and no service of others is asked."""
    python = f"{platform.python_version()}, {platform.system()} {platform.machine()}, kgcheck {__version__}"
    found = [_required("Python", True, python, "everything"), *_packages()]
    try:
        found += [_disk(context), *_settings(context), *_parts(context), _language_model(context)]
    except ConfigurationError as error:
        found.append(_required("settings", False, error.message, "", error.hint))
    return [*found, *_extras(), *(_program(*row) for row in _PROGRAMS)]


def _packages() -> Iterator[Facility]:
    try:
        wanted = requires("kgcheck") or []
    except PackageNotFoundError:
        yield Facility(name="packages", state="broken", found="kgcheck is not installed", command="pip install .")
        return
    lacking = [name for name in _names(wanted) if not _version(name)]
    found = f"without {', '.join(lacking)}" if lacking else ", ".join(f"{n} {_version(n)}" for n in _VERSIONS)
    yield _required("packages", not lacking, found, "everything", "pip install --force-reinstall kgcheck")
    missing = {extra: [n for n in _names(wanted, extra) if not _version(n)] for extra in EXTRAS}
    whole = [extra for extra, names in missing.items() if not names]
    yield _optional("extras", whole, ", ".join(whole), "see below" if any(missing.values()) else "", "")
    for extra, names in missing.items():
        if names:
            without, command = f"without {', '.join(names)}", f"pip install 'kgcheck[{extra}]'"
            yield _optional(f"extra {extra}", False, without, EXTRAS[extra], command)


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
    home = context.settings.home.absolute()
    folder = next(parent for parent in (home, *home.parents) if parent.is_dir())
    free = shutil.disk_usage(folder).free / 1e9
    is_writable = os.access(folder, os.W_OK)
    found = f"{free:,.1f} GB free in {folder}" if is_writable else f"{folder} cannot be written to"
    is_ready = is_writable and free >= _LEAST_FREE_GB
    return _required("disk", is_ready, found, "runs, snapshots, indexes", "export KGCHECK_HOME=A_FOLDER_WITH_ROOM")


def _settings(context: Context) -> Iterator[Facility]:
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
        is_missing = False
        # Where nobody may look, something may be.
        with suppress(OSError):
            is_missing = not Path(place).exists()
        if by_default and is_missing:
            yield _optional(name, False, f"none yet at {place}", needed_for, _PARTS[name][1])
        else:
            part = context.part(name)
            found = place if part.is_ready else " ".join(part.why.split())
            yield _required(name, part.is_ready, found, needed_for, part.hint)
            if name == "store" and part.is_ready:
                yield from _statement_memory(context)
    unnamed = "no server is named"
    if "://" not in context.store:
        yield _optional("Neo4j", False, unnamed, "a graph on a server", "kgcheck doctor --store bolt://HOST")
    if "://" not in str(context.ledger):
        command = "kgcheck doctor --ledger postgresql://HOST/DATABASE"
        yield _optional("PostgreSQL", False, unnamed, "a ledger that many share", command)


def _required(name: str, is_ready: bool, found: str, needed_for: str, command: str = "") -> Facility:
    """A facility without which no graph can be audited; the command mends it."""
    shown = {"found": found, "needed_for": needed_for, "command": "" if is_ready else command}
    return Facility(name=name, state="ok" if is_ready else "broken", is_required=True, **shown)


def _optional(name: str, is_there: object, found: str, needed_for: str, command: str) -> Facility:
    """A facility that can be done without; the command brings it where it is not there."""
    shown = {"found": found, "needed_for": needed_for, "command": "" if is_there else command}
    return Facility(name=name, state="ok" if is_there else "missing", **shown)


def _statement_memory(context: Context) -> Iterator[Facility]:
    """The memory that a server lets one statement take, which no client can bound."""
    from kgcheck.graph.neo4j import Neo4jStore

    store = context.graph
    if not isinstance(store, Neo4jStore):
        return
    limit = store.setting(_STATEMENT_MEMORY)
    is_bounded = limit not in (None, "0", "0B")
    found = f"{limit} of the server" if is_bounded else "not shown to this user" if limit is None else "no limit"
    needed_for = "statements of a model, which may exhaust the server"
    command = f"set {_STATEMENT_MEMORY} in neo4j.conf (docs/howto_neo4j.md)"
    yield _optional("memory of a statement", is_bounded, found, needed_for, command)


def _language_model(context: Context) -> Facility:
    settings = context.settings
    is_named = settings.llm_base_url and settings.llm_model
    found = f"{settings.llm_model} at {settings.llm_base_url}, not asked" if is_named else "none is named"
    command = "export KGCHECK_LLM_BASE_URL=ADDRESS KGCHECK_LLM_MODEL=NAME"
    return _optional("language model", is_named, found, "what only a model can do", command)


def _extras() -> Iterator[Facility]:
    missing = lacking()
    found, command = ("", missing.hint) if missing else (PACKAGED, "")
    yield _optional("weights", not missing, found, "searching papers by meaning", command)
    unguarded = missing_guard()
    command = "apt install libseccomp2, on Linux 5.13 or newer"
    yield _optional("Landlock, seccomp", not unguarded, unguarded, "programs and a model's own statements", command)
    program = bubblewrap()
    found, command = program or "none that works here", "apt install bubblewrap, where user namespaces are open"
    yield _optional("Bubblewrap", program, found, "programs of protocols, shut in twice", command)


def _program(name: str, patterns: str, needed_for: str, command: str) -> Facility:
    places = (path for pattern in patterns.split() for path in (shutil.which(pattern), *sorted(glob(pattern))) if path)
    place = next(places, "")
    found = _first_line(place, "-version" if name == "Java" else "--version") if place else ""
    return _optional(name, found, found or (f"{place} does not start" if place else ""), needed_for, command)


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


@click.command("doctor")
@workspace_options("store", "reference", "ledger", "literature", "profile", progress=False)
@table_or_json_option()
def doctor(workspace: "Workspace", format_: str) -> int:
    """Tell what this machine has of all that kgcheck can use, with the command that brings what is missing.

    Ends with 0 where a graph can be audited, whatever else is missing, and with 2 where none can.
    """
    found = facilities(workspace)
    rows, shown = [one.model_dump(mode="json") for one in found], []
    for one in found:
        # One screen: what is there needs no more words.
        more = () if one.state == "ok" else (one.needed_for and f"for {one.needed_for}", one.command)
        shown.append({"name": one.name, "state": one.state, "found": "; ".join(filter(None, (one.found, *more)))})
    show_rows(format_, rows, ("name", "state", "found"), shown)
    return EXIT_USAGE if any(one.is_required and one.state != "ok" for one in found) else 0
