"""Tasks: run long work in threads of the service; follow, cancel, and resume after a kill.

The ledger says what there is to do and who is at it (`kgcheck.ledger.work`); what a kind of task does, and how it goes
on, is a matter of `kgcheck.workspace.tasks`.
"""

import logging
import threading
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import anyio
from fastapi.sse import ServerSentEvent
from starlette.concurrency import run_in_threadpool

from kgcheck import clock
from kgcheck.choices import chosen
from kgcheck.errors import JobUnderWay, KgcheckError, LedgerError, UsageError
from kgcheck.ledger.accounts import Role
from kgcheck.ledger.work import Ending, Lease, WorkItem, WorkState, WorkTable, ended_by, is_gone, this_worker
from kgcheck.service.access import NotAllowed, Principal
from kgcheck.service.telemetry import task_span
from kgcheck.workspace.tasks import KINDS, TaskKind, TaskWork

if TYPE_CHECKING:
    from kgcheck.service.state import Service

LOG = logging.getLogger(__name__)

LOOK_EVERY_S = 10.0
"""Seconds between looks for tasks whose worker is gone."""

FOLLOW_EVERY_S = 0.5
"""Seconds between looks for something new by those who follow a task."""

GRACE_S = 30.0
"""Seconds that the end of the service waits for tasks."""

MOST_ATTEMPTS = 5
"""A task that the service did not outlive so often is given up."""


class Tasks:
    """The tasks of a service."""

    def __init__(self, service: "Service", kinds: Mapping[str, TaskKind] = KINDS) -> None:
        self._service = service
        self._kinds = kinds
        self._table = WorkTable(service.ledger.database)
        self._worker = f"{this_worker()}-{uuid4().hex[:8]}"
        self._news = threading.Condition()
        self._running: dict[str, tuple[Lease, threading.Thread]] = {}
        self._stopping = threading.Event()
        self._looking: threading.Thread | None = None

    def start(self, kind: str, parameters: Mapping[str, Any], asking: Principal) -> WorkItem:
        """Begin a task; it waits where too much is under way."""
        if self._stopping.is_set():
            raise UsageError("the service is stopping", "try again when it is back")
        return self._add(kind, parameters, asking.name)

    def _add(self, kind: str, parameters: Mapping[str, Any], by: str) -> WorkItem:
        wanted = self._kinds[chosen("kind of task", kind, list(self._kinds))].checked(parameters)
        task = self._table.add(
            WorkItem(kind=kind, job=wanted.get("job"), parameters=wanted, by=by, created=clock.now())
        )
        self.go_on()
        self._notify()
        return task

    def _notify(self) -> None:
        with self._news:
            self._news.notify_all()

    def get(self, name: str) -> WorkItem:
        return self._table.task(name)

    def list(self, limit: int = 100, *, kind: str | None = None) -> list[WorkItem]:
        return self._table.tasks(limit, kind=kind)

    def cancel(self, name: str, asking: Principal | None = None) -> WorkItem:
        by = self._table.task(name).by
        if asking and by != asking.name and not asking.role.may(Role.ADMIN):
            raise NotAllowed(f"task {name} is {by}'s", "who began it can cancel it, or an admin")
        task = self._table.cancel(name, clock.now())
        with self._news:
            if name in self._running:
                self._running[name][0].cancelled.set()
        self._notify()
        return task

    async def events(self, name: str, seen: int = 0) -> AsyncIterator[ServerSentEvent]:
        """A task as it stands, and again whenever it changes, until it is over.

        Each event is the whole task: who comes back with the id of the last event has missed nothing.
        """
        while True:
            task = await run_in_threadpool(self.get, name)
            over = task.state.is_over
            if task.version > seen or over:
                seen = task.version
                yield ServerSentEvent(data=task.as_row(), event="end" if over else "task", id=str(seen), retry=2_000)
            if over or self._stopping.is_set():
                return
            await anyio.sleep(FOLLOW_EVERY_S)

    def go_on(self) -> None:
        """Take up what waits, and what a service that is gone was at; look for more from now on."""
        with self._news:
            if self._looking is None and not self._stopping.is_set():
                self._looking = threading.Thread(target=self._keep_looking, name="tasks", daemon=True)
                self._looking.start()

    def stop(self) -> None:
        """Let everything end between two pieces of work, to go on at the next start."""
        self._stopping.set()
        self._notify()

    def close(self) -> None:
        self.stop()
        until = time.monotonic() + GRACE_S
        for thread in (self._looking, *(thread for _, thread in list(self._running.values()))):
            # What takes longer is cut off, and taken up again as after a kill.
            if thread:
                thread.join(max(until - time.monotonic(), 0.1))

    def _keep_looking(self) -> None:
        while not self._stopping.is_set():
            try:
                self._begin_what_may()
            except LedgerError as error:
                # Who cannot write to the ledger cannot take over either: the next time it may come through.
                LOG.warning("the tasks cannot be looked at: %s", error.message)
            with self._news:
                if not self._stopping.is_set():
                    self._news.wait(LOOK_EVERY_S)

    def _begin_what_may(self) -> None:
        """In the order in which they came: one that writes to the store waits for all, and all wait for it."""
        at, most = clock.now(), self._service.options.limits.tasks
        others = [lease.work for lease, _ in self._running.values()]
        for task in self._table.open():
            if task.id in self._running:
                continue
            kind = self._kinds.get(task.kind)
            if kind is None:
                # Of a later kgcheck: that one goes on with it.
                continue
            is_elsewhere = task.state is WorkState.RUNNING and task.lease_until and task.lease_until > at
            if is_elsewhere and not is_gone(task.worker):
                others.append(task)
                continue
            is_free = not any(self._writes(task) or self._writes(other) for other in others)
            if len(self._running) >= most or not is_free:
                # Those that came later wait behind it: it would never begin otherwise.
                return
            try:
                mine = self._table.begin(task, self._worker, at)
            except JobUnderWay as error:
                # Nothing is written where another service was quicker.
                self._table.change(task, **ended_by(error, task))
                continue
            lease = Lease(self._table, mine, stopping=self._stopping).keep()
            thread = threading.Thread(target=self._work, args=(lease, kind), name=f"task {mine.id}", daemon=True)
            with self._news:
                self._running[mine.id] = lease, thread
            thread.start()
            others.append(mine)

    def _writes(self, task: WorkItem) -> bool:
        kind = self._kinds.get(task.kind)
        return kind is None or kind.writes(task, self._service.options.config)

    def _work(self, lease: Lease, kind: TaskKind) -> None:
        task = lease.work
        try:
            # What is cancelled or handed back has not failed.
            with lease, task_span(task.kind, task.id), suppress(Ending):
                lease.perform(lambda: self._result(lease, kind))
                for parameters in kind.following(task, self._service.options.config):
                    self._add(task.kind, parameters, task.by)
        except LedgerError as error:
            # Where its end could not be written, its lease runs out, and it is taken up again: done work is found done.
            LOG.error("task %s met an error of the ledger: %s", task.id, error.message)
        except KgcheckError as error:
            LOG.info("task %s failed: %s", task.id, type(error).__name__)
        except Exception:
            LOG.exception("task %s ended with a fault", task.id)
        finally:
            with self._news:
                del self._running[task.id]
            self._notify()

    def _result(self, lease: Lease, kind: TaskKind) -> dict[str, Any]:
        config = self._service.options.config
        if lease.work.attempt > MOST_ATTEMPTS + kind.retries(lease.work, config):
            raise KgcheckError(
                f"the service ended {MOST_ATTEMPTS} times while it was at this", "begin it anew, with less at a time"
            )
        work = TaskWork(lease, self._service.ledger, config)
        # A store that is written to is open for nobody else, also not for those who read pages.
        alone = self._service.writing() if kind.writes(lease.work, config) else nullcontext()
        with alone, self._service.open(lease.watch()) as workspace:
            return kind.work(workspace, work)
