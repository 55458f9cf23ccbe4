"""``kgcheck batch``: many items of one kind, resumable, with the metrics of the benchmarks."""

import click

from kgcheck.cli import batches, scv


@click.group("batch")
def command() -> None:
    """Answer or check many items; a batch that was cut off goes on where it stopped."""


command.add_command(batches.kgqa)
command.add_command(batches.kgcheck)
command.add_command(scv.command)
