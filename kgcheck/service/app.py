"""The application: the API, the page, and what stands around every request."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import APIRouter, FastAPI
from starlette.concurrency import run_in_threadpool

from kgcheck import __version__
from kgcheck.service import signing
from kgcheck.service.api import (
    actions,
    checks,
    decisions,
    diff,
    findings,
    health,
    jobs,
    patches,
    problems,
    questions,
    references,
    runs,
    tasks,
)
from kgcheck.service.api.description import describe
from kgcheck.service.guards import Application, add_guards
from kgcheck.service.metrics import Measured, Metrics
from kgcheck.service.page.rendering import error_page
from kgcheck.service.page.router import router as page
from kgcheck.service.problems import add_handlers
from kgcheck.service.state import Service

_API = (
    *(runs, findings, decisions, diff, patches, checks, questions),
    *(jobs, references, tasks, actions, health, problems),
)  # fmt: skip


def create_app(service: Service) -> FastAPI:
    """The application over a service, which is closed with it."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        service.tasks.go_on()
        yield
        await run_in_threadpool(service.close)

    app = Application(
        title="kgcheck", version=__version__, lifespan=lifespan, docs_url=None,
        redoc_url=None, openapi_url="/v1/openapi.json",
    )  # fmt: skip
    # Not as an argument, of which FastAPI warns: a server may name the prefix, and the proxy of this one does not.
    app.root_path = service.options.prefix
    app.state.service = service
    app.state.metrics = Metrics(service)
    app.state.error_page = error_page
    add_handlers(app)
    add_guards(app, service)
    api = APIRouter(prefix="/v1")
    for part in _API:
        api.include_router(part.router)
    app.include_router(api)
    app.include_router(signing.router)
    app.include_router(page)
    describe(app)
    app.add_middleware(Measured, metrics=app.state.metrics)
    return app
