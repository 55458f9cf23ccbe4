"""``kgcheck ask``: one question about the graph."""

from typing import TYPE_CHECKING

import click

from kgcheck.cli.options import literature_option, options_of, table_or_json_option, workspace_options
from kgcheck.cli.output import json_result, note, result
from kgcheck.options import Spending

if TYPE_CHECKING:
    from kgcheck.questions.answer import Answer
    from kgcheck.workspace import Workspace

_SHOWN = 50


@click.command("ask")
@click.argument("question", nargs=-1, required=True)
@workspace_options("store", "profile", "brain", "with_retired", literature=literature_option(configured=False))
@options_of(Spending, "spending")
@table_or_json_option()
def command(
    workspace: "Workspace",
    spending: Spending,
    question: tuple[str, ...],
    format_: str,
) -> None:
    """Answer QUESTION from the graph, with the path of every answer.

    For example, over the demo: "What diseases are associated with the protein encoded by the gene APOE?" How the
    question was read stands above the answer. "Does TLR4 act on TNF?" is answered with yes and the edge, or with "not
    in this graph". Ends with 2 when the question is not understood or names what the graph does not have; a question
    that is understood and has no answer ends with 0. Ends with 3 when a model was stopped, or what it answered rests on
    nothing that its tools have shown.
    """
    from kgcheck.errors import EXIT_INCOMPLETE, EXIT_USAGE
    from kgcheck.questions.answer import Status

    outcome = workspace.ask(" ".join(question), **dict(spending))
    for text in outcome.notes:
        note(text)
    if format_ == "json":
        json_result(outcome.answer.model_dump_json(indent=2, exclude_none=True))
    else:
        _show(outcome.answer)
    codes = {
        Status.NOT_UNDERSTOOD: EXIT_USAGE,
        Status.STOPPED: EXIT_INCOMPLETE,
        Status.UNSUPPORTED: EXIT_INCOMPLETE,
    }
    click.get_current_context().exit(codes.get(outcome.answer.status, 0))


def _show(answer: "Answer") -> None:
    from kgcheck.cli.console import results
    from kgcheck.questions.answer import Status
    from kgcheck.report.tables import answer_table

    if answer.read_as:
        result(f"Read as: {answer.read_as}")
    if answer.understood:
        note(f"understood as: {answer.understood}")
    if answer.tokens:
        cost = "" if answer.cost is None else f", {answer.cost:.4f} in money"
        note(f"{answer.actions} actions, {answer.tokens:,} tokens{cost}")
    for text in answer.notes:
        note(f"note: {text}")
    match answer.status:
        case Status.NOT_UNDERSTOOD | Status.STOPPED | Status.UNSUPPORTED:
            note(f"kgcheck: {answer.because}")
        case Status.NOTHING if answer.holds is False:
            result("not in this graph")
            note(answer.because)
        case Status.NOTHING:
            note("the graph has no such node")
        case _ if answer.count is not None:
            result(answer.count)
        case _:
            if answer.holds:
                result("yes")
            results().print(answer_table(answer, _SHOWN))
            if len(answer.found) > _SHOWN:
                note(f"{len(answer.found) - _SHOWN} more; --format json has all")
