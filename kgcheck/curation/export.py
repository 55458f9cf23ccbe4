"""Export a patch as a corrected import directory: rewrite the rows of source files it changes.

The loader itself reads the files and says which line states what, so that a line is found by what it becomes in the
graph, however it is written.
"""

import csv
import io
import re
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa

from kgcheck.context import Context
from kgcheck.curation.operations import Patch, in_words, read_patch
from kgcheck.curation.patches import Recorded, check_place, opened, patches_in, recorded_in
from kgcheck.curation.steps import (
    DraftGraph,
    SetEdge,
    SetNode,
    Stamp,
    WholeEdge,
    WholeNode,
    do_all,
    steps_of,
    updated,
)
from kgcheck.duck import working_database
from kgcheck.errors import InputError, UsageError
from kgcheck.graph.changes import NotAsExpected, StoreChanges, digest
from kgcheck.graph.marks import MARKS, RETIRED
from kgcheck.graph.open import OpenedStore
from kgcheck.graph.store import Properties, brought_to
from kgcheck.loading.curated_conflicts import Curated, CuratedFact
from kgcheck.loading.lines import Records
from kgcheck.loading.load import import_folder
from kgcheck.loading.staging import Staging, holder_name, keys_of, staged, stated_by
from kgcheck.model import Ref, Triple
from kgcheck.profile.import_files import EdgeFile, NodeFile, load_recipe
from kgcheck.profile.schema import Holder, Label
from kgcheck.progress import NoProgress, Progress
from kgcheck.quoting import identifier
from kgcheck.settings import Settings


def curated_by_patches(store: OpenedStore) -> Curated:
    """Collect the changes of patches in a store that knows of some."""
    recorded = [done for patch in patches_in(store) for done in recorded_in(store, patch)]
    return curated_by(sorted(recorded, key=lambda r: (r.turn, r.at, r.patch, r.number)))


def curated_by(recorded: Iterable[Recorded]) -> Curated:
    """Collect the changes of recorded operations."""
    found = _Found()
    for done in recorded:
        found.add(done)
    return Curated(tuple(found.touched_nodes()), tuple(found.touched_edges()))


@dataclass
class _Fact:
    """A node or an edge while its steps are gone through."""

    patch: str
    finding: str
    before: Properties | None
    after: Properties
    retired: bool = False
    there: bool = True
    recorded: list[tuple[str, int]] = field(default_factory=list)


class _Found:
    def __init__(self) -> None:
        self._nodes: dict[Ref, _Fact] = {}
        self._edges: dict[tuple[Triple, str], list[_Fact]] = {}
        self._dropped: list[tuple[Triple, _Fact]] = []

    def add(self, done: Recorded) -> None:
        for number, step in enumerate(done.steps):
            recorded = f"patch {done.patch} {done.number:08d}", number
            if isinstance(step, SetNode | WholeNode):
                self._node(step, done)
            else:
                self._edge(step, done, recorded)

    def touched_nodes(self) -> Iterator[CuratedFact]:
        for ref, f in self._nodes.items():
            if f.there or f.before is not None:
                yield CuratedFact(ref.label, (ref.id,), f.patch, f.finding, f.before, f.after, f.retired, f.there)

    def touched_edges(self) -> Iterator[CuratedFact]:
        present = [(triple, f) for (triple, _), facts in self._edges.items() for f in facts]
        for triple, f in (*present, *self._dropped):
            if f.there or f.before is not None:
                pattern = f"{triple.head.label} {triple.relation} {triple.tail.label}"
                ends, known = (triple.head.id, triple.tail.id), (digest(f.after), tuple(f.recorded))
                yield CuratedFact(pattern, ends, f.patch, f.finding, f.before, f.after, f.retired, f.there, *known)

    def _node(self, step: SetNode | WholeNode, done: Recorded) -> None:
        known = self._nodes.get(step.ref)
        fact = known or _Fact(done.patch, done.operation.finding, {}, {})
        self._nodes[step.ref] = fact
        fact.patch, fact.finding = done.patch, done.operation.finding
        match step:
            case SetNode():
                changed = {name: value for name, value in step.after.items() if name not in MARKS}
                if fact.before is not None:
                    fact.before = {name: step.before[name] for name in changed} | fact.before
                fact.after |= changed
                fact.retired = bool(step.after.get(RETIRED, fact.retired))
            case WholeNode(step="add_node"):
                # One that was taken away, and is made again, was there before.
                fact.before, fact.after = (fact.before if known else None), _unmarked(step.properties)
                fact.there, fact.retired = True, False
            case WholeNode():
                if fact.before is not None:
                    fact.before = _unmarked(step.properties) | fact.before
                fact.there, fact.retired = False, True

    def _edge(self, step: SetEdge | WholeEdge, done: Recorded, recorded: tuple[str, int]) -> None:
        match step:
            case SetEdge(triple=triple, properties=properties):
                fact = self._taken(triple, properties, done)
                fact.after = updated(properties, step.after)
                fact.retired = RETIRED in fact.after
            case WholeEdge(step="drop_edge", triple=triple, properties=properties):
                fact = self._taken(triple, properties, done)
                fact.there, fact.retired = False, True
                self._dropped.append((triple, fact))
                return
            case WholeEdge(triple=triple, properties=properties):
                fact = _Fact(done.patch, done.operation.finding, None, dict(properties))
        fact.recorded.append(recorded)
        self._edges.setdefault((triple, digest(fact.after)), []).append(fact)

    def _taken(self, triple: Triple, properties: Properties, done: Recorded) -> _Fact:
        """The edge that is so by now: one that a step made so, or one that no step has touched."""
        known = self._edges.get((triple, digest(properties)))
        fact = known.pop() if known else _Fact(done.patch, "", dict(properties), dict(properties))
        fact.patch, fact.finding = done.patch, done.operation.finding
        return fact


def _unmarked(properties: Properties) -> Properties:
    return {name: value for name, value in properties.items() if name not in MARKS}


_LINE_END = re.compile(rb"\r\n|\n|\r")
_COMPRESSED = {".gz": "gzip", ".zst": "zstd"}

Entry = NodeFile | EdgeFile


class Unplaced(NamedTuple):
    """A change that no row of the files can be made to state."""

    what: str
    why: str
    finding: str


class Exported(NamedTuple):
    """Result of an export."""

    folder: Path
    rows: dict[str, int]
    """Number of rows of each file that are others, added or gone."""
    unplaced: tuple[Unplaced, ...]

    def as_row(self) -> dict[str, Any]:
        unplaced = [u._asdict() for u in self.unplaced]
        return {"folder": str(self.folder), "rows": self.rows, "unplaced": unplaced}


class _Addressed(NamedTuple):
    """A line of a file that states a fact."""

    file: str
    line: int
    row: dict[str, Any]


class _Unwritable(Exception):
    """A value that a file cannot hold."""


def export(context: Context, folder: Path, source: Path, out: Path) -> Exported:
    """Write an import directory with what the patch in a folder changes, whether it is applied or not."""
    patch = read_patch(folder)
    with opened(context, write=False) as store:
        return export_patch(patch, store, import_folder(source), out, context.settings, progress=context.progress)


def export_patch(
    patch: Patch,
    store: OpenedStore,
    import_dir: Path,
    out: Path,
    settings: Settings,
    *,
    progress: Progress | None = None,
) -> Exported:
    """Write an import directory with what a patch changes."""
    _check_folders(import_dir, out)
    check_place(patch, store)
    recorded, unplaced = _steps(patch, store)
    curated = curated_by(recorded)
    progress = progress or NoProgress()
    with working_database(settings) as db:
        staging = Staging(db, store.schema, load_recipe(store.schema), import_dir)
        staging.stage(list(store.schema.holders), progress)
        edits = _Edits(db, staging)
        # What goes comes first: its rows may become those of what comes.
        for fact in sorted((*curated.nodes, *curated.edges), key=lambda t: t.before is None):
            try:
                edits.add(fact)
            except _Unwritable as error:
                unplaced.append(Unplaced(_shown(fact), str(error), fact.finding))
        edits.drop_the_rest()
        _write(import_dir, out, staging, edits, progress)
    return Exported(out, edits.counts(), tuple(unplaced))


def _steps(patch: Patch, store: OpenedStore) -> tuple[list[Recorded], list[Unplaced]]:
    done = {r.number: r for r in recorded_in(store, patch.id)}
    found: list[Recorded] = []
    unplaced: list[Unplaced] = []
    with store.statements(write=False) as run:
        draft = DraftGraph(StoreChanges(store, run))
        for number, operation in enumerate(patch.operations, 1):
            if number in done:
                found.append(done[number])
                continue
            try:
                steps = steps_of(operation, draft, Stamp("", ""))
                do_all(steps, draft)
            except NotAsExpected as error:
                unplaced.append(Unplaced(in_words(operation), str(error), operation.finding))
            else:
                found.append(Recorded(patch.id, number, operation, steps, "", "", 0))
    return found, unplaced


class _Edits:
    """Edits of the lines of each file."""

    def __init__(self, db: duckdb.DuckDBPyConnection, staging: Staging) -> None:
        self._db = db
        self._staging = staging
        self._cells: dict[str, dict[int, dict[str, str]]] = {}
        self._going: dict[tuple[str, str], list[tuple[CuratedFact, list[_Addressed]]]] = {}
        self._dropped: dict[str, set[int]] = {}
        self._new: dict[str, list[dict[str, str]]] = {}
        self._headers: dict[str, list[str]] = {}

    def add(self, fact: CuratedFact) -> None:
        holder = next(h for h in self._staging.schema.holders if holder_name(h) == fact.holder)
        if fact.before is None:
            if not fact.retired:
                self._make(holder, fact)
            return
        changed = {n: v for n, v in fact.after.items() if n in holder.properties and v != fact.before.get(n)}
        if not changed and not fact.retired:
            return
        places = self._places(holder, fact)
        if not places:
            raise _Unwritable("no row of the files states it")
        if fact.retired:
            self._going.setdefault((fact.finding, fact.holder), []).append((fact, places))
            return
        for place in places:
            self._set(place, self._values(holder, self._entry(place.file, fact.holder), changed))

    def drop_the_rest(self) -> None:
        """Drop the lines of what is retired and did not become something else."""
        for _, places in (each for group in self._going.values() for each in group):
            for place in places:
                self._dropped.setdefault(place.file, set()).add(place.line)

    def counts(self) -> dict[str, int]:
        files = sorted({*self._cells, *self._dropped, *self._new})
        return {f: n for f in files if (n := len(self.lines(f)) + len(self.new(f)))}

    def lines(self, file: str) -> dict[int, dict[str, str] | None]:
        """By number, the cells that are others; None of a line that goes."""
        found: dict[int, dict[str, str] | None] = dict(self._cells.get(file, {}))
        return found | dict.fromkeys(self._dropped.get(file, ()))

    def new(self, file: str) -> list[dict[str, str]]:
        return self._new.get(file, [])

    def header(self, file: str) -> list[str]:
        if file not in self._headers:
            self._headers[file] = Records(self._staging.files[file]).header
        return self._headers[file]

    def _make(self, holder: Holder, fact: CuratedFact) -> None:
        """A fact that a patch made: in place of one that it came from, or in a row of its own."""
        keys = dict(zip(keys_of(holder), fact.key, strict=True))
        wanted = {
            n: brought_to(p.type, v) for n, p in holder.properties.items() if (v := fact.after.get(n)) is not None
        }
        former = self._going.get((fact.finding, fact.holder), [])
        for i, (_, places) in enumerate(former):
            if all(_stated_alike(place.row, wanted, holder) for place in places):
                for place in places:
                    entry = self._entry(place.file, fact.holder)
                    other = {n: wanted.get(n) for n in holder.properties if place.row[n] != wanted.get(n)}
                    self._set(place, self._keys(entry, keys) | self._values(holder, entry, other))
                former.pop(i)
                return
        reasons = []
        for entry in self._staging.recipe_files():
            if entry.target == fact.holder:
                try:
                    cells = self._keys(entry, keys) | self._values(holder, entry, wanted)
                except _Unwritable as error:
                    reasons.append(str(error))
                    continue
                if entry.where:
                    cells = {entry.where.column: (entry.where.equals or entry.where.contains)[0]} | cells
                self._new.setdefault(entry.file, []).append(cells)
                return
        raise _Unwritable("; ".join(dict.fromkeys(reasons)) or "no file has rows of this kind")

    def _places(self, holder: Holder, fact: CuratedFact) -> list[_Addressed]:
        names, keys = stated_by(holder), keys_of(holder)
        columns = ", ".join(identifier(n) for n in names)
        same = " AND ".join(f"{k} = ?" for k in keys)
        select = f"SELECT file, line, {columns} FROM {staged(holder)} WHERE reason IS NULL AND {same}"
        rows = self._db.execute(select, list(fact.key)).fetchall()
        found = [_Addressed(file, line, dict(zip(names, row, strict=True))) for file, line, *row in rows]
        if isinstance(holder, Label):
            return found
        before = fact.before or {}
        wanted = {
            n: None if (v := before.get(n)) is None else brought_to(p.type, v) for n, p in holder.properties.items()
        }
        return [place for place in found if {n: place.row[n] for n in wanted} == wanted]

    def _entry(self, file: str, target: str) -> Entry:
        return next(e for e in self._staging.recipe.by_file[file] if e.target == target)

    def _set(self, place: _Addressed, cells: dict[str, str]) -> None:
        self._cells.setdefault(place.file, {}).setdefault(place.line, {}).update(cells)

    def _keys(self, entry: Entry, keys: dict[str, str]) -> dict[str, str]:
        return {column: entry.prefixes[key] + keys[key] for key, column in entry.keys.items()}

    def _values(self, holder: Holder, entry: Entry, values: Properties) -> dict[str, str]:
        cells = {}
        for name, value in values.items():
            column = entry.properties.get(name)
            if column is None or column not in self.header(entry.file):
                if value is None:
                    continue
                raise _Unwritable(f"{entry.file} has no column for {name}")
            others = [*entry.keys.values(), *(c for n, c in entry.properties.items() if n != name)]
            if column in [*others, *([entry.where.column] if entry.where else [])]:
                raise _Unwritable(f"{entry.file} has more than {name} in its column {column}")
            cells[column] = self._cell(name, value)
        return cells

    def _cell(self, name: str, value: Any) -> str:
        if value is None:
            return ""
        if isinstance(value, list):
            separator = self._staging.recipe.format.list_separator
            text = separator.join(value)
            if [item.strip() for item in text.split(separator) if item.strip()] != value:
                raise _Unwritable(f"{name} has an item that a list in a file cannot hold")
        else:
            text = repr(value) if isinstance(value, float) else str(value)
        if re.search(r"[\n\r\0]", text) or (text == "" and value == ""):
            raise _Unwritable(f"{name} has what a line of a file cannot hold")
        return text


def _stated_alike(row: dict[str, Any], wanted: Properties, holder: Holder) -> bool:
    """Tell whether a row states the same but for its keys; of a node, more may be different."""
    return isinstance(holder, Label) or all(row[n] == wanted.get(n) for n in holder.properties)


def _write(import_dir: Path, out: Path, staging: Staging, edits: _Edits, progress: Progress) -> None:
    touched = {staging.files[name]: name for name in edits.counts()}
    paths = sorted(p for p in import_dir.rglob("*") if p.is_file())
    try:
        out.mkdir(parents=True, exist_ok=True)
        with progress.step(f"writing {out}", len(paths)) as step:
            for path in paths:
                target = out / path.relative_to(import_dir)
                target.parent.mkdir(parents=True, exist_ok=True)
                if path in touched:
                    _rewrite(path, target, edits, touched[path])
                else:
                    shutil.copyfile(path, target)
                step.advance()
    except OSError as error:
        raise InputError(
            f"cannot write {out}: {error.strerror or error}", "free disk space, or name another"
        ) from error


def _rewrite(path: Path, target: Path, edits: _Edits, name: str) -> None:
    """A file with some lines others; all other bytes as they are."""
    lines, header = edits.lines(name), edits.header(name)
    compression = _COMPRESSED.get(path.suffix)
    end = b"\n"
    with (
        pa.input_stream(path, compression="detect") as source,
        pa.output_stream(target, compression=compression) as written,
    ):
        number, last = 0, b"\n"
        for text, line_end in _lines(source):
            number += 1
            end, last = line_end or end, line_end
            if number not in lines:
                written.write(text + line_end)
            elif (cells := lines[number]) is not None:
                written.write(_changed(text, header, cells) + line_end)
        for cells in edits.new(name):
            if not last:
                written.write(end)
                last = end
            row = "\t".join(_quoted(cells.get(column, "")) for column in header)
            written.write(row.encode() + end)


def _lines(source: Any) -> Iterator[tuple[bytes, bytes]]:
    """The lines of a stream, each with its end, as `kgcheck.loading.lines` tells them apart."""
    for chunk in io.BufferedReader(source, 1 << 20):
        at = 0
        for found in _LINE_END.finditer(chunk):
            yield chunk[at : found.start()], found[0]
            at = found.end()
        if at < len(chunk):
            yield chunk[at:], b""


def _changed(raw: bytes, header: list[str], cells: dict[str, str]) -> bytes:
    """A line with some cells others; the others stay written as they are."""
    fields = _fields(raw.decode())
    for column, cell in cells.items():
        fields[header.index(column)] = _quoted(cell)
    return "\t".join(fields).encode()


def _fields(text: str) -> list[str]:
    """The fields of a line as they are written, quotes included."""
    if '"' not in text:
        return text.split("\t")
    fields, rest = [], text
    while True:
        quoted = re.match(r'"(?:[^"]|"")*"[^\t]*', rest)
        field = quoted[0] if quoted else rest.partition("\t")[0]
        fields.append(field)
        if len(field) == len(rest):
            break
        rest = rest[len(field) + 1 :]
    if len(fields) != len(next(csv.reader([text], delimiter="\t"))):
        raise InputError(f"the line {text[:80]!r} cannot be told apart", "write it without quotes")
    return fields


def _quoted(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"' if re.search(r'["\t]', cell) else cell


def _check_folders(import_dir: Path, out: Path) -> None:
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"{out} is not empty", "name a new folder with --out")
    if out.resolve().is_relative_to(import_dir.resolve()):
        raise UsageError(f"{out} is in {import_dir}", "name another folder with --out")


def _shown(fact: CuratedFact) -> str:
    if len(fact.key) == 1:
        return f"{fact.holder} {fact.key[0]}"
    return f"{fact.key[0]} {fact.holder.split(' ')[1]} {fact.key[1]}"
