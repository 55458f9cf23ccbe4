"""The kinds of errors, each under the address that a problem names as its type."""

from typing import Annotated

from fastapi import APIRouter
from fastapi import Path as InPath

from kgcheck.errors import UnknownName
from kgcheck.model import Value
from kgcheck.service.access import Open
from kgcheck.service.problems import ProblemKind, problem_kinds

router = APIRouter(prefix="/problems", tags=["problems"])

KindName = Annotated[str, InPath(pattern=r"^[a-z][a-z-]{0,63}$", description="a kind of error", examples=["not-found"])]


class ProblemKinds(Value):
    """Every kind of error that an answer may be."""

    problems: list[ProblemKind]


@router.get("", operation_id="list_problems")
def list_problems(asking: Open) -> ProblemKinds:
    """List the kinds of errors."""
    return ProblemKinds(problems=problem_kinds())


@router.get("/{kind}", operation_id="get_problem")
def get_problem(asking: Open, kind: KindName) -> ProblemKind:
    """Describe one kind of error."""
    known = {one.type: one for one in problem_kinds()}
    if kind not in known:
        raise UnknownName("kind of error", kind, known)
    return known[kind]
