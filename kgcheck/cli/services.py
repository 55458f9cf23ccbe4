"""``kgcheck serve``, ``mcp`` and ``token``: run the HTTP or MCP server, manage user tokens."""

import re
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kgcheck import clock
from kgcheck.cli.options import (
    FilePath,
    live_option,
    options_of,
    part_options,
    table_or_json_option,
    workspace_options,
)
from kgcheck.cli.output import note, result, secret_note, show_rows
from kgcheck.errors import MissingExtra, UsageError
from kgcheck.options import ListeningOptions, McpListeningOptions, TextOptions

if TYPE_CHECKING:
    from kgcheck.workspace import Workspace


_PARTS = ("store", "reference", "ledger", "literature", "profile")
_LIVE = live_option("Ask UniProt and STRING, too.")


def _prefix(context: click.Context, parameter: click.Parameter, value: str) -> str:
    if value and not re.fullmatch(r"(/[\w.~-]+)+/?", value):
        raise click.BadParameter("a path such as /kg")
    return value.rstrip("/")


@click.command("serve")
@part_options(*_PARTS, live=_LIVE)
@click.option(
    "--config", envvar="KGCHECK_CONFIG", type=FilePath(dir_okay=False), help="The kgcheck.toml with the jobs."
)
@options_of(ListeningOptions, "listening")
@click.option(
    "--prefix", default="", callback=_prefix, help="Path under which a reverse proxy shows the service, such as /kg."
)
@click.option("--tasks", type=click.IntRange(1, 64), default=2, show_default=True, help="Tasks at the same time.")
def serve(parts: dict[str, Any], listening: ListeningOptions, config: Path | None, prefix: str, tasks: int) -> None:
    """Serve the HTTP API and the page, until Ctrl-C or SIGTERM.

    While there are no users, the service listens to this machine alone, and whoever has the token of its start is the
    admin: open the address that is printed, or set KGCHECK_START_TOKEN. kgcheck token add makes the first user.
    """
    if find_spec("fastapi") is None:
        raise MissingExtra("kgcheck serve", "service")
    from kgcheck.service.limits import ServiceLimits
    from kgcheck.service.server import serve
    from kgcheck.service.state import ServiceOptions

    def show(address: str, token: str) -> None:
        note(f"serving on {address}")
        if token:
            secret_note(f"while there are no users, open {address}sign-in?token={token}")

    options = ServiceOptions(
        **parts,
        config=config,
        prefix=prefix,
        hosts=tuple(name.lower() for name in listening.allowed_hosts),
        limits=ServiceLimits(per_minute=listening.rate, tasks=tasks),
    )
    serve(options, listening, on_start=show)


@click.command("mcp")
@workspace_options(*_PARTS, progress=False, live=_LIVE)
@options_of(TextOptions, "sources", tokens=None, money=None)
@click.option(
    "--role",
    type=click.Choice(("viewer", "curator")),
    default="viewer",
    show_default=True,
    help="More than this nobody may do: a viewer reads, a curator decides about findings, too.",
)
@click.option(
    "--http",
    is_flag=True,
    help="Serve over HTTP, and not over stdin and stdout; the options of listening that follow are for it.",
)
@options_of(McpListeningOptions, "listening")
def mcp(workspace: "Workspace", listening: McpListeningOptions, sources: TextOptions, role: str, http: bool) -> None:
    """Serve tools for language models.

    They are check, ask, search, verify, findings, explain, verified_facts, ground_text, brief, check_protocol, and
    decide. ground_text looks into --bibliography and --results, check_protocol into --bibliography.

    A client such as Claude Desktop or VS Code starts it by itself, and talks to it over stdin and stdout. With --http
    it serves many, on http://HOST:PORT/mcp, each with a token: kgcheck token add. While there is none, it serves this
    machine alone, and prints the token of its start, unless KGCHECK_START_TOKEN has one.
    """
    try:
        from kgcheck.ledger.accounts import Role
        from kgcheck.mcp.server import run_http, run_stdio
        from kgcheck.mcp.tools import check_sources
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "kgcheck":
            raise
        raise MissingExtra("kgcheck mcp", "mcp") from error
    check_sources(sources)
    if http:
        run_http(workspace, Role(role), listening, sources, announce=secret_note)
    else:
        run_stdio(workspace, Role(role), sources)


@click.group("token")
def token() -> None:
    """Make, list and revoke the tokens of a service's users."""


@token.command("add")
@click.argument("name")
@click.option(
    "--role",
    required=True,
    type=click.Choice(["viewer", "curator", "admin"]),
    help="What the bearer may do: look, decide, or everything.",
)
@click.option("--expires", metavar="TIME", help="How long it counts, such as 90d; for ever unless said.")
@workspace_options("ledger", progress=False)
def token_add(workspace: "Workspace", name: str, role: str, expires: str | None) -> None:
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


@token.command("list")
@workspace_options("ledger", progress=False)
@table_or_json_option()
def token_list(workspace: "Workspace", format_: str) -> None:
    """List the tokens, also those that have ended; the tokens themselves are kept nowhere."""
    with workspace.users() as users:
        rows = [token.as_row(clock.now()) for token in users.all()]
    show_rows(format_, rows, ("id", "name", "role", "state", "created", "created_by", "expires", "last_used"))


@token.command("revoke")
@click.argument("name")
@workspace_options("ledger", progress=False)
def token_revoke(workspace: "Workspace", name: str) -> None:
    """End the token with the id NAME, or all of the user NAME, and their sessions, at once and for good."""
    with workspace.users() as users:
        ended = users.revoke(name)
    for token in ended:
        result(f"revoked {token.id} of {token.name}, {token.role.value}")
