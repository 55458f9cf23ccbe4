"""What those get who are not let in: a problem, or the page where one signs in."""

from http import HTTPStatus

from fastapi import FastAPI, Request
from fastapi.responses import Response

from kgcheck.service.access import NotSignedIn, Refused
from kgcheck.service.problems import problem_of


def refusal(request: Request, error: Refused) -> Response:
    """The answer to a request that is not let in.

    Args:
        request: The request.
        error: Why.

    Returns:
        A problem; where a person looks at a page and is not signed in, the form for that.
    """
    if isinstance(error, NotSignedIn) and wants_page(request):
        from kgcheck.service.signing import sign_in_page

        return sign_in_page(request, status=HTTPStatus.UNAUTHORIZED, headers=error.headers)
    return problem_of(request, error)


def wants_page(request: Request) -> bool:
    """Whether a person looks at a page, and no program at the API."""
    return request.method in ("GET", "HEAD") and "text/html" in request.headers.get("accept", "")


def add_refusals(app: FastAPI) -> None:
    """Answer wherever a route does not let somebody in.

    Args:
        app: The application.
    """

    @app.exception_handler(Refused)
    def refused(request: Request, error: Refused) -> Response:
        return refusal(request, error)
