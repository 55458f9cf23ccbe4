"""OfflineImport: write CSV files and the command for ``neo4j-admin database import full``.

A label or pattern is a header file and a data file; the ids of a label are a group of their own. The format is that of
https://neo4j.com/docs/operations-manual/5/tools/neo4j-admin/neo4j-admin-import/.
"""

import shlex
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from kgcheck.errors import InputError, StoreError, StoreMissing
from kgcheck.graph.store import META_LABEL, STATE, STORE_ID, Counts, edge_schema, new_state, node_schema
from kgcheck.profile.schema import Holder, Label, Pattern, Property, PropertyType, Schema

_TYPES: dict[PropertyType, str] = {"string": "string", "strings": "string[]", "integer": "long", "number": "double"}
_LIST_DELIMITER = "\x1f"
_SMALLEST_BUFFER_MIB = 4
_SHOWN_LINES = 12
_REPORT = "import.report"


class OfflineImport:
    """A load target that writes files for neo4j-admin; it holds nothing before."""

    backend = "neo4j"

    def __init__(self, folder: Path, schema: Schema, *, database: str = "neo4j") -> None:
        self.schema = schema
        self.name = str(folder)
        self.with_retired = False
        self._folder = folder.absolute()
        self._database = database
        self._meta: dict[str, str] = {}
        self._rows: dict[str, int] = {}
        self._longest = 0
        try:
            folder.mkdir(parents=True, exist_ok=True)
            found = {path.name for path in folder.iterdir()}
        except OSError as error:
            raise StoreError(
                f"cannot use the folder {folder}: {error.strerror}", "name another with --offline"
            ) from error
        names = (META_LABEL, *self.schema.label_names, *map(str, self.schema.relations))
        ours = {self._path(name, part).name for name in names for part in ("header", "data")} | {_REPORT}
        if strange := sorted(found - ours):
            raise StoreError(f"{folder} holds {strange[0]}", "name a new or empty folder with --offline")

    def counts(self) -> Counts:
        nodes = {s.name: self._rows[s.name] for s in self.schema.labels if s.name in self._rows}
        edges = {str(p): self._rows[str(p)] for p in self.schema.relations if str(p) in self._rows}
        return Counts(nodes=nodes, edges=edges)

    def meta(self) -> dict[str, str]:
        return dict(self._meta)

    def set_meta(self, key: str, value: str) -> None:
        self._meta[key] = value
        keys = pa.array(list(self._meta)), pa.array(list(self._meta.values()))
        self._header(META_LABEL, f"key:ID({META_LABEL}),value:string")
        self._data(META_LABEL, pa.Table.from_arrays(list(keys), names=["key", "value"]), append=False)

    def scan_nodes(self, label: Label) -> Iterator[pa.Table]:
        return iter(())

    def scan_edges(self, pattern: Pattern) -> Iterator[pa.Table]:
        return iter(())

    def prepare(self) -> None:
        """Write the header of every label and pattern; a constraint needs a server."""
        labels = {name for label in self.schema.labels for name in (label.name, *label.also)}
        if colons := sorted(name for name in {*labels, *self.schema.relation_types} if ":" in name):
            raise StoreError(f"neo4j-admin takes {colons[0]} for several labels", "load it through a server")
        for label in self.schema.labels:
            self._header(label.name, ",".join([f"{label.key}:ID({label.name})", *_columns(label.properties)]))
        for pattern in self.schema.relations:
            ends = [f":START_ID({pattern.head})", f":END_ID({pattern.tail})"]
            self._header(str(pattern), ",".join([*ends, *_columns(pattern.properties)]))
        names = (*self.schema.label_names, *map(str, self.schema.relations))
        self._meta |= dict.fromkeys((STATE + name for name in names), new_state())
        self.set_meta(STORE_ID, new_state())

    def changing(self, names: Iterable[str]) -> AbstractContextManager[None]:
        """See LoadTarget; what is imported is new as a whole."""
        return nullcontext()

    def add_nodes(self, label: Label, rows: pa.Table) -> None:
        self._add(label, rows.select(node_schema(label).names))

    def add_edges(self, pattern: Pattern, rows: pa.Table) -> None:
        self._add(pattern, rows.select(edge_schema(pattern).names))

    def update_nodes(self, label: Label, rows: pa.Table) -> None:
        """See LoadTarget; there is nothing to update."""
        raise NotImplementedError

    def remove_edges(self, pattern: Pattern, rows: pa.Table) -> None:
        """See LoadTarget; there is nothing to remove."""
        raise NotImplementedError

    def remove_nodes(self, label: Label, rows: pa.Table) -> None:
        """See LoadTarget; there is nothing to remove."""
        raise NotImplementedError

    def command(self, home: Path | None = None) -> list[str]:
        """Return the command that makes the database from the files; the server must not be running."""
        buffer = max(_SMALLEST_BUFFER_MIB, 2 * self._longest // (1 << 20) + 1)
        labels = {META_LABEL: META_LABEL, **{s.name: ":".join((s.name, *s.also)) for s in self.schema.labels}}
        nodes = [f"--nodes={shown}={self._files(name)}" for name, shown in labels.items()]
        edges = [f"--relationships={p.type}={self._files(str(p))}" for p in self.schema.relations]
        return [
            str(home / "bin" / "neo4j-admin") if home else "neo4j-admin",
            *("database", "import", "full", self._database),
            *nodes,
            *edges,
            "--id-type=string",
            "--array-delimiter=U+001F",
            f"--read-buffer-size={buffer}m",
            "--bad-tolerance=0",
            f"--report-file={self._folder / _REPORT}",
        ]

    def run(self, home: Path) -> None:
        command = self.command(home)
        try:
            done = subprocess.run(  # noqa: S603 - the program that the user named, with arguments of our own
                command, cwd=self._folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
            )
        except OSError as error:
            raise StoreMissing(
                f"cannot run {command[0]}: {error.strerror}",
                "give the folder of a Neo4j installation with --neo4j-home",
            ) from error
        if done.returncode:
            output = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
            raise StoreError(
                f"the import into {home} failed with status {done.returncode}: {' / '.join(output[-_SHOWN_LINES:])}",
                f"the server must be stopped and have no database {self._database!r} yet; the files are in {self.name}",
            )

    def _add(self, holder: Holder, rows: pa.Table) -> None:
        name = str(holder)
        arrays = []
        for column in rows.columns:
            if pa.types.is_list(column.type):
                column = pc.binary_join(column, _LIST_DELIMITER)
            if pa.types.is_string(column.type):
                self._longest = max(self._longest, pc.max(pc.binary_length(column)).as_py() or 0)
            arrays.append(column)
        self._data(name, pa.Table.from_arrays(arrays, names=rows.column_names), append=name in self._rows)
        self._rows[name] = self._rows.get(name, 0) + rows.num_rows

    def _header(self, name: str, columns: str) -> None:
        try:
            self._path(name, "header").write_text(columns + "\n", encoding="utf-8")
            self._path(name, "data").touch()
        except OSError as error:
            raise self._unwritable(error) from error

    def _data(self, name: str, rows: pa.Table, *, append: bool) -> None:
        try:
            with self._path(name, "data").open("ab" if append else "wb") as stream:
                csv.write_csv(rows, stream, csv.WriteOptions(include_header=False))
        except OSError as error:
            raise self._unwritable(error) from error

    def _unwritable(self, error: OSError) -> InputError:
        return InputError(f"cannot write in {self.name}: {error.strerror or error}", "free disk space, or name another")

    def _path(self, name: str, part: str) -> Path:
        return self._folder / f"{name.replace(' ', '-')}.{part}.csv"

    def _files(self, name: str) -> str:
        return f"{self._path(name, 'header')},{self._path(name, 'data')}"


def shell(command: list[str]) -> str:
    """A command as one types it, an argument a line."""
    return " \\\n  ".join(map(shlex.quote, command))


def _columns(properties: dict[str, Property]) -> list[str]:
    return [f"{name}:{_TYPES[p.type]}" for name, p in properties.items()]
