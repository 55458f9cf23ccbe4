"""``kgcheck audit``: check a graph, keep what was found, say how it ended."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kgcheck.cli.literature import literature_option
from kgcheck.cli.options import (
    format_options,
    graph_date_option,
    ledger_option,
    limit_option,
    offline_option,
    profile_option,
    reference_option,
    store_option,
)
from kgcheck.cli.output import say

if TYPE_CHECKING:
    from kgcheck.audit.plan import AuditOptions
    from kgcheck.ledger.ledger import Run

TYPES = ("existence", "attribute", "triple", "potential", "structure")
THRESHOLDS = ("refuted", "insufficient", "never")

_LATEST = "(latest)"
_OF_THE_RUN = (
    *("types", "labels", "relations", "ids", "sample", "seed", "keep_all"),
    *("live", "team_budget", "threshold", "index", "graph_date", "unfold"),
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
@click.option(
    "--fail-on",
    type=click.Choice(THRESHOLDS),
    default="refuted",
    show_default=True,
    help="Least outcome that makes the exit code 1.",
)
@click.option("--keep-all", is_flag=True, help="Keep a finding also for what is supported or unavailable.")
@graph_date_option()
@click.option(
    "--unfold", is_flag=True, help="Keep each hit of structure rules that many nodes or edges break, not one for all."
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
def command(**asked: Any) -> None:
    """Check the nodes, attributes and edges of a graph, and keep every finding with its evidence in the ledger.

    Exit codes: 0 clean, 1 findings at or over --fail-on, 2 usage or configuration, 3 nothing found, but a source was
    unavailable.
    """
    from kgcheck.audit.papers import Papers
    from kgcheck.audit.run import Audit
    from kgcheck.cli.console import RichProgress
    from kgcheck.cli.environment import live_sources, read_schema, reading_settings
    from kgcheck.cli.literature import open_papers
    from kgcheck.cli.show import exit_code, show_run
    from kgcheck.graph.open import open_store
    from kgcheck.ledger.ledger import Ledger

    context = click.get_current_context()
    settings = reading_settings(offline=asked["offline"])
    ledger = asked["ledger"] or settings.ledger
    old = _to_resume(context, ledger, asked) if asked["resume"] else None
    schema = read_schema(asked["profile"])
    with (
        open_store(asked["store"], schema, settings) as opened,
        Ledger(ledger) as kept,
        live_sources(schema, settings, wanted=asked["live"] or asked["team_budget"] > 0) as live,
        open_papers(asked["index"], opened, asked["reference"], settings) as reader,
    ):
        papers = Papers(reader) if reader else None
        audit = Audit(opened, asked["reference"], kept, settings, RichProgress(), live, papers)
        run = audit.resume(old) if old else audit.start(_options(asked))
        for source, failure in (live.failures if live else {}).items():
            say(f"{source}: {failure}: when it is back, kgcheck audit --resume goes on")
        for source, refusal in (live.refusals if live else {}).items():
            say(f"{source}: {refusal}: asking again is of no use")
        if papers:
            say(f"papers were asked about {papers.edges_read:,} edges and speak of {len(papers.found):,}")
        show_run(kept, run, asked["format_"], asked["output"], asked["limit"])
        context.exit(exit_code(kept.tallies(run), asked["fail_on"]))


def _options(asked: dict[str, Any]) -> "AuditOptions":
    from kgcheck.audit.plan import AuditOptions
    from kgcheck.model import CheckType

    types = TYPES if "all" in asked["types"] else dict.fromkeys(asked["types"])
    return AuditOptions(
        types=tuple(CheckType(t) for t in types),
        labels=asked["labels"],
        relations=asked["relations"],
        ids=asked["ids"],
        sample=asked["sample"],
        seed=asked["seed"],
        keep_all=asked["keep_all"],
        graph_date=asked["graph_date"],
        unfold=asked["unfold"],
        live=asked["live"],
        team_budget=asked["team_budget"],
        threshold=asked["threshold"],
        literature=str(asked["index"].resolve()) if asked["index"] else None,
    )


def _to_resume(context: click.Context, ledger: Path, asked: dict[str, Any]) -> "Run":
    """The run to go on with; what the command line leaves open is taken from it."""
    from kgcheck.errors import UsageError
    from kgcheck.ledger.ledger import Ledger

    def given(name: str) -> bool:
        return context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE

    changed = [name for name in _OF_THE_RUN if given(name)]
    if changed:
        listed = ", ".join(o.opts[0] for o in context.command.params if o.name in changed)
        raise UsageError(f"a run goes on as it began: {listed} cannot be given with --resume", "leave it out")
    with Ledger(ledger, create=False) as kept:
        run = kept.cut_off() if asked["resume"] == _LATEST else kept.run(asked["resume"])
    if not given("store"):
        asked["store"] = _place_of(run, asked["store"], context)
    if not given("reference"):
        asked["reference"] = Path(run.reference) if run.reference else None
    literature = run.options.get("literature")
    asked["index"] = Path(literature) if literature else None
    if not given("profile"):
        asked["profile"] = run.profile
    asked["live"] = bool(run.options.get("live"))
    asked["team_budget"] = int(run.options.get("team_budget", 0))
    return run


def _place_of(run: "Run", named: str, context: click.Context) -> str:
    """The store of a run that goes on, where the command line names none.

    A file is opened as the ledger names it. A server gets the password of the environment, so that the person must have
    named it: a ledger may come from anybody.

    Returns:
        The store.

    Raises:
        UsageError: It is a server that only the ledger names.
    """
    from kgcheck.errors import UsageError
    from kgcheck.graph.open import is_address

    by_environment = context.get_parameter_source("store") is click.core.ParameterSource.ENVIRONMENT
    if is_address(run.store) and not (by_environment and named == run.store):
        raise UsageError(
            f"run {run.id} is of the server {run.store}, and only the ledger says so: it would get your password",
            f"if that is your server, name it: --store {run.store}",
        )
    if run.store != named:
        say(f"going on with the store {run.store}, where the run began")
    return run.store
