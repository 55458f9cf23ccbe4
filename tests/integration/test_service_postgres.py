"""The service with its ledger in PostgreSQL: the contract of the API, and two services on one ledger at once."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import create_engine

from kgcheck.ledger.copying import copy_ledger
from kgcheck.ledger.database import Database
from kgcheck.ledger.place import ledger_place
from kgcheck.progress import NoProgress
from kgcheck.settings import Settings
from kgcheck.workspace import Workspace
from tests.integration.test_service_api import (
    done,
    first,
    got,
    refused,
    test_decision_by_filter_is_about_as_many_as_were_counted,
    test_decision_is_only_about_what_was_seen,
    test_decisions_come_in_pages,
    test_filters_are_those_of_the_workspace,
    test_of_many_who_decide_at_once_about_what_they_saw_one_does,
    test_one_of_many_that_changed_keeps_all_from_being_decided,
    test_pages_hold_every_finding_once_in_the_order_of_reports,
    test_patch_is_made_shown_and_checked_without_naming_a_file,
    test_runs_come_in_pages,
)
from tests.integration.test_service_tasks import outcomes, until
from tests.support.api import demo_ledger, served, started
from tests.support.audits import demo
from tests.support.postgres import USER, PostgresServer, fresh_schema, named

# The same tests as over a file: what they take is made here.
__all__ = [
    "test_decision_by_filter_is_about_as_many_as_were_counted",
    "test_decision_is_only_about_what_was_seen",
    "test_decisions_come_in_pages",
    "test_filters_are_those_of_the_workspace",
    "test_of_many_who_decide_at_once_about_what_they_saw_one_does",
    "test_one_of_many_that_changed_keeps_all_from_being_decided",
    "test_pages_hold_every_finding_once_in_the_order_of_reports",
    "test_patch_is_made_shown_and_checked_without_naming_a_file",
    "test_runs_come_in_pages",
]
pytestmark = pytest.mark.slow
TYPES = ["existence", "attribute"]
"""Types of checks of the audit in whose midst a service is killed: of dozens of pieces, a third of all."""


@pytest.fixture(autouse=True, scope="module")
def user() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KGCHECK_LEDGER_USER", USER)
        yield


def copied(server: PostgresServer) -> str:
    """What a person names as the ledger: the demo's, in a schema of its own."""
    place = named(fresh_schema(server.address()))
    source, target = Database(demo_ledger(), create=False), Database(ledger_place(place, Settings()), create=True)
    copy_ledger(source, target, NoProgress())
    source.close()
    target.close()
    return place


@pytest.fixture
def api(postgres_server: PostgresServer, tmp_path: Path) -> Iterator[TestClient]:
    with served(tmp_path, ledger=copied(postgres_server)) as client:
        yield client


@pytest.fixture(scope="module")
def shared(postgres_server: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    with served(tmp_path_factory.mktemp("api"), ledger=copied(postgres_server)) as client:
        yield client


def test_an_audit_is_a_task(api: TestClient) -> None:
    task = done(api, api.post("/v1/audits", json={"types": ["existence"], "ids": ["PARK2"]}))

    assert (task["state"], task["error"]) == ("done", {})
    assert first(api, run=task["run"])["subject"]["id"] == "PARK2"
    assert got(api, "/v1/actions")["actions"][0]["route"] == "/v1/audits"


def test_facets_are_those_of_a_file(shared: TestClient, tmp_path: Path) -> None:
    with served(tmp_path) as of_file:
        for filters in ({}, {"text": "park2"}, {"state": "still", "label": "Gene"}):
            assert got(shared, "/v1/findings/facets", **filters) == got(of_file, "/v1/findings/facets", **filters)


def test_a_ledger_that_has_gone_is_no_fault_of_the_client(postgres_server: PostgresServer, tmp_path: Path) -> None:
    place = copied(postgres_server)
    with served(tmp_path, ledger=place) as client:
        got(client, "/v1/runs")
        engine = create_engine(postgres_server.address())
        with engine.begin() as connection:
            connection.exec_driver_sql(f"DROP SCHEMA {place.partition('search_path%3D')[2]} CASCADE")
        engine.dispose()

        assert client.get("/v1/health/live").status_code == 200
        ready = client.get("/v1/health/ready")
        refused(client.get("/v1/runs"), 503, "ledger-error")
    assert {part["name"]: part["is_ready"] for part in ready.json()["parts"]}["ledger"] is False


def test_two_services_share_a_ledger(postgres_server: PostgresServer, tmp_path: Path) -> None:
    place = copied(postgres_server)
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    with Workspace(ledger=place) as workspace, workspace.users() as users:
        token, _ = users.add("ada", "curator", by="test")
    how: dict[str, Any] = {"headers": {"authorization": f"Bearer {token}"}, "timeout": 60}
    with started(place, tmp_path / "one") as (one, here, _), started(place, tmp_path / "two") as (_, there, _):
        clients = [httpx2.Client(base_url=address, **how) for address in (here, there)]
        rows = clients[0].get("/v1/findings", params={"limit": 20}).json()["findings"]

        def decide(number: int) -> tuple[str, int]:
            row = rows[number % len(rows)]
            body = {"findings": [{"fingerprint": row["fingerprint"], "seen": row["version"]}], "action": "reject"}
            return row["fingerprint"], clients[number // len(rows)].post("/v1/decisions", json=body).status_code

        # Each finding through both at once: one of them decides, the other learns that somebody has.
        with ThreadPoolExecutor(8) as pool:
            answers = Counter(pool.map(decide, range(2 * len(rows))))
        assert answers == {(row["fingerprint"], status): 1 for row in rows for status in (201, 409)}
        for client in clients:
            assert client.get("/v1/findings/facets", params={"decision": "rejected"}).json()["total"] == len(rows)

        begun = [
            client.post("/v1/audits", json={"types": ["existence"], "ids": ["PARK2"]}).json()["id"]
            for client in clients
        ]
        for task in begun:
            with clients[0].stream("GET", f"/v1/tasks/{task}/events", timeout=300) as answer:
                assert "event: end" in "".join(answer.iter_text())
        found = [clients[1].get(f"/v1/tasks/{task}").json() for task in begun]
        assert [(task["state"], task["attempt"]) for task in found] == [("done", 1)] * 2
        assert len({task["run"] for task in found}) == 2

        # What one was at that is killed, the other goes on with.
        task = clients[0].post("/v1/audits", json={"types": TYPES}).json()["id"]
        until(lambda: clients[1].get(f"/v1/tasks/{task}").json()["step"] == "auditing")
        one.send_signal(signal.SIGKILL)
        one.wait(60)
        # Followed as a person follows it: that also waits for a busy machine.
        with clients[1].stream("GET", f"/v1/tasks/{task}/events", timeout=300) as answer:
            assert "event: end" in "".join(answer.iter_text())
        ended = clients[1].get(f"/v1/tasks/{task}").json()
        for client in clients:
            client.close()
    assert (ended["state"], ended["error"]) == ("done", {})
    with Workspace(ledger=place) as workspace:
        decided = Counter(d.fingerprint for row in rows for d in workspace.history(row["fingerprint"]))
    assert decided == {row["fingerprint"]: 1 for row in rows}
    whole = tmp_path / "whole.sqlite"
    with Workspace(store=str(demo().store), reference=demo().reference, ledger=whole) as workspace:
        audit = workspace.audit(TYPES)
    assert outcomes(place, ended["run"]) == outcomes(whole, audit.run.id)
