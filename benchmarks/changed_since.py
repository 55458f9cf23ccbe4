"""Measures ``audit --changed-since`` against an audit of everything: ``python -m benchmarks.changed_since``.

With ``--folder``, that of ``benchmarks.bulk_audit``, whose graph it is; or ``--store``, a server that has the same. A
second snapshot is built from its facts, in which one link of a thousand is dropped, scored otherwise or new; or one id
of a thousand withdrawn, merged, renamed, or of other values; or the releases are newer ones, and say the same. Both
audits compare themselves with one of the first snapshot, each in a ledger of its own; the findings and the counts of
both must be the same.
"""

import argparse
import os
import shutil
import sqlite3
from pathlib import Path

import duckdb

from benchmarks.timing import Row, print_table, spent
from kgcheck.duck import limits, literal
from kgcheck.settings import Settings

_SAME = ("fingerprint", "value", "outcome", "reason", "confidence", "basis", "change_kind", "change_to")
"""Columns of a finding that do not name a run or the time of looking."""

_TSV = "delim = '\t', header = true, all_varchar = true, quote = '', escape = ''"

_COUNTED = "type, label, relation, object_label, attribute, outcome, reason, sources, gaps"


def main() -> None:
    """Build, audit and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True, help="where benchmarks.bulk_audit keeps its graph")
    parser.add_argument("--every", type=int, default=1000, help="one link of so many is another")
    parser.add_argument("--change", choices=CHANGES, default="links", help="what is another")
    parser.add_argument("--type", default="triple", help="of the audits; all for every type")
    parser.add_argument("--store", help="the same graph elsewhere: the address of a server")
    asked = parser.parse_args()
    print_table(measure(asked.folder, asked.every, asked.type, asked.change, asked.store))


def measure(folder: Path, every: int, kind: str, change: str = "links", store: str | None = None) -> list[Row]:
    """Audit everything, and what changed.

    Args:
        folder: Of benchmarks.bulk_audit.
        every: One link of so many is another.
        kind: Type of the audits.
        change: One of CHANGES.
        store: Where the graph is, if not in the folder.

    Returns:
        A row.

    Raises:
        RuntimeError: They come to other findings or counts.
    """
    os.environ["KGCHECK_DUCKDB_THREADS"] = "1"
    facts = folder / f"changed{'' if change == 'links' else '-' + change}{every}"
    older, newer = folder / "reference.duckdb", facts.with_name(f"{facts.name}.duckdb")
    if not newer.exists():
        CHANGES[change](folder / "facts", facts, every)
        spent("kgcheck", "reference", "build", str(facts), "--out", str(newer))
    where, in_neo4j = ("-server", " in Neo4j") if store else ("", "")
    ledgers = {name: folder / f"{name}-{kind}{where}.sqlite" for name in ("before", "full", "part")}
    audit = ["kgcheck", "audit", "--store", store or str(folder / "graph.lbdb"), "--limit", "0", "--format", "json"]
    audit += ["--type", kind] if kind != "all" else []
    if not ledgers["before"].exists():
        spent(*audit, "--ledger", str(ledgers["before"]), "--reference", str(older), allowed=(1,))
    taken = {}
    for name, more in {"full": [], "part": ["--changed-since", str(older)]}.items():
        shutil.copy(ledgers["before"], ledgers[name])
        shutil.rmtree(f"{ledgers[name]}.verified", ignore_errors=True)
        shutil.copytree(f"{ledgers['before']}.verified", f"{ledgers[name]}.verified", copy_function=os.link)
        asked = ["--ledger", str(ledgers[name]), "--reference", str(newer), *more]
        taken[name] = spent(*audit, *asked, allowed=(1,))
    checked, findings = compare(ledgers["full"], ledgers["part"])
    full, part = taken["full"], taken["part"]
    return [
        Row(
            f"audit --type {kind} --changed-since{in_neo4j}, {_SHOWN[change].format(every=every)}: {checked:,} checked,"
            f" {findings:,} findings",
            f"{part}, {part.cpu_s:.1f} s of processor time",
            f"{full}, {full.cpu_s:.1f} s of processor time (everything)",
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


def change_nodes(facts: Path, changed: Path, every: int) -> None:
    """Write a facts folder in which some ids are withdrawn, merged, renamed or gone, or have other values.

    Args:
        facts: The folder as it is.
        changed: The folder to write.
        every: One id of so many for each.
    """
    shutil.copytree(facts, changed, ignore=shutil.ignore_patterns("entity.tsv", "value.tsv"), dirs_exist_ok=True)
    drawn = "hash(source, id, count(*) OVER ())"
    with duckdb.connect(config=limits(Settings())) as db:
        for name in ("entity", "value"):
            db.execute(
                f"CREATE VIEW {name} AS SELECT * FROM read_csv({literal(str(facts / f'{name}.tsv'))}, {_TSV})"
            ).fetchall()
        _write(
            db,
            changed / "entity.tsv",
            f"""
            SELECT * EXCLUDE (drawn, later, own) REPLACE (
                CASE drawn WHEN 0 THEN 'deleted' WHEN 1 THEN 'merged' ELSE state END AS state,
                CASE drawn WHEN 2 THEN 'another name of ' || id ELSE name END AS name,
                CASE drawn WHEN 1 THEN later ELSE successors END AS successors)
            FROM (SELECT *, CASE WHEN state = 'current' AND later IS NOT NULL THEN own END AS drawn FROM (
                SELECT *, {drawn} % {every} AS own, lead(id) OVER (PARTITION BY source, namespace ORDER BY id) AS later
                FROM entity)) WHERE drawn IS DISTINCT FROM 3
            """,
        )
        _write(
            db,
            changed / "value.tsv",
            f"""
            SELECT * EXCLUDE (drawn) REPLACE (CASE drawn WHEN 1 THEN 'other ' || value ELSE value END AS value)
            FROM (SELECT *, {drawn} % {every} AS drawn FROM value) WHERE drawn <> 0
            UNION ALL BY NAME
            SELECT source, release, id, 'gene_name' AS attribute, 'GENE' || own AS value, 'current' AS status
            FROM (SELECT *, {drawn} AS own FROM entity WHERE source = 'uniprot') WHERE own % {every} = 2
            """,
        )


def change_releases(facts: Path, changed: Path, every: int) -> None:
    """Write a facts folder of newer releases, which say what the older ones did; one of so many sources has none."""
    changed.mkdir(exist_ok=True)
    with duckdb.connect(config=limits(Settings())) as db:
        for path in sorted(facts.glob("*.tsv")):
            read = f"read_csv({literal(str(path))}, {_TSV})"
            newer = f"CASE WHEN hash(source) % {every} = 0 THEN {{0}} ELSE '2027' END AS {{0}}"
            dated = [newer.format("release"), *([newer.format("released")] if path.stem == "releases" else [])]
            _write(db, changed / path.name, f"SELECT * REPLACE ({', '.join(dated)}) FROM {read}")


def _write(db: duckdb.DuckDBPyConnection, path: Path, select: str) -> None:
    db.execute(f"COPY ({select}) TO {literal(str(path))} (FORMAT csv, DELIMITER '\t', HEADER, QUOTE '')").fetchall()


CHANGES = {"links": change_facts, "nodes": change_nodes, "releases": change_releases}
"""What writes the facts of the newer snapshot."""

_SHOWN = {
    "links": "one link of {every:,} is another",
    "nodes": "one id of {every:,} each is withdrawn, merged, renamed, gone or of another value",
    "releases": "newer releases that say the same",
}


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
