"""Tasks of the service: followed, cancelled, in turn with who writes, and taken up again after a kill."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastapi.testclient import TestClient
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from kgcheck import clock
from kgcheck.errors import JobUnderWay, UnknownName, UsageError
from kgcheck.ledger.accounts import Role
from kgcheck.ledger.ledger import Ledger
from kgcheck.ledger.work import LEASE, WorkItem, WorkState, WorkTable
from kgcheck.model import Value
from kgcheck.service.access import NotAllowed, Principal
from kgcheck.service.app import create_app
from kgcheck.service.state import Service, ServiceOptions
from kgcheck.service.tasks import MOST_ATTEMPTS, Tasks
from kgcheck.service.telemetry import start_telemetry, stop_telemetry
from kgcheck.settings import Settings
from kgcheck.workspace import Workspace
from kgcheck.workspace.tasks import TaskKind, TaskWork
from tests.support.api import bearer, demo_ledger, started
from tests.support.audits import LEDGER, demo, demo_audit

ADA = Principal(name="ada", role=Role.CURATOR)
LONG_S = 60.0


class Wanted(Value):
    """What the kind of task of these tests takes."""

    steps: int = 3
    fault: str = ""
    job: str | None = None


class Steps:
    """A kind of task that waits at each step until it is let on."""

    def __init__(self) -> None:
        self.free = threading.Event()
        self.free.set()
        self.begun: list[str] = []

    def __call__(self, workspace: Workspace, work: TaskWork) -> dict[str, Any]:
        wanted = Wanted.model_validate(work.task.parameters)
        self.begun.append(work.task.id)
        if wanted.fault == "known":
            raise UsageError("it cannot be done", "do another thing")
        if wanted.fault:
            raise RuntimeError(f"secret {wanted.fault}")
        with work.lease.watch().step("working", wanted.steps) as step:
            for number in range(int(work.task.noted.get("from", 0)), wanted.steps):
                while not self.free.wait(0.02):
                    # Here a task that is to end does.
                    step.advance(0)
                work.lease.note(noted={"from": number + 1})
                step.advance()
        return {"steps": wanted.steps}


def _after(task: WorkItem, config: Path | None) -> list[dict[str, Any]]:
    return [{"job": "second", "steps": 1}] if task.job == "first" else []


@pytest.fixture
def work() -> Steps:
    return Steps()


@contextmanager
def serving(folder: Path, work: Steps, **options: Any) -> Iterator[Service]:
    place = {"store": str(folder / "g.lbdb"), "ledger": str(folder / "ledger.sqlite")}
    service = Service(ServiceOptions(**place, **options), Settings(home=folder / "home"))
    kinds = {
        "read": TaskKind("read", Wanted, work, following=_after),
        "write": TaskKind("write", Wanted, work, writes=lambda *_: True),
    }
    service.__dict__["tasks"] = Tasks(service, kinds)
    try:
        yield service
    finally:
        work.free.set()
        service.close()


@pytest.fixture
def service(tmp_path: Path, work: Steps) -> Iterator[Service]:
    with serving(tmp_path, work) as found:
        yield found


def until(found: Callable[[], Any]) -> Any:
    """Wait until something is so."""
    end = time.monotonic() + LONG_S
    while not (value := found()):
        assert time.monotonic() < end, "it never came"
        time.sleep(0.02)
    return value


def ended(service: Service, task: WorkItem) -> WorkItem:
    until(lambda: service.tasks.get(task.id).state.is_over)
    return service.tasks.get(task.id)


def test_a_task_is_followed_to_its_end(service: Service, work: Steps) -> None:
    work.free.clear()
    task = service.tasks.start("read", {"steps": 2}, ADA)
    with TestClient(create_app(service), "http://127.0.0.1", headers=bearer(service)) as client:
        until(lambda: service.tasks.get(task.id).step)
        with client.stream("GET", f"/v1/tasks/{task.id}/events") as answer:
            assert answer.headers["content-type"].startswith("text/event-stream")
            assert answer.headers["cache-control"] == "no-store"
            parts = answer.iter_text()
            text = next(parts)
            work.free.set()
            text += "".join(parts)
        events = [dict(re.findall(r"^(\w+): (.*)$", part, re.MULTILINE)) for part in text.strip().split("\n\n")]
        assert [e["event"] for e in events][-1] == "end"
        assert events[0]["event"] == "task"
        first, last = json.loads(events[0]["data"]), json.loads(events[-1]["data"])
        assert (first["state"], first["step"], first["total"]) == ("running", "working", 2)
        assert (last["state"], last["result"], last["by"]) == ("done", {"steps": 2}, "ada")
        assert "worker" not in last
        ids = [int(e["id"]) for e in events]
        assert ids == sorted(set(ids))
        # Who comes back with the last id but one gets what came after it, and no more.
        again = client.get(f"/v1/tasks/{task.id}/events", headers={"last-event-id": str(ids[0])})
        assert again.text.count("event: ") == 1
        assert client.get(f"/v1/tasks/{task.id}").json()["state"] == "done"
        assert [t["id"] for t in client.get("/v1/tasks").json()["tasks"]] == [task.id]
        for path in ("0123456789abcdef", "0123456789abcdef/events"):
            assert client.get(f"/v1/tasks/{path}").status_code == 404


@pytest.mark.parametrize(("fault", "kind"), [("", None), ("known", "UsageError"), ("unknown", "RuntimeError")])
def test_a_span_tells_of_a_task_that_failed(service: Service, work: Steps, fault: str, kind: str | None) -> None:
    """One that is cancelled has not failed."""
    exporter = InMemorySpanExporter()
    provider = start_telemetry(exporter)
    work.free.clear()
    task = service.tasks.start("read", {"fault": fault}, ADA)
    if not fault:
        until(lambda: service.tasks.get(task.id).state is WorkState.RUNNING)
        service.tasks.cancel(task.id, ADA)
    until(lambda: service.tasks.get(task.id).state.is_over and not service.tasks._running)
    provider.force_flush()
    stop_telemetry()

    (span,) = exporter.get_finished_spans()
    assert (span.attributes or {}).get("error.type") == kind
    assert span.status.is_unset is (kind is None)
    assert "secret" not in span.to_json()


@pytest.mark.slow
def test_a_task_is_cancelled_where_it_stands(service: Service, work: Steps) -> None:
    work.free.clear()
    first, second, third = (service.tasks.start("read", {}, ADA) for _ in range(3))
    until(lambda: len(work.begun) == 2)

    with pytest.raises(NotAllowed):
        service.tasks.cancel(first.id, Principal(name="bob", role=Role.CURATOR))
    service.tasks.cancel(third.id, Principal(name="bob", role=Role.ADMIN))
    service.tasks.cancel(first.id, ADA)

    assert ended(service, third).state is WorkState.CANCELLED
    assert ended(service, first).state is WorkState.CANCELLED
    work.free.set()
    assert ended(service, second).state is WorkState.DONE
    assert third.id not in work.begun
    # What is over stays as it is.
    assert service.tasks.cancel(second.id, ADA).state is WorkState.DONE


def test_who_writes_is_alone_and_comes_in_its_turn(service: Service, work: Steps) -> None:
    work.free.clear()
    reader, writer, later = (service.tasks.start(kind, {}, ADA) for kind in ("read", "write", "read"))
    until(lambda: work.begun == [reader.id])
    time.sleep(0.3)

    assert work.begun == [reader.id]
    work.free.set()
    assert {ended(service, task).state for task in (reader, writer, later)} == {WorkState.DONE}
    assert work.begun == [reader.id, writer.id, later.id]
    taken = [service.tasks.get(task.id) for task in (reader, writer, later)]
    assert all(a.ended <= b.started for a, b in pairwise(taken))  # type: ignore[operator]


def test_a_task_that_fails_says_why_and_no_more(service: Service) -> None:
    known = ended(service, service.tasks.start("read", {"fault": "known"}, ADA))
    fault = ended(service, service.tasks.start("read", {"fault": "hunter2"}, ADA))

    assert known.state is fault.state is WorkState.FAILED
    assert known.error == {"title": "UsageError", "detail": "it cannot be done", "hint": "do another thing"}
    assert "hunter2" not in json.dumps(fault.as_row()["error"])


def test_a_job_is_one_row_is_begun_once_and_is_followed_by_another(service: Service, work: Steps) -> None:
    work.free.clear()
    first = service.tasks.start("read", {"job": "first"}, ADA)
    until(lambda: work.begun == [first.id])

    again = ended(service, service.tasks.start("read", {"job": "first"}, ADA))

    assert (again.state, again.error["title"]) == (WorkState.FAILED, "JobUnderWay")
    work.free.set()
    assert ended(service, first).state is WorkState.DONE
    until(lambda: service.tasks.list(1)[0].job == "second")
    second = ended(service, service.tasks.list(1)[0])
    assert (second.state, second.by, second.result) == (WorkState.DONE, "ada", {"steps": 1})
    assert len(WorkTable(service.ledger.database).history("first")) == 2


def test_a_service_that_stops_hands_its_tasks_back(tmp_path: Path, work: Steps) -> None:
    work.free.clear()
    with serving(tmp_path, work) as service:
        task = service.tasks.start("read", {"steps": 4}, ADA)
        until(lambda: service.tasks.get(task.id).step)
        service.tasks.close()
        assert service.tasks.get(task.id).state is WorkState.WAITING
        with pytest.raises(UsageError, match="stopping"):
            service.tasks.start("read", {}, ADA)
    with serving(tmp_path, work) as service:
        service.tasks.go_on()
        done = ended(service, task)
    assert (done.state, done.attempt) == (WorkState.DONE, 1)
    assert len(work.begun) == 2


@pytest.mark.parametrize(
    ("worker", "lease", "is_taken"),
    [
        (f"{socket.gethostname()} 999999999 aaaa", LEASE, True),
        (f"{socket.gethostname()} {os.getpid()} aaaa", LEASE, True),
        (f"{socket.gethostname()} {os.getppid()} aaaa", LEASE, False),
        ("elsewhere 12 aaaa", LEASE, False),
        ("elsewhere 12 aaaa", timedelta(seconds=-1), True),
    ],
    ids=["its process is gone", "of a container before", "it is alive", "elsewhere", "its lease ran out"],
)
def test_only_what_nobody_is_at_is_taken_up(
    tmp_path: Path, work: Steps, worker: str, lease: timedelta, is_taken: bool
) -> None:
    with serving(tmp_path, work) as service:
        table = WorkTable(service.ledger.database)
        task = table.add(WorkItem(id="0" * 16, kind="read", parameters={"steps": 3}, by="ada", created=clock.now()))
        table.begin(task, worker, clock.now(), lease)
        with pytest.raises(JobUnderWay):
            table.begin(task, "somebody else", clock.now(), lease)
        mine = table.task(task.id)
        assert table.change(mine, noted={"from": 2})
        service.tasks.go_on()

        if is_taken:
            assert ended(service, task).attempt == 2
            assert not table.change(mine, step="too late")
            assert service.tasks.get(task.id).step == "working"
        else:
            time.sleep(0.5)
            assert work.begun == []
            assert service.tasks.get(task.id).worker == worker


def test_what_kills_the_service_each_time_is_given_up(tmp_path: Path, work: Steps) -> None:
    with serving(tmp_path, work) as service:
        table = WorkTable(service.ledger.database)
        task = table.add(WorkItem(id="0" * 16, kind="read", by="ada", created=clock.now(), attempt=MOST_ATTEMPTS))
        service.tasks.go_on()
        assert ended(service, task).state is WorkState.FAILED
    assert work.begun == []


# The kinds that there are, over the demo.


def outcomes(ledger: Path | str, run: str) -> Any:
    with Workspace(ledger=ledger) as workspace:
        found = [(f.fingerprint, f.verdict.outcome.value, f.verdict.reason.value) for f in workspace.findings(run)]
        return sorted(found), Counter({(t.type, str(t.target), t.outcome): t.count for t in workspace.tallies(run)})


@pytest.mark.slow
def test_killed_during_decisions_and_an_audit_nothing_is_lost_or_doubled(tmp_path: Path) -> None:
    ledger, chosen = tmp_path / "ledger.sqlite", random.Random(16)  # noqa: S311
    shutil.copy(demo_ledger(), ledger)
    with Workspace(ledger=ledger) as workspace, workspace.users() as users:
        token, _ = users.add("ada", "curator", by="test")
        runs = {run.id for run, _ in workspace.runs()}
    head = {"authorization": f"Bearer {token}"}
    acknowledged: list[str] = []

    def decide(client: httpx2.Client, finding: dict[str, str]) -> int:
        seen = {"findings": [{"fingerprint": finding["fingerprint"], "seen": finding["version"]}]}
        return client.post("/v1/decisions", json={**seen, "action": "defer", "until": "2090-01-01"}).status_code

    with (
        started(ledger, tmp_path) as (process, address, _),
        httpx2.Client(base_url=address, headers=head, timeout=30) as client,
    ):
        found = client.get("/v1/findings?limit=20").json()["findings"]
        assert len(found) == 20
        task = client.post("/v1/audits").json()["id"]
        until(lambda: client.get(f"/v1/tasks/{task}").json()["step"] == "auditing")

        def one_after_the_other() -> None:
            try:
                for finding in found:
                    assert decide(client, finding) == 201
                    acknowledged.append(finding["fingerprint"])
            except httpx2.TransportError:
                pass

        deciding = threading.Thread(target=one_after_the_other)
        deciding.start()
        enough = chosen.randint(4, 12)
        until(lambda: len(acknowledged) >= enough)
        process.send_signal(signal.SIGKILL)
        process.wait(60)
        deciding.join(60)
        assert not deciding.is_alive()
    assert enough <= len(acknowledged) < 20

    with (
        started(ledger, tmp_path) as (process, address, log),
        httpx2.Client(base_url=address, headers=head, timeout=30) as client,
    ):
        # Who got no answer sends it again, as it was seen: it is decided, or it was.
        again = Counter(decide(client, one) for one in found if one["fingerprint"] not in acknowledged)
        assert set(again) <= {201, 409}
        assert again[409] <= 1
        with client.stream("GET", f"/v1/tasks/{task}/events", timeout=300) as answer:
            assert "event: end" in "".join(answer.iter_text())
        ended_task = client.get(f"/v1/tasks/{task}").json()
        actions = client.post("/v1/tasks/0123456789abcdef/cancel").status_code
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    assert actions == 404
    text = log.read_text()
    assert text
    assert token not in text
    assert token.split("_", 2)[2] not in text
    assert (ended_task["state"], ended_task["attempt"]) == ("done", 2), ended_task

    with Workspace(ledger=ledger) as workspace:
        decided = Counter(d.fingerprint for one in found for d in workspace.history(one["fingerprint"]))
        new = {run.id for run, _ in workspace.runs()} - runs
    assert decided == {one["fingerprint"]: 1 for one in found}
    assert new == {ended_task["run"]}
    assert outcomes(ledger, ended_task["run"]) == outcomes(demo_audit() / LEDGER, "latest")


@pytest.mark.slow
def test_killed_during_a_job_it_goes_on_at_the_next_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run of a job is one piece of work, also where it is begun as a task, and after a kill."""
    monkeypatch.setenv("KGCHECK_START_TOKEN", "a" * 32)
    head = {"authorization": f"Bearer {'a' * 32}"}
    ledger = tmp_path / "ledger.sqlite"
    config = tmp_path / "kgcheck.toml"
    config.write_text(
        f'ledger = "{ledger}"\n[stores]\nmain = {{ place = "{demo().store}" }}\n'
        f'[references.main]\nsnapshot = "{demo().reference}"\n'
        '[defaults]\nstore = "main"\nreference = "main"\n[jobs.all]\nkind = "audit"\n'
    )

    def pieces() -> int:
        with Workspace(ledger=ledger) as workspace, Ledger(workspace.ledger, create=False) as known:
            return sum(len(known.done(run)) for run in known.runs())

    with started(ledger, tmp_path, "--config", str(config)) as (process, address, _):
        answer = httpx2.post(f"{address}/v1/jobs/all/run", headers=head, timeout=30)
        assert answer.status_code == 202, answer.text
        task = answer.json()["id"]
        until(lambda: pieces() > 3)
        process.send_signal(signal.SIGKILL)
        process.wait(60)
    with (
        started(ledger, tmp_path, "--config", str(config)) as (process, address, _),
        httpx2.Client(base_url=address, headers=head, timeout=30) as client,
    ):
        with client.stream("GET", f"/v1/tasks/{task}/events", timeout=200) as answer:
            assert "event: end" in "".join(answer.iter_text())
        ended_task = client.get(f"/v1/tasks/{task}").json()
        history = client.get("/v1/jobs/all/history").json()["runs"]
        runs = client.get("/v1/runs").json()["runs"]
    assert (ended_task["state"], ended_task["attempt"]) == ("done", 2), ended_task
    assert [(run["state"], run["run"]) for run in history] == [("done", ended_task["run"])]
    assert [run["id"] for run in runs] == [ended_task["run"]], "the audit that was begun went on"
    assert outcomes(ledger, ended_task["run"]) == outcomes(demo_audit() / LEDGER, "latest")


def test_what_is_no_task_is_refused(service: Service) -> None:
    with pytest.raises(UnknownName):
        service.tasks.start("delete everything", {}, ADA)
    with pytest.raises(UsageError, match="steps: "):
        service.tasks.start("read", {"steps": "many"}, ADA)
    with pytest.raises(UsageError, match="folder: "):
        service.tasks.start("read", {"folder": "/etc"}, ADA)
    assert service.tasks.list() == []
