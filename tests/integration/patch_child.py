"""Patches in processes that are killed, each forked from this one, which has everything imported and nothing open.

    python -m tests.integration.patch_child

Reads JSON lines: what to do (``apply`` or ``undo``), the store, the folder of the patch, and after how many statements
to be killed, before the last of them is sent or after it has come back; 0, never. Answers each with a line: how the
process ended, and how many statements it sent.
"""

import json
import os
import signal
import sys
from typing import Any

import neo4j

from kgcheck.curation import patches
from kgcheck.graph.embedded import EmbeddedStore
from kgcheck.workspace import Workspace

NOON = "2026-01-01T12:00:00+00:00"


class Counting:
    """Counts what is sent to a store, and kills the process."""

    def __init__(self, after: int, *, before_it: bool) -> None:
        self.sent = 0
        self._after = after
        self._before_it = before_it

    def around(self, function: Any) -> Any:
        def called(*arguments: Any, **named: Any) -> Any:
            self.sent += 1
            if self.sent == self._after and self._before_it:
                os.kill(os.getpid(), signal.SIGKILL)
            result = function(*arguments, **named)
            if self.sent == self._after:
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        return called


def work(request: dict[str, Any], answer: int) -> None:
    """Do what was asked for, in a process of its own."""
    counting = Counting(request["after"], before_it=request["before_it"])
    # The same time at every try, so that graphs can be compared.
    patches._now = lambda: NOON
    patches.MOST_STEPS = 6
    kinds: list[tuple[Any, str]] = [(EmbeddedStore, "_run"), (neo4j.Transaction, "run"), (neo4j.Transaction, "commit")]
    for kind, name in kinds:
        setattr(kind, name, counting.around(getattr(kind, name)))
    with Workspace(store=request["store"], ledger=request["ledger"]) as workspace:
        outcome = (
            workspace.apply_patch(request["folder"], by="x", from_elsewhere=True)
            if request["act"] == "apply"
            else workspace.undo_patch(request["folder"], by="x")
        )
    os.write(answer, json.dumps([counting.sent, outcome.done, outcome.before, len(outcome.conflicts)]).encode())


def main() -> None:
    """Answer until there is no more to do."""
    for line in sys.stdin:
        reading, writing = os.pipe()
        process = os.fork()
        if process == 0:
            code = 1
            try:
                work(json.loads(line), writing)
                code = 0
            finally:
                os._exit(code)
        os.close(writing)
        with os.fdopen(reading) as stream:
            answer = json.loads(stream.read() or "[]")
        _, status = os.waitpid(process, 0)
        sys.stdout.write(json.dumps([os.waitstatus_to_exitcode(status), *answer]) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
