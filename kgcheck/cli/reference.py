"""``kgcheck reference``: build and show reference snapshots."""

from pathlib import Path

import click

from kgcheck.cli.options import profile_option


@click.group("reference")
def command() -> None:
    """Build and show reference snapshots: pinned local copies of what the sources say."""


@command.command("build")
@click.argument("directory", type=click.Path(path_type=Path))
@click.option("--out", required=True, type=click.Path(path_type=Path, dir_okay=False), help="The DuckDB file to make.")
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
    from kgcheck.sources.build import build_snapshot

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
@click.argument("snapshot", type=click.Path(path_type=Path))
@click.option("--format", "format_", type=click.Choice(("table", "json")), default="table", show_default=True)
@profile_option()
def show(snapshot: Path, format_: str, profile: str) -> None:
    """List the releases in SNAPSHOT: source, release, date, file, hash, licence and rows."""
    _show(snapshot, profile, format_)


def _show(path: Path, profile: str, format_: str) -> None:
    import json

    from kgcheck.cli.console import results
    from kgcheck.cli.environment import read_schema
    from kgcheck.report.tables import release_table
    from kgcheck.sources.snapshot import Snapshot

    with Snapshot(path, read_schema(profile)) as snapshot:
        releases = snapshot.releases()
    if format_ == "json":
        click.echo(json.dumps([r.model_dump(mode="json") for r in releases], indent=2))
    else:
        results().print(release_table(releases))
