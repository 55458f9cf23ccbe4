"""``kgcheck profile``: list, draft and validate profiles, the kinds of graphs that kgcheck understands."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from kgcheck.cli.options import FilePath, table_or_json_option, workspace_options
from kgcheck.cli.output import json_result, note, result
from kgcheck.plurals import how_many

if TYPE_CHECKING:
    from kgcheck.profile.schema import Schema
    from kgcheck.workspace import Workspace


@click.group("profile")
def command() -> None:
    """List, draft and validate profiles: the kinds of graphs that kgcheck understands."""


@command.command("list")
@table_or_json_option()
def list_profiles(format_: str) -> None:
    """List the profiles that kgcheck has."""
    from kgcheck.profile.folder import profile_names
    from kgcheck.profile.schema import load_schema

    schemas = [load_schema(name) for name in profile_names()]
    if format_ == "json":
        json_result([s.profile.model_dump(include={"name", "version", "title"}, mode="json") for s in schemas])
        return
    width = max(len(s.profile.name) for s in schemas)
    for schema in schemas:
        result(f"{schema.profile.name:<{width}}  {schema.profile.title}")


@command.command("init")
@workspace_options("store")
@click.option("--out", required=True, type=FilePath(file_okay=False), help="The folder to make.")
def init(workspace: "Workspace", out: Path) -> None:
    """Draft a profile of the graph in STORE: its labels, keys, properties and relations, and what can check them.

    Nothing is written to the store. A draft can be used at once; what it guesses stands in comments.
    """
    from kgcheck.graph.survey import survey
    from kgcheck.profile.init import draft_profile, write_profile

    _refuse_profile(out)
    seen = survey(workspace.store, workspace.settings, workspace.progress)
    draft = draft_profile(seen, out.resolve().name)
    path = write_profile(draft, out)
    for text in draft.notes:
        note(text)
    patterns = how_many(len(seen.relations), "relation pattern")
    note(f"wrote {path}: {how_many(len(seen.labels), 'label')} and {patterns} were seen")
    note(f"next: kgcheck audit --store {workspace.store} --profile {out.absolute()} --type structure")


def _refuse_profile(folder: Path) -> None:
    from kgcheck.errors import ConfigurationError
    from kgcheck.profile.folder import GRAPH

    if (folder / GRAPH).exists():
        raise ConfigurationError(f"there is a profile in {folder} already", "name another folder with --out")


@command.command("validate")
@click.argument("profile")
@table_or_json_option()
def validate(profile: str, format_: str) -> None:
    """Look at every file of PROFILE, a name or a folder, and list all that is wrong with it.

    Exit code 2 if anything is.
    """
    from kgcheck.errors import EXIT_USAGE
    from kgcheck.profile.claims import load_claim_forms
    from kgcheck.profile.folder import is_path
    from kgcheck.profile.validate import CLAIMS, validate_profile

    if not is_path(profile) and Path(profile).is_dir():
        profile = f"./{profile}"

    def claims(schema: "Schema") -> object:
        return load_claim_forms(schema.address)

    found = validate_profile(profile, {CLAIMS: claims, "reference": _selects})
    if format_ == "json":
        json_result(found.model_dump(mode="json"))
    else:
        for mistake in found.mistakes:
            result(mistake)
        for text in found.notes:
            note(text)
        if not found.mistakes:
            patterns = how_many(found.relations, "relation pattern")
            result(f"{found.name}: {how_many(found.labels, 'label')}, {patterns}; nothing is wrong")
    if found.mistakes:
        click.get_current_context().exit(EXIT_USAGE)


def _selects(schema: "Schema") -> None:
    """Refuse selects that a recipe must not have."""
    from kgcheck.profile.reference_files import recipes_by_path
    from kgcheck.profile.toml_files import Mistake, WrongFile
    from kgcheck.reference.selects import refusal

    for path, recipe in recipes_by_path(schema).items():
        refused = [(rows.table, why) for f in recipe.files for rows in f.rows if (why := refusal(rows.select))]
        if refused:
            raise WrongFile(path, [Mistake(where=f"files.rows[{table}].select", what=why) for table, why in refused])
