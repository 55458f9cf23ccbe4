"""Runs the application with uvicorn."""

import uvicorn

from kgcheck.service.app import create_app
from kgcheck.service.state import Service, ServiceOptions


def serve(options: ServiceOptions, host: str, port: int) -> None:
    """Serve until Ctrl-C or SIGTERM; requests under way end first.

    Args:
        options: What the service works on.
        host: Address to listen on.
        port: 0 takes a free one.
    """
    uvicorn.run(create_app(Service(options)), host=host, port=port, log_config=None)
