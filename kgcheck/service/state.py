"""What the routes work on: one workspace for all who read, and nobody reading while a store is written to."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Condition
from typing import TYPE_CHECKING, cast

from fastapi import Request

from kgcheck.model import Value
from kgcheck.workspace.workspace import Workspace

if TYPE_CHECKING:
    from kgcheck.settings import Settings


class ServiceOptions(Value):
    """What the service works on, as the options of the command line name it.

    Attributes:
        store: See Workspace, as the next five.
        reference: The snapshot.
        ledger: The ledger.
        literature: The literature index.
        profile: The kind of graph.
        live: Ask services, too.
        config: The kgcheck.toml whose jobs are listed and run, or None.
        prefix: The path under which a reverse proxy shows the service, without a slash at its end.
        patches: The folder in which patches are made.
    """

    store: str | None = None
    reference: str | None = None
    ledger: str | None = None
    literature: str | None = None
    profile: str = "ckg"
    live: bool = False
    config: Path | None = None
    prefix: str = ""
    patches: Path | None = None


class Service:
    """The workspace of a service, shared by its threads.

    Args:
        options: What it works on.
        settings: Instead of those of the environment.
    """

    def __init__(self, options: ServiceOptions, settings: "Settings | None" = None) -> None:
        self.options = options
        self._settings = settings
        self._shared = self.open()
        self._free = Condition()
        self._readers = 0
        self._writing = False
        self._waiting = 0

    def open(self) -> Workspace:
        """A workspace of its own, for long work in another thread; who opens it closes it."""
        given = self.options
        return Workspace(
            store=given.store,
            reference=given.reference,
            ledger=given.ledger,
            literature=given.literature,
            profile=given.profile,
            live=given.live,
            settings=self._settings,
        )

    @contextmanager
    def reading(self) -> Iterator[Workspace]:
        """The shared workspace; while the store is written to, this waits.

        Yields:
            The workspace.
        """
        with self._free:
            self._free.wait_for(lambda: not self._writing and not self._waiting)
            self._readers += 1
        try:
            yield self._shared
        finally:
            with self._free:
                self._readers -= 1
                self._free.notify_all()

    @contextmanager
    def writing(self) -> Iterator[Workspace]:
        """The shared workspace, alone: its graph is closed before and after, as a store that is written to must be.

        Yields:
            The workspace.
        """
        with self._free:
            self._waiting += 1
            self._free.wait_for(lambda: not self._writing and not self._readers)
            self._waiting -= 1
            self._writing = True
        try:
            self._shared.close_graph()
            yield self._shared
        finally:
            self._shared.close_graph()
            with self._free:
                self._writing = False
                self._free.notify_all()

    def close(self) -> None:
        """Close the workspace."""
        self._shared.close()


def service_of(request: Request) -> Service:
    """The service that a request came to: for ``Annotated[Service, Depends(service_of)]``."""
    return cast(Service, request.app.state.service)
