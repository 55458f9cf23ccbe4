"""``kgcheck improve``: a manuscript made better round by round, never worse than the best."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from kgcheck.cli.options import FilePath, manuscript_options
from kgcheck.cli.output import note, result, text_result
from kgcheck.options import TextOptions

if TYPE_CHECKING:
    from kgcheck.workspace import Workspace


@click.command("improve")
@manuscript_options(brain="llm")
@click.option(
    "--out",
    required=True,
    type=FilePath(file_okay=False),
    help="Folder of the rounds and the best text; goes on there.",
)
@click.option(
    "--rounds", type=click.IntRange(1, 1_000), default=12, show_default=True, help="With those that are done."
)
def command(workspace: "Workspace", options: TextOptions, file: Path, out: Path, rounds: int) -> None:
    """Improve FILE (Markdown): a judge scores it, a worker writes one section again, and a better text is kept.

    Both are models: KGCHECK_LLM_MODEL and so on is the judge, KGCHECK_LLM_WORKER_MODEL and so on the worker, where it
    is another one. FILE is never changed. --tokens and --money are for all rounds together, with those of earlier
    calls; the same command goes on where one was stopped.

    Exit codes: 0 all rounds are done; 2 usage or configuration; 3 the budget is spent, or a model did not answer.
    """
    from kgcheck.grounding.improvement_log import log_table

    log, notes = workspace.improve(file, out, rounds=rounds, **dict(options))
    for line in notes:
        note(line)
    for line in log.start.card.missing if log.start else ():
        note(line)
    text_result(log_table(log.start, log.rounds))
    result(f"best: {log.folder / 'best.md'}")
