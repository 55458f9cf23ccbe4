"""``kgcheck protocol replay``: design a protocol again from its transcript, and compare."""

from pathlib import Path

import click

from kgcheck.cli.options import FilePath
from kgcheck.cli.output import result
from kgcheck.plurals import how_many


@click.command("replay")
@click.argument("folder", type=FilePath(file_okay=False))
def command(folder: Path) -> None:
    """Design the protocol of FOLDER again: no model, no graph, no paper. Nothing is written.

    Exit codes: 0 the same bytes; 1 another protocol; 2 there is no whole design in FOLDER.
    """
    from kgcheck.errors import EXIT_CLEAN, EXIT_FINDINGS
    from kgcheck.protocols.design.designs import FILE, design_again

    protocol, same = design_again(folder)
    steps = sum(1 for _ in protocol.steps)
    what = "the same bytes" if same else "another protocol"
    result(f"{how_many(len(protocol.sections), 'section')}, {how_many(steps, 'step')}: {what} as {folder / FILE}")
    click.get_current_context().exit(EXIT_CLEAN if same else EXIT_FINDINGS)
