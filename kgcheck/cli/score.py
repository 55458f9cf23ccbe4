"""``kgcheck score``: eight dimensions of a manuscript, by the formulas of Prompt-to-Paper."""

from pathlib import Path

import click

from kgcheck.cli.options import FilePath, brain_options, manuscript_options
from kgcheck.cli.output import json_result, note


@click.command("score")
@manuscript_options()
@click.option("--before", type=FilePath(dir_okay=False), help="JSON of an earlier score: what is unchanged is kept.")
@brain_options()
@click.option("--format", "format_", type=click.Choice(("table", "json")), default="table", show_default=True)
def command(
    file: Path,
    store: str | None,
    reference: Path | None,
    literature: Path | None,
    bibliography: Path | None,
    results: Path | None,
    live: bool,
    offline: bool,
    ledger: str | None,
    before: Path | None,
    brain: str,
    tokens: int | None,
    money: float | None,
    profile: str,
    format_: str,
) -> None:
    """Score FILE in eight dimensions: a judge (55 %), a corpus (25 %), what can be counted (20 %), less a penalty.

    With --brain rules nobody judges: there is no overall score then and no grade, and it says so. --tokens and --money
    are for the whole manuscript.

    Exit codes: 0 scored; 2 usage or configuration; 3 the model did not answer in form, or its budget is spent.
    """
    from kgcheck.cli.console import RichProgress
    from kgcheck.cli.console import results as console
    from kgcheck.grounding.rendering import score_table
    from kgcheck.workspace import Workspace

    with Workspace(
        store=store,
        reference=reference,
        ledger=ledger,
        literature=literature,
        live=live,
        offline=offline,
        profile=profile,
        brain=brain,
        progress=RichProgress(),
    ) as workspace:
        card, notes = workspace.score(
            file, bibliography=bibliography, results=results, before=before, tokens=tokens, money=money
        )
    for line in notes:
        note(line)
    if format_ == "json":
        json_result(card.model_dump(mode="json"))
    else:
        console().print(score_table(card))
    for line in card.missing:
        note(line)
