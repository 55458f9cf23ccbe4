"""Looks at what the service works on for who asks whether it is ready, and answers in time whatever comes of it."""

import asyncio
import logging
import threading
import time
from concurrent.futures import Future
from contextlib import nullcontext
from typing import TYPE_CHECKING

from kgcheck.context import Part, PartName
from kgcheck.errors import StoreLocked

if TYPE_CHECKING:
    from kgcheck.service.state import Service

_log = logging.getLogger(__name__)

LONGEST_S = 0.8
"""Longest wait for a look, in seconds: whoever asks has an answer within a second."""

PATIENCE_S = 10.0
"""Seconds that a part counts as last seen while it is looked at, and that the first look may take."""

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

        def work() -> None:
            look.set_result(self._look(name))

        # One that hangs must keep no process from ending.
        threading.Thread(target=work, name=f"looking at {name}", daemon=True).start()
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
