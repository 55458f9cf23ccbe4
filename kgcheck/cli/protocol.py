"""``kgcheck protocol``: design, check and run protocols of dry-lab studies."""

import click

from kgcheck.cli.late import LateGroup

_COMMANDS: dict[str, tuple[str, str]] = {
    "run": ("kgcheck.cli.protocol_run", "Run its analyses and programs."),
}


@click.group("protocol", cls=LateGroup, late=_COMMANDS)
def command() -> None:
    """Design protocols that stand on verified facts, see which steps fell, and run what they say in a sandbox."""
