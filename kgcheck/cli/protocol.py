"""``kgcheck protocol``: design, check and run protocols of dry-lab studies."""

import click

from kgcheck.cli.late import LateGroup

_COMMANDS: dict[str, tuple[str, str]] = {
    "search": ("kgcheck.cli.protocol_search", "Papers and data sets for an objective."),
}


@click.group("protocol", cls=LateGroup, late=_COMMANDS)
def command() -> None:
    """Design protocols that stand on verified facts, see which steps fell, and run what they say in a sandbox."""
