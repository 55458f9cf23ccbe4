"""``kgcheck protocol score``: score a protocol by BioResearcher's five measures."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from kgcheck.cli.options import FilePath, options_of, table_or_json_option, workspace_options
from kgcheck.cli.output import note, show
from kgcheck.options import Spending

if TYPE_CHECKING:
    from kgcheck.workspace import Workspace


@click.command("score")
@click.argument("file", type=FilePath(dir_okay=False))
@workspace_options("brain", "profile")
@options_of(Spending, "spending")
@click.option("--judge", "judges", multiple=True, metavar="MODEL", help="With --brain llm: a judge; may be repeated.")
@table_or_json_option()
def command(
    workspace: "Workspace",
    spending: Spending,
    file: Path,
    judges: tuple[str, ...],
    format_: str,
) -> None:
    """Measure the protocol FILE (protocol.json): completeness, detail, correctness, logic, structure; their sum.

    With --brain rules nobody judges: there are no measures then, only what can be counted, and it says so. Several
    judges are averaged. --tokens and --money are for all of them.

    Exit codes: 0 measured; 2 usage or configuration; 3 a model did not answer in form, or its budget is spent.
    """
    from kgcheck.protocols.rendering import quality_table

    quality, notes = workspace.score_protocol(file, judges=judges, **dict(spending))
    for line in notes:
        note(line)
    show(format_, quality.model_dump(mode="json"), quality_table(quality))
    for line in quality.missing:
        note(line)
