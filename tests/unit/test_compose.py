"""docker-compose.yml keeps the rules of the Compose specification that it uses, and those of the house."""

import re
from typing import Any

import pytest
import yaml

from kgcheck.settings import Settings
from tests.support import ROOT
from tests.support.neo4j_jars import neo4j_version

SECRET_NAME = re.compile("PASSWORD|AUTH|SECRET|TOKEN|KEY", re.IGNORECASE)
FROM_ENVIRONMENT = re.compile(r"([a-z0-9]+/)?\$\{[A-Z0-9_]+:(\?[^}]+|-)\}")


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    """The parsed file."""
    parsed = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
    assert isinstance(parsed, dict)
    return parsed


KNOWN = {
    *(
        "image",
        "build",
        "profiles",
        "depends_on",
        "environment",
        "ports",
        "volumes",
        "healthcheck",
        "command",
        "deploy",
    ),
    *("read_only", "tmpfs", "cap_drop", "security_opt", "stop_grace_period", "ipc", "restart"),
}


def test_every_key_is_known_and_every_port_is_of_this_machine(compose: dict[str, Any]) -> None:
    assert {"services"} <= compose.keys() <= {"services", "volumes"}
    for name, service in compose["services"].items():
        assert {*service} <= KNOWN, name
        assert ("image" in service) != ("build" in service)
        # YAML reads yes, on and 5.26 as something else than text, and Compose then passes on what YAML made of it.
        assert all(isinstance(value, str) for value in service.get("environment", {}).values()), name
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ())), name


def test_server_is_pinned_to_the_version_of_the_tests(compose: dict[str, Any]) -> None:
    assert compose["services"]["neo4j"]["image"].startswith(f"neo4j:{neo4j_version()}-community@sha256:")


def test_a_service_waits_only_for_services_that_can_tell(compose: dict[str, Any]) -> None:
    services = compose["services"]
    waits = {
        (waiting, name, wait["condition"])
        for waiting, service in services.items()
        for name, wait in service.get("depends_on", {}).items()
    }

    assert waits == {
        ("kgcheck", "neo4j", "service_healthy"),
        ("service", "neo4j", "service_healthy"),
        ("service", "postgres", "service_healthy"),
    }
    assert all("healthcheck" in services[name] for _, name, _ in waits)


@pytest.mark.parametrize("name", ["model", "model-cpu"])
def test_a_model_is_where_the_service_is_told_to_look(compose: dict[str, Any], name: str) -> None:
    """The name in the network, the port of the server, and the name by which it answers."""
    model, service = compose["services"][name], compose["services"]["service"]["environment"]

    assert name in service["KGCHECK_CLEARTEXT_HOSTS"].split(",")
    assert model["ports"] == ["127.0.0.1:8001:8000"]
    assert any("${KGCHECK_LLM_MODEL:-}" in word for word in model["command"])
    assert service["KGCHECK_LLM_MODEL"] == "${KGCHECK_LLM_MODEL:-}"
    assert f"http://{name}:8000/v1" in (ROOT / "docs" / "howto_models.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["service", "kgcheck"])
def test_what_runs_kgcheck_has_no_rights_that_it_does_not_need(compose: dict[str, Any], name: str) -> None:
    service = compose["services"][name]

    assert service["read_only"] is True
    assert service["tmpfs"] == ["/tmp:size=${KGCHECK_TMP_SIZE:-2g}"]  # noqa: S108
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]


def test_no_database_is_killed_while_it_writes(compose: dict[str, Any]) -> None:
    """Ten seconds, as it is by default, are too few for a Neo4j server: it was killed."""
    grace = {name: compose["services"][name]["stop_grace_period"] for name in ("neo4j", "postgres")}

    assert grace == {"neo4j": "120s", "postgres": "60s"}


def test_the_service_is_started_as_its_image_starts_it(compose: dict[str, Any]) -> None:
    command = re.findall(r'"([^"]+)"', re.findall(r"^CMD (.*)$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)[0])

    assert compose["services"]["service"]["command"] == f"{' '.join(command)} ${{KGCHECK_SERVE_OPTIONS:-}}"


def test_the_service_can_write_only_where_its_data_is(compose: dict[str, Any]) -> None:
    service = compose["services"]["service"]

    assert [mount for mount in service["volumes"] if isinstance(mount, str)] == ["service_home:/work/.kgcheck"]
    assert all(mount["read_only"] for mount in service["volumes"] if not isinstance(mount, str))
    assert service["environment"]["KGCHECK_CACHE_DIR"].startswith("/work/.kgcheck/")
    # Ten seconds, as it is by default, would kill what is to end with its piece.
    assert service["stop_grace_period"] == "60s"


def test_variables_of_the_containers_are_settings(compose: dict[str, Any]) -> None:
    """A name with a mistake would be left out in silence."""
    options = {"KGCHECK_STORE", "KGCHECK_REFERENCE"}
    known = {f"KGCHECK_{name.upper()}" for name in Settings.model_fields} | options
    given = {
        name
        for service in compose["services"].values()
        for name in service.get("environment", {})
        if name.startswith("KGCHECK_")
    }

    assert given <= known
    assert "KGCHECK_LEDGER" in given


def test_what_starts_without_a_profile_or_as_a_job_needs_no_password_of_the_service() -> None:
    """Compose fills in the whole file, whatever is started."""
    text = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")

    assert set(re.findall(r"\$\{(\w+):\?", text)) == {"KGCHECK_NEO4J_PASSWORD"}


def test_no_secret_is_written_down(compose: dict[str, Any]) -> None:
    secrets = {
        f"{service}.{name}": value
        for service, content in compose["services"].items()
        for name, value in content.get("environment", {}).items()
        if SECRET_NAME.search(name)
    }

    assert set(secrets) == {
        "neo4j.NEO4J_AUTH",
        "kgcheck.KGCHECK_NEO4J_PASSWORD",
        "postgres.POSTGRES_PASSWORD",
        "service.KGCHECK_NEO4J_PASSWORD",
        "service.KGCHECK_LEDGER_PASSWORD",
    }
    assert {name: value for name, value in secrets.items() if not FROM_ENVIRONMENT.fullmatch(value)} == {}
