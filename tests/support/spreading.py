"""How pytest-xdist spreads the tests over its workers; a plugin that `tests/conftest.py` loads."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from xdist.scheduler import LoadFileScheduling

from tests.support import ROOT

if TYPE_CHECKING:
    from xdist.remote import Producer
    from xdist.workermanage import WorkerController

_PARAMETER = re.compile(r"\[(neo4j|py2neo)\b")
_FIXTURE = re.compile(r"\b(clean_neo4j|ready_neo4j|neo4j_server|neo4j_jars)\b")


class OneServer(LoadFileScheduling):  # type: ignore[misc]  # it ships no types
    """Every file stays with one worker, for the sake of its fixtures, and those that need Neo4j with the same one.

    A server takes a minute of processor time, most of it until Java has compiled what is used.
    """

    _on_neo4j: frozenset[str] = frozenset()

    def schedule(self) -> None:
        """Give out the files."""
        collected: list[str] = next(iter(self.registered_collections.values()), [])
        with_parameter = {_file(nodeid) for nodeid in collected if _PARAMETER.search(nodeid)}
        others = {_file(nodeid) for nodeid in collected} - with_parameter
        named = {file for file in others if _FIXTURE.search((ROOT / file).read_text(encoding="utf-8"))}
        self._on_neo4j = frozenset(with_parameter | named)
        super().schedule()

    def _reschedule(self, node: WorkerController) -> None:
        super()._reschedule(node)
        # Of what a worker that died leaves, a file may be done: whoever gets only that never comes back for more.
        while self.workqueue and not node.shutting_down and self._pending_of(self.assigned_work[node]) <= 2:
            self._assign_work_unit(node)
        if not self.workqueue:
            node.shutdown()

    def _split_scope(self, nodeid: str) -> str:
        file = _file(nodeid)
        return "neo4j" if file in self._on_neo4j else file


def _file(nodeid: str) -> str:
    return nodeid.split("::", 1)[0]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> OneServer | None:
    """Ours, where files are to be spread."""
    return OneServer(config, log) if config.getvalue("dist") == "loadfile" else None
