"""Run the service with uvicorn: imports up front, graceful shutdown of requests and tasks."""

import gc
import socket
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module

import uvicorn

from kgcheck.errors import UsageError
from kgcheck.options import ListeningOptions
from kgcheck.service.access import is_loopback
from kgcheck.service.app import create_app
from kgcheck.service.limits import ListeningConfig
from kgcheck.service.state import Service, ServiceOptions
from kgcheck.service.telemetry import RequestLog, start_logging, start_telemetry, traced

_ALWAYS = ("kgcheck.audit.rules", "kgcheck.graph.embedded", "kgcheck.literature.search", "kgcheck.reference.names")
_OF_PAPERS = ("bm25s", "Stemmer", "faiss", "safetensors", "tokenizers")

HEALTH = ("/v1/health/live", "/v1/health/ready")
"""Paths that are answered also where there are too many connections."""

END_S = 20
"""Seconds that requests under way may take when the service ends."""


def serve(
    options: ServiceOptions, listening: ListeningOptions, *, on_start: Callable[[str, str], None] | None = None
) -> None:
    """Serve until Ctrl-C or SIGTERM; requests under way end first, and tasks come to where they can go on.

    `on_start` is told the address and, where nobody else can know it, the token that lets in whoever has it.
    """
    host = listening.host
    local = is_loopback(host) and not options.hosts
    names = (*options.hosts, host.lower()) if local else options.hosts
    service = Service(options.model_copy(update={"is_local": local, "hosts": names}))
    if not local and not service.users.there_are_any():
        service.close()
        what = f"listen on {host}" if not is_loopback(host) else f"answer to {', '.join(options.hosts)}"
        raise UsageError(
            f"the service has no users, and would {what}: whoever reaches it could change the graph",
            "make a user first: kgcheck token add NAME --role admin",
        )
    start_logging()
    with service.reading() as workspace:
        settings = workspace.settings
        provider = start_telemetry(cleartext_hosts=settings.cleartext_hosts) if settings.telemetry else None
    app = RequestLog(traced(create_app(service), provider))
    health = [prefix + path for path in HEALTH for prefix in {"", options.prefix}]
    config = ListeningConfig(app, listening, options.limits, health=health, end_s=END_S)
    # Who asked for the end by a signal gets it, and it went well.
    with suppress(KeyboardInterrupt):
        _Server(config, service, on_start).run()


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, service: Service, on_start: Callable[[str, str], None] | None) -> None:
        super().__init__(config)
        self._service = service
        self._on_start = on_start

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        # What requests need is imported before anybody is answered. Nothing is opened: a store that nobody has asked
        # about can still be written to.
        for name in _ALWAYS:
            import_module(name)
        if self._service.options.literature:
            # Without the extra, papers are searched by words.
            with suppress(ImportError):
                for name in _OF_PAPERS:
                    import_module(name)
                from kgcheck.literature.embed import import_openvino

                import_openvino()
        # It stays to the end: looking through it for garbage would be a fifth of a second of one request in twenty.
        gc.collect()
        gc.freeze()
        await super().startup(sockets)
        if self._on_start and self.started and self.servers:
            address = self.servers[0].sockets[0].getsockname()
            name = f"[{address[0]}]" if ":" in address[0] else address[0]
            start, prefix = self._service.start_token, self._service.options.prefix
            token = "" if start.is_known or self._service.users.there_are_any() else start.value
            self._on_start(f"http://{name}:{address[1]}{prefix}/", token)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        # Before connections are waited for: those who follow a task would stay until it ends.
        self._service.stop()
        await super().shutdown(sockets)
        # Some modules count what is left of them when Python ends, and would complain of it on the error stream.
        gc.unfreeze()
