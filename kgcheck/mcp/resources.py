"""Resources: runs and findings by their addresses, as JSON."""

from collections.abc import Callable
from itertools import islice
from typing import Any

from kgcheck.mcp.access import Asking
from kgcheck.mcp.answers import RunsGiven, RunWhole, answer, run_line
from kgcheck.mcp.tools import whole_of
from kgcheck.model import Value
from kgcheck.service.roles import Role
from kgcheck.workspace.workspace import Workspace

MOST_RUNS = 50


class Resources:
    """The resources over a workspace."""

    def __init__(self, workspace: Workspace, asking: Asking) -> None:
        self._workspace = workspace
        self._asking = asking

    def offered(self) -> dict[str, Callable[..., Any]]:
        """All of them, by address."""
        return {
            "kgcheck://runs": self.runs,
            "kgcheck://runs/{run}": self.run,
            "kgcheck://findings/{fingerprint}": self.finding,
        }

    def runs(self) -> str:
        """Runs.

        Audits and checks, the newest first, each with how many tasks ended how.
        """
        self._asking.needs(Role.VIEWER)
        known = self._workspace.runs()
        left_out = (f"{len(known) - MOST_RUNS:,} older runs",) if len(known) > MOST_RUNS else ()
        lines = [run_line(run, tallies) for run, tallies in islice(known, MOST_RUNS)]
        return _json(answer(RunsGiven, {"runs": lines}, left_out))

    def run(self, run: str) -> str:
        """A run.

        Its references and warnings, and its counts by type, part of the graph, outcome and reason.
        """
        self._asking.needs(Role.VIEWER)
        found = self._workspace.run(run[:64])
        tallies = self._workspace.tallies(found)
        counts = [tally.as_row() for tally in tallies]
        return _json(answer(RunWhole, {"run": run_line(found, tallies), "tallies": counts}))

    def finding(self, fingerprint: str) -> str:
        """A finding.

        With all evidence and what was decided about it, as the tool `explain` gives it.
        """
        self._asking.needs(Role.VIEWER)
        return _json(whole_of(self._workspace, fingerprint[:64]))


def _json(value: Value) -> str:
    return value.model_dump_json(indent=2, exclude_none=True)
