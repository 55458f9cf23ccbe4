"""``kgcheck load``: an import directory into a store."""

from collections import Counter
from pathlib import Path

import click

from kgcheck.cli.options import profile_option, store_option


@click.command("load")
@click.argument("directory", type=click.Path(path_type=Path))
@store_option()
@profile_option()
@click.option(
    "--quarantine",
    type=click.Path(path_type=Path, dir_okay=False),
    help="JSON lines file for rows that cannot be loaded [default: .kgcheck/quarantine-<directory>.jsonl]",
)
@click.option("--format", "format_", type=click.Choice(("table", "json")), default="table", show_default=True)
def command(directory: Path, store: str, profile: str, quarantine: Path | None, format_: str) -> None:
    """Load DIRECTORY, an import directory with databases/ and ontologies/, into a graph store.

    Every file is read and checked before anything is written. Loading the same directory again changes nothing.
    """
    from kgcheck.cli.console import RichProgress, errors, results
    from kgcheck.cli.environment import read_schema, read_settings
    from kgcheck.graph.load import load_directory
    from kgcheck.graph.open import open_store
    from kgcheck.report.tables import load_table

    _check_folder(directory)
    settings = read_settings()
    target = quarantine or settings.home / f"quarantine-{directory.resolve().name}.jsonl"
    with open_store(store, read_schema(profile), settings, create=True) as opened:
        summary = load_directory(directory, opened, settings, quarantine=target, progress=RichProgress())
    if format_ == "json":
        click.echo(summary.model_dump_json(indent=2))
        return
    results().print(load_table(summary))
    console = errors()
    console.print(f"{summary.store}: {summary.nodes:,} nodes, {summary.edges:,} edges", soft_wrap=True)
    left_out = Counter(column for file in summary.files for column in file.ignored_columns.split(", ") if column)
    for column, files in left_out.items():
        console.print(f"column {column!r} of {files} files is not in the profile and was left out", soft_wrap=True)
    if summary.quarantine:
        console.print(f"{summary.quarantined:,} rows were not loaded: see {summary.quarantine}", soft_wrap=True)


def _check_folder(directory: Path) -> None:
    """Refuse a folder that is not there, before a store is made for it."""
    from kgcheck.errors import InputMissing

    if not directory.is_dir():
        raise InputMissing(f"there is no folder {directory}", "name an import directory: databases/ and ontologies/")
