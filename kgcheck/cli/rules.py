"""``kgcheck rules``: list and explain the structure rules."""

from typing import TYPE_CHECKING, Any

import click

from kgcheck.cli.options import table_or_json_option
from kgcheck.cli.output import show

if TYPE_CHECKING:
    from kgcheck.rules import Rule


@click.group("rules", invoke_without_command=True)
@table_or_json_option()
@click.pass_context
def command(context: click.Context, format_: str) -> None:
    """List the structure rules: faults that a graph shows by itself.

    A rule or a group of them is left out with audit --without-rule NAME, or without_rules = ["NAME"] of a job.
    """
    from kgcheck.report.tables import rows_table
    from kgcheck.rules import structure_rules

    if context.invoked_subcommand:
        return
    rows = [_row(rule) for rule in structure_rules().values()]
    listed = [row | {"rule": row["name"], "in words (groups)": f"{row['words']} ({_groups(row)})"} for row in rows]
    show(format_, rows, rows_table(listed, ("rule", "outcome", "in words (groups)")))


@command.command("show")
@click.argument("name")
@table_or_json_option()
def show_(name: str, format_: str) -> None:
    """Explain the rule NAME: what breaks it, with an example, and how that is repaired."""
    from kgcheck.errors import UnknownName
    from kgcheck.report.cells import facts_table
    from kgcheck.rules import structure_rules

    rules = structure_rules()
    if name not in rules:
        raise UnknownName("rule", name, list(rules))
    row = _row(rules[name])
    facts = facts_table(
        (
            ("rule", f"{name}: {row['words']}"),
            ("breaks it", row["meaning"]),
            ("wrong", row["bad"]),
            ("right", row["good"]),
            ("outcome", row["outcome"]),
            ("repair", row["repair"] or "none is proposed"),
            ("groups", _groups(row)),
        )
    )
    show(format_, row, facts)


def _groups(row: dict[str, Any]) -> str:
    return ", ".join(row["groups"])


def _row(rule: "Rule") -> dict[str, Any]:
    names = ("name", "words", "meaning", "groups", "bad", "good", "is_folded")
    row = {name: getattr(rule, name) for name in names}
    outcome = "refuted" if rule.is_fault else "insufficient"
    return row | {"outcome": outcome, "repair": rule.repair.value if rule.is_fault else None}
