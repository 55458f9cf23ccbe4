"""``kgcheck protocol design``: design a protocol from an objective, papers and verified facts."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from kgcheck.cli.options import FilePath, literature_option, live_option, options_of, workspace_options
from kgcheck.cli.output import note, result
from kgcheck.options import Spending
from kgcheck.plurals import how_many

if TYPE_CHECKING:
    from kgcheck.workspace import Workspace


@click.command("design")
@click.argument("objective", type=FilePath(dir_okay=False))
@click.option(
    "--out",
    required=True,
    type=FilePath(file_okay=False),
    help="Folder of the protocol and its transcript; goes on there.",
)
@workspace_options(
    "store",
    "reference",
    "ledger",
    "profile",
    "brain",
    literature=literature_option("Literature index: its whole papers that fit best are read.", configured=False),
    live=live_option("Look up the data sets that papers name."),
)
@click.option(
    "--papers", multiple=True, type=FilePath(dir_okay=False), help="A file of whole papers; may be given again."
)
@click.option(
    "--reports",
    multiple=True,
    type=FilePath(dir_okay=False),
    help="Reports of papers, made by kgcheck protocol report --format json; may be given again.",
)
@click.option("--search", type=FilePath(file_okay=False), help="Folder of kgcheck protocol search: what it kept.")
@options_of(Spending, "spending")
def command(
    workspace: "Workspace",
    spending: Spending,
    objective: Path,
    out: Path,
    papers: tuple[Path, ...],
    reports: tuple[Path, ...],
    search: Path | None,
) -> None:
    """Design a protocol for OBJECTIVE (TOML), and write protocol.json, its pages and its transcript.

    Each step names the passages of papers and the verified facts that it rests on. With --brain llm, a model writes and
    reviews; what its passages and facts do not bear out is thrown away. --tokens and --money count with earlier calls;
    the same command goes on where one was stopped.

    Exit codes: 0 designed; 2 usage or configuration; 3 a source was away, the budget is spent, or a model did not
    answer.
    """
    from kgcheck.errors import EXIT_INCOMPLETE
    from kgcheck.protocols.design.material import read_reports
    from kgcheck.protocols.protocol import read_objective

    wanted, given = read_objective(objective), read_reports(reports)
    made = workspace.design_protocol(wanted, out, papers=papers, reports=given, search=search, **dict(spending))
    for line in made.protocol.notes:
        note(line)
    steps = sum(1 for _ in made.protocol.steps)
    result(f"{how_many(len(made.protocol.sections), 'section')}, {how_many(steps, 'step')}: {out / 'protocol.json'}")
    if made.unavailable:
        click.get_current_context().exit(EXIT_INCOMPLETE)
