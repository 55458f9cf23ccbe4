"""``python -m benchmarks.form_ids``: ids and names of graphs without a profile, damaged by seed, beside a snapshot.

Each graph is audited as it is, and with a few damages of one kind in a copy. A damage is found where a new finding
names its id; a new refuted finding about any other id is wrong. A synonym for a name and another case are no damage:
what is refuted of them is wrong, too.
"""

import argparse
import csv
import gzip
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from shutil import copy
from tempfile import TemporaryDirectory
from typing import NamedTuple

import duckdb

from benchmarks.form_graphs import SHARED
from kgcheck import Workspace

NUMBER = 10
"""Damages of a kind in a copy."""

SOURCES = (
    "ontologies/HumanDO_2016.obo", "ontologies/HumanDO_2026.tsv", "ontologies/bto.obo", "ontologies/psi-mi.obo",
    "ckg_sources/go_terms_unipept_2024-06.tsv", "ckg_sources/hgnc_entries_2017.tsv",
)  # fmt: skip
GRAPHS = {
    "hetionet": ("foreign/hetionet/nodes.tsv.gz", "id", "name"),
    "kgx": ("foreign/kgx/graph_nodes.tsv", "id", "name"),
    "hetionet, all": ("foreign/hetionet/nodes_all_kinds.tsv.gz", "id", "name"),
}
HARMLESS = ("synonym", "another_case")


class Graph(NamedTuple):
    """A table of nodes: its header, its rows, and the places of ids and names."""

    header: list[str]
    rows: list[list[str]]
    id: int
    name: int

    @classmethod
    def read(cls, path: Path, id_: str, name: str) -> "Graph":
        opened = gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8")
        with opened as stream:
            header, *rows = csv.reader(stream, delimiter="\t", quoting=csv.QUOTE_NONE)
        whole = [row + [""] * (len(header) - len(row)) for row in rows]
        return cls(header, whole, header.index(id_), header.index(name))

    def write(self, path: Path) -> None:
        lines = ("\t".join(row) for row in [self.header, *self.rows])
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


class Known(NamedTuple):
    """Ids of a snapshot by state, and names by id, of prefixes that a graph has."""

    by_state: dict[tuple[str, str], list[str]]
    synonyms: dict[str, list[str]]

    @classmethod
    def read(cls, snapshot: Path) -> "Known":
        with duckdb.connect() as db:
            db.execute(f"ATTACH '{snapshot}' AS ref (READ_ONLY)")
            states = db.execute(
                "SELECT split_part(id, ':', 1), CASE state WHEN 'secondary' THEN state ELSE 'obsolete' END,"
                " list(id ORDER BY id) FROM ref.lifecycle"
                " WHERE state IN ('obsolete', 'withdrawn', 'secondary') AND source IN ('go', 'do', 'hgnc_id')"
                " AND contains(id, ':') GROUP BY ALL"
            ).fetchall()
            named = db.execute(
                "SELECT id, list(DISTINCT value ORDER BY value) AS names FROM ref.value v"
                " WHERE status IN ('current', 'synonym') AND attribute IN ('name', 'symbol') AND contains(id, ':')"
                " AND release_id IN (SELECT arg_max(id, recency) FROM ref.release GROUP BY source)"
                " GROUP BY id HAVING len(names) > 1"
            ).fetchall()
        return cls({(prefix, state): ids for prefix, state, ids in states}, dict(named))


def prefix_of(id_: str) -> str:
    """Prefix of the CURIE in an id, after the kind that Hetionet has before it."""
    return id_.rpartition("::")[2].partition(":")[0]


def damaged(graph: Graph, kind: str, known: Known, random: Random) -> set[str]:
    """Damage a graph; the ids of the nodes that are damaged."""
    prefixes = {prefix for prefix, _ in known.by_state}
    places = [n for n, row in enumerate(graph.rows) if prefix_of(row[graph.id]) in prefixes and row[graph.name]]
    there = {row[graph.id].rpartition("::")[2] for row in graph.rows}
    if kind == "synonym":
        places = [n for n in places if graph.rows[n][graph.id].rpartition("::")[2] in known.synonyms]
    chosen = random.sample(places, min(NUMBER, len(places) - len(places) % 2))
    found = set()
    for n, other in zip(chosen, chosen[1:] + chosen[:1], strict=True):
        row = graph.rows[n]
        head, sign, curie = row[graph.id].rpartition("::")
        prefix, _, local = curie.partition(":")
        match kind:
            case "obsolete" | "secondary":
                free = [id_ for id_ in known.by_state.get((prefix, kind), ()) if id_ not in there]
                if not free:
                    continue
                row[graph.id] = head + sign + random.choice(free)
            case "unknown":
                row[graph.id] = (
                    f"{head}{sign}{prefix}:{9 * 10 ** (len(local) - 1) + random.randrange(10**5):0{len(local)}}"
                )
            case "names_exchanged" if chosen.index(n) % 2 == 0:
                row[graph.name], graph.rows[other][graph.name] = graph.rows[other][graph.name], row[graph.name]
            case "synonym":
                row[graph.name] = random.choice(known.synonyms[curie])
            case "another_case":
                row[graph.name] = row[graph.name].upper()
        found.add(row[graph.id])
    return found


def findings(folder: Path, table: Path, snapshot: Path, date: str) -> Iterator[tuple[str, str]]:
    """Node and outcome of each finding about an id or a name."""
    with Workspace(store=f"files:{table}", reference=snapshot, ledger=folder / "ledger.sqlite") as workspace:
        run = workspace.audit(types=["existence", "attribute"], graph_date=date)
        for finding in run.findings:
            yield finding.task.subject.id, finding.verdict.outcome.value


def main() -> None:
    """Damage each graph, audit it, and print what was found."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seed", type=int, action="append", help="by default 1")
    seeds = parser.parse_args().seed or [1]
    total = Counter[tuple[str, str]]()
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "sources").mkdir()
        for source in SOURCES:
            copy(SHARED.parent / source, folder / "sources")
        snapshot = folder / "reference.duckdb"
        with Workspace(reference=snapshot) as workspace:
            workspace.build_reference(folder / "sources")
        known = Known.read(snapshot)
        sys.stdout.write(f"{'graph':14} {'kind':16} damaged   found refuted   WRONG\n")
        for graph_name, (path, id_, name_) in GRAPHS.items():
            table = folder / "nodes.tsv"
            Graph.read(SHARED.parent / path, id_, name_).write(table)
            before = set(findings(folder, table, snapshot, "2016-01-01"))
            for kind in ("obsolete", "secondary", "unknown", "names_exchanged", *HARMLESS):
                row = Counter[str]()
                for seed in seeds:
                    graph = Graph.read(SHARED.parent / path, id_, name_)
                    ids = damaged(graph, kind, known, Random(f"{seed} {graph_name} {kind}"))  # noqa: S311
                    graph.write(table)
                    new = set(findings(folder, table, snapshot, "2016-01-01")) - before
                    refuted = {id_ for id_, outcome in new if outcome == "refuted"}
                    row["damaged"] += len(ids)
                    row["found"] += len(ids & {id_ for id_, _ in new})
                    row["refuted"] += len(ids & refuted)
                    row["wrong"] += len(refuted if kind in HARMLESS else refuted - ids)
                shown = (row[column] for column in ("damaged", "found", "refuted", "wrong"))
                sys.stdout.write(f"{graph_name:14} {kind:16} {' '.join(f'{n:7}' for n in shown)}\n")
                sys.stdout.flush()
                total.update({("harmless" if kind in HARMLESS else "damage", column): n for column, n in row.items()})
    sys.stdout.write(f"{dict(total)}\n")


if __name__ == "__main__":
    main()
