"""``kgcheck report``: the findings of a run again, in any form."""

from pathlib import Path

import click

from kgcheck.cli.options import format_options, ledger_option, limit_option


@click.command("report")
@click.argument("run", default="latest")
@format_options()
@limit_option()
@ledger_option()
def command(run: str, format_: str, output: Path | None, limit: int | None, ledger: Path | None) -> None:
    """Show the findings of RUN: its id, the beginning of its id, or `latest`."""
    from kgcheck.cli.environment import read_settings
    from kgcheck.cli.show import show_run
    from kgcheck.ledger.ledger import Ledger

    with Ledger(ledger or read_settings().ledger, create=False) as kept:
        show_run(kept, kept.run(run), format_, output, limit)
