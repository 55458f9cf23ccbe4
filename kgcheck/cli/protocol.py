"""``kgcheck protocol``: design, check and run protocols of dry-lab studies."""

import click

from kgcheck.cli.late import LateGroup

_COMMANDS: dict[str, tuple[str, str]] = {
    "design": ("kgcheck.cli.protocol_design", "Design a protocol from papers and verified facts."),
    "replay": ("kgcheck.cli.protocol_replay", "Design a protocol again from its transcript."),
    "show": ("kgcheck.cli.protocol_show", "Show a protocol with what each step rests on."),
}


@click.group("protocol", cls=LateGroup, late=_COMMANDS)
def command() -> None:
    """Design protocols that stand on verified facts, see which steps fell, and run what they say in a sandbox."""
