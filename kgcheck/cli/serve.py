"""``kgcheck serve``: the HTTP API and the page."""

from pathlib import Path

import click

from kgcheck.cli.options import (
    FilePath,
    ledger_option,
    literature_option,
    profile_option,
    reference_option,
    store_option,
)


@click.command("serve")
@store_option()
@reference_option()
@ledger_option()
@literature_option()
@profile_option()
@click.option("--live", is_flag=True, help="Ask UniProt and STRING, too.")
@click.option(
    "--config", envvar="KGCHECK_CONFIG", type=FilePath(dir_okay=False), help="The kgcheck.toml with the jobs."
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65_535), default=8_000, show_default=True, help="0 takes a free one.")
@click.option("--prefix", default="", help="Path under which a reverse proxy shows the service.")
def command(
    store: str | None,
    reference: Path | None,
    ledger: str | None,
    literature: Path | None,
    profile: str,
    live: bool,
    config: Path | None,
    host: str,
    port: int,
    prefix: str,
) -> None:
    """Serve the HTTP API and the page, until Ctrl-C or SIGTERM."""
    from kgcheck.service.server import serve
    from kgcheck.service.state import ServiceOptions

    options = ServiceOptions(
        store=store,
        reference=str(reference) if reference else None,
        ledger=str(ledger) if ledger else None,
        literature=str(literature) if literature else None,
        profile=profile,
        live=live,
        config=config,
        prefix=prefix,
    )
    serve(options, host, port)
