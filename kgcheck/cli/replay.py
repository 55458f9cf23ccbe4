"""``kgcheck replay``: a check again from its transcript."""

from pathlib import Path

import click

from kgcheck.cli.options import FilePath, profile_option
from kgcheck.cli.output import note, result


@click.command("replay")
@click.argument("file", type=FilePath())
@profile_option()
def command(file: Path, profile: str) -> None:
    """Run the check of FILE, a transcript, again: no model, no graph, no source. Ends with 1 if the verdict changes."""
    from kgcheck.agents.replay import read_transcript, replay
    from kgcheck.errors import EXIT_CLEAN, EXIT_FINDINGS
    from kgcheck.profile.schema import read_schema
    from kgcheck.report.tables import transcript_line

    events = read_transcript(file)
    again = replay(events, read_schema(profile))
    for event in events:
        note(transcript_line(event))
    now, then = again.checked.verdict, again.recorded
    result(f"{again.checked.task}: {now.outcome.value}, {now.reason.value}, confidence {now.confidence}")
    if again.checked.differs and again.checked.concluded:
        note(f"the model concluded {again.checked.concluded.value}")
    if not again.same:
        note(f"the verdict was {then.outcome.value}, and is now {now.outcome.value}")
    click.get_current_context().exit(EXIT_CLEAN if again.same else EXIT_FINDINGS)
