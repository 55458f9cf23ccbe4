"""``kgcheck decide``: accept, reject, defer or reopen findings."""

import sys
from typing import TYPE_CHECKING, Any

import click

from kgcheck.cli.options import flags_of, given, workspace_options
from kgcheck.cli.output import note, result
from kgcheck.curation.findings import FindingFilter, FindingList
from kgcheck.plurals import how_many

if TYPE_CHECKING:
    from kgcheck.workspace import Workspace

_MOST_LINES = 20


@click.command("decide")
@click.argument("words", nargs=-1, required=True, metavar="[FINDING]... ACTION")
@click.option("--choose", metavar="ID", help="With accept: of what is proposed, take this id or value.")
@click.option("--note", "why", default="", help="Why; it is shown wherever the decision is.")
@click.option("--until", metavar="DATE", help="With defer: the day on which it comes back.")
@click.option("--by", envvar="KGCHECK_BY", help="Who decides [default: KGCHECK_BY, or the user of the system].")
@click.option("--yes", is_flag=True, help="Do not ask before deciding by filter.")
@flags_of(FindingFilter)
@click.option("--run", default="latest", show_default=True, help="The run, or the beginning of its id.")
@workspace_options("ledger", "store", "profile", progress=False)
def command(
    workspace: "Workspace",
    words: tuple[str, ...],
    choose: str | None,
    why: str,
    until: str | None,
    by: str | None,
    yes: bool,
    run: str,
    **filters: Any,
) -> None:
    """Decide about FINDINGs, or about all that fit the filters: ACTION is accept, reject, defer or reopen.

    A FINDING is a fingerprint, the beginning of one, or what was checked, in quotes: "APOE ACTS_ON APP".

    A decision is about a finding as it is now. When its reason, its evidence or what is proposed changes, it comes back
    as reopened. What is rejected does not fail later runs, and what is deferred comes back on its day. Nothing is
    overwritten: kgcheck decisions history FINDING shows all.
    """
    *named, action = words
    by_filter = [name for name in FindingFilter.model_fields if given(name)]
    _refuse_unclear(named, by_filter)
    chosen: list[str] | FindingList = named
    if by_filter:
        chosen = workspace.list_findings(run, **filters)
        if not _confirmed(chosen.count(), action, yes):
            return
    made = workspace.decide(chosen, action, by=by or _user(), choose=choose, note=why, until=until)
    for one in made[:_MOST_LINES]:
        result(one.line)
    if made[_MOST_LINES:]:
        result(f"and {len(made) - _MOST_LINES:,} more")
    note(f"{len(made):,} decided, by {made[0].decision.by}" if made else "no finding fits: nothing was decided")


def _refuse_unclear(named: list[str], by_filter: list[str]) -> None:
    from kgcheck.errors import UsageError

    if bool(named) == bool(by_filter):
        raise UsageError(
            "name findings, or filters, and not both" if named else "nothing says which findings are meant",
            "kgcheck decide FINDING... accept, or kgcheck decide reject --reason REASON --label LABEL",
        )


def _confirmed(count: int, action: str, yes: bool) -> bool:
    """Ask whether to go on; only of a person, never of a program."""
    from kgcheck.errors import UsageError

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
