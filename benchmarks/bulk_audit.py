"""Measures the audit of every edge of a generated graph against a snapshot: ``python -m benchmarks.bulk_audit``.

The graph has 19 million edges unless ``--edges`` says otherwise. What the audit counts is compared with what the
generator knows; the raw engine is DuckDB, which joins the same pairs with the links of the same snapshot and counts.
"""

import argparse
import json
import sys
import tempfile
from collections import Counter
from pathlib import Path

import duckdb
import pyarrow.parquet as pq

from benchmarks.timing import Row, print_table, spent, timed
from kgcheck.duck import limits
from kgcheck.graph.open import open_store
from kgcheck.profile.schema import Schema, load_schema
from kgcheck.quoting import literal
from kgcheck.settings import Settings


def main() -> None:
    """Generate, load and build, then audit and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--edges", type=int, default=19_000_000)
    parser.add_argument("--folder", type=Path, help="keep the graph and the snapshot here, and use those that are here")
    parser.add_argument("--join", nargs=2, metavar=("PAIRS", "SNAPSHOT"), help="the raw join, in a process of its own")
    asked = parser.parse_args()
    if asked.join:
        _join(Path(asked.join[0]), Path(asked.join[1]))
        return
    with tempfile.TemporaryDirectory(prefix="kgcheck-bench-") as name:
        print_table(measure(asked.folder or Path(name), asked.edges))


def measure(folder: Path, edges: int) -> list[Row]:
    """Audit a generated graph.

    Args:
        folder: Where the graph and the snapshot are, or are made.
        edges: About how many edges.

    Returns:
        A row for the snapshot and one for the audit.

    Raises:
        RuntimeError: The audit counts other than the generator.
    """
    source, facts, store, snapshot = (folder / n for n in ("import", "facts", "graph.lbdb", "reference.duckdb"))
    rows = []
    if not snapshot.exists():
        spent("benchmarks.generate", str(source), "--edges", str(edges), "--reference", str(facts))
        spent("kgcheck", "load", str(source), "--store", str(store), "--quarantine", str(folder / "q.jsonl"))
        built = spent("kgcheck", "reference", "build", str(facts), "--out", str(snapshot))
        rows.append(Row("snapshot of as many links", str(built), "", ""))
    run, ledger = folder / "run.json", folder / "ledger.sqlite"
    ledger.unlink(missing_ok=True)
    audit = ("kgcheck", "audit", "--type", "triple", "--store", str(store), "--reference", str(snapshot))
    took = spent(*audit, "--ledger", str(ledger), "--format", "json", "--limit", "0", "--out", str(run), allowed=(1,))
    tallies = json.loads(run.read_text())["tallies"]
    compare(tallies, facts / "answers.json")
    checked = sum(t["count"] for t in tallies)
    findings = sum(t["count"] for t in tallies if t["outcome"] in ("refuted", "insufficient"))
    _write_pairs(store, folder / "pairs", load_schema())
    raw = spent("benchmarks.bulk_audit", "--join", str(folder / "pairs"), str(snapshot))
    seconds = float((folder / "pairs" / "seconds").read_text())
    rows.append(
        Row(
            f"audit --type triple, embedded: {checked:,} edges, {findings:,} findings",
            f"{took}, {took.cpu_s:.1f} s of processor time ({checked / took.seconds:,.0f} triples/s)",
            f"{seconds:.1f} s, {raw.peak_mib:,} MiB, {raw.cpu_s:.1f} s of processor time"
            f" ({checked / seconds:,.0f}/s, DuckDB joins pairs and links)",
            f"{took.seconds / seconds:.2f}; of processor time {took.cpu_s / raw.cpu_s:.2f}",
        )
    )
    return rows


def compare(tallies: list[dict[str, str | int]], answers: Path) -> dict[str, dict[str, int]]:
    """Compare what an audit counted with what the generator knows.

    Args:
        tallies: Of the audit, as JSON.
        answers: What the generator wrote down.

    Returns:
        The counts by pattern, outcome and reason.

    Raises:
        RuntimeError: They differ.
    """
    expected: dict[str, dict[str, int]] = json.loads(answers.read_text())
    found: dict[str, Counter[str]] = {}
    for tally in tallies:
        said = f"{tally['outcome']} {tally['reason']}"
        found.setdefault(str(tally["target"]), Counter())[said] += int(tally["count"])
    wrong = {p: (found.get(p), counts) for p, counts in expected.items() if counts and found.get(p) != Counter(counts)}
    if wrong:
        raise RuntimeError(f"the audit counts other than the generator: {wrong}")
    return expected


def _write_pairs(store: Path, folder: Path, schema: Schema) -> None:
    folder.mkdir(exist_ok=True)
    with open_store(str(store), schema, Settings()) as opened:
        for number, pattern in enumerate(schema.relations):
            for table in opened.scan_edges(pattern.ends_alone):
                pq.write_table(table.select(["head", "tail"]), folder / f"{number}.parquet")


def _join(folder: Path, snapshot: Path) -> None:
    schema = load_schema()
    with duckdb.connect(config=limits(Settings())) as db:
        db.execute(f"ATTACH {literal(str(snapshot))} AS ref (READ_ONLY)").fetchall()

        def join() -> None:
            for number, pattern in enumerate(schema.relations):
                pairs = folder / f"{number}.parquet"
                if pairs.exists() and pattern.checks:
                    db.execute(
                        f"""
                        SELECT count(*) FROM (SELECT DISTINCT head, tail FROM read_parquet({literal(str(pairs))})) p
                        SEMI JOIN (SELECT head_now, tail_now FROM ref.link
                                   WHERE source = {literal(pattern.checks[0].source)}
                                     AND relation = {literal(pattern.checks[0].link)}) l
                        ON l.head_now = p.head AND l.tail_now = p.tail
                        """
                    ).fetchall()

        (folder / "seconds").write_text(str(timed(join)))
    sys.stdout.write("joined\n")


if __name__ == "__main__":
    main()
