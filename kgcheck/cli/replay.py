"""``kgcheck replay``: a check again from its transcript."""

from pathlib import Path

import click

from kgcheck.cli.options import profile_option


@click.command("replay")
@click.argument("file", type=click.Path(path_type=Path))
@profile_option()
def command(file: Path, profile: str) -> None:
    """Run the check of FILE, a transcript, again: no model, no graph, no source. Ends with 1 if the verdict changes."""
    from kgcheck.agents.replay import read_transcript, replay
    from kgcheck.cli.console import errors
    from kgcheck.cli.environment import read_schema
    from kgcheck.errors import EXIT_CLEAN, EXIT_FINDINGS
    from kgcheck.report.tables import transcript_line

    events = read_transcript(file)
    again = replay(events, read_schema(profile))
    for event in events:
        errors().print(transcript_line(event), soft_wrap=True)
    now, then = again.checked.verdict, again.recorded
    click.echo(f"{again.checked.task}: {now.outcome.value}, {now.reason.value}, confidence {now.confidence}")
    if again.checked.differs and again.checked.concluded:
        errors().print(f"the model concluded {again.checked.concluded.value}", soft_wrap=True)
    if not again.same:
        errors().print(f"the verdict was {then.outcome.value}, and is now {now.outcome.value}", soft_wrap=True)
    click.get_current_context().exit(EXIT_CLEAN if again.same else EXIT_FINDINGS)
