"""``kgcheck load``, ``build``, ``reference``, ``profile``, ``ledger``: graphs, snapshots, profiles, ledger."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kgcheck.cli.options import (
    FilePath,
    LedgerName,
    columns_option,
    given,
    options_of,
    out_folder_option,
    table_or_json_option,
    workspace_options,
)
from kgcheck.cli.output import json_result, live_text, note, result, show, show_rows, text_result
from kgcheck.errors import EXIT_INCOMPLETE, EXIT_USAGE, ConfigurationError, UsageError
from kgcheck.options import LoadOptions
from kgcheck.plurals import how_many
from kgcheck.profile.folder import GRAPH, is_path, profile_names
from kgcheck.profile.toml_files import Mistake, WrongFile

if TYPE_CHECKING:
    from kgcheck.loading.load import LoadSummary
    from kgcheck.profile.schema import Schema
    from kgcheck.reference.snapshot import SourceRelease
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
def load(
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
    from kgcheck.report.tables import load_table

    if neo4j_home and not offline:
        raise UsageError("--neo4j-home is for --offline", "name a folder for the files with --offline")
    if offline and (options.prune or options.full or options.dry_run or given("store")):
        raise UsageError(
            "--offline makes a new database, so --store, --prune, --full and --dry-run mean nothing to it",
            "leave them out, or leave --offline out",
        )
    if offline:
        summary, files = workspace.prepare_import(directory, offline, quarantine=quarantine, **dict(options))
    else:
        summary, files = workspace.load(directory, quarantine=quarantine, **dict(options)), None
    show(format_, summary.model_dump_json(indent=2), load_table(summary))
    if format_ == "table":
        _note_load(summary)
    if files and neo4j_home:
        from kgcheck.cli.console import RichProgress

        with RichProgress().step("neo4j-admin database import"):
            files.run(neo4j_home)
    elif files:
        from kgcheck.loading.admin_import import shell

        note("with the server stopped, run:")
        (live_text if format_ == "json" else text_result)(shell(files.command()) + "\n")
    if files:
        note(f"next: start the server, then kgcheck load {directory} --store bolt://localhost:7687 for the constraints")
    if summary.incomplete:
        click.get_current_context().exit(EXIT_INCOMPLETE)


def _note_load(summary: "LoadSummary") -> None:
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


_RELEASE_OPTION = click.option(
    "--release",
    "releases",
    multiple=True,
    metavar="SOURCE=RELEASE",
    help="Release of a source whose file does not state it.",
)


@click.command("build")
@click.argument("sources", type=FilePath())
@out_folder_option("The import directory to make.")
@_RELEASE_OPTION
@workspace_options(
    "profile",
    store=click.option(
        "--store",
        help="Load the graph, too: a path (embedded), or bolt:// or neo4j:// (Neo4j; credentials in KGCHECK_NEO4J_USER "
        "and KGCHECK_NEO4J_PASSWORD).",
    ),
)
@table_or_json_option()
def build(workspace: "Workspace", sources: Path, out: Path, releases: tuple[str, ...], format_: str) -> None:
    """Build a graph's import directory from SOURCES: the providers' files in a folder, or a snapshot of them.

    The lines of the profile that decide in an audit decide what becomes a node, a property and an edge; what a source
    denies, or says to be gone, is left out. Of a folder, the snapshot is made first, as reference.duckdb in the import
    directory. With --store, the graph is loaded, too.

    Exit codes: 0 done, 2 usage or a failure, 3 done, but too many rows could not be loaded.
    """
    from kgcheck.report.tables import built_table

    built = workspace.build_import(out, sources, releases=_stated_releases(releases))
    show(format_, built.model_dump(mode="json"), built_table(built))
    note(f"{built.folder}: {how_many(built.nodes, 'node')}, {how_many(built.edges, 'edge')}")
    for file, causes in built.left_out.items():
        why = ", ".join(f"{count:,} with {cause}" for cause, count in causes.items())
        note(f"{file}: {why} left out")
    if lacking := [file.file for file in built.files if not file.rows]:
        note(f"no source states anything for {how_many(len(lacking), 'file')}: {', '.join(lacking)}")
    if not given("store"):
        profile = f" --profile {workspace.profile}" if given("profile") else ""
        audit = f"kgcheck audit --store STORE --reference {workspace.reference}{profile}"
        note(f"next: kgcheck load {out} --store STORE{profile}; {audit}")
        return
    summary = workspace.load(out)
    _note_load(summary)
    if summary.incomplete:
        click.get_current_context().exit(EXIT_INCOMPLETE)


_KINDS = click.Choice(["sources", "bibliography"])


@click.group("reference")
def reference() -> None:
    """Fetch, build, show and compare reference snapshots: pinned local copies of what the sources say."""


@reference.command("build")
@click.argument("directory", type=FilePath())
@workspace_options(
    "profile",
    reference=click.option(
        "--out", "reference", required=True, type=FilePath(dir_okay=False), help="The DuckDB file to make."
    ),
)
@_RELEASE_OPTION
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
def reference_build(
    workspace: "Workspace",
    directory: Path,
    releases: tuple[str, ...],
    kind: str,
    complete: tuple[str, ...],
    retractions: tuple[Path, ...],
) -> None:
    """Build a snapshot from every file under DIRECTORY that a recipe of the profile, or the bibliography, knows."""
    stated = _stated_releases(releases)
    if kind == "bibliography":
        from kgcheck.literature.bibliography import build_bibliography

        known: dict[str, Any] = {"releases": stated, "complete": complete, "retractions": retractions}
        out, settings = Path(workspace.reference or ""), workspace.settings
        made = build_bibliography(directory, out, settings, progress=workspace.progress, **known)
        _show_bibliography(workspace, "table")
        shown = ", ".join(f"{count:,} of {source}" for source, count in made.statements.items())
        note(f"{how_many(made.works, 'work')}; statements: {shown}")
        if made.rejected:
            note(f"{made.rejected:,} records were not read: {made.quarantine}")
        return
    if complete or retractions:
        raise UsageError("--complete and --retractions are of a bibliography", "add --kind bibliography")
    notes: list[str] = []
    built = workspace.build_reference(directory, releases=stated, notes=notes)
    note(*notes)
    _show_sources(built, "table")


def _stated_releases(releases: tuple[str, ...]) -> dict[str, str]:
    stated: dict[str, str] = {}
    for text in releases:
        source, separator, release = text.partition("=")
        if not (source and separator and release):
            raise UsageError(f"--release {text!r} is not SOURCE=RELEASE", "for example --release uniprot=2026_03")
        stated[source] = release
    return stated


@reference.command("show")
@workspace_options(
    "profile", progress=False, reference=click.argument("reference", metavar="SNAPSHOT", type=FilePath())
)
@click.option("--kind", type=_KINDS, default="sources", show_default=True, help="Of the snapshot.")
@table_or_json_option()
def reference_show(workspace: "Workspace", kind: str, format_: str) -> None:
    """List the releases in SNAPSHOT: source, release, date, file, hash, licence and rows."""
    if kind == "bibliography":
        _show_bibliography(workspace, format_)
    else:
        _show_sources(workspace.releases(), format_)


@reference.command("fetch")
@click.argument("directory", type=FilePath(file_okay=False))
@click.option("--source", "sources", multiple=True, help="Only the files of this source; all if none is named.")
@table_or_json_option()
@workspace_options("profile")
def reference_fetch(workspace: "Workspace", directory: Path, sources: tuple[str, ...], format_: str) -> None:
    """Download the providers' files into DIRECTORY: goes on where it was cut off, leaves what is unchanged.

    Exit code 3 if a file could not be had.
    """
    from kgcheck.providers.http import Http
    from kgcheck.reference.download import fetch_references
    from kgcheck.report.tables import fetched_table

    schema = workspace.schema
    with Http(workspace.settings) as http:
        done = fetch_references(directory, schema, http, sources=sources, progress=workspace.progress)
    show(format_, [f.model_dump(mode="json") for f in done], fetched_table(done))
    if any(f.failure for f in done):
        click.get_current_context().exit(EXIT_INCOMPLETE)


@reference.command("diff")
@click.argument("older", type=FilePath())
@click.argument("newer", type=FilePath())
@table_or_json_option()
@workspace_options("profile", progress=False)
def reference_diff(workspace: "Workspace", older: Path, newer: Path, format_: str) -> None:
    """Show what changed between the snapshots OLDER and NEWER: by source and table, with examples."""
    from kgcheck.reference.difference import compare_snapshots
    from kgcheck.report.tables import difference_table

    changes = compare_snapshots(older, newer, workspace.schema)
    show(format_, [c.model_dump(mode="json") for c in changes], difference_table(changes))


def _show_bibliography(workspace: "Workspace", format_: str) -> None:
    from kgcheck.literature.bibliography import Bibliography

    with Bibliography(Path(workspace.reference or "")) as bibliography:
        _show_releases(bibliography.releases(), format_)


def _show_releases(releases: "Sequence[SourceRelease]", format_: str) -> None:
    from kgcheck.report.tables import release_table

    show(format_, [r.model_dump(mode="json") for r in releases], release_table(releases))


def _show_sources(releases: "Sequence[SourceRelease]", format_: str) -> None:
    from kgcheck.profile.schema import load_schema

    _show_releases(releases, format_)
    if format_ == "json":
        return
    for schema in map(load_schema, profile_names()):
        if served := schema.sources & {release.source for release in releases}:
            lacking = ", ".join(sorted(schema.sources - served))
            shown = f"it serves profile {schema.profile.name}: {len(served)} of {len(schema.sources)} sources"
            note(f"{shown}; it lacks {lacking}" if lacking else shown)


@click.group("profile")
def profile() -> None:
    """List, draft and validate profiles: the kinds of graphs that kgcheck understands."""


@profile.command("list")
@table_or_json_option()
def profile_list_profiles(format_: str) -> None:
    """List the profiles that kgcheck has."""
    from kgcheck.profile.schema import load_schema

    schemas = [load_schema(name) for name in profile_names()]
    if format_ == "json":
        json_result([s.profile.model_dump(include={"name", "version", "title"}, mode="json") for s in schemas])
        return
    width = max(len(s.profile.name) for s in schemas)
    for schema in schemas:
        result(f"{schema.profile.name:<{width}}  {schema.profile.title}")


@profile.command("init")
@workspace_options("store")
@click.argument("files", nargs=-1, type=FilePath(exists=True), metavar="[FILES]...")
@columns_option()
@out_folder_option("The folder to make.")
def profile_init(workspace: "Workspace", files: tuple[Path, ...], columns: dict[str, str], out: Path) -> None:
    """Draft a profile of the graph on the server STORE: its labels, keys, properties and relations.

    Of FILES, a graph in its owner's form, the draft is what `kgcheck audit FILES` works with, to be edited. Nothing is
    written to the graph. A draft can be used at once.
    """
    from kgcheck.forms.store import FileStore, ServerCopy
    from kgcheck.graph.open import is_address
    from kgcheck.profile.init import draft_of_schema, write_profile

    if (out / GRAPH).exists():
        raise ConfigurationError(f"there is a profile in {out} already", "name another folder with --out")
    if files:
        shown, looked_at = ", ".join(path.name for path in files), " ".join(map(str, files))
    elif is_address(workspace.store):
        shown, looked_at = workspace.store, f"--store {workspace.store} --type structure"
    else:
        hint = "name the files of a graph, or --store bolt://HOST"
        raise UsageError(f"no profile is drafted of {workspace.store}", hint)
    settings, progress = workspace.settings, workspace.progress
    with (
        FileStore(files, settings, progress, columns=columns)
        if files
        else ServerCopy(workspace.store, settings, progress)
    ) as store:
        schema, left_out = store.profile()
        path = write_profile(draft_of_schema(schema, out.resolve().name, shown), out)
        note(*store.files.lines(), *left_out)
    counts = how_many(len(schema.labels), "label"), how_many(len(schema.relations), "relation pattern")
    note(f"wrote {path}: a draft: {counts[0]}, {counts[1]}")
    note(f"next: kgcheck audit {looked_at} --profile {out.absolute()}")


@profile.command("validate")
@click.argument("profile")
@table_or_json_option()
def profile_validate(profile: str, format_: str) -> None:
    """Look at every file of PROFILE, a name or a folder, and list all that is wrong with it.

    Exit code 2 if anything is.
    """
    from kgcheck.profile.claims import load_claim_forms
    from kgcheck.profile.reference_files import recipes_by_path
    from kgcheck.profile.validate import CLAIMS, validate_profile
    from kgcheck.reference.selects import refusal

    if not is_path(profile) and Path(profile).is_dir():
        profile = f"./{profile}"

    def claims(schema: "Schema") -> object:
        return load_claim_forms(schema.address)

    def selects(schema: "Schema") -> None:
        for path, recipe in recipes_by_path(schema).items():
            rows = [rows for file in recipe.files for rows in file.rows]
            if refused := [(one.table, why) for one in rows if (why := refusal(one.select))]:
                raise WrongFile(
                    path, [Mistake(where=f"files.rows[{table}].select", what=why) for table, why in refused]
                )

    found = validate_profile(profile, {CLAIMS: claims, "reference": selects})
    if format_ == "json":
        json_result(found.model_dump(mode="json"))
    else:
        for mistake in found.mistakes:
            result(mistake)
        note(*found.notes)
        if not found.mistakes:
            patterns = how_many(found.relations, "relation pattern")
            result(f"{found.name}: {how_many(found.labels, 'label')}, {patterns}; nothing is wrong")
    if found.mistakes:
        click.get_current_context().exit(EXIT_USAGE)


@click.group("ledger")
def ledger() -> None:
    """Show what keeps the runs, and copy it to another place."""


@ledger.command("info")
@workspace_options("ledger", progress=False)
@table_or_json_option()
def ledger_info(workspace: "Workspace", format_: str) -> None:
    """Show what the ledger is kept in, its format, its size, and how much is in it."""
    from kgcheck.report.tables import ledger_table

    facts = workspace.ledger_facts()
    show(format_, facts._asdict(), ledger_table(facts))


@ledger.command("copy")
@workspace_options(ledger=click.argument("ledger", metavar="FROM", type=LedgerName()))
@click.argument("target", metavar="TO", type=LedgerName())
@table_or_json_option()
def ledger_copy(workspace: "Workspace", target: str, format_: str) -> None:
    """Write into the ledger TO what FROM has, all of it or nothing.

    Each is a SQLite file or postgresql://HOST/DATABASE. TO is new or empty; one with runs or decisions of its own is
    refused. Tokens, sessions and tasks of a service stay where they are.
    """
    rows = [{"table": table, "rows": count} for table, count in workspace.copy_ledger(target).items()]
    show_rows(format_, rows, ("table", "rows"))
