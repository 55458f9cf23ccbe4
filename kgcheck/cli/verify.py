"""``kgcheck verify``: what papers say of a claim or of an edge."""

from typing import TYPE_CHECKING

import click

from kgcheck.cli.options import index_option, options_of, table_or_json_option, workspace_options
from kgcheck.cli.output import note, show
from kgcheck.options import VerifyOptions

if TYPE_CHECKING:
    from kgcheck.workspace import Workspace


@click.command("verify")
@click.argument("claim", required=False)
@click.option("--triple", help='An edge instead of a claim, by ids or names: "HEAD RELATION TAIL".')
@workspace_options("store", "reference", "profile", progress=False, literature=index_option(required=True))
@options_of(VerifyOptions)
@table_or_json_option()
def command(
    workspace: "Workspace",
    claim: str | None,
    triple: str | None,
    options: VerifyOptions,
    format_: str,
) -> None:
    """Tell what papers say of CLAIM, or of an edge of the graph, with exact quotes.

    Exit codes: 0 supported, or the papers are silent; 1 contradicted; 2 usage or configuration; 3 the model was
    stopped by --tokens or --money, or did not answer.
    """
    from kgcheck.errors import EXIT_CLEAN, EXIT_FINDINGS
    from kgcheck.model import Stance
    from kgcheck.report.tables import claim_table

    verified = workspace.verify(claim or "", triple=triple, **dict(options))
    for text in (*verified.taken, *verified.notes):
        note(str(text))
    verdict = verified.verdict
    row = verdict.model_dump(mode="json") | {"taken": [taken.as_row() for taken in verified.taken]}
    show(format_, row, claim_table(verdict))
    click.get_current_context().exit(EXIT_FINDINGS if verdict.stance is Stance.CONTRADICTS else EXIT_CLEAN)
