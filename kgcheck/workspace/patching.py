"""Patches of a workspace: its store, its ledger and the folders that patches stand in."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from getpass import getuser
from pathlib import Path
from typing import TYPE_CHECKING

from kgcheck import clock
from kgcheck.audit.run import check_store
from kgcheck.curation.decisions import Decisions
from kgcheck.curation.export import Exported, export_patch
from kgcheck.curation.making import PatchMade, make_patch
from kgcheck.curation.operations import Patch, in_words, read_patch
from kgcheck.curation.patches import PatchOutcome, apply_patch, check_patch, check_place, undo_patch, write_undo
from kgcheck.curation.proposals import Wanted
from kgcheck.errors import UsageError
from kgcheck.graph.open import OpenedStore, is_address, open_store
from kgcheck.ledger.ledger import Ledger
from kgcheck.ledger.patches import OperationEntry, OperationState, PatchEntry, PatchState, PatchTable

if TYPE_CHECKING:
    from kgcheck.workspace.base import WorkspaceBase


def make(
    workspace: "WorkspaceBase", folder: Path, *, findings: Mapping[str, str | None], accepted: bool, run: str, by: str
) -> PatchMade:
    """See Workspace.make_patch."""
    if accepted == bool(findings):
        raise UsageError("name findings, or all that are accepted", "kgcheck patch make --accepted or --finding F")
    with _opened(workspace, write=False) as store, Ledger(workspace.ledger, create=False) as ledger:
        known = {r.id: r for r in ledger.runs()}
        if accepted:
            of = ledger.run(run)
            wanted = [Wanted(finding, decision.chosen) for finding, decision in Decisions(ledger).accepted(of)]
            check_store(of, store)
        else:
            wanted = [Wanted(ledger.finding(name), chosen) for name, chosen in findings.items()]
            for one in wanted:
                check_store(known[one.finding.run], store)
            of = max((known[w.finding.run] for w in wanted), key=lambda r: (r.started, r.id))
        made = make_patch(wanted, of.id, store, folder, by=by or whoami())
        if made.patch:
            _keep(ledger, made.patch, folder, PatchState.MADE, by or whoami(), OperationState.OPEN, is_new=True)
    return made


def check(workspace: "WorkspaceBase", folder: Path) -> PatchOutcome:
    """See Workspace.check_patch."""
    patch = read_patch(folder)
    with _opened(workspace, write=False) as store:
        return check_patch(patch, store)


def apply(workspace: "WorkspaceBase", folder: Path, *, by: str, delete: bool, from_elsewhere: bool) -> PatchOutcome:
    """See Workspace.apply_patch."""
    patch = read_patch(folder)
    # Opened before the store is written to: what cannot be listed is better known then.
    with Ledger(workspace.ledger) as ledger, _opened(workspace, write=True) as store:
        check_place(patch, store)
        # Its digest has no key: whoever edits a patch can write the digest anew.
        if not from_elsewhere and not PatchTable(ledger.database).made(patch.header.digest):
            raise UsageError(
                f"the patch {patch.id} was not made with the ledger {ledger.place}, or was changed since",
                "look at it: kgcheck patch check; then --from-elsewhere applies it all the same",
            )
        outcome = apply_patch(patch, store, by=by or whoami(), delete=delete, progress=workspace.progress)
        write_undo(patch, store, folder)
        _keep_outcome(ledger, outcome, folder, by or whoami(), OperationState.DONE)
    return outcome


def undo(workspace: "WorkspaceBase", folder: Path, *, by: str) -> PatchOutcome:
    """See Workspace.undo_patch."""
    patch = read_patch(folder)
    with Ledger(workspace.ledger) as ledger, _opened(workspace, write=True) as store:
        outcome = undo_patch(patch, store, by=by or whoami(), progress=workspace.progress)
        _keep_outcome(ledger, outcome, folder, by or whoami(), OperationState.OPEN)
    return outcome


def whoami() -> str:
    """Who is at work, as the system knows them."""
    try:
        return getuser()
    except (KeyError, OSError):
        # A container may run under a number that no name belongs to.
        return "unknown"


@contextmanager
def _opened(workspace: "WorkspaceBase", *, write: bool) -> Iterator[OpenedStore]:
    """The store, to be written to or not; a file that is not there is not made."""
    make_ready = write and (is_address(workspace.store) or Path(workspace.store).exists())
    # A store that is written to is open for nobody else.
    workspace.close_graph()
    with open_store(workspace.store, workspace.schema, workspace.settings, create=make_ready) as store:
        if make_ready:
            store.prepare_records()
        yield store


def _keep_outcome(ledger: Ledger, outcome: PatchOutcome, folder: Path, by: str, otherwise: OperationState) -> None:
    conflicts = {c.number: c.why for c in outcome.conflicts}
    _keep(ledger, outcome.patch, folder, outcome.state, by, otherwise, conflicts)


def _keep(
    ledger: Ledger,
    patch: Patch,
    folder: Path,
    state: PatchState,
    by: str,
    otherwise: OperationState,
    conflicts: Mapping[int, str] | None = None,
    *,
    is_new: bool = False,
) -> None:
    header = patch.header
    entry = PatchEntry(
        id=patch.id,
        store=header.store,
        profile=header.profile,
        run=header.run,
        folder=str(folder.resolve()),
        made=header.created,
        by=header.by,
        operations=header.operations,
        state=state,
        state_at=clock.now(),
        state_by=by,
        digest=header.digest if is_new else None,
    )
    why = conflicts or {}
    operations = [
        OperationEntry(
            number=number,
            kind=operation.kind,
            finding=operation.finding,
            about=in_words(operation),
            state=OperationState.CONFLICT if number in why else otherwise,
            why=why.get(number, ""),
        )
        for number, operation in enumerate(patch.operations, 1)
    ]
    PatchTable(ledger.database).keep(entry, operations)


def export(workspace: "WorkspaceBase", folder: Path, of: Path, out: Path) -> Exported:
    """See Workspace.export_patch."""
    patch = read_patch(folder)
    with _opened(workspace, write=False) as store:
        return export_patch(patch, store, of, out, workspace.settings, progress=workspace.progress)
