"""``kgcheck report``: the findings of a run again, in any form."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kgcheck.cli.options import format_options, limit_option, workspace_options
from kgcheck.cli.output import show_or_write

if TYPE_CHECKING:
    from kgcheck.ledger.run import Run
    from kgcheck.model import Tally
    from kgcheck.workspace import Workspace


@click.command("report")
@click.argument("run", default="latest")
@format_options()
@limit_option()
@click.option(
    "--methods", is_flag=True, help="Instead, how the graph was checked, as a paragraph for a paper: text or JSON."
)
@workspace_options("ledger", progress=False)
def command(workspace: "Workspace", run: str, format_: str, out: Path | None, limit: int | None, methods: bool) -> None:
    """Show the findings of RUN: its id, the beginning of its id, or `latest`."""
    from kgcheck.cli.show import show_run

    found = workspace.run(run)
    if methods:
        show_or_write(_methods(found, workspace.tallies(found), format_), out)
        return
    show_run(workspace, found, workspace.tallies(found), format_=format_, out=out, limit=limit)


def _methods(run: "Run", tallies: "Sequence[Tally]", format_: str) -> str:
    from kgcheck.errors import UsageError
    from kgcheck.report.methods import methods_of
    from kgcheck.visible import as_json

    found = methods_of(run, tallies)
    match format_:
        case "table" | "markdown":
            return f"{found.text}\n"
        case "json":
            return as_json(found.model_dump(mode="json") | {"text": found.text}, indent=2) + "\n"
        case _:
            raise UsageError(f"methods are no {format_}", "leave out --format for text, or name json")
