"""``kgcheck score``: eight dimensions of a manuscript, by the formulas of Prompt-to-Paper."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from kgcheck.cli.options import FilePath, manuscript_options
from kgcheck.cli.output import note, show
from kgcheck.options import TextOptions

if TYPE_CHECKING:
    from kgcheck.workspace import Workspace


@click.command("score")
@manuscript_options("brain")
@click.option("--before", type=FilePath(dir_okay=False), help="JSON of an earlier score: what is unchanged is kept.")
@click.option("--format", "format_", type=click.Choice(("table", "json")), default="table", show_default=True)
def command(workspace: "Workspace", options: TextOptions, file: Path, before: Path | None, format_: str) -> None:
    """Score FILE in eight dimensions: a judge (55 %), a corpus (25 %), what can be counted (20 %), less a penalty.

    With --brain rules nobody judges: there is no overall score then and no grade, and it says so. --tokens and --money
    are for the whole manuscript.

    Exit codes: 0 scored; 2 usage or configuration; 3 the model did not answer in form, or its budget is spent.
    """
    from kgcheck.grounding.rendering import score_table

    card, notes = workspace.score(file, before=before, **dict(options))
    for line in notes:
        note(line)
    show(format_, card.model_dump(mode="json"), score_table(card))
    for line in card.missing:
        note(line)
