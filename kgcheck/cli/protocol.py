"""``kgcheck protocol``: design, check and run protocols of dry-lab studies."""

import click

from kgcheck.cli.late import LateGroup

_COMMANDS = {
    "search": ("kgcheck.cli.protocol_search", "Papers and data sets for an objective."),
    "report": ("kgcheck.cli.protocol_report", "What papers did, step by step, in their own words."),
}


@click.group("protocol", cls=LateGroup, late=_COMMANDS)
def command() -> None:
    """Design protocols that stand on verified facts, see which steps fell, and run what they say in a sandbox."""
