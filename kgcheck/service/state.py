"""Service: state that routes share, a workspace with read and write locking, ledger and tasks."""

import asyncio
import logging
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager, nullcontext
from functools import cached_property
from pathlib import Path
from threading import Condition, Lock
from typing import TYPE_CHECKING, Annotated, cast

from fastapi import Depends, Request

from kgcheck.choices import DEFAULT_PROFILE
from kgcheck.context import Part, PartName
from kgcheck.curation.project import Project, read_project
from kgcheck.errors import StoreLocked
from kgcheck.ledger.accounts import ActionTable, Users
from kgcheck.ledger.ledger import Ledger, new_run_id
from kgcheck.model import Value
from kgcheck.progress import Progress
from kgcheck.service.access import LOOPBACK, StartToken
from kgcheck.service.limits import Rates, ServiceLimits
from kgcheck.service.problems import NotServed
from kgcheck.service.tasks import Tasks
from kgcheck.workspace.workspace import Workspace

if TYPE_CHECKING:
    from kgcheck.settings import Settings

_log = logging.getLogger(__name__)

LONGEST_S = 0.8
"""Longest wait for a look, in seconds: whoever asks has an answer within a second."""

PATIENCE_S = 10.0
"""Seconds that a part counts as last seen while it is looked at, and that the first look may take."""

_PARTS = {"store", "reference", "ledger", "literature", "profile", "live"}
"""Options that name parts of the workspace."""

_OF_GRAPH = ("store", "literature")
"""Parts that are closed while the store is written to."""


class Looks:
    """Looks at each part in a thread of its own; one look at a part at a time, however many ask."""

    def __init__(self, service: "Service") -> None:
        self._service = service
        self._under_way: dict[PartName, tuple[Future[Part], float]] = {}
        self._known: dict[PartName, Part] = {}

    async def parts(self) -> list[Part]:
        """Every part as it is now; one that does not answer is not ready."""
        names = self._service.shared.part_names
        looks = {name: self._under_way.get(name) or self._begin(name) for name in names}
        seconds = LONGEST_S if self._known.keys() >= set(names) else PATIENCE_S
        await asyncio.wait([asyncio.wrap_future(look) for look, _ in looks.values()], timeout=seconds)
        return [self._seen(name, *look) for name, look in looks.items()]

    def _seen(self, name: PartName, look: "Future[Part]", begun: float) -> Part:
        if look.done():
            self._under_way.pop(name, None)
            self._known[name] = look.result()
        elif name not in self._known or time.monotonic() - begun > PATIENCE_S:
            return Part(name=name, is_ready=False, kind_of_error="TookTooLong")
        return self._known[name]

    def _begin(self, name: PartName) -> "tuple[Future[Part], float]":
        look: Future[Part] = Future()
        self._under_way[name] = look, time.monotonic()
        # One that hangs must keep no process from ending.
        threading.Thread(target=lambda: look.set_result(self._look(name)), daemon=True).start()
        return self._under_way[name]

    def _look(self, name: PartName) -> Part:
        service = self._service
        try:
            with service.reading(longest=0) if name in _OF_GRAPH else nullcontext(service.shared) as workspace:
                return workspace.part(name)
        except StoreLocked as error:
            return Part(name=name, is_ready=False, kind_of_error=type(error).__name__, why=error.message)
        except Exception as error:
            # Whoever asks has an answer whatever it is; the log has the whole of it.
            _log.exception("cannot look whether %s is ready", name)
            return Part(name=name, is_ready=False, kind_of_error=type(error).__name__)


class ServiceOptions(Value):
    """Options of the service, named as on the command line."""

    store: str | None = None
    reference: Path | None = None
    ledger: str | None = None
    literature: Path | None = None
    profile: str = DEFAULT_PROFILE
    live: bool = False
    config: Path | None = None
    prefix: str = ""
    patches: Path | None = None
    is_local: bool = True
    hosts: tuple[str, ...] = ()
    limits: ServiceLimits = ServiceLimits()

    @property
    def names(self) -> frozenset[str]:
        """Names of hosts that it answers to; any, where there are none."""
        return LOOPBACK | set(self.hosts) if self.is_local or self.hosts else frozenset()


class Service:
    """The workspace of a service, shared by its threads."""

    def __init__(self, options: ServiceOptions, settings: "Settings | None" = None) -> None:
        self.options = options
        self._settings = settings
        self.shared = self.open()
        """The shared workspace, for what has nothing to do with the graph."""
        self._free = Condition()
        self._readers = 0
        self._writing = False
        self._waiting = 0
        self._opening = Lock()
        self._ledger: Ledger | None = None
        self.looks = Looks(self)
        self.rates = Rates(options.limits)
        self.start_token = StartToken(self.shared.settings)

    @property
    def ledger(self) -> Ledger:
        """The ledger, which is made where it is missing, for who keeps users, actions and tasks in it."""
        with self._opening:
            self._ledger = self._ledger or Ledger(self.shared.ledger)
            return self._ledger

    @cached_property
    def users(self) -> Users:
        return Users(self.ledger.database)

    @cached_property
    def actions(self) -> ActionTable:
        return ActionTable(self.ledger.database)

    @cached_property
    def tasks(self) -> Tasks:
        return Tasks(self)

    def open(self, progress: Progress | None = None) -> Workspace:
        """A workspace of its own, for long work in another thread; who opens it closes it."""
        return Workspace(**self.options.model_dump(include=_PARTS), settings=self._settings, progress=progress)

    def project(self) -> Project:
        """The kgcheck.toml of the service, as it stands now."""
        if self.options.config is None:
            raise NotServed("this service has no jobs", "start it with --config kgcheck.toml")
        return read_project(self.options.config)

    @contextmanager
    def reading(self, longest: float | None = None) -> Iterator[Workspace]:
        """The shared workspace; while the store is written to, this waits, but no longer than a request may."""
        # Less than the whole time of a request: so who waited learns why.
        longest = self.options.limits.seconds * 0.8 if longest is None else longest
        with self._free:
            if not self._free.wait_for(lambda: not self._writing and not self._waiting, longest):
                raise StoreLocked("the graph is being written to", "try again when the task that does so is over")
            self._readers += 1
        try:
            yield self.shared
        finally:
            with self._free:
                self._readers -= 1
                self._free.notify_all()

    @contextmanager
    def writing(self) -> Iterator[Workspace]:
        """The shared workspace, alone: its graph is closed before and after, as a store that is written to must be."""
        with self._free:
            self._waiting += 1
            self._free.wait_for(lambda: not self._writing and not self._readers)
            self._waiting -= 1
            self._writing = True
        try:
            self.shared.close_graph()
            yield self.shared
        finally:
            self.shared.close_graph()
            with self._free:
                self._writing = False
                self._free.notify_all()

    def new_patch_folder(self) -> Path:
        """Return the folder in which a new patch is to be made; it is not there yet."""
        return (self.options.patches or self.shared.settings.home / "patches") / new_run_id()

    def stop(self) -> None:
        """Let long work end, and those who follow it go: it goes on at the next start."""
        if "tasks" in self.__dict__:
            self.tasks.stop()

    def close(self) -> None:
        """Close the workspace, and wait for long work to come to where it can go on."""
        if "tasks" in self.__dict__:
            self.tasks.close()
        self.shared.close()
        if self._ledger:
            self._ledger.close()


async def service_of(request: Request) -> Service:
    """The service that a request came to. Not a plain function, which would take a thread for a moment."""
    return cast(Service, request.app.state.service)


Served = Annotated[Service, Depends(service_of)]
"""The service, for who answers a request."""
