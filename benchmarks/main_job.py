"""Measures the main job on a real import directory and prints a Markdown table: ``python -m benchmarks.main_job``.

Every figure stands beside the raw engine doing the same in the same run, so that ratios hold on other machines too.
"""

import argparse
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import ladybug
import neo4j

from benchmarks.timing import Row, print_table, timed
from kgcheck.audit.run import Audit
from kgcheck.graph.open import open_store
from kgcheck.graph.store import GraphStore, edge_schema, node_schema
from kgcheck.ledger.ledger import Ledger
from kgcheck.loading.load import load_directory
from kgcheck.model import CheckType, Ref
from kgcheck.options import ALL_TYPES, AuditOptions
from kgcheck.profile.import_files import EdgeFile, NodeFile, load_recipe
from kgcheck.profile.schema import Schema, load_schema
from kgcheck.reference.build import build_snapshot
from kgcheck.settings import Settings
from tests.support.neo4j_server import Neo4jServer

_KEYED_QUERIES = 2_000
_START_UPS = 15
_PASSWORD = "benchmark-only"  # noqa: S105
_CSV_BATCH = 10_000


def main() -> None:
    """Run all measurements and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="folder with ckg_import and sources")
    data: Path = parser.parse_args().data
    schema, settings = load_schema(), Settings()
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="kgcheck-bench-") as name:
        folder = Path(name)
        snapshot = folder / "reference.duckdb"
        seconds = timed(lambda: build_snapshot(data, snapshot, schema, settings))
        rows.append(Row("reference build of all source files", f"{seconds:.1f} s", "", ""))
        rows.append(_start_up())
        rows += _embedded(data / "ckg_import", snapshot, folder, schema, settings)
        rows += _neo4j(data / "ckg_import", snapshot, folder, schema)
    print_table(rows)


def _start_up() -> Row:
    def median(*command: str) -> float:
        def once() -> float:
            return timed(lambda: subprocess.run([sys.executable, *command], check=True, capture_output=True))  # noqa: S603

        return statistics.median(once() for _ in range(_START_UPS)) * 1000

    ours, raw = median("-m", "kgcheck", "--help"), median("-c", "pass")
    return Row("`kgcheck --help`, median", f"{ours:.0f} ms", f"{raw:.0f} ms (python -c pass)", f"{ours / raw:.1f}")


def _embedded(source: Path, snapshot: Path, folder: Path, schema: Schema, settings: Settings) -> list[Row]:
    target = folder / "graph.lbdb"
    rows = []
    with open_store(str(target), schema, settings, create=True) as store:
        first = timed(lambda: load_directory(source, store, settings, quarantine=folder / "q.jsonl"))
        again = timed(lambda: load_directory(source, store, settings, quarantine=folder / "q.jsonl"))
        edges = store.counts().total_edges
    raw = raw_copy(target, folder, schema, settings)
    rows.append(
        Row(
            "embedded: load ckg_import, from TSV to queryable",
            f"{first:.1f} s ({edges / first:,.0f} edges/s)",
            f"{raw:.1f} s (LadybugDB COPY of the same rows from Parquet)",
            f"{first / raw:.1f}",
        )
    )
    rows.append(_reload("embedded", first, again))
    with open_store(str(target), schema, settings) as store:
        rows.append(_keyed("embedded", store))
        rows += _audit("embedded", store, snapshot, folder, settings)
    return rows


def raw_copy(target: Path, folder: Path, schema: Schema, settings: Settings) -> float:
    """Seconds that LadybugDB alone takes to COPY the rows of a loaded store from Parquet files."""
    import pyarrow.parquet as parquet

    copies: list[str] = []
    with open_store(str(target), schema, settings) as store:
        for label in schema.labels:
            for table in store.scan_nodes(label):
                path = folder / f"{label.name}.parquet"
                parquet.write_table(table.select(node_schema(label).names), path)
                # The tables have columns for marks of curation, too, which no load fills.
                names = ", ".join(f"`{n}`" for n in node_schema(label).names)
                copies.append(f"COPY {label.name}({names}) FROM '{path}'")
        for number, pattern in enumerate(schema.relations):
            for table in store.scan_edges(pattern):
                path = folder / f"edges-{number}.parquet"
                parquet.write_table(table.select(edge_schema(pattern).names), path)
                names = ", ".join(f"`{n}`" for n in pattern.properties)
                copies.append(
                    f"COPY {pattern.type}({names}) FROM '{path}' (from='{pattern.head}', to='{pattern.tail}')"
                )
    empty = folder / "raw.lbdb"
    with open_store(str(empty), schema, settings, create=True) as store:
        store.prepare()
    database = ladybug.Database(str(empty))
    connection = ladybug.Connection(database)
    seconds = timed(lambda: [connection.execute(copy) for copy in copies])
    connection.close()
    database.close()
    return seconds


def _reload(backend: str, first: float, again: float) -> Row:
    return Row(f"{backend}: unchanged reload", f"{again:.1f} s", f"{first:.1f} s (first load)", f"{again / first:.2f}")


def _keyed(backend: str, store: GraphStore) -> Row:
    label = store.schema.label("Protein")
    ids = [str(i) for table in store.scan_nodes(label) for i in table.column("id").to_pylist()]
    chosen = random.Random(0).choices(ids, k=_KEYED_QUERIES)  # noqa: S311
    times = sorted(timed(lambda i=i: store.node(Ref(label="Protein", id=i))) * 1000 for i in chosen)  # type: ignore[misc]
    p50, p95 = times[len(times) // 2], times[int(len(times) * 0.95)]
    return Row(f"{backend}: one node by its key, p50 (p95)", f"{p50:.2f} ms ({p95:.2f} ms)", "", "")


def _audit(backend: str, store: GraphStore, snapshot: Path, folder: Path, settings: Settings) -> list[Row]:
    rows = []
    with Ledger(folder / f"{backend}.sqlite") as ledger:
        for types in ((CheckType.TRIPLE,), ALL_TYPES):
            started = time.perf_counter()
            run = Audit(store, snapshot, ledger, settings).start(AuditOptions(types=types))
            seconds = time.perf_counter() - started
            tasks = sum(t.count for t in ledger.tallies(run))
            name = types[0].value if len(types) == 1 else "all"
            told = f"{seconds:.1f} s ({tasks / seconds:,.0f} tasks/s, {tasks:,} tasks)"
            rows.append(Row(f"{backend}: audit --type {name}", told, "", ""))
    return rows


def _neo4j(source: Path, snapshot: Path, folder: Path, schema: Schema) -> list[Row]:
    raw = load_csv(source, folder / "raw-neo4j", schema)
    rows = []
    with Neo4jServer(folder / "neo4j", password=_PASSWORD) as server:
        settings = Settings(neo4j_password=_PASSWORD)
        with open_store(server.uri, schema, settings, create=True) as store:
            first = timed(lambda: load_directory(source, store, settings, quarantine=folder / "q.jsonl"))
            again = timed(lambda: load_directory(source, store, settings, quarantine=folder / "q.jsonl"))
            edges = store.counts().total_edges
            rows.append(
                Row(
                    "Neo4j: load ckg_import, from TSV to queryable",
                    f"{first:.1f} s ({edges / first:,.0f} edges/s)",
                    f"{raw:.1f} s (LOAD CSV + MERGE, which also merges parallel edges)",
                    f"{first / raw:.2f}",
                )
            )
            rows.append(_reload("Neo4j", first, again))
            rows.append(_keyed("Neo4j", store))
            rows += _audit("Neo4j", store, snapshot, folder, settings)
    return rows


def load_csv(source: Path, home: Path, schema: Schema) -> float:
    """Seconds of the usual way: one LOAD CSV with MERGE a file, after the constraints."""
    recipe = load_recipe(schema)
    server = Neo4jServer(home, password=_PASSWORD, settings={"dbms.import.csv.legacy_quote_escaping": "false"})
    (home / "import").mkdir(parents=True, exist_ok=True)
    for part in ("databases", "ontologies"):
        (home / "import" / part).symlink_to((source / part).resolve())
    with server, neo4j.GraphDatabase.driver(server.uri, auth=server.auth) as driver, driver.session() as session:
        for label in schema.labels:
            session.run(f"CREATE CONSTRAINT FOR (n:{label.name}) REQUIRE n.id IS UNIQUE").consume()
        files = [f for f in (*recipe.nodes, *recipe.edges) if (source / f.file).is_file()]
        return timed(lambda: [session.run(_merge(f)).consume() for f in files])  # type: ignore[arg-type]


def _merge(file: NodeFile | EdgeFile) -> str:
    start = f"LOAD CSV WITH HEADERS FROM 'file:///{file.file}' AS line FIELDTERMINATOR '\\t' CALL (line) {{ "
    variable = "n" if isinstance(file, NodeFile) else "r"
    values = ", ".join(f"{variable}.`{p}` = line.`{c}`" for p, c in file.properties.items())
    assigned = f" SET {values}" if values else ""
    if isinstance(file, NodeFile):
        body = f"MERGE (n:{file.label} {{id: line.`{file.id}`}}){assigned}"
    else:
        body = (
            f"MATCH (a:{file.head} {{id: line.`{file.from_column}`}}) "
            f"MATCH (b:{file.tail} {{id: line.`{file.to_column}`}}) MERGE (a)-[r:{file.relation}]->(b){assigned}"
        )
    return f"{start}{body} }} IN TRANSACTIONS OF {_CSV_BATCH} ROWS"


if __name__ == "__main__":
    main()
