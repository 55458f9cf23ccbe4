"""``kgcheck check``, ``explain``, ``replay`` and ``ask``: check one fact, or ask one question."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kgcheck.choices import DEFAULT_PROFILE, DRAFT
from kgcheck.cli.options import (
    PARTS,
    FilePath,
    fail_on_option,
    given,
    literature_option,
    open_workspace,
    options_of,
    part_options,
    table_or_json_option,
    workspace_options,
)
from kgcheck.cli.output import json_result, live_text, note, result, show
from kgcheck.errors import EXIT_CLEAN, EXIT_FINDINGS, EXIT_INCOMPLETE, EXIT_USAGE, StoreSchema
from kgcheck.options import CheckOptions, Spending

if TYPE_CHECKING:
    from kgcheck.agents.transcript import Event
    from kgcheck.questions.answer import Answer
    from kgcheck.workspace import Workspace


@click.command("check")
@click.argument("what", nargs=-1, required=True)
@workspace_options("store", "reference", "live", "offline", "brain", "literature", "ledger", "profile", progress=False)
@click.option("--transcript", is_flag=True, help="Print what each agent did, on stderr.")
@options_of(CheckOptions)
@fail_on_option()
@table_or_json_option()
def check(
    workspace: "Workspace", options: CheckOptions, what: tuple[str, ...], transcript: bool, fail_on: str, format_: str
) -> None:
    """Check WHAT: an edge, HEAD RELATION TAIL; existence LABEL ID; attribute LABEL ID NAME, or attribute and an edge.

    Ids or names: "P04637 ACTS_ON Q00987", existence Protein Q00015, attribute Gene TP53 name,
    attribute P04637 ACTS_ON Q00987 score.
    """
    from kgcheck.report.tables import explain_finding

    shown = _Live()
    listeners: dict[str, Any] = {"on_event": shown.show, "on_text": shown.hear} if transcript else {}
    checked = workspace.check(what, **dict(options), **listeners)
    note(*checked.taken, *checked.notes)
    row = checked.finding.as_row() | {"taken": [taken.as_row() for taken in checked.taken]}
    show(format_, row, explain_finding(checked.finding))
    click.get_current_context().exit(checked.exit_code(fail_on))


class _Live:
    """Events as they happen on stderr, and what a model says as it says it."""

    def __init__(self) -> None:
        self._mid_line = False

    def hear(self, text: str) -> None:
        """Show a piece of text."""
        if shown := live_text(text):
            self._mid_line = not shown.endswith("\n")

    def show(self, event: "Event") -> None:
        """Show an event, on a line of its own."""
        from kgcheck.report.tables import transcript_line

        if self._mid_line:
            note("")
            self._mid_line = False
        note(transcript_line(event))


@click.command("explain")
@click.argument("words", nargs=-1, required=True, metavar="FINDING|EDGE")
@workspace_options("store", "profile", "ledger", progress=False)
@table_or_json_option()
def explain(workspace: "Workspace", words: tuple[str, ...], format_: str) -> None:
    """Show FINDING: what was checked, the verdict, and all evidence.

    It is a fingerprint, the beginning of one, or what was checked: existence LABEL ID, attribute LABEL ID NAME.

    Or show what the newest audit that looked at EDGE found: "P04637 ACTS_ON Q00987". That ends with 0 where it is
    supported, 1 where it is refuted or cannot be told, and 3 where nobody has looked or could.
    """
    named = " ".join(words)
    is_check = named.split()[:1] in (["existence"], ["attribute"])
    if len(named.split()) > 1 and not is_check:
        click.get_current_context().exit(_explain_edge(workspace, named, format_))
    from kgcheck.report.tables import explain_finding

    known = workspace.known_finding(workspace.finding(named).fingerprint)
    row, decided = known.decided.model_dump(mode="json"), known.decided.words
    shown = known.finding.as_row() | {"state": known.state, "decision_state": row["state"], "decision": row["decision"]}
    show(format_, shown, explain_finding(known.finding, str(known.state or ""), decided))


def _explain_edge(workspace: "Workspace", edge: str, format_: str) -> int:
    from kgcheck.report.tables import verified_table

    found = workspace.verified(edge)
    show(format_, found.model_dump(mode="json") if found else None, verified_table(edge, found))
    return {"supported": 0, "unavailable": 3}.get(found.outcome.value if found else "unavailable", 1)


@click.command("replay")
@click.argument("file", type=FilePath())
@PARTS["profile"]
def replay(file: Path, profile: str) -> None:
    """Run the check of FILE, a transcript, again: no model, no graph, no source. Ends with 1 if the verdict changes."""
    from kgcheck.agents.replay import read_transcript, replay
    from kgcheck.profile.schema import read_schema
    from kgcheck.report.tables import transcript_line

    events = read_transcript(file)
    again = replay(events, read_schema(profile))
    note(*map(transcript_line, events))
    now, then = again.checked.verdict, again.recorded
    result(f"{again.checked.task}: {now.outcome.value}, {now.reason.value}, confidence {now.confidence}")
    if again.checked.differs and again.checked.concluded:
        note(f"the model concluded {again.checked.concluded.value}")
    if not again.same:
        note(f"the verdict was {then.outcome.value}, and is now {now.outcome.value}")
        click.get_current_context().exit(EXIT_FINDINGS)


_SHOWN = 50


@click.command("ask")
@click.argument("question", nargs=-1, required=True)
@part_options("store", "profile", "brain", "with_retired", literature=literature_option(configured=False))
@options_of(Spending, "spending")
@table_or_json_option()
def ask(parts: dict[str, Any], spending: Spending, question: tuple[str, ...], format_: str) -> None:
    """Answer QUESTION from the graph, with the path of every answer.

    For example, over the demo: "What diseases are associated with the protein encoded by the gene APOE?" How the
    question was read stands above the answer. "Does TLR4 act on TNF?" is answered with yes and the edge, or with "not
    in this graph". Ends with 2 when the question is not understood or names what the graph does not have; a question
    that is understood and has no answer ends with 0. Ends with 3 when a model was stopped, or what it answered rests on
    nothing that its tools have shown.

    A graph in its owner's form is a store, too: --store files:nodes.tsv,edges.tsv, or a server. Without a profile,
    labels and relations are called by their own names.
    """
    from kgcheck.questions.answer import Status

    with _any_graph(parts) as workspace:
        outcome = workspace.ask(" ".join(question), **dict(spending))
    note(*outcome.notes)
    if format_ == "json":
        json_result(outcome.answer.model_dump_json(indent=2, exclude_none=True))
    else:
        _show(outcome.answer)
    incomplete = dict.fromkeys((Status.STOPPED, Status.UNSUPPORTED), EXIT_INCOMPLETE)
    codes = incomplete | {Status.NOT_UNDERSTOOD: EXIT_USAGE}
    click.get_current_context().exit(codes.get(outcome.answer.status, EXIT_CLEAN))


@contextmanager
def _any_graph(parts: dict[str, Any]) -> "Iterator[Workspace]":
    """The workspace; of a server with another graph than that of the default profile, by a draft of its schema."""
    from kgcheck.graph.open import is_address

    with open_workspace(parts) as workspace:
        try:
            workspace.graph.meta()
        except StoreSchema:
            if given("profile") or parts["profile"] != DEFAULT_PROFILE or not is_address(workspace.store):
                raise
        else:
            yield workspace
            return
    with open_workspace(parts | {"profile": DRAFT}) as workspace:
        yield workspace


def _show(answer: "Answer") -> None:
    from kgcheck.cli.console import results
    from kgcheck.questions.answer import Status
    from kgcheck.report.tables import answer_table

    if answer.read_as:
        result(f"Read as: {answer.read_as}")
    if answer.tokens:
        cost = "" if answer.cost is None else f", {answer.cost:.4f} in money"
        note(f"{answer.actions} actions, {answer.tokens:,} tokens{cost}")
    note(*(f"note: {text}" for text in answer.notes))
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
