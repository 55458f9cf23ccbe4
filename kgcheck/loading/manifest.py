"""LoadManifest: record of the last load in the store, and the source files a reload can skip."""

import hashlib
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, Field, ValidationError

from kgcheck import __version__
from kgcheck.errors import LET_READ, InputError, InputMissing
from kgcheck.graph.store import DONE, LOAD, Counts
from kgcheck.inputs import parse_json, read_whole, sha256_of
from kgcheck.loading.staging import Staging
from kgcheck.model import Value
from kgcheck.profile.import_files import Recipe
from kgcheck.profile.schema import Schema
from kgcheck.progress import Progress

LOADED = "loaded"
"""Key of the manifest in what a store says about itself."""

MANIFEST = "manifest.json"
"""File of an import directory that says where its files come from."""

_LARGEST_MANIFEST = 4_000_000
"""Bytes of a manifest that is read."""

SNAPSHOT_MADE = "snapshot_made"
"""Key of such a manifest where `kgcheck build` made the snapshot beside it, too."""

UNFINISHED = "unfinished"
"""Key of such a manifest while `kgcheck build` puts files in place."""

_DATE = re.compile(r"(?<!\d)(?:19|20)\d\d(?:-(?:0[1-9]|1[0-2])(?:-[0-3]\d)?)?(?!\d)")
"""A year, month or day in what a manifest says of a version: ``2021_01``, ``v10 2018``, ``1.031.6, 2022-06-13``."""


class Origin(Value):
    """Origin of a source file, as the import directory's own manifest says."""

    name: str
    version: str = ""
    licence: str = ""
    sha256: str = Field(default="", description="of the provider's file, where kgcheck built the directory from it")


class LoadedFile(Value):
    """One source file as it was loaded: read = loaded + quarantined."""

    # Stores that an earlier version loaded say more.
    model_config = ConfigDict(extra="ignore")

    target: str
    sha256: str
    read: int
    loaded: int
    quarantined: dict[str, int] = Field(default_factory=dict)
    ignored_columns: str = ""
    at: str
    origins: tuple[Origin, ...] = ()


class LoadManifest(Value):
    """Every file of the last load, and what the store held after it."""

    at: str
    kgcheck: str = __version__
    rules: str = Field(description="digest of the schema and the recipe")
    counts: Counts
    files: dict[str, LoadedFile]
    left: dict[str, int] = Field(default_factory=dict, description="facts of a label or pattern that no file states")
    settled: tuple[str, ...] = Field(default=(), description="labels and patterns of which patches stand otherwise")


def read_manifest(meta: dict[str, str]) -> LoadManifest | None:
    """The manifest of a store's last load."""
    manifest = _last_manifest(meta)
    return manifest if manifest and manifest.kgcheck == __version__ else None


def _last_manifest(meta: Mapping[str, str]) -> LoadManifest | None:
    if meta.get(LOAD) != DONE or LOADED not in meta:
        return None
    with suppress(ValidationError):
        return LoadManifest.model_validate_json(meta[LOADED])
    return None


def graph_dates(meta: Mapping[str, str], schema: Schema, date: str | None = None) -> dict[str, str]:
    """Return the dates of a graph by label and pattern: the newest that the sources of their files state."""
    if date:
        return {str(holder): date for holder in schema.holders}
    manifest = _last_manifest(meta)
    found: dict[str, str] = {}
    for file in manifest.files.values() if manifest else ():
        for origin in file.origins:
            for found_date in _DATE.findall(origin.version):
                found[file.target] = max(found.get(file.target, ""), found_date)
    return found


def built_from(meta: Mapping[str, str]) -> frozenset[str]:
    """Return the hashes of the providers' files that a graph was built from."""
    manifest = _last_manifest(meta)
    files = manifest.files.values() if manifest else ()
    return frozenset(origin.sha256 for file in files for origin in file.origins if origin.sha256)


def rules_of(schema: Schema, recipe: Recipe) -> str:
    """Digest of everything that decides what a source file becomes."""
    return hashlib.sha256(f"{schema.digest} {recipe.model_dump_json()}".encode()).hexdigest()[:12]


def digests(files: dict[str, Path], progress: Progress) -> dict[str, str]:
    """Hash every source file."""
    found = {}
    with progress.step("looking for changed files", len(files)) as step:
        for name, path in files.items():
            try:
                found[name] = sha256_of(path)
            except OSError as error:
                raise InputMissing(f"cannot read {path}: {error.strerror}", LET_READ) from error
            step.advance()
    return found


def origins(folder: Path) -> dict[str, tuple[Origin, ...]]:
    """The sources of each file, from the directory's own manifest; empty where it has none that can be read."""
    found: dict[str, tuple[Origin, ...]] = {}
    try:
        for name, file in _directory_manifest(folder)["files"].items():
            fields = [{k: str(s[k]) for k in Origin.model_fields if k in s} for s in file.get("sources", ())]
            # Half a character, which JSON can name, can be written nowhere.
            "".join(text for f in fields for text in f.values()).encode()
            found[name] = tuple(Origin.model_validate(f) for f in fields)
    except (ValueError, KeyError, AttributeError, TypeError):
        # It is a courtesy of whoever made the directory, in no form that is agreed.
        return {}
    return found


def made_by_build(folder: Path, *, snapshot: bool = False) -> bool:
    """Tell whether `kgcheck build` made the directory, or the snapshot in it."""
    manifest = _directory_manifest(folder)
    made = str(manifest.get("made_by", "")).startswith("kgcheck ")
    return made and (manifest.get(SNAPSHOT_MADE) is True or not snapshot)


def refuse_unfinished(folder: Path) -> None:
    """Refuse a directory whose build was cut off while its files were put in place."""
    if _directory_manifest(folder).get(UNFINISHED) is True:
        raise InputMissing(f"the build of {folder} was cut off: its files are of two builds", "run kgcheck build again")


def _directory_manifest(folder: Path) -> dict[str, Any]:
    path = folder / MANIFEST
    try:
        found = parse_json(read_whole(path)) if path.stat().st_size <= _LARGEST_MANIFEST else None
    except (InputError, OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def is_as_before(
    manifest: LoadManifest, staging: Staging, hashes: dict[str, str], counts: Counts, kept: dict[str, int]
) -> bool:
    """Tell whether a store holds what the files state, and the quarantine what else they do, as the last load left it.

    `kept` is the number of rows of each file in the quarantine.
    """
    rejected = {name: sum(file.quarantined.values()) for name, file in manifest.files.items()}
    return (
        manifest.rules == rules_of(staging.schema, staging.recipe)
        and hashes == {name: file.sha256 for name, file in manifest.files.items()}
        and all(kept.get(name, 0) == rejected[name] for name in hashes)
        and counts == manifest.counts
        and not manifest.settled
    )
