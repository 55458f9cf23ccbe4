"""``kgcheck protocol report``: extract the methods of papers, step by step, as quotes."""

from pathlib import Path

import click

from kgcheck.cli.options import PARTS, FilePath, format_options, options_of
from kgcheck.cli.output import note, show_or_write
from kgcheck.options import Spending


@click.command("report")
@click.argument("place", metavar="PAPER|INDEX", type=FilePath(exists=True))
@click.option("--paper", "papers", multiple=True, help="Only the paper with this id; may be repeated.")
@click.option(
    "--objective",
    "objective_file",
    type=FilePath(dir_okay=False),
    help="TOML file of an objective: how much of each section it can use, 1 to 5.",
)
@PARTS["brain"]
@options_of(Spending, "spending")
@format_options(("table", "json", "markdown"))
def command(
    place: Path,
    papers: tuple[str, ...],
    objective_file: Path | None,
    brain: str,
    spending: Spending,
    format_: str,
    out: Path | None,
) -> None:
    """Report what a PAPER did, or the papers of an INDEX: steps, settings, software, statistics and data sets.

    Each step is a sentence of the methods as it stands there; what it names is read by rules. With --brain llm, a model
    chooses the sentences, and those that the paper does not have word for word are dropped.

    Exit codes: 0 written; 2 usage or configuration; 3 the model was stopped by --tokens or --money, or did not answer.
    """
    from kgcheck.protocols.protocol import read_objective
    from kgcheck.protocols.rendering import details, reports_table
    from kgcheck.protocols.reports.papers import report_papers
    from kgcheck.report.documents import page
    from kgcheck.visible import as_json

    objective = read_objective(objective_file) if objective_file else None
    reports, notes = report_papers(place, papers=papers, objective=objective, brain=brain, spending=spending)
    for text in notes:
        note(text)
    match format_:
        case "json":
            show_or_write(as_json([report.model_dump(mode="json") for report in reports], indent=2) + "\n", out)
        case "markdown":
            show_or_write(page("experimental_report", "markdown", reports=reports, details=details), out)
        case _:
            show_or_write(reports_table(reports), out)
