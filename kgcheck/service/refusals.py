"""What those get who are not let in: a problem, a page that says the same, or the one where they sign in."""

from http import HTTPStatus
from urllib.parse import urlsplit

from fastapi import FastAPI, Request
from fastapi.responses import Response

from kgcheck.service.access import SAFE, NotSignedIn, Refused
from kgcheck.service.problems import is_api, paged, problem_of, status_of


def refusal(request: Request, error: Refused) -> Response:
    """The answer to a request that is not let in."""
    if isinstance(error, NotSignedIn) and wants_sign_in(request):
        from kgcheck.service.signing import sign_in_page

        after = None if request.method in SAFE else _page_before(request)
        return sign_in_page(request, status=HTTPStatus.UNAUTHORIZED, after=after, headers=error.headers)
    return paged(request, status_of(error), error) or problem_of(request, error)


def wants_sign_in(request: Request) -> bool:
    """Whether a person looks at a page, or sends a form of one, and no program at the API."""
    return (request.method in SAFE or not is_api(request)) and "text/html" in request.headers.get("accept", "")


def _page_before(request: Request) -> str:
    """The page that a form was on: what it was sent to is none that can be looked at."""
    before = urlsplit(request.headers.get("referer", ""))
    if before.netloc != request.headers.get("host", ""):
        return "/"
    return before.path + (f"?{before.query}" if before.query else "")


def add_refusals(app: FastAPI) -> None:
    """Answer wherever a route does not let somebody in."""

    @app.exception_handler(Refused)
    def refused(request: Request, error: Refused) -> Response:
        return refusal(request, error)
