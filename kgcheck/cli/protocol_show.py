"""``kgcheck protocol show``: show a protocol's steps, with the facts and papers behind each."""

from pathlib import Path

import click

from kgcheck.cli.options import FilePath, table_or_json_option
from kgcheck.cli.output import json_result, note, result

_COLUMNS = ("step", "what to do", "takes", "makes", "rests on", "analysis")


@click.command("show")
@click.argument("file", type=FilePath(dir_okay=False))
@click.option("--step", help="Only this step, e.g. S3.1, with the words and facts that it rests on.")
@table_or_json_option()
def command(file: Path, step: str | None, format_: str) -> None:
    """Show the protocol in FILE (protocol.json): its steps, and what each rests on."""
    from kgcheck.cli.console import results
    from kgcheck.errors import UnknownName
    from kgcheck.protocols.protocol import read_protocol
    from kgcheck.protocols.rendering import grounds_rows, step_rows
    from kgcheck.report.tables import rows_table

    protocol = read_protocol(file)
    steps = [own for own in protocol.steps if step in (None, own.id)]
    if not steps:
        raise UnknownName("step", step or "", [own.id for own in protocol.steps])
    if format_ == "json":
        json_result((steps[0] if step else protocol).model_dump_json(indent=2))
        return
    result(protocol.objective.title)
    results().print(rows_table(step_rows(steps), _COLUMNS))
    if step:
        results().print(rows_table(grounds_rows(protocol, steps[0]), ("id", "what it rests on", "where")))
    for line in protocol.notes:
        note(line)
