"""``kgcheck reference``: fetch, build, show and compare reference snapshots."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kgcheck.cli.options import FilePath, profile_option, table_or_json_option
from kgcheck.cli.output import note, show
from kgcheck.plurals import how_many

if TYPE_CHECKING:
    from kgcheck.reference.snapshot import SourceRelease


_KINDS = click.Choice(["sources", "bibliography"])


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
@click.option(
    "--kind",
    type=_KINDS,
    default="sources",
    show_default=True,
    help="sources: what a profile asks of a graph; bibliography: works, of PubMed XML, JATS, OpenAlex and Crossref.",
)
@click.option(
    "--complete",
    multiple=True,
    metavar="SOURCE",
    help="bibliography: the files hold all works of this source; an id of it that is missing does not exist.",
)
@click.option(
    "--retractions",
    multiple=True,
    type=FilePath(dir_okay=False),
    help="bibliography: a file with the PMIDs of retracted papers, one a line.",
)
@profile_option()
def build(
    directory: Path,
    out: Path,
    releases: tuple[str, ...],
    kind: str,
    complete: tuple[str, ...],
    retractions: tuple[Path, ...],
    profile: str,
) -> None:
    """Build a snapshot from every file under DIRECTORY that a recipe of the profile, or the bibliography, knows."""
    from kgcheck.cli.console import RichProgress
    from kgcheck.errors import UsageError
    from kgcheck.workspace import Workspace

    stated: dict[str, str] = {}
    for text in releases:
        source, separator, release = text.partition("=")
        if not (source and separator and release):
            raise UsageError(f"--release {text!r} is not SOURCE=RELEASE", "for example --release uniprot=2026_03")
        stated[source] = release
    if kind == "bibliography":
        _build_bibliography(directory, out, stated, complete, retractions)
        return
    _refuse_of_bibliography(complete, retractions)
    with Workspace(reference=out, profile=profile, progress=RichProgress()) as workspace:
        _show(workspace.build_reference(directory, releases=stated), "table")


@command.command("show")
@click.argument("snapshot", type=FilePath())
@click.option("--kind", type=_KINDS, default="sources", show_default=True, help="Of the snapshot.")
@table_or_json_option()
@profile_option()
def show_(snapshot: Path, kind: str, format_: str, profile: str) -> None:
    """List the releases in SNAPSHOT: source, release, date, file, hash, licence and rows."""
    from kgcheck.workspace import Workspace

    if kind == "bibliography":
        from kgcheck.literature.bibliography_reader import Bibliography

        with Bibliography(snapshot) as bibliography:
            _show_releases(bibliography.releases(), format_)
        return
    with Workspace(reference=snapshot, profile=profile) as workspace:
        _show(workspace.releases(), format_)


@command.command("fetch")
@click.argument("directory", type=FilePath(file_okay=False))
@click.option("--source", "sources", multiple=True, help="Only the files of this source; all if none is named.")
@table_or_json_option()
@profile_option()
def fetch(directory: Path, sources: tuple[str, ...], format_: str, profile: str) -> None:
    """Download the providers' files into DIRECTORY: goes on where it was cut off, leaves what is unchanged.

    Exit code 3 if a file could not be had.
    """
    from kgcheck.cli.console import RichProgress
    from kgcheck.errors import EXIT_INCOMPLETE
    from kgcheck.profile.schema import read_schema
    from kgcheck.providers.http import Http
    from kgcheck.reference.download import fetch_references
    from kgcheck.report.tables import fetched_table
    from kgcheck.settings import read_settings

    schema, settings = read_schema(profile), read_settings()
    with Http(settings) as http:
        done = fetch_references(directory, schema, http, sources=sources, progress=RichProgress())
    show(format_, [f.model_dump(mode="json") for f in done], fetched_table(done))
    if any(f.failure for f in done):
        click.get_current_context().exit(EXIT_INCOMPLETE)


@command.command("diff")
@click.argument("older", type=FilePath())
@click.argument("newer", type=FilePath())
@table_or_json_option()
@profile_option()
def diff(older: Path, newer: Path, format_: str, profile: str) -> None:
    """Show what changed between the snapshots OLDER and NEWER: by source and table, with examples."""
    from kgcheck.profile.schema import read_schema
    from kgcheck.reference.difference import compare_snapshots
    from kgcheck.report.tables import difference_table

    changes = compare_snapshots(older, newer, read_schema(profile))
    show(format_, [c.model_dump(mode="json") for c in changes], difference_table(changes))


def _refuse_of_bibliography(*given: Sequence[object]) -> None:
    from kgcheck.errors import UsageError

    if any(given):
        raise UsageError("--complete and --retractions are of a bibliography", "add --kind bibliography")


def _build_bibliography(
    directory: Path, out: Path, stated: dict[str, str], complete: Sequence[str], retractions: Sequence[Path]
) -> None:
    from kgcheck.cli.console import RichProgress
    from kgcheck.literature.bibliography import build_bibliography
    from kgcheck.literature.bibliography_reader import Bibliography
    from kgcheck.settings import read_settings

    built = build_bibliography(
        directory,
        out,
        read_settings(),
        releases=stated,
        complete=complete,
        retractions=retractions,
        progress=RichProgress(),
    )
    with Bibliography(out) as bibliography:
        _show_releases(bibliography.releases(), "table")
    shown = ", ".join(f"{count:,} of {source}" for source, count in built.statements.items())
    note(f"{how_many(built.works, 'work')}; statements: {shown}")
    if built.rejected:
        note(f"{built.rejected:,} records were not read: {built.quarantine}")


def _show_releases(releases: "Sequence[SourceRelease]", format_: str) -> None:
    from kgcheck.report.tables import release_table

    show(format_, [r.model_dump(mode="json") for r in releases], release_table(releases))


def _show(releases: "Sequence[SourceRelease]", format_: str) -> None:
    from kgcheck.profile.recognise import own_schemas

    _show_releases(releases, format_)
    if format_ == "json":
        return
    for schema in own_schemas():
        if served := schema.sources & {release.source for release in releases}:
            lacking = ", ".join(sorted(schema.sources - served))
            shown = f"it serves profile {schema.profile.name}: {len(served)} of {len(schema.sources)} sources"
            note(f"{shown}; it lacks {lacking}" if lacking else shown)
