"""``kgcheck protocol report``: what papers did, step by step, in their own words."""

from pathlib import Path

import click

from kgcheck.cli.options import FilePath, brain_options, format_options
from kgcheck.cli.output import json_result, note, text_result


@click.command("report")
@click.argument("place", metavar="PAPER|INDEX", type=FilePath(exists=True))
@click.option("--paper", "papers", multiple=True, help="Only the paper with this id; may be repeated.")
@click.option(
    "--objective",
    "objective_file",
    type=FilePath(dir_okay=False),
    help="TOML file of an objective: how much of each section it can use, 1 to 5.",
)
@brain_options()
@format_options(("table", "json", "markdown"))
def command(
    place: Path,
    papers: tuple[str, ...],
    objective_file: Path | None,
    brain: str,
    tokens: int | None,
    money: float | None,
    format_: str,
    output: Path | None,
) -> None:
    """Report what a PAPER did, or the papers of an INDEX: steps, settings, software, statistics and data sets.

    Each step is a sentence of the methods as it stands there; what it names is read by rules. With --brain llm, a model
    chooses the sentences, and those that the paper does not have word for word are dropped.

    Exit codes: 0 written; 2 usage or configuration; 3 the model was stopped by --tokens or --money, or did not answer.
    """
    from kgcheck.cli.console import results
    from kgcheck.outputs import write_text
    from kgcheck.protocols.protocol import read_objective
    from kgcheck.protocols.reports.table import details, reports_table
    from kgcheck.report.cells import as_text
    from kgcheck.report.documents import page
    from kgcheck.visible import as_json
    from kgcheck.workspace.protocol_reports import report_papers

    objective = read_objective(objective_file) if objective_file else None
    reports, notes = report_papers(place, papers=papers, objective=objective, brain=brain, tokens=tokens, money=money)
    for text in notes:
        note(text)
    if format_ == "json":
        rows = [report.model_dump(mode="json") for report in reports]
        if output is None:
            json_result(rows)
        else:
            write_text(output, as_json(rows, indent=2) + "\n")
    elif format_ == "markdown":
        text = page("experimental_report", "markdown", reports=reports, details=details)
        text_result(text) if output is None else write_text(output, text)
    elif output is None:
        results().print(reports_table(reports))
    else:
        write_text(output, as_text(reports_table(reports)))
