"""Import directories that tests make, and what every load of one must hold to."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

from kgcheck.graph.embedded import EmbeddedStore
from kgcheck.graph.store import GraphStore
from kgcheck.loading.lines import find, read_lines
from kgcheck.loading.load import FileCount, LoadSummary, load_directory
from kgcheck.profile.import_files import load_recipe
from kgcheck.profile.schema import load_schema
from kgcheck.resources import resource_dir
from kgcheck.settings import Settings

CKG = load_schema()
RECIPE = load_recipe(CKG)
DEMO = resource_dir("loaders") / "ckg" / "demo" / "import"
CROWD = 20_000
PROTEINS, GENES, DISEASES = "databases/Protein.tsv", "databases/Gene.tsv", "ontologies/Disease.tsv"
SEQUENCES, REACTOME, SMPDB = (
    "databases/Amino_acid_sequence.tsv",
    "databases/reactome_Pathway.tsv",
    "databases/smpdb_Pathway.tsv",
)
ACTS_ON, PARENTS = "databases/string_protein_acts_on_protein.tsv", "ontologies/Disease_has_parent.tsv"
DISGENET = "databases/Protein_disgenet_associated_with.tsv"


class ImportDirectory:
    """A directory of the CKG layout, every file with its header only until a test writes to it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for file in RECIPE.files:
            if not file.optional:
                self.raw(file.file, self.header(file.file).encode() + b"\n")

    @staticmethod
    def columns(name: str) -> list[str]:
        (file,) = [f for f in RECIPE.files if f.file == name]
        return [*file.keys.values(), *file.properties.values(), *file.ignored]

    def header(self, name: str) -> str:
        return "\t".join(self.columns(name))

    def row(self, file: str, /, **values: str) -> str:
        """A row by column; `start` and `end` are the ends of an edge."""
        named = {{"start": "START_ID", "end": "END_ID"}.get(k, k): v for k, v in values.items()}
        assert set(named) <= set(self.columns(file))
        return "\t".join(named.get(column, "") for column in self.columns(file))

    def write(self, name: str, *rows: str) -> None:
        self.raw(name, "\n".join([self.header(name), *rows, ""]).encode())

    def raw(self, name: str, content: bytes) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return path

    def line(self, name: str, number: int) -> bytes:
        path = find(self.folder, name)
        assert path
        lines: list[bytes] = [line for _, block in read_lines(path) for line in block.to_pylist()]
        return lines[number - 1]


class Loaded:
    """A load into an embedded store, checked for what holds of every load."""

    def __init__(self, directory: ImportDirectory, store: Path, quarantine: Path) -> None:
        with EmbeddedStore(store, CKG, create=True) as opened:
            self.summary = load_directory(directory.folder, opened, Settings(), quarantine=quarantine)
        self.rejected = read_quarantine(self.summary)
        check_sums(self.summary, self.rejected)
        for row in self.rejected:
            as_it_stands = directory.line(row["file"], row["line"])
            shown = unescaped(row["row"]) if row["reason"] == "not_utf8" else row["row"].encode()
            assert shown == as_it_stands

    def file(self, name: str) -> FileCount:
        (found,) = [f for f in self.summary.files if f.file == name]
        return found

    def reasons(self, name: str) -> list[tuple[int, str]]:
        return [(row["line"], row["reason"]) for row in self.rejected if row["file"] == name]


def read_quarantine(summary: LoadSummary) -> list[dict[str, Any]]:
    if not summary.quarantine:
        return []
    # str.splitlines would also break a row at U+0085 and its like.
    return [json.loads(line) for line in summary.quarantine.read_text(encoding="utf-8").split("\n") if line]


def check_sums(summary: LoadSummary, rejected: list[dict[str, Any]]) -> None:
    """Every row of every file ends in exactly one place, and the quarantine file has those that it should."""
    by_file: dict[str, Counter[str]] = {}
    for row in rejected:
        assert set(row) == {"file", "line", "reason", "detail", "row"}
        by_file.setdefault(row["file"], Counter())[row["reason"]] += 1
    assert len({(row["file"], row["line"]) for row in rejected}) == len(rejected)
    for file in summary.files:
        assert file.read == file.loaded + file.changed + file.unchanged + sum(file.quarantined.values())
        assert file.quarantined == by_file.pop(file.file, {})
    assert by_file == {}


def unescaped(text: str) -> bytes:
    return re.sub(rb"\\x([0-9a-f]{2})", lambda m: bytes.fromhex(m[1].decode()), text.encode())


def content(store: GraphStore) -> dict[str, list[str]]:
    """All that a store holds, to compare with another."""
    found = {label.name: [row for t in store.scan_nodes(label) for row in t.to_pylist()] for label in CKG.labels}
    found |= {str(p): [row for t in store.scan_edges(p) for row in t.to_pylist()] for p in CKG.relations}
    return {name: sorted(map(repr, rows)) for name, rows in found.items()}
