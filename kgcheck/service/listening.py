"""How the programs that listen are set up: what they say of themselves, whom they believe, and how much they take."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import uvicorn

if TYPE_CHECKING:
    from starlette.types import ASGIApp

HEADERS_BYTES = 32 * 1024
"""Most of one request before its body."""


def listening(
    app: "ASGIApp", host: str, port: int, *, proxies: Sequence[str], connections: int, end_s: int
) -> uvicorn.Config:
    """How an application is served."""
    return uvicorn.Config(
        app,
        host=host,
        port=port,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=bool(proxies),
        forwarded_allow_ips=list(proxies),
        limit_concurrency=connections,
        timeout_graceful_shutdown=end_s,
        timeout_keep_alive=15,
        h11_max_incomplete_event_size=HEADERS_BYTES,
        http="h11",
        ws="none",
    )
