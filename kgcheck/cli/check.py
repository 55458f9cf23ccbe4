"""``kgcheck check``: one node, attribute or edge, by the agent team."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from kgcheck.cli.options import (
    brain_options,
    fail_on_option,
    graph_date_option,
    ledger_option,
    literature_option,
    offline_option,
    profile_option,
    reference_option,
    store_option,
    table_or_json_option,
)
from kgcheck.cli.output import json_result, live_text, note

if TYPE_CHECKING:
    from kgcheck.agents.transcript import Event


@click.command("check")
@click.argument("what", nargs=-1, required=True)
@store_option()
@reference_option()
@click.option("--live", is_flag=True, help="Ask UniProt and STRING, too; what they say comes before the snapshot.")
@offline_option()
@graph_date_option()
@click.option("--transcript", is_flag=True, help="Print what each agent did, on stderr.")
@click.option(
    "--turns", type=click.IntRange(min=1), default=30, show_default=True, help="Most turns of all agents together."
)
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    default=60.0,
    show_default=True,
    help="Most seconds that a check may take.",
)
@brain_options()
@fail_on_option()
@table_or_json_option()
@literature_option()
@ledger_option()
@profile_option()
def command(
    what: tuple[str, ...],
    store: str | None,
    reference: Path | None,
    live: bool,
    offline: bool,
    graph_date: str | None,
    transcript: bool,
    turns: int,
    seconds: float,
    brain: str,
    tokens: int | None,
    money: float | None,
    fail_on: str,
    format_: str,
    index: Path | None,
    ledger: str | None,
    profile: str,
) -> None:
    """Check WHAT: an edge, HEAD RELATION TAIL; existence LABEL ID; attribute LABEL ID NAME, or attribute and an edge.

    Ids or names: "P04637 ACTS_ON Q00987", existence Protein Q00015, attribute Gene TP53 name,
    attribute P04637 ACTS_ON Q00987 score.
    """
    from kgcheck.cli.console import results
    from kgcheck.report.tables import explain_finding
    from kgcheck.workspace import Workspace

    shown = _Live() if transcript else None
    with Workspace(
        store=store,
        reference=reference,
        ledger=ledger,
        literature=index,
        profile=profile,
        live=live,
        offline=offline,
        brain=brain,
    ) as workspace:
        checked = workspace.check(
            what,
            graph_date=graph_date,
            turns=turns,
            seconds=seconds,
            tokens=tokens,
            money=money,
            on_event=shown.show if shown else None,
            on_text=shown.hear if shown else None,
        )
    for text in checked.notes:
        note(text)
    if format_ == "json":
        json_result(checked.finding.as_row())
    else:
        results().print(explain_finding(checked.finding))
    click.get_current_context().exit(checked.exit_code(fail_on))


class _Live:
    """Events as they happen on stderr, and what a model says as it says it."""

    def __init__(self) -> None:
        self._mid_line = False

    def hear(self, text: str) -> None:
        """Show a piece of text."""
        if shown := live_text(text):
            self._mid_line = not shown.endswith("\n")

    def show(self, event: "Event") -> None:
        """Show an event, on a line of its own."""
        from kgcheck.report.tables import transcript_line

        if self._mid_line:
            note("")
            self._mid_line = False
        note(transcript_line(event))
