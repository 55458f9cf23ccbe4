"""``kgcheck ask``: one question about the graph."""

from typing import TYPE_CHECKING, Any

import click

from kgcheck.cli.literature import literature_option
from kgcheck.cli.options import brain_options, profile_option, store_option
from kgcheck.cli.output import json_result, result, say

if TYPE_CHECKING:
    from kgcheck.questions.answer import Answer

_SHOWN = 50


@click.command("ask")
@click.argument("question", nargs=-1, required=True)
@store_option()
@profile_option()
@brain_options()
@literature_option()
@click.option("--format", "format_", type=click.Choice(("table", "json")), default="table", show_default=True)
def command(question: tuple[str, ...], store: str, profile: str, format_: str, **asked: Any) -> None:
    """Answer QUESTION from the graph, with the path of every answer.

    For example, over the demo: "What diseases are associated with the protein encoded by the gene APOE?" How the
    question was read stands above the answer. "Does TLR4 act on TNF?" is answered with yes and the edge, or with "not
    in this graph". Ends with 2 when the question is not understood or names what the graph does not have; a question
    that is understood and has no answer ends with 0. Ends with 3 when a model was stopped, or what it answered rests on
    nothing that its tools have shown.
    """
    from kgcheck.cli.brains import open_asker
    from kgcheck.cli.environment import read_schema, read_settings
    from kgcheck.errors import EXIT_INCOMPLETE, EXIT_USAGE
    from kgcheck.graph.open import open_store
    from kgcheck.questions.answer import Status

    settings = read_settings()
    with (
        open_store(store, read_schema(profile), settings) as opened,
        open_asker(asked["brain"], opened, settings, asked) as ask,
    ):
        answer = ask(" ".join(question))
    if format_ == "json":
        json_result(answer.model_dump_json(indent=2, exclude_none=True))
    else:
        _show(answer)
    codes = {
        Status.NOT_UNDERSTOOD: EXIT_USAGE,
        Status.STOPPED: EXIT_INCOMPLETE,
        Status.UNSUPPORTED: EXIT_INCOMPLETE,
    }
    click.get_current_context().exit(codes.get(answer.status, 0))


def _show(answer: "Answer") -> None:
    from kgcheck.cli.console import results
    from kgcheck.questions.answer import Status
    from kgcheck.report.tables import answer_table

    if answer.read_as:
        result(f"Read as: {answer.read_as}")
    if answer.understood:
        say(f"understood as: {answer.understood}")
    if answer.tokens:
        cost = "" if answer.cost is None else f", {answer.cost:.4f} in money"
        say(f"{answer.actions} actions, {answer.tokens:,} tokens{cost}")
    for note in answer.notes:
        say(f"note: {note}")
    match answer.status:
        case Status.NOT_UNDERSTOOD | Status.STOPPED | Status.UNSUPPORTED:
            say(f"kgcheck: {answer.because}")
        case Status.NOTHING if answer.holds is False:
            result("not in this graph")
            say(answer.because)
        case Status.NOTHING:
            say("the graph has no such node")
        case _ if answer.count is not None:
            result(answer.count)
        case _:
            if answer.holds:
                result("yes")
            results().print(answer_table(answer, _SHOWN))
            if len(answer.found) > _SHOWN:
                say(f"{len(answer.found) - _SHOWN} more; --format json has all")
