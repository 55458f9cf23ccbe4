"""``kgcheck rules``: list and explain the structure rules."""

from typing import TYPE_CHECKING, Any

import click

from kgcheck.cli.options import table_or_json_option
from kgcheck.cli.output import json_result, result

if TYPE_CHECKING:
    from kgcheck.rules import Rule


@click.group("rules", invoke_without_command=True)
@table_or_json_option()
@click.pass_context
def command(context: click.Context, format_: str) -> None:
    """List the structure rules: faults that a graph shows by itself.

    A rule or a group of them is left out with audit --without-rule NAME, or without_rules = ["NAME"] of a job.
    """
    from kgcheck.rules import structure_rules

    if context.invoked_subcommand:
        return
    rules = list(structure_rules().values())
    if format_ == "json":
        json_result([_row(rule) for rule in rules])
        return
    width, wide = (max(len(text) for text in texts) for texts in ([r.name for r in rules], [_groups(r) for r in rules]))
    for rule in rules:
        result(f"{rule.name:<{width}}  {_outcome(rule):<12}  {_groups(rule):<{wide}}  {rule.words}")


@command.command("show")
@click.argument("name")
@table_or_json_option()
def show(name: str, format_: str) -> None:
    """Explain the rule NAME: what breaks it, with an example, and how that is repaired."""
    from kgcheck.errors import UnknownName
    from kgcheck.rules import structure_rules

    rules = structure_rules()
    if name not in rules:
        raise UnknownName("rule", name, list(rules))
    rule = rules[name]
    if format_ == "json":
        json_result(_row(rule))
        return
    repair = rule.repair.value if rule.is_fault else "none is proposed"
    result(f"{rule.name}: {rule.words}")
    for heading, text in (
        ("breaks it", rule.meaning),
        ("wrong", rule.bad),
        ("right", rule.good),
        ("outcome", _outcome(rule)),
        ("repair", repair),
        ("groups", _groups(rule)),
    ):
        result(f"  {heading:<9}  {text}")


def _row(rule: "Rule") -> dict[str, Any]:
    names = ("name", "words", "meaning", "groups", "bad", "good", "is_folded")
    row = {name: getattr(rule, name) for name in names}
    return row | {"outcome": _outcome(rule), "repair": rule.repair.value if rule.is_fault else None}


def _outcome(rule: "Rule") -> str:
    return "refuted" if rule.is_fault else "insufficient"


def _groups(rule: "Rule") -> str:
    return ", ".join(rule.groups)
