"""``kgcheck audit``: check a graph, keep what was found, say how it ended."""

from pathlib import Path
from typing import Any

import click

from kgcheck.cli.options import (
    format_options,
    ledger_option,
    limit_option,
    profile_option,
    reference_option,
    store_option,
)

TYPES = ("existence", "attribute", "triple", "potential", "structure")
THRESHOLDS = ("refuted", "insufficient", "never")


@click.command("audit")
@click.option("--type", "types", multiple=True, type=click.Choice((*TYPES, "all")), default=("all",), show_default=True)
@store_option()
@reference_option()
@click.option("--label", "labels", multiple=True, help="Only nodes of this label, and edges that end at it.")
@click.option("--relation", "relations", multiple=True, help="Only edges of this relation.")
@click.option("--id", "ids", multiple=True, help="Only tasks about the node with this id.")
@click.option("--sample", type=click.IntRange(min=1), help="Check only so many tasks, drawn at random (structure is always whole).")
@click.option("--seed", type=int, default=0, show_default=True, help="Draws another sample.")
@limit_option()
@click.option("--fail-on", type=click.Choice(THRESHOLDS), default="refuted", show_default=True, help="Least outcome that makes the exit code 1.")
@click.option("--keep-all", is_flag=True, help="Keep a finding also for what is supported or unavailable.")
@click.option("--resume", is_flag=False, flag_value="latest", default=None, metavar="[RUN]", help="Go on with a run that was cut off; the latest, unless named.")
@format_options()
@ledger_option()
@profile_option()
@click.pass_context
def command(ctx: click.Context, store: str, reference: Path | None, ledger: Path | None, profile: str, **asked: Any) -> None:
    """Check the nodes, attributes and edges of a graph, and keep every finding with its evidence in the ledger.

    Exit codes: 0 clean, 1 findings at or over --fail-on, 3 nothing found, but a source was unavailable.
    """
    from kgcheck.audit.ledger import Ledger
    from kgcheck.audit.plan import AuditOptions
    from kgcheck.audit.run import Audit
    from kgcheck.cli.console import RichProgress
    from kgcheck.cli.show import exit_code, show_run
    from kgcheck.graph.open import open_store
    from kgcheck.graph.schema import load_schema
    from kgcheck.model import CheckType
    from kgcheck.settings import Settings

    settings = Settings()
    with (
        Ledger(ledger or settings.ledger) as kept,
        open_store(store, load_schema(profile), settings) as opened,
    ):
        audit = Audit(opened, reference, kept, settings, RichProgress())
        if asked["resume"]:
            run = audit.resume(kept.run(asked["resume"]))
        else:
            types = TYPES if "all" in asked["types"] else dict.fromkeys(asked["types"])
            options = AuditOptions(
                types=tuple(CheckType(t) for t in types),
                labels=asked["labels"],
                relations=asked["relations"],
                ids=asked["ids"],
                sample=asked["sample"],
                seed=asked["seed"],
                keep_all=asked["keep_all"],
            )
            run = audit.start(options)
        show_run(kept, run, asked["format_"], asked["output"], asked["limit"])
        ctx.exit(exit_code(kept.tallies(run), asked["fail_on"]))
