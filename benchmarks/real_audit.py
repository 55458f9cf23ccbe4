"""Measures ``audit --type all`` of a real import directory beside plain joins: ``python -m benchmarks.real_audit``.

The raw engine is DuckDB. In a process of its own it joins the same tasks, read from Parquet files that hold what the
store gives, with the same tables of the same snapshot: ids with what became of them, values and scores with those of
the source, edges with its links, and links with the edges that there are. It counts who agrees, and writes nothing. Of
structure, which is about no reference, it looks at nothing.
"""

import argparse
import json
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow.parquet as pq

from benchmarks.timing import Row, print_table, spent
from kgcheck.audit.plan import Unit, make_plan
from kgcheck.duck import limits
from kgcheck.graph.edge_score import scores_to_check
from kgcheck.graph.open import open_store
from kgcheck.model import CheckType
from kgcheck.options import AuditOptions
from kgcheck.profile.catalogue import EdgeCheck
from kgcheck.profile.schema import Schema, load_schema
from kgcheck.quoting import identifier, literal
from kgcheck.settings import Settings

_COUNTED_ALIKE = (CheckType.EXISTENCE, CheckType.ATTRIBUTE, CheckType.TRIPLE)
"""Types of which both must count the same tasks; which edges are missing, hierarchies decide too."""


def main() -> None:
    """Load and build, audit, join, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="folder with ckg_import and sources")
    parser.add_argument("--folder", type=Path, help="keep the graph and the snapshot here, and use those that are here")
    parser.add_argument("--join", type=Path, help="the raw joins over the files of a folder, in a process of its own")
    asked = parser.parse_args()
    if asked.join:
        _join(asked.join)
        return
    with tempfile.TemporaryDirectory(prefix="kgcheck-bench-") as name:
        print_table([measure(asked.data, asked.folder or Path(name))])


def measure(data: Path, folder: Path) -> Row:
    """Audit a real graph, and join its tasks with the references.

    Args:
        data: With the import directory and the sources.
        folder: Where the graph and the snapshot are, or are made.

    Returns:
        Both beside each other.

    Raises:
        RuntimeError: They did not look at the same number of tasks.
    """
    store, snapshot, ledger = folder / "graph.lbdb", folder / "reference.duckdb", folder / "ledger.sqlite"
    if not snapshot.exists():
        folder.mkdir(parents=True, exist_ok=True)
        spent("kgcheck", "load", str(data / "ckg_import"), "--store", str(store), "--quarantine", str(folder / "q"))
        spent("kgcheck", "reference", "build", str(data), "--out", str(snapshot))
    for name in ("", "-wal", "-shm"):
        ledger.with_name(ledger.name + name).unlink(missing_ok=True)
    run = folder / "run.json"
    audit = ("kgcheck", "audit", "--type", "all", "--store", str(store), "--reference", str(snapshot))
    took = spent(*audit, "--ledger", str(ledger), "--format", "json", "--limit", "0", "--out", str(run), allowed=(1,))
    tallies = json.loads(run.read_text())["tallies"]
    units = _write_tasks(store, folder / "tasks", load_schema())
    raw = spent("benchmarks.real_audit", "--join", str(folder))
    joined = json.loads((folder / "tasks" / "counts.json").read_text())
    counted: Counter[str] = Counter()
    for tally in tallies:
        counted[str(tally["type"])] += int(tally["count"])
    wrong = {t.value: (counted[t.value], joined.get(t.value, 0)) for t in _COUNTED_ALIKE}
    if any(ours != theirs for ours, theirs in wrong.values()):
        raise RuntimeError(f"the audit and the joins are of other tasks: {wrong}")
    findings = sum(
        t["count"] for t in tallies if t["graph"] in ("has_it_wrongly", "lacks_it") or t["outcome"] == "insufficient"
    )
    tasks = sum(count for type_, count in counted.items() if type_ != CheckType.STRUCTURE.value)
    return Row(
        f"audit --type all: {tasks:,} tasks of {units} units and the structure, {findings:,} findings",
        f"{took}, {took.cpu_s:.1f} s of processor time",
        f"{raw}, {raw.cpu_s:.1f} s of processor time (DuckDB joins {sum(joined.values()):,} tasks with the references)",
        f"of processor time {took.cpu_s / raw.cpu_s:.1f}",
    )


def _write_tasks(store: Path, folder: Path, schema: Schema) -> int:
    """Write the nodes, edges and scores that are checked.

    Returns:
        How many units of an audit they are of.
    """
    folder.mkdir(exist_ok=True)
    with open_store(str(store), schema, Settings()) as opened, duckdb.connect() as db:
        for label in schema.labels:
            for table in opened.scan_nodes(label):
                pq.write_table(table, folder / f"nodes-{label.name}.parquet")
        for number, pattern in enumerate(schema.relations):
            for table in opened.scan_edges(pattern):
                pq.write_table(table.select(["head", "tail"]), folder / f"edges-{number}.parquet")
                db.register("scanned", table)
                for attribute in pattern.scored:
                    scores = db.sql(scores_to_check(pattern, attribute, "scanned")).to_arrow_table()
                    pq.write_table(scores, folder / f"scores-{number}-{attribute}.parquet")
        units = make_plan(AuditOptions(), schema, opened.counts())
    looked_up = [unit for unit in units if unit.type is not CheckType.STRUCTURE]
    (folder / "units.json").write_text(json.dumps([unit.model_dump(mode="json") for unit in looked_up]))
    return len(looked_up)


def _join(folder: Path) -> None:
    schema, tasks = load_schema(), folder / "tasks"
    units = [Unit.model_validate(unit) for unit in json.loads((tasks / "units.json").read_text())]
    counts: Counter[str] = Counter()
    with duckdb.connect(config=limits(Settings())) as db:
        db.execute(f"ATTACH {literal(str(folder / 'reference.duckdb'))} AS ref (READ_ONLY)").fetchall()
        for unit in units:
            for select in _selects(unit, schema, tasks):
                (count, _agree) = db.execute(select).fetchall()[0]
                counts[unit.type.value] += count
    (tasks / "counts.json").write_text(json.dumps(counts))


def _selects(unit: Unit, schema: Schema, tasks: Path) -> Iterator[str]:
    """Selects of the number of tasks of a unit, and of those with which the reference agrees."""
    if unit.pattern:
        number = schema.relations.index(unit.pattern)
        edges = _file(tasks / f"edges-{number}.parquet", "SELECT NULL::VARCHAR AS head, NULL::VARCHAR AS tail")
        pairs = f"(SELECT DISTINCT head, tail FROM {edges})"
        if unit.attribute:
            scores = _file(tasks / f"scores-{number}-{unit.attribute}.parquet", "")
            check = unit.pattern.scored[unit.attribute]
            yield f"""
                SELECT count(*), count(*) FILTER (agrees) FROM (
                    SELECT head, tail, bool_or(l.score = try_cast(t.value AS DOUBLE)) AS agrees FROM {scores} t
                    LEFT JOIN ({_links(check)}) l USING (head, tail) GROUP BY head, tail)"""
        elif unit.type is CheckType.TRIPLE:
            several = " UNION ALL ".join(f"({_links(check)})" for check in unit.pattern.checks)
            links = f"SELECT DISTINCT head, tail FROM ({several})" if several else ""
            found = f"LEFT JOIN (SELECT *, 1 AS found FROM ({links})) l USING (head, tail)" if links else ""
            yield f"SELECT count(*), {'count(l.found)' if links else '0'} FROM {pairs} {found}"
        else:
            nodes = [f"SELECT id FROM {_nodes(name, tasks)}" for name in (unit.pattern.head, unit.pattern.tail)]
            for check in unit.pattern.checks:
                yield f"""
                    SELECT count(*), 0 FROM (
                        SELECT DISTINCT head, tail FROM ({_links(check)})
                        WHERE head IN ({nodes[0]}) AND tail IN ({nodes[1]})) ANTI JOIN {pairs} USING (head, tail)"""
        return
    label = schema.label(unit.label or "")
    nodes_of = _nodes(label.name, tasks)
    if not unit.attribute:
        yield f"""
            SELECT count(*), count(*) FILTER (l.state = 'current') FROM (SELECT DISTINCT id FROM {nodes_of}) n
            LEFT JOIN ref.lifecycle l ON l.source = {literal(label.authority.source)} AND l.id = n.id"""
        return
    attribute = label.attributes[unit.attribute]
    yield f"""
        SELECT count(*), count(*) FILTER (list_contains(v.now, n.value)) FROM (
            SELECT id, any_value({identifier(unit.attribute)})::VARCHAR AS value FROM {nodes_of} GROUP BY id) n
        LEFT JOIN (SELECT id, list(DISTINCT value) AS now FROM ref.value
                   WHERE source = {literal(attribute.source)} AND attribute = {literal(attribute.reference)}
                     AND status = 'current' GROUP BY id) v USING (id)"""


def _links(check: EdgeCheck) -> str:
    of_check = f"source = {literal(check.source)} AND relation = {literal(check.link)} AND NOT negated"
    links = f"SELECT head_now AS head, tail_now AS tail, score FROM ref.link WHERE {of_check}"
    turned = f"SELECT tail_now, head_now, score FROM ref.link WHERE {of_check}"
    return f"{links} UNION ALL {turned}" if check.match == "either_order" else links


def _nodes(label: str, tasks: Path) -> str:
    return _file(tasks / f"nodes-{label}.parquet", "SELECT NULL::VARCHAR AS id")


def _file(path: Path, otherwise: str) -> str:
    return f"read_parquet({literal(str(path))})" if path.exists() else f"({otherwise} WHERE false)"


if __name__ == "__main__":
    main()
