"""``kgcheck claims``: what the papers of an index claim, who agrees, and who contradicts whom."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from kgcheck.cli.options import FilePath, workspace_options
from kgcheck.cli.output import json_result, note, text_result

if TYPE_CHECKING:
    from kgcheck.workspace import Workspace


@click.command("claims")
@click.option("--paper", "papers", multiple=True, help="Show only what concerns this paper, by id; may be repeated.")
@click.option("--format", "format_", type=click.Choice(("table", "json", "html")), default="table", show_default=True)
@click.option(
    "--out", type=FilePath(file_okay=False), help="Also write claims.html, a page of the graph, and claims.json here."
)
@workspace_options("ledger", literature=click.argument("literature", metavar="INDEX", type=FilePath(file_okay=False)))
def command(workspace: "Workspace", papers: tuple[str, ...], format_: str, out: Path | None) -> None:
    """Show the claims of the papers in INDEX, made by kgcheck corpus add: at most five a paper, as exact quotes.

    Claims of different papers are compared: which support and which contradict each other. Citations among the papers
    rank them. All of it is kept in the ledger, so that only what changed is read again, and what was cut off goes on.
    """
    from kgcheck.cli.console import results
    from kgcheck.grounding.claims.page import agreement_table, claims_page, claims_table
    from kgcheck.outputs import write_text

    mapped, name = workspace.claims(papers=papers), workspace.literature.name if workspace.literature else ""
    for text in mapped.notes:
        note(text)
    found = mapped.map
    if out is not None:
        write_text(out / "claims.json", found.model_dump_json(indent=2) + "\n")
        write_text(out / "claims.html", claims_page(found, name))
        note(f"written to {out}: claims.html and claims.json")
    match format_:
        case "json":
            json_result(found.model_dump(mode="json"))
        case "html":
            text_result(claims_page(found, name))
        case _:
            results().print(claims_table(found))
            if found.groups:
                results().print(agreement_table(found))
