"""``kgcheck patch``: make, check, apply and undo patches that repair a graph."""

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kgcheck.cli.options import FilePath, table_or_json_option, workspace_options
from kgcheck.cli.output import note, show
from kgcheck.errors import EXIT_CLEAN, EXIT_FINDINGS, LedgerError
from kgcheck.plurals import how_many

if TYPE_CHECKING:
    from kgcheck.curation.patches import PatchOutcome
    from kgcheck.model import Finding
    from kgcheck.workspace import Workspace


@click.group("patch")
def patch() -> None:
    """Repair a graph by its findings: make a patch, see what would conflict, apply it, and undo it."""


_BY = click.option(
    "--by", envvar="KGCHECK_BY", default="", help="Who does it [default: KGCHECK_BY, or the user of the system]."
)
_PATCH = click.argument("patch")


def _folder(workspace: "Workspace", patch: str) -> Path:
    """The folder of a patch in the ledger, by its id, or of one from elsewhere, by its path."""
    folder = Path(patch)
    if not (folder.is_dir() or os.sep in patch):
        return workspace.patch_folder(patch)
    with suppress(LedgerError):
        for known in workspace.patches():
            if Path(known.folder) == folder.resolve():
                note(f"warning: a patch of the ledger is named by its id, {known.id}; the next release takes no folder")
    return folder


@patch.command("make")
@click.option("--accepted", is_flag=True, help="Every finding of the run that was accepted: kgcheck decide.")
@click.option(
    "--finding",
    "findings",
    multiple=True,
    metavar="F[=ID]",
    help="This finding; with what is chosen, where a person has to choose.",
)
@click.option("--run", default="latest", show_default=True, help="With --accepted: the run.")
@click.option("--out", "folder", required=True, type=FilePath(file_okay=False), help="Folder to write to.")
@_BY
@workspace_options("store", "profile", "ledger", progress=False)
@table_or_json_option()
def patch_make(
    workspace: "Workspace",
    findings: tuple[str, ...],
    folder: Path,
    format_: str,
    **how: Any,
) -> int:
    """Make a patch of findings: files for programs and for people. Exit code 1: none can be repaired so."""
    chosen = {name: to if given else None for name, given, to in (text.partition("=") for text in findings)}
    made = workspace.make_patch(folder, findings=chosen, **how)
    _show(format_, made.as_row(), [(n, "", words, "") for n, words in made.words()])
    by_why: dict[str, list[Finding]] = {}
    for item in made.left_out:
        by_why.setdefault(item.why, []).append(item.finding)
    for why, (first, *more) in by_why.items():
        others = f" and {len(more):,} more" if more else ""
        note(f"left out: {first.fingerprint} {first.task}{others}: {why}")
    if made.patch:
        note(f"patch {made.patch.id}: {how_many(made.patch.header.operations, 'operation')} in {folder}")
        note(f"next: kgcheck patch check {made.patch.id}, kgcheck patch apply {made.patch.id}")
    else:
        note("there is nothing to repair: no patch was written")
    return EXIT_FINDINGS if made.left_out and not made.patch else EXIT_CLEAN


@patch.command("check")
@_PATCH
@workspace_options("store", "profile", "ledger", progress=False)
@table_or_json_option()
def patch_check(workspace: "Workspace", patch: str, format_: str) -> int:
    """Say what of PATCH, an id or the beginning of one, would conflict now. Exit code 1: something would.

    A patch that the ledger does not know, say of a colleague, is named by its folder.
    """
    outcome = workspace.check_patch(_folder(workspace, patch))
    return _end(outcome, format_, "would fit", "done before")


@patch.command("apply")
@_PATCH
@click.option("--delete", is_flag=True, help="Take away what is retired, and do not only mark it; undo makes it again.")
@click.option(
    "--from-elsewhere", is_flag=True, help="Also a patch that this ledger did not make, or that was changed since."
)
@_BY
@workspace_options("store", "profile", "ledger")
@table_or_json_option()
def patch_apply(workspace: "Workspace", patch: str, format_: str, **how: Any) -> int:
    """Do every operation of PATCH that the graph still fits. Exit code 1: some were in conflict."""
    outcome = workspace.apply_patch(_folder(workspace, patch), **how)
    if not outcome.done and not outcome.conflicts:
        note(f"patch {outcome.patch.id} was applied already: nothing was done")
    return _end(outcome, format_, "done", "done before")


@patch.command("undo")
@_PATCH
@_BY
@workspace_options("store", "profile", "ledger")
@table_or_json_option()
def patch_undo(workspace: "Workspace", patch: str, by: str, format_: str) -> int:
    """Give the graph back as it was before PATCH. Exit code 1: something was changed again since."""
    outcome = workspace.undo_patch(_folder(workspace, patch), by=by)
    return _end(outcome, format_, "undone", "")


@patch.command("list")
@workspace_options("ledger", progress=False)
@table_or_json_option()
def patch_list(workspace: "Workspace", format_: str) -> None:
    """List the patches in the ledger, newest first."""
    from kgcheck.report.tables import patch_table

    patches = workspace.patches()
    show(format_, [p.model_dump(mode="json") for p in patches], patch_table(patches))


@patch.command("show")
@click.argument("patch")
@workspace_options("ledger", progress=False)
@table_or_json_option()
def patch_show(workspace: "Workspace", patch: str, format_: str) -> None:
    """Show PATCH, an id or the beginning of one: each operation and what became of it."""
    entry, operations = workspace.patch(patch)
    if format_ == "table":
        note(f"patch {entry.id} for {entry.store}, made by {entry.by} {entry.made:%Y-%m-%d %H:%M}, in {entry.folder}")
        note(f"{entry.state.value} by {entry.state_by} {entry.state_at:%Y-%m-%d %H:%M}")
    row = entry.model_dump(mode="json") | {"listed": [o.model_dump(mode="json") for o in operations]}
    _show(format_, row, [(o.number, o.state.value, o.about, o.why) for o in operations])


def _end(outcome: "PatchOutcome", format_: str, now: str, before: str) -> int:
    _show(format_, outcome.as_row(), [(number, "conflict", words, why) for number, words, why in outcome.words()])
    line = f"patch {outcome.patch.id}: {outcome.done:,} {now}"
    if before and outcome.before:
        line += f", {outcome.before:,} {before}"
    note(f"{line}, {len(outcome.conflicts):,} in conflict")
    return EXIT_FINDINGS if outcome.conflicts else EXIT_CLEAN


def _show(format_: str, row: dict[str, Any], operations: list[tuple[int, str, str, str]]) -> None:
    from kgcheck.report.tables import operation_table

    if operations or format_ == "json":
        show(format_, row, operation_table(operations))
