"""Measures what is kept of an audit as verified: ``python -m benchmarks.verified --folder DIR``.

The graph is that of ``benchmarks.bulk_audit --folder DIR``. Its audit runs with and without it, in turn, and the
processor times are compared. Then edges drawn from the files are asked about, one by one.
"""

import argparse
import os
import random
import shutil
import statistics
import time
from pathlib import Path

import pyarrow.parquet as pq

from benchmarks.timing import Row, print_table, spent
from kgcheck import Workspace
from kgcheck.ledger.ledger import Ledger
from kgcheck.ledger.verified import VerifiedFiles
from kgcheck.profile.schema import load_schema

_ASKED = 2_000


def main() -> None:
    """Audit in turn, ask, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True, help="where benchmarks.bulk_audit keeps its graph")
    parser.add_argument("--rounds", type=int, default=3, help="audits of each kind; 0 asks the ledger that is there")
    parser.add_argument("--seed", type=int, default=7)
    wanted = parser.parse_args()
    rows = audits(wanted.folder, wanted.rounds) if wanted.rounds else []
    print_table([*rows, *answers(wanted.folder, wanted.seed)])


def audits(folder: Path, rounds: int) -> list[Row]:
    """Audit with and without what is kept, in turn.

    Args:
        folder: Of benchmarks.bulk_audit.
        rounds: How often.

    Returns:
        A row with the processor times, and one with the sizes.
    """
    taken: dict[str, list[float]] = {"false": [], "true": []}
    for _ in range(rounds):
        for keep, seconds in taken.items():
            ledger = folder / "ledger.sqlite"
            ledger.unlink(missing_ok=True)
            shutil.rmtree(folder / "ledger.sqlite.verified", ignore_errors=True)
            os.environ["KGCHECK_KEEP_VERIFIED"] = keep
            audit = ("kgcheck", "audit", "--type", "triple", "--store", str(folder / "graph.lbdb"))
            reference = ("--reference", str(folder / "reference.duckdb"), "--ledger", str(ledger), "--limit", "0")
            seconds.append(spent(*audit, *reference, "--format", "json", allowed=(1,)).cpu_s)
    without, kept = (statistics.median(seconds) for seconds in taken.values())
    size = sum(path.stat().st_size for path in (folder / "ledger.sqlite.verified").rglob("*.parquet"))
    return [
        Row(
            "audit --type triple, with what is verified kept: processor time",
            f"{kept:.1f} s",
            f"{without:.1f} s (without)",
            f"{kept / without:.2f}",
        ),
        Row("its Parquet files", f"{size / 2**20:,.0f} MiB", "", ""),
    ]


def answers(folder: Path, seed: int) -> list[Row]:
    """Ask about edges that were judged, drawn over all files, and about some that are not there.

    Args:
        folder: Of benchmarks.bulk_audit, with a ledger.
        seed: Of the draw.

    Returns:
        A row for each.

    Raises:
        RuntimeError: One of the first is not found, or one of the others is.
    """
    place = folder / "ledger.sqlite"
    with Ledger(place, create=False) as ledger:
        files = VerifiedFiles.of(ledger, folder)
    drawn = random.Random(seed)  # noqa: S311
    there = [words for path in sorted(files.folder.rglob("*.parquet")) for words in _edges(path, drawn)]
    drawn.shuffle(there)
    absent = [f"{words}0" for words in there]
    rows = []
    with Workspace(store=folder / "graph.lbdb", ledger=place) as workspace:
        started = time.perf_counter()
        workspace.verified(there[0])
        first = time.perf_counter() - started
        for name, asked, is_there in (("judged edges", there, True), ("edges that are not there", absent, False)):
            times = []
            for words in asked[:_ASKED]:
                started = time.perf_counter()
                found = workspace.verified(words)
                times.append((time.perf_counter() - started) * 1000)
                if (found is not None) is not is_there:
                    raise RuntimeError(f"{words} was {'not ' if is_there else ''}found")
            cut = statistics.quantiles(times, n=100)
            rows.append(
                Row(
                    f"`Workspace.verified` of {len(times):,} {name}, p50 (p99)",
                    f"{cut[49]:.2f} ms ({cut[98]:.2f} ms); the very first {first * 1000:.0f} ms",
                    "",
                    "",
                )
            )
    return rows


def _edges(path: Path, drawn: random.Random) -> list[str]:
    """Some edges of a file, in words."""
    file = pq.ParquetFile(path)
    about = file.metadata.metadata[b"kgcheck"].decode()
    relations = [pattern.type for pattern in load_schema().relations if f'"relation": "{pattern.type}"' in about]
    groups = drawn.sample(range(file.num_row_groups), min(file.num_row_groups, _ASKED // 10))
    found = []
    for group in groups:
        rows = file.read_row_group(group, columns=["head", "tail"])
        row = rows.slice(drawn.randrange(rows.num_rows), 1).to_pylist()[0]
        found.append(f"{row['head']} {relations[0]} {row['tail']}")
    return found


if __name__ == "__main__":
    main()
