"""``python -m benchmarks.build``: a graph built from real files beside one that others made of them; or a large one.

The real files are ckg_sources and ontologies of the shared data, the other graph is its ckg_import. With ``--edges``,
the facts of a generated graph of so many edges are built instead, each phase in this process.
"""

import argparse
import csv
import resource
import sys
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.generate import generate
from kgcheck.profile.import_files import EdgeFile, NodeFile, load_recipe
from kgcheck.profile.schema import load_schema
from kgcheck.progress import NoProgress
from kgcheck.reference.build import build_snapshot
from kgcheck.reference.import_directory import build_import
from kgcheck.settings import Settings

SCHEMA = load_schema()
RECIPE = load_recipe(SCHEMA)
SHARED = Path(__file__).parents[2] / "shared/data"

Rows = dict[tuple[str, ...], dict[str, str]]


def rows_of(folder: Path, entry: NodeFile | EdgeFile) -> Rows:
    """The rows of a file by id, or by both ends; of a symmetric relation, in the order of the ends."""
    if not (folder / entry.file).exists():
        return {}
    symmetric = isinstance(entry, EdgeFile) and SCHEMA.pattern(entry.head, entry.relation, entry.tail).symmetric
    with (folder / entry.file).open(encoding="utf-8", newline="") as stream:
        found = {}
        for row in csv.DictReader(stream, delimiter="\t"):
            key = tuple(row[column] for column in entry.keys.values())
            found[tuple(sorted(key)) if symmetric else key] = row
        return found


def compare(made: Path, other: Path) -> None:
    """Print by file: keys in both, in one alone, why those of the other are not built, and values that differ."""
    nodes = {entry.label: set[str]() for entry in RECIPE.nodes}
    for entry in RECIPE.nodes:
        nodes[entry.label] |= {key for (key,) in rows_of(made, entry)}
    sys.stdout.write("| file | in both | only built | only there | why | other values |\n")
    sys.stdout.write("| --- | --- | --- | --- | --- | --- |\n")
    for entry in RECIPE.files:
        ours, theirs = rows_of(made, entry), rows_of(other, entry)
        if not ours and not theirs:
            continue
        both, lacking = ours.keys() & theirs.keys(), theirs.keys() - ours.keys()
        why = Counter[str]()
        for key in lacking if isinstance(entry, EdgeFile) else ():
            ends = key[0] in nodes[entry.head] and key[-1] in nodes[entry.tail]
            why["no such link" if ends else "an end is no node"] += 1
        differ = {
            name: sum((ours[key].get(column) or "") != (theirs[key].get(column) or "") for key in both)
            for name, column in entry.properties.items()
        }
        shown = ", ".join(f"{name} {n:,}" for name, n in differ.items() if n)
        causes = ", ".join(f"{n:,} {cause}" for cause, n in sorted(why.items()))
        counts = " | ".join(f"{n:,}" for n in (len(both), len(ours) - len(both), len(lacking)))
        sys.stdout.write(f"| {entry.file} | {counts} | {causes} | {shown} |\n")


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--edges", type=int, help="build the facts of a generated graph of about so many edges")
    parser.add_argument("--folder", type=Path, help="keep what is made there")
    given = parser.parse_args()
    with TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        sources = folder / "sources"
        if given.edges:
            generate(folder / "as generated", given.edges, reference=sources)
        elif not sources.exists():
            sources.mkdir()
            for name in ("ckg_sources", "ontologies"):
                (sources / name).mkdir()
                for path in (SHARED / name).rglob("*"):
                    if path.is_file():
                        (sources / name / path.name).write_bytes(path.read_bytes())
        snapshot, seconds = folder / "reference.duckdb", {}
        began = time.perf_counter()
        build_snapshot(sources, snapshot, SCHEMA, Settings())
        seconds["snapshot"] = time.perf_counter() - began
        began = time.perf_counter()
        made = build_import(snapshot, folder / "import", SCHEMA, RECIPE, Settings(), NoProgress())
        seconds["import directory"] = time.perf_counter() - began
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        took = ", ".join(f"{name} {s:.1f} s" for name, s in seconds.items())
        sys.stdout.write(f"{made.nodes:,} nodes, {made.edges:,} edges; {took}; at most {peak:,.0f} MB\n\n")
        if not given.edges:
            compare(folder / "import", SHARED / "ckg_import")


main()
