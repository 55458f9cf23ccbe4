"""`kgcheck doctor`: one screen with what is there, what is not, and the command that brings it."""

import json
import os
import tomllib
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import click
import pytest
from pydantic import SecretStr

from kgcheck.cli import doctor
from kgcheck.cli.main import cli
from kgcheck.graph.neo4j import Neo4jStore
from kgcheck.profile.schema import load_schema
from kgcheck.settings import Settings
from tests.support import ROOT
from tests.support.audits import kgcheck
from tests.support.neo4j_fixtures import Neo4jTarget


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("KGCHECK_")]:
        monkeypatch.delenv(name)


def rows(*arguments: object) -> tuple[int, dict[str, dict[str, Any]]]:
    said = kgcheck("doctor", "--format", "json", *arguments)
    assert said.err == ""
    return said.code, {row["name"]: row for row in json.loads(said.out)}


def test_on_a_fresh_machine_the_main_job_can_run() -> None:
    said = kgcheck("doctor")

    assert (said.code, said.err) == (0, "")
    assert len(said.out.splitlines()) < 50
    code, found = rows()
    assert code == 0
    assert found["packages"]["state"] == "ok"
    assert (found["store"]["state"], found["store"]["command"]) == (
        "missing",
        "kgcheck load IMPORT_DIRECTORY, or kgcheck demo",
    )
    assert {"Python", "extras", "Java", "Neo4j", "PostgreSQL", "Chromium", "Bubblewrap", "weights"} <= found.keys()
    assert {"settings", "disk", "ledger", "R", "language model"} <= found.keys()
    assert all(row["command"] for row in found.values() if row["state"] != "ok")
    assert not Path(".kgcheck").exists()


def memory_of_a_statement(address: str) -> tuple[str, str]:
    """What is told of a server, on which a graph is made first."""
    with Neo4jStore(address, load_schema(), Settings(), create=True) as store:
        store.prepare()
        store.set_meta("profile", "ckg")
        store.set_meta("profile_version", str(load_schema().profile.version))
    code, found = rows("--store", address)
    row = found["memory of a statement"]
    assert code == 0
    assert bool(row["command"]) == (row["state"] != "ok")
    return row["state"], row["found"]


@pytest.mark.slow
def test_a_server_without_a_limit_of_memory_is_told(ready_neo4j: Neo4jTarget, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGCHECK_NEO4J_USER", ready_neo4j.user)
    monkeypatch.setenv("KGCHECK_NEO4J_PASSWORD", ready_neo4j.password)

    assert memory_of_a_statement(ready_neo4j.uri) == ("missing", "no limit")
    # Whom a server does not let ask: the community edition has no such users.
    monkeypatch.setattr(Neo4jStore, "setting", lambda *_: None)
    assert memory_of_a_statement(ready_neo4j.uri) == ("missing", "not shown to this user")


def test_what_is_named_and_cannot_be_read_ends_with_2(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGCHECK_CONNECT_TIMEOUT_S", "2")
    Path("graph").write_text("junk")
    others = ("--ledger", "postgresql://127.0.0.1:1/kgcheck", "--reference", "nowhere", "--literature", "nowhere")
    for options in (("--store", "bolt://127.0.0.1:1"), ("--store", "graph", *others)):
        code, found = rows(*options)

        assert code == 2
        for option, place in zip(options[::2], options[1::2], strict=True):
            row = found[option.removeprefix("--")]
            assert row["state"] == "broken", place
            assert row["found"]
            assert row["command"]


def test_no_secret_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    secret = [
        name for name, field in Settings.model_fields.items() if SecretStr in getattr(field.annotation, "__args__", ())
    ]
    for name in secret:
        monkeypatch.setenv(f"KGCHECK_{name.upper()}", "hushhush" * 5)
    monkeypatch.setenv("KGCHECK_STORE", "bolt://ada:hushhush@127.0.0.1:1")
    monkeypatch.setenv("KGCHECK_NEO4J_PASWORD", "hushhush")
    monkeypatch.setenv("KGCHECK_OFFLINE", "1")

    assert len(secret) > 4
    for format_ in ("table", "json"):
        said = kgcheck("doctor", "--format", format_)
        assert "hush" not in said.out + said.err
    found = rows()[1]
    assert all(f"KGCHECK_{name.upper()}=(hidden)" in found["settings"]["found"] for name in secret)
    assert "KGCHECK_OFFLINE=True" in found["settings"]["found"]
    assert found["setting"]["found"] == "KGCHECK_NEO4J_PASWORD is no setting; KGCHECK_NEO4J_PASSWORD is"


def test_a_setting_that_cannot_be_taken_is_one_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGCHECK_HTTP_MAX_MB", "many")
    code, found = rows()

    assert (code, found["settings"]["state"]) == (2, "broken")
    assert "KGCHECK_HTTP_MAX_MB" in found["settings"]["found"]
    assert "Java" in found


def test_a_missing_package_names_its_extra_and_what_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def without(*names: str) -> Any:
        def installed(name: str) -> str:
            if name in names:
                raise PackageNotFoundError(name)
            return version(name)

        return installed

    monkeypatch.setattr(doctor, "version", without("pypdf", "statsmodels"))
    code, found = rows()
    assert code == 0
    assert found["extra pdf"]["command"] == "pip install 'kgcheck[pdf]'"
    assert found["extra protocols"]["found"] == "without statsmodels"
    assert "pdf" not in found["extras"]["found"].split(", ")

    monkeypatch.setattr(doctor, "version", without("duckdb"))
    code, found = rows()
    assert (code, found["packages"]["state"], found["packages"]["found"]) == (2, "broken", "without duckdb")


def test_without_programs_each_names_what_brings_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "java").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "java").chmod(0o755)
    code, found = rows()

    assert code == 0
    for name, program in (("Java", "default-jre-headless"), ("R", "r-base-core"), ("Chromium", "chromium")):
        assert found[name]["state"] == "missing"
        assert program in found[name]["command"]


def test_every_extra_is_explained() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    assert set(doctor.EXTRAS) == set(project["optional-dependencies"]) - {"all"}


def variables(command: click.Command, context: click.Context) -> Iterator[str]:
    for option in command.params:
        found = option.envvar
        yield from [found] if isinstance(found, str) else found or ()
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            if below := command.get_command(context, name):
                yield from variables(below, context)


def test_every_variable_of_an_option_is_known() -> None:
    named = {name for name in variables(cli, click.Context(cli)) if name.startswith("KGCHECK_")}

    assert named - {f"KGCHECK_{name.upper()}" for name in Settings.model_fields} == doctor.OPTION_VARIABLES
