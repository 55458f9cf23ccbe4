"""Anything may be sent to the API: no fault of the service comes of it, and every answer is as the document says."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
import schemathesis
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.strategies import SearchStrategy
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.config import GenerationConfig, ProjectConfig, ProjectsConfig, SchemathesisConfig
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.support.api import served
from tests.support.audits import demo
from tests.support.chance import new_seed

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    negative_data_rejection,
]
SEED = new_seed(1)


@pytest.fixture
def fuzzed(tmp_path: Path) -> Iterator[tuple[TestClient, Any]]:
    # A service for each test: schemathesis ends it with the client of its own.
    folder = tmp_path
    config = folder / "kgcheck.toml"
    config.write_text(f'[stores]\nmain = {{ place = "{demo().store}" }}\n\n[jobs.nightly]\nkind = "audit"\n')
    with served(folder, config=config) as client:
        # Its home and the graph stay as they are: long work is only begun with what is not there.
        project = ProjectConfig(generation=GenerationConfig(allow_x00=True))
        projects = SchemathesisConfig(projects=ProjectsConfig(default=project))
        document = client.get("/v1/openapi.json").json()
        schema = schemathesis.openapi.from_dict(document, config=projects)
        schema.app = client.app
        yield client, schema


def ids(client: TestClient) -> dict[str, list[str]]:
    """What is there under the names of the places in paths."""
    runs = [run["id"] for run in client.get("/v1/runs").json()["runs"]]
    # Of the run of the demo: those that are begun here may be under way.
    answer = client.get("/v1/findings", params={"limit": 500, "run": runs[-1]})
    assert answer.status_code == 200, answer.text
    rows = answer.json()["findings"]
    wanted = {"findings": [{"fingerprint": row["fingerprint"]} for row in rows[:5]]}
    client.post("/v1/patches", json=wanted)
    return {
        "fingerprint": [row["fingerprint"] for row in rows],
        "run": runs,
        "patch": [patch["id"] for patch in client.get("/v1/patches").json()["patches"]],
        "job": ["nightly"],
    }


def send(fuzzed: tuple[TestClient, Any], examples: int) -> Counter[int]:
    """Send made-up requests to every operation, valid and invalid ones; what came of them."""
    client, schema = fuzzed
    known, codes, random = ids(client), Counter[int](), Random(SEED)  # noqa: S311
    for found in schema.get_all_operations():
        operation = found.ok()
        # What begins long work gets no id of anything that is there: it is tested where tasks are.
        is_work = operation.path.rpartition("/")[2] in ("apply", "undo", "run", "events")
        for mode in GenerationMode:
            if mode.is_negative and not (operation.body or any(operation.iter_parameters())):
                continue
            real = None if mode.is_negative or is_work else known
            _send(operation.as_strategy(generation_mode=mode), examples, codes, random, real, dict(client.headers))
    print(f"seed {SEED}: {dict(sorted(codes.items()))}")  # noqa: T201
    return codes


def _send(
    cases: SearchStrategy[Case[Any]],
    examples: int,
    codes: Counter[int],
    random: Random,
    real: dict[str, list[str]] | None,
    headers: dict[str, str],
) -> None:
    chosen = settings(
        max_examples=examples,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
    )

    @seed(SEED)
    @chosen
    @given(cases)
    def one(case: Case[Any]) -> None:
        if real and random.random() < 0.7:
            _make_real(case, real, random)
        answer = case.call(base_url="http://127.0.0.1", headers=headers)
        codes[answer.status_code] += 1
        case.validate_response(answer, checks=CHECKS)

    one()


def _make_real(case: Case[Any], known: dict[str, list[str]], random: Random) -> None:
    """Name what is there."""
    for name in case.path_parameters or {}:
        if found := known.get(name):
            case.path_parameters[name] = random.choice(found)
    body: Any = case.body
    if isinstance(body, dict) and isinstance(body.get("findings"), list):
        for one in body["findings"]:
            one["fingerprint"] = random.choice(known["fingerprint"])
            if random.random() < 0.8:
                one.pop("seen", None)
        body.pop("choose", None)


@pytest.mark.seeded
def test_nothing_that_is_sent_is_too_much(fuzzed: tuple[TestClient, Any]) -> None:
    codes = send(fuzzed, 2)

    assert {200, 404, 422} <= codes.keys()
    assert sum(codes.values()) > 120


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.seeded
def test_nothing_of_much_that_is_sent_is_too_much(fuzzed: tuple[TestClient, Any]) -> None:
    codes = send(fuzzed, 20)

    assert {200, 201, 400, 404, 422} <= codes.keys()
    assert sum(codes.values()) > 1_100
