"""Writes a CKG import directory of any size, with known faults: ``python -m benchmarks.generate DIR --edges 19000000``.

Edges have the proportions that BioKGBench publishes (table 8) and hub-heavy degrees. Node proportions are not published
by label; those below keep the published total (484,955) and are our assumption. The same seed writes the same rows.

``answers.json`` in the folder says what a loader must find: rows read, loaded and quarantined, by file and reason.

With ``--reference FOLDER`` also a facts folder (docs/snapshot.md) of made-up sources that know nearly all of the graph,
and in its ``answers.json`` what an audit of the edges must find.
"""

import argparse
import json
from pathlib import Path
from typing import NamedTuple

import duckdb

from benchmarks.references import References
from kgcheck.profile.import_files import EdgeFile, NodeFile, load_recipe
from kgcheck.profile.schema import Label, Pattern, Property, Schema, load_schema
from kgcheck.quoting import literal

PUBLISHED_EDGES = {
    "Protein HAS_STRUCTURE Protein_structure": 271_512,
    "Protein HAS_SEQUENCE Amino_acid_sequence": 20_598,
    "Protein ASSOCIATED_WITH Cellular_component": 3_796_383,
    "Protein ASSOCIATED_WITH Tissue": 7_117_321,
    "Protein ASSOCIATED_WITH Disease": 5_882_437,
    "Protein ASSOCIATED_WITH Molecular_function": 85_013,
    "Protein ASSOCIATED_WITH Biological_process": 153_219,
    "Protein ACTS_ON Protein": 985_376,
    "Protein CURATED_INTERACTS_WITH Protein": 3_448,
    "Protein ANNOTATED_IN_PATHWAY Pathway": 357_739,
    "Protein HAS_MODIFIED_SITE Modified_protein": 4_498,
    "Modified_protein IS_SUBSTRATE_OF Protein": 6_633,
    "Modified_protein HAS_MODIFICATION Modification": 4_559,
    "Gene TRANSLATED_INTO Protein": 179_854,
    "Disease HAS_PARENT Disease": 16_058,
    "Biological_process HAS_PARENT Biological_process": 49_081,
    "Molecular_function HAS_PARENT Molecular_function": 13_659,
}
ASSUMED_NODES = {
    "Protein": 150_000,
    "Gene": 45_000,
    "Disease": 12_000,
    "Tissue": 6_600,
    "Biological_process": 30_000,
    "Molecular_function": 12_000,
    "Cellular_component": 4_400,
    "Modification": 2_100,
    "Pathway": 24_000,
    "Protein_structure": 173_757,
    "Amino_acid_sequence": 20_598,
    "Modified_protein": 4_500,
}
HUB_POWER = 3.0
"""A node's index is n * u ** HUB_POWER for uniform u: few nodes have most edges, as in the real graph."""


class Faults(NamedTuple):
    """Shares of the rows of every edge file."""

    dangling: float = 0.001
    duplicate: float = 0.001
    malformed: float = 0.0005
    wrong_label: float = 0.0005


class _Generator:
    def __init__(self, folder: Path, edges: int, seed: int, faults: Faults, reference: Path | None) -> None:
        self._db = duckdb.connect()
        self._db.execute("SET preserve_insertion_order = true").fetchall()
        self._folder = folder
        self._seed = seed
        self._faults = faults
        self._scale = edges / sum(PUBLISHED_EDGES.values())
        self._schema: Schema = load_schema()
        self._answers: dict[str, dict[str, int]] = {}
        self._references = References(self._db, self._schema, reference) if reference else None

    def write(self) -> None:
        for part in ("databases", "ontologies"):
            (self._folder / part).mkdir(parents=True, exist_ok=True)
        recipe = load_recipe(self._schema)
        for label in self._schema.labels:
            self._nodes(label)
        if self._references:
            self._references.nodes()
        written: set[str] = set()
        for file in recipe.nodes:
            self._write_nodes(self._schema.label(file.label), file, empty=file.label in written)
            written.add(file.label)
        for edge_file in recipe.edges:
            pattern = self._schema.pattern(edge_file.head, edge_file.relation, edge_file.tail)
            self._write_edges(pattern, edge_file, empty=str(pattern) in written)
            written.add(str(pattern))
        answers = {"seed": self._seed, "files": self._answers}
        (self._folder / "answers.json").write_text(json.dumps(answers, indent=2), encoding="utf-8")
        if self._references:
            self._references.finish()
        self._db.close()

    def _nodes(self, label: Label) -> None:
        count = max(10, round(ASSUMED_NODES[label.name] * self._scale))
        self._db.execute(
            f'CREATE TABLE "{label.name}" AS SELECT i, {_identifier(label.name)} AS id FROM range({count}) t(i)'
        ).fetchall()

    def _write_nodes(self, label: Label, file: NodeFile, empty: bool) -> None:
        columns = [f"id AS {_quoted(file.id)}"]
        columns += [f"{_node_value(label.properties[p], p)} AS {_quoted(c)}" for p, c in file.properties.items()]
        self._copy(f'SELECT {", ".join(columns)} FROM "{label.name}"', file.file, empty)
        rows = 0 if empty else self._count(f'"{label.name}"')
        self._answers[file.file] = {"read": rows, "loaded": rows}

    def _write_edges(self, pattern: Pattern, file: EdgeFile, empty: bool) -> None:
        count = 0 if empty else round(PUBLISHED_EDGES.get(str(pattern), 0) * self._scale)
        self._pairs(pattern, count)
        if self._references and not empty:
            self._references.edges(pattern)
        good = self._count("pairs")
        bad = {
            "unknown_tail": round(good * self._faults.dangling) + round(good * self._faults.wrong_label),
            "duplicate_row": round(good * self._faults.duplicate),
            "field_count": round(good * self._faults.malformed),
        }
        names = [file.from_column, file.to_column, *file.properties.values()]
        values = [f"{_edge_value(pattern.properties[p], p)}" for p in file.properties]
        row = f"concat_ws(chr(9), {', '.join(['head', 'tail', *values])})"
        self._db.execute(f"CREATE OR REPLACE TABLE rows AS SELECT n, {row} AS line FROM pairs").fetchall()
        wrong = round(good * self._faults.wrong_label)
        other = "Gene" if pattern.tail != "Gene" else "Disease"
        rest = "".join(f" || chr(9) || {v}" for v in values)
        parts = [
            "SELECT line, n FROM rows",
            f"SELECT head || chr(9) || 'GONE:' || n{rest}, n FROM pairs WHERE n <= {bad['unknown_tail'] - wrong}",
            f"SELECT head || chr(9) || o.id{rest}, n FROM pairs JOIN {other} o ON o.i = n % 10 WHERE n <= {wrong}",
            f"SELECT line, n + {good} FROM rows WHERE n <= {bad['duplicate_row']}",
            f"SELECT head, n FROM pairs WHERE n <= {bad['field_count']}",
        ]
        path = self._folder / file.file
        header = literal("\t".join(names))
        self._db.execute(
            f"""
            COPY (SELECT {header} AS line UNION ALL SELECT line FROM ({" UNION ALL ".join(parts)} ORDER BY n))
            TO {literal(str(path))} (FORMAT csv, HEADER false, DELIMITER '\x01', QUOTE '', ESCAPE '')
            """
        ).fetchall()
        found = {reason: n for reason, n in bad.items() if n}
        self._answers[file.file] = {"read": good + sum(bad.values()), "loaded": good, **found}

    def _pairs(self, pattern: Pattern, count: int) -> None:
        """Table ``pairs``: exactly so many distinct (head, tail), numbered, hubs first on both sides.

        A site is one of the protein that its id names. A parent comes before its children: there is no cycle.
        """
        heads, tails = self._count(f'"{pattern.head}"'), self._count(f'"{pattern.tail}"')
        wanted = min(count, heads * (tails - 1) // 2)
        seed = f"{self._seed}, {literal(str(pattern))}"
        drawn = wanted * 3 // 2 + 100
        self._db.execute("CREATE OR REPLACE TABLE drawn (h BIGINT, t BIGINT)").fetchall()
        for round_ in range(20):
            self._draw(
                pattern, [f"((hash({seed}, {round_}, {side}, i) % 1000003) / 1000003.0)" for side in (1, 2)], drawn
            )
            if self._count("(SELECT DISTINCT h, t FROM drawn)") >= wanted:
                break
        self._db.execute(
            f"""
            CREATE OR REPLACE TABLE pairs AS
            SELECT row_number() OVER (ORDER BY hash({seed}, h, t), h, t) AS n, a.id AS head, b.id AS tail
            FROM (SELECT DISTINCT h, t FROM drawn) d
            JOIN "{pattern.head}" a ON a.i = d.h JOIN "{pattern.tail}" b ON b.i = d.t
            QUALIFY n <= {wanted}
            """
        ).fetchall()

    def _draw(self, pattern: Pattern, uniform: list[str], rows: int) -> None:
        heads, tails = self._count(f'"{pattern.head}"'), self._count(f'"{pattern.tail}"')
        head, tail = (f"floor({n} * {u} ** {HUB_POWER})" for n, u in zip((heads, tails), uniform, strict=True))
        wanted = f"h <> t OR {literal(pattern.head)} <> {literal(pattern.tail)}"
        if pattern.hierarchy:
            head = f"floor({heads} * {uniform[0]})"
            tail = f"floor({head} * {uniform[1]} ** {HUB_POWER})"
        if pattern.type == "HAS_MODIFIED_SITE":
            named = "p.id = split_part(m.id, '_', 1)"
            select = f'SELECT p.i, m.i FROM "{pattern.tail}" m JOIN "{pattern.head}" p ON {named}'
        else:
            select = f"SELECT DISTINCT {head} AS h, {tail} AS t FROM range({rows}) r(i) WHERE {wanted}"
        self._db.execute(f"INSERT INTO drawn {select}").fetchall()

    def _copy(self, select: str, file: str, empty: bool) -> None:
        rows = f"SELECT * FROM ({select}) {'LIMIT 0' if empty else ''}"
        path = literal(str(self._folder / file))
        self._db.execute(f"COPY ({rows}) TO {path} (FORMAT csv, DELIMITER '\t', HEADER)").fetchall()

    def _count(self, table: str) -> int:
        return int(self._db.execute(f"SELECT count(*) FROM {table}").fetchall()[0][0])


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _identifier(label: str) -> str:
    """SQL for the id of node i, in the form of its label."""
    match label:
        case "Protein" | "Amino_acid_sequence":
            letter = "chr((65 + {0} % 26)::INTEGER)"
            third, fourth = letter.format("(i // 100)"), letter.format("(i // 2600)")
            return f"'P' || (i % 10) || {third} || {fourth} || chr((65 + (i // 67600) % 26)::INTEGER) || (i // 10 % 10)"
        case "Gene":
            return "'GENE' || i"
        case "Disease":
            return "'DOID:' || i"
        case "Tissue":
            return "'BTO:' || lpad(i::VARCHAR, 7, '0')"
        case "Modification":
            return "'MOD:' || lpad(i::VARCHAR, 5, '0')"
        case "Pathway":
            return "'R-HSA-' || i"
        case "Protein_structure":
            return "(1 + i % 9) || upper(lpad(to_base(i // 9, 36), 3, '0'))"
        case "Modified_protein":
            return "'P' || (i % 10) || 'AAA' || (i // 10 % 10) || '_S' || (1 + i // 100) || '-p'"
        case _:
            # The three namespaces of the Gene Ontology share one series of numbers.
            start = {"Biological_process": 0, "Molecular_function": 3_000_000, "Cellular_component": 6_000_000}[label]
            return f"'GO:' || lpad((i + {start})::VARCHAR, 7, '0')"


def _node_value(spec: Property, name: str) -> str:
    match spec.type:
        case "integer":
            return "1 + i % 1000"
        case "strings":
            return "'synonym ' || i || ',other ' || i"
        case _:
            return f"'{name} ' || i"


def _edge_value(spec: Property, name: str) -> str:
    match spec.type:
        case "number":
            low, high = spec.range or (0.0, 1.0)
            return f"({low} + (n % 1000) * {(high - low) / 1000})::DECIMAL(8, 4)"
        case "integer":
            return "1 + n % 50"
        case _:
            return f"'{name} ' || (n % 7)"


def generate(
    folder: Path, edges: int, seed: int = 0, faults: Faults | None = None, reference: Path | None = None
) -> None:
    """Write an import directory.

    Args:
        folder: Where; made if missing.
        edges: About how many edges; every pattern gets its published share.
        seed: Other seeds give other rows.
        faults: Shares of faulty rows.
        reference: Folder for the facts of made-up sources, or None.
    """
    _Generator(folder, edges, seed, faults or Faults(), reference).write()


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--edges", type=int, default=sum(PUBLISHED_EDGES.values()))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--reference", type=Path, help="folder for facts of made-up sources")
    asked = parser.parse_args()
    generate(asked.folder, asked.edges, asked.seed, reference=asked.reference)


if __name__ == "__main__":
    main()
