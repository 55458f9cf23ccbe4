"""Patches in folders: made, checked, applied, undone and exported over a context."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from kgcheck import clock
from kgcheck.audit.run import check_store
from kgcheck.context import Context
from kgcheck.curation.compare import SETTLED
from kgcheck.curation.decisions import Decisions
from kgcheck.curation.export import Exported, export_patch
from kgcheck.curation.findings import list_findings
from kgcheck.curation.making import PatchMade, make_patch
from kgcheck.curation.operations import Patch, in_words, read_patch
from kgcheck.curation.patches import PatchOutcome, apply_patch, check_patch, check_place, undo_patch, write_undo
from kgcheck.curation.proposals import Wanted
from kgcheck.errors import UsageError
from kgcheck.graph.open import OpenedStore, is_address, open_store
from kgcheck.ledger.accounts import whoami
from kgcheck.ledger.ledger import Ledger, Run
from kgcheck.ledger.patches import OperationEntry, OperationState, PatchEntry, PatchState, PatchTable
from kgcheck.loading.load import import_folder


def make(
    context: Context, folder: Path, *, findings: Mapping[str, str | None], accepted: bool, run: str, by: str
) -> PatchMade:
    """Make a patch that repairs findings, named with what is chosen, or all of a run that were accepted."""
    if accepted == bool(findings):
        raise UsageError("name findings, or all that are accepted", "kgcheck patch make --accepted or --finding F")
    with _opened(context, write=False) as store, Ledger(context.ledger, create=False) as ledger:
        known = {r.id: r for r in ledger.runs()}
        if accepted:
            of = ledger.run(run)
            wanted = [
                Wanted(finding, decision.chosen)
                if decision.fingerprint == finding.fingerprint
                else Wanted.with_cause(finding, decision.chosen)
                for finding, decision in Decisions(ledger).accepted(of)
            ]
            check_store(of, store)
        else:
            wanted = [Wanted(ledger.finding(name), chosen) for name, chosen in findings.items()]
            for one in wanted:
                check_store(known[one.finding.run], store)
            wanted += _consequences(ledger, known, tuple(wanted))
            of = max((known[w.finding.run] for w in wanted), key=lambda r: (r.started, r.id))
        made = make_patch(wanted, of.id, store, folder, by=by or whoami())
        if made.patch:
            _keep(ledger, made.patch, folder, PatchState.MADE, by or whoami(), OperationState.OPEN, is_new=True)
    return made


def _consequences(ledger: Ledger, runs: Mapping[str, Run], wanted: Sequence[Wanted]) -> Iterator[Wanted]:
    """List the consequences of findings, but for those rejected or deferred by themselves."""
    named = {one.finding.fingerprint for one in wanted}
    for one in wanted:
        run = runs[one.finding.run]
        if run.is_check:
            continue
        for follows in list_findings(ledger, run, cause=one.finding.fingerprint).page():
            is_settled = follows.decided.state in SETTLED and not follows.decided.is_inherited
            if follows.finding and follows.fingerprint not in named and not is_settled:
                yield Wanted.with_cause(follows.finding, one.chosen)


def check(context: Context, folder: Path) -> PatchOutcome:
    """Say what of the patch in a folder would conflict now; nothing is written."""
    patch = read_patch(folder)
    with _opened(context, write=False) as store:
        return check_patch(patch, store)


def apply(context: Context, folder: Path, *, by: str, delete: bool, from_elsewhere: bool) -> PatchOutcome:
    """Do every operation of the patch in a folder that the graph still fits; go on with one that was cut short."""
    patch = read_patch(folder)
    # Opened before the store is written to: what cannot be listed is better known then.
    with Ledger(context.ledger) as ledger, _opened(context, write=True) as store:
        check_place(patch, store)
        # Its digest has no key: whoever edits a patch can write the digest anew.
        if not from_elsewhere and not PatchTable(ledger.database).made(patch.header.digest):
            raise UsageError(
                f"the patch {patch.id} was not made with the ledger {ledger.place}, or was changed since",
                "look at it: kgcheck patch check; then --from-elsewhere applies it all the same",
            )
        outcome = apply_patch(patch, store, by=by or whoami(), delete=delete, progress=context.progress)
        write_undo(patch, store, folder)
        _keep_outcome(ledger, outcome, folder, by or whoami(), OperationState.DONE)
    return outcome


def undo(context: Context, folder: Path, *, by: str) -> PatchOutcome:
    """Give the graph back as it was before the patch in a folder, but for what was changed again since."""
    patch = read_patch(folder)
    with Ledger(context.ledger) as ledger, _opened(context, write=True) as store:
        outcome = undo_patch(patch, store, by=by or whoami(), progress=context.progress)
        _keep_outcome(ledger, outcome, folder, by or whoami(), OperationState.OPEN)
    return outcome


@contextmanager
def _opened(context: Context, *, write: bool) -> Iterator[OpenedStore]:
    """The store, to be written to or not; a file that is not there is not made."""
    make_ready = write and (is_address(context.store) or Path(context.store).exists())
    # A store that is written to is open for nobody else.
    context.close_graph()
    with open_store(context.store, context.schema, context.settings, create=make_ready) as store:
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


def export(context: Context, folder: Path, source: Path, out: Path) -> Exported:
    """Write an import directory with what the patch in a folder changes, whether it is applied or not."""
    patch = read_patch(folder)
    with _opened(context, write=False) as store:
        return export_patch(patch, store, import_folder(source), out, context.settings, progress=context.progress)
