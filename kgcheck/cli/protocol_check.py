"""``kgcheck protocol check``: find steps whose facts or papers no longer hold, and mistakes."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from kgcheck.choices import STUDY_STATES
from kgcheck.cli.options import FilePath, format_options, literature_option, live_option, workspace_options
from kgcheck.cli.output import note, show_or_write

if TYPE_CHECKING:
    from kgcheck.workspace import Workspace


FORMS = ("table", "json", "markdown", "sarif")


@click.command("check")
@click.argument("files", nargs=-1, required=True, type=FilePath(dir_okay=False))
@workspace_options(
    "store",
    "reference",
    "ledger",
    "profile",
    "offline",
    literature=literature_option("Literature index in which papers are looked up.", configured=False),
    live=live_option("Ask Crossref, PubMed and the repositories of data sets, too."),
)
@click.option(
    "--bibliography", type=FilePath(dir_okay=False), help="Made by kgcheck reference build --kind bibliography."
)
@click.option(
    "--fail-on",
    type=click.Choice(STUDY_STATES),
    default="wrong",
    show_default=True,
    help="Least state of a remark that makes the exit code 1.",
)
@format_options(FORMS)
def command(
    workspace: "Workspace",
    files: tuple[Path, ...],
    bibliography: Path | None,
    fail_on: str,
    format_: str,
    out: Path | None,
) -> None:
    """See which steps of protocols FILES (protocol.json) fell, and what is wrong or lacking in them.

    Facts are held against the newest audits of --ledger and the graph of --store, papers against retractions, steps
    against each other and against the values of their sources; what was not looked at is shown.

    Exit codes: 0 clean, 1 remarks at or over --fail-on, 2 usage or configuration, 3 something could not be looked at.
    """
    from kgcheck.protocols.rendering import checks_table, rendered_checks

    found, notes = workspace.check_protocols(files, bibliography=bibliography)
    for line in notes:
        note(line)
    codes = {checked.exit_code(fail_on) for checked in found}
    # A remark outweighs what could not be looked at.
    code = 1 if 1 in codes else max(codes)
    show_or_write(checks_table(found) if format_ == "table" else rendered_checks(found, format_, code), out)
    for what, why in found[0].not_looked.items():
        note(f"{what} not looked at: {why}")
    click.get_current_context().exit(code)
