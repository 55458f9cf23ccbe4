"""Child process that runs untrusted statements, started by `kgcheck.graph.query_process`.

It gives up its rights before it opens the store, and then answers lines of JSON: ``{"text", "parameters", "limited",
"limit", "timeout_s"}`` with ``{"rows"}``, ``{"refused"}`` (what the store said), or ``{"too_much"}``.
"""

import json
import signal
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import ladybug

from kgcheck.errors import StoreUnguarded
from kgcheck.graph import sandbox
from kgcheck.graph.marks import MARKS
from kgcheck.graph.result_limits import TooLargeAnswer, bounded_rows

_BUFFER = 512 << 20
_MORE_MEMORY = 1 << 30
_GRACE_S = 2.0


def main(store: Path) -> None:
    """Answer statements until there are no more."""
    try:
        _load_all()
        space = 1 << max(30, (2 * store.stat().st_size).bit_length())
        sandbox.enter(store, memory=space + _BUFFER + _MORE_MEMORY)
        connection = _opened(store, space)
    except (StoreUnguarded, RuntimeError, OSError) as error:
        _send({"failed": str(error)})
        return
    _send({"ready": True})
    for line in sys.stdin:
        request = json.loads(line)
        # Whatever becomes of the one who asked, this process ends when its time is over.
        signal.setitimer(signal.ITIMER_REAL, request["timeout_s"] + _GRACE_S)
        _send(_answer(connection, request))
        signal.setitimer(signal.ITIMER_REAL, 0)


def _load_all() -> None:
    """Have the library load what it loads late: soon no other file can be read. Its threads end with the database."""
    with ladybug.Database(":memory:", buffer_pool_size=64 << 20, max_num_threads=1, max_db_size=1 << 30) as database:
        with ladybug.Connection(database) as connection:
            answer = _answer(
                connection,
                {"timeout_s": 1.0, "text": "RETURN $p0", "parameters": {"p0": ""}, "limit": 1, "limited": True},
            )
    json.dumps(answer)


def _opened(store: Path, space: int) -> ladybug.Connection:
    # By itself LadybugDB would reserve 8 TB of addresses, which no limit on memory could be told from.
    database = ladybug.Database(
        str(store), read_only=True, buffer_pool_size=_BUFFER, max_num_threads=2, max_db_size=space
    )
    return ladybug.Connection(database)


def _answer(connection: ladybug.Connection, request: dict[str, Any]) -> dict[str, Any]:
    try:
        connection.set_query_timeout(max(1, int(request["timeout_s"] * 1000)))
        # What LadybugDB learns from a later MATCH it would apply before an earlier LIMIT, which then takes other rows.
        connection.execute(f"CALL enable_semi_mask={'false' if request['limited'] else 'true'}")
        result = connection.execute(request["text"], request["parameters"])
        if not isinstance(result, ladybug.QueryResult):
            return {"refused": "several statements"}
        with result:
            rows = ([_plain(value) for value in row] for row in result)
            return {"rows": bounded_rows(rows, request["limit"])}
    except RuntimeError as error:
        return {"refused": str(error)}
    except TooLargeAnswer:
        return {"too_much": "text"}
    except MemoryError:
        return {"too_much": "memory"}


def _plain(value: Any) -> Any:
    match value:
        case {"_NODES": nodes, "_RELS": relationships}:
            return {"nodes": _plain(nodes), "relationships": _plain(relationships)}
        case dict():
            return {
                k: _plain(v) for k, v in value.items() if not k.startswith("_") and k not in MARKS and v is not None
            }
        case list():
            return [_plain(v) for v in value]
        case Decimal():
            return int(value) if value == value.to_integral_value() else float(value)
        case _:
            return value


def _send(answer: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(answer, default=str) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
