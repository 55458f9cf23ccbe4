"""Whether a run may carry over what an earlier one found, and which run that is.

It may where all but the references is the same: the graph, what was asked for, the profile and kgcheck itself. What
cannot be known to be the same is taken for another.
"""

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from kgcheck import __version__
from kgcheck.errors import UsageError
from kgcheck.graph.store import Counts, GraphStore
from kgcheck.ledger.ledger import Ledger, Run
from kgcheck.options import AuditOptions
from kgcheck.profile.schema import Schema
from kgcheck.reference.snapshot import Snapshot, SourceRelease

SINCE, OLDER, KGCHECK, PROFILE, GRAPH, REFERENCE = "since", "older", "kgcheck", "profile", "graph", "reference"
"""Keys of Run.made_with: the run whose findings were carried over, with its snapshot; and what must be the same."""

_LEAVE_OUT = "leave out --changed-since to check everything"


class Since(NamedTuple):
    """An earlier run, and the snapshot that it looked into."""

    former: Run
    older: Path


def made_with(store: GraphStore, snapshot: Path | None, releases: Iterable[SourceRelease]) -> dict[str, str]:
    """What a run is made with, for Run.made_with: a graph, and a snapshot with its releases."""
    return {
        KGCHECK: __version__,
        PROFILE: store.schema.digest,
        GRAPH: store.state() or "",
        REFERENCE: _digest(snapshot, releases) if snapshot else "",
    }


def snapshot_digest(snapshot: Path, schema: Schema) -> str:
    """Names a snapshot wherever it lies: its releases, when each was built, its rows and its length."""
    with Snapshot(snapshot, schema) as opened:
        return _digest(snapshot, opened.releases())


def _digest(snapshot: Path, releases: Iterable[SourceRelease]) -> str:
    parts = [str(snapshot.stat().st_size), *sorted(release.model_dump_json() for release in releases)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def since(ledger: Ledger, name: str, options: AuditOptions, store: GraphStore) -> Since:
    """The earlier run that is meant."""
    _refuse_kinds(options)
    path, schema = Path(name), store.schema
    if path.is_file():
        digest = snapshot_digest(path, schema)
        runs = [r for r in ledger.runs() if _is_whole(r, store) and r.made_with.get(REFERENCE) == digest]
        if not runs:
            raise UsageError(f"no finished run of {store.name} looked into {path}", _LEAVE_OUT)
        alike = [r for r in runs if not _differing(r, options)]
        return _of_the_same(Since((alike or runs)[0], path), options, store)
    run = ledger.run(name)
    if not run.reference:
        raise UsageError(f"run {run.id} had no reference: it has nothing to go on from", _LEAVE_OUT)
    return checked(Since(run, Path(run.reference)), options, store)


def checked(found: Since, options: AuditOptions, store: GraphStore) -> Since:
    """Refuse an earlier run that cannot be gone on from; see `since`."""
    run, older = _of_the_same(found, options, store)
    if not older.is_file():
        raise UsageError(
            f"the snapshot of run {run.id} is not at {older} any more",
            f"name where it is kept: --changed-since SNAPSHOT; or {_LEAVE_OUT}",
        )
    stated = run.made_with.get(REFERENCE)
    if stated and snapshot_digest(older, store.schema) != stated:
        raise UsageError(
            f"{older} is not the snapshot any more that run {run.id} looked into",
            f"keep each snapshot under a name of its own and name that: --changed-since SNAPSHOT; or {_LEAVE_OUT}",
        )
    return found


def _of_the_same(found: Since, options: AuditOptions, store: GraphStore) -> Since:
    """Refuse an earlier run that is of another store, or was asked for something else."""
    run = found.former
    if not _is_whole(run, store):
        same = run.store_id == store.store_id()
        state = "is no finished audit" if same else f"is of the store that was at {run.store}"
        raise UsageError(f"run {run.id} {state}", "kgcheck runs lists the runs; name a finished audit of this store")
    if differing := _differing(run, options):
        raise UsageError(
            f"run {run.id} was asked for something else: {'; '.join(differing)}",
            f"ask for the same, or {_LEAVE_OUT}",
        )
    return found


def hindrance(former: Run, counts: Counts, now: Mapping[str, str]) -> str:
    """Why everything must be checked although an earlier run is named; empty where it need not."""
    then = former.made_with
    if not then:
        return f"run {former.id} did not keep what it was made with"
    if not now.get(GRAPH) or not then.get(GRAPH):
        return "this store does not say whether the graph has changed"
    if (then[GRAPH], former.nodes, former.edges) != (now[GRAPH], counts.nodes, counts.edges):
        return f"the graph has changed since run {former.id}"
    if then.get(PROFILE) != now[PROFILE]:
        return f"the profile has changed since run {former.id}"
    if then.get(KGCHECK) != now[KGCHECK]:
        return f"run {former.id} was made by kgcheck {then.get(KGCHECK)}"
    return ""


def _is_whole(run: Run, store: GraphStore) -> bool:
    return bool(run.finished and not run.is_check and run.store_id == store.store_id())


def _differing(run: Run, options: AuditOptions) -> list[str]:
    # The size of pieces changes nothing that is found.
    then, present = ({**values, "piece_tasks": 0} for values in (run.options, options.model_dump(mode="json")))
    names = [name for name in sorted({*then, *present}) if then.get(name) != present.get(name)]
    return [f"{name} was {then.get(name)!r} and is {present.get(name)!r}" for name in names]


def _refuse_kinds(options: AuditOptions) -> None:
    kinds = {
        "--live": options.live,
        "--sample": options.sample,
        "--literature": options.literature,
        "--team-budget": options.team_budget,
    }
    for name, wanted in kinds.items():
        if wanted:
            raise UsageError(
                f"{name} cannot be given with --changed-since: what it finds may be other each time",
                "leave one of them out",
            )
