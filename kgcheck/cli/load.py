"""``kgcheck load``: an import directory into a store."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kgcheck.cli.options import FilePath, given, options_of, table_or_json_option, workspace_options
from kgcheck.cli.output import json_result, live_text, note, text_result
from kgcheck.errors import EXIT_INCOMPLETE
from kgcheck.options import LoadOptions
from kgcheck.plurals import how_many

if TYPE_CHECKING:
    from kgcheck.loading.admin_import import OfflineImport
    from kgcheck.loading.load import LoadSummary
    from kgcheck.workspace import Workspace


_SHOWN = 20
"""Conflicts, and columns, that are shown."""

_LONGEST_COLUMN = 60


@click.command("load")
@click.argument("directory", type=FilePath())
@workspace_options("store", "profile")
@click.option(
    "--quarantine",
    type=FilePath(dir_okay=False),
    help="JSON lines file for rows that cannot be loaded [default: .kgcheck/quarantine-<directory>.jsonl]",
)
@options_of(LoadOptions)
@click.option(
    "--offline",
    type=FilePath(file_okay=False),
    metavar="FOLDER",
    help="Write FOLDER with the files for neo4j-admin, for a new and large Neo4j database, in place of --store.",
)
@click.option(
    "--neo4j-home",
    type=FilePath(file_okay=False),
    help="With --offline: the stopped Neo4j installation to import into; without it, the command is printed.",
)
@table_or_json_option()
def command(
    workspace: "Workspace",
    directory: Path,
    quarantine: Path | None,
    options: LoadOptions,
    offline: Path | None,
    neo4j_home: Path | None,
    format_: str,
) -> None:
    """Load DIRECTORY, an import directory with databases/ and ontologies/, into a graph store.

    Every file is read and checked before anything is written. Loading the same directory again changes nothing; loading
    a newer one changes what differs. A load that was cut short is finished by the same command.

    Exit codes: 0 done, 2 usage or a failure, 3 done, but too many rows could not be loaded.
    """
    _check_offline(offline, neo4j_home, options.prune or options.full or options.dry_run)
    if offline:
        made = workspace.prepare_import(directory, offline, quarantine=quarantine, **dict(options))
        summary = made.summary
        _show(summary, format_)
        _import(made.files, neo4j_home, directory, format_)
    else:
        summary = workspace.load(directory, quarantine=quarantine, **dict(options))
        _show(summary, format_)
    if summary.incomplete:
        click.get_current_context().exit(EXIT_INCOMPLETE)


def _show(summary: "LoadSummary", format_: str) -> None:
    from kgcheck.cli.console import results
    from kgcheck.report.tables import load_table

    if format_ == "json":
        json_result(summary.model_dump_json(indent=2))
        return
    results().print(load_table(summary))
    note(f"{summary.store}: {how_many(summary.nodes, 'node')}, {how_many(summary.edges, 'edge')}")
    if summary.dry_run:
        note("a dry run: nothing was written")
    for name, n in summary.removed.items():
        note(f"{name}: {n:,} that no file states {'would go' if summary.dry_run else 'were taken away'}")
    for name, n in summary.left.items():
        note(f"{name}: {n:,} that no file states stay; --prune takes them away")
    ignored = {(f.file, column) for f in summary.files for column in f.ignored_columns.split(", ") if column}
    left_out = Counter(column for _, column in sorted(ignored))
    for column, files in list(left_out.items())[:_SHOWN]:
        shown = column if len(column) <= _LONGEST_COLUMN else f"{column[:_LONGEST_COLUMN]}..."
        note(f"column {shown!r} of {how_many(files, 'file')} is not in the profile and was left out")
    if len(left_out) > _SHOWN:
        more = how_many(len(left_out) - _SHOWN, "more column")
        note(f"and {more} that are not in the profile: --format json has them all")
    for kind, n in summary.of_none.items():
        note(f"{how_many(n, 'row')} of {kind}: no entry of files.toml takes them")
    if summary.curated:
        note(f"{summary.curated:,} facts that patches changed stay as the patches left them")
    for settled in summary.settled[:_SHOWN]:
        note(f"{'conflict' if settled.kind == 'conflict' else 'now upstream'}: {settled}")
    if len(summary.settled) > _SHOWN:
        note(f"and {how_many(len(summary.settled) - _SHOWN, 'more curated fact')}: --format json has them all")
    for text in summary.warnings:
        note(f"warning: {text}")
    if summary.quarantined:
        where = f": see {summary.quarantine}" if summary.quarantine else ""
        why = ", ".join(f"{n:,} {reason}" for reason, n in summary.causes.items())
        note(f"{how_many(summary.quarantined, 'row')} cannot be loaded ({why}){where}")
    if summary.foreign:
        named = f": {', '.join(summary.namespaces)}" if summary.namespaces else ""
        note(f"{summary.foreign:,} of them end in namespaces that the profile does not load{named}")
    if summary.incomplete:
        note(f"incomplete: {summary.incomplete}")


def _import(files: "OfflineImport", home: Path | None, directory: Path, format_: str) -> None:
    """Run neo4j-admin, or say how to."""
    from kgcheck.cli.console import RichProgress
    from kgcheck.loading.admin_import import shell

    if home:
        with RichProgress().step("neo4j-admin database import"):
            files.run(home)
    else:
        note("with the server stopped, run:")
        (live_text if format_ == "json" else text_result)(shell(files.command()) + "\n")
    note(f"next: start the server, then kgcheck load {directory} --store bolt://localhost:7687 for the constraints")


def _check_offline(offline: Path | None, home: Path | None, other: bool) -> None:
    from kgcheck.errors import UsageError

    if home and not offline:
        raise UsageError("--neo4j-home is for --offline", "name a folder for the files with --offline")
    if offline and (other or given("store")):
        raise UsageError(
            "--offline makes a new database, so --store, --prune, --full and --dry-run mean nothing to it",
            "leave them out, or leave --offline out",
        )
