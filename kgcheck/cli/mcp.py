"""``kgcheck mcp``: tools for language models, by the Model Context Protocol."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kgcheck.cli.options import FilePath, live_option, workspace_options
from kgcheck.cli.output import secret_note

if TYPE_CHECKING:
    from kgcheck.workspace import Workspace


@click.command("mcp")
@workspace_options(
    "store",
    "reference",
    "ledger",
    "literature",
    "profile",
    progress=False,
    live=live_option("Ask UniProt and STRING, too."),
)
@click.option(
    "--bibliography",
    type=FilePath(dir_okay=False),
    help="For ground_text and check_protocol: a bibliography snapshot.",
)
@click.option("--results", type=FilePath(dir_okay=False), help="For ground_text: JSON file with the canonical results.")
@click.option(
    "--role",
    type=click.Choice(("viewer", "curator")),
    default="viewer",
    show_default=True,
    help="More than this nobody may do: a viewer reads, a curator decides about findings, too.",
)
@click.option("--http", is_flag=True, help="Serve over HTTP, and not over stdin and stdout.")
@click.option("--host", default="127.0.0.1", show_default=True, help="With --http: address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=8_001,
    show_default=True,
    help="With --http: 0 takes a free one.",
)
@click.option(
    "--allowed-host",
    "hosts",
    multiple=True,
    help="With --http: a name under which it is reached, as kgcheck.example.org; may be repeated.",
)
@click.option(
    "--proxy",
    "proxies",
    multiple=True,
    metavar="ADDRESS",
    help="With --http: address or network of a reverse proxy whose X-Forwarded-For is believed; may be repeated.",
)
@click.option(
    "--rate",
    type=click.IntRange(1),
    default=1_200,
    show_default=True,
    help="With --http: most requests of one token in a minute.",
)
def command(
    workspace: "Workspace",
    bibliography: Path | None,
    results: Path | None,
    role: str,
    http: bool,
    host: str,
    port: int,
    hosts: tuple[str, ...],
    proxies: tuple[str, ...],
    rate: int,
) -> None:
    """Serve tools for language models.

    They are check, ask, search, verify, findings, explain, verified_facts, ground_text, brief, check_protocol, and
    decide.

    A client such as Claude Desktop or VS Code starts it by itself, and talks to it over stdin and stdout. With --http
    it serves many, on http://HOST:PORT/mcp, each with a token: kgcheck token add. While there is none, it serves this
    machine alone, and prints the token of its start, unless KGCHECK_START_TOKEN has one.
    """
    run_http, run_stdio = _ways()
    from kgcheck.mcp.tools import checked_sources
    from kgcheck.service.access import Role
    from kgcheck.service.limits import ServiceLimits

    sources = checked_sources(bibliography, results)
    if http:
        limits = ServiceLimits(per_minute=rate)
        run_http(
            workspace, Role(role), host, port, hosts,
            proxies=proxies, limits=limits, sources=sources, announce=secret_note,
        )  # fmt: skip
    else:
        run_stdio(workspace, Role(role), sources)


def _ways() -> tuple[Any, Any]:
    """Return the functions that serve over HTTP, and over stdin and stdout."""
    from kgcheck.errors import MissingExtra

    try:
        from kgcheck.mcp.running import run_http, run_stdio
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "kgcheck":
            raise
        raise MissingExtra("kgcheck mcp", "mcp") from error
    return run_http, run_stdio
