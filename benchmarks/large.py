"""Measures a graph of 19 million edges: ``python -m benchmarks.large``; each figure beside the raw engine, in one run.

``--edges`` and ``--online-edges`` make it smaller; ``--part`` runs one part alone.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.main_job import load_csv, raw_copy
from benchmarks.timing import Row, Spent, print_table, spent, timed
from kgcheck.graph.open import open_store
from kgcheck.loading.admin_import import OfflineImport
from kgcheck.profile.schema import load_schema
from kgcheck.settings import Settings
from tests.support.neo4j_server import Neo4jServer

_PARTS = ("embedded", "offline", "online")


def main() -> None:
    """Generate the directories, run the parts, print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--edges", type=int, default=19_000_000)
    parser.add_argument("--online-edges", type=int, default=2_000_000)
    parser.add_argument("--part", choices=_PARTS, action="append")
    parser.add_argument("--work", help="one piece in a process of its own: raw-copy STORE FOLDER, or export ADDRESS")
    parser.add_argument("arguments", nargs="*")
    options = parser.parse_args()
    if options.work:
        _work(options.work, options.arguments)
        return
    parts = options.part or _PARTS
    with tempfile.TemporaryDirectory(prefix="kgcheck-bench-") as name:
        folder = Path(name)
        large, small = folder / "large", folder / "small"
        if {"embedded", "offline"} & set(parts):
            spent("benchmarks.generate", str(large), "--edges", str(options.edges))
        if "embedded" in parts:
            print_table(_embedded(large, folder))
        if "offline" in parts:
            print_table(_offline(large, folder))
        if "online" in parts:
            spent("benchmarks.generate", str(small), "--edges", str(options.online_edges))
            print_table(_online(small, folder))


def _embedded(source: Path, folder: Path) -> list[Row]:
    store, quarantine = str(folder / "graph.lbdb"), str(folder / "q.jsonl")
    load = ("kgcheck", "load", str(source), "--store", store, "--quarantine", quarantine, "--format", "json")
    first, again, full = spent(*load), spent(*load), spent(*load, "--full")
    audit = ("kgcheck", "audit", "--type", "structure", "--store", store, "--ledger", str(folder / "l.sqlite"))
    structure = spent(*audit, allowed=(0, 1))
    raw = spent("benchmarks.large", "--work", "raw-copy", store, str(folder / "raw"))
    seconds = float((folder / "raw" / "seconds").read_text())
    copied = f"{seconds:.1f} s, {raw.peak_mib:,} MiB (LadybugDB COPY of the same rows from Parquet)"
    compared = f"{full.seconds / first.seconds:.2f}"
    return [
        Row("embedded: load, from TSV to queryable", str(first), copied, f"{first.seconds / seconds:.2f}"),
        _reload("embedded", first, again),
        Row(
            "embedded: reload, every row compared (`--full`)",
            str(full),
            f"{first.seconds:.1f} s (first load)",
            compared,
        ),
        Row("embedded: all structure checks", str(structure), "", ""),
    ]


def _offline(source: Path, folder: Path) -> list[Row]:
    quarantine, files = str(folder / "q2.jsonl"), folder / "files"
    raw_home, home = (
        Neo4jServer(folder / "raw-home", None),
        Neo4jServer(folder / "home", None, heap="1g", pagecache="3g"),
    )
    load = ("kgcheck", "load", str(source), "--quarantine", quarantine, "--format", "json")
    started = time.perf_counter()
    made = spent(*load, "--offline", str(files), "--neo4j-home", str(home.install()))
    with home:
        done = spent(*load, "--store", home.uri)
        ours = time.perf_counter() - started
        export = spent("benchmarks.large", "--work", "export", home.uri)
        again = spent(*load, "--store", home.uri)
        with open_store(home.uri, load_schema(), Settings()) as store:
            edges = store.counts().total_edges
    command = OfflineImport(files, load_schema()).command(raw_home.install())
    raw = timed(lambda: subprocess.run(command, check=True, capture_output=True))  # noqa: S603
    shutil.rmtree(files)
    told = f"{ours:.1f} s ({made.seconds:.1f} s for the files and the import, {done.seconds:.1f} s for the constraints)"
    return [
        Row(
            "Neo4j offline: from TSV to a started server with constraints",
            f"{told}, {made.peak_mib:,} MiB",
            f"{raw:.1f} s (neo4j-admin import of the same rows, no server)",
            f"{ours / raw:.2f}",
        ),
        _reload("Neo4j", Spent(ours, 0, 0, 0.0), again),
        Row(
            "Neo4j: export of all edges",
            f"{edges / export.seconds:,.0f} edges/s ({export})",
            "",
            "",
        ),
    ]


def _online(source: Path, folder: Path) -> list[Row]:
    schema = load_schema()
    raw = load_csv(source, folder / "raw-online", schema)
    with Neo4jServer(folder / "online", None) as server:
        load = ("kgcheck", "load", str(source), "--store", server.uri, "--quarantine", str(folder / "q3.jsonl"))
        first, again = spent(*load), spent(*load)
        with open_store(server.uri, schema, Settings()) as store:
            edges = store.counts().total_edges
    csv = f"{raw:.1f} s, {edges / raw:,.0f} edges/s (LOAD CSV + MERGE)"
    return [
        Row(
            f"Neo4j online: load of {edges:,} edges",
            f"{first} ({edges / first.seconds:,.0f} edges/s)",
            csv,
            f"{first.seconds / raw:.2f} ({raw / first.seconds:.2f} times the speed)",
        ),
        _reload("Neo4j online", first, again),
    ]


def _reload(name: str, first: Spent, again: Spent) -> Row:
    ratio = f"{again.seconds / first.seconds:.3f}"
    return Row(f"{name}: unchanged reload", str(again), f"{first.seconds:.1f} s (first load)", ratio)


def _work(what: str, arguments: list[str]) -> None:
    schema, settings = load_schema(), Settings()
    if what == "raw-copy":
        store, folder = Path(arguments[0]), Path(arguments[1])
        folder.mkdir()
        (folder / "seconds").write_text(str(raw_copy(store, folder, schema, settings)))
    else:
        with open_store(arguments[0], schema, settings) as opened:
            rows = sum(table.num_rows for pattern in schema.relations for table in opened.scan_edges(pattern))
        sys.stdout.write(f"{rows}\n")


if __name__ == "__main__":
    main()
