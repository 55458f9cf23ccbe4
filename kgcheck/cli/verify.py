"""``kgcheck verify``: what papers say of a claim or of an edge."""

from pathlib import Path

import click

from kgcheck.cli.options import (
    index_option,
    inference_option,
    profile_option,
    reference_option,
    spending_options,
    store_option,
    table_or_json_option,
    verifier_option,
)
from kgcheck.cli.output import json_result, note


@click.command("verify")
@click.argument("claim", required=False)
@click.option("--triple", help='An edge instead of a claim, by ids or names: "HEAD RELATION TAIL".')
@index_option(required=True)
@verifier_option()
@inference_option()
@spending_options()
@click.option("--document", "documents", multiple=True, help="Read only this document, by id; may be repeated.")
@click.option("--top", type=click.IntRange(1, 50), default=3, show_default=True, help="Papers to read.")
@store_option()
@reference_option()
@profile_option()
@table_or_json_option()
def command(
    claim: str | None,
    triple: str | None,
    index: Path,
    verifier: str,
    inference: Path | None,
    tokens: int | None,
    money: float | None,
    documents: tuple[str, ...],
    top: int,
    store: str | None,
    reference: Path | None,
    profile: str,
    format_: str,
) -> None:
    """Tell what papers say of CLAIM, or of an edge of the graph, with exact quotes.

    Exit codes: 0 supported, or the papers are silent; 1 contradicted; 2 usage or configuration; 3 the model was
    stopped by --tokens or --money, or did not answer.
    """
    from kgcheck.cli.console import results
    from kgcheck.errors import EXIT_CLEAN, EXIT_FINDINGS
    from kgcheck.model import Stance
    from kgcheck.report.tables import claim_table
    from kgcheck.workspace import Workspace

    with Workspace(store=store, reference=reference, literature=index, profile=profile) as workspace:
        verified = workspace.verify(
            claim or "",
            triple=triple,
            documents=documents,
            top=top,
            verifier=verifier,
            inference=inference,
            tokens=tokens,
            money=money,
        )
    for text in verified.notes:
        note(text)
    verdict = verified.verdict
    if format_ == "json":
        json_result(verdict.model_dump(mode="json"))
    else:
        results().print(claim_table(verdict))
    click.get_current_context().exit(EXIT_FINDINGS if verdict.stance is Stance.CONTRADICTS else EXIT_CLEAN)
