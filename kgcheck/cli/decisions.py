"""``kgcheck findings``, ``decide``, ``decisions``: list findings, decide about them, show what was decided."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kgcheck.cli.options import flags_of, format_options, given, table_or_json_option, workspace_options
from kgcheck.cli.output import note, result, show
from kgcheck.curation.findings import DecisionOptions, FindingFilter, FindingList, FindingPage
from kgcheck.errors import UsageError
from kgcheck.plurals import how_many

if TYPE_CHECKING:
    from kgcheck.workspace import Workspace


_MOST_LINES = 20

_RUN = click.option("--run", default="latest", show_default=True, help="The run, or the beginning of its id.")


@click.command("findings")
@flags_of(FindingFilter)
@_RUN
@click.option("--limit", type=click.IntRange(min=1), help="At most so many [default: 50 of a table].")
@click.option("--after", metavar="FINDING", help="Begin after this one: the last of the page before.")
@format_options(("table", "json", "jsonl", "csv"))
@workspace_options("ledger", progress=False)
def findings(
    workspace: "Workspace",
    run: str,
    limit: int | None,
    after: str | None,
    format_: str,
    out: Path | None,
    **filters: Any,
) -> None:
    """List the findings of a run, the refuted first, each with what became of it and what was decided about it.

    Those that the run did not find again are listed after these where they are asked for: --state fixed, gone,
    unchecked.
    """
    from kgcheck.cli.show import most_shown, show_listed

    page = FindingPage(workspace.list_findings(run, **filters), after, most_shown(limit, format_))
    show_listed(page, format_, out, head=lambda: {"run": page.run, "next": page.next})
    if page.next:
        note(f"there are more: --after {page.next}")
    if not page.count:
        note(f"run {page.run} has no such finding: kgcheck runs lists the others")


@click.command("decide")
@click.argument("words", nargs=-1, required=True, metavar="[FINDING]... ACTION")
@flags_of(DecisionOptions, action=None)
@click.option("--by", envvar="KGCHECK_BY", help="Who decides [default: KGCHECK_BY, or the user of the system].")
@click.option("--yes", is_flag=True, help="Do not ask before deciding by filter.")
@flags_of(FindingFilter)
@_RUN
@workspace_options("ledger", "store", "profile", progress=False)
def decide(
    workspace: "Workspace",
    words: tuple[str, ...],
    by: str | None,
    yes: bool,
    run: str,
    **typed: Any,
) -> None:
    """Decide about FINDINGs, or about all that fit the filters: ACTION is accept, reject, defer or reopen.

    A FINDING is a fingerprint, the beginning of one, or what was checked, in quotes: "APOE ACTS_ON APP".

    A decision is about a finding as it is now. When its reason, its evidence or what is proposed changes, it comes back
    as reopened. What is rejected does not fail later runs, and what is deferred comes back on its day. Nothing is
    overwritten: kgcheck decisions history FINDING shows all.
    """
    *named, action = words
    by_filter = [name for name in FindingFilter.model_fields if given(name)]
    if bool(named) == bool(by_filter):
        raise UsageError(
            "name findings, or filters, and not both" if named else "nothing says which findings are meant",
            "kgcheck decide FINDING... accept, or kgcheck decide reject --reason REASON --label LABEL",
        )
    chosen: list[str] | FindingList = named
    if by_filter:
        chosen = workspace.list_findings(run, **{name: typed[name] for name in FindingFilter.model_fields})
        if not _confirmed(chosen.count(), action, yes):
            return
    options = {name: typed[name] for name in DecisionOptions.model_fields if name in typed}
    made = workspace.decide(chosen, action, by=by or _user(), **options)
    for one in made[:_MOST_LINES]:
        result(one.line)
    if made[_MOST_LINES:]:
        result(f"and {len(made) - _MOST_LINES:,} more")
    note(f"{len(made):,} decided, by {made[0].decision.by}" if made else "no finding fits: nothing was decided")


def _confirmed(count: int, action: str, yes: bool) -> bool:
    """Ask whether to go on; only of a person, never of a program."""
    if yes or not count:
        return True
    findings = how_many(count, "finding")
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(
            f"this would {action} {findings}", "add --yes, or look first: kgcheck findings with the same filters"
        )
    return click.confirm(f"{action} {findings}?", err=True)


def _user() -> str:
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return ""


@click.group("decisions")
def decisions() -> None:
    """Show what was decided."""


@decisions.command("history")
@click.argument("finding")
@workspace_options("ledger", progress=False)
@table_or_json_option()
def decisions_history(workspace: "Workspace", finding: str, format_: str) -> None:
    """Show every decision about FINDING, the oldest first."""
    from kgcheck.cli.show import history_table

    decisions = workspace.history(finding)
    show(format_, [one.model_dump(mode="json") for one in decisions], history_table(decisions))
