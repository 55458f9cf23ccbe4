"""Read files of one graph, each in its form, into tables; what no form fits is refused by its name."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import duckdb

from kgcheck.errors import InputError, InputFormat
from kgcheck.forms.form import GraphForm, form_of
from kgcheck.forms.source import Source, sources
from kgcheck.forms.tables import GraphTables
from kgcheck.loading.quarantine import write_quarantine
from kgcheck.plurals import how_many
from kgcheck.progress import Progress

_SHOWN = 20


class ReadFile(NamedTuple):
    """A file that was read: its name, its form, and the nodes and edges that it states."""

    name: str
    form: str
    nodes: int
    edges: int
    number: int = 0


class ReadFiles(NamedTuple):
    """The tables of a graph's files, what each file was, and a digest of all contents."""

    tables: GraphTables
    files: tuple[ReadFile, ...]
    digest: str

    def rejected(self) -> dict[str, int]:
        """Count the rows that could not be read, by reason."""
        rows = self.tables.db.execute("SELECT reason, count(*) FROM quarantine GROUP BY ALL ORDER BY ALL").fetchall()
        return {reason: n for reason, n in rows}

    def keep_rejected(self, path: Path) -> None:
        """Write the rows that could not be read to a quarantine file, with the reason, in place of an earlier one."""
        write_quarantine(self.tables.db, path)

    def incomplete(self) -> str:
        """Say why so much stayed out that the tables are not what the files state; empty where it did not."""
        if self.tables.refused:
            return f"{how_many(len(self.tables.refused), 'file')} could not be read"
        rejected = sum(self.rejected().values()) + self.tables.more_rejected
        rows = rejected + sum(f.nodes + f.edges for f in self.files) + sum(self.tables.negated.values())
        return (
            f"{rejected:,} of {how_many(rows, 'row')} cannot be read, more than a tenth" if rejected * 10 > rows else ""
        )

    def lines(self) -> list[str]:
        """Describe the files in lines: forms, assumptions, and what was left out."""
        found = [f"{f.name}: {f.form}, {how_many(f.nodes, 'node')}, {how_many(f.edges, 'edge')}" for f in self.files]
        if len(found) > _SHOWN:
            found[_SHOWN:] = [f"and {len(found) - _SHOWN} more files"]
        found += [
            f"{name}: {how_many(n, 'statement')} that something does not hold: no edges"
            for name, n in self.tables.negated.items()
        ]
        if rejected := self.rejected():
            causes = ", ".join(f"{n:,} {reason}" for reason, n in rejected.items())
            more = f"; {self.tables.more_rejected:,} more are not kept" if self.tables.more_rejected else ""
            found.append(f"{how_many(sum(rejected.values()), 'row')} in quarantine: {causes}{more}")
        return [*found, *self.tables.notes, *self.tables.refused.values()]


def read_files(
    paths: Sequence[Path],
    db: duckdb.DuckDBPyConnection,
    scratch: Path,
    progress: Progress,
    columns: Mapping[str, str] | None = None,
) -> ReadFiles:
    """Recognise every file, and read it; a single file that cannot be read is an error, of several it is told.

    `columns` are names of columns of tables, each with what it is taken for: one of `COLUMNS`.
    """
    tables = GraphTables(db, columns)
    found = list(sources(list(paths), scratch))
    by_form: dict[str, tuple[GraphForm, list[Source]]] = {}
    for source in found:
        try:
            form = form_of(source)
        except InputFormat as error:
            if len(found) == 1:
                raise
            tables.leave_out(source, error)
            continue
        by_form.setdefault(form.name, (form, []))[1].append(source)
    if not by_form:
        raise InputFormat(
            f"none of {how_many(len(found), 'file')} is a graph that can be read: "
            f"{next(iter(tables.refused.values()))}",
            "docs/forms.md lists the forms",
        )
    read: dict[Source, str] = {}
    with progress.step("reading files", len(found)) as step:
        for form, files in by_form.values():
            for source in _read_all(form, files, tables, is_alone=len(by_form) == 1):
                read[source] = tables.forms.get(source.number, form.name)
            step.advance(len(files))
    if lacking := sorted(tables.columns.keys() - tables.named):
        left_out = "; ".join(tables.refused.values())
        which = f"no table that could be read has a column {lacking[0]!r}; {left_out}" if left_out else ""
        raise InputFormat(which or f"no table has a column {lacking[0]!r}", "name it as its header does")
    if len(read) > len(tables.listing_files) + 1:
        tables.merge_files()
    files_read = []
    whole = hashlib.sha256()
    for source in found:
        with source.path.open("rb") as stream:
            whole.update(source.name.encode() + b"\0" + hashlib.file_digest(stream, "sha256").digest())
        if source in read:
            counts = tables.count("node", source), tables.count("edge", source)
            files_read.append(ReadFile(source.name, read[source], *counts, source.number))
    return ReadFiles(tables, tuple(files_read), whole.hexdigest())


def _read_all(form: GraphForm, files: Sequence[Source], tables: GraphTables, *, is_alone: bool) -> Sequence[Source]:
    """Read the files of a form together, and without those that cannot be read; the files that were read."""
    before = tables.remarks()
    try:
        _read(form, files, tables)
        return [source for source in files if source.number not in tables.refused]
    except InputError as error:
        tables.take_back(files, before)
        if len(files) == 1 and is_alone:
            raise
        if len(files) == 1:
            tables.leave_out(files[0], error)
            return []
    good: list[Source] = []
    failures: list[tuple[Source, InputError]] = []
    for source in files:
        try:
            _read(form, [source], tables)
            good.append(source)
        except InputError as error:
            failures.append((source, error))
        tables.take_back([source], before)
    for left, why in failures:
        tables.leave_out(left, why)
    if good:
        _read(form, good, tables)
    elif is_alone:
        raise tables.why_none()
    return good


def _read(form: GraphForm, files: Sequence[Source], tables: GraphTables) -> None:
    """Read files, and note those whose form claims no list of nodes, so that their edges do not dangle."""
    before, tables.lists_nodes = tables.lists_nodes, False
    try:
        form.read(files, tables)
        if not tables.lists_nodes:
            tables.open_files |= {source.number for source in files}
    finally:
        tables.lists_nodes |= before
