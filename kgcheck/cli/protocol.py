"""``kgcheck protocol``: design, check and run protocols of dry-lab studies."""

import click

from kgcheck.cli.late import LateGroup

_COMMANDS = {
    "search": ("kgcheck.cli.protocol_search", "Papers and data sets for an objective."),
    "report": ("kgcheck.cli.protocol_report", "What papers did, step by step, in their own words."),
    "design": ("kgcheck.cli.protocol_design", "Design a protocol from papers and verified facts."),
    "show": ("kgcheck.cli.protocol_show", "Show a protocol with what each step rests on."),
    "replay": ("kgcheck.cli.protocol_replay", "Design a protocol again from its transcript."),
    "check": ("kgcheck.cli.protocol_check", "See which steps fell, and what is wrong or lacking."),
    "score": ("kgcheck.cli.protocol_score", "Measure one: completeness, detail, correctness, logic, structure."),
    "run": ("kgcheck.cli.protocol_run", "Run its analyses and programs."),
}


@click.group("protocol", cls=LateGroup, late=_COMMANDS)
def command() -> None:
    """Design protocols that stand on verified facts, see which steps fell, and run what they say in a sandbox."""
