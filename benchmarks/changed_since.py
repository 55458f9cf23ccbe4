"""Measures ``audit --changed-since`` on a server: ``python -m benchmarks.changed_since --store bolt://HOST:PORT``.

With ``--folder``, that of ``benchmarks.bulk_audit``, whose graph the server has. A second snapshot is built from its
facts, in which one link of a thousand is dropped, scored otherwise or new. Both audits, the one that reads the server
and the one that reads the extract, compare themselves with one of the first snapshot, each in a ledger of its own; the
findings and the counts of both must be the same.
"""

import argparse
import os
import shutil
import sqlite3
from pathlib import Path

import duckdb

from benchmarks.timing import Row, print_table, spent
from kgcheck.duck import limits
from kgcheck.quoting import literal
from kgcheck.settings import Settings

_SAME = ("fingerprint", "value", "outcome", "reason", "confidence", "basis", "change_kind", "change_to")
"""Columns of a finding that do not name a run or the time of looking."""

_TSV = "delim = '\t', header = true, all_varchar = true, quote = '', escape = ''"

_COUNTED = "type, label, relation, object_label, attribute, outcome, reason, sources, gaps"


def main() -> None:
    """Build, audit and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True, help="where benchmarks.bulk_audit keeps its graph")
    parser.add_argument("--store", required=True, help="address of the server that has the same graph")
    parser.add_argument("--every", type=int, default=1000, help="one link of so many is another")
    parser.add_argument("--type", default="triple", help="of the audits; all for every type")
    asked = parser.parse_args()
    print_table(measure(asked.folder, asked.store, asked.every, asked.type))


def measure(folder: Path, store: str, every: int, kind: str) -> list[Row]:
    """Audit a graph as the server has it, and as it was kept.

    Args:
        folder: Of benchmarks.bulk_audit.
        store: Address of the server.
        every: One link of so many is another.
        kind: Type of the audits.

    Returns:
        A row.

    Raises:
        RuntimeError: They come to other findings or counts.
    """
    facts, older = folder / f"changed{every}", folder / "reference.duckdb"
    newer = facts.with_name(f"{facts.name}.duckdb")
    if not newer.exists():
        change_facts(folder / "facts", facts, every)
        spent("kgcheck", "reference", "build", str(facts), "--out", str(newer))
    ledgers = {name: folder / f"{name}-{kind}.sqlite" for name in ("before", "full", "part")}
    audit = ["kgcheck", "audit", "--store", store, "--limit", "0", "--format", "json"]
    audit += ["--type", kind] if kind != "all" else []
    if not ledgers["before"].exists():
        spent(*audit, "--ledger", str(ledgers["before"]), "--reference", str(older), allowed=(1,))
    taken = {}
    for name, more in {"full": [], "part": ["--changed-since", str(older)]}.items():
        shutil.copy(ledgers["before"], ledgers[name])
        shutil.rmtree(f"{ledgers[name]}.extracts", ignore_errors=True)
        shutil.copytree(f"{ledgers['before']}.extracts", f"{ledgers[name]}.extracts", copy_function=os.link)
        asked = ["--ledger", str(ledgers[name]), "--reference", str(newer), *more]
        taken[name] = spent(*audit, *asked, allowed=(1,))
    checked, findings = compare(ledgers["full"], ledgers["part"])
    full, part = taken["full"], taken["part"]
    return [
        Row(
            f"audit --type {kind} --changed-since, one link of {every:,} is another: {checked:,} checked,"
            f" {findings:,} findings",
            f"{part}, {part.cpu_s:.1f} s of processor time",
            f"{full}, {full.cpu_s:.1f} s of processor time (from the server)",
            f"of processor time {part.cpu_s / full.cpu_s:.2f}",
        )
    ]


def change_facts(facts: Path, changed: Path, every: int) -> None:
    """Write a facts folder in which some links are dropped, scored or recorded otherwise, or new.

    Args:
        facts: The folder as it is.
        changed: The folder to write.
        every: One link of so many.
    """
    shutil.copytree(facts, changed, ignore=shutil.ignore_patterns("link.tsv"), dirs_exist_ok=True)
    with duckdb.connect(config=limits(Settings())) as db:
        db.execute(
            f"""
            CREATE VIEW link AS SELECT *, hash(source, relation, head, tail) AS drawn
            FROM read_csv({literal(str(facts / "link.tsv"))}, {_TSV});
            COPY (
                SELECT * EXCLUDE (drawn) REPLACE (
                    CASE WHEN drawn % {every} = 1 AND score IS NOT NULL THEN '0.05' ELSE score END AS score,
                    CASE WHEN drawn % {every} = 1 AND score IS NULL THEN 'another' ELSE record END AS record)
                FROM link WHERE drawn % {every} <> 0 OR drawn // {every} % 3 <> 0
                UNION ALL
                -- A head with the tail of another link of the same kind.
                SELECT source, release, relation, head, other AS tail, score, negated, record
                FROM (SELECT *, lead(tail) OVER (PARTITION BY source, relation ORDER BY drawn) AS other
                      FROM link WHERE drawn % {every} = 2)
                WHERE other IS NOT NULL
            ) TO {literal(str(changed / "link.tsv"))} (FORMAT csv, DELIMITER '\t', HEADER, QUOTE '')
            """
        ).fetchall()


def compare(full: Path, part: Path) -> tuple[int, int]:
    """Compare the newest runs of two ledgers.

    Args:
        full: Of everything.
        part: Of what changed.

    Returns:
        How many tasks were checked and how many findings there are.

    Raises:
        RuntimeError: They differ.
    """
    with sqlite3.connect(full) as db:
        db.execute("ATTACH ? AS other", [str(part)])
        newest = "(SELECT id FROM {0}run ORDER BY number DESC LIMIT 1)"
        for table, columns in (
            ("finding", ", ".join(_SAME)),
            ("tally", f"{_COUNTED}, sum(count)"),
            ("comparison", "counts"),
        ):
            grouped = f" GROUP BY {_COUNTED}" if table == "tally" else ""
            one, two = (
                f"SELECT {columns} FROM {place}{table} WHERE run = {newest.format(place)}{grouped}"
                for place in ("main.", "other.")
            )
            for a, b in ((one, two), (two, one)):
                if rows := db.execute(f"SELECT * FROM ({a} EXCEPT {b}) LIMIT 3").fetchall():
                    raise RuntimeError(f"{table}s differ: {rows}")
        mine = newest.format("main.")
        checked = db.execute(f"SELECT sum(count) FROM tally WHERE run = {mine}").fetchall()[0][0]
        return checked, db.execute(f"SELECT count(*) FROM finding WHERE run = {mine}").fetchall()[0][0]


if __name__ == "__main__":
    main()
