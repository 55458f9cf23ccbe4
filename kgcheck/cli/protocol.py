"""``kgcheck protocol``: group of the commands that design, check and run dry-lab protocols."""

import click

from kgcheck.cli.late import LateGroup

_HELP = {
    "search": "Papers and data sets for an objective.",
    "report": "What papers did, step by step, in their own words.",
    "design": "Design a protocol from papers and verified facts.",
    "replay": "Design a protocol again from its transcript.",
    "check": "See which steps fell, and what is wrong or lacking.",
    "score": "Measure one: completeness, detail, correctness, logic, structure.",
    "run": "Run its analyses and programs.",
}
_COMMANDS = {name: ("protocol_commands", text) for name, text in _HELP.items()}


@click.group("protocol", cls=LateGroup, late={"Commands": _COMMANDS})
def protocol() -> None:
    """Design protocols that stand on verified facts, see which steps fell, and run what they say in a sandbox."""
