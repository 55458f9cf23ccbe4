"""``kgcheck check``: one node, attribute or edge, by the agent team."""

from typing import TYPE_CHECKING

import click

from kgcheck.cli.options import fail_on_option, options_of, table_or_json_option, workspace_options
from kgcheck.cli.output import live_text, note, show
from kgcheck.options import CheckOptions

if TYPE_CHECKING:
    from kgcheck.agents.transcript import Event
    from kgcheck.workspace import Workspace


@click.command("check")
@click.argument("what", nargs=-1, required=True)
@workspace_options("store", "reference", "live", "offline", "brain", "literature", "ledger", "profile", progress=False)
@click.option("--transcript", is_flag=True, help="Print what each agent did, on stderr.")
@options_of(CheckOptions)
@fail_on_option()
@table_or_json_option()
def command(
    workspace: "Workspace",
    options: CheckOptions,
    what: tuple[str, ...],
    transcript: bool,
    fail_on: str,
    format_: str,
) -> None:
    """Check WHAT: an edge, HEAD RELATION TAIL; existence LABEL ID; attribute LABEL ID NAME, or attribute and an edge.

    Ids or names: "P04637 ACTS_ON Q00987", existence Protein Q00015, attribute Gene TP53 name,
    attribute P04637 ACTS_ON Q00987 score.
    """
    from kgcheck.report.tables import explain_finding

    shown = _Live() if transcript else None
    checked = workspace.check(
        what,
        **dict(options),
        on_event=shown.show if shown else None,
        on_text=shown.hear if shown else None,
    )
    for text in (*checked.taken, *checked.notes):
        note(str(text))
    row = checked.finding.as_row() | {"taken": [taken.as_row() for taken in checked.taken]}
    show(format_, row, explain_finding(checked.finding))
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
