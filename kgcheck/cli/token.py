"""``kgcheck token``: who may use a service."""

from datetime import timedelta
from typing import TYPE_CHECKING

import click

from kgcheck.cli.options import table_or_json_option, workspace_options
from kgcheck.cli.output import json_result, note, result
from kgcheck.errors import UsageError

if TYPE_CHECKING:
    from kgcheck.workspace import Workspace


@click.group("token")
def command() -> None:
    """Make, list and revoke the tokens of a service's users."""


@command.command("add")
@click.argument("name")
@click.option(
    "--role",
    required=True,
    type=click.Choice(["viewer", "curator", "admin"]),
    help="What the bearer may do: look, decide, or everything.",
)
@click.option("--expires", metavar="TIME", help="How long it counts, such as 90d; for ever unless said.")
@workspace_options("ledger", progress=False)
def add(workspace: "Workspace", name: str, role: str, expires: str | None) -> None:
    """Make a token for NAME and print it, once: only a digest of it is kept.

    Decisions of its bearer are by NAME. One name may have several tokens.
    """
    from kgcheck.ledger.accounts import whoami

    with workspace.users() as users:
        token, entry = users.add(name, role, by=whoami(), expires_in=_lasting(expires))
    until = f" until {entry.expires:%Y-%m-%d %H:%M} UTC" if entry.expires else ""
    note(f"token {entry.id} of {entry.name}, {entry.role.value}{until}; it is not shown again")
    result(token)


def _lasting(expires: str | None) -> timedelta | None:
    from kgcheck.curation.project import duration

    try:
        found = duration(expires) if expires else None
        if found is not None and not timedelta() < found <= timedelta(days=36_500):
            raise ValueError(f"{expires!r} is too short or too long")
    except (ValueError, OverflowError) as error:
        raise UsageError(f"--expires: {error}", "such as --expires 90d") from None
    return found


@command.command("list")
@workspace_options("ledger", progress=False)
@table_or_json_option()
def list_(workspace: "Workspace", format_: str) -> None:
    """List the tokens, also those that have ended; the tokens themselves are kept nowhere."""
    from kgcheck import clock
    from kgcheck.cli.console import results
    from kgcheck.report.tables import rows_table

    with workspace.users() as users:
        rows = [token.as_row(clock.now()) for token in users.all()]
    if format_ == "json":
        json_result(rows)
    else:
        results().print(
            rows_table(rows, ("id", "name", "role", "state", "created", "created_by", "expires", "last_used"))
        )


@command.command("revoke")
@click.argument("name")
@workspace_options("ledger", progress=False)
def revoke(workspace: "Workspace", name: str) -> None:
    """End the token with the id NAME, or all of the user NAME, and their sessions, at once and for good."""
    with workspace.users() as users:
        ended = users.revoke(name)
    for token in ended:
        result(f"revoked {token.id} of {token.name}, {token.role.value}")
