"""Check, apply and undo a patch on a graph store, resumably, with records in the store itself.

What was done is written down in the store itself, in the transaction that does it: each operation, the steps that it
came to, and what was before. So a process may be killed anywhere, and the same command goes on: nothing is done twice
and nothing is lost.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from kgcheck import clock
from kgcheck.audit.run import check_store, is_named, store_place
from kgcheck.context import Context
from kgcheck.curation.applied import PREFIX
from kgcheck.curation.compare import SETTLED
from kgcheck.curation.decisions import Decisions
from kgcheck.curation.findings import list_findings
from kgcheck.curation.operations import OPERATION, Operation, Patch, in_words, profile_of, read_patch
from kgcheck.curation.patch_maker import PatchMade, Wanted, make_patch
from kgcheck.curation.steps import STEPS, DraftGraph, Stamp, Step, do, do_all, inverse, steps_of, touched
from kgcheck.errors import FROM_A_COPY, StoreError, StoreMissing, StoreSchema, UsageError
from kgcheck.graph.changes import NotAsExpected, StoreChanges
from kgcheck.graph.open import OpenedStore, is_address, open_store
from kgcheck.graph.store import LOAD, UNDER_WAY, unfinished
from kgcheck.ledger.accounts import whoami
from kgcheck.ledger.ledger import Ledger, Run
from kgcheck.ledger.patches import OperationEntry, OperationState, PatchEntry, PatchState, PatchTable
from kgcheck.model import Ref, Value
from kgcheck.progress import NoProgress, Progress

MOST_STEPS = 500
"""Steps of one transaction, but for those of one operation, which is never divided."""

_TURN, _TURNS = f"{PREFIX} turn", f"{PREFIX} turns"
"""Keys of who has the turn, and of how many there were; with two spaces they are of no patch."""


class Conflict(NamedTuple):
    """An operation that does not fit the graph, and why."""

    number: int
    operation: Operation
    why: str


class PatchOutcome(NamedTuple):
    """Result of applying, checking or undoing a patch."""

    patch: Patch
    state: PatchState
    done: int
    """Operations that were done (or undone) this time."""
    before: int
    """Operations that had been done before."""
    conflicts: tuple[Conflict, ...]

    def words(self) -> list[tuple[int, str, str]]:
        return [(c.number, in_words(c.operation), c.why) for c in self.conflicts]

    def as_row(self) -> dict[str, Any]:
        conflicts = [dict(zip(("number", "operation", "why"), row, strict=True)) for row in self.words()]
        counts = {"done": self.done, "before": self.before}
        return {"patch": self.patch.id, "state": self.state.value, **counts, "conflicts": conflicts}


class PatchRecord(Value):
    """Record of a patch in a store."""

    digest: str
    state: PatchState
    operations: int
    at: str
    by: str


class Recorded(NamedTuple):
    """Record of one operation in a store: which it was, and the steps that were done."""

    patch: str
    number: int
    operation: Operation
    steps: tuple[Step, ...]
    at: str
    by: str
    turn: int
    """Transactions of patches until then, this one too: which of two came first, whatever clocks said."""


def check_place(patch: Patch, store: OpenedStore) -> None:
    """Refuse a patch that was made for another graph."""
    meta = store.meta()
    if store.backend == "embedded" and not meta:
        raise StoreMissing(f"there is no graph at {store.name}", f"load one: kgcheck load DIR --store {store.name}")
    if meta.get(LOAD) == UNDER_WAY:
        raise StoreError(*unfinished(store.name))
    if (wanted := profile_of(store.schema)) != patch.header.profile:
        raise StoreSchema(
            f"the patch {patch.id} is of the profile {patch.header.profile}, not {wanted}", "add --profile"
        )
    header, place = patch.header, store_place(store)
    if not is_named(store, header.store_id or header.store, header.store):
        raise UsageError(
            f"the patch {patch.id} is for the store that was at {header.store}, and {place} is another one",
            f"add --store {header.store}, or where that store is now;"
            " or make a patch for this store: kgcheck patch make",
        )


def check_patch(patch: Patch, store: OpenedStore) -> PatchOutcome:
    """Say what would conflict now; nothing is written."""
    check_place(patch, store)
    conflicts: list[Conflict] = []
    with store.statements(write=False) as run:
        changes = StoreChanges(store, run)
        record, done = _record(changes, patch.id), _numbers(changes, patch.id)
        draft = DraftGraph(changes)
        for number, operation in enumerate(patch.operations, 1):
            try:
                if number not in done:
                    do_all(steps_of(operation, draft, Stamp("", "")), draft)
            except NotAsExpected as error:
                conflicts.append(Conflict(number, operation, str(error)))
    state = record.state if record else PatchState.MADE
    fit = len(patch.operations) - len(done) - len(conflicts)
    return PatchOutcome(patch, state, fit, len(done), tuple(conflicts))


def apply_patch(
    patch: Patch, store: OpenedStore, *, by: str, delete: bool = False, progress: Progress | None = None
) -> PatchOutcome:
    """Do every operation that is not done and that fits."""
    check_place(patch, store)
    stamp = Stamp(_now(), by)

    def steps(changes: StoreChanges, number: int) -> Sequence[Step]:
        operation = patch.operations[number - 1]
        ends = {operation.what} if isinstance(operation.what, Ref) else {operation.what.head, operation.what.tail}
        into: Ref | None = getattr(operation, "into", None)
        changes.lock(ends | ({into} if into else set()))
        return steps_of(operation, changes, stamp, delete=delete)

    with store.statements(write=False) as run:
        changes = StoreChanges(store, run)
        record, before = _record(changes, patch.id), _numbers(changes, patch.id)
    if record and record.state is PatchState.UNDOING:
        raise UsageError(f"the undoing of the patch {patch.id} is not finished", "run kgcheck patch undo again")
    pending = [number for number in range(1, len(patch.operations) + 1) if number not in before]
    done, conflicts = 0, list[Conflict]()
    if pending or (record and record.state is PatchState.APPLYING):
        done, conflicts = _in_turn(patch, store, stamp, pending, steps, progress, is_undo=False)
    # Another process may have done some of what was pending.
    done_before = len(patch.operations) - done - len(conflicts)
    return PatchOutcome(patch, PatchState.APPLIED, done, done_before, tuple(conflicts))


def undo_patch(patch: Patch, store: OpenedStore, *, by: str, progress: Progress | None = None) -> PatchOutcome:
    """Undo every operation that was done, the last one first, each if what it did is as it left it."""
    check_place(patch, store)

    def steps(changes: StoreChanges, number: int) -> Sequence[Step]:
        back = [inverse(step) for step in reversed(_read(changes, patch.id, number).steps)]
        changes.lock(touched(back))
        draft = DraftGraph(changes)
        for step in back:
            do(step, draft)
        return back

    with store.statements(write=False) as run:
        changes = StoreChanges(store, run)
        record, numbers = _record(changes, patch.id), _numbers(changes, patch.id)
    if not record or (not numbers and record.state in (PatchState.UNDONE, PatchState.APPLIED)):
        raise UsageError(f"nothing of the patch {patch.id} is done in {store.name}", "kgcheck patch apply does it")
    done, conflicts = _in_turn(patch, store, Stamp(_now(), by), numbers[::-1], steps, progress, is_undo=True)
    state = PatchState.UNDOING if conflicts else PatchState.UNDONE
    return PatchOutcome(patch, state, done, 0, tuple(conflicts))


def patches_in(store: OpenedStore) -> dict[str, PatchRecord]:
    """The patches that a store knows, by id, in no order."""
    with store.statements(write=False) as run:
        changes = StoreChanges(store, run)
        ids = [key.removeprefix(PREFIX) for key in changes.records(PREFIX) if key.count(" ") == 1]
        return {id_: record for id_ in ids if (record := _record(changes, id_))}


def recorded_in(store: OpenedStore, patch: str) -> Iterator[Recorded]:
    """Read the records of the done operations of a patch from a store, in order."""
    with store.statements(write=False) as run:
        changes = StoreChanges(store, run)
        for number in _numbers(changes, patch):
            yield _read(changes, patch, number)


def _in_turn(
    patch: Patch,
    store: OpenedStore,
    stamp: Stamp,
    numbers: Sequence[int],
    steps_for: Callable[[StoreChanges, int], Sequence[Step]],
    progress: Progress | None,
    *,
    is_undo: bool,
) -> tuple[int, list[Conflict]]:
    """Do or undo operations, some at a time in a transaction, and write down how far the patch is."""
    under_way = PatchState.UNDOING if is_undo else PatchState.APPLYING
    conflicts, done, rest, is_over = list[Conflict](), 0, list(numbers), False
    with (progress or NoProgress()).step(f"{'undoing' if is_undo else 'applying'} the patch", len(rest)) as shown:
        while not is_over:
            size, taken = 0, 0
            with store.statements(write=True) as run:
                changes = StoreChanges(store, run)
                # First of all: another process that does the same on a server waits here, and then sees what was done.
                _note(changes, patch, stamp, under_way)
                # Counts the transactions of all patches; on a server, those of another one wait until this one ends.
                changes.set_record(_TURN, patch.id)
                turn = int(changes.record(_TURNS) or 0) + 1
                changes.set_record(_TURNS, str(turn))
                while taken < len(rest) and size < MOST_STEPS:
                    number, key = rest[taken], _key(patch.id, rest[taken])
                    taken += 1
                    if (changes.record(key) is not None) is not is_undo:
                        continue
                    # What is written down counts for a step, too.
                    size += 1
                    try:
                        steps = steps_for(changes, number)
                    except NotAsExpected as error:
                        conflicts.append(Conflict(number, patch.operations[number - 1], str(error)))
                        continue
                    _do_now(steps, changes)
                    if is_undo:
                        changes.drop_record(key)
                    else:
                        changes.set_record(key, _line(patch.operations[number - 1], steps, stamp, turn))
                    done += 1
                    size += len(steps)
                is_over = taken == len(rest)
                # In the transaction that does the last of it: whoever looks between two sees none after it.
                if is_over and not (is_undo and _numbers(changes, patch.id)):
                    _note(changes, patch, stamp, PatchState.UNDONE if is_undo else PatchState.APPLIED)
                changes.renew_states()
            shown.advance(taken)
            rest = rest[taken:]
    return done, conflicts


def _do_now(steps: Sequence[Step], changes: StoreChanges) -> None:
    try:
        for step in steps:
            do(step, changes)
    except NotAsExpected as error:
        # It fitted a moment ago: the transaction is undone.
        raise StoreError(f"somebody else is changing the graph: {error}", "run the same command again") from error


def _key(patch: str, number: int) -> str:
    return f"{PREFIX}{patch} {number:08d}"


def _numbers(changes: StoreChanges, patch: str) -> list[int]:
    return [int(key.rpartition(" ")[2]) for key in changes.records(f"{PREFIX}{patch} ")]


def _record(changes: StoreChanges, patch: str) -> PatchRecord | None:
    text = changes.record(f"{PREFIX}{patch}")
    try:
        return PatchRecord.model_validate_json(text) if text is not None else None
    except ValidationError:
        raise StoreError(f"what the store says of the {PREFIX}{patch} cannot be read", FROM_A_COPY) from None


def _note(changes: StoreChanges, patch: Patch, stamp: Stamp, state: PatchState) -> None:
    digest, count = patch.header.digest, len(patch.operations)
    record = PatchRecord(digest=digest, state=state, operations=count, at=stamp.at, by=stamp.by)
    changes.set_record(f"{PREFIX}{patch.id}", record.model_dump_json())


def _line(operation: Operation, steps: Sequence[Step], stamp: Stamp, turn: int) -> str:
    """Write an operation as a JSON line. Not by pydantic, which has no text for a number that is none."""
    line = {"operation": operation.model_dump(mode="json"), "steps": [s.model_dump() for s in steps]}
    return json.dumps(line | {"at": stamp.at, "by": stamp.by, "turn": turn})


def _read(changes: StoreChanges, patch: str, number: int) -> Recorded:
    try:
        line: dict[str, Any] = json.loads(changes.record(_key(patch, number)) or "")
        steps, operation = STEPS.validate_python(line["steps"]), OPERATION.validate_python(line["operation"])
        # Earlier versions wrote no turn: what they did came first.
        return Recorded(patch, number, operation, steps, str(line["at"]), str(line["by"]), int(line.get("turn", 0)))
    except (ValueError, KeyError, TypeError):
        raise StoreError(
            f"what the store says of operation {number} of the patch {patch} cannot be read", "somebody changed it"
        ) from None


def _now() -> str:
    return clock.now().isoformat()


def make(
    context: Context, folder: Path, *, findings: Mapping[str, str | None], accepted: bool, run: str, by: str
) -> PatchMade:
    """Make a patch that repairs findings, named with what is chosen, or all of a run that were accepted."""
    if accepted == bool(findings):
        raise UsageError("name findings, or all that are accepted", "kgcheck patch make --accepted or --finding F")
    with opened(context, write=False) as store, Ledger(context.ledger, create=False) as ledger:
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
            wanted += list(_consequences(ledger, known, wanted))
            of = max((known[w.finding.run] for w in wanted), key=lambda r: (r.started, r.id))
        made = make_patch(wanted, of.id, store, folder, by=by or whoami())
        if made.patch:
            _keep(ledger, PatchOutcome(made.patch, PatchState.MADE, 0, 0, ()), folder, by, OperationState.OPEN)
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
            if follows.fingerprint not in named and not is_settled:
                yield Wanted.with_cause(follows.finding, one.chosen)


def check(context: Context, folder: Path) -> PatchOutcome:
    """Say what of the patch in a folder would conflict now; nothing is written."""
    patch = read_patch(folder)
    with opened(context, write=False) as store:
        return check_patch(patch, store)


def apply(context: Context, folder: Path, *, by: str, delete: bool, from_elsewhere: bool) -> PatchOutcome:
    """Do every operation of the patch in a folder that the graph still fits; go on with one that was cut short."""
    patch = read_patch(folder)
    # Opened before the store is written to: what cannot be listed is better known then.
    with Ledger(context.ledger) as ledger, opened(context, write=True) as store:
        check_place(patch, store)
        # Its digest has no key: whoever edits a patch can write the digest anew.
        if not from_elsewhere and not PatchTable(ledger.database).made(patch.header.digest):
            raise UsageError(
                f"the patch {patch.id} was not made with the ledger {ledger.place}, or was changed since",
                "look at it: kgcheck patch check; then --from-elsewhere applies it all the same",
            )
        outcome = apply_patch(patch, store, by=by or whoami(), delete=delete, progress=context.progress)
        _keep(ledger, outcome, folder, by, OperationState.DONE)
    return outcome


def undo(context: Context, folder: Path, *, by: str) -> PatchOutcome:
    """Give the graph back as it was before the patch in a folder, but for what was changed again since."""
    patch = read_patch(folder)
    with Ledger(context.ledger) as ledger, opened(context, write=True) as store:
        outcome = undo_patch(patch, store, by=by or whoami(), progress=context.progress)
        _keep(ledger, outcome, folder, by, OperationState.OPEN)
    return outcome


@contextmanager
def opened(context: Context, *, write: bool) -> Iterator[OpenedStore]:
    """The store, to be written to or not; a file that is not there is not made."""
    make_ready = write and (is_address(context.store) or Path(context.store).exists())
    # A store that is written to is open for nobody else.
    context.close_graph()
    with open_store(context.store, context.schema, context.settings, create=make_ready) as store:
        if make_ready:
            store.prepare_records()
        yield store


def _keep(ledger: Ledger, outcome: PatchOutcome, folder: Path, by: str, otherwise: OperationState) -> None:
    """Write down a patch in the ledger; its operations are in conflict, or else in one state."""
    patch, header = outcome.patch, outcome.patch.header
    entry = PatchEntry(
        **header.model_dump(include={"store", "profile", "run", "by", "operations"}),
        id=patch.id,
        folder=str(folder.resolve()),
        made=header.created,
        state=outcome.state,
        state_at=clock.now(),
        state_by=by or whoami(),
        digest=header.digest if outcome.state is PatchState.MADE else None,
    )
    why = {conflict.number: conflict.why for conflict in outcome.conflicts}
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
