"""Create the FastAPI application: API, web pages, guards, telemetry and OpenAPI document."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache, partial
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.concurrency import run_in_threadpool

from kgcheck import __version__
from kgcheck.service import page, sign_in
from kgcheck.service.api import findings, patches, questions, runs, tasks
from kgcheck.service.guards import Application, add_guards
from kgcheck.service.page.rendering import error_page
from kgcheck.service.problems import API, CONTENT, Problem, add_handlers
from kgcheck.service.state import Service

_API = (
    *(runs.router, findings.router, findings.decisions_router, patches.router),
    *(questions.checks_router, questions.router, tasks.jobs_router, runs.references_router, tasks.router),
    *(runs.actions_router, runs.health_router),
)

TAGS = {
    "runs": "Audits and checks, with what their tasks ended with.",
    "findings": "What is wrong with the graph, with evidence, and what became of it.",
    "decisions": "What people decided about findings. Nothing is overwritten.",
    "patches": "Repairs of the graph, made of findings; they can be undone.",
    "check": "One thing checked now, and what is verified.",
    "questions": "Questions to the graph and to papers.",
    "jobs": "Audits and loads by a schedule.",
    "references": "What is checked against.",
    "tasks": "Long work, with its progress.",
    "actions": "Who did what through the service.",
    "health": "For who runs the service.",
}
_DESCRIPTION = """Tests for biomedical knowledge graphs, where every verdict carries evidence.

Every error is a problem by RFC 9457; its `type` names the kind, and `hint` is what to do next. Lists come in pages:
send `next` of one as `cursor` (of decisions as `before`) for the one after it.
Unknown parameters are refused: a filter with a slip of the pen would otherwise mean everything.
"""
_WORDS = {
    400: "It cannot be understood or done so.",
    401: "Nobody is known who asks.",
    403: "Who asks may not do this.",
    404: "There is no such thing.",
    409: "It does not fit how things are now: changed meanwhile, under way, or locked.",
    413: "The request is too large.",
    415: "The body is of another type than the API takes.",
    421: "The request is for another host.",
    422: "A value is missing, wrong or unknown.",
    429: "Too many requests.",
    500: "Something that nobody foresaw.",
    503: "Something that the service works on cannot be reached or used now.",
}


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
    app.state.error_page = error_page
    add_handlers(app)
    add_guards(app, service)
    answers: dict[int | str, dict[str, Any]] = {
        status: {"description": words, "content": CONTENT} for status, words in _WORDS.items()
    }
    api = APIRouter(prefix=API, responses=answers)
    for router in _API:
        api.include_router(router)
    for router in (api, sign_in.router, *page.ROUTERS):
        app.include_router(router)

    app.openapi = cache(partial(_document, app))  # type: ignore[method-assign]
    return app


def _document(app: FastAPI) -> dict[str, Any]:
    made = get_openapi(
        title=app.title,
        version=app.version,
        description=_DESCRIPTION,
        routes=app.routes,
        tags=[{"name": name, "description": words} for name, words in TAGS.items()],
        servers=app.servers or ([{"url": app.root_path}] if app.root_path else None),
    )
    schemas = made.setdefault("components", {}).setdefault("schemas", {})
    schemas["Problem"] = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
    schemas |= schemas["Problem"].pop("$defs", {})
    # The page is no part of the API.
    made["paths"] = {path: item for path, item in made["paths"].items() if path.startswith(f"{API}/")}
    for item in made["paths"].values():
        for operation in item.values():
            for media in operation["responses"].get("200", {}).get("content", {}).values():
                if media.pop("itemSchema", None):
                    # What OpenAPI 3.2 has for a stream of events: in 3.1 it is a text.
                    media["schema"] = {"type": "string"}
    return made
