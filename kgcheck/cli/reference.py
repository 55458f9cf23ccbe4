"""``kgcheck reference``: fetch, build, show and compare reference snapshots."""

from pathlib import Path

import click

from kgcheck.cli.options import FilePath, profile_option
from kgcheck.cli.output import json_result, say


@click.group("reference")
def command() -> None:
    """Fetch, build, show and compare reference snapshots: pinned local copies of what the sources say."""


@command.command("build")
@click.argument("directory", type=FilePath())
@click.option("--out", required=True, type=FilePath(dir_okay=False), help="The DuckDB file to make.")
@click.option(
    "--release",
    "releases",
    multiple=True,
    metavar="SOURCE=RELEASE",
    help="Release of a source whose file does not state it.",
)
@profile_option()
def build(directory: Path, out: Path, releases: tuple[str, ...], profile: str) -> None:
    """Build a snapshot from every file under DIRECTORY that a recipe of the profile knows."""
    from kgcheck.cli.console import RichProgress
    from kgcheck.cli.environment import read_schema, read_settings
    from kgcheck.errors import UsageError
    from kgcheck.reference.build import build_snapshot

    stated: dict[str, str] = {}
    for text in releases:
        source, separator, release = text.partition("=")
        if not (source and separator and release):
            raise UsageError(f"--release {text!r} is not SOURCE=RELEASE", "for example --release uniprot=2026_03")
        stated[source] = release
    schema = read_schema(profile)
    build_snapshot(directory, out, schema, read_settings(), releases=stated, progress=RichProgress())
    _show(out, profile, "table")


@command.command("show")
@click.argument("snapshot", type=FilePath())
@click.option("--format", "format_", type=click.Choice(("table", "json")), default="table", show_default=True)
@profile_option()
def show(snapshot: Path, format_: str, profile: str) -> None:
    """List the releases in SNAPSHOT: source, release, date, file, hash, licence and rows."""
    _show(snapshot, profile, format_)


@command.command("fetch")
@click.argument("directory", type=FilePath(file_okay=False))
@click.option("--source", "sources", multiple=True, help="Only the files of this source; all if none is named.")
@click.option("--format", "format_", type=click.Choice(("table", "json")), default="table", show_default=True)
@profile_option()
def fetch(directory: Path, sources: tuple[str, ...], format_: str, profile: str) -> None:
    """Download the providers' files into DIRECTORY: goes on where it was cut off, leaves what is unchanged.

    Exit code 3 if a file could not be had.
    """
    from kgcheck.cli.console import RichProgress, results
    from kgcheck.cli.environment import read_schema, read_settings
    from kgcheck.errors import EXIT_INCOMPLETE
    from kgcheck.providers.http import Http
    from kgcheck.reference.download import fetch_references
    from kgcheck.report.tables import fetched_table

    schema, settings = read_schema(profile), read_settings()
    with Http(settings) as http:
        done = fetch_references(directory, schema, http, sources=sources, progress=RichProgress())
    if format_ == "json":
        json_result([f.model_dump(mode="json") for f in done])
    else:
        results().print(fetched_table(done))
    if any(f.failure for f in done):
        click.get_current_context().exit(EXIT_INCOMPLETE)


@command.command("diff")
@click.argument("older", type=FilePath())
@click.argument("newer", type=FilePath())
@click.option("--format", "format_", type=click.Choice(("table", "json")), default="table", show_default=True)
@profile_option()
def diff(older: Path, newer: Path, format_: str, profile: str) -> None:
    """Show what changed between the snapshots OLDER and NEWER: by source and table, with examples."""
    from kgcheck.cli.console import results
    from kgcheck.cli.environment import read_schema
    from kgcheck.reference.difference import compare_snapshots
    from kgcheck.report.tables import difference_table

    changes = compare_snapshots(older, newer, read_schema(profile))
    if format_ == "json":
        json_result([c.model_dump(mode="json") for c in changes])
    else:
        results().print(difference_table(changes))


def _show(path: Path, profile: str, format_: str) -> None:

    from kgcheck.cli.console import results
    from kgcheck.cli.environment import read_schema
    from kgcheck.profile.recognise import own_schemas
    from kgcheck.reference.snapshot import Snapshot
    from kgcheck.report.tables import release_table

    with Snapshot(path, read_schema(profile)) as snapshot:
        releases = snapshot.releases()
        served = [(s, snapshot.serves(s)) for s in own_schemas()]
    if format_ == "json":
        json_result([r.model_dump(mode="json") for r in releases])
    else:
        results().print(release_table(releases))
        for schema, sources in served:
            if sources:
                lacking = ", ".join(sorted(schema.sources - sources))
                say(
                    f"it serves profile {schema.profile.name}: {len(sources)} of {len(schema.sources)} sources"
                    + (f"; it lacks {lacking}" if lacking else "")
                )
