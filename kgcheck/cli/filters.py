"""Options that say which findings are meant."""

from collections.abc import Callable
from typing import Any, TypedDict

import click

from kgcheck.cli.audit import TYPES
from kgcheck.cli.diff import STATES
from kgcheck.cli.options import Decorator

DECISIONS = ("open", "reopened", "accepted", "rejected", "deferred")


class Filters(TypedDict):
    """The parameters of `filter_options`, all but the run; they are those of Workspace.list_findings."""

    states: tuple[str, ...]
    decisions: tuple[str, ...]
    outcomes: tuple[str, ...]
    types: tuple[str, ...]
    reasons: tuple[str, ...]
    labels: tuple[str, ...]
    relations: tuple[str, ...]
    since: str | None
    text: str | None


def filter_options() -> Decorator:
    """``--state``, ``--decision``, ``--outcome``, ``--type``, ``--reason``, ``--label``, ``--relation``, and others."""

    def choice(name: str, names: tuple[str, ...], help_: str) -> Decorator:
        return click.option(f"--{name}", f"{name}s", multiple=True, type=click.Choice(names), help=help_)

    options = (
        choice("state", STATES, "Only what became so since the run before; fixed and gone are no findings any more."),
        choice("decision", DECISIONS, "Only what stands so by what was decided."),
        choice("outcome", ("refuted", "insufficient"), "Only with this outcome."),
        choice("type", TYPES, "Only of this check type."),
        click.option("--reason", "reasons", multiple=True, help="Only with this reason."),
        click.option("--label", "labels", multiple=True, help="Only nodes of this label, and edges that end at it."),
        click.option("--relation", "relations", multiple=True, help="Only edges of this relation."),
        click.option("--since", metavar="DATE", help="Only what was first found on this day or later."),
        click.option("--text", help="Only with this in an id, a name, a value or a proposed value."),
        click.option("--run", default="latest", show_default=True, help="The run, or the beginning of its id."),
    )

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            function = option(function)
        return function

    return add
