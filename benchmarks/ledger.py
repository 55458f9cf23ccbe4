"""Measures the ledger on both databases: ``python -m benchmarks.ledger``; writing, pages of findings, copying.

An audit writes findings as rows that DuckDB made (kgcheck.audit.finding_rows): that is measured here with rows made
beforehand. Two runs of ``--findings`` are written so, the second of which finds one of a thousand new, changed, and no
more.

A PostgreSQL server of its own runs beside it, with the server's own settings, so that what is written is on the disk.
``--findings`` makes it smaller.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from sqlalchemy import URL, create_engine, insert, make_url

from benchmarks.timing import Row, print_table, timed
from kgcheck.curation.findings import FindingPage
from kgcheck.ledger.basis import PART, WITHIN, basis_of
from kgcheck.ledger.comparisons import ComparisonTable
from kgcheck.ledger.ledger import Ledger, Run
from kgcheck.ledger.place import LedgerServer
from kgcheck.ledger.rows import FindingRows, finding_row
from kgcheck.ledger.tables import FINDING, FINDING_COLUMNS, METADATA, RUN
from kgcheck.model import (
    CheckTask,
    CheckType,
    Evidence,
    Finding,
    Outcome,
    Reason,
    Ref,
    Stance,
    Tally,
    Target,
    Tier,
    Verdict,
    World,
)
from kgcheck.settings import Settings
from kgcheck.workspace import Workspace
from tests.support.postgres import fresh_schema, named, own_server

_PIECE = 5_000
_FEW = 60_000
_ASKED = 100
_ONE_OF = 1_000
_REASONS = (Reason.EDGE_UNSUPPORTED,) * 90 + (Reason.VALUE_MISMATCH,) * 9 + (Reason.ID_DELETED,)
_LABELS = ("A", "B", "C", "D")
_WRITTEN = [FINDING.c[name] for name in FINDING_COLUMNS]
Place = Path | URL


def main() -> None:
    """Measure, print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--findings", type=int, default=1_000_000)
    parser.add_argument("--writers", type=int, default=2)
    parser.add_argument("--copied", type=int, default=100_000, help="findings that are copied between databases")
    parser.add_argument("--write", nargs=3, help="one writer in a process of its own: PLACE RUN FINDINGS")
    options = parser.parse_args()
    if options.write:
        place, name, count = options.write
        _write(make_url(place) if "://" in place else Path(place), name, int(count))
        return
    with tempfile.TemporaryDirectory(prefix="kgcheck-bench-") as folder, own_server(durable=True) as server:
        places: dict[str, Callable[[], Place]] = {
            "SQLite": lambda: Path(folder) / f"{time.time_ns()}.sqlite",
            "PostgreSQL": lambda: fresh_schema(server.address()),
        }
        for database, new in places.items():
            print_table(_written(database, new, min(options.findings, _FEW), options.writers))
            large = new()
            print_table(_in_columns(database, large, options.findings))
            print_table(_pages(database, large, options.findings))
        few, there = places["SQLite"](), places["PostgreSQL"]()
        _write_columns(few, "many", range(options.copied))
        print_table([_copied("SQLite", few, "PostgreSQL", there, options.copied)])
        print_table([_copied("PostgreSQL", there, "SQLite", places["SQLite"](), options.copied)])


def _written(database: str, new: Callable[[], Place], count: int, writers: int) -> list[Row]:
    raw = _raw(new(), count)
    seconds = _write(new(), "one", count)
    several = new()
    Ledger(several).close()
    together = timed(partial(_writers, several, writers, count // writers))
    return [
        Row(
            f"{database}: findings written, {count:,}, one process",
            f"{count / seconds:,.0f}/s",
            f"{count / raw:,.0f}/s (the same rows, one transaction a piece, no ledger)",
            f"{seconds / raw:.1f}",
        ),
        Row(
            f"{database}: the same by {writers} processes, with their start and the making of the findings",
            f"{count / together:,.0f}/s",
            "",
            "",
        ),
    ]


def _in_columns(database: str, place: Place, count: int) -> list[Row]:
    """Write two runs as rows, and compare them."""
    first = _write_columns(place, "many", range(count))
    second = _write_columns(place, "again", range(count + count // _ONE_OF), is_later=True)
    with Ledger(place) as ledger:
        table = ComparisonTable(ledger.database)
        compared = timed(partial(table.record, "again", "many", (), datetime(2026, 1, 3, tzinfo=UTC)))
    alone, beside = (
        f"{count / spent.pieces:,.0f}/s ({count / spent.seconds:,.0f}/s and {count / spent.processor:,.0f}/s of "
        f"processor time with the end of the run)"
        for spent in (first, second)
    )
    return [
        Row(
            f"{database}: findings written as rows, {count:,}, one process",
            f"{alone}; into a ledger with as many, {beside}",
            "",
            "",
        ),
        Row(f"{database}: both runs compared", f"{compared:.1f} s", "", ""),
    ]


def _pages(database: str, place: Place, count: int) -> list[Row]:
    filters: dict[str, dict[str, Any]] = {
        "first page of 50": {},
        "first page of one reason (1 %)": {"reasons": ["id_deleted"]},
        "first page of one reason and one label": {"reasons": ["value_mismatch"], "labels": ["C"]},
        "first page of those that contain a text": {"text": "C-0000777"},
        "first page of those that are new (0.1 %)": {"states": ["new"]},
        "first page of those that changed (0.1 %)": {"states": ["changed"]},
        "first page of those that were not found again (0.1 %)": {"states": ["unchecked", "fixed"]},
    }
    rows = []
    with Workspace(ledger=_named(place), settings=_settings(place)) as workspace:
        for what, wanted in filters.items():
            page = partial(_page, workspace, wanted)
            found = page()
            asked = 5 if wanted.keys() & {"text", "states"} else _ASKED
            times = [timed(page) for _ in range(asked)]
            shown = f"{median(times) * 1000:.1f} ms ({found} findings)"
            rows.append(Row(f"{database}: findings, {what}, over {count:,}, p50", shown, "", ""))
    return rows


def _page(workspace: Workspace, wanted: dict[str, Any]) -> int:
    return len(list(FindingPage(workspace.list_findings("latest", **wanted), None, 50)))


def _copied(source: str, place: Place, target: str, to: Place, count: int) -> Row:
    with Workspace(ledger=_named(place), settings=_settings(to, place)) as workspace:
        seconds = timed(partial(workspace.copy_ledger, _named(to)))
    what = f"ledger copy, {source} to {target}, {count:,} findings"
    return Row(what, f"{seconds:.1f} s ({count / seconds:,.0f}/s)", "", "")


class Spent(NamedTuple):
    """What writing a run took, in the ledger alone."""

    pieces: float
    """Seconds until all pieces were written."""
    seconds: float
    """Until the run was whole, and could be read."""
    processor: float
    """Seconds of this process's time on a processor, until then."""


def _write_columns(place: Place, name: str, numbers: range, *, is_later: bool = False) -> Spent:
    """Write a run, piece by piece, as rows that are there."""
    run, seconds, processor = _run(name), 0.0, 0.0
    bound = _binder(place, run)
    with Ledger(place) as ledger:
        ledger.start(run)
        for first in range(numbers.start, numbers.stop, _PIECE):
            rows = list(_rows(bound, run, numbers[first : first + _PIECE], is_later=is_later))
            found, begun = FindingRows([rows]), time.process_time()
            seconds += timed(partial(ledger.record, run, f"piece {first}", found, [_tally(len(rows))]))
            processor += time.process_time() - begun
        begun = time.process_time()
        ended = timed(partial(ledger.finish, run))
        return Spent(seconds, seconds + ended, processor + time.process_time() - begun)


def _binder(place: Place, run: Run) -> Callable[[Finding], tuple[Any, ...]]:
    """What makes a finding the values that the driver of a database takes."""
    dialect = create_engine(place if isinstance(place, URL) else f"sqlite:///{place}").dialect
    processors = [(c.name, c.type.dialect_impl(dialect).bind_processor(dialect)) for c in _WRITTEN]

    def bound(finding: Finding) -> tuple[Any, ...]:
        row = finding_row(run.id, finding)
        return tuple(p(row[name]) if p else row[name] for name, p in processors)

    return bound


def _rows(
    bound: Callable[[Finding], tuple[Any, ...]], run: Run, numbers: range, *, is_later: bool
) -> Iterator[tuple[Any, ...]]:
    """The rows of made-up findings: one of each hundred is made by kgcheck, and the others like it."""
    places = {column.name: place for place, column in enumerate(_WRITTEN)}
    alike: dict[Reason, list[Any]] = {}
    for number in numbers:
        if is_later and number % _ONE_OF == 7:
            continue
        reason = _REASONS[number % 100]
        if number % 100 == 0 or reason not in alike:
            finding = _finding(run, number)
            if basis_of(finding) != _basis(reason, finding.task.subject.id, f"{number}"):
                raise RuntimeError("bases are made in another way now")
            alike[reason] = [number, f"{_LABELS[number // 100 % 4]}-{number:07}", *bound(finding)]
        like, called, *row = alike[reason]
        name = f"{_LABELS[number // 100 % 4]}-{number:07}"
        is_other = is_later and number % _ONE_OF == 8
        row[places["fingerprint"]] = sha256(f"finding {number}".encode()).hexdigest()[:16]
        row[places["subject_id"]], row[places["subject_name"]] = name, f"name of {name}"
        row[places["subject_label"]] = _LABELS[number // 100 % 4]
        row[places["object_id"]] = f"T-{number % 1_000:04}"
        observed = f"{number}{'x' * is_other}"
        row[places["evidence"]] = row[places["evidence"]].replace(called, name).replace(f'"{like}"', f'"{observed}"')
        row[places["basis"]] = _basis(reason, name, observed)
        yield tuple(row)


def _basis(reason: Reason, record: str, observed: str) -> str:
    """As kgcheck.ledger.basis has it, quicker: a decision counts only about a finding whose evidence has its basis."""
    seen = WITHIN.join(("made_up", record, Stance.CONTRADICTS.value, observed))
    parts = [Outcome.REFUTED.value, reason.value, "", "", "", "", seen]
    return sha256(PART.join(parts).encode()).hexdigest()[:16]


def write_ledger(place: Path, count: int) -> None:
    """Write a ledger with one finished run of made-up findings.

    Args:
        place: The file.
        count: How many.
    """
    _write_columns(place, "many", range(count))


def _write(place: Place, name: str, count: int) -> float:
    """Write a run, piece by piece; seconds in the ledger alone."""
    run, seconds = _run(name), 0.0
    with Ledger(place) as ledger:
        ledger.start(run)
        made = _findings(run, count)
        while found := list(islice(made, _PIECE)):
            tallies = [_tally(len(found))]
            seconds += timed(partial(ledger.record, run, found[0].fingerprint, found, tallies))
        ledger.finish(run)
    return seconds


def _writers(place: Place, writers: int, count: int) -> None:
    where = place.render_as_string(hide_password=False) if isinstance(place, URL) else str(place)
    command = [sys.executable, "-m", "benchmarks.ledger", "--write", where]
    begun = [subprocess.Popen([*command, f"writer {n}", str(count)]) for n in range(writers)]  # noqa: S603
    if any(process.wait() for process in begun):
        raise RuntimeError("a writer failed")


def _raw(place: Place, count: int) -> float:
    """The same rows by the engine alone, into a table with the same indexes."""
    engine = create_engine(place if isinstance(place, URL) else f"sqlite:///{place}")
    run, seconds = _run("raw"), 0.0
    with engine.begin() as connection:
        if isinstance(place, Path):
            connection.exec_driver_sql("PRAGMA synchronous = FULL")
        METADATA.create_all(connection)
        connection.execute(insert(RUN).values(_row_of(run)))
    if isinstance(place, Path):
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.exec_driver_sql("PRAGMA journal_mode = WAL")
    made = _findings(run, count)
    bound = _binder(place, run)
    names = ", ".join(FINDING_COLUMNS)
    while found := list(islice(made, _PIECE)):
        rows = list(map(bound, found))
        with engine.connect() as connection:
            cursor: Any = connection.connection.cursor()
            if isinstance(place, Path):
                statement = f"INSERT INTO finding ({names}) VALUES ({', '.join('?' for _ in FINDING_COLUMNS)})"
                seconds += timed(partial(cursor.executemany, statement, rows))
            else:
                seconds += timed(partial(_copy, cursor, f"COPY finding ({names}) FROM STDIN", rows))
            seconds += timed(connection.commit)
    engine.dispose()
    return seconds


def _copy(cursor: Any, statement: str, rows: list[tuple[Any, ...]]) -> None:
    with cursor.copy(statement) as copy:
        for row in rows:
            copy.write_row(row)


def _row_of(run: Run) -> dict[str, Any]:
    from kgcheck.ledger.rows import run_row

    return run_row(run)


def _named(place: Place) -> str:
    return named(place) if isinstance(place, URL) else str(place)


def _settings(*places: Place) -> Settings:
    user = next((LedgerServer.of(place).user for place in places if isinstance(place, URL)), None)
    return Settings(ledger_user=user)


def _run(name: str) -> Run:
    started = datetime(2026, 1, 1, tzinfo=UTC)
    nodes, edges = dict.fromkeys(_LABELS, 1_000_000), {"A REL B": 1}
    return Run(id=name, started=started, store="made up", profile="ckg", nodes=nodes, edges=edges)


def _findings(run: Run, count: int) -> Iterator[Finding]:
    """Made-up findings, of which each hundred has the reasons in the same shares."""
    return (_finding(run, number) for number in range(count))


def _finding(run: Run, number: int) -> Finding:
    label, reason = _LABELS[number // 100 % 4], _REASONS[number % 100]
    name = f"{label}-{number:07}"
    task = CheckTask(
        type=CheckType.TRIPLE,
        subject=Ref(label=label, id=name),
        relation="REL",
        object=Ref(label="B", id=f"T-{number % 1_000:04}"),
    )
    evidence = Evidence(
        source="made_up", release="1", record=name, retrieved_at=run.started, stance=Stance.CONTRADICTS,
        world=World.CLOSED, tier=Tier.OWNER, value=f"{number}",
    )  # fmt: skip
    verdict = Verdict(outcome=Outcome.REFUTED, reason=reason, confidence=0.9, evidence=(evidence,))
    return Finding(
        run=run.id, fingerprint=task.fingerprint, task=task, verdict=verdict, names=(f"name of {name}", None)
    )


def _tally(count: int) -> Tally:
    target = Target(label="A", relation="REL", object_label="B")
    return Tally(
        type=CheckType.TRIPLE, target=target, outcome=Outcome.REFUTED, reason=Reason.EDGE_UNSUPPORTED, count=count
    )


if __name__ == "__main__":
    main()
