"""HttpMiddleware: base class of ASGI middleware; SecurityHeaders on every response."""

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class HttpMiddleware:
    """Middleware of HTTP requests; what is none goes through as it is."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await (self.handle if scope["type"] == "http" else self._app)(scope, receive, send)

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)


CONTENT_SECURITY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)

ALWAYS = {
    "content-security-policy": CONTENT_SECURITY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    # Not no-referrer: browsers would then call the origin of the page's own forms null.
    "referrer-policy": "same-origin",
    "permissions-policy": "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}

KEPT = "no-store"
"""Cache-Control of an answer, unless its route says otherwise: what is in a graph is not everybody's."""

TRANSPORT = "max-age=31536000"


class SecurityHeaders(HttpMiddleware):
    """Adds the headers to whatever the application answers."""

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in ALWAYS.items():
                    headers[name] = value
                # What FastAPI says of streams lets them be kept.
                if headers.get("cache-control", "no-cache") == "no-cache":
                    headers["cache-control"] = KEPT
                if scope["scheme"] == "https":
                    headers["strict-transport-security"] = TRANSPORT
            await send(message)

        await self._app(scope, receive, with_headers)
