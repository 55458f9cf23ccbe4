"""``kgcheck audit``: check a graph, keep what was found, say how it ended."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from kgcheck.choices import DEFAULT_STORE, THRESHOLDS
from kgcheck.cli.options import (
    fail_on_option,
    format_options,
    given,
    graph_date_option,
    ledger_option,
    limit_option,
    literature_option,
    offline_option,
    profile_option,
    reference_option,
    store_option,
)
from kgcheck.cli.output import note

if TYPE_CHECKING:
    from kgcheck.ledger.ledger import Run

TYPES = ("existence", "attribute", "triple", "potential", "structure")

_LATEST = "(latest)"
_OF_THE_RUN = (
    *("types", "labels", "relations", "ids", "sample", "seed", "keep_all"),
    *("live", "team_budget", "threshold", "index", "graph_date", "unfold", "changed_since"),
)
"""Options that a run keeps, and that cannot change when it goes on."""


@click.command("audit")
@click.option("--type", "types", multiple=True, type=click.Choice((*TYPES, "all")), default=("all",), show_default=True)
@store_option()
@reference_option()
@click.option(
    "--live",
    is_flag=True,
    help="Spot checks: ask UniProt and STRING, too, of at most 20,000 checks; no snapshot is needed.",
)
@offline_option()
@click.option(
    "--team-budget",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Hand so many undecided findings, the worst first, to the agent team, which asks UniProt and STRING.",
)
@click.option(
    "--threshold",
    type=click.FloatRange(0, 1),
    help="Least score of a potential edge, where the source gives scores [default: that of the check, 0.4 for STRING].",
)
@click.option("--label", "labels", multiple=True, help="Only nodes of this label, and edges that end at it.")
@click.option("--relation", "relations", multiple=True, help="Only edges of this relation.")
@click.option("--id", "ids", multiple=True, help="Only tasks about the node with this id.")
@click.option(
    "--sample", type=click.IntRange(min=1), help="Check only so many tasks, drawn at random; structure is always whole."
)
@click.option("--seed", type=int, default=0, show_default=True, help="Draws another sample.")
@limit_option()
@fail_on_option(THRESHOLDS)
@click.option("--keep-all", is_flag=True, help="Keep a finding also for what is supported or unavailable.")
@graph_date_option()
@click.option(
    "--unfold", is_flag=True, help="Keep each hit of structure rules that many nodes or edges break, not one for all."
)
@click.option(
    "--changed-since",
    metavar="RUN|SNAPSHOT",
    help="Read a graph on a server from what that finished audit kept of it, or the newest that looked into that "
    "snapshot, unless the graph has changed; everything is judged again.",
)
@click.option(
    "--resume",
    is_flag=False,
    flag_value=_LATEST,
    default=None,
    metavar="[RUN]",
    help="Go on with a run that was cut off, on its own store and references; the latest such run, unless named.",
)
@literature_option()
@format_options()
@ledger_option()
@profile_option()
def command(
    types: tuple[str, ...],
    store: str | None,
    reference: Path | None,
    live: bool,
    offline: bool,
    team_budget: int,
    threshold: float | None,
    labels: tuple[str, ...],
    relations: tuple[str, ...],
    ids: tuple[str, ...],
    sample: int | None,
    seed: int,
    limit: int | None,
    fail_on: str,
    keep_all: bool,
    graph_date: str | None,
    unfold: bool,
    changed_since: str | None,
    resume: str | None,
    index: Path | None,
    format_: str,
    output: Path | None,
    ledger: str | None,
    profile: str,
) -> None:
    """Check the nodes, attributes and edges of a graph, and keep every finding with its evidence in the ledger.

    What was rejected, or deferred to a later day, does not count (kgcheck decide).

    Exit codes: 0 clean, 1 findings at or over --fail-on, 2 usage or configuration, 3 nothing found, but a source was
    unavailable.
    """
    from kgcheck.cli.console import RichProgress
    from kgcheck.cli.show import show_run
    from kgcheck.workspace import Workspace

    begun: Run | None = None
    if resume:
        _refuse_changes()
        with Workspace(ledger=ledger) as workspace:
            begun = workspace.cut_off(None if resume == _LATEST else resume)
        store = store if store and given("store") else _store_of(begun, store)
        reference = reference if given("reference") else Path(begun.reference) if begun.reference else None
        profile = profile if given("profile") else begun.profile
    with Workspace(
        store=store,
        reference=reference,
        ledger=ledger,
        literature=index,
        profile=profile,
        live=live,
        offline=offline,
        progress=RichProgress(),
    ) as workspace:
        if begun:
            audit = workspace.resume(begun)
        else:
            audit = workspace.audit(
                () if "all" in types else types,
                labels=labels,
                relations=relations,
                ids=ids,
                sample=sample,
                seed=seed,
                threshold=threshold,
                graph_date=graph_date,
                team_budget=team_budget,
                keep_all=keep_all,
                unfold=unfold,
                changed_since=changed_since,
            )
        for text in audit.notes:
            note(text)
        code = audit.exit_code(fail_on)
        show_run(
            workspace,
            audit.run,
            audit.tallies,
            format_=format_,
            output=output,
            limit=limit,
            fail_on=fail_on,
            exit_code=code,
        )
    click.get_current_context().exit(code)


def _refuse_changes() -> None:
    from kgcheck.errors import UsageError

    changed = [o for o in click.get_current_context().command.params if o.name in _OF_THE_RUN and given(o.name)]
    if changed:
        listed = ", ".join(o.opts[0] for o in changed)
        raise UsageError(f"a run goes on as it began: {listed} cannot be given with --resume", "leave it out")


def _store_of(run: "Run", named: str | None) -> str:
    """The store of a run that goes on, where the command line names none.

    A file is opened as the ledger names it. A server gets the password of the environment, so that the person must have
    named it: a ledger may come from anybody.
    """
    from kgcheck.errors import UsageError
    from kgcheck.graph.open import is_address

    if is_address(run.store) and run.store != named:
        raise UsageError(
            f"run {run.id} is of the server {run.store}, and only the ledger says so: it would get your password",
            f"if that is your server, name it: --store {run.store}",
        )
    if run.store != (named or DEFAULT_STORE):
        note(f"going on with the store {run.store}, where the run began")
    return run.store
