"""``kgcheck serve``: the HTTP API and the page."""

import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from kgcheck.cli.options import FilePath, live_option, part_options
from kgcheck.cli.output import note, secret_note, text_result
from kgcheck.errors import MissingExtra


def _prefix(context: click.Context, parameter: click.Parameter, value: str) -> str:
    if value and not re.fullmatch(r"(/[\w.~-]+)+/?", value):
        raise click.BadParameter("a path such as /kg")
    return value.rstrip("/")


def _need_extra() -> None:
    if find_spec("fastapi") is None:
        raise MissingExtra("kgcheck serve", "service")


@click.command("serve")
@part_options(
    *("store", "reference", "ledger", "literature", "profile"), live=live_option("Ask UniProt and STRING, too.")
)
@click.option(
    "--config", envvar="KGCHECK_CONFIG", type=FilePath(dir_okay=False), help="The kgcheck.toml with the jobs."
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65_535), default=8_000, show_default=True, help="0 takes a free one.")
@click.option(
    "--prefix", default="", callback=_prefix, help="Path under which a reverse proxy shows the service, such as /kg."
)
@click.option(
    "--allowed-host",
    "hosts",
    multiple=True,
    metavar="NAME",
    help="Name under which the service is reached, say that of a reverse proxy; may be repeated.",
)
@click.option(
    "--proxy",
    "proxies",
    multiple=True,
    metavar="ADDRESS",
    help="Address or network of a reverse proxy whose X-Forwarded-For and -Proto are believed; may be repeated.",
)
@click.option(
    "--rate",
    type=click.IntRange(1),
    default=1_200,
    show_default=True,
    help="Most requests of one user in a minute.",
)
@click.option("--tasks", type=click.IntRange(1, 64), default=2, show_default=True, help="Tasks at the same time.")
@click.option("--routes", is_flag=True, help="Only print every route with who may call it, as Markdown.")
def command(
    parts: dict[str, Any],
    config: Path | None,
    host: str,
    port: int,
    prefix: str,
    hosts: tuple[str, ...],
    proxies: tuple[str, ...],
    rate: int,
    tasks: int,
    routes: bool,
) -> None:
    """Serve the HTTP API and the page, until Ctrl-C or SIGTERM.

    While there are no users, the service listens to this machine alone, and whoever has the token of its start is the
    admin: open the address that is printed, or set KGCHECK_START_TOKEN. kgcheck token add makes the first user.
    """
    _need_extra()
    from kgcheck.service.limits import ServiceLimits
    from kgcheck.service.server import serve
    from kgcheck.service.state import ServiceOptions

    options = ServiceOptions(
        **{name: str(part) if isinstance(part, Path) else part for name, part in parts.items()},
        config=config,
        prefix=prefix,
        hosts=tuple(name.lower() for name in hosts),
        limits=ServiceLimits(per_minute=rate, tasks=tasks),
    )
    if routes:
        from kgcheck.service.app import create_app
        from kgcheck.service.guards import routes_table
        from kgcheck.service.state import Service

        text_result(routes_table(create_app(Service(options))))
        return
    serve(options, host, port, proxies=proxies, on_start=_show)


def _show(address: str, token: str) -> None:
    note(f"serving on {address}")
    if token:
        secret_note(f"while there are no users, open {address}sign-in?token={token}")
