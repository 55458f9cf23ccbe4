"""Load an import directory into a graph store: stage, check, compare, write what differs."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

from pydantic import Field

from kgcheck import clock
from kgcheck.duck import working_database
from kgcheck.errors import InputMissing
from kgcheck.graph.changes import ChangedStore
from kgcheck.graph.store import DONE, FORMAT, LOAD, STORE_FORMAT, UNDER_WAY, Counts, LoadTarget
from kgcheck.loading.compare import OUTDATED, REMOVED, Comparison
from kgcheck.loading.curated_conflicts import Curated, Settled, update_edges
from kgcheck.loading.manifest import (
    LOADED,
    LoadedFile,
    LoadManifest,
    digests,
    entry_name,
    origins,
    read_manifest,
    refuse_unfinished,
    rules_of,
    spared_files,
    unchanged,
)
from kgcheck.loading.quarantine import (
    FOREIGN,
    costly,
    cut_short,
    foreign_namespaces,
    incomplete,
    keep_rows,
    kept_rows,
    write_quarantine,
)
from kgcheck.loading.staging import CHANGED, NEW, OF_NONE, UNCHANGED, Staging, holder_name
from kgcheck.model import Value
from kgcheck.options import LoadOptions
from kgcheck.profile.import_files import load_recipe
from kgcheck.profile.schema import Holder, Label
from kgcheck.progress import NoProgress, Progress
from kgcheck.settings import Settings

_WRITE_ROWS = 10_000_000
"""Few large writes: LadybugDB rewrites what a table holds with each of them."""

_MEMORY_WHILE_WRITING = "512MB"


class FileCount(Value):
    """Counts of the rows of one source file, or of those of one label or pattern, by what became of them.

    read = loaded + changed + unchanged + quarantined + of_none.
    """

    file: str
    target: str
    read: int
    loaded: int
    changed: int
    unchanged: int
    quarantined: dict[str, int] = Field(default_factory=dict)
    ignored_columns: str = ""
    of_none: dict[str, int] = Field(
        default_factory=dict, description="rows that no entry of files.toml takes, by what they say"
    )


class LoadSummary(Value):
    """Summary of a load that was made, or would be."""

    store: str
    files: tuple[FileCount, ...]
    nodes: int = Field(description="that the store holds, of the profile's labels")
    edges: int
    removed: dict[str, int] = Field(default_factory=dict, description="facts taken away, by label or pattern")
    left: dict[str, int] = Field(default_factory=dict, description="facts that no file states, and that stay")
    quarantine: Path | None
    dry_run: bool = False
    warnings: tuple[str, ...] = Field(default=(), description="files that may be cut, or that cost edges")
    incomplete: str = Field(default="", description="why the graph lacks too much of what the files state, or nothing")
    namespaces: dict[str, int] = Field(
        default_factory=dict, description="namespaces that the profile does not load, and the rows that end there"
    )
    curated: int = Field(default=0, description="facts that patches changed and that stand as the patches left them")
    settled: tuple[Settled, ...] = Field(default=(), description="curated facts of which files now state else")

    @property
    def conflicts(self) -> tuple[Settled, ...]:
        """Curated facts of which files state something new; the curated state stays."""
        return tuple(s for s in self.settled if s.kind == "conflict")

    @property
    def of_none(self) -> dict[str, int]:
        """Rows that no entry of files.toml takes, by file and what they say."""
        return {f"{f.file}: {kind}": n for f in self.files for kind, n in f.of_none.items()}

    def total(self, field: str) -> int:
        return sum(getattr(f, field) for f in self.files)

    @property
    def quarantined(self) -> int:
        return sum(self.causes.values())

    @property
    def foreign(self) -> int:
        """Those of them whose missing end is in a namespace that the profile does not load."""
        return sum(n for reason, n in self.causes.items() if reason in FOREIGN)

    @property
    def causes(self) -> dict[str, int]:
        """Numbers of rows that were not loaded by reason, the most frequent first."""
        return dict(sum((Counter(f.quarantined) for f in self.files), Counter[str]()).most_common())


def load_directory(
    folder: Path,
    store: LoadTarget,
    settings: Settings,
    *,
    quarantine: Path,
    options: LoadOptions | None = None,
    progress: Progress | None = None,
    curated: Curated | None = None,
) -> LoadSummary:
    """Load an import directory of the store's profile.

    Nothing is written to the store before every file has been read and checked, so a broken file leaves it as it was.
    A load that was cut short is finished by the same load. A second load of the same directory changes nothing; files
    with the bytes of the last load are not read again, unless the store holds another number of facts than then.
    """
    load = _Load(folder, store, quarantine, options or LoadOptions(), progress or NoProgress())
    return load.run(settings, curated or Curated())


class _Load:
    def __init__(
        self, folder: Path, store: LoadTarget, quarantine: Path, options: LoadOptions, progress: Progress
    ) -> None:
        self._folder = folder
        self._store = store
        self._schema = store.schema
        self._recipe = load_recipe(store.schema)
        self._quarantine = quarantine
        self._options = options
        self._progress = progress
        self._at = clock.now().isoformat()

    def run(self, settings: Settings, curated: Curated) -> LoadSummary:
        with working_database(settings) as db:
            staging = Staging(db, self._schema, self._recipe, self._folder)
            hashes = digests(staging.files, self._progress)
            stored = self._store.counts()
            before = read_manifest(self._store.meta())
            if before and (self._options.full or before.rules != rules_of(self._schema, self._recipe)):
                before = None
            kept = kept_rows(db, self._quarantine) if before else {}
            same = unchanged(before, staging, hashes, stored, kept, prune=self._options.prune) if before else set()
            same = self._readable(staging, same)
            changed = [h for h in self._schema.holders if holder_name(h) not in same]
            staging.stage(changed, self._progress)
            comparison = Comparison(db, self._store, prune=self._options.prune, curated=curated)
            with _with_retired(self._store):
                comparison.judge(self._store.counts() if changed else stored, changed, self._progress)
            files = _file_counts(staging, comparison, before, same)
            warnings = (*cut_short(staging), *costly(staging, files))
            removed, left = self._gone(comparison, before, same)
            rejected = 0
            if not self._options.dry_run:
                staging.restore_rows()
                spared = spared_files(staging, same)
                keep_rows(db, self._quarantine, sorted({f.file for f in files if f.quarantined} & spared))
                rejected = write_quarantine(db, self._quarantine)
                self._store.prepare()
            if changed and not self._options.dry_run:
                # What is staged is on disk: the memory is for the store now.
                db.execute(f"SET memory_limit = '{_MEMORY_WHILE_WRITING}'").fetchall()
                differing = {f.target for f in files if f.loaded or f.changed} | set(removed)
                total = sum(f.loaded + f.changed for f in files) + sum(removed.values())
                self._write(comparison, total, differing | set(comparison.settling.instead))
                stored = self._store.counts()
                settled = sorted({s.holder for s in comparison.settling.settled})
                manifest = self._manifest(files, hashes, stored, left, before, spared)
                manifest = manifest.model_copy(update={"settled": tuple(settled)})
                self._store.set_meta(LOADED, manifest.model_dump_json())
            elif before and not self._options.dry_run:
                manifest = self._manifest(files, hashes, stored, left, before, spared)
                if manifest.files != before.files:
                    self._store.set_meta(LOADED, before.model_copy(update={"files": manifest.files}).model_dump_json())
            return LoadSummary(
                store=self._store.name,
                files=files,
                nodes=stored.total_nodes,
                edges=stored.total_edges,
                removed=removed,
                left=left,
                quarantine=self._quarantine if rejected else None,
                dry_run=self._options.dry_run,
                warnings=warnings,
                incomplete=incomplete(files, self._options.max_quarantined or ""),
                namespaces=foreign_namespaces(db),
                curated=comparison.settling.kept,
                settled=tuple(comparison.settling.settled),
            )

    def _write(self, comparison: Comparison, total: int, differing: set[str]) -> None:
        """Write what differs; a reader of the store is refused until all of it is there."""
        store, schema = self._store, self._schema
        # Format and version go first: a store that knows its profile knows those too, whenever this is cut short.
        store.set_meta(FORMAT, str(STORE_FORMAT))
        store.set_meta("profile_version", str(schema.profile.version))
        store.set_meta("profile", schema.profile.name)
        if total:
            store.set_meta(LOAD, UNDER_WAY)
        with store.changing(differing), self._progress.step(f"writing to {store.name}", total) as step:
            for label in schema.labels:
                for rows in comparison.rows(label, NEW, _WRITE_ROWS):
                    store.add_nodes(label, rows)
                    step.advance(rows.num_rows)
                for rows in comparison.rows(label, CHANGED, _WRITE_ROWS):
                    store.update_nodes(label, rows)
                    step.advance(rows.num_rows)
            for pattern in schema.relations:
                gone = (OUTDATED, REMOVED) if self._options.prune else (OUTDATED,)
                for what in gone:
                    for rows in comparison.rows(pattern, what, _WRITE_ROWS):
                        store.remove_edges(pattern, rows)
                        step.advance(rows.num_rows if what == REMOVED else 0)
                for what in (NEW, CHANGED):
                    for rows in comparison.rows(pattern, what, _WRITE_ROWS):
                        store.add_edges(pattern, rows)
                        step.advance(rows.num_rows)
            if comparison.settling.updates:
                update_edges(cast(ChangedStore, store), comparison.settling.updates)
            if self._options.prune:
                for label in schema.labels:
                    for rows in comparison.rows(label, REMOVED, _WRITE_ROWS):
                        store.remove_nodes(label, rows)
                        step.advance(rows.num_rows)
        store.set_meta(LOAD, DONE)

    def _readable(self, staging: Staging, same: set[str]) -> set[str]:
        """Return the labels and patterns that need not be read again, without those needed to read another."""
        while True:
            again = [e for e in staging.recipe_files() if e.target not in same]
            # A shared file is read as a whole, and where ends tell of which pattern a row is, they must be known.
            files = {e.file for e in again}
            needed = {label for e in again for label in staging.decided_by_ends(e)}
            rest = same - needed - {e.target for e in staging.recipe_files() if e.file in files}
            if rest == same:
                return same
            same = {n for n in rest if isinstance(h := self._named(n), Label) or {h.head, h.tail} <= rest}

    def _named(self, name: str) -> Holder:
        return next(h for h in self._schema.holders if holder_name(h) == name)

    def _gone(
        self, comparison: Comparison, before: LoadManifest | None, same: set[str]
    ) -> tuple[dict[str, int], dict[str, int]]:
        gone = {holder_name(h): comparison.gone(h).get(REMOVED, 0) for h in self._schema.holders}
        if before:
            gone |= {name: before.left.get(name, 0) for name in same}
        found = {name: n for name, n in gone.items() if n}
        return (found, {}) if self._options.prune else ({}, found)

    def _manifest(
        self,
        files: tuple[FileCount, ...],
        hashes: dict[str, str],
        counts: Counts,
        left: dict[str, int],
        before: LoadManifest | None,
        spared: set[str],
    ) -> LoadManifest:
        known = origins(self._folder)
        entries = {}
        for f in files:
            name = entry_name(f.file, f.target, self._recipe)
            entries[name] = (
                before.files[name].model_copy(update={"origins": known.get(f.file) or before.files[name].origins})
                if before and f.file in spared
                else LoadedFile(
                    target=f.target,
                    sha256=hashes[f.file],
                    read=f.read,
                    loaded=f.loaded + f.changed + f.unchanged,
                    quarantined=f.quarantined,
                    ignored_columns=f.ignored_columns,
                    of_none=f.of_none,
                    at=self._at,
                    origins=known.get(f.file, ()),
                )
            )
        rules = rules_of(self._schema, self._recipe)
        return LoadManifest(at=self._at, rules=rules, counts=counts, files=entries, left=left)


@contextmanager
def _with_retired(store: LoadTarget) -> Iterator[None]:
    """Count retired nodes and edges as there: what the files state of them is nothing new."""
    before, store.with_retired = store.with_retired, True
    try:
        yield
    finally:
        store.with_retired = before


def _file_counts(
    staging: Staging, comparison: Comparison, before: LoadManifest | None, same: set[str]
) -> tuple[FileCount, ...]:
    counts = []
    judged: dict[str, dict[str, dict[str, int]]] = {}
    spared = spared_files(staging, same)
    for file in staging.recipe_files():
        holder: Holder = staging.holder(file)
        name = holder_name(holder)
        if before and file.file in spared:
            counts.append(_as_before(file.file, before.files[entry_name(file.file, name, staging.recipe)]))
            continue
        if name not in judged:
            judged[name] = comparison.counts(holder)
        rows = judged[name].get(file.file, {})
        counts.append(
            FileCount(
                file=file.file,
                target=name,
                read=sum(rows.values()),
                loaded=rows.pop(NEW, 0),
                changed=rows.pop(CHANGED, 0),
                unchanged=rows.pop(UNCHANGED, 0),
                quarantined=rows,
                ignored_columns=", ".join(staging.ignored[file.file]),
            )
        )
    for shared in staging.shared():
        if before and shared in spared:
            counts.append(_as_before(shared, before.files[entry_name(shared, OF_NONE, staging.recipe)]))
            continue
        unread, of_none = staging.unread(shared), staging.of_none[shared]
        read = sum(unread.values()) + sum(of_none.values())
        counts.append(
            FileCount(
                file=shared,
                target=OF_NONE,
                read=read,
                loaded=0,
                changed=0,
                unchanged=0,
                quarantined=unread,
                of_none=of_none,
            )
        )
    return tuple(counts)


def _as_before(name: str, entry: LoadedFile) -> FileCount:
    return FileCount(
        file=name,
        target=entry.target,
        read=entry.read,
        loaded=0,
        changed=0,
        unchanged=entry.loaded,
        quarantined=entry.quarantined,
        ignored_columns=entry.ignored_columns,
        of_none=entry.of_none,
    )


def import_folder(directory: str | Path) -> Path:
    """An import directory; refused before a store is made for it where it is not there."""
    path = Path(directory)
    if not path.is_dir():
        detail = f"{path} is a file, and not a folder" if path.is_file() else f"there is no folder {path}"
        raise InputMissing(detail, "name an import directory: databases/ and ontologies/")
    refuse_unfinished(path)
    return path
