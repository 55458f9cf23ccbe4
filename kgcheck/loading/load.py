"""Load an import directory into a graph store: stage, check, compare, write what differs."""

from collections import Counter
from pathlib import Path
from typing import cast

import duckdb
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
    is_as_before,
    origins,
    read_manifest,
    refuse_unfinished,
    rules_of,
)
from kgcheck.loading.quarantine import (
    FOREIGN,
    costly,
    cut_short,
    foreign_namespaces,
    incomplete,
    kept_rows,
    read_quarantine,
    write_quarantine,
)
from kgcheck.loading.staging import CHANGED, NEW, UNCHANGED, Staging
from kgcheck.model import Value
from kgcheck.options import LoadOptions
from kgcheck.profile.import_files import load_recipe
from kgcheck.progress import NoProgress, Progress
from kgcheck.settings import Settings

_WRITE_ROWS = 10_000_000
"""Few large writes: LadybugDB rewrites what a table holds with each of them."""

_MEMORY_WHILE_WRITING = "512MB"


class FileCount(Value):
    """Counts of the rows of one source file by what became of them: read is the sum of the others."""

    file: str
    target: str
    read: int
    loaded: int
    changed: int
    unchanged: int
    quarantined: dict[str, int] = Field(default_factory=dict)
    ignored_columns: str = ""


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
    A load that was cut short is finished by the same load. A second load of the same directory changes nothing; it does
    not read the files again, unless the store holds another number of facts than then.
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
            before = None if self._options.full else read_manifest(self._store.meta())
            kept = kept_rows(db, self._quarantine) if before else {}
            prunes = before is not None and self._options.prune and bool(before.left)
            if before and not prunes and is_as_before(before, staging, hashes, stored, kept):
                if kept:
                    read_quarantine(db, self._quarantine)
                return self._as_before(db, staging, before)
            staging.stage(self._progress)
            comparison = Comparison(db, self._store, prune=self._options.prune, curated=curated)
            # What is retired is there: what the files state of it is nothing new.
            shows_retired, self._store.with_retired = self._store.with_retired, True
            try:
                comparison.judge(self._store.counts(), self._progress)
            finally:
                self._store.with_retired = shows_retired
            files = _file_counts(staging, comparison)
            gone = {str(h): n for h in self._schema.holders if (n := comparison.gone(h).get(REMOVED, 0))}
            removed, left = (gone, {}) if self._options.prune else ({}, gone)
            rejected = 0
            if not self._options.dry_run:
                staging.restore_rows()
                rejected = write_quarantine(db, self._quarantine)
                self._store.prepare()
                # What is staged is on disk: the memory is for the store now.
                db.execute(f"SET memory_limit = '{_MEMORY_WHILE_WRITING}'").fetchall()
                differing = {f.target for f in files if f.loaded or f.changed} | set(removed)
                total = sum(f.loaded + f.changed for f in files) + sum(removed.values())
                self._write(comparison, total, differing | set(comparison.settling.instead))
                stored = self._store.counts()
                settled = sorted({s.holder for s in comparison.settling.settled})
                manifest = self._manifest(files, hashes, stored, left, settled)
                self._store.set_meta(LOADED, manifest.model_dump_json())
            settling = comparison.settling
            summary = self._summary(db, staging, files, stored, is_rejected=rejected > 0)
            known = {"removed": removed, "left": left, "curated": settling.kept, "settled": tuple(settling.settled)}
            return summary.model_copy(update=known)

    def _as_before(self, db: duckdb.DuckDBPyConnection, staging: Staging, before: LoadManifest) -> LoadSummary:
        """The summary of a load of files that have not changed, into a store that has not either."""
        files = tuple(_as_before(file.file, before.files[file.file]) for file in staging.recipe_files())
        known = origins(self._folder)
        named = {n: f.model_copy(update={"origins": known.get(n) or f.origins}) for n, f in before.files.items()}
        if named != before.files and not self._options.dry_run:
            self._store.set_meta(LOADED, before.model_copy(update={"files": named}).model_dump_json())
        summary = self._summary(db, staging, files, before.counts, is_rejected=any(f.quarantined for f in files))
        return summary.model_copy(update={"left": before.left})

    def _summary(
        self,
        db: duckdb.DuckDBPyConnection,
        staging: Staging,
        files: tuple[FileCount, ...],
        stored: Counts,
        *,
        is_rejected: bool,
    ) -> LoadSummary:
        return LoadSummary(
            store=self._store.name,
            files=files,
            nodes=stored.total_nodes,
            edges=stored.total_edges,
            quarantine=self._quarantine if is_rejected and not self._options.dry_run else None,
            dry_run=self._options.dry_run,
            warnings=(*cut_short(staging), *costly(staging, files)),
            incomplete=incomplete(files, self._options.max_quarantined or ""),
            namespaces=foreign_namespaces(db) if any(f.quarantined for f in files) else {},
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
                        if what == REMOVED:
                            step.advance(rows.num_rows)
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

    def _manifest(
        self,
        files: tuple[FileCount, ...],
        hashes: dict[str, str],
        counts: Counts,
        left: dict[str, int],
        settled: list[str],
    ) -> LoadManifest:
        known = origins(self._folder)
        entries = {
            f.file: LoadedFile(
                target=f.target,
                sha256=hashes[f.file],
                read=f.read,
                loaded=f.loaded + f.changed + f.unchanged,
                quarantined=f.quarantined,
                ignored_columns=f.ignored_columns,
                at=self._at,
                origins=known.get(f.file, ()),
            )
            for f in files
        }
        rules = rules_of(self._schema, self._recipe)
        return LoadManifest(at=self._at, rules=rules, counts=counts, files=entries, left=left, settled=tuple(settled))


def _file_counts(staging: Staging, comparison: Comparison) -> tuple[FileCount, ...]:
    judged = {str(holder): comparison.counts(holder) for holder in staging.schema.holders}
    counts = []
    for file in staging.recipe_files():
        rows = judged[file.target].get(file.file, {})
        counts.append(
            FileCount(
                file=file.file,
                target=file.target,
                read=sum(rows.values()),
                loaded=rows.pop(NEW, 0),
                changed=rows.pop(CHANGED, 0),
                unchanged=rows.pop(UNCHANGED, 0),
                quarantined=rows,
                ignored_columns=", ".join(staging.ignored[file.file]),
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
    )


def import_folder(directory: str | Path) -> Path:
    """An import directory; refused before a store is made for it where it is not there."""
    path = Path(directory)
    if not path.is_dir():
        detail = f"{path} is a file, and not a folder" if path.is_file() else f"there is no folder {path}"
        raise InputMissing(detail, "name an import directory: databases/ and ontologies/")
    refuse_unfinished(path)
    return path
