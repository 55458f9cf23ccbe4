"""Making a patch: from findings to operations that fit a graph, and the files for programs and people."""

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from kgcheck.audit.run import store_place
from kgcheck.curation.effects import Stamp, expectations, meetings, steps_of
from kgcheck.curation.operations import (
    PATCH,
    Merge,
    Operation,
    Patch,
    PatchHeader,
    Repoint,
    SetValue,
    in_words,
    numbered_lines,
    sealed,
    write_patch,
)
from kgcheck.curation.patches import profile_of
from kgcheck.curation.proposals import LeftOut, NotRepairable, Wanted, in_order, operation_for
from kgcheck.curation.statements import WatchedPart, statements_of, watched
from kgcheck.curation.steps import DraftGraph, Step, do_all
from kgcheck.errors import UsageError
from kgcheck.graph.changes import NotAsExpected, StoreChanges
from kgcheck.graph.open import OpenedStore
from kgcheck.model import Finding, Ref
from kgcheck.outputs import write_text
from kgcheck.report.documents import page
from kgcheck.report.tables import called_in

CYPHER, PARAMETERS = "patch.cypher", "patch.params.json"
PAGES = {"html": "patch.html", "markdown": "patch.md"}


class PatchMade(NamedTuple):
    """A patch that was made, and the findings for which it does nothing; no patch where it would be empty."""

    patch: Patch | None
    left_out: tuple[LeftOut, ...]

    def words(self) -> list[tuple[int, str]]:
        """Each operation in words, with its number."""
        return [(n, in_words(o)) for n, o in enumerate(self.patch.operations if self.patch else (), 1)]

    def as_row(self) -> dict[str, Any]:
        """The patch in the flat form that `--format json` prints."""
        operations = self.patch.operations if self.patch else ()
        return {
            "patch": self.patch.id if self.patch else None,
            "operations": [o.model_dump(mode="json") for o in operations],
            "left_out": [{"finding": item.finding.fingerprint, "why": item.why} for item in self.left_out],
        }


class Drafted(NamedTuple):
    """An operation with what it expects, and the steps that it comes to."""

    operation: Operation
    steps: tuple[Step, ...]
    watched: tuple[WatchedPart, ...]


def make_patch(wanted: Sequence[Wanted], run: str, store: OpenedStore, folder: Path, *, by: str) -> PatchMade:
    """Make a patch of findings, and write its files."""
    if (folder / PATCH).exists():
        raise UsageError(f"{folder} holds a patch already", "name another folder with --out")
    findings = {w.finding.fingerprint: w.finding for w in wanted}
    with store.statements(write=False) as run_:
        draft = DraftGraph(StoreChanges(store, run_))
        operations, left_out = _operations(wanted, draft)
        drafted, misfits = fitting(operations, draft)
    left_out += [LeftOut(findings[operation.finding], why) for operation, why in misfits]
    if not drafted:
        return PatchMade(None, tuple(left_out))
    patch = patch_of([d.operation for d in drafted], store, run, by=by)
    # The patch itself comes last: a folder with one is whole.
    text, parameters = statements_of(patch, [d.watched for d in drafted], store.schema)
    write_text(folder / CYPHER, text)
    write_text(folder / PARAMETERS, json.dumps(parameters, indent=1) + "\n")
    for format_, name in PAGES.items():
        write_text(folder / name, patch_page(patch, findings, left_out, format_))
    write_patch(folder, patch)
    return PatchMade(patch, tuple(left_out))


def patch_of(operations: Sequence[Operation], store: OpenedStore, run: str, *, by: str) -> Patch:
    """A patch of operations that know what they expect."""
    header = PatchHeader(
        store=store_place(store),
        store_id=store.store_id(),
        profile=profile_of(store.schema),
        run=run,
        created=datetime.now(UTC).replace(microsecond=0),
        by=by,
        operations=len(operations),
    )
    return Patch(sealed(header, numbered_lines(operations)), tuple(operations))


def fitting(operations: Iterable[Operation], draft: DraftGraph) -> tuple[list[Drafted], list[tuple[Operation, str]]]:
    """Operations that fit one after the other, each with what it expects and comes to."""
    drafted, misfits = [], []
    for operation in operations:
        try:
            ready = operation.model_copy(update={"expected": expectations(operation, draft)})
            steps = steps_of(ready, draft, Stamp("", ""))
            if isinstance(ready, Merge | Repoint):
                ready = ready.model_copy(update={"meets": meetings(steps)})
            drafted.append(Drafted(ready, steps, watched(ready, steps, draft)))
            do_all(steps, draft)
        except NotAsExpected as error:
            misfits.append((operation, str(error)))
    return drafted, misfits


def patch_page(patch: Patch, findings: dict[str, Finding], left_out: Iterable[LeftOut], format_: str) -> str:
    """A patch as a page to read."""
    rows = [
        {
            "number": number,
            "operation": operation,
            "words": in_words(operation),
            "called": called_in(findings[operation.finding]) if operation.finding in findings else "",
        }
        for number, operation in enumerate(patch.operations, 1)
    ]
    left = [{"finding": item.finding, "why": item.why} for item in left_out]
    return page("patch", format_, header=patch.header, id=patch.id, rows=rows, left_out=left)


def _operations(wanted: Sequence[Wanted], draft: DraftGraph) -> tuple[list[Operation], list[LeftOut]]:
    """The operations that findings lead to, in their order, and the findings that lead to none of their own."""
    found: list[Operation] = []
    left_out: list[LeftOut] = []
    first: dict[tuple[object, ...], Operation] = {}
    for one in wanted:
        try:
            operation = operation_for(one, draft)
        except (NotRepairable, NotAsExpected) as error:
            left_out.append(LeftOut(one.finding, str(error)))
            continue
        same = first.setdefault(_effect(operation), operation)
        if same is operation:
            found.append(operation)
        else:
            left_out.append(LeftOut(one.finding, _beside(operation, same)))
    nodes = [o for o in found if isinstance(o, Merge | Repoint) and isinstance(o.what, Ref)]
    return in_order(found), [LeftOut(item.finding, _comes_with(item, nodes) or item.why) for item in left_out]


def _effect(operation: Operation) -> tuple[object, ...]:
    """What two operations may not both decide."""
    attribute = operation.attribute if isinstance(operation, SetValue) else ""
    kind = "move" if isinstance(operation, Merge | Repoint) else operation.kind
    return kind, operation.what, attribute


def _beside(operation: Operation, other: Operation) -> str:
    same = getattr(operation, "to", None) == getattr(other, "to", None)
    same = same and getattr(operation, "into", None) == getattr(other, "into", None)
    if same:
        return f"finding {other.finding} comes to the same operation"
    return f"finding {other.finding} makes another change of the same thing: {in_words(other)}"


def _comes_with(item: LeftOut, nodes: Iterable[Merge | Repoint]) -> str:
    """Of an edge that is re-pointed by what becomes of its node: which operation does it."""
    task, change = item.finding.task, item.finding.change
    for operation in nodes:
        if change and operation.what in (task.subject, task.object) and operation.into.id == change.to:
            return f"it comes with another operation: {in_words(operation)}"
    return ""
