"""``kgcheck claims``: what the papers of an index claim, who agrees, and who contradicts whom."""

from pathlib import Path

import click

from kgcheck.cli.options import FilePath, ledger_option
from kgcheck.cli.output import json_result, note, text_result


@click.command("claims")
@click.argument("index", type=FilePath(file_okay=False))
@click.option("--paper", "papers", multiple=True, help="Show only what concerns this paper, by id; may be repeated.")
@click.option("--format", "format_", type=click.Choice(("table", "json", "html")), default="table", show_default=True)
@click.option(
    "--out", type=FilePath(file_okay=False), help="Also write claims.html, a page of the graph, and claims.json here."
)
@ledger_option()
def command(index: Path, papers: tuple[str, ...], format_: str, out: Path | None, ledger: str | None) -> None:
    """Show the claims of the papers in INDEX, made by kgcheck corpus add: at most five a paper, as exact quotes.

    Claims of different papers are compared: which support and which contradict each other. Citations among the papers
    rank them. All of it is kept in the ledger, so that only what changed is read again, and what was cut off goes on.
    """
    from kgcheck.cli.console import RichProgress, results
    from kgcheck.grounding.claims.page import agreement_table, claims_page, claims_table
    from kgcheck.outputs import write_text
    from kgcheck.workspace import Workspace

    with Workspace(literature=index, ledger=ledger, progress=RichProgress()) as workspace:
        mapped = workspace.claims(papers=papers)
    for text in mapped.notes:
        note(text)
    found = mapped.map
    if out is not None:
        write_text(out / "claims.json", found.model_dump_json(indent=2) + "\n")
        write_text(out / "claims.html", claims_page(found, index.name))
        note(f"written to {out}: claims.html and claims.json")
    match format_:
        case "json":
            json_result(found.model_dump(mode="json"))
        case "html":
            text_result(claims_page(found, index.name))
        case _:
            results().print(claims_table(found))
            if found.groups:
                results().print(agreement_table(found))
