"""Looks at what the service works on for who asks whether it is ready, and answers in time whatever comes of it."""

import asyncio
import threading
from concurrent.futures import Future
from contextlib import nullcontext
from typing import TYPE_CHECKING

from kgcheck.errors import StoreLocked
from kgcheck.workspace.readiness import Part, PartName, part_names, part_of

if TYPE_CHECKING:
    from kgcheck.service.state import Service

LONGEST_S = 0.8
"""How long a look may take: whoever asks has an answer within a second."""

_OF_GRAPH = ("store", "literature")
"""What is closed while the store is written to."""


class Looks:
    """Looks at each part in a thread of its own; one look at a part at a time, however many ask.

    Args:
        service: Whose parts they are.
    """

    def __init__(self, service: "Service") -> None:
        self._service = service
        self._under_way: dict[PartName, Future[Part]] = {}

    async def parts(self, seconds: float = LONGEST_S) -> list[Part]:
        """Every part as it is now.

        Args:
            seconds: How long to wait. A part of which nothing is known by then is not ready.

        Returns:
            The parts.
        """
        names = part_names(self._service.shared)
        looks = {name: self._under_way.get(name) or self._begin(name) for name in names}
        await asyncio.wait([asyncio.wrap_future(look) for look in looks.values()], timeout=seconds)
        return [self._seen(name, look) for name, look in looks.items()]

    def _seen(self, name: PartName, look: "Future[Part]") -> Part:
        if not look.done():
            return Part(name=name, is_ready=False, kind_of_error="TookTooLong")
        self._under_way.pop(name, None)
        return look.result()

    def _begin(self, name: PartName) -> "Future[Part]":
        look: Future[Part] = Future()
        self._under_way[name] = look

        def work() -> None:
            try:
                look.set_result(self._look(name))
            except Exception as error:
                look.set_exception(error)

        # One that hangs must keep no process from ending.
        threading.Thread(target=work, name=f"looking at {name}", daemon=True).start()
        return look

    def _look(self, name: PartName) -> Part:
        service = self._service
        try:
            with service.reading(longest=0) if name in _OF_GRAPH else nullcontext(service.shared) as workspace:
                return part_of(workspace, name)
        except StoreLocked as error:
            return Part(name=name, is_ready=False, kind_of_error=type(error).__name__, why=error.message)
