"""Describe an audit's inputs; find the run that --changed-since names, if it still serves."""

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path

from kgcheck import __version__
from kgcheck.errors import UsageError
from kgcheck.graph.store import GraphStore
from kgcheck.ledger.ledger import Ledger, Run
from kgcheck.profile.schema import Schema
from kgcheck.reference.snapshot import Snapshot, SourceRelease

SINCE, KGCHECK, PROFILE, GRAPH, REFERENCE = "since", "kgcheck", "profile", "graph", "reference"
"""Keys of Run.made_with: the earlier run whose graph was read again, and what names the inputs."""


def describe_inputs(store: GraphStore, snapshot: Path | None, releases: Iterable[SourceRelease]) -> dict[str, str]:
    """Name what a run is made with, for Run.made_with."""
    return {
        KGCHECK: __version__,
        PROFILE: store.schema.digest,
        GRAPH: store.state() or "",
        REFERENCE: _digest(snapshot, releases) if snapshot else "",
    }


def find_earlier(ledger: Ledger, name: str, store: GraphStore) -> Run:
    """Find the finished audit of a store that an id names, or the newest that looked into a snapshot."""
    if (path := Path(name)).is_file():
        digest = _digest_of(path, store.schema)
        looked = (r for r in ledger.runs() if _is_finished(r, store) and r.made_with.get(REFERENCE) == digest)
        if found := next(looked, None):
            return found
        raise UsageError(f"no finished run of {store.name} looked into {path}", "leave out --changed-since")
    run = ledger.run(name)
    if not _is_finished(run, store):
        same = run.store_id == store.store_id()
        state = "is no finished audit" if same else f"is of the store that was at {run.store}"
        raise UsageError(f"run {run.id} {state}", "kgcheck runs lists the runs; name a finished audit of this store")
    return run


def explain_change(earlier: Run, inputs: Mapping[str, str]) -> str:
    """Explain why the graph must be read anew although an earlier run is named; empty where it need not."""
    before, now = earlier.made_with.get(GRAPH), inputs.get(GRAPH)
    if not before or not now:
        return f"nothing shows that it is as it was in run {earlier.id}"
    return f"it has changed since run {earlier.id}" if before != now else ""


def _digest_of(snapshot: Path, schema: Schema) -> str:
    with Snapshot(snapshot, schema) as opened:
        return _digest(snapshot, opened.releases())


def _digest(snapshot: Path, releases: Iterable[SourceRelease]) -> str:
    parts = [str(snapshot.stat().st_size), *sorted(release.model_dump_json() for release in releases)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _is_finished(run: Run, store: GraphStore) -> bool:
    return bool(run.finished and not run.is_check and run.store_id == store.store_id())
