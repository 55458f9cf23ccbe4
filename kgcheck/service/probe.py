"""Health probe of the service for containers: ``python -m kgcheck.service.probe``."""

import http
import http.client
import os
import sys

PATH = "/v1/health/live"


def answers(port: int, seconds: float = 4.0) -> bool:
    """Return whether a service on this machine answers."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=seconds)
    try:
        connection.request("GET", PATH)
        return connection.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


if __name__ == "__main__":
    sys.exit(not answers(int(os.environ.get("KGCHECK_PORT", "8000"))))
