"""Graphs, snapshots and command lines for tests of audits."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, chdir, redirect_stderr, redirect_stdout
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple, Self

import pyarrow as pa

from kgcheck.audit.run import Audit
from kgcheck.cli.main import run as run_command
from kgcheck.graph.embedded import EmbeddedStore
from kgcheck.graph.store import (
    Counts,
    Direction,
    Hop,
    Properties,
    Reading,
    StrayEdge,
    edge_schema,
    node_schema,
    one_of_each,
    with_as_text,
)
from kgcheck.ledger.ledger import Ledger, Run
from kgcheck.loading.load import load_directory
from kgcheck.memory import collection_paused
from kgcheck.model import Finding, Ref, Tally, Triple
from kgcheck.options import AuditOptions
from kgcheck.profile.folder import profile_dir
from kgcheck.profile.schema import Label, Pattern, Schema, load_schema
from kgcheck.reference.build import build_snapshot
from kgcheck.settings import Settings
from tests.support.sharing import made_once

LEDGER = ".kgcheck/ledger.sqlite"
"""Where a command keeps its ledger, in the folder in which it was run."""

DEMO = profile_dir("ckg") / "demo"
"""The files of the demo."""

CORE = {
    "Gene",
    "Protein",
    "Disease",
    "Disease_has_parent",
    "Protein_gene_translated_into",
    "Protein_Disease_associated_with_integrated",
    "string_protein_acts_on_protein",
}
"""Those of the demo's import files that `core_demo` loads."""

Rows = Sequence[Mapping[str, Any]]


_ckg = cache(load_schema)


class MemoryStore:
    """A graph in memory, with whatever faults a test wants; read only."""

    backend = "memory"
    with_retired = False

    def __init__(
        self,
        nodes: Mapping[str, Rows],
        edges: Mapping[str, Rows],
        stray: Sequence[StrayEdge] = (),
        name: str = "memory",
    ) -> None:
        self.schema: Schema = _ckg()
        self.name = name
        self._nodes = nodes
        self._edges = edges
        self._stray = stray

    def node(self, ref: Ref) -> Properties | None:
        return self.nodes(self.schema.label(ref.label), [ref.id]).get(ref.id)

    def nodes(self, label: Label, ids: list[str]) -> dict[str, Properties]:
        return one_of_each(dict(row) for row in self._nodes.get(label.name, ()) if row["id"] in ids)

    def edges(self, triple: Triple) -> list[Properties]:
        pattern = self.schema.pattern(triple.head.label, triple.relation, triple.tail.label)
        ends = (triple.head.id, triple.tail.id)
        return [
            {k: v for k, v in row.items() if k in pattern.properties}
            for row in self._edges.get(str(pattern), ())
            if (row["head"], row["tail"]) == ends
        ]

    def neighbours(self, ref: Ref, pattern: Pattern, direction: Direction, limit: int) -> list[str]:
        here, there = ("head", "tail") if direction == "out" else ("tail", "head")
        return sorted(row[there] for row in self._edges.get(str(pattern), ()) if row[here] == ref.id)[:limit]

    def hops(self, ids: list[str], pattern: Pattern, direction: Direction) -> list[Hop]:
        start, end = ("head", "tail") if direction == "out" else ("tail", "head")
        return [
            Hop(row[start], row[end], {k: v for k, v in row.items() if k in pattern.properties})
            for row in self._edges.get(str(pattern), ())
            if row[start] in ids
        ]

    def query(self, reading: Reading, limit: int, timeout_s: float) -> list[Properties]:
        raise NotImplementedError

    def scan_nodes(self, label: Label) -> Iterator[pa.Table]:
        yield pa.Table.from_pylist(list(self._nodes.get(label.name, ())), schema=with_as_text(node_schema(label)))

    def scan_edges(self, pattern: Pattern) -> Iterator[pa.Table]:
        rows = list(self._edges.get(str(pattern), ()))
        yield pa.Table.from_pylist(rows, schema=with_as_text(edge_schema(pattern)))

    def stray_edges(self, limit: int) -> list[StrayEdge]:
        return list(self._stray)[:limit]

    def store_id(self) -> str:
        return self.name

    def counts(self) -> Counts:
        return Counts(
            nodes={name: len(rows) for name, rows in self._nodes.items()},
            edges={name: len(rows) for name, rows in self._edges.items()},
        )

    def unknown(self) -> dict[str, int]:
        return {}

    def state(self) -> str | None:
        return sha256(repr((self._nodes, self._edges, self._stray)).encode()).hexdigest()

    def meta(self) -> dict[str, str]:
        return {}

    def set_meta(self, key: str, value: str) -> None:
        raise NotImplementedError

    def changing(self, names: Iterable[str]) -> AbstractContextManager[None]:
        raise NotImplementedError

    def prepare(self) -> None:
        raise NotImplementedError

    def add_nodes(self, label: Label, rows: pa.Table) -> None:
        raise NotImplementedError

    def update_nodes(self, label: Label, rows: pa.Table) -> None:
        raise NotImplementedError

    def add_edges(self, pattern: Pattern, rows: pa.Table) -> None:
        raise NotImplementedError

    def remove_edges(self, pattern: Pattern, rows: pa.Table) -> None:
        raise NotImplementedError

    def remove_nodes(self, label: Label, rows: pa.Table) -> None:
        raise NotImplementedError

    def close(self) -> None:
        return

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        return


class Demo(NamedTuple):
    """The demo, loaded once for all tests of a run; to be read only."""

    store: Path
    reference: Path


@cache
def demo() -> Demo:
    """The demo graph in an embedded store, and its snapshot."""
    return Demo(_loaded("demo", DEMO / "import"), _snapshot())


@cache
def core_import() -> Path:
    """Files of the demo with its genes, proteins and diseases alone; of the others, the header."""

    def make(folder: Path) -> None:
        for path in sorted((DEMO / "import").rglob("*.tsv")):
            copy = folder / path.relative_to(DEMO / "import")
            copy.parent.mkdir(parents=True, exist_ok=True)
            lines = path.read_bytes().splitlines(keepends=True)
            copy.write_bytes(b"".join(lines if path.stem in CORE else lines[:1]))

    return made_once("import", make)


@cache
def core_demo() -> Demo:
    """The demo's genes, proteins and diseases, and its whole snapshot: an audit takes a third of the time."""
    return Demo(_loaded("core", core_import()), _snapshot())


def _loaded(name: str, files: Path) -> Path:
    def make(folder: Path) -> None:
        with EmbeddedStore(folder / "graph.lbdb", load_schema(), create=True) as store:
            load_directory(files, store, Settings(), quarantine=folder / "quarantine.jsonl")

    return made_once(name, make) / "graph.lbdb"


def _snapshot() -> Path:
    def make(folder: Path) -> None:
        build_snapshot(DEMO / "reference", folder / "reference.duckdb", load_schema(), Settings())

    return made_once("snapshot", make) / "reference.duckdb"


@cache
def demo_audit(*options: str) -> Path:
    """A folder with the ledger of an audit of the whole demo, made once for all tests of a run; to be read only."""

    def make(folder: Path) -> None:
        where = ("--store", demo().store, "--reference", demo().reference)
        ended = kgcheck("audit", *where, "--ledger", LEDGER, *options, cwd=folder)
        assert ended.code == 1, ended.err

    return made_once("-".join(("audit", sha256(repr(options).encode()).hexdigest()[:12])), make)


class Audited(NamedTuple):
    """What an audit came to."""

    run: Run
    findings: list[Finding]
    tallies: list[Tally]


def audited(store: Any, ledger: Path, reference: Path | None = None, **options: Any) -> Audited:
    """Audit a store."""
    with Ledger(ledger) as kept:
        run = Audit(store, reference, kept, Settings()).start(AuditOptions(**options))
        return of_run(kept, run)


@collection_paused()
def of_run(ledger: Ledger, run: Run) -> Audited:
    """What the ledger holds of a run."""
    return Audited(run, list(ledger.findings(run)), ledger.tallies(run))


def demo_audited(*options: str) -> Audited:
    """What an audit of the whole demo came to, see `demo_audit`."""
    with Ledger(demo_audit(*options) / LEDGER, create=False) as ledger:
        return of_run(ledger, ledger.run("latest"))


def without_run(row: dict[str, Any]) -> dict[str, Any]:
    """Take from a finding what must differ from run to run: its id and the time of looking."""
    del row["run"]
    for evidence in row["evidence"]:
        if evidence["source"] in ("graph", "profile"):
            del evidence["retrieved_at"]
    return row


@collection_paused()
def comparable(audit: Audited) -> tuple[list[str], list[str]]:
    """Findings and tallies of an audit, without what must differ from run to run."""
    found = []
    for finding in audit.findings:
        row = without_run(finding.as_row())
        row["evidence"].sort(key=repr)
        found.append(repr(row))
    return sorted(found), sorted(tally.model_dump_json() for tally in audit.tallies)


class Said(NamedTuple):
    """What a command did."""

    code: int
    out: str
    err: str

    def refuses(self, message: str = "", code: int = 2) -> bool:
        """Whether the command ended with one clear message that begins so, and with nothing on stdout."""
        last = [line for line in self.err.splitlines() if line.startswith("kgcheck: ")]
        clear = "Traceback" not in self.err and "fault in kgcheck" not in self.err and not self.out
        return clear and self.code == code and len(last) == 1 and last[0].startswith(f"kgcheck: {message}")


def kgcheck(*arguments: object, cwd: Path | None = None) -> Said:
    """Run a command line in this process."""
    out, err = io.StringIO(), io.StringIO()
    with chdir(cwd or Path.cwd()), redirect_stdout(out), redirect_stderr(err):
        code = run_command([str(a) for a in arguments])
    return Said(code, out.getvalue(), err.getvalue())
